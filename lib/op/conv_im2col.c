/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions by im2col: patches are written out, a few output rows at a time,
 * and multiplied.  For backends that only multiply, and for windows that a
 * backend's convolutions do not know. */
#include "backend/backend.h"
#include "base/assert.h"
#include "base/least.h"
#include "op/conv.h"

#include <string.h>

/* Output rows in one im2col. */
static int64_t rows_at_once(const ls__conv *v)
{
    return v->w < LS__CHUNK ? LS__CHUNK / v->w : 1;
}

static int64_t im2col_size(const ls__conv *v)
{
    return ls__whole_vectors(ls__most(rows_at_once(v) * v->w, LS__CHUNK) *
                             v->out.k);
}

/* The size of the rotated weights, or of a chunk of dy. */
static int64_t operand_size(const ls__conv *v)
{
    return ls__whole_vectors(ls__most(v->out.k, LS__CHUNK) * v->out.n);
}

int64_t ls__im2col_scratch(const ls__conv *v, const ls__backend *backend)
{
    return im2col_size(v) + operand_size(v) +
           backend->products->scratch(ls__most(v->out.k, LS__CHUNK), v->out.n);
}

/* The patches of output rows y .. y+rows. */
static void write_im2col(const ls__conv *v, int64_t y, int64_t rows,
                          float *out)
{
    for (int64_t i = y; i < y + rows; i++)
        for (int64_t j = 0; j < v->w; j++)
            out = ls__im2col(v, v->x + i * v->step_y + j * v->step_x, out);
}

/* ------ y, dx ------ */

static int64_t rows_from(const ls__conv *v, int64_t y)
{
    LS__ASSERT(y >= 0 && rows_at_once(v) * v->w * v->out.k <= im2col_size(v));
    return ls__most(0, ls__least(v->h - y, rows_at_once(v)));
}

/* The weights of a group with their taps in reverse order and transposed: (taps
 * outputs,n), the run of a tap being its outputs. */
static void rotate(const ls__conv *v, float *out)
{
    int64_t taps = v->kh * v->kx * (v->run > v->c ? v->run / v->c : 1);
    int64_t outputs = v->out.k / taps;

    for (int64_t t = taps - 1; t >= 0; t--)
        for (int64_t j = 0; j < outputs; j++)
            for (int64_t i = 0; i < v->out.n; i++)
                *out++ = v->out.b[(t * v->out.n + i) * v->out.b_row + j];
}

void ls__im2col_product(const ls__run *r, const ls__conv *v, bool rotated,
                        float *scratch)
{
    float *operand = scratch + im2col_size(v);
    ls__product all = v->out;

    if (rotated) {
        rotate(v, operand);
        all.b = operand;
        all.b_row = all.n;
    }
    for (int64_t y = 0, rows; (rows = rows_from(v, y)) > 0; y += rows) {
        ls__product g = all;

        write_im2col(v, y, rows, scratch);
        g.m = rows * v->w;
        g.a = scratch;
        g.a_row = g.k;
        g.a_col = 1;
        ls__product_move(&g, y * v->w * g.c_row);
        r->backend->products->gemm(&g, operand + operand_size(v));
    }
}

/* ------ dw, dbias ------ */

/* One chunk of K, a rectangle of pixels from (y,x) on in blocks of two by two:
 * patches and dy; how many. */
static int64_t write_chunk(const ls__conv *v, int64_t y, int64_t x,
                           float *patches, float *dy)
{
    int64_t w = ls__conv_chunk_w(v->w), h = ls__conv_chunk_h(v->w), count = 0;

    for (int64_t b = 0; b < 4 * (h / 2) * ((w + 1) / 2); b++) {
        int64_t block = b / 4, across = (w + 1) / 2;
        int64_t i = y + block / across * 2 + b % 4 / 2;
        int64_t j = x + block % across * 2 + b % 2;

        if (i >= v->h || j >= x + w || j >= v->w)
            continue;
        patches = ls__im2col(v, v->x + i * v->step_y + j * v->step_x, patches);
        memcpy(dy + count * v->out.n, v->out.b + (i * v->w + j) * v->out.b_row,
               (size_t)v->out.n * sizeof *dy);
        count++;
    }
    LS__ASSERT(count > 0 && count <= LS__CHUNK);
    return count;
}

void ls__im2col_grad(const ls__run *r, const ls__conv *v, float *dbias,
                     float *scratch)
{
    int64_t w = ls__conv_chunk_w(v->w), h = ls__conv_chunk_h(v->w);
    float *dy = scratch + im2col_size(v);
    ls__product g = v->out;

    g.m = v->out.k;
    g.a = scratch;
    g.a_row = 1;
    g.a_col = g.m;
    g.b = dy;
    g.b_row = g.n;
    for (int64_t y = 0; y < v->h; y += h)
        for (int64_t x = 0; x < v->w; x += w) {
            g.k = write_chunk(v, y, x, scratch, dy);
            if (r->backend->bf16)
                r->kernels->round_bf16(g.k * g.n, dy, NULL, dy);
            r->backend->products->gemm(&g, dy + operand_size(v));
            if (dbias)
                r->kernels->column_sum(g.k, g.n, dy, g.accumulate, dbias);
            g.accumulate = true;
        }
}
