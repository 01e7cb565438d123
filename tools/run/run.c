/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages both tools share.  Each goes on, or has said what is wrong and
 * gives the exit status. */
#include "run/run.h"
#include "model/adapt.h"
#include "opt/characters.h"
#include "opt/cores.h"
#include "run/rate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GROUPS = 16, AXES_TEXT = 256 };

void run_program(run *r, const char *about, const run_own *own)
{
    opt_program *p = &r->program;

    *p = (opt_program){.about = about, .models = models, .model_count = MODELS};
    opt_add(p, run_mesh_options, &r->how);
    opt_add(p, data_options, &r->set.data);
    opt_add(p, model_options, &r->set.model);
    opt_add(p, data_cut_options, &r->set.data);
    opt_add(p, run_optimizer_options, &r->how);
    optim_settings_add(p, SETTINGS_OPTIMIZER, r->how.of_optimizer);
    opt_add(p, run_schedule_options, &r->how);
    optim_settings_add(p, SETTINGS_SCHEDULE, r->how.of_schedule);
    opt_add(p, run_step_options, &r->how);
    opt_add(p, own->report, own->settings);
    opt_add(p, start_options, &r->set.start);
    opt_add(p, own->keep, own->settings);
    opt_add(p, run_backend_options, &r->how);
}

int run_parse(run *r, int argc, char **argv)
{
    int status = opt_parse(&r->program, argc, argv, &r->line);

    if (status != OPT_GO)
        return status;
    r->model = r->program.models[r->line.model]->impl;
    optim_settings_settle(r->how.of_optimizer, SETTINGS_OPTIMIZER,
                          r->how.optimizer, &r->line);
    optim_settings_settle(r->how.of_schedule, SETTINGS_SCHEDULE,
                          r->how.schedule, &r->line);
    return OPT_GO;
}

const char *run_model_name(const run *r)
{
    return r->program.models[r->line.model]->name;
}

int64_t run_epoch(const run *r, int64_t batches)
{
    return r->model->epochs && r->data.batches ? batches / r->data.batches : 0;
}

bool run_given(const run *r, const char *name)
{
    return opt_given(&r->line, name);
}

bool run_is_first(const run *r)
{
    return !r->transport || r->transport->rank == 0;
}

/* ------ Stages before the first step ------ */

/* --devices auto: the number is known once a mesh has looked. */
int run_cores(const char *cpus, int64_t *cores)
{
    ls_mesh_options o = ls_mesh_defaults();

    o.devices = 1;
    o.cpus = cpus;
    *cores = cores_of(o);
    return *cores < 0 ? opt_check_usage((int)*cores) : OPT_GO;
}

/* Finds the backend of products, where the bits depend on it. */
static int find_products(run *r)
{
    if (run_precision(r) == LS_F32_LAYERS)
        return OPT_GO;
    return opt_check(
        ls_backend_text(r->products, r->how.backend, run_precision(r)));
}

/* Ranks of one machine that may use the same cores share them out. */
static int share_cores(run *r)
{
    int status = 1;

    if (r->transport)
        status = ls_transport_cpus(r->transport, r->how.cpus, r->cpus,
                                   sizeof r->cpus);
    r->shared = status == 0;
    return opt_check_usage(status < 0 ? status : 0);
}

static const char *cpus_of(const run *r)
{
    return *r->cpus ? r->cpus : r->how.cpus;
}

/* Returns the workers to open; 0: the mesh chooses.  Each of several ranks has
 * some of the devices, and no use for more workers than these. */
static int workers(const run *r)
{
    int ranks = r->transport ? r->transport->ranks : 1;
    int64_t most = (r->how.devices + ranks - 1) / ranks, cores = most;

    if (r->how.workers || ranks == 1)
        return (int)r->how.workers;
    if (r->shared)
        return 1;
    if (run_cores(cpus_of(r), &cores) != OPT_GO)
        return 0;
    return (int)(most < cores ? most : cores);
}

/* "data:4,model:2"; NULL: there is no axis but data. */
static int write_axes(const run *r, char text[AXES_TEXT], ls_mesh_options *o)
{
    int n;

    if (!r->how.axes)
        return OPT_GO;
    n = snprintf(text, AXES_TEXT, "data:%d,%s", o->devices, r->how.axes);
    if (n >= AXES_TEXT)
        return opt_fail(OPT_WRONG, "--axes: \"%s\" is too long", r->how.axes);
    o->axes = text;
    o->devices = 0;
    return OPT_GO;
}

int run_open_mesh(run *r)
{
    ls_mesh_options o = ls_mesh_defaults();
    char axes[AXES_TEXT];
    int status = find_products(r);

    if (status == OPT_GO)
        status = share_cores(r);
    if (status == OPT_GO && r->how.devices == 0)
        status = run_cores(r->how.cpus, &r->how.devices);
    if (status != OPT_GO)
        return status;
    if (r->how.devices == 1 && r->model->parallel_only && !r->how.allow_single)
        return opt_fail(OPT_WRONG, "Need at least 2 devices for data "
                        "parallelism. (--allow-single trains on one.)");
    o.devices = (int)r->how.devices;
    o.workers = workers(r);
    o.cpus = cpus_of(r);
    o.details = r->details;
    o.pin = r->how.check != NULL; /* a core is to be told from others */
    if ((status = write_axes(r, axes, &o)) != OPT_GO)
        return status;
    return opt_check_usage(ls_mesh_open(&r->mesh, &o));
}

/* Rows that do not divide leave the last device without any?  Its first is row
 * (devices - 1) x ceil(rows / shards) of the first micro-batch. */
static int check_padding(const run *r, int64_t rows)
{
    int64_t shards = r->data.shards, last = r->how.devices - 1;

    if (r->how.mean != LS_MEAN_OF_SHARDS || rows == 0 ||
        last * ((rows + shards - 1) / shards) < rows)
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--masked-mean per-shard: a batch of %lld "
                    "row%s leaves device %lld without any, so its own mean "
                    "does not exist", (long long)rows, opt_s(rows),
                    (long long)last);
}

/* The full batches and the short one of an epoch. */
static int check_batches(const run *r)
{
    const data *d = &r->data;
    int status = check_padding(r, d->batch);

    if (status != OPT_GO || !d->batches || r->set.data.steps < d->batches ||
        r->set.data.uneven != UNEVEN_PAD)
        return status;
    return check_padding(r, d->rows % d->batch);
}

int run_open_data(run *r)
{
    data_settings *s = &r->set.data;
    int64_t devices = r->how.devices;
    data_cut cut = {
        .batch = s->batch_per_device ? s->batch_per_device * devices : s->batch,
        .fits = !s->batch_per_device && !run_given(r, "batch") && !r->is_fold,
        .devices = (int)devices,
        .micro = (int)r->how.accumulate,
    };
    int status = r->model->load(&r->data, &r->set, &r->line);

    cut.pad = s->uneven == UNEVEN_PAD; /* a table has its own default */
    if (status == OPT_GO)
        status = data_plan(&r->data, &cut);
    s->batch = r->data.batch;
    if (status == OPT_GO && r->model->lr && !run_given(r, "lr"))
        r->how.lr = r->model->lr(&r->set.model);
    if (run_given(r, "steps"))
        s->epochs = 0;
    if (s->epochs)
        s->steps = s->epochs * r->data.batches;
    return status == OPT_GO ? check_batches(r) : status;
}

/* The nearest number of devices on one side with a sum from each rank. */
static int best_devices(int ranks, int devices, int way)
{
    do
        devices += way;
    while (devices >= ranks && ls_transport_sums(ranks, devices) != ranks);
    return devices;
}

/* Tells the cost of the cut of devices: 1 is the least that ranks can send. */
static void tell_factor(int ranks, int devices)
{
    int sums = ls_transport_sums(ranks, devices);

    fprintf(stderr, "%d ranks send %d partial sums of %d devices, factor %.2f",
            ranks, sums, devices, (double)sums / ranks);
    if (sums > ranks)
        fprintf(stderr, "; %d or %d devices would make it 1",
                best_devices(ranks, devices, -1),
                best_devices(ranks, devices, 1));
    fputc('\n', stderr);
}

/* Open MPI binds each of two ranks to one core unless told otherwise. */
static void tell_binding(const run *r)
{
    int ranks = r->transport->ranks, cores = ls_mesh_usable_cores(r->mesh);
    int64_t most = (r->how.devices + ranks - 1) / ranks;

    if (*r->cpus || r->shared || cores >= most || cores > 1)
        return;
    fprintf(stderr, "note: %lld devices of this rank run on one core, to which "
            "its launcher bound it; mpirun --bind-to none (srun "
            "--cpu-bind=none) leaves it to the ranks to share out the cores\n",
            (long long)most);
}

void run_talk(const run *r)
{
    fprintf(stderr, "%s\n", ls_mesh_text(r->mesh));
    if (*r->products)
        fprintf(stderr, "%s layers: %s\n", run_precision_name(r), r->products);
    for (int i = 0; ls_mesh_note(r->mesh, i); i++)
        fprintf(stderr, "note: %s\n",
                characters_shown(ls_mesh_note(r->mesh, i)));
    if (r->transport) {
        tell_factor(r->transport->ranks, (int)r->how.devices);
        tell_binding(r);
    }
}

int run_open_pool(run *r)
{
    ls_pool_options o = ls_pool_defaults();

    o.pin_caller = !r->shared && !r->unpinned;
    o.no_pin = r->unpinned;
    return opt_check(ls_pool_open(&r->pool, r->mesh, &o));
}

static int make_optimizer(const run *r, ls_optimizer *o)
{
    const run_settings *s = &r->how;

    *o = ls_optimizer_defaults((ls_optimizer_kind)s->optimizer,
                               rate_peak(s, &r->set.data));
    return optim_settings_set(s->of_optimizer, SETTINGS_OPTIMIZER,
                              s->optimizer, o);
}

static int open_batches(run *r)
{
    ls_key order = ls_key_new(r->set.data.seed);
    int status = r->sums ? data_checksum(&r->data, r->sums_held) : OPT_GO;

    if (status != OPT_GO)
        return status;
    return data_open(&r->data, r->trainer, r->set.data.shuffle ? &order : NULL);
}

static int choose_initialiser(run *r)
{
    const char *name = ls_init_name((int)r->set.model.initialiser - 1);
    ls_init init;
    int status = name ? ls_init_named(&init, name) : 0;

    return name && status == 0 ? ls_init_params(r->graph, "*kernel", &init)
                               : status;
}

/* Opens the trainer; a value that fails here came from the command line. */
static int open_trainer(run *r, const ls_trainer_options *o)
{
    bool is_read = r->model->graph != NULL;
    int status = is_read ? 0 : ls_graph_new(&r->graph);

    if (is_read)
        r->graph = r->model->graph(&r->set.model);
    if (status == 0) {
        r->model->build(r->graph, &r->set.model);
        status = choose_initialiser(r);
    }
    if (status == 0)
        status = adapt_add(r->graph, &r->set.start);
    if (status == 0)
        status = ls_trainer_open(&r->trainer, r->pool, r->graph, o);
    if (status == 0 && r->model->start)
        status = r->model->start(r->trainer, &r->data, &r->set,
                                 &(model_means){r->pool, o});
    if (status == 0)
        status = ls_state_place(r->trainer, LS_STATE_ALL, r->how.state);
    if (status == 0)
        status = ls_batch_open(&r->batch, r->trainer);
    if (status == LS_ENOTSUP) /* options that do not go together */
        return opt_fail(OPT_WRONG, "%s", ls_errmsg());
    return opt_check_usage(status);
}

/* The groups that --freeze and optimizer:no-decay ask for; their names are in
 * `text`, which the caller frees. */
typedef struct groups {
    ls_group group[MOST_GROUPS + MODEL_GROUPS];
    int count;
    char *text;
    char room[MODEL_GROUPS][MODEL_NAME]; /* the model's */
} groups;

static int read_groups(const run *r, groups *g)
{
    const run_settings *s = &r->how;
    bool lora = r->set.start.lora > 0;
    char *rest, *name;

    if (s->no_decay)
        g->group[g->count++] = ls_group_no_decay();
    if (lora)
        g->group[g->count++] = ls_lora_rest();
    if (!s->freeze)
        return OPT_GO;
    if (!(g->text = strdup(s->freeze)))
        return opt_fail(OPT_FAILED, "--freeze: out of memory");
    for (rest = g->text; (name = strsep(&rest, ","));) {
        if (!*name)
            return opt_fail(OPT_WRONG, "--freeze: \"%s\" has an empty pattern",
                            s->freeze);
        if (g->count == MOST_GROUPS)
            return opt_fail(OPT_WRONG, "--freeze: more than %d patterns",
                            MOST_GROUPS - s->no_decay - lora);
        g->group[g->count++] = ls_group_frozen(name);
    }
    return OPT_GO;
}

/* --check: a share of the steps, or all. */
static int read_check(const char *text, double *check)
{
    char *end = NULL;

    *check = 0;
    if (!text || !*text)
        return OPT_GO;
    *check = strcmp(text, "all") == 0 ? 1 : strtod(text, &end);
    if (*check > 0 && *check <= 1 && (!end || !*end))
        return OPT_GO;
    return opt_fail(OPT_WRONG, "--check %s: must be a number above 0 and at "
                    "most 1, or \"all\"", text);
}

int run_open_trainer(run *r)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_boundary room[RATE_BOUNDARIES];
    groups g = {.count = 0};
    int status = rate_read(&r->how, &r->set.data, room, &o.schedule);

    if (status == OPT_GO)
        status = make_optimizer(r, &o.optimizer);
    if (status == OPT_GO)
        status = read_groups(r, &g);
    if (status == OPT_GO)
        status = read_check(r->how.check, &o.check);
    if (status != OPT_GO) {
        free(g.text);
        return status;
    }
    if (r->model->groups)
        g.count += r->model->groups(&r->set.model, g.group + g.count, g.room);
    o.n_groups = g.count;
    o.groups = g.group;
    o.decay_schedule = rate_share(r->how.decay_schedule, &r->set.data);
    o.dropout_schedule = rate_share(r->how.dropout_schedule, &r->set.data);
    o.seed = r->how.seed;
    o.keys = r->model->keys;
    o.clip_norm = r->how.clip_norm;
    o.average = r->how.ema;
    o.clip_value = r->how.clip_value;
    o.accumulate = (int)r->how.accumulate;
    o.mean = (ls_mean)r->how.mean;
    o.backend = r->how.backend;
    o.precision = run_precision(r);
    o.transport = r->transport;
    o.bucket = r->how.bucket;
    status = open_trainer(r, &o);
    free(g.text);
    return status == OPT_GO ? open_batches(r) : status;
}

int run_average(const run *r, bool use)
{
    if (!(r->how.ema > 0) || ls_trainer_step(r->trainer) == 0)
        return OPT_GO;
    return opt_check(ls_trainer_use_average(r->trainer, use));
}

const char *run_isa(void)
{
    ls_isa isa;

    for (int i = 0; ls_isa_level(i, &isa); i++)
        if (isa.used)
            return isa.name;
    return "";
}

/* The data first: its thread fills batches. */
void run_close(run *r)
{
    data_free(&r->data);
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_graph_free(r->graph);
    onnx_file_close(&r->set.model.network);
    ls_pool_close(r->pool);
    ls_mesh_close(r->mesh);
}
