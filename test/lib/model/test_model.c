/* SPDX-License-Identifier: BSD-3-Clause */
/* A model stands alone: made of a graph without a loss, with weights from a
 * file, it computes the bytes of ls_predict on any thread and any number of
 * rows, in less memory than training takes; and what is refused. */
#define _GNU_SOURCE /* nftw */
#include "base/fpmode.h"
#include "folder.h"
#include "model/seeds.h"
#include "weights/weights_file.h"
#include "output_models.h"
#include "train/trainer.h"

#include <pthread.h>

enum { BATCH = 24, DEVICES = 2, THREADS = 3, MOST = 4096 };

static ls_graph *graph_of(int i, bool loss)
{
    ls_graph *g = empty_graph();

    models[i].build(g, loss);
    return g;
}

/* ------ What a trained one predicts ------ */

typedef struct want {
    int64_t size, in_size;
    const void *x;     /* BATCH rows of the first input */
    float y[MOST];     /* what ls_predict makes of them */
    int64_t floats;    /* a worker's memory */
} want;

/* Rows of every input, set on a batch; the first is the one outputs read. */
static const void *fill_batch(const ls_trainer *t, ls_batch *b)
{
    const void *first = NULL;

    for (int i = 0; i < t->model.inputs; i++) {
        const ls__input *in = &t->model.input[i];
        int64_t n = BATCH * in->size;
        void *room = fenced(n);

        if (in->dtype == LS_F32)
            fill_uniform(i, n, room);
        else
            fill_indices(i, n, in->limit, room);
        OK(ls_batch_set(b, in->name, in->dtype, room, BATCH));
        first = first ? first : room;
    }
    return first;
}

/* Train a little, save the weights, predict. */
static void train(int i, want *w)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = graph_of(i, true);
    run r;

    o.optimizer = ls_adam(0.01);
    o.precision = models[i].precision;
    r = open_run_on(DEVICES, DEVICES, g, &o);
    w->x = fill_batch(r.trainer, r.batch);
    for (int s = 0; s < 3; s++)
        step(&r);
    w->floats = r.trainer->model.plan->memory.floats;
    w->in_size = r.trainer->model.input[0].size;
    w->size = ls__plan_output(r.trainer->model.plan, "y")->size;
    ck_assert_int_le(BATCH * w->size, MOST);
    OK(ls_predict(r.trainer, r.batch, "y", BATCH * w->size, w->y));
    OK(ls_trainer_save(r.trainer, in_folder("weights.safetensors")));
    close_run(&r);
}

/* ------ The same of a model that stands alone ------ */

static ls__model open_alone(int i)
{
    ls__model_options o = {LS__TO_PREDICT, NULL, models[i].precision, NULL};
    ls_graph *g = graph_of(i, false);
    ls__model m;

    OK(ls__model_open(&m, g, &o));
    ls_graph_free(g);
    OK(ls__weights_load(&m.params, m.value, in_folder("weights.safetensors"),
                        NULL));
    ls__exec_pack(m.plan, &m.weights, 0, 1, false);
    return m;
}

/* Do rows first .. first+rows come out with the wanted bytes? */
static bool is_same(ls__context *c, const ls__model *m, const want *w,
                    int64_t first, int64_t rows)
{
    const void *x = (const char *)w->x + 4 * first * w->in_size;
    ls_shard shard = {.rows = rows, .data = &x};
    float y[MOST];

    if (ls__exec_output(c, &m->weights, &shard, ls__plan_output(m->plan, "y"),
                        false, y) < 0)
        return false;
    return !memcmp(y, w->y + first * w->size,
                   (size_t)(rows * w->size) * sizeof *y);
}

typedef struct reader {
    pthread_t thread;
    const ls__model *model;
    const want *want;
    bool good;
} reader;

/* Every number of rows from every place, in a context of its own. */
static void *read_all(void *user)
{
    reader *r = user;
    ls__fpmode mode = ls__fpmode_set();
    ls__context *c;

    r->good = ls__context_open(&c, r->model->plan) == 0;
    for (int64_t rows = 1; rows <= BATCH && r->good; rows += 5)
        for (int64_t first = 0; first + rows <= BATCH && r->good; first += 3)
            r->good = is_same(c, r->model, r->want, first, rows);
    ls__context_close(c);
    ls__fpmode_restore(mode);
    return NULL;
}

/* Threads that are nobody's workers read one model at once, and each gets the
 * bytes that ls_predict gives; the plan takes less memory than the one that
 * trained it. */
LOOP_TEST(test_alone, 0, MODELS)
{
    static want w;
    reader readers[THREADS];
    ls__model m;

    folder_open();
    train(_i, &w);
    m = open_alone(_i);
    ck_assert_int_lt(m.plan->memory.floats, w.floats);
    ck_assert_int_eq(m.plan->loss.instr, -1);
    for (int i = 0; i < THREADS; i++) {
        readers[i] = (reader){.model = &m, .want = &w};
        ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, read_all,
                                        &readers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(readers[i].thread, NULL);
        ck_assert(readers[i].good);
    }
    ls__model_close(&m);
    fences_free();
    folder_close();
}

/* A chain of equal layers needs the memory of two values, however long it is:
 * nothing is kept for a backward sweep. */
TEST(test_memory)
{
    ls__model_options o = {LS__TO_PREDICT, NULL, LS_F32_LAYERS, NULL};
    ls__model m;
    ls_graph *g = empty_graph();

    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){64});
    for (int i = 0; i < 9; i++) {
        char name[8];

        snprintf(name, sizeof name, "fc%d", i);
        x = ls_gelu(ls_dense(x, 64, name));
    }
    OK(ls_output(g, x, "y"));
    OK(ls__model_open(&m, g, &o));
    ck_assert_int_eq(m.plan->count, 9);
    ck_assert_int_eq(m.plan->memory.scratch, 2 * 64 * m.plan->chunk_rows);
    ls__model_close(&m);
    ls_graph_free(g);
}

/* A model that starts from a seed has the parameters of a trainer's. */
TEST(test_seeds)
{
    ls_trainer_options t = ls_trainer_defaults();
    ls__model_options o = {LS__TO_PREDICT, NULL, LS_F32_LAYERS, NULL};
    ls__seeds seeds = {.keys = LS_KEYS_NNX, .seed = 5};
    ls_graph *g = graph_of(1, true);
    ls__model m;
    run r;

    t.seed = 5;
    OK(ls__model_open(&m, g, &o));
    ls__seeds_sow(&m, &seeds);
    r = open_run_on(DEVICES, 1, g, &t);
    ck_assert_int_eq(m.params.count, r.trainer->model.params.count);
    for (int i = 0; i < m.params.count; i++) {
        const ls__slot *s = &m.params.slot[i];

        ck_assert_mem_eq(m.value + s->offset,
                         r.trainer->model.value + s->offset,
                         (size_t)s->size * sizeof(float));
    }
    ls__model_close(&m);
    close_run(&r);
}

/* A model without an output has nothing to predict; a loss does not make
 * one. */
TEST(test_refused)
{
    ls__model_options o = {LS__TO_PREDICT, NULL, LS_F32_LAYERS, NULL};
    ls_graph *g = linear_graph(3, 2);
    ls__model m;

    FAILS(ls__model_open(&m, g, &o), LS_EINVAL, "no output");
    ls__model_close(&m);
    ls_graph_free(g);
    ck_assert_int_eq(ls__model_open(&m, NULL, &o), LS_EINVAL);
    ls__model_close(&m);
    o.backend = "none such";
    g = graph_of(0, false);
    ck_assert_int_lt(ls__model_open(&m, g, &o), 0);
    ls__model_close(&m);
    ls_graph_free(g);
}

MAIN()
