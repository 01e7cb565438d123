/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_layout.h. */
#include "export/torch_layout.h"
#include "base/error.h"

#include <string.h>

const ls__net_node *ls__torch_node_of(const ls__net *net,
                                      const ls__net_param *p)
{
    for (int i = 0; i < net->nodes; i++)
        if (ls__net_param_index(&net->node[i], p) >= 0)
            return &net->node[i];
    return NULL;
}

/* Is it the convolution of ls_conv2d_transpose?  That has spread its image out
 * on five axes, and put zeros between the pixels where it has a stride. */
static bool is_turned(const ls__net_node *conv)
{
    const ls__net_node *x = conv->in[0];

    return ls__net_is(x, "reshape") && x->in[0]->rank == 5 &&
           (ls__net_is(x->in[0], "reshape") || ls__net_is(x->in[0], "concat"));
}

/* The layout of n vectors behind a flatten of (c,h,w). */
static ls__torch_layout behind(const ls__torch_order *order,
                               const ls__net_node *n, int64_t vectors, int rank)
{
    const ls__torch_order *x = &order[n->in[0]->id];
    int64_t width = ls__net_width(n->in[0]);
    int64_t c = x->kind == LS__TORCH_FLAT ? x->c : width;

    return (ls__torch_layout){width / c, 1, c, vectors, rank, false};
}

bool ls__torch_layout_of(const ls__net *net, const ls__torch_order *order,
                         const ls__net_param *p, ls__torch_layout *out)
{
    const ls__net_node *n = ls__torch_node_of(net, p);
    const int64_t *s = p->of.shape;
    bool is_weights = n && n->param[0] == p;

    if (is_weights && ls__net_is_recurrent(n)) /* (n,G n) of G gates */
        *out = (ls__torch_layout){1, 1, s[0], s[1], 2, false};
    else if (is_weights && ls__net_is(n, "conv2d")) /* C of a group */
        *out = (ls__torch_layout){s[0], s[1], s[2], s[3], 4, is_turned(n)};
    else if (is_weights && ls__net_is(n, "dense"))
        *out = behind(order, n, ls__net_width(n), 2);
    else if (n && !ls__net_is(n, "dense") && n->inputs &&
             order[n->in[0]->id].kind == LS__TORCH_FLAT)
        *out = behind(order, n, 1, 1);
    else
        return false;
    return true;
}

/* The shape of theirs: its rank. */
static int shape_of(const ls__torch_layout *a, int64_t shape[LS_MAX_RANK])
{
    const int64_t theirs[] = {a->turned ? a->c : a->n, a->turned ? a->n : a->c,
                              a->h, a->w};

    memcpy(shape, theirs, sizeof theirs);
    if (a->rank == 2)
        shape[1] = a->c * a->h * a->w;
    if (a->rank == 1)
        shape[0] = a->c * a->h * a->w;
    return a->rank;
}

/* A tensor's name may be of transformers' Conv1D: its module begins so. */
static bool is_conv1d(const char *name, const char *begins)
{
    const char *dot = strrchr(name, '.'), *module = dot;

    while (module && module > name && module[-1] != '.')
        module--;
    return module && !strncmp(module, begins, strlen(begins));
}

const char *ls__torch_hint(const ls_entry *e, int64_t rows, int64_t wide)
{
    return e->rank == 2 && e->shape[0] == wide && e->shape[1] == rows
               ? "; that is the transpose, as transformers' Conv1D has it: "
                 "save all weights of that kind as weight.T, square ones too"
               : "";
}

/* Check square weights: transformers' Conv1D has them as (in,out), nanoGPT's
 * Linear of the same name as (out,in).  A c_attn of the file, which is no
 * square, tells which it is. */
static int check_square(const ls_archive *file, const char *path,
                        const ls_entry *e)
{
    bool told = !is_conv1d(e->name, "c_"), turned = false;
    ls_entry of;

    for (int i = 0; ls_archive_entry(file, i, &of); i++)
        if (of.rank == 2 && of.shape[0] != of.shape[1] &&
            is_conv1d(of.name, "c_attn.")) {
            told = true;
            turned |= of.shape[0] < of.shape[1];
        }
    return told && !turned ? 0 : ls__fail(
        LS_ENOTSUP, "%s: tensor \"%s\" is (%lld,%lld), which does not tell a "
        "Linear's (out,in) from the (in,out) of transformers' Conv1D; save the "
        "latter's weights as weight.T, and a square alone under another name",
        path, e->name, (long long)e->shape[0], (long long)e->shape[1]);
}

int ls__torch_check(const ls__net *net, const ls__torch_order *order,
                    const ls_archive *file, const char *path,
                    const ls__net_param *p, const ls_entry *e)
{
    char want[LS__SHAPE_TEXT], got[LS__SHAPE_TEXT];
    int64_t shape[LS_MAX_RANK];
    int rank = p->of.rank;
    ls__torch_layout a = {0};

    memcpy(shape, p->of.shape, sizeof shape);
    if (ls__torch_layout_of(net, order, p, &a))
        rank = shape_of(&a, shape);
    if (rank == 4 && e->rank == 3 && a.h == 1) { /* of a Conv1d */
        shape[2] = shape[3];
        rank = 3;
    }
    if (rank == e->rank &&
        !memcmp(shape, e->shape, (size_t)rank * sizeof *shape))
        return a.rank == 2 && shape[0] == shape[1]
                   ? check_square(file, path, e) : 0;
    return ls__fail(LS_ESHAPE, "%s: tensor \"%s\" is %s, the parameter \"%s\" "
                    "wants %s%s", path, e->name,
                    ls__shape_text(got, e->rank, e->shape), p->of.name,
                    ls__shape_text(want, rank, shape),
                    ls__torch_hint(e, shape[0], a.rank == 2 ? shape[1] : 0));
}

void ls__torch_arrange(const ls__torch_layout *a, const float *from, float *to)
{
    int64_t area = a->h * a->w;

    for (int64_t p = 0; p < area; p++)
        for (int64_t c = 0; c < a->c; c++)
            for (int64_t n = 0; n < a->n; n++)
                *to++ = a->turned ? from[(c * a->n + n) * area + area - 1 - p]
                                  : from[(n * a->c + c) * area + p];
}
