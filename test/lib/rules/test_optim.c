/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of optimizers and schedules: names, options and their bounds as
 * programs see them, and kernels on every level. */
#include "file/seal.h"
#include "golden.h"
#include "kernel/kernel.h"
#include "support.h"
#include "rules/optim.h"

/* Proves that each optimizer has a name of its own, a kernel on each level this
 * CPU has, and defaults within their ranges; and that a number that is none has
 * nothing. */
TEST(test_optimizers)
{
    ls_option option;

    for (int kind = 0; kind < optimizer_kinds(); kind++) {
        ls_optimizer o = ls_optimizer_defaults((ls_optimizer_kind)kind, 0.1);

        ck_assert_ptr_nonnull(ls_optimizer_name((ls_optimizer_kind)kind));
        for (int other = 0; other < kind; other++)
            ck_assert_str_ne(ls_optimizer_name((ls_optimizer_kind)other),
                             ls_optimizer_name((ls_optimizer_kind)kind));
        ck_assert(o.kind == (ls_optimizer_kind)kind && o.lr == 0.1);
        OK(ls__optim_check(&o));
        for (int i = 0; ls__kernels_level(i); i++)
            ck_assert(ls__kernels_level(i)->update[kind]);
    }
    ck_assert_ptr_null(ls_optimizer_name((ls_optimizer_kind)optimizer_kinds()));
    ck_assert_ptr_null(ls_optimizer_name((ls_optimizer_kind)-1));
    ck_assert(!ls_optimizer_option((ls_optimizer_kind)-1, 0, &option));
    ck_assert(ls_optimizer_option(LS_SGD, 0, &option));
    ck_assert_str_eq(option.name, "l2");
    ck_assert(!ls_optimizer_option(LS_SGD, 1, &option));
}

/* Proves that what is told of an option holds: its default is in the struct,
 * the ends of its range are taken or refused, and the name sets the member. */
TEST(test_options)
{
    for (int kind = 0; kind < optimizer_kinds(); kind++) {
        ls_option x;

        for (int i = 0; ls_optimizer_option((ls_optimizer_kind)kind, i, &x);
             i++) {
            ls_optimizer o = ls_optimizer_defaults((ls_optimizer_kind)kind, 1);

            OK(ls_optimizer_set(&o, x.name, x.start));
            OK(ls_optimizer_set(&o, x.name, x.least));
            FAILS(ls_optimizer_set(&o, x.name, x.below), LS_EINVAL, x.range);
            FAILS(ls_optimizer_set(&o, x.name, x.least - 1), LS_EINVAL,
                  x.name);
            FAILS(ls_optimizer_set(&o, x.name, (double)NAN), LS_EINVAL,
                  x.name);
            ck_assert(strlen(x.about) > 5);
        }
    }
}

/* Proves that options go to the members of their names. */
TEST(test_set)
{
    ls_optimizer o = ls_adamw(1e-3);
    ls_schedule s = {.kind = LS_EXPONENTIAL};

    OK(ls_optimizer_set(&o, "b2", 0.99));
    OK(ls_optimizer_set(&o, "weight_decay", 0.5));
    ck_assert(o.b1 == 0.9 && o.b2 == 0.99 && o.weight_decay == 0.5);
    FAILS(ls_optimizer_set(&o, "momentum", 0.5), LS_ENOTFOUND,
          "optimizer adamw has no option \"momentum\"");
    OK(ls_schedule_set(&s, "decay_steps", 100));
    OK(ls_schedule_set(&s, "decay_rate", 0.5));
    ck_assert(s.decay_steps == 100 && s.decay_rate == 0.5);
    FAILS(ls_schedule_set(&s, "decay_steps", 1.5), LS_EINVAL,
          "it must be a whole number from 1 up");
    FAILS(ls_schedule_set(&s, "decay_steps", 1e300), LS_EINVAL, "whole");
    FAILS(ls_schedule_set(&s, "decay_rate", 0), LS_EINVAL, "above 0");
    s.kind = LS_COSINE;
    FAILS(ls_schedule_set(&s, "decay_rate", 1), LS_ENOTFOUND, "cosine");
    s.kind = (ls_schedule_kind)77;
    FAILS(ls_schedule_set(&s, "warmup", 1), LS_EINVAL, "kind 77");
    o.kind = (ls_optimizer_kind)77;
    FAILS(ls_optimizer_set(&o, "b1", 0), LS_EINVAL, "kind 77");
}

/* Proves that a schedule's options are told, those without a default too. */
TEST(test_schedules)
{
    ls_option x;
    int told = 0;

    for (int kind = 0; ls_schedule_name((ls_schedule_kind)kind); kind++)
        for (int i = 0; ls_schedule_option((ls_schedule_kind)kind, i, &x); i++)
            told += !strcmp(x.name, "decay_steps") && x.whole &&
                    isnan(x.start) && x.least == 1;
    ck_assert_int_eq(told, 10);
    ck_assert_str_eq(ls_schedule_name(LS_PIECEWISE), "piecewise");
    ck_assert_ptr_null(ls_schedule_name((ls_schedule_kind)-1));
    ck_assert(!ls_schedule_option((ls_schedule_kind)-1, 0, &x));
}

/* Apart by no more than this many steps of a float. */
static bool within_ulps(float a, float b, int ulps)
{
    float next = nextafterf(fabsf(a), INFINITY) - fabsf(a);

    return fabsf(a - b) <= (float)ulps * next;
}

enum { SIZE = 16, TURNS = 10, STATE = 4 }; /* of golden/rules.txt */

/* A row of that file. */
typedef struct golden_rule {
    ls_optimizer rule;
    int ulps;
    uint32_t bits; /* of p and the moments */
} golden_rule;

/* Reads "NAME OPTION=VALUE.. ulps=N bits=CRC is ..". */
static golden_rule row_of(char *text)
{
    char *rest, *word = strtok_r(text, " ", &rest);
    golden_rule row = {.ulps = 0};
    int kind = 0;

    while (strcmp(ls_optimizer_name((ls_optimizer_kind)kind), word))
        kind++;
    row.rule = ls_optimizer_defaults((ls_optimizer_kind)kind, 0.01);
    while (strcmp(word = strtok_r(NULL, " ", &rest), "is")) {
        char *value = strchr(word, '=');

        *value++ = 0;
        if (!strcmp(word, "ulps"))
            row.ulps = atoi(value);
        else if (!strcmp(word, "bits"))
            row.bits = (uint32_t)strtoul(value, NULL, 16);
        else
            OK(ls_optimizer_set(&row.rule, word, strtod(value, NULL)));
    }
    return row;
}

static void compare_numbers(const golden_rule *row, int number,
                            const char *name, const float *ours)
{
    const float *want = golden("rules", SIZE, "%s.%d", name, number);

    for (int i = 0; i < SIZE; i++)
        ck_assert_msg(within_ulps(want[i], ours[i], row->ulps),
                      "%s.%d[%d]: %a, not %a", name, number, i,
                      (double)ours[i], (double)want[i]);
}

/* All updates of a row on a level: its parameters, then its moments. */
static void train_rule(const golden_rule *row, const ls__kernel_table *level,
                       float state[STATE][SIZE])
{
    const ls_optimizer *o = &row->rule;

    memcpy(state[0], golden("rules", SIZE, "start"), sizeof state[0]);
    for (int i = 0; i < (STATE - 1) * SIZE; i++)
        state[1 + i / SIZE][i % SIZE] = ls__optim_start(o);
    for (int n = 0; n < TURNS; n++) {
        ls__rule rule = ls__optim_rule(o, (float)o->lr, n + 1);
        float g[SIZE];

        memcpy(g, golden("rules", TURNS * SIZE, "grads") + n * SIZE, sizeof g);
        if (o->l2 > 0)
            level->regularise(SIZE, (float)o->l2, state[0], g);
        level->update[o->kind](&rule, SIZE, g, state[0],
                               (float *[]){state[1], state[2], state[3]});
    }
}

static void check_row(const golden_rule *row, int number)
{
    ls_optimizer_kind kind = row->rule.kind;
    int moments = ls__optim_moments(kind);

    for (int k = 0; ls__kernels_level(k); k++) {
        const ls__kernel_table *level =
            ls__kernels_by_name(ls__kernels_level(k)->name);
        float state[STATE][SIZE];
        uint32_t bits;

        if (!level)
            continue; /* not of this CPU */
        train_rule(row, level, state);
        compare_numbers(row, number, "p", state[0]);
        for (int i = 0; i < moments; i++)
            compare_numbers(row, number, ls__optim_moment_name(kind, i),
                            state[1 + i]);
        bits = ls__crc32(0, state, sizeof state[0] * (size_t)(1 + moments));
        ck_assert_msg(bits == row->bits, "rule %d, %s on %s: bits=%08x", number,
                      ls_optimizer_name(kind), level->name, bits);
    }
}

/* Proves that rules take optax's steps, on each level of this CPU, but for the
 * last bits of what XLA approximates, and to the bit those that are recorded;
 * and that each optimizer has a row. */
TEST(test_golden_rules)
{
    bool there[LS__OPTIMIZERS] = {false};
    const char *top = getenv("top_srcdir");
    char path[4096], line[256];
    int rows = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/test/golden/rules.txt", top ? top : "..");
    f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, "rule ", 5)) {
            golden_rule row = row_of(line + 5);

            check_row(&row, rows++);
            there[row.rule.kind] = true;
        }
    fclose(f);
    for (int i = 0; i < optimizer_kinds(); i++)
        ck_assert_msg(there[i], "golden/rules.txt has no row of %s",
                      ls_optimizer_name((ls_optimizer_kind)i));
}

/* Proves that half of a rule's weight decay is that of half its weight decay,
 * and likewise of its l2. */
LOOP_TEST(test_share, 0, 3)
{
    static const ls_optimizer_kind kind[] = {LS_ADAMW, LS_LION, LS_MOMENTUM};
    ls_optimizer o = ls_optimizer_defaults(kind[_i], 0.1), half;
    float at[2][20] = {{0}}, one[20] = {0}, two[20] = {0};
    float *const moment[3] = {one, two};

    o.weight_decay = _i < 2 ? 0.5 : 0;
    o.l2 = _i < 2 ? 0 : 0.5;
    half = o;
    half.weight_decay /= 2;
    half.l2 /= 2;
    for (int k = 0; k < 2; k++) {
        ls__rule rule = ls__optim_rule(k ? &half : &o, 0.1f, 1);
        float g[20];

        for (int i = 0; i < 20; i++) {
            at[k][i] = (float)(i - 7);
            g[i] = (float)(i % 3) - 1;
            one[i] = two[i] = 0;
        }
        rule.decay = k ? 1 : 0.5f;
        ls__optim_update(o.kind, &rule, 20, g, at[k], moment, 0);
    }
    ck_assert_mem_eq(at[0], at[1], sizeof at[0]);
}

MAIN()
