/* What a tool opens to train a model, in the order it is opened: options, mesh,
 * data, pool, trainer.  lockstep-train and lockstep-scale make them the same
 * way, so that what is measured is what is trained.
 *
 * Every function returns OPT_GO, or has said what is wrong. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include "metrics.h"
#include "model.h"
#include "progress.h"

typedef struct run {
    const opt_program *program;
    settings set;
    opt_line line;
    const model *model;
    data data;
    bool details; /* the mesh knows caches and the CPU's name */
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
    /* lockstep-train's own */
    metrics metrics;
    progress bar;
    double loss, right, weight; /* sums over the epoch so far */
} run;

/* Read the command line into a run of zero bytes. */
int run_parse(run *r, const opt_program *program, int argc, char **argv);

/* Was this option on the command line? */
bool run_given(const run *r, const char *name);

/* Refuse options that do not go together. */
int run_check(run *r);

int run_open_mesh(run *r);

/* Afterwards the settings hold what is done, whichever way it was said. */
int run_open_data(run *r);

/* Tell the mesh and what is to be known about it, on stderr. */
int run_talk(run *r);

int run_open_pool(run *r);

/* The trainer on r->pool, with its graph and batch. */
int run_open_trainer(run *r);

/* Close what is open. */
void run_close(run *r);

#endif
