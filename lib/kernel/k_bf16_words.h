/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands of bf16 products: numbers rounded to bf16 and written as words of 32
 * bits, in the order in which k_bf16_tile.h adds their products.
 *
 * A word is one number, as the float that it is.  With AVX512-BF16 (v4_bf16.c)
 * it is two numbers that are two apart along K, the first in the upper half:
 * of each four numbers 0, 1, 2, 3 the words (0,2) and (1,3).  Words of even and
 * odd index are therefore those of even and odd numbers in both forms, which is
 * what lets one loop compute the two chains of a step.
 *
 * On CPUs with AMX the instruction for pairs is slower than a fused
 * multiply-add: v4_amx.c defines SLOW_PAIRS, and its words are single numbers.
 *
 * Before rounding a denormal is a zero, as the instructions that round two
 * vectors at once have it.  Zeros fill K up to an even number of words. */
#ifndef LS_KERNEL_K_BF16_WORDS_H
#define LS_KERNEL_K_BF16_WORDS_H

#include <stdint.h>

#include "base/assert.h"
#include "kernel/k_bf16.h"
#include "kernel/product.h"

/* WORD_BLOCK: numbers along K of one vector of words. */
#if defined(__AVX512BF16__) && !defined(SLOW_PAIRS)
#define PAIRS
#endif

#if defined(PAIRS)
enum { PER_WORD = 2 };
#else
enum { PER_WORD = 1 };
#endif
enum { STEP_WORDS = LS__BF16_STEP / PER_WORD, WORD_BLOCK = 16 * PER_WORD };

_Static_assert(LS__BF16_STEP % (2 * PER_WORD) == 0, "a step is whole words");

static int64_t words(int64_t k)
{
    return (k + 2 * PER_WORD - 1) / (2 * PER_WORD) * 2;
}

/* The number of these, the first ones, that are not all zeros. */
static int64_t filled_words(int64_t k)
{
    int64_t rest = k % (2 * PER_WORD);

    return k / (2 * PER_WORD) * 2 + (rest < 2 ? rest : 2);
}

/* The place in K of the first number of word q of a step. */
SIMD int64_t first_of(int64_t q)
{
    return q / 2 * 2 * PER_WORD + q % 2;
}

static int64_t whole_vectors(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* Floats of the image that the windows lie in. */
static int64_t image_size(const ls__conv *v)
{
    return ((v->h - 1) * v->step_y / v->row + v->kh) * v->row;
}

/* Slack: what tiles read beyond the image, where B is zero: the rest of a word
 * or of two blocks, and the second row of the last blocks. */
static int64_t image_slack(const ls__conv *v)
{
    return v->step_y + 4 * v->step_x + LS__BF16_STEP;
}

static int64_t image_words(const ls__conv *v)
{
    return whole_vectors(image_size(v) + image_slack(v));
}

/* Is the image made of the words of y's steps?  Where a pixel is whole words,
 * those of all windows are the same. */
static bool is_paired(const ls__conv *v)
{
    return PER_WORD == 2 && v->c % (2 * PER_WORD) == 0;
}

/* The next 16 of `left` elements at p, which may be none or less. */
SIMD v16 take_any(const float *p, int64_t left)
{
    return left > 0 ? take(p, left) : v16_zero();
}

/* Adding +0 makes a zero of a denormal. */
SIMD v16 operand_of(v16 x)
{
    return bf16_of(v16_add(x, v16_zero()));
}

#if defined(PAIRS)

/* 16 words of 32 numbers that follow each other along K. */
SIMD w16 words_of(v16 first, v16 second)
{
    const __m512i order = _mm512_set4_epi32(0x0b0a0f0e, 0x09080d0c, 0x03020706,
                                            0x01000504);

    return _mm512_shuffle_epi8((__m512i)_mm512_cvtne2ps_pbh(second, first),
                               order);
}

/* The words of the n numbers at x. */
SIMD w16 words_along(const float *x, int64_t n)
{
    return words_of(take_any(x, n), take_any(x + 16, n - 16));
}

/* 16 words: of numbers at one place of K, and those two places on. */
SIMD w16 words_across(v16 first, v16 second)
{
    /* element i, then element 16 + i */
    const __m512i order = _mm512_or_si512(
        w16_iota(), w16_shl(w16_add(w16_iota(), w16_set(16)), 16));

    return _mm512_permutexvar_epi16(
        order, (__m512i)_mm512_cvtne2ps_pbh(first, second));
}

/* out = n numbers rounded, in whole words, as those along K. */
static void round_paired(int64_t n, const float *x, uint16_t *out)
{
    int64_t i = 0;

    LS__ASSERT(n % (2 * PER_WORD) == 0);
    for (; i + WORD_BLOCK <= n; i += WORD_BLOCK)
        _mm512_storeu_si512(out + i, words_of(v16_load(x + i),
                                              v16_load(x + i + 16)));
    if (i < n)
        _mm512_mask_storeu_epi16(out + i, (1u << (n - i)) - 1,
                                 words_along(x + i, n - i));
}

/* Numbers of such an image, with what is read behind it; 0: it is not one. */
static int64_t paired_size(const ls__conv *v)
{
    return is_paired(v) ? image_words(v) + whole_vectors(v->step_x) : 0;
}

/* out = n words of numbers of such an image, in their own order, and of those
 * `apart` on. */
static void words_of_paired(int64_t n, int64_t apart, const uint16_t *x,
                            uint32_t *out)
{
    /* Of each four numbers 0, 1, 2, 3 are at 1, 3, 0, 2. */
    const __m512i order = _mm512_set_epi16(
        14, 30, 12, 28, 15, 31, 13, 29, 10, 26, 8, 24, 11, 27, 9, 25, 6, 22, 4,
        20, 7, 23, 5, 21, 2, 18, 0, 16, 3, 19, 1, 17);

    LS__ASSERT(n % 16 == 0 && apart % (2 * PER_WORD) == 0);
    for (int64_t i = 0; i < n; i += 16) {
        const __m256i *first = (const __m256i *)(const void *)(x + i);
        const __m256i *second = (const __m256i *)(const void *)(x + i + apart);
        __m512i both = _mm512_inserti64x4(
            _mm512_castsi256_si512(_mm256_loadu_si256(first)),
            _mm256_loadu_si256(second), 1);

        w16_store(out + i, _mm512_permutexvar_epi16(order, both));
    }
}

#define PAIRED_IMAGES .round = round_paired, .image_size = paired_size,

#else

#define PAIRED_IMAGES

static void words_of_paired(int64_t n, int64_t apart, const uint16_t *x,
                            uint32_t *out)
{
    (void)n, (void)apart, (void)x, (void)out; /* there is no such image */
}

SIMD w16 words_along(const float *x, int64_t n)
{
    return v16_bits(operand_of(take_any(x, n)));
}

SIMD w16 words_across(v16 first, v16 second)
{
    (void)second;
    return v16_bits(operand_of(first));
}

#endif

/* Lines of numbers, each a step along K: number (p,j) is x[p row + j col], but
 * every `group` lines begin `next` after those before them (k: all in one). */
typedef struct source {
    int64_t k, n;
    const float *x;
    int64_t row, col, group, next;
} source;

static source source_of(int64_t k, int64_t n, const float *x, int64_t row,
                      int64_t col)
{
    return (source){k, n, x, row, col, k, 0};
}

static const float *line_at(const source *l, int64_t p)
{
    return l->x + p / l->group * l->next + p % l->group * l->row;
}

/* Pack rows that stand in memory as they are. */
static void pack_word_rows(const source *l, int64_t j, int64_t wide,
                           uint32_t *out, int64_t out_row)
{
    int64_t all = words(l->k);

    for (int64_t q = 0; q < all; q++, out += out_row) {
        int64_t i = first_of(q), k = i + 2;
        const float *first = l->x + i * l->row + j;
        const float *second = first + 2 * l->row;
        int64_t m = i < l->k ? l->n - j : 0, n = k < l->k ? l->n - j : 0;

        for (int64_t v = 0; v < wide; v += 16)
            w16_store(out + v, words_across(take_any(first + v, m - v),
                                            take_any(second + v, n - v)));
    }
}

/* 16 columns of a block from p on, where what follows along K follows in
 * memory. */
static void pack_word_columns(const source *l, int64_t p, int64_t j,
                              uint32_t *out, int64_t out_row)
{
    int64_t left = words(l->k - p);
    const float *x = line_at(l, p) + j * l->col;
    v16 w[16];

    for (int64_t i = 0; i < 16; i++)
        w[i] = v16_of_bits(
            words_along(x + i * l->col, j + i < l->n ? l->k - p : 0));
    v16_transpose(w);
    for (int64_t q = 0; q < 16 && q < left; q++)
        w16_store(out + q * out_row, v16_bits(w[q]));
}

static void pack_word_any(const source *l, int64_t p, int64_t j, uint32_t *out,
                          int64_t out_row)
{
    float x[WORD_BLOCK * 16] = {0};
    int64_t left = l->k - p < WORD_BLOCK ? l->k - p : WORD_BLOCK;
    source copy = source_of(left, 16, x, 16, 1);

    for (int64_t i = 0; i < left; i++)
        for (int64_t c = 0; c < 16 && j + c < l->n; c++)
            x[i * 16 + c] = line_at(l, p + i)[(j + c) * l->col];
    pack_word_rows(&copy, 0, 16, out, out_row);
}

/* Does the block from line p on follow itself along K in memory? */
static bool is_transposed(const source *l, int64_t p)
{
    int64_t end = p + WORD_BLOCK < l->k ? p + WORD_BLOCK : l->k;

    return l->row == 1 && p % l->group + end - p <= l->group;
}

/* Columns j .. j+wide, a multiple of 16, as lines of words; zeros beyond n. */
static void pack_lines(const source *l, int64_t j, int64_t wide, uint32_t *out,
                       int64_t out_row)
{
    LS__ASSERT(wide % 16 == 0 && wide <= out_row);
    if (l->col == 1 && l->group == l->k) {
        pack_word_rows(l, j, wide, out, out_row);
        return;
    }
    for (int64_t p = 0; p < l->k; p += WORD_BLOCK, out += 16 * out_row)
        for (int64_t v = 0; v < wide; v += 16)
            if (is_transposed(l, p))
                pack_word_columns(l, p, j + v, out + v, out_row);
            else
                pack_word_any(l, p, j + v, out + v, out_row);
}

#endif
