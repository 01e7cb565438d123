/* SPDX-License-Identifier: BSD-3-Clause */
/* See verify.h: small models with every operator family, trained in every way
 * that the library knows. */
#include "info/verify.h"

/* ------ Models ------ */

enum { FEATURES = 20, CLASSES = 5, SIDE = 12, COLORS = 3, TOKENS = 16,
       VOCABULARY = 37, WIDTH = 24 };

static ls_node *linear(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){FEATURES});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){CLASSES});

    return ls_mean_squared_error(ls_dense(x, CLASSES, "out"), y);
}

static ls_node *mlp(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){FEATURES});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = ls_dropout(ls_relu(ls_dense(x, 33, "hidden_0")), 0.2, "dropout");
    x = ls_sigmoid(ls_dense(ls_tanh(ls_dense(x, 17, "hidden_1")), 16,
                            "hidden_2"));
    return ls_cross_entropy(ls_dense(x, CLASSES, "out"), label);
}

static ls_node *cnn(ls_graph *g)
{
    const ls_window three = {.height = 3, .width = 3, .padding = LS_SAME};
    const ls_window two = {.height = 2, .width = 2, .stride_y = 2,
                           .stride_x = 2, .padding = LS_VALID};
    ls_node *x = ls_input(g, "image", LS_F32, 3,
                          (int64_t[]){SIDE, SIDE, COLORS});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = ls_max_pool(ls_relu(ls_conv2d(x, 8, three, "conv1")), two);
    x = ls_gelu(ls_group_norm(ls_conv2d(x, 12, three, "conv2"), 3, "norm"));
    x = ls_flatten(ls_avg_pool(x, two));
    return ls_cross_entropy(ls_dense(x, CLASSES, "out"), label);
}

static ls_node *norm(ls_node *x, ls_statistics of, const char *name)
{
    ls_batch_norm_options o = ls_batch_norm_defaults();

    o.statistics = of;
    return ls_batch_norm_with(x, &o, name);
}

/* A block of resnet, its norms of both kinds. */
static ls_node *resnet(ls_graph *g)
{
    const ls_window three = {.height = 3, .width = 3, .padding = LS_SAME};
    ls_node *x = ls_input(g, "image", LS_F32, 3,
                          (int64_t[]){SIDE, SIDE, COLORS}), *y;
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL);

    x = norm(ls_conv2d(x, 8, three, "conv"), LS_STATISTICS_OF_BATCH, "norm");
    x = ls_relu(x);
    y = norm(ls_conv2d(x, 8, three, "conv1"), LS_STATISTICS_OF_BATCH, "norm1");
    y = ls_conv2d(ls_relu(y), 8, three, "conv2");
    x = ls_relu(ls_add(norm(y, LS_STATISTICS_OF_SHARD, "norm2"), x));
    x = ls_mean_over(x, 2, (const int[]){0, 1});
    return ls_cross_entropy(ls_dense(x, CLASSES, "out"), label);
}

static ls_node *lm(ls_graph *g)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){TOKENS});
    ls_node *x = ls_position(ls_embed(tokens, VOCABULARY, WIDTH, "embed"),
                             "position");
    ls_node *h = ls_self_attention(ls_layer_norm(x, "norm_0"), 3, true,
                                   "attention");
    ls_dense_options bare = ls_dense_defaults();

    bare.no_bias = true;
    x = ls_add(x, h);
    h = ls_gelu(ls_dense(ls_layer_norm(x, "norm_1"), 48, "up"));
    x = ls_add(x, ls_dense(h, WIDTH, "down"));
    return ls_next_token_loss(
        ls_dense_with(ls_layer_norm(x, "norm_2"), VOCABULARY, &bare, "head"),
        tokens);
}

static ls_node *rnn(ls_graph *g)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){TOKENS});
    ls_node *x = ls_embed(tokens, VOCABULARY, WIDTH, "embed");

    x = ls_gru(ls_lstm(x, 19, "lstm"), 17, "gru");
    return ls_next_token_loss(ls_dense(x, VOCABULARY, "head"), tokens);
}

/* ------ Rows ------ */

enum { ELEMENTS = VERIFY_ROWS * SIDE * SIDE * COLORS };

typedef struct rows {
    float x[ELEMENTS], y[VERIFY_ROWS * CLASSES], weight[VERIFY_ROWS];
    int32_t label[VERIFY_ROWS], token[VERIFY_ROWS * TOKENS];
    uint32_t word[VERIFY_ROWS * TOKENS];
} rows;

static void numbers(ls_key key, int n, int below, uint32_t *word, int32_t *out)
{
    ls_random_bits(key, 0, n, word);
    for (int i = 0; i < n; i++)
        out[i] = (int32_t)(word[i] % (uint32_t)below);
}

static void draw(rows *r, int step)
{
    ls_key key = ls_key_fold_in(ls_key_new(2026), (uint32_t)step);

    ls_random_normal(ls_key_split(key, 0), 0, ELEMENTS, r->x);
    ls_random_normal(ls_key_split(key, 1), 0, VERIFY_ROWS * CLASSES, r->y);
    numbers(ls_key_split(key, 2), VERIFY_ROWS, CLASSES, r->word, r->label);
    numbers(ls_key_split(key, 3), VERIFY_ROWS * TOKENS, VOCABULARY, r->word,
            r->token);
    for (int i = 0; i < VERIFY_ROWS; i++)
        r->weight[i] = (float)(i % 3) / 2;
}

/* An input that the model does not have is not set. */
static int set(ls_batch *b, const char *name, ls_dtype type, const void *data)
{
    int status = ls_batch_set(b, name, type, data, VERIFY_ROWS);

    return status == LS_ENOTFOUND ? 0 : status;
}

int verify_rows(ls_batch *b, const verify_run *run, int step)
{
    static _Thread_local rows r; /* PUs may compute at once */
    int status;

    draw(&r, step);
    if ((status = set(b, "x", LS_F32, r.x)) < 0 ||
        (status = set(b, "image", LS_F32, r.x)) < 0 ||
        (status = set(b, "y", LS_F32, r.y)) < 0 ||
        (status = set(b, "label", LS_I32, r.label)) < 0 ||
        (status = set(b, "tokens", LS_I32, r.token)) < 0)
        return status;
    return ls_batch_set_weights(b, run->masked ? r.weight : NULL, VERIFY_ROWS);
}

/* ------ Runs ------ */

static const verify_run runs[] = {
    {"linear, sgd", linear, .optimizer = LS_SGD},
    {"linear, 3 devices", linear, .devices = 3},
    {"linear, mean of shards", linear, .masked = true,
     .mean = LS_MEAN_OF_SHARDS, .devices = 2},
    {"mlp, adam", mlp, .optimizer = LS_ADAM},
    {"mlp, one worker", mlp, "mlp, adam", .optimizer = LS_ADAM,
     .workers = 1},
    {"mlp, sharded", mlp, "mlp, adam", .optimizer = LS_ADAM,
     .state = LS_SHARD},
    {"mlp, BLIS", mlp, "mlp, adam", "blis", .optimizer = LS_ADAM},
    {"mlp, 1 device", mlp, .optimizer = LS_ADAM, .devices = 1},
    {"mlp, momentum, cosine", mlp, .optimizer = LS_MOMENTUM,
     .schedule = LS_COSINE},
    {"mlp, masked rows", mlp, .optimizer = LS_ADAMW, .masked = true},
    {"mlp, accumulated", mlp, .optimizer = LS_ADAM, .accumulate = 2},
    {"mlp, clipped", mlp, .optimizer = LS_ADAM, .clip_norm = 0.05},
    {"cnn, adam", cnn, .optimizer = LS_ADAM},
    {"cnn, sharded, one worker", cnn, "cnn, adam", .optimizer = LS_ADAM,
     .state = LS_SHARD, .workers = 1},
    {"cnn, BLIS", cnn, "cnn, adam", "blis", .optimizer = LS_ADAM},
    {"cnn, nesterov, clipped", cnn, .optimizer = LS_NESTEROV,
     .clip_norm = 0.1},
    {"cnn, bf16", cnn, .optimizer = LS_ADAM, .precision = LS_BF16_LAYERS},
    {"lm, adamw", lm, .optimizer = LS_ADAMW},
    {"lm, sharded", lm, "lm, adamw", .optimizer = LS_ADAMW,
     .state = LS_SHARD},
    {"lm, accumulated, clipped", lm, .optimizer = LS_ADAMW, .accumulate = 3,
     .clip_norm = 0.5},
    {"lm, 4 devices, masked rows", lm, .optimizer = LS_ADAMW, .devices = 4,
     .masked = true, .schedule = LS_LINEAR},
    {"lm, bf16", lm, .optimizer = LS_ADAMW, .precision = LS_BF16_LAYERS},
    {"lm, f32x3", lm, .optimizer = LS_ADAMW, .precision = LS_F32X3_LAYERS},
    {"rnn, adam", rnn, .optimizer = LS_ADAM},
    {"rnn, sharded, one worker", rnn, "rnn, adam", .optimizer = LS_ADAM,
     .state = LS_SHARD, .workers = 1},
    {"rnn, BLIS", rnn, "rnn, adam", "blis", .optimizer = LS_ADAM},
    {"rnn, clipped, accumulated", rnn, .optimizer = LS_ADAM,
     .clip_norm = 0.1, .accumulate = 2},
    {"rnn, bf16", rnn, .optimizer = LS_ADAM, .precision = LS_BF16_LAYERS},
    {"resnet, accumulated", resnet, .optimizer = LS_NESTEROV, .devices = 5,
     .accumulate = 2, .masked = true},
    {"resnet, one worker", resnet, "resnet, accumulated",
     .optimizer = LS_NESTEROV, .devices = 5, .accumulate = 2, .masked = true,
     .workers = 1},
    {"resnet, BLIS", resnet, "resnet, accumulated", "blis",
     .optimizer = LS_NESTEROV, .devices = 5, .accumulate = 2, .masked = true},
};

const verify_run *verify_run_at(int i)
{
    return i < (int)(sizeof runs / sizeof *runs) ? &runs[i] : NULL;
}
