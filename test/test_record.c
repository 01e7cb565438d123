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
#include "record/record_compare.h"
#include "record/record_step.h"
#include "spoilt_evidence.h"

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

enum { STEPS = 3, ROWS = 24 };

typedef enum model { MLP, CNN, LM, RNN, MODELS } model;

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
    ls_precision precision;
    double clip;
    fault *fault;          /* NULL: none */
    int recorded;          /* the step that is; -1: none */
    const char *path;      /* of its record; NULL: no file */
    char root[STEPS + 1][65]; /* out */
} course;

/* ------ models ------ */

enum { VOCAB = 32 };

static ls_node *cnn_of(ls_graph *g, uint32_t *r)
{
    int64_t side = between(r, 6, 9), c = 4 * between(r, 1, 3);
    ls_window w = {.height = 3, .width = 3, .padding = LS_SAME};
    ls_window two = {.height = 2, .width = 2, .stride_y = 2, .stride_x = 2};
    ls_norm_options o = ls_norm_defaults();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){side, side, 3});

    x = ls_max_pool(ls_relu(ls_conv2d(x, c, w, "c1")), two);
    o.epsilon = 0.25;
    x = ls_group_norm_with(ls_conv2d(x, c, w, "c2"), 2, &o, "n");
    return ls_dense(ls_flatten(ls_gelu(x)), 5, "out");
}

static ls_node *rnn_of(ls_graph *g, uint32_t *r)
{
    int64_t t = between(r, 3, 7), n = between(r, 5, 20);
    ls_node *x = ls_input(g, "x", LS_F32, 2, (int64_t[]){t, 4});
    ls_recurrent_options o = ls_recurrent_defaults();

    o.bidirectional = between(r, 0, 1);
    x = between(r, 0, 1) ? ls_lstm_with(x, n, &o, "cell")
                         : ls_gru_with(x, n, &o, "cell");
    return ls_dense(ls_flatten(x), 5, "out");
}

static ls_node *mlp_of(ls_graph *g, uint32_t *r)
{
    int64_t in = between(r, 3, 30), n = between(r, 5, 90);
    ls_node *x = ls_input(g, "x", LS_F32, 1, &in), *h;
    ls_norm_options o = ls_norm_defaults();

    o.epsilon = between(r, 0, 1) ? 0.25 : 1e-6;
    h = ls_layer_norm_with(ls_dense(x, n, "h1"), &o, "n");
    if (between(r, 0, 1))
        h = ls_dropout(h, 0.25, "drop");
    h = ls_add(h, ls_tanh(ls_dense(ls_gelu(h), n, "h2")));
    return ls_dense(h, 5, "out");
}

static ls_graph *graph_of(model m, uint32_t *r)
{
    ls_node *(*const of[])(ls_graph *, uint32_t *) = {
        [MLP] = mlp_of, [CNN] = cnn_of, [RNN] = rnn_of};
    ls_graph *g;

    if (m == LM) {
        lm_sizes s = {VOCAB, between(r, 4, 9), 8 * between(r, 1, 3), 2,
                      between(r, 1, 2), between(r, 9, 40)};
        return lm_graph(&s);
    }
    OK(ls_graph_new(&g));
    ls_node *y = of[m](g, r);
    OK(ls_loss(g, ls_cross_entropy(y, ls_input(g, "label", LS_I32, 0, NULL))));
    return g;
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
    c.optimizer = between(&r, 0, 1) ? ls_adam(0.01) : ls_momentum(0.1, 0.9);
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
    if (strcmp(w->what, "tokens") == 0 || strcmp(w->what, "label") == 0)
        return bits ^ 1;
    return bits & 0x7f800000 ? bits ^ 1u << by % 23 : bits ^ 1u << 29;
}

static bool is_hit(const fault *f, const ls__where *w)
{
    static const char *const whole[] = {"y", "kept", "dx", "dparam", NULL};
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

typedef struct data {
    float *x;
    int32_t *label;
    int64_t size; /* floats, or tokens, of a row */
} data;

static void set_batch(const run *r, const course *c, const data *d, int step)
{
    if (c->model == LM) {
        OK(ls_batch_set(r->batch, "tokens", LS_I32,
                        d->label + step * ROWS * d->size, ROWS));
        return;
    }
    OK(ls_batch_set(r->batch, "x", LS_F32, d->x + step * ROWS * d->size,
                    ROWS));
    OK(ls_batch_set(r->batch, "label", LS_I32, d->label + step * ROWS, ROWS));
}

static data data_of(const ls_graph *g, const course *c)
{
    int64_t size = g->inputs[0]->size;
    data d = {.size = size};

    d.label = integers(c->seed, c->model == LM ? VOCAB : 4,
                       STEPS * ROWS * (c->model == LM ? size : 1));
    d.x = c->model == LM ? NULL : normals(c->seed, STEPS * ROWS * size);
    return d;
}

static void take_step(const run *r, course *c, int i)
{
    ls_record_options o = ls_record_defaults();
    fault *f = c->fault && c->fault->step == i ? c->fault : NULL;
    ls_result result;

    o.path = c->path;
    o.values = true;
    if (f)
        f->seen = 0;
    if (i == c->recorded || f)
        OK(ls__record_step(r->trainer, r->batch, &o, f ? touch : NULL, f,
                           &result));
    else
        OK(ls_step(r->trainer, r->batch, &result));
}

/* Train, and end after the step that is written. */
static void take(course *c)
{
    uint32_t r = c->seed;
    ls_trainer_options o = ls_trainer_defaults();
    ls_pool *pool = open_pool(c->devices, 1 + (int)(c->seed % 2));
    ls_graph *g = graph_of(c->model, &r);
    data d;
    run at;

    o.optimizer = c->optimizer;
    o.precision = c->precision;
    o.clip_norm = c->clip;
    o.accumulate = c->micro;
    o.seed = c->seed;
    d = data_of(g, c);
    at = open_run(pool, g, &o);
    for (int i = 0; i <= STEPS; i++) {
        OK(ls_trainer_root(at.trainer, i, 0, NULL, c->root[i]));
        if (i == STEPS || (c->path && i > c->recorded))
            break;
        set_batch(&at, c, &d, i);
        take_step(&at, c, i);
    }
    close_run(&at);
    ls_pool_close(pool);
    free(d.x);
    free(d.label);
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

/* Where the referee has a rule, the clean side is right; where it has none, or
 * nothing was computed, that is said. */
static void judge(const ls_record_difference *d, uint32_t *r)
{
    const char *path = in_folder("evidence");
    int status = ls_record_evidence(in_folder("a.lsr"), d->place, d->element,
                                    d->a, d->b, path);
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
    judge(&d, r);
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

static Suite *record_suite(void)
{
    Suite *s = suite_create("record");
    TCase *t = tcase_create("steps");

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, test_same_bytes, 0, long_run() ? 1000 : 12);
    tcase_add_test(t, test_ranks);
    tcase_add_loop_test(t, test_fault, 0, long_run() ? 25 * KINDS : 2 * KINDS);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(record_suite());
}
