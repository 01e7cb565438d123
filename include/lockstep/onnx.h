/* SPDX-License-Identifier: BSD-3-Clause */
/* Models for programs that read ONNX, and graphs that others wrote in it.
 *
 * It is of the library liblockstep_data: lockstep.h does not include it, and
 * programs link with -llockstep_data (pkg-config lockstep_data). */
#ifndef LOCKSTEP_ONNX_H
#define LOCKSTEP_ONNX_H

#include <lockstep/columns.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Write the model for ONNX (opset 20), with its weights as they are now: inputs
 * and outputs under their names, rows first.  The file appears whole or not at
 * all.  LS_ENOTSUP: an operator that ONNX has no word for (your own), or a file
 * of 2 GB and more; LS_EINVAL: an input and an output of one name; LS_EIO;
 * LS_ENOMEM.  A layer or group norm is ONNX's.  ONNX Runtime makes its variance
 * in two passes: where a row's mean is large, it is nearer to the definition
 * than a norm of one pass here (norms.h).  Other libraries may take a row of no
 * steps another way: ONNX Runtime ends an LSTM or GRU on it with zeros, this
 * one with its initial state. */
LS_API int ls_predictor_save_onnx(ls_predictor *predictor, const char *path);

/* Write a model of a table with what its columns are: each is an input (rows,1)
 * under its name, of text a string as the table has it ("" is missing), of
 * numbers a float (NaN is missing), or a double where floats would be too
 * coarse (the mean is beyond 4096 deviations), of a date one for each of its
 * numbers, "sold.weekday".  Outputs are "label", the class as a string, and
 * "probabilities" (rows, classes) in the order of the target's words, or
 * "value" in the target's unit; where a column is called so, a "_" follows.  Of
 * a series inputs are (rows, window), the target's among them.
 *
 * A row that a prediction refuses (something is missing, or no number) has NaN
 * and the label ""; with missing_mean a word that is not known counts as a
 * missing one.  The file's metadata has the note LS_CODING_NOTE.  Fails as
 * ls_predictor_save_onnx; LS_EINVAL: a column's name begins with a colon, too,
 * or two have one. */
LS_API int ls_table_model_save_onnx(const ls_table_model *model,
                                    const char *path);

/* ------ Graphs of other programs ------ */

/* A model that PyTorch, Keras or another program exported is trained here:
 *
 *     ls_onnx_open(&onnx, "net.onnx");
 *     ls_graph_load_onnx(&graph, onnx, NULL);
 *     y = ls_onnx_node(onnx, NULL);
 *     ls_loss(graph, ls_cross_entropy(y, ls_input(graph, "label", LS_I32, 0,
 *                                                 NULL)));
 *     ls_trainer_open(&trainer, pool, graph, &options);
 *     ls_step(trainer, batch, &result);
 *     ls_onnx_save(onnx, trainer, "trained.onnx");
 *
 * docs/onnx.md has the operators, and how to export. */
typedef struct ls_onnx ls_onnx;

/* Read an ONNX file (opset 13 to 23, IR up to 11), and the files of weights
 * beside it; or one in memory, which is copied and has none.  LS_EFORMAT: it is
 * malformed; LS_ENOTSUP: another version; LS_EIO: a file of weights is missing,
 * a link or in another folder; LS_ENOMEM. */
LS_API int ls_onnx_open(ls_onnx **onnx, const char *path);
LS_API int ls_onnx_open_memory(ls_onnx **onnx, const void *data, size_t bytes);

/* The name of file i = 0, 1, .. of those beside the model that hold weights;
 * NULL past the last. */
LS_API const char *ls_onnx_beside(const ls_onnx *onnx, int i);

/* Close it; NULL is accepted.  Graphs that were loaded from it have to be
 * closed, or opened by trainers, before. */
LS_API void ls_onnx_close(ls_onnx *onnx);

/* Options of reading a graph; ls_onnx_defaults() writes what stands here. */
typedef struct ls_onnx_options {
    size_t size;        /* ls_onnx_defaults() writes it */
    const char *sizes;  /* of axes that the file gives a name only,
                           "steps=64,height=32"; NULL */
    bool channels_last; /* inputs of images, (rows,C,H,W) in the file, are
                           (H,W,C) here, as pictures are; false */
    bool batch_norm;    /* batch norms are trained by their rows' statistics
                           (LS_STATISTICS_OF_BATCH), which an export for
                           inference does not say; false: by those stored */
} ls_onnx_options;

/* Write the default options into the program's struct of `size` bytes. */
LS_API void ls_onnx_defaults_bytes(ls_onnx_options *options, size_t size);
static inline ls_onnx_options ls_onnx_defaults(void)
{
    ls_onnx_options o;

    ls_onnx_defaults_bytes(&o, sizeof o);
    return o;
}

/* Build the graph, which ls_graph_free frees: its inputs and outputs have their
 * names, the first axis of each being the rows, and every initializer of floats
 * that a gradient may reach is a parameter, which starts as it is in the file
 * (so the file must be open until a trainer is).  Constants are parameters that
 * no optimizer moves.  LS_ENOTSUP: something cannot be done here; the message
 * has the first, ls_onnx_problem all of it.  LS_EINVAL: a size is needed, or
 * the options are none; LS_EFORMAT; LS_ENOMEM. */
LS_API int ls_graph_load_onnx(ls_graph **graph, ls_onnx *onnx,
                              const ls_onnx_options *options);

/* What was refused, line i = 0, 1, ..: the node, its operator, the shapes that
 * it reads, and what to do; NULL past the last.  It lives until the next
 * graph is loaded. */
LS_API const char *ls_onnx_problem(const ls_onnx *onnx, int i);

/* The node of an output or an input of the graph that was loaded last, to build
 * a loss on; name NULL: its first output.  NULL with a message: there is none
 * of that name. */
LS_API ls_node *ls_onnx_node(const ls_onnx *onnx, const char *name);

/* Give a predictor (ls_predictor_open_graph) the weights of the file.  Fails as
 * ls_predictor_set. */
LS_API int ls_predictor_load_onnx(ls_predictor *predictor, const ls_onnx *onnx);

/* Write the model again with a trainer's weights, and every other byte as it
 * was; files beside it keep their names, but in the folder of the model that
 * was read, where they are named after the new one (trained.onnx.data).  Each
 * file appears whole or not at all.  LS_EINVAL: a file beside would be written
 * over; LS_ENOTSUP: weights of a type that is not F32 or F64; LS_EIO;
 * LS_ENOMEM. */
LS_API int ls_onnx_save(const ls_onnx *onnx, const ls_trainer *trainer,
                        const char *path);

/* The order of axes that the file has its weights in, for ls_save_options.axes
 * of a trainer on the graph that was loaded last: a model file whose arrays are
 * those of the file, which PyTorch's load_state_dict takes where the names are
 * PyTorch's.  It lives until the next graph is loaded; NULL: no memory, or no
 * order of axes says it (a transposed convolution is turned round here). */
LS_API const char *ls_onnx_axes(ls_onnx *onnx);

#ifdef __cplusplus
}
#endif

#endif
