/* SPDX-License-Identifier: BSD-3-Clause */
/* Generation: an output of one sequence, position by position.  The plan is
 * that of the predictor's graph with positions for rows (graph/graph_steps.c);
 * its context is the key/value cache of the positions that are there. */
#include "base/assert.h"
#include "base/error.h"
#include "kernel/kernel.h"
#include "mesh/neighbours.h"
#include "plan/team.h"
#include "pool/pool.h"
#include "predict/predictor.h"
#include <lockstep/machine.h>

#include <stdlib.h>

struct ls_generator {
    ls_predictor *predictor;
    ls__plan *plan;
    const ls__goal *goal;
    int input;             /* the tokens' */
    int64_t window, limit; /* positions; tokens are below it */
    ls__context *context;
    const void **data;     /* [input of the plan] */
    ls__snapshot *taken;   /* from the first position on; or NULL */
    int64_t length;
    ls_pool *pool;         /* its workers share a position; or NULL */
    ls__team *team;
    ls__copies *copies;    /* for these; NULL: the set taken */

    /* The present call. */
    ls__weights weights;
    ls_shard shard;
    float *out;
    int status;
};

static void give_back(ls_generator *g)
{
    if (g->taken)
        ls__snapshots_give(g->taken);
    g->taken = NULL;
    g->length = 0;
}

static void drop_copies(ls_generator *g)
{
    ls__copies_close(g->copies);
    atomic_flag_clear(&g->predictor->copied);
    g->copies = NULL;
}

void ls_generator_close(ls_generator *g)
{
    if (!g)
        return;
    give_back(g);
    ls__context_close(g->context);
    ls__team_close(g->team);
    if (g->copies)
        drop_copies(g);
    ls__pool_drop(g->pool);
    ls__plan_free(g->plan);
    free(g->data);
    if (g->predictor)
        ls__predictor_drop(g->predictor);
    free(g);
}

/* ------ opening ------ */

static int make_plan(ls_generator *g, const ls_graph *graph,
                     const ls__output *output)
{
    const ls__plan *whole = g->predictor->model.plan;
    ls_graph *steps;
    int status = ls__graph_steps(&steps, graph, output);

    if (status < 0)
        return status;
    status = ls__plan_new(&g->plan, steps, &whole->backend, LS__TO_PREDICT,
                          NULL);
    ls_graph_free(steps);
    if (status < 0)
        return status;
    g->goal = &g->plan->output[0];
    return ls__plan_share_packs(g->plan, whole);
}

static int open_generator(ls_generator *g, ls_predictor *p,
                          const ls__output *output)
{
    int status;

    ls__predictor_hold(p);
    g->predictor = p;
    if ((status = make_plan(g, p->model.graph, output)) < 0)
        return status;
    for (int i = 0; i < g->plan->inputs; i++)
        if (g->goal->reads[i])
            g->input = i;
    g->window = g->plan->input[g->input]->positions;
    g->limit = g->plan->input[g->input]->limit;
    g->data = ls__new((size_t)g->plan->inputs, sizeof *g->data, "generator");
    return g->data ? ls__context_open(&g->context, g->plan) : LS_ENOMEM;
}

static const ls__output *output_named(const ls_predictor *p, const char *name)
{
    const ls_graph *graph = p->model.graph;
    const ls__goal *goal = ls__plan_output(p->model.plan, name);

    return goal ? graph->outputs[goal - p->model.plan->output] : NULL;
}

int ls_generator_open(ls_generator **generator, ls_predictor *p,
                      const char *output)
{
    LS__NEED(generator);
    LS__NEED_AS(p, "predictor", LS_EINVAL);
    LS__NEED(output);

    const ls__output *of;
    ls_generator *g;
    int status;

    if ((status = ls__kernels_check()) < 0)
        return status;
    if (!(of = output_named(p, output)))
        return LS_ENOTFOUND;
    if (!(g = ls__new(1, sizeof *g, "generator")))
        return LS_ENOMEM;
    if ((status = open_generator(g, p, of)) < 0)
        ls_generator_close(g);
    else
        *generator = g;
    return status;
}

/* Copies the weights to every node where workers sit on several (NUMA), unless
 * another generator has these, memory is short, or the sequence has begun. */
static void make_copies(ls_generator *g)
{
    static const ls__weights none;
    const ls_mesh *mesh = ls__pool_mesh(g->pool);
    const ls__plan *plan = g->predictor->model.plan;

    if (!plan->packs.floats || g->length || !ls__mesh_has_nodes(mesh) ||
        atomic_flag_test_and_set(&g->predictor->copied))
        return;
    g->copies = &g->predictor->copies;
    if (ls__copies_open(g->copies, mesh, plan, &none, false) < 0)
        drop_copies(g);
}

int ls_generator_share(ls_generator *g, ls_pool *pool)
{
    LS__NEED_AS(g, "generator", LS_EINVAL);
    LS__NEED(pool);

    int status;

    if (g->pool)
        return ls__fail(LS_EINVAL, "ls_generator_share: the generator has a "
                        "pool already");
    if ((status = ls__pool_hold(pool)) < 0)
        return status;
    status = ls__team_open(&g->team, pool, ls_pool_workers(pool));
    if (status == 0)
        status = ls__context_join(g->context, g->team);
    if (status == 0) {
        g->pool = pool;
        make_copies(g);
        return 0;
    }
    ls__team_close(g->team);
    g->team = NULL;
    ls__pool_drop(pool);
    return status;
}

/* ------ positions ------ */

int64_t ls_generator_window(const ls_generator *g)
{
    LS__NEED_AS(g, "generator", 0);
    return g->window;
}

int64_t ls_generator_length(const ls_generator *g)
{
    LS__NEED_AS(g, "generator", 0);
    return g->length;
}

int ls_generator_cut(ls_generator *g, int64_t length)
{
    LS__NEED_AS(g, "generator", LS_EINVAL);
    if (length < 0 || length > g->length)
        return ls__fail(LS_ERANGE, "ls_generator_cut: %lld of %lld "
                        "positions cannot be kept", (long long)length,
                        (long long)g->length);
    if (length == 0)
        give_back(g);
    g->length = length;
    return 0;
}

static int check_tokens(const ls_generator *g, int64_t n, const int32_t *tokens)
{
    if (n < 1 || n > g->window - g->length)
        return ls__fail(LS_ERANGE, "%lld token%s after %lld %s not fit the "
                        "window of %lld", (long long)n, ls__s(n),
                        (long long)g->length, n == 1 ? "does" : "do",
                        (long long)g->window);
    for (int64_t i = 0; i < n; i++)
        if (tokens[i] < 0 || tokens[i] >= g->limit)
            return ls__fail(LS_ERANGE, "token %lld is %d, not in 0..%lld",
                            (long long)i, tokens[i], (long long)g->limit - 1);
    return 0;
}

/* The weights as they are now, for all positions from the first on. */
static ls__weights weights_of(ls_generator *g)
{
    if (!g->taken)
        g->taken = ls__snapshots_take(&g->predictor->snapshots);
    return g->taken->weights;
}

/* The caller's part of a call, and that of those who help it: the last worker
 * is the first of them, as copies have it. */
static void run(void *user, int worker)
{
    ls_generator *g = user;

    if (g->copies && g->length == 0) { /* new weights, maybe */
        ls__copies_fill(g->copies, worker, g->taken->weights.packed);
        ls__pool_barrier(g->pool);
    }
    if (worker > 0) {
        ls__team_help(g->team, ls__team_members(g->team) - worker);
        return;
    }
    ls__team_gather(g->team, NULL, 0);
    g->status = ls__exec_output(g->context, &g->weights, &g->shard, g->goal,
                                true, g->out);
    ls__team_dismiss(g->team);
}

int ls_generator_append(ls_generator *g, int64_t n, const int32_t *tokens,
                        int64_t size, float *out)
{
    LS__NEED_AS(g, "generator", LS_EINVAL);
    LS__NEED(tokens);
    LS__NEED(out);

    int status;

    if (size != g->goal->size)
        return ls__fail(LS_ESHAPE, "output \"%s\": a position has %lld elements"
                        ", not %lld", g->goal->name, (long long)g->goal->size,
                        (long long)size);
    if ((status = check_tokens(g, n, tokens)) < 0)
        return status;
    g->data[g->input] = tokens;
    g->shard = (ls_shard){.rows = n, .data = g->data, .row = g->length};
    g->weights = weights_of(g);
    if (g->copies) {
        g->weights.packed = g->copies->of->packed;
        g->weights.near = g->copies->of->near;
    }
    g->out = out;
    if ((status = ls__predictor_run(g->pool, "generate", run, g)) < 0)
        return status;
    if (g->status == 0)
        g->length += n;
    LS__ASSERT(g->length <= g->window);
    return g->status;
}
