/* The models the tools can train: what each is called, which defaults it has,
 * its data and its graph.  A new model is a file model_*.c that ends with its
 * row, this row's name in the table of model.c, and the model's name in the
 * rows of the options that only some models take. */
#ifndef TOOLS_MODEL_H
#define TOOLS_MODEL_H

#include "data/data.h"
#include "model/embed.h"
#include "model/knobs.h"
#include "opt/opt.h"

/* What the command line says.  Sizes follow the data once it is loaded. */
typedef struct settings {
    int64_t devices; /* 0: the usable cores */
    int64_t workers; /* 0: min(devices, usable cores) */
    const char *cpus; /* NULL: any */
    bool allow_single;
    int64_t seed, data_seed;
    const char *x, *y, *mask, *data, *eval_data, *eval_x, *eval_y;
    const char *target, *ignore; /* columns of a table */
    int64_t task;                /* CODING_AUTO.. */
    int64_t missing;             /* CODING_REFUSE.. */
    const char *text_columns;    /* checked by load */
    embedding words;             /* what it says */
    const coding *coding;        /* of the table, once the data is loaded; the
                                    data's */
    double valid;                /* share of the rows that is held back */
    int64_t balance;             /* 1: classes weigh the same */
    bool regression;             /* once the data is loaded */
    int64_t top_k;               /* 0: not asked for */
    int64_t early_stop;          /* evaluations; 0: never */
    int64_t plateau;             /* evaluations; 0: never */
    double plateau_factor, plateau_least;
    int64_t plateau_cooldown;    /* evaluations */
    const char *curve;           /* a file for the picture; NULL: none */
    const char *norm_mean, *norm_std; /* of images: lists of numbers */
    int64_t rows, d_in, d_out;
    int64_t classes;
    const char *hidden; /* widths, "512,512"; checked by load */
    int64_t activation; /* model_image.c */
    double dropout;     /* rate */
    int64_t initialiser; /* of kernels; 0: as layers have it, else 1 + its
                            number for ls_init_name */
    const char *image;    /* "32x32x3"; checked by load */
    char image_room[64];  /* for image when it follows the data */
    const char *channels; /* of convolutions, "32,64"; checked by load */
    int64_t vocab, seq_len, d_model, heads, layers, d_ff;
    int64_t norm, positions, ffn; /* of gpt: model.c has their words */
    int64_t kv_heads;             /* 0: heads */
    bool tie;
    double residual_dropout;      /* 0: dropout's */
    int64_t cell, units; /* MODEL_LSTM, MODEL_GRU */
    int64_t window, horizon; /* of a series; window 0: none */
    int64_t batch;            /* 0: all rows, until the data is there */
    int64_t batch_per_device; /* 0: batch counts */
    int64_t steps;
    int64_t epochs;    /* 0: steps count */
    int64_t uneven;    /* UNEVEN_DROP, UNEVEN_PAD */
    int64_t optimizer; /* an ls_optimizer_kind */
    double lr;
    knobs of_optimizer; /* its other options */
    int64_t schedule;   /* an ls_schedule_kind */
    int64_t warmup;
    int64_t decay_steps; /* 0: steps */
    int64_t cycle_factor;
    knobs of_schedule;   /* its other options */
    const char *boundaries;
    bool scale_lr;
    double clip_norm;  /* 0: no clipping */
    double clip_value; /* 0: none either */
    const char *freeze; /* patterns of names, by commas; NULL: none */
    bool no_decay;      /* of biases and of scales of norms */
    double ema;         /* decay of an average of the weights; 0: none */
    int64_t accumulate;
    int64_t bucket; /* bytes; 0: the library's own */
    int64_t precision; /* PRECISION_.. */
    int64_t mean;      /* an ls_mean */
    const char *state; /* a placement of ls_state_place */
    const char *axes;  /* of the mesh, behind the data axis: "model:2" */
    bool shuffle, no_shuffle;
    int64_t log_every;  /* 0: never */
    int64_t eval_every; /* 0: see evaluation_due */
    int64_t sample;     /* bytes; 0: none */
    double temperature;
    const char *metrics, *init, *init_only, *save, *backend;
    int64_t init_layout; /* INIT_.. */
    const char *init_names;
    int64_t lora; /* rank of adapters; 0: none */
    double lora_alpha;
    const char *lora_on; /* patterns of names, by commas */
    const char *lora_init;
    int64_t lora_save; /* ADAPT_.. */
    const char *trace;
    int64_t trace_level;  /* 1: phases, 2: operators too */
    double stall_seconds; /* 0: nobody watches */
    const char *checkpoint;   /* a folder */
    int64_t checkpoint_every; /* batches; 0: at the end only */
    int64_t keep;             /* 0: all */
    bool resume;
    const char *change; /* names of options, by commas */
    bool explain; /* the first step */
    struct {                /* lockstep-scale's own */
        const char *counts; /* of workers, "1,2,4"; NULL: up to the cores */
        const char *ranks;  /* likewise; NULL: up to those that there are */
        double network;     /* Gb/s of each; 0: as fast as memory */
        bool weak, no_roofs;
        int64_t repeats, steps; /* steps 0: about half a second of them */
        const char *json, *csv, *plot;
    } scale;
} settings;

enum { UNEVEN_DROP, UNEVEN_PAD };
enum { MODEL_LSTM, MODEL_GRU };
enum { INIT_FLAX, INIT_TORCH };
enum { ADAPT_ALONE, ADAPT_MODEL, ADAPT_MERGED };
enum {
    PRECISION_F32,
    PRECISION_BF16,
    PRECISION_F32X3,
    PRECISION_F32X6,
    PRECISION_BF16_INPUT
};

typedef struct model {
    ls_keys keys;
    bool parallel_only; /* one device is refused unless --allow-single */
    bool tokens;        /* its inputs are no floats that could be rounded */
    bool epochs;        /* a line for each epoch, with its accuracy */
    /* May change the settings: sizes, and shuffle where it was not said. */
    int (*load)(data *d, settings *s, const opt_line *line);
    void (*build)(ls_graph *g, const settings *s); /* errors stick to g */
} model;

extern const opt_model model_linear, model_mlp, model_cnn, model_lm, model_gpt,
    model_rnn;

/* The words of --activation. */
extern const opt_word model_activations[];

/* The words of --cell. */
extern const opt_word model_cells[];

/* Make the program of a tool that trains models: the table of models, whose
 * impl are of type model, and the options that this tool takes, which store
 * into settings. */
void model_program(opt_program *program, const char *about);

#endif
