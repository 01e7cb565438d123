/* SPDX-License-Identifier: BSD-3-Clause */
/* What operators are made of in ONNX.  Each function returns the name of a
 * value. */
#ifndef LS_ONNX_ONNX_PIECES_H
#define LS_ONNX_ONNX_PIECES_H

#include "onnx/onnx.h"

/* Types of Cast. */
enum { LS__ONNX_FLOAT = 1, LS__ONNX_INT64 = 7, LS__ONNX_BFLOAT16 = 16 };

/* An operator that is more than ls__net_node.onnx is what a function makes; a
 * row without `op` ends a table. */
typedef struct ls__onnx_row {
    const char *op;
    const char *(*make)(ls__onnx *o, const ls__net_node *n);
} ls__onnx_row;

/* Rows of operators with parameters, images and attention, and of all
 * others. */
extern const ls__onnx_row ls__onnx_layers[], ls__onnx_formulas[];

/* Input k of a node. */
const char *ls__onnx_input(const ls__onnx *o, const ls__net_node *n, int k);

/* A call with two inputs. */
const char *ls__onnx_two(ls__onnx *o, const char *type, const char *a,
                         const char *b);

const char *ls__onnx_reshape(ls__onnx *o, const char *x, int rank,
                             const int64_t *shape);
const char *ls__onnx_transpose(ls__onnx *o, const char *x, int rank,
                               const int64_t *order);
const char *ls__onnx_cast(ls__onnx *o, const char *x, int type);

/* Back to the shape of a node's value. */
const char *ls__onnx_shaped_as(ls__onnx *o, const char *x,
                               const ls__net_node *n);

/* Is a parameter among the constants?  From now on it is. */
bool ls__onnx_is_there(ls__onnx *o, const ls__net_param *param);

/* Parameter k as it is, under another shape if one is given. */
const char *ls__onnx_param(ls__onnx *o, const ls__net_node *n, int k,
                           const ls__onnx_shape *shape);

#endif
