/* SPDX-License-Identifier: BSD-3-Clause */
/* Products and convolutions of bf16 numbers by the kernels of a matrix unit, in
 * software. */
#ifndef TEST_SOFTWARE_UNIT_H
#define TEST_SOFTWARE_UNIT_H

#include "kernel/product.h"

const ls__products *software_unit(void);
const ls__convs *software_unit_convs(void);

#endif
