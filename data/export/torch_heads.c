/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_heads.h. */
#include "export/torch_heads.h"
#include "base/error.h"
#include "export/torch_layout.h"
#include "export/torch_names.h"

#include <stdio.h>
#include <string.h>

enum { OUT = 3 };

static const char *const parts[] = {"query", "key", "value", "out"};

/* The dense layer of a part beside `layer`; NULL: there is none. */
static const ls__net_node *beside(const ls__net *net, const ls__net_node *layer,
                                  const char *part)
{
    size_t n = (size_t)(ls__torch_last_part(layer->name) - layer->name);

    for (int i = 0; i < net->nodes; i++) {
        const ls__net_node *d = &net->node[i];

        if (ls__net_is(d, "dense") && !strncmp(d->name, layer->name, n) &&
            !strcmp(d->name + n, part))
            return d;
    }
    return NULL;
}

ls__torch_heads ls__torch_heads_of(const ls__net *net, const ls__net_param *p)
{
    const ls__net_node *n = ls__torch_node_of(net, p);
    ls__torch_heads h = {.layer = n, .part = -1};

    for (int k = 0; n && k <= OUT; k++) {
        const ls__net_node *of = beside(net, n, parts[k]);

        if (!of)
            return (ls__torch_heads){0};
        if (of == n) {
            h.part = k;
            h.first = h.rows;
        }
        h.rows += k < OUT ? ls__net_width(of) : 0;
    }
    h.bias = n && ls__net_param_index(n, p) > 0;
    return h.part < 0 ? (ls__torch_heads){0} : h;
}

bool ls__torch_heads_name(const ls__torch_heads *h, const char *module, int i,
                          char *out, size_t size, bool *of_three)
{
    static const char *const of_all[] = {"in_proj_", "c_attn.", ""};
    static const char *const before[][OUT] = {
        {"q_proj.", "k_proj.", "v_proj."},
        {"q_proj_", "k_proj_", "v_proj_"}}; /* kdim, vdim */
    static const char *const behind[] = {"out_proj.", "c_proj.", "o_proj."};
    const char *layer = h->part == OUT ? i < 3 ? behind[i] : NULL
                        : i < 3        ? of_all[i]
                        : i < 5        ? before[i - 3][h->part] : NULL;

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
                    "values beside \"%s\" have %lld rows of %lld%s", path,
                    tensor->name, ls__shape_text(got, tensor->rank,
                                                 tensor->shape),
                    h->layer->name, (long long)h->rows, (long long)wide,
                    ls__torch_hint(tensor, h->rows, wide));
}
