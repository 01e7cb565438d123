/* SPDX-License-Identifier: BSD-3-Clause */
/* Adding low-rank adapters to a graph, finding them and taking them out.
 *
 * Parameters and requests for keys follow the order of nodes (as if the graph
 * had been built so, which is how it is read from a file), so those of an
 * adapter come right behind its layer's. */
#include "lora/lora.h"
#include "base/pattern.h"
#include "graph/edit.h"
#include "graph/graph.h"
#include "graph/op.h"
#include <lockstep/arithmetic.h>
#include <lockstep/lora.h>

#include <string.h>

enum { NODES = 4, PARAMS = 2 }; /* of an adapter */

typedef struct lora {
    const ls_node *layer, *a, *scale, *b, *sum;
} lora;

/* ------ finding ------ */

/* Is a node's name that of the layer's part? */
static bool is_part(const ls_node *n, const ls_node *layer, const char *part)
{
    size_t length = strlen(layer->name);

    if (!ls__is_op(n, "dense") || strncmp(n->name, layer->name, length))
        return false;
    return !strcmp(n->name + length + (length && n->name[length] == '.'), part);
}

static bool is_sum(const ls_node *n, lora *l)
{
    if (!ls__is_op(n, "add") || !ls__is_op(n->in[0], "dense") ||
        !is_part(n->in[1], n->in[0], "lora_B") ||
        !ls__is_op(n->in[1]->in[0], "scale") ||
        !is_part(n->in[1]->in[0]->in[0], n->in[0], "lora_A"))
        return false;
    *l = (lora){.layer = n->in[0], .b = n->in[1], .sum = n};
    l->scale = l->b->in[0];
    l->a = l->scale->in[0];
    return l->a->in[0] == l->layer->in[0];
}

static bool next(const ls_graph *g, int *at, lora *l)
{
    while (*at < g->node_count)
        if (is_sum(g->nodes[(*at)++], l))
            return true;
    return false;
}

bool ls__lora_next(const ls_graph *g, int *at, ls__adapter *adapter)
{
    lora l;

    if (!next(g, at, &l))
        return false;
    *adapter = (ls__adapter){
        .layer = l.layer->name, .in = ls__width(l.layer->in[0]),
        .out = ls__width(l.layer), .rank = ls__width(l.a),
        .scale = ls__attribute_number(l.scale, "scale"),
        .w = l.layer->param[0], .a = l.a->param[0], .b = l.b->param[0]};
    return true;
}

int ls__lora_count(const ls_graph *g)
{
    int count = 0;
    lora l;

    for (int at = 0; next(g, &at, &l);)
        count++;
    return count;
}

/* Has no other node a parameter of this one's weights? */
static bool has_own_weights(const ls_node *n)
{
    return ls__edit_users(n->graph, n->param[0]) == 1;
}

/* The dense layer of that name, if its weights are its own; NULL. */
static ls_node *find_layer(const ls_graph *g, const char *name)
{
    for (int i = 0; i < g->node_count; i++)
        if (ls__is_op(g->nodes[i], "dense") && !strcmp(g->nodes[i]->name, name))
            return has_own_weights(g->nodes[i]) ? g->nodes[i] : NULL;
    return NULL;
}

/* Is a node of an adapter, or the layer of one? */
static bool has_adapter(const ls_node *n)
{
    lora l;

    for (int at = 0; next(n->graph, &at, &l);)
        if (l.layer == n || l.a == n || l.b == n)
            return true;
    return false;
}

/* ------ adding ------ */

/* The last nodes move behind a layer. */
static void move_behind(ls_graph *g, const ls_node *layer)
{
    int first = layer->id + 1, between = g->node_count - NODES - first;
    ls_node *own[NODES];

    memcpy(own, g->nodes + g->node_count - NODES, sizeof own);
    memmove(g->nodes + first + NODES, g->nodes + first,
            (size_t)between * sizeof *own);
    memcpy(g->nodes + first, own, sizeof own);
    ls__edit_number_nodes(g);
}

/* The layer's last parameter that is its own. */
static int last_param(const ls_node *layer)
{
    int last = layer->param[0];

    for (int k = 1; k < layer->params; k++)
        if (!layer->tie[k])
            last = layer->param[k];
    return last;
}

/* Where a parameter is once the two newest stand behind number `last`. */
static int place(const ls_graph *g, int last, int index)
{
    int newest = g->param_count - PARAMS;

    if (index >= newest)
        return last + 1 + index - newest;
    return index > last ? index + PARAMS : index;
}

/* The same of a number that counts from 1, negative for a transpose, or 0. */
static int tie_place(const ls_graph *g, int last, int tie)
{
    int index = (tie < 0 ? -tie : tie) - 1;

    if (!tie)
        return 0;
    index = place(g, last, index) + 1;
    return tie < 0 ? -index : index;
}

static void place_names(const ls_graph *g, int last, ls__names *names)
{
    for (size_t i = 0; i < names->capacity; i++)
        if (names->at[i].text)
            names->at[i].number = tie_place(g, last, names->at[i].number);
}

/* Parameters are numbered in the order of nodes. */
static void order_params(ls_graph *g, const ls_node *layer)
{
    ls__param *own[PARAMS];
    int last = last_param(layer), newest = g->param_count - PARAMS;

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->nodes[i]->params; k++) {
            ls_node *n = g->nodes[i];

            n->param[k] = place(g, last, n->param[k]);
            n->tie[k] = tie_place(g, last, n->tie[k]);
        }
    place_names(g, last, &g->param_names);
    place_names(g, last, &g->ties);
    memcpy(own, g->params + newest, sizeof own);
    memmove(g->params + last + 1 + PARAMS, g->params + last + 1,
            (size_t)(newest - last - 1) * sizeof *own);
    memcpy(g->params + last + 1, own, sizeof own);
}

/* The requests of the two newest parameters are those behind the layer's. */
static void order_requests(ls_graph *g, const ls_node *layer)
{
    ls__param **own = g->params + g->param_count - PARAMS;
    int first = g->params[last_param(layer)]->request + 1;

    ls__edit_shift_requests(g, first, PARAMS);
    for (int i = 0; i < PARAMS; i++)
        own[i]->request = first + i;
}

/* Start as peft does: A as PyTorch's Linear has it (kaiming_uniform with a =
 * sqrt(5)). */
static void start(ls_graph *g)
{
    ls__param **own = g->params + g->param_count - PARAMS;

    own[0]->chosen = ls_init_variance(LS_UNIFORM, LS_FAN_IN, 1.0 / 3);
    own[1]->chosen = ls_init_constant(0);
}

/* Add one to a layer.  Errors stick to the graph. */
static int insert(ls_node *layer, int64_t rank, double scale)
{
    ls_graph *g = layer->graph;
    const char *a_name = ls__path(g, layer->name, "lora_A");
    const char *b_name = ls__path(g, layer->name, "lora_B");
    ls_dense_options bare = ls_dense_defaults();
    ls_node *x, *sum;

    if (!a_name || !b_name) {
        ls__graph_failed(g, LS_ENOMEM);
        return LS_ENOMEM;
    }
    bare.no_bias = true;
    x = ls_dense_with(layer->in[0], rank, &bare, a_name);
    x = ls_dense_with(ls_scale_shift(x, scale, 0), ls__width(layer), &bare,
                      b_name);
    if (!(sum = ls_add(layer, x))) {
        g->undo.passes = false; /* what is half done sticks */
        ls__graph_failed(g, LS_EINVAL);
        return g->status;
    }
    start(g);
    order_requests(g, layer);
    order_params(g, layer);
    ls__edit_redirect(g, layer, sum);
    move_behind(g, layer);
    return 0;
}

/* ------ by a pattern ------ */

static bool is_meant(const ls_node *n, const char *names)
{
    return ls__is_op(n, "dense") &&
           ls__matches(names, n->graph->params[n->param[0]]->name) &&
           has_own_weights(n);
}

static int check_layer(const ls_node *n, int64_t rank)
{
    int64_t in = ls__width(n->in[0]), out = ls__width(n);

    if (has_adapter(n))
        return ls__fail(LS_EINVAL, "ls_lora_add: \"%s\" is of a layer with an "
                        "adapter", n->graph->params[n->param[0]]->name);
    if (rank < 1 || rank > (in < out ? in : out))
        return ls__fail(LS_EINVAL, "ls_lora_add: rank %lld of \"%s\", which "
                        "takes %lld to %lld; it must be 1 to %lld",
                        (long long)rank, n->graph->params[n->param[0]]->name,
                        (long long)in, (long long)out,
                        (long long)(in < out ? in : out));
    return 0;
}

static int check(const ls_graph *g, const char *names, int64_t rank,
                 double alpha)
{
    int found = 0, status = 0;

    if (!(alpha > 0 && alpha < __builtin_inf()))
        return ls__fail(LS_EINVAL, "ls_lora_add: alpha %g is not a finite "
                        "number above 0", alpha);
    for (int i = 0; i < g->node_count && status == 0; i++)
        if (is_meant(g->nodes[i], names)) {
            status = check_layer(g->nodes[i], rank);
            found++;
        }
    if (status == 0 && !found)
        return ls__fail(LS_ENOTFOUND, "ls_lora_add: \"%.64s\" matches no "
                        "weights of a dense layer that it has for itself",
                        names);
    return status;
}

/* Add from the last layer to the first, so that what is added is not met. */
static int add(ls_graph *g, const char *names, int64_t rank, double scale)
{
    int status = 0;

    for (int i = g->node_count - 1; i >= 0 && status == 0; i--)
        if (is_meant(g->nodes[i], names))
            status = insert(g->nodes[i], rank, scale);
    return status;
}

int ls_lora_add(ls_graph *g, const char *names, int64_t rank, double alpha)
{
    LS__NEED_AS(g, "graph", LS_EINVAL);

    int status;

    LS__NEED_STANDING(g, names);
    if ((status = check(g, names, rank, alpha)) < 0) {
        ls__graph_failed(g, status);
        return status;
    }
    return add(g, names, rank, alpha / (double)rank);
}

/* ------ as a file says ------ */

int ls__lora_insert(ls_graph *g, const char *path, const ls__adapter *as)
{
    ls_node *layer = find_layer(g, as->layer);
    int64_t in, out;

    if (!layer)
        return ls__fail(LS_ENOTFOUND, "%s: adapts \"%s\", which is no dense "
                        "layer with weights of its own here", path, as->layer);
    if (has_adapter(layer))
        return ls__fail(LS_EINVAL, "%s: adapts \"%s\", which has an adapter "
                        "here", path, as->layer);
    in = ls__width(layer->in[0]);
    out = ls__width(layer);
    if (as->rank > (in < out ? in : out))
        return ls__fail(LS_EINVAL, "%s: adapts \"%s\", which takes %lld to "
                        "%lld here, with rank %lld", path, as->layer,
                        (long long)in, (long long)out, (long long)as->rank);
    return insert(layer, as->rank, as->scale);
}

/* ------ training them ------ */

ls_group ls_lora_rest(void)
{
    return ls_group_frozen(LS_LORA_REST);
}

/* ------ taking out ------ */

static void take_out(ls_graph *g, const lora *l)
{
    ls_node *layer = g->nodes[l->layer->id], *sum = g->nodes[l->sum->id];
    int a = l->a->param[0], b = l->b->param[0];

    ls__edit_redirect(g, sum, layer);
    ls__edit_drop_node(g, l->sum);
    ls__edit_drop_node(g, l->b);
    ls__edit_drop_node(g, l->scale);
    ls__edit_drop_node(g, l->a);
    ls__edit_drop_param(g, a > b ? a : b);
    ls__edit_drop_param(g, a > b ? b : a);
}

int ls__lora_without(ls_graph **copy, const ls_graph *graph)
{
    lora l;
    int status = ls__graph_copy(copy, graph);

    for (int at = 0; status == 0 && next(*copy, &at, &l); at = 0)
        take_out(*copy, &l);
    return status;
}
