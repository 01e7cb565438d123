/* SPDX-License-Identifier: BSD-3-Clause */
/* Fault injection: a core that errs, for tests; only a library configured
 * --enable-test-level has it.  Kernels of the table are wrapped, and on the
 * faulty worker (or PU) bits of their results flip, or are stuck, now and
 * then. */
#ifndef LS_KERNEL_FAULT_H
#define LS_KERNEL_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef LS_TEST_LEVEL

#include "kernel/kernel.h"

typedef struct ls__fault {
    char kernel[16]; /* gemm, pack, add, scale, tree_sum, square_sum, update,
                        digest; "": any of these */
    int worker;      /* the one that errs; -1: any */
    int pu;          /* on this PU alone; -1: anywhere */
    int bit;         /* 0 to 31; -1: drawn */
    int lane;        /* the element that errs; -1: drawn */
    int bits;        /* of each element, that and others; 0: one */
    int lanes;       /* elements from that one on, as of a vector; 0: one */
    bool stuck;      /* they are 1, instead of turned over */
    double p;        /* the probability that a call errs */
    uint32_t seed;
    long long first, last; /* calls of that worker that may: first .. last-1 */
} ls__fault;

/* Let calls err from now on; NULL: none errs.  Call it once before the first
 * use of a kernel, so that the table is wrapped:
 * LS_FAULT="kernel,worker,bit,lane,p,seed,first,last" in the environment does
 * it too, with ",PU" behind it if only that one errs.  No job is running. */
void ls__fault_set(const ls__fault *f);

/* Let workers compute on different instruction levels of this CPU, worker w on
 * the one number w, or all on one again: the kernels above, products where the
 * levels pack alike.  Before the first use of a kernel, as ls__fault_set. */
void ls__fault_mix(bool mix);

/* The number of calls that erred since. */
long long ls__fault_count(void);

/* The calling thread is that worker; -1: none, or on another PU now. */
void ls__fault_here(int worker);

/* A table whose kernels err, or the table where nothing was ever set. */
const ls__kernel_table *ls__fault_wrap(const ls__kernel_table *k);

#else

static inline void ls__fault_here(int worker)
{
    (void)worker;
}

#endif

#endif
