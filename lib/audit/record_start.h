/* SPDX-License-Identifier: BSD-3-Clause */
/* What a record says of the first values of parameters and moments, so that a
 * referee can make each number of them again. */
#ifndef LS_RECORD_RECORD_START_H
#define LS_RECORD_RECORD_START_H

#include <lockstep/trainer.h>

/* A kind: 0 a constant, whose bits follow; 1 uniform, 2 normal, 3 truncated
 * normal, of which follow the scale and the fan, as doubles, high word first (a
 * fan of 0: the scale itself), and the words of the key; 4 the table of
 * positions, whose width follows; 5 orthogonal, of which follow the scale, rows
 * and columns in the place of the fan, and the key. */
enum { LS__START_WORDS = 7 };

/* What a slot starts from.  False: from none of these, or it is not known. */
bool ls__record_start(const ls_trainer *t, int slot,
                      uint32_t word[LS__START_WORDS]);

/* The words of a double, the high one first. */
void ls__record_words(double x, uint32_t word[2]);

/* What a moment starts from. */
void ls__record_start_moment(const ls_trainer *t, int moment,
                             uint32_t word[LS__START_WORDS]);

/* Are the values still those that the trainer began with? */
bool ls__record_at_start(const ls_trainer *t);

#endif
