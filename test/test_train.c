/* Training: the optimizers bit for bit, the three means, what a batch and a
 * step refuse and how they say it, parameters by name, and that a step
 * allocates nothing.  test_determinism.c has the contract of bits,
 * test_agreement.c the numbers of other programs. */
#include "base/sha.h"
#include "faults.h"
#include "models.h"
#include "train/optim.h"

#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ------ Optimizers ------ */

/* Two parameters whose sizes end inside a vector of 16. */
enum { FIRST = 33, SECOND = 4, BOTH = FIRST + SECOND, UPDATES = 20 };

/* Gradients in the order they shall be given, BOTH a step. */
typedef struct script {
    const float *next;
} script;

/* All of it by device 0; the others add zeros of no weight. */
static int given(void *user, int device, const ls_shard *shard,
                 const float *const *params, float *const *grads,
                 ls_sums *sums)
{
    script *s = user;

    (void)shard;
    (void)params;
    memset(grads[0], 0, FIRST * sizeof **grads);
    memset(grads[1], 0, SECOND * sizeof **grads);
    if (device > 0)
        return 0;
    memcpy(grads[0], s->next, FIRST * sizeof **grads);
    memcpy(grads[1], s->next + FIRST, SECOND * sizeof **grads);
    s->next += BOTH;
    sums->weight = 1;
    return 0;
}

static run open_script(ls_pool *pool, script *s, ls_optimizer optimizer,
                       ls_state state)
{
    static const ls_array_spec input = {"x", LS_F32, 0, {0}};
    static const ls_array_spec param[] = {
        {"second.w", LS_F32, 2, {3, FIRST / 3}}, {"b", LS_F32, 1, {SECOND}}};
    ls_gradient g = {given, s, 1, 2, &input, param};
    ls_trainer_options o = ls_trainer_defaults();
    run r;

    o.optimizer = optimizer;
    o.state = state;
    OK(ls_trainer_open_gradient(&r.trainer, pool, &g, &o));
    OK(ls_batch_open(&r.batch, r.trainer));
    return r;
}

static void set_both(const run *r, const float *values)
{
    OK(ls_trainer_set(r->trainer, "second.w", FIRST, values));
    OK(ls_trainer_set(r->trainer, "b", SECOND, values + FIRST));
}

static void get_both(const run *r, float *values)
{
    OK(ls_trainer_get(r->trainer, "second.w", FIRST, values));
    OK(ls_trainer_get(r->trainer, "b", SECOND, values + FIRST));
}

/* 1 / (1 - b^n) */
static float correction(double b, int n)
{
    return 1.0f / (1.0f - (float)pow((double)(float)b, n));
}

/* optax's rules on one number: the fused column of a jitted step. */
static float direction(const ls_optimizer *o, int n, float g, float p,
                       float *m, float *v)
{
    float decay = (float)o->momentum, u;

    switch (o->kind) {
    case LS_SGD: return g;
    case LS_MOMENTUM: return *m = fmaf(decay, *m, g);
    case LS_NESTEROV:
        *m = fmaf(decay, *m, g);
        return fmaf(decay, *m, g);
    default: break;
    }
    *m = fmaf((float)(1 - o->b1), g, (float)o->b1 * *m);
    *v = fmaf((float)(1 - o->b2), g * g, (float)o->b2 * *v);
    u = *m * correction(o->b1, n) /
        (sqrtf(*v * correction(o->b2, n)) + (float)o->eps);
    return o->kind == LS_ADAM ? u : fmaf((float)o->weight_decay, p, u);
}

static ls_optimizer with_decay(double lr, double decay)
{
    ls_optimizer o = ls_adamw(lr);

    o.weight_decay = decay;
    o.b1 = 0.95;
    o.b2 = 0.99;
    o.eps = 1e-6;
    return o;
}

/* Train by the script and by the formula; compare each update's bits. */
static void check_rule(ls_optimizer o, int devices, ls_state state)
{
    float *grads = normals(5, UPDATES * BOTH), *p = normals(6, BOTH);
    float *x = normals(7, devices), m[BOTH] = {0}, v[BOTH] = {0}, got[BOTH];
    script s = {grads};
    ls_pool *pool = open_pool(devices, devices < 3 ? devices : 3);
    run r = open_script(pool, &s, o, state);

    set_both(&r, p);
    OK(ls_batch_set(r.batch, "x", LS_F32, x, devices));
    for (int n = 1; n <= UPDATES; n++) {
        step(&r);
        for (int i = 0; i < BOTH; i++) {
            float g = grads[(n - 1) * BOTH + i];

            p[i] = fmaf((float)-o.lr, direction(&o, n, g, p[i], &m[i], &v[i]),
                        p[i]);
        }
        get_both(&r, got);
        ck_assert_mem_eq(got, p, sizeof got);
    }
    close_run(&r);
    ls_pool_close(pool);
    free(grads);
    free(x);
    free(p);
}

/* Proves that each rule gives optax's bits for given gradients over 20
 * updates, on one device and on four, replicated and sharded. */
START_TEST(rules_bit_for_bit)
{
    const ls_optimizer all[] = {
        ls_sgd(0.1), ls_momentum(0.03, 0.9), ls_nesterov(0.03, 0.9),
        ls_adam(1e-3), ls_adamw(3e-4), with_decay(1e-2, 0.1)};

    check_rule(all[_i], 1, LS_REPLICATE);
    check_rule(all[_i], 4, LS_REPLICATE);
    check_rule(all[_i], 4, LS_SHARD);
}
END_TEST

/* Proves that adamw walks three steps as optax took them: lr 3e-4, p = 1, g =
 * 0.5, -0.25, 0.125. */
START_TEST(adamw_trace)
{
    static const float g[] = {0.5f, -0.25f, 0.125f};
    static const float want[] = {0x1.ffd8acp-1f, 0x1.ffce32p-1f,
                                 0x1.ffc0cep-1f};
    float grads[3 * BOTH], p[BOTH], x = 0;
    script s = {grads};
    ls_pool *pool = open_pool(1, 1);
    run r = open_script(pool, &s, ls_adamw(3e-4), LS_REPLICATE);

    for (int i = 0; i < 3 * BOTH; i++)
        grads[i] = g[i / BOTH];
    for (int i = 0; i < BOTH; i++)
        p[i] = 1;
    set_both(&r, p);
    OK(ls_batch_set(r.batch, "x", LS_F32, &x, 1));
    for (int n = 0; n < 3; n++) {
        step(&r);
        get_both(&r, p);
        for (int i = 0; i < BOTH; i++)
            ck_assert_mem_eq(&p[i], &want[n], sizeof want[n]);
    }
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* Proves that the bias corrections are JAX's: 1 - b^n of vectors.json. */
START_TEST(bias_corrections)
{
    static const struct {
        int n;
        float c1, c2; /* of b1 0.9 and b2 0.999 */
    } want[] = {
        {1, 0x1.9999ap-4f, 0x1.0624p-10f},
        {2, 0x1.851ecp-3f, 0x1.0602p-9f},
        {10, 0x1.4d7a08p-1f, 0x1.46348p-7f},
    };
    ls_optimizer o = ls_adam(1e-3);

    for (size_t i = 0; i < COUNT(want); i++) {
        ls__rule rule = ls__optim_rule(&o, (float)o.lr, want[i].n);
        float r1 = 1.0f / want[i].c1, r2 = 1.0f / want[i].c2;

        ck_assert_mem_eq(&rule.r1, &r1, sizeof r1);
        ck_assert_mem_eq(&rule.r2, &r2, sizeof r2);
    }
}
END_TEST

/* ------ Linear regression: data, a gradient of our own, double ------ */

enum {
    IN = 3, OUT = 2, DEVICES = 4, ROWS = 12, PER_DEVICE = ROWS / DEVICES,
    KERNEL = IN * OUT
};

static const float uneven[ROWS] = {1, 0.5f, 2, 0, 0.25f, 3, 1, 1, 0, 0.125f,
                                   4, 1};

typedef struct regression {
    ls_pool *pool;
    float *x, *y;
    run run;
} regression;

/* Graphs give kernel and bias names without a layer. */
static regression open_regression(ls_mean mean, ls_optimizer optimizer)
{
    regression q = {open_pool(DEVICES, 2), normals(1, ROWS * IN),
                    normals(2, ROWS * OUT), {NULL, NULL}};
    ls_trainer_options o = ls_trainer_defaults();

    o.mean = mean;
    o.optimizer = optimizer;
    q.run = open_run(q.pool, linear_graph(IN, OUT), &o);
    OK(ls_batch_set(q.run.batch, "x", LS_F32, q.x, ROWS));
    OK(ls_batch_set(q.run.batch, "y", LS_F32, q.y, ROWS));
    return q;
}

static void close_regression(regression *q)
{
    close_run(&q->run);
    ls_pool_close(q->pool);
    free(q->x);
    free(q->y);
}

/* Kernel and bias, one after the other. */
static void get_linear(const ls_trainer *t, float p[KERNEL + OUT])
{
    OK(ls_trainer_get(t, "kernel", KERNEL, p));
    OK(ls_trainer_get(t, "bias", OUT, p + KERNEL));
}

/* Sums over rows: loss, weight of terms, and gradient. */
typedef struct sums {
    double loss, weight, grad[KERNEL + OUT];
} sums;

static void add_row(const float *p, const float *x, const float *y, double w,
                    sums *s)
{
    for (int j = 0; j < OUT; j++) {
        double r = (double)p[KERNEL + j] - (double)y[j];

        for (int i = 0; i < IN; i++)
            r += (double)x[i] * (double)p[i * OUT + j];
        s->loss += w * r * r;
        s->weight += w;
        s->grad[KERNEL + j] += 2 * w * r;
        for (int i = 0; i < IN; i++)
            s->grad[i * OUT + j] += 2 * w * r * (double)x[i];
    }
}

static void add_sums(sums *to, const sums *from, double by)
{
    to->loss += by * from->loss;
    to->weight += from->weight;
    for (int i = 0; i < KERNEL + OUT; i++)
        to->grad[i] += by * from->grad[i];
}

/* The three means as lockstep.h defines them, in double. */
static sums expected(const regression *q, ls_mean mean, const float *p,
                     const float *weights)
{
    sums all = {0}, mine = {0};

    for (int d = 0; d < DEVICES; d++) {
        sums s = {0};

        for (int i = d * PER_DEVICE; i < (d + 1) * PER_DEVICE; i++)
            add_row(p, q->x + i * IN, q->y + i * OUT,
                    weights ? (double)weights[i] : 1, &s);
        add_sums(&all, &s, mean == LS_MEAN_OF_SHARDS
                               ? 1 / s.weight / DEVICES : 1);
    }
    add_sums(&mine, &all, mean == LS_MEAN_EXACT ? 1 / all.weight : 1);
    return mine;
}

static void near(double got, double want, double tolerance)
{
    ck_assert_msg(fabs(got - want) <= tolerance * fmax(1, fabs(want)),
                  "%.9g, not %.9g", got, want);
}

static void check_mean(ls_mean mean, const float *weights)
{
    regression q = open_regression(mean, ls_sgd(0.01));
    float p[KERNEL + OUT], after[KERNEL + OUT];
    sums want;
    ls_result r;

    OK(ls_batch_set_weights(q.run.batch, weights, ROWS));
    get_linear(q.run.trainer, p);
    want = expected(&q, mean, p, weights);
    r = step(&q.run);
    near((double)r.loss, want.loss, 1e-6);
    near(r.weight, want.weight, 1e-12);
    ck_assert(r.updated && r.rows == ROWS && r.step == 0);
    ck_assert(r.lr == 0.01f);
    get_linear(q.run.trainer, after);
    for (int i = 0; i < KERNEL + OUT; i++)
        near((double)after[i], (double)p[i] - 0.01 * want.grad[i], 1e-6);
    close_regression(&q);
}

/* Proves that each mean is what lockstep.h says, loss and gradient, where rows
 * weigh differently and where all weigh 1. */
START_TEST(three_means)
{
    check_mean((ls_mean)_i, uneven);
    check_mean((ls_mean)_i, NULL);
}
END_TEST

/* Proves that the means differ on uneven weights, so that the test above can
 * tell them apart. */
START_TEST(means_differ)
{
    regression q = open_regression(LS_SUM, ls_sgd(0.1));
    float p[KERNEL + OUT];
    double loss[3];

    get_linear(q.run.trainer, p);
    for (int i = LS_MEAN_EXACT; i <= LS_SUM; i++)
        loss[i] = expected(&q, (ls_mean)i, p, uneven).loss;
    ck_assert(fabs(loss[0] - loss[1]) > 1e-3);
    ck_assert(fabs(loss[0] - loss[2]) > 1e-3);
    close_regression(&q);
}
END_TEST

/* A gradient function of our own for the same regression, in float. */
static int own_linear(void *user, int device, const ls_shard *shard,
                      const float *const *params, float *const *grads,
                      ls_sums *out)
{
    const float *x = shard->data[0], *y = shard->data[1];
    float p[KERNEL + OUT];
    sums s = {0};

    (void)user;
    (void)device;
    memcpy(p, params[0], KERNEL * sizeof *p);
    memcpy(p + KERNEL, params[1], OUT * sizeof *p);
    for (int64_t i = 0; i < shard->rows; i++)
        add_row(p, x + i * IN, y + i * OUT,
                shard->weights ? (double)shard->weights[i] : 1, &s);
    for (int i = 0; grads && i < KERNEL + OUT; i++)
        *(i < KERNEL ? &grads[0][i] : &grads[1][i - KERNEL]) =
            (float)s.grad[i];
    out->loss = s.loss;
    out->weight = s.weight;
    return 0;
}

static const ls_array_spec linear_input[] = {{"x", LS_F32, 1, {IN}},
                                             {"y", LS_F32, 1, {OUT}}};
static const ls_array_spec linear_param[] = {{"kernel", LS_F32, 2, {IN, OUT}},
                                             {"bias", LS_F32, 1, {OUT}}};

static run open_own(ls_pool *pool, ls_gradient_fn *fn, void *user,
                    ls_optimizer optimizer)
{
    ls_gradient g = {fn, user, 2, 2, linear_input, linear_param};
    ls_trainer_options o = ls_trainer_defaults();
    run r;

    o.optimizer = optimizer;
    OK(ls_trainer_open_gradient(&r.trainer, pool, &g, &o));
    OK(ls_batch_open(&r.batch, r.trainer));
    return r;
}

/* Proves that a trainer around a gradient function of one's own learns as the
 * graph's does: losses and parameters to 1e-6 over 10 steps. */
START_TEST(own_gradient_as_graph)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_momentum(0.02, 0.9));
    run own = open_own(q.pool, own_linear, NULL, ls_momentum(0.02, 0.9));
    float p[KERNEL + OUT], want[KERNEL + OUT];

    get_linear(own.trainer, p);
    for (int i = 0; i < KERNEL + OUT; i++)
        ck_assert(p[i] == 0); /* own parameters start as zeros */
    get_linear(q.run.trainer, p);
    OK(ls_trainer_set(own.trainer, "kernel", KERNEL, p));
    OK(ls_batch_set(own.batch, "x", LS_F32, q.x, ROWS));
    OK(ls_batch_set(own.batch, "y", LS_F32, q.y, ROWS));
    OK(ls_batch_set_weights(own.batch, uneven, ROWS));
    OK(ls_batch_set_weights(q.run.batch, uneven, ROWS));
    for (int i = 0; i < 10; i++)
        near((double)step(&own).loss, (double)step(&q.run).loss, 1e-6);
    get_linear(own.trainer, p);
    get_linear(q.run.trainer, want);
    for (int i = 0; i < KERNEL + OUT; i++)
        near((double)p[i], (double)want[i], 1e-6);
    close_run(&own);
    close_regression(&q);
}
END_TEST

/* ------ Steps that do not update ------ */

/* What a failure must leave as it was. */
typedef struct before {
    char hash[65];
    int64_t step;
} before;

static before remember(const ls_trainer *t)
{
    before b = {.step = ls_trainer_step(t)};

    ls_trainer_hash(t, b.hash);
    return b;
}

static void unchanged(const ls_trainer *t, const before *b)
{
    char hash[65];

    ls_trainer_hash(t, hash);
    ck_assert_str_eq(hash, b->hash);
    ck_assert_int_eq(ls_trainer_step(t), b->step);
}

/* A step that must fail and leave trainer and result as they were. */
static void fails(const run *r, int status, const char *words,
                  const char *more)
{
    before b = remember(r->trainer);
    ls_result result, kept;

    memset(&result, 0x5a, sizeof result);
    kept = result;
    FAILS(ls_step(r->trainer, r->batch, &result), status, words);
    ck_assert_msg(strstr(ls_errmsg(), more), "\"%s\" does not say \"%s\"",
                  ls_errmsg(), more);
    ck_assert_mem_eq(&result, &kept, sizeof result);
    unchanged(r->trainer, &b);
}

/* Proves that a batch of weight 0 updates nothing and is no failure: status 0,
 * no loss, the step stays; and that training then goes on. */
START_TEST(weight_zero_everywhere)
{
    static const float nothing[ROWS];
    regression q = open_regression((ls_mean)_i, ls_adam(0.1));
    before b;
    ls_result r;

    step(&q.run);
    b = remember(q.run.trainer);
    OK(ls_batch_set_weights(q.run.batch, nothing, ROWS));
    r = step(&q.run);
    ck_assert(isnan(r.loss) && isnan(r.accuracy) && !r.updated);
    ck_assert(r.weight == 0 && r.step == 1 && r.rows == ROWS);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "12 rows are 0"));
    unchanged(q.run.trainer, &b);
    OK(ls_batch_set_weights(q.run.batch, NULL, 0));
    r = step(&q.run);
    ck_assert(r.updated && r.step == 1 && isfinite(r.loss));
    close_regression(&q);
}
END_TEST

/* Proves that a mean of shards refuses a shard without weight, by number,
 * where the exact mean goes on. */
START_TEST(empty_shard)
{
    float weights[ROWS];

    for (int mean = LS_MEAN_EXACT; mean <= LS_SUM; mean++) {
        regression q = open_regression((ls_mean)mean, ls_adam(0.1));

        memcpy(weights, uneven, sizeof weights);
        memset(weights + 2 * PER_DEVICE, 0, PER_DEVICE * sizeof *weights);
        OK(ls_batch_set_weights(q.run.batch, weights, ROWS));
        if (mean == LS_MEAN_OF_SHARDS)
            fails(&q.run, LS_EINVAL, "device 2", "weight 0");
        else
            ck_assert(step(&q.run).updated);
        close_regression(&q);
    }
}
END_TEST

/* Proves that a loss that is not finite stops the step, naming device and row,
 * in training and in evaluation, and harms nothing. */
START_TEST(nonfinite_loss)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    ls_result r;

    step(&q.run);
    for (size_t i = 0; i < COUNT(bad); i++) {
        float was = q.x[7 * IN + 1];

        q.x[7 * IN + 1] = bad[i];
        fails(&q.run, LS_ENONFINITE, "device 2", "row 7 ");
        ck_assert_ptr_nonnull(strstr(ls_errmsg(), "step 1"));
        FAILS(ls_evaluate(q.run.trainer, q.run.batch, &r), LS_ENONFINITE,
              "row 7 ");
        q.x[7 * IN + 1] = was;
    }
    ck_assert(step(&q.run).updated);
    close_regression(&q);
}
END_TEST

/* Proves that the culprit is named, not a device before it whose rows are all
 * masked. */
START_TEST(nonfinite_after_masked)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    float weights[ROWS];

    for (int i = 0; i < ROWS; i++)
        weights[i] = i < PER_DEVICE ? 0 : uneven[i];
    OK(ls_batch_set_weights(q.run.batch, weights, ROWS));
    q.x[7 * IN] = NAN;
    fails(&q.run, LS_ENONFINITE, "device 2", "row 7 ");
    close_regression(&q);
}
END_TEST

/* What goes wrong in a gradient function, and where. */
typedef struct trouble {
    int status, device; /* returned on that device */
    float marker;       /* an x whose row makes the bias's gradient ... */
    float value;        /* ... this */
} trouble;

static int troubled(void *user, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *out)
{
    const trouble *t = user;
    const float *x = shard->data[0];

    own_linear(NULL, device, shard, params, grads, out);
    for (int64_t i = 0; grads && t->value != 0 && i < shard->rows; i++)
        if (x[i * IN] == t->marker)
            grads[1][1] += t->value;
    return device == t->device ? t->status : 0;
}

static run open_troubled(regression *q, trouble *t)
{
    run r = open_own(q->pool, troubled, t, ls_adam(0.1));

    OK(ls_batch_set(r.batch, "x", LS_F32, q->x, ROWS));
    OK(ls_batch_set(r.batch, "y", LS_F32, q->y, ROWS));
    step(&r);
    return r;
}

/* Proves that a gradient that is not finite under a finite loss stops the
 * step, naming parameter, device and row. */
START_TEST(nonfinite_gradient)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    trouble t = {0, -1, 13, 0};
    run r = open_troubled(&q, &t);

    q.x[10 * IN] = t.marker;
    t.value = INFINITY;
    fails(&r, LS_ENONFINITE, "\"bias\"", "device 3, first in row 10 ");
    t.value = NAN;
    fails(&r, LS_ENONFINITE, "\"bias\"", "device 3, first in row 10 ");
    t.value = 0;
    ck_assert(step(&r).updated);
    close_run(&r);
    close_regression(&q);
}
END_TEST

enum { MANY = 70 };

/* The sum of the last input. */
static int last_of_many(void *user, int device, const ls_shard *shard,
                        const float *const *params, float *const *grads,
                        ls_sums *out)
{
    const float *x = shard->data[MANY - 1];

    (void)user;
    (void)device;
    (void)params;
    for (int64_t i = 0; i < shard->rows; i++)
        out->loss += (double)x[i];
    out->weight = (double)shard->rows;
    if (grads)
        grads[0][0] = 1;
    return 0;
}

/* Proves that the row is found in the last of many inputs. */
START_TEST(nonfinite_of_many)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    static const ls_array_spec w = {"w", LS_F32, 1, {1}};
    static char name[MANY][8];
    ls_array_spec input[MANY];
    ls_gradient g = {last_of_many, NULL, MANY, 1, input, &w};
    float x[ROWS] = {0}, bad[ROWS] = {[10] = NAN};
    run r;

    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "x%d", i);
        input[i] = (ls_array_spec){name[i], LS_F32, 0, {0}};
    }
    OK(ls_trainer_open_gradient(&r.trainer, q.pool, &g, NULL));
    OK(ls_batch_open(&r.batch, r.trainer));
    for (int i = 0; i < MANY; i++)
        OK(ls_batch_set(r.batch, name[i], LS_F32, i < MANY - 1 ? x : bad,
                        ROWS));
    fails(&r, LS_ENONFINITE, "loss", "device 3, first in row 10 ");
    close_run(&r);
    close_regression(&q);
}
END_TEST

/* Proves that a gradient which only overflows when rows are added is refused
 * too, and not blamed on a row. */
START_TEST(overflow_in_the_sum)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    trouble t = {0, -1, 13, 0};
    run r = open_troubled(&q, &t);

    q.x[1 * IN] = q.x[10 * IN] = t.marker;
    t.value = 3e38f;
    fails(&r, LS_ENONFINITE, "\"bias\"", "added");
    close_run(&r);
    close_regression(&q);
}
END_TEST

/* Proves that a gradient function's own failure comes back as LS_EUSER with
 * its device and status. */
START_TEST(user_failure)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    trouble t = {0, 2, 0, 0};
    run r = open_troubled(&q, &t);
    ls_result result;

    t.status = -77;
    fails(&r, LS_EUSER, "device 2", "-77");
    FAILS(ls_evaluate(r.trainer, r.batch, &result), LS_EUSER, "device 2");
    t.status = 0;
    ck_assert(step(&r).updated);
    close_run(&r);
    close_regression(&q);
}
END_TEST

/* Proves that evaluation changes nothing and gives the loss that the next step
 * reports, to the bit; of shards' means, which are the training's alone, it
 * gives the exact mean. */
START_TEST(evaluate_is_pure)
{
    regression q = open_regression((ls_mean)_i, ls_adam(0.1));

    OK(ls_batch_set_weights(q.run.batch, uneven, ROWS));
    for (int i = 0; i < 3; i++) {
        before b = remember(q.run.trainer);
        ls_result seen, done;

        OK(ls_evaluate(q.run.trainer, q.run.batch, &seen));
        unchanged(q.run.trainer, &b);
        ck_assert(!seen.updated && seen.step == i && seen.rows == ROWS);
        done = step(&q.run);
        ck_assert((memcmp(&seen.loss, &done.loss, sizeof seen.loss) != 0) ==
                  (_i == LS_MEAN_OF_SHARDS));
        ck_assert(seen.weight == done.weight);
        ck_assert_int_eq(ls_trainer_step(q.run.trainer), i + 1);
    }
    close_regression(&q);
}
END_TEST

/* ------ Batches ------ */

/* Proves that a batch refuses what does not fit when it is set, in words that
 * name the input, the sizes and the place. */
START_TEST(batch_set_errors)
{
    static const int32_t labels[ROWS] = {0, 1, 2, 3, 4, 0, 1, 5, 3, 4, 0, 1};
    static const int32_t negative[ROWS] = {0, 1, -1};
    ls_pool *pool = open_pool(DEVICES, 2);
    run r = open_run(pool, mlp_graph(), NULL);
    float *x = normals(1, ROWS * 9);
    ls_batch *b = r.batch;

    FAILS(ls_batch_set(b, "x", LS_F32, x, 10), LS_ESHAPE,
          "x: 10 rows do not divide by 4 devices");
    FAILS(ls_batch_set(b, "x", LS_F32, x, 0), LS_EINVAL, "0 rows");
    FAILS(ls_batch_set(b, "x", LS_F32, x, -4), LS_EINVAL, "-4 rows");
    FAILS(ls_batch_set(b, "x", LS_I32, x, ROWS), LS_EINVAL,
          "\"x\" takes LS_F32");
    FAILS(ls_batch_set(b, "label", LS_F32, x, ROWS), LS_EINVAL,
          "\"label\" takes LS_I32");
    FAILS(ls_batch_set(b, "x", LS_F32, NULL, ROWS), LS_EINVAL, "NULL");
    FAILS(ls_batch_set(b, "labels", LS_I32, labels, ROWS), LS_ENOTFOUND,
          "\"labels\"");
    FAILS(ls_batch_set(b, "label", LS_I32, labels, ROWS), LS_ERANGE,
          "\"label\": row 7, element 0 is 5; it must be at least 0 and below "
          "5");
    FAILS(ls_batch_set(b, "label", LS_I32, negative, ROWS), LS_ERANGE,
          "row 2, element 0 is -1");
    free(x);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* Proves that a token out of range is named by row and element. */
START_TEST(token_out_of_range)
{
    static const lm_sizes sizes = {37, 12, 8, 2, 1, 16};
    ls_pool *pool = open_pool(DEVICES, 2);
    run r = open_run(pool, lm_graph(&sizes), NULL);
    int32_t *tokens = integers(3, 37, ROWS * 12);

    tokens[5 * 12 + 9] = 37;
    FAILS(ls_batch_set(r.batch, "tokens", LS_I32, tokens, ROWS), LS_ERANGE,
          "row 5, element 9 is 37");
    tokens[5 * 12 + 9] = 36;
    OK(ls_batch_set(r.batch, "tokens", LS_I32, tokens, ROWS));
    ck_assert(step(&r).updated);
    free(tokens);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* Proves that weights are refused when they are no weights. */
START_TEST(weight_errors)
{
    static const float bad[] = {-1, NAN, INFINITY};
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    float weights[ROWS];

    for (size_t i = 0; i < COUNT(bad); i++) {
        memcpy(weights, uneven, sizeof weights);
        weights[5] = bad[i];
        FAILS(ls_batch_set_weights(q.run.batch, weights, ROWS), LS_ERANGE,
              "weights: row 5 ");
    }
    FAILS(ls_batch_set_weights(q.run.batch, uneven, 10), LS_ESHAPE,
          "10 rows do not divide by 4 devices");
    ck_assert(step(&q.run).weight == ROWS * OUT); /* none of them was taken */
    close_regression(&q);
}
END_TEST

/* Proves that a step refuses a batch that is not complete or not its own. */
START_TEST(incomplete_batches)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    run other = open_run(q.pool, linear_graph(IN, OUT), NULL);
    run mixed = {q.run.trainer, other.batch}, none = {q.run.trainer, NULL};

    fails(&other, LS_EINVAL, "\"x\"", "not set");
    OK(ls_batch_set(other.batch, "x", LS_F32, q.x, ROWS));
    fails(&other, LS_EINVAL, "\"y\"", "not set");
    OK(ls_batch_set(other.batch, "y", LS_F32, q.y, 8));
    fails(&other, LS_ESHAPE, "\"x\" has 12 rows", "\"y\" has 8");
    OK(ls_batch_set(other.batch, "x", LS_F32, q.x, 8));
    OK(ls_batch_set_weights(other.batch, uneven, ROWS));
    fails(&other, LS_ESHAPE, "8 rows", "weights 12");
    OK(ls_batch_set_weights(other.batch, NULL, 0));
    fails(&mixed, LS_EINVAL, "another trainer", "batch");
    fails(&none, LS_EINVAL, "", "batch");
    ck_assert(step(&other).updated);
    close_run(&other);
    close_regression(&q);
}
END_TEST

/* Proves that a batch may grow and shrink from step to step, as a trainer that
 * never saw another size does. */
START_TEST(batch_sizes_change)
{
    static const int64_t sizes[] = {4, 12, 8, 12, 4};
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0));

    for (size_t i = 0; i < COUNT(sizes); i++) {
        regression fresh = open_regression(LS_MEAN_EXACT, ls_sgd(0));
        const regression *both[] = {&q, &fresh};
        ls_result r[2];

        for (int k = 0; k < 2; k++) {
            ls_batch *b = both[k]->run.batch;

            OK(ls_batch_set(b, "x", LS_F32, q.x, sizes[i]));
            OK(ls_batch_set(b, "y", LS_F32, q.y, sizes[i]));
            r[k] = step(&both[k]->run);
            ck_assert_int_eq(r[k].rows, sizes[i]);
        }
        ck_assert_mem_eq(&r[0].loss, &r[1].loss, sizeof r[0].loss);
        close_regression(&fresh);
    }
    close_regression(&q);
}
END_TEST

/* What each device was given. */
typedef struct seen {
    int calls[DEVICES];
    ls_shard shard[DEVICES];
    const void *data[DEVICES][2];
} seen;

static int look(void *user, int device, const ls_shard *shard,
                const float *const *params, float *const *grads,
                ls_sums *out)
{
    seen *s = user;

    s->calls[device]++;
    s->shard[device] = *shard;
    s->data[device][0] = shard->data[0];
    s->data[device][1] = shard->data[1];
    if (out->loss != 0 || out->weight != 0 || !isnan(out->correct))
        return -1;
    own_linear(NULL, device, shard, params, grads, out);
    out->correct = out->weight * (device + 1) / 8;
    return 0;
}

/* What look() counts as right, over all weight. */
static double share_right(bool weighted)
{
    double right = 0, weight = 0;

    for (int i = 0; i < ROWS; i++) {
        double w = weighted ? (double)uneven[i] : 1;

        right += w * (i / PER_DEVICE + 1) / 8;
        weight += w;
    }
    return right / weight;
}

/* Proves that each device is called once a step with its rows of the caller's
 * own arrays, no copies, and that accuracy is the weighted share. */
START_TEST(shards_are_views)
{
    regression q = open_regression(LS_MEAN_EXACT, ls_sgd(0.1));
    seen s = {{0}, {{0}}, {{NULL}}};
    run r = open_own(q.pool, look, &s, ls_sgd(0.1));

    OK(ls_batch_set(r.batch, "x", LS_F32, q.x, ROWS));
    OK(ls_batch_set(r.batch, "y", LS_F32, q.y, ROWS));
    for (int weighted = 0; weighted < 2; weighted++) {
        if (weighted)
            OK(ls_batch_set_weights(r.batch, uneven, ROWS));
        near((double)step(&r).accuracy, share_right(weighted), 1e-6);
        for (int d = 0; d < DEVICES; d++) {
            int first = d * PER_DEVICE;

            ck_assert_int_eq(s.calls[d], weighted + 1);
            ck_assert_int_eq(s.shard[d].first, first);
            ck_assert_int_eq(s.shard[d].rows, PER_DEVICE);
            ck_assert_ptr_eq(s.data[d][0], q.x + first * IN);
            ck_assert_ptr_eq(s.data[d][1], q.y + first * OUT);
            ck_assert_ptr_eq(s.shard[d].weights,
                             weighted ? uneven + first : NULL);
        }
    }
    close_run(&r);
    close_regression(&q);
}
END_TEST

/* ------ Parameters ------ */

static int nothing(void *user, int device, const ls_shard *shard,
                   const float *const *params, float *const *grads,
                   ls_sums *out)
{
    (void)user;
    (void)device;
    (void)shard;
    (void)params;
    (void)grads;
    (void)out;
    return 0;
}

/* Proves that parameters stand by path, bytewise at each level, whatever the
 * order they were declared in, and keep their shapes. */
START_TEST(canonical_order)
{
    static const ls_array_spec input = {"x", LS_F32, 0, {0}};
    static const ls_array_spec param[] = {
        {"pos_emb", LS_F32, 2, {5, 4}}, {"blocks_2.w", LS_F32, 1, {2}},
        {"blocks_10.w", LS_F32, 1, {10}}, {"blocks_1.w", LS_F32, 1, {1}},
        {"blocks.z", LS_F32, 1, {1}}, {"blocks-x", LS_F32, 1, {1}},
        {"blocks_1", LS_F32, 0, {0}}, {"Zebra", LS_F32, 1, {3}}};
    static const char *const want[] = {
        "Zebra", "blocks.z", "blocks-x", "blocks_1", "blocks_1.w",
        "blocks_10.w", "blocks_2.w", "pos_emb"};
    ls_gradient g = {nothing, NULL, 1, COUNT(param), &input, param};
    ls_pool *pool = open_pool(1, 1);
    int64_t shape[LS_MAX_RANK];
    ls_trainer *t;

    OK(ls_trainer_open_gradient(&t, pool, &g, NULL));
    ck_assert_int_eq(ls_trainer_params(t), COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++)
        ck_assert_str_eq(ls_trainer_param_name(t, (int)i), want[i]);
    ck_assert_int_eq(ls_trainer_param_shape(t, 3, shape), 0);
    ck_assert_int_eq(ls_trainer_param_shape(t, 5, shape), 1);
    ck_assert_int_eq(shape[0], 10);
    ck_assert_int_eq(ls_trainer_param_shape(t, 7, shape), 2);
    ck_assert(shape[0] == 5 && shape[1] == 4);
    ck_assert_ptr_null(ls_trainer_param_name(t, -1));
    ck_assert_ptr_null(ls_trainer_param_name(t, COUNT(want)));
    ls_trainer_close(t);
    ls_pool_close(pool);
}
END_TEST

/* Proves that values come back as they went in, that setting one parameter
 * touches no other, and that a wrong name or size is refused with the nearest
 * name or both sizes. */
START_TEST(get_and_set)
{
    static const float values[33] = {1, -0.0f, 0x1p-149f, 3e38f};
    ls_pool *pool = open_pool(DEVICES, 2);
    run r = open_run(pool, mlp_graph(), NULL);
    float got[33], scale[33];

    OK(ls_trainer_get(r.trainer, "norm.scale", 33, scale));
    OK(ls_trainer_set(r.trainer, "norm.bias", 33, values));
    OK(ls_trainer_get(r.trainer, "norm.bias", 33, got));
    ck_assert_mem_eq(got, values, sizeof got);
    OK(ls_trainer_get(r.trainer, "norm.scale", 33, got));
    ck_assert_mem_eq(got, scale, sizeof got);
    FAILS(ls_trainer_get(r.trainer, "norm.biass", 33, got), LS_ENOTFOUND,
          "\"norm.biass\"; the nearest is \"norm.bias\"");
    FAILS(ls_trainer_set(r.trainer, "hidden.kern", 33, got), LS_ENOTFOUND,
          "the nearest is \"hidden.kernel\"");
    FAILS(ls_trainer_set(r.trainer, "norm.bias", 32, got), LS_ESHAPE,
          "\"norm.bias\" has 33 elements, not 32");
    FAILS(ls_trainer_get(r.trainer, "out.kernel", 33, got), LS_ESHAPE,
          "has 165 elements, not 33");
    ck_assert_mem_eq(got, scale, sizeof got);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* ------ The saved file ------ */

/* A whole file; the test frees it. */
static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);

    ck_assert(file && bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    ck_assert(*size > 8 && *size < 1 << 20);
    fclose(file);
    return bytes;
}

static uint64_t little_endian(const char *bytes)
{
    uint64_t n = 0;

    for (int i = 7; i >= 0; i--)
        n = n << 8 | (uint8_t)bytes[i];
    return n;
}

static size_t integer_at(json_t *array, size_t i)
{
    json_t *n = json_array_get(array, i);

    ck_assert(json_is_integer(n));
    return (size_t)json_integer_value(n);
}

/* Entry of parameter i: dtype, shape, and its bytes in data. */
static void check_entry(const ls_trainer *t, int i, json_t *header,
                        const char *data, size_t size)
{
    const char *name = ls_trainer_param_name(t, i);
    json_t *entry = json_object_get(header, name);
    json_t *shape = json_object_get(entry, "shape");
    json_t *at = json_object_get(entry, "data_offsets");
    int64_t want[LS_MAX_RANK], n = 1;
    int rank = ls_trainer_param_shape(t, i, want);
    float values[1024];

    ck_assert_str_eq(json_string_value(json_object_get(entry, "dtype")),
                     "F32");
    ck_assert_int_eq(json_array_size(shape), rank);
    for (int k = 0; k < rank; k++) {
        ck_assert_int_eq(integer_at(shape, (size_t)k), want[k]);
        n *= want[k];
    }
    ck_assert_int_eq(integer_at(at, 1) - integer_at(at, 0), 4 * n);
    ck_assert_uint_le(integer_at(at, 1), size);
    OK(ls_trainer_get(t, name, n, values));
    ck_assert_mem_eq(data + integer_at(at, 0), values, 4 * (size_t)n);
}

/* Proves that what a trainer saves is a safetensors file with all its
 * parameters and the checksum of their bytes. */
START_TEST(saved_file)
{
    ls_pool *pool = open_pool(DEVICES, 2);
    run r = open_run(pool, mlp_graph(), NULL);
    char path[] = "/tmp/lockstep-test-XXXXXX", hex[65], *bytes;
    int fd = mkstemp(path);
    size_t size, head;
    json_t *header, *meta;
    ls__sha256 sha;

    ck_assert_int_ge(fd, 0);
    close(fd);
    OK(ls_trainer_save(r.trainer, path));
    bytes = read_file(path, &size);
    head = little_endian(bytes);
    ck_assert(head % 8 == 0 && head < size - 8);
    header = json_loadb(bytes + 8, head, 0, NULL);
    ck_assert_int_eq(json_object_size(header), ls_trainer_params(r.trainer)
                     + 1);
    head += 8;
    for (int i = 0; i < ls_trainer_params(r.trainer); i++)
        check_entry(r.trainer, i, header, bytes + head, size - head);
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, bytes + head, size - head);
    ls__sha256_hex(&sha, hex);
    meta = json_object_get(header, "__metadata__");
    ck_assert_str_eq(json_string_value(json_object_get(meta, "sha256")), hex);
    json_decref(header);
    free(bytes);
    unlink(path);
    FAILS(ls_trainer_save(r.trainer, "/nowhere/at.all"), LS_EIO,
          "/nowhere/at.all");
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* ------ Trainers that cannot be opened ------ */

static void refuses(ls_pool *pool, const ls_graph *g,
                    const ls_trainer_options *o, int status,
                    const char *words)
{
    ls_trainer *t = (ls_trainer *)&o; /* must stay */

    FAILS(ls_trainer_open(&t, pool, g, o), status, words);
    ck_assert_ptr_eq(t, &o);
}

static void refuses_optimizer(ls_pool *pool, const ls_graph *g,
                              ls_optimizer optimizer, const char *words)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = optimizer;
    refuses(pool, g, &o, LS_EINVAL, words);
}

/* Proves that options which make no sense are refused by name and value. */
START_TEST(bad_options)
{
    ls_pool *pool = open_pool(DEVICES, 2);
    ls_graph *g = linear_graph(IN, OUT);
    ls_trainer_options o = ls_trainer_defaults();
    ls_optimizer adam = ls_adamw(1e-3);

    refuses_optimizer(pool, g, ls_sgd(-0.1), "learning rate is -0.1");
    refuses_optimizer(pool, g, ls_sgd((double)NAN), "learning rate is nan");
    refuses_optimizer(pool, g, ls_adam((double)INFINITY),
                      "learning rate is inf");
    refuses_optimizer(pool, g, ls_momentum(0.1, -1), "momentum is -1");
    adam.b1 = 1;
    refuses_optimizer(pool, g, adam, "b1 is 1");
    adam = ls_adamw(1e-3);
    adam.b2 = -0.5;
    refuses_optimizer(pool, g, adam, "b2 is -0.5");
    adam = ls_adamw(1e-3);
    adam.eps = (double)NAN;
    refuses_optimizer(pool, g, adam, "eps is nan");
    adam = ls_adamw(1e-3);
    adam.weight_decay = -1;
    refuses_optimizer(pool, g, adam, "weight_decay is -1");
    adam.kind = (ls_optimizer_kind)9;
    refuses_optimizer(pool, g, adam, "kind 9");
    o.backend = "fast";
    refuses(pool, g, &o, LS_EINVAL, "backend \"fast\" is unknown");
    o = ls_trainer_defaults();
    o.mean = (ls_mean)7;
    refuses(pool, g, &o, LS_EINVAL, "mean 7");
    o = ls_trainer_defaults();
    o.state = (ls_state)-1;
    refuses(pool, g, &o, LS_EINVAL, "state -1");
    o = ls_trainer_defaults();
    o.keys = (ls_keys)5;
    refuses(pool, g, &o, LS_EINVAL, "keys 5");
    ls_graph_free(g);
    ls_pool_close(pool);
}
END_TEST

/* Proves that a graph that cannot train is refused, with its own first error
 * if it has one. */
START_TEST(bad_graphs)
{
    ls_pool *pool = open_pool(DEVICES, 2);
    ls_graph *good = linear_graph(IN, OUT), *g;
    ls_node *x, *y;

    refuses(NULL, good, NULL, LS_EINVAL, "pool");
    refuses(pool, NULL, NULL, LS_EINVAL, "graph");
    OK(ls_graph_new(&g));
    refuses(pool, g, NULL, LS_EINVAL, "no loss");
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){IN});
    OK(ls_loss(g, ls_mean_squared_error(x, y)));
    refuses(pool, g, NULL, LS_EINVAL, "no parameters");
    ck_assert_ptr_null(ls_mean_squared_error(ls_dense(x, OUT, "fc"), y));
    ck_assert_ptr_null(ls_dense(x, 0, "later"));
    refuses(pool, g, NULL, LS_ESHAPE, "y is (2), target is (3)");
    ls_graph_free(g);
    ls_graph_free(good);
    ls_pool_close(pool);
}
END_TEST

static void refuses_gradient(ls_pool *pool, const ls_gradient *g, int status,
                             const char *words)
{
    ls_trainer *t = NULL;

    FAILS(ls_trainer_open_gradient(&t, pool, g, NULL), status, words);
    ck_assert_ptr_null(t);
}

/* Proves that a gradient whose arrays make no sense is refused by name. */
START_TEST(bad_gradients)
{
    static const ls_array_spec twice[] = {{"w", LS_F32, 1, {2}},
                                          {"w", LS_F32, 1, {3}}};
    static const ls_array_spec deep = {"deep", LS_F32, 9, {1}};
    static const ls_array_spec empty = {"empty", LS_F32, 2, {3, 0}};
    static const ls_array_spec strange = {"strange", (ls_dtype)7, 1, {3}};
    const ls_gradient good = {nothing, NULL, 2, 2, linear_input,
                              linear_param};
    ls_pool *pool = open_pool(DEVICES, 2);
    ls_gradient g = good;

    refuses_gradient(NULL, &g, LS_EINVAL, "pool");
    refuses_gradient(pool, NULL, LS_EINVAL, "gradient");
    g.fn = NULL;
    refuses_gradient(pool, &g, LS_EINVAL, "function");
    g = good;
    g.inputs = 0;
    refuses_gradient(pool, &g, LS_EINVAL, "input");
    g = good;
    g.params = -1;
    refuses_gradient(pool, &g, LS_EINVAL, "parameter");
    g = good;
    g.param = twice;
    refuses_gradient(pool, &g, LS_EINVAL, "\"w\" stands there twice");
    g.params = 1;
    g.param = &deep;
    refuses_gradient(pool, &g, LS_EINVAL, "\"deep\": rank 9");
    g.param = &empty;
    refuses_gradient(pool, &g, LS_ESHAPE, "\"empty\": (3,0)");
    g = good;
    g.inputs = 1;
    g.input = &strange;
    refuses_gradient(pool, &g, LS_EINVAL, "\"strange\": dtype 7");
    g.input = &empty;
    refuses_gradient(pool, &g, LS_EINVAL, "\"empty\"");
    g.input = &deep;
    refuses_gradient(pool, &g, LS_EINVAL, "\"deep\"");
    ls_pool_close(pool);
}
END_TEST

/* ------ Memory ------ */

#if OWN_MALLOC

static void watch(int fail)
{
    fail_memory = ALL_MEMORY;
    watch_from(fail);
}

/* Before any assertion: Check allocates too. */
static void unwatch(int *calls, int *left)
{
    atomic_store(&watching, false);
    *calls = atomic_load(&count);
    *left = atomic_load(&live);
}

static void steps_allocate_nothing(run *r)
{
    int calls, left;

    step(r); /* whatever is made once has been made */
    watch(0);
    for (int i = 0; i < 10; i++) {
        ls_result result;

        if (ls_step(r->trainer, r->batch, &result) < 0 ||
            ls_evaluate(r->trainer, r->batch, &result) < 0)
            break;
    }
    unwatch(&calls, &left);
    ck_assert_int_eq(ls_trainer_step(r->trainer), 11);
    ck_assert_int_eq(calls, 0);
}

/* Proves that the counters count, so that the next test can fail. */
START_TEST(allocations_are_counted)
{
    ls_graph *g = NULL;
    int status, calls, left;

    watch(0);
    status = ls_graph_new(&g);
    unwatch(&calls, &left);
    ck_assert(status == 0 && calls == 1 && left == 1);
    ls_graph_free(g);
    watch(1);
    status = ls_graph_new(&g);
    unwatch(&calls, &left);
    ck_assert(status == LS_ENOMEM && calls == 1 && left == 0);
}
END_TEST

static const lm_sizes tiny_lm = {37, 12, 24, 3, 2, 40};

/* Proves that a step and an evaluation allocate nothing, replicated and
 * sharded. */
START_TEST(a_step_allocates_nothing)
{
    ls_trainer_options o = ls_trainer_defaults();
    regression q = open_regression(LS_MEAN_EXACT, ls_adam(0.1));
    int32_t *tokens = integers(1, 37, ROWS * 12);
    run lm;

    o.optimizer = ls_adamw(1e-3);
    o.state = (ls_state)_i;
    o.backend = "native";
    lm = open_run(q.pool, lm_graph(&tiny_lm), &o);
    OK(ls_batch_set(lm.batch, "tokens", LS_I32, tokens, ROWS));
    steps_allocate_nothing(&q.run);
    steps_allocate_nothing(&lm);
    close_run(&lm);
    close_regression(&q);
    free(tokens);
}
END_TEST

/* Everything that allocates, from a graph to a saved file. */
static int whole_life(ls_pool *pool, const char *path)
{
    static const ls_gradient own = {nothing, NULL, 2, 2, linear_input,
                                    linear_param};
    ls_graph *g = NULL;
    ls_trainer *t[2] = {NULL, NULL};
    ls_batch *b = NULL;
    ls_node *x, *y;
    int status = ls_graph_new(&g);

    if (status == 0) {
        x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
        y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
        x = ls_layer_norm(ls_gelu(ls_dense(x, 5, "fc")), "norm");
        status = ls_loss(g, ls_mean_squared_error(ls_dense(x, OUT, "out"), y));
    }
    if (status == 0)
        status = ls_trainer_open(&t[0], pool, g, NULL);
    if (status == 0)
        status = ls_trainer_open_gradient(&t[1], pool, &own, NULL);
    if (status == 0)
        status = ls_batch_open(&b, t[0]);
    if (status == 0)
        status = ls_trainer_save(t[0], path);
    ls_batch_close(b);
    ls_trainer_close(t[0]);
    ls_trainer_close(t[1]);
    ls_graph_free(g);
    return status;
}

/* Proves that memory may run out at any single allocation: a status comes
 * back, everything half open is closed, nothing leaks. */
START_TEST(each_allocation_fails_in_turn)
{
    ls_pool *pool = open_pool(DEVICES, 2);
    char path[] = "/tmp/lockstep-test-XXXXXX";
    int fd = mkstemp(path), calls, left, status, ignored;

    ck_assert_int_ge(fd, 0);
    close(fd);
    OK(whole_life(pool, path)); /* whatever is made once has been made */
    watch(0);
    status = whole_life(pool, path);
    unwatch(&calls, &left);
    ck_assert_msg(status == 0 && calls > 20 && left == 0,
                  "status %d, %d allocations, %d left", status, calls, left);
    for (int i = 1; i <= calls; i++) {
        watch(i);
        status = whole_life(pool, path);
        unwatch(&ignored, &left);
        ck_assert_msg(status < 0 && left == 0,
                      "allocation %d of %d failed: status %d, %d left", i,
                      calls, status, left);
    }
    unlink(path);
    ls_pool_close(pool);
}
END_TEST

static TCase *memory_case(void)
{
    TCase *memory = tcase_create("memory");

    tcase_add_test(memory, allocations_are_counted);
    tcase_add_loop_test(memory, a_step_allocates_nothing, LS_REPLICATE,
                        LS_SHARD + 1);
    tcase_add_test(memory, each_allocation_fails_in_turn);
    return memory;
}

#else

static TCase *memory_case(void)
{
    return tcase_create("memory: not with this allocator");
}

#endif

/* Proves that the closing half accepts NULL. */
START_TEST(closing_nothing)
{
    ls_batch_close(NULL);
    ls_trainer_close(NULL);
    ls_graph_free(NULL);
}
END_TEST

/* ------ All of it ------ */

static TCase *numbers_case(void)
{
    TCase *numbers = tcase_create("numbers");

    tcase_add_loop_test(numbers, rules_bit_for_bit, 0, 6);
    tcase_add_test(numbers, adamw_trace);
    tcase_add_test(numbers, bias_corrections);
    tcase_add_loop_test(numbers, three_means, LS_MEAN_EXACT, LS_SUM + 1);
    tcase_add_test(numbers, means_differ);
    tcase_add_test(numbers, own_gradient_as_graph);
    tcase_add_loop_test(numbers, evaluate_is_pure, LS_MEAN_EXACT, LS_SUM + 1);
    tcase_add_test(numbers, batch_sizes_change);
    tcase_add_test(numbers, shards_are_views);
    return numbers;
}

static TCase *failures_case(void)
{
    TCase *failures = tcase_create("failures");

    tcase_add_loop_test(failures, weight_zero_everywhere, LS_MEAN_EXACT,
                        LS_MEAN_EXACT + 1);
    tcase_add_loop_test(failures, weight_zero_everywhere, LS_SUM, LS_SUM + 1);
    tcase_add_test(failures, empty_shard);
    tcase_add_test(failures, nonfinite_loss);
    tcase_add_test(failures, nonfinite_after_masked);
    tcase_add_test(failures, nonfinite_gradient);
    tcase_add_test(failures, nonfinite_of_many);
    tcase_add_test(failures, overflow_in_the_sum);
    tcase_add_test(failures, user_failure);
    tcase_add_test(failures, batch_set_errors);
    tcase_add_test(failures, token_out_of_range);
    tcase_add_test(failures, weight_errors);
    tcase_add_test(failures, incomplete_batches);
    tcase_add_test(failures, bad_options);
    tcase_add_test(failures, bad_graphs);
    tcase_add_test(failures, bad_gradients);
    tcase_add_test(failures, closing_nothing);
    return failures;
}

static TCase *parameters_case(void)
{
    TCase *parameters = tcase_create("parameters");

    tcase_add_test(parameters, canonical_order);
    tcase_add_test(parameters, get_and_set);
    tcase_add_test(parameters, saved_file);
    return parameters;
}

int main(void)
{
    TCase *cases[] = {numbers_case(), failures_case(), parameters_case(),
                      memory_case()};
    Suite *suite = suite_create("train");

    for (size_t i = 0; i < COUNT(cases); i++) {
        tcase_set_timeout(cases[i], 60);
        suite_add_tcase(suite, cases[i]);
    }
    return run_suite(suite);
}
