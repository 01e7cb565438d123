/* SPDX-License-Identifier: BSD-3-Clause */
/* 784-512-512-10 with relu in KANN, on its public API, with its own threads
 * (kann_mt) and its own optimizer, RMSprop: it has no Adam.
 *
 *     kann_mlp --params F --x F --y F --steps N --threads N --metrics F
 *
 * kann.py builds it and writes the files: raw floats, parameters in the order
 * they are made below, labels one-hot.  A step is timed from the batch to the
 * loss as a number, and no copy of the batch is made. */
#include "kann.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIXELS = 784, HIDDEN = 512, CLASSES = 10, BATCH = 256 };

typedef struct net {
    kann_t *ann;
    kad_node_t *param[6]; /* in the order of the file */
    int params;
} net;

typedef struct floats {
    float *at;
    size_t n;
} floats;

static void die(const char *what)
{
    fprintf(stderr, "kann_mlp: %s\n", what);
    exit(EXIT_FAILURE);
}

/* ------ The model ------ */

static kad_node_t *keep(net *m, kad_node_t *param)
{
    return m->param[m->params++] = param;
}

/* A layer as kann_layer_dense makes it, whose parameters nobody can name
 * afterwards. */
static kad_node_t *dense(net *m, kad_node_t *x, int n)
{
    kad_node_t *w = keep(m, kann_new_weight(n, kad_len(x) / x->d[0]));
    kad_node_t *b = keep(m, kann_new_bias(n));

    return kad_add(kad_cmul(x, w), b);
}

static net open_net(void)
{
    net m = {0};
    kad_node_t *x = kann_layer_input(PIXELS);
    kad_node_t *truth = kad_feed(2, 1, CLASSES);

    truth->ext_flag |= KANN_F_TRUTH;
    x = kad_relu(dense(&m, x, HIDDEN));
    x = kad_relu(dense(&m, x, HIDDEN));
    x = dense(&m, x, CLASSES);
    m.ann = kann_new(kad_ce_multi(kad_softmax(x), truth), 0);
    if (!m.ann)
        die("no network");
    return m;
}

/* ------ Files ------ */

static floats read_floats(const char *path)
{
    FILE *file = fopen(path, "rb");
    floats f;
    long size = 0;

    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0)
        die(path);
    rewind(file);
    f.n = (size_t)size / sizeof *f.at;
    f.at = malloc((size_t)size);
    if (!f.at || fread(f.at, sizeof *f.at, f.n, file) != f.n)
        die(path);
    fclose(file);
    return f;
}

static void load(net *m, const char *path)
{
    floats f = read_floats(path);
    size_t at = 0;

    for (int i = 0; i < m->params; i++) {
        size_t n = (size_t)kad_len(m->param[i]);

        if (at + n > f.n)
            die("too few parameters");
        memcpy(m->param[i]->x, f.at + at, n * sizeof *f.at);
        at += n;
    }
    if (at != f.n)
        die("too many parameters");
    free(f.at);
}

/* ------ Steps ------ */

static double now_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static float step(net *m, float *x, float *y, float *mean_square)
{
    float loss;

    kann_feed_bind(m->ann, KANN_F_IN, 0, &x);
    kann_feed_bind(m->ann, KANN_F_TRUTH, 0, &y);
    loss = kann_cost(m->ann, 0, 1);
    kann_RMSprop(kann_size_var(m->ann), 1e-3f, NULL, 0.9f, m->ann->g,
                 m->ann->x, mean_square);
    return loss;
}

static void train(net *m, floats x, floats y, int steps, FILE *out)
{
    size_t rows = y.n / CLASSES;
    float *mean_square = calloc((size_t)kann_size_var(m->ann), sizeof(float));

    if (!mean_square || x.n != rows * PIXELS || rows % BATCH)
        die("rows");
    for (int s = 0; s < steps; s++) {
        size_t first = (size_t)s * BATCH % rows;
        double used = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        double start = now_ms(CLOCK_MONOTONIC);
        float loss = step(m, x.at + first * PIXELS, y.at + first * CLASSES,
                          mean_square);

        fprintf(out, "{\"step\":%d,\"loss\":%.9g,\"ms\":%.9g,"
                "\"cpu_ms\":%.9g}\n", s, (double)loss,
                now_ms(CLOCK_MONOTONIC) - start,
                now_ms(CLOCK_PROCESS_CPUTIME_ID) - used);
    }
    free(mean_square);
}

static const char *option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    die(name);
    return NULL;
}

int main(int argc, char **argv)
{
    floats x, y;
    FILE *out;
    net m;

    m = open_net();
    load(&m, option(argc, argv, "--params"));
    x = read_floats(option(argc, argv, "--x"));
    y = read_floats(option(argc, argv, "--y"));
    out = fopen(option(argc, argv, "--metrics"), "w");
    if (!out)
        die("metrics");
    fprintf(out, "{\"versions\":{\"kann\":\"%s\"}}\n", KANN_VERSION);
    kann_set_batch_size(m.ann, BATCH);
    kann_mt(m.ann, atoi(option(argc, argv, "--threads")), BATCH);
    train(&m, x, y, atoi(option(argc, argv, "--steps")), out);
    kann_delete(m.ann);
    free(x.at);
    free(y.at);
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}
