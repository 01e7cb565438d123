/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops that no product on these cores can beat. */
#ifndef LS_KERNEL_ROOF_H
#define LS_KERNEL_ROOF_H

#include <stdint.h>

#include <lockstep/precision.h>

/* Do the most that a unit can, n times, from io and back into it; returns the
 * floating-point operations done (k_roof.h). */
typedef int64_t ls__roof(int64_t n, float io[16]);

/* The loop of a level of instructions, NULL being the one in use; NULL: this
 * CPU has no level of that name. */
ls__roof *ls__roof_of_level(const char *isa);

/* The loop of who multiplies the layers of a precision. */
ls__roof *ls__roof_of_products(ls_precision precision);

#endif
