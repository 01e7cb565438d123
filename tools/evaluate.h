/* The loss, and of rows the accuracy, on what is held out: after every so many
 * updates, on all devices, exact for any number of rows and devices. */
#ifndef TOOLS_EVALUATE_H
#define TOOLS_EVALUATE_H

#include "figures.h"
#include "run.h"

/* What evaluations have come to; a run that goes on takes it along. */
typedef struct score {
    int64_t times;
    int64_t best_step;
    double best, last; /* accuracies, or losses */
    double loss;       /* of the last one */
    bool by_loss;      /* of a model without an accuracy */
    int64_t since;     /* evaluations since the best one */
} score;

typedef struct evaluation {
    run *run;
    score *score;
    figures figures;
} evaluation;

/* Once the trainer is open. */
int evaluation_open(evaluation *e, run *r, score *s);
void evaluation_close(evaluation *e);

/* --eval-every was given: is there something to evaluate on?  Its data is
 * open. */
int evaluation_check(const run *r);

/* Is it time, after `done` updates? */
bool evaluation_due(const evaluation *e, int64_t done);

/* Was the last one the best? */
bool evaluation_better(const evaluation *e);

/* --early-stop: have there been enough without a better one? */
bool evaluation_enough(const evaluation *e);

/* Evaluate, and print the line. */
int evaluate(evaluation *e, int64_t done);

/* Print the best accuracy and the last, where there were some, and of a table of
 * classes the confusions. */
int evaluation_sum(const evaluation *e);

#endif
