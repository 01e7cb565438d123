/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that weights which ranks pack while parameters still travel are those
 * of the parameters that there are when they are read: whatever changes a
 * parameter between two steps, ranks have the bytes of one machine, also where
 * a rank's NUMA nodes have a copy each. */
#define _GNU_SOURCE /* nftw */
#include "file/safetensors.h"
#include "folder.h"
#include "rank_plans.h"
#include "ranks/all_gather.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

/* Named before ranks begin. */
static const char *other_file, *alone_folder, *ranks_folder;

/* ------ A transport that is slow to say that all is done ------ */

/* Tests that say no, when all is there, since something was posted: more than
 * there are pieces of weights to pack. */
enum { HOLD = 64 };

typedef struct holding {
    ls_transport outer;
    const ls_transport *inner;
    int held;
} holding;

static int hold_send(void *user, int to, int64_t bytes, const void *data)
{
    holding *h = user;

    h->held = 0;
    return h->inner->send(h->inner->user, to, bytes, data);
}

static int hold_receive(void *user, int from, int64_t bytes, void *data)
{
    holding *h = user;

    h->held = 0;
    return h->inner->receive(h->inner->user, from, bytes, data);
}

static int hold_test(void *user, int *rank)
{
    holding *h = user;
    int status = h->inner->test(h->inner->user, rank);

    if (status == 1 && h->held++ < HOLD)
        return 0;
    h->held = 0;
    return status;
}

static void hold_abort(void *user, const char *why)
{
    const ls_transport *t = ((holding *)user)->inner;

    t->abort(t->user, why);
}

static int hold_left(void *user, int from)
{
    const ls_transport *t = ((holding *)user)->inner;

    return t->left(t->user, from);
}

/* One that says what is left, or one that does not. */
static void hold(holding *h, const ls_transport *inner, bool knows)
{
    *h = (holding){.inner = inner};
    h->outer = (ls_transport){
        .user = h, .rank = inner->rank, .ranks = inner->ranks,
        .send = hold_send, .receive = hold_receive, .test = hold_test,
        .abort = hold_abort, .left = knows ? hold_left : NULL};
}

/* ------ What changes parameters ------ */

static int nothing(rank_run *r, ls_checkpoints *c)
{
    (void)r;
    (void)c;
    return 0;
}

static int set(rank_run *r, ls_checkpoints *c)
{
    float scores[500 * CLASSES];

    (void)c;
    for (int i = 0; i < 500 * CLASSES; i++)
        scores[i] = 0.01f * (float)(i % 17) - 0.08f;
    return ls_trainer_set(r->trainer, "out.kernel", 500 * CLASSES, scores);
}

static int load(rank_run *r, ls_checkpoints *c)
{
    (void)c;
    return ls_trainer_load(r->trainer, other_file, NULL);
}

static int average(rank_run *r, ls_checkpoints *c)
{
    (void)c;
    return ls_trainer_use_average(r->trainer, true);
}

static int average_and_back(rank_run *r, ls_checkpoints *c)
{
    int status = average(r, c);

    return status < 0 ? status : ls_trainer_use_average(r->trainer, false);
}

static int go_back(rank_run *r, ls_checkpoints *c)
{
    int64_t step = -1;
    ls_result result;
    int status = ls_checkpoints_save(c, 0, NULL);

    if (status == 0)
        status = ls_step(r->trainer, r->batch, &result);
    if (status == 0)
        status = ls_checkpoints_wait(c);
    if (status == 0)
        status = ls_checkpoints_load(c, &step);
    return status == 0 && step != 2 ? 3 : status;
}

typedef int change(rank_run *r, ls_checkpoints *c);
static change *const row[] = {nothing, set, load, average,
                              average_and_back, go_back};

/* ------ A training ------ */

typedef struct outcome {
    float loss, predicted[ROWS * CLASSES];
    char hash[65];
} outcome;

typedef struct task {
    plan plan;
    change *change;
    bool knows;
    outcome expected;
} task;

/* Two steps, the change, what is read then, and a step from there. */
static int train(const task *k, rank_run *r, ls_checkpoints *c, outcome *o)
{
    ls_result result;
    int status = 0;

    for (int i = 0; i < 2 && status == 0; i++)
        status = ls_step(r->trainer, r->batch, &result);
    if (status < 0 || (status = k->change(r, c)) != 0 ||
        (status = ls_evaluate(r->trainer, r->batch, &result)) < 0)
        return status;
    o->loss = result.loss;
    status = ls_predict(r->trainer, r->batch, "scores",
                        (int64_t)k->plan.rows * CLASSES, o->predicted);
    if (status == 0)
        status = ls_trainer_use_average(r->trainer, false);
    if (status == 0)
        status = ls_step(r->trainer, r->batch, &result);
    ls_trainer_hash(r->trainer, o->hash);
    return status;
}

/* Are as many packed as the transport lets it: all, or none? */
static bool packed_as_planned(const task *k, const ls_trainer *t)
{
    int64_t n = ls__all_gather_packed(t->ranks->all_gather);

    return k->knows ? n == t->model.plan->packs.n && n > 0 : n == 0;
}

static int train_here(const task *k, const ls_transport *t, outcome *o)
{
    ls_checkpoints_options saves = ls_checkpoints_defaults();
    ls_checkpoints *c = NULL;
    plan p = k->plan;
    rank_run r;
    int status;

    saves.folder = t ? ranks_folder : alone_folder;
    p.options.transport = t;
    if ((status = rank_open(&r, &p)) == 0 &&
        (status = ls_checkpoints_open(&c, r.trainer, &saves)) == 0)
        status = train(k, &r, c, o);
    if (status == 0 && t && !packed_as_planned(k, r.trainer))
        status = 1;
    if (status == 0 &&
        !p.topology != (r.trainer->copies.of[0].packed ==
                        r.trainer->copies.of[r.trainer->workers - 1].packed))
        status = 4;
    ls_checkpoints_close(c);
    rank_close(&r);
    return status;
}

static int train_rank(const ls_transport *inner, void *user)
{
    const task *k = user;
    outcome *o = calloc(1, sizeof *o);
    holding h;
    int status;

    hold(&h, inner, k->knows);
    status = train_here(k, &h.outer, o);
    if (status == 0 && memcmp(o, &k->expected, sizeof *o))
        status = 2;
    if (status != 0)
        inner->abort(inner->user, ls_errmsg());
    free(o);
    return status;
}

/* ------ Files to load ------ */

static void save_other(const plan *p)
{
    plan q = *p;
    rank_run r;

    q.options.seed = 11;
    OK(rank_open(&r, &q));
    OK(ls_trainer_save(r.trainer, other_file));
    rank_close(&r);
}

LOOP_TEST(test_packed, 0, sizeof row / sizeof *row)
{
    static task k;
    ranks_here *all;

    k = (task){.plan = new_wide_plan(4), .change = row[_i]};
    k.plan.options.average = 0.5;
    folder_open();
    other_file = in_folder("other.safetensors");
    alone_folder = in_folder("alone");
    save_other(&k.plan);
    OK(train_here(&k, NULL, &k.expected));
    for (int i = 0; i < 3; i++) {
        k.knows = i != 1;
        k.plan.topology = i == 2 ? "numa:2 core:1" : NULL;
        ranks_folder = in_folder((const char *[]){"two", "three", "nodes"}[i]);
        OK(ranks_open(&all, i == 1 ? 3 : 2, NULL));
        all_succeed(all, i == 1 ? 3 : 2, train_rank, &k);
        ranks_close(all);
    }
    folder_close();
    free_plan(&k.plan);
}

MAIN(.timeout = 3000)
