/* Runs a plan on one device's shard: a loop over chunks of rows around a loop
 * over the instructions.  Nothing is allocated; a worker's memory holds one
 * chunk and is used by one device at a time. */
#include "plan/exec.h"
#include "base/range.h"
#include "pool/pool.h"

#include <stdlib.h>
#include <string.h>

struct ls__exec {
    ls__plan *plan;
    float *packed;     /* weights packed for this step; shared, read only */
    float **memory;    /* per worker */
    float **of_device; /* the memory of the worker that runs a device */
    ls__failure *failure; /* [device] the last one */
    ls__draw *draw;    /* [stream] */
    int workers;
};

void ls__exec_close(ls__exec *e)
{
    if (!e)
        return;
    for (int w = 0; e->memory && w < e->workers; w++)
        ls__block_free(e->memory[w]);
    free(e->memory);
    free(e->of_device);
    free(e->failure);
    free(e->draw);
    ls__block_free(e->packed);
    ls__plan_free(e->plan);
    free(e);
}

static int make_memory(ls__exec *e, const ls_pool *pool, int devices)
{
    size_t bytes = (size_t)e->plan->floats * sizeof(float);
    size_t packed = (size_t)e->plan->pack_floats * sizeof(float);

    e->workers = ls_pool_workers(pool);
    e->memory = ls__new((size_t)e->workers, sizeof *e->memory, "executor");
    e->of_device = ls__new((size_t)devices, sizeof *e->of_device,
                           "executor");
    e->failure = ls__new((size_t)devices, sizeof *e->failure, "executor");
    e->packed = ls__block(packed, "packed weights");
    e->draw = ls__new((size_t)e->plan->streams + 1, sizeof *e->draw,
                      "executor");
    if (!e->memory || !e->of_device || !e->failure || !e->packed || !e->draw)
        return LS_ENOMEM;
    for (int w = 0; w < e->workers; w++) {
        int first, last;

        /* Untouched until its worker runs: first touch places the pages. */
        ls__pool_shards_of(pool, devices, w, &first, &last);
        if (first < last && !(e->memory[w] = ls__block(bytes, "activations")))
            return LS_ENOMEM;
        for (int d = first; d < last; d++)
            e->of_device[d] = e->memory[w];
    }
    return 0;
}

int ls__exec_open(ls__exec **exec, ls__plan *plan, const ls_pool *pool,
                  int devices)
{
    ls__exec *e = ls__new(1, sizeof *e, "executor");
    int status = LS_ENOMEM;

    if (!e) {
        ls__plan_free(plan);
        return status;
    }
    e->plan = plan;
    if ((status = make_memory(e, pool, devices)) < 0) {
        ls__exec_close(e);
        return status;
    }
    *exec = e;
    return 0;
}

const ls__plan *ls__exec_plan(const ls__exec *e)
{
    return e->plan;
}

void ls__exec_draw(ls__exec *e, int stream, ls__draw draw)
{
    e->draw[stream] = draw;
}

/* The first column of q that belongs to whoever has all packed floats from `at`
 * on; a convolution's weights are not cut, nor those that are packed by what
 * was made for it. */
static int64_t column_at(const ls__pack *q, int64_t at)
{
    int64_t unit = q->taps || q->prepared ? q->n : LS__PACK_CUT, column;

    if (at <= q->offset)
        return 0;
    if (at >= q->offset + q->floats)
        return q->n;
    column = (at - q->offset) * q->n / q->floats;
    column = (column + unit - 1) / unit * unit;
    return column < q->n ? column : q->n;
}

/* Columns first .. last. */
static void pack(const ls__plan *plan, const ls__pack *q, int64_t first,
                 int64_t last, const float *from, float *to)
{
    if (q->prepared)
        q->prepared->pack(q->prepared, from, to);
    else if (!q->taps)
        plan->backend.pack(q->k, last - first, from + first * q->col, q->row,
                           q->col,
                           to + plan->backend.packed_size(q->k, first));
    else if (q->backward)
        plan->backend.conv_pack(q->taps, q->n, q->k, true, from, to);
    else
        plan->backend.conv_pack(q->taps, q->k, q->n, false, from, to);
}

void ls__exec_pack(void *exec, int worker, int workers, bool train,
                   const float *const *params)
{
    const ls__exec *e = exec;
    ls__range mine = ls__range_part((ls__range){0, e->plan->pack_floats},
                                    workers, worker, 1);

    for (int64_t i = 0; i < e->plan->packs; i++) {
        const ls__pack *q = &e->plan->pack[i];
        int64_t first = column_at(q, mine.first);
        int64_t last = column_at(q, mine.last);

        if (first < last && (train || !q->backward))
            pack(e->plan, q, first, last, params[q->param],
                 e->packed + q->offset);
    }
}

/* One chunk: where things are while the instructions run. */
typedef struct chunk {
    const ls__exec *e;
    float *memory;
    const ls_shard *shard;
    int64_t first, rows;     /* of the chunk in the shard */
    const float *weights;    /* of the chunk */
    const float *const *params;
    float *const *grads;
    ls_sums *sums;
    ls__failure *failure;
} chunk;

static float *at(const chunk *c, int64_t offset)
{
    return offset < 0 ? NULL : c->memory + offset;
}

static const void *input_at(const chunk *c, int input)
{
    const ls_node *n = c->e->plan->input[input];

    /* both dtypes have four bytes */
    return (const char *)c->shard->data[input] + 4 * c->first * n->size;
}

/* The key of a stream in this call of the model. */
static ls_key key_of(const chunk *c, int stream)
{
    const ls__draw *d = &c->e->draw[stream];
    ls_key key = ls_key_fold_in(d->key, (uint32_t)c->shard->call);

    return d->hashed ? ls_key_fold_in(key, d->hash) : key;
}

static ls__run run_of(const chunk *c, const ls__instr *in)
{
    const ls__plan *plan = c->e->plan;
    ls__run r = {.node = in->node, .rows = c->rows, .y = at(c, in->y),
                 .stash = at(c, in->stash), .scratch = at(c, plan->scratch),
                 .weights = c->weights, .sums = c->sums,
                 .failure = c->failure,
                 .train = c->shard->train, .first = c->shard->row + c->first,
                 .backend = &plan->backend, .kernels = ls__kernels()};

    for (int k = 0; k < in->inputs; k++)
        r.x[k] = in->x[k].input >= 0 ? input_at(c, in->x[k].input)
                                     : at(c, in->x[k].offset);
    for (int k = 0; k < in->node->params; k++)
        r.param[k] = c->params[in->node->param[k]];
    if (in->node->stream >= 0)
        r.key = key_of(c, in->node->stream);
    for (int k = 0; k < 2; k++)
        r.packed[k] = in->packed[k] < 0 ? NULL
                                        : c->e->packed + in->packed[k];
    for (int k = 0; k < LS__PRODUCTS; k++)
        r.prepared[k] = in->prepared[k];
    return r;
}

static int64_t number_of(const chunk *c, const ls__instr *in)
{
    return in - c->e->plan->instr;
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
    return c->failure->status == 0;
}

/* All a goal needs before its own instruction. */
static void forward_to(const chunk *c, const ls__goal *goal)
{
    for (int i = 0; i < goal->instr && goes_on(c); i++)
        if (goal->runs[i])
            forward(c, &c->e->plan->instr[i]);
}

static void run_backward(const chunk *c, const ls__instr *in)
{
    ls__run r = run_of(c, in);
    const ls__op *op = in->node->op;

    r.dy = at(c, in->dy);
    r.add = c->first > 0;
    r.slope_of_x = at(c, in->slope_of_x);
    r.dy_is_pre = in->dy_is_pre;
    for (int k = 0; k < in->node->params; k++)
        r.dparam[k] = c->grads[in->node->param[k]];
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
        double w = c->weights ? (double)c->weights[i] : 1, sum = 0;

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

static void run_chunk(const chunk *c)
{
    const ls__plan *plan = c->e->plan;
    const ls__instr *loss = &plan->instr[plan->count - 1];

    forward_to(c, &plan->goal[0]);
    for (int i = 0; i < plan->metrics && goes_on(c); i++)
        sum_metric(c, &plan->metric[i], &c->sums->metric[i]);
    if (!c->grads && goes_on(c))
        forward(c, loss);
    if (!c->grads)
        return;
    for (const ls__instr *in = loss; in >= plan->instr && goes_on(c); in--)
        backward(c, in);
}

/* Cut the shard into chunks: the next one, or false at the end. */
static bool next_chunk(chunk *c)
{
    const ls_shard *shard = c->shard;
    int64_t most = c->e->plan->chunk_rows;

    c->first += c->rows;
    c->rows = shard->rows - c->first < most ? shard->rows - c->first : most;
    c->weights = shard->weights ? shard->weights + c->first : NULL;
    return c->rows > 0;
}

/* Written only when there is one, since devices run at the same time. */
static int keep_failure(const ls__exec *e, int device, const ls__failure *f)
{
    if (f->status < 0)
        e->failure[device] = *f;
    return f->status;
}

const ls__failure *ls__exec_failure(const void *exec, int device)
{
    return &((const ls__exec *)exec)->failure[device];
}

int ls__exec_gradient(void *exec, int device, const ls_shard *shard,
                      const float *const *params, float *const *grads,
                      ls_sums *sums)
{
    const ls__exec *e = exec;
    ls__failure failure = {0};
    chunk c = {.e = e, .memory = e->of_device[device], .shard = shard,
               .params = params, .grads = grads, .sums = sums,
               .failure = &failure};

    while (goes_on(&c) && next_chunk(&c))
        run_chunk(&c);
    return keep_failure(e, device, &failure);
}

/* Copy the rows of a chunk that count. */
static void copy_out(const chunk *c, const float *y, int64_t size, float *out)
{
    for (int64_t i = 0; i < c->rows; i++)
        if (!c->weights || c->weights[i] != 0)
            memcpy(out + i * size, y + i * size, (size_t)size * sizeof *out);
}

static bool counts(const chunk *c)
{
    for (int64_t i = 0; i < c->rows; i++)
        if (!c->weights || c->weights[i] != 0)
            return true;
    return false;
}

/* The rows of a chunk, unless all weigh 0. */
static void predict_chunk(const chunk *c, const ls__goal *goal, float *out)
{
    const ls__instr *last = &c->e->plan->instr[goal->instr];

    if (!counts(c))
        return;
    forward_to(c, goal);
    if (goes_on(c))
        forward(c, last);
    if (goes_on(c))
        copy_out(c, at(c, last->y), last->node->size,
                 out + c->first * last->node->size);
}

int ls__exec_predict(void *exec, int device, const ls_shard *shard,
                     const float *const *params, int goal, float *out)
{
    const ls__exec *e = exec;
    ls__failure failure = {0};
    chunk c = {.e = e, .memory = e->of_device[device], .shard = shard,
               .params = params, .failure = &failure};

    while (goes_on(&c) && next_chunk(&c))
        predict_chunk(&c, &e->plan->goal[goal], out);
    return keep_failure(e, device, &failure);
}

int ls__exec_find(const void *exec, const char *output, const ls__goal **goal,
                  int64_t *size)
{
    const ls__plan *plan = ((const ls__exec *)exec)->plan;

    for (int i = 1; i < plan->goals; i++)
        if (!strcmp(plan->goal[i].name, output)) {
            *goal = &plan->goal[i];
            *size = plan->instr[plan->goal[i].instr].node->size;
            return i;
        }
    return ls__fail(LS_ENOTFOUND, "no output is named \"%s\"%s%s%s", output,
                    plan->goals > 1 ? "; the first is \"" : "",
                    plan->goals > 1 ? plan->goal[1].name : "",
                    plan->goals > 1 ? "\"" : "");
}
