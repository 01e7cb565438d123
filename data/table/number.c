/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of texts.  A locale may have another decimal point, and strtod takes
 * hexadecimal, inf and nan: so the text is checked and read here.  Only where
 * rounding takes more than one operation is strtod asked. */
#include "table/number.h"
#include "base/real_text.h"

#include <stddef.h>
#include <stdint.h>

enum { DIGITS = 15, TENS = 22 };

/* 10^22 is the largest power of ten that is a double. */
static const double ten[TENS + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef struct number {
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

/* All of the text, or nothing. */
static bool read_number(const char *p, bool comma, number *n)
{
    *n = (number){.negative = *p == '-'};
    p += *p == '-' || *p == '+';
    p = read_digits(p, n, 0);
    if (*p == '.' || (comma && *p == ','))
        p = read_digits(p + 1, n, 1);
    if (!n->all)
        return false;
    if (*p == 'e' || *p == 'E')
        p = read_exponent(p + 1, &n->exponent);
    return p && !*p;
}

static bool ask(const char *text, double *out)
{
    double x;

    if (!ls__real_value(text, &x) || x - x != 0)
        return false;
    *out = x;
    return true;
}

bool ls__number_value(const char *text, bool comma, double *out)
{
    int64_t magnitude;
    number n;
    double x;

    if (!read_number(text, comma, &n))
        return false;
    magnitude = n.exponent < 0 ? -(int64_t)n.exponent : n.exponent;
    if (n.count > DIGITS || magnitude > TENS)
        return ask(text, out);
    x = (double)n.digits;
    x = n.exponent < 0 ? x / ten[magnitude] : x * ten[magnitude];
    *out = n.negative ? -x : x;
    return true;
}
