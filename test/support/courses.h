/* SPDX-License-Identifier: BSD-3-Clause */
/* Random runs of random models, sizes, optimizers and devices, of which a step
 * is recorded, and faults: one bit that is flipped anywhere (an initial value,
 * a row of the batch, a value, something kept, a gradient, a device's sum, the
 * mean, the rate, a moment). */
#ifndef TEST_COURSES_H
#define TEST_COURSES_H

#include "audit/recording.h"
#include "folder.h"
#include "graph/graph.h"
#include "models.h"
#include "record_batches.h"

#include <stdio.h>

/* Which arrays a fault may hit. */
typedef enum kind {
    INITIAL, BATCH, FORWARD, BACKWARD, GRADIENT, MEAN, RATE, MOMENT, KINDS
} kind;

static const char *const phases[KINDS] = {
    "before", "rows", "forward", "backward", "gradient", "mean", "rule",
    "after"};

/* Faults of each kind in a short run. */
enum { EACH = UNDER_SANITIZER ? 1 : 2 };

/* A bit that flips, and what became of it. */
typedef struct fault {
    kind kind;
    int step, count; /* in the count-th array of its kind */
    uint32_t draw;   /* for element and bit */
    int seen;
    ls__where where;
    char op[40], name[80], what[40];
    int64_t element;
    uint32_t was, is;
} fault;

typedef struct course {
    model model;
    uint32_t seed;
    int devices, micro;
    ls_optimizer optimizer;
    ls_schedule schedule;
    bool shares, groups;   /* schedules of decay and dropout; groups */
    ls_precision precision;
    ls_mean mean;
    double clip, clip_value, average;
    ls_keys keys;
    fault *fault;          /* NULL: none */
    int recorded;          /* the step that is; -1: none */
    const char *path;      /* of its record; NULL: no file */
    char root[STEPS + 1][65]; /* out */
} course;

/* ------ a course, drawn ------ */

static inline ls_optimizer random_optimizer(uint32_t *r)
{
    static const ls_optimizer_kind kinds[] = {
        LS_SGD, LS_MOMENTUM, LS_NESTEROV, LS_ADAM, LS_ADAMW, LS_RMSPROP,
        LS_ADAGRAD, LS_LION, LS_AMSGRAD, LS_NADAM};
    ls_optimizer o = ls_optimizer_defaults(kinds[between(r, 0, 9)], 0.01);

    o.lazy = o.kind == LS_ADAM && between(r, 0, 1);
    if (o.kind == LS_ADAMW || o.kind == LS_LION)
        o.weight_decay = 0.1;
    return o;
}

static inline ls_schedule random_schedule(uint32_t *r)
{
    static const ls_boundary boundaries[] = {{1, 0.5}, {2, 0.3}};
    ls_schedule s = ls_schedule_defaults(
        (ls_schedule_kind)between(r, LS_CONSTANT, LS_FLAT_COSINE));

    s.decay_steps = 7;
    s.end_lr = 0.001;
    s.decay_rate = 0.5;
    s.power = 2;
    s.boundaries = boundaries;
    s.n_boundaries = s.kind == LS_PIECEWISE ? 2 : 0;
    return s;
}

static inline course random_course(uint32_t seed)
{
    uint32_t r = seed;
    course c = {.model = (model)between(&r, 0, MODELS - 1), .recorded = -1};

    c.seed = seed;
    c.devices = (int)between(&r, 1, 4);
    c.micro = (int)between(&r, 1, 2);
    c.clip = between(&r, 0, 1) ? 0.5 : 0;
    c.precision = between(&r, 0, 3) ? LS_F32_LAYERS : LS_BF16_LAYERS;
    c.optimizer = random_optimizer(&r);
    c.schedule = random_schedule(&r);
    c.shares = between(&r, 0, 2) == 0;
    c.groups = between(&r, 0, 2) == 0;
    if (c.model != NORMS) /* some of whose devices meet */
        c.mean = (ls_mean)(seed / 5 % 3);
    c.clip_value = between(&r, 0, 3) ? 0 : 0.01;
    c.average = between(&r, 0, 2) ? 0 : 0.9;
    c.keys = between(&r, 0, 1) ? LS_KEYS_NNX : LS_KEYS_LINEN;
    if (between(&r, 0, 3) == 0 && c.optimizer.kind <= LS_NESTEROV)
        c.optimizer.l2 = 0.01;
    return c;
}

/* ------ flipping a bit ------ */

static inline uint32_t bits_of(float x)
{
    uint32_t b;

    memcpy(&b, &x, sizeof b);
    return b;
}

/* A bit of a number that stays one of the same kind; 0 becomes small, and an
 * index its neighbour. */
static inline uint32_t flip(const ls__where *w, uint32_t bits, uint32_t by)
{
    if (strcmp(w->phase, "rows") == 0 && bits < 64) /* an index */
        return bits ^ 1;
    return bits & 0x7f800000 ? bits ^ 1u << by % 23 : bits ^ 1u << 29;
}

static inline bool is_hit(const fault *f, const ls__where *w)
{
    static const char *const whole[] = {"y", "kept", "dx", "dparam",
                                        "statistics of all", NULL};
    bool known = false;

    if (strcmp(w->phase, phases[f->kind]))
        return false;
    if (f->kind == RATE)
        return strcmp(w->what, "-lr") == 0;
    if (f->kind == MOMENT)
        return strcmp(w->what, "parameters") != 0;
    if (f->kind == MEAN)
        return strcmp(w->what, "mean gradient") == 0;
    if (f->kind != FORWARD && f->kind != BACKWARD)
        return true;
    for (int i = 0; whole[i]; i++)
        known |= strcmp(w->what, whole[i]) == 0;
    return known;
}

static inline void touch(void *user, const ls__where *w, float *values,
                         int64_t n)
{
    fault *f = user;
    uint32_t r;

    if (!is_hit(f, w) || f->seen++ != f->count)
        return;
    r = f->draw;
    f->where = *w;
    snprintf(f->op, sizeof f->op, "%s", w->op ? w->op : "");
    snprintf(f->name, sizeof f->name, "%s", w->name ? w->name : "");
    snprintf(f->what, sizeof f->what, "%s", w->what);
    f->element = between(&r, 0, n - 1);
    f->was = bits_of(values[f->element]);
    f->is = flip(w, f->was, draw(&r));
    memcpy(&values[f->element], &f->is, sizeof f->is);
}

/* ------ a course ------ */

/* Takes a step; where a course diverges, it is refused, and the state stays. */
static inline void take_step(const run *r, course *c, int i)
{
    ls_record_options o = ls_record_defaults();
    fault *f = c->fault && c->fault->step == i ? c->fault : NULL;
    ls_result result;
    int status;

    o.path = c->path;
    o.values = true;
    if (f)
        f->seen = 0;
    if (i == c->recorded || f)
        status = ls__record_step(r->trainer, r->batch, &o, f ? touch : NULL, f,
                                 &result);
    else
        status = ls_step(r->trainer, r->batch, &result);
    if (status != LS_ENONFINITE)
        OK(status);
}

/* Train, and end after the step that is written. */
static inline void take(course *c)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = graph_of(c->model, c->seed), *same = NULL;
    ls_group group[2] = {ls_group_no_decay(), ls_group_of("*kernel")};
    char text[LS_RECORD_TEXT];
    data d;
    run at;

    o.optimizer = c->optimizer;
    o.precision = c->precision;
    o.clip_norm = c->clip;
    o.clip_value = c->clip_value;
    o.average = c->average;
    o.keys = c->keys;
    o.mean = c->mean;
    o.accumulate = c->micro;
    o.seed = c->seed;
    o.schedule = c->schedule;
    if (c->shares) {
        o.decay_schedule = ls_schedule_defaults(LS_COSLOG);
        o.decay_schedule.decay_steps = 5;
        o.dropout_schedule = ls_schedule_defaults(LS_FLAT_COSINE);
        o.dropout_schedule.decay_steps = 6;
    }
    group[1].rate = 0.3;
    group[1].decay = 0.7;
    o.groups = group;
    o.n_groups = c->groups ? 2 : 0;
    same = graph_of(c->model, c->seed); /* open_run frees the other */
    d = data_of(same, c->seed);
    at = open_run_on(c->devices, 1 + (int)(c->seed % 2), g, &o);
    ck_assert_int_eq(ls_record_unjudged(at.trainer, 0, text), 0);
    for (int i = 0; i <= STEPS; i++) {
        OK(ls_trainer_root(at.trainer, i, 0, NULL, c->root[i]));
        if (i == STEPS || (c->path && i > c->recorded))
            break;
        set_batch(&at, &d, i, c->seed, ROWS);
        take_step(&at, c, i);
    }
    close_run(&at);
    free_data(&d);
    ls_graph_free(same);
}

/* The step that made the first state that differs; -1: none does. */
static inline int first_step(const course *a, const course *b)
{
    for (int i = 0; i <= STEPS; i++)
        if (strcmp(a->root[i], b->root[i]))
            return i - 1;
    return -1;
}

/* What a test makes of a fault: both runs, and the step where it shows. */
typedef void meet_fn(const fault *f, course clean, course spoilt, int step);

/* A fault that shows in no state, as in what a relu cuts off, is none. */
static inline bool try_fault(uint32_t seed, uint32_t *r, kind k, meet_fn *meet)
{
    course clean = random_course(seed), spoilt = clean;
    fault f = {.kind = k, .step = (int)between(r, 0, STEPS - 1),
               .count = k == RATE || k == MEAN ? 0 : (int)between(r, 0, 40),
               .draw = draw(r)};
    int step;

    spoilt.fault = &f;
    take(&clean);
    take(&spoilt);
    step = first_step(&clean, &spoilt);
    if (step >= 0)
        meet(&f, clean, spoilt, step);
    return step >= 0;
}

/* Fault of that number: draw until one shows. */
static inline void draw_fault(uint32_t number, meet_fn *meet)
{
    uint32_t r = 77 + 7919 * number;
    kind k = (kind)(number % KINDS);
    int tries = 0;

    folder_open();
    while (!try_fault(number / KINDS * 31 + draw(&r), &r, k, meet))
        ck_assert_int_lt(++tries, 200);
    folder_close();
}

#endif
