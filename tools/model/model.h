/* SPDX-License-Identifier: BSD-3-Clause */
/* The models the tools can train: what each is called, which defaults it has,
 * its data and its graph.  A new model is a file model_*.c that ends with its
 * row, this row's name in the table of model.c, and the model's name in the
 * rows of the options that only some models take (model_settings.c,
 * data_settings.h). */
#ifndef TOOLS_MODEL_H
#define TOOLS_MODEL_H

#include "data/data.h"
#include "data/data_settings.h"
#include "model/model_settings.h"

/* Settings of a model: the rows, its sizes, its start. */
typedef struct settings {
    data_settings data;
    model_settings model;
    start_settings start;
} settings;

enum { MODEL_LAYERS = 64, MODEL_GROUPS = MODEL_LAYERS + 8, MODEL_NAME = 32 };

/* The pool and options that a trainer was opened with. */
typedef struct model_means {
    ls_pool *pool;
    const ls_trainer_options *options;
} model_means;

typedef struct model {
    ls_keys keys;
    bool parallel_only; /* one device is refused unless --allow-single */
    bool tokens;        /* its inputs are no floats that could be rounded */
    bool epochs;        /* a line for each epoch, with its accuracy */
    bool last_best; /* of evaluations that are equal the last is the best */
    /* May change the settings: sizes, and shuffle where it was not said. */
    int (*load)(data *d, settings *s, const opt_line *line);
    /* NULL, or: hands over the graph that build goes on with; else it is a new
     * one. */
    ls_graph *(*graph)(model_settings *s);
    void (*build)(ls_graph *g, const model_settings *s); /* errors stick to g */
    /* NULL, or: groups of parameters, in the order of their making (names may
     * be in room); the learning rate that belongs to the data; and first values
     * that depend on the rows, a status of the library's. */
    int (*groups)(const model_settings *s, ls_group group[MODEL_GROUPS],
                  char room[MODEL_GROUPS][MODEL_NAME]);
    double (*lr)(const model_settings *s);
    int (*start)(ls_trainer *t, const data *d, const settings *s,
                 const model_means *with);
} model;

/* Marks of the options that a table's recipe, or its target, leaves without
 * effect. */
unsigned model_table_idle(const model_settings *s);

extern const opt_model model_linear, model_mlp, model_cnn, model_lm, model_gpt,
    model_rnn, model_table, model_resnet, model_onnx;

/* All of them, as opt_program has them; each impl is of type model. */
enum { MODELS = 9 };
extern const opt_model *const models[MODELS];

#endif
