/* SPDX-License-Identifier: BSD-3-Clause */
/* --plot: the losses of training and evaluation over the steps, as a
 * picture. */
#ifndef TOOLS_CURVE_H
#define TOOLS_CURVE_H

#include <stdint.h>
#include <stdio.h>

/* A line of that many points at most: when it is full, two become one, their
 * mean, and from then on each is the mean of twice as many values. */
enum { CURVE_POINTS = 512 };

typedef struct curve_line {
    int points;
    int64_t each; /* values of a point; 0: 1 */
    double step[CURVE_POINTS], value[CURVE_POINTS];
    double step_sum, value_sum; /* of values that are not yet a point */
    int64_t waiting;            /* their number */
} curve_line;

typedef struct curve {
    curve_line training, evaluation;
    int64_t best; /* updates of the weights that are kept; 0: not marked */
} curve;

/* A value that is not finite is passed over. */
void curve_add(curve_line *line, int64_t step, double value);

/* The run is after `done` steps again: later points are left out. */
void curve_back(curve *c, int64_t done);

/* Write an SVG; OPT_GO, or OPT_FAILED after a message. */
int curve_write(const curve *c, const char *path, const char *title);

/* A small picture of characters, where the file is a terminal. */
void curve_show(const curve *c, FILE *file);

/* The same wherever it goes. */
void curve_print(const curve *c, FILE *file);

#endif
