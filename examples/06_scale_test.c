/* How does a gradient function of one's own scale?  Measure it on 1, 2, 4, ..
 * workers: a straight line y = w x + b is fitted, with a gradient written by
 * hand.  Prints a table; exits 1 when a count of workers gives other bytes. */
#include <lockstep.h>
#include <stdio.h>

enum { ROWS = 4096 };

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

/* The trainer to measure.  fold is 1: this is strong scaling. */
static int open_line(void *user, ls_pool *pool, int fold, ls_trainer **trainer,
                     ls_batch **batch)
{
    static const ls_array_spec in[] = {{"x", LS_F32, 0, {0}},
                                       {"y", LS_F32, 0, {0}}};
    static const ls_array_spec param[] = {{"w", LS_F32, 0, {0}},
                                          {"b", LS_F32, 0, {0}}};
    ls_gradient g = {line, user, 2, 2, in, param};
    int status = ls_trainer_open_gradient(trainer, pool, &g, NULL);

    (void)fold;
    if (status == 0)
        status = ls_batch_open(batch, *trainer);
    if (status == 0)
        status = ls_batch_set(*batch, "x", LS_F32, xs, ROWS);
    if (status == 0)
        status = ls_batch_set(*batch, "y", LS_F32, ys, ROWS);
    return status;
}

int main(void)
{
    ls_scaling_options o = ls_scaling_defaults();
    ls_scaling *s;
    ls_scaling_point p;
    int failed = 0;

    for (int i = 0; i < ROWS; i++) {
        xs[i] = (float)i / ROWS;
        ys[i] = 3 * xs[i] - 1;
    }
    o.open = open_line;
    o.steps = 200;
    o.no_roofs = true;
    if (ls_scaling_run(&s, &o) < 0)
        return puts(ls_errmsg()), 1;
    for (int i = 0; ls_scaling_get(s, i, &p); i++) {
        printf("%2d workers  %8.2f us  speed-up %5.2f%s\n", p.workers,
               1e6 * p.seconds, p.speedup, p.verified ? "" : "  other bytes!");
        failed |= !p.verified;
    }
    printf("%s\n", ls_scaling_advice(s));
    ls_scaling_free(s);
    return failed;
}
