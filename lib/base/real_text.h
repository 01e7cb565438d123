/* SPDX-License-Identifier: BSD-3-Clause */
/* Real numbers as texts that mean the same in every locale: one with a decimal
 * comma writes and reads "0,5". */
#ifndef LS_BASE_REAL_TEXT_H
#define LS_BASE_REAL_TEXT_H

#include <stdbool.h>

/* The locale's decimal point, where a text that printf made has one, becomes
 * ".". */
void ls__real_point(char *text);

/* The shortest text that reads back as the same number: no double needs more
 * than 17 digits. */
enum { LS__REAL_TEXT = 32 };
void ls__real_text(char text[LS__REAL_TEXT], double x);

/* Read a text, all of it, as strtod does, its first "." or "," being the
 * decimal point.  False: it is no number. */
bool ls__real_value(const char *text, double *out);

#endif
