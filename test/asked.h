/* SPDX-License-Identifier: BSD-3-Clause */
/* The referee (../referee/referee.c), asked from a test: begin, lists of
 * evidence, then the number that a rule makes of them.  With LS_EVIDENCE=FILE
 * in the environment every evidence is also written there as a text, whose
 * first claim is what was made and the second has its last bit wrong. */
#ifndef TEST_ASKED_H
#define TEST_ASKED_H

#include <stdint.h>

/* Room for a list of n numbers, which the caller fills in. */
float *asked_list(const char *name, int64_t n);
void asked_copy(const char *name, int64_t n, const float *x);
void asked_number(const char *name, float x);
void asked_word(const char *name, uint32_t x);
void asked_words(const char *name, uint64_t x); /* two, the high one first */
void asked_real(const char *name, double x);

/* What the rule makes of the lists since the last question. */
float asked(const char *rule);

/* The same of a word. */
uint32_t asked_bits(const char *rule);

#endif
