/* SPDX-License-Identifier: BSD-3-Clause */
/* --change: options that may be others when a run goes on.  The run's bits are
 * then its own; what was changed, and when, stays in its checkpoints. */
#ifndef TOOLS_CHANGE_H
#define TOOLS_CHANGE_H

#include "run/run.h"

enum { CHANGE_TEXT = 1024 };

/* OPT_WRONG, and a message, for a list (NULL: none) that names what cannot
 * change. */
int change_check(const run *r, const char *list);

/* The names in checkpoints of what a list names, as ls_checkpoints_open takes
 * them. */
const char *change_patterns(const run *r, const char *list,
                            char room[CHANGE_TEXT]);

/* Did the last load find the name of an option that is a part by now? */
bool change_is_of_old(const run *r, const ls_checkpoints *c);

/* Did the last load find another option of that name? */
bool change_has(const ls_checkpoints *c, const char *name);

/* OPT_FAILED after the message of a load that found other options, with what to
 * type to go on all the same. */
int change_refused(const run *r, const ls_checkpoints *c);

/* "step 320: lr 0.5 (was 0.001)", after the text of the changes before it, or
 * that alone when nothing was changed; and say so on stderr. */
void change_tell(const run *r, const ls_checkpoints *c, int64_t step,
                 const char *before, char out[CHANGE_TEXT]);

#endif
