/* SPDX-License-Identifier: BSD-3-Clause */
/* The least and the most of two numbers. */
#ifndef LS_BASE_LEAST_H
#define LS_BASE_LEAST_H

#include <stdint.h>

static inline int64_t ls__least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ls__most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
