/* SPDX-License-Identifier: BSD-3-Clause */
/* Several workers on one shard: the members of a team, where workers are more
 * than devices, and helpers, who steal work of one that is behind.  Proves that
 * losses, evaluations, gradients by an input and states have the same bytes for
 * every number of workers and every way to cut a shard among them, for models
 * of every kind of operator; that members and helpers do run them; and that
 * with no more workers than devices a team has no member but its leader. */
#include "record_models.h"
#include "plan/team.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { TIMES = UNDER_SANITIZER ? 1 : 4, /* that helpers are tried */
       STEPS = 2, ROWS = 75, LARGE = MODELS, TIED, KINDS };

/* ------ Models and what they are given ------ */

/* Several chunks of some sequences each. */
static ls_graph *large_graph(bool tied)
{
    lm_sizes s = {.length = 24, .width = 32, .heads = 4, .ff = 160};
    ls_node *tokens, *x;
    ls_graph *g = empty_graph();

    tokens = ls_input(g, "tokens", LS_I32, 1, &s.length);
    x = ls_position(ls_embed(tokens, 150, s.width, "e"), "p");
    x = ls_dropout(lm_block(x, 0, &s), 0.1, "drop");
    x = ls_layer_norm(lm_block(x, 1, &s), "ln");
    if (tied)
        OK(ls_tie(g, "head.kernel", "e.embedding", true));
    x = dense_no_bias(x, 150, "head");
    ls_metric(g, ls_softmax(x));
    OK(ls_loss(g, ls_next_token_loss(x, tokens)));
    return g;
}

static ls_graph *kind_of(int kind, uint32_t seed)
{
    return kind >= LARGE ? large_graph(kind == TIED)
                         : graph_of((model)kind, seed);
}

/* Data for the inputs of a graph. */
typedef struct feed {
    int inputs;
    char name[MOST_INPUTS][32];
    ls_dtype dtype[MOST_INPUTS];
    int64_t count[MOST_INPUTS];
    void *data[MOST_INPUTS];
} feed;

static feed feed_of(const ls_graph *g)
{
    feed f = {.inputs = g->input_count};

    ck_assert_int_le(f.inputs, MOST_INPUTS);
    for (int i = 0; i < f.inputs; i++) {
        const ls_node *n = g->inputs[i];
        int64_t count = ROWS * n->size;

        snprintf(f.name[i], sizeof f.name[i], "%s", n->name);
        f.dtype[i] = n->dtype;
        f.count[i] = count;
        f.data[i] = n->dtype == LS_I32
                        ? (void *)integers(7, (int32_t)n->limit, count)
                        : (void *)normals(8, count);
    }
    return f;
}

static void free_feed(feed *f)
{
    for (int i = 0; i < f->inputs; i++)
        free(f->data[i]);
}

/* ------ What comes of it ------ */

typedef struct outcome {
    float loss[STEPS], evaluation;
    char hash[65];
    uint64_t by_input;   /* a digest of the gradient */
    int64_t calls;       /* of teams; not compared */
    int64_t input_calls; /* those for by_input; -1: there is no such input */
    int64_t aided;       /* operators that were shared out by themselves */
    int64_t unit;        /* rows are cut at multiples of so many */
} outcome;

typedef struct setting {
    int kind;
    uint32_t seed;
    int devices, workers, accumulate;
    ls_precision precision;
    ls__team_cut cut; /* zeros: what takes least */
    bool steals; /* however little there is to do */
} setting;

static int64_t team_calls(const ls_trainer *t)
{
    int64_t calls = 0;

    for (int d = 0; t->source.team && d < t->devices.count; d++)
        calls += ls__team_calls(t->source.team[d]);
    return calls;
}

static int64_t aided(const ls_trainer *t)
{
    int64_t calls = 0;

    for (int d = 0; t->source.team && d < t->devices.count; d++)
        calls += ls__team_shared(t->source.team[d]);
    return calls;
}

static void force(const ls_trainer *t, ls__team_cut cut, bool steals)
{
    for (int d = 0; t->source.team && d < t->devices.count; d++) {
        ck_assert(t->workers > t->devices.count ||
                  ls__team_members(t->source.team[d]) == 1);
        ls__team_set_always(t->source.team[d], steals);
        ls__team_set_cut(t->source.team[d], cut);
    }
}

/* The gradient by the first input of floats, if there is one. */
static void take_by_input(const run *r, const feed *f, outcome *o)
{
    int64_t before = team_calls(r->trainer);
    int i = 0;
    float *dx;

    o->input_calls = -1;
    while (i < f->inputs && f->dtype[i] != LS_F32)
        i++;
    if (i == f->inputs)
        return;
    dx = malloc((size_t)f->count[i] * sizeof *dx);
    ck_assert(dx != NULL);
    OK(ls_input_gradient(r->trainer, r->batch, true, f->name[i], f->count[i],
                         dx));
    o->by_input = ls__kernels()->digest(f->count[i], dx, 0);
    o->input_calls = team_calls(r->trainer) - before;
    free(dx);
}

static void train(run *r, const feed *f, outcome *o)
{
    ls_result seen;

    for (int i = 0; i < f->inputs; i++)
        OK(ls_batch_set(r->batch, f->name[i], f->dtype[i], f->data[i], ROWS));
    OK(ls_evaluate(r->trainer, r->batch, &seen));
    o->evaluation = seen.loss;
    take_by_input(r, f, o);
    for (int i = 0; i < STEPS; i++)
        o->loss[i] = step(r).loss;
    ls_trainer_hash(r->trainer, o->hash);
    o->calls = team_calls(r->trainer);
    o->aided = aided(r->trainer);
    o->unit = r->trainer->model.plan->unit;
}

static outcome outcome_of(const setting *s)
{
    ls_trainer_options options = ls_trainer_defaults();
    ls_graph *g = kind_of(s->kind, s->seed);
    feed f = feed_of(g);
    outcome o = {0};
    run r;

    options.accumulate = s->accumulate;
    options.precision = s->precision;
    r = open_run_on(s->devices, s->workers, g, &options);
    force(r.trainer, s->cut, s->steals);
    train(&r, &f, &o);
    close_run(&r);
    free_feed(&f);
    return o;
}

/* -> how many operators were shared out by themselves. */
static int64_t check(const outcome *want, const setting *s)
{
    outcome o = outcome_of(s);
    size_t bytes = offsetof(outcome, calls);

    ck_assert_msg(!memcmp(want, &o, bytes), "model %d, %d devices, %d workers, "
                  "%d groups of %d: loss %.9g, not %.9g; gradient by an input "
                  "%016" PRIx64 ", not %016" PRIx64, s->kind, s->devices,
                  s->workers, s->cut.groups, s->cut.parts, (double)o.loss[1],
                  (double)want->loss[1], o.by_input, want->by_input);
    ck_assert_msg(o.calls > 0 || s->cut.parts == 1 || s->steals,
                  "model %d: no team ran a shard", s->kind);
    ck_assert_msg(o.input_calls != 0 || s->cut.parts == 1 || s->steals,
                  "model %d: no team ran one for an input", s->kind);
    return o.aided;
}

/* ------ Tests ------ */

/* Proves for each model that however a shard is cut, the bytes are those of one
 * worker; and that it is cut, unless it is one chunk that is not. */
LOOP_TEST(cuts, 0, KINDS)
{
    static const ls__team_cut cut[] = {{2, 1}, {1, 2}, {3, 2}, {4, 1}, {1, 3}};

    for (int devices = 1; devices <= 2; devices++) {
        setting s = {_i, 1, devices, 1, 1, LS_F32_LAYERS, {0, 0}, false};
        outcome want = outcome_of(&s);

        ck_assert_int_eq(want.calls, 0);
        for (size_t c = 0; c < (devices == 1 ? COUNT(cut) : 2);
             c += 1 + UNDER_SANITIZER) {
            s.cut = cut[c];
            s.workers = devices * cut[c].groups * cut[c].parts;
            check(&want, &s);
        }
    }
}

/* Proves the same of layers in bf16, whose values are cut in bands, and of
 * gradients that are added up. */
TEST(kinds_of_steps)
{
    static const ls__team_cut cut[] = {{1, 2}, {2, 1}, {2, 3}};

    for (int way = 0; way < 2; way++) {
        setting s = {LARGE, 1, 1, 1, way ? 3 : 1,
                     way ? LS_F32_LAYERS : LS_BF16_LAYERS, {0, 0}, false};
        outcome want = outcome_of(&s);

        for (size_t c = 0; c < COUNT(cut); c++) {
            s.cut = cut[c];
            s.workers = cut[c].groups * cut[c].parts;
            check(&want, &s);
        }
    }
}

/* Proves for each model that workers that are done help those that are not, and
 * that no bit shows it.  A leader gives the other threads a turn before each
 * operator, but who is done first is the machine's affair; so it is tried
 * again until somebody was.  A team may always be last, and few rows may not be
 * cut at all. */
LOOP_TEST(stealing, 0, KINDS)
{
    static const struct { int devices, workers; } all[] = {{3, 2}, {5, 3},
                                                           {2, 3}};

    for (size_t i = 0; i < COUNT(all); i++) {
        setting s = {_i, 1, all[i].devices, 1, 1 + (int)i % 2,
                     i ? LS_F32_LAYERS : LS_BF16_LAYERS, {0, 0}, true};
        outcome want = outcome_of(&s);
        bool sure = s.devices > all[i].workers && want.unit == 1;
        int64_t helped = 0;

        ck_assert_int_eq(want.aided, 0);
        s.workers = all[i].workers;
        for (int again = 0; again < TIMES || (sure && !helped && again < 400);
             again++)
            helped += check(&want, &s);
        ck_assert_msg(helped > 0 || !sure, "model %d, %d devices, %d workers: "
                      "nobody was helped", _i, s.devices, s.workers);
    }
}

/* Proves that numbers of workers to 64 change no bit. */
LOOP_TEST(numbers_of_workers, 0, 2)
{
    static const int workers[] = {2, 3, 5, 8, 16, 33, 64};
    setting s = {_i ? TIED : LARGE, 1, 1 + _i, 1, 1, LS_F32_LAYERS, {0, 0},
                 false};
    outcome want = outcome_of(&s);

    for (size_t w = (size_t)_i; w < COUNT(workers); w += 1 + (size_t)_i) {
        s.workers = workers[w];
        check(&want, &s);
    }
}

/* ------ The model ------ */

/* Proves that by counts the tool's lm at batch 32 scales: chunks are shared out
 * first, then their rows, and each time workers double a shard takes little
 * more than half. */
TEST(model_of_lm)
{
    static const struct {
        int devices, members;
        ls__team_cut cut;
        double least; /* of the speed-up */
    } all[] = {{1, 2, {2, 1}, 1.99},  {1, 8, {8, 1}, 7.99},
               {1, 3, {3, 1}, 2.6},   {2, 2, {2, 1}, 1.99},
               {2, 4, {4, 1}, 3.99},  {2, 8, {4, 2}, 7},
               {2, 16, {4, 4}, 13},   {1, 16, {8, 2}, 14}};
    const lm_sizes s = {512, 64, 256, 8, 4, 1024};
    ls_trainer_options o = ls_trainer_defaults();
    run r = open_run_on(1, 1, lm_graph(&s), &o);
    ls_sums sums = {0};

    for (size_t i = 0; i < COUNT(all); i++) {
        ls_shard shard = {.rows = 32 / all[i].devices, .train = true};
        ls__work w = ls__work_begin(r.trainer->source.context[0],
                                    &r.trainer->model.weights, &shard,
                                    r.trainer->grad.param, &sums);
        ls__team_cut cut = ls__cut_of(&w, all[i].members);
        double times = ls__cut_time(&w, (ls__team_cut){1, 1}) /
                       ls__cut_time(&w, cut);

        if (getenv("LS_TEST_TALK"))
            printf("%d rows, %d members: %d groups of %d, %.2f times\n",
                   (int)shard.rows, all[i].members, cut.groups, cut.parts,
                   times);
        ck_assert_msg(cut.groups == all[i].cut.groups &&
                      cut.parts == all[i].cut.parts && times >= all[i].least,
                      "%d rows, %d members: %d groups of %d, %.2f times as "
                      "fast", (int)shard.rows, all[i].members, cut.groups,
                      cut.parts, times);
    }
    close_run(&r);
}

MAIN()
