/* SPDX-License-Identifier: BSD-3-Clause */
/* What a name of an ONNX graph stands for while it is read: numbers that are
 * known, an initializer, or a node of ours.
 *
 * An ONNX axis of a node is a product of atoms: the rows, which no node of ours
 * has as an axis, and axes of the node, in any order.  So a transpose is a new
 * order of atoms, a reshape groups them anew, and neither moves a number:
 * (rows,C,H,W) may be a node (H,W,C) through a whole network, and (T,rows
 * heads,d), where rows are merged with heads, one of (heads,T,d).  Only who
 * wants a node's axes in an order of their own moves them. */
#ifndef LS_IMPORT_VALUE_H
#define LS_IMPORT_VALUE_H

#include "import/om.h"

#include <lockstep/ops.h>

/* The number of rows in shapes: a prime, above all other sizes, so what is a
 * multiple of it is of the rows. */
#define LS__ROWS INT64_C(2147483659)

enum { LS__ATOMS = 16, LS__ROW = -1 };

typedef struct ls__atom {
    int64_t size;
    int axis;  /* of ONNX's shape */
    int place; /* axis of the node, or LS__ROW */
} ls__atom;

typedef enum ls__named_kind {
    LS__UNKNOWN, /* its node was refused */
    LS__NUMBERS,
    LS__WEIGHT,
    LS__NODE,
    LS__SEQUENCE, /* a node cut into parts of `part` along axis `along` */
    LS__PIECES    /* rows of initializers, which a cell's gates may be */
} ls__named_kind;

typedef struct ls__weight ls__weight; /* reader.h */

/* Rows of an initializer, along its first axis. */
typedef struct ls__strip {
    ls__weight *weight;
    int64_t first, count, width; /* numbers of a row; 0: it has one axis */
} ls__strip;

typedef struct ls__named {
    const char *name;
    ls__named_kind kind;
    int rank;
    int64_t shape[LS_MAX_RANK];   /* as ONNX has it; rows: LS__ROWS */
    /* LS__NUMBERS */
    bool is_real; /* floats; else integers and booleans */
    double *number;
    int64_t stride[LS_MAX_RANK]; /* while an operator moves them */
    /* LS__WEIGHT: axis k is axis order[k] of the tensor */
    ls__weight *weight;
    int order[LS_MAX_RANK];
    /* LS__PIECES: their rows, one after the other */
    int pieces;
    const ls__strip *piece;
    /* LS__NODE, LS__SEQUENCE */
    bool is_truth; /* of 1 and 0, as a comparison makes it */
    int64_t part;
    int along;
    ls_node *node;
    const ls_node *zeros; /* if it is the node: that is 0 everywhere */
    /* If known_of is the node: numbers that it repeats, in every row too. */
    const struct ls__named *known;
    const ls_node *known_of;
    int atoms;
    ls__atom atom[LS__ATOMS]; /* in the order of ONNX's axes */
} ls__named;

/* All of these return 0 or a status, or a node or NULL, with a message.  A NULL
 * may be given on: builders repeat the last message, and so do these. */

/* What cannot be done; which status it is no caller asks. */
#define ls__refuse(...) ls__fail(LS_ENOTSUP, __VA_ARGS__)

/* A builder's node: 0, or LS_ENOTSUP with its message for NULL. */
static inline int ls__made(const ls_node *node)
{
    return node ? 0 : ls_error(LS_ENOTSUP, ls_errmsg());
}

/* Put a node in the place of another one of its shape. */
static inline int ls__value_with(ls__named *v, ls_node *node)
{
    v->node = node;
    return ls__made(node);
}

/* Make it a node's value: axis k of the node is ONNX's axis order[k]; the axis
 * of rows is none of them, and is there where shape has LS__ROWS. */
int ls__value_set(ls__named *v, ls_node *node, int rank, const int64_t *shape,
                  int axes, const int *order);

/* The node with ONNX's axes in that order, which are all but that of the rows:
 * each one axis, of one element, too. */
ls_node *ls__value_in_order(ls__named *v, int axes, const int *order);

/* The same in ONNX's order. */
ls_node *ls__value_plain(ls__named *v);

/* The order in which a node's axes lie: ONNX's axes, but that of the rows. */
typedef struct ls__lie {
    int axes, order[LS_MAX_RANK];
} ls__lie;

/* How they lie, but for `last`, which comes last (-1: none does).  The node
 * with its axes so; and another one, of the shape that v has now. */
void ls__value_lie(const ls__named *v, int last, ls__lie *lie);
ls_node *ls__value_lying(ls__named *v, int last, ls__lie *lie);
int ls__value_set_lying(ls__named *v, ls_node *node, const ls__lie *lie);

/* The node with ONNX's last axis as its last, and others as they lie, with rows
 * among them or not; and, after an operator along it, the node of as many or of
 * other elements there. */
ls_node *ls__value_last(ls__named *v);
int ls__value_set_last(ls__named *v, ls_node *node, int64_t size);

/* Make y the product of matrices, as NumPy's matmul. */
int ls__value_product(ls__named *a, ls__named *b, ls__named *y);

/* Another shape for the same numbers: `rows` rows, of which there are as many
 * in the file, stand for all, or 0. */
int ls__value_reshape(ls__named *v, int rank, const int64_t *shape,
                      int64_t rows);

/* Exchange axes: axis k becomes what axis order[k] was. */
void ls__value_transpose(ls__named *v, const int *order);

/* Drop axes of one element where `drop` is set, or that one; or add one before
 * axis k. */
void ls__value_squeeze(ls__named *v, const bool *drop);
void ls__value_drop(ls__named *v, int axis);
void ls__value_unsqueeze(ls__named *v, int k);

/* Exchange an axis with the last one. */
void ls__value_exchange(ls__named *v, int axis);

/* Multiply axes from `first` on into one. */
int ls__value_merge(ls__named *v, int first);

/* Repeat axes of one element, or that are not there, up to that shape. */
int ls__value_expand(ls__named *v, int rank, const int64_t *shape);

/* Give a node's value (no larger) the shape of another's node, repeated where
 * it has one element; atoms of the other may be split for it. */
int ls__value_like(ls__named *v, ls__named *other);

/* The shape of two that are broadcast; false: they do not fit. */
bool ls__value_join(const ls__named *a, const ls__named *b, int *rank,
                    int64_t shape[LS_MAX_RANK]);

/* Is the axis of rows there, alone, and where? -1: no, or not alone. */
int ls__value_rows(const ls__named *v);

/* Are the rows part of a larger axis? */
bool ls__value_mixes_rows(const ls__named *v);

/* Axes of the node; and an atom of it split in two, the first of that size. */
int ls__atoms_rank(const ls__named *v);
int ls__atoms_split(ls__named *v, int i, int64_t size);

int64_t ls__value_count(const ls__named *v);

/* Strides of numbers that lie in order, under a shape that they are broadcast
 * to. */
void ls__strides(const ls__named *v, int rank, int64_t *stride);

/* "(rows,3,2 rows)" */
enum { LS__VALUE_TEXT = 200 };
const char *ls__value_text(char out[LS__VALUE_TEXT], int rank,
                           const int64_t *shape);

#endif
