/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of a record: shapes "4x16", and numbers. */
#include "find.h"

#include <stdlib.h>

double real_or(const char *text, double usual)
{
    char *end;
    double x;

    if (!text || !*text || strlen(text) > 512)
        return usual;
    x = strtod(text, &end);
    return *end ? usual : x;
}

int axes(const char *shape, int64_t out[MOST_RANK])
{
    int rank = 0;

    while (*shape && rank < MOST_RANK) {
        char *end;

        out[rank++] = strtoll(shape, &end, 10);
        shape = *end == 'x' ? end + 1 : end + strlen(end);
    }
    return rank;
}

int64_t size(const char *shape)
{
    int64_t all = 1;

    while (*shape) {
        char *end;
        long long n = strtoll(shape, &end, 10);

        if (end == shape || n < 1 || n > INT64_C(1) << 40 ||
            all > (INT64_C(1) << 40) / n || (*end && *end != 'x'))
            return 0;
        all *= n;
        shape = *end ? end + 1 : end;
    }
    return all;
}

int64_t width(const char *shape)
{
    const char *x = strrchr(shape, 'x');

    return *shape ? size(x ? x + 1 : shape) : 1;
}
