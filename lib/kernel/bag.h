/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags: sparse rows, given as lists of their nonzeros, for k_bag.h. */
#ifndef LS_KERNEL_BAG_H
#define LS_KERNEL_BAG_H

#include <stdint.h>

/* A nonzero of a sparse row: its index, its bag, and its value. */
typedef struct ls__bag_entry {
    uint32_t index, bag;
    float value;
} ls__bag_entry;

/* A bag, its indices rising, and the table (.., n) that they index. */
typedef struct ls__bag {
    int64_t n, count;
    const uint32_t *index; /* [count] */
    const float *value;    /* likewise */
    const float *table;
    const float *bias;     /* (n) or NULL */
} ls__bag;

#endif
