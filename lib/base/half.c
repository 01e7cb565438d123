/* SPDX-License-Identifier: BSD-3-Clause */
/* See half.h. */
#include "base/half.h"

#include <string.h>

float ls__half(uint16_t h)
{
    uint32_t exponent = h >> 10 & 31, fraction = h & 1023, bits;
    float f = (float)fraction * 0x1p-24f; /* of exponent 0: a denormal */

    _Static_assert(sizeof f == sizeof bits, "bits of a float");
    memcpy(&bits, &f, sizeof bits);
    if (exponent == 31)
        bits = 0x7f800000 | fraction << 13;
    else if (exponent)
        bits = (exponent + 112) << 23 | fraction << 13;
    bits |= (uint32_t)(h & 0x8000) << 16;
    memcpy(&f, &bits, sizeof f);
    return f;
}
