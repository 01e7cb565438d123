/* Initialisers as JAX has them: draw from a distribution, multiply once by a
 * number of type float.  variance = scale / fan, in double, rounded once. */
#include "random/init.h"

#include "base/fpmode.h"
#include "base/memory.h"
#include "random/orthogonal.h"
#include "random/scalar.h"

typedef enum what { CONSTANT, TABLE, RANDOM, ORTHOGONAL } what;

typedef struct row {
    const char *name;
    what what;
    ls_distribution distribution;
    double scale; /* of the variance; the value of a constant */
    bool average; /* fan is (fan_in + fan_out) / 2, else fan_in */
} row;

// clang-format off
static const row rows[LS__INITS] = {
    [LS__INIT_ZEROS] = {"zeros", CONSTANT, 0, 0, false},
    [LS__INIT_ONES] = {"ones", CONSTANT, 0, 1, false},
    [LS__INIT_SINUSOID] = {"sinusoid", TABLE, 0, 1, false},
    [LS__INIT_NORMAL] = {"normal", RANDOM, LS_NORMAL, 1, false},
    [LS__INIT_LECUN_NORMAL] =
        {"lecun_normal", RANDOM, LS_TRUNCATED_NORMAL, 1, false},
    [LS__INIT_LECUN_UNIFORM] = {"lecun_uniform", RANDOM, LS_UNIFORM, 1, false},
    [LS__INIT_GLOROT_NORMAL] =
        {"glorot_normal", RANDOM, LS_TRUNCATED_NORMAL, 1, true},
    [LS__INIT_GLOROT_UNIFORM] = {"glorot_uniform", RANDOM, LS_UNIFORM, 1, true},
    [LS__INIT_HE_NORMAL] = {"he_normal", RANDOM, LS_TRUNCATED_NORMAL, 2, false},
    [LS__INIT_HE_UNIFORM] = {"he_uniform", RANDOM, LS_UNIFORM, 2, false},
    [LS__INIT_ORTHOGONAL] = {"orthogonal", ORTHOGONAL, 0, 1, false},
};
// clang-format on

const char *ls__init_name(ls__init kind)
{
    return rows[kind].name;
}

/* Vaswani et al. 2017: out[t,2j] = sin(t f_j), out[t,2j+1] = cos(t f_j) with
 * f_j = 10000^(-2j/D). */
static void fill_sinusoid(int64_t length, int64_t width, float *out)
{
    float c = -(0x1.26bb1cp+3f / (float)width); /* -log(10000) / D */
    for (int64_t j = 0; j < width; j += 2) {
        float f = ls__expf(c * (float)j);
        for (int64_t t = 0; t < length; t++) {
            float a = (float)t * f;
            out[t * width + j] = ls__sinf(a);
            if (j + 1 < width)
                out[t * width + j + 1] = ls__cosf(a);
        }
    }
}

static void fill_constant(int64_t n, float x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x;
}

void ls__init_draw(ls_distribution d, ls_key key, float variance, int64_t n,
                   float *out)
{
    float by = __builtin_sqrtf(variance);

    if (d == LS_NORMAL) {
        ls_random_normal(key, 0, n, out);
    } else if (d == LS_TRUNCATED_NORMAL) {
        ls_random_truncated_normal(key, 0, n, out);
        by = by / 0x1.c25e4cp-1f; /* the deviation that truncation leaves */
    } else {
        ls_random_uniform(key, 0, n, -1.0f, 1.0f, out);
        by = __builtin_sqrtf(3.0f * variance);
    }
    for (int64_t i = 0; i < n; i++)
        out[i] *= by;
}

int ls__init_fill(ls__init kind, ls_key key, int64_t fan_in, int64_t fan_out,
                  int rank, const int64_t *shape, float *out)
{
    const row *r = &rows[kind];
    int64_t n = ls__count(rank, shape);
    double fan = r->average ? (double)(fan_in + fan_out) / 2 : (double)fan_in;
    ls__fpmode old = ls__fpmode_set();
    int status = 0;

    if (r->what == CONSTANT)
        fill_constant(n, (float)r->scale, out);
    else if (r->what == TABLE)
        fill_sinusoid(shape[0], shape[1], out);
    else if (r->what == ORTHOGONAL)
        status = ls__fill_orthogonal(key, n / shape[rank - 1], shape[rank - 1],
                                     1.0f, out);
    else
        ls__init_draw(r->distribution, key, (float)(r->scale / fan), n, out);
    ls__fpmode_restore(old);
    return status;
}
