/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing trainers. */
#include "base/assert.h"
#include "base/error.h"
#include "base/sized.h"
#include "model/seeds.h"
#include "pool/pool.h"
#include "trainer/all_hooks.h"
#include "trainer/facts.h"
#include "passes/input_gradient.h"
#include "ranks/agree.h"
#include "ranks/local_rows.h"
#include "ranks/ranks.h"
#include "trainer/trainer_memory.h"
#include "trainer/trainer_options.h"
#include <lockstep/collective.h>

#include <stdlib.h>

void ls_trainer_defaults_bytes(ls_trainer_options *options, size_t size)
{
    LS__NEED_OR(options, );

    ls_trainer_options o = ls__trainer_options();

    ls__sized_defaults(options, size, &o, sizeof o);
}

void ls_trainer_close(ls_trainer *t)
{
    if (!t)
        return;
    ls__life_end(t);
    ls__by_inputs_close(t->by_inputs);
    ls__trainer_drop(t);
    ls__model_close(&t->model);
    ls__arena_free(&t->arena);
    ls__ranks_close(t->ranks);
    ls__pool_drop(t->pool);
    free(t);
}

/* The devices and floats of this process: all of them, or those of a rank. */
static int share_devices(ls_trainer *t, int devices)
{
    int status;

    t->devices = ls__span_all(devices);
    t->owned = ls__owned_all(0);
    if (!t->options.transport)
        return 0;
    status = ls__ranks_open(&t->ranks, t->options.transport, devices);
    if (status < 0)
        return status;
    t->devices = ls__exchange_devices(&t->ranks->exchange);
    t->owned.rank = t->options.transport->rank;
    t->owned.ranks = t->options.transport->ranks;
    LS__ASSERT(t->owned.rank >= 0 && t->owned.rank < t->owned.ranks);
    if (t->options.rows != LS_ROWS_ALL)
        t->row_ways = &ls__local_rows;
    return 0;
}

/* Copies what is borrowed for the call only. */
static int keep(ls_trainer *t, const ls_sharding *cut)
{
    t->options.backend = NULL;
    t->options.data_axis = NULL;
    if (!(t->placed.data_axis = ls__arena_text(&t->arena, cut->axis)))
        return LS_ENOMEM;
    return ls__trainer_options_keep(&t->options, &t->arena);
}

/* Take the options, and meet the other ranks, if there are any: *met is the way
 * to them, and from then on each rank says how its opening ended. */
static int take_options(ls_trainer_options *o, const ls_trainer_options *given,
                        const ls_transport **met)
{
    int status = ls__sized_take("trainer", o, sizeof *o, given);

    *met = NULL;
    if (status == 0 && o->transport &&
        (status = ls_transport_check(o->transport)) == 0)
        *met = o->transport;
    return status;
}

static int new_trainer(ls_trainer **trainer, ls_pool *pool,
                       const ls_trainer_options *options,
                       const ls_transport **met)
{
    ls_trainer_options o = ls__trainer_options();
    ls_sharding cut;
    ls_trainer *t;
    int status;

    if ((status = take_options(&o, options, met)) < 0 ||
        (status = ls__kernels_check()) < 0 ||
        (status = ls__trainer_options_check(&o)) < 0 ||
        (status = ls_sharding_data_parallel(&cut, ls__pool_mesh(pool),
                                            o.data_axis)) < 0)
        return status;
    if (!(t = *trainer = ls__new(1, sizeof *t, "trainer")))
        return LS_ENOMEM;
    if ((status = ls__pool_hold(pool)) < 0)
        return status;
    t->pool = pool;
    t->options = o;
    t->lr = o.optimizer.lr;
    t->workers = ls_pool_workers(pool);
    t->micro = o.accumulate ? o.accumulate : 1;
    if ((status = share_devices(t, cut.shards)) < 0)
        return status;
    return keep(t, &cut);
}

/* A trainer that is opened, or failed to be, as the other ranks learn. */
static int end_opening(ls_trainer **trainer, ls_trainer *t,
                       const ls_transport *met, int status)
{
    if (status == 0)
        status = ls__facts_compare(t);
    else if (met)
        ls__agree_to_fail(met, status);
    if (status < 0)
        ls_trainer_close(t);
    else
        *trainer = t;
    return status;
}

static int make(ls_trainer *t, const bool *frozen)
{
    int status = ls__groups_find(&t->options, &t->model.params);

    return status < 0 ? status : ls__trainer_make(t, ls__all_hooks, frozen);
}

static int open_graph(ls_trainer *t, const ls_graph *graph,
                      const char *backend)
{
    const ls_trainer_options *o = &t->options;
    ls__model_options how = {LS__TO_TRAIN, backend, o->precision, NULL};
    ls__seeds seeds = {o->keys, o->seed, o->own_dropout_key, o->dropout_key};
    bool *frozen = NULL;
    int status = ls__frozen_of_graph(o, graph, &frozen);

    how.frozen = frozen;
    if (status == 0)
        status = ls__model_open(&t->model, graph, &how);
    if (status == 0)
        status = make(t, frozen);
    free(frozen);
    return status < 0 ? status : ls__seeds_sow(&t->model, &seeds);
}

int ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                    const ls_graph *graph, const ls_trainer_options *options)
{
    LS__NEED(trainer);
    LS__NEED(pool);
    LS__NEED(graph);

    const ls_transport *met;
    ls_trainer *t = NULL;
    int status = new_trainer(&t, pool, options, &met);

    if (status == 0)
        status = open_graph(t, graph, options ? options->backend : NULL);
    return end_opening(trainer, t, met, status);
}

static int open_own(ls_trainer *t, const ls_gradient *gradient)
{
    bool *frozen = NULL;
    int status = ls__model_open_own(&t->model, gradient);

    t->source.fn = gradient->fn;
    t->source.user = gradient->user;
    if (status == 0)
        status = ls__frozen_of_params(&t->options, &t->model.params, &frozen);
    if (status == 0)
        status = make(t, frozen);
    free(frozen);
    return status;
}

int ls_trainer_open_gradient(ls_trainer **trainer, ls_pool *pool,
                             const ls_gradient *gradient,
                             const ls_trainer_options *options)
{
    LS__NEED(trainer);
    LS__NEED(pool);
    LS__NEED(gradient);

    const ls_transport *met;
    ls_trainer *t = NULL;
    int status;

    if (!gradient->fn || gradient->n_inputs < 1 || !gradient->inputs ||
        gradient->n_params < 1 || !gradient->params)
        return ls__fail(LS_EINVAL, "a gradient needs a function, an input "
                        "and a parameter");
    if (options && options->precision != LS_F32_LAYERS)
        return ls__fail(LS_EINVAL, "a gradient of one's own has no layers that "
                        "have a precision");
    if ((status = new_trainer(&t, pool, options, &met)) == 0)
        status = open_own(t, gradient);
    return end_opening(trainer, t, met, status);
}
