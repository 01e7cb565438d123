/* SPDX-License-Identifier: BSD-3-Clause */
/* One of the runs of --verify: trained, and held against what is recorded. */
#ifndef RERUN_H
#define RERUN_H

#include "info/verify.h"

typedef struct rerun {
    const verify_run *run;
    int pu;                   /* computes it alone; -1: as the run says */
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
    verify_step got[VERIFY_STEPS];
    int number[VERIFY_TENSORS]; /* of tensor(), for each digest */
    char difference[LS_TEXT]; /* empty: the bytes are those recorded */
} rerun;

/* Train it; a negative status, and ls_errmsg(), where that fails. */
int rerun_train(rerun *t);

/* Train it once more, where one PU computed it: does that differ from itself?
 * It does on the worst cores.  A status as before. */
int rerun_again(rerun *t);

void rerun_close(rerun *t);

#endif
