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
    LIVE_LINES = 16, /* steps of B that are copied at once: where it is packed
                        they are neighbours panel by panel */
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
    float *b;     /* what lives of B, packed; behind it room for full_product */
    float *a;     /* BAND rows of A, */
    float *c;     /* and of C */
    float *lines; /* steps of B */
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
    return live_near(k, n) + live_band(k) + BAND * live_row(n) +
           LIVE_LINES * live_row(n + COLUMNS);
}

static live_scratch live_scratch_in(float *scratch, int64_t k, int64_t n)
{
    live_scratch r = {.b = scratch, .a = scratch + live_near(k, n)};

    r.c = r.a + live_band(k);
    r.lines = r.c + BAND * live_row(n);
    return r;
}

/* ------ What lives ------ */

/* Which of the next 16 of `left` columns do.  Most have a number soon. */
static unsigned live_word(int64_t rows, const float *x, int64_t row,
                          int64_t left)
{
    unsigned whole = first_lanes(left), word = 0;
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
        unsigned word = first_lanes(columns - j);

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

/* Where step p of B has column j, a multiple of 16. */
SIMD const float *live_place(const ls__product *g, int64_t p, int64_t j)
{
    const float *panels = g->packed;

    return panels ? panels + (j - j % COLUMNS) * g->k + p * COLUMNS +
                        j % COLUMNS
                  : g->b + p * g->b_row + j;
}

/* The columns of B's steps p[..] that live, each filled up with zeros to whole
 * panels.  The next panel is asked for meanwhile: it is far away. */
static void live_lines(const shrunk *s, int64_t steps, const int64_t *p,
                       float *lines, int64_t row)
{
    int64_t n = 0, left = s->n.all;

    for (int64_t j = 0; left > 0; j += 16, left -= 16) {
        unsigned word = s->n.word[j / 16];

        for (int64_t i = 0; i < steps; i++) {
            if (left > COLUMNS)
                __builtin_prefetch(live_place(s->g, p[i], j + COLUMNS));
            v16_store_kept(lines + i * row + n,
                           take(live_place(s->g, p[i], j), left),
                           m16_of_word(word));
        }
        n += __builtin_popcount(word);
    }
    for (int64_t i = 0; i < steps; i++)
        live_zeros(n, n + COLUMNS, lines + i * row);
}

/* Steps q .. of B where full_product finds them. */
static void live_put(const shrunk *s, int64_t q, int64_t steps,
                     const float *lines, int64_t row, float *b)
{
    for (int64_t j = 0; j < s->n.n; j += COLUMNS)
        for (int64_t i = 0; i < steps; i++)
            for (int64_t v = 0; v < COLUMNS; v += 16)
                v16_store(b + j * s->deep + (q + i) * COLUMNS + v,
                          v16_load(lines + i * row + j + v));
}

/* Of a chunk of K, first .. last, what lives, from step q on; where it ends. */
static int64_t live_pack_chunk(const shrunk *s, const live_scratch *r,
                               int64_t first, int64_t last, int64_t q)
{
    int64_t row = live_row(s->n.all + COLUMNS), p[LIVE_LINES], n;

    while (first < last) {
        for (n = 0; first < last && n < LIVE_LINES; first++)
            if (lives(&s->k, first))
                p[n++] = first;
        live_lines(s, n, p, r->lines, row);
        live_put(s, q, n, r->lines, row, r->b);
        q += n;
    }
    return q;
}

/* All of B; a chunk that is shorter than others ends with zeros. */
static void live_pack(const shrunk *s, const live_scratch *r)
{
    int64_t q = 0;

    for (int64_t p = 0, last; p < s->k.all; p = last) {
        last = ls__least(s->k.all, p + LS__CHUNK);
        q = live_pack_chunk(s, r, p, last, q);
        live_zeros(0, s->n.n + COLUMNS, r->lines);
        for (; last < s->k.all && q < last / LS__CHUNK * s->chunk; q++)
            live_put(s, q, 1, r->lines, 0, r->b);
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

            put_sums(s->g, finished, i, j,
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
