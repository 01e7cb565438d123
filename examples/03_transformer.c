/* SPDX-License-Identifier: BSD-3-Clause */
/* A small transformer with a causal mask learns a sequence that repeats itself
 * with a period of its own in each row, and then continues one by itself: each
 * token it says is read back as input.  Prints the loss as it falls; exits 1
 * when the continuation is wrong. */
#include <lockstep.h>

#include <stdio.h>
#include <string.h>

enum {
    TOKENS = 12, /* different ones */
    LENGTH = 24, /* of a row */
    WIDTH = 32,
    HEADS = 2,
    BLOCKS = 2,
    ROWS = 32,
    STEPS = 120
};

/* x + attention(norm(x)), then that + dense(gelu(dense(norm(x)))). */
static ls_node *block(ls_node *x, int i)
{
    static const char *const part[] = {"norm_1", "attention", "norm_2", "up",
                                       "down"};
    char name[5][32]; /* copied by the layers */
    ls_node *h;

    for (int k = 0; k < 5; k++)
        snprintf(name[k], sizeof name[k], "block_%d.%s", i, part[k]);
    h = ls_layer_norm(x, name[0]);
    h = ls_self_attention(h, HEADS, true, name[1]);
    x = ls_add(x, h);
    h = ls_layer_norm(x, name[2]);
    h = ls_gelu(ls_dense(h, 4 * WIDTH, name[3]));
    h = ls_dense(h, WIDTH, name[4]);
    return ls_add(x, h);
}

static void build(ls_graph *g)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){LENGTH});
    ls_node *x = ls_embed(tokens, TOKENS, WIDTH, "embed");

    x = ls_position(x, "position");
    for (int i = 0; i < BLOCKS; i++)
        x = block(x, i);
    x = ls_dense(ls_layer_norm(x, "norm"), TOKENS, "logits");
    ls_output(g, x, "logits");
    ls_loss(g, ls_next_token_loss(x, tokens));
}

/* Row i counts by 1 + i % 3 from i on: the period is 12, 6 or 4. */
static void make_data(int32_t *tokens)
{
    for (int i = 0; i < ROWS; i++)
        for (int t = 0; t < LENGTH; t++)
            tokens[i * LENGTH + t] = (i + t * (1 + i % 3)) % TOKENS;
}

static int train(ls_trainer *t, ls_batch *b, int32_t *tokens)
{
    ls_result r;

    for (int step = 0; step < STEPS; step++) {
        if (ls_batch_set(b, "tokens", LS_I32, tokens, ROWS) < 0 ||
            ls_step(t, b, &r) < 0)
            return -1;
        if (step % 20 == 0 || step == STEPS - 1)
            printf("step %3d  loss %.4f\n", step, (double)r.loss);
    }
    return 0;
}

/* The most likely token at a position of row 0. */
static int32_t likely(const float *logits, int at)
{
    return (int32_t)ls_random_categorical(ls_key_new(0), TOKENS,
                                          logits + at * TOKENS, 0);
}

/* Keep the first four tokens of a row and let the model say the others; how
 * many are wrong, or -1. */
static int continue_row(ls_trainer *t, ls_batch *b, const int32_t *row)
{
    static float logits[ROWS * LENGTH * TOKENS];
    static int32_t said[ROWS * LENGTH]; /* the other rows stay zero */
    int wrong = 0;

    memcpy(said, row, 4 * sizeof *row);
    for (int at = 4; at < LENGTH; at++) {
        if (ls_batch_set(b, "tokens", LS_I32, said, ROWS) < 0 ||
            ls_predict(t, b, "logits", ROWS * LENGTH * TOKENS, logits) < 0)
            return -1;
        said[at] = likely(logits, at - 1);
        wrong += said[at] != row[at];
    }
    printf("says");
    for (int at = 0; at < LENGTH; at++)
        printf("%s %d", at == 4 ? " |" : "", (int)said[at]);
    printf("; %d wrong\n", wrong);
    return wrong;
}

int main(void)
{
    static int32_t tokens[ROWS * LENGTH];
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_trainer_options o = ls_trainer_defaults();
    int status, wrong = -1;

    o.optimizer = ls_adamw(3e-3);
    o.keys = LS_KEYS_LINEN;
    make_data(tokens);
    status = ls_mesh_open(&mesh, NULL);
    if (status == 0)
        status = ls_pool_open(&pool, mesh, NULL);
    if (status == 0)
        status = ls_graph_new(&g);
    if (status == 0) {
        build(g);
        status = ls_trainer_open(&t, pool, g, &o);
    }
    if (status == 0)
        status = ls_batch_open(&b, t);
    if (status == 0)
        status = train(t, b, tokens);
    if (status == 0)
        wrong = continue_row(t, b, tokens + LENGTH); /* row 1 counts by 2 */
    if (wrong < 0)
        puts(ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    return wrong == 0 ? 0 : 1;
}
