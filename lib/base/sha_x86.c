/* SHA-256 by the instructions of x86-64 CPUs that have them: five times as
 * fast as plain C, so that hashing a checkpoint takes little from a worker.
 * The order of the state's words in the two registers is the instructions'
 * own (Intel, "Intel SHA Extensions", 2013). */
#include "base/sha.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

#define SHA __attribute__((target("sha,sse4.1")))

bool ls__sha256_fast(void)
{
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* Four words of the message, big-endian. */
SHA static __m128i load(const uint8_t *p)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);

    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p), swap);
}

/* The next four words of the schedule from the last sixteen. */
SHA static __m128i next(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1),
                                _mm_alignr_epi8(w3, w2, 4));

    return _mm_sha256msg2_epu32(sum, w3);
}

SHA static void rounds(__m128i *abef, __m128i *cdgh, __m128i w,
                       const uint32_t *constant)
{
    __m128i k = _mm_loadu_si128((const __m128i *)constant);

    w = _mm_add_epi32(w, k);
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, w);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(w, 0x0e));
}

SHA void ls__sha256_mix_fast(uint32_t *word, const uint8_t *block)
{
    __m128i dcba = _mm_loadu_si128((const __m128i *)word);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)(word + 4));
    __m128i badc = _mm_shuffle_epi32(dcba, 0xb1);
    __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, badc, 0xf0);
    __m128i abef0 = abef, cdgh0 = cdgh, w[4];

    for (int i = 0; i < 4; i++)
        w[i] = load(block + 16 * i);
    for (int i = 0; i < 16; i++) {
        rounds(&abef, &cdgh, w[0], ls__sha256_constants + 4 * i);
        __m128i more = next(w[0], w[1], w[2], w[3]);
        w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = more;
    }
    abef = _mm_shuffle_epi32(_mm_add_epi32(abef, abef0), 0x1b); /* feba */
    cdgh = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh0), 0xb1); /* dchg */
    dcba = _mm_blend_epi16(abef, cdgh, 0xf0);
    hgfe = _mm_alignr_epi8(cdgh, abef, 8);
    _mm_storeu_si128((__m128i *)word, dcba);
    _mm_storeu_si128((__m128i *)(word + 4), hgfe);
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

#endif
