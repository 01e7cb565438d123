/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing of operands B in panels as wide as a tile, padded with zeros: line p
 * of panel j is B[p][j .. j+COLUMNS]. */
#ifndef LS_KERNEL_K_PANELS_H
#define LS_KERNEL_K_PANELS_H

#include "base/assert.h"
#include "kernel/k_tile.h"

static int64_t packed_size(int64_t k, int64_t n)
{
    return (n + COLUMNS - 1) / COLUMNS * COLUMNS * k;
}

/* One panel: out[p][j] = b[p][j] for j < left, zeros up to COLUMNS. */
SIMD void pack_rows(int64_t k, const float *b, int64_t b_row, int64_t left,
                    float *out)
{
    for (int64_t p = 0; p < k; p++, b += b_row, out += COLUMNS)
        for (int v = 0; v < VECS; v++) {
            int64_t rest = left - 16 * v;

            v16_store(out + 16 * v, rest > 0 ? take(b + 16 * v, rest)
                                             : v16_zero());
        }
}

/* The same from the transpose: b[p][j] stands at b + p + j b_col. */
static void pack_transposed(int64_t k, const float *b, int64_t b_col,
                            int64_t left, float *out)
{
    for (int64_t p = 0; p < k; p += 16)
        for (int64_t v = 0; v < COLUMNS; v += 16) {
            v16 x[16];

            UNROLL(16)
            for (int64_t j = 0; j < 16; j++)
                x[j] = v + j < left ? take(b + (v + j) * b_col + p, k - p)
                                    : v16_zero();
            v16_transpose(x);
            UNROLL(16)
            for (int64_t i = 0; i < 16; i++)
                if (i < k - p)
                    v16_store(out + (p + i) * COLUMNS + v, x[i]);
        }
}

/* out (n,m) = the transpose of x (m,n), +0 added; the lines of out are filled
 * up with zeros to `wide` numbers. */
static void transpose(int64_t m, int64_t n, const float *x, int64_t x_row,
                      int64_t wide, float *out, int64_t out_row)
{
    LS__ASSERT(m <= wide && n <= x_row && wide <= out_row);
    for (int64_t i = 0; i < wide; i += 16)
        for (int64_t j = 0; j < n; j += 16) {
            v16 t[16];

            UNROLL(16)
            for (int64_t l = 0; l < 16; l++)
                t[l] = i + l < m
                           ? v16_add(take_on(x + (i + l) * x_row + j, n - j),
                                     v16_zero())
                           : v16_zero();
            v16_transpose(t);
            UNROLL(16)
            for (int64_t l = 0; l < 16; l++)
                if (l < n - j)
                    put(out + (j + l) * out_row + i, t[l], wide - i);
        }
}

SIMD void pack_any(int64_t k, const float *b, int64_t b_row, int64_t b_col,
                   int64_t left, float *out)
{
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t p = 0; p < k; p++)
            out[p * COLUMNS + j] = j < left ? b[p * b_row + j * b_col] : 0;
}

/* The panel of at most COLUMNS of `left` columns of k steps. */
static void pack_panel(int64_t k, int64_t left, const float *b, int64_t b_row,
                       int64_t b_col, float *out)
{
    LS__ASSERT(left > 0);
    if (b_col == 1)
        pack_rows(k, b, b_row, left, out);
    else if (b_row == 1)
        pack_transposed(k, b, b_col, left, out);
    else
        pack_any(k, b, b_row, b_col, left, out);
}

static void pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                 int64_t b_col, void *packed)
{
    float *to = packed;

    for (int64_t j = 0; j < n; j += COLUMNS, to += k * COLUMNS)
        pack_panel(k, n - j, b + j * b_col, b_row, b_col, to);
}

#endif
