/* SPDX-License-Identifier: BSD-3-Clause */
/* A predictor: a model and the snapshots of its weights. */
#ifndef LS_PREDICT_PREDICTOR_H
#define LS_PREDICT_PREDICTOR_H

#include <lockstep/predictor.h>
#include "pool/call.h"
#include "predict/snapshot.h"
#include "train/copies.h"

struct ls_predictor {
    atomic_int holders;      /* contexts, and the user until it is closed */
    atomic_flag refreshing;
    ls__model model;
    ls__snapshots snapshots; /* of its weights */
    atomic_flag copied;      /* a generator has the copies */
    ls__copies copies;       /* for workers on several NUMA nodes */
    int inputs;
    const ls__input **input; /* those that an output reads */
};

void ls__predictor_hold(ls_predictor *p);
void ls__predictor_drop(ls_predictor *p);

/* Run a job on the workers of a pool, or where that is NULL on the calling
 * thread alone.  LS_EBUSY. */
int ls__predictor_run(ls_pool *pool, const char *name, ls__job *job,
                      void *user);

#endif
