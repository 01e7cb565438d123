/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread's calls of a predictor: the rows it set, and the memory of a run,
 * one for each worker where the context has a pool. */
#include "base/assert.h"
#include "base/error.h"
#include "base/range.h"
#include "kernel/kernel.h"
#include "pool/pool.h"
#include "predict/predictor.h"

#include <stdlib.h>

struct ls_context {
    ls_predictor *predictor;
    ls_pool *pool;   /* NULL: the calling thread runs alone */
    int workers;
    ls__context **of; /* [worker] */
    const void **data; /* [input of the model] borrowed rows */
    const void **at;   /* [worker * inputs + input] where its rows begin */
    int64_t *rows;     /* [input]; 0: not set */

    /* The present call. */
    const ls__weights *weights;
    const ls__goal *goal;
    int64_t count; /* rows */
    float *out;
    int *status;   /* [worker] */
};

void ls_context_close(ls_context *c)
{
    if (!c)
        return;
    for (int w = 0; c->of && w < c->workers; w++)
        ls__context_close(c->of[w]);
    free(c->of);
    free(c->data);
    free(c->at);
    free(c->rows);
    free(c->status);
    ls__pool_drop(c->pool);
    if (c->predictor)
        ls__predictor_drop(c->predictor);
    free(c);
}

static int make_memory(ls_context *c)
{
    size_t inputs = (size_t)c->predictor->model.inputs;
    size_t workers = (size_t)c->workers;

    c->of = ls__new(workers, sizeof *c->of, "contexts");
    c->status = ls__new(workers, sizeof *c->status, "contexts");
    c->data = ls__new(inputs, sizeof *c->data, "contexts");
    c->at = ls__new(workers * inputs, sizeof *c->at, "contexts");
    c->rows = ls__new(inputs, sizeof *c->rows, "contexts");
    if (!c->of || !c->status || !c->data || !c->at || !c->rows)
        return LS_ENOMEM;
    for (int w = 0; w < c->workers; w++)
        if (ls__context_open(&c->of[w], c->predictor->model.plan) < 0)
            return LS_ENOMEM;
    return 0;
}

static int open_context(ls_context *c, ls_predictor *p, ls_pool *pool)
{
    int status;

    if (pool && (status = ls__pool_hold(pool)) < 0)
        return status;
    c->pool = pool;
    c->workers = pool ? ls_pool_workers(pool) : 1;
    ls__predictor_hold(p);
    c->predictor = p;
    return make_memory(c);
}

int ls_context_open(ls_context **context, ls_predictor *p, ls_pool *pool)
{
    LS__NEED(context);
    LS__NEED_AS(p, "predictor", LS_EINVAL);

    ls_context *c;
    int status;

    if ((status = ls__kernels_check()) < 0)
        return status;
    if (!(c = ls__new(1, sizeof *c, "context")))
        return LS_ENOMEM;
    if ((status = open_context(c, p, pool)) < 0) {
        ls_context_close(c);
        return status;
    }
    *context = c;
    return 0;
}

/* ------ rows ------ */

static int set(ls_context *c, const char *input, ls_dtype dtype, int64_t n,
               const void *data, int64_t rows)
{
    const ls__model *m = &c->predictor->model;
    const ls__input *in;
    int status;

    if (!(in = ls__model_input(m, input)))
        return LS_ENOTFOUND;
    if (rows < 1)
        return ls__fail(LS_EINVAL, "input \"%s\": %lld rows; there must be 1 "
                        "or more", input, (long long)rows);
    if ((status = ls__input_check(in, dtype, n, data, rows)) < 0)
        return status;
    c->data[in - m->input] = data;
    c->rows[in - m->input] = rows;
    return 0;
}

int ls_context_set(ls_context *c, const char *input, ls_dtype dtype,
                   const void *data, int64_t rows)
{
    LS__NEED_AS(c, "context", LS_EINVAL);
    LS__NEED(input);
    LS__NEED(data);
    return set(c, input, dtype, INT64_MAX, data, rows);
}

int ls_context_set_view(ls_context *c, const char *input, ls_dtype dtype,
                        int64_t n, const void *data, int64_t rows)
{
    LS__NEED_AS(c, "context", LS_EINVAL);
    LS__NEED(input);
    LS__NEED(data);
    return set(c, input, dtype, n, data, rows);
}

/* The rows that all inputs of a goal have, or a status. */
static int64_t rows_of(const ls_context *c, const ls__goal *goal)
{
    const ls__model *m = &c->predictor->model;
    int first = -1;

    for (int i = 0; i < m->inputs; i++) {
        if (!goal->reads[i])
            continue;
        if (!c->rows[i])
            return ls__fail(LS_EINVAL, "output \"%s\": input \"%s\" was not "
                            "set", goal->name, m->input[i].name);
        first = first < 0 ? i : first;
        if (c->rows[i] != c->rows[first])
            return ls__fail(LS_ESHAPE, "input \"%s\" has %lld row%s, \"%s\" "
                            "%lld", m->input[i].name, (long long)c->rows[i],
                            ls__s(c->rows[i]), m->input[first].name,
                            (long long)c->rows[first]);
    }
    return first < 0 ? 1 : c->rows[first]; /* of no inputs */
}

/* ------ a call ------ */

/* A worker's share of the rows. */
static void run(void *user, int worker)
{
    ls_context *c = user;
    ls__range all = {0, c->count};
    ls__range mine = ls__range_part(all, c->workers, worker, 1);
    const ls__model *m = &c->predictor->model;
    const void **at = c->at + worker * m->inputs;
    ls_shard shard = {.first = mine.first, .rows = mine.last - mine.first,
                      .data = at};

    for (int i = 0; i < m->inputs; i++) /* both dtypes have four bytes */
        if (c->goal->reads[i])
            at[i] = (const char *)c->data[i] +
                    4 * mine.first * m->input[i].size;
    LS__ASSERT(worker < c->workers && mine.last <= c->count);
    c->status[worker] = shard.rows ? LS__ENDED : 0;
    if (shard.rows)
        c->status[worker] = ls__exec_output(
            c->of[worker], c->weights, &shard, c->goal, false,
            c->out + mine.first * c->goal->size);
}

static int failure(const ls_context *c)
{
    for (int w = 0; w < c->workers; w++)
        if (c->status[w] == LS__ENDED)
            return ls__fail(LS_EUSER, "an operator of your own ended the "
                            "thread of worker %d", w);
        else if (c->status[w] < 0)
            return ls__fail(LS_EUSER, "the operator \"%s\" failed with status "
                            "%d", ls__context_failed(c->of[w])->name,
                            c->status[w]);
    return 0;
}

static int predict(ls_context *c, const ls__goal *goal, int64_t n, float *out)
{
    int64_t rows = rows_of(c, goal);
    ls__snapshot *taken;
    int status;

    if (rows < 0)
        return (int)rows;
    if (n % goal->size || n / goal->size != rows)
        return ls__fail(LS_ESHAPE, "output \"%s\": %lld row%s of %lld "
                        "element%s %s not fill %lld", goal->name,
                        (long long)rows, ls__s(rows), (long long)goal->size,
                        ls__s(goal->size), rows == 1 ? "does" : "do",
                        (long long)n);
    c->goal = goal;
    c->count = rows;
    c->out = out;
    taken = ls__snapshots_take(&c->predictor->snapshots);
    c->weights = &taken->weights;
    status = ls__predictor_run(c->pool, "predict", run, c);
    ls__snapshots_give(taken);
    return status < 0 ? status : failure(c);
}

int ls_context_predict(ls_context *c, const char *output, int64_t n,
                       float *out)
{
    LS__NEED_AS(c, "context", LS_EINVAL);
    LS__NEED(output);
    LS__NEED(out);

    const ls__goal *goal;

    goal = ls__plan_output(c->predictor->model.plan, output);
    return goal ? predict(c, goal, n, out) : LS_ENOTFOUND;
}
