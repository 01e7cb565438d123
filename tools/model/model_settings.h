/* SPDX-License-Identifier: BSD-3-Clause */
/* Command line settings of a model: its sizes, and its start. */
#ifndef TOOLS_MODEL_SETTINGS_H
#define TOOLS_MODEL_SETTINGS_H

#include "data/onnx_file.h"
#include "model/embed.h"
#include "opt/opt.h"

/* Sizes follow the data once it is loaded. */
typedef struct model_settings {
    int64_t d_in, d_out, classes;
    const char *hidden;   /* widths, "512,512"; checked by load */
    int64_t activation;   /* MODEL_RELU.. */
    int64_t recipe;       /* of table; else MODEL_PLAIN */
    double smoothing;     /* of labels */
    int64_t select;       /* SELECT_AUTO.. */
    bool calibrate;       /* a temperature is fitted on rows held back */
    bool mixes;           /* images have two labels, by --augment mixup */
    int64_t ensemble;     /* members of table */
    bool of_old;          /* a run of before a few rows had four, again */
    double periodic;      /* deviation of its waves' weights; 0: there are
                             none */
    double dropout;       /* rate */
    int64_t initialiser;  /* of kernels; 0: as layers have it, else 1 + its
                            number for ls_init_name */
    const char *image;    /* "32x32x3"; checked by load */
    char image_room[64];  /* for image when it follows the data */
    int64_t depth, width; /* of resnet */
    const char *channels; /* of convolutions, "32,64"; checked by load */
    int64_t vocab, seq_len, d_model, heads, layers, d_ff;
    int64_t norm;           /* MODEL_LAYER.. */
    int64_t positions, ffn; /* of gpt: model_settings.c has their words */
    double norm_epsilon;          /* of their norms */
    int64_t kv_heads;             /* 0: heads */
    bool tie;
    int64_t start; /* of gpt: its words are there, too */
    double residual_dropout; /* 0: dropout's */
    int64_t cell, units;     /* MODEL_LSTM, MODEL_GRU */
    int64_t window, horizon; /* of a series; window 0: none */
    const char *file;   /* of onnx: its path, checked by load */
    int64_t loss;       /* of onnx: MODEL_CROSS_ENTROPY.. */
    const char *output; /* that it is of; NULL: the first */

    /* Set by load, or before build. */
    embedding words;      /* of --text-columns */
    const ls_coding *coding; /* of the table; the data's */
    bool regression;
    double low, high; /* of the targets of a table's regression */
    bool rounds; /* inputs are rounded to bf16 */
    onnx_file network; /* of onnx; open until the trainer is closed */
    const char *x, *y; /* names of inputs of onnx; NULL: "x", "y" or none */
    bool classes_first; /* of onnx: of outputs (classes,..), as images have */
    bool unscored;      /* its output says nothing that figures could tell */
} model_settings;

enum { MODEL_LSTM, MODEL_GRU };
enum {
    MODEL_LAYER, MODEL_RMS, MODEL_BATCH, MODEL_SHARD, MODEL_GROUP, MODEL_STORED
};
enum {
    MODEL_CROSS_ENTROPY, MODEL_MSE, MODEL_MAE, MODEL_HUBER, MODEL_BCE, MODEL_KL,
    MODEL_NONE
};
enum { MODEL_PLAIN, MODEL_TD, MODEL_TD_S };
enum {
    MODEL_RELU, MODEL_TANH, MODEL_GELU, MODEL_SIGMOID, MODEL_SELU, MODEL_MISH
};

typedef struct start_settings {
    const char *init, *init_only;
    int64_t lora; /* rank of adapters; 0: none */
    double lora_alpha;
    const char *lora_on; /* patterns of names, by commas */
    const char *lora_init;
    int64_t lora_save; /* ADAPT_.. */
} start_settings;

enum { ADAPT_ALONE, ADAPT_MODEL, ADAPT_MERGED };

/* Options of a model's sizes; of its start. */
extern const opt_rows model_options, start_options;

/* The words of --activation, --cell, --recipe and --loss, which their files
 * define. */
extern const opt_word model_activations[], model_cells[], model_recipes[],
    model_losses[];

#endif
