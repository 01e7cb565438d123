/* SPDX-License-Identifier: BSD-3-Clause */
/* How does a gradient function of one's own scale?  The same training on 1, 2,
 * 4, .. workers: a straight line y = w x + b is fitted, with a gradient written
 * by hand.  Prints a table; exits 1 when a count of workers gives other bytes.
 * (lockstep-scale does the same for the models that it knows, and more.) */
#include <lockstep.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 4096, DEVICES = 8, STEPS = 200 };

static float xs[ROWS], ys[ROWS];

/* The sum over the rows of (w x + b - y)^2, and its gradient. */
static int line(void *user, int device, const ls_shard *shard,
                const float *const *params, float *const *grads, ls_sums *sums)
{
    const float *x = shard->data[0], *y = shard->data[1];
    float w = params[0][0], b = params[1][0], dw = 0, db = 0;

    (void)user;
    (void)device;
    for (int64_t i = 0; i < shard->rows; i++) {
        float e = w * x[i] + b - y[i];

        dw += 2 * e * x[i];
        db += 2 * e;
        sums->loss += (double)(e * e);
    }
    sums->weight = (double)shard->rows;
    if (grads) {
        grads[0][0] = dw;
        grads[1][0] = db;
    }
    return 0;
}

static int open_line(ls_trainer **trainer, ls_batch **batch, ls_pool *pool)
{
    static const ls_array_spec in[] = {{"x", LS_F32, 0, {0}},
                                       {"y", LS_F32, 0, {0}}};
    static const ls_array_spec param[] = {{"w", LS_F32, 0, {0}},
                                          {"b", LS_F32, 0, {0}}};
    ls_gradient g = {line, NULL, 2, 2, in, param};
    int status = ls_trainer_open_gradient(trainer, pool, &g, NULL);

    if (status == 0)
        status = ls_batch_open(batch, *trainer);
    if (status == 0)
        status = ls_batch_set(*batch, "x", LS_F32, xs, ROWS);
    if (status == 0)
        status = ls_batch_set(*batch, "y", LS_F32, ys, ROWS);
    return status;
}

/* What a count of workers gave. */
typedef struct found {
    int cores;      /* that may be used */
    double seconds; /* the fastest step */
    char state[65]; /* SHA-256 of all parameters in the end */
} found;

static int make_steps(ls_pool *pool, found *f)
{
    ls_trainer *trainer = NULL;
    ls_batch *batch = NULL;
    int status = open_line(&trainer, &batch, pool);

    f->seconds = 1e9;
    for (int i = 0; i < STEPS && status == 0; i++) {
        ls_result r;
        double seconds;

        status = ls_step(trainer, batch, &r);
        seconds = r.gradient_seconds + r.reduce_seconds + r.update_seconds;
        if (status == 0 && seconds < f->seconds)
            f->seconds = seconds;
    }
    if (status == 0)
        ls_trainer_hash(trainer, f->state);
    ls_batch_close(batch);
    ls_trainer_close(trainer);
    return status;
}

/* The devices stay, so that the bytes must, too. */
static int measure(int workers, found *f)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    int status;

    o.devices = DEVICES;
    o.workers = workers;
    status = ls_mesh_open(&mesh, &o);
    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0) {
        f->cores = ls_mesh_usable_cores(mesh);
        status = make_steps(pool, f);
    }
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status;
}

int main(void)
{
    found one, f;
    int failed = 0;

    for (int i = 0; i < ROWS; i++) {
        xs[i] = (float)i / ROWS;
        ys[i] = 3 * xs[i] - 1;
    }
    if (measure(1, &one) < 0)
        return puts(ls_errmsg()), 1;
    for (int workers = 1; workers <= one.cores && workers <= DEVICES;
         workers *= 2) {
        bool same;

        if (measure(workers, &f) < 0)
            return puts(ls_errmsg()), 1;
        same = strcmp(f.state, one.state) == 0;
        printf("%2d workers  %8.2f us  speed-up %5.2f%s\n", workers,
               1e6 * f.seconds, one.seconds / f.seconds,
               same ? "" : "  other bytes!");
        failed |= !same;
    }
    return failed;
}
