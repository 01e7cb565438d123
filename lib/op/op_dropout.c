/* SPDX-License-Identifier: BSD-3-Clause */
/* Dropout as Flax has it: a value is kept with probability 1 - rate and then
 * multiplied by 1 / (1 - rate).
 *
 * Element j of row i is element i x (elements a row) + j of a stream whose key
 * belongs to the layer and to the call of the model; i counts in the whole
 * micro-batch.  So a mask depends on no device, worker or chunk. */
#include "op/op_table.h"

#include <string.h>

typedef struct dropout {
    double rate;
} dropout;

static double rate_of(const ls_node *n)
{
    const dropout *d = n->of;

    return d->rate;
}

static float keep_of(const ls__run *r)
{
    return (float)(1 - rate_of(r->node) * (double)r->of->drop);
}

static int dropout_shape(ls_node *n)
{
    if (!(rate_of(n) >= 0 && rate_of(n) < 1))
        return ls__fail(LS_EINVAL, "dropout \"%s\": rate %g is not in [0,1)",
                        n->name, rate_of(n));
    return ls__same_shape(n);
}

static ls_node *dropout_declare(ls_node *n)
{
    n->stream = ls__graph_stream(n->graph, n->name);
    return n->stream < 0 ? ls__graph_failed(n->graph, n->stream) : n;
}

/* A bit for each element; words of a row. */
static int64_t words_of(const ls_node *n)
{
    return (n->size + 31) / 32;
}

static int64_t dropout_stash(const ls__bench *b, const ls__instr *in)
{
    (void)b;
    return words_of(in->node);
}

static void dropout_fwd(const ls__run *r)
{
    int64_t n = r->rows * r->node->size, words = r->rows * words_of(r->node);

    LS__ASSERT(keep_of(r) > 0 && keep_of(r) <= 1 && r->of->first >= 0);
    for (int64_t i = n / 32; r->of->train && i < words; i++)
        r->stash[i] = 0; /* a record shows all of them */
    if (r->of->train)
        r->kernels->dropout(ls__draw_key(r).word,
                            (uint64_t)(r->of->first * r->node->size), n,
                            keep_of(r), r->x[0], r->y, (void *)r->stash);
    else
        memcpy(r->y, r->x[0], (size_t)n * sizeof *r->y);
}

/* dx = dy / keep + addend where the value was kept, else addend */
static void dropout_bwd(const ls__run *r)
{
    if (!r->of->train) {
        ls__pass_back(r, 0);
        return;
    }
    r->kernels->dropout_grad(r->rows * r->node->size, keep_of(r),
                             (const void *)r->stash, r->dy, r->addend[0],
                             r->dx[0]);
}

static const ls__attribute attributes[] = {
    LS__FIELD("rate", LS__NUMBER, dropout, rate), {0}};

const ls__op ls__op_dropout = {
    .name = "dropout", .inputs = 1, .of = sizeof(dropout),
    .step = &ls__op_dropout, .shape = dropout_shape, .declare = dropout_declare,
    .plan = {.over = LS__OVER_ADDEND | LS__OVER_DY, .stash = dropout_stash},
    .run = {.forward = dropout_fwd, .backward = dropout_bwd, .cuts = 32},
    .file = {.attributes = attributes}};

/* Its stream is taken even for rate 0, as Flax does. */
ls_node *ls_dropout(ls_node *x, double rate, const char *name)
{
    int stream;

    if (ls__node_stands(x) && rate == 0) {
        stream = ls__graph_stream(x->graph, name ? name : "");
        return stream < 0 ? ls__graph_failed(x->graph, stream) : x;
    }
    return ls__node_with(ls__node_new(&ls__op_dropout, name, x, NULL, NULL),
                         &(dropout){rate});
}
