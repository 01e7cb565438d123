/* Opening and closing trainers, and their parameters by name. */
#include "train/placement.h"
#include "train/watch.h"
#include "backend/backend.h"
#include "base/error.h"
#include "pool/pool.h"
#include "random/keys.h"
#include "train/clip.h"
#include "train/schedule.h"

#include <stdlib.h>
#include <string.h>

ls_trainer_options ls_trainer_defaults(void)
{
    return (ls_trainer_options){.optimizer = ls_sgd(0.1)};
}

void ls_trainer_close(ls_trainer *t)
{
    if (!t)
        return;
    for (int d = 0; t->grad && d < t->devices; d++)
        ls__block_free(t->grad[d]);
    for (int w = 0; t->later && w < t->workers; w++)
        ls__block_free(t->later[w]);
    ls__block_free(t->value);
    ls__block_free(t->moment[0]);
    ls__block_free(t->moment[1]);
    ls__block_free(t->report);
    ls__block_free(t->square);
    ls__block_free(t->lap);
    ls__watch_close(t->watch);
    ls__exec_close(t->exec);
    ls__params_free(&t->params);
    ls__arena_free(&t->arena);
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
    if ((int)o->precision < LS_F32_LAYERS || o->precision > LS_BF16_LAYERS)
        return ls__fail(LS_EINVAL, "trainer options: precision %d is unknown",
                        (int)o->precision);
    if (o->accumulate < 0 || o->accumulate > 65536)
        return ls__fail(LS_EINVAL, "%d micro-batches: there must be 1 to 65536",
                        o->accumulate);
    if ((status = ls__optim_check(&o->optimizer)) < 0 ||
        (status = ls__schedule_check(&o->schedule)) < 0)
        return status;
    return ls__clip_check(o->clip_norm);
}

/* The boundaries are borrowed for the call only. */
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

static int new_trainer(ls_trainer **trainer, ls_pool *pool,
                       const ls_trainer_options *options)
{
    ls_trainer_options o = options ? *options : ls_trainer_defaults();
    ls_sharding cut;
    ls_trainer *t;
    int status;

    if (!pool)
        return ls__fail(LS_EINVAL, "a trainer needs a pool");
    if ((status = ls__kernels_check()) < 0 ||
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
    t->options.data_axis = NULL;
    t->devices = cut.shards;
    t->workers = ls_pool_workers(pool);
    t->micro = o.accumulate ? o.accumulate : 1;
    return keep_boundaries(t);
}

/* ------ memory ------ */

static int make_lists(ls_trainer *t)
{
    size_t d = (size_t)t->devices, n = (size_t)t->params.count;
    size_t w = (size_t)t->workers;

    if (t->micro > 1) {
        t->later = ls__arena_new(&t->arena, w, sizeof *t->later);
        t->later_of = ls__arena_new(&t->arena, n * w, sizeof *t->later_of);
        if (!t->later || !t->later_of)
            return LS_ENOMEM;
    }
    t->grad = ls__arena_new(&t->arena, d, sizeof *t->grad);
    t->value_of = ls__arena_new(&t->arena, n, sizeof *t->value_of);
    t->grad_of = ls__arena_new(&t->arena, n * d, sizeof *t->grad_of);
    t->bad = ls__arena_new(&t->arena, (size_t)t->workers, sizeof *t->bad);
    t->report = ls__block_zero(d * sizeof *t->report, "device reports");
    return t->grad && t->value_of && t->grad_of && t->bad && t->report
               ? 0 : LS_ENOMEM;
}

static int make_arrays(ls_trainer *t)
{
    size_t bytes;
    int moments = ls__optim_moments(t->options.optimizer.kind);

    if (!ls__mul((size_t)t->params.floats, sizeof(float), &bytes))
        return ls__no_memory("parameters", SIZE_MAX);
    if (!(t->value = ls__block(bytes, "parameters")))
        return LS_ENOMEM;
    for (int i = 0; i < moments; i++)
        if (!(t->moment[i] = ls__block(bytes, "optimizer state")))
            return LS_ENOMEM;
    bytes = (size_t)ls__clip_blocks(t->params.floats) * sizeof *t->square;
    if (t->options.clip_norm > 0 &&
        !(t->square = ls__block_zero(bytes, "gradient norm")))
        return LS_ENOMEM;
    return 0;
}

static int make_gradients(ls_trainer *t)
{
    size_t bytes = (size_t)t->params.floats * sizeof(float);

    for (int d = 0; d < t->devices; d++)
        if (!(t->grad[d] = ls__block(bytes, "device gradient")))
            return LS_ENOMEM;
    for (int w = 0; t->later && w < t->workers; w++)
        if (!(t->later[w] = ls__block(bytes, "micro-batch gradient")))
            return LS_ENOMEM;
    return 0;
}

/* Zero all arrays on the workers that will write them: the first touch places
 * the pages, and padding and untrained parameters stay zero. */
static void touch(void *user, int worker)
{
    ls_trainer *t = user;
    float *owned[] = {t->value, t->moment[0], t->moment[1]};
    int first, last;

    ls__track_phase(ls__track_here(), "open", -1);
    ls__pool_shards_of(t->pool, t->devices, worker, &first, &last);
    for (int i = 0; i < 3 && owned[i]; i++)
        ls__placement_zero(t, first, last, worker == 0, owned[i]);
    for (int d = first; d < last; d++)
        memset(t->grad[d], 0, (size_t)t->params.floats * sizeof(float));
    if (t->later)
        memset(t->later[worker], 0, (size_t)t->params.floats * sizeof(float));
}

static void point_at_arrays(ls_trainer *t)
{
    int n = t->params.count;

    for (int i = 0; i < n; i++) {
        int64_t offset = t->params.slot[t->params.of_declared[i]].offset;

        t->value_of[i] = t->value + offset;
        for (int d = 0; d < t->devices; d++)
            t->grad_of[d * n + i] = t->grad[d] + offset;
        for (int w = 0; t->later && w < t->workers; w++)
            t->later_of[w * n + i] = t->later[w] + offset;
    }
}

static int make_memory(ls_trainer *t, int params, const ls_array_spec *param)
{
    int status = ls__params_new(&t->params, params, param);

    if (status < 0 || (status = make_lists(t)) < 0 ||
        (status = make_arrays(t)) < 0 || (status = make_gradients(t)) < 0 ||
        (status = ls__placement_open(t)) < 0 ||
        (status = ls__watch_open(t)) < 0)
        return status;
    point_at_arrays(t);
    if ((status = ls__pool_take(t->pool)) < 0)
        return status;
    ls__pool_run(t->pool, touch, t);
    ls__pool_give(t->pool);
    return 0;
}

/* ------ from a graph ------ */

/* Requests to nnx's stream and places in linen's scopes both follow the order
 * of declaration.  A key of its own for dropout is another stream of nnx, whose
 * requests are not among the parameters'. */
static void initialise(ls_trainer *t, const ls__plan *plan)
{
    ls_key root = ls_key_new(t->options.seed);
    bool apart = t->options.own_dropout_key;

    for (int i = 0; i < plan->params; i++) {
        const ls__param *p = &plan->param[i];
        ls_key key = t->options.keys == LS_KEYS_NNX
                         ? ls__key_nnx(root, (uint64_t)(apart ? i : p->request))
                         : ls__key_linen(root, p->scope, (uint64_t)p->count);

        ls__init_fill(p->init, key, p->fan_in, p->fan_out, p->rank, p->shape,
                      (float *)t->value_of[i]);
    }
}

/* nnx: a layer's stream is one request to the root's.  linen: the root is
 * folded with the call, then with the hash of the layer's path. */
static void set_streams(ls_trainer *t, const ls__plan *plan)
{
    bool apart = t->options.own_dropout_key;
    ls_key root = apart ? t->options.dropout_key
                        : ls_key_new(t->options.seed);

    for (int i = 0; i < plan->streams; i++) {
        const ls__stream *s = &plan->stream[i];
        ls__draw draw = {.key = root};

        if (t->options.keys == LS_KEYS_NNX) {
            draw.key = ls__key_nnx(root, (uint64_t)(apart ? i : s->request));
        } else {
            draw.hash = ls__linen_hash(s->scope, (uint64_t)s->count);
            draw.hashed = true;
        }
        ls__exec_draw(t->exec, i, draw);
    }
}

static int make_inputs(ls_trainer *t, int inputs)
{
    t->inputs = inputs;
    t->input = ls__arena_new(&t->arena, (size_t)inputs, sizeof *t->input);
    t->row = ls__arena_new(&t->arena, (size_t)inputs, sizeof *t->row);
    return t->input && t->row ? 0 : LS_ENOMEM;
}

static int graph_inputs(ls_trainer *t, const ls__plan *plan)
{
    t->metrics = plan->metrics;
    if (make_inputs(t, plan->inputs) < 0)
        return LS_ENOMEM;
    for (int i = 0; i < plan->inputs; i++) {
        const ls_node *n = plan->input[i];

        t->input[i] = (ls__input){n->name, n->dtype, n->rank, {0}, n->size,
                                  n->limit};
        memcpy(t->input[i].shape, n->shape, sizeof n->shape);
    }
    return 0;
}

static int graph_params(ls_trainer *t, const ls__plan *plan)
{
    ls_array_spec *spec = ls__new((size_t)plan->params, sizeof *spec,
                                  "parameters");
    int status;

    if (!spec)
        return LS_ENOMEM;
    for (int i = 0; i < plan->params; i++) {
        const ls__param *p = &plan->param[i];

        spec[i] = (ls_array_spec){p->name, LS_F32, p->rank, {0}};
        memcpy(spec[i].shape, p->shape, sizeof p->shape);
    }
    status = make_memory(t, plan->params, spec);
    free(spec);
    return status;
}

static int open_graph(ls_trainer *t, const ls_graph *graph,
                      const char *backend_name)
{
    bool bf16 = t->options.precision == LS_BF16_LAYERS;
    ls__backend backend;
    ls__plan *plan;
    int status;

    if ((status = ls__backend_find(&backend, backend_name, bf16)) < 0 ||
        (status = ls__plan_new(&plan, graph, &backend)) < 0 ||
        (status = ls__exec_open(&t->exec, plan, t->pool, t->devices)) < 0)
        return status;
    t->fn = ls__exec_gradient;
    t->user = t->exec;
    if ((status = graph_inputs(t, plan)) < 0 ||
        (status = graph_params(t, plan)) < 0)
        return status;
    initialise(t, plan);
    set_streams(t, plan);
    return 0;
}

int ls_trainer_open(ls_trainer **trainer, ls_pool *pool,
                    const ls_graph *graph, const ls_trainer_options *options)
{
    ls_trainer *t = NULL;
    int status = new_trainer(&t, pool, options);

    if (status == 0)
        status = open_graph(t, graph, options ? options->backend : NULL);
    if (status < 0) {
        ls_trainer_close(t);
        return status;
    }
    *trainer = t;
    return 0;
}

/* ------ from a gradient function ------ */

static int own_inputs(ls_trainer *t, const ls_gradient *g)
{
    char text[LS__SHAPE_TEXT];

    if (make_inputs(t, g->inputs) < 0)
        return LS_ENOMEM;
    for (int i = 0; i < g->inputs; i++) {
        const ls_array_spec *s = &g->input[i];
        ls__input *in = &t->input[i];

        in->name = ls__arena_text(&t->arena, s->name ? s->name : "");
        if (!in->name)
            return LS_ENOMEM;
        if ((s->dtype != LS_F32 && s->dtype != LS_I32) || s->rank < 0 ||
            s->rank > LS_MAX_RANK ||
            (in->size = ls__count(s->rank, s->shape)) <= 0)
            return ls__fail(LS_EINVAL, "input \"%s\": dtype %d, rank %d, row "
                            "%s", in->name, (int)s->dtype, s->rank,
                            ls__shape_text(text, s->rank > 0 &&
                                           s->rank <= LS_MAX_RANK ? s->rank
                                                                  : 0,
                                           s->shape));
        in->dtype = s->dtype;
        in->rank = s->rank;
        memcpy(in->shape, s->shape, sizeof in->shape);
        in->limit = INT64_C(1) << 31;
    }
    return 0;
}

int ls_trainer_open_gradient(ls_trainer **trainer, ls_pool *pool,
                             const ls_gradient *gradient,
                             const ls_trainer_options *options)
{
    ls_trainer *t = NULL;
    int status;

    if (!gradient || !gradient->fn || gradient->inputs < 1 ||
        gradient->params < 1)
        return ls__fail(LS_EINVAL, "a gradient needs a function, an input "
                        "and a parameter");
    if (options && options->precision != LS_F32_LAYERS)
        return ls__fail(LS_EINVAL, "a gradient of one's own has no layers that "
                        "could be bf16");
    if ((status = new_trainer(&t, pool, options)) == 0) {
        t->fn = gradient->fn;
        t->user = gradient->user;
        t->metrics = LS_METRICS;
        if ((status = own_inputs(t, gradient)) == 0)
            status = make_memory(t, gradient->params, gradient->param);
    }
    if (status < 0) {
        ls_trainer_close(t);
        return status;
    }
    *trainer = t;
    return 0;
}

/* ------ parameters by name ------ */

int ls_trainer_params(const ls_trainer *t)
{
    return t->params.count;
}

const char *ls_trainer_param_name(const ls_trainer *t, int i)
{
    return i < 0 || i >= t->params.count ? NULL : t->params.slot[i].name;
}

int ls_trainer_param_shape(const ls_trainer *t, int i,
                           int64_t shape[LS_MAX_RANK])
{
    if (i < 0 || i >= t->params.count)
        return 0;
    memcpy(shape, t->params.slot[i].shape, sizeof t->params.slot[i].shape);
    return t->params.slot[i].rank;
}

/* The array that a name means, the name's rest being a parameter's: a moment
 * "mu.<name>" unless a parameter is called that. */
static float *array_of(const ls_trainer *t, const char **name)
{
    ls_optimizer_kind kind = t->options.optimizer.kind;

    for (int i = 0; i < t->params.count; i++)
        if (!strcmp(t->params.slot[i].name, *name))
            return t->value;
    for (int i = 0; i < ls__optim_moments(kind); i++) {
        const char *moment = ls__optim_moment_name(kind, i);
        size_t n = strlen(moment);

        if (!strncmp(*name, moment, n) && (*name)[n] == '.') {
            *name += n + 1;
            return t->moment[i];
        }
    }
    return t->value;
}

/* Where the n elements of a name are. */
static int find(const ls_trainer *t, const char *name, int64_t n, float **at)
{
    const char *rest = name;
    float *array = array_of(t, &rest);
    const ls__slot *s = ls__params_find(&t->params, rest);

    if (!s)
        return LS_ENOTFOUND;
    if (s->size != n)
        return ls__fail(LS_ESHAPE, "parameter \"%s\" has %lld elements, not "
                        "%lld", name, (long long)s->size, (long long)n);
    *at = array + s->offset;
    return 0;
}

int ls_trainer_get(const ls_trainer *t, const char *name, int64_t n,
                   float *out)
{
    float *at = NULL;
    int status = find(t, name, n, &at);

    if (status == 0)
        memcpy(out, at, (size_t)n * sizeof *out);
    return status;
}

int ls_trainer_set(ls_trainer *t, const char *name, int64_t n,
                   const float *values)
{
    float *at = NULL;
    int status = find(t, name, n, &at);

    if (status == 0)
        memcpy(at, values, (size_t)n * sizeof *values);
    return status;
}

int64_t ls_trainer_step(const ls_trainer *t)
{
    return t->step;
}

int ls_trainer_devices(const ls_trainer *t)
{
    return t->devices;
}
