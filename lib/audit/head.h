/* SPDX-License-Identifier: BSD-3-Clause */
/* The first line of a transcript: what is trained, on what. */
#ifndef LS_AUDIT_HEAD_H
#define LS_AUDIT_HEAD_H

#include <lockstep/transcript.h>
#include "file/lines.h"
#include "state/trainer_state.h"

enum { LS__TRANSCRIPT_VERSION = 2 };

/* Extent of a transcript: interval of state lines, and roots of steps. */
typedef struct ls__extent {
    int64_t every;
    bool rows, gradient;
} ls__extent;

/* Write the head of a training, or hold it against the file's.  Comparing,
 * *extent and the options become the file's.  LS_EDIFFERS, LS_EFORMAT, LS_EIO,
 * LS_EINVAL names what is wrong with the options' files, LS_ENOMEM. */
int ls__head_put(ls__chain *c, const ls_trainer *t,
                 const ls_transcript_options *o, ls__extent *extent,
                 json_t *options);

/* The fields that the heads of transcripts and of records have in common, a new
 * object; options are given up, and may be NULL.  NULL: no memory. */
json_t *ls__head_said(const ls_trainer *t, const char *kind, json_t *options,
                      int64_t chunk_rows);

/* All options of a training: the trainer's and the program's, a new object.
 * NULL: no memory. */
json_t *ls__head_all_options(const ls_trainer *t,
                             const ls_transcript_options *o);

#endif
