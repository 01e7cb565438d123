/* The loss, and of rows the accuracy, on what is held out: after every so many
 * updates, on all devices, exact for any number of rows and devices. */
#ifndef TOOLS_EVALUATE_H
#define TOOLS_EVALUATE_H

#include "data.h"
#include "model.h"

/* What the evaluations of rows came to. */
typedef struct score {
    int64_t times;
    int64_t best_step;
    double best, last; /* accuracies */
} score;

typedef struct evaluation {
    const settings *set;
    data *data;
    ls_trainer *trainer;
    ls_batch *batch;
    score *score; /* goes on from what is there */
} evaluation;

/* --eval-every was given: is there something to evaluate on?  After
 * data_plan. */
int evaluation_check(const data *d, const settings *s);

/* Is it time, after `done` updates? */
bool evaluation_due(const evaluation *e, int64_t done);

/* Evaluate, and print the line. */
int evaluate(evaluation *e, int64_t done);

/* Print the best accuracy and the last, where there were some. */
int evaluation_sum(const evaluation *e);

#endif
