/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types: a table of sizes and names, and checks of named arrays. */
#ifndef LS_BASE_DTYPE_H
#define LS_BASE_DTYPE_H

#include <lockstep/base.h>

/* Bytes of an element; 0 for a type that does not exist. */
int ls__dtype_size(ls_dtype dtype);

/* "LS_F32"; "no type" for one that does not exist. */
const char *ls__dtype_name(ls_dtype dtype);

/* The elements along the first axis of an array whose name, type, shape and
 * pointer are sound, or a status whose message names it.  *row_bytes: the
 * bytes of one of them. */
int64_t ls__array_rows(const ls_array *array, int64_t *row_bytes);

#endif
