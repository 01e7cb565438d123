/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph as a whole, before its nodes are read: who reads a value, and where
 * a gradient may go. */
#include "import/reader.h"

#include <string.h>

/* Operators through which no gradient goes, or not to this input. */
static bool stops(const ls__om_node *n, int input)
{
    static const char *const none[] = {
        "Shape", "Size", "Equal", "Greater", "Less", "GreaterOrEqual",
        "LessOrEqual", "Not", "And", "Or", "Xor", "ArgMax", "ArgMin", "IsNaN",
        "IsInf", "OneHot", "NonZero", "CastLike", NULL};
    static const char *const after[] = {
        "Reshape", "Expand", "Slice", "Gather", "GatherND", "Squeeze",
        "Unsqueeze", "Tile",
        "Split", "Trilu", "Resize", "Clip", "Pad", "CastLike", "Dropout",
        "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2",
        "ReduceSumSquare", "ReduceProd", "RotaryEmbedding", NULL};

    for (int i = 0; none[i]; i++)
        if (!strcmp(none[i], n->op))
            return strcmp(n->op, "CastLike") || input > 0;
    for (int i = 0; after[i] && input > 0; i++)
        if (!strcmp(after[i], n->op))
            return true;
    if (!strcmp(n->op, "Cast")) {
        int64_t to = ls__om_integer(n, "to", 1);

        return to != LS__OM_FLOAT && to != LS__OM_DOUBLE &&
               to != LS__OM_FLOAT16 && to != LS__OM_BFLOAT16;
    }
    return !strcmp(n->op, "Where") && input == 0;
}

/* Has an operator parameters, or adds it one? */
static bool is_layer(const char *op)
{
    static const ls__read_row *const rows[] = {ls__read_layers,
                                               ls__read_windows,
                                               ls__read_cells};

    for (int i = 0; i < 3; i++)
        for (const ls__read_row *row = rows[i]; row->op; row++)
            if (!strcmp(row->op, op))
                return true;
    return !strcmp(op, "Add") || !strcmp(op, "PRelu") ||
           !strcmp(op, "Identity") || !strncmp(op, "Gather", 6);
}

/* Are a cell's gates made of this input of a node? */
static bool is_of_cell(const ls__reader *r, const ls__om_node *n, int input,
                       const ls__named *out)
{
    for (const ls__read_row *row = ls__read_cells; row->op; row++)
        if (!strcmp(row->op, n->op))
            return input > 0 && input < 4;
    return r->of_cell[out - r->value] &&
           (!strcmp(n->op, "Concat") ||
            (input == 0 && (!strcmp(n->op, "Slice") ||
                            !strcmp(n->op, "Unsqueeze"))));
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
            r->layers_own[v - r->value] |= is_layer(n->op);
            r->of_cell[v - r->value] |= n->outputs && is_of_cell(r, n, k, out);
        }
    }
    return 0;
}
