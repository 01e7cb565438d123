/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of a matrix unit with the unit in software: the source that runs
 * on AMX, on every CPU. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "kernel/k_amx_bf16.h"
#include "kernel/k_amx_conv_grad.h"
#include "software_unit.h"

const ls__products *software_unit(void)
{
    return &amx_bf16_products;
}

const ls__convs *software_unit_convs(void)
{
    return &amx_convs;
}
