/* SPDX-License-Identifier: BSD-3-Clause */
/* Short trainings with known results: the promise of bits, in the user's hands.
 * verify_runs.c has the runs, verify_hashes.txt their results where the library
 * was made (verify_table is written of it), verify.c compares. */
#ifndef VERIFY_H
#define VERIFY_H

#include <lockstep.h>

enum { VERIFY_STEPS = 3, VERIFY_ROWS = 48, VERIFY_TENSORS = 64 };

/* The training of a run. */
typedef struct verify_run {
    const char *name;
    ls_node *(*build)(ls_graph *g); /* its model, to the loss */
    const char *like;  /* the run whose bytes it must give; NULL: its own */
    const char *backend;
    ls_precision precision;
    ls_optimizer_kind optimizer;
    ls_schedule_kind schedule;
    ls_mean mean;
    ls_state state;
    int devices; /* 0: 8 */
    int workers; /* 0: as many as are of use */
    int accumulate;
    double clip_norm;
    bool masked; /* some rows have weight 0, others 0.5 */
} verify_run;

/* Run i = 0, 1, ..; NULL past the last. */
const verify_run *verify_run_at(int i);

/* The rows of step `step`, VERIFY_ROWS of them, into memory that lives until
 * the next call.  Words of a random stream, so the same everywhere. */
int verify_rows(ls_batch *batch, const verify_run *run, int step);

/* The result of each step of a run: the state hash, and a digest of each
 * parameter and moment, in the order of names. */
typedef struct verify_step {
    char state[65];
    int tensors;
    uint32_t digest[VERIFY_TENSORS];
} verify_step;

typedef struct verify_known {
    const char *name; /* the run's */
    verify_step step[VERIFY_STEPS];
} verify_known;

extern const verify_known verify_table[]; /* ends with a name of NULL */

typedef struct verify_options {
    bool json;      /* an object for each level, and PU, not a line a run */
    bool each_core; /* each PU by itself computes them all */
    double minutes; /* again and again for so long, each level for an equal
                       part of it, and no longer; 0: once */
    double end;     /* verify's own: of a level's part, */
    bool again;     /* and this is not its first round */
} verify_options;

/* Run them all on the levels of this CPU that keep the contract, or on the one
 * that LS_ISA names.  Returns as a stage of a tool does. */
int verify(const verify_options *o);

#endif
