/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of named arrays, and the names of their types. */
#ifndef LS_LOADER_NAMED_ARRAY_H
#define LS_LOADER_NAMED_ARRAY_H

#include <lockstep/base.h>

/* "LS_F32"; "no type" for one that does not exist. */
const char *ls__dtype_name(ls_dtype dtype);

/* The elements along the first axis of an array with a sound name, type, shape
 * and pointer, or a status with a message that names it. *row_bytes: the bytes
 * of one of them. */
int64_t ls__array_rows(const ls_array *array, int64_t *row_bytes);

#endif
