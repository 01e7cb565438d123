/* SPDX-License-Identifier: BSD-3-Clause */
/* The element types of safetensors, and floats made of those that are. */
#ifndef LS_FILE_CONVERT_H
#define LS_FILE_CONVERT_H

#include <lockstep/archive.h>

/* The type of this name as the library keeps it, and the bytes of an element;
 * NULL: an unknown one. */
const char *ls__element_type(const char *name, int64_t *bytes);

/* Can all elements be floats?  LS_ENOTSUP: not of that type.  LS_ERANGE names
 * the first F64 that is beyond a float's range. */
int ls__convert_check(const ls_entry *entry, const char *path);

/* The elements as floats, once they are checked; F64 is rounded to nearest. */
void ls__convert(const ls_entry *entry, float *out);

#endif
