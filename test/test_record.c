/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves records of a step: a recorded step has the bytes of any other, of
 * random models, sizes, optimizers and devices; and one bit that is flipped
 * anywhere (an initial value, a row of the batch, a value, something kept, a
 * gradient, a device's sum, the mean, the rate, a moment) is found again, step,
 * place, element and both values, from roots and two records alone.  Files that
 * are no records are refused. */
#define _GNU_SOURCE
#define REFEREE_IS_TESTED
#include "../referee/referee.c"
#include "folder.h"
#include "graph/graph.h"
#include "models.h"
#include "on_ranks.h"
#include "op/op_table.h"
#include "record/record_compare.h"
#include "record/record_write.h"
#include "spoilt_evidence.h"
#include "record_batches.h"

#include <lockstep/transcript.h>
#include <stdio.h>

static void forget_evidence(void)
{
    (void)print_rules; /* its main's own */
    for (int i = 0; i < count; i++)
        free(lists[i].x);
    memset(lists, 0, sizeof lists);
    count = 0;
}

/* Which arrays a fault may hit. */
typedef enum kind {
    INITIAL, BATCH, FORWARD, BACKWARD, GRADIENT, MEAN, RATE, MOMENT, KINDS
} kind;

static const char *const phases[KINDS] = {
    "before", "rows", "forward", "backward", "gradient", "mean", "rule",
    "after"};

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
    double clip;
    fault *fault;          /* NULL: none */
    int recorded;          /* the step that is; -1: none */
    const char *path;      /* of its record; NULL: no file */
    char root[STEPS + 1][65]; /* out */
} course;

/* ------ a course, drawn ------ */

static ls_optimizer random_optimizer(uint32_t *r)
{
    ls_optimizer o = ls_adam(0.01);

    switch (between(r, 0, 3)) {
    case 0: return ls_momentum(0.1, 0.9);
    case 1: o = ls_adamw(0.01); o.weight_decay = 0.1; return o;
    case 2: o.lazy = true; return o;
    default: return o;
    }
}

static ls_schedule random_schedule(uint32_t *r)
{
    static const ls_schedule_kind kinds[] = {LS_CONSTANT, LS_COSLOG,
                                             LS_FLAT_COSINE, LS_COSINE};
    ls_schedule s = ls_schedule_defaults(kinds[between(r, 0, 3)]);

    s.decay_steps = 7;
    s.end_lr = 0.001;
    return s;
}

static course random_course(uint32_t seed)
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
    return c;
}

/* ------ flipping a bit ------ */

static uint32_t bits_of(float x)
{
    uint32_t b;

    memcpy(&b, &x, sizeof b);
    return b;
}

/* A bit of a number that stays one of the same kind; 0 becomes small, and an
 * index its neighbour. */
static uint32_t flip(const ls__where *w, uint32_t bits, uint32_t by)
{
    if (strcmp(w->phase, "rows") == 0 && bits < 64) /* an index */
        return bits ^ 1;
    return bits & 0x7f800000 ? bits ^ 1u << by % 23 : bits ^ 1u << 29;
}

static bool is_hit(const fault *f, const ls__where *w)
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

static void touch(void *user, const ls__where *w, float *values, int64_t n)
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
static void take_step(const run *r, course *c, int i)
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
static void take(course *c)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(c->devices, 1 + (int)(c->seed % 2));
    ls_graph *g = graph_of(c->model, c->seed), *same = NULL;
    ls_group group[2] = {ls_group_no_decay(), ls_group_of("*kernel")};
    data d;
    run at;

    o.optimizer = c->optimizer;
    o.precision = c->precision;
    o.clip_norm = c->clip;
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
    at = open_run(pool, g, &o);
    for (int i = 0; i <= STEPS; i++) {
        OK(ls_trainer_root(at.trainer, i, 0, NULL, c->root[i]));
        if (i == STEPS || (c->path && i > c->recorded))
            break;
        set_batch(&at, &d, i, c->seed, ROWS);
        take_step(&at, c, i);
    }
    close_run(&at);
    ls_pool_close(pool);
    free_data(&d);
    ls_graph_free(same);
}

/* The step that made the first state that differs; -1: none does. */
static int first_step(const course *a, const course *b)
{
    for (int i = 0; i <= STEPS; i++)
        if (strcmp(a->root[i], b->root[i]))
            return i - 1;
    return -1;
}

/* ------ tests ------ */

/* Each step recorded instead of taken: the same roots. */
START_TEST(test_same_bytes)
{
    course plain = random_course(1000 + (uint32_t)_i), seen = plain;

    take(&plain);
    seen.recorded = _i % STEPS;
    take(&seen);
    ck_assert_int_eq(first_step(&plain, &seen), -1);
}
END_TEST

/* Both sides once more, that step written; the first difference. */
static void locate(course a, course b, int step, ls_record_difference *d,
                   ls__entry *at)
{
    a.recorded = b.recorded = step;
    a.path = in_folder("a.lsr");
    b.path = in_folder("b.lsr");
    take(&a);
    take(&b);
    OK(ls__record_first(a.path, b.path, d, at));
}

static void check_place(const fault *f, const ls_record_difference *d,
                        const ls__entry *e)
{
    const ls__where *w = &e->place;

    ck_assert_str_eq(w->phase, phases[f->kind]);
    ck_assert_str_eq(w->what, f->what);
    ck_assert_int_eq(w->device, f->where.device);
    ck_assert_int_eq(d->element, f->element);
    ck_assert_int_eq(d->a, f->was);
    ck_assert_int_eq(d->b, f->is);
    if (f->kind == RATE)
        return;
    ck_assert_str_eq(w->op, f->op);
    ck_assert_str_eq(w->name, f->name);
    ck_assert_int_eq(w->micro, f->where.micro);
    ck_assert_int_eq(w->first, f->where.first);
    ck_assert_int_eq(w->node, f->where.node);
    ck_assert_int_eq(w->index, f->where.index);
}

/* ------ judging ------ */

/* Add it to the file that LS_EVIDENCE names, which test/referee.sh gives to
 * builds of the referee (EVIDENCE). */
static void keep_evidence(const char *path)
{
    const char *all = getenv("LS_EVIDENCE");
    FILE *f = all ? fopen(all, "a") : NULL;
    size_t bytes;
    char *text = f ? read_text(path, &bytes) : NULL;

    if (f)
        fprintf(f, "%s\n", text);
    if (f)
        fclose(f);
    free(text);
}

/* Evidence of what was there before a step, which the one before it made. */
static int evidence_of_past(course clean, int step,
                            const ls_record_difference *d, const char *path)
{
    char place[LS_RECORD_TEXT];

    clean.recorded = step - 1;
    clean.path = in_folder("past.lsr");
    take(&clean);
    snprintf(place, sizeof place, "after: %.400s",
             d->place + strlen("before: "));
    return ls_record_evidence(clean.path, place, d->element, d->a, d->b, path);
}

/* Where the referee has a rule, the clean side is right; where it has none,
 * that is said. */
static void judge(const course *clean, int step, kind k,
                  const ls_record_difference *d, uint32_t *r)
{
    const char *path = in_folder("evidence");
    int status = k == INITIAL && step > 0
                     ? evidence_of_past(*clean, step, d, path)
                     : ls_record_evidence(in_folder("a.lsr"), d->place,
                                          d->element, d->a, d->b, path);
    char op[32];
    FILE *f;

    if (long_run())
        fprintf(stderr, "%s: %.60s\n", status == 0 ? "judged" : ls_errmsg(),
                d->place);
    if (status == LS_ENOTSUP)
        return;
    ck_assert_msg(status == 0, "%s: %s", d->place, ls_errmsg());
    ck_assert_ptr_nonnull(f = fopen(path, "r"));
    forget_evidence();
    read_evidence(f, op);
    fclose(f);
    ck_assert_msg(make(op) == d->a, "%s", d->text);
    ck_assert_msg(open_count > 0, "%s: nothing is opened", d->place);
    keep_evidence(path);
    for (int i = 0; i < (long_run() ? 70 : 3); i++)
        spoil_evidence(path, d->a, r);
}

/* Draw faults until one shows in a state: what no state depends on, as what a
 * relu cuts off, is no fault. */
static bool try_fault(uint32_t seed, uint32_t *r, kind k)
{
    course clean = random_course(seed), spoilt = clean;
    fault f = {.kind = k, .step = (int)between(r, 0, STEPS - 1),
               .count = k == RATE || k == MEAN ? 0 : (int)between(r, 0, 40),
               .draw = draw(r)};
    ls_record_difference d;
    ls__entry at;
    int step;

    spoilt.fault = &f;
    take(&clean);
    take(&spoilt);
    step = first_step(&clean, &spoilt);
    if (step < 0)
        return false;
    ck_assert_int_eq(step, f.step);
    locate(clean, spoilt, step, &d, &at);
    ck_assert(!d.same);
    check_place(&f, &d, &at);
    ls__entry_release(&at);
    judge(&clean, step, k, &d, r);
    return true;
}

static void fault_of(uint32_t number)
{
    uint32_t r = 77 + 7919 * number;
    kind k = (kind)(number % KINDS);
    int tries = 0;

    folder_open();
    while (!try_fault(number / KINDS * 31 + draw(&r), &r, k))
        ck_assert_int_lt(++tries, 200);
    folder_close();
}

START_TEST(test_fault)
{
    fault_of((uint32_t)_i);
}
END_TEST

/* ------ all that a step makes ------ */

/* All that has no evidence, by the words that name it. */
static bool is_named(const char *why)
{
    static const char *const of[] = {
        "that is no float", "what lies between parameters",
        "is what was given to this step",
        "were made by the update of the step before", "\"peak rate\"",
        "a bag that names one row twice, with values",
        "the norm of a gradient that is not clipped"};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (strstr(why, of[i]))
            return true;
    return false;
}

/* A leaf of the array that was read last, or all words of a number. */
static int64_t read_leaf(ls__record_reader *reader, const ls__entry *e,
                         const char *place, int64_t of,
                         uint32_t leaf[LS__LEAF])
{
    int64_t n;

    if (e->kind == LS__NUMBER_ENTRY)
        return ls_record_leaf(reader->chain.path, place, of, leaf);
    do
        n = ls__record_leaf(reader, leaf);
    while (n > 0 && of-- > 0);
    return n;
}

/* What the record has of an element of an array, or a word of a number; false:
 * that is not judged, and named. */
static bool judge_place(ls__record_reader *reader, const ls__entry *e,
                        uint32_t *r)
{
    bool is_array = e->kind == LS__ARRAY_ENTRY;
    const char *path = reader->chain.path, *evidence = in_folder("evidence");
    uint32_t leaf[LS__LEAF];
    char place[LS_RECORD_TEXT], op[32];
    int64_t n = is_array ? e->floats : (int64_t)strlen(e->bits) / 8;
    int64_t element = between(r, 0, n - 1), of = element / LS__LEAF;
    int status;
    FILE *f;

    ls__where_text(&e->place, place);
    ck_assert_int_gt(read_leaf(reader, e, place, of, leaf), 0);
    status = ls_record_evidence(path, place, element, leaf[element % LS__LEAF],
                                0, evidence);
    if (status == LS_ENOTSUP && is_named(ls_errmsg()))
        return false;
    ck_assert_msg(status == 0, "%s: %s", place, ls_errmsg());
    ck_assert_ptr_nonnull(f = fopen(evidence, "r"));
    forget_evidence();
    read_evidence(f, op);
    fclose(f);
    ck_assert_msg(make(op) == leaf[element % LS__LEAF], "%s: element %lld",
                  place, (long long)element);
    return true;
}

/* Record a step and judge all that `wanted` says; returns how many numbers. */
static int judge_step(course *c, uint32_t *r, bool (*wanted)(const ls__where *))
{
    char path[256];
    ls__record_reader reader;
    ls__entry e = {0};
    bool has_numbers;
    int judged = 0;

    folder_open();
    c->path = strcpy(path, in_folder("step.lsr"));
    take(c);
    OK(ls__record_open(&reader, c->path));
    do {
        ls__entry_release(&e);
        OK(ls__record_next(&reader, &e));
        has_numbers = e.kind == LS__NUMBER_ENTRY ||
                      (e.kind == LS__ARRAY_ENTRY && e.floats);
        if (has_numbers && wanted(&e.place))
            judged += judge_place(&reader, &e, r);
    } while (e.kind != LS__CLOSE_ENTRY);
    ls__entry_release(&e);
    ls__record_shut(&reader);
    folder_close();
    return judged;
}

static int seen; /* kinds of places, in this test */

/* The first place of each kind: of a phase, an operator and what it makes. */
static bool is_first(const ls__where *w)
{
    static char kinds[256][64];
    char key[64];

    snprintf(key, sizeof key, "%s %s %s", w->phase, w->op ? w->op : "",
             w->what);
    for (int i = 0; i < seen; i++)
        if (strcmp(kinds[i], key) == 0)
            return false;
    ck_assert_int_lt(seen, 256);
    strcpy(kinds[seen++], key);
    return true;
}

/* All in a long run, else the first of each kind; one in five of these under a
 * sanitizer.  What is given to a step was not made by it. */
static bool is_chosen(const ls__where *w)
{
    static uint32_t r = 3;

    return strcmp(w->phase, "start") != 0 &&
           strncmp(w->what, "key of node", 11) != 0 &&
           (long_run() || (is_first(w) &&
                           between(&r, 0, UNDER_SANITIZER ? 4 : 0) == 0));
}

/* Proves that what a step makes is judged, each number rightly, of all models
 * in all precisions, or is named: all of it in a long run, else the first of
 * each kind. */
START_TEST(test_all)
{
    course c = random_course(6000 + 31 * (uint32_t)_i);
    uint32_t r = 9 + (uint32_t)_i;

    c.model = (model)(_i % MODELS);
    c.precision = (ls_precision)((_i + _i / MODELS) % 4);
    c.mean = c.model == NORMS ? LS_MEAN_EXACT : (ls_mean)(_i % 3);
    c.recorded = _i % 2;
    seen = 0;
    ck_assert_int_ge(judge_step(&c, &r, is_chosen),
                     long_run() || !UNDER_SANITIZER ? 10 : 0);
}
END_TEST

static bool is_kept_by_lengths(const ls__where *w)
{
    return w->op && strstr(w->op, "_lengths") && strcmp(w->what, "kept") == 0;
}

/* Proves that what recurrent layers keep is judged rightly beyond a row's
 * length, too. */
START_TEST(test_lengths)
{
    uint32_t r = 5;

    for (uint32_t i = 0; i < 100; i += UNDER_SANITIZER ? 3 : 1) {
        course c = random_course(8000 + i);

        c.model = LENGTHS;
        c.recorded = (int)i % 2;
        ck_assert_int_ge(judge_step(&c, &r, is_kept_by_lengths), 1);
    }
}
END_TEST

static bool is_batch_norms(const ls__where *w)
{
    return (w->op && strcmp(w->op, "batch_norm") == 0) ||
           strcmp(w->phase, "after") == 0 ||
           (strcmp(w->phase, "before") == 0 &&
            strcmp(w->what, "parameters") == 0);
}

/* Proves that every array that a batch norm by rows makes, first values of
 * orthogonal kernels and what is stored afterwards are judged, each rightly. */
START_TEST(test_norms)
{
    course c = random_course(4000 + (uint32_t)_i);
    uint32_t r = 5 + (uint32_t)_i;

    c.model = NORMS;
    c.mean = LS_MEAN_EXACT;
    c.precision = LS_F32_LAYERS;
    c.recorded = _i % 2;
    ck_assert_int_gt(judge_step(&c, &r, is_batch_norms), 10);
}
END_TEST

/* Devices that are spread over processes are refused by name. */
static int record_on_rank(const ls_transport *transport, void *user)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_record_options of = ls_record_defaults();
    ls_pool *pool = NULL;
    ls_trainer *t = NULL;
    ls_batch *batch = NULL;
    ls_graph *graph = linear_graph(3, 2);
    ls_result result;
    int status = pool_with(&pool, 4, 1);

    (void)user;
    of.path = "no.lsr";
    o.transport = transport;
    if (status == 0)
        status = ls_trainer_open(&t, pool, graph, &o);
    if (status == 0)
        status = ls_batch_open(&batch, t);
    if (status == 0)
        status = ls_trainer_record(t, batch, &of, &result);
    ls_batch_close(batch);
    ls_trainer_close(t);
    ls_graph_free(graph);
    ls_pool_close(pool);
    return status == LS_ENOTSUP && strstr(ls_errmsg(), "several processes")
               ? 0 : LS_EINVAL;
}

START_TEST(test_ranks)
{
    ls_ranks *all;

    OK(ls_ranks_open(&all, 2, NULL));
    all_succeed(all, 2, record_on_rank, NULL);
    ls_ranks_close(all);
}
END_TEST

/* Proves that a number of more operands than evidence has room for is named. */
START_TEST(test_too_large)
{
    enum { SIDE = 260 };
    ls_trainer_options o = ls_trainer_defaults();
    ls_record_options of = ls_record_defaults();
    float *x = normals(3, SIDE * SIDE);
    ls_pool *pool = open_pool(1, 1);
    ls_window w = {.height = 1, .width = 1};
    ls__record_reader reader;
    ls__entry e = {0};
    char path[256], place[LS_RECORD_TEXT];
    ls_result result;
    ls_graph *g;
    run at;

    folder_open();
    OK(ls_graph_new(&g));
    OK(ls_loss(g, ls_mean_loss(
                      ls_conv2d(ls_input(g, "x", LS_F32, 3,
                                         (int64_t[]){SIDE, SIDE, 1}),
                                1, w, "c"), NULL)));
    at = open_run(pool, g, &o);
    OK(ls_batch_set(at.batch, "x", LS_F32, x, 1));
    of.path = strcpy(path, in_folder("step.lsr"));
    of.values = true;
    OK(ls_trainer_record(at.trainer, at.batch, &of, &result));
    OK(ls__record_open(&reader, path));
    do {
        ls__entry_release(&e);
        OK(ls__record_next(&reader, &e));
    } while (e.kind != LS__ARRAY_ENTRY || strcmp(e.place.what, "dparam") ||
             e.place.index);
    ls__where_text(&e.place, place);
    FAILS(ls_record_evidence(path, place, 0, 0, 1, in_folder("evidence")),
          LS_ENOTSUP, "which is more than 1048576");
    ls__entry_release(&e);
    ls__record_shut(&reader);
    close_run(&at);
    ls_pool_close(pool);
    free(x);
    folder_close();
}
END_TEST

/* ------ what is named before ------ */

static int fill_ones(void *user, const char *name, int rank,
                     const int64_t *shape, ls_key key, float *out)
{
    int64_t n = 1;

    (void)user, (void)name, (void)key;
    for (int k = 0; k < rank; k++)
        n *= shape[k];
    for (int64_t i = 0; i < n; i++)
        out[i] = 1;
    return 0;
}

static int copy_x(void *user, const ls_own_run *r)
{
    (void)user;
    memcpy(r->y, r->x[0], (size_t)(r->rows * r->y_size) * sizeof(float));
    return 0;
}

static int copy_dy(void *user, const ls_own_run *r)
{
    (void)user;
    if (r->dx[0])
        memcpy(r->dx[0], r->dy, (size_t)(r->rows * r->y_size) * sizeof(float));
    return 0;
}

enum { WIDE = 1025 };

/* A model with an operator of its own, first values that a function gives, and
 * an orthogonal matrix that the referee does not make. */
static ls_graph *own_graph(void)
{
    static const ls_own_op copies = {.name = "copies", .inputs = 1,
                                     .forward = copy_x, .backward = copy_dy};
    ls_init ones = {.kind = LS_INIT_OWN, .fn = fill_ones};
    ls_init turned = ls_init_orthogonal(1);
    ls_graph *g;
    ls_node *x, *y;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){3});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){2});
    x = ls_dense(ls_dense(x, WIDE, "in"), WIDE, "wide");
    x = ls_dense(ls_own(&copies, &x), 2, "out");
    OK(ls_loss(g, ls_mean_squared_error(x, y)));
    OK(ls_init_params(g, "in.kernel", &ones));
    OK(ls_init_params(g, "*wide.kernel", &turned));
    return g;
}

/* Each in its turn, and no more. */
static void names(const ls_trainer *t, int n, const char *const *of)
{
    char text[LS_RECORD_TEXT];

    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(ls_record_unjudged(t, i, text), 1);
        ck_assert_msg(strstr(text, of[i]) != NULL, "%s: %s", of[i], text);
    }
    ck_assert_int_eq(ls_record_unjudged(t, n, text), 0);
    ck_assert_str_eq(text, "");
}

/* Proves that what a dispute about a training would not judge is named before
 * there is one: operators of the program's own, first values that no seed gives
 * and matrices that are too large; and that of other trainings nothing is. */
START_TEST(test_unjudged)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(2, 1);
    char text[LS_RECORD_TEXT];
    run at = open_run(pool, linear_graph(3, 2), &o);
    const float zero[2] = {0};

    names(at.trainer, 0, NULL);
    FAILS(ls_record_unjudged(at.trainer, -1, text), LS_EINVAL, "number -1");
    FAILS(ls_record_unjudged(NULL, 0, text), LS_EINVAL, "trainer");
    close_run(&at);
    at = open_run(pool, own_graph(), &o);
    names(at.trainer, 3, (const char *[]){
        "operator \"own operator\"",
        "first values of \"in.kernel\", which a function",
        "first values of \"wide.kernel\", an orthogonal matrix of 1050625"});
    OK(ls_trainer_set(at.trainer, "out.bias", 2, zero));
    names(at.trainer, 2, (const char *[]){
        "operator \"own operator\"", "first values, which the program set"});
    OK(ls_trainer_set_step(at.trainer, 1));
    names(at.trainer, 1, (const char *[]){"operator \"own operator\""});
    close_run(&at);
    ls_pool_close(pool);
}
END_TEST

/* Is there a rule of that name? */
static bool has_term(const char *name)
{
    for (int i = 0; i < TERMS; i++)
        if (strcmp(terms[i].name, name) == 0)
            return true;
    return false;
}

/* Proves that every operator, update and schedule of the library is judged, and
 * an elementwise one by the referee's own table, and that an operator of a
 * program's own is named: none is passed over. */
START_TEST(test_judges)
{
    for (int i = 0; ls__ops[i]; i++) {
        const char *name = ls__ops[i]->name;

        ck_assert_msg(ls_record_judges("operator", name), "%s", name);
        if (ls__term_of(ls__ops[i]))
            ck_assert_msg(has_term(name), "%s", name);
    }
    for (int i = 0; i < TERMS; i++)
        ck_assert(ls_record_judges("operator", terms[i].name));
    for (int i = 0; ls_optimizer_name((ls_optimizer_kind)i); i++)
        ck_assert(ls_record_judges("update",
                                   ls_optimizer_name((ls_optimizer_kind)i)));
    for (int i = 0; ls_schedule_name((ls_schedule_kind)i); i++)
        ck_assert(ls_record_judges("schedule",
                                   ls_schedule_name((ls_schedule_kind)i)));
    ck_assert(!ls_record_judges("operator", "own operator"));
    ck_assert(!ls_record_judges("update", "dense"));
    ck_assert(!ls_record_judges("schedule", "warp"));
    ck_assert(!ls_record_judges("phase", "sgd"));
}
END_TEST

static Suite *record_suite(void)
{
    Suite *s = suite_create("record");
    TCase *t = tcase_create("steps");
    int each = UNDER_SANITIZER ? 1 : 2; /* faults of each kind */

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, test_same_bytes, 0, long_run() ? 1000 : 6 * each);
    tcase_add_loop_test(t, test_norms, 0, long_run() ? 200 : 2 * each);
    tcase_add_test(t, test_ranks);
    tcase_add_test(t, test_judges);
    tcase_add_loop_test(t, test_fault, 0,
                        (long_run() ? 25 : each) * KINDS);
    suite_add_tcase(s, t);
    t = tcase_create("judged");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, test_all, 0, (long_run() ? 40 : each) * MODELS);
    tcase_add_test(t, test_lengths);
    tcase_add_test(t, test_unjudged);
    tcase_add_test(t, test_too_large);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(record_suite());
}
