/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a machine that is described, from what this one was measured to do:
 * a model (scaling_model), not a measurement, with its terms; and what the same
 * model says of the counts that were measured here. */
#ifndef TOOLS_PREDICTION_H
#define TOOLS_PREDICTION_H

#include "scale/counts.h"
#include "scale/ground.h"
#include "scale/scale_findings.h"

typedef struct predicted {
    int workers;
    double rows, speedup, efficiency; /* rows a second, of so many workers */
    scaling_guess guess;
} predicted;

/* A count that was measured here. */
typedef struct checked {
    int workers;
    double predicted, measured; /* seconds of a step */
} checked;

typedef struct prediction {
    described on;   /* the machine */
    described here; /* this one */
    measured measured;
    int devices; /* that train there */
    int rows;    /* that follow */
    predicted row[DOUBLINGS];
    int checks;
    checked check[DOUBLINGS];
} prediction;

/* Describe both machines; text NULL: it is of this one.  OPT_WRONG or
 * OPT_FAILED after a message. */
int prediction_open(prediction *p, const char *text, const char *cpus);
void prediction_close(prediction *p);

/* Predict what was found, of so many devices.  line: seconds as in measured; 0:
 * not measured. */
void prediction_make(prediction *p, const findings *r, const assumed *a,
                     double line, int devices);

/* scale_prediction.c: print on stdout, as findings' unit has it. */
void prediction_table(const prediction *p, const findings *r);

/* Write a file; OPT_GO, or OPT_FAILED after a message. */
int prediction_csv(const prediction *p, const findings *r, const char *path);

struct json_t;

/* An object of all of it; NULL: no memory. */
struct json_t *prediction_json(const prediction *p);

#endif
