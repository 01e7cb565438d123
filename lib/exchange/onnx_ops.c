/* SPDX-License-Identifier: BSD-3-Clause */
/* What each operator is in ONNX.  Rows come first in every shape; a 0 in the
 * shape of a Reshape leaves that extent as it is. */
#include "base/error.h"
#include "exchange/onnx_pieces.h"

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

bool ls__onnx_knows(const ls__op *op)
{
    return op->onnx || op->recurrent || row_of(op->name);
}

int ls__onnx_node(ls__onnx *o, const ls_node *n)
{
    const ls__onnx_row *row = row_of(n->op->name);
    const char *in[LS__MAX_INPUTS] = {NULL};

    if (n->op->recurrent) {
        ls__onnx_recurrent(o, n);
        return 0;
    }
    if (!row && !n->op->onnx)
        return ls__fail(LS_ENOTSUP, "%s \"%s\" cannot be written for ONNX",
                        n->op->name, n->name);
    for (int k = 0; k < n->op->inputs; k++)
        in[k] = ls__onnx_input(o, n, k);
    o->name[n->id] = row ? row->make(o, n)
                         : ls__onnx_call(o, n->op->onnx, n->op->inputs, in,
                                         NULL);
    return 0;
}
