/* SPDX-License-Identifier: BSD-3-Clause */
/* --transcript and --against: the hashes of a run, written to a file that
 * anybody can check, or held against such a file. */
#ifndef TOOLS_TRANSCRIBER_H
#define TOOLS_TRANSCRIBER_H

#include "train/keeper.h"

#include <lockstep/transcript.h>

/* Exit statuses: the run is not the one of --against; its model is another. */
enum { RECORDER_DIFFERS = 5, RECORDER_OTHER_MODEL = 6 };

/* A search for options, each value as a text: the number of folds of each trial
 * (0: none), the search's seed, SHA-256 of the table of trials, the number of
 * trials. */
enum {
    SEARCH_FOLDS, SEARCH_SEED, SEARCH_TABLE, SEARCH_TRIED, SEARCH_VALUES,
    SEARCH_TEXT = 72
};
typedef struct search {
    bool is; /* there was one */
    char value[SEARCH_VALUES][SEARCH_TEXT];
} search;

typedef struct transcriber {
    ls_transcript *all; /* NULL: none is wanted */
    const run *run;
    const train_settings *set;
    bool compares;
    const char *path;
} transcriber;

/* Is there a file to compare with, or to go on with, that is of a program which
 * kept the last weights?  Now a run without --early-stop keeps its best ones,
 * and its head says so. */
bool transcriber_keeps_last(const train_settings *set, bool went_on);

/* Nothing to do without the options.  The run begins, or goes on, at `at`;
 * `note` is what its checkpoint says of the transcript, or NULL; `of_options`
 * is what was searched for before; `keeps`: evaluations keep the best. */
int transcriber_open(transcriber *r, const run *of, const train_settings *set,
                     const position *at, const char *note,
                     const search *of_options, bool keeps);

/* Record after each batch, after an evaluation of the state, and when all that
 * belongs to a batch is done. */
int transcriber_step(transcriber *r, const ls_result *result);
int transcriber_evaluation(transcriber *r, const position *at, double accuracy);

/* Record, after that, that it ended the run, or made the rate this share of its
 * peak. */
int transcriber_stop_event(transcriber *r, const position *at);
int transcriber_plateau(transcriber *r, double scale);

int transcriber_rest(transcriber *r, const position *at);

/* Record that the weights of now are those that --save writes, with or without
 * it; all ranks call it. */
int transcriber_saved(transcriber *r);

/* A model file's note on the run that it is of; NULL: there is no transcript.
 */
const char *transcriber_head(const transcriber *r, char sha256[65]);

/* The run ended as its options say; `saved`: --save has a file now, which is
 * compared, too.  Closes the transcript. */
int transcriber_end(transcriber *r, const position *at, bool saved);

/* The run ended earlier, having been the same so far.  Closes the
 * transcript. */
int transcriber_stop(transcriber *r, const position *at);

/* A checkpoint's note to go on by, or NULL: there is no transcript.  A
 * transcript that could not be written is told. */
const char *transcriber_note(transcriber *r, char note[LS_TRANSCRIPT_NOTE]);

void transcriber_close(transcriber *r);

#endif
