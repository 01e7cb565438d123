/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention to another sequence, open and under a mask that is an input: Flax's
 * loss and gradients; the numbers of ls_self_attention where that computes the
 * same; the same bytes for all workers and devices' cuts; shapes refused. */
#include "golden.h"
#include "models.h"

enum { ROWS = 3, T = 5, D = 8, S = 7, E = 6, HEADS = 2 };

typedef struct session {
    run run;
    float x[ROWS * T * D], memory[ROWS * S * E], target[ROWS * T * D];
    float mask[ROWS * T * S];
} session;

static ls_graph *graph(bool masked)
{
    ls_graph *g = empty_graph();
    ls_node *x, *memory, *target, *mask = NULL;

    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){T, D});
    memory = ls_input(g, "memory", LS_F32, 2, (int64_t[]){S, E});
    target = ls_input(g, "target", LS_F32, 2, (int64_t[]){T, D});
    if (masked)
        mask = ls_input(g, "mask", LS_F32, 2, (int64_t[]){T, S});
    x = ls_cross_attention(x, memory, mask, HEADS, "a");
    OK(ls_output(g, x, "y"));
    OK(ls_loss(g, ls_mean_squared_error(x, target)));
    return g;
}

static void set_parameters(const run *r)
{
    for (int i = 0; i < ls_trainer_params(r->trainer); i++) {
        int64_t shape[LS_MAX_RANK], n;
        float p[D * D];

        ck_assert_int_eq(ls_trainer_param_shape(r->trainer, i, shape), 3);
        n = shape[0] * shape[1] * shape[2];
        fill_uniform(100 + i, n, p);
        for (int64_t k = 0; k < n; k++)
            p[k] /= 2;
        OK(ls_trainer_set(r->trainer, ls_trainer_param_name(r->trainer, i), n,
                          p));
    }
}

static void fill_mask(float *mask)
{
    for (int r = 0; r < ROWS; r++)
        for (int t = 0; t < T; t++)
            for (int s = 0; s < S; s++)
                *mask++ = (r + 2 * t + 3 * s) % 5 > 1 && !(r == 1 && t == 4);
}

static void open_session(session *s, int devices, int workers, bool masked)
{
    s->run = open_run_on(devices, workers, graph(masked), NULL);
    set_parameters(&s->run);
    fill_uniform(1, ROWS * T * D, s->x);
    fill_uniform(2, ROWS * S * E, s->memory);
    fill_uniform(3, ROWS * T * D, s->target);
    fill_mask(s->mask);
    OK(ls_batch_set(s->run.batch, "x", LS_F32, s->x, ROWS));
    OK(ls_batch_set(s->run.batch, "memory", LS_F32, s->memory, ROWS));
    OK(ls_batch_set(s->run.batch, "target", LS_F32, s->target, ROWS));
    if (masked)
        OK(ls_batch_set(s->run.batch, "mask", LS_F32, s->mask, ROWS));
}

static void close_session(session *s)
{
    close_run(&s->run);
}

enum { MOST = ROWS * S * E > D * D ? ROWS * S * E : D * D };

/* Compare with Flax's numbers. */
static void compare(int64_t n, const float *got, bool masked, const char *of)
{
    double want[MOST];

    golden_wider(n, golden("attend", n, "%s_%s", masked ? "masked" : "open",
                           of), want);
    ck_assert_double_le(max_relative(n, got, want), 3e-6);
}

/* Proves Flax's numbers, open and masked: position 4 of row 1 sees nobody. */
LOOP_TEST(numbers, 0, 2)
{
    float got[MOST];
    ls_gradients *g;
    ls_result r;
    session s;

    open_session(&s, 2, 2, _i);
    OK(ls_gradients_open(&g, s.run.trainer, 1));
    OK(ls_gradients_compute(g, s.run.batch, &r));
    ck_assert_float_eq_tol(
        r.loss, *golden("attend", 1, "%s_loss", _i ? "masked" : "open"), 1e-6f);
    OK(ls_gradients_get(g, "a.query.kernel", D * D, got));
    compare(D * D, got, _i, "query");
    OK(ls_gradients_get(g, "a.key.kernel", E * D, got));
    compare(E * D, got, _i, "key");
    OK(ls_gradients_get(g, "a.value.kernel", E * D, got));
    compare(E * D, got, _i, "value");
    OK(ls_gradients_get(g, "a.out.kernel", D * D, got));
    compare(D * D, got, _i, "out");
    OK(ls_input_gradient(s.run.trainer, s.run.batch, true, "x", ROWS * T * D,
                         got));
    compare(ROWS * T * D, got, _i, "x");
    OK(ls_input_gradient(s.run.trainer, s.run.batch, true, "memory",
                         ROWS * S * E, got));
    compare(ROWS * S * E, got, _i, "memory");
    ls_gradients_close(g);
    close_session(&s);
}

/* Proves that a mask of 1 and less is one of 1 and 0, and that nothing of the
 * gradient goes by it, where it hides, where it shows, and where all is
 * hidden. */
TEST(mask_takes_no_gradient)
{
    float y[2][ROWS * T * D], d[ROWS * T * S];
    session s;

    open_session(&s, 2, 2, true);
    for (int k = 0; k < 2; k++) {
        OK(ls_batch_set(s.run.batch, "mask", LS_F32, s.mask, ROWS));
        OK(ls_predict(s.run.trainer, s.run.batch, "y", ROWS * T * D, y[k]));
        OK(ls_input_gradient(s.run.trainer, s.run.batch, true, "mask",
                             ROWS * T * S, d));
        for (int i = 0; i < ROWS * T * S; i++) {
            ck_assert(d[i] == 0);
            if (s.mask[i] < 1)
                s.mask[i] = i % 2 ? 0x1.fffffep-1f : -3;
        }
    }
    ck_assert_mem_eq(y[0], y[1], sizeof y[0]);
    close_session(&s);
}

/* Proves that no worker shows, in outputs and in what is trained. */
TEST(same_bytes)
{
    char want[65], got[65];

    for (int workers = 1; workers <= 3; workers++) {
        session s;

        open_session(&s, 3, workers, true);
        for (int i = 0; i < 3; i++)
            step(&s.run);
        ls_trainer_hash(s.run.trainer, workers == 1 ? want : got);
        if (workers > 1)
            ck_assert_str_eq(got, want);
        close_session(&s);
    }
}

/* ------ against the attention of one sequence ------ */

static ls_graph *to_itself(bool own, bool causal)
{
    ls_graph *g = empty_graph();
    ls_node *x, *mask, *y;

    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){T, D});
    mask = ls_input(g, "mask", LS_F32, 2, (int64_t[]){T, T});
    y = own ? ls_self_attention(x, HEADS, causal, "a")
            : ls_cross_attention(x, x, causal ? mask : NULL, HEADS, "a");
    OK(ls_output(g, y, "y"));
    OK(ls_loss(g, ls_mean_loss(ls_mul(y, x), NULL)));
    return g;
}

static void predict(bool own, bool causal, float *y)
{
    run r = open_run_on(1, 1, to_itself(own, causal), NULL);
    float x[ROWS * T * D], mask[ROWS * T * T];

    fill_uniform(1, ROWS * T * D, x);
    for (int i = 0; i < ROWS * T * T; i++)
        mask[i] = i % T <= i / T % T;
    set_parameters(&r);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(r.batch, "mask", LS_F32, mask, ROWS));
    step(&r);
    OK(ls_predict(r.trainer, r.batch, "y", ROWS * T * D, y));
    close_run(&r);
}

/* Proves that to x itself, open and with the mask of a causal one, it is
 * ls_self_attention but for rounding, before and after a step. */
LOOP_TEST(of_itself, 0, 2)
{
    float a[ROWS * T * D], b[ROWS * T * D];
    double want[ROWS * T * D];

    predict(true, _i, a);
    predict(false, _i, b);
    for (int i = 0; i < ROWS * T * D; i++)
        want[i] = (double)a[i];
    ck_assert_double_le(max_relative(ROWS * T * D, b, want), 2e-6);
}

/* ------ masks of other shapes, and what is refused ------ */

static int try_shapes(int rank, const int64_t *shape, int width, int heads)
{
    ls_graph *g = empty_graph();
    ls_node *x, *memory, *mask;
    ls_trainer *t;
    ls_pool *pool = open_pool(1, 1);
    int status;

    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){T, width});
    memory = ls_input(g, "memory", LS_F32, 2, (int64_t[]){S, E});
    mask = ls_input(g, "mask", LS_F32, rank, shape);
    x = ls_cross_attention(x, memory, mask, heads, "a");
    ls_loss(g, ls_mean_loss(x, NULL));
    status = ls_trainer_open(&t, pool, g, NULL);
    if (status == 0)
        ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    return status;
}

TEST(shapes)
{
    OK(try_shapes(1, (int64_t[]){S}, D, HEADS));
    OK(try_shapes(2, (int64_t[]){T, S}, D, HEADS));
    OK(try_shapes(3, (int64_t[]){HEADS, T, S}, D, HEADS));
    OK(try_shapes(3, (int64_t[]){HEADS, 1, S}, D, HEADS));
    ck_assert_int_eq(try_shapes(1, (int64_t[]){T}, D, HEADS), LS_ESHAPE);
    ck_assert_int_eq(try_shapes(2, (int64_t[]){S, T}, D, HEADS), LS_ESHAPE);
    FAILS(try_shapes(1, (int64_t[]){S}, D + 1, HEADS), LS_ESHAPE,
          "attention \"a\": width 9 does not divide into 2 heads");
    FAILS(try_shapes(1, (int64_t[]){S}, D, 0), LS_ESHAPE, "into 0 heads");
}

/* A memory that is no sequence. */
TEST(no_sequence)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){T, D});

    ck_assert_ptr_null(ls_cross_attention(
        x, ls_input(g, "m", LS_F32, 1, (int64_t[]){E}), NULL, 2, "a"));
    FAILS(ls_loss(g, x), LS_ESHAPE,
          "attention \"a\": (5,8) to (6); they must be (T,D) and (S,E)");
    ls_graph_free(g);
}

/* ------ biases, and weights that are dropped ------ */

static const ls_attention_options *more(int kind)
{
    static ls_attention_options o;

    o = ls_attention_defaults();
    o.qkv_bias = kind != 1;
    o.out_bias = kind != 2;
    o.dropout = kind == 3 ? 0 : 0.3;
    return &o;
}

/* Train some steps by one operator or by products and a softmax, and write the
 * parameters, whose names are the same, to out. */
static int train_with(int kind, bool one, int workers, float *out)
{
    float x[ROWS * T * D], target[ROWS * T * D];
    ls_graph *g = empty_graph();
    ls_node *in;
    ls_result r;
    run t;
    int n = 0;

    in = ls_input(g, "x", LS_F32, 2, (int64_t[]){T, D});
    in = one ? ls_attention_with(in, HEADS, more(kind), "a")
             : ls_cross_attention_with(in, in, NULL, HEADS, more(kind), "a");
    OK(ls_loss(g, ls_mean_squared_error(in, ls_input(g, "target", LS_F32, 2,
                                                     (int64_t[]){T, D}))));
    t = open_run_on(3, workers, g, NULL);
    fill_uniform(1, ROWS * T * D, x);
    fill_uniform(3, ROWS * T * D, target);
    OK(ls_batch_set(t.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(t.batch, "target", LS_F32, target, ROWS));
    for (int i = 0; i < 3; i++)
        OK(ls_step(t.trainer, t.batch, &r));
    for (int i = 0; i < ls_trainer_params(t.trainer); i++) {
        int64_t shape[LS_MAX_RANK], size = 1;
        int rank = ls_trainer_param_shape(t.trainer, i, shape);

        for (int k = 0; k < rank; k++)
            size *= shape[k];
        OK(ls_trainer_get(t.trainer, ls_trainer_param_name(t.trainer, i),
                          size, out + n));
        n += (int)size;
    }
    close_run(&t);
    return n;
}

/* Proves that biases and dropped weights are those of the layer that is made of
 * operators, with the same keys, and that no worker shows. */
LOOP_TEST(biases_and_dropout, 0, 4)
{
    static float one[5 * D * D], other[5 * D * D];
    int n = train_with(_i, true, 1, one);

    ck_assert_int_eq(n, 4 * D * D + (_i != 1) * 3 * D + (_i != 2) * D);
    ck_assert_int_eq(train_with(_i, false, 2, other), n);
    for (int i = 0; i < n; i++)
        ck_assert_double_eq_tol((double)one[i], (double)other[i], 2e-5);
    ck_assert_int_eq(train_with(_i, true, 3, other), n);
    ck_assert_mem_eq(one, other, (size_t)n * sizeof *one);
}

MAIN()
