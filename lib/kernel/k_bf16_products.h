/* Matrix products and convolutions of numbers rounded to bf16, sums in f32.
 *
 * Operands are rounded where they are copied anyway, or in a copy that the
 * caches hold, and then go through the loops and tiles of k_gemm.h and
 * k_conv.h, epilogues and all.  What those take for a float is a word: one
 * rounded number; or, with AVX512-BF16 (v4_bf16.c, where mul_add is two
 * products), two numbers that follow each other along K, the first in the lower
 * half, and K is half as long.  Zeros fill up the last word. */
#ifndef LS_KERNEL_K_BF16_PRODUCTS_H
#define LS_KERNEL_K_BF16_PRODUCTS_H

/* The next 16 of `left` elements at p, which may be none or less. */
SIMD v16 take_any(const float *p, int64_t left)
{
    return left > 0 ? take(p, left) : v16_zero();
}

/* words_along: 16 words of the n numbers at x, which follow each other along K.
 * words_across: 16 words, one of each number at x; after are those that follow
 * them along K, of which there are m. */
#if defined(__AVX512BF16__)

enum { PER_WORD = 2 };

SIMD v16 words_along(const float *x, int64_t n)
{
    return (v16)_mm512_cvtne2ps_pbh(take_any(x + 16, n - 16), take_any(x, n));
}

SIMD v16 words_across(const float *x, int64_t n, const float *after, int64_t m)
{
    /* element i, then element 16 + i */
    const __m512i order = _mm512_or_si512(
        w16_iota(), w16_shl(w16_add(w16_iota(), w16_set(16)), 16));

    return (v16)_mm512_permutexvar_epi16(
        order, (__m512i)_mm512_cvtne2ps_pbh(take_any(after, m),
                                            take_any(x, n)));
}

#else

enum { PER_WORD = 1 };

SIMD v16 words_along(const float *x, int64_t n)
{
    return bf16_of(take_any(x, n));
}

SIMD v16 words_across(const float *x, int64_t n, const float *after, int64_t m)
{
    (void)after;
    (void)m;
    return bf16_of(take_any(x, n));
}

#endif

static int64_t words(int64_t k)
{
    return (k + PER_WORD - 1) / PER_WORD;
}

static int64_t whole_vectors(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* ------ copies ------ */

/* Lines of k numbers along K, into rows of words.  Vectors are stored whole: up
 * to 15 zeros follow each line, under the next. */
static void lines_along(int64_t lines, int64_t k, const float *x, int64_t row,
                        float *out, int64_t out_row)
{
    for (int64_t l = 0; l < lines; l++, x += row, out += out_row)
        for (int64_t p = 0; p < words(k); p += 16)
            v16_store(out + p, words_along(x + p * PER_WORD,
                                           k - p * PER_WORD));
}

/* k lines of n numbers, each a step along K, into rows of `wide` words (filled
 * up with zeros; a multiple of 16, or the same follows). */
SIMD void lines_across(int64_t k, int64_t n, const float *x, int64_t row,
                       int64_t wide, float *out, int64_t out_row)
{
    for (int64_t p = 0; p < k; p += PER_WORD, out += out_row) {
        const float *line = x + p * row;
        const float *after = p + 1 < k ? line + row : line;

        for (int64_t j = 0; j < wide; j += 16)
            v16_store(out + j, words_across(line + j, n - j, after + j,
                                            p + 1 < k ? n - j : 0));
    }
}

/* One line of k numbers `step` apart, into words `out_step` apart. */
static void line_any(int64_t k, const float *x, int64_t step, float *out,
                     int64_t out_step)
{
    for (int64_t p = 0; p < words(k); p += 16) {
        float line[32], word[16];
        int64_t left = k - p * PER_WORD;

        left = left < 16 * PER_WORD ? left : 16 * PER_WORD;
        for (int64_t i = 0; i < left; i++)
            line[i] = x[(p * PER_WORD + i) * step];
        v16_store(word, words_along(line, left));
        for (int64_t i = 0; i < 16 && p + i < words(k); i++)
            out[(p + i) * out_step] = word[i];
    }
}

/* ------ B in panels ------ */

static int64_t bf16_packed_size(int64_t k, int64_t n)
{
    return packed_size(words(k), n);
}

/* A panel from the transpose: b[p][j] stands at b + p + j b_col. */
static void pack_along(int64_t k, const float *b, int64_t b_col, int64_t left,
                       float *out)
{
    for (int64_t p = 0; p < words(k); p += 16)
        for (int64_t v = 0; v < COLUMNS; v += 16) {
            v16 x[16];

            for (int64_t j = 0; j < 16; j++)
                x[j] = v + j < left
                           ? words_along(b + (v + j) * b_col + p * PER_WORD,
                                         k - p * PER_WORD)
                           : v16_zero();
            v16_transpose(x);
            for (int64_t i = 0; i < 16 && p + i < words(k); i++)
                v16_store(out + (p + i) * COLUMNS + v, x[i]);
        }
}

/* The panel of at most COLUMNS of `left` columns. */
static void bf16_panel(int64_t k, int64_t left, const float *b, int64_t b_row,
                       int64_t b_col, float *out)
{
    if (b_col == 1) {
        lines_across(k, left, b, b_row, COLUMNS, out, COLUMNS);
    } else if (b_row == 1) {
        pack_along(k, b, b_col, left, out);
    } else {
        memset(out, 0, (size_t)(words(k) * COLUMNS) * sizeof *out);
        for (int64_t j = 0; j < COLUMNS && j < left; j++)
            line_any(k, b + j * b_col, b_row, out + j, COLUMNS);
    }
}

static void bf16_pack(int64_t k, int64_t n, const float *b, int64_t b_row,
                      int64_t b_col, float *packed)
{
    for (int64_t j = 0; j < n; j += COLUMNS, packed += words(k) * COLUMNS)
        bf16_panel(k, n - j, b + j * b_col, b_row, b_col, packed);
}

/* ------ the product ------ */

/* Rows of A copied at a time: fewer where they are long. */
static int64_t band_rows(int64_t k)
{
    return words(k) <= DEEPEST ? BAND : ROWS;
}

/* Of products as deep as k, or less deep. */
static int64_t bf16_scratch(int64_t k, int64_t n)
{
    int64_t deep = whole_vectors(band_rows(k)) * copy_stride(words(k));
    int64_t less = whole_vectors(BAND) *
                   copy_stride(words(k) < DEEPEST ? words(k) : DEEPEST);

    return whole_vectors(bf16_packed_size(k, n)) + (deep > less ? deep : less);
}

/* As band_of in k_gemm.h. */
static ls__product bf16_band(const ls__product *g, int64_t i, int64_t rows,
                             float *copy)
{
    const float *a = g->a + i * g->a_row;
    int64_t across = whole_vectors(band_rows(g->k)),
            along = copy_stride(words(g->k));
    bool transposed = g->a_row == 1 && g->a_col != 1;
    ls__product band = *g;

    if (transposed)
        lines_across(g->k, rows, a, g->a_col, whole_vectors(rows), copy,
                     across);
    else if (g->a_col == 1)
        lines_along(rows, g->k, a, g->a_row, copy, along);
    else
        for (int64_t r = 0; r < rows; r++)
            line_any(g->k, a + r * g->a_row, g->a_col, copy + r * along, 1);
    band.k = words(g->k);
    band.a_row = transposed ? 1 : along;
    band.a_col = transposed ? across : 1;
    band.a = copy - i * band.a_row; /* row i is where the copy starts */
    return band;
}

static void bf16_gemm(const ls__product *g, float *scratch)
{
    int64_t height = band_rows(g->k), k = words(g->k);
    const float *b = g->packed;

    if (!b) {
        bf16_pack(g->k, g->n, g->b, g->b_row, g->b_col, scratch);
        b = scratch;
        scratch += whole_vectors(bf16_packed_size(g->k, g->n));
    }
    for (int64_t i = 0; i < g->m; i += height) {
        int64_t last = g->m - i < height ? g->m : i + height;
        ls__product band = bf16_band(g, i, last - i, scratch);

        for (int64_t j = 0; j < g->n; j += COLUMNS)
            panel(&band, i, last, j, b + j * k);
    }
}

/* ------ convolutions ------ */

/* Floats of the image that the windows lie in. */
static int64_t image_size(const ls__conv *v)
{
    return ((v->h - 1) * v->step_y / v->row + v->kh) * v->row;
}

/* dy in words: rows of pixels are along K. */
static int64_t dy_size(const ls__conv *v)
{
    return v->h * words(v->w) * v->out.n;
}

/* Both copies, each with what is stored beyond its end. */
static int64_t bf16_conv_scratch(const ls__conv *v)
{
    return whole_vectors(image_size(v)) + whole_vectors(dy_size(v)) + 32 +
           conv_scratch(v);
}

static int64_t bf16_conv_packed_size(int64_t taps, int64_t k, int64_t n)
{
    return taps * bf16_packed_size(k, n);
}

static void bf16_conv_pack(int64_t taps, int64_t in, int64_t out, bool rotated,
                           const float *w, float *packed)
{
    pack_taps(bf16_panel, words(rotated ? out : in), taps, in, out, rotated, w,
              packed);
}

/* Along K, channels follow each other: a pixel becomes words of its own. */
static ls__conv bf16_conv_image(const ls__conv *v, float *scratch)
{
    ls__conv of = *v;
    int64_t c = words(v->c), n = image_size(v);

    if (v->c % PER_WORD == 0)
        lines_along(1, n, v->x, n, scratch, n);
    else
        lines_along(n / v->c, v->c, v->x, v->c, scratch, c);
    of.x = scratch;
    of.row = v->row / v->c * c;
    of.step_y = v->step_y / v->c * c;
    of.step_x = v->step_x / v->c * c;
    of.run = v->run / v->c * c;
    return of;
}

/* Along K, pixels of dy follow each other, and of x those a step apart: each
 * number of the image gets a word with the one a step on.  (The last of a row
 * may get one of the next row, which then meets the zero that fills up dy.) */
static void bf16_conv_grad(const ls__conv *v, float *dbias, float *scratch)
{
    ls__conv of = *v;
    int64_t n = image_size(v), w = words(v->w), step = v->step_x;
    float *dy = scratch + whole_vectors(n) + 16;

    for (int64_t i = 0; i < n; i += 16)
        v16_store(scratch + i,
                  words_across(v->x + i, n - i,
                               n - i > step ? v->x + i + step : v->x,
                               n - i - step));
    for (int64_t y = 0; y < v->h; y++)
        lines_across(v->w, v->out.n, v->out.b + y * v->w * v->out.n, v->out.n,
                     whole_vectors(v->out.n), dy + y * w * v->out.n, v->out.n);
    of.x = scratch;
    of.step_x = PER_WORD * step;
    of.w = w;
    of.out.b = dy;
    conv_grad(&of, dbias, dy + whole_vectors(dy_size(v)) + 16);
}

#define LS__BF16_PRODUCTS \
    {.name = "native", .bf16 = true, .gemm = bf16_gemm, \
     .scratch = bf16_scratch, .packed_size = bf16_packed_size, \
     .pack = bf16_pack, .conv_image = bf16_conv_image, .conv = conv, \
     .conv_grad = bf16_conv_grad, .conv_scratch = bf16_conv_scratch, \
     .conv_packed_size = bf16_conv_packed_size, .conv_pack = bf16_conv_pack}

#endif
