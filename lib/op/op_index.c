/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators that take indices: one-hot, and gather along the first axis. */
#include "op/op_table.h"
#include <lockstep/arithmetic.h>

#include <string.h>

/* ------ one-hot ------ */

typedef struct one_hot {
    int64_t count;
} one_hot;

static int one_hot_shape(ls_node *n)
{
    const one_hot *of = n->of;
    ls_node *x = n->in[0];
    int64_t shape[LS_MAX_RANK];

    if (ls__want(n, 0, LS_I32, 0) < 0)
        return LS_ESHAPE;
    if (x->rank + 1 >= LS_MAX_RANK)
        return ls__fail(LS_ESHAPE, "one-hot \"%s\": indices have no more than "
                        "%d axes", n->name, LS_MAX_RANK - 2);
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank] = of->count;
    if (ls__node_set_shape(n, LS_F32, x->rank + 1, shape) < 0)
        return LS_ESHAPE;
    ls__limit(x, of->count);
    return 0;
}

static void one_hot_fwd(const ls__run *r)
{
    const int32_t *x = r->x[0];
    int64_t n = ls__width(r->node);

    memset(r->y, 0, (size_t)(r->rows * r->node->size) * sizeof *r->y);
    for (int64_t i = 0; i < r->rows * r->node->in[0]->size; i++) {
        LS__ASSERT(x[i] >= 0 && x[i] < n);
        r->y[i * n + x[i]] = 1;
    }
}

static const ls__attribute one_hot_attributes[] = {
    LS__FIELD("count", LS__INTEGER, one_hot, count), {0}};

const ls__op ls__op_one_hot = {
    .name = "one_hot", .inputs = 1, .of = sizeof(one_hot),
    .shape = one_hot_shape,
    .run = {.forward = one_hot_fwd, .backward = ls__nothing_back, .cuts = 1},
    .file = {.attributes = one_hot_attributes}};

ls_node *ls_one_hot(ls_node *indices, int64_t count)
{
    return ls__node_with(ls__node_unnamed(&ls__op_one_hot, indices, NULL),
                         &(one_hot){count});
}

/* ------ gather ------ */

static int gather_shape(ls_node *n)
{
    const ls_node *x = n->in[0];
    ls_node *at = n->in[1];
    int64_t shape[LS_MAX_RANK];

    if (ls__want(n, 0, LS_F32, 1) < 0 || ls__want(n, 1, LS_I32, 0) < 0)
        return LS_ESHAPE;
    if (x->rank - 1 + at->rank >= LS_MAX_RANK)
        return ls__fail(LS_ESHAPE, "gather \"%s\": the value has %d axes; %d "
                        "are the most", n->name, x->rank - 1 + at->rank,
                        LS_MAX_RANK - 1);
    memcpy(shape, at->shape, sizeof shape);
    memcpy(shape + at->rank, x->shape + 1,
           (size_t)(x->rank - 1) * sizeof *shape);
    if (ls__node_set_shape(n, LS_F32, x->rank - 1 + at->rank, shape) < 0)
        return LS_ESHAPE;
    ls__limit(at, x->shape[0]);
    return 0;
}

static void gather_fwd(const ls__run *r)
{
    const ls_node *x = r->node->in[0], *at = r->node->in[1];
    int64_t size = x->size / x->shape[0];
    const int32_t *index = r->x[1];
    const float *from = r->x[0];
    float *y = r->y;

    for (int64_t i = 0; i < r->rows; i++, from += x->size)
        for (int64_t j = 0; j < at->size; j++, y += size) {
            LS__ASSERT(*index >= 0 && *index < x->shape[0]);
            memcpy(y, from + *index++ * size, (size_t)size * sizeof *y);
        }
}

/* Every vector of dy is added to its own, in the order of the indices; the
 * addend comes last. */
static void gather_bwd(const ls__run *r)
{
    const ls_node *x = r->node->in[0], *at = r->node->in[1];
    int64_t size = x->size / x->shape[0];
    int64_t all = r->rows * x->size;
    const int32_t *index = r->x[1];
    const float *dy = r->dy;
    float *dx = r->dx[0];

    if (!dx)
        return;
    memset(dx, 0, (size_t)all * sizeof *dx);
    for (int64_t i = 0; i < r->rows; i++, dx += x->size)
        for (int64_t j = 0; j < at->size; j++, dy += size) {
            float *to = dx + *index++ * size;

            r->kernels->add(size, to, dy, to);
        }
    if (r->addend[0])
        r->kernels->add(all, r->addend[0], r->dx[0], r->dx[0]);
}

const ls__op ls__op_gather = {
    .name = "gather", .inputs = 2, .shape = gather_shape,
    .plan = {.reads = 2},
    .run = {.forward = gather_fwd, .backward = gather_bwd, .cuts = 1,
            .picks = ls__picks_value}};

ls_node *ls_gather(ls_node *x, ls_node *indices)
{
    return ls__node_done(ls__node_unnamed(&ls__op_gather, x, indices));
}
