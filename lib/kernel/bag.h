/* SPDX-License-Identifier: BSD-3-Clause */
/* Bags: rows given as lists of what is not zero.  What a kernel of k_bag.h
 * reads. */
#ifndef LS_KERNEL_BAG_H
#define LS_KERNEL_BAG_H

#include <stdint.h>

/* An element of a row that is not zero: which, of which row, and its value. */
typedef struct ls__bag_entry {
    uint32_t index, bag;
    float value;
} ls__bag_entry;

/* A bag, its indices rising, and the table (.., n) whose rows they are. */
typedef struct ls__bag {
    int64_t n, count;
    const uint32_t *index; /* [count] */
    const float *value;    /* likewise */
    const float *table;
    const float *bias;     /* (n) or NULL */
} ls__bag;

#endif
