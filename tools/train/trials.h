/* SPDX-License-Identifier: BSD-3-Clause */
/* --cv and --tune: the same run several times, each in a process of its own,
 * side by side where cores are free.  How many there are at once changes no
 * result: each is a run as it would be alone. */
#ifndef TOOLS_TRIALS_H
#define TOOLS_TRIALS_H

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

/* Store the options of a trial. */
int trial_store(session *s, int64_t trial);

/* ------ How good one is (trial_worth.c) ------ */

/* Tell it of a run that is over: on the rows of its fold by the model that it
 * saved, or without folds on those that are held back, by the best epoch. */
int trial_worth(const session *s, worth *w);

/* ------ The file of --tune (trial_file.c) ------ */

/* Read what is known of `count` trials into good[], NaN of one that failed;
 * known[]: which are there.  Refuses a file of other options. */
int trial_file_read(const session *s, int64_t count, bool *known, double *good);

/* Append a trial. */
int trial_file_add(const session *s, int64_t trial, double good);

/* Put what is there in the order of the trials. */
int trial_file_sort(const session *s);

#endif
