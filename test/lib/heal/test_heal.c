/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that a run survives a core that errs: with every step checked it ends
 * in the bytes of a clean run, whoever errs and when; the one that is wrong is
 * named; steps are drawn as often as asked; nobody is named who is right; and
 * votes are counted as heal/votes.h says.  A library configured
 * --enable-test-level has kernels that err on demand; in all others a gradient
 * function errs. */
#include "heal/heal.h"
#include "kernel/fault.h"
#include "models.h"
#include "on_ranks.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

enum { DEVICES = 8, ROWS = 24, STEPS = 6,
       STRIDE = UNDER_SANITIZER ? 2 : 1 /* of numbers of workers and ranks */ };

/* ------ the digest ------ */

static uint64_t plain_digest(int64_t n, const uint32_t *x, uint64_t before)
{
    uint64_t all = (before ^ (uint64_t)n) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t h[64] = {0};

    for (int64_t i = 0; i < n / 64 * 64 + 64; i++) {
        uint32_t v = h[i % 64] ^ (i < n ? x[i] : 0);

        h[i % 64] = (v << 5 | v >> 27) * 0x9e3779b1u;
    }
    for (int k = 0; k < 64; k++) {
        all = (all ^ h[k]) * UINT64_C(0x9e3779b97f4a7c15);
        all ^= all >> 29;
    }
    return all;
}

/* Every level gives the digest of the few lines above, and each bit counts. */
TEST(test_digest)
{
    const ls__kernel_table *k;
    uint32_t x[200];

    for (int i = 0; i < 200; i++)
        x[i] = (uint32_t)i * 2654435761u;
    for (int i = 0; (k = ls__kernels_level(i)); i++) {
        if (!ls__kernels_by_name(k->name))
            continue;
        for (int n = 0; n <= 200; n++)
            ck_assert(k->digest(n, x, 7) == plain_digest(n, x, 7));
        for (int bit = 0; bit < 200 * 32; bit++) {
            uint64_t was = k->digest(200, x, 0);

            x[bit / 32] ^= UINT32_C(1) << bit % 32;
            ck_assert(k->digest(200, x, 0) != was);
            x[bit / 32] ^= UINT32_C(1) << bit % 32;
        }
    }
}

/* ------ votes ------ */

/* The votes in order, for workers and cores: what wins, 0: nothing does. */
static uint64_t wins(int workers, int cores, ls__ballot b)
{
    ls__jury jury = {workers, 1, cores, false};
    uint64_t right = 0;

    for (int n = 2; n <= LS__VOTES; n++)
        if (ls__votes_decide(&jury, &b, 0, n, &right))
            return right;
    return 0;
}

TEST(test_votes)
{
    ls__jury four = {4, 3, 4, false};
    bool seen[4] = {true};
    ls__ballot b = {{0}};

    ck_assert(wins(3, 3, (ls__ballot){{5, 5}}) == 5);
    ck_assert(wins(3, 3, (ls__ballot){{5, 6, 6}}) == 6);
    ck_assert(wins(3, 3, (ls__ballot){{5, 6, 5}}) == 5);
    ck_assert(wins(2, 2, (ls__ballot){{5, 6, 6}}) == 6);
    ck_assert(wins(2, 2, (ls__ballot){{5, 6, 7, 6}}) == 6);
    ck_assert(wins(2, 2, (ls__ballot){{5, 6, 5, 7, 5}}) == 5);
    ck_assert(wins(2, 2, (ls__ballot){{5, 6, 5, 6, 5, 5, 6}}) == 0);
    ck_assert(wins(2, 2, (ls__ballot){{5, 6, 5, 6, 0, 5, 5}}) == 5);
    ck_assert(wins(2, 2, (ls__ballot){{5, 6, 5, 6, 0, 6}}) == 6);
    ck_assert(wins(2, 1, (ls__ballot){{5, 6, 5}}) == 5);
    ck_assert(wins(1, 1, (ls__ballot){{5, 6, 6}}) == 6);
    ck_assert(wins(1, 1, (ls__ballot){{5, 6, 7, 8, 9}}) == 0);
    for (int round = 1; round < 4; round++) {
        int voter = ls__votes_voter(&four, &b, 0, round);

        ck_assert(!seen[voter]);
        seen[voter] = true;
    }
}

/* ------ a gradient function that errs ------ */

typedef struct bad {
    atomic_bool known;
    pthread_t thread; /* of the last worker */
    int device;       /* by which it is found */
    int every;        /* of its calls errs; 0: none does */
    atomic_int calls;
} bad;

static int errs(bad *b, int device)
{
    if (device == b->device && !atomic_load(&b->known)) {
        b->thread = pthread_self();
        atomic_store(&b->known, true);
    }
    return b->every && atomic_load(&b->known) &&
           pthread_equal(b->thread, pthread_self()) &&
           atomic_fetch_add(&b->calls, 1) % b->every == 0;
}

/* The mean of x, as a gradient of p. */
static int gradient(void *user, int device, const ls_shard *shard,
                    const float *const *params, float *const *grads,
                    ls_sums *sums)
{
    const float *x = shard->data[0];
    float sum = 0;

    for (int64_t i = 0; i < shard->rows; i++)
        sum += x[i];
    if (errs(user, device))
        sum += 0x1p-20f * sum;
    for (int i = 0; grads && i < 5000; i++)
        grads[0][i] = sum + params[0][i];
    sums->loss += (double)sum;
    sums->weight += (double)shard->rows;
    return 0;
}

/* Train; returns the hash, and what the checks found. */
static ls_health train_own(bad *b, int workers, double check, char hash[65])
{
    ls_array_spec x = {"x", LS_F32, 0, {0}}, p = {"p", LS_F32, 1, {5000}};
    ls_gradient g = {gradient, b, 1, 1, &x, &p};
    ls_trainer_options o = ls_trainer_defaults();
    float *data = normals(3, ROWS);
    ls_health found;
    ls_pool *pool;
    run r;

    o.optimizer = ls_adam(1e-2);
    o.check = check;
    OK(pool_with(&pool, DEVICES, workers));
    r = open_gradient(pool, &g, &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, data, ROWS));
    for (int i = 0; i < STEPS; i++)
        step(&r);
    found = ls_trainer_health(r.trainer);
    found.text = "";
    ls_trainer_hash(r.trainer, hash);
    close_run(&r);
    ls_pool_close(pool);
    free(data);
    return found;
}

/* However often it errs, the bytes are the clean run's, and it is named. */
TEST(test_own)
{
    char clean[65], hash[65];
    bad none = {.device = DEVICES - 1};

    train_own(&none, 1, 0, clean);
    for (int workers = 3; workers <= 8; workers++)
        for (int every = 1; every <= 3; every++) {
            bad b = {.device = DEVICES - 1, .every = every};
            ls_health found = train_own(&b, workers, 1, hash);

            ck_assert_str_eq(hash, clean);
            ck_assert(found.wrong > 0);
            ck_assert_int_eq(found.worker, workers - 1);
            ck_assert(found.drawn == STEPS && found.steps == STEPS);
        }
}

/* ------ a graph ------ */

/* Plain ones, then a table of which a batch reads little, and that with lazy
 * Adam, where only the rows that it read move. */
enum { BAGS = 6, LAZY, KINDS, PLACES = 5, COUNT = 40000 };

static ls_graph *graph_of(int kind)
{
    ls_node *x, *label;
    ls_graph *g;

    if (kind < BAGS)
        return mlp_graph();
    OK(ls_graph_new(&g));
    x = ls_input(g, "index", LS_I32, 1, (int64_t[]){PLACES});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = ls_relu(ls_embed_bag(x, LS_BAG_SUM, COUNT, 16, "table"));
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, 5, "out"), label)));
    return g;
}

static void set_rows(ls_batch *b, int kind, const float *x,
                     const int32_t *index, const int32_t *label)
{
    if (kind < BAGS)
        OK(ls_batch_set(b, "x", LS_F32, x, ROWS));
    else
        OK(ls_batch_set(b, "index", LS_I32, index, ROWS));
    OK(ls_batch_set(b, "label", LS_I32, label, ROWS));
}

static ls_trainer_options options_of(int kind)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = kind % 2 ? ls_adam(1e-2) : ls_momentum(1e-2, 0.9);
    o.clip_norm = kind == 1 ? 0.1 : 0;
    o.accumulate = kind == 2 ? 2 : 1;
    o.average = kind == 3 ? 0.9 : 0;
    o.mean = kind == 4 ? LS_MEAN_OF_SHARDS : LS_MEAN_EXACT;
    o.state = kind == 5 ? LS_SHARD : LS_REPLICATE;
    o.optimizer.lazy = kind == LAZY;
    return o;
}

/* A training, and what came of it; over ranks, of the first one that found
 * something. */
typedef struct course {
    int workers, kind, steps;
    double check;
    pthread_mutex_t mutex; /* of what follows */
    char hash[65];
    ls_health found;
} course;

static void note(course *c, const ls_trainer *t, const char *hash)
{
    ls_health found = ls_trainer_health(t);

    pthread_mutex_lock(&c->mutex);
    snprintf(c->hash, sizeof c->hash, "%s", hash);
    if (c->found.wrong == 0)
        c->found = found;
    c->found.text = "";
    pthread_mutex_unlock(&c->mutex);
}

/* Returns the status of the first step that failed, or 0. */
static int train_on(const ls_transport *transport, void *user)
{
    course *c = user;
    ls_trainer_options o = options_of(c->kind);
    float *x = normals(1, (int64_t)ROWS * 9);
    int32_t *label = integers(2, 5, ROWS);
    int32_t *index = integers(4, COUNT, ROWS * PLACES);
    ls_result result;
    char hash[65];
    ls_pool *pool;
    int status = 0;
    run r;

    o.check = c->check;
    o.transport = transport;
    OK(pool_with(&pool, DEVICES, c->workers));
    r = open_run(pool, graph_of(c->kind), &o);
    set_rows(r.batch, c->kind, x, index, label);
    for (int i = 0; i < c->steps && status == 0; i++)
        status = ls_step(r.trainer, r.batch, &result);
    if (ls_trainer_hash(r.trainer, hash) == 0)
        note(c, r.trainer, hash);
    close_run(&r);
    ls_pool_close(pool);
    free(x);
    free(index);
    free(label);
    return status;
}

static int train_graph(int workers, int kind, double check, int steps,
                       char hash[65], ls_health *found)
{
    course c = {workers, kind, steps, check, PTHREAD_MUTEX_INITIALIZER, "",
                {.wrong = 0}};
    int status = train_on(NULL, &c);

    memcpy(hash, c.hash, sizeof c.hash);
    *found = c.found;
    return status;
}

/* The same over ranks, all of which must succeed. */
static void train_ranks(int n, int workers, int kind, char hash[65],
                        ls_health *found)
{
    course c = {workers, kind, STEPS, 1, PTHREAD_MUTEX_INITIALIZER, "",
                {.wrong = 0}};
    ranks_here *all;

    OK(ranks_open(&all, n, NULL));
    all_succeed(all, n, train_on, &c);
    ranks_close(all);
    memcpy(hash, c.hash, sizeof c.hash);
    *found = c.found;
}

/* A check changes no bit and finds nothing where nothing is wrong. */
TEST(test_clean)
{
    char clean[65], hash[65];
    ls_health found;

    for (int kind = 0; kind < KINDS; kind++) {
        OK(train_graph(1, kind, 0, STEPS, clean, &found));
        ck_assert(found.steps == 0 && found.step == -1);
        for (int workers = 1; workers <= 8;
             workers += workers > 2 ? 3 : STRIDE) {
            OK(train_graph(workers, kind, 1, STEPS, hash, &found));
            ck_assert_str_eq(hash, clean);
            ck_assert(found.drawn == STEPS && found.wrong == 0);
            ck_assert(found.checks > 2 * STEPS * DEVICES);
        }
    }
}

/* Steps that are drawn write all blocks of a table, others leave those alone
 * that no row read; lists of either kind follow each other here. */
TEST(test_bags)
{
    char clean[65], hash[65];
    ls_health found;

    for (int kind = BAGS; kind < KINDS; kind++) {
        OK(train_graph(2, kind, 0, 4 * STEPS, clean, &found));
        for (int workers = 1; workers <= 3; workers += STRIDE) {
            OK(train_graph(workers, kind, 0.5, 4 * STEPS, hash, &found));
            ck_assert_str_eq(hash, clean);
            ck_assert_int_eq(found.wrong, 0);
            ck_assert(found.drawn > 4 && found.drawn < 4 * STEPS - 4);
        }
    }
}

/* A trainer without it has no hook, whom a step would ask. */
TEST(test_off)
{
    ls_trainer_options o = options_of(0);
    ls_pool *pool;
    run r;

    OK(pool_with(&pool, DEVICES, 2));
    for (int i = 0; i < 2; i++) {
        o.check = i ? 1e-9 : 0;
        r = open_run(pool, mlp_graph(), &o);
        ck_assert_int_eq(r.trainer->hook[0].is != NULL, i);
        ck_assert_int_eq(ls__heal_of(r.trainer) != NULL, i);
        close_run(&r);
    }
    ls_pool_close(pool);
}

/* Each rank checks its own devices, and what it owns of sum and update. */
TEST(test_over_ranks)
{
    char clean[65], hash[65];
    ls_health found;

    for (int kind = 0; kind < KINDS; kind++) {
        OK(train_graph(1, kind, 0, STEPS, clean, &found));
        for (int i = kind % STRIDE; i < 4; i += STRIDE) {
            train_ranks(2 + i % 2, 1 + i / 2 * 2, kind, hash, &found);
            ck_assert_str_eq(hash, clean);
            ck_assert(found.drawn == STEPS && found.wrong == 0);
            ck_assert(found.checks > 0);
        }
    }
}

/* About an eighth of 600 steps is drawn: within 5 deviations. */
TEST(test_rate)
{
    char hash[65], clean[65];
    ls_health found;

    OK(train_graph(2, 0, 0, 600, clean, &found));
    OK(train_graph(2, 0, 0.125, 600, hash, &found));
    ck_assert_str_eq(hash, clean);
    ck_assert(found.steps == 600 && found.wrong == 0);
    ck_assert(found.drawn > 35 && found.drawn < 115);
}

/* ------ how soon ------ */

/* Returns after how many steps the worker that always errs is named; most + 1:
 * not within `most`. */
static int named_after(uint64_t seed, double rate, int most)
{
    bad b = {.device = DEVICES - 1, .every = 1};
    ls_array_spec x = {"x", LS_F32, 0, {0}}, p = {"p", LS_F32, 1, {5000}};
    ls_gradient g = {gradient, &b, 1, 1, &x, &p};
    ls_trainer_options o = ls_trainer_defaults();
    float *data = normals(3, ROWS);
    ls_pool *pool;
    int n = 1;
    run r;

    o.check = rate;
    o.seed = seed;
    OK(pool_with(&pool, DEVICES, 3));
    r = open_gradient(pool, &g, &o);
    OK(ls_batch_set(r.batch, "x", LS_F32, data, ROWS));
    for (step(&r); n <= most && !ls_trainer_health(r.trainer).wrong; n++)
        step(&r);
    close_run(&r);
    ls_pool_close(pool);
    free(data);
    return n;
}

/* Is so many of n within the middle 99 % of the binomial distribution? */
static bool is_usual(int hits, int n, double p)
{
    double below = 0, above = 0;

    for (int k = 0; k <= n; k++) {
        double one = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) +
                         k * log(p) + (n - k) * log(1 - p));

        below += k <= hits ? one : 0;
        above += k >= hits ? one : 0;
    }
    return below > 0.005 && above > 0.005;
}

/* Each drawn step names it, so that it is named within s steps with probability
 * 1 - (1 - rate)^s; always within 70 at an eighth, 1000 at a hundredth. */
TEST(test_how_soon)
{
    static const struct {
        double rate;
        int runs, most, within[3];
    } of[] = {{0.125, 100, 70, {2, 5, 12}}, {0.01, 20, 1000, {20, 70, 160}}};
    int scale = getenv("LS_LONG") ? 5 : 1, part = UNDER_SANITIZER ? 5 : 1;

    for (int i = 0; i < 2; i++) {
        int runs = of[i].runs * scale / part, within[3] = {0};

        for (int k = 0; k < runs; k++) {
            int n = named_after((uint64_t)k, of[i].rate, of[i].most);

            ck_assert_msg(n <= of[i].most, "rate %g, seed %d: not named in %d "
                          "steps", of[i].rate, k, of[i].most);
            for (int j = 0; j < 3; j++)
                within[j] += n <= of[i].within[j];
        }
        for (int j = 0; j < 3; j++)
            ck_assert_msg(is_usual(within[j], runs,
                                   1 - pow(1 - of[i].rate, of[i].within[j])),
                          "rate %g: named in %d of %d runs within %d steps",
                          of[i].rate, within[j], runs, of[i].within[j]);
    }
}

TEST(test_refused)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = mlp_graph();
    ls_trainer *t;
    ls_pool *pool;

    OK(pool_with(&pool, 2, 1));
    o.check = 1.5;
    ck_assert_int_eq(ls_trainer_open(&t, pool, g, &o), LS_EINVAL);
    ck_assert_str_eq(ls_errmsg(), "check is 1.5; it must be a number from 0 to "
                                  "1");
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* ------ kernels that err ------ */

#ifdef LS_TEST_LEVEL

/* What broken cores are seen to do: a bit, several of a word, a whole vector,
 * a lane whose bits are stuck. */
static const struct {
    int bits, lanes;
    bool stuck;
} shape[] = {{1, 1, false}, {5, 1, false}, {5, 16, false}, {3, 1, true},
             {31, 16, true}};

static ls__fault fault_of(uint32_t i, int workers)
{
    static const char *const kernel[] = {"gemm",   "pack",       "add",
                                         "update", "tree_sum",   "digest",
                                         "gemm",   "square_sum"};
    static const double p[] = {1, 0.1, 0.01, 1};
    ls__fault f = {.worker = (int)(i / 32) % workers, .pu = -1, .bit = -1,
                   .lane = -1, .p = p[i / 8 % 4], .seed = i,
                   .first = i * 7 % 41, .last = 1 << 30};

    snprintf(f.kernel, sizeof f.kernel, "%s", kernel[i % 8]);
    f.bits = shape[i % 5].bits;
    f.lanes = shape[i % 5].lanes;
    f.stuck = shape[i % 5].stuck;
    if (i / 8 % 4 == 3)
        f.last = f.first + 1;
    return f;
}

/* Workers on different levels agree, always. */
TEST(test_levels)
{
    int64_t most = getenv("LS_LONG") ? 1000000 : 20000, checks = 0;
    int steps = getenv("LS_LONG") ? 400 : STEPS;
    char clean[6][65], hash[65];
    ls_health found;

    setenv("LS_ISA", "x86-64-v3", 1); /* which packs as "test" does */
    if (ls_isa_check() < 0)
        unsetenv("LS_ISA");
    ls__fault_set(NULL);
    for (int kind = 0; kind < 6; kind++)
        OK(train_graph(1, kind, 0, steps, clean[kind], &found));
    ls__fault_mix(true);
    for (int i = 0; checks < most; i++) {
        OK(train_graph(3 + i % 3, i % 6, 1, steps, hash, &found));
        ck_assert_str_eq(hash, clean[i % 6]);
        ck_assert_int_eq(found.wrong, 0);
        checks += found.checks;
    }
    ls__fault_mix(false);
    unsetenv("LS_ISA");
    printf("%lld checks on mixed levels\n", (long long)checks);
}

/* Random schedules: always, p = 0.1, 0.01, once; any onset; 2 to 8 workers;
 * every third under a sanitizer. */
TEST(test_schedules)
{
    int n = getenv("LS_LONG") ? 500 : 60, fell = 0;
    int each = UNDER_SANITIZER ? 3 : 1;
    char clean[KINDS][65], hash[65];
    ls_health found;

    ls__fault_set(NULL);
    for (int kind = 0; kind < KINDS; kind++)
        OK(train_graph(1, kind, 0, STEPS, clean[kind], &found));
    for (int i = 0; i < n; i += each) {
        int workers = 2 + i % 7, kind = i / 7 % KINDS;
        int ranks = i % 5 ? 1 : 2 + i / 5 % 2;
        ls__fault f = fault_of((uint32_t)i, workers);

        ls__fault_set(&f);
        if (ranks > 1)
            train_ranks(ranks, workers, kind, hash, &found);
        else
            ck_assert_msg(train_graph(workers, kind, 1, STEPS, hash, &found) ==
                          0, "schedule %d: %s", i, ls_errmsg());
        ck_assert_msg(strcmp(hash, clean[kind]) == 0, "schedule %d: %s on "
                      "worker %d of %d, %d ranks, kind %d, p %g: another hash",
                      i, f.kernel, f.worker, workers, ranks, kind, f.p);
        ck_assert_msg(!(found.wrong && !ls__fault_count()), "schedule %d", i);
        fell += ls__fault_count() > 0;
    }
    ls__fault_set(NULL);
    printf("%d schedules: %d with faults\n", n / each, fell);
    ck_assert(fell > n / each / 4);
}

/* A fault that repeats itself, on one of two workers: a thread beside them
 * decides.  On the only worker, it stays. */
TEST(test_repeated)
{
    static const struct {
        const char *kernel;
        int kind;
    } of[] = {{"gemm", 0},   {"digest", 0}, {"tree_sum", 0},
              {"update", 0}, {"pack", 0},   {"update", LAZY}};
    char clean[KINDS][65], hash[65];
    ls_health found;

    ls__fault_set(NULL);
    for (int kind = 0; kind < KINDS; kind += LAZY)
        OK(train_graph(1, kind, 0, STEPS, clean[kind], &found));
    for (int i = 0; i < 5 * 12; i++) {
        ls__fault f = {.worker = i % 2, .pu = -1, .bit = 30, .lane = 3, .p = 1,
                       .last = 1 << 30, .bits = shape[i / 12].bits,
                       .lanes = shape[i / 12].lanes,
                       .stuck = shape[i / 12].stuck};
        int kind = of[i / 2 % 6].kind;

        snprintf(f.kernel, sizeof f.kernel, "%s", of[i / 2 % 6].kernel);
        ls__fault_set(&f);
        ck_assert_msg(train_graph(2, kind, 1, STEPS, hash, &found) == 0,
                      "%s: %s", f.kernel, ls_errmsg());
        ck_assert_str_eq(hash, clean[kind]);
        ck_assert(found.wrong > 0 && found.worker == f.worker);
    }
    ls__fault_set(NULL);
}

#endif

int main(void)
{
#ifdef LS_TEST_LEVEL
    ls__fault_set(NULL); /* before the table of kernels is first used */
#endif
    return RUN_TESTS();
}
