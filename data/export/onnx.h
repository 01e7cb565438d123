/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph that is written for ONNX (opset 20): what its outputs need, with the
 * weights.  The files of this room share it. */
#ifndef LS_EXPORT_ONNX_H
#define LS_EXPORT_ONNX_H

#include "export/proto.h"
#include "export/net.h"
#include <lockstep/columns.h>

/* Types of values, and what they are to a graph (fields of GraphProto). */
enum {
    LS__ONNX_FLOAT = 1, LS__ONNX_INT32 = 6, LS__ONNX_INT64 = 7,
    LS__ONNX_STRING = 8, LS__ONNX_BOOL = 9, LS__ONNX_DOUBLE = 11
};
enum { LS__ONNX_INPUT = 11, LS__ONNX_OUTPUT = 12 };

/* Sizes of a constant. */
typedef struct ls__onnx_shape {
    int rank;
    int64_t of[LS_MAX_RANK];
} ls__onnx_shape;

/* A graph on its way. */
typedef struct ls__onnx {
    const ls__net *graph;
    ls__arena arena;
    ls__proto out;     /* the GraphProto */
    bool *there;       /* [parameter] it is among the constants */
    const char **name; /* [node] of its value; NULL: not needed */
    int fresh;         /* values that were given a name */
    const ls_coding *coding; /* of a table; NULL: none */
    const char *refused;     /* its value (rows,1): 0, or NaN in a row that a
                                model of a table does not take */
} ls__onnx;

/* A node of ONNX: `attributes` (may be NULL) are freed.  Returns the name of
 * its value, which is new. */
const char *ls__onnx_call(ls__onnx *o, const char *type, int inputs,
                          const char *const *in, ls__proto *attributes);

/* A call with several values; their names go to result. */
void ls__onnx_call_several(ls__onnx *o, const char *type, int inputs,
                           const char *const *in, int results,
                           const char **result, ls__proto *attributes);

/* A constant of floats, called `name` unless that is NULL; or of integers, or
 * doubles. */
const char *ls__onnx_floats(ls__onnx *o, const char *name, ls__onnx_shape shape,
                            const float *data);
const char *ls__onnx_integers(ls__onnx *o, int count, const int64_t *of);
const char *ls__onnx_doubles(ls__onnx *o, int count, const double *of);

/* An input or output; its shape is that of a row.  Of an output also the node
 * that gives it this value. */
void ls__onnx_value(ls__onnx *o, int is, const char *name, int type, int rank,
                    const int64_t *shape);
void ls__onnx_output(ls__onnx *o, const char *name, const char *value, int type,
                     int rank, const int64_t *shape);

/* Append an attribute: `count` numbers or texts, of which only lists have
 * another number than one.  (The types of AttributeProto.) */
typedef enum ls__onnx_kind {
    LS__ONNX_REAL = 1, LS__ONNX_INTEGER = 2, LS__ONNX_TEXT = 3,
    LS__ONNX_REALS = 6, LS__ONNX_INTEGERS = 7, LS__ONNX_TEXTS = 8
} ls__onnx_kind;
void ls__onnx_attribute(ls__proto *to, const char *name, ls__onnx_kind kind,
                        int count, const void *of);

/* Translates a node: sets o->name to its ONNX operator.  LS_ENOTSUP: it has no
 * place there. */
int ls__onnx_node(ls__onnx *o, const ls__net_node *node);

/* onnx_table.c: an input for each column of o->coding, and the value that they
 * are for the input n of the model.  LS_EINVAL: a name that cannot be. */
int ls__onnx_columns(ls__onnx *o, const ls__net_node *n);

/* The outputs: what the model's output says of the target. */
void ls__onnx_target(ls__onnx *o, const char *y);

/* onnx_recurrent.c: that of a recurrent layer. */
void ls__onnx_recurrent(ls__onnx *o, const ls__net_node *node);

/* The two ways through the steps of x that a node joins, as bidirectional
 * layers without a state are in a graph: dense layers, steps. */
typedef struct ls__both_ways {
    const ls__net_node *x, *lengths; /* NULL: all steps */
    const ls__net_node *dense[2], *steps[2];
} ls__both_ways;

/* Returns whether a node joins two. */
bool ls__onnx_joins_ways(const ls__net_node *node, ls__both_ways *both);

/* Makes one node of ONNX of them. */
void ls__onnx_both_ways(ls__onnx *o, const ls__net_node *node,
                        const ls__both_ways *both);

/* Is there a way for an operator of that name?  Losses need none. */
bool ls__onnx_knows(const char *op);

#endif
