/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a measurement of scaling, and what a measurement holds. */
#ifndef TOOLS_SCALING_RUN_H
#define TOOLS_SCALING_RUN_H

#include "scale/scaling_ranks.h"

typedef struct sample sample;

/* The outcome of a run. */
typedef struct outcome {
    char warm[65], state[65]; /* hashes after the first steps, and all */
    int64_t rows;
    double seconds;
    ls_times mean, max;
} outcome;

typedef struct measurement {
    scaling_options o;
    ls_mesh_options mesh; /* o.mesh, whole */
    rank_party *party;     /* rising counts of ranks */
    int parties;
    scaling *s;
    int steps;          /* 0: the first run will say */
    sample *sample; /* [steps] */
    outcome *of;    /* [point * repeats + repeat] */
} measurement;

/* The ranks of a count. */
const rank_party *scaling_party(const measurement *m,
                                   const scaling_point *p);

/* Run a count once.  The first run of it also looks at what does not change. */
int scaling_run_once(measurement *m, scaling_point *p, bool first,
                         outcome *out);

/* The reference: 1 worker on the rows of a count, in the first steps. */
int scaling_reference(measurement *m, int fold, outcome *out);

#endif
