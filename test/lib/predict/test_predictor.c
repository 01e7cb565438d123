/* SPDX-License-Identifier: BSD-3-Clause */
/* Predictors: from a trainer or a file, any number of rows, alone or on a pool,
 * give the bytes of ls_predict; threads read while another one trains and
 * refreshes, and each call sees one set of weights whole; a call allocates
 * nothing; and what is refused. */
#define _GNU_SOURCE /* nftw */
#include "faults.h"
#include "folder.h"
#include "output_models.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BATCH = 24, DEVICES = 2, MOST = 4096, READERS = 3, STEPS = 12 };

static ls_graph *graph_of(int i)
{
    ls_graph *g = empty_graph();

    models[i].build(g, true);
    return g;
}

/* A trainer with rows of its first input, which is the one that "y" reads. */
typedef struct trained {
    run run;
    ls_array_spec in;
    void *x;
    int64_t in_size, size;
    float y[MOST]; /* what ls_predict makes of x */
} trained;

static void set_inputs(trained *t)
{
    ls_array_spec labels;
    ls_predictor *p;

    OK(ls_predictor_open(&p, t->run.trainer));
    ck_assert(ls_predictor_input(p, 0, &t->in));
    ck_assert(!ls_predictor_input(p, 1, &labels)); /* no label, no target */
    t->in.name = t->in.dtype == LS_I32 ? "tokens" : "x"; /* p's dies with it */
    t->in_size = ls__count(t->in.rank, t->in.shape);
    t->x = fenced(BATCH * t->in_size);
    if (t->in.dtype == LS_F32)
        fill_uniform(1, BATCH * t->in_size, t->x);
    else
        fill_indices(1, BATCH * t->in_size, 11, t->x);
    ls_predictor_close(p);
}

static void set_targets(trained *t, int i)
{
    float *target = fenced(BATCH * 3);
    int32_t *labels = fenced(BATCH);

    fill_uniform(2, BATCH * 3, target);
    fill_indices(3, BATCH, 5, labels);
    if (models[i].build == build_mlp)
        OK(ls_batch_set(t->run.batch, "labels", LS_I32, labels, BATCH));
    if (models[i].build == build_images || models[i].build == build_steps)
        OK(ls_batch_set(t->run.batch, "target", LS_F32, target, BATCH));
}

static void predict(trained *t)
{
    OK(ls_predict(t->run.trainer, t->run.batch, "y", BATCH * t->size, t->y));
}

static void train(trained *t, int i, int steps)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = graph_of(i);

    o.optimizer = ls_adam(0.01);
    o.precision = models[i].precision;
    t->run = open_run_on(DEVICES, DEVICES, g, &o);
    set_inputs(t);
    t->size = models[i].build == build_mlp ? 5
              : models[i].build == build_lm ? 7 * 11 : 3;
    ck_assert_int_le(BATCH * t->size, MOST);
    OK(ls_batch_set(t->run.batch, t->in.name, t->in.dtype, t->x, BATCH));
    set_targets(t, i);
    for (int s = 0; s < steps; s++)
        step(&t->run);
    predict(t);
}

static void end(trained *t)
{
    close_run(&t->run);
    fences_free();
}

/* Do rows first .. first+rows come out with the bytes of ls_predict? */
static bool same(ls_context *c, const trained *t, int64_t first, int64_t rows)
{
    const char *x = (const char *)t->x + 4 * first * t->in_size;
    float y[MOST];

    return ls_context_set(c, t->in.name, t->in.dtype, x, rows) == 0 &&
           ls_context_predict(c, "y", rows * t->size, y) == 0 &&
           !memcmp(y, t->y + first * t->size,
                   (size_t)(rows * t->size) * sizeof *y);
}

static void check_rows(ls_predictor *p, const trained *t, ls_pool *pool)
{
    ls_context *c;

    OK(ls_context_open(&c, p, pool));
    for (int64_t rows = 1; rows <= BATCH; rows += 1 + rows / 3)
        for (int64_t first = 0; first + rows <= BATCH; first += 5)
            ck_assert_msg(same(c, t, first, rows), "rows %lld from %lld: %s",
                          (long long)rows, (long long)first, ls_errmsg());
    ls_context_close(c);
}

/* Predictors from a trainer and, for what files can say, from a file; alone and
 * on a pool of another number of workers. */
LOOP_TEST(test_bytes, 0, MODELS)
{
    static trained t;
    ls_pool *three = open_pool(3, 3);
    ls_predictor *p;

    train(&t, _i, 3);
    OK(ls_predictor_open(&p, t.run.trainer));
    check_rows(p, &t, NULL);
    check_rows(p, &t, three);
    ls_predictor_close(p);
    folder_open();
    OK(ls_trainer_save_model(t.run.trainer, in_folder("m.safetensors")));
    OK(ls_predictor_load(&p, in_folder("m.safetensors")));
    if (models[_i].precision == LS_F32_LAYERS) /* a file's layers are f32 */
        check_rows(p, &t, NULL);
    ls_predictor_close(p);
    folder_close();
    ls_pool_close(three);
    end(&t);
}

/* ------ of a graph ------ */

enum { ARRAYS = 64 };

/* Copies of a trainer's parameters; how many there are. */
static int copies(const ls_trainer *trainer, ls_array array[ARRAYS])
{
    int n = ls_trainer_params(trainer);

    ck_assert_int_le(n, ARRAYS);
    for (int i = 0; i < n; i++) {
        ls_array *a = &array[n - 1 - i]; /* the order does not matter */
        int64_t size;

        *a = (ls_array){.name = ls_trainer_param_name(trainer, i),
                        .dtype = LS_F32};
        a->rank = ls_trainer_param_shape(trainer, i, a->shape);
        size = ls__count(a->rank, a->shape);
        a->data = fenced(size);
        OK(ls_trainer_get(trainer, a->name, size, a->data));
    }
    return n;
}

/* Proves that a graph, without a loss, with a trainer's weights from a file or
 * from arrays gives the same bytes. */
LOOP_TEST(test_graphs, 0, 3)
{
    static trained t;
    ls_array array[ARRAYS], wrong[ARRAYS];
    ls_predictor *p;
    ls_graph *g = graph_of(_i);
    int n;

    train(&t, _i, 3);
    folder_open();
    OK(ls_trainer_save(t.run.trainer, in_folder("w.safetensors")));
    OK(ls_predictor_open_graph(&p, g, in_folder("w.safetensors")));
    check_rows(p, &t, NULL);
    ls_predictor_close(p);
    n = copies(t.run.trainer, array);
    OK(ls_predictor_open_graph(&p, g, NULL));
    ls_graph_free(g);
    OK(ls_predictor_set(p, n, array));
    check_rows(p, &t, NULL);
    memcpy(wrong, array, sizeof wrong);
    FAILS(ls_predictor_set(p, n - 1, wrong), LS_ENOTFOUND, "arrays for");
    wrong[0].name = "other";
    FAILS(ls_predictor_set(p, n, wrong), LS_ENOTFOUND, "no array is called");
    wrong[0] = array[0];
    wrong[0].shape[0]++;
    FAILS(ls_predictor_set(p, n, wrong), LS_ESHAPE, array[0].name);
    check_rows(p, &t, NULL);
    FAILS(ls_predictor_open_graph(&p, NULL, NULL), LS_EINVAL, "graph");
    ls_predictor_close(p);
    folder_close();
    end(&t);
}

/* ------ while training goes on ------ */

typedef struct reader {
    pthread_t thread;
    ls_predictor *predictor;
    const trained *t;
    float (*wanted)[MOST]; /* [refresh] what each snapshot gives */
    atomic_int *refreshed; /* how many there were */
    int calls, seen;       /* of them, the last snapshot */
    bool good;
} reader;

/* Which snapshot gave y: at least `from`; -1: none did. */
static int snapshot_of(const reader *r, const float *y, int from)
{
    for (int i = from; i <= STEPS; i++)
        if (!memcmp(y, r->wanted[i], (size_t)r->t->size * sizeof *y))
            return i;
    return -1;
}

/* Every call gives what one snapshot gives, none that is older than the
 * last. */
static void *read_on(void *user)
{
    reader *r = user;
    ls_context *c;
    float y[MOST];

    r->good = ls_context_open(&c, r->predictor, NULL) == 0;
    while (r->good && (r->seen < STEPS || r->calls < 20)) {
        int before = atomic_load(r->refreshed);

        r->good = ls_context_set(c, r->t->in.name, r->t->in.dtype, r->t->x,
                                 1) == 0 &&
                  ls_context_predict(c, "y", r->t->size, y) == 0;
        r->seen = snapshot_of(r, y, before > r->seen ? before : r->seen);
        r->good = r->good && r->seen >= 0;
        r->calls++;
    }
    ls_context_close(c);
    return NULL;
}

/* What each step's weights predict for the first row, in a run of its own. */
static void record(float wanted[][MOST])
{
    static trained t;

    train(&t, 0, 0);
    memcpy(wanted[0], t.y, sizeof t.y);
    for (int s = 1; s <= STEPS; s++) {
        step(&t.run);
        predict(&t);
        memcpy(wanted[s], t.y, sizeof t.y);
    }
    end(&t);
}

TEST(test_beside_training)
{
    static float wanted[STEPS + 1][MOST];
    static trained t;
    reader readers[READERS];
    atomic_int refreshed = 0;
    ls_predictor *p;

    record(wanted);
    train(&t, 0, 0);
    OK(ls_predictor_open(&p, t.run.trainer));
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){.predictor = p, .t = &t, .wanted = wanted,
                              .refreshed = &refreshed};
        ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, read_on,
                                        &readers[i]), 0);
    }
    for (int s = 1; s <= STEPS; s++) {
        step(&t.run);
        OK(ls_predictor_refresh(p, t.run.trainer));
        atomic_store(&refreshed, s);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        ck_assert(readers[i].good);
    }
    ls_predictor_close(p);
    end(&t);
}

/* ------ memory ------ */

#if OWN_MALLOC

/* No call after the first allocates, of any number of rows; and memory for
 * snapshots is used again. */
LOOP_TEST(test_nothing_allocated, 0, MODELS)
{
    static trained t;
    bool good = true;
    ls_predictor *p;
    ls_context *c;

    train(&t, _i, 1);
    OK(ls_predictor_open(&p, t.run.trainer));
    OK(ls_context_open(&c, p, NULL));
    fail_memory = ALL_MEMORY;
    watch_from(0); /* Check's own assertions allocate */
    for (int64_t rows = 1; rows <= BATCH; rows++)
        good = same(c, &t, 0, rows) && good;
    atomic_store(&watching, false);
    ck_assert(good);
    ck_assert_int_eq(atomic_load(&count), 0);
    OK(ls_predictor_refresh(p, t.run.trainer));
    OK(ls_predictor_refresh(p, t.run.trainer));
    watch_from(0);
    for (int i = 0; i < 9; i++)
        good = ls_predictor_refresh(p, t.run.trainer) == 0 && good;
    atomic_store(&watching, false);
    ck_assert(good);
    ck_assert_int_eq(atomic_load(&count), 0);
    fail_memory = NO_MEMORY;
    ls_predictor_close(p); /* before its context: which keeps it */
    ck_assert(same(c, &t, 0, 1));
    ls_context_close(c);
    end(&t);
}

/* Opening when memory is short: every allocation fails in turn, and nothing is
 * kept. */
TEST(test_shortage)
{
    static trained t;
    ls_predictor *p = NULL;
    ls_context *c = NULL;
    int status = -1;

    train(&t, 0, 1);
    for (int n = 1; status < 0; n++) {
        fail_memory = OUR_MEMORY;
        watch_from(n);
        status = ls_predictor_open(&p, t.run.trainer);
        if (status == 0)
            status = ls_context_open(&c, p, NULL);
        atomic_store(&watching, false);
        fail_memory = NO_MEMORY;
        ck_assert(status == 0 || status == LS_ENOMEM);
        ls_context_close(c);
        ls_predictor_close(p);
        p = NULL;
        c = NULL;
        ck_assert_int_lt(n, 500);
    }
    end(&t);
}

#endif

/* A graph without inputs has one row. */
TEST(test_no_inputs)
{
    float y[6] = {0};
    ls_graph *g = empty_graph();
    ls_predictor *p;
    ls_context *c;

    OK(ls_output(g, ls_exp(ls_parameter(g, "w", 1, (int64_t[]){3})), "y"));
    OK(ls_predictor_open_graph(&p, g, NULL));
    OK(ls_context_open(&c, p, NULL));
    OK(ls_context_predict(c, "y", 3, y));
    ck_assert(y[0] == 1 && y[1] == 1 && y[2] == 1);
    FAILS(ls_context_predict(c, "y", 6, y), LS_ESHAPE, "1 row of 3");
    ls_context_close(c);
    ls_predictor_close(p);
    ls_graph_free(g);
}

/* ------ what is refused ------ */

TEST(test_refused)
{
    static trained t, other;
    int32_t index = 11;
    float y[MOST];
    ls_predictor *p;
    ls_context *c;

    train(&t, 1, 1);
    train(&other, 0, 0);
    OK(ls_predictor_open(&p, t.run.trainer));
    OK(ls_context_open(&c, p, NULL));
    FAILS(ls_context_predict(c, "y", 77, y), LS_EINVAL, "was not set");
    FAILS(ls_context_set(c, "x", LS_I32, &index, 1), LS_ENOTFOUND, "tokens");
    FAILS(ls_context_set(c, "tokens", LS_F32, y, 1), LS_EINVAL, "LS_I32");
    FAILS(ls_context_set(c, "tokens", LS_I32, t.x, 0), LS_EINVAL, "0 rows");
    FAILS(ls_context_set(c, "tokens", LS_I32, t.x, INT64_MAX), LS_ESHAPE,
          "more than memory has");
    FAILS(ls_context_set(c, "tokens", LS_I32, NULL, 1), LS_EINVAL, "NULL");
    *(int32_t *)t.x = 11;
    FAILS(ls_context_set(c, "tokens", LS_I32, t.x, 1), LS_ERANGE, "below 11");
    *(int32_t *)t.x = 10;
    OK(ls_context_set(c, "tokens", LS_I32, t.x, 1));
    FAILS(ls_context_predict(c, "z", 77, y), LS_ENOTFOUND, "z");
    FAILS(ls_context_predict(c, "y", 76, y), LS_ESHAPE, "76");
    FAILS(ls_context_predict(NULL, "y", 77, y), LS_EINVAL, "context");
    FAILS(ls_context_predict(c, NULL, 77, y), LS_EINVAL, "output");
    FAILS(ls_context_predict(c, "y", 77, NULL), LS_EINVAL, "out");
    FAILS(ls_predictor_refresh(p, other.run.trainer), LS_ESHAPE, "parameter");
    FAILS(ls_predictor_load(&p, "/no/such/file"), LS_EIO, "/no/such/file");
    ls_context_close(c);
    ls_predictor_close(p);
    ls_context_close(NULL);
    ls_predictor_close(NULL);
    close_run(&other.run);
    end(&t);
}

MAIN()
