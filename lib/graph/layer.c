/* Layers made of operators. */
#include "graph/op.h"

#include <stdio.h>

/* "<name>.<part>" in out. */
enum { NAME = 512 };

static const char *part_of(char out[NAME], const char *name, const char *part)
{
    snprintf(out, NAME, "%s%s%s", name, *name ? "." : "", part);
    return out;
}

ls_node *ls_self_attention(ls_node *x, int heads, bool causal,
                           const char *name)
{
    int64_t d = x ? ls__width(x) : 0, h = heads, dh = h > 0 ? d / h : 0;
    int64_t in[] = {d, h, dh}, out[] = {h, dh, d};
    char text[NAME];
    ls_node *q, *k, *v, *y;

    if (!x || x->graph->status)
        return NULL;
    if (heads < 1 || d % heads) {
        ls__fail(LS_ESHAPE, "attention \"%s\": width %lld does not divide "
                 "into %d heads", name, (long long)d, heads);
        return ls__graph_failed(x->graph, LS_ESHAPE);
    }
    q = ls__dense(x, d, part_of(text, name, "query"), false, 3, in);
    k = ls__dense(x, d, part_of(text, name, "key"), false, 3, in);
    v = ls__dense(x, d, part_of(text, name, "value"), false, 3, in);
    y = ls__attention(q, k, v, heads, causal, name);
    return ls__dense(y, d, part_of(text, name, "out"), false, 3, out);
}
