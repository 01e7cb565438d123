/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that was compiled with another version of the header works: it is
 * built three times, with the header as it is, with one whose structs lack
 * their last member, and with one whose structs have members that the library
 * does not know (test/abi/headers.awk). */
#include "calls.h"

#include <lockstep.h>
#include <lockstep/columns.h>
#include <lockstep/csource.h>
#include <lockstep/images.h>
#include <lockstep/realmlp.h>

enum { FENCE = 64, FILL = 0xa5 };

/* A struct of this program's, and what stands after it in memory. */
#define FENCED(type) \
    struct { \
        type it; \
        unsigned char after[FENCE]; \
    }

#define FILL_ALL(g) memset(&(g), FILL, sizeof(g))

static void untouched(const unsigned char after[FENCE], const char *what)
{
    for (int i = 0; i < FENCE; i++)
        ck_assert_msg(after[i] == FILL, "%s: byte %d after it", what, i);
}

/* Members that only this program's header has are the last bytes. */
static bool later_is_zero(const void *it, size_t size)
{
    const unsigned char *byte = it;

#if defined(LARGER)
    for (size_t i = size - 40; i < size; i++)
        if (byte[i])
            return false;
#else
    (void)byte, (void)size;
#endif
    return true;
}

/* ------ Options ------ */

#define EACH(X) \
    X(attention) X(augment) X(batch_norm) X(checkpoints) X(conv) X(csource) \
    X(dense) X(images) X(loader) X(mesh) X(norm) X(pool) X(pooling) \
    X(realmlp) X(record) X(recurrent) X(save) X(table_data) X(table_model) \
    X(trace) X(trainer) X(transcript)

#define DEFAULTS(name) \
    static void name##_defaults(void) \
    { \
        FENCED(ls_##name##_options) g; \
\
        FILL_ALL(g); \
        ls_##name##_defaults_bytes(&g.it, sizeof g.it); \
        untouched(g.after, #name); \
        ck_assert_uint_eq(g.it.size, sizeof g.it); \
        ck_assert(later_is_zero(&g.it, sizeof g.it)); \
    }

EACH(DEFAULTS)

/* Proves that defaults fill the program's struct, no more, and say its size. */
TEST(all_defaults)
{
#define CALL(name) name##_defaults();
    EACH(CALL)
}

/* A small model, so that every kind of options has something to open. */
typedef struct world {
    ls_mesh *mesh;
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
} world;

static const float rows[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static void open_world(world *w)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_pool_options p = ls_pool_defaults();
    ls_trainer_options o = ls_trainer_defaults();
    ls_node *x, *y;

    m.devices = 4;
    m.workers = 2;
#ifndef SMALLER
    p.no_pin = true;
#endif
    OK(ls_mesh_open(&w->mesh, &m));
    OK(ls_pool_open(&w->pool, w->mesh, &p));
    OK(ls_graph_new(&w->graph));
    x = ls_input(w->graph, "x", LS_F32, 1, (int64_t[]){1});
    y = ls_input(w->graph, "y", LS_F32, 1, (int64_t[]){1});
    OK(ls_loss(w->graph, ls_mean_squared_error(ls_dense(x, 1, "out"), y)));
    o.optimizer = ls_adam(0.01);
    OK(ls_trainer_open(&w->trainer, w->pool, w->graph, &o));
    OK(ls_batch_open(&w->batch, w->trainer));
    OK(ls_batch_set(w->batch, "x", LS_F32, rows, 8));
    OK(ls_batch_set(w->batch, "y", LS_F32, rows, 8));
}

static void close_world(world *w)
{
    ls_batch_close(w->batch);
    ls_trainer_close(w->trainer);
    ls_graph_free(w->graph);
    ls_pool_close(w->pool);
    ls_mesh_close(w->mesh);
}

/* Open one thing with these options; it is not opened. */
static int try_mesh(world *w, const void *options)
{
    ls_mesh *mesh;

    (void)w;
    return ls_mesh_open(&mesh, options);
}

static int try_pool(world *w, const void *options)
{
    ls_pool *pool;

    return ls_pool_open(&pool, w->mesh, options);
}

static int try_trainer(world *w, const void *options)
{
    ls_trainer *trainer;

    return ls_trainer_open(&trainer, w->pool, w->graph, options);
}

static int try_checkpoints(world *w, const void *options)
{
    ls_checkpoints *checkpoints;

    return ls_checkpoints_open(&checkpoints, w->trainer, options);
}

static int try_images(world *w, const void *options)
{
    ls_source source;

    (void)w;
    return ls_source_images(&source, "none", options);
}

static int try_table_data(world *w, const void *options)
{
    ls_table_data *data;

    (void)w;
    return ls_table_data_open(&data, "none", options);
}

static int try_table_model(world *w, const void *options)
{
    ls_table_model *model;

    (void)w;
    return ls_table_model_open(&model, "none", options);
}

static int try_loader(world *w, const void *options)
{
    ls_array array[] = {
        {"x", LS_F32, 2, {8, 1}, (void *)(uintptr_t)rows},
        {"y", LS_F32, 2, {8, 1}, (void *)(uintptr_t)rows},
    };
    ls_loader *loader;
    ls_source source;
    int status;

    OK(ls_source_arrays(&source, 2, array));
    status = ls_loader_open(&loader, w->trainer, &source, options);
    ls_source_close(&source);
    return status;
}

static int try_trace(world *w, const void *options)
{
    ls_trace *trace;

    return ls_trace_open(&trace, w->pool, options);
}

static int try_save(world *w, const void *options)
{
    return ls_trainer_save_with(w->trainer, "no/where", options);
}

#define ROW(name) {#name, sizeof(ls_##name##_options), try_##name}

static const struct {
    const char *name;
    size_t size;
    int (*open)(world *w, const void *options);
} kinds[] = {ROW(mesh),   ROW(pool),   ROW(trainer), ROW(checkpoints),
             ROW(images), ROW(loader), ROW(trace),   ROW(save),
             ROW(table_data), ROW(table_model)};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* Proves that options without a size, or with one that cannot be, are refused,
 * and so is a member that the library does not know when it is used. */
LOOP_TEST(wrong_sizes, 0, KINDS)
{
    union {
        size_t size;
        unsigned char byte[8192];
    } o = {0};
    char words[64];
    world w;

    open_world(&w);
    snprintf(words, sizeof words, "ls_%s_options", kinds[_i].name);
    FAILS(kinds[_i].open(&w, &o), LS_EINVAL, "_defaults() makes them");
    FAILS(kinds[_i].open(&w, &o), LS_EINVAL, words);
    o.size = 7;
    FAILS(kinds[_i].open(&w, &o), LS_EINVAL, "size is 7");
    o.size = (size_t)-1;
    FAILS(kinds[_i].open(&w, &o), LS_EINVAL, "which it cannot be");
    o.size = kinds[_i].size + 400; /* past what the library has */
    o.byte[o.size - 1] = 1;
    FAILS(kinds[_i].open(&w, &o), LS_EINVAL, "is set, and version 0.");
    close_world(&w);
}

/* Proves that members which a program does not know keep their defaults,
 * whatever stands after its struct. */
TEST(fewer_members)
{
    FENCED(ls_mesh_options) g;
    ls_mesh *mesh;

    FILL_ALL(g);
    ls_mesh_defaults_bytes(&g.it, sizeof g.it);
    g.it.devices = 3;
    OK(ls_mesh_open(&mesh, &g.it));
    ck_assert_int_eq(ls_mesh_devices(mesh), 3);
    untouched(g.after, "mesh");
    ls_mesh_close(mesh);
}

/* ------ Results ------ */

#define FILLED(call) \
    do { \
        FILL_ALL(g); \
        call; \
        untouched(g.after, #call); \
        ck_assert_msg(later_is_zero(&g.it, sizeof g.it), "%s", #call); \
    } while (0)

/* Proves that a step and an evaluation write the program's result, no more. */
TEST(step_results)
{
    FENCED(ls_result) g;
    world w;

    open_world(&w);
    FILLED(OK(ls_step(w.trainer, w.batch, &g.it)));
    ck_assert_int_eq(g.it.rows, 8);
    ck_assert(g.it.updated && g.it.loss > 0 && g.it.loss == g.it.loss);
    FILLED(OK(ls_evaluate(w.trainer, w.batch, &g.it)));
    ck_assert_int_eq(g.it.step, 1);
    close_world(&w);
}

#define RESULT(type, call) \
    do { \
        FENCED(type) g; \
        FILLED(call); \
    } while (0)

/* Proves the same of all other structs that the library fills. */
TEST(other_results)
{
    const ls_optimizer_kind kind = LS_ADAM;
    world w;

    open_world(&w);
    RESULT(ls_place, ck_assert(ls_mesh_place(w.mesh, 1, &g.it)));
    RESULT(ls_level, ck_assert(ls_mesh_level(w.mesh, 0, &g.it)));
    RESULT(ls_core_kind, ck_assert(ls_mesh_kind(w.mesh, 0, &g.it)));
    RESULT(ls_cost, ck_assert(ls_trainer_cost(w.trainer, 0, &g.it)));
    RESULT(ls_work, ls_trainer_work(w.trainer, &g.it));
    RESULT(ls_option, ck_assert(ls_optimizer_option(kind, 0, &g.it)));
    RESULT(ls_option, ck_assert(ls_schedule_option(LS_LINEAR, 0, &g.it)));
    RESULT(ls_isa, ck_assert(ls_isa_level(0, &g.it)));
    RESULT(ls_doing, OK(ls_pool_doing(w.pool, 1, &g.it)));
    close_world(&w);
}

/* Proves that members of other structs keep their sizes: what stands after them
 * must not move. */
TEST(fixed_sizes)
{
    ck_assert_uint_eq(sizeof(ls_optimizer), 88);
    ck_assert_uint_eq(sizeof(ls_schedule), 120);
    ck_assert_uint_eq(sizeof(ls_group), 32);
    ck_assert_uint_eq(sizeof(ls_init), 40);
    ck_assert_uint_eq(sizeof(ls_array), 88);
    ck_assert_uint_eq(sizeof(ls_series), 104);
}

MAIN()
