/* SPDX-License-Identifier: BSD-3-Clause */
/* The first values that depend on the rows a RealMLP is trained on.  Coded
 * words are centred by their median, scaled by the distance of quartiles and
 * clipped, as numbers are.  Kernels of TD are scaled so that what a layer gives
 * has the deviation 1, and its biases are minus a random mean of five rows
 * ("he+5").  Sums are in double, in the order of the rows. */
#include "table/realmlp_parts.h"
#include "base/error.h"
#include "base/memory.h"
#include <lockstep/predictor.h>
#include <lockstep/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 2048, SIMPLEX = 5, START_KEY = 0x7461626c };

/* ------ Coded words ------ */

/* The counts of -1, 0 and 1 in a place. */
typedef struct counts {
    int64_t n[3];
} counts;

/* Value i of them in rising order. */
static double value_at(const counts *c, int64_t i)
{
    return i < c->n[0] ? -1 : i < c->n[0] + c->n[1] ? 0 : 1;
}

/* Interpolate as NumPy's quantile does. */
static double quantile(const counts *c, double q)
{
    int64_t all = c->n[0] + c->n[1] + c->n[2];
    double at = q * (double)(all - 1), low = floor(at);
    double a = value_at(c, (int64_t)low);

    return at > low ? a + (value_at(c, (int64_t)low + 1) - a) * (at - low) : a;
}

static double clipped(double x)
{
    return x / sqrt(1 + x * x / 9);
}

/* A line through two of the values that centring, scaling and clipping give:
 * exact for two values, and nearly so for a third, a missing word among two. */
static void code_line(const counts *c, float *scale, float *shift)
{
    int64_t all = c->n[0] + c->n[1] + c->n[2];
    double low = value_at(c, 0), high = value_at(c, all - 1);
    double middle = quantile(c, 0.5);
    double by = quantile(c, 0.75) - quantile(c, 0.25), a, b;

    if (!(by > 0))
        by = (high - low) / 2;
    by = by > 0 ? 1 / by : 0;
    a = clipped((low - middle) * by);
    b = clipped((high - middle) * by);
    *scale = high > low ? (float)((b - a) / (high - low)) : 0;
    *shift = high > low ? (float)(a - low * (b - a) / (high - low)) : 0;
}

static counts count_values(const ls_array *x, int64_t at, bool two)
{
    const float *row = (const float *)x->data + at;
    counts c = {{0}};

    for (int64_t i = 0; i < x->shape[0]; i++, row += x->shape[1])
        c.n[1 + (int)(two ? row[0] - row[1] : row[0])]++;
    return c;
}

static int start_codes(const ls_realmlp *m, ls_trainer *t, const ls_array *x)
{
    size_t width = (size_t)m->codes;
    float *scale, *shift;
    int64_t n = 0;
    ls_column c;
    int status;

    if (!width)
        return 0;
    if (!(scale = ls__new(2 * width, sizeof *scale, "coded words")))
        return LS_ENOMEM;
    shift = scale + width;
    for (int i = 0; ls_coding_column(m->coding, i, &c); i++)
        for (int64_t k = 0;
             ls__realmlp_is_coded(m, &c) && k < ls__realmlp_codes(&c);
             k++, n++) {
            counts of = count_values(x, c.at + k, c.words == 2);

            code_line(&of, &scale[n], &shift[n]);
        }
    status = ls_trainer_set(t, "codes.scale", n, scale);
    if (status == 0)
        status = ls_trainer_set(t, "codes.shift", n, shift);
    free(scale);
    return status;
}

/* ------ Layers ------ */

typedef struct starter {
    const ls_realmlp *m;
    ls_trainer *t, *probe; /* the probe tells what each layer gives */
    ls_batch *batch;
    int64_t member;
    int64_t rows, inputs, units;
    float *x, *z, *kernel, *bias;
    ls_key key;
} starter;

static int set_both(starter *s, const char *name, int64_t n, const float *x)
{
    int status = ls_trainer_set(s->t, name, n, x);

    return status == 0 ? ls_trainer_set(s->probe, name, n, x) : status;
}

/* The deviation of unit u's outputs becomes 1. */
static void scale_unit(starter *s, int64_t u)
{
    double sum = 0, squares = 0, by;

    for (int64_t i = 0; i < s->rows; i++)
        sum += (double)s->z[i * s->units + u];
    sum /= (double)s->rows;
    for (int64_t i = 0; i < s->rows; i++) {
        double d = (double)s->z[i * s->units + u] - sum;

        squares += d * d;
    }
    by = sqrt(squares / (double)s->rows);
    by = by > 0 ? 1 / by : 1;
    for (int64_t i = 0; i < s->inputs; i++)
        s->kernel[i * s->units + u] *= (float)by;
    for (int64_t i = 0; i < s->rows; i++)
        s->z[i * s->units + u] *= (float)by;
}

/* Five weights that sum to 1, uniform among such: the gaps between four
 * uniform numbers. */
static void simplex(ls_key key, double weight[SIMPLEX])
{
    float cut[SIMPLEX] = {0};

    ls_random_uniform(key, 0, SIMPLEX - 1, 0, 1, cut);
    for (int i = 1; i < SIMPLEX - 1; i++)
        for (int k = i; k > 0 && cut[k] < cut[k - 1]; k--) {
            float other = cut[k];

            cut[k] = cut[k - 1];
            cut[k - 1] = other;
        }
    cut[SIMPLEX - 1] = 1;
    for (int i = 0; i < SIMPLEX; i++)
        weight[i] = (double)cut[i] - (i ? (double)cut[i - 1] : 0);
}

static void start_bias(starter *s, ls_key key, int64_t u)
{
    ls_key own = ls_key_fold_in(key, (uint32_t)u);
    double weight[SIMPLEX], sum = 0;
    float at[SIMPLEX];

    simplex(ls_key_fold_in(own, 0), weight);
    ls_random_uniform(ls_key_fold_in(own, 1), 0, SIMPLEX, 0, 1, at);
    for (int i = 0; i < SIMPLEX; i++) {
        int64_t row = (int64_t)((double)at[i] * (double)s->rows);

        sum += weight[i] * (double)s->z[row * s->units + u];
    }
    s->bias[u] = (float)-sum;
}

/* Its layer i, with outputs of that name. */
static int set_layer(starter *s, int i, const char *layer)
{
    char kernel[LS__REALMLP_NAME], bias[LS__REALMLP_NAME];
    int64_t n = s->inputs * s->units;
    int status;

    ls__realmlp_name(s->m, s->member, "layers.%d.kernel", i, kernel);
    ls__realmlp_name(s->m, s->member, "layers.%d.bias", i, bias);
    status = ls_trainer_get(s->t, kernel, n, s->kernel);
    if (status == 0)
        status = ls_predict(s->probe, s->batch, layer, s->rows * s->units,
                            s->z);
    for (int64_t u = 0; u < s->units && status == 0; u++) {
        scale_unit(s, u);
        start_bias(s, ls_key_fold_in(s->key, (uint32_t)i), u);
    }
    if (status == 0)
        status = set_both(s, kernel, n, s->kernel);
    return status == 0 ? set_both(s, bias, s->units, s->bias) : status;
}

static int start_layer(starter *s, int i)
{
    char layer[LS__REALMLP_NAME];
    size_t units = (size_t)s->units, size = sizeof(float);
    int status = LS_ENOMEM;

    ls__realmlp_name(s->m, s->member, "layers.%d", i, layer);
    s->z = ls__new((size_t)s->rows, units * size, layer);
    s->kernel = ls__new((size_t)s->inputs, units * size, layer);
    s->bias = ls__new(units, size, layer);
    if (s->z && s->kernel && s->bias)
        status = set_layer(s, i, layer);
    free(s->z);
    free(s->kernel);
    free(s->bias);
    return status;
}

/* Layer by layer: the later ones see what the earlier ones give then. */
static int start_member(starter *s)
{
    const ls_realmlp *m = s->m;
    int status = 0;

    s->inputs = m->front;
    for (int i = 0; i <= m->o.hidden && status == 0; i++) {
        s->units = m->width[i];
        status = start_layer(s, i);
        s->inputs = s->units;
    }
    return status;
}

static int start_members(starter *s, ls_key key)
{
    int status = 0;

    for (s->member = 0; s->member < s->m->o.members && status == 0;
         s->member++) {
        s->key = s->member ? ls_key_fold_in(key, (uint32_t)(LS__MOST_LAYERS +
                                                            s->member))
                           : key;
        status = start_member(s);
    }
    return status;
}

/* All parameters are those of the trainer. */
static int copy_all(starter *s)
{
    int64_t shape[LS_MAX_RANK];
    int status = 0;

    for (int k = 0; k < ls_trainer_params(s->t) && status == 0; k++) {
        const char *name = ls_trainer_param_name(s->t, k);
        int rank = ls_trainer_param_shape(s->t, k, shape);
        int64_t n = ls__count(rank, shape);
        float *x;

        if (!(x = ls__new((size_t)n, sizeof *x, name)))
            return LS_ENOMEM;
        status = ls_trainer_get(s->t, name, n, x);
        if (status == 0)
            status = ls_trainer_set(s->probe, name, n, x);
        free(x);
    }
    return status;
}

/* Rows that stand at even distances among all. */
static int take_rows(starter *s, const ls_array *x)
{
    int64_t all = x->shape[0], width = x->shape[1];

    s->rows = all < MOST_ROWS ? all : MOST_ROWS;
    s->x = ls__new((size_t)s->rows, (size_t)width * sizeof *s->x, "rows");
    if (!s->x)
        return LS_ENOMEM;
    for (int64_t i = 0; i < s->rows; i++)
        memcpy(s->x + i * width,
               (const float *)x->data + i * all / s->rows * width,
               (size_t)width * sizeof *s->x);
    return ls_batch_set(s->batch, "x", LS_F32, s->x, s->rows);
}

static int open_probe(starter *s, ls_pool *pool, const ls_trainer_options *o)
{
    ls_trainer_options own = ls_trainer_defaults();
    ls_graph *g = NULL;
    int status = ls_graph_new(&g);

    own.keys = o->keys;
    own.seed = o->seed;
    own.backend = o->backend;
    own.precision = o->precision;
    if (status == 0) {
        ls__realmlp_net(s->m, g, true);
        status = ls_trainer_open(&s->probe, pool, g, &own);
    }
    ls_graph_free(g);
    return status == 0 ? ls_batch_open(&s->batch, s->probe) : status;
}

/* x as ls_realmlp_build's network takes it. */
static int check_rows(const ls_realmlp *m, const ls_array *x)
{
    int64_t width = ls_coding_width(m->coding);

    if (x->dtype == LS_F32 && x->rank == 2 && x->shape[0] > 0 &&
        x->shape[1] == width && x->data)
        return 0;
    return ls__fail(LS_ESHAPE, "ls_realmlp_start: x is to be floats, (rows,"
                    "%lld)", (long long)width);
}

int ls_realmlp_start(const ls_realmlp *realmlp, ls_trainer *trainer,
                     ls_pool *pool, const ls_trainer_options *options,
                     const ls_array *x)
{
    LS__NEED(realmlp);
    LS__NEED(trainer);
    LS__NEED(pool);
    LS__NEED(options);
    LS__NEED(x);

    starter s = {.m = realmlp, .t = trainer};
    int status = check_rows(realmlp, x);

    if (status == 0)
        status = start_codes(realmlp, trainer, x);
    if (status < 0 || realmlp->o.recipe != LS_REALMLP_TD)
        return status;
    status = open_probe(&s, pool, options);
    if (status == 0)
        status = copy_all(&s);
    if (status == 0)
        status = take_rows(&s, x);
    if (status == 0)
        status = start_members(
            &s, ls_key_fold_in(ls_key_new(options->seed), START_KEY));
    ls_batch_close(s.batch);
    ls_trainer_close(s.probe);
    free(s.x);
    return status;
}
