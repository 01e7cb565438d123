/* SPDX-License-Identifier: BSD-3-Clause */
/* A model is a file.
 *
 * A model file holds the weights under their names, as ls_trainer_save writes
 * them, and in its metadata the graph.  It is opened without the code that made
 * it: for inference by ls_predictor_load (lockstep/predictor.h), and to go on
 * training by
 *
 *     ls_graph_load(&graph, "model.safetensors");
 *     ls_trainer_open(&trainer, pool, graph, &options);
 *     ls_trainer_load(trainer, "model.safetensors", NULL);
 *
 * docs/model-file.md describes the format.  A file that this version writes
 * opens in every later one. */
#ifndef LOCKSTEP_MODEL_H
#define LOCKSTEP_MODEL_H

#include <lockstep/archive.h>
#include <lockstep/trainer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Write weights and graph.  The file appears whole or not at all.  LS_ENOTSUP:
 * the graph has an operator or a loss of your own, whose functions no file can
 * hold, or the model is a gradient function; ls_trainer_save writes the weights
 * alone.  LS_EIO, LS_EINVAL (a name is not UTF-8), LS_ENOMEM. */
LS_API int ls_trainer_save_model(const ls_trainer *trainer, const char *path);

/* The contents of a file. */
typedef enum ls_save_kind {
    LS_SAVE_MODEL,    /* weights and graph */
    LS_SAVE_ADAPTERS, /* those alone, and a SHA-256 of all other parameters,
                         which they are for (lockstep/lora.h) */
    LS_SAVE_MERGED    /* weights and graph of the model without adapters, whose
                         weights are W + (alpha / rank) A B, summed in double
                         and rounded once: what it computes differs from what
                         the trainer computes only by rounding */
} ls_save_kind;

typedef struct ls_save_options {
    size_t size; /* ls_save_defaults() writes it */
    ls_save_kind kind;
    int n_notes;             /* texts of your own in the metadata, where */
    const ls_setting *notes; /* ls_archive_note finds them: what a program must
                                know to use the model */
    const char *axes; /* of parameters whose arrays lie in another order in the
                         file, {"fc.weight":[1,0]}: axis i of the array is axis
                         list[i] of the parameter, and those left out have one
                         element.  The file says so, and whatever reads a model
                         file goes by it; NULL: all as in the graph.  (Adapters
                         alone are as in the graph.) */
    const char *filled;      /* a parameter all of whose elements are `fill` in
                                the file, whatever they are in the trainer;
                                NULL: none */
    float fill;
} ls_save_options;

/* Returns the default options: a model without notes, as in the graph. */
LS_API void ls_save_defaults_bytes(ls_save_options *options, size_t size);
static inline ls_save_options ls_save_defaults(void)
{
    ls_save_options o;

    ls_save_defaults_bytes(&o, sizeof o);
    return o;
}

/* Write a file by options; ls_trainer_save_model is the same by default.  The
 * file appears whole or not at all.  LS_ENOTFOUND: no parameter has the name
 * `filled`; LS_EINVAL: there are no adapters, a note's name is there twice or
 * is one that the file has itself, or a text is not UTF-8; LS_EFORMAT: `axes`
 * does not say orders of axes; else as ls_trainer_save_model. */
LS_API int ls_trainer_save_with(const ls_trainer *trainer, const char *path,
                                const ls_save_options *options);

/* Build the graph that a model file holds; ls_graph_free frees it.  LS_EIO;
 * LS_EFORMAT: the file is malformed or damaged; LS_ENOTFOUND: it has weights
 * but no graph; LS_ENOTSUP: an operator or a version this lockstep does not
 * know; LS_ENOMEM. */
LS_API int ls_graph_load(ls_graph **graph, const char *path);

/* Build what the first output of a model file needs behind x, which takes the
 * place of its only input, in x's graph; returns that output.  Names of layers
 * and parameters begin with "scope."; weights are not read.  Several networks
 * so become one (ls_table_model_join).  Errors stick to the graph: the input is
 * of another shape, or not the only one, and as for ls_graph_load. */
LS_API ls_node *ls_graph_add_saved(ls_node *x, const char *scope,
                                   const char *path);

/* Open a trainer's graph and parameters as an archive, as if they had been
 * written by ls_trainer_save_model: arrays of aligned floats, which change when
 * the trainer steps and live as long as it, and the note "lockstep.graph", in
 * which every attribute stands and operators of your own say that they are.  A
 * gradient function of your own has no graph.  LS_ENOMEM. */
LS_API int ls_archive_of_trainer(ls_archive **archive,
                                 const ls_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
