/* SPDX-License-Identifier: BSD-3-Clause */
/* The right answer to a problem, by reference.h and by central differences; a
 * run of it on a kernel level or backend; and how the two compare. */
#ifndef TEST_OP_RUNS_H
#define TEST_OP_RUNS_H

#include "backends.h"
#include "op_problems.h"

#include <stdio.h>

enum { MOST_ARRAYS = LS__MAX_INPUTS + LS__MAX_PARAMS };

/* ------ What is right ------ */

static ref ref_of(const problem *p)
{
    ref r = {.node = p->node,
             .rows = p->rows,
             .weights = p->weights,
             .y = p->yd,
             .dy = p->dyd,
             .made = p->made};

    memcpy(r.x, p->xd, sizeof r.x);
    memcpy(r.param, p->pd, sizeof r.param);
    memcpy(r.dx, p->dxd, sizeof r.dx);
    memcpy(r.dparam, p->dpd, sizeof r.dparam);
    return r;
}

static inline void make_right(problem *p)
{
    ref r = ref_of(p);
    ls__product_made *m = p->made;
    ls__activation activation = curve_of(p);

    p->ref->forward(&r);
    if (m && m->dy_is_pre)
        m->activation = LS__NO_ACTIVATION;
    p->ref->backward(&r);
    if (m)
        m->activation = activation;
    for (int64_t i = 0; p->through_slope && i < p->nx[0]; i++)
        p->dxd[0][i] *= (double)p->h[i];
}

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Is it made of straight pieces, with corners between them? */
static bool has_corners(const problem *p)
{
    const ls__op *op = p->node->op;

    return curve_of(p) == LS__RELU || is_pooled(p) ||
           op == &ls__op_max_pool || op == &ls__op_max_over;
}

/* sum of dy y, or the loss, with x moved by h along d. */
static double moved(const problem *p, int64_t n, double *x, const double *d,
                    double h)
{
    ref r = ref_of(p);
    double sum;

    for (int64_t i = 0; i < n; i++)
        x[i] += h * d[i];
    p->ref->forward(&r);
    sum = p->dyd ? dot(p->ny, p->dyd, p->yd) : p->yd[0];
    for (int64_t i = 0; i < n; i++)
        x[i] -= h * d[i];
    return sum;
}

/* The gradient g by x, along a random direction, is the slope of the value.
 * False: on that way is a corner of what is made of straight pieces, which the
 * values alone tell, or the gradient is zero whatever the input; then nothing
 * is proved. */
static bool check_slope(const problem *p, int which, int64_t n, double *x,
                        const double *g)
{
    const double h = fmin(1e-4, 1e-3 / sqrt((double)n));
    float *along = uniform(40 + which, n);
    double *d = doubles(n, along, LS_F32);
    double by_g = dot(n, g, d), size = sqrt(dot(n, g, g));
    double up = moved(p, n, x, d, h), down = moved(p, n, x, d, -h);
    double slope = (up - down) / (2 * h), bend = up + down;

    bend = (bend - 2 * moved(p, n, x, d, 0)) / (2 * h);
    if (has_corners(p) && fabs(bend) > 1e-7 * size) {
        free(d);
        return false;
    }
    ck_assert_msg(fabs(slope - by_g) <= 1e-6 * (vanishes(p, which) ? 1 : size),
                  "%s: the reference's gradient %d is %.9g along a direction, "
                  "differences say %.9g",
                  p->node->op->name, which, by_g, slope);
    free(d);
    return size > 0 && !vanishes(p, which);
}

/* False: of some gradient nothing is proved. */
static inline bool check_reference(const problem *p)
{
    bool all = true;

    for (int k = 0; k < p->inputs; k++)
        if (p->node->in[k]->dtype == LS_F32)
            all &= check_slope(p, k, p->nx[k], p->xd[k], p->dxd[k]);
    for (int k = 0; k < p->node->params; k++)
        all &= check_slope(p, LS__MAX_INPUTS + k, p->np[k], p->pd[k],
                           p->dpd[k]);
    return all;
}

/* ------ Running ------ */

typedef struct machine {
    const ls__kernel_table *kernels;
    ls__backend backend;
} machine;

static machine machine_of(const ls__kernel_table *k)
{
    return (machine){k, k->native[LS_F32_LAYERS]};
}

typedef enum place { FRESH, OVER_ADDEND, OVER_DY, OVER_X } place;

typedef struct mode {
    place place; /* of dx */
    bool addend, add, no_dx;
    bool cut; /* rows in two parts, and parameters by themselves */
} mode;

typedef struct outputs {
    float *y, *dx[LS__MAX_INPUTS], *dparam[LS__MAX_PARAMS];
    ls_sums sums, forward_sums;
} outputs;

static float *copy_of(int64_t n, const float *x)
{
    return memcpy(fenced(n), x, (size_t)n * sizeof *x);
}

/* A run, and what it sees. */
typedef struct running {
    alone alone;
    ls__draw draw;
    ls__run run;
} running;

/* Decides for this machine alone: others decide otherwise. */
static void decide(const problem *p, running *x)
{
    x->alone = alone_of(p->node);
    if (p->made)
        memcpy(x->alone.in.made, p->made, p->node->op->plan.made);
    alone_start(&x->alone, &x->run);
    if (p->through_slope) {
        ((ls__product_made *)x->alone.in.made)->slope_of_x = 0;
        x->alone.chunk.memory = p->h;
    }
}

static void start(const problem *p, const machine *m, outputs *o, running *x)
{
    ls__run *r = &x->run;
    ls__chunk *of = &x->alone.chunk;

    *r = (ls__run){.node = p->node, .rows = p->rows, .backend = &m->backend,
                   .kernels = m->kernels};
    for (int k = 0; k < p->inputs; k++)
        r->x[k] = p->x[k];
    for (int k = 0; k < p->node->params; k++)
        r->param[k] = p->param[k];
    decide(p, x);
    x->draw = (ls__draw){.key = REF_ROOT};
    of->draw = &x->draw;
    of->call = REF_CALL;
    of->train = true;
    of->drop = 1;
    of->first = REF_FIRST;
    of->weights = p->weights;
    of->sums = &o->forward_sums;
    r->y = o->y = p->node->op->is_loss ? NULL : fenced(p->ny);
}

/* The memory that dx[k] is written to, which may be an operand's copy. */
static float *dx_place(const problem *p, ls__run *r, const mode *how, int k)
{
    float *dx;

    if (how->place == OVER_ADDEND) {
        r->addend[k] = dx = copy_of(p->nx[k], p->addend[k]);
    } else if (how->place == OVER_DY && k == 0) {
        r->dy = dx = copy_of(p->ny, p->dy);
    } else if (how->place == OVER_X && k == 0) {
        r->x[0] = dx = copy_of(p->nx[0], p->x[0]);
    } else {
        dx = fenced(p->nx[k]);
    }
    return dx;
}

/* Prepare a run for backward: forward's scratch and value are gone, and inputs
 * that backward says it does not read. */
static void ready_backward(const problem *p, const mode *how, running *x,
                           outputs *o)
{
    const ls__op *op = p->node->op;
    ls__run *r = &x->run;

    r->y = op->plan.reads_y ? r->y : NULL;
    r->scratch = x->alone.scratch ? fenced(x->alone.scratch) : NULL;
    x->alone.chunk.sums = &o->sums;
    r->dy = p->dy;
    r->add = how->add;
    for (int k = 0; k < p->inputs; k++) {
        if (!(op->plan.reads >> k & 1))
            r->x[k] = fenced(p->nx[k]);
        if (how->no_dx || op->plan.passes >> k & 1 ||
            p->node->in[k]->dtype != LS_F32)
            continue;
        r->addend[k] = how->addend ? p->addend[k] : NULL;
        o->dx[k] = r->dx[k] = dx_place(p, r, how, k);
    }
    for (int k = 0; k < p->node->params; k++)
        o->dparam[k] = r->dparam[k] =
            how->add ? copy_of(p->np[k], p->prior[k]) : fenced(p->np[k]);
}

/* ------ Rows that are cut ------ */

static const float *skip(const float *x, int64_t floats)
{
    return x ? x + floats : NULL;
}

/* A run of some rows of another. */
static ls__run some_rows(const problem *p, const ls__run *all,
                         ls__chunk *chunk, int64_t first, int64_t count)
{
    int64_t size = p->node->size;
    ls__run r = *all;

    *chunk = *all->of;
    chunk->first += first;
    chunk->skipped = first;
    chunk->weights = skip(chunk->weights, first);
    r.of = chunk;
    r.rows = count;
    r.y = (float *)skip(r.y, first * size);
    r.stash = (float *)skip(r.stash, first * r.in->kept);
    r.dy = skip(r.dy, first * size);
    for (int k = 0; k < p->inputs; k++) {
        int64_t before = first * p->node->in[k]->size;

        r.x[k] = skip(r.x[k], before);
        r.dx[k] = (float *)skip(r.dx[k], before);
        r.addend[k] = skip(r.addend[k], before);
    }
    return r;
}

/* Run something on the first rows of a problem and on the others. */
static void run_parts(const problem *p, const ls__run *all,
                      void (*run)(const ls__run *r))
{
    int64_t half = p->rows / 2;
    ls__chunk chunk;
    ls__run r;

    while (half * p->node->size % p->node->op->run.cuts)
        half--;
    if (half > 0) {
        r = some_rows(p, all, &chunk, 0, half);
        run(&r);
    }
    r = some_rows(p, all, &chunk, half, p->rows - half);
    run(&r);
}

static void backward_cut(const problem *p, const ls__run *all)
{
    ls__run params = *all, inputs = *all;
    bool wanted = false;

    for (int k = 0; k < p->inputs; k++) {
        wanted |= all->dx[k] != NULL;
        params.dx[k] = NULL;
    }
    memset(inputs.dparam, 0, sizeof inputs.dparam);
    if (p->node->params)
        p->node->op->run.backward(&params);
    if (wanted)
        run_parts(p, &inputs, p->node->op->run.backward);
}

static outputs run(const problem *p, const machine *m, mode how)
{
    outputs o = {0};
    running x;

    start(p, m, &o, &x);
    if (how.cut)
        run_parts(p, &x.run, p->node->op->run.forward);
    else
        p->node->op->run.forward(&x.run);
    ready_backward(p, &how, &x, &o);
    if (how.cut)
        backward_cut(p, &x.run);
    else
        p->node->op->run.backward(&x.run);
    return o;
}

/* ------ Comparing ------ */

static void check_array(const problem *p, const char *what, int which,
                        int64_t n, const float *got, const double *want)
{
    bool none = vanishes(p, which);
    double error = none ? max_error(n, got, want) : max_relative(n, got, want);

    ck_assert_msg(error <= 1e-5, "%s %d of %lld elements: error %g", what,
                  which, (long long)n, error);
    ck_assert_msg(none || may_be_zero(p) || !mostly_zero(n, got),
                  "%s %d: nearly all zeros", what, which);
}

/* The sum of weights of rows x weights of terms. */
static double weighted(const problem *p)
{
    int64_t n = p->node->in[0]->size;
    double sum = 0;

    for (int64_t i = 0; i < p->rows * n; i++)
        sum += (p->weights ? (double)p->weights[i / n] : 1) * p->xd[1][i];
    return sum;
}

static void check_loss(const problem *p, const outputs *o)
{
    int64_t terms = p->node->in[0]->size;
    double weight = 0;

    if (p->node->in[p->inputs - 1]->dtype == LS_I32) /* labels */
        terms = p->node->in[1]->size - ahead(&(ref){.node = p->node});
    for (int64_t i = 0; i < p->rows; i++)
        weight += (p->weights ? (double)p->weights[i] : 1) * (double)terms;
    if (p->node->op == &ls__op_weighted_loss)
        weight = weighted(p);
    ck_assert(fabs(o->sums.weight - weight) <= 1e-12 * weight);
    ck_assert_msg(fabs(o->sums.loss - p->yd[0]) <= 1e-5 * fabs(p->yd[0]),
                  "loss is %.9g, must be %.9g", o->sums.loss, p->yd[0]);
    ck_assert_double_eq(o->sums.loss, o->forward_sums.loss);
    ck_assert_double_eq(o->sums.weight, o->forward_sums.weight);
}

/* Values and gradients against the reference; an input whose gradient is said
 * to be dy itself, against that. */
static inline void check_values(const problem *p, const outputs *o)
{
    if (p->node->op->is_loss)
        check_loss(p, o);
    else
        check_array(p, "value", MOST_ARRAYS, p->ny, o->y, p->yd);
    for (int k = 0; k < p->inputs; k++)
        if (p->node->op->plan.passes >> k & 1)
            ck_assert_mem_eq(p->dxd[k], p->dyd, (size_t)p->ny * sizeof *p->dyd);
        else if (o->dx[k])
            check_array(p, "input gradient", k, p->nx[k], o->dx[k], p->dxd[k]);
    for (int k = 0; k < p->node->params; k++)
        check_array(p, "parameter gradient", LS__MAX_INPUTS + k, p->np[k],
                    o->dparam[k], p->dpd[k]);
}

static void check_same(const char *what, int64_t n, const float *a,
                       const float *b)
{
    ck_assert_msg(!memcmp(a, b, (size_t)n * sizeof *a), "%s differs", what);
}

/* The same bytes in all that both wrote. */
static inline void check_equal(const problem *p, const outputs *a,
                               const outputs *b)
{
    if (p->node->op->is_loss)
        ck_assert(!memcmp(&a->sums.loss, &b->sums.loss, sizeof a->sums.loss));
    else
        check_same("value", p->ny, a->y, b->y);
    for (int k = 0; k < p->inputs; k++)
        if (a->dx[k] && b->dx[k])
            check_same("input gradient", p->nx[k], a->dx[k], b->dx[k]);
    for (int k = 0; k < p->node->params; k++)
        check_same("parameter gradient", p->np[k], a->dparam[k], b->dparam[k]);
}

/* dx with an addend is the addend plus dx without, rounded once. */
static inline void check_addend(const problem *p, const outputs *without,
                         const outputs *with)
{
    for (int k = 0; k < p->inputs; k++)
        for (int64_t i = 0; with->dx[k] && i < p->nx[k]; i++)
            if (with->dx[k][i] != without->dx[k][i] + p->addend[k][i])
                ck_abort_msg("addend %d, element %lld", k, (long long)i);
}

/* Parameter gradients added to what was there, which may cancel. */
static inline void check_added(const problem *p, const outputs *o)
{
    for (int k = 0; k < p->node->params; k++) {
        double *want = doubles(p->np[k], p->prior[k], LS_F32);

        double size = fmax(largest(p->np[k], want),
                           largest(p->np[k], p->dpd[k]));

        for (int64_t i = 0; i < p->np[k]; i++)
            want[i] += p->dpd[k][i];
        ck_assert(max_error(p->np[k], o->dparam[k], want) <= 1e-5 * size);
        free(want);
    }
}

#endif
