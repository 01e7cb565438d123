/* SPDX-License-Identifier: BSD-3-Clause */
/* lm and gpt: a transformer on tokens. */
#include "model/model_parts.h"

#include <math.h>
#include <stdio.h>

/* ------ lm: a transformer on tokens, without a causal mask ------ */

static int lm_load(data *d, settings *s, const opt_line *line)
{
    ls_numpy rs;
    int status;

    s->model.norm_epsilon = 1e-6; /* Flax's */
    if (s->data.mask && !s->data.x)
        return opt_fail(OPT_WRONG, "--mask weighs the rows of --x");
    if (s->data.valid > 0 && s->data.eval_x && !line->repeats)
        return opt_fail(OPT_WRONG, "--valid and --eval-x exclude each other");
    if (!s->data.x) {
        if (opt_refuse_idle(line, OF_FILES, " is for files, --x") != OPT_GO)
            return OPT_WRONG;
        ls_numpy_seed(&rs, (uint32_t)s->data.seed);
        return data_randint(d, "tokens", &rs, s->data.rows, s->model.seq_len,
                            s->model.vocab);
    }
    status = data_load(d, "tokens", s->data.x, LS_I32, 2);
    if (status == OPT_GO)
        status = model_follow(line, "rows", &s->data.rows, d->rows, s->data.x);
    if (status == OPT_GO)
        status = model_follow(line, "seq-len", &s->model.seq_len,
                              d->input[0].all.shape[1], s->data.x);
    return status == OPT_GO ? model_load_rest(d, s) : status;
}

/* "blocks_3.Dense_0" in room. */
static const char *block_name(char room[64], int64_t i, const char *layer)
{
    snprintf(room, 64, "blocks_%lld.%s", (long long)i, layer);
    return room;
}

static ls_node *norm(ls_node *x, const char *name, const model_settings *s)
{
    ls_norm_options o = ls_norm_defaults();

    o.epsilon = s->norm_epsilon;
    return s->norm ? ls_rms_norm(x, o.epsilon, name)
                   : ls_layer_norm_with(x, &o, name);
}

/* "LayerNorm_0" of a block, or that of the other norm. */
static ls_node *block_norm(ls_node *x, int64_t i, int number,
                           const model_settings *s)
{
    char part[32], name[64];

    snprintf(part, sizeof part, "%s_%d", s->norm ? "RMSNorm" : "LayerNorm",
             number);
    return norm(x, block_name(name, i, part), s);
}

static ls_node *attention(ls_node *x, int64_t i, bool causal,
                          const model_settings *s)
{
    char name[64];

    return ls_grouped_attention(
        x, (int)s->heads, (int)(s->kv_heads ? s->kv_heads : s->heads),
        s->positions ? 10000 : 0, causal,
        block_name(name, i, "SelfAttention_0"));
}

static ls_node *unit(ls_node *x, int64_t i, const model_settings *s)
{
    char name[64];

    if (s->ffn) {
        x = ls_swiglu(x, s->d_ff, block_name(name, i, "SwiGLU_0"));
        return model_product(x, s->d_model, block_name(name, i, "Dense_1"));
    }
    x = ls_gelu(ls_dense(x, s->d_ff, block_name(name, i, "Dense_0")));
    return ls_dense(x, s->d_model, block_name(name, i, "Dense_1"));
}

/* Dropout on what is added. */
static ls_node *drop_added(ls_node *x, int64_t i, const char *layer,
                           const model_settings *s)
{
    double rate = s->residual_dropout > 0 ? s->residual_dropout : s->dropout;
    char name[64];

    return model_drop(x, rate, block_name(name, i, layer));
}

/* x + attention(norm(x)), then x + unit(norm(x)): the pre-norm form.
 * Dropout is where Vaswani et al. 2017 have it: on what is added, and on the
 * embedding. */
static ls_node *block(ls_node *x, int64_t i, bool causal,
                      const model_settings *s)
{
    ls_node *h = attention(block_norm(x, i, 0, s), i, causal, s);

    x = ls_add(x, drop_added(h, i, "Dropout_0", s));
    h = unit(block_norm(x, i, 1, s), i, s);
    return ls_add(x, drop_added(h, i, "Dropout_1", s));
}

static void transformer(ls_graph *g, bool causal, const model_settings *s)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, &s->seq_len);
    ls_node *x = ls_embed(tokens, s->vocab, s->d_model, "tok_emb");

    if (!s->positions)
        x = ls_position(x, "pos_emb");
    x = model_drop(x, s->dropout, "Dropout_0");
    for (int64_t i = 0; i < s->layers && x; i++)
        x = block(x, i, causal, s);
    x = norm(x, "ln_f", s);
    if (s->tie)
        ls_tie(g, "head.kernel", "tok_emb.embedding", true);
    x = model_product(x, s->vocab, "head");
    ls_output(g, x, "logits");
    ls_loss(g, ls_next_token_loss(x, tokens));
}

static void lm_build(ls_graph *g, const model_settings *s)
{
    transformer(g, false, s);
}

static const model lm = {
    .keys = LS_KEYS_LINEN,
    .parallel_only = true,
    .tokens = true,
    .load = lm_load,
    .build = lm_build,
};

#define ADAPTED {"lora:on", "*.query.kernel,*.value.kernel"}

static const opt_start own_lm[] = {
    {"seed", "42"}, {"data-seed", "1234"}, {"rows", "8192"}, {"batch", "32"},
    {"steps", "50"}, {"epochs", ""}, {"optimizer", "adamw"}, {"lr", "0.0003"},
    {"log-every", "10"}, ADAPTED, {NULL, NULL},
};

const opt_model model_lm = {
    .name = "lm",
    .about = "transformer language model, WITHOUT a causal mask",
    .note = "There is no causal mask: every position attends to every other, "
            "the next token\nit is to predict among them.  The loss is of use "
            "to compare machines and\nprograms; the model cannot generate "
            "text.  The position table is trained.\nWithout --x the tokens are "
            "random integers (rows,seq-len) below vocab.",
    .impl = &lm,
    .own = own_lm,
};

/* ------ gpt: the same with a causal mask, on text byte by byte ------ */

static int gpt_load(data *d, settings *s, const opt_line *line)
{
    (void)line;
    if (s->model.norm > MODEL_RMS)
        return opt_fail(OPT_WRONG, "--norm: gpt has layer or rms");
    if (!s->data.path)
        return opt_fail(OPT_WRONG, "gpt needs --data FILE, a text");
    return text_load(&d->text, s->data.path, s->data.eval_path,
                     s->model.seq_len, s->model.vocab,
                     ls_key_new(s->data.seed));
}

/* GPT-2's start: all kernels and tables are normal of deviation 0.02, and what
 * blocks add, 2 x layers times, is less by the root of that. */
static void start_small(ls_graph *g, int64_t layers)
{
    ls_init all = ls_init_random(LS_NORMAL, 0.02);
    ls_init added =
        ls_init_random(LS_NORMAL, 0.02 / sqrt(2.0 * (double)layers));

    ls_init_params(g, "*kernel", &all);
    ls_init_params(g, "*emb*", &all);
    ls_init_params(g, "*.out.kernel", &added);
    ls_init_params(g, "*.Dense_1.kernel", &added);
}

static void gpt_build(ls_graph *g, const model_settings *s)
{
    transformer(g, true, s);
    if (s->start)
        start_small(g, s->layers);
}

static const model gpt = {
    .keys = LS_KEYS_LINEN,
    .tokens = true,
    .load = gpt_load,
    .build = gpt_build,
};

static const opt_start own_gpt[] = {
    {"seed", "42"}, {"data-seed", "1234"}, {"vocab", "256"}, {"batch", "32"},
    {"steps", "1000"}, {"optimizer", "adamw"}, {"lr", "0.0003"},
    {"log-every", "10"}, ADAPTED, {NULL, NULL},
};

const opt_model model_gpt = {
    .name = "gpt",
    .about = "transformer language model with a causal mask, on any text file",
    .note = "The text is read byte by byte.  Each step takes random windows of "
            "seq-len\nbytes from its first nine tenths; the last tenth is held "
            "out for --eval-every.\nTokens of 16 bits, as nanoGPT's .bin files "
            "hold them, are read, too; --vocab\nsays how many there are.  With "
            "--eval-data all of --data is trained on.  The\nmodel is lm's "
            "with a mask; --norm rms --positions rotary --ffn swiglu\n"
            "--heads :kv=N --tie make it one as Llama is.",
    .impl = &gpt,
    .own = own_gpt,
};
