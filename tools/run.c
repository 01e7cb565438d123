/* The stages both tools share.  Each goes on, or has said what is wrong and
 * gives the exit status. */
#include "run.h"
#include "rate.h"

#include <stdio.h>
#include <string.h>

int run_parse(run *r, const opt_program *program, int argc, char **argv)
{
    int status = opt_parse(program, argc, argv, &r->set, &r->line);

    r->program = program;
    r->model = program->models[r->line.model < 0 ? 0 : r->line.model].impl;
    return status;
}

bool run_given(const run *r, const char *name)
{
    return opt_given(r->program, &r->line, name);
}

/* ------ Options that do not go together ------ */

static const char *const not_both[][2] = {
    {"steps", "epochs"},
    {"batch", "batch-per-device"},
    {"shuffle", "no-shuffle"},
};

/* Silently ignored, "--optimizer sgd --momentum 0.9" would be another
 * experiment than its author thinks. */
/* clang-format off */
static const struct {
    const char *name;
    unsigned optimizers; /* bits of ls_optimizer_kind */
    const char *text;
} of_optimizer[] = {
    { "momentum", 1u << LS_MOMENTUM | 1u << LS_NESTEROV,
      "momentum and nesterov" },
    { "b1", 1u << LS_ADAM | 1u << LS_ADAMW, "adam and adamw" },
    { "b2", 1u << LS_ADAM | 1u << LS_ADAMW, "adam and adamw" },
    { "eps", 1u << LS_ADAM | 1u << LS_ADAMW, "adam and adamw" },
    { "weight-decay", 1u << LS_ADAMW, "adamw" },
};

static const struct {
    const char *name;
    unsigned schedules; /* bits of ls_schedule_kind */
    bool needed;        /* by each of them */
    const char *text;
} of_schedule[] = {
    { "decay-steps",
      1u << LS_LINEAR | 1u << LS_COSINE | 1u << LS_EXPONENTIAL, false,
      "linear, cosine and exponential" },
    { "decay-rate", 1u << LS_EXPONENTIAL, true, "exponential" },
    { "end-lr", 1u << LS_LINEAR | 1u << LS_COSINE | 1u << LS_EXPONENTIAL,
      false, "linear, cosine and exponential" },
    { "boundaries", 1u << LS_PIECEWISE, true, "piecewise" },
};
/* clang-format on */

static int check_schedule(const run *r)
{
    for (size_t i = 0; i < sizeof of_schedule / sizeof *of_schedule; i++) {
        const char *name = of_schedule[i].name, *of = of_schedule[i].text;
        bool fits = of_schedule[i].schedules >> r->set.schedule & 1;

        if (run_given(r, name) && !fits)
            return opt_fail(OPT_WRONG, "--%s is for --schedule %s", name, of);
        if (fits && of_schedule[i].needed && !run_given(r, name))
            return opt_fail(OPT_WRONG, "--schedule %s needs --%s", of, name);
    }
    return OPT_GO;
}

static int check_state(const char *state)
{
    if (strchr(state, '=') || !strcmp(state, "replicate") ||
        !strcmp(state, "shard"))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--state: \"%s\" is none of replicate, shard "
                    "and PATTERN=AXIS", state);
}

static bool is_bf16(const run *r)
{
    return r->set.precision == PRECISION_BF16;
}

static bool is_onednn(const run *r)
{
    return r->set.backend && strcmp(r->set.backend, "onednn") == 0;
}

int run_check(run *r)
{
    for (size_t i = 0; i < sizeof not_both / sizeof *not_both; i++)
        if (run_given(r, not_both[i][0]) && run_given(r, not_both[i][1]))
            return opt_fail(OPT_WRONG, "--%s and --%s exclude each other",
                            not_both[i][0], not_both[i][1]);
    for (size_t i = 0; i < sizeof of_optimizer / sizeof *of_optimizer; i++)
        if (run_given(r, of_optimizer[i].name) &&
            !(of_optimizer[i].optimizers >> r->set.optimizer & 1))
            return opt_fail(OPT_WRONG, "--%s is for --optimizer %s",
                            of_optimizer[i].name, of_optimizer[i].text);
    if (check_state(r->set.state) != OPT_GO)
        return OPT_WRONG;
    if (is_bf16(r) && r->set.backend && !strcmp(r->set.backend, "blis"))
        return opt_fail(OPT_WRONG, "--precision bf16 and --backend blis "
                        "exclude each other: BLIS has no such products");
    if (r->set.precision == PRECISION_BF16_INPUT && r->model->tokens)
        return opt_fail(OPT_WRONG, "--precision bf16-input rounds inputs that "
                        "are floats; %s takes tokens",
                        r->program->models[r->line.model].name);
    return check_schedule(r);
}

/* ------ Stages before the first step ------ */

/* --devices auto: the number is known once a mesh has looked. */
static int count_cores(int64_t *cores)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh;
    int status;

    o.devices = 1;
    status = ls_mesh_open(&mesh, &o);
    if (status < 0)
        return opt_check(status);
    *cores = ls_mesh_usable_cores(mesh);
    ls_mesh_close(mesh);
    return OPT_GO;
}

/* Who makes the products, where the bits depend on it. */
static int find_products(run *r)
{
    if (!is_bf16(r) && !is_onednn(r))
        return OPT_GO;
    return opt_check(ls_backend_text(r->products, r->set.backend,
                                     is_bf16(r) ? LS_BF16_LAYERS
                                                : LS_F32_LAYERS));
}

int run_open_mesh(run *r)
{
    ls_mesh_options o = ls_mesh_defaults();
    int status = find_products(r);

    if (status == OPT_GO && r->set.devices == 0)
        status = count_cores(&r->set.devices);
    if (status != OPT_GO)
        return status;
    if (r->set.devices == 1 && r->model->parallel_only && !r->set.allow_single)
        return opt_fail(OPT_FAILED,
                        "Need at least 2 devices for data parallelism. "
                        "(--allow-single trains on one.)");
    o.devices = (int)r->set.devices;
    o.workers = (int)r->set.workers;
    o.details = r->details;
    return opt_check(ls_mesh_open(&r->mesh, &o));
}

/* Rows that are padded leave the last device without any?  Its first is row
 * (devices - 1) x ceil(rows / shards) of the first micro-batch. */
static int check_padding(const run *r, int64_t rows)
{
    int64_t shards = r->data.shards, last = r->set.devices - 1;

    if (r->set.uneven != UNEVEN_PAD || r->set.mean != LS_MEAN_OF_SHARDS ||
        rows == 0 || last * ((rows + shards - 1) / shards) < rows)
        return OPT_GO;
    return opt_fail(
        OPT_FAILED,
        "--masked-mean per-shard: a batch of %lld "
        "rows, padded, leaves device %lld without any, so its own mean "
        "does not exist",
        (long long)rows, (long long)last);
}

/* The full batches and the short one of an epoch. */
static int check_batches(const run *r)
{
    const data *d = &r->data;
    int status = check_padding(r, d->batch);

    if (status != OPT_GO || !d->batches || r->set.steps < d->batches)
        return status;
    return check_padding(r, d->rows % d->batch);
}

int run_open_data(run *r)
{
    settings *s = &r->set;
    int64_t batch =
        s->batch_per_device ? s->batch_per_device * s->devices : s->batch;
    int status = r->model->load(&r->data, s, &r->line);

    if (status == OPT_GO)
        status = data_plan(&r->data, batch, (int)s->devices, (int)s->accumulate,
                           s->uneven == UNEVEN_PAD);
    s->batch = r->data.batch;
    if (run_given(r, "steps"))
        s->epochs = 0;
    if (s->epochs)
        s->steps = s->epochs * r->data.batches;
    return status == OPT_GO ? check_batches(r) : status;
}

void run_talk(const run *r)
{
    fprintf(stderr, "%s\n", ls_mesh_text(r->mesh));
    if (*r->products)
        fprintf(stderr, "%s layers: %s\n", is_bf16(r) ? "bf16" : "f32",
                r->products);
    for (int i = 0; ls_mesh_note(r->mesh, i); i++)
        fprintf(stderr, "note: %s\n", ls_mesh_note(r->mesh, i));
}

int run_open_pool(run *r)
{
    ls_pool_options o = ls_pool_defaults();

    o.pin_caller = true;
    return opt_check(ls_pool_open(&r->pool, r->mesh, &o));
}

static ls_optimizer optimizer(const settings *s)
{
    ls_optimizer o = ls_adamw(rate_peak(s));

    o.kind = (ls_optimizer_kind)s->optimizer;
    o.momentum = s->momentum;
    o.b1 = s->b1;
    o.b2 = s->b2;
    o.eps = s->eps;
    o.weight_decay = o.kind == LS_ADAMW ? s->weight_decay : 0;
    return o;
}

static int open_batches(run *r)
{
    ls_key order = ls_key_new(r->set.data_seed);
    int status = r->set.checkpoint ? data_checksum(&r->data) : OPT_GO;

    if (status != OPT_GO)
        return status;
    return data_open(&r->data, r->trainer, r->set.shuffle ? &order : NULL);
}

int run_open_trainer(run *r)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_boundary room[RATE_BOUNDARIES];
    int status = rate_read(&r->set, room, &o.schedule);

    if (status != OPT_GO)
        return status;
    o.seed = r->set.seed;
    o.keys = r->model->keys;
    o.optimizer = optimizer(&r->set);
    o.clip_norm = r->set.clip_norm;
    o.accumulate = (int)r->set.accumulate;
    o.mean = (ls_mean)r->set.mean;
    o.backend = r->set.backend;
    o.precision = r->set.precision == PRECISION_BF16 ? LS_BF16_LAYERS
                                                     : LS_F32_LAYERS;
    status = ls_graph_new(&r->graph);
    if (status == 0) {
        r->model->build(r->graph, &r->set);
        status = ls_trainer_open(&r->trainer, r->pool, r->graph, &o);
    }
    if (status == 0)
        status = ls_state_place(r->trainer, LS_STATE_ALL, r->set.state);
    if (status == 0)
        status = ls_batch_open(&r->batch, r->trainer);
    return status < 0 ? opt_check(status) : open_batches(r);
}

static bool find_isa(ls_isa *isa)
{
    for (int i = 0; ls_isa_level(i, isa); i++)
        if (isa->used)
            return true;
    return false;
}

const char *run_isa(void)
{
    ls_isa isa;

    return find_isa(&isa) ? isa.name : "";
}

bool run_is_portable(const run *r)
{
    ls_isa isa;

    return !*r->products && (!find_isa(&isa) || isa.portable);
}

/* The data first: its thread fills batches. */
void run_close(run *r)
{
    data_free(&r->data);
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_graph_free(r->graph);
    ls_pool_close(r->pool);
    ls_mesh_close(r->mesh);
}
