/* rnn: recurrent layers on text byte by byte. */
#include "model_parts.h"

#include <stdio.h>

static int rnn_load(data *d, settings *s, const opt_line *line)
{
    (void)line;
    if (!s->data)
        return opt_fail(OPT_WRONG, "rnn needs --data FILE, a text");
    return text_load(&d->text, s->data, s->eval_data, s->seq_len, s->vocab,
                     ls_key_new(s->data_seed));
}

/* The names are those of an nnx module with lists of cells and dropouts. */
static void rnn_build(ls_graph *g, const settings *s)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, &s->seq_len);
    ls_node *x = ls_embed(tokens, s->vocab, s->d_model, "embed");
    char cell[32], drop[32];

    for (int64_t i = 0; i < s->layers && x; i++) {
        snprintf(cell, sizeof cell, "cells.%lld", (long long)i);
        snprintf(drop, sizeof drop, "drops.%lld", (long long)i);
        x = s->cell == MODEL_GRU ? ls_gru(x, s->units, cell)
                                 : ls_lstm(x, s->units, cell);
        x = model_drop(x, s->dropout, drop);
    }
    x = ls_dense(x, s->vocab, "head");
    ls_output(g, x, "logits");
    ls_loss(g, ls_next_token_loss(x, tokens));
}

static const model rnn = {
    .keys = LS_KEYS_NNX,
    .tokens = true,
    .load = rnn_load,
    .build = rnn_build,
};

const opt_word model_cells[] = {
    {"lstm", MODEL_LSTM}, {"gru", MODEL_GRU}, {NULL, 0}};

static const opt_start own_rnn[] = {
    {"seed", "42"}, {"data-seed", "1234"}, {"vocab", "256"},
    {"d-model", "64"}, {"layers", "2"}, {"batch", "32"}, {"steps", "1000"},
    {"optimizer", "adam"}, {"lr", "0.002"}, {"log-every", "10"}, {NULL, NULL},
};

const opt_model model_rnn = {
    .name = "rnn",
    .about = "recurrent language model, LSTM or GRU, on any text file",
    .note = "The text is read and cut into windows as for gpt.  Bytes are "
            "embedded (d-model),\ngo through layers of units from a state of "
            "zeros, and a dense layer predicts the\nnext byte.",
    .impl = &rnn,
    .own = own_rnn,
};
