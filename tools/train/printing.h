/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of a run on the standard output, of every model: steps, epochs,
 * evaluations.  Which of them there are depends on the options alone, so that
 * any number of workers prints the same; on a terminal each ends with the time
 * since the run began. */
#ifndef TOOLS_PRINTING_H
#define TOOLS_PRINTING_H

#include "run/run.h"
#include "train/figures.h"
#include "train/train_settings.h"

/* Where nobody asked for more, by --log-every or --eval-every, there are that
 * many at most.  Where all would be more there are a few: LINES_OF_EPOCHS of
 * epochs and evaluations, and with those of steps LINES_FEW. */
enum { LINES_MOST = 20, LINES_FEW = 16, LINES_OF_EPOCHS = 12 };

typedef struct lines {
    int64_t steps, epochs; /* every so many has a line; 0: none */
    int64_t batches;       /* of an epoch */
    int64_t last;          /* the number of steps */
    bool asked;            /* --eval-every: all evaluations */
    double since;          /* of a terminal: the beginning; else 0 */
} lines;

/* Once the data is open, and so the number of steps is known. */
void lines_open(lines *l, const run *r, const train_settings *set);

/* Has it a line: step `step`; the epoch, or the evaluation, that ends after
 * `done` steps? */
bool lines_has_step(const lines *l, int64_t step);
bool lines_has_epoch(const lines *l, int64_t done);
bool lines_has_evaluation(const lines *l, int64_t done);

/* "[lockstep] step 0010  loss 6.3131". */
void lines_step(const lines *l, int64_t step, double loss);

/* "Epoch 1: Loss=1.8765, Acc=0.3210"; accuracy NaN: there is none. */
void lines_epoch(const lines *l, int64_t epoch, double loss, double accuracy);

/* "[lockstep] eval step 0400  loss 1.2345  acc 0.5670", with `what` before the
 * step, the figures of what was computed last behind it, and `rest`. */
typedef struct lines_held {
    const char *what, *rest;
    int64_t step;
    double loss, accuracy; /* NaN: there is none */
    const figures *figures;
    const char *by; /* of --select, where the figures do not have it; or NULL */
    double selected;
} lines_held;

void lines_evaluation(const lines *l, const lines_held *held);

/* "loss 1.2345  acc 0.5670", and the figures. */
void lines_figures(const lines_held *held, FILE *file);

#endif
