/* SPDX-License-Identifier: BSD-3-Clause */
/* The sparse GEMM: one operand is full of zeros, as relu and its slope leave
 * them: about half of them in the middle of training, and most of an image
 * that is mostly paper.
 *
 * K is cut into blocks, and a word for each row and block of the sparse side
 * lists its nonzeros, a bit each.  A block of the other side is packed to stay
 * in the first cache, LISTS_VECS vectors wide, and each list runs over it with
 * that many sums in registers: a load and an fma a step, where the full kernel
 * shares its loads among the rows of a tile but multiplies the zeros too.
 *
 * The chains are those of product.h without their zeros, so the bits are the
 * same but where zero meets what is not finite. */
#ifndef LS_KERNEL_K_GEMM_SPARSE_H
#define LS_KERNEL_K_GEMM_SPARSE_H

#include "base/assert.h"
#include "kernel/k_gemm_full.h"

#if defined(__AVX512F__)
enum { LISTS_VECS = 8 };
#else
enum { LISTS_VECS = 4 };
#endif
enum {
    LISTS_WIDTH = 16 * LISTS_VECS,
    LISTS_BLOCK = 64, /* of K */
    LISTS_BAND = 256, /* rows that share the copied block */
    LISTS_LEAST = 64  /* of m, n and k: below, lists cost too much */
};

_Static_assert((int)LS__CHUNK % (int)LISTS_BLOCK == 0, "blocks fill a chunk");

/* C = S D or, transposed, its transpose; S (m,k) has the zeros. */
typedef struct listed {
    const ls__product *g;
    bool transposed;        /* S is B's transpose and D is A's */
    int64_t m, n;
    const float *s;         /* s[i s_row + p s_col], one stride is 1 */
    int64_t s_row, s_col;
    const float *d;         /* d[p d_row + j]; NULL: g->packed */
    int64_t d_row;
} listed;

/* Working memory, all of it in scratch. */
typedef struct lists_scratch {
    float *total, *chain;   /* (LISTS_BAND,LISTS_WIDTH) */
    float *near;            /* (LISTS_BLOCK,LISTS_WIDTH): a block of D */
    uint64_t *kept;         /* (LISTS_BAND,blocks): bit p: number p of the block
                               is not zero */
    float *copy;            /* (LISTS_BAND,row): rows of S, where they are its
                               columns in memory */
    int64_t row, blocks;
} lists_scratch;

_Static_assert((int)LISTS_BLOCK == 64, "a block's zeros are a word");

static int64_t lists_blocks(int64_t k)
{
    return (k + LISTS_BLOCK - 1) / LISTS_BLOCK;
}

static int64_t lists_size(int64_t deepest)
{
    int64_t k = deepest < DEEPEST ? deepest : DEEPEST;

    if (k < LISTS_LEAST)
        return 0;
    return (2 * LISTS_BAND + LISTS_BLOCK) * LISTS_WIDTH +
           LISTS_BAND * (k + 32 + 2 * lists_blocks(k));
}

static lists_scratch lists_scratch_in(float *scratch, int64_t k)
{
    lists_scratch r = {.row = (k + 15) / 16 * 16 + 16,
                       .blocks = lists_blocks(k)};

    r.total = scratch;
    r.chain = r.total + LISTS_BAND * LISTS_WIDTH;
    r.near = r.chain + LISTS_BAND * LISTS_WIDTH;
    r.kept = (uint64_t *)(void *)(r.near + LISTS_BLOCK * LISTS_WIDTH);
    r.copy = (float *)(void *)(r.kept + LISTS_BAND * r.blocks);
    return r;
}

/* ------ Lists ------ */

static void lists_16(const listed *s, int64_t i, int64_t p, v16 x[16])
{
    int64_t rows = s->m - i, left = s->g->k - p;
    bool by_rows = s->s_col == 1;
    const float *from = s->s + i * s->s_row + p * s->s_col;

    for (int64_t l = 0; l < 16; l++) {
        if (by_rows)
            x[l] = l < rows ? take(from + l * s->s_row, left) : v16_zero();
        else
            x[l] = l < left ? take(from + l * s->s_col, rows) : v16_zero();
    }
    if (!by_rows)
        v16_transpose(x);
}

/* What is not zero of 16 rows, `row` of the band and i of S being the first. */
static void lists_collect(const listed *s, int64_t i, int64_t row,
                          const lists_scratch *r)
{
    for (int64_t p = 0; p < s->g->k; p += 16) {
        uint64_t *kept = r->kept + row * r->blocks + p / LISTS_BLOCK;
        v16 x[16];

        lists_16(s, i, p, x);
        for (int64_t l = 0; l < 16; l++, kept += r->blocks) {
            uint64_t is = m16_word(m16_not(v16_eq(x[l], v16_zero())));

            *kept = (p % LISTS_BLOCK ? *kept : 0) | is << p % LISTS_BLOCK;
            if (s->s_col != 1)
                v16_store(r->copy + (row + l) * r->row + p, x[l]);
        }
    }
}

/* ------ Sums ------ */

/* near = rows of `columns` numbers, filled up with zeros to whole vectors. */
SIMD void lists_copy(int64_t rows, int64_t columns, const float *from,
                     int64_t row, float *near)
{
    for (int64_t p = 0; p < rows; p++, from += row, near += LISTS_WIDTH)
        for (int64_t v = 0; v < columns; v += 16)
            v16_store(near + v, take(from + v, columns - v));
}

/* near = block b of columns j.. of D. */
static void lists_fetch(const listed *s, int64_t b, int64_t j, float *near)
{
    int64_t first = b * LISTS_BLOCK, k = s->g->k, n = s->n - j;
    int64_t rows = k - first < LISTS_BLOCK ? k - first : LISTS_BLOCK;

    const float *panels = s->g->packed;

    n = n < LISTS_WIDTH ? n : LISTS_WIDTH;
    if (s->d)
        lists_copy(rows, n, s->d + first * s->d_row + j, s->d_row, near);
    else
        for (int64_t v = 0; v < n; v += COLUMNS)
            lists_copy(rows, COLUMNS, panels + (j + v) * k + first * COLUMNS,
                       COLUMNS, near + v);
}

/* One block of a row: sum (+)= what is kept of a times its rows of near. */
SIMD void lists_row(int vecs, uint64_t kept, const float *a, const float *near,
                    bool add, float *sum)
{
    v16 acc[LISTS_VECS];

    UNROLL(8)
    for (int v = 0; v < vecs; v++)
        acc[v] = add ? v16_load(sum + 16 * v) : v16_zero();
    for (; kept; kept &= kept - 1) {
        int p = __builtin_ctzll(kept);
        const float *row = near + p * LISTS_WIDTH;
        v16 x = v16_set(a[p]);

        UNROLL(8)
        for (int v = 0; v < vecs; v++)
            acc[v] = v16_fma(x, v16_load(row + 16 * v), acc[v]);
    }
    UNROLL(8)
    for (int v = 0; v < vecs; v++)
        v16_store(sum + 16 * v, acc[v]);
}

/* Block b for rows of S from i on, the first of the band. */
SIMD void lists_rows(const listed *s, int vecs, const lists_scratch *r,
                     int64_t i, int64_t rows, int64_t b, bool add, float *sum)
{
    bool by_rows = s->s_col == 1;
    const float *a = by_rows ? s->s + i * s->s_row : r->copy;

    a += b * LISTS_BLOCK;
    for (int64_t l = 0; l < rows; l++, sum += LISTS_WIDTH) {
        lists_row(vecs, r->kept[l * r->blocks + b], a, r->near, add, sum);
        a += by_rows ? s->s_row : r->row;
    }
}

/* Block b for the rows of a band; the widths are constants. */
static void lists_block(const listed *s, const lists_scratch *r, int64_t i,
                        int64_t rows, int64_t b, int64_t j, bool add,
                        float *sum)
{
    int64_t left = s->n - j;

    lists_fetch(s, b, j, r->near);
    if (left > LISTS_WIDTH / 2)
        lists_rows(s, LISTS_VECS, r, i, rows, b, add, sum);
    else if (left > LISTS_WIDTH / 4)
        lists_rows(s, LISTS_VECS / 2, r, i, rows, b, add, sum);
    else
        lists_rows(s, LISTS_VECS / 4, r, i, rows, b, add, sum);
}

/* total = the chunks' chains, added in order. */
static void lists_sums(const listed *s, const lists_scratch *r, int64_t i,
                       int64_t rows, int64_t j)
{
    enum { BLOCKS = LS__CHUNK / LISTS_BLOCK };

    for (int64_t b = 0; b < r->blocks; b++) {
        bool chunk_ends = b % BLOCKS == BLOCKS - 1 || b == r->blocks - 1;

        lists_block(s, r, i, rows, b, j, b % BLOCKS > 0,
                    b < BLOCKS ? r->total : r->chain);
        if (b < BLOCKS || !chunk_ends)
            continue;
        for (int64_t e = 0; e < rows * LISTS_WIDTH; e += 16)
            v16_store(r->total + e, v16_add(v16_load(r->total + e),
                                            v16_load(r->chain + e)));
    }
}

/* ------ Into C ------ */

static bool has_epilogue(const ls__product *g)
{
    return g->scale != 1.0f || g->bias || g->round || g->activation ||
           g->times || g->add;
}

/* Rows i.. of S D, columns j.. . */
SIMD void lists_store(const listed *s, bool finished, const float *total,
                      int64_t rows, int64_t i, int64_t j)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t v = 0; v < LISTS_WIDTH && j + v < s->n; v += 16)
            put_sums(s->g, finished, i + r, j + v,
                     v16_load(total + r * LISTS_WIDTH + v));
}

/* The same where they are columns i.. of C, rows j.. . */
SIMD void lists_store_transposed(const listed *s, bool finished,
                                 const float *total, int64_t rows, int64_t i,
                                 int64_t j)
{
    for (int64_t v = 0; v < LISTS_WIDTH && j + v < s->n; v += 16)
        for (int64_t r = 0; r < rows; r += 16) {
            v16 x[16];

            for (int64_t l = 0; l < 16; l++)
                x[l] = v16_load(total + (r + l) * LISTS_WIDTH + v);
            v16_transpose(x);
            for (int64_t l = 0; l < 16 && l < s->n - j - v; l++)
                put_sums(s->g, finished, j + v + l, i + r, x[l]);
        }
}

SIMD void lists_end(const listed *s, bool finished, const float *total,
                    int64_t rows, int64_t i, int64_t j)
{
    if (s->transposed)
        lists_store_transposed(s, finished, total, rows, i, j);
    else
        lists_store(s, finished, total, rows, i, j);
}

static void lists_product(const listed *s, float *scratch)
{
    lists_scratch r = lists_scratch_in(scratch, s->g->k);

    LS__ASSERT(s->s_row == 1 || s->s_col == 1);
    LS__ASSERT(s->g->k <= DEEPEST && !s->g->c_bf16); /* as scratch is */
    for (int64_t i = 0; i < s->m; i += LISTS_BAND) {
        int64_t rows = s->m - i < LISTS_BAND ? s->m - i : LISTS_BAND;

        for (int64_t l = 0; l < rows; l += 16)
            lists_collect(s, i + l, l, &r);
        for (int64_t j = 0; j < s->n; j += LISTS_WIDTH) {
            lists_sums(s, &r, i, rows, j);
            if (has_epilogue(s->g))
                lists_end(s, true, r.total, rows, i, j);
            else
                lists_end(s, false, r.total, rows, i, j);
        }
    }
}

/* ------ Which products ------ */

/* The percentage of numbers that are not zero, judged by 64 vectors. */
static int lists_fill(const listed *s)
{
    bool by_rows = s->s_col == 1;
    int64_t lines = by_rows ? s->m : s->g->k, row = by_rows ? s->s_row
                                                            : s->s_col;
    int64_t vectors = (by_rows ? s->g->k : s->m) / 16;
    int zeros = 0;

    for (int64_t l = 0; l < 64; l++) {
        const float *x = s->s + l * lines / 64 * row + l * 7 % vectors * 16;

        zeros += __builtin_popcount(m16_word(v16_eq(v16_load(x), v16_zero())));
    }
    return 100 - zeros * 100 / (64 * 16);
}

static bool lists_suits(const ls__product *g)
{
    return g->m >= LISTS_LEAST && g->n >= LISTS_LEAST &&
           g->k >= LISTS_LEAST && g->k <= DEEPEST && !is_curved(g) &&
           !(g->accumulate && g->k > LS__CHUNK);
}

/* The percentage of nonzeros that is too many.  A step of a list loads a vector
 * for each that it multiplies, and a number more: AMD's cores with AVX-512 have
 * nothing else to do meanwhile, Intel's could multiply two vectors for each two
 * that they load. */
static int lists_full(void)
{
#if defined(__AVX512F__)
    return __builtin_cpu_is("intel") ? 60 : 68;
#elif defined(__AVX2__)
    return __builtin_cpu_is("intel") ? 60 : 36;
#else
    return 60;
#endif
}

/* The cost of the sparse product, with A as the sparse side or else B, in
 * percent of the dense product's time; 100: it is no faster. */
static int lists_cost(const ls__product *g, listed *s)
{
    int cost = 100;

    if (!lists_suits(g))
        return cost;
    *s = (listed){.g = g, .m = g->m, .n = g->n, .s = g->a, .s_row = g->a_row,
                  .s_col = g->a_col, .d = g->packed ? NULL : g->b,
                  .d_row = g->b_row};
    if ((g->a_row == 1 || g->a_col == 1) && (g->packed || g->b_col == 1))
        cost = 100 * lists_fill(s) / lists_full();
    if (cost < 100 || g->a_row != 1 || g->b_col != 1 || g->packed)
        return cost;
    *s = (listed){.g = g, .transposed = true, .m = g->n, .n = g->m, .s = g->b,
                  .s_row = g->b_col, .s_col = g->b_row, .d = g->a,
                  .d_row = g->a_col};
    return 100 * lists_fill(s) / lists_full();
}

#endif
