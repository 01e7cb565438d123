/* SPDX-License-Identifier: BSD-3-Clause */
/* Two runs that differ: on two ranks, and as a checkpoint and the run that goes
 * on from it.  Asserts with Check, but for what ranks call. */
#ifndef TEST_TWO_RUNS_H
#define TEST_TWO_RUNS_H

#include "folder.h"
#include "on_ranks.h"

enum { DEVICES = 2, WIDTH = 16, TEXT = 256 };

/* ------ Two trainers: what they are made of ------ */

/* A layer that is another one where odd. */
typedef ls_node *layer_fn(ls_node *x, bool odd);

typedef struct recipe {
    layer_fn *layer;
    ls_trainer_options options[2];
    bool shows[2]; /* the layer as an output */
} recipe;

static inline ls_node *plain(ls_node *x, bool odd)
{
    (void)odd;
    return ls_dropout(x, 0.5, "drop");
}

static inline ls_graph *build(layer_fn *layer, bool odd, bool shows)
{
    ls_graph *g = NULL;
    ls_node *x, *y;

    if (ls_graph_new(&g) < 0)
        return NULL;
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDTH});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    x = layer(ls_dense(x, WIDTH, "first"), odd);
    if (shows)
        ls_output(g, x, "shown");
    ls_loss(g, ls_mean_squared_error(ls_dense(x, 1, "last"), y));
    return g;
}

/* Two that do not differ yet. */
static inline recipe same_runs(void)
{
    recipe r = {.layer = plain};

    r.options[0] = r.options[1] = ls_trainer_defaults();
    return r;
}

/* Open the trainer of a rank, or of one machine (NULL). */
static inline int open_one(ls_trainer **t, const recipe *r, bool odd,
                           ls_pool *pool, const ls_transport *transport)
{
    ls_graph *g = build(r->layer, odd, r->shows[odd]);
    ls_trainer_options o = r->options[odd];
    int status;

    o.transport = transport;
    status = g ? ls_trainer_open(t, pool, g, &o) : LS_ENOMEM;
    ls_graph_free(g);
    return status;
}

static inline int open_rank(const ls_transport *transport, void *user)
{
    ls_pool *pool = NULL;
    ls_trainer *t = NULL;
    int status = pool_with(&pool, DEVICES, 1);

    if (status == 0)
        status = open_one(&t, user, transport->rank == 1, pool, transport);
    if (status < 0 && status != LS_EINVAL) /* the other one is not to wait */
        transport->abort(transport->user, ls_errmsg());
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

/* Both ranks refuse, and say so; NULL: both open. */
static inline void on_two_ranks(recipe *r, const char *said)
{
    rank_body out[RANKS];
    ranks_here *all;

    OK(ranks_open(&all, 2, NULL));
    on_ranks(all, 2, open_rank, r, out);
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(out[i].status == (said ? LS_EINVAL : 0),
                      "rank %d: %d, not \"%s\": %s", i, out[i].status,
                      said ? said : "", out[i].message);
        ck_assert_msg(!said || strstr(out[i].message, said),
                      "\"%s\" does not say \"%s\"", out[i].message, said);
    }
    ranks_close(all);
}

/* ------ a checkpoint, and a run that goes on ------ */

static inline ls_checkpoints *checkpoints_of(ls_trainer *t,
                                             const char *may_change)
{
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_checkpoints *c;

    o.folder = in_folder("run");
    o.may_change = may_change;
    OK(ls_checkpoints_open(&c, t, &o));
    return c;
}

/* Save one run, go on in the other: its status. */
static inline int go_on(const recipe *r, const char *may_change)
{
    ls_pool *pool = NULL;
    ls_trainer *t[2];
    ls_checkpoints *c;
    int64_t step = -1;
    int status;

    OK(pool_with(&pool, DEVICES, 1));
    for (int i = 0; i < 2; i++)
        OK(open_one(&t[i], r, i, pool, NULL));
    c = checkpoints_of(t[0], NULL);
    OK(ls_checkpoints_save(c, 0, NULL));
    OK(ls_checkpoints_wait(c));
    ls_checkpoints_close(c);
    c = checkpoints_of(t[1], may_change);
    status = ls_checkpoints_load(c, &step);
    ck_assert_int_eq(step, status == 0 ? 0 : -1);
    ls_checkpoints_close(c);
    for (int i = 0; i < 2; i++)
        ls_trainer_close(t[i]);
    ls_pool_close(pool);
    return status;
}

/* said NULL: it goes on. */
static inline void on_checkpoint(const recipe *r, int status,
                                 const char *said)
{
    int got;

    folder_open();
    got = go_on(r, NULL);
    ck_assert_msg(got == (said ? status : 0), "%d, not \"%s\": %s", got,
                  said ? said : "", ls_errmsg());
    ck_assert_msg(!said || strstr(ls_errmsg(), said),
                  "\"%s\" does not say \"%s\"", ls_errmsg(), said);
    folder_close();
}

#endif
