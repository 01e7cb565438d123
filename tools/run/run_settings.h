/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line settings of training: who computes, the rule, the precision. */
#ifndef TOOLS_RUN_SETTINGS_H
#define TOOLS_RUN_SETTINGS_H

#include "model/optim_settings.h"

typedef struct run_settings {
    int64_t devices;  /* 0: the usable cores */
    int64_t workers;  /* 0: min(devices, usable cores) */
    const char *cpus; /* NULL: any */
    bool allow_single;
    int64_t seed;
    int64_t optimizer; /* an ls_optimizer_kind */
    double lr;
    optim_settings of_optimizer; /* its other options */
    int64_t schedule;   /* an ls_schedule_kind */
    int64_t warmup;
    int64_t decay_steps; /* 0: steps */
    int64_t cycle_factor, cycles;
    optim_settings of_schedule; /* its other options */
    const char *boundaries;
    int64_t decay_schedule, dropout_schedule; /* shares of peak 1 */
    bool scale_lr;
    double clip_norm;   /* 0: no clipping */
    double clip_value;  /* 0: none either */
    const char *freeze; /* patterns of names, by commas; NULL: none */
    bool no_decay;      /* of biases and of scales of norms */
    double ema;         /* decay of an average of the weights; 0: none */
    int64_t accumulate;
    const char *check; /* "0.01", "all"; NULL or "": no steps are checked */
    int64_t bucket;    /* bytes; 0: the library's own */
    int64_t precision; /* PRECISION_.. */
    const char *state; /* a placement of ls_state_place */
    const char *axes;  /* of the mesh, behind the data axis: "model:2" */
    int64_t mean;      /* an ls_mean */
    const char *backend;
} run_settings;

enum {
    PRECISION_F32,
    PRECISION_BF16,
    PRECISION_F32X3,
    PRECISION_BF16_INPUT
};

/* Options of who computes; of the rule of updates and its rate; of a step. */
extern const opt_rows run_mesh_options, run_optimizer_options,
    run_schedule_options, run_step_options, run_backend_options;

#endif
