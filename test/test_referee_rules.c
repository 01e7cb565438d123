/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the referee makes the library's numbers of what is no operator:
 * products of bf16 numbers and of numbers split into such, by every maker;
 * random numbers, initial values, learning rates, and what happens to
 * gradients, at every instruction level.  With LS_LONG a million of each. */
#include "asked.h"
#include "backends.h"
#include "base/fpmode.h"
#include "base/tree.h"
#include "calls.h"
#include "random/init.h"
#include "rules/schedule.h"
#include "support.h"

static void same(const char *rule, uint32_t is, float lib)
{
    uint32_t bits;

    memcpy(&bits, &lib, sizeof bits);
    ck_assert_msg(bits == is, "%s: %08x by the referee, %08x by the library",
                  rule, is, bits);
}

static int64_t many(int64_t few)
{
    return long_run() ? 1000000 : few;
}

/* ------ products ------ */

static const struct {
    ls_precision precision;
    const char *rule;
} kinds[] = {{LS_BF16_LAYERS, "product.bf16"},
             {LS_F32X3_LAYERS, "product.f32x3"},
             {LS_F32X6_LAYERS, "product.f32x6"}};

enum { DEEP = 600, WIDE = 7 };

static void give_along(const char *name, int64_t k, const float *x, int64_t by)
{
    float *to = asked_list(name, k);

    for (int64_t i = 0; i < k; i++)
        to[i] = x[i * by];
}

static void check_product(const ls__backend *b, const char *rule, int64_t k,
                          bool add)
{
    ls__product g = {.m = WIDE, .n = WIDE, .k = k, .a_row = k, .a_col = 1,
                     .b_row = WIDE, .b_col = 1, .c_row = WIDE, .scale = 0.75f,
                     .accumulate = add};
    float *before = uniform(3, WIDE * WIDE), *bias = uniform(4, WIDE);
    int at = (int)(k * 31 % (WIDE * WIDE));

    g.a = uniform(1, WIDE * k);
    g.b = uniform(2, WIDE * k);
    g.bias = bias;
    g.c = fenced(WIDE * WIDE);
    memcpy(g.c, before, WIDE * WIDE * sizeof *before);
    b->products->gemm(&g, fenced(b->products->scratch(k, WIDE)));
    give_along("a", k, g.a + at / WIDE * k, 1);
    give_along("b", k, g.b + at % WIDE, WIDE);
    if (add)
        asked_number("c", before[at]);
    asked_number("scale", 0.75f);
    asked_number("bias", bias[at % WIDE]);
    same(rule, asked_bits(rule), g.c[at]);
    fences_free();
}

START_TEST(products)
{
    const ls__backend *b;

    ls__fpmode_set();
    for (int i = 0; (b = maker(kinds[_i].precision, i)); i++)
        for (int64_t n = 0, k = 1; n < many(40); n++, k = k * 37 % DEEP + 1)
            check_product(b, kinds[_i].rule, k, n % 3 == 1);
}
END_TEST

/* ------ random numbers ------ */

static void give_place(ls_key key, uint64_t place)
{
    memcpy(asked_list("key", 2), key.word, sizeof key.word);
    asked_words("place", place);
}

/* Places past 2^32 too. */
START_TEST(random_numbers)
{
    for (int64_t i = 0; i < many(500); i++) {
        uint64_t place = (uint64_t)i * 0x9e3779b97f4a7c15u >> (i % 40);
        ls_key key = ls_key_new(i);
        uint32_t bits;
        float x;

        key.word[0] = (uint32_t)i * 7;
        give_place(key, place);
        ls_random_bits(key, place, 1, &bits);
        ck_assert_uint_eq(asked_bits("random"), bits);
        give_place(key, (uint32_t)place);
        asked_word("at", i % 2);
        bits = ls_key_fold_in(key, (uint32_t)place).word[i % 2];
        ck_assert_uint_eq(asked_bits("random.key"), bits);
        give_place(key, place);
        asked_number("low", -0.3f);
        asked_number("high", 1.7f);
        ls_random_uniform(key, place, 1, -0.3f, 1.7f, &x);
        same("uniform", asked_bits("random.uniform"), x);
        give_place(key, place);
        ls_random_normal(key, place, 1, &x);
        same("normal", asked_bits("random.normal"), x);
        give_place(key, place);
        ls_random_truncated_normal(key, place, 1, &x);
        same("truncated", asked_bits("random.truncated"), x);
    }
}
END_TEST

/* ------ initial values ------ */

static const char *const distributions[] = {
    [LS_UNIFORM] = "initial.uniform", [LS_NORMAL] = "initial.normal",
    [LS_TRUNCATED_NORMAL] = "initial.truncated"};

static void check_initial(const ls_init *init, double fan)
{
    enum { N = 300 };
    float out[N];
    ls_key key = ls_key_new(11);
    const char *rule = distributions[init->distribution];

    ck_assert_int_eq(ls__init_values(init, key, ls__init_fan(init, 23, 40), 1,
                                     (int64_t[]){N}, out), 0);
    for (int i = 0; i < N; i += long_run() ? 1 : 13) {
        give_place(key, (uint64_t)i);
        asked_real("scale", init->scale);
        if (fan > 0)
            asked_real("fan", fan);
        same(rule, asked_bits(rule), out[i]);
    }
}

START_TEST(initial_values)
{
    static const double fans[] = {[LS_FAN_IN] = 23, [LS_FAN_OUT] = 40,
                                  [LS_FAN_AVERAGE] = 31.5};

    for (int d = LS_UNIFORM; d <= LS_TRUNCATED_NORMAL; d++) {
        ls_init init = ls_init_random((ls_distribution)d, 0.37);

        check_initial(&init, 0);
        for (int f = LS_FAN_IN; f <= LS_FAN_AVERAGE; f++) {
            init = ls_init_variance((ls_distribution)d, (ls_fan)f, 1.7);
            check_initial(&init, fans[f]);
        }
    }
}
END_TEST

/* Angles up to where sines need all of 4/pi. */
START_TEST(sinusoids)
{
    enum { LENGTH = 3000, WIDTH = 33 };
    static float table[LENGTH * WIDTH];
    int64_t shape[] = {LENGTH, WIDTH};

    ck_assert_int_eq(ls__init_values(ls__init_of(LS__INIT_SINUSOID),
                                     ls_key_new(0), 1, 2, shape, table), 0);
    for (int i = 0; i < LENGTH * WIDTH; i += long_run() ? 1 : 97) {
        asked_word("t", (uint32_t)(i / WIDTH));
        asked_word("j", (uint32_t)(i % WIDTH));
        asked_word("width", WIDTH);
        same("sinusoid", asked_bits("sinusoid"), table[i]);
    }
}
END_TEST

/* ------ learning rates ------ */

static const ls_boundary boundaries[] = {{30, 0.5}, {70, 0.1}, {200, 3}};

static ls_schedule schedule_of(int kind)
{
    ls_schedule s = ls_schedule_defaults((ls_schedule_kind)kind);

    s.warmup = kind == LS_ONE_CYCLE || kind == LS_LINEAR_ONE_CYCLE ? 0 : 17;
    s.decay_steps = 90;
    s.decay_rate = 0.93;
    s.end_lr = 0.003;
    s.power = 1.7;
    s.boundaries = boundaries;
    s.n_boundaries = 3;
    return s;
}

static void give_boundaries(void)
{
    uint32_t *at = (uint32_t *)(void *)asked_list("bounds", 3);
    uint32_t *by = (uint32_t *)(void *)asked_list("factors", 6);

    for (int i = 0; i < 3; i++) {
        uint64_t bits;

        memcpy(&bits, &boundaries[i].factor, sizeof bits);
        at[i] = (uint32_t)boundaries[i].update;
        by[2 * i] = (uint32_t)(bits >> 32);
        by[2 * i + 1] = (uint32_t)bits;
    }
}

static void give_schedule(const ls_schedule *s, double peak, int64_t done)
{
    bool cycles = s->kind == LS_RESTARTS || s->kind == LS_WARM_RESTARTS;
    bool rises = s->kind == LS_ONE_CYCLE || s->kind == LS_LINEAR_ONE_CYCLE;

    asked_real("peak", peak);
    asked_real("end", s->end_lr);
    asked_word("done", (uint32_t)done);
    asked_word("steps", (uint32_t)s->decay_steps);
    asked_word("warmup", (uint32_t)s->warmup);
    if (cycles && done >= s->warmup) {
        asked_real("restart", s->restart_factor);
        asked_word("cycle", (uint32_t)s->cycle_factor);
    }
    if (rises) {
        asked_real("start", s->pct_start);
        asked_real("div", s->div_factor);
        asked_real("last", s->final_div_factor);
    }
    if (s->kind == LS_LINEAR_ONE_CYCLE)
        asked_real("final", s->pct_final);
    if (s->kind == LS_COSLOG)
        asked_word("waves", (uint32_t)s->cycles);
    if (s->kind == LS_FLAT_COSINE)
        asked_real("start", s->pct_start);
    if (s->kind == LS_EXPONENTIAL && done >= s->warmup)
        asked_real("rate", s->decay_rate);
    if (s->kind == LS_POLYNOMIAL && done >= s->warmup && done < s->decay_steps)
        asked_real("power", s->power);
    if (s->kind == LS_PIECEWISE && done >= s->warmup)
        give_boundaries();
}

START_TEST(learning_rates)
{
    ls_schedule s = schedule_of(_i);
    char rule[40];

    snprintf(rule, sizeof rule, "schedule.%s",
             ls_schedule_name((ls_schedule_kind)_i));
    for (int64_t n = 0; n < many(300); n++) {
        int64_t done = n < 700 ? n : n * 7919 % 100000;

        s.cycle_factor = 1 + n / 50 % 3;
        s.restart_factor = n % 2 ? 0.5 : 0.9;
        s.cycles = 1 + n % 30;
        give_schedule(&s, 0.02, done);
        same(rule, asked_bits(rule), ls__schedule_lr(&s, 0.02, done));
    }
}
END_TEST

/* ------ after the gradients ------ */

enum { N = 64, DEVICES = 37 };

static void check_tree(const ls__kernel_table *k, int devices)
{
    float *buffer[DEVICES], out[N];

    for (int d = 0; d < devices; d++)
        buffer[d] = uniform(d, N);
    k->tree_sum(buffer, devices, 0, N, 0.3f, out);
    for (int i = 0; i < N; i += 5) {
        float *a = asked_list("a", devices);

        for (int d = 0; d < devices; d++)
            a[d] = buffer[d][i];
        asked_number("factor", 0.3f);
        same("mean", asked_bits("mean"), out[i]);
    }
    fences_free();
}

static void check_gradients(const ls__kernel_table *k, int seed)
{
    float *g = uniform(seed, N), *p = uniform(seed + 1, N);
    float *was = uniform(seed, N), *e = uniform(seed + 2, N);
    float *e_was = uniform(seed + 2, N), norm = 0.7f;

    k->scale(N, 1.0f / norm, g);
    k->scale(N, 0.5f, g);
    k->clip_value(N, 0.4f, g);
    k->regularise(N, (float)0.01, p, g);
    k->average(N, 0.99, p, e);
    for (int i = 0; i < N; i++) {
        asked_number("g", was[i]);
        asked_number("norm", norm);
        asked_number("clip", 0.5f);
        asked_number("most", 0.4f);
        asked_real("l", 0.01);
        asked_number("p", p[i]);
        same("clip", asked_bits("clip"), g[i]);
        asked_real("decay", 0.99);
        asked_number("p", p[i]);
        asked_number("e", e_was[i]);
        same("average", asked_bits("average"), e[i]);
    }
    fences_free();
}

START_TEST(gradients)
{
    const ls__kernel_table *k = level(_i);

    if (!k)
        return;
    ls__fpmode_set();
    for (int devices = 1; devices <= DEVICES; devices++)
        check_tree(k, devices);
    for (int i = 0; i < many(640) / N; i++)
        check_gradients(k, 7 * i);
}
END_TEST

static void give_doubles(const char *name, int n, const double *x)
{
    uint32_t *to = (uint32_t *)(void *)asked_list(name, 2 * n);

    for (int i = 0; i < n; i++) {
        uint64_t bits;

        memcpy(&bits, &x[i], sizeof bits);
        to[2 * i] = (uint32_t)(bits >> 32);
        to[2 * i + 1] = (uint32_t)bits;
    }
}

START_TEST(totals)
{
    for (int n = 1; n <= DEVICES; n++) {
        double l[DEVICES], w[DEVICES], of_l, of_w;

        for (int i = 0; i < n; i++) {
            l[i] = 1 / (double)(3 * i + n);
            w[i] = 7 + i / 3.0;
        }
        of_l = ls__tree_sum_double(l, n, 1);
        of_w = ls__tree_sum_double(w, n, 1);
        give_doubles("l", n, l);
        give_doubles("w", n, w);
        same("loss.mean", asked_bits("loss.mean"), (float)(of_l / of_w));
        give_doubles("w", n, w);
        same("factor", asked_bits("factor"), 1.0f / (float)of_w);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("referee's rules");
    TCase *t = tcase_create("rules");

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, products, 0, 3);
    tcase_add_test(t, random_numbers);
    tcase_add_test(t, initial_values);
    tcase_add_test(t, sinusoids);
    tcase_add_loop_test(t, learning_rates, 0, LS_FLAT_COSINE + 1);
    tcase_add_loop_test(t, gradients, 0, levels());
    tcase_add_test(t, totals);
    suite_add_tcase(s, t);
    return run_suite(s);
}
