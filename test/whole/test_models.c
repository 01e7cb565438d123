/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of model in small, with every way to train it: the number of
 * workers and the placement change no bit, and no step allocates.
 *
 * test_determinism takes one thing at a time further; here they come together,
 * as the tools' options let them. */
#include "layers.h"
#include "models.h"

#include "faults.h"

enum { STEPS = 3, ROWS = 16 };

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ------ Models ------ */

/* All four activations, and dropout. */
static ls_graph *mlp(void)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){12});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = ls_relu(ls_dense(x, 20, "a"));
    x = ls_tanh(ls_dense(x, 16, "b"));
    x = ls_dropout(ls_gelu(ls_dense(x, 24, "c")), 0.25, "drop");
    x = ls_sigmoid(ls_dense(ls_round_bf16(x), 36, "d"));
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, 4, "out"), label)));
    return g;
}

/* A convolution with group norm, pools, dropout. */
static ls_graph *cnn(void)
{
    ls_window w = {3, 3, 1, 1, LS_SAME}, two = {2, 2, 2, 2, LS_VALID};
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){8, 6, 4});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = ls_max_pool(ls_relu(ls_conv2d(x, 12, w, "conv1")), two);
    x = ls_group_norm(ls_conv2d(x, 20, w, "conv2"), 5, "norm");
    x = ls_flatten(ls_avg_pool(ls_tanh(x), two));
    x = ls_dense(ls_dropout(x, 0.5, "drop"), 4, "dense");
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

static ls_graph *transformer(bool causal)
{
    ls_graph *g = empty_graph();
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){12});
    ls_node *x = ls_position(ls_embed(tokens, 32, 32, "emb"), "pos");
    ls_node *h = ls_self_attention(ls_layer_norm(x, "norm"), 4, causal, "att");

    x = ls_add(x, causal ? ls_dropout(h, 0.2, "drop") : h);
    h = ls_gelu(ls_dense(x, 40, "up"));
    x = ls_add(x, ls_dense(h, 32, "down"));
    x = dense_no_bias(x, 32, "head");
    OK(ls_loss(g, ls_next_token_loss(x, tokens)));
    return g;
}

static ls_graph *lm(void)
{
    return transformer(false);
}

static ls_graph *gpt(void)
{
    return transformer(true);
}

static const struct {
    const char *name;
    ls_graph *(*graph)(void);
    ls_keys keys;
    int64_t size;  /* elements a row of x; 0: tokens instead */
    const char *odd; /* a placement: other axes than "shard" takes */
    const char *few; /* another: most parameters stay with the caller */
} models[] = {
    {"mlp", mlp, LS_KEYS_NNX, 12, "[ac].kernel=1,?.kernel=0,*=0", "out.*=0"},
    {"cnn", cnn, LS_KEYS_NNX, 192, "conv?.kernel=3,conv*=0,*=0",
     "conv1.kernel=2"},
    {"lm", lm, LS_KEYS_LINEN, 0, "att.out.*=0,att.*=1,*.bias=0,*=0",
     "*.kernel=0"},
    {"gpt", gpt, LS_KEYS_LINEN, 0, "*=0", "att.[kq]*=2,emb.*=1"},
};

/* ------ Ways to train ------ */

static const ls_boundary drop = {2, 0.25};

static const struct {
    ls_optimizer_kind optimizer;
    ls_schedule schedule;
    double clip;
    int accumulate;
    ls_mean mean;
    bool weighted;
} ways[] = {
    {LS_SGD, {.kind = LS_LINEAR, .decay_steps = 3, .end_lr = 0.01}, 0.05, 1,
     LS_MEAN_OF_SHARDS, true},
    {LS_MOMENTUM,
     {.kind = LS_PIECEWISE, .warmup = 1, .n_boundaries = 1,
      .boundaries = &drop},
     0, 2, LS_SUM, false},
    {LS_NESTEROV, {.kind = LS_EXPONENTIAL, .decay_steps = 2, .decay_rate = 0.5},
     0.3, 4, LS_MEAN_EXACT, true},
    {LS_ADAM, {.kind = LS_COSINE, .warmup = 1, .decay_steps = 3}, 1e9, 1,
     LS_MEAN_EXACT, false},
    {LS_ADAMW, {.kind = LS_CONSTANT, .warmup = 2}, 0.1, 2, LS_MEAN_EXACT, true},
};

static ls_trainer_options options(int model, int way)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.seed = 5;
    o.keys = models[model].keys;
    o.optimizer = ls_adamw(0.02);
    o.optimizer.momentum = 0.9;
    o.optimizer.kind = ways[way].optimizer;
    o.schedule = ways[way].schedule;
    o.clip_norm = ways[way].clip;
    o.accumulate = ways[way].accumulate;
    o.mean = ways[way].mean;
    return o;
}

/* ------ Runs ------ */

typedef struct session {
    run run;
    float *x, weights[ROWS];
    int32_t *integers;
} session;

static void set_batch(session *s, int model, bool weighted)
{
    s->integers = integers(3, models[model].size ? 4 : 32, ROWS * 12);
    s->x = normals(4, ROWS * (models[model].size + 1));
    for (int i = 0; i < ROWS; i++)
        s->weights[i] = (float)(1 + i % 3);
    if (models[model].size) {
        OK(ls_batch_set(s->run.batch, "x", LS_F32, s->x, ROWS));
        OK(ls_batch_set(s->run.batch, "label", LS_I32, s->integers, ROWS));
    } else {
        OK(ls_batch_set(s->run.batch, "tokens", LS_I32, s->integers, ROWS));
    }
    OK(ls_batch_set_weights(s->run.batch, weighted ? s->weights : NULL, ROWS));
}

static void open_session(session *s, int model, int way, int workers,
                         const char *backend)
{
    ls_trainer_options o = options(model, way);

    o.backend = backend;
    s->run = open_run_on(4, workers, models[model].graph(), &o);
    set_batch(s, model, ways[way].weighted);
}

static void close_session(session *s)
{
    close_run(&s->run);
    free(s->x);
    free(s->integers);
}

/* Placement i of parameters; from 4 on moments are placed otherwise. */
static const char *placement(int model, int i)
{
    const char *const text[] = {"replicate", "shard", models[model].odd,
                                models[model].few};

    return text[i % 4];
}

/* The bits of all losses, norms and rates, then the state. */
static void outcome(int model, int way, int workers, int place, char *out)
{
    session s;

    open_session(&s, model, way, workers, NULL);
    OK(ls_state_place(s.run.trainer, LS_STATE_PARAMS,
                      placement(model, place)));
    OK(ls_state_place(s.run.trainer, LS_STATE_OPTIMIZER,
                      placement(model, place + place / 4)));
    for (int i = 0; i < STEPS; i++) {
        ls_result r = step(&s.run);

        out += sprintf(out, "%a %a %a ", (double)r.loss, (double)r.lr,
                       (double)r.grad_norm);
    }
    ls_trainer_hash(s.run.trainer, out);
    close_session(&s);
}

/* Proves that workers and placements change no bit of any model, for every
 * optimizer, schedule, limit of the norm, mean and number of micro-batches. */
LOOP_TEST(same_bits, 0, COUNT(models) * COUNT(ways))
{
    static const int workers[] = {1, 2, 3, 7};
    int model = _i / COUNT(ways), way = _i % COUNT(ways);
    char want[512], got[512];

    outcome(model, way, 1, 0, want);
    for (int w = 0; w < COUNT(workers); w++)
        for (int place = 0; place < 5; place++) {
            outcome(model, way, workers[w], place, got);
            ck_assert_msg(!strcmp(want, got), "%s, way %d, %d workers, "
                          "placement %d:\n%s, not\n%s", models[model].name,
                          way, workers[w], place, got, want);
        }
}

#if OWN_MALLOC

/* Proves that steps, evaluations and the setting of batches allocate nothing,
 * from the first on, in any model. */
LOOP_TEST(no_allocation, 0, COUNT(models) * COUNT(ways))
{
    int model = _i / COUNT(ways), way = _i % COUNT(ways), status = 0;
    ls_result r;
    session s;

    open_session(&s, model, way, 2, "native");
    fail_memory = ALL_MEMORY;
    watch_from(0);
    for (int i = 0; i < STEPS && status == 0; i++) {
        status = ls_batch_set_weights(s.run.batch, s.weights, ROWS);
        if (status == 0)
            status = ls_step(s.run.trainer, s.run.batch, &r);
        if (status == 0)
            status = ls_evaluate(s.run.trainer, s.run.batch, &r);
    }
    atomic_store(&watching, false);
    OK(status);
    ck_assert_int_eq(atomic_load(&count), 0);
    close_session(&s);
}

#endif

MAIN()
