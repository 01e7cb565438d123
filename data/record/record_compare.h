/* SPDX-License-Identifier: BSD-3-Clause */
/* The first difference of two records. */
#ifndef LS_RECORD_RECORD_COMPARE_H
#define LS_RECORD_RECORD_COMPARE_H

#include "record/record_read.h"
#include <lockstep/record.h>

/* ls_record_compare; and, unless `at` is NULL, where it is: the first side's
 * entry without its leaves, to be released.  It is cleared if there is none. */
int ls__record_first(const char *a, const char *b,
                     ls_record_difference *difference, ls__entry *at);

/* A place in words, of which a record has no second one. */
void ls__where_text(const ls__where *w, char text[LS_RECORD_TEXT]);

#endif
