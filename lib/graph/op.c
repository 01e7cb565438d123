/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that operators share: the shape of a node as rows of vectors,
 * checks of their inputs, and some members of their structs. */
#include "graph/op.h"
#include "base/assert.h"
#include "base/least.h"

#include <string.h>

void *ls__attribute_named(const ls_node *n, const char *name)
{
    const ls__attribute *a = n->op->file.attributes;

    while (a && a->name && strcmp(a->name, name))
        a++;
    return a && a->name ? ls__attribute_in(n, a) : NULL;
}

bool ls__node_own(ls_node *n, ls__arena *arena)
{
    void *of;

    if (!n->op || !n->op->of)
        return true;
    if (!(of = ls__arena_new(arena, 1, n->op->of)))
        return false;
    n->of = memcpy(of, n->of, n->op->of);
    return true;
}

int64_t ls__width(const ls_node *node)
{
    return node->rank ? node->shape[node->rank - 1] : 1;
}

int64_t ls__vectors(const ls_node *node)
{
    LS__ASSERT(node->size % ls__width(node) == 0);
    return node->size / ls__width(node);
}

int ls__want(const ls_node *node, int k, ls_dtype dtype, int rank)
{
    const ls_node *x = node->in[k];
    char text[LS__SHAPE_TEXT];

    if (x->dtype == dtype && x->rank >= rank)
        return 0;
    return ls__fail(LS_ESHAPE, "%s \"%s\": input %d is %s %s a row; it must "
                    "be %s of rank %d or more", node->op->name, node->name, k,
                    x->dtype == LS_F32 ? "LS_F32" : "LS_I32",
                    ls__shape_text(text, x->rank, x->shape),
                    dtype == LS_F32 ? "LS_F32" : "LS_I32", rank);
}

int ls__want_axis(const ls_node *node, int64_t *axis)
{
    const ls_node *x = node->in[0];
    char text[LS__SHAPE_TEXT];

    if (*axis < -x->rank || *axis >= x->rank)
        return ls__fail(LS_ESHAPE, "%s \"%s\": axis %lld of %s", node->op->name,
                        node->name, (long long)*axis,
                        ls__shape_text(text, x->rank, x->shape));
    if (*axis < 0)
        *axis += x->rank;
    return 0;
}

int ls__want_lengths(ls_node *n, int k, int64_t steps)
{
    ls_node *l = n->in[k];
    char text[LS__SHAPE_TEXT];

    if (l->dtype != LS_I32 || l->size != 1)
        return ls__fail(LS_ESHAPE, "%s \"%s\": lengths are %s; they must be "
                        "one LS_I32 a row", n->op->name, n->name,
                        ls__shape_text(text, l->rank, l->shape));
    ls__limit(l, steps + 1);
    return 0;
}

int ls__loss_shape(ls_node *n)
{
    return ls__node_set_shape(n, LS_F32, 0, NULL);
}

int ls__same_shape(ls_node *n)
{
    if (ls__want(n, 0, LS_F32, 0) < 0)
        return LS_ESHAPE;
    return ls__node_set_shape(n, LS_F32, n->in[0]->rank, n->in[0]->shape);
}

int ls__equal_shapes(ls_node *n)
{
    const ls_node *a = n->in[0], *b = n->in[1];
    char left[LS__SHAPE_TEXT], right[LS__SHAPE_TEXT];

    if (ls__want(n, 0, LS_F32, 0) < 0 || ls__want(n, 1, LS_F32, 0) < 0)
        return LS_ESHAPE;
    if (a->rank != b->rank ||
        memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape))
        return ls__fail(LS_ESHAPE, "%s: %s and %s differ", n->op->name,
                        ls__shape_text(left, a->rank, a->shape),
                        ls__shape_text(right, b->rank, b->shape));
    return ls__node_set_shape(n, LS_F32, a->rank, a->shape);
}

void ls__view_forward(const ls__run *r)
{
    if (r->y != r->x[0])
        memcpy(r->y, r->x[0],
               (size_t)(r->rows * r->node->size) * sizeof *r->y);
}

void ls__nothing_back(const ls__run *r)
{
    (void)r;
}

void ls__wish_vectors(const ls_node *n, ls__wish *wish)
{
    wish->rows = ls__least(wish->rows,
                           ls__most(1, LS__CHUNK / ls__vectors(n)));
}

double ls__flops_of_width(const ls_node *n)
{
    return 2.0 * (double)n->size * (double)ls__width(n->in[0]);
}

int64_t ls__picks_value(const ls_node *n)
{
    return n->size;
}
