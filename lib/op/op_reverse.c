/* SPDX-License-Identifier: BSD-3-Clause */
/* The first axis reversed: all steps of a row, or the first ones, as many as
 * its length says; those beyond it stay.  Backward is the same again. */
#include "op/op_table.h"
#include <lockstep/arithmetic.h>

#include <string.h>

static int reverse_shape(ls_node *n)
{
    if (ls__want(n, 0, LS_F32, 1) < 0 ||
        (n->in[1] && ls__want_lengths(n, 1, n->in[0]->shape[0]) < 0))
        return LS_ESHAPE;
    return ls__same_shape(n);
}

/* to = from the other way round, + addend (NULL: none) */
static void reverse(const ls__run *r, const float *from, const float *addend,
                    float *to)
{
    int64_t steps = r->node->shape[0], n = r->node->size / steps;
    const int32_t *length = r->node->in[1] ? r->x[1] : NULL;

    for (int64_t i = 0; i < r->rows * steps; i++) {
        int64_t t = i % steps, count = length ? length[i / steps] : steps;

        LS__ASSERT(count >= 0 && count <= steps);
        const float *x = from + (t < count ? i + count - 1 - 2 * t : i) * n;

        if (addend)
            r->kernels->add(n, addend + i * n, x, to + i * n);
        else
            memcpy(to + i * n, x, (size_t)n * sizeof *to);
    }
}

static void reverse_fwd(const ls__run *r)
{
    reverse(r, r->x[0], NULL, r->y);
}

static void reverse_bwd(const ls__run *r)
{
    if (r->dx[0])
        reverse(r, r->dy, r->addend[0], r->dx[0]);
}

#define OPERATOR(text, count, indices) \
    {.name = text, .inputs = count, .shape = reverse_shape, \
     .plan = {.reads = indices, .over = LS__OVER_ADDEND}, \
     .run = {.forward = reverse_fwd, .backward = reverse_bwd, .cuts = 1}}

const ls__op ls__op_reverse[2] = {OPERATOR("reverse", 1, 0),
                                  OPERATOR("reverse_lengths", 2, 2)};

ls_node *ls_reverse(ls_node *x, ls_node *lengths)
{
    return ls__node_done(ls__node_unnamed(&ls__op_reverse[lengths != NULL], x,
                                          lengths));
}
