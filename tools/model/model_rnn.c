/* SPDX-License-Identifier: BSD-3-Clause */
/* rnn: recurrent layers on text byte by byte, or on the rows of a table that
 * follow each other. */
#include "model/model_parts.h"

#include <stdio.h>

/* ------ what is read ------ */

static int series_load(data *d, settings *s, const opt_line *line)
{
    table_file f = {.path = s->data.path,
                    .valid = s->data.valid,
                    .seed = s->data.seed,
                    .wants = {.target = s->data.target,
                              .ignore = s->data.ignore,
                              .task = LS_TABLE_REGRESSION,
                              .missing_mean = s->data.missing == DATA_MEAN,
                              .window = s->model.window,
                              .horizon = s->model.horizon}};
    int status = opt_refuse(line, OF_TEXT, " is for texts, not tables");

    if (status == OPT_GO)
        status = model_check_files(s);
    if (status == OPT_GO)
        status = data_table(d, &f);
    if (status == OPT_GO && s->data.eval_path)
        status = data_table_held(d, s->data.eval_path);
    if (status != OPT_GO)
        return status;
    model_table_defaults(s, line);
    s->model.regression = true;
    s->model.d_in = ls_coding_width(data_coding(d));
    return OPT_GO;
}

static int rnn_load(data *d, settings *s, const opt_line *line)
{
    int status;

    if (!s->data.path)
        return opt_fail(OPT_WRONG, "rnn needs --data FILE, a text or a table");
    if (s->data.target && !s->model.window)
        return opt_fail(OPT_WRONG,
                        "--window N says how many rows of %s a "
                        "prediction sees",
                        s->data.path);
    if (s->data.target)
        return series_load(d, s, line);
    status = opt_refuse(line, OF_END, " is for tables, with --target and "
                        "--window");
    if (status == OPT_GO)
        status = opt_refuse_idle(line, OF_TABLE, " needs --target");
    if (status != OPT_GO)
        return status;
    return text_load(&d->text, s->data.path, s->data.eval_path,
                     s->model.seq_len, s->model.vocab,
                     ls_key_new(s->data.seed));
}

/* ------ layers ------ */

/* The names are those of an nnx module with lists of cells and dropouts. */
static ls_node *rnn_layers(ls_node *x, const model_settings *s)
{
    char cell[32], drop[32];

    for (int64_t i = 0; i < s->layers && x; i++) {
        snprintf(cell, sizeof cell, "cells.%lld", (long long)i);
        snprintf(drop, sizeof drop, "drops.%lld", (long long)i);
        x = s->cell == MODEL_GRU ? ls_gru(x, s->units, cell)
                                 : ls_lstm(x, s->units, cell);
        x = model_drop(x, s->dropout, drop);
    }
    return x;
}

static void text_build(ls_graph *g, const model_settings *s)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, &s->seq_len);
    ls_node *x = ls_embed(tokens, s->vocab, s->d_model, "embed");

    x = ls_dense(rnn_layers(x, s), s->vocab, "head");
    ls_output(g, x, "logits");
    ls_loss(g, ls_next_token_loss(x, tokens));
}

/* Builds a model that predicts the target from the last step's state. */
static void series_build(ls_graph *g, const model_settings *s)
{
    ls_node *x = ls_input(g, "x", LS_F32, 2,
                          (int64_t[]){s->window, s->d_in});
    ls_node *y = ls_input(g, "y", LS_F32, 1, &(int64_t){1});

    x = rnn_layers(x, s);
    x = ls_flatten(ls_slice(x, 0, s->window - 1, 1));
    x = ls_dense(x, 1, "head");
    ls_output(g, x, "prediction");
    ls_loss(g, ls_mean_squared_error(x, y));
}

static void rnn_build(ls_graph *g, const model_settings *s)
{
    if (s->window)
        series_build(g, s);
    else
        text_build(g, s);
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
    {"optimizer", "adam"}, {"lr", "0.002"}, {"log-every", "10"},
    {"epochs", ""}, {NULL, NULL},
};

const opt_model model_rnn = {
    .name = "rnn",
    .about = "recurrent layers, LSTM or GRU, on a text or a series in a table",
    .note = "The text is read and cut into windows as for gpt.  Bytes are "
            "embedded (d-model),\ngo through layers of units from a state of "
            "zeros, and a dense layer predicts the\nnext byte.\n--data F.csv "
            "--target COLUMN --window N is a series, a row for each point in\n"
            "time: all columns, standardised, of N rows go through the layers, "
            "and a dense\nlayer predicts the target --window :horizon rows "
            "after the last.  --valid\n0.2 holds the last fifth of the rows "
            "back to evaluate on; --eval-data is another\ntable.",
    .impl = &rnn,
    .own = own_rnn,
};
