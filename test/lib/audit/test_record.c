/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves records of a step: a recorded step has the bytes of any other, of
 * random models, sizes, optimizers and devices; and one bit that is flipped
 * anywhere (an initial value, a row of the batch, a value, something kept, a
 * gradient, a device's sum, the mean, the rate, a moment) is found again, step,
 * place, element and both values, from roots and two records alone.  Files that
 * are no records are refused. */
#define _GNU_SOURCE
#include "audit/record_read.h"
#include "audit/record_start.h"
#include "courses.h"
#include "on_ranks.h"
#include "op/op_table.h"
#include "referee/verdict.h"

#include <lockstep/transcript.h>
#include <stdio.h>

/* Each step recorded instead of taken: the same roots. */
LOOP_TEST(test_same_bytes, 0, long_run() ? 1000 : 6 * EACH)
{
    course plain = random_course(1000 + (uint32_t)_i), seen = plain;

    take(&plain);
    seen.recorded = _i % STEPS;
    take(&seen);
    ck_assert_int_eq(first_step(&plain, &seen), -1);
}

/* The place of the fault is the difference's, and so are the values. */
static void check_place(const fault *f, const ls_record_difference *d)
{
    ls__where w = f->where;
    char place[LS_RECORD_TEXT];

    w.op = f->op;
    w.name = f->name;
    w.what = f->what;
    ls__where_text(&w, place);
    ck_assert(!d->same);
    ck_assert_str_eq(w.phase, phases[f->kind]);
    ck_assert_str_eq(d->place, place);
    ck_assert_int_eq(d->element, f->element);
    ck_assert_int_eq(d->a, f->was);
    ck_assert_int_eq(d->b, f->is);
}

/* Both sides once more, that step written; the first difference is the
 * fault. */
static void found(const fault *f, course clean, course spoilt, int step)
{
    ls_record_difference d;

    ck_assert_int_eq(step, f->step);
    clean.recorded = spoilt.recorded = step;
    clean.path = in_folder("a.lsr");
    spoilt.path = in_folder("b.lsr");
    take(&clean);
    take(&spoilt);
    OK(ls_record_compare(clean.path, spoilt.path, &d));
    check_place(f, &d);
}

LOOP_TEST(test_fault, 0, (long_run() ? 25 : EACH) * KINDS)
{
    draw_fault((uint32_t)_i, found);
}

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

TEST(test_ranks)
{
    ranks_here *all;

    OK(ranks_open(&all, 2, NULL));
    all_succeed(all, 2, record_on_rank, NULL);
    ranks_close(all);
}

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
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){3});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){2});

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

static const char *const not_judged[] = {
    "own operator", "first values that no seed gives",
    "an orthogonal matrix of more than"};

/* Count what the referee refuses of some numbers of an array. */
static void ask_array(const ls__record_entry *e, int64_t i, int refused[3])
{
    uint32_t is;

    for (int64_t at = 0; at < e->words; at += at < LS__LEAF ? 997
                                                            : e->words / 5) {
        bool named = judge_element(in_folder("own.lsr"), i, at, &is) == SAME;

        for (int k = 0; k < 3 && !named; k++)
            if (strstr(judge_why(), not_judged[k])) {
                refused[k]++;
                named = true;
            }
        ck_assert_msg(named, "%s", judge_why());
    }
}

/* What is named is what the referee refuses of the step. */
static void refuses(const run *at)
{
    ls_record_options to = ls_record_defaults();
    float *x = normals(1, 3 * 4), *y = normals(2, 2 * 4);
    ls__record record;
    ls_result result;
    int refused[3] = {0};

    folder_open();
    OK(ls_batch_set(at->batch, "x", LS_F32, x, 4));
    OK(ls_batch_set(at->batch, "y", LS_F32, y, 4));
    to.path = in_folder("own.lsr");
    to.batches = 0;
    to.values = true;
    OK(ls_trainer_record(at->trainer, at->batch, &to, &result));
    OK(ls__record_open(&record, to.path));
    for (int64_t i = 0; i < record.entries; i++) {
        const char *phase = ls__record_where(&record, &record.entry[i]).phase;

        if (strcmp(phase, "start") && strcmp(phase, "batch"))
            ask_array(&record.entry[i], i, refused);
    }
    for (int k = 0; k < 3; k++)
        ck_assert_msg(refused[k] > 0, "%s", not_judged[k]);
    ls__record_shut(&record);
    folder_close();
    free(x);
    free(y);
}

/* Proves that what the referee would not judge of a training is named before
 * it is asked: operators of the program's own, first values that no seed gives
 * and matrices that are too large; and that of other trainings nothing is. */
TEST(test_unjudged)
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
    refuses(&at);
    OK(ls_trainer_set_step(at.trainer, 0));
    OK(ls_trainer_set(at.trainer, "out.bias", 2, zero));
    names(at.trainer, 2, (const char *[]){
        "operator \"own operator\"", "first values, which the program set"});
    OK(ls_trainer_set_step(at.trainer, 1));
    names(at.trainer, 1, (const char *[]){"operator \"own operator\""});
    close_run(&at);
    ls_pool_close(pool);
}

static bool has(const char *(*name_of)(int i), const char *name)
{
    int i = 0;

    while (name_of(i) && strcmp(name_of(i), name))
        i++;
    return name_of(i) != NULL;
}

static void check_rule(const char *(*name_of)(int i), const char *name)
{
    ck_assert_msg(has(name_of, name) == ls__has_rule(name), "%s", name);
}

/* What is said to have a rule is what the referee judges, of all operators,
 * optimizers and schedules of the library. */
TEST(test_judges)
{
    const char *name;

    for (int i = 0; ls__ops[i]; i++)
        check_rule(operator_name, ls__ops[i]->name);
    for (int i = 0; (name = ls_optimizer_name((ls_optimizer_kind)i)); i++)
        check_rule(update_name, name);
    for (int i = 0; (name = ls_schedule_name((ls_schedule_kind)i)); i++)
        check_rule(rate_name, name);
}

MAIN()
