/* SPDX-License-Identifier: BSD-3-Clause */
/* See explain.h. */
#include "train/explain.h"
#include "opt/opt.h"
#include "train/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_l2(const run_settings *s)
{
    ls_optimizer o = ls_optimizer_defaults((ls_optimizer_kind)s->optimizer, 0);
    int status = knobs_set(s->of_optimizer, KNOBS_OPTIMIZER, s->optimizer, &o);

    return status == OPT_GO && o.l2 > 0;
}

int explain_check(const run *r)
{
    const run_settings *s = &r->how;
    const struct {
        const char *option;
        bool used;
    } more[] = {
        {"accumulate", s->accumulate > 1},
        {"clip-norm", s->clip_norm > 0},
        {"clip-value", s->clip_value > 0},
        {"l2", has_l2(s)},
        {"mask", r->set.data.mask != NULL},
        {"masked-mean per-shard", s->mean != LS_MEAN_EXACT},
        {"uneven pad", r->set.data.uneven == UNEVEN_PAD},
    };

    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (more[i].used)
            return opt_fail(OPT_WRONG, "--explain shows the plain step, so it "
                            "does not go with --%s", more[i].option);
    return OPT_GO;
}

/* Copy the gradients of the first device, as weights_get copies parameters. */
static int get_gradients(const ls_trainer *t, const ls_gradients *g, float *at)
{
    int status = 0;

    for (int k = 0; k < ls_trainer_params(t) && status == 0; k++) {
        int64_t n = weights_of(t, k);

        status = ls_gradients_get_device(g, 0, ls_trainer_param_name(t, k), n,
                                         at);
        at += n;
    }
    return status;
}

static double norm(int64_t n, const float *x)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* ------ A device alone ------ */

typedef struct alone {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_gradients *gradients;
    ls_batch *batch;
} alone;

static int open_trainer(alone *a, const run *r)
{
    ls_trainer_options o = ls_trainer_defaults();
    int status = ls_graph_new(&a->graph);

    if (status < 0)
        return status;
    o.keys = r->model->keys;
    o.mean = LS_SUM;
    o.backend = r->how.backend;
    o.precision = run_precision(r);
    r->model->build(a->graph, &r->set.model);
    status = ls_trainer_open(&a->trainer, a->pool, a->graph, &o);
    if (status == 0)
        status = ls_gradients_open(&a->gradients, a->trainer, 1);
    return status < 0 ? status : ls_batch_open(&a->batch, a->trainer);
}

/* Its one worker is this thread. */
static int open_alone(alone *a, const run *r)
{
    ls_mesh_options o = ls_mesh_defaults();
    int status;

    o.devices = 1;
    o.cpus = r->how.cpus;
    status = ls_mesh_open(&a->mesh, &o);
    if (status == 0)
        status = ls_pool_open(&a->pool, a->mesh, NULL);
    return status < 0 ? status : open_trainer(a, r);
}

static void close_alone(alone *a)
{
    ls_batch_close(a->batch);
    ls_gradients_close(a->gradients);
    ls_trainer_close(a->trainer);
    ls_graph_free(a->graph);
    ls_pool_close(a->pool);
    ls_mesh_close(a->mesh);
}

static int set_rows(const alone *a, const data *d, int64_t first, int64_t rows)
{
    int status = 0;

    for (int i = 0; i < d->inputs && status == 0; i++) {
        const ls_array *all = &d->input[i].all;
        const float *from = all->data;

        status = ls_batch_set(a->batch, d->input[i].name, LS_F32,
                              from + first * all->shape[1], rows);
    }
    return status;
}

/* The gradient and the loss of these rows. */
static int one_device(explain *e, const alone *a, int device, int64_t first,
                      int64_t rows)
{
    float *gradient = e->all + device * e->floats;
    ls_result result;
    int status = set_rows(a, &e->run->data, first, rows);

    if (status == 0)
        status = ls_gradients_compute(a->gradients, a->batch, &result);
    if (status == 0)
        status = get_gradients(a->trainer, a->gradients, gradient);
    if (status < 0)
        return opt_check(status);
    e->loss[device] = (double)result.loss;
    e->terms += result.weight;
    printf("[explain] device %d: rows %lld to %lld: loss %.4f, gradient %.6f "
           "..  norm %.4f\n", device, (long long)first,
           (long long)(first + rows - 1), e->loss[device], (double)gradient[0],
           norm(e->floats, gradient));
    return OPT_GO;
}

/* Rows of the batch as the devices have them. */
static int all_devices(explain *e, const alone *a, int64_t step)
{
    const data *d = &e->run->data;
    int devices = (int)e->run->how.devices, status = OPT_GO;
    int64_t rows = d->batch / devices;
    int64_t first = step % d->batches * d->batch;

    for (int i = 0; i < devices && status == OPT_GO; i++)
        status = one_device(e, a, i, first + i * rows, rows);
    return status;
}

/* ------ The tree ------ */

static void add(explain *e, int round, int to, int from)
{
    float *a = e->all + to * e->floats, *b = e->all + from * e->floats;
    double was = (double)a[0];

    for (int64_t i = 0; i < e->floats; i++)
        a[i] += b[i];
    e->loss[to] += e->loss[from];
    printf("[explain] round %d: device %d += device %d: %.6f + %.6f = %.6f ..  "
           "norm %.4f\n", round, to, from, was, (double)b[0], (double)a[0],
           norm(e->floats, a));
}

static void add_all(explain *e)
{
    int devices = (int)e->run->how.devices, round = 1;

    for (int s = 1; s < devices; s *= 2, round++)
        for (int i = 0; i + s < devices; i += 2 * s)
            add(e, round, i, i + s);
}

static void take_mean(explain *e)
{
    float factor = 1 / (float)e->terms;
    double was = (double)e->sum[0];

    for (int64_t i = 0; i < e->floats; i++)
        e->sum[i] *= factor;
    printf("[explain] mean of %.0f terms: loss %.4f, gradient %.6f x %.6g = "
           "%.6f ..  norm %.4f\n", e->terms, e->loss[0] / e->terms, was,
           (double)factor, (double)e->sum[0], norm(e->floats, e->sum));
}

/* ------ */

static int make_room(explain *e, run *r)
{
    size_t devices = (size_t)r->how.devices;

    e->run = r;
    e->floats = weights_count(r->trainer);
    e->before = calloc((size_t)e->floats, sizeof *e->before);
    e->sum = e->all = calloc(devices * (size_t)e->floats, sizeof *e->all);
    e->loss = calloc(devices, sizeof *e->loss);
    if (!e->before || !e->all || !e->loss)
        return opt_fail(OPT_FAILED, "out of memory");
    return opt_check(weights_get(r->trainer, e->before));
}

static int take_apart(explain *e, int64_t step)
{
    alone a = {0};
    int status = opt_check(open_alone(&a, e->run));

    if (status == OPT_GO)
        status = opt_check(weights_set(a.trainer, e->before));
    if (status == OPT_GO)
        status = all_devices(e, &a, step);
    if (status == OPT_GO) {
        add_all(e);
        take_mean(e);
    }
    close_alone(&a);
    return opt_end(status);
}

int explain_begin(explain *e, run *r, int64_t step)
{
    int status;

    if (e->before)
        return OPT_GO;
    if (r->data.batch % r->how.devices)
        return opt_fail(OPT_WRONG, "--explain shows devices with as many rows "
                        "each, and %lld rows do not divide by %lld devices",
                        (long long)r->data.batch, (long long)r->how.devices);
    status = make_room(e, r);
    if (status != OPT_GO)
        return status;
    printf("[explain] step %lld: %lld rows on %lld device%s; of %lld "
           "parameters the first is shown: %s[0] = %.6f\n",
           (long long)step, (long long)r->data.batch, (long long)r->how.devices,
           opt_s(r->how.devices), (long long)e->floats,
           ls_trainer_param_name(r->trainer, 0), (double)e->before[0]);
    return take_apart(e, step);
}

/* p - rate g with one rounding, as the engine has it. */
static void update(explain *e, double rate)
{
    double was = (double)e->before[0];

    for (int64_t i = 0; i < e->floats; i++)
        e->before[i] = fmaf(-(float)rate, e->sum[i], e->before[i]);
    printf("[explain] update: %.6f - %g x %.6f = %.6f ..\n", was, rate,
           (double)e->sum[0], (double)e->before[0]);
}

int explain_end(explain *e, const ls_result *result)
{
    int status;

    if (!e->run)
        return OPT_GO;
    update(e, (double)result->lr);
    status = opt_check(weights_get(e->run->trainer, e->sum));
    e->run = NULL; /* it is told once */
    if (status != OPT_GO)
        return status;
    if (memcmp(e->sum, e->before, (size_t)e->floats * sizeof *e->sum))
        return opt_fail(OPT_FAILED, "--explain: the engine's step has other "
                        "bytes than the step by hand");
    puts("[explain] the engine's own step: the same bytes");
    return opt_end(OPT_GO);
}

void explain_free(explain *e)
{
    free(e->before);
    free(e->all);
    free(e->loss);
}
