/* One run of a measurement of scaling, and what a measurement holds. */
#ifndef LS_SCALE_SCALING_RUN_H
#define LS_SCALE_SCALING_RUN_H

#include "scale/scaling.h"
#include "scale/scaling_ranks.h"

typedef struct ls__sample ls__sample;

/* What a run leaves. */
typedef struct ls__outcome {
    char warm[65], state[65]; /* hashes after the first steps, and all */
    int64_t rows;
    double seconds;
    ls_times mean, max;
} ls__outcome;

typedef struct ls__measurement {
    ls_scaling_options o;
    ls_mesh_options mesh; /* o.mesh, whole */
    ls__party *party;     /* rising counts of ranks */
    int parties;
    ls_scaling *s;
    int steps;          /* 0: the first run will say */
    ls__sample *sample; /* [steps] */
    ls__outcome *of;    /* [point * repeats + repeat] */
} ls__measurement;

/* The ranks of a count. */
const ls__party *ls__scaling_party(const ls__measurement *m,
                                   const ls_scaling_point *p);

/* Run a count once.  The first run of it also looks at what does not change. */
int ls__scaling_run_once(ls__measurement *m, ls_scaling_point *p, bool first,
                         ls__outcome *out);

/* What 1 worker makes of the rows of a count, in the first steps. */
int ls__scaling_reference(ls__measurement *m, int fold, ls__outcome *out);

#endif
