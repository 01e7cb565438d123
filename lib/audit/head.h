/* SPDX-License-Identifier: BSD-3-Clause */
/* The first line of a transcript: what is trained, on what. */
#ifndef LS_TRANSCRIPT_HEAD_H
#define LS_TRANSCRIPT_HEAD_H

#include <lockstep/transcript.h>
#include "chain/lines.h"
#include "state/trainer_state.h"

enum { LS__TRANSCRIPT_VERSION = 1 };

/* What a transcript has, and when. */
typedef struct ls__extent {
    int64_t every;
    bool rows, gradient, source;
} ls__extent;

/* Write the head of a training, or hold it against the file's.  Files that the
 * run reads are not compared: whether they are the same is another question
 * than whether the training is.  Comparing, *extent becomes the file's.
 * LS_EDIFFERS, LS_EFORMAT, LS_EIO, LS_ENOMEM. */
int ls__head_put(ls__chain *c, const ls_trainer *t,
                 const ls_transcript_options *o, ls__extent *extent);

/* What tells trainings apart: SHA-256 of the graph's JSON and of the layout of
 * its parameters, 64 hex digits; who makes products, where their bits are not
 * everybody's; and the trainer's own options, a new object.  LS_ENOMEM; NULL.
 */
int ls__head_graph(const ls_trainer *t, char hex[LS__HEX]);
void ls__head_layout(const ls__params *p, char hex[LS__HEX]);
json_t *ls__head_options(const ls_trainer *t);

/* All options of a training: the trainer's and the program's, a new object.
 * NULL: no memory. */
json_t *ls__head_all_options(const ls_trainer *t,
                             const ls_transcript_options *o);

#endif
