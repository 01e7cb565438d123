/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the referee makes the library's numbers of every operator:
 * random elements of values, of gradients of inputs and of parameters, on the
 * shapes of op_samples.h, at every instruction level.  Some hundred elements of
 * each; with LS_LONG a million. */
#include "asked_node.h"
#include "audit/record_start.h"
#include "base/fpmode.h"
#include "calls.h"
#include "graph/edit.h"
#include "op/recurrent_layer.h"
#include "op_runs.h"

#include <stdlib.h>
#include <time.h>

enum { VALUE = -1 };

/* Number `at` of the value, of dx[which], or of dparam[which -
 * LS__MAX_INPUTS]. */
typedef struct question {
    const problem *p;
    int which;
    int64_t at;
} question;

/* ------ the record ------ */

/* What it keeps or shows of itself, which the referee makes. */
static void tell_shown(int node, const problem *p)
{
    const ls_node *n = p->node;
    int64_t vectors = p->rows * ls__vectors(n);

    if (n->op == &ls__op_layer_norm)
        asked_array("forward", "kept", node, 0, 2 * vectors, NULL);
    if (n->op == &ls__op_rms_norm)
        asked_array("forward", "kept", node, 0, vectors, NULL);
    if (n->op == &ls__op_group_norm)
        asked_array("forward", "kept", node, 0,
                    2 * p->rows * integer_of(n, "groups"), NULL);
    if (n->op == &ls__op_attention) {
        int64_t all = p->rows * integer_of(n, "heads") * n->shape[0] *
                      n->shape[0];

        asked_array("forward", "S", node, 0, all, NULL);
        asked_array("forward", "kept", node, 0, all, NULL);
        asked_array("backward", "dP", node, 0, all, NULL);
        asked_array("backward", "dS", node, 0, all, NULL);
    }
    if (n->op->is_loss && n->in[1] && n->op != &ls__op_weighted_loss)
        asked_array("forward", "terms", node, 0,
                    n->op == &ls__op_squared_error
                        ? p->rows
                        : p->rows * (n->in[1]->size -
                                     (n->op == &ls__op_next_token)),
                    NULL);
}

static void tell_steps(int node, const problem *p)
{
    const ls_node *n = p->node;
    int64_t share = p->rows * n->in[0]->shape[1], t = n->in[0]->shape[0];
    bool lstm = ls__recurrent_kind(n->op) & LS__IS_LSTM;
    int64_t states = share / (lstm ? 4 : 3);

    asked_array("forward", "steps", node, 0,
                t * (2 * share + (lstm ? 2 : 1) * states), NULL);
    asked_array("backward", "steps back", node, 0, t * (share + 3 * states),
                NULL);
}

static void tell_key(int node)
{
    static float words[3];
    static char what[40];
    uint32_t word[3];

    memcpy(word, ls_key_fold_in(REF_ROOT, REF_CALL).word, 8);
    word[2] = REF_FIRST;
    memcpy(words, word, sizeof words);
    snprintf(what, sizeof what, "key of node %d", node);
    asked_array("rows", what, -1, 0, 3, words);
}

/* The name of an activation that is fused into a product. */
static const char *curve_name(const problem *p)
{
    static const char *const names[] = {
        [LS__GELU] = "gelu", [LS__RELU] = "relu", [LS__TANH] = "tanh",
        [LS__SIGMOID] = "sigmoid"};

    return names[curve_of(p)];
}

/* What a plan fused into a product is a node of its own to the referee; returns
 * the last. */
static int tell_fused(int node, const problem *p, const int *inputs)
{
    int of[2] = {node, inputs[1]};

    if (curve_of(p)) {
        asked_array("forward", "y", node, 0, p->ny, NULL);
        of[0] = asked_node(curve_name(p), shape_text(p->node), 1, of,
                           is_pre(p));
        asked_array("backward", "dx", of[0], 0, p->ny, NULL);
    }
    if (p->made && p->inputs > 1) {
        asked_array("forward", "y", of[0], 0, p->ny, NULL);
        of[0] = asked_node("add", shape_text(p->node), 2, of, 3);
    }
    return of[0];
}

/* The node of the problem, and the last. */
typedef struct told {
    int node, last;
} told;

static told tell(const problem *p)
{
    static const char *const names[] = {"x", "b", "c", "d"};
    const ls_node *n = p->node;
    int inputs[LS__MAX_INPUTS] = {0};
    told t;

    asked_begin(p->rows, 0);
    for (int k = 0; k < p->inputs; k++) {
        inputs[k] = asked_node("input", shape_text(n->in[k]), 0, NULL, 0);
        asked_input(inputs[k], names[k], p->nx[k], p->x[k]);
    }
    if (p->weights)
        asked_array("rows", "weights of rows", -1, 0, p->rows, p->weights);
    t.node = asked_of(n, p->made ? 1 : p->inputs, inputs);
    for (int k = 0; k < n->params; k++)
        asked_param(t.node, k, p->np[k], p->param[k]);
    tell_shown(t.node, p);
    if (ls__recurrent_kind(n->op))
        tell_steps(t.node, p);
    if (n->op == &ls__op_dropout)
        tell_key(t.node);
    t.last = tell_fused(t.node, p, inputs);
    if (!n->op->is_loss)
        asked_array("forward", "y", t.last, 0, p->ny, NULL);
    if (p->dy)
        asked_array("backward", "dx", -1, 0, p->ny, p->dy);
    return t;
}

/* ------ the library's number ------ */

/* How many there are: of the value of a loss the words of its sum. */
static int64_t numbers_of(const problem *p, int which)
{
    const ls__op *op = p->node->op;

    if (which < 0)
        return op->is_loss ? 2 : p->ny;
    if (which >= LS__MAX_INPUTS)
        return which - LS__MAX_INPUTS < p->node->params
                   ? p->np[which - LS__MAX_INPUTS] : 0;
    if (which >= p->inputs || p->node->in[which]->dtype != LS_F32 ||
        op->plan.passes >> which & 1)
        return 0;
    return p->nx[which];
}

static uint32_t word_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fc00000 : bits;
}

static uint32_t number(const outputs *o, const question *q)
{
    uint64_t bits;

    if (q->which >= LS__MAX_INPUTS)
        return word_of(o->dparam[q->which - LS__MAX_INPUTS][q->at]);
    if (q->which >= 0)
        return word_of(o->dx[q->which][q->at]);
    if (!q->p->node->op->is_loss)
        return word_of(o->y[q->at]);
    memcpy(&bits, &o->sums.loss, sizeof bits);
    return (uint32_t)(q->at ? bits : bits >> 32);
}

/* ------ asking ------ */

/* An array of the record, and its length. */
typedef struct asked_for {
    const char *phase, *what;
    int node, index;
    int64_t n;
} asked_for;

static asked_for array_of(const told *t, const question *q)
{
    const problem *p = q->p;
    int k = q->which - LS__MAX_INPUTS;

    if (k >= 0)
        return (asked_for){"backward", "dparam", t->node, k, p->np[k]};
    if (q->which >= 0)
        return (asked_for){"backward", "dx", t->node, q->which,
                           p->nx[q->which]};
    if (p->node->op->is_loss)
        return (asked_for){"gradient", "loss", -1, 0, 2};
    return (asked_for){"forward", "y", t->last, 0, p->ny};
}

/* Write, with LS_VECTORS=FILE, an element of each array, once, of a small
 * problem. */
static void write_vector(const told *t, const question *q, asked_for a)
{
    static char written[16][80];
    static int count;
    const char *path = getenv("LS_VECTORS");
    const problem *p = q->p;
    char name[80];
    FILE *f;

    snprintf(name, sizeof name, "%s %s", p->node->op->name, a.what);
    if (*a.what == 'd')
        snprintf(name + strlen(name), 12, " %d", a.index);
    for (int i = 0; i < count; i++)
        if (strcmp(written[i], name) == 0)
            return;
    if (!path || t->node != t->last || p->rows < 2 || p->ny > 80 ||
        p->nx[0] > 80 || p->np[0] > 80 || !(f = fopen(path, "a")))
        return;
    snprintf(written[count++], sizeof *written, "%s", name);
    asked_write(f, name, a.phase, a.what, a.node, a.index, a.n, q->at);
    fclose(f);
}

static uint32_t referees_number(const told *t, const question *q)
{
    asked_for a = array_of(t, q);
    uint32_t x = asked_element(a.phase, a.what, a.node, a.index, a.n, q->at);

    if (x & 0x7fffffff)
        write_vector(t, q, a);
    return q->p->through_slope && q->which == 0
               ? asked_slope(x, q->p->h[q->at]) : x;
}

enum { LEVELS = 8 };

/* The same problem at each level that keeps the contract. */
typedef struct levels_of {
    int count;
    outputs o[LEVELS];
    const char *name[LEVELS];
} levels_of;

static void run_levels(const problem *p, levels_of *all)
{
    all->count = 0;
    for (int i = 0; i < levels() && all->count < LEVELS; i++)
        if (level(i)) {
            machine m = machine_of(level(i));

            all->name[all->count] = level(i)->name;
            all->o[all->count++] = run(p, &m, (mode){0});
        }
}

static void ask_element(const levels_of *all, const told *t, const question *q)
{
    uint32_t is = referees_number(t, q);

    for (int i = 0; i < all->count; i++)
        ck_assert_msg(number(&all->o[i], q) == is, "%s, array %d, element "
                      "%lld: %08x by the referee, %08x on %s",
                      q->p->node->op->name, q->which, (long long)q->at, is,
                      number(&all->o[i], q), all->name[i]);
}

/* A product's links, roughly: what is long is asked less often. */
static double weight_of_problem(const problem *p)
{
    double n = (double)(p->ny + p->nx[0]), width = 1;

    for (int k = 0; k < p->node->params; k++)
        width += (double)p->np[k];
    if (p->op == &ls__op_attention)
        width = (double)p->node->shape[0] * (double)p->node->shape[1];
    return n * width;
}

/* A pooling that the plan folded into a convolution is a node of its own to the
 * referee. */
static bool is_asked(const problem *p)
{
    return !is_pooled(p) && weight_of_problem(p) < 4e5;
}

/* `count` random elements of a problem; how many were asked. */
static int ask_problem(const problem *p, int count, int seed)
{
    int arrays[LS__MAX_INPUTS + LS__MAX_PARAMS + 1], n = 0;
    int32_t drawn[2];
    levels_of all;
    told t;

    for (int k = VALUE; k < LS__MAX_INPUTS + LS__MAX_PARAMS; k++)
        if (numbers_of(p, k) > 0)
            arrays[n++] = k;
    run_levels(p, &all);
    t = tell(p);
    for (int i = 0; i < count; i++) {
        question q = {.p = p};

        ls_random_randint(ls_key_new(seed), (uint64_t)(2 * i), 2, 0, 1 << 30,
                          drawn);
        q.which = arrays[drawn[0] % n];
        q.at = drawn[1] % numbers_of(p, q.which);
        ask_element(&all, &t, &q);
    }
    return count * all.count;
}

/* A sum over steps and rows of more than two chunks, of a recurrent layer. */
static bool is_long(const row *o, const sample *s)
{
    return ls__recurrent_kind(o->op) && s->rank == 2 &&
           s->rows * s->dim[0] > 512 && s->dim[1] < 20;
}

/* Every operator has an answer, and its elements are the library's; but for one
 * that is said to have no rule. */
LOOP_TEST(test_operator, 0, ROWS)
{
    const row *o = &rows[_i];
    int each = long_run() ? 400 : 12;
    int every = long_run() || getenv("LS_VECTORS") ? 1 : 41;
    long count = 0, wanted = long_run() ? 1000000 : 1;

    if (!ls__has_rule(o->op->name))
        return;
    ls__fpmode_set();
    for (int turn = 0; turn < 100 && count < wanted; turn++)
        for (int i = 0; i < SAMPLES; i++)
            for (int kind = 0; kind < o->kinds && fits(o, &samples[i]);
                 kind++) {
                problem p;

                if (!has_turn(i, kind, o->kinds) ||
                    (i % (i < CHOSEN ? every / 4 + 1 : every) &&
                     !is_long(o, &samples[i])))
                    continue;
                p = make_problem(o, &samples[i], kind);
                if (is_asked(&p))
                    count += ask_problem(&p, each, 1000 * turn + i);
                free_problem(&p);
            }
    ck_assert_int_ge(count, wanted);
    if (long_run())
        printf("%s: %ld elements\n", o->op->name, count);
}

int main(void)
{
    make_samples();
    return RUN_TESTS();
}
