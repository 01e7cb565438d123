/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line settings of lockstep-train beyond the training of a model: its
 * reports, and what is kept. */
#ifndef TOOLS_TRAIN_SETTINGS_H
#define TOOLS_TRAIN_SETTINGS_H

#include "opt/opt.h"

typedef struct train_settings {
    int64_t log_every;  /* 0: never */
    int64_t eval_every; /* 0: see evaluation_due */
    int64_t top_k;      /* 0: not asked for */
    int64_t early_stop; /* evaluations; 0: never */
    int64_t plateau;    /* evaluations; 0: never */
    double plateau_factor, plateau_least;
    int64_t plateau_cooldown; /* evaluations */
    int64_t sample;           /* bytes; 0: none */
    double temperature;
    int64_t cv;   /* folds; 0: none */
    int64_t tune; /* trials; 0: none */
    const char *tune_file;
    const char *metrics;
    const char *curve; /* a file for the picture; NULL: none */
    const char *trace;
    int64_t trace_level;  /* 1: phases, 2: operators too */
    double stall_seconds; /* 0: nobody watches */
    const char *transcript, *against;
    const char *publish; /* a folder with both; NULL: none */
    const char *published[2]; /* other files in it */
    int64_t transcript_every; /* batches; 0: by the model's size */
    bool transcript_rows, transcript_gradient; /* of each step */
    const char *record; /* STEP[:DEVICE]; NULL: none */
    bool values;        /* in it */
    int64_t stop_at;          /* batches; 0: never */
    const char *save;
    const char *checkpoint;   /* a folder */
    int64_t checkpoint_every; /* batches; 0: at the end only */
    int64_t keep;             /* 0: all */
    bool keep_first;          /* and that of the beginning */
    bool heal;                /* go back to it when a core was wrong */
    bool resume;
    const char *change; /* names of options, by commas */
    const char *config; /* which opt_parse reads */
    bool print_config;
} train_settings;

/* Options of reports; of what is kept. */
extern const opt_rows train_report_options, train_keep_options;

#endif
