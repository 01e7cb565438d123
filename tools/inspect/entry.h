/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays of an archive, for lockstep-inspect: elements as text, and text
 * that may be anybody's. */
#ifndef TOOLS_ENTRY_H
#define TOOLS_ENTRY_H

#include <lockstep.h>

#include <stddef.h>

enum { ENTRY_TEXT = 160, ELEMENT_TEXT = 32 };

/* Array i, which is one of its own. */
ls_entry entry_of(const ls_archive *a, int i);

/* The note of a name; NULL: there is none. */
const char *entry_note(const ls_archive *a, const char *name);

/* Bytes of an element. */
size_t entry_width(const ls_entry *e);

/* All elements as floats, to be freed; NULL for other types, or F64 that no
 * float can hold. */
float *entry_floats(const ls_archive *a, int i);

/* Element i as text that reads back; floats are the array's, converted. */
void entry_element(const ls_entry *e, const float *floats, int64_t i,
                   char text[ELEMENT_TEXT]);

/* "(3,17)". */
void entry_shape(const ls_entry *e, char text[ENTRY_TEXT]);

/* Print text of a file as one line that does nothing to a terminal, at least
 * `width` columns wide. */
void entry_print(const char *text, int width);

#endif
