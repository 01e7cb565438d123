/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast a step reduces and updates: the 3.4 million parameters of
 * lockstep-train lm under adamw with --state shard, by a gradient function that
 * does nothing but write.
 *
 *     bench-state [--workers W] [--steps N] [--cold 1] [--metrics F]
 *
 * Each step comes after passes, by the same workers, over as many bytes as the
 * reduction and then the update moves at least, read and written: "copy" is
 * memcpy, "in_place" writes what it read where it was, as an update does, so
 * that no line is fetched only to be overwritten: the higher roof of the two.
 * "roof" is what ls_measure_copy's rate would take.
 *
 * Passes find the caches as the step does.  That is as the gradients' writing
 * leaves them, of which a last cache of some size holds a part, so that rates
 * may exceed the memory's; or, with --cold 1, filled with something else, by
 * reading four times as much as it holds.
 *
 * A phase's time is that of the worker that took longest in it, barriers left
 * out.  There is a device for each worker.  Writes the metrics form of
 * lockstep-train; "loss" is a parameter, which cold and warm must agree on.
 * Uses the public header only and links the shared library. */
#include "bench.h"

#include <string.h>

enum { MOST = 64, ARRAYS = 64, LAYERS = 4, D = 256, FF = 1024, V = 512 };

typedef struct worker {
    _Alignas(64) float *from, *to; /* of passes */
    float *sweep;                  /* what a cold start reads */
    size_t sweep_floats;
    double seconds;                /* of its last pass */
    volatile float sink;           /* for sums nobody wants */
} worker;

typedef struct bench {
    int workers, steps;
    bool cold;
    ls_mesh *mesh;
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
    ls_array_spec param[ARRAYS];
    char name[ARRAYS][16];
    int params;
    ls_work work;
    double roof;        /* bytes a second */
    size_t pass_floats; /* of a worker, each way, in the pass under way */
    bool in_place;      /* that pass */
    worker worker[MOST];
} bench;

/* ------ The parameters of lm ------ */

static void add(bench *b, int rank, int64_t n0, int64_t n1, int64_t n2)
{
    char *name = b->name[b->params];

    snprintf(name, sizeof b->name[0], "p%02d", b->params);
    b->param[b->params++] =
        (ls_array_spec){name, LS_F32, rank, {n0, n1, n2}};
}

static void add_block(bench *b)
{
    for (int i = 0; i < 3; i++)
        add(b, 3, D, 8, D / 8);
    add(b, 3, 8, D / 8, D);
    add(b, 2, D, FF, 0);
    add(b, 1, FF, 0, 0);
    add(b, 2, FF, D, 0);
    for (int i = 0; i < 5; i++) /* a bias, and two norms */
        add(b, 1, D, 0, 0);
}

static void add_all(bench *b)
{
    add(b, 1, D, 0, 0);
    add(b, 1, D, 0, 0);
    add(b, 2, V, D, 0);
    add(b, 2, 64, D, 0);
    add(b, 2, D, V, 0);
    for (int i = 0; i < LAYERS; i++)
        add_block(b);
}

static size_t floats_of(const ls_array_spec *a)
{
    size_t n = 1;

    for (int i = 0; i < a->rank; i++)
        n *= (size_t)a->shape[i];
    return n;
}

/* ------ The state of the caches ------ */

static void sweep(worker *w)
{
    float sum = 0;

    for (size_t i = 0; i < w->sweep_floats; i += 16)
        sum += w->sweep[i];
    w->sink = sum;
}

static int gradient(void *user, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums)
{
    bench *b = user;

    sums->weight = (double)shard->rows;
    sums->loss = (double)shard->rows * (double)params[0][0];
    for (int p = 0; p < b->params && grads; p++) {
        size_t n = floats_of(&b->param[p]);

        for (size_t i = 0; i < n; i++)
            grads[p][i] = 0.5f;
    }
    if (b->cold)
        sweep(&b->worker[device]);
    return 0;
}

static void add_one(size_t n, float *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] += 1;
}

static int pass_part(void *user, int device, const void *const *in,
                     void *const *out)
{
    bench *b = user;
    worker *w = &b->worker[device];
    double start;

    (void)in, (void)out;
    memset(w->from, 0, b->pass_floats * sizeof *w->from);
    if (b->cold)
        sweep(w);
    start = seconds();
    if (b->in_place)
        add_one(b->pass_floats, w->from);
    else
        memcpy(w->to, w->from, b->pass_floats * sizeof *w->to);
    w->seconds = seconds() - start;
    return 0;
}

/* Seconds of the slowest worker. */
static double pass(bench *b, bool in_place, double bytes)
{
    double most = 0;

    b->in_place = in_place;
    b->pass_floats = (size_t)(bytes / 2 / b->workers / sizeof(float));
    must(ls_pmap(b->pool, pass_part, b, 0, NULL, 0, NULL));
    for (int w = 0; w < b->workers; w++)
        most = b->worker[w].seconds > most ? b->worker[w].seconds : most;
    return most;
}

/* ------ Set-up ------ */

static size_t last_cache(const ls_mesh *mesh)
{
    ls_level l;

    for (int i = 0; ls_mesh_level(mesh, i, &l); i++)
        if (!strcmp(l.name, "L3"))
            return (size_t)(l.most * l.count);
    return 32 << 20;
}

static float *block(size_t floats)
{
    float *p = malloc(floats * sizeof *p);

    if (!p) {
        fprintf(stderr, "bench-state: no memory for %zu floats\n", floats);
        exit(EXIT_FAILURE);
    }
    return p;
}

/* Pages lie where the first to write them runs. */
static int touch(void *user, int device, const void *const *in,
                 void *const *out)
{
    bench *b = user;
    worker *w = &b->worker[device];
    size_t most = (size_t)b->work.update_bytes / 2 / (size_t)b->workers;

    (void)in, (void)out;
    memset(w->from, 0, most);
    memset(w->to, 0, most);
    memset(w->sweep, 0, w->sweep_floats * sizeof *w->sweep);
    return 0;
}

static void open_pool(bench *b)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_pool_options p = ls_pool_defaults();

    m.devices = m.workers = b->workers;
    m.details = true; /* caches, for the roof */
    p.pin_caller = true;
    must(ls_mesh_open(&b->mesh, &m));
    must(ls_pool_open(&b->pool, b->mesh, &p));
    must(ls_measure_copy(b->pool, b->workers, &b->roof));
}

static void open_trainer(bench *b)
{
    static const ls_array_spec x = {"x", LS_F32, 1, {1}};
    static float rows[MOST];
    ls_gradient g = {gradient, b, 1, 0, &x, b->param};
    ls_trainer_options o = ls_trainer_defaults();

    add_all(b);
    g.n_params = b->params;
    o.optimizer = ls_adamw(3e-4);
    o.state = LS_SHARD;
    must(ls_trainer_open_gradient(&b->trainer, b->pool, &g, &o));
    must(ls_trainer_clock(b->trainer));
    must(ls_batch_open(&b->batch, b->trainer));
    must(ls_batch_set(b->batch, "x", LS_F32, rows, b->workers));
    ls_trainer_work(b->trainer, &b->work);
}

static void open_workers(bench *b)
{
    size_t workers = (size_t)b->workers;
    size_t most = (size_t)b->work.update_bytes / 2 / workers / sizeof(float);

    for (int i = 0; i < b->workers; i++) {
        worker *w = &b->worker[i];

        w->from = block(most);
        w->to = block(most);
        w->sweep_floats = 4 * last_cache(b->mesh) / workers / sizeof(float);
        w->sweep = block(w->sweep_floats);
    }
    must(ls_pmap(b->pool, touch, b, 0, NULL, 0, NULL));
}

static void close_all(bench *b)
{
    for (int i = 0; i < b->workers; i++) {
        free(b->worker[i].from);
        free(b->worker[i].to);
        free(b->worker[i].sweep);
    }
    ls_batch_close(b->batch);
    ls_trainer_close(b->trainer);
    ls_pool_close(b->pool);
    ls_mesh_close(b->mesh);
}

/* ------ Steps ------ */

static ls_times slowest(const bench *b)
{
    ls_times all = {0}, one;

    for (int w = 0; w < b->workers; w++) {
        must(ls_trainer_times(b->trainer, w, &one));
        all.reduce = one.reduce > all.reduce ? one.reduce : all.reduce;
        all.update = one.update > all.update ? one.update : all.update;
    }
    return all;
}

static double all_bytes(const bench *b)
{
    return b->work.reduce_bytes + b->work.update_bytes;
}

static double both_passes(bench *b, bool in_place)
{
    return pass(b, in_place, b->work.reduce_bytes) +
           pass(b, in_place, b->work.update_bytes);
}

/* "bytes" are those of each number of the lines that follow. */
static void head(const bench *b, FILE *out)
{
    fprintf(out, "{\"versions\":{\"lockstep\":\"%s\"},\"bytes\":{"
            "\"reduce\":%.0f,\"update\":%.0f,\"ms\":%.0f,\"copy\":%.0f,"
            "\"in_place\":%.0f,\"roof\":%.0f}}\n", ls_version(),
            b->work.reduce_bytes, b->work.update_bytes, all_bytes(b),
            all_bytes(b), all_bytes(b), all_bytes(b));
}

static void step(bench *b, int s, FILE *out)
{
    double copy = both_passes(b, false), in_place = both_passes(b, true);
    ls_result r;
    ls_times t;

    must(ls_step(b->trainer, b->batch, &r));
    t = slowest(b);
    fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"reduce\":%.6g,\"update\":%.6g,"
            "\"ms\":%.6g,\"copy\":%.6g,\"in_place\":%.6g,\"roof\":%.6g}\n",
            s, (double)r.loss, 1e3 * t.reduce, 1e3 * t.update,
            1e3 * (t.reduce + t.update), 1e3 * copy, 1e3 * in_place,
            1e3 * all_bytes(b) / b->roof);
}

int main(int argc, char **argv)
{
    static bench b;
    FILE *out = metrics(argc, argv);

    b.workers = number(argc, argv, "--workers", 2);
    b.steps = number(argc, argv, "--steps", 20);
    b.cold = number(argc, argv, "--cold", 0);
    if (b.workers < 1 || b.workers > MOST) {
        fprintf(stderr, "bench-state: 1 to %d workers\n", MOST);
        return EXIT_FAILURE;
    }
    open_pool(&b);
    open_trainer(&b);
    open_workers(&b);
    head(&b, out);
    for (int s = 0; s < b.steps; s++)
        step(&b, s, out);
    close_all(&b);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}
