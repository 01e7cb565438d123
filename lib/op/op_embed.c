/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables: rows chosen by token, and a row for each position.
 *
 * Gradients are sums over rows in rising order straight into the table, from
 * +0; a chunk goes on where the last one stopped. */
#include "op/op_table.h"

#include <string.h>

typedef struct embed {
    int64_t count, features;
} embed;

static int embed_shape(ls_node *n)
{
    const embed *of = n->of;
    const ls_node *x = n->in[0];
    int64_t shape[LS_MAX_RANK];

    if (ls__want(n, 0, LS_I32, 0) < 0)
        return LS_ESHAPE;
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank] = of->features;
    return ls__node_set_shape(n, LS_F32, x->rank + 1, shape);
}

static ls_node *embed_declare(ls_node *n)
{
    const embed *of = n->of;

    ls__limit(n->in[0], of->count);
    return ls__node_table(n, "embedding", LS__INIT_NORMAL, of->features,
                          of->count, of->count, of->features);
}

static void embed_fwd(const ls__run *r)
{
    const int32_t *x = r->x[0];
    int64_t n = ls__width(r->node), count = r->rows * ls__vectors(r->node);

    for (int64_t i = 0; i < count; i++) {
        LS__ASSERT(x[i] >= 0 && x[i] < r->node->in[0]->limit);
        memcpy(r->y + i * n, r->param[0] + x[i] * n,
               (size_t)n * sizeof *r->y);
    }
}

static void embed_bwd(const ls__run *r)
{
    const int32_t *x = r->x[0];
    int64_t n = ls__width(r->node), count = r->rows * ls__vectors(r->node);
    const embed *of = r->node->of;
    float *table = r->dparam[0];

    if (!r->add)
        memset(table, 0, (size_t)(of->count * n) * sizeof *table);
    for (int64_t i = 0; i < count; i++)
        r->kernels->add(n, table + x[i] * n, r->dy + i * n, table + x[i] * n);
}

static const ls__attribute attributes[] = {
    LS__FIELD("count", LS__INTEGER, embed, count),
    LS__FIELD("features", LS__INTEGER, embed, features),
    {0}};

const ls__op ls__op_embed = {
    .name = "embed", .inputs = 1, .of = sizeof(embed), .step = &ls__op_embed,
    .shape = embed_shape, .declare = embed_declare,
    .plan = {.reads = 1},
    .run = {.forward = embed_fwd, .backward = embed_bwd, .cuts = 1,
            .picks = ls__picks_value},
    .file = {.attributes = attributes}};

ls_node *ls_embed(ls_node *x, int64_t count, int64_t width, const char *name)
{
    return ls__node_with(ls__node_new(&ls__op_embed, name, x, NULL, NULL),
                         &(embed){count, width});
}

static int position_shape(ls_node *n)
{
    return ls__want(n, 0, LS_F32, 2) < 0 ? LS_ESHAPE : ls__same_shape(n);
}

static ls_node *position_declare(ls_node *n)
{
    return ls__node_param(n, "", LS__INIT_SINUSOID, 1, 1, n->rank, n->shape);
}

/* All positions of row i are all of the table; step by step a row is one. */
static const float *row_of_table(const ls__run *r, int64_t i)
{
    LS__ASSERT(!r->node->positions || r->of->first + i < r->node->positions);
    return r->param[0] +
           (r->node->positions ? (r->of->first + i) * r->node->size : 0);
}

static void position_fwd(const ls__run *r)
{
    const float *x = r->x[0];
    int64_t n = r->node->size;

    for (int64_t i = 0; i < r->rows; i++)
        r->kernels->add(n, x + i * n, row_of_table(r, i), r->y + i * n);
}

static void position_bwd(const ls__run *r)
{
    int64_t n = r->node->size;
    float *table = r->dparam[0];

    if (table && !r->add)
        memset(table, 0, (size_t)n * sizeof *table);
    for (int64_t i = 0; table && i < r->rows; i++)
        r->kernels->add(n, table, r->dy + i * n, table);
}

const ls__op ls__op_position = {
    .name = "position", .inputs = 1, .step = &ls__op_position,
    .shape = position_shape, .declare = position_declare,
    .plan = {.passes = 1},
    .run = {.forward = position_fwd, .backward = position_bwd, .cuts = 1,
            .leaves_params = true}};

ls_node *ls_position(ls_node *x, const char *name)
{
    return ls__node_done(ls__node_new(&ls__op_position, name, x, NULL, NULL));
}
