/* SPDX-License-Identifier: BSD-3-Clause */
/* See torch_steps.h. */
#include "export/torch_steps.h"
#include "export/torch_names.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

static bool has_two_biases(const ls__net_node *n)
{
    return n->params > 1 && n->in[0]->params > 1;
}

ls__torch_steps ls__torch_steps_of(const ls__net *net, const ls__net_param *p)
{
    for (int i = 0; i < net->nodes; i++) {
        const ls__net_node *n = &net->node[i];
        int at = -1, of_x = -1;

        if (!ls__net_is_recurrent(n))
            continue;
        at = ls__net_param_index(n, p);
        of_x = ls__net_param_index(n->in[0], p);
        if (at >= 0 || of_x >= 0)
            return (ls__torch_steps){
                .node = n, .of_x = of_x >= 0, .bias = at > 0 || of_x > 0,
                .both = (at > 0 || of_x > 0) && !has_two_biases(n)};
    }
    return (ls__torch_steps){0};
}

void ls__torch_steps_layer(const ls__torch_steps *s, char *out, size_t size)
{
    const char *name = s->node->name, *dot = strrchr(name, '.');

    snprintf(out, size, "%.*s", dot ? (int)(dot - name) : 0, name);
}

/* The place of "_lK" at the end; the end where there is none. */
static const char *layer_number(const char *module)
{
    const char *end = module + strlen(module), *at = end;

    while (at > module && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at < end && at - module >= 2 && at[-1] == 'l' && at[-2] == '_'
               ? at - 2
               : end;
}

void ls__torch_steps_name(const ls__torch_steps *s, const char *module,
                          bool other, char *out, size_t size)
{
    const char *back = strrchr(module, '.');
    bool is_back = back && !strcmp(back, ".reverse");
    char own[LS__TORCH_NAME];
    bool of_h = other || (!s->of_x && !s->both);
    const char *number;

    snprintf(own, sizeof own, "%.*s",
             (int)(is_back ? (size_t)(back - module) : strlen(module)), module);
    number = layer_number(own);
    snprintf(out, size, "%.*s%s%s_%s%s%s", (int)(number - own), own,
             number > own ? "." : "", s->bias ? "bias" : "weight",
             of_h ? "hh" : "ih", *number ? number : "_l0",
             is_back ? "_reverse" : "");
}

int ls__torch_steps_check(const ls__torch_steps *s, int64_t n,
                          const float *values, const char *other,
                          const char *path)
{
    int64_t first = n / 3 * 2, at = first;

    while (at < n && values[at] == 0)
        at++;
    if (!s->of_x || at == n) /* an LSTM's, or zeros */
        return 0;
    return ls__fail(LS_ENOTSUP, "%s: tensor \"%s\": number %lld of the last "
                    "third is not 0, and \"%s\" has no such bias; a "
                    "GRU of two_biases has", path, other,
                    (long long)(at - first), s->node->name);
}
