/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows given as lists of what is not zero: the bytes of the dense layer on the
 * rows written out, on every level, for operators alone and for whole
 * trainings; PyTorch's numbers of bags; what is refused; and rows from CSR. */
#include "alone.h"
#include "backends.h"
#include "base/fpmode.h"
#include "layers.h"
#include "models.h"
#include "on_ranks.h"
#include "op/op_table.h"

#include <math.h>

/* ------ Data ------ */

/* Lists (rows,places) of up to `places` indices below `count`, in any order,
 * some twice, with values; and the rows written out. */
typedef struct lists {
    int64_t rows, places, count;
    int32_t *index;
    float *value, *dense;
} lists;

/* Most of a row lies within a few chunks of 256, as what occurs together often
 * does. */
static void fill_list(lists *l, int64_t row, const int32_t *draw)
{
    int32_t *index = l->index + row * l->places;
    int64_t near = draw[0] % l->count;

    for (int64_t k = 0; k < l->places; k++) {
        int64_t spread = k % 3 ? 40 : l->count;

        index[k] = (int32_t)((near + draw[k] % spread) % l->count);
        if (draw[k] % 7 == 0)
            index[k] = -1;
        else if (draw[k] % 11 == 0 && k > 0)
            index[k] = index[k - 1];
    }
}

/* The sum of an index's values, in the order of places. */
static void write_out(const lists *l, bool ones)
{
    for (int64_t i = 0; i < l->rows * l->places; i++)
        if (l->index[i] >= 0)
            l->dense[i / l->places * l->count + l->index[i]] +=
                ones ? 1 : l->value[i];
}

static lists make_lists(int64_t rows, int64_t places, int64_t count, bool ones,
                        float scale)
{
    lists l = {rows, places, count, calloc((size_t)(rows * places), 4),
               calloc((size_t)(rows * places), 4),
               calloc((size_t)(rows * count), 4)};
    int32_t *draw = malloc((size_t)(rows * places) * sizeof *draw);

    ck_assert(l.index && l.value && l.dense && draw);
    fill_indices(5, rows * places, 1 << 30, draw);
    fill_uniform(6, rows * places, l.value);
    for (int64_t i = 0; i < rows * places; i++)
        l.value[i] *= scale;
    for (int64_t r = 0; r < rows; r++)
        fill_list(&l, r, draw + r * places);
    write_out(&l, ones);
    free(draw);
    return l;
}

static void free_lists(lists *l)
{
    free(l->index);
    free(l->value);
    free(l->dense);
}

/* ------ Operators alone ------ */

/* A layer: its node and what a run of it leaves. */
typedef struct layer {
    ls_graph *graph;
    ls_node *node;
    float *y, *dw, *dbias, *dx;
} layer;

/* Forward, then backward, the gradients added to what is there if `add`. */
static void run_layer(layer *l, const ls__kernel_table *k, int64_t rows,
                      const void *const *x, const float *const *param,
                      const float *dy, bool add)
{
    const ls__op *op = l->node->op;
    int wide = op->inputs - 1; /* which input has a gradient */
    ls__run r = {.node = l->node, .rows = rows, .kernels = k,
                 .backend = &k->native[LS_F32_LAYERS]};
    alone a = alone_of(l->node);

    r.y = l->y = fenced(rows * l->node->size);
    for (int i = 0; i < op->inputs; i++)
        r.x[i] = x[i];
    for (int i = 0; i < 2; i++)
        r.param[i] = param[i];
    alone_start(&a, &r);
    op->run.forward(&r);
    l->dw = uniform(8, l->graph->params[0]->size);
    l->dbias = uniform(9, ls__width(l->node));
    l->dx = fenced(rows * l->node->in[wide]->size);
    r.dparam[0] = l->dw;
    r.dparam[1] = l->dbias;
    r.dx[wide] = l->dx;
    r.dy = dy;
    r.add = add;
    op->run.backward(&r);
}

static layer sparse_layer(const lists *l, int64_t n)
{
    layer s = {0};
    ls_node *x, *v;

    OK(ls_graph_new(&s.graph));
    x = ls_input(s.graph, "x", LS_I32, 1, &l->places);
    v = ls_input(s.graph, "v", LS_F32, 1, &l->places);
    s.node = ls_sparse_dense(x, v, l->count, n, "d");
    ck_assert_msg(s.node != NULL, "%s", ls_errmsg());
    return s;
}

static layer dense_layer(const lists *l, int64_t n)
{
    layer s = {0};

    OK(ls_graph_new(&s.graph));
    s.node = ls_dense(ls_input(s.graph, "x", LS_F32, 1, &l->count), n, "d");
    ck_assert_msg(s.node != NULL, "%s", ls_errmsg());
    return s;
}

static void same(const char *what, int64_t n, const float *a, const float *b)
{
    for (int64_t i = 0; i < n; i++)
        HOLDS(!memcmp(a + i, b + i, sizeof *a), "%s: %lld is %a, not %a", what,
              (long long)i, (double)b[i], (double)a[i]);
}

/* The gradient of a value is that of its element of the row. */
static void same_dx(const lists *l, const layer *dense, const layer *sparse)
{
    for (int64_t i = 0; i < l->rows * l->places; i++) {
        float want = 0, got = sparse->dx[i];

        if (l->index[i] >= 0)
            want = dense->dx[i / l->places * l->count + l->index[i]];
        HOLDS(!memcmp(&want, &got, sizeof want),
              "gradient of value %lld: %a, not %a", (long long)i, (double)got,
              (double)want);
    }
}

static void check_level(const ls__kernel_table *k, const lists *l, int64_t n,
                        bool add)
{
    layer dense = dense_layer(l, n), sparse = sparse_layer(l, n);
    const float *const param[] = {uniform(1, l->count * n), uniform(2, n)};
    const void *rows[] = {l->dense}, *list[] = {l->index, l->value};
    const float *dy = uniform(3, l->rows * n);

    run_layer(&dense, k, l->rows, rows, param, dy, add);
    run_layer(&sparse, k, l->rows, list, param, dy, add);
    same("y", l->rows * n, dense.y, sparse.y);
    same("dw", l->count * n, dense.dw, sparse.dw);
    same("dbias", n, dense.dbias, sparse.dbias);
    same_dx(l, &dense, &sparse);
    ls_graph_free(dense.graph);
    ls_graph_free(sparse.graph);
    fences_free();
}

static const struct shape {
    int64_t rows, places, count, n;
    float scale;
} shapes[] = {{3, 1, 1, 1, 1},      {7, 5, 300, 17, 1},
              {257, 33, 700, 64, 1}, {600, 30, 1000, 130, 1},
              {40, 300, 900, 5, 1},  {65, 20, 257, 300, 1},
              {300, 9, 520, 40, 1e-37f}}; /* sums that underflow */
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Value and gradients are the dense layer's, byte for byte, on every level,
 * over borders of chunks and where products are too small to be numbers. */
LOOP_TEST(test_dense_bytes, 0, SHAPES)
{
    const struct shape *s = &shapes[_i];
    const ls__kernel_table *k;
    lists l;

    ls__fpmode_set(); /* in which values are added up, too */
    l = make_lists(s->rows, s->places, s->count, false, s->scale);
    for (int i = 0; (k = ls__kernels_level(i)); i++)
        for (int add = 0; add < 2 && ls__kernels_by_name(k->name); add++)
            check_level(k, &l, s->n, add);
    free_lists(&l);
}

/* ------ Whole trainings ------ */

enum { STEPS = 3, COUNT = 900, PLACES = 12, WIDTH = 24 };

/* How a training goes. */
typedef struct way {
    int devices, workers, accumulate;
    int64_t rows;
    bool two;  /* sides, which share their weights */
    bool ones; /* no values */
    ls_state state;
    bool large;   /* a table whose chunks are worked on in lots */
    int32_t only; /* indices below that; 0: all */
    int bags;     /* of a row, where they are more than one */
} way;

static int64_t bags_of(const way *w)
{
    return w->bags ? w->bags : 1;
}

static int64_t count_of(const way *w)
{
    return w->large ? 1100 : COUNT;
}

static int64_t width_of(const way *w)
{
    return w->large ? 256 : WIDTH;
}

static ls_node *side(ls_graph *g, const char *name, const way *w, bool dense,
                     const char *called)
{
    char values[8];
    ls_node *x, *v = NULL;

    if (dense)
        return ls_dense(ls_input(g, name, LS_F32, 2,
                                 (int64_t[]){bags_of(w), count_of(w)}),
                        width_of(w), called);
    x = ls_input(g, name, LS_I32, 2, (int64_t[]){bags_of(w), PLACES});
    snprintf(values, sizeof values, "v%s", name);
    if (!w->ones)
        v = ls_input(g, values, LS_F32, 2, (int64_t[]){bags_of(w), PLACES});
    return ls_sparse_dense(x, v, count_of(w), width_of(w), called);
}

static ls_graph *two_sides(const way *w, bool dense)
{
    ls_node *y, *both[2];
    ls_graph *g = empty_graph();

    both[0] = y = side(g, "a", w, dense, "wide");
    if (w->two) {
        OK(ls_tie(g, "other.kernel", "wide.kernel", false));
        OK(ls_tie(g, "other.bias", "wide.bias", false));
        both[1] = side(g, "b", w, dense, "other");
        y = ls_concat(both, 2, 1);
    }
    y = ls_flatten(y);
    y = ls_dense(ls_clamp(y, 0, 1), 1, "out");
    OK(ls_loss(g, ls_mean_squared_error(
                      y, ls_input(g, "t", LS_F32, 1, (int64_t[]){1}))));
    return g;
}

static void set_side(ls_batch *b, const char *name, const way *w, bool dense,
                     const lists *l, int64_t first)
{
    char values[8];

    first *= bags_of(w);
    if (dense) {
        OK(ls_batch_set(b, name, LS_F32, l->dense + first * l->count, w->rows));
        return;
    }
    snprintf(values, sizeof values, "v%s", name);
    OK(ls_batch_set(b, name, LS_I32, l->index + first * PLACES, w->rows));
    if (!w->ones)
        OK(ls_batch_set(b, values, LS_F32, l->value + first * PLACES, w->rows));
}

static lists lists_of(const way *w)
{
    lists l = make_lists(w->rows * bags_of(w) * (STEPS + 1), PLACES,
                         count_of(w), w->ones, 1);

    if (!w->only)
        return l;
    for (int64_t i = 0; i < l.rows * PLACES; i++)
        l.index[i] = l.index[i] < 0 ? -1 : l.index[i] % w->only;
    memset(l.dense, 0, (size_t)(l.rows * l.count) * sizeof *l.dense);
    write_out(&l, w->ones);
    return l;
}

/* Other rows in each step, so that other rows of the weights occur; returns the
 * first status that is not 0. */
static int take_steps(ls_trainer *trainer, const way *w, bool dense)
{
    lists l = lists_of(w);
    float *t = malloc((size_t)w->rows * sizeof *t);
    int status = 0;
    ls_batch *b;
    ls_result r;

    ck_assert_ptr_nonnull(t);
    fill_uniform(4, w->rows, t);
    OK(ls_batch_open(&b, trainer));
    OK(ls_batch_set(b, "t", LS_F32, t, w->rows));
    for (int s = 0; s < STEPS && status == 0; s++) {
        set_side(b, "a", w, dense, &l, s * w->rows);
        if (w->two)
            set_side(b, "b", w, dense, &l, (s + 1) * w->rows);
        status = ls_step(trainer, b, &r);
    }
    ls_batch_close(b);
    free_lists(&l);
    free(t);
    return status;
}

static int try_hash(const way *w, const ls_trainer_options *o, bool dense,
                    char hash[65])
{
    ls_pool *pool = open_pool(w->devices, w->workers);
    ls_graph *g = two_sides(w, dense);
    ls_trainer *trainer = NULL;
    int status = ls_trainer_open(&trainer, pool, g, o);

    if (status == 0)
        status = take_steps(trainer, w, dense);
    if (status == 0)
        ls_trainer_hash(trainer, hash);
    ls_trainer_close(trainer);
    ls_graph_free(g);
    ls_pool_close(pool);
    return status;
}

static void hash_of(const way *w, const ls_trainer_options *o, bool dense,
                    char hash[65])
{
    OK(try_hash(w, o, dense, hash));
}

static const way ways[] = {
    {1, 1, 1, 40, false, true, LS_REPLICATE, false, 0, 0},
    {1, 1, 1, 600, true, true, LS_REPLICATE, false, 0, 0},
    {4, 2, 1, 67, true, false, LS_REPLICATE, false, 0, 0},
    {4, 3, 3, 600, true, true, LS_SHARD, false, 0, 0},
    {5, 2, 2, 33, false, false, LS_SHARD, false, 0, 0}};
enum { WAYS = sizeof ways / sizeof *ways };

/* A shard is more than a lot, or ends within one; a lot is a group or three. */
static const way large_ways[] = {
    {1, 1, 1, 2000, false, true, LS_REPLICATE, true, 0, 0},
    {2, 2, 1, 2000, true, false, LS_SHARD, true, 0, 0},
    {1, 1, 2, 3500, false, false, LS_REPLICATE, true, 400, 0},
    {2, 1, 2, 1100, true, true, LS_REPLICATE, true, 100, 0},
    {1, 1, 1, 700, true, true, LS_REPLICATE, true, 0, 3}};
enum { LARGE_WAYS = sizeof large_ways / sizeof *large_ways };

static const ls_optimizer_kind kinds[] = {LS_SGD, LS_ADAM, LS_ADAGRAD,
                                          LS_MOMENTUM};

/* The state after steps is that of the dense layer, for numbers of devices,
 * workers and micro-batches, one side and two that share weights, clipping and
 * an average of the weights. */
LOOP_TEST(test_trainings, 0, WAYS)
{
    ls_trainer_options o = ls_trainer_defaults();
    char want[65], got[65];

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        o.optimizer = ls_optimizer_defaults(kinds[i], 0.01);
        o.accumulate = ways[_i].accumulate;
        o.state = ways[_i].state;
        o.clip_norm = i % 2 ? 0.01 : 0;
        o.average = i / 2 ? 0.9 : 0;
        hash_of(&ways[_i], &o, true, want);
        hash_of(&ways[_i], &o, false, got);
        ck_assert_str_eq(want, got);
    }
}

/* No lot of chunks shows. */
LOOP_TEST(test_lots, 0, LARGE_WAYS)
{
    const way *w = &large_ways[_i];
    ls_trainer_options o = ls_trainer_defaults();
    char want[65], got[65];

    o.optimizer = ls_adam(0.01);
    o.accumulate = w->accumulate;
    o.state = w->state;
    hash_of(w, &o, true, want);
    hash_of(w, &o, false, got);
    ck_assert_str_eq(want, got);
}

/* ------ Few rows of the table a step ------ */

/* What may leave something else in the devices' gradients than a step does. */
static void interrupt(ls_trainer *t, ls_batch *b, const way *w, bool dense,
                      int how)
{
    int64_t n = w->rows * (dense ? count_of(w) : PLACES);
    float *dx = malloc((size_t)n * sizeof *dx), *rows;
    ls_gradients *g;
    ls_result r;

    rows = calloc((size_t)w->rows, sizeof *rows);
    ck_assert(dx && rows);
    OK(ls_gradients_open(&g, t, 1));
    if (how == 1) {
        OK(ls_gradients_compute(g, b, &r));
        OK(ls_gradients_apply(g, &r));
    } else if (how == 2) {
        for (int64_t i = 0; i < w->rows; i++)
            rows[i] = 3e38f; /* the loss overflows */
        OK(ls_batch_set(b, "t", LS_F32, rows, w->rows));
        ck_assert_int_lt(ls_step(t, b, &r), 0);
    } else if (how == 3) {
        OK(ls_input_gradient(t, b, true, dense ? "a" : "va", n, dx));
    } else if (how == 4) {
        OK(ls_evaluate(t, b, &r));
    }
    ls_gradients_close(g);
    free(rows);
    free(dx);
}

/* Three rows in each step, others than before. */
static void hash_of_few(const way *w, const ls_trainer_options *o, bool dense,
                        char hash[65])
{
    ls_pool *pool = open_pool(w->devices, w->workers);
    ls_graph *g = two_sides(w, dense);
    lists l = make_lists(w->rows * 15, PLACES, count_of(w), w->ones, 1);
    float t[3] = {1, -1, 0.5f};
    ls_trainer *trainer;
    ls_batch *b;
    ls_result r;

    OK(ls_trainer_open(&trainer, pool, g, o));
    OK(ls_batch_open(&b, trainer));
    for (int s = 0; s < 15; s++) {
        set_side(b, "a", w, dense, &l, s * w->rows);
        OK(ls_batch_set(b, "t", LS_F32, t, w->rows));
        if (s % 3 == 2)
            interrupt(trainer, b, w, dense, s / 3);
        else
            OK(ls_step(trainer, b, &r));
    }
    ls_trainer_hash(trainer, hash);
    ls_batch_close(b);
    ls_trainer_close(trainer);
    free_lists(&l);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* What no row of a batch touches is left alone, and no byte shows it, whatever
 * came before the step. */
LOOP_TEST(test_few, 0, 16)
{
    static const way few = {2, 2, 1, 3, false, false, LS_SHARD, true, 0, 0};
    static const int devices[] = {2, 1, 3, 20};
    ls_trainer_options o = ls_trainer_defaults();
    char want[65], got[65];
    way w = few;

    w.workers = 1 + _i % 2;
    w.devices = devices[_i / 4];
    o.optimizer = ls_optimizer_defaults(kinds[_i % 4], 0.01);
    o.state = w.state;
    o.clip_norm = _i % 4 > 1 ? 1e-6 : 0;
    hash_of_few(&w, &o, true, want);
    hash_of_few(&w, &o, false, got);
    ck_assert_str_eq(want, got);
}

/* A row a device, with 3e38 where row 500 of weights that are zeros is read;
 * the gradient of each unit is `slope`.  The status of a step, and the state
 * before and after. */
static int step_with_large(bool dense, float slope, char before[65],
                           char after[65])
{
    static const way w = {2, 2, 1, 2, false, false, LS_SHARD, true, 0, 0};
    static const float zeros[1100 * 256];
    ls_trainer_options o = ls_trainer_defaults();
    lists l = make_lists(w.rows, PLACES, count_of(&w), false, 1);
    float ones[256], half[256], t[] = {128 - slope / 2, 128 - slope / 2};
    ls_pool *pool = open_pool(w.devices, w.workers);
    ls_graph *g = two_sides(&w, dense);
    ls_trainer *trainer;
    ls_batch *b;
    ls_result r;
    int status;

    for (int i = 0; i < 256; i++) {
        ones[i] = 1;
        half[i] = 0.5f;
    }
    for (int64_t i = 0; i < w.rows * PLACES; i++) {
        l.index[i] = i % PLACES ? -1 : 500;
        l.value[i] = 3e38f;
    }
    memset(l.dense, 0, (size_t)(l.rows * l.count) * sizeof *l.dense);
    write_out(&l, false);
    o.optimizer = ls_sgd(0.01);
    o.state = w.state;
    OK(ls_trainer_open(&trainer, pool, g, &o));
    OK(ls_trainer_set(trainer, "wide.kernel", 1100 * 256, zeros));
    OK(ls_trainer_set(trainer, "wide.bias", 256, half));
    OK(ls_trainer_set(trainer, "out.kernel", 256, ones));
    OK(ls_trainer_set(trainer, "out.bias", 1, zeros));
    OK(ls_batch_open(&b, trainer));
    set_side(b, "a", &w, dense, &l, 0);
    OK(ls_batch_set(b, "t", LS_F32, t, w.rows));
    ls_trainer_hash(trainer, before);
    status = ls_step(trainer, b, &r);
    ls_trainer_hash(trainer, after);
    ls_batch_close(b);
    ls_trainer_close(trainer);
    free_lists(&l);
    ls_graph_free(g);
    ls_pool_close(pool);
    return status;
}

/* Devices' gradients that are finite may have a sum that is not: it is looked
 * at before anything changes.  One that is finite is applied. */
TEST(test_large)
{
    char before[65], want[65], got[65];

    ck_assert_int_lt(step_with_large(false, 1, before, got), 0);
    ck_assert_str_eq(before, got);
    OK(step_with_large(true, 0.5f, before, want));
    OK(step_with_large(false, 0.5f, before, got));
    ck_assert_str_ne(before, got);
    ck_assert_str_eq(want, got);
}

/* A mean has the bytes of a sum with values 1/m. */
TEST(test_mean_bytes)
{
    static const int32_t list[] = {3, 3, -1, 0, 4, -1, 1, 2};
    static const float values[] = {1.0f / 3, 1.0f / 3, 9, 1.0f / 3,
                                   1.0f / 3, 7, 1.0f / 3, 1.0f / 3};
    const float *const param[] = {uniform(1, 5 * 7), NULL};
    const float *dy = uniform(3, 2 * 7);
    const void *x[] = {list, values};
    layer sum = {0}, mean = {0};
    ls_node *in;

    ls__fpmode_set();
    OK(ls_graph_new(&mean.graph));
    in = ls_input(mean.graph, "x", LS_I32, 1, (int64_t[]){4});
    mean.node = ls_embed_bag(in, LS_BAG_MEAN, 5, 7, "m");
    OK(ls_graph_new(&sum.graph));
    in = ls_input(sum.graph, "x", LS_I32, 1, (int64_t[]){4});
    sum.node = sparse_dense_no_bias(
        in, ls_input(sum.graph, "v", LS_F32, 1, (int64_t[]){4}), 5, 7, "s");
    run_layer(&mean, ls__kernels(), 2, x, param, dy, false);
    run_layer(&sum, ls__kernels(), 2, x, param, dy, false);
    same("y", 14, sum.y, mean.y);
    same("dw", 35, sum.dw, mean.dw);
    ls_graph_free(mean.graph);
    ls_graph_free(sum.graph);
    fences_free();
}

/* ------ PyTorch's numbers ------ */

typedef struct wanted {
    const char *bag, *optimizer;
    float loss[3], table[33];
} wanted;

#include "golden/bags.h"

static const int32_t golden_list[] = {0, 5,  5,  10, 7, -1, -1, -1,
                                      -1, -1, -1, -1, 2, 1,  0,  -1,
                                      9, 9,  9,  9,  6, 8,  -1, 1};

static ls_graph *golden_graph(const char *bag)
{
    ls_node *x, *v, *y;
    ls_graph *g = empty_graph();

    x = ls_input(g, "x", LS_I32, 1, (int64_t[]){4});
    if (!strcmp(bag, "values")) {
        v = ls_input(g, "v", LS_F32, 1, (int64_t[]){4});
        y = sparse_dense_no_bias(x, v, 11, 3, "bag");
    } else {
        y = ls_embed_bag(x, *bag == 'm' ? LS_BAG_MEAN : LS_BAG_SUM, 11, 3,
                         "bag");
    }
    OK(ls_loss(g, ls_mean_squared_error(
                      y, ls_input(g, "t", LS_F32, 1, (int64_t[]){3}))));
    return g;
}

static ls_optimizer golden_optimizer(const char *name)
{
    ls_optimizer o = ls_adagrad(0.125);

    if (!strcmp(name, "sgd"))
        return ls_sgd(0.5);
    if (!strcmp(name, "adam") || !strcmp(name, "lazy")) {
        o = ls_adam(0.125);
        o.lazy = *name == 'l';
        o.eps = 1e-12; /* which PyTorch puts elsewhere */
        return o;
    }
    o.initial_accumulator = 0.25;
    o.eps = 1e-20;
    return o;
}

/* Three updates, of which the second sees the last three rows. */
static void golden_steps(ls_trainer *t, const wanted *w)
{
    float target[18], values[24];
    ls_batch *b;
    ls_result r;

    for (int i = 0; i < 18; i++)
        target[i] = (float)(i * 37 % 101 - 50) / 64;
    for (int i = 0; i < 24; i++)
        values[i] = (float)(i % 3 + 1) / 2;
    OK(ls_batch_open(&b, t));
    for (int s = 0; s < 3; s++) {
        int first = s == 1 ? 3 : 0;

        OK(ls_batch_set(b, "x", LS_I32, golden_list + 4 * first, 6 - first));
        OK(ls_batch_set(b, "t", LS_F32, target + 3 * first, 6 - first));
        if (!strcmp(w->bag, "values"))
            OK(ls_batch_set(b, "v", LS_F32, values + 4 * first, 6 - first));
        OK(ls_step(t, b, &r));
        ck_assert_msg(fabsf(r.loss - w->loss[s]) <= 3e-5f * w->loss[s],
                      "%s, %s: loss %d is %g, not %g", w->bag, w->optimizer, s,
                      (double)r.loss, (double)w->loss[s]);
    }
    ls_batch_close(b);
}

/* Adam's corrections are floats here and doubles there: 1 - 0.999^n has lost
 * three digits. */
LOOP_TEST(test_torch, 0, sizeof wanteds / sizeof *wanteds)
{
    const wanted *w = &wanteds[_i];
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = golden_graph(w->bag);
    const char *name = strcmp(w->bag, "values") ? "bag.embedding"
                                                : "bag.kernel";
    ls_pool *pool = open_pool(2, 1);
    float table[33];
    ls_trainer *t;

    for (int i = 0; i < 33; i++)
        table[i] = (float)(i * 53 % 97 - 48) / 64;
    o.optimizer = golden_optimizer(w->optimizer);
    OK(ls_trainer_open(&t, pool, g, &o));
    OK(ls_trainer_set(t, name, 33, table));
    golden_steps(t, w);
    OK(ls_trainer_get(t, name, 33, table));
    for (int i = 0; i < 33; i++)
        ck_assert_msg(fabsf(table[i] - w->table[i]) <=
                          (o.optimizer.kind == LS_ADAM ? 2e-5f : 5e-6f),
                      "%s, %s: element %d is %g, not %g", w->bag, w->optimizer,
                      i, (double)table[i], (double)w->table[i]);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* ------ Lazy Adam ------ */

static ls_trainer_options lazy_options(const way *w)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(0.01);
    o.optimizer.lazy = true;
    o.accumulate = w->accumulate;
    o.state = w->state;
    return o;
}

/* No worker, placement, clipping that clips nothing, or average shows in the
 * weights. */
TEST(test_lazy_alike)
{
    way w = {4, 1, 2, 67, true, true, LS_REPLICATE, false, 0, 0};
    ls_trainer_options o = lazy_options(&w);
    char want[65], got[65];

    hash_of(&w, &o, false, want);
    w.workers = 3;
    hash_of(&w, &o, false, got);
    ck_assert_str_eq(want, got);
    w.state = o.state = LS_SHARD;
    hash_of(&w, &o, false, got);
    ck_assert_str_eq(want, got);
    o.clip_norm = 1e30;
    hash_of(&w, &o, false, got);
    ck_assert_str_eq(want, got);
    o.optimizer.lazy = false;
    hash_of(&w, &o, false, got);
    ck_assert_str_ne(want, got);
}

/* Ranks that share the devices. */
typedef struct shared {
    way way;
    char hash[RANKS][65];
    pthread_mutex_t lock; /* guards next */
    int next;
} shared;

static int lazy_rank(const ls_transport *t, void *user)
{
    shared *s = user;
    ls_trainer_options o = lazy_options(&s->way);
    int at;

    pthread_mutex_lock(&s->lock);
    at = s->next++;
    pthread_mutex_unlock(&s->lock);
    o.transport = t;
    return try_hash(&s->way, &o, false, s->hash[at]);
}

/* Nor do ranks, whose parts end within rows. */
LOOP_TEST(test_lazy_ranks, 0, 3)
{
    shared s = {.way = {4, 1, 1, 67, true, true, LS_REPLICATE, false, 0, 0},
                .lock = PTHREAD_MUTEX_INITIALIZER};
    ls_trainer_options o;
    char want[65];

    if (_i == 1)
        s.way = (way){4, 1, 2, 600, true, true, LS_REPLICATE, true, 400, 0};
    if (_i == 2) /* few rows of the table in each step */
        s.way = (way){4, 1, 1, 4, false, true, LS_REPLICATE, true, 0, 0};
    o = lazy_options(&s.way);

    hash_of(&s.way, &o, false, want);
    for (int n = 2; n <= 3; n++) {
        ranks_here *all;

        OK(ranks_open(&all, n, NULL));
        s.next = 0;
        all_succeed(all, n, lazy_rank, &s);
        for (int r = 0; r < n; r++)
            ck_assert_str_eq(s.hash[r], want);
        ranks_close(all);
    }
}

TEST(test_lazy_refused)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(0.01);
    FAILS(ls_optimizer_set(&o.optimizer, "lazy", 0.5), LS_EINVAL,
          "lazy is 0.5");
    FAILS(ls_optimizer_set(&o.optimizer, "lazy", 2), LS_EINVAL, "0 or 1");
    o.optimizer = ls_sgd(0.01);
    FAILS(ls_optimizer_set(&o.optimizer, "lazy", 1), LS_ENOTFOUND, "lazy");
}

/* ------ What is refused ------ */

TEST(test_refused_rows)
{
    int32_t list[] = {0, 5, -1, 10, 7, -1, 11, -1};
    float values[] = {0, 1, 2, 3, 4, NAN, 6, 7};
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = golden_graph("values");
    ls_pool *pool = open_pool(1, 1);
    ls_trainer *t;
    ls_batch *b;

    OK(ls_trainer_open(&t, pool, g, &o));
    OK(ls_batch_open(&b, t));
    FAILS(ls_batch_set(b, "x", LS_I32, list, 2), LS_ERANGE,
          "row 1, element 2 is 11; it must be below 11");
    FAILS(ls_batch_set(b, "v", LS_F32, values, 2), LS_ERANGE,
          "input \"v\": row 1, element 1 is nan; it must be finite");
    values[5] = -INFINITY;
    FAILS(ls_batch_set(b, "v", LS_F32, values, 2), LS_ERANGE, "is -inf");
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* An index below 0 is refused where something else reads it too. */
TEST(test_refused_below)
{
    int32_t list[] = {0, 5, -1, 10};
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(1, 1);
    ls_trainer *t;
    ls_batch *b;
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_I32, 1, (int64_t[]){4});
    ls_node *y = ls_embed_bag(x, LS_BAG_SUM, 11, 3, "bag");

    x = ls_sum_over(ls_embed(x, 11, 3, "embed"), 1, (int[]){0});
    OK(ls_loss(g, ls_mean_loss(ls_add(x, y), NULL)));
    OK(ls_trainer_open(&t, pool, g, &o));
    OK(ls_batch_open(&b, t));
    FAILS(ls_batch_set(b, "x", LS_I32, list, 1), LS_ERANGE, "at least 0");
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* Fails, and says so. */
static void graph_fails(ls_node *made, int status, const char *words,
                        ls_graph *g)
{
    ls_node *t;

    ck_assert_ptr_null(made);
    ck_assert_msg(strstr(ls_errmsg(), words), "\"%s\" does not say \"%s\"",
                  ls_errmsg(), words);
    t = ls_input(g, "later", LS_F32, 0, NULL);
    ck_assert_ptr_null(t);
    ck_assert_int_eq(ls_loss(g, NULL), status);
    ls_graph_free(g);
}

static ls_graph *with_inputs(ls_node **x, ls_node **v)
{
    ls_graph *g = empty_graph();

    *x = ls_input(g, "x", LS_I32, 1, (int64_t[]){4});
    *v = ls_input(g, "v", LS_F32, 1, (int64_t[]){5});
    return g;
}

TEST(test_refused_graphs)
{
    ls_node *x, *v;
    ls_graph *g = with_inputs(&x, &v);

    graph_fails(ls_sparse_dense(x, v, 9, 3, "d"), LS_ESHAPE,
                "\"d\": indices are (4), their values (5)", g);
    g = with_inputs(&x, &v);
    graph_fails(ls_sparse_dense(v, NULL, 9, 3, "d"), LS_ESHAPE, "LS_I32", g);
    g = with_inputs(&x, &v);
    graph_fails(ls_sparse_dense(x, NULL, 0, 3, "d"), LS_ESHAPE,
                "\"d\": 0 inputs", g);
    g = with_inputs(&x, &v);
    graph_fails(ls_embed_bag(x, (ls_bag)7, 9, 3, "e"), LS_EINVAL,
                "bag 7 is neither", g);
    ck_assert_ptr_null(ls_sparse_dense(NULL, NULL, 9, 3, "d"));
}

/* ------ Rows from CSR ------ */

static const int64_t offsets[] = {0, 2, 2, 5};
static const int32_t indices[] = {4, 0, 1, 2, 8};
static const float values[] = {0.5f, 1, 2, 3, 4};

TEST(test_rows)
{
    static const int32_t want[] = {4, 0, -1, -1, -1, -1, 1, 2, 8};
    static const float want_values[] = {0.5f, 1, 0, 0, 0, 0, 2, 3, 4};
    int32_t list[9];
    float v[9];

    OK(ls_sparse_rows(3, offsets, indices, values, 9, 3, list, v));
    ck_assert_mem_eq(list, want, sizeof want);
    ck_assert_mem_eq(v, want_values, sizeof want_values);
    memset(list, 0, sizeof list);
    OK(ls_sparse_rows(3, offsets, indices, NULL, 9, 3, list, NULL));
    ck_assert_mem_eq(list, want, sizeof want);
}

TEST(test_refused_csr)
{
    static const int64_t falls[] = {0, 2, 1, 5};
    static const float wild[] = {0.5f, 1, 2, NAN, 4};
    int32_t list[9] = {77};
    float v[9];

    FAILS(ls_sparse_rows(3, offsets, indices, values, 9, 2, list, v), LS_ESHAPE,
          "row 2 has 3 elements; 2 are the most");
    FAILS(ls_sparse_rows(3, falls, indices, values, 9, 3, list, v), LS_ESHAPE,
          "row 1 begins at offset 2 and ends at 1");
    FAILS(ls_sparse_rows(3, offsets, indices, values, 8, 3, list, v), LS_ERANGE,
          "row 2, element 2 has index 8");
    FAILS(ls_sparse_rows(3, offsets, indices, wild, 9, 3, list, v), LS_ERANGE,
          "row 2, element 1 is nan");
    FAILS(ls_sparse_rows(3, offsets, indices, values, 9, 3, list, NULL),
          LS_EINVAL, "out_values is NULL");
    FAILS(ls_sparse_rows(0, offsets, indices, values, 9, 3, list, v), LS_EINVAL,
          "0 rows");
    ck_assert_int_eq(list[0], 77);
}

MAIN()
