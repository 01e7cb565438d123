/* Layers made of operators. */
#include "op/layer.h"
#include "graph/op.h"

/* A dense layer without bias called "<name>.<part>". */
static ls_node *projection(ls_node *x, int64_t n, const char *name,
                           const char *part, ls__extents kernel)
{
    char *path = x ? ls__path(x->graph, name, part) : NULL;

    if (!x || x->graph->status)
        return NULL;
    return path ? ls__dense(x, n, path, false, kernel)
                : ls__graph_failed(x->graph, LS_ENOMEM);
}

ls_node *ls_self_attention(ls_node *x, int heads, bool causal,
                           const char *name)
{
    int64_t d = x ? ls__width(x) : 0, h = heads, dh = h > 0 ? d / h : 0;
    ls__extents in = {3, {d, h, dh}}, out = {3, {h, dh, d}};
    ls_node *q, *k, *v, *y;

    if (!x || x->graph->status)
        return NULL;
    name = name ? name : "";
    if (heads < 1 || d % heads) {
        ls__fail(LS_ESHAPE, "attention \"%s\": width %lld does not divide "
                 "into %d heads", name, (long long)d, heads);
        return ls__graph_failed(x->graph, LS_ESHAPE);
    }
    q = projection(x, d, name, "query", in);
    k = projection(x, d, name, "key", in);
    v = projection(x, d, name, "value", in);
    y = ls__attention(q, k, v, heads, causal, name);
    return projection(y, d, name, "out", out);
}
