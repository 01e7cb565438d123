/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators and losses of a user's own. */
#include "layers.h"
#include "small_model.h"

#include "kernel/kernel.h"

#include <stdlib.h>

/* ------ copies of our own operators ------ */

static int gelu_fwd(void *user, const ls_own_run *r)
{
    (void)user;
    ls__kernels()->activate(LS__GELU, r->rows * r->y_size, r->x[0], r->y);
    return 0;
}

static int gelu_bwd(void *user, const ls_own_run *r)
{
    (void)user;
    ls__kernels()->activate_grad(LS__GELU, r->rows * r->y_size, r->x[0], r->dy,
                                 NULL, r->dx[0]);
    return 0;
}

static int squared_error(void *user, const ls_own_run *r)
{
    int64_t n = r->x_size[0];
    const float *y = r->x[0], *t = r->x[1];

    (void)user;
    if (r->dx[1] || r->y || r->dy || r->stash || r->sums->loss != 0)
        return -5; /* a target does not train; a loss has none of the others */
    for (int64_t i = 0; i < r->rows; i++, y += n, t += n) {
        float w = r->weights ? r->weights[i] : 1;

        r->sums->loss += (double)w * (double)ls__kernels()->squared_error(
                             n, y, t, w, r->dx[0] ? r->dx[0] + i * n : NULL);
        r->sums->weight += (double)w * (double)n;
    }
    return 0;
}

static const ls_own_op own_gelu = {.name = "my gelu", .inputs = 1,
                                   .forward = gelu_fwd, .backward = gelu_bwd};
static const ls_own_op own_error = {.name = "my error", .inputs = 2,
                                    .forward = squared_error};

enum { MANY = 1200 }; /* rows: several chunks of 256 on a device */

/* small_graph with two gelus, own or not, the second added to the first. */
static ls_graph *two_gelus(bool own)
{
    ls_own_op gelu = own_gelu, error = own_error;
    ls_graph *g = empty_graph();

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    ls_node *h = ls_dense(x, 8, "hidden");
    h = own ? ls_own(&gelu, &h) : ls_gelu(h);
    ls_node *k = ls_layer_norm(h, "norm");
    h = ls_add(h, own ? ls_own(&gelu, &k) : ls_gelu(k));
    OK(ls_output(g, h, "h"));
    h = ls_dense(h, OUT, "out");
    OK(ls_loss(g, own ? ls_own_loss(&error, (ls_node *[]){h, y})
                         : ls_mean_squared_error(h, y)));
    memset(&gelu, 0, sizeof gelu); /* they are copied */
    memset(&error, 0, sizeof error);
    return g;
}

/* The state after three steps, the loss of the last, and the output h. */
static float train(bool own, int workers, int micro, float *h, char hex[65])
{
    static float x[MANY * IN], y[MANY * OUT], w[MANY];
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_axes("data:2", workers);
    ls_graph *g = two_gelus(own);
    ls_trainer *t;
    ls_batch *b;
    ls_result r, e;

    o.optimizer = ls_adam(1e-2);
    o.accumulate = micro;
    OK(ls_trainer_open(&t, pool, g, &o));
    ls_graph_free(g);
    OK(ls_batch_open(&b, t));
    ls_random_normal(ls_key_new(1), 0, MANY * IN, x);
    ls_random_normal(ls_key_new(2), 0, MANY * OUT, y);
    for (int i = 0; i < MANY; i++)
        w[i] = (float)(i % 3);
    OK(ls_batch_set(b, "x", LS_F32, x, MANY));
    OK(ls_batch_set(b, "y", LS_F32, y, MANY));
    OK(ls_batch_set_weights(b, w, MANY));
    for (int i = 0; i < 3; i++) {
        OK(ls_evaluate(t, b, &e));
        OK(ls_step(t, b, &r));
        ck_assert(e.loss == r.loss && r.accuracy != r.accuracy);
    }
    OK(ls_predict(t, b, "h", MANY * 8, h));
    ls_trainer_hash(t, hex);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return r.loss;
}

/* Own operators that compute what ours do train to the same bytes as ours, on
 * any number of workers, over several chunks and micro-batches. */
TEST(test_like_ours)
{
    static float h[2][MANY * 8];

    for (int micro = 1; micro <= 2; micro++) {
        char expected[65], hex[65];
        float loss, diff;

        loss = train(false, 1, micro, h[0], expected);
        for (int workers = 1; workers <= 3; workers++) {
            /* Sums of chunks are added, where ours go on: the last bit. */
            diff = train(true, workers, micro, h[1], hex) - loss;
            ck_assert(diff <= 1e-6f * loss && diff >= -1e-6f * loss);
            ck_assert_str_eq(hex, expected);
            ck_assert_mem_eq(h[0], h[1], sizeof h[0]);
        }
    }
}

/* ------ products of 1 to 3 inputs, in small integers ------ */

/* y = 2 x0 x1 x2; the stash is 2, what y is of x is kept.  user: its inputs. */
static int times_fwd(void *user, const ls_own_run *r)
{
    for (int64_t i = 0; i < r->rows * r->y_size; i++) {
        r->y[i] = r->stash[i] = 2;
        for (int k = 0; k < *(int *)user; k++)
            r->y[i] *= ((const float *)r->x[k])[i];
    }
    return 0;
}

static int times_bwd(void *user, const ls_own_run *r)
{
    for (int64_t i = 0; i < r->rows * r->y_size; i++) {
        float y = r->stash[i];

        for (int k = 0; k < *(int *)user; k++)
            y *= ((const float *)r->x[k])[i];
        if (y != r->y[i])
            return -3; /* y is still there */
        for (int k = 0; k < *(int *)user; k++)
            if (r->dx[k])
                r->dx[k][i] = r->dy[i] * y / ((const float *)r->x[k])[i];
    }
    return 0;
}

/* The sum of all elements. */
static int sum_loss(void *user, const ls_own_run *r)
{
    (void)user;
    for (int64_t i = 0; i < r->rows * r->x_size[0]; i++) {
        r->sums->loss += (double)((const float *)r->x[0])[i];
        if (r->dx[0])
            r->dx[0][i] = 1;
    }
    r->sums->weight = (double)r->rows;
    r->sums->correct = (double)r->rows / 2;
    return 0;
}

static const ls_own_op own_sum = {.name = "sum", .inputs = 1,
                                  .forward = sum_loss};

/* loss = f(h) + f(h), h = w x, f(h) = 2 h^n: both own operators, and each input
 * of both, add to the same gradient. */
static ls_graph *powers(int *n)
{
    ls_own_op times = {.name = "times", .inputs = *n, .user = n, .stash = 1,
                       .forward = times_fwd, .backward = times_bwd};
    ls_graph *g = empty_graph();

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});
    ls_node *h = dense_no_bias(x, 1, "w");
    ls_node *in[] = {h, h, h};
    ls_node *a = ls_own(&times, in), *b = ls_own(&times, in);
    a = ls_add(a, b);
    OK(ls_loss(g, ls_own_loss(&own_sum, &a)));
    return g;
}

/* An input that stands there twice or thrice, and is read by others too, gets
 * the sum of all gradients; accuracies of an own loss are counted. */
TEST(test_sums)
{
    static const float x[] = {1, 2, 1, 4};
    ls_trainer_options o = ls_trainer_defaults();

    o.mean = LS_SUM;
    o.optimizer = ls_sgd(1);
    for (int n = 1; n <= LS_OWN_INPUTS; n++) {
        ls_pool *pool = open_axes("data:2", 1);
        ls_graph *g = powers(&n);
        float w = 2, loss = 0, slope = 0;
        ls_trainer *t;
        ls_batch *b;
        ls_result r;

        OK(ls_trainer_open(&t, pool, g, &o));
        OK(ls_batch_open(&b, t));
        OK(ls_batch_set(b, "x", LS_F32, x, 4));
        OK(ls_trainer_set(t, "w.kernel", 1, &w));
        OK(ls_step(t, b, &r));
        for (int i = 0; i < 4; i++) {
            float power = 1;

            for (int k = 1; k < n; k++)
                power *= w * x[i];
            slope += 4 * (float)n * power * x[i];
            loss += 4 * power * w * x[i];
        }
        ck_assert(r.loss == loss && r.accuracy == 0.5f && r.weight == 4);
        OK(ls_trainer_get(t, "w.kernel", 1, &w));
        ck_assert(w == 2 - slope);
        ls_batch_close(b);
        ls_trainer_close(t);
        ls_graph_free(g);
        ls_pool_close(pool);
    }
}

/* ------ shapes ------ */

/* The first element of x[0], times the label x[1]. */
static int first_shape(void *user, const ls_array_spec *x, ls_array_spec *y)
{
    if (x[0].dtype != LS_F32 || x[1].dtype != LS_I32 || x[0].rank != 1 ||
        strcmp(x[0].name, "w") || strcmp(x[1].name, "k"))
        return LS_ESHAPE;
    if (user)
        y->rank = *(int *)user;
    else
        y->shape[0] = 1;
    return 0;
}

static int first_fwd(void *user, const ls_own_run *r)
{
    const int32_t *k = r->x[1];
    const float *x = r->x[0];

    (void)user;
    for (int64_t i = 0; i < r->rows; i++)
        r->y[i] = x[i * r->x_size[0]] * (float)k[i];
    return 0;
}

static int first_bwd(void *user, const ls_own_run *r)
{
    const int32_t *k = r->x[1];
    int64_t n = r->x_size[0];

    (void)user;
    if (r->dx[1])
        return -1; /* integers have no gradient */
    memset(r->dx[0], 0, (size_t)(r->rows * n) * sizeof(float));
    for (int64_t i = 0; i < r->rows; i++)
        r->dx[0][i * n] = r->dy[i] * (float)k[i];
    return 0;
}

static const ls_own_op own_first = {
    .name = "first", .inputs = 2, .shape = first_shape,
    .forward = first_fwd, .backward = first_bwd};

/* A shape function is told the inputs' shapes and says its own; indices are
 * inputs too. */
TEST(test_shape)
{
    static const float x[] = {1, 2};
    static const int32_t k[] = {5, 7};
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_axes("data:2", 2);
    float w[3] = {2, 3, 4};
    int64_t shape[LS_MAX_RANK];
    ls_trainer *t;
    ls_graph *g = empty_graph();
    ls_batch *b;
    ls_result r;

    o.mean = LS_SUM;
    o.optimizer = ls_sgd(1);
    ls_node *in[] = {
        dense_no_bias(ls_input(g, "x", LS_F32, 1, (int64_t[]){1}), 3, "w"),
        ls_input(g, "k", LS_I32, 0, NULL)};
    ls_node *y = ls_own(&own_first, in);
    ck_assert_int_eq(ls_node_shape(y, shape), 1);
    ck_assert_int_eq(shape[0], 1);
    OK(ls_loss(g, ls_own_loss(&own_sum, &y)));
    OK(ls_trainer_open(&t, pool, g, &o));
    OK(ls_trainer_set(t, "w.kernel", 3, w));
    OK(ls_batch_open(&b, t));
    OK(ls_batch_set(b, "x", LS_F32, x, 2));
    OK(ls_batch_set(b, "k", LS_I32, k, 2));
    OK(ls_step(t, b, &r));
    ck_assert(r.loss == 2 * (1 * 5 + 2 * 7));
    OK(ls_trainer_get(t, "w.kernel", 3, w));
    ck_assert(w[0] == 2 - (1 * 5 + 2 * 7) && w[1] == 3 && w[2] == 4);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* ------ what is refused ------ */

static ls_own_op changed(int what)
{
    static int rank[] = {-1, LS_MAX_RANK};
    ls_own_op op = own_first;

    switch (what) {
    case 0: op.inputs = 0; break;
    case 1: op.inputs = 4; break;
    case 2: op.forward = NULL; break;
    case 3: op.backward = NULL; break;
    case 4: op.stash = -1; break;
    case 5: op.user = &rank[0]; break;
    case 6: op.user = &rank[1]; break;
    case 7: op.inputs = 3; break; /* the third one is NULL */
    case 9: op.backward = NULL; break;
    case 10: op.shape = NULL; op.backward = NULL; op.stash = 1; break;
    default: break;
    }
    return op;
}

/* Each mistake sticks to the graph with a message that names the operator. */
TEST(test_refused)
{
    static const struct {
        int status;
        const char *message;
    } row[] = {
        {LS_EINVAL, "operator \"first\": 0 inputs; there must be 1 to 3"},
        {LS_EINVAL, "operator \"first\": 4 inputs; there must be 1 to 3"},
        {LS_EINVAL, "operator \"first\": it needs forward and backward"},
        {LS_EINVAL, "operator \"first\": it needs forward and backward"},
        {LS_EINVAL, "operator \"first\": a stash of -1 floats a row"},
        {LS_EINVAL, "operator \"first\": its shape function made rank -1"},
        {LS_EINVAL, "operator \"first\": its shape function made rank 8"},
        {LS_EINVAL, "own operator: input 2 is NULL"},
        {LS_EINVAL, "operator \"first\": a loss has forward and no backward"},
        {LS_EINVAL, "operator \"first\": a stash of 0 floats a row, or a "},
        {LS_EINVAL, "operator \"first\": a stash of 1 floats a row, or a "},
        {LS_ESHAPE, "operator \"first\": its shape function refuses its "
                    "inputs, the first (1) a row, with status -3"},
    };

    for (int i = 0; i < (int)(sizeof row / sizeof *row); i++) {
        ls_own_op op = changed(i);
        ls_graph *g = empty_graph();

        ls_node *x = ls_input(g, i < 11 ? "w" : "x", LS_F32, 1,
                              (int64_t[]){1});
        ls_node *in[] = {x, ls_input(g, "k", LS_I32, 0, NULL), NULL};
        bool is_loss = i >= 8 && i <= 10;
        ls_node *y = is_loss ? ls_own_loss(&op, in) : ls_own(&op, in);

        ck_assert_ptr_null(y);
        FAILS(ls_loss(g, y), row[i].status, row[i].message);
        ls_graph_free(g);
    }
    ck_assert_ptr_null(ls_own(&own_first, (ls_node *[]){NULL, NULL}));
    ck_assert_ptr_null(ls_own(NULL, NULL));
}

/* ------ failures ------ */

typedef enum part { FORWARD = 1, BACKWARD, LOSS } part;

/* What fails: a part, where the rows hold the number 5. */
static int fail_there(void *user, part p, const ls_own_run *r)
{
    const float *x = r->x[0];

    for (int64_t i = 0; i < r->rows * r->x_size[0]; i++)
        if (*(part *)user == p && x[i] == 5)
            return -40 - (int)p;
    return 0;
}

static int copy_fwd(void *user, const ls_own_run *r)
{
    memcpy(r->y, r->x[0], (size_t)(r->rows * r->y_size) * sizeof *r->y);
    return fail_there(user, FORWARD, r);
}

static int copy_bwd(void *user, const ls_own_run *r)
{
    memcpy(r->dx[0], r->dy, (size_t)(r->rows * r->y_size) * sizeof *r->y);
    return fail_there(user, BACKWARD, r);
}

static int failing_sum(void *user, const ls_own_run *r)
{
    (void)sum_loss(NULL, r);
    return fail_there(user, LOSS, r);
}

static ls_graph *failing_graph(part *p)
{
    ls_own_op copy = {.name = "copy", .inputs = 1, .user = p,
                      .forward = copy_fwd, .backward = copy_bwd};
    ls_own_op sum = {.name = "failing sum", .inputs = 1, .user = p,
                     .forward = failing_sum};
    ls_graph *g = empty_graph();

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});
    x = dense_no_bias(x, 1, "w");
    x = ls_own(&copy, &x);
    OK(ls_output(g, x, "copy"));
    OK(ls_loss(g, ls_own_loss(&sum, &x)));
    return g;
}

/* A failing operator or loss stops the step, the evaluation or the prediction
 * with its name, device and status; the trainer is as before and goes on. */
TEST(test_failures)
{
    static const float x[] = {1, 2, 3, 5}, one = 1;
    static const char *const message[] = {
        [FORWARD] = "the operator \"copy\" failed on device 3 with status -41",
        [BACKWARD] = "the operator \"copy\" failed on device 3 with status -42",
        [LOSS] = "the operator \"failing sum\" failed on device 3 with status "
                 "-43"};
    ls_pool *pool = open_axes("data:4", 2);
    part p = 0;
    ls_graph *g = failing_graph(&p);
    char before[65], after[65];
    float out[4];
    ls_trainer *t;
    ls_batch *b;
    ls_result r;

    OK(ls_trainer_open(&t, pool, g, NULL));
    OK(ls_trainer_set(t, "w.kernel", 1, &one));
    OK(ls_batch_open(&b, t));
    OK(ls_batch_set(b, "x", LS_F32, x, 4));
    ls_trainer_hash(t, before);
    for (p = FORWARD; p <= LOSS; p++) {
        FAILS(ls_step(t, b, &r), LS_EUSER, message[p]);
        if (p == BACKWARD)
            OK(ls_evaluate(t, b, &r));
        else
            FAILS(ls_evaluate(t, b, &r), LS_EUSER, message[p]);
        if (p == FORWARD)
            FAILS(ls_predict(t, b, "copy", 4, out), LS_EUSER, message[p]);
        else
            OK(ls_predict(t, b, "copy", 4, out));
        ls_trainer_hash(t, after);
        ck_assert_str_eq(before, after);
    }
    p = 0;
    OK(ls_step(t, b, &r));
    ck_assert(r.loss == 11.0f / 4);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

MAIN()
