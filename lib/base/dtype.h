/* SPDX-License-Identifier: BSD-3-Clause */
/* The sizes of element types. */
#ifndef LS_BASE_DTYPE_H
#define LS_BASE_DTYPE_H

#include <lockstep/base.h>

/* Bytes of an element; 0 for a type that does not exist. */
int ls__dtype_size(ls_dtype dtype);

#endif
