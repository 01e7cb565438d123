/* SPDX-License-Identifier: BSD-3-Clause */
/* See roof.h. */
#include "kernel/roof.h"
#include "kernel/kernel.h"

ls__roof *ls__roof_of_level(const char *isa)
{
    const ls__kernel_table *k = isa ? ls__kernels_by_name(isa) : ls__kernels();

    return k ? k->fma_loop : NULL;
}

ls__roof *ls__roof_of_products(ls_precision precision)
{
    const ls__backend *maker = ls__kernels_maker(ls__kernels(), precision, 0);

    return maker->roof ? maker->roof : ls__kernels()->fma_loop;
}
