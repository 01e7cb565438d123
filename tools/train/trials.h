/* SPDX-License-Identifier: BSD-3-Clause */
/* --cv (cross-validation) and --tune (random search): a run several times, each
 * in a process of its own, side by side where cores are free.  The number at
 * once changes no result: each is a run as it would be alone. */
#ifndef TOOLS_TRIALS_H
#define TOOLS_TRIALS_H

#include "run/scratch.h"
#include "run/worth.h"
#include "train/session.h"

/* Does the command line ask for them? */
bool trials_wanted(const session *s);

/* Run them, each by `whole`, which trains from the settings to the end and
 * gives the exit status.  OPT_GO: the run that was asked for goes on, with the
 * options that were the best; OPT_DONE: that was all. */
int trials_run(session *s, int (*whole)(session *s));

/* ------ What the trials of --tune try (trial_space.c) ------ */

enum { TRIAL_TEXT = 1 << 16 };

/* Write what the command line says of a training, and the options of a trial,
 * those that it does not say: "--cv 5 --lr 0.05 --dropout 0.3".  Trial 0 has
 * the defaults.  What is longer is cut off, and refused by trials_run. */
void trial_text(const session *s, int64_t trial, char text[TRIAL_TEXT]);

/* Read the data: which options does the target take, which both need?  What is
 * noted of them is told where no training follows that does. */
int trial_target(session *s);

/* Store the options of a trial. */
int trial_store(session *s, int64_t trial);

/* ------ How good one is (trial_worth.c) ------ */

/* Tell it of a run that is over: on the rows of its fold by the model that it
 * saved, or without folds on those that are held back, by the best epoch. */
int trial_worth(const session *s, worth *w);

/* ------ Folds as one model (trial_join.c) ------ */

/* The file of a job's model. */
enum { TRIAL_PATH = SCRATCH + 32 };
const char *trial_path(const scratch *folder, int64_t job,
                       char path[TRIAL_PATH]);

/* Write the mean of the folds' models where --save says. */
int trial_join(session *s, const scratch *folder, int64_t folds);

/* ------ The file of --tune (trial_file.c) ------ */

/* Open it, and make it where it is not there; *file is -1 where none is wanted.
 * One that another search has open is refused. */
int trial_file_open(const session *s, int *file);

/* Read what is known of `count` trials into good[] (NaN: its predictions were
 * no numbers); known[]: which are there.  Refuses a file of other options. */
int trial_file_read(const session *s, int file, int64_t count, bool *known,
                    double *good);

/* Append a trial. */
int trial_file_add(const session *s, int file, int64_t trial, double good);

/* The SHA-256 of what the file has, or would have, of the first `count` trials
 * in their order. */
int trial_file_digest(const session *s, int64_t count, const double *good,
                      char sha256[65]);

/* Put what is there in the order of the trials. */
int trial_file_sort(const session *s);

/* Close it; one without a line goes. */
void trial_file_close(const session *s, int file);

#endif
