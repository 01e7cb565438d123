/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of 16 bits, IEEE 754's binary16. */
#ifndef LS_BASE_HALF_H
#define LS_BASE_HALF_H

#include <stdint.h>

/* The value of an F16's bits. */
float ls__half(uint16_t bits);

#endif
