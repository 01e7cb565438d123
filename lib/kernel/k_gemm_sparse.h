/* SPDX-License-Identifier: BSD-3-Clause */
/* The sparse GEMM: one operand is full of zeros, as relu and its slope leave
 * them: about half of them in the middle of training, and most of an image
 * that is mostly paper.
 *
 * Row i of the sparse side is a list of its nonzeros, in rising k, cut into
 * blocks of K.  A block of the other side is packed to stay in the first
 * cache, LISTS_VECS vectors wide, and each list runs over it with that
 * many sums in registers: a load and an fma a step, where the full kernel
 * shares its loads among the rows of a tile but multiplies the zeros too.
 *
 * The chains are those of product.h without their zeros, so the bits are the
 * same but where zero meets what is not finite. */
#ifndef LS_KERNEL_K_GEMM_SPARSE_H
#define LS_KERNEL_K_GEMM_SPARSE_H

#include "kernel/k_gemm_full.h"

#if defined(__AVX512F__)
enum { LISTS_VECS = 8 };
#else
enum { LISTS_VECS = 4 };
#endif
enum {
    LISTS_WIDTH = 16 * LISTS_VECS,
    LISTS_BLOCK = 64, /* of K */
    LISTS_BAND = 128, /* rows that share the copied block */
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
    float *value;           /* (LISTS_BAND, list): what is not zero, */
    uint32_t *offset;       /* likewise: the floats to its row in near, */
    int32_t *end;           /* (LISTS_BAND, blocks): and where blocks end */
    int64_t list, blocks;   /* 16 more than k: offsets are stored by 16 */
} lists_scratch;

static int64_t lists_size(int64_t deepest)
{
    int64_t k = deepest < DEEPEST ? deepest : DEEPEST;
    int64_t blocks = (k + LISTS_BLOCK - 1) / LISTS_BLOCK;

    if (k < LISTS_LEAST)
        return 0;
    return (2 * LISTS_BAND + LISTS_BLOCK) * LISTS_WIDTH +
           LISTS_BAND * (2 * (k + 16) + blocks);
}

static lists_scratch lists_scratch_in(float *scratch, int64_t k)
{
    lists_scratch r = {.list = k + 16,
                       .blocks = (k + LISTS_BLOCK - 1) / LISTS_BLOCK};

    r.total = scratch;
    r.chain = r.total + LISTS_BAND * LISTS_WIDTH;
    r.near = r.chain + LISTS_BAND * LISTS_WIDTH;
    r.value = r.near + LISTS_BLOCK * LISTS_WIDTH;
    r.offset = (uint32_t *)(void *)(r.value + LISTS_BAND * r.list);
    r.end = (int32_t *)(void *)(r.offset + LISTS_BAND * r.list);
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

/* The lists of 16 rows, `row` of the band and i of S being the first. */
static void lists_collect(const listed *s, int64_t i, int64_t row,
                           const lists_scratch *r)
{
    int32_t n[16] = {0};

    for (int64_t p = 0; p < s->g->k; p += 16) {
        w16 to = w16_add(w16_iota(), w16_set((uint32_t)(p % LISTS_BLOCK)));
        w16 offset = w16_shl(to, __builtin_ctz(LISTS_WIDTH));
        v16 x[16];

        lists_16(s, i, p, x);
        for (int64_t l = 0; l < 16; l++) {
            m16 keep = m16_not(v16_eq(x[l], v16_zero()));
            int64_t at = (row + l) * r->list + n[l];

            v16_store_kept(r->value + at, x[l], keep);
            v16_store_kept((float *)(void *)(r->offset + at),
                           v16_of_bits(offset), keep);
            n[l] += __builtin_popcount(m16_word(keep));
            r->end[(row + l) * r->blocks + p / LISTS_BLOCK] = n[l];
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

/* One block of one list: sum (+)= value near[offset]. */
SIMD void lists_row(int vecs, int32_t n, const float *value,
                     const uint32_t *offset, const float *near, bool add,
                     float *sum)
{
    v16 acc[LISTS_VECS];

    UNROLL(8)
    for (int v = 0; v < vecs; v++)
        acc[v] = add ? v16_load(sum + 16 * v) : v16_zero();
    for (int32_t e = 0; e < n; e++) {
        v16 x = v16_set(value[e]);
        const float *row = near + offset[e];

        UNROLL(8)
        for (int v = 0; v < vecs; v++)
            acc[v] = v16_fma(x, v16_load(row + 16 * v), acc[v]);
    }
    UNROLL(8)
    for (int v = 0; v < vecs; v++)
        v16_store(sum + 16 * v, acc[v]);
}

SIMD void lists_rows(int vecs, const lists_scratch *r, int64_t rows, int64_t b,
                      bool add, float *sum)
{
    for (int64_t i = 0; i < rows; i++, sum += LISTS_WIDTH) {
        const int32_t *end = r->end + i * r->blocks + b;
        int32_t first = b ? end[-1] : 0;
        int64_t at = i * r->list + first;

        lists_row(vecs, *end - first, r->value + at, r->offset + at, r->near,
                   add, sum);
    }
}

/* Block b for the rows of a band; the widths are constants. */
static void lists_block(const listed *s, const lists_scratch *r, int64_t rows,
                         int64_t b, int64_t j, bool add, float *sum)
{
    int64_t left = s->n - j;

    lists_fetch(s, b, j, r->near);
    if (left > LISTS_WIDTH / 2)
        lists_rows(LISTS_VECS, r, rows, b, add, sum);
    else if (left > LISTS_WIDTH / 4)
        lists_rows(LISTS_VECS / 2, r, rows, b, add, sum);
    else
        lists_rows(LISTS_VECS / 4, r, rows, b, add, sum);
}

/* total = the chunks' chains, added in order. */
static void lists_sums(const listed *s, const lists_scratch *r, int64_t rows,
                        int64_t j)
{
    enum { BLOCKS = LS__CHUNK / LISTS_BLOCK };

    for (int64_t b = 0; b < r->blocks; b++) {
        bool chunk_ends = b % BLOCKS == BLOCKS - 1 || b == r->blocks - 1;

        lists_block(s, r, rows, b, j, b % BLOCKS > 0,
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

    for (int64_t i = 0; i < s->m; i += LISTS_BAND) {
        int64_t rows = s->m - i < LISTS_BAND ? s->m - i : LISTS_BAND;

        for (int64_t l = 0; l < rows; l += 16)
            lists_collect(s, i + l, l, &r);
        for (int64_t j = 0; j < s->n; j += LISTS_WIDTH) {
            lists_sums(s, &r, rows, j);
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
 * for each that it multiplies, and two numbers more: AMD's cores have nothing
 * else to do meanwhile, Intel's could multiply two vectors for each two that
 * they load. */
static int lists_full(void)
{
#if defined(__AVX512F__)
    return __builtin_cpu_is("intel") ? 54 : 68;
#elif defined(__AVX2__)
    return 36;
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
