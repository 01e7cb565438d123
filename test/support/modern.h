/* SPDX-License-Identifier: BSD-3-Clause */
/* The transformers of golden/modern_lm.h. */
#ifndef TEST_MODERN_H
#define TEST_MODERN_H

#include "calls.h"
#include "golden/modern_lm.h"
#include "layers.h"
#include "models.h"

static inline ls_node *norm(ls_node *x, const golden_modern_lm *c,
                            const char *name)
{
    return c->rms ? ls_rms_norm(x, 1e-6, name) : ls_layer_norm(x, name);
}

static inline ls_node *block(ls_node *x, const golden_modern_lm *c, int64_t i)
{
    const char *const part[] = {"norm_0", "SelfAttention_0", "norm_1",
                                "SwiGLU_0", "Dense_0", "Dense_1"};
    char name[6][64];
    ls_node *h;

    for (int k = 0; k < 6; k++)
        snprintf(name[k], sizeof name[k], "blocks_%lld.%s", (long long)i,
                 part[k]);
    h = ls_grouped_attention(norm(x, c, name[0]), c->heads, c->kv,
                             (double)c->base, true, name[1]);
    x = ls_add(x, h);
    h = norm(x, c, name[2]);
    if (c->gated)
        h = dense_no_bias(ls_swiglu(h, c->ff, name[3]), c->width, name[5]);
    else
        h = ls_dense(ls_gelu(ls_dense(h, c->ff, name[4])), c->width, name[5]);
    return ls_add(x, h);
}

static inline ls_graph *modern_graph(const golden_modern_lm *c)
{
    ls_graph *g = empty_graph();
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, &c->length);
    ls_node *x = ls_embed(tokens, c->vocab, c->width, "tok_emb");

    if (!c->base)
        x = ls_position(x, "pos_emb");
    for (int64_t i = 0; i < c->layers; i++)
        x = block(x, c, i);
    if (c->tie)
        OK(ls_tie(g, "head.kernel", "tok_emb.embedding", true));
    x = dense_no_bias(norm(x, c, "ln_f"), c->vocab, "head");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_next_token_loss(x, tokens)));
    return g;
}

static inline ls_trainer_options options_of(const golden_modern_lm *c)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.seed = c->seed;
    o.keys = LS_KEYS_LINEN;
    o.optimizer = ls_adamw(c->lr);
    return o;
}

static inline int32_t *tokens_of(const golden_modern_lm *c)
{
    return integers(c->data_seed, (int32_t)c->vocab, 10 * c->batch * c->length);
}

#endif
