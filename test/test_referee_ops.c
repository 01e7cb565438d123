/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the referee makes the library's numbers of every operator:
 * random elements of values, of gradients of inputs and of parameters, on the
 * shapes of op_samples.h, at every instruction level.  Some hundred elements of
 * each; with LS_LONG a million. */
#include "base/fpmode.h"
#include "calls.h"
#include "referee_bags.h"
#include "referee_losses.h"
#include "referee_sequences.h"

#include <stdlib.h>
#include <time.h>

static const struct {
    const ls__op *op;
    answer *answer;
} answers[] = {
    {&ls__op_dense, dense}, {&ls__op_embed, embed},
    {&ls__op_position, position}, {&ls__op_parameter, parameter},
    {&ls__op_layer_norm, layer_norm},
    {&ls__op_rms_norm, rms_norm}, {&ls__op_batch_norm, batch_norm},
    {&ls__op_rotary, rotary}, {&ls__op_attention, attention},
    {&ls__op_add, sum_of_two}, {&ls__op_conv, conv},
    {&ls__op_max_pool, pooling}, {&ls__op_avg_pool, pooling},
    {&ls__op_flatten, flat}, {&ls__op_group_norm, group_norm},
    {&ls__op_squared_error, loss_gradient},
    {&ls__op_cross_entropy, loss_gradient},
    {&ls__op_next_token, loss_gradient}, {&ls__op_dropout, dropped},
    {&ls__op_round_bf16, rounded}, {&ls__op_reshape, flat},
    {&ls__op_transpose, view}, {&ls__op_slice, view},
    {&ls__op_broadcast, view}, {&ls__op_concat, concat},
    {&ls__op_sum, reduced}, {&ls__op_max_over, reduced},
    {&ls__op_softmax, row_wise}, {&ls__op_log_softmax, row_wise},
    {&ls__op_matmul, matmul}, {&ls__op_one_hot, one_hot},
    {&ls__op_gather, gather}, {&ls__op_mean_loss, loss_gradient},
    {&ls__op_weighted_loss, loss_gradient}, {&ls__op_sparse_dense, bag},
    {&ls__op_sparse_dense_values, bag}, {&ls__op_embed_bag, bag},
    {&ls__op_reverse[0], reversed}, {&ls__op_reverse[1], reversed},
    {&ls__op_lstm[0], recurred}, {&ls__op_lstm[1], recurred},
    {&ls__op_lstm[2], recurred}, {&ls__op_lstm[3], recurred},
    {&ls__op_gru[0], recurred}, {&ls__op_gru[1], recurred},
    {&ls__op_gru[2], recurred}, {&ls__op_gru[3], recurred}};

/* Elementwise operators have one answer. */
static answer *answer_of(const ls__op *op)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (answers[i].op == op)
            return answers[i].answer;
    return ls__term_of(op) ? term : NULL;
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
        op->passes >> which & 1)
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

enum { MOST_KNOWN = 8, LEVELS = 8 };

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

static void ask_element(const levels_of *all, const question *q)
{
    answer *of = answer_of(q->p->node->op);
    bool is_loss = q->which < 0 && q->p->node->op->is_loss;
    uint32_t is = is_loss ? loss_word(q) : word_of(of(q));

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
    float *known[MOST_KNOWN] = {NULL};
    int arrays[LS__MAX_INPUTS + LS__MAX_PARAMS + 1], n = 0;
    int32_t drawn[2];
    levels_of all;

    for (int k = VALUE; k < LS__MAX_INPUTS + LS__MAX_PARAMS; k++)
        if (numbers_of(p, k) > 0)
            arrays[n++] = k;
    run_levels(p, &all);
    room_used = 0;
    for (int i = 0; i < count; i++) {
        question q = {.p = p, .o = &all.o[0], .known = known};

        ls_random_randint(ls_key_new(seed), (uint64_t)(2 * i), 2, 0, 1 << 30,
                          drawn);
        q.which = arrays[drawn[0] % n];
        q.at = drawn[1] % numbers_of(p, q.which);
        ask_element(&all, &q);
    }
    return count * all.count;
}

/* Every operator has an answer, and its elements are the library's. */
START_TEST(test_operator)
{
    const row *o = &rows[_i];
    int each = long_run() ? 400 : 12, every = long_run() ? 1 : 41;
    long asked_for = 0, wanted = long_run() ? 1000000 : 1;

    ck_assert_msg(answer_of(o->op) != NULL, "the referee is not asked about %s",
                  o->op->name);
    ls__fpmode_set();
    for (int turn = 0; turn < 100 && asked_for < wanted; turn++)
        for (int i = 0; i < SAMPLES; i += i < CHOSEN ? every / 4 + 1 : every)
            for (int kind = 0; kind < o->kinds && fits(o, &samples[i]);
                 kind++) {
                problem p;

                if (!has_turn(i, kind, o->kinds))
                    continue;
                p = make_problem(o, &samples[i], kind);
                if (is_asked(&p))
                    asked_for += ask_problem(&p, each, 1000 * turn + i);
                free_problem(&p);
            }
    ck_assert_int_ge(asked_for, wanted);
    if (long_run())
        printf("%s: %ld elements\n", o->op->name, asked_for);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("referee on operators");
    TCase *t = tcase_create("operators");

    make_samples();
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, test_operator, 0, ROWS);
    suite_add_tcase(s, t);
    return run_suite(s);
}
