/* SPDX-License-Identifier: BSD-3-Clause */
/* NumPy's legacy generator: MT19937 (Matsumoto and Nishimura 1998) and the
 * distributions of numpy.random.RandomState, which NumPy has frozen.
 *
 * randn is NumPy's except that the logarithm is our own, correctly rounded but
 * for 1 in 10^5: the C library's, which NumPy calls, differs from it in about 1
 * of 3000 last bits of a double. */
#include "base/error.h"
#include "base/least.h"
#include <lockstep/random.h>
#include "base/scalar.h"

#include <string.h>

enum { WORDS = 624, AHEAD = 397, PART = 256 };

_Static_assert(sizeof ((ls_numpy *)0)->word == 4 * WORDS && AHEAD < WORDS,
               "MT19937's state");

static uint32_t twisted(uint32_t word, uint32_t next, uint32_t ahead)
{
    uint32_t y = (word & 0x80000000u) | (next & 0x7fffffffu);
    return ahead ^ y >> 1 ^ (0x9908b0dfu & -(y & 1));
}

/* Make the next words, in pieces that compilers make vectors of. */
static void twist(uint32_t *mt)
{
    enum { BEHIND = WORDS - AHEAD };

    for (int i = 0; i < BEHIND; i++)
        mt[i] = twisted(mt[i], mt[i + 1], mt[i + AHEAD]);
    for (int i = BEHIND; i < WORDS - 1; i++)
        mt[i] = twisted(mt[i], mt[i + 1], mt[i - BEHIND]);
    mt[WORDS - 1] = twisted(mt[WORDS - 1], mt[0], mt[AHEAD - 1]);
}

static uint32_t tempered(uint32_t y)
{
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* Twist where no words are left; returns how many there are then. */
static int refill(ls_numpy *rs)
{
    if (rs->at >= WORDS) {
        twist(rs->word);
        rs->at = 0;
    }
    return WORDS - rs->at;
}

static uint32_t word32(ls_numpy *rs)
{
    refill(rs);
    return tempered(rs->word[rs->at++]);
}

/* The next n words. */
static void take_words(ls_numpy *rs, int n, uint32_t *out)
{
    for (int m; n > 0; n -= m, out += m, rs->at += m) {
        m = (int)ls__least(n, refill(rs));
        for (int i = 0; i < m; i++)
            out[i] = tempered(rs->word[rs->at + i]);
    }
}

static uint64_t word64(ls_numpy *rs)
{
    uint64_t high = word32(rs);
    return high << 32 | word32(rs);
}

/* A number in [0, most]: draw as many bits as most has, until one fits. */
static uint64_t draw(ls_numpy *rs, uint64_t most)
{
    uint64_t mask = most, x;
    if (most == 0)
        return 0;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    do
        x = (most <= UINT32_MAX ? word32(rs) : word64(rs)) & mask;
    while (x > most);
    return x;
}

void ls_numpy_seed(ls_numpy *rs, uint32_t seed)
{
    LS__NEED_OR(rs, );
    memset(rs, 0, sizeof *rs);
    rs->word[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t y = rs->word[i - 1];
        rs->word[i] = 1812433253u * (y ^ y >> 30) + i;
    }
    rs->at = WORDS;
}

void ls_numpy_randint(ls_numpy *rs, int64_t low, int64_t high, int64_t n,
                      int64_t *out)
{
    LS__NEED_OR(rs, );
    LS__NEED_OR(out, );

    uint64_t most = (uint64_t)high - (uint64_t)low - 1;
    for (int64_t i = 0; i < n; i++)
        out[i] = (int64_t)((uint64_t)low + draw(rs, most));
}

void ls_numpy_randint32(ls_numpy *rs, int32_t low, int32_t high, int64_t n,
                        int32_t *out)
{
    LS__NEED_OR(rs, );
    LS__NEED_OR(out, );

    uint32_t most = (uint32_t)high - (uint32_t)low - 1;
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)((uint32_t)low + (uint32_t)draw(rs, most));
}

/* 53 bits in [0,1), the upper 27 first. */
static double uniform(uint32_t first, uint32_t second)
{
    double a = (int32_t)(first >> 5), b = (int32_t)(second >> 6);
    return (a * 67108864.0 + b) / 9007199254740992.0;
}

static double sample(ls_numpy *rs)
{
    uint32_t first = word32(rs);
    return uniform(first, word32(rs));
}

void ls_numpy_rand(ls_numpy *rs, int64_t n, double *out)
{
    LS__NEED_OR(rs, );
    LS__NEED_OR(out, );

    uint32_t word[2 * PART];
    for (int64_t i = 0; i < n; i += PART) {
        int m = (int)ls__least(n - i, PART);

        take_words(rs, 2 * m, word);
        for (int j = 0; j < m; j++)
            out[i + j] = uniform(word[2 * j], word[2 * j + 1]);
    }
}

/* Marsaglia's polar method makes two: the second is given first, the first is
 * kept for the next call. */
static double gauss(ls_numpy *rs)
{
    double x, y, r2, f;
    rs->has_gauss = !rs->has_gauss;
    if (!rs->has_gauss)
        return rs->gauss;
    do {
        x = 2.0 * sample(rs) - 1.0;
        y = 2.0 * sample(rs) - 1.0;
        r2 = x * x + y * y;
    } while (r2 >= 1.0 || r2 == 0.0);
    f = __builtin_sqrt(-2.0 * ls__log(r2) / r2);
    rs->gauss = f * x;
    return f * y;
}

void ls_numpy_randn(ls_numpy *rs, int64_t n, double *out)
{
    LS__NEED_OR(rs, );
    LS__NEED_OR(out, );
    for (int64_t i = 0; i < n; i++)
        out[i] = gauss(rs);
}

void ls_numpy_permutation(ls_numpy *rs, int64_t n, int64_t *out)
{
    LS__NEED_OR(rs, );
    LS__NEED_OR(out, );
    for (int64_t i = 0; i < n; i++)
        out[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)draw(rs, (uint64_t)i), x = out[i];
        out[i] = out[j];
        out[j] = x;
    }
}
