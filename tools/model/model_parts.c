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

ls_node *model_rounded(ls_node *x, const settings *s)
{
    return s->precision == PRECISION_BF16_INPUT ? ls_round_bf16(x) : x;
}

ls_node *model_drop(ls_node *x, double rate, const char *name)
{
    return rate > 0 ? ls_dropout(x, rate, name) : x;
}

int model_check_files(const settings *s)
{
    if (s->data && (s->x || s->y))
        return opt_fail(OPT_WRONG, "--data and --x exclude each other");
    if (!s->x != !s->y)
        return opt_fail(OPT_WRONG, "--x and --y go together");
    if (!s->eval_x != !s->eval_y)
        return opt_fail(OPT_WRONG, "--eval-x and --eval-y go together");
    if (s->mask && !s->x)
        return opt_fail(OPT_WRONG, "--mask weighs the rows of --x");
    if (s->eval_data && !s->data)
        return opt_fail(OPT_WRONG, "--eval-data goes with --data");
    return OPT_GO;
}

/* --valid, of arrays. */
static int hold_back(data *d, const settings *s)
{
    bool *held;
    int status;

    if (s->eval_x || s->eval_data)
        return opt_fail(OPT_WRONG, "--valid and --eval-%s exclude each other",
                        s->eval_x ? "x" : "data");
    if (!d->inputs)
        return opt_fail(OPT_WRONG, "--valid is for tables and arrays; images "
                        "have --eval-data");
    if (!(held = data_choose(d->rows, s->valid, s->data_seed)))
        return OPT_WRONG;
    status = data_hold_rows(d, held);
    free(held);
    return status;
}

/* Among how many of the classes the right one is looked for. */
static int check_top(const data *d, const settings *s)
{
    if (!s->top_k || !d->inputs)
        return OPT_GO;
    if (s->regression)
        return opt_fail(OPT_WRONG, "--top-k is for classes, and here numbers "
                        "are predicted");
    if (s->top_k > s->classes)
        return opt_fail(OPT_WRONG, "--top-k: %lld is more than the %lld "
                        "classes",
                        (long long)s->top_k, (long long)s->classes);
    return OPT_GO;
}

int model_load_rest(data *d, const settings *s)
{
    const char *const path[DATA_INPUTS] = {s->eval_x, s->eval_y};
    int status = s->mask ? data_mask(d, s->mask) : OPT_GO;

    if (status == OPT_GO && s->valid > 0 && !coding_is(&d->coding))
        status = hold_back(d, s);
    if (status == OPT_GO && s->balance && (!d->inputs || s->regression))
        status = opt_fail(OPT_WRONG, "--class-weights is for classes, of "
                          "tables or of rows of --x");
    if (status == OPT_GO && s->balance)
        status = data_balance(d, s->classes);
    if (status == OPT_GO)
        status = check_top(d, s);
    if (status == OPT_GO && s->eval_x && d->inputs)
        status = data_hold(d, path);
    return status;
}
