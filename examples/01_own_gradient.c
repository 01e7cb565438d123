/* SPDX-License-Identifier: BSD-3-Clause */
/* A gradient function of one's own in the place of a graph: logistic
 * regression, written out by hand, trained on four devices.
 *
 * Each device is given its rows of the batch and writes the gradient of the sum
 * of its losses; the library adds the devices' gradients, divides by the rows
 * of the whole batch, and updates.  Run it once with LS_CHECK_DIVERGENCE=1,
 * which finds what such a function can get wrong.  Exits 1 when it has not
 * learned. */
#include <lockstep.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 256, FEATURES = 3, STEPS = 100 };

/* Parameters in the order they are declared below. */
enum { WEIGHT, BIAS };

/* z = x.w + b, loss = log(1 + e^z) - y z, d loss / dz = 1 / (1 + e^-z) - y */
static int logistic(void *user, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums)
{
    const float *x = shard->data[0], *y = shard->data[1];
    const float *w = params[WEIGHT];

    (void)user, (void)device;
    if (grads) { /* they hold the last step's: write, then add */
        for (int j = 0; j < FEATURES; j++)
            grads[WEIGHT][j] = 0;
        grads[BIAS][0] = 0;
    }
    for (int64_t i = 0; i < shard->rows; i++, x += FEATURES) {
        float weight = shard->weights ? shard->weights[i] : 1;
        float z = params[BIAS][0], dz;

        for (int j = 0; j < FEATURES; j++)
            z += w[j] * x[j];
        dz = weight * (1 / (1 + expf(-z)) - y[i]);
        for (int j = 0; grads && j < FEATURES; j++)
            grads[WEIGHT][j] += dz * x[j];
        if (grads)
            grads[BIAS][0] += dz;
        sums->loss += (double)(weight * (log1pf(expf(z)) - y[i] * z));
        sums->weight += (double)weight;
    }
    return 0;
}

/* Two classes, on either side of the plane x0 - 2 x1 + x2 = 0.5. */
static void make_data(float *x, float *y)
{
    ls_random_uniform(ls_key_new(1), 0, ROWS * FEATURES, -1, 1, x);
    for (int i = 0; i < ROWS; i++, x += FEATURES)
        y[i] = x[0] - 2 * x[1] + x[2] > 0.5f;
}

static int open_trainer(ls_trainer **t, ls_pool *pool)
{
    static const ls_array_spec input[] = {
        {"x", LS_F32, 1, {FEATURES}},
        {"y", LS_F32, 0, {0}},
    };
    static const ls_array_spec param[] = {
        {"weight", LS_F32, 1, {FEATURES}},
        {"bias", LS_F32, 1, {1}},
    };
    ls_gradient g = {logistic, NULL, 2, 2, input, param};
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(0.1);
    return ls_trainer_open_gradient(t, pool, &g, &o);
}

static int train(ls_trainer *t, ls_batch *b, ls_result *first, ls_result *last)
{
    static float x[ROWS * FEATURES], y[ROWS];

    make_data(x, y);
    if (ls_batch_set(b, "x", LS_F32, x, ROWS) < 0 ||
        ls_batch_set(b, "y", LS_F32, y, ROWS) < 0 || ls_step(t, b, first) < 0)
        return -1;
    for (int step = 1; step < STEPS; step++)
        if (ls_step(t, b, last) < 0)
            return -1;
    return 0;
}

int main(void)
{
    ls_mesh_options options = ls_mesh_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_result first = {0}, last = {.loss = 1};
    float w[FEATURES];
    int status;

    options.devices = 4;
    status = ls_mesh_open(&mesh, &options);
    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0)
        status = open_trainer(&t, pool);
    if (status == 0)
        status = ls_batch_open(&b, t);
    if (status == 0)
        status = train(t, b, &first, &last);
    if (status == 0)
        status = ls_trainer_get(t, "weight", FEATURES, w);
    if (status == 0)
        printf("loss %.4f, after %d steps %.4f; weights %.2f %.2f %.2f\n",
               (double)first.loss, STEPS, (double)last.loss, (double)w[0],
               (double)w[1], (double)w[2]);
    else
        puts(ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return status == 0 && last.loss < 0.2f ? 0 : 1;
}
