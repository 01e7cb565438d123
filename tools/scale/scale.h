/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of lockstep-scale: what its stages share. */
#ifndef TOOLS_SCALE_H
#define TOOLS_SCALE_H

#include "run/launch.h"
#include "run/run.h"
#include "scale/scale_findings.h"

typedef struct scale_settings {
    const char *workers; /* counts, "1,2,4"; NULL: up to the cores */
    const char *ranks;   /* likewise; NULL: up to those that there are */
    bool weak, no_roofs, oversubscribe;
    int64_t repeats, steps; /* steps 0: about half a second of them */
    const char *json, *csv, *plot, *report;
} scale_settings;

enum { SCALE_COUNTS = 64 };

typedef struct scale {
    run run;
    launch launch;
    scale_settings set;
    settings asked;    /* rows and model as the command line has them */
    int n_workers, n_ranks; /* counts of them, */
    int workers[SCALE_COUNTS], ranks[SCALE_COUNTS];
    const ls_transport *transport; /* between ranks; NULL: there are none */
    int status; /* of what failed inside of the measurement */
    bool tells; /* stderr is a terminal */
    double began; /* when the first run did */
    scaling *scaling;
    findings findings;
    char *command;
    bool all;        /* of the usual models, as nobody named one */
    json_t *models; /* of the report, one after the other */
} scale;

/* scale_measure.c: open what each count trains, and time it. */
int scale_measure(scale *s);

#endif
