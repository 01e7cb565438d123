/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces: what the file says is what happened, whatever the ring has lost, and
 * recording changes no bit. */
#include "small_model.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS = 5, DEVICES = 4, WORKERS = 2 };

/* ------ A traced run ------ */

typedef struct traced {
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
    ls_trace *trace;
    float loss[STEPS];
    char path[64];
} traced;

static void open_graph(traced *r, int level, int64_t events, ls_graph *graph)
{
    ls_trace_options o = {.size = sizeof o, .level = level, .events = events};
    ls_trainer_options sharded = ls_trainer_defaults();

    sharded.state = LS_SHARD;
    *r = (traced){.pool = open_axes("data:4", WORKERS), .graph = graph};
    OK(ls_trainer_open(&r->trainer, r->pool, r->graph, &sharded));
    r->batch = small_batch(r->trainer);
    if (level)
        OK(ls_trace_open(&r->trace, r->pool, &o));
    snprintf(r->path, sizeof r->path, "trace-%ld.json", (long)getpid());
}

static void open_run(traced *r, int level, int64_t events)
{
    open_graph(r, level, events, small_graph());
}

static void take_steps(traced *r)
{
    ls_result result;

    for (int i = 0; i < STEPS; i++) {
        OK(ls_step(r->trainer, r->batch, &result));
        r->loss[i] = result.loss;
    }
}

static void close_run(traced *r)
{
    ls_trace_close(r->trace);
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_graph_free(r->graph);
    ls_pool_close(r->pool);
    unlink(r->path);
}

/* ------ Reading the file ------ */

static json_t *written(const traced *r)
{
    json_error_t error;
    json_t *file;

    OK(ls_trace_write(r->trace, r->path));
    file = json_load_file(r->path, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(file != NULL, "line %d: %s", error.line, error.text);
    return file;
}

static const char *text(const json_t *event, const char *key)
{
    const char *s = json_string_value(json_object_get(event, key));

    return s ? s : "";
}

static double number(const json_t *event, const char *key)
{
    const json_t *n = json_object_get(event, key);

    return json_is_number(n) ? json_number_value(n) : -1;
}

static double arg(const json_t *event, const char *key)
{
    return number(json_object_get(event, "args"), key);
}

/* Events of that category and name ("": any), on a row (-1: any), of a device
 * (-1: any). */
static int count(const json_t *file, const char *category, const char *name,
                 int row, int device)
{
    const json_t *list = json_object_get(file, "traceEvents");
    const json_t *e;
    size_t i;
    int n = 0;

    json_array_foreach(list, i, e) n +=
        !strcmp(text(e, "cat"), category) &&
        (!*name || !strcmp(text(e, "name"), name)) &&
        (row < 0 || number(e, "tid") == row) &&
        (device < 0 || arg(e, "device") == device);
    return n;
}

static double dropped(const json_t *file)
{
    return number(json_object_get(file, "otherData"), "dropped");
}

/* ------ Tests ------ */

/* Each device's gradients are a slice of each step, on its worker's row, and
 * so are reducing, updating, waiting and the step. */
TEST(test_slices)
{
    traced r;
    json_t *file;

    open_run(&r, 1, 1000);
    take_steps(&r);
    file = written(&r);
    for (int d = 0; d < DEVICES; d++)
        ck_assert_int_eq(
            count(file, "phase", "gradients", d * WORKERS / DEVICES, d), STEPS);
    for (int w = 0; w < WORKERS; w++) {
        ck_assert_int_eq(count(file, "phase", "prepare", w, -1), STEPS);
        ck_assert_int_eq(count(file, "phase", "reduce", w, -1), STEPS);
        ck_assert_int_ge(count(file, "phase", "update", w, -1), STEPS);
        ck_assert_int_ge(count(file, "barrier", "barrier", w, -1), 3 * STEPS);
    }
    ck_assert_int_eq(count(file, "step", "step", 0, -1), STEPS);
    ck_assert_int_eq(count(file, "forward", "", -1, -1), 0);
    ck_assert(dropped(file) == 0);
    json_decref(file);
    close_run(&r);
}

/* Rows are called after workers and their PUs. */
TEST(test_names)
{
    ls_mesh_options o = {.size = sizeof o,
                         .devices = DEVICES, .workers = WORKERS};
    ls_mesh *mesh;
    const json_t *e;
    json_t *file;
    char name[64];
    size_t i;
    traced r;
    int rows = 0;

    open_run(&r, 1, 1000);
    OK(ls_mesh_open(&mesh, &o));
    file = written(&r);
    json_array_foreach(json_object_get(file, "traceEvents"), i,
                       e) if (!strcmp(text(e, "name"), "thread_name"))
    {
        int w = (int)number(e, "tid");

        snprintf(name, sizeof name, "worker %d (PU %d)", w,
                 ls_mesh_worker_pu(mesh, w));
        ck_assert_str_eq(text(json_object_get(e, "args"), "name"), name);
        rows++;
    }
    ck_assert_int_eq(rows, WORKERS);
    ls_mesh_close(mesh);
    json_decref(file);
    close_run(&r);
}

/* A layer in a graph of its own, and what it is compared with. */
static ls_graph *layer_graph(ls_node **layer, ls_node **y)
{
    ls_graph *g = empty_graph();

    *layer = ls_dense(ls_input(g, "x", LS_F32, 1, (int64_t[]){IN}), OUT,
                      "dense");
    *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    return g;
}

/* The layer is an output too. */
static ls_graph *output_graph(void)
{
    ls_node *h, *y;
    ls_graph *g = layer_graph(&h, &y);

    OK(ls_output(g, h, "h"));
    OK(ls_loss(g, ls_mean_squared_error(h, y)));
    return g;
}

/* A chain of three elementwise operators behind the layer. */
static ls_graph *chain_graph(void)
{
    ls_node *h, *y;
    ls_graph *g = layer_graph(&h, &y);

    h = ls_mul(ls_scale_shift(ls_square(h), 0.5, 0.25), h);
    OK(ls_loss(g, ls_mean_squared_error(h, y)));
    return g;
}

/* A chain is one slice forward and one backward, and none of its operators has
 * a slice of its own. */
TEST(test_chain)
{
    traced r;
    json_t *file;

    open_graph(&r, 2, 1000, chain_graph());
    take_steps(&r);
    file = written(&r);
    ck_assert_int_eq(count(file, "forward", "formula", -1, -1),
                     STEPS * DEVICES);
    ck_assert_int_eq(count(file, "backward", "formula", -1, -1),
                     STEPS * DEVICES);
    for (const char *const *op = (const char *[]){"square", "scale", "mul",
                                                  NULL}; *op; op++)
        ck_assert_int_eq(count(file, "forward", *op, -1, -1) +
                             count(file, "backward", *op, -1, -1), 0);
    json_decref(file);
    close_run(&r);
}

/* A row's phases and waiting follow each other in time, without overlap. */
TEST(test_order)
{
    double end[WORKERS] = {0};
    const json_t *e;
    json_t *file;
    traced r;
    size_t i;

    open_run(&r, 1, 1000);
    take_steps(&r);
    file = written(&r);
    json_array_foreach(json_object_get(file, "traceEvents"), i, e)
    {
        int w = (int)number(e, "tid");

        if (strcmp(text(e, "cat"), "phase") &&
            strcmp(text(e, "cat"), "barrier"))
            continue;
        ck_assert_double_ge(number(e, "dur"), 0);
        ck_assert_double_ge(number(e, "ts"), end[w] - 1e-6);
        end[w] = number(e, "ts") + number(e, "dur");
    }
    ck_assert(end[0] > 0 && end[1] > 0);
    json_decref(file);
    close_run(&r);
}

/* The counters hold each step's loss, exactly, and how fast it went. */
TEST(test_counters)
{
    int losses = 0, rates = 0;
    const json_t *e;
    json_t *file;
    traced r;
    size_t i;

    open_run(&r, 1, 1000);
    take_steps(&r);
    ls_trace_counter(r.pool, "not drawn", (double)__builtin_nanf(""));
    file = written(&r);
    json_array_foreach(json_object_get(file, "traceEvents"), i,
                       e) if (!strcmp(text(e, "name"), "loss"))
        ck_assert((float)arg(e, "value") == r.loss[losses++]);
    else if (!strcmp(text(e, "name"), "rows/s")) rates += arg(e, "value") > 0;
    ck_assert_int_eq(losses, STEPS);
    ck_assert_int_eq(rates, STEPS);
    json_decref(file);
    close_run(&r);
}

/* Every operator of every device is there at level 2, both ways. */
TEST(test_operators)
{
    traced r;
    json_t *file;

    open_run(&r, 2, 4096);
    take_steps(&r);
    file = written(&r);
    for (int d = 0; d < DEVICES; d++) {
        ck_assert_int_eq(count(file, "forward", "dense", -1, d), 2 * STEPS);
        ck_assert_int_eq(count(file, "backward", "dense", -1, d), 2 * STEPS);
        ck_assert_int_eq(count(file, "backward", "", -1, d), 3 * STEPS);
    }
    json_decref(file);
    close_run(&r);
}

/* A ring that is full loses its oldest events and says how many; the newest
 * stay, and the file is whole. */
TEST(test_wrap)
{
    const json_t *e;
    json_t *file;
    double last = -1;
    size_t i;
    traced r;

    open_run(&r, 2, 13);
    take_steps(&r);
    take_steps(&r);
    file = written(&r);
    ck_assert_double_gt(dropped(file), 0);
    ck_assert(dropped(file) == (double)ls_trace_dropped(r.trace));
    json_array_foreach(json_object_get(file, "traceEvents"), i,
                       e) if (!strcmp(text(e, "cat"), "step")) last =
        arg(e, "step");
    ck_assert(last == 2 * STEPS - 1);
    ck_assert_int_le(json_array_size(json_object_get(file, "traceEvents")),
                     3 * 16 + 1 + 2 * WORKERS);
    json_decref(file);
    close_run(&r);
}

static int marked(void *user, int device, const void *const *in,
                  void *const *out)
{
    ls_mark mark = ls_mark_begin(user, "load \"it\"\\\n");

    (void)device, (void)in, (void)out;
    ls_mark_end(user, mark);
    return 0;
}

/* Mark once, on the device that the caller runs. */
static int marked_once(void *user, int device, const void *const *in,
                       void *const *out)
{
    (void)in, (void)out;
    if (device == 0)
        ls_mark_end(user, ls_mark_begin(user, "once"));
    return 0;
}

/* Marks are on the row of whoever set them, with any text for a name. */
TEST(test_marks)
{
    ls_mark outer, inner;
    json_t *file;
    traced r;

    open_run(&r, 1, 1000);
    outer = ls_mark_begin(r.pool, "outer");
    inner = ls_mark_begin(r.pool, "no UTF-8: \xff");
    ls_mark_end(r.pool, inner);
    ls_mark_end(r.pool, outer);
    OK(ls_pmap(r.pool, marked, r.pool, 0, NULL, 0, NULL));
    file = written(&r);
    ck_assert_int_eq(count(file, "user", "outer", 0, -1), 1);
    ck_assert_int_eq(count(file, "user", "?", 0, -1), 1);
    for (int d = 0; d < DEVICES; d++) {
        int w = d * WORKERS / DEVICES;

        ck_assert_int_eq(count(file, "user", "load \"it\"\\\n", w, d), 1);
        ck_assert_int_eq(count(file, "phase", "pmap", w, d), 1);
    }
    json_decref(file);
    close_run(&r);
}

/* Whoever calls two pools may mark one of them in a job of the other: it is on
 * the caller's row. */
TEST(test_marks_of_another)
{
    ls_pool *other = open_axes("data:4", WORKERS);
    ls_trace *of_other;
    json_t *file;
    traced r;

    open_run(&r, 1, 1000);
    OK(ls_trace_open(&of_other, other, NULL));
    OK(ls_pmap(other, marked_once, r.pool, 0, NULL, 0, NULL));
    OK(ls_pmap(r.pool, marked_once, other, 0, NULL, 0, NULL));
    file = written(&r);
    ck_assert_int_eq(count(file, "user", "once", 0, -1), 1);
    ck_assert_int_eq(count(file, "user", "", -1, -1), 1);
    json_decref(file);
    OK(ls_trace_write(of_other, r.path));
    file = json_load_file(r.path, 0, NULL);
    ck_assert_int_eq(count(file, "user", "once", 0, -1), 1);
    json_decref(file);
    ls_trace_close(of_other);
    ls_pool_close(other);
    close_run(&r);
}

/* A prediction is a phase of each worker's; what a pool is told to count while
 * nothing is traced is lost. */
TEST(test_prediction)
{
    static const float x[ROWS * IN];
    float out[ROWS * OUT];
    ls_predictor *p;
    ls_context *c;
    json_t *file;
    traced r;

    open_graph(&r, 0, 0, output_graph());
    OK(ls_predictor_open(&p, r.trainer));
    OK(ls_context_open(&c, p, r.pool));
    OK(ls_context_set(c, "x", LS_F32, x, ROWS));
    ls_trace_counter(r.pool, "lost", 1);
    OK(ls_trace_open(&r.trace, r.pool, NULL));
    OK(ls_context_predict(c, "h", ROWS * OUT, out));
    file = written(&r);
    for (int w = 0; w < WORKERS; w++)
        ck_assert_int_eq(count(file, "phase", "predict", w, -1), 1);
    ck_assert_int_eq(count(file, "barrier", "barrier", 0, -1), 1);
    json_decref(file);
    ls_context_close(c);
    ls_predictor_close(p);
    close_run(&r);
}

/* A disk that fills up while a trace is written: the message, and no file. */
TEST(test_disk_full)
{
    struct rlimit old, small;
    traced r;

    signal(SIGXFSZ, SIG_IGN);
    open_run(&r, 2, 4096);
    take_steps(&r);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){8192, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    FAILS(ls_trace_write(r.trace, r.path), LS_EIO, "writing failed");
    setrlimit(RLIMIT_FSIZE, &old);
    ck_assert_int_lt(access(r.path, F_OK), 0);
    close_run(&r);
}

/* A trace that is opened, at any level, changes no bit of a run. */
TEST(test_bits)
{
    char hex[3][65];

    for (int level = 0; level < 3; level++) {
        traced r;

        open_run(&r, level, 100);
        take_steps(&r);
        ls_trainer_hash(r.trainer, hex[level]);
        close_run(&r);
    }
    ck_assert_str_eq(hex[0], hex[1]);
    ck_assert_str_eq(hex[0], hex[2]);
}

/* A trace may be closed and another one opened; steps go on in between, and a
 * mark that began before it is not kept. */
TEST(test_again)
{
    ls_trace *other = NULL;
    ls_mark early;
    json_t *file;
    traced r;

    open_run(&r, 1, 1000);
    FAILS(ls_trace_open(&other, r.pool, NULL), LS_EBUSY, "has one");
    take_steps(&r);
    ls_trace_close(r.trace);
    r.trace = NULL;
    take_steps(&r);
    early = ls_mark_begin(r.pool, "early");
    OK(ls_trace_open(&r.trace, r.pool, NULL));
    ls_mark_end(r.pool, early);
    take_steps(&r);
    file = written(&r);
    ck_assert_int_eq(count(file, "step", "step", 0, -1), STEPS);
    ck_assert_int_eq(count(file, "user", "early", -1, -1), 0);
    json_decref(file);
    close_run(&r);
}

/* Options that make no sense are named, and a file that cannot be written
 * leaves nothing behind. */
TEST(test_refused)
{
    ls_trace_options o = ls_trace_defaults();
    ls_trace *t = NULL;
    struct stat info;
    ls_doing doing;
    traced r;

    open_run(&r, 0, 0);
    o.level = 3;
    FAILS(ls_trace_open(&t, r.pool, &o), LS_EINVAL, "level 3");
    o.level = 0;
    FAILS(ls_trace_open(&t, r.pool, &o), LS_EINVAL, "level 0");
    o.level = 1;
    o.events = 0;
    FAILS(ls_trace_open(&t, r.pool, &o), LS_EINVAL, "0 events");
    o.size = 1;
    FAILS(ls_trace_open(&t, r.pool, &o), LS_EINVAL, "size is 1");
    FAILS(ls_pool_doing(r.pool, -1, &doing), LS_EINVAL, "worker -1");
    o = (ls_trace_options){.size = sizeof(ls_trace_options),
                           .level = 1, .events = (1 << 24) + 1};
    FAILS(ls_trace_open(&t, r.pool, &o), LS_EINVAL, "16777217 events");
    FAILS(ls_trace_open(&t, NULL, NULL), LS_EINVAL, "pool");
    ck_assert_ptr_null(t);
    OK(ls_trace_open(&r.trace, r.pool, NULL));
    FAILS(ls_trace_write(r.trace, "none/such/folder.json"), LS_EIO,
            "none/such/folder.json");
    FAILS(ls_trace_write(r.trace, "."), LS_EIO, ".: is not a regular file");
    FAILS(ls_trace_write(r.trace, "/dev/null"), LS_EIO,
          "/dev/null: is not a regular file");
    ck_assert(stat("/dev/null", &info) == 0 && S_ISCHR(info.st_mode));
    close_run(&r);
}

MAIN()
