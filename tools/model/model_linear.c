/* SPDX-License-Identifier: BSD-3-Clause */
/* linear: one dense layer, mean squared error. */
#include "model/model_parts.h"

static int linear_files(data *d, settings *s, const opt_line *line)
{
    int status = model_load_arrays(d, s, line, LS_F32, 2);

    if (status == OPT_GO)
        status = model_follow(line, "d-out", &s->model.d_out,
                              d->input[1].all.shape[1], s->data.y);
    return status == OPT_GO ? model_load_rest(d, s) : status;
}

static int linear_load(data *d, settings *s, const opt_line *line)
{
    ls_numpy rs;
    int status = model_check_files(s);

    if (status != OPT_GO)
        return status;
    if (s->data.x)
        return linear_files(d, s, line);
    if (opt_refuse_idle(line, OF_FILES, " is for files, --x") != OPT_GO)
        return OPT_WRONG;
    ls_numpy_seed(&rs, (uint32_t)s->data.seed);
    status = data_randn(d, "x", &rs, s->data.rows, s->model.d_in);
    return status == OPT_GO
               ? data_randn(d, "y", &rs, s->data.rows, s->model.d_out)
               : status;
}

/* Names without a layer: "kernel" and "bias", as nnx.Linear has them. */
static void linear_build(ls_graph *g, const model_settings *s)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, &s->d_in);
    ls_node *y = ls_input(g, "y", LS_F32, 1, &s->d_out);

    x = model_rounded(x, s);
    x = ls_dense(x, s->d_out, "");
    ls_output(g, x, "prediction");
    ls_loss(g, ls_mean_squared_error(x, y));
}

static const model linear = {
    .keys = LS_KEYS_NNX,
    .load = linear_load,
    .build = linear_build,
};

static const opt_start own[] = {
    {"rows", "64"}, {"d-in", "8"}, {"batch", ""}, {"steps", "1"},
    {"epochs", ""}, {"optimizer", "sgd"}, {"lr", "0.1"}, {"log-every", "1"},
    {NULL, NULL},
};

const opt_model model_linear = {
    .name = "linear",
    .about = "linear regression: one dense layer, mean squared error",
    .note = "Without --x and --y the data is randn x (rows,d-in), then y "
            "(rows,d-out).",
    .impl = &linear,
    .own = own,
};
