/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the referee judges what a step makes: one bit that is flipped in
 * a random run (an initial value, a row, a value, something kept, a gradient, a
 * device's sum, the mean, the rate, a moment) is found from two records, and
 * who has it loses; and of all models every array is made again, or is named.
 */
#define _GNU_SOURCE
#include "audit/record_read.h"
#include "courses.h"
#include "referee/verdict.h"

#include <lockstep/record.h>

/* All that is not judged, by the words that name it. */
static bool is_named(const char *why)
{
    static const char *const named[] = {
        "rows of data that have no root",
        "what was there before the step", "a peak rate that no state has",
        "what is behind a bag's list"};

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strstr(why, named[i]))
            return true;
    return false;
}

/* ------ one bit ------ */

/* Record the step of both sides, and judge it in both orders. */
static void judge(const fault *f, course clean, course spoilt, int step)
{
    const char *path[2] = {clean.path = in_folder("a.lsr"), NULL}, *turned[2];
    int status;

    path[1] = spoilt.path = in_folder("b.lsr");
    (void)f;
    clean.recorded = spoilt.recorded = step;
    take(&clean);
    take(&spoilt);
    status = judge_files(path, NULL);
    if (status == REFUSED && is_named(judge_why())) {
        if (long_run())
            printf("named: %s\n", judge_why());
        return;
    }
    ck_assert_msg(status == A_IS_RIGHT, "%d: %s", status, judge_why());
    turned[0] = path[1];
    turned[1] = path[0];
    ck_assert_int_eq(judge_files(turned, NULL), B_IS_RIGHT);
    if (long_run())
        puts("judged in both orders");
}

LOOP_TEST(test_fault, 0, (long_run() ? 25 : EACH) * KINDS)
{
    draw_fault((uint32_t)_i, judge);
}

/* ------ all that a step makes ------ */

/* Make an element of an array again; false: it is named. */
static bool judge_place(const ls__record *record, int64_t i, uint32_t *r)
{
    const ls__record_entry *e = &record->entry[i];
    int64_t at = between(r, 0, e->words - 1);
    uint32_t word[LS__LEAF], is = 0;
    int status;

    ck_assert_int_gt(
        ls__record_words_of(record, e, at / LS__LEAF, word), 0);
    status = judge_element(in_folder("step.lsr"), i, at, &is);
    if (status == REFUSED && is_named(judge_why()))
        return false;
    ck_assert_msg(status == SAME, "%s", judge_why());
    ck_assert_msg(is == word[at % LS__LEAF], "array %lld (%s: %s), element "
                  "%lld: %08x, and it is %08x", (long long)i,
                  ls__record_where(record, e).phase,
                  ls__record_where(record, e).what, (long long)at,
                  word[at % LS__LEAF], is);
    return true;
}

/* Record a step and judge all that `wanted` says; returns how many numbers. */
static int judge_step(course *c, uint32_t *r, bool (*wanted)(const ls__where *))
{
    ls__record record;
    int judged = 0;

    folder_open();
    c->path = in_folder("step.lsr");
    take(c);
    OK(ls__record_open(&record, in_folder("step.lsr")));
    for (int64_t i = 0; i < record.entries; i++) {
        ls__where w = ls__record_where(&record, &record.entry[i]);

        if (record.entry[i].words && wanted(&w))
            judged += judge_place(&record, i, r);
    }
    ls__record_shut(&record);
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

LOOP_TEST(test_all, 0, (long_run() ? 40 : EACH) * MODELS)
{
    course c = random_course(6000 + 31 * (uint32_t)_i);
    uint32_t r = 9 + (uint32_t)_i;

    c.model = (model)(_i % MODELS);
    c.precision = (ls_precision)((_i + _i / MODELS) % 3);
    c.mean = c.model == NORMS ? LS_MEAN_EXACT : (ls_mean)(_i % 3);
    c.recorded = _i % 2;
    seen = 0;
    ck_assert_int_ge(judge_step(&c, &r, is_chosen),
                     long_run() || !UNDER_SANITIZER ? 10 : 0);
}

static bool is_kept_by_lengths(const ls__where *w)
{
    return w->op && strstr(w->op, "_lengths") && strcmp(w->what, "kept") == 0;
}

static bool is_batch_norms(const ls__where *w)
{
    return (w->op && strcmp(w->op, "batch_norm") == 0) ||
           strcmp(w->phase, "after") == 0 ||
           (strcmp(w->phase, "before") == 0 &&
            strcmp(w->what, "parameters") == 0);
}

/* What recurrent layers keep beyond a row's length, too; every array that a
 * batch norm by rows makes, first values of orthogonal kernels and what is
 * stored afterwards. */
static const struct {
    model model;
    bool (*wanted)(const ls__where *w);
    int least;
} of_models[] = {{LENGTHS, is_kept_by_lengths, 1}, {NORMS, is_batch_norms, 11}};

LOOP_TEST(test_model, 0, long_run() ? 400 : 60 * EACH)
{
    course c = random_course(4000 + (uint32_t)_i);
    uint32_t r = 5 + (uint32_t)_i;

    c.model = of_models[_i % 2].model;
    c.mean = LS_MEAN_EXACT;
    c.recorded = _i / 2 % 2;
    ck_assert_int_ge(judge_step(&c, &r, of_models[_i % 2].wanted),
                     of_models[_i % 2].least);
}

/* A number of many operands: the gradient of a weight that sees 67,600 pixels.
 */
TEST(test_large)
{
    enum { SIDE = 260 };
    ls_trainer_options o = ls_trainer_defaults();
    ls_record_options to = ls_record_defaults();
    float *x = normals(3, SIDE * SIDE);
    ls_window w = {.height = 1, .width = 1};
    ls__record record;
    uint32_t r = 1;
    ls_result result;
    int judged = 0;
    ls_graph *g = empty_graph();
    run at;

    folder_open();
    OK(ls_loss(g, ls_mean_loss(
                      ls_conv2d(ls_input(g, "x", LS_F32, 3,
                                         (int64_t[]){SIDE, SIDE, 1}),
                                1, w, "c"), NULL)));
    at = open_run_on(1, 1, g, &o);
    OK(ls_batch_set(at.batch, "x", LS_F32, x, 1));
    to.path = in_folder("step.lsr");
    to.values = true;
    OK(ls_trainer_record(at.trainer, at.batch, &to, &result));
    OK(ls__record_open(&record, in_folder("step.lsr")));
    for (int64_t i = 0; i < record.entries; i++)
        if (strcmp(ls__record_where(&record, &record.entry[i]).what,
                   "dparam") == 0)
            judged += judge_place(&record, i, &r);
    ck_assert_int_eq(judged, 2);
    ls__record_shut(&record);
    close_run(&at);
    free(x);
    folder_close();
}

MAIN()
