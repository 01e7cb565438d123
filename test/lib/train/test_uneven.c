/* SPDX-License-Identifier: BSD-3-Clause */
/* Uneven batches: every size on every number of devices, padded with rows of
 * weight 0 or set as they are, with masks that leave a shard empty, with sizes
 * that change from step to step, and cut into ragged micro-batches; and how far
 * the order of sums may reach. */
#include "calls.h"
#include "models.h"

enum {
    MOST_DEVICES = 8,
    MOST = 4 * MOST_DEVICES + 1,
    WIDTH = 9,
    STEPS = 2,
    STRIDE = UNDER_SANITIZER ? 4 : 2 /* of sizes where not all are tried */
};

static float x[MOST * WIDTH], mask[MOST];
static int32_t label[MOST];

typedef enum mask_kind { PLAIN, EMPTY_SHARD, RAGGED, MASKS } mask_kind;

/* EMPTY_SHARD: the first of P shards, or the middle one, has weight 0. */
static void make_mask(mask_kind kind, int64_t rows, int devices)
{
    int64_t shard = (rows + devices - 1) / devices;
    int64_t empty = rows % 2 ? devices / 2 : 0;

    for (int64_t i = 0; i < rows; i++)
        mask[i] = kind == RAGGED ? (float)(i * 5 % 7) / 4
                                 : i / shard != empty;
}

static ls_source open_source(int64_t rows, bool masked)
{
    ls_array a[] = {{"x", LS_F32, 2, {rows, WIDTH}, x},
                    {"label", LS_I32, 1, {rows}, label}};
    ls_source s;

    OK(ls_source_arrays(&s, 2, a));
    if (masked)
        OK(ls_source_weigh(&s, mask, rows));
    return s;
}

/* The rows as images (3,3,1). */
static ls_graph *image_graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *h = ls_input(g, "x", LS_F32, 3, (int64_t[]){3, 3, 1});
    ls_node *y = ls_input(g, "label", LS_I32, 0, NULL);

    h = ls_conv2d(h, 6, (ls_window){.height = 3, .width = 3}, "conv");
    h = ls_max_pool(ls_relu(h), (ls_window){2, 2, 2, 2, LS_SAME});
    OK(ls_loss(g, ls_cross_entropy(ls_dense(ls_flatten(h), 5, "out"), y)));
    return g;
}

static ls_graph *(*graph)(void) = mlp_graph; /* of the models below */

static run open_model(ls_pool *pool, int micro)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_momentum(0.05, 0.9);
    o.accumulate = micro;
    return open_run(pool, graph(), &o);
}

/* What training on the first rows came to. */
typedef struct outcome {
    float loss[STEPS], accuracy[STEPS];
    double weight;
    bool updated;
    char hash[65];
} outcome;

static void train(const run *r, int64_t rows, bool masked, int steps,
                  ls_uneven uneven, outcome *out)
{
    ls_loader_options o = {.size = sizeof o, .uneven = uneven,
                           .no_thread = true};
    ls_source source = open_source(rows, masked);
    ls_loader *l;

    OK(ls_loader_open(&l, r->trainer, &source, &o));
    for (int s = 0; s < steps; s++) {
        ls_result result;

        OK(ls_loader_fill(l, s, r->batch, NULL));
        OK(ls_step(r->trainer, r->batch, &result));
        out->updated = result.updated;
        out->weight = result.weight;
        out->loss[s] = result.updated ? result.loss : -1;
        out->accuracy[s] = result.updated ? result.accuracy : -1;
    }
    ls_loader_close(l);
    ls_trainer_hash(r->trainer, out->hash);
}

static outcome train_with(ls_pool *pool, int micro, int64_t rows, bool masked,
                          ls_uneven uneven)
{
    outcome out = {0};
    run r = open_model(pool, micro);

    train(&r, rows, masked, STEPS, uneven, &out);
    close_run(&r);
    return out;
}

static outcome train_alone(ls_pool *pool, int micro, int64_t rows, bool masked)
{
    return train_with(pool, micro, rows, masked, LS_UNEVEN_PAD);
}

/* The same rows without a loader: nobody pads them. */
static outcome train_rows(ls_pool *pool, int micro, int64_t rows, bool masked)
{
    outcome out = {0};
    run r = open_model(pool, micro);

    OK(ls_batch_set(r.batch, "x", LS_F32, x, rows));
    OK(ls_batch_set(r.batch, "label", LS_I32, label, rows));
    OK(ls_batch_set_weights(r.batch, masked ? mask : NULL, rows));
    for (int s = 0; s < STEPS; s++) {
        ls_result result = step(&r);

        ck_assert_int_eq(result.rows, rows);
        out.updated = result.updated;
        out.weight = result.weight;
        out.loss[s] = result.updated ? result.loss : -1;
        out.accuracy[s] = result.updated ? result.accuracy : -1;
    }
    ls_trainer_hash(r.trainer, out.hash);
    close_run(&r);
    return out;
}

static void check_near(const outcome *a, const outcome *b, double most)
{
    ck_assert_int_eq(a->updated, b->updated);
    ck_assert(fabs(a->weight - b->weight) < 1e-6);
    for (int s = 0; s < STEPS; s++)
        ck_assert_msg(fabs((double)a->loss[s] / (double)b->loss[s] - 1) <= most,
                      "step %d: loss %.9g, not %.9g", s, (double)a->loss[s],
                      (double)b->loss[s]);
}

/* Every batch of 1 to 4P+1 rows, and every third of images, on P devices, plain
 * and masked: the bits of one worker on any number of them, and near those of
 * one device, which needs no padding. */
LOOP_TEST(sizes, 0, 2 * MOST_DEVICES)
{
    int devices = 1 + _i % MOST_DEVICES;
    ls_pool *alone = open_pool(1, 1), *one = open_pool(devices, 1);
    ls_pool *two = open_pool(devices, 2), *all = open_pool(devices, 3);

    graph = _i < MOST_DEVICES ? mlp_graph : image_graph;
    for (int64_t rows = 1; rows <= 4 * devices + 1;
         rows += UNDER_SANITIZER || _i >= MOST_DEVICES ? 3 : 1)
        for (int kind = PLAIN; kind < MASKS; kind++) {
            outcome first, other;

            make_mask(kind, rows, devices);
            first = train_alone(one, 1, rows, kind);
            other = train_alone(two, 1, rows, kind);
            ck_assert_mem_eq(&first, &other, sizeof first);
            other = train_alone(all, 1, rows, kind);
            ck_assert_mem_eq(&first, &other, sizeof first);
            other = train_rows(two, 1, rows, kind);
            ck_assert_mem_eq(&first, &other, sizeof first);
            other = train_alone(alone, 1, rows, kind);
            check_near(&first, &other, 1e-6);
        }
    graph = mlp_graph;
    ls_pool_close(all);
    ls_pool_close(two);
    ls_pool_close(one);
    ls_pool_close(alone);
}

/* One trainer whose batches change size at every step gives the same bits on
 * any number of workers, and each step's loss is that of its rows alone. */
TEST(changing)
{
    static const int64_t rows[] = {33, 1, 8, 17, 2, 32, 5};
    ls_pool *single = open_pool(1, 1);
    outcome out[3] = {0};

    make_mask(RAGGED, MOST, 1);
    for (int k = 0; k < 3; k++) {
        ls_pool *pool = open_pool(5, (int[]){1, 2, 5}[k]);
        run r = open_model(pool, 1);

        for (int i = 0; i < 7; i++) {
            outcome now = {0};
            run s = open_model(single, 1);
            float value[33 * WIDTH];

            for (int p = 0; p < ls_trainer_params(r.trainer) && k == 0; p++) {
                const char *name = ls_trainer_param_name(r.trainer, p);
                int64_t shape[LS_MAX_RANK], n = 1;
                int rank = ls_trainer_param_shape(r.trainer, p, shape);

                for (int a = 0; a < rank; a++)
                    n *= shape[a];
                OK(ls_trainer_get(r.trainer, name, n, value));
                OK(ls_trainer_set(s.trainer, name, n, value));
            }
            train(&r, rows[i], i % 2, 1, LS_UNEVEN_PAD, &out[k]);
            train(&s, rows[i], i % 2, 1, LS_UNEVEN_PAD, &now);
            if (k == 0 && now.updated)
                ck_assert_double_eq_tol((double)out[k].loss[0],
                                        (double)now.loss[0], 1e-6);
            close_run(&s);
        }
        ck_assert_mem_eq(&out[k], &out[0], sizeof out[0]);
        close_run(&r);
        ls_pool_close(pool);
    }
    ls_pool_close(single);
}

/* Micro-batches of ragged weights are one big batch: to rounding, and to the
 * bit where the same leaves are added in the same order, which is so for two
 * and three of them on one device and as many devices. */
TEST(ragged)
{
    ls_pool *alone = open_pool(1, 1);

    for (int micro = 2; micro <= 6; micro++) {
        ls_pool *many = open_pool(micro, 2);

        for (int64_t rows = 1; rows <= MOST; rows += STRIDE)
            for (int kind = PLAIN; kind < MASKS; kind++) {
                outcome big, small, spread, set;

                make_mask(kind, rows, micro);
                big = train_alone(alone, 1, rows, kind);
                small = train_alone(alone, micro, rows, kind);
                spread = train_alone(many, 1, rows, kind);
                set = train_rows(alone, micro, rows, kind);
                ck_assert_mem_eq(&small, &set, sizeof small);
                set = train_with(many, 1, rows, kind, LS_UNEVEN_CUT);
                ck_assert_mem_eq(&spread, &set, sizeof spread);
                check_near(&small, &big, 1e-6);
                check_near(&spread, &big, 1e-6);
                if (micro <= 3)
                    ck_assert_mem_eq(&small, &spread, sizeof small);
            }
        ls_pool_close(many);
    }
    ls_pool_close(alone);
}

/* The mean of shards' own means cannot do with an empty shard, and names it;
 * evaluation can, by the exact mean. */
TEST(per_shard)
{
    ls_loader_options lo = {.size = sizeof lo, .uneven = LS_UNEVEN_PAD};
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(4, 2);
    ls_source source = open_source(5, false);
    ls_result result, exact;
    ls_loader *l;
    run r;

    o.mean = LS_MEAN_OF_SHARDS;
    r = open_run(pool, mlp_graph(), &o);
    OK(ls_loader_open(&l, r.trainer, &source, &lo));
    OK(ls_loader_fill(l, 0, r.batch, NULL));
    FAILS(ls_step(r.trainer, r.batch, &result), LS_EINVAL,
          "device 3 has rows of weight 0 only");
    OK(ls_evaluate(r.trainer, r.batch, &result));
    ls_loader_close(l);
    close_run(&r);
    ls_pool_close(pool);

    pool = open_pool(1, 1);
    r = open_run(pool, mlp_graph(), NULL);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 5));
    OK(ls_batch_set(r.batch, "label", LS_I32, label, 5));
    OK(ls_evaluate(r.trainer, r.batch, &exact));
    ck_assert_double_eq_tol((double)result.loss, (double)exact.loss, 1e-6);
    ck_assert(result.accuracy == exact.accuracy);
    close_run(&r);
    ls_pool_close(pool);
}

/* Every row has its prediction and none has another's, and an evaluation is
 * that of one device, whatever the number of rows. */
TEST(predictions)
{
    ls_pool *alone = open_pool(1, 1), *pool = open_pool(8, 2);
    ls_graph *g[2] = {image_graph(), image_graph()};
    run r[2];

    for (int k = 0; k < 2; k++) {
        const ls_node *loss = ls_graph_loss(g[k]);
        ls_trainer_options o = ls_trainer_defaults();

        o.accumulate = k ? 3 : 1;
        OK(ls_output(g[k], (ls_node *)ls_node_input(loss, 0), "scores"));
        r[k] = open_run(k ? pool : alone, g[k], &o);
    }
    for (int64_t rows = 1; rows <= MOST; rows += STRIDE) {
        float out[2][MOST * 5 + 1];
        ls_result e[2];

        for (int k = 0; k < 2; k++) {
            out[k][rows * 5] = 7;
            OK(ls_batch_set(r[k].batch, "x", LS_F32, x, rows));
            OK(ls_batch_set(r[k].batch, "label", LS_I32, label, rows));
            OK(ls_predict(r[k].trainer, r[k].batch, "scores", rows * 5,
                          out[k]));
            ck_assert(out[k][rows * 5] == 7);
            OK(ls_evaluate(r[k].trainer, r[k].batch, &e[k]));
            ck_assert_int_eq(e[k].rows, rows);
        }
        ck_assert_mem_eq(out[0], out[1], (size_t)rows * 5 * sizeof **out);
        ck_assert_double_eq_tol((double)e[0].loss, (double)e[1].loss, 1e-6);
        ck_assert(e[0].accuracy == e[1].accuracy);
    }
    close_run(&r[1]);
    close_run(&r[0]);
    ls_pool_close(pool);
    ls_pool_close(alone);
}

/* loss = mean over rows of (w - x)^2 / 2, by a function that divides by its
 * rows and so must not be asked where there are none. */
static int own_gradient(void *user, int device, const ls_shard *shard,
                        const float *const *params, float *const *grads,
                        ls_sums *sums)
{
    const float *v = shard->data[0];
    float mean = 0;

    (void)user;
    (void)device;
    if (shard->rows < 1)
        return -1;
    *sums = (ls_sums){.weight = (double)shard->rows, .correct = (double)NAN};
    for (int64_t i = 0; i < shard->rows; i++) {
        float off = params[0][0] - v[i];

        mean += v[i] / (float)shard->rows;
        sums->loss += (double)(off * off) / 2;
    }
    if (grads)
        grads[0][0] = (params[0][0] - mean) * (float)shard->rows;
    return 0;
}

/* A gradient function is asked for no device without rows, whose gradient is
 * nothing, also where it was something before. */
TEST(own_function)
{
    static const ls_array_spec spec = {"w", LS_F32, 0, {0}};
    ls_gradient gradient = {own_gradient, NULL, 1, 1, &spec, &spec};
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(4, 2);
    ls_trainer *t;
    ls_batch *b;
    ls_result r;

    o.optimizer = ls_sgd(1);
    o.check_divergence = true;
    OK(ls_trainer_open_gradient(&t, pool, &gradient, &o));
    OK(ls_batch_open(&b, t));
    for (int64_t rows = 17; rows > 0; rows -= 4) {
        double mean = 0;
        float w;

        for (int64_t i = 0; i < rows; i++)
            mean += (double)x[i] / (double)rows;
        OK(ls_batch_set(b, "w", LS_F32, x, rows));
        OK(ls_step(t, b, &r));
        OK(ls_trainer_get(t, "w", 1, &w));
        ck_assert_double_eq_tol((double)w, mean, 1e-6);
        ck_assert(isnan(r.accuracy));
    }
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* ------ How far the order of sums reaches ------ */

enum { FEW = 19, LARGEST = 400 }; /* rows; elements of a parameter */

/* The gradients of the first FEW rows on so many devices. */
typedef struct by_devices {
    ls_pool *pool;
    run run;
    ls_gradients *gradients;
} by_devices;

static by_devices open_by(int devices)
{
    by_devices b = {.pool = open_pool(devices, 2)};
    ls_result r;

    b.run = open_model(b.pool, 1);
    OK(ls_batch_set(b.run.batch, "x", LS_F32, x, FEW));
    OK(ls_batch_set(b.run.batch, "label", LS_I32, label, FEW));
    OK(ls_gradients_open(&b.gradients, b.run.trainer, 1));
    OK(ls_gradients_compute(b.gradients, b.run.batch, &r));
    return b;
}

static void close_by(by_devices *b)
{
    ls_gradients_close(b->gradients);
    close_run(&b->run);
    ls_pool_close(b->pool);
}

/* The absolute values of the rows' gradients, each of a device of its own,
 * summed. */
static void sum_rows(const by_devices *rows, const char *name, int64_t n,
                     double *sum)
{
    float one[LARGEST];

    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int d = 0; d < FEW; d++) {
        OK(ls_gradients_get_device(rows->gradients, d, name, n, one));
        for (int64_t i = 0; i < n; i++)
            sum[i] += fabs((double)one[i]);
    }
}

/* Devices change a gradient only by the order in which rows are added: from
 * that of one device no element is further than the roundings of both sums,
 * each of at most 2^-24 of all that was added (Higham 2002, section 4.2), and
 * of the factor 1/rows. */
LOOP_TEST(explained, 0, 2 * (MOST_DEVICES - 1))
{
    by_devices rows, one, some;

    graph = _i % 2 ? image_graph : mlp_graph;
    rows = open_by(FEW);
    one = open_by(1);
    some = open_by(2 + _i / 2);
    for (int p = 0; p < ls_trainer_params(one.run.trainer); p++) {
        const char *name = ls_trainer_param_name(one.run.trainer, p);
        int64_t shape[LS_MAX_RANK], n;
        float got[LARGEST], want[LARGEST];
        double sum[LARGEST];

        n = ls__count(ls_trainer_param_shape(one.run.trainer, p, shape), shape);
        ck_assert_int_le(n, LARGEST);
        OK(ls_gradients_get(one.gradients, name, n, want));
        OK(ls_gradients_get(some.gradients, name, n, got));
        sum_rows(&rows, name, n, sum);
        for (int64_t i = 0; i < n; i++) {
            double off = fabs((double)got[i] - (double)want[i]);
            double most = 2 * (FEW + 1) * 0x1p-24 * sum[i] / FEW;

            ck_assert_msg(off <= most, "%s[%lld]: %.9g is %.3g from %.9g, more "
                          "than %.3g", name, (long long)i, (double)got[i], off,
                          (double)want[i], most);
        }
    }
    close_by(&some);
    close_by(&one);
    close_by(&rows);
    graph = mlp_graph;
}

int main(void)
{
    fill_uniform(1, MOST * WIDTH, x);
    fill_indices(2, MOST, 5, label);
    return RUN_TESTS();
}
