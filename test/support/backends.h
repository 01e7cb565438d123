/* SPDX-License-Identifier: BSD-3-Clause */
/* Backends to test. */
#ifndef TEST_BACKENDS_H
#define TEST_BACKENDS_H

#include "backend/backend.h"
#include "lockstep.h"

#include <stdio.h>

/* Maker i of native products in a precision, of all that this CPU has at all
 * levels, the best first; NULL past the last. */
static inline const ls__backend *maker(ls_precision precision, int i)
{
    const ls__kernel_table *k;
    const ls__backend *b;

    for (int l = 0; (k = ls__kernels_level(l)); l++)
        for (int n = 0; ls__kernels_by_name(k->name) &&
                        (b = ls__kernels_maker(k, precision, n)); n++)
            if (i-- == 0)
                return b;
    return NULL;
}

/* A level's own f32 products. */
static inline const ls__products *products_of(const ls__kernel_table *k)
{
    return k->native[LS_F32_LAYERS].products;
}

/* Is the backend "blis" in this build, and right on this machine?  Says so if
 * not. */
static inline bool have_blis(void)
{
    bool here = ls__blis_check() == 0;

    if (!here)
        printf("skipped: %s\n", ls_errmsg());
    return here;
}

#endif
