/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the referee makes the library's numbers of what is no operator:
 * random bits, initial values and learning rates; and that it makes the
 * numbers of vectors.txt, which has all that it judges.  With LS_LONG a million
 * of each.  (Products, sums over devices and distributions are held against it
 * by tests of their own: test_bf16_layers, test_f32x3, test_reduce,
 * test_random.) */
#include "asked_record.h"
#include "calls.h"
#include "random/init.h"
#include "referee/numbers.h"
#include "referee/verdict.h"
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

/* Questions are written to LS_VECTORS=FILE, too. */
static uint32_t ask(const char *name, const char *phase, const char *what,
                    int64_t n, int64_t at, bool is_vector)
{
    const char *path = getenv("LS_VECTORS");
    FILE *f = path && is_vector ? fopen(path, "a") : NULL;

    if (f) {
        asked_write(f, name, phase, what, -1, 0, n, at);
        fclose(f);
    }
    return asked_element(phase, what, -1, 0, n, at);
}

static void give_double(const char *phase, const char *what, double x)
{
    static float words[2];
    f64 bits = d_of(x);

    words[0] = asked_word((uint32_t)(bits >> 32));
    words[1] = asked_word((uint32_t)bits);
    asked_array(phase, what, -1, 0, 2, words);
}

static void give_real(const char *name, double x)
{
    char text[40];

    snprintf(text, sizeof text, "%.17g", x);
    asked_option(name, text);
}

/* ------ random numbers ------ */

/* Places past 2^32 too. */
TEST(random_numbers)
{
    for (int64_t i = 0; i < many(500); i++) {
        uint64_t place = (uint64_t)i * 0x9e3779b97f4a7c15u >> (i % 40);
        ls_key key = ls_key_new(i), folded;
        uint32_t bits, word[2];

        key.word[0] = (uint32_t)i * 7;
        ls_random_bits(key, place, 1, &bits);
        ck_assert_uint_eq(random_bits(key.word, place), bits);
        folded = ls_key_fold_in(key, (uint32_t)place);
        threefry(key.word, (uint32_t)place, word);
        ck_assert_mem_eq(word, folded.word, sizeof word);
    }
}

/* ------ initial values ------ */

/* The words of a start: kind, scale, fan, key. */
static void give_start(uint32_t kind, double scale, double fan, ls_key key,
                       int64_t floats)
{
    static float words[7];
    uint32_t all[7] = {kind, (uint32_t)(d_of(scale) >> 32),
                       (uint32_t)d_of(scale), (uint32_t)(d_of(fan) >> 32),
                       (uint32_t)d_of(fan), key.word[0], key.word[1]};

    memcpy(words, all, sizeof words);
    asked_begin(1, 0);
    asked_slot("p", floats);
    asked_array("start", "p", -1, 0, 7, words);
}

static void check_initial(const ls_init *init, double fan)
{
    enum { N = 300 };
    static const char *const kinds_of[] = {
        [LS_UNIFORM] = "uniform", [LS_NORMAL] = "normal",
        [LS_TRUNCATED_NORMAL] = "truncated"};
    static const uint32_t codes[] = {
        [LS_UNIFORM] = 1, [LS_NORMAL] = 2, [LS_TRUNCATED_NORMAL] = 3};
    float out[N];
    ls_key key = ls_key_new(11);
    char name[40];

    snprintf(name, sizeof name, "first values %s%s",
             kinds_of[init->distribution], fan > 0 ? " of a fan" : "");
    give_start(codes[init->distribution], init->scale, fan, key, N);
    ck_assert_int_eq(ls__init_values(init, key, ls__init_fan(init, 23, 40), 1,
                                     (int64_t[]){N}, out), 0);
    for (int i = 0; i < N; i += long_run() ? 1 : 13)
        same(name, ask(name, "before", "parameters", N, i,
                       i == 13 && (fan == 0 || fan == 23)), out[i]);
}

TEST(initial_values)
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

/* Angles up to where sines need all of 4/pi. */
TEST(sinusoids)
{
    enum { LENGTH = 3000, WIDTH = 33 };
    static float table[LENGTH * WIDTH], words[7];
    int64_t shape[] = {LENGTH, WIDTH};

    words[0] = asked_word(4);
    words[1] = asked_word(WIDTH);
    ck_assert_int_eq(ls__init_values(ls__init_of(LS__INIT_SINUSOID),
                                     ls_key_new(0), 1, 2, shape, table), 0);
    asked_begin(1, 0);
    asked_slot("p", LENGTH * WIDTH);
    asked_array("start", "p", -1, 0, 7, words);
    for (int i = 0; i < LENGTH * WIDTH; i += long_run() ? 1 : 97)
        same("sinusoid", ask("first values positions", "before", "parameters",
                             LENGTH * WIDTH, i, i == 97), table[i]);
}

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

static void give_schedule(const ls_schedule *s, int64_t done)
{
    char name[40];

    asked_begin(1, done);
    asked_option("schedule", ls_schedule_name(s->kind));
    give_real("end_lr", s->end_lr);
    give_real("decay_steps", (double)s->decay_steps);
    give_real("warmup", (double)s->warmup);
    give_real("restart_factor", s->restart_factor);
    give_real("cycle_factor", (double)s->cycle_factor);
    give_real("pct_start", s->pct_start);
    give_real("pct_final", s->pct_final);
    give_real("div_factor", s->div_factor);
    give_real("final_div_factor", s->final_div_factor);
    give_real("cycles", (double)s->cycles);
    give_real("decay_rate", s->decay_rate);
    give_real("power", s->power);
    for (int i = 0; i < s->n_boundaries; i++) {
        snprintf(name, sizeof name, "boundary %lld",
                 (long long)s->boundaries[i].update);
        give_real(name, s->boundaries[i].factor);
    }
    give_double("rule", "peak rate", 0.02);
}

LOOP_TEST(learning_rates, 0, LS_FLAT_COSINE + 1)
{
    ls_schedule s = schedule_of(_i);
    char name[40];

    snprintf(name, sizeof name, "schedule %s",
             ls_schedule_name((ls_schedule_kind)_i));
    for (int64_t n = 0; n < many(300); n++) {
        int64_t done = n < 700 ? n : n * 7919 % 100000;

        s.cycle_factor = 1 + n / 50 % 3;
        s.restart_factor = n % 2 ? 0.5 : 0.9;
        s.cycles = 1 + (int)(n % 30);
        give_schedule(&s, done);
        same(name, ask(name, "rule", "-lr", 1, 0, n == 75),
             -ls__schedule_lr(&s, 0.02, done));
    }
}

/* ------ vectors ------ */

enum { VECTORS = 300 };

static char names[VECTORS][80];

/* Each that is judged has a vector, whose name is its own and what is asked. */
static void check_names(const char *kind, const char *(*name_of)(int i))
{
    for (int i = 0; name_of(i); i++) {
        char name[80];
        size_t n = (size_t)snprintf(name, sizeof name, "%s%s", kind,
                                    name_of(i));
        int k = 0;

        while (k < VECTORS && (strncmp(names[k], name, n) ||
                               (names[k][n] && names[k][n] != ' ')))
            k++;
        ck_assert_msg(k < VECTORS, "%s has no vector", name);
    }
}

TEST(vectors)
{
    char path[512], name[80];
    uint32_t is, wanted;
    int count = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/tools/referee/vectors.txt",
             getenv("top_srcdir") ? getenv("top_srcdir") : "..");
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    for (; asked_read(f, name, &is, &wanted); count++) {
        ck_assert_msg(is == wanted, "%s: %08x, and the vector has %08x", name,
                      is, wanted);
        ck_assert_int_lt(count, VECTORS);
        strcpy(names[count], name);
    }
    fclose(f);
    check_names("", operator_name);
    check_names("update ", update_name);
    check_names("schedule ", rate_name);
}

MAIN()
