/* SPDX-License-Identifier: BSD-3-Clause */
/* What 07_by_hand.c does, on workers: a batch that the devices do not divide is
 * cut into shards, each device computes the gradient of its own by a function
 * of this program's, and a collective adds them up.
 *
 *     17_shards [TRACE.json]
 *
 * With a file's name it writes there what the workers did, for
 * ui.perfetto.dev.  Exits 1 when it has not learned. */
#include <lockstep.h>

#include <stdio.h>

enum { ROWS = 14, DEVICES = 4, STEPS = 140 };

/* The line is y = w0 x0 + w1 x1 + b; a gradient comes with the loss. */
enum { W0, W1, B, PARAMS, LOSS = PARAMS, SUMS };

typedef struct training {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_trace *trace;
    ls_shards *shards;
    float x[ROWS][2], y[ROWS];
    float p[PARAMS];
    float sums[DEVICES][SUMS]; /* of each device's rows */
} training;

/* Points of y = 3 x0 - 2 x1 + 1, as NumPy's randint draws them. */
static void make_data(training *t)
{
    int64_t draw[2 * ROWS];
    ls_numpy numpy;

    ls_numpy_seed(&numpy, 1);
    ls_numpy_randint(&numpy, 0, 16, 2 * ROWS, draw);
    for (int i = 0; i < ROWS; i++) {
        t->x[i][0] = (float)draw[2 * i] / 16;
        t->x[i][1] = (float)draw[2 * i + 1] / 16;
        t->y[i] = 3 * t->x[i][0] - 2 * t->x[i][1] + 1;
    }
    ls_random_truncated_normal(ls_key_new(1), 0, PARAMS, t->p);
}

/* Cut both arrays along the mesh's data axis, filled up with rows of zeros. */
static int cut(training *t, ls_sharding *by)
{
    const ls_array arrays[] = {{"x", LS_F32, 2, {ROWS, 2}, t->x},
                               {"y", LS_F32, 1, {ROWS}, t->y}};
    int status = ls_sharding_data_parallel(by, t->mesh, NULL);

    return status < 0 ? status
                      : ls_shards_cut(&t->shards, by, 2, arrays,
                                      LS_UNEVEN_PAD);
}

static void show(const training *t, const ls_sharding *by)
{
    printf("%d rows, %d devices along \"data\"\n", ROWS,
           ls_mesh_axis_size(t->mesh, "data"));
    for (int d = 0; d < ls_pool_devices(t->pool); d++) {
        const float *mask = ls_shards_mask(t->shards, d);
        int64_t rows = ls_shards_rows(t->shards), count = 0;

        for (int64_t i = 0; i < rows; i++)
            count += mask[i] != 0;
        printf("device %d has shard %d: %lld rows, of which %lld count\n", d,
               ls_sharding_shard(by, d), (long long)rows, (long long)count);
    }
}

/* A device's sums: its worker calls this, at the same time as others. */
static int gradient(void *user, int device, const void *const *in,
                    void *const *out)
{
    const training *t = user;
    const float *mask = ls_shards_mask(t->shards, device), *p = t->p;
    float *g = out[0];
    ls_array x, y;

    (void)in; /* the shards are found by their names */
    if (ls_shards_get(t->shards, "x", device, &x) < 0 ||
        ls_shards_get(t->shards, "y", device, &y) < 0)
        return -1;
    g[W0] = g[W1] = g[B] = g[LOSS] = 0;
    for (int64_t i = 0; i < x.shape[0]; i++) {
        const float *row = (const float *)x.data + 2 * i;
        float error = p[W0] * row[0] + p[W1] * row[1] + p[B] -
                      ((const float *)y.data)[i];

        error *= mask[i];
        g[LOSS] += error * error;
        g[W0] += 2 * error * row[0];
        g[W1] += 2 * error * row[1];
        g[B] += 2 * error;
    }
    return 0;
}

/* Every device's sums become those of all, in the order of the tree. */
static int add_up(training *t)
{
    void *at[DEVICES];
    const ls_buffers sums = {"sums", LS_F32, SUMS, at, at};

    for (int d = 0; d < DEVICES; d++)
        at[d] = t->sums[d];
    return ls_all_reduce(t->pool, NULL, LS_REDUCE_SUM, 1, &sums);
}

static int step(training *t, const ls_schedule *schedule, int i)
{
    const ls_array out = {"sums", LS_F32, 2, {DEVICES, SUMS}, t->sums};
    const float *g = t->sums[0];
    float lr;

    if (ls_schedule_lr(schedule, 0.5, i, &lr) < 0 ||
        ls_pmap(t->pool, gradient, t, 0, NULL, 1, &out) < 0 || add_up(t) < 0)
        return -1;
    for (int k = 0; k < PARAMS; k++)
        t->p[k] -= lr * (g[k] / ROWS);
    ls_trace_counter(t->pool, "loss", (double)(g[LOSS] / ROWS));
    if (i % 20 == 0)
        printf("step %03d  loss %.6f  rate %.3f\n", i,
               (double)(g[LOSS] / ROWS), (double)lr);
    return 0;
}

static int train(training *t)
{
    ls_schedule schedule = ls_schedule_defaults(LS_COSINE);

    schedule.decay_steps = 2 * STEPS;
    for (int i = 0; i < STEPS; i++)
        if (step(t, &schedule, i) < 0)
            return -1;
    printf("y = %.3f x0 + %.3f x1 + %.3f\n", (double)t->p[W0],
           (double)t->p[W1], (double)t->p[B]);
    return 0;
}

static int write_trace(const training *t, const char *path)
{
    if (!t->trace)
        return 0;
    if (ls_trace_dropped(t->trace))
        printf("the trace lacks its first %lld events\n",
               (long long)ls_trace_dropped(t->trace));
    return ls_trace_write(t->trace, path);
}

/* A step of the same model in a call that opens all for itself, of rows that
 * divide, from parameters that Flax would start with. */
static int in_one_call(const training *t)
{
    float loss;
    int status = ls_data_parallel_step(0, t->x[0], t->y, ROWS / DEVICES *
                                       DEVICES, 2, 1, DEVICES, 0.5, &loss);

    if (status == 0)
        printf("in one call: loss %.6f\n", (double)loss);
    return status;
}

int main(int argc, char **argv)
{
    static training t;
    ls_mesh_options o = ls_mesh_defaults();
    ls_sharding by;
    bool good;

    o.devices = DEVICES;
    make_data(&t);
    good = ls_mesh_open(&t.mesh, &o) == 0 &&
           ls_pool_open(&t.pool, t.mesh, NULL) == 0 && cut(&t, &by) == 0;
    if (good && argc > 1)
        good = ls_trace_open(&t.trace, t.pool, NULL) == 0;
    if (good)
        show(&t, &by);
    good = good && train(&t) == 0 && write_trace(&t, argv[1]) == 0 &&
           in_one_call(&t) == 0;
    if (!good)
        puts(ls_errmsg());
    ls_trace_close(t.trace);
    ls_shards_free(t.shards);
    ls_pool_close(t.pool);
    ls_mesh_close(t.mesh);
    return good && t.sums[0][LOSS] / ROWS < 1e-3f ? 0 : 1;
}
