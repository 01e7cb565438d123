/* SPDX-License-Identifier: BSD-3-Clause */
/* The loss, and the accuracy of rows, on held-out data: at intervals of
 * updates, on all devices, exact for any number of rows and devices. */
#ifndef TOOLS_EVALUATE_H
#define TOOLS_EVALUATE_H

#include "run/run.h"
#include "train/figures.h"
#include "train/printing.h"
#include "train/train_settings.h"

/* The score of evaluations so far; a run that goes on takes it along. */
typedef struct score {
    ls_early_stop stop; /* by accuracies, or losses */
    ls_plateau plateau; /* by the same */
    int64_t best_step;
    double last;
    double loss;      /* of the last one */
    int64_t by_loss;  /* 1: of a model without an accuracy */
    int64_t is_saved; /* 1: the file of --save has the best weights */
} score;

typedef struct evaluation {
    run *run;
    const train_settings *set;
    score *score;
    const lines *lines;
    bool keeps;      /* the run's weights are the best ones, not the last */
    bool enough;     /* --early-stop: the run ends */
    int64_t done;    /* updates before the last one */
    double accuracy; /* of it; NaN: there is none */
    double temperature; /* --calibrate: of the best, or of the last */
    struct {         /* of the best one, where its weights are kept, */
        bool kept;   /* unless that was before the run went on */
        double loss, accuracy;
    } best;
    figures figures;
} evaluation;

/* Once the trainer is open; the caller sets `keeps`, and `lines`. */
int evaluation_open(evaluation *e, run *r, const train_settings *set, score *s);

/* An option that evaluates was given: is there something to evaluate on, and
 * when?  Its data is open. */
int evaluation_check(const run *r, const train_settings *s);

/* Is there any evaluation in such a run? */
bool evaluation_is_in(const run *r, const train_settings *set);

/* Is it time, after `done` updates? */
bool evaluation_due(const evaluation *e, int64_t done);

/* Was the last one the best? */
bool evaluation_better(const evaluation *e);

/* Was there one, and are its weights, or a better one's, those of the run? */
bool evaluation_has_best(const evaluation *e);

/* Evaluate with the weights or their average, print the line, and with
 * --plateau set the learning rate that follows.  What a signal cut short,
 * e->figures.stopped, is neither told nor kept. */
int evaluate(evaluation *e, int64_t done);

/* Print the best accuracy and the last, where there were some, the figures of
 * the best weights, where these are kept, and of a table of classes the
 * confusions of the weights that are saved. */
int evaluation_sum(evaluation *e);

/* The figures of the run's weights that were computed last, and the step; of
 * the best ones, where these are kept. */
lines_held evaluation_held(const evaluation *e);

#endif
