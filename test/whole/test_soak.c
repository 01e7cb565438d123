/* SPDX-License-Identifier: BSD-3-Clause */
/* A long run stands still in everything but its parameters: no memory and no
 * allocation, whatever the sizes of the batches (test_syscalls: and no system
 * call).
 *
 * LS_SOAK says how many steps test_memory takes; LS_LONG takes 10^5. */
#include "small_model.h"

#include "faults.h"

#include <stdio.h>

enum { DEVICES = 4, MOST = 64 }; /* rows */

typedef struct soak {
    ls_pool *pool;
    ls_graph *graph;
    ls_trainer *trainer;
    ls_batch *batch;
    ls_trace *trace;
    float x[MOST * IN], y[MOST * OUT], w[MOST], out[MOST * OUT];
} soak;

static void open_soak(soak *s, int workers, int micro, ls_optimizer optimizer)
{
    ls_trace_options t = {.size = sizeof t, .level = 2, .events = 64};
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = optimizer;
    o.clip_norm = 1;
    o.accumulate = micro;
    o.state = LS_SHARD;
    s->pool = open_axes("data:4", workers);
    s->graph = small_graph();
    OK(ls_trainer_open(&s->trainer, s->pool, s->graph, &o));
    OK(ls_batch_open(&s->batch, s->trainer));
    OK(ls_trace_open(&s->trace, s->pool, &t));
    ls_random_normal(ls_key_new(1), 0, MOST * IN, s->x);
    ls_random_normal(ls_key_new(2), 0, MOST * OUT, s->y);
    for (int i = 0; i < MOST; i++)
        s->w[i] = (float)(i % 3);
}

static void close_soak(soak *s)
{
    ls_trace_close(s->trace);
    ls_batch_close(s->batch);
    ls_trainer_close(s->trainer);
    ls_graph_free(s->graph);
    ls_pool_close(s->pool);
}

/* Another size for each step, with weights and without. */
static int set(soak *s, int64_t rows, bool weights)
{
    int status = ls_batch_set(s->batch, "x", LS_F32, s->x, rows);

    if (status == 0)
        status = ls_batch_set(s->batch, "y", LS_F32, s->y, rows);
    if (status == 0)
        status = ls_batch_set_weights(s->batch, weights ? s->w : NULL, rows);
    return status;
}

static int take(soak *s, int64_t i, int unit)
{
    ls_result r;
    int64_t rows = unit * (1 + i * 7 % (MOST / unit));
    int status = set(s, rows, i % 2);

    if (status == 0)
        status = ls_step(s->trainer, s->batch, &r);
    if (status == 0 && i % 5 == 0)
        status = ls_evaluate(s->trainer, s->batch, &r);
    return status;
}

static int take_many(soak *s, int64_t first, int64_t last, int unit)
{
    int status = 0;

    for (int64_t i = first; i < last && status == 0; i++)
        status = take(s, i, unit);
    return status;
}

/* ------ Memory ------ */

/* Resident memory in kB, counted page by page: statm may be some pages
 * behind. */
static long resident(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = 0;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Rss: %ld", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

static int64_t steps(void)
{
    const char *text = getenv("LS_SOAK");

    return text ? atoll(text) : long_run() ? 100000 : 2000;
}

/* Memory takes not a page more after a warm-up that saw every size. */
TEST(test_memory)
{
    static soak s;
    long before;

    open_soak(&s, 2, 1, ls_adamw(1e-6));
    OK(take_many(&s, 0, 200, DEVICES));
    resident(); /* its buffers too */
    before = resident();
    OK(take_many(&s, 200, 200 + steps(), DEVICES));
    ck_assert_int_le(resident(), before + (UNDER_SANITIZER ? 1024 : 0));
    close_soak(&s);
}

/* ------ Sizes ------ */

static void copy_params(const ls_trainer *from, ls_trainer *to)
{
    static float value[64];

    for (int i = 0; i < ls_trainer_params(from); i++) {
        const char *name = ls_trainer_param_name(from, i);
        int64_t shape[LS_MAX_RANK], n = 1;

        for (int k = ls_trainer_param_shape(from, i, shape); k > 0; k--)
            n *= shape[k - 1];
        OK(ls_trainer_get(from, name, n, value));
        OK(ls_trainer_set(to, name, n, value));
    }
}

static void hash_params(const soak *s, char hex[65])
{
    static soak fresh; /* whose step is always 0 */

    open_soak(&fresh, 1, 1, ls_sgd(0.1));
    copy_params(s->trainer, fresh.trainer);
    ls_trainer_hash(fresh.trainer, hex);
    close_soak(&fresh);
}

/* A step of a trainer that took steps of other sizes before has the bits of one
 * that a new trainer takes. */
TEST(test_sizes)
{
    static soak one, other;
    char hex[2][65];

    open_soak(&one, 2, 2, ls_sgd(0.1));
    for (int i = 0; i < 8; i++) {
        open_soak(&other, 1 + i % 3, 2, ls_sgd(0.1));
        copy_params(one.trainer, other.trainer);
        OK(take(&one, i, 2 * DEVICES));
        OK(take(&other, i, 2 * DEVICES));
        hash_params(&one, hex[0]);
        hash_params(&other, hex[1]);
        ck_assert_str_eq(hex[0], hex[1]);
        close_soak(&other);
    }
    close_soak(&one);
}

/* ------ Allocations ------ */

#if OWN_MALLOC

/* None, with the first step among those that are watched, since it may be of
 * the smallest size. */
LOOP_TEST(test_allocations, 1, 3)
{
    static soak s;
    int status;

    open_soak(&s, 2, _i, ls_adamw(1e-6));
    fail_memory = ALL_MEMORY;
    watch_from(0);
    status = take_many(&s, 0, 300, _i * DEVICES);
    atomic_store(&watching, false);
    OK(status);
    ck_assert_int_eq(atomic_load(&count), 0);
    close_soak(&s);
}

/* Batches of images of changing sizes; a status. */
static int take_images(ls_trainer *t, ls_batch *b, const float *x,
                       const int32_t *y, int unit)
{
    int status = 0;

    for (int i = 0; i < 40 && status == 0; i++) {
        int64_t rows = unit * (1 + i * 5 % (MOST / unit));
        ls_result r;

        status = ls_batch_set(b, "x", LS_F32, x, rows);
        if (status == 0)
            status = ls_batch_set(b, "y", LS_I32, y, rows);
        if (status == 0)
            status = i % 4 ? ls_step(t, b, &r) : ls_evaluate(t, b, &r);
    }
    return status;
}

/* The same for networks of images, from the first step on. */
LOOP_TEST(test_images, 1, 3)
{
    static float x[MOST * PIXELS];
    static int32_t y[MOST];
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_axes("data:4", 2);
    ls_trainer *t;
    ls_batch *b;
    ls_graph *g = empty_graph();
    int status;

    o.accumulate = _i;
    o.optimizer = ls_adam(1e-4);
    image_nodes(g);
    OK(ls_trainer_open(&t, pool, g, &o));
    OK(ls_batch_open(&b, t));
    ls_random_normal(ls_key_new(1), 0, MOST * PIXELS, x);
    ls_random_randint(ls_key_new(2), 0, MOST, 0, 2, y);
    fail_memory = ALL_MEMORY;
    watch_from(0);
    status = take_images(t, b, x, y, _i * DEVICES);
    atomic_store(&watching, false);
    OK(status);
    ck_assert_int_eq(atomic_load(&count), 0);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

#endif

MAIN()
