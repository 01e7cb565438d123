/* SPDX-License-Identifier: BSD-3-Clause */
/* The setup of training in a tool, in the order it is opened: options, mesh,
 * data, pool, trainer. lockstep-train and lockstep-scale make them the same
 * way, so that what is measured is what is trained.
 *
 * A function that can fail returns OPT_GO, or has said what is wrong. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include "model/model.h"
#include "run/apart.h"
#include "run/launch.h"
#include "run/run_settings.h"

/* The options that a program has beyond those of a run, which stand between
 * these: what it reports, and what it keeps. */
typedef struct run_own {
    opt_rows report, keep;
    void *settings;
} run_own;

typedef struct run {
    opt_program program;
    settings set;     /* the rows and the model, */
    run_settings how; /* and how it is trained */
    opt_line line;
    bool is_fold;   /* of a measurement: the batch is as large as it says */
    bool sums;      /* the rows are to be told from others, */
    bool sums_held; /* those that are evaluated on, too */
    const model *model;
    data data;
    char products[LS_TEXT]; /* backend of products; f32 layers: "" */
    launch *launch;                /* the ranks; NULL: there is one */
    const ls_transport *transport; /* to other ranks; NULL: there are none */
    char cpus[4096]; /* this rank's part of the machine's cores; or "" */
    bool unpinned;   /* other runs are beside it */
    bool shared;     /* ranks share their cores: there are more of them */
    bool details; /* the mesh knows caches and the CPU's name */
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
} run;

/* Make the program of a run, all zero bytes: the models, and the options of all
 * rooms, which store into the run and into own->settings. */
void run_program(run *r, const char *about, const run_own *own);

/* Read the command line into a run with its program made, all else zero. */
int run_parse(run *r, int argc, char **argv);

/* The name of the model. */
const char *run_model_name(const run *r);

/* Epochs that are finished after `batches`; 0 of a model without epochs. */
int64_t run_epoch(const run *r, int64_t batches);

/* Was this option on the command line? */
bool run_given(const run *r, const char *name);

/* Is this the rank that prints and writes? */
bool run_is_first(const run *r);

/* Refuse options of both tools that do not go together; and those for several
 * ranks, where there is one process. */
int run_check(run *r);
int run_check_alone(const run *r);

/* Options by name, "--batch", and by value. */
typedef struct run_list {
    int count;
    ls_setting setting[OPT_MAX + 8];
    char name[OPT_MAX][OPT_VALUE], room[OPT_MAX][OPT_VALUE];
} run_list;

void run_list_add(run_list *l, const char *name, const char *value);

/* Add those of the model that are wanted, parts as options of their own, by the
 * names that they had before if of_old.  For ranks a file counts only as given
 * or not, since each may have it elsewhere. */
void run_list_options(run_list *l, const run *r, bool of_ranks, bool of_old,
                      bool (*wanted)(const opt *o));

/* All ranks call it: refuse to train if they were told different things. */
int run_compare(const run *r, launch *with);

/* The number of usable cores among these processors (NULL: all). */
int run_cores(const char *cpus, int64_t *cores);

/* Fails for a backend that is not built in, too. */
int run_open_mesh(run *r);

/* Afterwards the settings hold what is done, whichever way it was said. */
int run_open_data(run *r);

/* Tell the mesh and what is to be known about it, on stderr. */
void run_talk(const run *r);

int run_open_pool(run *r);

/* The trainer on r->pool, with its graph, its batch and what fills it, which
 * takes the data over. */
int run_open_trainer(run *r);

/* --ema: put the average of the weights in their place, or back.  Nothing to do
 * without the option, or before there is an average.  All ranks call it. */
int run_average(const run *r, bool use);

/* The instruction level in use. */
const char *run_isa(void);

/* Returns the precision of the layers, and its name. */
ls_precision run_precision(const run *r);
const char *run_precision_name(const run *r);

/* Close what is open. */
void run_close(run *r);

#endif
