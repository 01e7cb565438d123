/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, in the orders of the contract. */
#include "numbers.h"

#include <stddef.h>

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ------ products ------ */

/* A chunk of rows, or of K: at most 256 links from +0, of products or of a. */
static f32 chain(const f32 *a, const f32 *b, int64_t n)
{
    f32 sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum = b ? f_fma(a[i], b[i], sum) : f_add(sum, a[i]);
    return sum;
}

/* c (or nothing) + the chunks of K, in order. */
static f32 chunks(const f32 *c, const f32 *a, const f32 *b, int64_t k,
                  f32 (*chunk)(const f32 *a, const f32 *b, int64_t n))
{
    f32 sum = c ? *c : 0;

    for (int64_t i = 0; i < k; i += 256) {
        f32 one = chunk(a + i, b ? b + i : NULL, least(k - i, 256));

        sum = i || c ? f_add(sum, one) : one;
    }
    return sum;
}

f32 chains(const f32 *c, const f32 *a, const f32 *b, int64_t n)
{
    return chunks(c, a, b, n, chain);
}

f32 column(const f32 *c, const f32 *a, int64_t rows)
{
    return chunks(c, a, NULL, rows, chain);
}

f32 f32_product(const f32 *c, const f32 *a, const f32 *b, int64_t k)
{
    return f_add(chains(c, a, b, k), 0);
}

/* To the upper half of a float, to nearest, ties to even. */
f32 to_bf16(f32 x)
{
    if (f_nan(x))
        return NAN32;
    return f_zero(x) ? x & 0x80000000u
                     : (x + 0x7fff + (x >> 16 & 1)) & 0xffff0000u;
}

/* Part 0: the number rounded; 1: what that leaves, rounded. */
static f32 bf16_part(f32 x, int part)
{
    return to_bf16(part ? f_sub(x, to_bf16(x)) : x);
}

/* c + (a chain over even places + one over odd ones), of at most 32. */
static f32 bf16_step(f32 c, const f32 *a, const f32 *b, int64_t n, int pa,
                     int pb)
{
    f32 sum[2] = {0, 0};

    for (int64_t i = 0; i < n; i++)
        sum[i % 2] = f_fma(bf16_part(a[i], pa), bf16_part(b[i], pb),
                           sum[i % 2]);
    return f_add(c, f_add(sum[0], sum[1]));
}

f32 bf16_product(const f32 *c, const f32 *a, const f32 *b, int64_t k)
{
    f32 sum = c ? *c : 0;

    for (int64_t i = 0; i < k; i += 32)
        sum = bf16_step(sum, a + i, b + i, least(k - i, 32), 0, 0);
    return f_add(sum, 0);
}

/* A chunk of 256: the small products of all its steps, then the large ones. */
static f32 split_chunk(const f32 *a, const f32 *b, int64_t n)
{
    static const int pa[] = {1, 0, 0}, pb[] = {0, 1, 0};
    f32 sum = 0;

    for (int large = 0; large < 2; large++)
        for (int64_t s = 0; s < n; s += 32)
            for (int q = 2 * large; q < 2 + large; q++)
                sum = bf16_step(sum, a + s, b + s, least(n - s, 32), pa[q],
                                pb[q]);
    return sum;
}

f32 f32x3_product(const f32 *c, const f32 *a, const f32 *b, int64_t k)
{
    return f_add(chunks(c, a, b, k, split_chunk), 0);
}

/* Chains end where the index, of K or of rows, passes a multiple of 256. */
f32 bag_sum(f32 c, const f32 *value, const f32 *w, const f32 *index, int64_t n)
{
    f32 part = 0;

    for (int64_t i = 0; i < n; i++) {
        if (i && index[i] / 256 != index[i - 1] / 256) {
            c = f_add(c, part);
            part = 0;
        }
        part = f_fma(value[i], w[i], part);
    }
    return f_add(f_add(c, part), 0);
}

/* ------ sums of one list ------ */

/* 16 lanes in order, then i and i + 8, 4, 2, 1. */
static f32 lanes(f32 lane[16])
{
    for (int s = 8; s; s /= 2)
        for (int i = 0; i < s; i++)
            lane[i] = f_add(lane[i], lane[i + s]);
    return lane[0];
}

/* In blocks of 4096, which are added in order. */
f32 row_sum(const f32 *a, const f32 *b, int64_t n)
{
    f32 total = 0;

    for (int64_t i = 0; i < n; i += 4096) {
        f32 lane[16] = {0};

        for (int64_t j = i; j < n && j < i + 4096; j++)
            lane[(j - i) % 16] = b ? f_fma(a[j], b[j], lane[(j - i) % 16])
                                   : f_add(lane[(j - i) % 16], a[j]);
        total = f_add(total, lanes(lane));
    }
    return total;
}

f32 tree(f32 *x, int64_t n)
{
    for (int64_t s = 1; s < n; s *= 2)
        for (int64_t i = 0; i + s < n; i += 2 * s)
            x[i] = f_add(x[i], x[i + s]);
    return x[0];
}

f64 d_tree(f64 *x, int64_t n)
{
    for (int64_t s = 1; s < n; s *= 2)
        for (int64_t i = 0; i + s < n; i += 2 * s)
            x[i] = d_add(x[i], x[i + s]);
    return x[0];
}

int64_t top_at(const f32 *x, int64_t n)
{
    int64_t at = 0;

    for (int64_t i = 1; i < n; i++)
        if (f_lt(x[at], x[i]) || f_nan(x[i]))
            at = i;
    return at;
}

int by_key(const void *a, const void *b)
{
    const card *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}
