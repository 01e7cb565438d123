/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph as a whole, before its nodes are read: who reads a value, and where
 * a gradient may go. */
#include "import/reader.h"

#include <string.h>

/* Goes no gradient through an operator, or not to this input? */
static bool stops(const ls__om_node *n, int input)
{
    if (ls__om_is(n, "Shape Size Equal Greater Less GreaterOrEqual LessOrEqual "
                     "Not And Or Xor ArgMax ArgMin IsNaN IsInf OneHot NonZero"))
        return true;
    if (input > 0)
        return ls__om_is(n, "Reshape Expand Slice Gather GatherND Squeeze "
                            "Unsqueeze Tile Split Trilu Resize Clip Pad "
                            "CastLike Dropout ReduceSum ReduceMean ReduceMax "
                            "ReduceMin ReduceL2 ReduceSumSquare ReduceProd "
                            "RotaryEmbedding");
    return ls__om_is(n, "Where") ||
           (ls__om_is(n, "Cast") &&
            !ls__om_is_real(ls__om_integer(n, "to", LS__OM_FLOAT)));
}

/* Has an operator parameters, or adds it one? */
static bool is_layer(const ls__om_node *n)
{
    return ls__read_row_in(ls__read_layers, n) ||
           ls__read_row_in(ls__read_windows, n) ||
           ls__read_row_in(ls__read_cells, n) ||
           ls__om_is(n, "Add PRelu Identity") || !strncmp(n->op, "Gather", 6);
}

/* Are a cell's gates made of this input of a node? */
static bool is_of_cell(const ls__reader *r, const ls__om_node *n, int input,
                       const ls__named *out)
{
    if (ls__read_row_in(ls__read_cells, n))
        return input > 0 && input < 4;
    return r->of_cell[out - r->value] &&
           (ls__om_is(n, "Concat") ||
            (input == 0 && ls__om_is(n, "Slice Unsqueeze")));
}

/* Name all values, count who reads them, and mark what a gradient may reach,
 * from the outputs back. */
int ls__read_survey(ls__reader *r)
{
    const ls__om *om = &r->file->om;
    ls__named *v, *out = NULL;

    for (int i = 0; i < om->outputs; i++) {
        if (!(v = ls__read_value(r, om->output[i].name)))
            return LS_ENOMEM;
        r->matters[v - r->value] = true;
        r->uses[v - r->value]++;
    }
    for (int i = om->nodes - 1; i >= 0; i--) {
        const ls__om_node *n = &om->node[i];
        bool matters = false;

        for (int k = 0; k < n->outputs; k++) {
            if (!(v = ls__read_value(r, n->output[k])))
                return LS_ENOMEM;
            out = k ? out : v;
            matters |= r->matters[v - r->value];
        }
        for (int k = 0; k < n->inputs; k++) {
            if (!(v = ls__read_value(r, n->input[k])))
                return LS_ENOMEM;
            r->uses[v - r->value]++;
            r->matters[v - r->value] |= matters && !stops(n, k);
            r->layers_own[v - r->value] |= is_layer(n);
            r->of_cell[v - r->value] |= n->outputs && is_of_cell(r, n, k, out);
        }
    }
    return 0;
}
