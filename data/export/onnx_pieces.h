/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of operators in ONNX.  Each function returns the name of a value. */
#ifndef LS_EXPORT_ONNX_PIECES_H
#define LS_EXPORT_ONNX_PIECES_H

#include "export/onnx.h"

/* The row of the operators in `op`; one without ends a table.  The text has the
 * operators of ONNX that make the same, with their inputs and, after a
 * semicolon, their attributes; whoever reads ONNX can take it the other way.
 *
 *     x0, p0          input 0, parameter 0; * all inputs
 *     v0, i0          a value and an integer that come with the text
 *     rows            a value of as many rows as there are
 *     [first+count]   a constant of integers: sums of numbers and attributes
 *                     of the node; `rank` is its value's, `shape` all of its
 *                     extents, `x0` those of an input, `ones` as many as that
 *                     has less; a list is each of it; a..n: n from a on
 *     low, 0x1p-126   a float: an attribute, or as it stands
 *     name=..         an attribute of ONNX: an integer or a list of them, a
 *                     float if the node's attribute is one, or 'text' */
typedef struct ls__onnx_row {
    const char *op, *text;
    /* NULL, unless no text says it */
    const char *(*make)(ls__onnx *o, const ls__net_node *n);
} ls__onnx_row;

/* Rows with a function: operators with parameters, images and attention. */
extern const ls__onnx_row ls__onnx_layers[];

/* The node that a formula of the table, as "Mul(x, 2)", writes for n, which may
 * be NULL where it says nothing of one; with values and integers of its own; of
 * one value. */
const char *ls__onnx_text(ls__onnx *o, const ls__net_node *n, const char *text);
const char *ls__onnx_text_of(ls__onnx *o, const ls__net_node *n,
                             const char *text, const char *const *v,
                             const int64_t *i);
const char *ls__onnx_of(ls__onnx *o, const char *text, const char *v);

/* Input k of a node. */
const char *ls__onnx_input(const ls__onnx *o, const ls__net_node *n, int k);

/* Room for n zeros and one more; NULL: no memory, and the graph is failed. */
void *ls__onnx_room(ls__onnx *o, int64_t n, size_t size);

/* A constant of equal numbers. */
const char *ls__onnx_equal_floats(ls__onnx *o, ls__onnx_shape shape, float x);

/* Is a parameter among the constants?  From now on it is. */
bool ls__onnx_is_there(ls__onnx *o, const ls__net_param *param);

/* Parameter k as it is, under another shape if one is given. */
const char *ls__onnx_param(ls__onnx *o, const ls__net_node *n, int k,
                           const ls__onnx_shape *shape);

#endif
