/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialisers that a program chooses: JAX's bits, Flax's layers, orthogonal
 * matrices, and functions of one's own. */
#include "golden/initial.h"
#include "golden.h"
#include "base/memory.h"
#include "base/sha.h"
#include "models.h"
#include "random/init.h"
#include "random/initialiser.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The fan that a parameter's shape gives. */
static double fan_of(const ls_init *init, int rank, const int64_t *shape)
{
    double in, out;

    ls__initial_fans(init, rank, shape, &in, &out);
    return ls__init_fan(init, in, out);
}

static float *filled(const ls_init *init, int rank, const int64_t *shape)
{
    float *x = calloc((size_t)ls__count(rank, shape), sizeof *x);

    ck_assert_ptr_nonnull(x);
    OK(ls__initial_check(init));
    OK(ls__initial_fill(init, ls_key_new(7), fan_of(init, rank, shape), "x",
                        rank, shape, x));
    return x;
}

/* Proves that draws have JAX's bits, of every distribution and fan. */
TEST(jax_bits)
{
    for (size_t i = 0; i < COUNT(golden_initial); i++) {
        int64_t n = ls__count(golden_initial[i].rank, golden_initial[i].shape);
        float *x = filled(&golden_initial[i].init, golden_initial[i].rank,
                          golden_initial[i].shape);
        const float *want = golden("initial", n, "initial/%zu", i);

        for (int64_t k = 0; k < n; k++)
            ck_assert_msg(x[k] == want[k],
                          "case %zu, element %d: %a, not %a", i, (int)k,
                          (double)x[k], (double)want[k]);
        free(x);
    }
}

/* Proves that an orthogonal start is JAX's but for LAPACK's roundings. */
TEST(jax_orthogonal)
{
    ls_init init = ls_init_orthogonal(0.7);

    for (size_t i = 0; i < COUNT(golden_orthogonal); i++) {
        int rank = golden_orthogonal[i].rank;
        const int64_t *shape = golden_orthogonal[i].shape;
        int64_t n = ls__count(rank, shape);
        float *x = filled(&init, rank, shape);
        const float *want = golden("initial", n, "orthogonal/%zu", i);

        for (int64_t k = 0; k < n; k++)
            ck_assert_double_eq_tol((double)x[k], (double)want[k], 2e-6);
        free(x);
    }
}

/* How far x (rows,columns) is from orthogonal: the largest error of a product
 * of two rows, or columns, whichever are fewer. */
static double error_of(int64_t rows, int64_t columns, const float *x)
{
    bool wide = columns > rows;
    int64_t n = wide ? rows : columns, m = wide ? columns : rows;
    int64_t next = wide ? 1 : columns, other = wide ? columns : 1;
    double worst = 0;

    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b <= a; b++) {
            double sum = a == b ? -1 : 0;

            for (int64_t i = 0; i < m; i++)
                sum += (double)x[a * other + i * next] *
                       (double)x[b * other + i * next];
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

/* Proves that rows or columns are orthogonal to the roundings of floats. */
TEST(is_orthogonal)
{
    static const int64_t shape[][4] = {
        {1, 1, 1, 1}, {1, 1, 1, 7}, {1, 1, 7, 1}, {1, 1, 2, 2}, {1, 1, 64, 48},
        {1, 1, 48, 64}, {3, 3, 8, 16}, {3, 1, 5, 31}, {1, 1, 200, 200}};
    ls_init init = ls_init_orthogonal(1);

    for (size_t i = 0; i < COUNT(shape); i++) {
        float *x = filled(&init, 4, shape[i]);
        int64_t rows = shape[i][0] * shape[i][1] * shape[i][2];
        double error = error_of(rows, shape[i][3], x);

        ck_assert_msg(error < 4e-7, "shape %zu: off by %g", i, error);
        free(x);
    }
}

/* Proves that no CPU and no compiler shows in an orthogonal start. */
TEST(orthogonal_bits)
{
    static const int64_t shape[] = {37, 29};
    ls_init init = ls_init_orthogonal(1);
    float *x = filled(&init, 2, shape);
    ls__sha256 sha;
    char hex[65];

    ls__sha256_init(&sha);
    ls__sha256_update(&sha, x, 37 * 29 * sizeof *x);
    ls__sha256_hex(&sha, hex);
    ck_assert_str_eq(hex, "cc9deb150a851d06b979cf33c42c85be"
                          "3ed80f02ff9d514c82e74b05af3a7092");
    free(x);
}

/* ------ In a graph ------ */

static ls_graph *two_layers(void)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){5});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){3});

    OK(ls_loss(g, ls_mean_squared_error(ls_dense(ls_dense(x, 4, "a"), 3, "b"),
                                        y)));
    return g;
}

static ls_trainer *opened(ls_pool *pool, const ls_graph *g, ls_keys keys)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_trainer *t;

    o.seed = 3;
    o.keys = keys;
    OK(ls_trainer_open(&t, pool, g, &o));
    return t;
}

/* Proves that layers start as Flax's with the same initialiser, by either way
 * of keys, and that biases stay what they were. */
TEST(flax_layers)
{
    ls_pool *pool = open_pool(2, 2);

    for (size_t i = 0; i < COUNT(golden_layers); i++) {
        ls_graph *g = two_layers();
        float first[20], second[12], bias[4];
        ls_trainer *t;
        ls_init init;

        OK(ls_init_named(&init, golden_layers[i].name));
        OK(ls_init_params(g, "*kernel", &init));
        t = opened(pool, g, golden_layers[i].keys);
        OK(ls_trainer_get(t, "a.kernel", 20, first));
        OK(ls_trainer_get(t, "b.kernel", 12, second));
        OK(ls_trainer_get(t, "a.bias", 4, bias));
        ck_assert_mem_eq(first, golden("initial", 20, "layers/%zu/first", i),
                         sizeof first);
        ck_assert_mem_eq(second, golden("initial", 12, "layers/%zu/second", i),
                         sizeof second);
        ck_assert(!bias[0] && !bias[1] && !bias[2] && !bias[3]);
        ls_trainer_close(t);
        ls_graph_free(g);
    }
    ls_pool_close(pool);
}

typedef struct own {
    int calls, status;
    float value;
    char name[32];
    ls_key key;
} own;

static int count_up(void *user, const char *name, int rank,
                    const int64_t *shape, ls_key key, float *out)
{
    own *o = user;

    o->calls++;
    o->key = key;
    snprintf(o->name, sizeof o->name, "%s", name);
    ck_assert_int_eq(rank, 2);
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        out[i] = o->value + (float)i;
    return o->status;
}

/* Proves that a function of one's own fills its parameter and no other, gets
 * the key that the layer's draws come from, and that the last choice counts. */
TEST(own_function)
{
    own mine = {.value = 0.5f};
    ls_init init = {.kind = LS_INIT_OWN, .fn = count_up, .user = &mine};
    ls_init layer = {.kind = LS_INIT_LAYER};
    ls_init truncated = ls_init_variance(LS_TRUNCATED_NORMAL, LS_FAN_IN, 1);
    ls_pool *pool = open_pool(1, 1);
    ls_graph *g = two_layers();
    float first[20], second[12], want[20], plain[12];
    ls_trainer *t = opened(pool, g, LS_KEYS_NNX);

    OK(ls_trainer_get(t, "a.kernel", 20, want));
    OK(ls_trainer_get(t, "b.kernel", 12, plain));
    ls_trainer_close(t);
    OK(ls_init_params(g, "a.kernel", &init));
    t = opened(pool, g, LS_KEYS_NNX);
    OK(ls_trainer_get(t, "a.kernel", 20, first));
    OK(ls_trainer_get(t, "b.kernel", 12, second));
    for (int i = 0; i < 20; i++)
        ck_assert(first[i] == 0.5f + (float)i);
    ck_assert_mem_eq(second, plain, sizeof plain);
    ck_assert_int_eq(mine.calls, 1);
    ck_assert_str_eq(mine.name, "a.kernel");
    OK(ls__initial_fill(&truncated, mine.key,
                        fan_of(&truncated, 2, (int64_t[]){5, 4}), "a.kernel", 2,
                        (int64_t[]){5, 4}, first));
    ck_assert_mem_eq(first, want, sizeof want);
    ls_trainer_close(t);
    OK(ls_init_params(g, "*", &layer));
    t = opened(pool, g, LS_KEYS_NNX);
    OK(ls_trainer_get(t, "a.kernel", 20, first));
    ck_assert_mem_eq(first, want, sizeof want);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* Proves that a function that fails, or makes what is not finite, fails the
 * opening by the parameter's name. */
TEST(own_function_fails)
{
    own mine = {.status = -1};
    ls_init init = {.kind = LS_INIT_OWN, .fn = count_up, .user = &mine};
    ls_pool *pool = open_pool(1, 1);
    ls_graph *g = two_layers();
    ls_trainer *t = NULL;

    OK(ls_init_params(g, "b.kernel", &init));
    FAILS(ls_trainer_open(&t, pool, g, NULL), LS_EUSER,
          "the initialiser of parameter \"b.kernel\" failed");
    mine.status = 0;
    mine.value = INFINITY;
    FAILS(ls_trainer_open(&t, pool, g, NULL), LS_ENONFINITE,
          "\"b.kernel\" made element 0 not finite");
    ck_assert_ptr_null(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* Proves that what makes no sense is refused, sticks to the graph, and changes
 * nothing. */
TEST(refused)
{
    static const struct {
        const char *names;
        ls_init init;
        int status;
        const char *words;
    } row[] = {
        {"c.*", {.kind = LS_INIT_CONSTANT}, LS_ENOTFOUND,
         "initialiser \"c.*\": matches none of 4 parameters"},
        {"a.*", {.kind = LS_INIT_VARIANCE, .scale = 1}, LS_ESHAPE,
         "parameter \"a.bias\" has 1 axes"},
        {"*", {.kind = LS_INIT_ORTHOGONAL, .scale = 1}, LS_ESHAPE, ".bias\""},
        {"*", {.kind = (ls_init_kind)6}, LS_EINVAL, "kind 6"},
        {"*", {.distribution = (ls_distribution)3}, LS_EINVAL,
         "distribution 3"},
        {"*", {.fan = (ls_fan)-1}, LS_EINVAL, "fan -1 is unknown"},
        {"*", {.kind = LS_INIT_OWN}, LS_EINVAL, "fn is NULL"},
        {"*", {.kind = LS_INIT_CONSTANT, .scale = (double)NAN}, LS_EINVAL,
         "scale nan is not finite"},
        {"*", {.kind = LS_INIT_CONSTANT, .scale = 1e39}, LS_EINVAL, "1e+39"},
        {"*kernel", {.kind = LS_INIT_VARIANCE, .scale = -1}, LS_EINVAL,
         "scale -1 is not finite, or negative"},
    };
    ls_init init;

    for (size_t i = 0; i < COUNT(row); i++) {
        ls_graph *g = two_layers();

        FAILS(ls_init_params(g, row[i].names, &row[i].init), row[i].status,
              row[i].words);
        FAILS(ls_init_params(g, "*", &(ls_init){.kind = LS_INIT_LAYER}),
              row[i].status, row[i].words);
        ls_graph_free(g);
    }
    FAILS(ls_init_named(&init, "glorot_normal"), LS_ENOTFOUND,
          "no initialiser is called \"glorot_normal\"");
}

/* Proves that every name gives an initialiser that works. */
TEST(names)
{
    int count = 0;

    for (; ls_init_name(count); count++) {
        ls_init init;
        float *x;

        OK(ls_init_named(&init, ls_init_name(count)));
        x = filled(&init, 2, (int64_t[]){4, 3});
        ck_assert(isfinite(x[11]) && (count == 0) == (x[11] == 0.0f));
        free(x);
    }
    ck_assert_int_eq(count, 15);
    ck_assert_ptr_null(ls_init_name(-1));
}

MAIN()
