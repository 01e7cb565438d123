/* SPDX-License-Identifier: BSD-3-Clause */
/* bench/recurrent.c in KANN, on its public API: two layers of 128 units, LSTM
 * or GRU, on 64 rows of 100 steps of 32 features, a dense layer on every step,
 * mean squared error; its own threads (kann_mt) and optimizer, RMSprop.
 *
 *     kann_recurrent --cell lstm|gru --steps N --threads N --metrics F
 *
 * The cells are kann_layer_lstm and kann_layer_gru, with their parameters kept
 * to be set; only the new state of the GRU has its reset gate behind the
 * product and not before it, as lockstep, Flax and PyTorch have it.  Data and
 * parameters are drawn as in bench/recurrent.c, so the first loss must agree.
 * kann.py builds it. */
#include "kann.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 64, STEPS = 100, IN = 32, UNITS = 128 };

static void die(const char *what)
{
    fprintf(stderr, "kann_recurrent: %s\n", what);
    exit(EXIT_FAILURE);
}

static float drawn(long i, long seed, float scale)
{
    return (float)((i * 7919 + seed * 104729) % 20011 - 10005) *
           (scale / 10006);
}

/* ------ The model ------ */

/* One layer: matrices and biases of up to four gates. */
typedef struct layer {
    kad_node_t *w[4], *u[4], *b[4];
} layer;

static kad_node_t *zeros(int n)
{
    kad_node_t *h = kad_const(0, 2, 1, n);

    h->x = calloc((size_t)n, sizeof(float));
    return h;
}

static kad_node_t *gate(layer *l, int k, kad_node_t *x, kad_node_t *h)
{
    l->w[k] = kann_new_weight(UNITS, kad_len(x) / x->d[0]);
    l->u[k] = kann_new_weight(UNITS, UNITS);
    l->b[k] = kann_new_bias(UNITS);
    return kad_add(kad_add(kad_cmul(x, l->w[k]), kad_cmul(h, l->u[k])),
                   l->b[k]);
}

/* Gates i, f, g, o, as lockstep has them. */
static kad_node_t *lstm(layer *l, kad_node_t *x)
{
    kad_node_t *h0 = zeros(UNITS), *c0 = zeros(UNITS), *c, *h;
    kad_node_t *i = kad_sigm(gate(l, 0, x, h0));
    kad_node_t *f = kad_sigm(gate(l, 1, x, h0));
    kad_node_t *g = kad_tanh(gate(l, 2, x, h0));
    kad_node_t *o = kad_sigm(gate(l, 3, x, h0));

    c = kad_add(kad_mul(f, c0), kad_mul(g, i));
    c->pre = c0;
    h = kad_mul(kad_tanh(c), o);
    h->pre = h0;
    return h;
}

/* Gates r, z, n. */
static kad_node_t *gru(layer *l, kad_node_t *x)
{
    kad_node_t *h0 = zeros(UNITS), *h, *n;
    kad_node_t *r = kad_sigm(gate(l, 0, x, h0));
    kad_node_t *z = kad_sigm(gate(l, 1, x, h0));

    l->w[2] = kann_new_weight(UNITS, kad_len(x) / x->d[0]);
    l->u[2] = kann_new_weight(UNITS, UNITS);
    l->b[2] = kann_new_bias(UNITS);
    n = kad_add(kad_cmul(x, l->w[2]), l->b[2]);
    n = kad_tanh(kad_add(n, kad_mul(r, kad_cmul(h0, l->u[2]))));
    h = kad_add(kad_mul(kad_1minus(z), n), kad_mul(z, h0));
    h->pre = h0;
    return h;
}

/* lockstep's (rows, gates n) as a gate's (n, rows). */
static void set_gate(kad_node_t *w, long seed, int rows, int gates, int k)
{
    for (int j = 0; j < UNITS; j++)
        for (int i = 0; i < rows; i++)
            w->x[j * rows + i] = drawn((long)i * gates * UNITS + k * UNITS + j,
                                       seed, 0.0884f);
}

/* Parameters have the seeds of their places by name: dense_h.bias,
 * dense_h.kernel, dense_i.kernel; or dense_h.kernel, dense_i.bias,
 * dense_i.kernel. */
static void set_layer(layer *l, long seed, int in, int gates)
{
    for (int k = 0; k < gates; k++) {
        set_gate(l->b[k], seed + (gates == 3), 1, gates, k);
        set_gate(l->u[k], seed + (gates == 4), UNITS, gates, k);
        set_gate(l->w[k], seed + 2, in, gates, k);
    }
}

static kann_t *open_net(int gates)
{
    kad_node_t *x = kann_layer_input(IN), *truth = kad_feed(2, 1, 1), *w, *b;
    layer l[2];
    kann_t *net;

    truth->ext_flag |= KANN_F_TRUTH;
    for (int i = 0; i < 2; i++)
        x = gates == 4 ? lstm(&l[i], x) : gru(&l[i], x);
    w = kann_new_weight(1, UNITS);
    b = kann_new_bias(1);
    x = kad_add(kad_cmul(x, w), b);
    x->ext_flag |= KANN_F_OUT;
    if (!(net = kann_new(kad_mse(x, truth), 0)))
        die("no network");
    set_layer(&l[0], 10, IN, gates);
    set_layer(&l[1], 13, UNITS, gates);
    b->x[0] = drawn(0, 16, 0.0884f);
    for (int i = 0; i < UNITS; i++)
        w->x[i] = drawn(i, 17, 0.0884f);
    return net;
}

/* ------ Steps ------ */

static double now_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Step by step, all rows of each. */
static float **draw_steps(long seed, int width)
{
    float **at = malloc(STEPS * sizeof *at);

    if (!at)
        die("no memory");
    for (int t = 0; t < STEPS; t++) {
        if (!(at[t] = malloc((size_t)(ROWS * width) * sizeof **at)))
            die("no memory");
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < width; i++)
                at[t][r * width + i] =
                    drawn(((long)r * STEPS + t) * width + i, seed, 1);
    }
    return at;
}

static void train(kann_t *net, int steps, int threads, FILE *out)
{
    float *mean_square = calloc((size_t)kann_size_var(net), sizeof(float));
    float **x = draw_steps(1, IN), **y = draw_steps(2, 1);
    kann_t *all = kann_unroll(net, STEPS);

    if (!mean_square || !all)
        die("no memory");
    kann_set_batch_size(all, ROWS);
    kann_mt(all, threads, ROWS);
    kann_feed_bind(all, KANN_F_IN, 0, x);
    kann_feed_bind(all, KANN_F_TRUTH, 0, y);
    kann_switch(all, 1);
    for (int s = 0; s < steps; s++) {
        double used = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        double start = now_ms(CLOCK_MONOTONIC);
        float loss = kann_cost(all, 0, 1);

        kann_RMSprop(kann_size_var(all), 1e-3f, NULL, 0.9f, all->g, all->x,
                     mean_square);
        fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g,"
                "\"cpu_ms\":%.9g}\n", s, (double)loss,
                now_ms(CLOCK_MONOTONIC) - start,
                now_ms(CLOCK_PROCESS_CPUTIME_ID) - used);
    }
}

static const char *option(int argc, char **argv, const char *name,
                          const char *usual)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    if (!usual)
        die(name);
    return usual;
}

int main(int argc, char **argv)
{
    const char *cell = option(argc, argv, "--cell", "lstm");
    const char *path = option(argc, argv, "--metrics", "");
    FILE *out = *path ? fopen(path, "w") : stdout;

    if (!out)
        die("metrics");
    fprintf(out, "{\"versions\":{\"kann\":\"%s\"}}\n", KANN_VERSION);
    train(open_net(strcmp(cell, "gru") ? 4 : 3),
          atoi(option(argc, argv, "--steps", "20")),
          atoi(option(argc, argv, "--threads", "2")), out);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}
