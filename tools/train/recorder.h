/* SPDX-License-Identifier: BSD-3-Clause */
/* --transcript and --against: the hashes of a run, written to a file that
 * anybody can check, or held against such a file. */
#ifndef TOOLS_RECORDER_H
#define TOOLS_RECORDER_H

#include "train/keeper.h"

#include <lockstep/transcript.h>

/* The exit status of a run that is not the one of --against. */
enum { RECORDER_DIFFERS = 5 };

typedef struct recorder {
    ls_transcript *all; /* NULL: none is wanted */
    const run *run;
    const train_settings *set;
    bool compares;
    const char *path;
} recorder;

/* Nothing to do without the options.  The run begins, or goes on, at `at`;
 * `note` is what its checkpoint says of the transcript, or NULL. */
int recorder_open(recorder *r, const run *of, const train_settings *set,
                  const position *at, const char *note);

/* Record after each batch, after an evaluation of the state, and when all that
 * belongs to a batch is done. */
int recorder_step(recorder *r, const ls_result *result);
int recorder_evaluation(recorder *r, const position *at, double accuracy);

/* Record, after that, that it ended the run, or made the rate this share of its
 * peak. */
int recorder_stop_event(recorder *r, const position *at);
int recorder_plateau(recorder *r, double scale);

int recorder_rest(recorder *r, const position *at);

/* The run ended as its options say; `saved`: --save has a file now.  Closes the
 * transcript. */
int recorder_end(recorder *r, const position *at, bool saved);

/* The run ended earlier, having been the same so far.  Closes the
 * transcript. */
int recorder_stop(recorder *r, const position *at);

/* What a checkpoint must know to go on, or NULL: there is no transcript.  A
 * transcript that could not be written is told. */
const char *recorder_note(recorder *r, char note[LS_TRANSCRIPT_NOTE]);

void recorder_close(recorder *r);

#endif
