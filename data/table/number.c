/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of texts.  A locale may have another decimal point, and strtod takes
 * hexadecimal, inf and nan: so the text is checked and read here.  Only where
 * rounding takes more than one operation is strtod asked. */
#include "table/number.h"
#include "base/real_text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 15, TENS = 22 };

/* 10^22 is the largest power of ten that is a double. */
static const double ten[TENS + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef struct number {
    const char *text; /* behind the sign */
    bool negative;
    uint64_t digits; /* the first DIGITS of them, leading zeros apart */
    int count;       /* of digits */
    int all;         /* digits, leading zeros too */
    int exponent;    /* of ten, for digits as a whole number */
} number;

static const char *read_digits(const char *p, number *n, int behind)
{
    for (; *p >= '0' && *p <= '9'; p++) {
        n->all++;
        if (n->count || *p != '0')
            n->count++;
        n->digits = n->count <= DIGITS ? 10 * n->digits + (uint64_t)(*p - '0')
                                       : n->digits;
        n->exponent -= behind;
    }
    return p;
}

/* NULL: there is none where one must be. */
static const char *read_exponent(const char *p, int *out)
{
    bool negative = *p == '-';
    int n = 0;

    p += *p == '-' || *p == '+';
    if (*p < '0' || *p > '9')
        return NULL;
    for (; *p >= '0' && *p <= '9'; p++)
        n = n < 100000 ? 10 * n + *p - '0' : n;
    *out += negative ? -n : n;
    return p;
}

/* The bytes of a minus: ASCII's, or Unicode's, a dash, or that of full width,
 * with which programs for texts write it. */
static size_t minus(const char *text)
{
    static const char other[] = "\xe2\x88\x92\xe2\x80\x93\xef\xbc\x8d";

    for (size_t i = 0; (*text & 0x80) && i < sizeof other - 1; i += 3)
        if (!strncmp(text, other + i, 3))
            return 3;
    return *text == '-';
}

/* All of the text, or nothing. */
static bool read_number(const char *p, bool comma, number *n)
{
    size_t sign = minus(p);

    p += sign ? sign : *p == '+';
    *n = (number){.text = p, .negative = sign > 0};
    p = read_digits(p, n, 0);
    if (*p == '.' || (comma && *p == ','))
        p = read_digits(p + 1, n, 1);
    if (!n->all)
        return false;
    if (*p == 'e' || *p == 'E')
        p = read_exponent(p + 1, &n->exponent);
    return p && !*p;
}

/* Does a whole number have digits that a double has not? */
static bool is_longer(const char *text, const number *n, double x)
{
    char room[TENS + 4];

    text += strspn(text, "0");
    return n->all > DIGITS && text[strspn(text, "0123456789")] == 0 &&
           (n->count > TENS + 1 ||
            (snprintf(room, sizeof room, "%.0f", x), strcmp(room, text) != 0));
}

bool ls__number_read(const char *text, bool comma, ls__number *out)
{
    int64_t magnitude;
    number n;
    double x;

    if (!read_number(text, comma, &n))
        return false;
    magnitude = n.exponent < 0 ? -(int64_t)n.exponent : n.exponent;
    if (n.count <= DIGITS && magnitude <= TENS)
        x = n.exponent < 0 ? (double)n.digits / ten[magnitude]
                           : (double)n.digits * ten[magnitude];
    else if (!ls__real_value(n.text, &x) || x - x != 0)
        return false;
    *out = (ls__number){n.negative ? -x : x, is_longer(n.text, &n, x)};
    return true;
}

bool ls__number_value(const char *text, bool comma, double *out)
{
    ls__number n;

    if (!ls__number_read(text, comma, &n))
        return false;
    *out = n.value;
    return true;
}
