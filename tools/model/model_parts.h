/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of models, and checks of their data. */
#ifndef TOOLS_MODEL_PARTS_H
#define TOOLS_MODEL_PARTS_H

#include "model/model.h"

/* A size named by the user must be the data's; otherwise it becomes it. */
int model_follow(const opt_line *line, const char *name, int64_t *size,
                 int64_t actual, const char *path);

/* Rows of --x, and of --y of that type and number of axes; sizes follow them.
 */
int model_load_arrays(data *d, settings *s, const opt_line *line, ls_dtype y,
                      int rank);

/* Files are --data, or --x with --y; a mask weighs the latter.
 * model_load_rest loads that mask, and the arrays to evaluate on. */
int model_check_files(const settings *s);
int model_load_rest(data *d, const settings *s);

/* --hidden and --channels: *n widths in order. */
int model_widths(const char *option, const char *text,
                 int64_t widths[MODEL_LAYERS], int *n);

/* The sizes of "32x32x3", height first. */
int model_image_size(const char *text, int64_t size[3]);

/* Images as they are named by --data, or by --x and --y. */
int model_image_files(data *d, settings *s, const opt_line *line);

/* Tell a table by its name; a reader says of a file that it is not there. */
bool model_names_table(const char *path);

/* --data or --x as images, or noise, for cnn and resnet. */
int model_load_images(data *d, settings *s, const opt_line *line);

/* Defaults of mlp and rnn for a table: it is small, so 10 epochs are next to
 * nothing, and its last batch is padded, so that every row counts. */
void model_table_defaults(settings *s, const opt_line *line);

/* --data as a table for mlp and table: rows, sizes, what is held back. */
int model_table_rows(data *d, settings *s, const opt_line *line);

/* The function of --activation; below 0: NULL. */
ls_node *(*model_activation(int64_t activation))(ls_node *x);

/* An input of floats in the precision asked for. */
ls_node *model_rounded(ls_node *x, const model_settings *s);

/* Rate 0 is no layer: Flax's would take a key from the layers after it. */
ls_node *model_drop(ls_node *x, double rate, const char *name);

/* The loss of labels; where images are mixed, of both labels by their shares:
 * then g has the inputs "other" and "share". */
ls_node *model_label_loss(ls_graph *g, ls_node *logits, ls_node *labels,
                          double smoothing, const model_settings *s);

/* The loss of onnx, on its output. */
void model_onnx_build(ls_graph *g, const model_settings *s);

/* A dense layer without a bias. */
ls_node *model_product(ls_node *x, int64_t n, const char *name);

#endif
