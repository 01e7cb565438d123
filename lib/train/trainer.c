/* Opening and closing trainers, and their arrays by name. */
#include "base/error.h"
#include "base/sized.h"
#include "model/seeds.h"
#include "pool/pool.h"
#include "reduce/reduce.h"
#include "train/average.h"
#include "rules/clip.h"
#include "train/device.h"
#include "train/giving.h"
#include "train/groups.h"
#include "train/input_gradient.h"
#include "train/lazy.h"
#include "train/leaving.h"
#include "train/marked.h"
#include "train/placement.h"
#include "train/ranks.h"
#include "rules/schedule.h"
#include "train/seam.h"
#include "train/trained.h"
#include "train/watch.h"

#include <stdlib.h>
#include <string.h>

static ls_trainer_options defaults(void)
{
    return (ls_trainer_options){.size = sizeof(ls_trainer_options),
                                .optimizer = ls_sgd(0.1)};
}

void ls_trainer_defaults_sized(ls_trainer_options *options, size_t size)
{
    LS__NEED_OR(options, );

    ls_trainer_options o = defaults();

    ls__sized_defaults(options, size, &o, sizeof o);
}

void ls_trainer_close(ls_trainer *t)
{
    if (!t)
        return;
    ls__life_end(t);
    for (int d = 0; t->grad.device && d < t->devices.count && t->grad.device[d];
         d++)
        ls__block_free(t->grad.device[d] - ls__watch_guard(t->watch));
    for (int i = 0; i < 3; i++)
        ls__block_free(t->moment[i]);
    ls__block_free(t->notes.report);
    ls__block_free(t->notes.square);
    ls__block_free(t->notes.lap);
    ls__leaving_close(t->leaving);
    ls__giving_close(t->giving);
    ls__watch_close(t->watch);
    ls__devices_close(t);
    ls__by_inputs_close(t->by_inputs);
    ls__model_close(&t->model);
    ls__arena_free(&t->arena);
    ls__ranks_close(t->ranks);
    ls__pool_drop(t->pool);
    free(t);
}

static int check_options(const ls_trainer_options *o)
{
    int status;

    if ((int)o->keys < LS_KEYS_NNX || o->keys > LS_KEYS_LINEN ||
        (int)o->mean < LS_MEAN_EXACT || o->mean > LS_SUM ||
        (int)o->state < LS_REPLICATE || o->state > LS_SHARD)
        return ls__fail(LS_EINVAL, "trainer options: keys %d, mean %d or "
                        "state %d is unknown", (int)o->keys, (int)o->mean,
                        (int)o->state);
    if ((int)o->precision < LS_F32_LAYERS || o->precision > LS_F32X6_LAYERS)
        return ls__fail(LS_EINVAL, "trainer options: precision %d is unknown",
                        (int)o->precision);
    if (o->accumulate < 0 || o->accumulate > 65536)
        return ls__fail(LS_EINVAL, "%d micro-batches: there must be 1 to 65536",
                        o->accumulate);
    if ((status = ls__optim_check(&o->optimizer)) < 0 ||
        (status = ls__schedule_check(&o->schedule)) < 0)
        return status;
    if ((status = ls__groups_check(o)) < 0)
        return status;
    if (!(o->average >= 0 && o->average < 1))
        return ls__fail(LS_EINVAL, "average is %g; it must be a number from 0 "
                        "to below 1", o->average);
    if ((status = ls__clip_value_check(o->clip_value)) < 0)
        return status;
    return ls__clip_check(o->clip_norm);
}

static int keep_boundaries(ls_trainer *t)
{
    ls_schedule *s = &t->options.schedule;
    size_t n = s->kind == LS_PIECEWISE ? (size_t)s->boundaries : 0;
    ls_boundary *copy = NULL;

    if (n && !(copy = ls__arena_new(&t->arena, n, sizeof *copy)))
        return LS_ENOMEM;
    for (size_t i = 0; i < n; i++)
        copy[i] = s->boundary[i];
    s->boundary = copy;
    return 0;
}

/* The devices that run here: all of them, or those of a rank. */
static int share_devices(ls_trainer *t, int devices, ls__seam *seam)
{
    int status;

    t->devices = ls__span_all(devices);
    if (t->options.transport) {
        status = ls__ranks_open(&t->ranks, t->options.transport, devices);
        if (status < 0)
            return status;
        seam = ls__ranks_seam(t->ranks);
    }
    if (seam)
        t->devices = seam->devices;
    t->seam = seam;
    return 0;
}

/* Boundaries and names are borrowed for the call only. */
static int keep_texts(ls_trainer *t, const ls_sharding *cut)
{
    t->options.data_axis = NULL;
    t->data_axis = ls__arena_text(&t->arena, cut->axis);
    return t->data_axis ? keep_boundaries(t) : LS_ENOMEM;
}

static int new_trainer(ls_trainer **trainer, ls_pool *pool,
                       const ls_trainer_options *options, ls__seam *seam)
{
    ls_trainer_options o = defaults();
    ls_sharding cut;
    ls_trainer *t;
    int status;

    if (!pool)
        return ls__fail(LS_EINVAL, "a trainer needs a pool");
    if ((status = ls__sized_take("trainer", &o, sizeof o, options)) < 0 ||
        (status = ls__kernels_check()) < 0 ||
        (status = check_options(&o)) < 0 ||
        (status = ls_sharding_data_parallel(&cut, ls__pool_mesh(pool),
                                            o.data_axis)) < 0)
        return status;
    if (!(t = *trainer = ls__new(1, sizeof *t, "trainer")))
        return LS_ENOMEM;
    if ((status = ls__pool_hold(pool)) < 0)
        return status;
    t->pool = pool;
    t->options = o;
    t->options.backend = NULL; /* borrowed for the call only */
    t->lr = o.optimizer.lr;
    t->workers = ls_pool_workers(pool);
    t->micro = o.accumulate ? o.accumulate : 1;
    if ((status = share_devices(t, cut.shards, seam)) < 0)
        return status;
    return keep_texts(t, &cut);
}

/* ------ memory ------ */

static int make_lists(ls_trainer *t)
{
    size_t d = (size_t)t->devices.count, n = (size_t)t->model.params.count;

    t->grad.device = ls__arena_new(&t->arena, d, sizeof *t->grad.device);
    t->row = ls__arena_new(&t->arena, (size_t)t->model.inputs, sizeof *t->row);
    t->grad.param = ls__arena_new(&t->arena, n * d, sizeof *t->grad.param);
    return t->grad.device && t->row && t->grad.param ? 0 : LS_ENOMEM;
}

static int make_notes(ls_trainer *t)
{
    ls__notes *n = &t->notes;
    size_t of = (size_t)t->devices.of;
    size_t blocks = (size_t)ls__reduce_blocks(t->model.params.floats);

    n->bad = ls__arena_new(&t->arena, (size_t)t->workers, sizeof *n->bad);
    n->report = ls__block_zero(of * sizeof *n->report, "device reports");
    if (!n->bad || !n->report)
        return LS_ENOMEM;
    if (t->options.clip_norm > 0)
        n->square = ls__block_zero(blocks * sizeof *n->square,
                                   "gradient norm");
    return n->square || !(t->options.clip_norm > 0) ? 0 : LS_ENOMEM;
}

/* Of several ranks one may own nothing, of a small model. */
static int make_arrays(ls_trainer *t)
{
    int64_t floats = ls__owned_floats(&t->owned);
    int moments = ls__trainer_moments(t);

    for (int i = 0; i < moments; i++)
        if (!(t->moment[i] = ls__trained_block(t, floats ? floats : 1,
                                               "optimizer state")))
            return LS_ENOMEM;
    return 0;
}

static int make_gradients(ls_trainer *t)
{
    size_t guard = ls__watch_guard(t->watch);
    int64_t floats = t->model.params.floats + 2 * (int64_t)guard;

    for (int d = 0; d < t->devices.count; d++) {
        float *block = ls__trained_block(t, floats, "device gradient");

        if (!block)
            return LS_ENOMEM;
        t->grad.device[d] = block + guard;
    }
    return 0;
}

/* Zero what will be written of all arrays on the workers that write it: the
 * first touch places the pages.  The rest is zeros, and stays. */
static void touch(void *user, int worker)
{
    ls_trainer *t = user;
    ls__owned all = ls__owned_all(t->model.params.floats);
    ls__held owned[] = {{t->model.value, all},
                        {t->moment[0], t->owned}, {t->moment[1], t->owned},
                        {t->moment[2], t->owned}};
    int first, last;

    ls__track_phase(ls__track_here(), "open", -1);
    ls__pool_shards_of(t->pool, t->devices.count, worker, &first, &last);
    for (int i = 0; i < 4 && owned[i].array; i++)
        ls__placement_zero(t, first, last, worker == 0, i == 0, &owned[i]);
    for (int d = first; d < last; d++)
        ls__trained_zero(t, t->grad.device[d]);
}

/* What is owned of one parameter's first moment. */
static void fill_moment(const ls_trainer *t, const ls__slot *slot, float x)
{
    ls__range all = {slot->offset, slot->offset + slot->size};

    for (ls__stretch s = {0}; ls__owned_next(&t->owned, &s);) {
        ls__range r = ls__range_common(all, s.range);

        for (int64_t i = r.first; i < r.last; i++)
            t->moment[0][s.at + i - s.range.first] = x;
    }
}

/* The moments of a rule that do not begin with zeros; padding does. */
static void start_moments(const ls_trainer *t)
{
    float start = ls__optim_start(&t->options.optimizer);

    for (int i = 0; i < t->model.params.count && start > 0; i++)
        fill_moment(t, &t->model.params.slot[i], start);
}

static void point_at_arrays(ls_trainer *t)
{
    int n = t->model.params.count;

    for (int i = 0; i < n; i++) {
        int64_t offset = ls__params_declared(&t->model.params, i)->offset;

        for (int d = 0; d < t->devices.count; d++)
            t->grad.param[d * n + i] = ls__trainer_leaves_out(t, i)
                                           ? NULL
                                           : t->grad.device[d] + offset;
    }
}

static ls__owned owned(const ls_trainer *t)
{
    ls__owned all = ls__owned_all(t->model.params.floats);

    if (t->seam) {
        all.rank = t->seam->rank;
        all.ranks = t->seam->ranks;
    }
    return all;
}

static int make_memory(ls_trainer *t)
{
    int status;

    t->owned = owned(t);
    if ((status = ls__life_begin(t)) < 0 ||
        (status = ls__groups_open(t)) < 0 || (status = make_lists(t)) < 0 ||
        (status = ls__lazy_open(t)) < 0 ||
        (status = make_notes(t)) < 0 ||
        (status = ls__watch_open(t)) < 0 ||
        (status = ls__trained_open(t)) < 0 ||
        (status = make_arrays(t)) < 0 ||
        (status = make_gradients(t)) < 0 ||
        (status = ls__marked_open(t)) < 0 ||
        (status = ls__devices_open(t)) < 0 ||
        (status = ls__placement_open(t)) < 0)
        return status;
    point_at_arrays(t);
    if ((status = ls__pool_take(t->pool)) < 0)
        return status;
    ls__pool_run(t->pool, touch, t);
    start_moments(t);
    if (t->micro > 1)
        status = ls__devices_make_later(t);
    ls__pool_give(t->pool);
    if (t->seam && status == 0)
        status = ls__leaving_open(t);
    if (t->seam && status == 0)
        status = ls__giving_open(t);
    return t->seam && status == 0 ? t->seam->open(t->seam->user, t) : status;
}

/* ------ opening ------ */

/* A trainer that is opened, or failed to be. */
static int end_opening(ls_trainer **trainer, ls_trainer *t, int status)
{
    if (status == 0 && t->ranks)
        status = ls__ranks_compare(t->ranks, t);
    if (status < 0)
        ls_trainer_close(t);
    else
        *trainer = t;
    return status;
}

static int open_graph(ls_trainer *t, const ls_graph *graph,
                      const char *backend)
{
    const ls_trainer_options *o = &t->options;
    ls__model_options how = {LS__TO_TRAIN, backend, o->precision, NULL};
    ls__seeds seeds = {o->keys, o->seed, o->own_dropout_key, o->dropout_key};
    bool *frozen = NULL;
    int status = ls__groups_frozen(o, graph, &frozen);

    how.frozen = frozen;
    if (status == 0)
        status = ls__model_open(&t->model, graph, &how);
    free(frozen);
    if (status < 0 || (status = make_memory(t)) < 0)
        return status;
    return ls__seeds_sow(&t->model, &seeds);
}

int ls__trainer_open_seam(ls_trainer **trainer, ls_pool *pool,
                          const ls_graph *graph,
                          const ls_trainer_options *options, ls__seam *seam)
{
    ls_trainer *t = NULL;
    int status = new_trainer(&t, pool, options, seam);

    if (status == 0)
        status = open_graph(t, graph, options ? options->backend : NULL);
    return end_opening(trainer, t, status);
}

int ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                    const ls_graph *graph, const ls_trainer_options *options)
{
    LS__NEED(trainer);
    LS__NEED(pool);
    LS__NEED(graph);
    return ls__trainer_open_seam(trainer, pool, graph, options, NULL);
}

static int open_own(ls_trainer *t, const ls_gradient *gradient)
{
    int status = ls__model_open_own(&t->model, gradient);

    t->fn = gradient->fn;
    t->user = gradient->user;
    return status < 0 ? status : make_memory(t);
}

int ls_trainer_open_gradient(ls_trainer **trainer, ls_pool *pool,
                             const ls_gradient *gradient,
                             const ls_trainer_options *options)
{
    LS__NEED(trainer);
    LS__NEED(pool);
    LS__NEED(gradient);

    ls_trainer *t = NULL;
    int status;

    if (!gradient->fn || gradient->inputs < 1 || !gradient->input ||
        gradient->params < 1 || !gradient->param)
        return ls__fail(LS_EINVAL, "a gradient needs a function, an input "
                        "and a parameter");
    if (options && options->precision != LS_F32_LAYERS)
        return ls__fail(LS_EINVAL, "a gradient of one's own has no layers that "
                        "have a precision");
    if ((status = new_trainer(&t, pool, options, NULL)) == 0)
        status = open_own(t, gradient);
    return end_opening(trainer, t, status);
}

/* ------ parameters by name ------ */

int ls_trainer_params(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return t->model.params.count;
}

const char *ls_trainer_param_name(const ls_trainer *t, int i)
{
    LS__NEED_AS(t, "trainer", NULL);
    return i < 0 || i >= t->model.params.count
               ? NULL
               : t->model.params.slot[i].name;
}

int ls_trainer_param_shape(const ls_trainer *t, int i,
                           int64_t shape[LS_MAX_RANK])
{
    LS__NEED_AS(t, "trainer", 0);
    LS__NEED_OR(shape, 0);

    const ls__slot *s;

    if (i < 0 || i >= t->model.params.count)
        return 0;
    s = &t->model.params.slot[i];
    memcpy(shape, s->shape, sizeof s->shape);
    return s->rank;
}

/* The array that a name means, the name's rest being a parameter's: a moment
 * "mu.<name>" unless a parameter is called that. */
static ls__held array_of(const ls_trainer *t, const char **name)
{
    ls__held value = {t->model.value, ls__owned_all(t->model.params.floats)};

    for (int i = 0; i < t->model.params.count; i++)
        if (!strcmp(t->model.params.slot[i].name, *name))
            return value;
    for (int i = 0; i < ls__trainer_moments(t); i++) {
        const char *moment = ls__trainer_moment_name(t, i);
        size_t n = strlen(moment);

        if (!strncmp(*name, moment, n) && (*name)[n] == '.') {
            *name += n + 1;
            return (ls__held){t->moment[i], t->owned};
        }
    }
    return value;
}

/* Which elements of which array a name means. */
static int find(const ls_trainer *t, const char *name, int64_t n,
                ls__held *array, ls__range *at)
{
    const char *rest = name;
    int status;

    *array = array_of(t, &rest);
    status = ls__params_place(&t->model.params, rest, name, n, &at->first);
    at->last = at->first + n;
    return status;
}

/* A rank has the moments of what it owns alone: those of a parameter where they
 * lie in one stretch of it, which they may not. */
static int place_here(const char *name, const ls__held *array, ls__range at,
                      int64_t *place)
{
    for (ls__stretch s = {0}; ls__owned_next(&array->owned, &s);)
        if (at.first >= s.range.first && at.last <= s.range.last) {
            *place = s.at + (at.first - s.range.first);
            return 0;
        }
    return ls__fail(LS_ENOTSUP, "\"%s\" is spread over the ranks; a checkpoint "
                    "has all of it", name);
}

int ls_trainer_get(const ls_trainer *t, const char *name, int64_t n,
                   float *out)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(out);

    ls__held array;
    ls__range at = {0};
    int64_t place = 0;
    int status = find(t, name, n, &array, &at);

    if (status == 0)
        status = place_here(name, &array, at, &place);
    if (status == 0)
        memcpy(out, array.array + place, (size_t)n * sizeof *out);
    return status;
}

int ls_trainer_set(ls_trainer *t, const char *name, int64_t n,
                   const float *values)
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(name);
    LS__NEED(values);

    ls__held array;
    ls__range at = {0};
    int status = find(t, name, n, &array, &at);

    if (status < 0)
        return status;
    ls__exec_stale(t->model.plan, &t->model.weights);
    for (ls__stretch s = {0}; ls__owned_next(&array.owned, &s);) {
        ls__range here = ls__range_common(at, s.range); /* of a rank's moments,
                                                           its own */
        if (here.first < here.last)
            memcpy(array.array + s.at + (here.first - s.range.first),
                   values + (here.first - at.first),
                   (size_t)(here.last - here.first) * sizeof *values);
    }
    return 0;
}

int64_t ls_trainer_step(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return t->step;
}

int ls_trainer_devices(const ls_trainer *t)
{
    LS__NEED_AS(t, "trainer", 0);
    return t->devices.of;
}
