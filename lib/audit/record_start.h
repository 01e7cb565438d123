/* SPDX-License-Identifier: BSD-3-Clause */
/* First values of parameters and moments, as a record describes them, so that a
 * referee can make each number again; and what it has rules for. */
#ifndef LS_AUDIT_RECORD_START_H
#define LS_AUDIT_RECORD_START_H

#include <lockstep/trainer.h>

/* A kind, and its words: 0 a constant: its bits; 1 uniform, 2 normal, 3
 * truncated normal: the scale and the fan, as doubles, high word first (a fan
 * of 0: the scale itself), and the words of the key; 4 the table of positions:
 * its width; 5 orthogonal: the scale, rows and columns in the place of the fan,
 * and the key. */
enum { LS__UNIFORM = 1, LS__SINUSOID = 4, LS__ORTHOGONAL };
enum { LS__START_WORDS = 7 };

/* Describes a slot's first values.  False: unknown, or none of these kinds. */
bool ls__record_start(const ls_trainer *t, int slot,
                      uint32_t word[LS__START_WORDS]);

/* The words of a double, the high one first. */
void ls__record_words(double x, uint32_t word[2]);

/* Describes a moment's first values. */
void ls__record_start_moment(const ls_trainer *t, int moment,
                             uint32_t word[LS__START_WORDS]);

/* Has tools/referee a rule for an operator, an optimizer or a schedule of the
 * library? */
bool ls__has_rule(const char *name);

/* Are the values still those that the trainer began with? */
bool ls__record_at_start(const ls_trainer *t);

#endif
