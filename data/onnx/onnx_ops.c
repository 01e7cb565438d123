/* SPDX-License-Identifier: BSD-3-Clause */
/* What each operator is in ONNX.  Rows come first in every shape; a 0 in the
 * shape of a Reshape leaves that extent as it is. */
#include "base/error.h"
#include "onnx/onnx_pieces.h"

#include <string.h>

/* NULL: none is called so. */
static const ls__onnx_row *row_of(const char *op)
{
    static const ls__onnx_row *const tables[] = {ls__onnx_layers,
                                                 ls__onnx_formulas};

    for (int i = 0; i < 2; i++)
        for (const ls__onnx_row *row = tables[i]; row->op; row++)
            if (!strcmp(row->op, op))
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
    const char *in[LS__NET_INPUTS] = {NULL};
    ls__both_ways both;

    if (ls__onnx_joins_ways(n, &both)) {
        ls__onnx_both_ways(o, n, &both);
        return 0;
    }
    if (ls__net_is_recurrent(n)) {
        ls__onnx_recurrent(o, n);
        return 0;
    }
    if (!row && !n->onnx)
        return ls__fail(LS_ENOTSUP, "%s \"%s\" cannot be written for ONNX",
                        n->op, n->name);
    for (int k = 0; k < n->inputs; k++)
        in[k] = ls__onnx_input(o, n, k);
    o->name[n->id] = row ? row->make(o, n)
                         : ls__onnx_call(o, n->onnx, n->inputs, in, NULL);
    return 0;
}
