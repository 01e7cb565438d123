/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves what a hook sees of a step: each device's gradient before it is
 * reduced, every block that an update changes and no other, and the end with
 * its result, for any number of workers; and that a step that fails has no end.
 * A transcript and a check of gradients would be such hooks. */
#include "models.h"
#include "on_ranks.h"
#include "reduce/reduce.h"
#include "train/hooks.h"
#include "train/trainer.h"

#include <stdatomic.h>

enum { DEVICES = 3, ROWS = 12, IN = 300, HIDDEN = 70, STEPS = 2 };

/* What the hook wrote down. */
typedef struct book {
    const ls_trainer *trainer;
    float *sum;            /* what the devices' gradients are reduced to */
    unsigned char *before; /* [float] how often */
    unsigned char *changed;
    atomic_int ready;
    int begun, ended, turns[2];
    int wrong; /* gradients that are not the sum of the devices' */
    ls_result result;
    int status; /* to begin with */
} book;

static int begin(void *own, ls__step *s)
{
    book *b = own;

    (void)s;
    b->begun++;
    return b->status;
}

static void enter(void *own, ls__step *s, const ls__micro_batch *mb)
{
    book *b = own;

    (void)s;
    if (mb->device == 0)
        b->turns[0]++;
}

static void leave(void *own, ls__step *s, ls__micro_batch *mb)
{
    book *b = own;

    (void)s;
    if (mb->device == 0)
        b->turns[1]++;
}

static void ready(void *own, ls__step *s, int worker, int device)
{
    book *b = own;
    int64_t n = b->trainer->model.params.floats;

    (void)s;
    (void)worker;
    memcpy(b->sum + device * n, b->trainer->grad.device[device],
           (size_t)n * sizeof(float));
    atomic_fetch_add(&b->ready, 1);
}

static void count(const ls__patch *p, unsigned char *of)
{
    for (int64_t i = p->range.first; i < p->range.last; i++)
        of[i]++;
}

static void before(void *own, const ls__step *s, const ls__patch *p)
{
    book *b = own;

    (void)s;
    count(p, b->before);
}

static void changed(void *own, const ls__step *s, const ls__patch *p)
{
    book *b = own;

    (void)s;
    count(p, b->changed);
}

static void end(void *own, const ls__step *s, const ls_result *result)
{
    book *b = own;
    int64_t n = b->trainer->model.params.floats;
    float *const device[DEVICES] = {b->sum, b->sum + n, b->sum + 2 * n};

    b->ended++;
    b->result = *result;
    ls__kernels()->tree_sum(device, DEVICES, 0, n,
                            1.0f / (float)result->weight, b->sum);
    b->wrong += memcmp(b->sum, s->gradient, (size_t)n * sizeof(float)) != 0;
}

static const ls__hook transcript = {
    .name = "transcript", .begin = begin, .end = end, .enter = enter,
    .leave = leave, .ready = ready, .before = before, .changed = changed};

/* ------ A trainer with one ------ */

typedef struct ride {
    run run;
    float *x, *y;
    book book;
} ride;

static ls_graph *new_graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    ls_node *z = ls_relu(ls_dense(x, HIDDEN, "a"));

    OK(ls_loss(g, ls_mean_squared_error(ls_dense(z, 1, "b"), y)));
    return g;
}

static void open_ride(ride *r, int workers)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_group group = ls_group_frozen("a.bias");
    size_t n;

    memset(r, 0, sizeof *r);
    o.n_groups = 1;
    o.groups = &group;
    r->run = open_run_on(DEVICES, workers, new_graph(), &o);
    r->x = normals(1, ROWS * IN);
    r->y = normals(2, ROWS);
    OK(ls_batch_set(r->run.batch, "x", LS_F32, r->x, ROWS));
    OK(ls_batch_set(r->run.batch, "y", LS_F32, r->y, ROWS));
    n = (size_t)r->run.trainer->model.params.floats;
    r->book.trainer = r->run.trainer;
    r->book.sum = calloc(DEVICES * n, sizeof(float));
    r->book.before = calloc(n, 1);
    r->book.changed = calloc(n, 1);
    OK(ls__hooks_add(r->run.trainer->hook, &transcript, &r->book));
}

static void close_ride(ride *r)
{
    close_run(&r->run);
    free(r->x);
    free(r->y);
    free(r->book.sum);
    free(r->book.before);
    free(r->book.changed);
}

static void check_counts(const ride *r, int steps)
{
    const ls__params *p = &r->run.trainer->model.params;

    for (int i = 0; i < p->count; i++) {
        const ls__slot *s = &p->slot[i];
        bool frozen = strcmp(s->name, "a.bias") == 0;

        for (int64_t k = s->offset; k < s->offset + s->size; k++) {
            ck_assert_int_eq(r->book.before[k], steps);
            ck_assert_int_eq(r->book.changed[k], frozen ? 0 : steps);
        }
    }
}

/* ------ The tests ------ */

/* The gradient spans several blocks, so that workers share it. */
LOOP_TEST(stations, 1, 4)
{
    ride r;
    ls_result result;

    open_ride(&r, _i);
    ck_assert_int_gt(r.run.trainer->model.params.floats, 4 * LS__REDUCE_BLOCK);
    for (int i = 0; i < STEPS; i++)
        OK(ls_step(r.run.trainer, r.run.batch, &result));
    OK(ls_evaluate(r.run.trainer, r.run.batch, &result));
    ck_assert_int_eq(r.book.begun, STEPS + 1);
    ck_assert_int_eq(r.book.turns[0], STEPS + 1);
    ck_assert_int_eq(r.book.turns[1], STEPS + 1);
    ck_assert_int_eq(r.book.ready, STEPS * DEVICES);
    ck_assert_int_eq(r.book.ended, STEPS);
    ck_assert_int_eq(r.book.wrong, 0);
    ck_assert_int_eq(r.book.result.step, STEPS - 1);
    ck_assert(r.book.result.updated);
    check_counts(&r, STEPS);
    close_ride(&r);
}

/* What a hook refuses does not begin; what fails changes nothing and has no
 * end. */
TEST(failures)
{
    ride r;
    ls_result result;

    open_ride(&r, 2);
    r.book.status = LS_EUSER;
    ck_assert_int_eq(ls_step(r.run.trainer, r.run.batch, &result), LS_EUSER);
    ck_assert_int_eq(r.book.turns[0], 0);
    r.book.status = 0;
    r.y[ROWS - 1] = (float)INFINITY;
    FAILS(ls_step(r.run.trainer, r.run.batch, &result), LS_ENONFINITE,
          "row 11");
    ck_assert_int_eq(r.book.ended, 0);
    check_counts(&r, 0);
    close_ride(&r);
}

/* Steps by hand: compute ends with what was computed, apply with what was
 * changed. */
TEST(in_hand)
{
    ride r;
    ls_gradients *g;
    ls_result result;

    open_ride(&r, 2);
    OK(ls_gradients_open(&g, r.run.trainer, 1));
    OK(ls_gradients_compute(g, r.run.batch, &result));
    ck_assert_int_eq(r.book.ended, 1);
    ck_assert(!r.book.result.updated);
    check_counts(&r, 0);
    OK(ls_gradients_apply(g, &result));
    ck_assert_int_eq(r.book.ended, 2);
    ck_assert(r.book.result.updated);
    check_counts(&r, 1);
    ls_gradients_close(g);
    close_ride(&r);
}

/* There is room for some hooks, and then for no more. */
TEST(room)
{
    ride r;
    int more = 0;

    open_ride(&r, 1);
    while (ls__hooks_add(r.run.trainer->hook, &transcript, &r.book) == 0)
        more++;
    ck_assert_int_gt(more, 0);
    FAILS(ls__hooks_add(r.run.trainer->hook, &transcript, &r.book), LS_EINVAL,
          "hooks already");
    close_ride(&r);
}

MAIN()
