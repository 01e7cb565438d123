/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line settings of the rows: where they are, what is done with them,
 * and how they are cut into batches. */
#ifndef TOOLS_DATA_SETTINGS_H
#define TOOLS_DATA_SETTINGS_H

#include "opt/opt.h"

/* Parts of rows of options: the models that take one, by the data that they
 * take, and what may differ when a run goes on: lengths, logs, places, who
 * computes what; where files are (the data is compared by what it is); the
 * backend, which shows in no bit; and ways to say what the trainer's own
 * options hold. */
#define ALL NULL
#define FOR(...) (const char *const[]){__VA_ARGS__, NULL}
#define CLASSIFIERS "mlp", "cnn", "resnet"
#define IMAGES CLASSIFIERS, "onnx"
#define TOKENS "lm", "gpt"
#define TEXT "gpt", "rnn"
#define ROWS "linear", "lm", IMAGES
#define TABLES "mlp", "rnn", "table", "onnx"

#define TRAIN .only = "lockstep-train"
#define MAY_DIFFER .may_differ = true
#define REPLAYED MAY_DIFFER, .is_replayed = true
#define READS REPLAYED, .is_file = true, .use = OPT_READ
#define EACH_RANK .of_rank = true
#define MAY_CHANGE .may_change = true
#define NEEDS_ABOVE_0(names) .needs = names, .needs_value = true

/* The marks of rows: what an option is of no use without, and what of a run a
 * trial leaves out. */
enum {
    OF_RANKS = 1 << 0,    /* several of them */
    OF_HELD = 1 << 1,     /* rows to evaluate on */
    OF_ALL = 1 << 2,      /* a single training, which --cv is not */
    NO_TRIAL = 1 << 3,    /* what trials do without */
    OF_END = 1 << 4,      /* rows that have an end: no text, no noise */
    OF_TEXT = 1 << 5,
    OF_TABLE = 1 << 6,    /* where a model takes other rows, too */
    OF_IMAGES = 1 << 7,   /* of files */
    OF_PICTURES = 1 << 8, /* images of a file each */
    OF_FILES = 1 << 9,    /* rows of files */
    OF_DECAY = 1 << 10,   /* decay of weights */
    OF_DROPOUT = 1 << 11,
    OF_CLASSES = 1 << 12, /* targets that are classes, and no numbers */
};

/* Sizes follow the data once it is loaded. */
typedef struct data_settings {
    int64_t seed;
    const char *x, *y, *mask, *path, *eval_path, *eval_x, *eval_y;
    const char *target, *ignore;      /* columns of a table */
    int64_t task;                     /* LS_TABLE_AUTO.. */
    int64_t missing_target;           /* DATA_REFUSE, DATA_DROP */
    int64_t missing;                  /* DATA_REFUSE.. */
    const char *text_columns;         /* checked by load */
    const char *weights, *group, *time; /* columns of a table */
    int64_t fold, folds;              /* of --cv, which a trial leaves out */
    double valid;                     /* share of the rows that is held back */
    int64_t balance;                  /* 1: classes weigh the same */
    const char *norm_mean, *norm_std; /* of images: lists of numbers */
    const char *augment; /* of images; checked by load */
    int64_t image_fit;                /* of pictures: ls_image_fit */
    bool skip_broken;                 /* and those that cannot be read */
    int64_t rows;

    int64_t batch;            /* 0: all rows, until the data is there */
    int64_t batch_per_device; /* 0: batch counts */
    int64_t steps;
    int64_t epochs; /* 0: steps count */
    int64_t uneven; /* UNEVEN_DROP, UNEVEN_PAD */
    bool shuffle, no_shuffle;
} data_settings;

enum { UNEVEN_DROP, UNEVEN_PAD };

/* Options of the rows; of how they are cut. */
extern const opt_rows data_options, data_cut_options;

#endif
