/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators in ONNX.  Rows come first in every shape; a 0 in the shape of a
 * Reshape leaves that extent as it is. */
#include "base/error.h"
#include "export/onnx_pieces.h"
#include "kernel/terms.h"

#include <string.h>

/* clang-format off */
#define OF_TERM(kind, function, name, reads, onnx, ...) {name, onnx, NULL},
#define OF_OTHER(kind, name, inputs, reads, constants, shape, onnx, ...) \
    {name, onnx, NULL},
static const ls__onnx_row rows[] = {
    LS__TERM_ROWS(OF_TERM, OF_TERM, OF_OTHER)
    {"add", "Add(*)", NULL},
    {"relu", "Relu(*)", NULL},
    {"tanh", "Tanh(*)", NULL},
    {"sigmoid", "Sigmoid(*)", NULL},
    {"gelu", "Gelu(*; approximate='tanh')", NULL},
    {"dropout", "Identity(*)", NULL},
    {"round_bf16", "Cast(Cast(*; to=16); to=1)", NULL},
    {"matmul", "MatMul(*)", NULL},
    {"softmax", "Softmax(*; axis=rank)", NULL},
    {"log_softmax", "LogSoftmax(*; axis=rank)", NULL},
    {"sum", "ReduceSum(x0, [axis+1..axes]; keepdims=0)", NULL},
    {"max_over", "ReduceMax(x0, [axis+1..axes]; keepdims=0)", NULL},
    {"concat", "Concat(*; axis=axis+1)", NULL},
    {"reshape flatten", "Reshape(x0, [0, shape])", NULL},
    {"transpose", "Transpose(x0; perm=[0, axes+1])", NULL},
    {"slice", "Slice(x0, [first], [first+count], [axis+1])", NULL},
    {"broadcast", "Expand(Reshape(x0, [0, ones, x0]), [1, shape])", NULL},
    {"reverse", "Slice(x0, [-1], [-9223372036854775808], [1], [-1])", NULL},
    {"reverse_lengths", "ReverseSequence(x0, Cast(Reshape(x1, [-1]); to=7); "
                        "batch_axis=0, time_axis=1)", NULL},
    /* ONNX Runtime has this of equal integers alone. */
    {"one_hot", "OneHot(x0, Cast([count]; to=6), Cast([0, 1]; to=1))", NULL},
    /* Indices are of the row they stand in, and vectors of one number. */
    {"gather", "GatherND(x0, Cast(Reshape(x1, [0, x1, 1]); to=7); "
               "batch_dims=1)", NULL},
    {"embed", "Gather(p0, x0)", NULL},
    {"parameter", "Expand(p0, Concat(Shape(rows; end=1), [shape]; axis=0))",
     NULL},
    {"position", "Add(x0, p0)", NULL},
    {"layer_norm", "LayerNormalization(x0, p0, p1; axis=rank, "
                   "epsilon=epsilon)", NULL},
    {"rms_norm", "Mul(Div(x0, Sqrt(Add(ReduceMean(Mul(x0, x0), [rank]), "
                 "epsilon))), p0)", NULL},
    {NULL, NULL, NULL}};
/* clang-format on */

/* NULL: none is called so. */
static const ls__onnx_row *row_of(const char *op)
{
    static const ls__onnx_row *const tables[] = {ls__onnx_layers,
                                                 rows};

    for (int i = 0; i < 2; i++)
        for (const ls__onnx_row *row = tables[i]; row->op; row++)
            if (ls__net_word(op, row->op))
                return row;
    return NULL;
}

bool ls__onnx_knows(const char *op)
{
    return row_of(op) || ls__net_is_recurrent(&(ls__net_node){.op = op});
}

int ls__onnx_node(ls__onnx *o, const ls__net_node *n)
{
    const ls__onnx_row *row = row_of(n->op);
    ls__both_ways both;

    if (ls__onnx_joins_ways(n, &both))
        ls__onnx_both_ways(o, n, &both);
    else if (ls__net_is_recurrent(n))
        ls__onnx_recurrent(o, n);
    else if (!row)
        return ls__fail(LS_ENOTSUP, "%s \"%s\" cannot be written for ONNX",
                        n->op, n->name);
    else
        o->name[n->id] =
            row->text ? ls__onnx_text(o, n, row->text) : row->make(o, n);
    return 0;
}
