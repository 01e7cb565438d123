/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract of bits: parameters, moments, losses and metrics are the same
 * bytes for any number of workers, pinned or not, for both ways to update, both
 * backends, every instruction level with FMA, and whatever floating-point mode
 * the caller is in.
 *
 * A case says what may not matter (and what does); running it gives an outcome;
 * outcomes are compared as bytes. */
#include "backends.h"
#include "base/fpmode.h"
#include "models.h"

#include <fenv.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ------ Models ------ */

typedef struct source {
    const char *name;
    int64_t size;  /* elements a row */
    int32_t limit; /* of integers; 0: normal floats */
} source;

typedef struct model {
    const char *name;
    ls_graph *(*graph)(void);
    ls_keys keys;
    int inputs;
    source input[2];
    const char *state; /* recorded: see recorded_states */
} model;

static ls_graph *linear(void)
{
    return linear_graph(11, 3);
}

static ls_graph *lm(void)
{
    static const lm_sizes sizes = {37, 12, 24, 3, 2, 40};

    return lm_graph(&sizes);
}

/* Convolutions deeper than one chunk of K, both kinds of padding, a stride. */
static ls_graph *cnn(void)
{
    ls_window w = {3, 3, 1, 1, LS_SAME}, two = {2, 2, 2, 2, LS_VALID};
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){11, 8, 3});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = ls_max_pool(ls_relu(ls_conv2d(x, 32, w, "conv1")), two);
    w.stride_x = 2;
    x = ls_gelu(ls_conv2d(ls_group_norm(x, 4, "norm"), 19, w, "conv2"));
    x = ls_flatten(ls_avg_pool(x, two));
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, 5, "dense"), label)));
    return g;
}

static const model models[] = {
    {"linear", linear, LS_KEYS_NNX, 2, {{"x", 11, 0}, {"y", 3, 0}},
     "612c5824223c257829fa72867746c441f41f6424006909bd0036a565d1664429"},
    {"mlp", mlp_graph, LS_KEYS_NNX, 2, {{"x", 9, 0}, {"label", 1, 5}},
     "379b14efeeeb53909c57ebba029881ea434b0175d94dd91ac58b9f36831249e0"},
    {"lm", lm, LS_KEYS_LINEN, 1, {{"tokens", 12, 37}, {NULL, 0, 0}},
     "f3f723ccb8bed12d6c49327afb86a7074b6b1988a7bda364b3e78d3312d09928"},
    {"cnn", cnn, LS_KEYS_NNX, 2, {{"x", 264, 0}, {"label", 1, 5}},
     "3f57d2fdc36ad53771fe21907a6555bef1e77010ce8902083b7806ca0b7b9018"},
};

/* ------ Cases and outcomes ------ */

enum { STEPS = 4, ROWS = 120, /* 120 divides by 1, 3, 5 and 8 */
       STRIDE = UNDER_SANITIZER ? 3 : 1 /* of numbers of workers */ };

typedef struct setting {
    const model *model;
    int devices, workers;
    ls_optimizer_kind optimizer;
    ls_state state;
    bool weighted;
    bool pinned;
    const char *backend;
    ls_precision precision;
    void (*mode)(void); /* sets the caller's floating-point mode; or NULL */
} setting;

/* One step's numbers as they are compared: timings left out, NaN as 0. */
typedef struct numbers {
    int64_t step, rows;
    uint32_t loss, accuracy, evaluated, lr;
    double weight;
    uint64_t updated;
} numbers;

typedef struct outcome {
    numbers steps[STEPS];
    char hash[65];
} outcome;

static uint32_t bits(float x)
{
    uint32_t word;

    memcpy(&word, &x, sizeof word);
    return x == x ? word : 0;
}

/* Weights from 0 to 2, some rows masked. */
static float *uneven(int64_t rows)
{
    int32_t *n = integers(9, 9, rows);
    float *w = malloc((size_t)rows * sizeof *w);

    ck_assert_ptr_nonnull(w);
    for (int64_t i = 0; i < rows; i++)
        w[i] = (float)n[i] / 4;
    free(n);
    return w;
}

/* A trainer in the middle of its steps, with its data. */
typedef struct session {
    run run;
    const model *model;
    void *data[2]; /* STEPS batches */
    float *weights;
    int64_t rows;
} session;

static session make_data(const setting *c)
{
    session s = {.model = c->model, .rows = ROWS};

    for (int i = 0; i < c->model->inputs; i++) {
        const source *in = &c->model->input[i];
        int64_t n = STEPS * s.rows * in->size;

        s.data[i] = in->limit ? (void *)integers(100 + (uint32_t)i, in->limit,
                                                 n)
                              : (void *)normals(100 + (uint32_t)i, n);
    }
    s.weights = c->weighted ? uneven(s.rows) : NULL;
    return s;
}

static void open_trainer(session *s, ls_pool *pool, const setting *c)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.seed = 42;
    o.keys = c->model->keys;
    o.optimizer = ls_optimizer_defaults(c->optimizer, 1e-2);
    o.state = c->state;
    o.backend = c->backend;
    o.precision = c->precision;
    s->run = open_run(pool, c->model->graph(), &o);
}

static void close_session(session *s)
{
    close_run(&s->run);
    free(s->data[0]);
    free(s->data[1]);
    free(s->weights);
}

/* Evaluate batch i, train on it, and keep what came out. */
static numbers session_step(session *s, int i)
{
    ls_result seen, r;

    for (int k = 0; k < s->model->inputs; k++) {
        const source *in = &s->model->input[k];

        OK(ls_batch_set(s->run.batch, in->name, in->limit ? LS_I32 : LS_F32,
                        (char *)s->data[k] + 4 * i * s->rows * in->size,
                        s->rows));
    }
    OK(ls_batch_set_weights(s->run.batch, s->weights, s->rows));
    OK(ls_evaluate(s->run.trainer, s->run.batch, &seen));
    r = step(&s->run);
    return (numbers){r.step, r.rows, bits(r.loss), bits(r.accuracy),
                     bits(seen.loss), bits(r.lr), r.weight, r.updated};
}

static ls_pool *pool_of(const setting *c)
{
    ls_mesh_options o = {.size = sizeof o,
                         .devices = c->devices, .workers = c->workers};
    ls_pool_options p = {.size = sizeof p,
                         .no_pin = !c->pinned, .pin_caller = c->pinned};
    ls_mesh *mesh;
    ls_pool *pool;

    OK(ls_mesh_open(&mesh, &o));
    OK(ls_pool_open(&pool, mesh, &p));
    ls_mesh_close(mesh);
    return pool;
}

static void train(session *s, ls_pool *pool, const setting *c, outcome *out)
{
    open_trainer(s, pool, c);
    for (int i = 0; i < STEPS; i++)
        out->steps[i] = session_step(s, i);
    ls_trainer_hash(s->run.trainer, out->hash);
}

/* The control bits of the calling thread; those of exceptions seen are not
 * among them. */
static uint64_t mode_now(void)
{
    ls__fpmode mode = ls__fpmode_set();

    ls__fpmode_restore(mode);
    return mode & ~UINT64_C(0x3f);
}

/* Pool and data are made in the usual mode: they are not what is tested. */
static outcome outcome_of(const setting *c)
{
    ls_pool *pool = pool_of(c);
    session s = make_data(c);
    ls__fpmode kept = ls__fpmode_set();
    uint64_t before, after;
    outcome out;

    memset(&out, 0, sizeof out);
    ls__fpmode_restore(kept);
    if (c->mode)
        c->mode();
    before = mode_now();
    train(&s, pool, c, &out);
    after = mode_now();
    ls__fpmode_restore(kept);
    ck_assert_uint_eq(after, before);
    close_session(&s);
    ls_pool_close(pool);
    return out;
}

/* Who differs from whom, for a message. */
static const char *text(const setting *c, char out[160])
{
    snprintf(out, 160, "%s, %d devices, %d workers, state %d, optimizer %d, "
             "%s%s", c->model->name, c->devices, c->workers, (int)c->state,
             (int)c->optimizer, c->pinned ? "pinned, " : "",
             c->backend ? c->backend : "default backend");
    return out;
}

static void same(const outcome *a, const outcome *b, const setting *c)
{
    char who[160];

    for (int i = 0; i < STEPS; i++) {
        const numbers *x = &a->steps[i], *y = &b->steps[i];

        ck_assert_msg(!memcmp(x, y, sizeof *x), "%s: step %d has loss %08x, "
                      "evaluation %08x, accuracy %08x, lr %08x, weight %.17g; "
                      "not %08x, %08x, %08x, %08x, %.17g", text(c, who), i,
                      y->loss, y->evaluated, y->accuracy, y->lr, y->weight,
                      x->loss, x->evaluated, x->accuracy, x->lr, x->weight);
    }
    ck_assert_msg(!strcmp(a->hash, b->hash), "%s: state %s, not %s",
                  text(c, who), b->hash, a->hash);
}

static void check(const outcome *want, const setting *c)
{
    outcome got = outcome_of(c);

    same(want, &got, c);
}

/* One worker, replicated, unpinned: what all others must equal. */
static setting plain(const model *m, int devices)
{
    return (setting){.model = m, .devices = devices, .workers = 1,
                     .optimizer = LS_ADAMW};
}

/* ------ What may not matter ------ */

/* Proves for each model that the number of workers, pinning, and who updates
 * change no bit on eight devices, with and without row weights. */
LOOP_TEST(workers_and_states, 0, COUNT(models))
{
    static const int workers[] = {1, 2, 3, 4, 7, 8};

    for (int weighted = 0; weighted < 2; weighted++) {
        setting c = plain(&models[_i], 8);
        outcome want;

        c.weighted = weighted;
        want = outcome_of(&c);
        for (size_t w = STRIDE / 2; w < COUNT(workers); w += STRIDE)
            for (int state = LS_REPLICATE; state <= LS_SHARD; state++) {
                c.workers = workers[w];
                c.state = (ls_state)state;
                c.pinned = w % 2 == 1;
                check(&want, &c);
            }
    }
}

/* Proves the same for bf16 layers, which give other bits than f32, and the same
 * ones in every run. */
LOOP_TEST(bf16_layers, 0, COUNT(models))
{
    static const int workers[] = {1, 2, 3, 7};
    setting c = plain(&models[_i], 8);
    outcome f32 = outcome_of(&c), want;

    c.precision = LS_BF16_LAYERS;
    want = outcome_of(&c);
    ck_assert_str_ne(f32.hash, want.hash);
    for (size_t w = 0; w < COUNT(workers); w++) {
        c.workers = workers[w];
        c.state = w % 2 ? LS_SHARD : LS_REPLICATE;
        check(&want, &c);
    }
}

/* Proves the same for every optimizer. */
LOOP_TEST(optimizers, 0, optimizer_kinds())
{
    setting c = plain(&models[1], 8);
    outcome want;

    c.optimizer = (ls_optimizer_kind)_i;
    c.weighted = true;
    want = outcome_of(&c);
    for (int workers = 1 + STRIDE / 2; workers <= 3; workers++)
        for (int state = LS_REPLICATE; state <= LS_SHARD; state++) {
            c.workers = workers;
            c.state = (ls_state)state;
            check(&want, &c);
        }
}

/* Proves the same for device counts that are no powers of two, with fewer
 * devices than workers asked for, too. */
LOOP_TEST(device_counts, 0, COUNT(models))
{
    static const int devices[] = {1, 3, 5, 8};
    static const int workers[] = {2, 3, 5};
    const model *m = &models[_i];

    for (size_t d = 0; d < COUNT(devices); d++) {
        setting c = plain(m, devices[d]);
        outcome want = outcome_of(&c);

        for (size_t w = 0; w < COUNT(workers); w++) {
            c.workers = workers[w];
            c.state = w == 0 ? LS_SHARD : LS_REPLICATE;
            check(&want, &c);
        }
    }
}

/* Proves that a run repeated is the same run. */
LOOP_TEST(repeated, 0, COUNT(models))
{
    setting c = plain(&models[_i], 8);
    outcome want;

    c.workers = 2;
    want = outcome_of(&c);
    for (int i = 0; i < 3; i++)
        check(&want, &c);
}

/* Proves that our kernels and BLIS give the same bytes. */
LOOP_TEST(backends, 0, COUNT(models))
{
    setting c = plain(&models[_i], 8);
    outcome want = outcome_of(&c);
    bool blis = have_blis();

    for (int workers = 1; workers <= 3; workers += 2) {
        c.workers = workers;
        c.backend = "native";
        check(&want, &c);
        c.backend = "blis";
        if (blis)
            check(&want, &c);
    }
}

static void upward(void)
{
    fesetround(FE_UPWARD);
}

static void downward(void)
{
    fesetround(FE_DOWNWARD);
}

static void flushing(void)
{
    (void)ls__fpmode_set();
}

static void flushing_to_zero(void)
{
    (void)ls__fpmode_set();
    fesetround(FE_TOWARDZERO);
}

/* Proves that the floating-point mode of the calling thread matters to no bit,
 * from opening a trainer to its hash, and is the same afterwards. */
LOOP_TEST(callers_fp_mode, 0, COUNT(models))
{
    void (*const modes[])(void) = {upward, downward, flushing,
                                   flushing_to_zero};
    setting c = plain(&models[_i], 8);
    outcome want;

    c.weighted = true;
    want = outcome_of(&c);
    for (size_t i = 0; i < COUNT(modes); i++) {
        c.mode = modes[i];
        c.workers = 1 + (int)i % 2;
        check(&want, &c);
    }
}

/* Proves that two trainers taking turns on one pool are as if each had been
 * alone. */
LOOP_TEST(interleaved, 0, COUNT(models))
{
    setting c[2] = {plain(&models[_i], 8),
                    plain(&models[(_i + 1) % (int)COUNT(models)], 8)};
    ls_pool *pool;
    session s[2];
    outcome want[2], got[2];

    memset(got, 0, sizeof got);
    c[1].optimizer = LS_MOMENTUM;
    c[1].weighted = true;
    for (int k = 0; k < 2; k++)
        want[k] = outcome_of(&c[k]);
    c[0].workers = 3;
    pool = pool_of(&c[0]);
    for (int k = 0; k < 2; k++) {
        s[k] = make_data(&c[k]);
        open_trainer(&s[k], pool, &c[k]);
    }
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < 2; k++)
            got[k].steps[i] = session_step(&s[k], i);
    for (int k = 0; k < 2; k++) {
        ls_trainer_hash(s[k].run.trainer, got[k].hash);
        same(&want[k], &got[k], &c[k]);
        close_session(&s[k]);
    }
    ls_pool_close(pool);
}

/* ------ What does matter ------ */

/* Proves that the comparisons above can fail: other weights of rows, another
 * number of devices or another rule is another outcome. */
LOOP_TEST(comparisons_can_fail, 0, COUNT(models))
{
    setting c = plain(&models[_i], 8);
    outcome want = outcome_of(&c), got;

    c.weighted = true;
    got = outcome_of(&c);
    ck_assert_str_ne(got.hash, want.hash);
    c.weighted = false;
    c.devices = 3;
    got = outcome_of(&c);
    ck_assert_str_ne(got.hash, want.hash);
    c.devices = 8;
    c.optimizer = LS_ADAM;
    got = outcome_of(&c);
    ck_assert_str_ne(got.hash, want.hash);
}

/* ------ Compilers, machines, versions ------ */

/* What print_state and recorded_states train. */
static outcome reference_run(const model *m)
{
    setting c = plain(m, 8);

    c.weighted = true;
    c.workers = 2;
    return outcome_of(&c);
}

/* Proves that the bytes are those of other days, compilers and x86-64
 * machines: recorded with gcc 12 on AVX-512.  A change that means to give other
 * bits says so in its commit and records what
 * "test_determinism --state MODEL" prints. */
LOOP_TEST(recorded_states, 0, COUNT(models))
{
#if defined(__x86_64__)
    ck_assert_str_eq(reference_run(&models[_i]).hash, models[_i].state);
#endif
}

/* ------ Instruction levels ------ */

/* The level is chosen once in a process, so each needs its own: this program
 * calls itself as "test_determinism --state MODEL" with LS_ISA set. */
static const char *printed;

LOOP_TEST(print_state, 0, printed ? COUNT(models) : 0)
{
    outcome out;

    if (strcmp(models[_i].name, printed) != 0)
        return;
    out = reference_run(&models[_i]);
    for (int k = 0; k < STEPS; k++)
        printf("%08x ", out.steps[k].loss);
    printf("%s %s\n", out.hash, ls__kernels()->name);
}

/* What the child prints, in out; its exit status. */
static int state_at(const char *isa, const char *name, char out[256])
{
    int ends[2], status;
    pid_t child;
    size_t n = 0;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        setenv("LS_ISA", isa, 1);
        dup2(ends[1], STDOUT_FILENO);
        setenv("CK_FORK", "no", 1);
        execl("/proc/self/exe", "test_determinism", "--state", name,
              (char *)NULL);
        _exit(127);
    }
    ck_assert_int_gt(child, 0);
    close(ends[1]);
    for (ssize_t got; n < 255 && (got = read(ends[0], out + n, 255 - n)) > 0;)
        n += (size_t)got;
    out[n] = 0;
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Proves that AVX2 and AVX-512 give the same bytes.  (The plain level of
 * x86-64 has no FMA in its products and makes no such promise.) */
LOOP_TEST(levels_agree, 0, COUNT(models))
{
    static const char *const isa[] = {"x86-64-v3", "x86-64-v4"};
    char first[256], second[256], *name[2];

    if (!ls__kernels_by_name(isa[0]) || !ls__kernels_by_name(isa[1]))
        return; /* this machine has one level to offer: nothing to compare */
    ck_assert_int_eq(state_at(isa[0], models[_i].name, first), 0);
    ck_assert_int_eq(state_at(isa[1], models[_i].name, second), 0);
    name[0] = strstr(first, " x86");
    name[1] = strstr(second, " x86");
    ck_assert(name[0] && name[1]);
    ck_assert(!strncmp(name[0] + 1, isa[0], strlen(isa[0])));
    ck_assert(!strncmp(name[1] + 1, isa[1], strlen(isa[1])));
    *name[0] = *name[1] = 0;
    ck_assert_str_eq(first, second);
}

/* The child prints a model's state; an unknown model is no test. */
int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--state")) {
        printed = argv[2];
        setenv("CK_RUN_CASE", "print_state", 1);
        setenv("CK_VERBOSITY", "silent", 1);
    }
    return RUN_TESTS();
}
