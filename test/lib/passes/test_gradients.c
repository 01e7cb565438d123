/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that gradients in hand are those of a step: computed and applied they
 * leave its bytes, whatever the mean, clipping, optimizer and workers; what is
 * read is the tree's sum of what devices have; batches that are added up are
 * micro-batches; and what makes no sense is refused and changes nothing. */
#include "models.h"

enum { DEVICES = 3, ROWS = 24, STEPS = 4 };

typedef struct session {
    run run;
    ls_gradients *gradients;
    float *x;
    int32_t *label;
} session;

/* mlp_graph with a layer of dropout, which draws anew in each batch. */
static ls_graph *graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){9});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = ls_dropout(ls_gelu(ls_dense(x, 300, "hidden")), 0.25, "drop");
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, 5, "out"), label)));
    return g;
}

static session open_session(const ls_trainer_options *o, int workers,
                            int batches)
{
    session s;

    s.run = open_run_on(DEVICES, workers, graph(), o);
    OK(ls_gradients_open(&s.gradients, s.run.trainer, batches));
    s.x = normals(5, ROWS * 9);
    s.label = integers(6, 5, ROWS);
    return s;
}

static void close_session(session *s)
{
    ls_gradients_close(s->gradients);
    close_run(&s->run);
    free(s->x);
    free(s->label);
}

/* Rows first .. first+rows of the data. */
static void set(session *s, int64_t first, int64_t rows)
{
    OK(ls_batch_set(s->run.batch, "x", LS_F32, s->x + first * 9, rows));
    OK(ls_batch_set(s->run.batch, "label", LS_I32, s->label + first, rows));
}

static ls_result compute(session *s)
{
    ls_result r;

    OK(ls_gradients_compute(s->gradients, s->run.batch, &r));
    return r;
}

static ls_result apply(session *s)
{
    ls_result r;

    OK(ls_gradients_apply(s->gradients, &r));
    return r;
}

static void check_same_result(const ls_result *a, const ls_result *b)
{
    ck_assert_int_eq(a->step, b->step);
    ck_assert_int_eq(a->rows, b->rows);
    ck_assert(a->weight == b->weight);
    ck_assert_int_eq(a->updated, b->updated);
    ck_assert_mem_eq(&a->loss, &b->loss, sizeof a->loss);
    ck_assert_mem_eq(&a->accuracy, &b->accuracy, sizeof a->accuracy);
    ck_assert_mem_eq(&a->lr, &b->lr, sizeof a->lr);
    ck_assert_mem_eq(&a->grad_norm, &b->grad_norm, sizeof a->grad_norm);
}

static void check_same_state(const session *a, const session *b)
{
    char one[65], two[65];

    ls_trainer_hash(a->run.trainer, one);
    ls_trainer_hash(b->run.trainer, two);
    ck_assert_str_eq(one, two);
}

static const struct {
    ls_mean mean;
    double clip;
    int accumulate;
    ls_state state;
} kind[] = {
    {LS_MEAN_EXACT, 0, 0, LS_REPLICATE},
    {LS_MEAN_EXACT, 0.05, 2, LS_SHARD},
    {LS_MEAN_OF_SHARDS, 0.05, 0, LS_REPLICATE},
    {LS_SUM, 0, 4, LS_SHARD},
};
enum { KINDS = sizeof kind / sizeof *kind };

static ls_trainer_options options(int i)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adamw(0.01);
    o.mean = kind[i].mean;
    o.clip_norm = kind[i].clip;
    o.accumulate = kind[i].accumulate;
    o.state = kind[i].state;
    return o;
}

/* ------ The same bytes as a step ------ */

LOOP_TEST(test_two_calls, 0, KINDS)
{
    ls_trainer_options o = options(_i);

    for (int workers = 1; workers <= DEVICES; workers++) {
        session a = open_session(&o, 2, 1), b = open_session(&o, workers, 1);

        set(&a, 0, ROWS);
        set(&b, 0, ROWS);
        for (int i = 0; i < STEPS; i++) {
            ls_result want = step(&a.run), got = compute(&b);

            ck_assert(!got.updated);
            ck_assert_mem_eq(&got.loss, &want.loss, sizeof got.loss);
            got = apply(&b);
            check_same_result(&got, &want);
            check_same_state(&a, &b);
        }
        close_session(&a);
        close_session(&b);
    }
}

/* Gradients that another trainer computed. */
LOOP_TEST(test_from_elsewhere, 0, KINDS)
{
    static const char *const name[] = {"hidden.kernel", "hidden.bias",
                                       "out.kernel", "out.bias"};
    static const int64_t size[] = {9 * 300, 300, 300 * 5, 5};
    ls_trainer_options o = options(_i);
    session a = open_session(&o, 1, 1), b = open_session(&o, 2, 1);
    float g[9 * 300];

    set(&a, 0, ROWS);
    for (int i = 0; i < STEPS; i++) {
        compute(&a);
        for (int k = 0; k < 4; k++) {
            OK(ls_gradients_get(a.gradients, name[k], size[k], g));
            OK(ls_gradients_set(b.gradients, name[k], size[k], g));
        }
        apply(&a);
        apply(&b);
        check_same_state(&a, &b);
    }
    close_session(&a);
    close_session(&b);
}

/* K batches that are added up are the K micro-batches of a step. */
LOOP_TEST(test_added_up, 0, KINDS)
{
    ls_trainer_options o = options(_i), p = o;
    session a, b;

    o.accumulate = 4;
    p.accumulate = _i % 2 ? 2 : 0; /* two batches of two, or four of one */
    a = open_session(&o, 1, 1);
    b = open_session(&p, 2, _i % 2 ? 2 : 4);
    set(&a, 0, ROWS);
    for (int i = 0; i < STEPS; i++) {
        ls_result want = step(&a.run), got;
        int64_t rows = ROWS / (_i % 2 ? 2 : 4);

        for (int64_t at = 0; at < ROWS; at += rows) {
            set(&b, at, rows);
            OK(ls_gradients_add(b.gradients, b.run.batch));
        }
        OK(ls_gradients_mean(b.gradients, &got));
        got = apply(&b);
        check_same_result(&got, &want);
        check_same_state(&a, &b);
    }
    close_session(&a);
    close_session(&b);
}

/* ------ What is read ------ */

static float bias_of(session *s, int device)
{
    float g[5];

    OK(ls_gradients_get_device(s->gradients, device, "out.bias", 5, g));
    return g[2];
}

/* The mean is the tree's sum of three devices, times the factor. */
LOOP_TEST(test_reads, 0, KINDS)
{
    ls_trainer_options o = options(_i);
    session s = open_session(&o, 2, 1);
    float want, got[5], weights[ROWS];
    double total = 0;

    for (int i = 0; i < ROWS; i++)
        total += (double)(weights[i] = (float)(1 + i % 3));
    set(&s, 0, ROWS);
    OK(ls_batch_set_weights(s.run.batch, weights, ROWS));
    compute(&s);
    want = bias_of(&s, 0) + bias_of(&s, 1) + bias_of(&s, 2);
    want *= o.mean == LS_SUM               ? 1.0f
            : o.mean == LS_MEAN_OF_SHARDS ? 1.0f / DEVICES
                                           : 1.0f / (float)total;
    OK(ls_gradients_get(s.gradients, "out.bias", 5, got));
    ck_assert_mem_eq(&got[2], &want, sizeof want);
    apply(&s);
    OK(ls_gradients_get(s.gradients, "out.bias", 5, got));
    ck_assert_mem_eq(&got[2], &want, sizeof want);
    close_session(&s);
}

/* sgd subtracts what was set. */
TEST(test_changed)
{
    ls_trainer_options o = ls_trainer_defaults();
    float before[5], after[5], g[5];
    session s;

    o.optimizer = ls_sgd(0.5);
    s = open_session(&o, 2, 1);
    set(&s, 0, ROWS);
    compute(&s);
    OK(ls_gradients_get(s.gradients, "out.bias", 5, g));
    for (int i = 0; i < 5; i++)
        g[i] *= -4;
    OK(ls_gradients_set(s.gradients, "out.bias", 5, g));
    OK(ls_trainer_get(s.run.trainer, "out.bias", 5, before));
    apply(&s);
    OK(ls_trainer_get(s.run.trainer, "out.bias", 5, after));
    for (int i = 0; i < 5; i++)
        ck_assert(after[i] == before[i] + -0.5f * g[i]);
    close_session(&s);
}

/* ------ Between reduction and update ------ */

typedef struct between {
    int calls, status;
    float bias[5];
} between;

static int look(void *user, ls_gradients *g, const ls_result *result)
{
    between *b = user;

    b->calls++;
    if (result->updated ||
        ls_gradients_get(g, "out.bias", 5, b->bias) < 0 ||
        ls_gradients_set(g, "out.bias", 5, b->bias) < 0)
        return -9;
    return b->status;
}

LOOP_TEST(test_between, 0, KINDS)
{
    ls_trainer_options o = options(_i);
    session a = open_session(&o, 1, 1), b = open_session(&o, 2, 1);
    between seen = {0};

    set(&a, 0, ROWS);
    set(&b, 0, ROWS);
    OK(ls_gradients_between(b.gradients, look, &seen));
    for (int i = 0; i < STEPS; i++) {
        ls_result want = step(&a.run), got = step(&b.run);

        check_same_result(&got, &want);
        check_same_state(&a, &b);
    }
    ck_assert_int_eq(seen.calls, STEPS);
    OK(ls_gradients_between(b.gradients, NULL, NULL));
    step(&a.run);
    step(&b.run);
    check_same_state(&a, &b);
    ck_assert_int_eq(seen.calls, STEPS);
    close_session(&a);
    close_session(&b);
}

/* A step of its own, and everything else that runs, is refused in there. */
static int misbehave(void *user, ls_gradients *g, const ls_result *result)
{
    session *s = user;
    ls_result r;

    (void)result;
    FAILS(ls_step(s->run.trainer, s->run.batch, &r), LS_EBUSY, "between");
    FAILS(ls_gradients_compute(g, s->run.batch, &r), LS_EBUSY, "between");
    FAILS(ls_gradients_add(g, s->run.batch), LS_EBUSY, "between");
    FAILS(ls_gradients_mean(g, &r), LS_EBUSY, "between");
    FAILS(ls_gradients_apply(g, &r), LS_EBUSY, "between");
    return -3;
}

TEST(test_between_fails)
{
    ls_trainer_options o = options(0);
    session s = open_session(&o, 2, 1), fresh = open_session(&o, 2, 1);
    ls_gradients *other;
    ls_result r;

    set(&s, 0, ROWS);
    OK(ls_gradients_between(s.gradients, misbehave, &s));
    FAILS(ls_step(s.run.trainer, s.run.batch, &r), LS_EUSER, "status -3");
    check_same_state(&s, &fresh);
    OK(ls_gradients_open(&other, s.run.trainer, 1));
    FAILS(ls_gradients_between(other, misbehave, &s), LS_EINVAL, "already");
    ls_gradients_close(other);
    close_session(&s);
    close_session(&fresh);
}

/* ------ What is refused ------ */

TEST(test_refused)
{
    ls_trainer_options o = options(0);
    session s = open_session(&o, 2, 2), fresh = open_session(&o, 2, 1), two;
    ls_gradients *g = s.gradients;
    float x[5] = {0, (float)NAN};
    ls_result r;

    FAILS(ls_gradients_open(&g, s.run.trainer, 0), LS_EINVAL, "0 batches");
    o.accumulate = 2;
    two = open_session(&o, 2, 1);
    FAILS(ls_gradients_open(&g, two.run.trainer, 32769), LS_EINVAL,
          "1 to 32768, of 2 micro-batches");
    close_session(&two);
    set(&s, 0, ROWS);
    FAILS(ls_gradients_apply(g, &r), LS_EINVAL, "nothing was computed");
    FAILS(ls_gradients_mean(g, &r), LS_EINVAL, "no batch was added");
    FAILS(ls_gradients_get_device(g, 0, "out.bias", 5, x), LS_EINVAL, "none");
    FAILS(ls_gradients_get(g, "out.bios", 5, x), LS_ENOTFOUND, "out.bias");
    FAILS(ls_gradients_set(g, "out.bias", 6, x), LS_ESHAPE, "5 elements");
    OK(ls_gradients_add(g, s.run.batch));
    FAILS(ls_gradients_apply(g, &r), LS_EINVAL, "not reduced");
    FAILS(ls_gradients_get_device(g, 3, "out.bias", 5, x), LS_EINVAL,
          "device 3 of 3");
    OK(ls_gradients_add(g, s.run.batch));
    FAILS(ls_gradients_add(g, s.run.batch), LS_EINVAL, "room for 2");
    OK(ls_gradients_mean(g, &r));
    x[1] = (float)NAN;
    OK(ls_gradients_set(g, "out.bias", 5, x));
    FAILS(ls_gradients_apply(g, &r), LS_ENONFINITE, "\"out.bias\"");
    check_same_state(&s, &fresh);
    ls_gradients_clear(g);
    FAILS(ls_gradients_apply(g, &r), LS_EINVAL, "nothing was computed");
    close_session(&s);
    close_session(&fresh);
}

/* The trainer's own step takes the memory of what was added up. */
TEST(test_taken)
{
    ls_trainer_options o = options(0);
    session s = open_session(&o, 2, 4);
    float x[5];
    ls_result r;

    set(&s, 0, ROWS);
    OK(ls_gradients_add(s.gradients, s.run.batch));
    step(&s.run);
    FAILS(ls_gradients_add(s.gradients, s.run.batch), LS_EINVAL,
          "added up (1)");
    FAILS(ls_gradients_mean(s.gradients, &r), LS_EINVAL, "taken");
    FAILS(ls_gradients_get_device(s.gradients, 0, "out.bias", 5, x), LS_EINVAL,
          "since the trainer's last step");
    compute(&s);
    apply(&s);
    close_session(&s);
}

/* A batch without weight updates nothing, as a step does. */
TEST(test_weightless)
{
    ls_trainer_options o = options(0);
    session s = open_session(&o, 2, 1), fresh = open_session(&o, 2, 1);
    float weights[ROWS] = {0};
    ls_result r;

    set(&s, 0, ROWS);
    OK(ls_batch_set_weights(s.run.batch, weights, ROWS));
    r = compute(&s);
    ck_assert(r.weight == 0 && r.loss != r.loss);
    r = apply(&s);
    ck_assert(!r.updated);
    check_same_state(&s, &fresh);
    close_session(&s);
    close_session(&fresh);
}

/* What is not finite in a batch is named as in a step, and lost. */
TEST(test_bad_row)
{
    ls_trainer_options o = options(1);
    session s = open_session(&o, 2, 1);
    ls_result r;

    set(&s, 0, ROWS);
    s.x[7 * 9 + 1] = (float)INFINITY;
    FAILS(ls_gradients_compute(s.gradients, s.run.batch, &r), LS_ENONFINITE,
          "row 7");
    FAILS(ls_gradients_apply(s.gradients, &r), LS_EINVAL, "nothing");
    close_session(&s);
}

MAIN()
