/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of the referee: a status, and a line that says why. */
#ifndef REFEREE_VERDICT_H
#define REFEREE_VERDICT_H

#include <stddef.h>
#include <stdint.h>

enum { A_IS_RIGHT, B_IS_RIGHT, NEITHER_IS_RIGHT, REFUSED, SAME, NONE_YET = -1 };

/* These do not return but to those below. */
void refuse(const char *format, ...);
void decide(int status);

/* Another element of the same array, behind the first difference, comes before
 * it in the order of the step, and differs, too. */
void judge_instead(int64_t at, uint32_t a, uint32_t b);

/* Memory until the verdict, zeros; of a text.  What was taken since rooms() is
 * given back to there. */
void *room_of(size_t bytes);
char *text_of(const char *format, ...);
void *rooms(void);
void leave_rooms(const void *since);

/* Judge two records, with transcripts or NULL: prints, returns the status; and
 * why it was refused. */
int judge_files(const char *const path[2], const char *const published[2]);
const char *judge_why(void);

/* What is judged, by its names; NULL behind the last. */
const char *operator_name(int i), *update_name(int i), *rate_name(int i);

/* Make an element of an array of one record once more: SAME, or REFUSED. */
int judge_element(const char *path, int64_t entry, int64_t at, uint32_t *is);

#endif
