/* SPDX-License-Identifier: BSD-3-Clause */
/* See model_parts.h. */
#include "model/model_parts.h"

#include <stdlib.h>

int model_follow(const opt_line *line, const char *name, int64_t *size,
                 int64_t actual, const char *path)
{
    if (opt_given(line, name) && *size != actual)
        return opt_fail(OPT_WRONG, "%s has %lld where --%s says %lld", path,
                        (long long)actual, name, (long long)*size);
    *size = actual;
    return OPT_GO;
}

ls_node *model_rounded(ls_node *x, const model_settings *s)
{
    return s->rounds ? ls_round_bf16(x) : x;
}

ls_node *model_drop(ls_node *x, double rate, const char *name)
{
    return rate > 0 ? ls_dropout(x, rate, name) : x;
}

int model_check_files(const settings *s)
{
    if (s->data.path && (s->data.x || s->data.y))
        return opt_fail(OPT_WRONG, "--data and --x exclude each other");
    if (s->model.loss != MODEL_NONE && !s->data.x != !s->data.y)
        return opt_fail(OPT_WRONG, "--x and --y go together");
    if (s->model.loss != MODEL_NONE && !s->data.eval_x != !s->data.eval_y)
        return opt_fail(OPT_WRONG, "--eval-x and --eval-y go together");
    if (s->data.mask && !s->data.x)
        return opt_fail(OPT_WRONG, "--mask weighs the rows of --x");
    if (s->data.eval_path && !s->data.path)
        return opt_fail(OPT_WRONG, "--eval-data goes with --data");
    if (s->data.valid > 0 && (s->data.eval_x || s->data.eval_path))
        return opt_fail(OPT_WRONG, "--valid and --eval-%s exclude each other",
                        s->data.eval_x ? "x" : "data");
    return OPT_GO;
}

int model_load_arrays(data *d, settings *s, const opt_line *line, ls_dtype y,
                      int rank)
{
    int status = data_load(d, "x", s->data.x, LS_F32, 2);

    if (status == OPT_GO)
        status = data_load(d, "y", s->data.y, y, rank);
    if (status == OPT_GO)
        status = model_follow(line, "rows", &s->data.rows, d->rows, s->data.x);
    return status == OPT_GO
               ? model_follow(line, "d-in", &s->model.d_in,
                              d->input[0].all.shape[1], s->data.x)
               : status;
}

/* --valid, of arrays. */
static int hold_back(data *d, const settings *s)
{
    bool *held;
    int status;

    if (!(held = data_choose(d->rows, s->data.valid, s->data.seed)))
        return OPT_WRONG;
    status = data_hold_rows(d, held);
    free(held);
    return status;
}

int model_load_rest(data *d, const settings *s)
{
    const char *path[DATA_INPUTS];
    int status = s->data.mask ? data_mask(d, s->data.mask) : OPT_GO;

    if (status == OPT_GO && s->data.valid > 0 && d->inputs &&
        !d->table)
        status = hold_back(d, s);
    if (status == OPT_GO && s->data.balance &&
        ((!d->inputs && !d->labels) || s->model.regression))
        status = opt_fail(OPT_WRONG, "--class-weights is for classes, of "
                          "tables, images or rows of --x");
    if (status == OPT_GO && s->data.balance)
        status = data_balance(d, s->model.classes);
    for (int i = 0; i < DATA_INPUTS; i++) /* "y" is the second one */
        path[i] = i == 1 ? s->data.eval_y : s->data.eval_x;
    if (status == OPT_GO && s->data.eval_x && d->inputs)
        status = data_hold(d, path);
    return status;
}

ls_node *model_product(ls_node *x, int64_t n, const char *name)
{
    ls_dense_options o = ls_dense_defaults();

    o.no_bias = true;
    return ls_dense_with(x, n, &o, name);
}

/* The terms of both labels of a mixed image, by the share of its own. */
static ls_node *mixed_terms(ls_graph *g, ls_node *logits, ls_node *labels,
                            double smoothing)
{
    ls_node *other = ls_input(g, "other", LS_I32, 0, NULL);
    ls_node *share = ls_input(g, "share", LS_F32, 0, NULL);
    ls_node *own = ls_label_terms(logits, labels, smoothing);
    ls_node *mixed = ls_label_terms(logits, other, smoothing);

    return ls_add(ls_mul(share, own),
                  ls_mul(ls_scale_shift(share, -1, 1), mixed));
}

ls_node *model_label_loss(ls_graph *g, ls_node *logits, ls_node *labels,
                          double smoothing, const model_settings *s)
{
    if (s->mixes)
        return ls_mean_loss(mixed_terms(g, logits, labels, smoothing), NULL);
    return smoothing > 0
               ? ls_mean_loss(ls_label_terms(logits, labels, smoothing), NULL)
               : ls_cross_entropy(logits, labels);
}
