/* Orthogonal starts, by Gram and Schmidt in place: there is one Q with a
 * positive diagonal of R, so this is JAX's by Householder but for rounding.
 * Sums are double, in eight lanes. */
#include "random/orthogonal.h"

enum { LANES = 8, DRAWN = 256 };

/* Vectors of `length` numbers: number i of vector j is at j next + i step. */
typedef struct vectors {
    float *of;
    int64_t count, length, next, step;
} vectors;

static double dot(const vectors *v, int64_t a, int64_t b)
{
    const float *x = v->of + a * v->next, *y = v->of + b * v->next;
    double sum[LANES] = {0}, total = 0;

    for (int64_t i = 0; i < v->length; i++)
        sum[i % LANES] += (double)x[i * v->step] * (double)y[i * v->step];
    for (int k = 0; k < LANES; k++)
        total += sum[k];
    return total;
}

/* Vector b less `by` times vector a. */
static void subtract(const vectors *v, int64_t a, double by, int64_t b)
{
    const float *x = v->of + a * v->next;
    float *y = v->of + b * v->next;

    for (int64_t i = 0; i < v->length; i++)
        y[i * v->step] =
            (float)((double)y[i * v->step] - by * (double)x[i * v->step]);
}

static void shorten(const vectors *v, int64_t a)
{
    double by = 1 / __builtin_sqrt(dot(v, a, a));
    float *x = v->of + a * v->next;

    for (int64_t i = 0; i < v->length; i++)
        x[i * v->step] = (float)((double)x[i * v->step] * by);
}

/* Element i of every vector, from a normal matrix that has them as columns. */
static void draw(const vectors *v, ls_key key)
{
    int64_t n = v->length * v->count;
    float x[DRAWN];

    for (int64_t first = 0; first < n; first += DRAWN) {
        int64_t some = n - first < DRAWN ? n - first : DRAWN;

        ls_random_normal(key, (uint64_t)first, some, x);
        for (int64_t k = 0; k < some; k++)
            v->of[(first + k) % v->count * v->next +
                  (first + k) / v->count * v->step] = x[k];
    }
}

void ls__fill_orthogonal(ls_key key, int64_t rows, int64_t columns, float *out)
{
    bool wide = rows < columns;
    vectors v = {out, wide ? rows : columns, wide ? columns : rows,
                 wide ? columns : 1, wide ? 1 : columns};

    draw(&v, key);
    for (int64_t b = 0; b < v.count; b++) {
        for (int64_t a = 0; a < b; a++)
            subtract(&v, a, dot(&v, a, b), b);
        shorten(&v, b);
    }
}
