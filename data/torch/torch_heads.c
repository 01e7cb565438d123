/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_heads.h. */
#include "torch/torch_heads.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { OUT = 3 };

/* The dense layer of input k, which positions may have turned. */
static const ls__net_node *layer_of(const ls__net_node *attention, int k)
{
    const ls__net_node *n = attention->in[k];

    while (n->op && !ls__net_is(n, "dense") && n->inputs == 1)
        n = n->in[0];
    return ls__net_is(n, "dense") ? n : NULL;
}

/* Is it of one of the three layers before an attention? */
static bool is_before(const ls__net_node *n, const ls__net_param *p,
                      ls__torch_heads *h)
{
    int64_t rows = 0;
    int at;

    for (int k = 0; k < OUT; k++) {
        const ls__net_node *layer = layer_of(n, k);

        if (!layer)
            return false;
        if (!h->node && (at = ls__net_param_index(layer, p)) >= 0)
            *h = (ls__torch_heads){n, k, at > 0, rows, 0};
        rows += ls__net_width(layer);
    }
    h->rows = rows;
    return h->node;
}

ls__torch_heads ls__torch_heads_of(const ls__net *net, const ls__net_param *p)
{
    ls__torch_heads h = {0};

    for (int i = 0; i < net->nodes; i++) {
        const ls__net_node *n = &net->node[i];
        int at = ls__net_param_index(n, p);

        if (ls__net_is(n, "attention") && is_before(n, p, &h))
            return h;
        if (at >= 0 && ls__net_is(n, "dense") &&
            ls__net_is(n->in[0], "attention"))
            return (ls__torch_heads){n->in[0], OUT, at > 0, 0, 0};
    }
    return (ls__torch_heads){0};
}

bool ls__torch_heads_name(const ls__torch_heads *h, const char *module, int i,
                          char *out, size_t size, bool *of_three)
{
    static const char *const of_all[] = {".in_proj_", ".c_attn.", "."};
    static const char *const before[OUT] = {".q_proj.", ".k_proj.", ".v_proj."};
    static const char *const behind[] = {".out_proj.", ".c_proj.", ".o_proj."};
    const char *layer = h->part == OUT ? i < 3 ? behind[i] : NULL
                        : i < 3        ? of_all[i]
                        : i == 3       ? before[h->part] : NULL;

    *of_three = h->part != OUT && i < 3;
    if (layer)
        snprintf(out, size, "%.400s%s%s", module, layer,
                 h->bias ? "bias" : "weight");
    return layer;
}

int ls__torch_heads_check(const ls__torch_heads *h, int64_t wide,
                          const ls_entry *tensor, const char *path)
{
    char got[LS__SHAPE_TEXT];

    if (tensor->rank == 2 - h->bias && tensor->shape[0] == h->rows &&
        tensor->elements == h->rows * wide)
        return 0;
    return ls__fail(LS_ESHAPE, "%s: tensor \"%s\" is %s; queries, keys and "
                    "values of \"%s\" have %lld rows of %lld", path,
                    tensor->name, ls__shape_text(got, tensor->rank,
                                                 tensor->shape),
                    h->node->name, (long long)h->rows, (long long)wide);
}
