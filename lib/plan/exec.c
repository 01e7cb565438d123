/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a plan on one device's shard: a loop over chunks of rows around a loop
 * over the instructions.  Nothing is allocated; a context holds one chunk and
 * is used by one device at a time. */
#include "plan/exec.h"
#include "base/range.h"
#include "pool/track.h"

#include <stdlib.h>
#include <string.h>

struct ls__context {
    const ls__plan *plan;
    float *memory;
    float *twin;  /* of a second chunk at the same time; NULL: there is none */
    float *stays; /* from run to run; NULL: nothing does */
    ls__failure failure; /* of the present or last run */
    ls__watch_fn *watch; /* is told of each backward; NULL: nobody is */
    void *user;
    const ls__marks *marks; /* of the gradients; NULL: none are kept */
};

int ls__context_open(ls__context **context, const ls__plan *plan)
{
    ls__context *c = ls__new(1, sizeof *c, "context");

    if (!c)
        return LS_ENOMEM;
    c->plan = plan;
    c->memory = ls__block((size_t)plan->floats * sizeof(float), "activations");
    if (plan->stays)
        c->stays = ls__block((size_t)plan->stays * sizeof(float),
                             "what plans keep");
    if (!c->memory || (plan->stays && !c->stays)) {
        ls__context_close(c);
        return LS_ENOMEM;
    }
    *context = c;
    return 0;
}

void ls__context_close(ls__context *c)
{
    if (!c)
        return;
    ls__block_free(c->memory);
    ls__block_free(c->twin);
    ls__block_free(c->stays);
    free(c);
}

const ls_node *ls__context_failed(const ls__context *c)
{
    return c->failure.node;
}

void ls__context_watch(ls__context *c, ls__watch_fn *fn, void *user)
{
    c->watch = fn;
    c->user = user;
}

void ls__context_mark(ls__context *c, const ls__marks *marks)
{
    c->marks = marks;
}

/* Gradients of tied parameters are added chunk by chunk and in each operator by
 * operator, and a user's function may count on its order. */
static bool may_pair(const ls__plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        const ls__instr *in = &plan->instr[i];

        if (in->node->op->is_own)
            return false;
        for (int k = 0; k < in->node->params; k++)
            if (in->begun[k])
                return false;
    }
    return !plan->stays;
}

int ls__context_pair(ls__context *c)
{
    if (c->twin || !may_pair(c->plan))
        return 0;
    c->twin = ls__block((size_t)c->plan->floats * sizeof(float),
                        "activations of a second chunk");
    return c->twin ? 0 : LS_ENOMEM;
}

bool ls__context_pairs(const ls__context *c)
{
    return c->twin != NULL;
}

/* ------ packing ------ */

enum { PIECE = 1 << 16 }; /* floats packed early, between two looks */

/* The first column of q that belongs to whoever has all packed floats from `at`
 * on. */
static int64_t column_at(const ls__pack *q, int64_t at)
{
    int64_t column;

    if (at <= q->offset)
        return 0;
    if (at >= q->offset + q->floats)
        return q->n;
    column = (at - q->offset) * q->n / q->floats;
    column = (column + q->unit - 1) / q->unit * q->unit;
    return column < q->n ? column : q->n;
}

/* Columns first .. last. */
static void pack(const ls__plan *plan, const ls__pack *q, int64_t first,
                 int64_t last, const ls__weights *w)
{
    q->write(q, &plan->backend, first, last, w->of[q->node->param[0]],
             w->packed + q->offset);
}

void ls__exec_pack(const ls__plan *plan, const ls__weights *w, int worker,
                   int workers, bool backward)
{
    ls__range mine = ls__range_part((ls__range){0, plan->pack_floats}, workers,
                                    worker, 1);

    for (int64_t i = 0; i < plan->packs; i++) {
        const ls__pack *q = &plan->pack[i];
        int64_t first = column_at(q, mine.first);
        int64_t last = column_at(q, mine.last);

        if (first < last && (backward || !q->backward) &&
            !(w->ready && w->ready[i]))
            pack(plan, q, first, last, w);
    }
}

bool ls__exec_pack_columns(const ls__plan *plan, const ls__weights *w,
                           int64_t i, int64_t *column)
{
    const ls__pack *q = &plan->pack[i];
    int64_t first = *column, n = PIECE / q->k / q->unit * q->unit, last;

    n = n > q->unit ? n : q->unit;
    last = q->n - first < n ? q->n : first + n;
    pack(plan, q, first, last, w);
    *column = last;
    w->ready[i] = last == q->n;
    return w->ready[i];
}

void ls__exec_stale(const ls__plan *plan, const ls__weights *w)
{
    if (plan && w->ready)
        memset(w->ready, 0, (size_t)plan->packs * sizeof *w->ready);
}

/* ------ an instruction ------ */

/* One chunk: where things are while the instructions run. */
typedef struct chunk {
    ls__context *context;
    const ls__plan *plan;
    const ls__weights *weights;
    const ls_shard *shard;
    float *const *grads; /* NULL: forward alone */
    int64_t rows;
    ls__chunk of;        /* what operators see */
} chunk;

static float *at(const chunk *c, int64_t offset)
{
    return offset < 0 ? NULL : c->of.memory + offset;
}

static const void *input_at(const chunk *c, int input)
{
    const ls_node *n = c->plan->input[input];

    /* both dtypes have four bytes */
    return (const char *)c->shard->data[input] + 4 * c->of.before * n->size;
}

static ls__run run_of(const chunk *c, const ls__instr *in)
{
    const ls__plan *plan = c->plan;
    ls__run r = {.node = in->node, .in = in, .of = &c->of, .rows = c->rows,
                 .y = at(c, in->y), .stash = at(c, in->stash),
                 .scratch = at(c, plan->scratch), .backend = &plan->backend,
                 .kernels = ls__kernels()};

    for (int k = 0; k < in->inputs; k++)
        r.x[k] = in->x[k].input >= 0 ? input_at(c, in->x[k].input)
                                     : at(c, in->x[k].offset);
    for (int k = 0; k < in->node->params; k++)
        r.param[k] = c->weights->of[in->node->param[k]];
    return r;
}

static int64_t number_of(const chunk *c, const ls__instr *in)
{
    return in - c->plan->instr;
}

static void forward(const chunk *c, const ls__instr *in)
{
    ls__track *track = ls__track_here();
    ls_mark mark = ls__track_begin(track, 2, in->node->op->name);
    ls__run r = run_of(c, in);

    in->node->op->forward(&r);
    ls__track_end(track, 2, &mark, LS__FORWARD, number_of(c, in));
}

static bool goes_on(const chunk *c)
{
    return c->context->failure.status == 0;
}

/* All a goal needs before its own instruction. */
static void forward_to(const chunk *c, const ls__goal *goal)
{
    for (int i = 0; i < goal->instr && goes_on(c); i++)
        if (goal->runs[i])
            forward(c, &c->plan->instr[i]);
}

/* Where an instruction after it began the gradient of one of its parameters, it
 * adds to all: to the others from zero. */
static bool goes_on_adding(const chunk *c, const ls__instr *in,
                           const ls__run *r)
{
    bool adds = false;

    for (int k = 0; k < in->node->params; k++)
        adds |= in->begun[k];
    for (int k = 0; adds && k < in->node->params; k++)
        if (!in->begun[k] && r->dparam[k] && !c->of.before)
            memset(r->dparam[k], 0,
                   (size_t)c->plan->param[in->node->param[k]].size *
                       sizeof *r->dparam[k]);
    return adds;
}

static void run_backward(const chunk *c, const ls__instr *in)
{
    ls__run r = run_of(c, in);
    const ls__op *op = in->node->op;

    r.dy = at(c, in->dy);
    r.add = c->of.before > 0;
    for (int k = 0; k < in->node->params; k++)
        r.dparam[k] = c->grads[in->node->param[k]];
    r.add |= goes_on_adding(c, in, &r);
    for (int k = 0; k < in->inputs; k++) {
        r.dx[k] = at(c, in->dx[k]);
        r.addend[k] = at(c, in->addend[k]);
    }
    op->backward(&r);
    for (int k = 0; k < in->inputs; k++)
        if (op->passes >> k & 1 && r.dx[k])
            r.kernels->add(c->rows * in->node->in[k]->size, r.addend[k],
                           r.dy, r.dx[k]);
}

/* Add what the graph's metrics sum, row by row, in double: chunks do not show.
 * A row of weight 0 may hold anything. */
static void sum_metric(const chunk *c, const ls__metric *m, ls_ratio *to)
{
    const float *y = at(c, m->y);

    for (int64_t i = 0; i < c->rows; i++, y += m->size) {
        double w = c->of.weights ? (double)c->of.weights[i] : 1, sum = 0;

        for (int64_t j = 0; j < m->size && w != 0; j++)
            sum += (double)y[j];
        to->sum += w * sum;
        to->weight += w * (double)m->size;
    }
}

static void backward(const chunk *c, const ls__instr *in)
{
    const ls__op *op = in->node->op;
    ls__track *track = ls__track_here();
    ls_mark mark;

    if (in->dy < 0 && !op->is_loss)
        return;
    mark = ls__track_begin(track, 2, op->name);
    run_backward(c, in);
    ls__track_end(track, 2, &mark, LS__BACKWARD, number_of(c, in));
}

static bool is_last(const chunk *c)
{
    return c->of.left == c->rows;
}

static void run_forward(const chunk *c)
{
    const ls__plan *plan = c->plan;

    forward_to(c, &plan->loss);
    for (int i = 0; i < plan->metrics && goes_on(c); i++)
        sum_metric(c, &plan->metric[i], &c->of.sums->metric[i]);
    if (!c->grads && goes_on(c))
        forward(c, &plan->instr[plan->loss.instr]);
}

/* Chunks that follow each other, from the loss back, operator by operator. */
static void run_back(const chunk *c, int chunks)
{
    ls__watch_fn *watch = is_last(&c[chunks - 1]) ? c->context->watch : NULL;
    const ls__plan *plan = c->plan;
    const ls__instr *in = &plan->instr[plan->loss.instr];

    for (; in >= plan->instr && goes_on(c); in--) {
        for (int k = 0; k < chunks && goes_on(c); k++)
            backward(&c[k], in);
        if (watch && goes_on(c))
            watch(c->context->user, (int)number_of(c, in));
    }
}

static void run_chunk(const chunk *c)
{
    run_forward(c);
    if (c->grads)
        run_back(c, 1);
}

/* Cut the shard into chunks: the next one, or false at the end. */
static bool next_chunk(chunk *c)
{
    const ls_shard *shard = c->shard;
    int64_t most = c->plan->chunk_rows;
    ls__chunk *of = &c->of;

    of->before += c->rows;
    of->first = shard->row + of->before;
    of->left = shard->rows - of->before;
    of->weights = shard->weights ? shard->weights + of->before : NULL;
    c->rows = of->left < most ? of->left : most;
    return c->rows > 0;
}

/* The first chunk is the next one.  grads and sums: NULL, for an output. */
static chunk begin(ls__context *c, const ls__weights *w, const ls_shard *shard,
                   float *const *grads, ls_sums *sums)
{
    c->failure = (ls__failure){0};
    return (chunk){.context = c, .plan = c->plan, .weights = w, .shard = shard,
                   .grads = grads,
                   .of = {.memory = c->memory, .stays = c->stays,
                          .packed = w->packed, .backward = grads != NULL,
                          .train = shard->train, .sums = sums,
                          .failure = &c->failure, .marks = c->marks,
                          .draw = c->plan->draw,
                          .call = (uint32_t)shard->call}};
}

/* Of a chunk that was run; 0 where the loss does not depend on the input. */
static void copy_gradient(const chunk *c, int input, float *out)
{
    int64_t size = c->plan->input[input]->size;
    const float *from = at(c, c->plan->input_gradient[input]);
    size_t bytes = (size_t)(c->rows * size) * sizeof *out;

    if (from)
        memcpy(out + c->of.before * size, from, bytes);
    else
        memset(out + c->of.before * size, 0, bytes);
}

int ls__exec_input_gradient(ls__context *context, const ls__weights *w,
                            const ls_shard *shard, float *const *grads,
                            ls_sums *sums, int input, float *out)
{
    chunk c = begin(context, w, shard, grads, sums);

    while (goes_on(&c) && next_chunk(&c)) {
        run_chunk(&c);
        if (goes_on(&c))
            copy_gradient(&c, input, out);
    }
    return context->failure.status;
}

/* Is a chunk the last but one, and does it go back together with the last? */
static bool has_twin(const chunk *c, chunk *twin)
{
    *twin = *c;
    twin->of.memory = c->context->twin;
    return twin->of.memory && c->grads && next_chunk(twin) && is_last(twin);
}

/* Each gradient gets the sums of the one before those of the other, as if they
 * ran one after the other. */
static void run_two(const chunk *c, const chunk *twin)
{
    const chunk both[] = {*c, *twin};

    run_forward(c);
    run_forward(twin);
    run_back(both, 2);
}

int ls__exec_gradient(ls__context *context, const ls__weights *w,
                      const ls_shard *shard, float *const *grads,
                      ls_sums *sums)
{
    chunk c = begin(context, w, shard, grads, sums), twin;

    while (goes_on(&c) && next_chunk(&c)) {
        if (has_twin(&c, &twin)) {
            run_two(&c, &twin);
            break;
        }
        run_chunk(&c);
    }
    return context->failure.status;
}

/* ------ an output ------ */

/* Copy the rows of a chunk that count. */
static void copy_out(const chunk *c, const float *y, int64_t size, float *out)
{
    for (int64_t i = 0; i < c->rows; i++)
        if (!c->of.weights || c->of.weights[i] != 0)
            memcpy(out + i * size, y + i * size, (size_t)size * sizeof *out);
}

static bool counts(const chunk *c)
{
    for (int64_t i = 0; i < c->rows; i++)
        if (!c->of.weights || c->of.weights[i] != 0)
            return true;
    return false;
}

/* The rows of a chunk, unless all weigh 0. */
static void predict_chunk(const chunk *c, const ls__goal *goal, float *out)
{
    const ls__instr *last = &c->plan->instr[goal->instr];

    if (!counts(c))
        return;
    forward_to(c, goal);
    if (goes_on(c))
        forward(c, last);
    if (goes_on(c))
        copy_out(c, at(c, last->y), last->node->size,
                 out + c->of.before * last->node->size);
}

int ls__exec_output(ls__context *context, const ls__weights *w,
                    const ls_shard *shard, const ls__goal *output, float *out)
{
    chunk c = begin(context, w, shard, NULL, NULL);

    while (goes_on(&c) && next_chunk(&c))
        predict_chunk(&c, output, out);
    return context->failure.status;
}

int ls__exec_last(ls__context *context, const ls__weights *w,
                  const ls_shard *shard, const ls__goal *output, float *out)
{
    chunk c = begin(context, w, shard, NULL, NULL);
    const ls__instr *last = &c.plan->instr[output->instr];
    int64_t size = last->node->size;

    while (goes_on(&c) && next_chunk(&c)) {
        forward_to(&c, output);
        if (goes_on(&c))
            forward(&c, last);
        if (goes_on(&c))
            memcpy(out, at(&c, last->y) + (c.rows - 1) * size,
                   (size_t)size * sizeof *out);
    }
    return context->failure.status;
}
