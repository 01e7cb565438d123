/* SPDX-License-Identifier: BSD-3-Clause */
/* A convolution's decisions: its fused epilogue, its algorithm, and the memory
 * and the packed weights that this wants. */
#include "base/assert.h"
#include "base/least.h"
#include "op/conv.h"
#include "op/op_table.h"

/* ------ what it takes in, and keeps ------ */

/* Fuse a max pooling, through a relu or nothing, whose input is then never
 * kept; or what any product takes. */
bool ls__conv_folds(const ls_node *n, void *made, const ls_node *reader)
{
    ls__conv_made *m = made;

    if (reader->op != &ls__op_max_pool)
        return ls__product_folds(n, made, reader);
    if (ls__window_of(reader)->dy > 1 || ls__window_of(reader)->dx > 1 ||
        m->product.closed || (m->product.activation &&
                              m->product.activation != LS__RELU))
        return false;
    m->pooled = m->product.closed = true;
    m->pooling = *ls__window_of(reader);
    return true;
}

void ls__conv_wish(const ls_node *n, ls__wish *wish)
{
    wish->images += ls__conv_full_size(n);
}

/* A pooling keeps the numbers of the largest; else what an activation wants. */
int64_t ls__conv_stash(const ls__bench *b, const ls__instr *in)
{
    const ls__conv_made *m = in->made;

    return m->pooled ? in->node->size : ls__product_stash(b, in);
}

/* ------ how ------ */

/* Each channel has a group of its own, and one output. */
static bool is_depthwise(const ls_node *n)
{
    const ls__conv_of *of = n->of;

    return of->groups > 1 && of->groups == ls__width(n->in[0]) &&
           of->features == of->groups;
}

/* One number of dy at most in each block of two by two: see
 * kernel/k_conv_pooled_dw.h and k_conv_pooled_dx.h. */
static bool is_sparse(const ls__conv_made *m)
{
    const ls__window *p = &m->pooling;

    return m->pooled && p->kh == 2 && p->kw == 2 && p->sy == 2 && p->sx == 2 &&
           !p->top && !p->left;
}

static ls__conv_way way_of(const ls_node *n, const ls__convs *convs,
                           const ls__conv_made *m)
{
    if (is_depthwise(n))
        return LS__CONV_DEPTHWISE;
    if (convs && ls__conv_is_plain(n))
        return is_sparse(m) ? LS__CONV_POOLED : LS__CONV_READ;
    return convs && convs->gaps ? LS__CONV_GAPS : LS__CONV_PATCHES;
}

/* Many weights go through the caches once for so many images of few pixels; dw
 * adds up their sums in the same order. */
static int64_t images_of(const ls_node *n, const ls__convs *convs,
                         const ls__conv_made *m)
{
    enum { NEAR = 32 * 1024, ROOM = 128 * 1024, MOST = 16 }; /* floats, and
                                                                images */
    ls__conv of_x = ls__conv_of_x(n);
    int64_t room = ROOM / ls__conv_padded_size(n);

    if (m->way != LS__CONV_READ || !convs->gathers || m->pooled ||
        !ls__conv_is_chunk(&of_x) || ls__width(n) % 16 ||
        of_x.out.k * of_x.out.n <= NEAR || room < 1)
        return 1;
    return room < MOST ? room : MOST;
}

static void choose_way(const ls_node *n, const ls__convs *convs,
                       ls__conv_made *m)
{
    const ls__window *w = ls__window_of(n);
    ls__conv of_dy = ls__conv_of_dy(n);

    m->way = way_of(n, convs, m);
    LS__ASSERT(convs || m->way >= LS__CONV_DEPTHWISE);
    m->images = images_of(n, convs, m);
    m->transposed = m->way == LS__CONV_POOLED ||
                (m->way == LS__CONV_READ && convs->transposed);
    m->dx_pooled = m->way == LS__CONV_POOLED && convs->dx_pooled &&
                   w->sy == 1 && w->sx == 1 && convs->dx_scratch(&of_dy) > 0;
}

/* ------ memory ------ */

/* Scratch of a product of windows besides its image. */
static int64_t product_scratch(const ls_node *n, const ls__conv_made *m,
                               const ls__conv *v, const ls__backend *b)
{
    if (m->way == LS__CONV_DEPTHWISE)
        return ls__depthwise_scratch(n);
    return m->way == LS__CONV_PATCHES ? ls__im2col_scratch(v, b)
                                      : ls__whole_vectors(b->convs->scratch(v));
}

/* d or y before the pooling; the framed image; the transposed dw; the
 * product's. */
static int64_t conv_scratch(const ls_node *n, const ls__conv_made *m,
                            const ls__backend *b)
{
    ls__conv of_x = ls__conv_of_x(n), of_dy = ls__conv_of_dy(n);

    return ls__whole_vectors(ls__conv_full_size(n)) +
           m->images * ls__conv_image_room(n, ls__conv_reader(m, b)) +
           ls__conv_transposed_size(m, &of_x) +
           ls__most(product_scratch(n, m, &of_x, b),
                    ls__most(product_scratch(n, m, &of_dy, b),
                             m->dx_pooled ? b->convs->dx_scratch(&of_dy) : 0));
}

/* ------ packed weights ------ */

/* All columns are written at once. */
static void write_pack(const ls__pack *q, const ls__backend *backend,
                       int64_t first, int64_t last, const float *weights,
                       float *to)
{
    (void)first;
    (void)last;
    backend->convs->pack(q->of, weights, to);
}

static int pack_how(const ls__bench *b, const ls_node *n, bool transposed,
                    ls__pack *q)
{
    ls__conv_weights *of;

    if (!(of = ls__arena_new(b->arena, 1, sizeof *of)))
        return LS_ENOMEM;
    *of = ls__conv_weights_of(n, transposed);
    q->of = of;
    q->whole = q->n;
    q->floats = b->backend->convs->packed_size(of);
    q->write = write_pack;
    return 0;
}

int ls__conv_plan(ls__bench *b, ls__instr *in)
{
    ls__conv_made *m = in->made;

    choose_way(in->node, b->backend->convs, m);
    ls__bench_scratch(b, conv_scratch(in->node, m, b->backend) +
                             (in->x[0].lender
                                  ? ls__lent_room(in->x[0].lender->node) : 0));
    return ls__product_plan(b, in,
                            ls__conv_reader(m, b->backend) ? pack_how : NULL);
}
