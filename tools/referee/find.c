/* SPDX-License-Identifier: BSD-3-Clause */
/* See find.h: arrays by their names, values of nodes. */
#include "find.h"

const array *arrays, *of;
int64_t array_count, element;
const said *nodes, *slots;
int node_count, slot_count;

/* ------ arrays ------ */

static bool is_called(const array *k, const char *phase, const char *what)
{
    return !strcmp(k->what, what) && !strcmp(k->phase, phase);
}

static bool is_of(const array *k, int64_t node, int64_t index)
{
    return k->device == of->device && k->micro == of->micro &&
           k->node == node && k->index == index;
}

const array *array_of(const char *phase, const char *what, int64_t node,
                      int64_t index)
{
    for (int64_t i = 0; i < array_count; i++)
        if (is_of(&arrays[i], node, index) && arrays[i].first == of->first &&
            is_called(&arrays[i], phase, what))
            return &arrays[i];
    return NULL;
}

const array *before(const array *until, int64_t micro, const char *name)
{
    for (const array *k = until; k-- > arrays;)
        if (k->device == of->device && k->micro == micro &&
            is_called(k, "backward", "dparam") && !strcmp(k->name, name))
            return k;
    return NULL;
}

const array *first_called(const array *all, int64_t n, const char *phase,
                          const char *what)
{
    for (int64_t i = 0; i < n; i++)
        if (is_called(&all[i], phase, what))
            return &all[i];
    return NULL;
}

const array *whole(const char *phase, const char *what)
{
    return first_called(arrays, array_count, phase, what);
}

const array *of_device(const char *what, int64_t device)
{
    for (int64_t i = 0; i < array_count; i++)
        if (arrays[i].device == device &&
            is_called(&arrays[i], "gradient", what))
            return &arrays[i];
    return NULL;
}

const array *rows_of(const char *what)
{
    for (int64_t i = 0; i < array_count; i++)
        if (is_of(&arrays[i], arrays[i].node, 0) &&
            is_called(&arrays[i], "rows", what))
            return &arrays[i];
    return NULL;
}

/* ------ nodes and parameters ------ */

const said *node_of(int64_t node)
{
    return node >= 0 && node < node_count ? &nodes[node] : NULL;
}

const said *slot_of(int64_t at)
{
    for (int i = 0; i < slot_count; i++)
        if (at >= slots[i].at && at < slots[i].at + slots[i].floats)
            return &slots[i];
    return NULL;
}

/* ------ values and gradients ------ */

/* Rows of an input: the chunk's, among those of the shard. */
static place rows_of_input(const said *n)
{
    int64_t each = size(n->shape);
    const array *k = rows_of(n->name);

    return k && each > 0 && of->first + of->rows <= k->n / each
               ? k->x + of->first * each : 0;
}

place value(int64_t node)
{
    const said *n = node_of(node);
    const array *k;

    if (!n)
        return 0;
    if (!strcmp(n->op, "input"))
        return rows_of_input(n);
    k = array_of("forward", "y", node, 0);
    return k && has_rows(k, of->rows, size(n->shape)) ? k->x : 0;
}
