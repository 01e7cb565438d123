/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 by the instructions of x86-64 CPUs that have them: five times as
 * fast as plain C, so that hashing a checkpoint takes little from a worker.
 * The order of the state's words in the two registers is the instructions'
 * own (Intel, "Intel SHA Extensions", 2013). */
#include "base/sha.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

#define SHA __attribute__((target("sha,sse4.1")))
#define SHA_INLINE SHA __attribute__((always_inline)) static inline

static bool ask(void)
{
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* Asked once: a virtual machine's host answers, which takes longer than to
 * hash a leaf.  The answer is one number, the same from every thread, and
 * nothing is read through it, so relaxed accesses do. */
bool ls__sha256_fast(void)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic int known = UNKNOWN;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (answer == UNKNOWN) {
        answer = ask() ? YES : NO;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == YES;
}

/* Four words of the message, big-endian. */
SHA_INLINE __m128i load(const uint8_t *p)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);

    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p), swap);
}

/* A message on its way: the hash so far in the order of the instructions, what
 * it was before the block, and sixteen words of the schedule. */
typedef struct lane {
    __m128i abef, cdgh, abef0, cdgh0, w[4];
} lane;

SHA_INLINE void begin(lane *v, const uint32_t *word)
{
    __m128i dcba = _mm_loadu_si128((const __m128i *)word);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)(word + 4));
    __m128i badc = _mm_shuffle_epi32(dcba, 0xb1);
    __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);

    v->abef = _mm_alignr_epi8(badc, efgh, 8);
    v->cdgh = _mm_blend_epi16(efgh, badc, 0xf0);
}

SHA_INLINE void end(const lane *v, uint32_t *word)
{
    __m128i feba = _mm_shuffle_epi32(v->abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(v->cdgh, 0xb1);

    _mm_storeu_si128((__m128i *)word, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(word + 4), _mm_alignr_epi8(dchg, feba, 8));
}

SHA_INLINE void begin_block(lane *v, const uint8_t *block)
{
    v->abef0 = v->abef, v->cdgh0 = v->cdgh;
    for (int i = 0; i < 4; i++)
        v->w[i] = load(block + 16 * i);
}

/* Four rounds, and the next four words of the schedule from the last 16. */
SHA_INLINE void rounds(lane *v, const uint32_t *constant)
{
    __m128i k = _mm_loadu_si128((const __m128i *)constant);
    __m128i x = _mm_add_epi32(v->w[0], k);
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(v->w[0], v->w[1]),
                                _mm_alignr_epi8(v->w[3], v->w[2], 4));
    __m128i more = _mm_sha256msg2_epu32(sum, v->w[3]);

    v->cdgh = _mm_sha256rnds2_epu32(v->cdgh, v->abef, x);
    v->abef = _mm_sha256rnds2_epu32(v->abef, v->cdgh,
                                    _mm_shuffle_epi32(x, 0x0e));
    v->w[0] = v->w[1], v->w[1] = v->w[2], v->w[2] = v->w[3], v->w[3] = more;
}

SHA_INLINE void end_block(lane *v)
{
    v->abef = _mm_add_epi32(v->abef, v->abef0);
    v->cdgh = _mm_add_epi32(v->cdgh, v->cdgh0);
}

SHA void ls__sha256_mix_fast(uint32_t *word, const uint8_t *block)
{
    lane v;

    begin(&v, word);
    begin_block(&v, block);
    for (int i = 0; i < 16; i++)
        rounds(&v, ls__sha256_constants + 4 * i);
    end_block(&v);
    end(&v, word);
}

SHA void ls__sha256_mix_two(uint32_t *const word[2],
                            const uint8_t *const data[2], size_t blocks)
{
    lane a, b;

    begin(&a, word[0]);
    begin(&b, word[1]);
    for (size_t at = 0; at < 64 * blocks; at += 64) {
        begin_block(&a, data[0] + at);
        begin_block(&b, data[1] + at);
        for (int i = 0; i < 16; i++) {
            rounds(&a, ls__sha256_constants + 4 * i);
            rounds(&b, ls__sha256_constants + 4 * i);
        }
        end_block(&a);
        end_block(&b);
    }
    end(&a, word[0]);
    end(&b, word[1]);
}

#else

bool ls__sha256_fast(void)
{
    return false;
}

void ls__sha256_mix_fast(uint32_t *word, const uint8_t *block)
{
    ls__sha256_mix(word, block);
}

void ls__sha256_mix_two(uint32_t *const word[2], const uint8_t *const data[2],
                        size_t blocks)
{
    for (int i = 0; i < 2; i++)
        for (size_t b = 0; b < blocks; b++)
            ls__sha256_mix(word[i], data[i] + 64 * b);
}

#endif
