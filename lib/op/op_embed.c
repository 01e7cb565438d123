/* Tables: rows chosen by token, and a row for each position.
 *
 * Gradients are sums over rows in rising order straight into the table, from
 * +0; a chunk goes on where the last one stopped. */
#include "op/op_table.h"

#include <string.h>

static int embed_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    int64_t shape[LS_MAX_RANK], width = n->shape[0]; /* put by ls_embed */

    if (ls__want(n, 0, LS_I32, 0) < 0)
        return LS_ESHAPE;
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank] = width;
    return ls__node_set_shape(n, LS_F32, x->rank + 1, shape);
}

static void embed_fwd(const ls__run *r)
{
    const int32_t *x = r->x[0];
    int64_t n = ls__width(r->node), count = r->rows * ls__vectors(r->node);

    for (int64_t i = 0; i < count; i++)
        memcpy(r->y + i * n, r->param[0] + x[i] * n,
               (size_t)n * sizeof *r->y);
}

static void embed_bwd(const ls__run *r)
{
    const int32_t *x = r->x[0];
    int64_t n = ls__width(r->node), count = r->rows * ls__vectors(r->node);
    float *table = r->dparam[0];

    if (!r->add)
        memset(table, 0, (size_t)(r->node->limit * n) * sizeof *table);
    for (int64_t i = 0; i < count; i++)
        r->kernels->add(n, table + x[i] * n, r->dy + i * n, table + x[i] * n);
}

const ls__op ls__op_embed = {
    .name = "embed", .inputs = 1, .reads = 1, .shape = embed_shape,
    .forward = embed_fwd, .backward = embed_bwd};

ls_node *ls_embed(ls_node *x, int64_t count, int64_t width, const char *name)
{
    ls_node *y = ls__node_new(&ls__op_embed, name, x, NULL, NULL);

    if (!y)
        return NULL;
    y->shape[0] = width;
    y->limit = count;
    if (!(y = ls__node_done(y)))
        return NULL;
    y = ls__node_param(y, "embedding", LS__INIT_NORMAL, width, count, 2,
                       (int64_t[]){count, width});
    if (y && count < x->limit) /* batches are checked against the smallest */
        x->limit = count;
    return y;
}

static int position_shape(ls_node *n)
{
    if (ls__want(n, 0, LS_F32, 2) < 0)
        return LS_ESHAPE;
    return ls__node_set_shape(n, LS_F32, n->in[0]->rank, n->in[0]->shape);
}

static void position_fwd(const ls__run *r)
{
    const float *x = r->x[0];
    int64_t n = r->node->size;

    for (int64_t i = 0; i < r->rows; i++)
        r->kernels->add(n, x + i * n, r->param[0], r->y + i * n);
}

static void position_bwd(const ls__run *r)
{
    int64_t n = r->node->size;
    float *table = r->dparam[0];

    if (!r->add)
        memset(table, 0, (size_t)n * sizeof *table);
    for (int64_t i = 0; i < r->rows; i++)
        r->kernels->add(n, table, r->dy + i * n, table);
}

const ls__op ls__op_position = {
    .name = "position", .inputs = 1, .passes = 1, .shape = position_shape,
    .forward = position_fwd, .backward = position_bwd};

ls_node *ls_position(ls_node *x, const char *name)
{
    ls_node *y = ls__node_done(
        ls__node_new(&ls__op_position, name, x, NULL, NULL));

    return y ? ls__node_param(y, "", LS__INIT_SINUSOID, 1, 1, y->rank,
                              y->shape)
             : NULL;
}
