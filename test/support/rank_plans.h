/* SPDX-License-Identifier: BSD-3-Clause */
/* Trainings in tests of ranks: a classifier whose devices they share, and a
 * difference that one of them is told.  Plans assert with Check, on the test's
 * main thread; pools, batches and runs are opened by the ranks themselves. */
#ifndef TEST_RANK_PLANS_H
#define TEST_RANK_PLANS_H

#include "models.h"
#include "on_ranks.h"

enum { IN = 9, CLASSES = 5, ROWS = 48, STEPS = 4 };

/* The training, and what one rank does otherwise. */
typedef struct plan {
    ls_trainer_options options;
    int devices;
    int rows;
    int workers; /* of each rank; 0: as many as are of use */
    const char *topology; /* of each rank; NULL: this machine */
    enum { ANY, NONE, SOME } early; /* sections that leave early */
    int odd;    /* the rank that is told something else, or -1 */
    void (*tell)(struct plan *p);
    int (*set)(ls_trainer *t); /* of the trainer, before the third step */
    const ls_graph *graph;
    const float *x;
    const int32_t *label;
    struct outcome *expected; /* NULL: none */
} plan;

/* A wide one has so many parameters that ranks share several sections. */
static inline ls_graph *classifier(bool wide)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);
    ls_node *h = ls_gelu(ls_dense(x, 700, "hidden"));

    if (wide)
        h = ls_relu(ls_dense(h, 500, "middle"));
    h = ls_layer_norm(ls_dropout(h, 0.25, "drop"), "norm");
    h = ls_dense(h, CLASSES, "out");
    OK(ls_output(g, h, "scores"));
    ck_assert_int_ge(ls_metric(g, ls_gelu(h)), 0);
    OK(ls_loss(g, ls_cross_entropy(h, label)));
    return g;
}

static inline int pool_of(ls_pool **pool, int devices)
{
    return pool_with(pool, devices, devices > 1 ? 2 : 1);
}

static inline int set_batch(ls_batch *b, const plan *p)
{
    int status = ls_batch_set(b, "x", LS_F32, p->x, p->rows);

    return status < 0 ? status
                      : ls_batch_set(b, "label", LS_I32, p->label, p->rows);
}

static inline plan new_plan(int devices)
{
    plan p = {.devices = devices, .rows = devices * 4, .odd = -1};

    p.options = ls_trainer_defaults();
    p.options.optimizer = ls_adam(1e-2);
    p.graph = classifier(false);
    p.x = normals(1, (int64_t)ROWS * IN);
    p.label = integers(2, CLASSES, ROWS);
    return p;
}

static inline plan new_wide_plan(int devices)
{
    plan p = new_plan(devices);

    ls_graph_free((ls_graph *)p.graph);
    p.graph = classifier(true);
    return p;
}

static inline void free_plan(plan *p)
{
    ls_graph_free((ls_graph *)p->graph);
    free((void *)p->x);
    free((void *)p->label);
}

/* The pool, batch and trainer of a rank. */
typedef struct rank_run {
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
} rank_run;

/* Made as the plan says, with the batch filled; to be closed also after a
 * failure. */
static inline int rank_open(rank_run *r, const plan *p)
{
    int status;

    *r = (rank_run){0};
    if ((status = pool_on(&r->pool, p->topology, p->devices,
                          p->devices > 1 ? 2 : 1)) < 0 ||
        (status = ls_trainer_open(&r->trainer, r->pool, p->graph,
                                  &p->options)) < 0 ||
        (status = ls_batch_open(&r->batch, r->trainer)) < 0)
        return status;
    return set_batch(r->batch, p);
}

static inline void rank_close(rank_run *r)
{
    ls_batch_close(r->batch);
    ls_trainer_close(r->trainer);
    ls_pool_close(r->pool);
}

#endif
