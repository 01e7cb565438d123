/* SPDX-License-Identifier: BSD-3-Clause */
/* Data parallelism by hand, without the library: a regression with three
 * parameters on four devices, which are only loops here.  docs/tutorial.md goes
 * through it.  Exits 1 when it has not learned. */
#include <stdio.h>

enum { ROWS = 16, DEVICES = 4, SHARE = ROWS / DEVICES, STEPS = 60 };

/* The line is y = w0 x0 + w1 x1 + b. */
enum { W0, W1, B, PARAMS };

static const float RATE = 0.5f;

/* Points of y = 3 x0 - 2 x1 + 1. */
static void make_data(float x[ROWS][2], float y[ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        x[i][0] = (float)(i % 4) / 4;
        x[i][1] = (float)(i * 7 % 16) / 16;
        y[i] = 3 * x[i][0] - 2 * x[i][1] + 1;
    }
}

/* A device's rows: the loss is the sum of its squared errors, the gradient is
 * that of this sum. */
static float device_gradient(const float x[SHARE][2], const float y[SHARE],
                             const float p[PARAMS], float g[PARAMS])
{
    float loss = 0;

    g[W0] = g[W1] = g[B] = 0;
    for (int i = 0; i < SHARE; i++) {
        float error = p[W0] * x[i][0] + p[W1] * x[i][1] + p[B] - y[i];

        loss += error * error;
        g[W0] += 2 * error * x[i][0];
        g[W1] += 2 * error * x[i][1];
        g[B] += 2 * error;
    }
    return loss;
}

/* Device 0 has the sum of all in the end. */
static void add_tree(float g[DEVICES][PARAMS], float loss[DEVICES])
{
    for (int s = 1; s < DEVICES; s *= 2)
        for (int i = 0; i + s < DEVICES; i += 2 * s) {
            for (int k = 0; k < PARAMS; k++)
                g[i][k] += g[i + s][k];
            loss[i] += loss[i + s];
        }
}

/* Returns the loss before the update. */
static float step(const float x[ROWS][2], const float y[ROWS], float p[PARAMS])
{
    float g[DEVICES][PARAMS], loss[DEVICES];

    for (int d = 0; d < DEVICES; d++)
        loss[d] = device_gradient(&x[d * SHARE], &y[d * SHARE], p, g[d]);
    add_tree(g, loss);
    for (int k = 0; k < PARAMS; k++)
        p[k] -= RATE * (g[0][k] * (1.0f / ROWS));
    return loss[0] * (1.0f / ROWS);
}

int main(void)
{
    float x[ROWS][2], y[ROWS], p[PARAMS] = {0}, loss = 0;

    make_data(x, y);
    for (int i = 0; i < STEPS; i++) {
        loss = step((const float(*)[2])x, y, p);
        if (i % 10 == 0)
            printf("step %03d  loss %.6f\n", i, (double)loss);
    }
    printf("y = %.3f x0 + %.3f x1 + %.3f\n", (double)p[W0], (double)p[W1],
           (double)p[B]);
    return loss < 1e-3f ? 0 : 1;
}
