/* The matrix product without rows and columns of zeros: units that relu shuts
 * for every row of a chunk leave such columns, and so do pixels that are empty
 * in every image.
 *
 * A column of A that is zero leaves out a step of K, a row of A a row of C, and
 * a column of B, or of the slopes that C is multiplied by, a column of C.  The
 * operands are copied without them and multiplied in full; what comes out is
 * spread over C, where the rest is as if the sum had been zero.
 *
 * The chains are those of product.h without zeros, chunk by chunk: a chunk of K
 * is as long as the longest of what is left of each, and zeros fill up the
 * others.  So the bits are the same but where zero meets what is not finite. */
#ifndef LS_KERNEL_K_GEMM_LIVE_H
#define LS_KERNEL_K_GEMM_LIVE_H

#include "base/least.h"
#include "kernel/k_gemm_sparse.h"

enum {
    LIVE_MOST = 1024, /* of m, n and k */
    LIVE_WORDS = LIVE_MOST / 16,
    LIVE_CHUNK = LS__CHUNK / 16, /* words of a chunk of K */
    LIVE_COPIES = 15 /* hundredths of the full product that copies take */
};

/* Which columns hold a number that is not zero. */
typedef struct live {
    int64_t all, n;            /* columns, and how many do */
    uint16_t word[LIVE_WORDS]; /* bit i of w: column 16 w + i */
} live;

typedef struct shrunk {
    const ls__product *g;
    live m, n, k;
    int64_t chunk, deep; /* steps of K: of a chunk, and in all */
} shrunk;

/* Where it works: all of it in scratch. */
typedef struct live_scratch {
    float *b;    /* what lives of B, packed; behind it room for full_product */
    float *a;    /* BAND rows of A, */
    float *c;    /* and of C */
    float *line; /* a step of B */
} live_scratch;

/* Floats of n numbers that are stored by 16 from any place on. */
static int64_t live_row(int64_t n)
{
    return copy_stride(n) + 16;
}

static int64_t live_near(int64_t k, int64_t n)
{
    return packed_size(k, n) + BAND * copy_stride(k);
}

static int64_t live_band(int64_t k)
{
    /* by rows, by columns */
    return ls__most(BAND * live_row(k), k * live_row(BAND));
}

static int64_t live_size(int64_t deepest, int64_t n)
{
    int64_t k = ls__least(deepest, LIVE_MOST);

    if (k < LISTS_LEAST || n < LISTS_LEAST || n > LIVE_MOST)
        return 0;
    return live_near(k, n) + live_band(k) + (BAND + 1) * live_row(n);
}

static live_scratch live_scratch_in(float *scratch, int64_t k, int64_t n)
{
    live_scratch r = {.b = scratch, .a = scratch + live_near(k, n)};

    r.c = r.a + live_band(k);
    r.line = r.c + BAND * live_row(n);
    return r;
}

/* ------ What lives ------ */

static unsigned first_columns(int64_t n)
{
    return n < 16 ? (1u << n) - 1 : 0xffff;
}

/* Which of the next 16 of `left` columns do.  Most have a number soon. */
static unsigned live_word(int64_t rows, const float *x, int64_t row,
                          int64_t left)
{
    unsigned whole = first_columns(left), word = 0;
    w16 any = w16_set(0);

    for (int64_t i = 0, end = 1; i < rows && word != whole; end += end + 1) {
        for (; i < rows && i < end; i++)
            any = w16_or(any, v16_bits(take(x + i * row, left)));
        word = whole & ~m16_word(v16_eq(v16_of_bits(any), v16_zero()));
    }
    return word;
}

/* Of x (rows,columns), `row` floats from row to row; x NULL: all. */
static void live_columns(int64_t rows, int64_t columns, const float *x,
                         int64_t row, live *l)
{
    l->all = columns;
    l->n = 0;
    for (int64_t j = 0; j < columns; j += 16) {
        unsigned word = first_columns(columns - j);

        if (x)
            word = live_word(rows, x + j, row, columns - j);
        l->word[j / 16] = (uint16_t)word;
        l->n += __builtin_popcount(word);
    }
}

static bool lives(const live *l, int64_t j)
{
    return l->word[j / 16] >> j % 16 & 1;
}

/* Of the words first .. last. */
static int64_t live_count(const live *l, int64_t first, int64_t last)
{
    int64_t n = 0;

    for (int64_t w = first; w < last; w++)
        n += __builtin_popcount(l->word[w]);
    return n;
}

/* How K is cut after its zeros went: where chunk c begins is c chunk. */
static void live_cut(shrunk *s)
{
    int64_t words = (s->k.all + 15) / 16, n = 0;

    s->chunk = 1;
    s->deep = 0;
    for (int64_t w = 0, last; w < words; w = last) {
        last = ls__least(words, w + LIVE_CHUNK);
        n = live_count(&s->k, w, last);
        s->chunk = ls__most(s->chunk, n);
    }
    s->deep = (words - 1) / LIVE_CHUNK * s->chunk + n;
}

static bool live_suits(const ls__product *g)
{
    return lists_suits(g) && g->m <= LIVE_MOST && g->n <= LIVE_MOST &&
           g->k <= LIVE_MOST && (g->a_col == 1 || g->a_row == 1) &&
           (g->packed || g->b_col == 1);
}

/* What is left of g, and what it costs; 100 and more: too much. */
static int live_cost(const ls__product *g, shrunk *s)
{
    bool by_rows = g->a_col == 1;
    const float *zeros = g->packed ? NULL : g->b;
    int64_t rows = g->k, row = g->b_row;

    if (!live_suits(g))
        return 100;
    if (g->times && !g->slope) {
        zeros = g->times;
        rows = g->m;
        row = g->c_row;
    }
    s->g = g;
    live_columns(g->m, g->k, by_rows ? g->a : NULL, g->a_row, &s->k);
    live_columns(g->k, g->m, by_rows ? NULL : g->a, g->a_col, &s->m);
    live_columns(rows, g->n, zeros, row, &s->n);
    live_cut(s);
    return LIVE_COPIES +
           (int)(100 * (s->m.n * s->n.n * s->deep) / (g->m * g->n * g->k));
}

/* ------ Copies ------ */

/* The columns first .. last of x that live, side by side; returns how many.
 * Up to 15 floats behind them take any value. */
static int64_t live_copy(const live *l, int64_t first, int64_t last,
                         const float *x, float *to)
{
    int64_t n = 0;

    for (int64_t j = first; j < last; j += 16) {
        unsigned word = l->word[j / 16];

        v16_store_kept(to + n, take(x + j, l->all - j), m16_of_word(word));
        n += __builtin_popcount(word);
    }
    return n;
}

static void live_zeros(int64_t first, int64_t last, float *to)
{
    for (int64_t j = first; j < last; j += 16)
        v16_store(to + j, v16_zero());
}

/* A row of A, its chunks of K of one length. */
static void live_steps(const shrunk *s, const float *a, float *to)
{
    int64_t k = s->k.all;

    for (int64_t p = 0; p < k; p += LS__CHUNK, to += s->chunk) {
        int64_t last = ls__least(k, p + LS__CHUNK);
        int64_t n = live_copy(&s->k, p, last, a, to);

        if (last < k)
            live_zeros(n, s->chunk, to);
    }
}

/* Rows first .. last of A that live: as rows, or as the columns that they are
 * in memory. */
static void live_rows(const shrunk *s, int64_t first, int64_t last, float *to,
                      ls__product *of)
{
    const ls__product *g = s->g;
    int64_t stride = live_row(s->deep);

    of->a = to;
    if (g->a_col == 1) {
        of->a_row = stride;
        of->a_col = 1;
        for (int64_t i = first; i < last; i++, to += stride)
            live_steps(s, g->a + i * g->a_row, to);
        return;
    }
    of->a_row = 1;
    of->a_col = live_row(BAND);
    for (int64_t p = 0; p < g->k; p++, to += of->a_col)
        live_copy(&s->m, first, last, g->a + p * g->a_col, to);
}

/* Line p of B's columns that live, filled up with zeros to whole panels. */
static void live_line(const shrunk *s, int64_t p, float *line)
{
    const ls__product *g = s->g;
    const float *panels = g->packed;
    int64_t n = 0;

    for (int64_t j = 0; j < g->n; j += 16) {
        unsigned word = s->n.word[j / 16];
        v16 x = g->packed ? v16_load(panels + (j - j % COLUMNS) * g->k +
                                     p * COLUMNS + j % COLUMNS)
                          : take(g->b + p * g->b_row + j, g->n - j);

        v16_store_kept(line + n, x, m16_of_word(word));
        n += __builtin_popcount(word);
    }
    live_zeros(n, n + COLUMNS, line);
}

/* Step q of B where full_product finds it. */
static void live_put(const shrunk *s, int64_t q, const float *line, float *b)
{
    for (int64_t j = 0; j < s->n.n; j += COLUMNS)
        for (int64_t v = 0; v < COLUMNS; v += 16)
            v16_store(b + j * s->deep + q * COLUMNS + v,
                      v16_load(line + j + v));
}

static void live_pack(const shrunk *s, const live_scratch *r)
{
    int64_t q = 0;

    for (int64_t p = 0; p < s->k.all; p++) {
        if (p && p % LS__CHUNK == 0) {
            live_zeros(0, s->n.n + COLUMNS, r->line);
            for (; q % s->chunk || q < p / LS__CHUNK * s->chunk; q++)
                live_put(s, q, r->line, r->b);
        }
        if (!lives(&s->k, p))
            continue;
        live_line(s, p, r->line);
        live_put(s, q++, r->line, r->b);
    }
}

/* ------ Into C ------ */

/* Rows first .. last of C from those that live; finished is a constant. */
SIMD void live_spread(const shrunk *s, bool finished, int64_t first,
                      int64_t last, const float *c, int64_t row)
{
    for (int64_t i = first; i < last; i++) {
        bool is_left = lives(&s->m, i);
        int64_t n = 0;

        for (int64_t j = 0; j < s->n.all; j += 16) {
            unsigned word = is_left ? s->n.word[j / 16] : 0;

            lists_put(s->g, finished, i, j,
                      v16_load_kept(c + n, m16_of_word(word)));
            n += __builtin_popcount(word);
        }
        c += is_left ? row : 0;
    }
}

/* The last row of a band that begins with row `first`: BAND of them live at
 * most. */
static int64_t live_end(const live *m, int64_t first)
{
    int64_t i = first, n = 0;

    for (; i < m->all; i += 16) {
        n += __builtin_popcount(m->word[i / 16]);
        if (n > BAND)
            break;
    }
    return ls__least(i, m->all);
}

static void live_product(const shrunk *s, float *scratch)
{
    const ls__product *g = s->g;
    live_scratch r = live_scratch_in(scratch, g->k, g->n);
    ls__product of = {.n = s->n.n,
                      .k = s->deep,
                      .packed = r.b,
                      .c = r.c,
                      .c_row = live_row(s->n.n),
                      .scale = 1};

    live_pack(s, &r);
    for (int64_t i = 0, last; i < g->m; i = last) {
        last = live_end(&s->m, i);
        of.m = live_count(&s->m, i / 16, (last + 15) / 16);
        live_rows(s, i, last, r.a, &of);
        full_product(&of, s->chunk, r.b);
        if (has_epilogue(g))
            live_spread(s, true, i, last, r.c, of.c_row);
        else
            live_spread(s, false, i, last, r.c, of.c_row);
    }
}

#endif
