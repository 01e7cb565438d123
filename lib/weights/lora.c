/* SPDX-License-Identifier: BSD-3-Clause */
/* Adding low-rank adapters to a graph, finding them and taking them out. */
#include "weights/lora.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/pattern.h"
#include "graph/edit.h"
#include "graph/standing.h"
#include <lockstep/arithmetic.h>
#include <lockstep/lora.h>
#include <lockstep/ops.h>

#include <string.h>

enum { NODES = 4, PARAMS = 2 }; /* of an adapter */

typedef struct lora {
    const ls_node *layer, *a, *scale, *b, *sum;
} lora;

/* ------ finding ------ */

static bool is_op(const ls_node *n, const char *op)
{
    return !strcmp(ls_node_op(n), op);
}

static const ls_node *read_by(const ls_node *n)
{
    return ls_node_input(n, 0);
}

static int64_t width(const ls_node *n)
{
    int64_t shape[LS_MAX_RANK];
    int rank = ls_node_shape(n, shape);

    return rank ? shape[rank - 1] : 1;
}

/* The name of a layer's weights. */
static const char *weights_of(const ls_node *n)
{
    ls_array_spec p = {0};

    (void)ls_node_param(n, 0, &p);
    return p.name;
}

/* Is a node's name that of the layer's part? */
static bool is_part(const ls_node *n, const ls_node *layer, const char *part)
{
    const char *name = ls_node_name(n), *of = ls_node_name(layer);
    size_t length = strlen(of);

    if (!is_op(n, "dense") || strncmp(name, of, length))
        return false;
    return !strcmp(name + length + (length && name[length] == '.'), part);
}

static bool is_sum(const ls_node *n, lora *l)
{
    *l = (lora){.sum = n};
    if (!is_op(n, "add"))
        return false;
    l->layer = read_by(n);
    l->b = ls_node_input(n, 1);
    if (!is_op(l->layer, "dense") || !is_part(l->b, l->layer, "lora_B"))
        return false;
    l->scale = read_by(l->b);
    if (!is_op(l->scale, "scale"))
        return false;
    l->a = read_by(l->scale);
    return is_part(l->a, l->layer, "lora_A") &&
           read_by(l->a) == read_by(l->layer);
}

static bool next(const ls_graph *g, int *at, lora *l)
{
    while (*at < ls_graph_nodes(g))
        if (is_sum(ls_graph_node(g, (*at)++), l))
            return true;
    return false;
}

bool ls__lora_next(const ls_graph *g, int *at, ls__adapter *adapter)
{
    lora l;

    if (!next(g, at, &l))
        return false;
    *adapter = (ls__adapter){
        .layer = ls_node_name(l.layer), .in = width(read_by(l.layer)),
        .out = width(l.layer), .rank = width(l.a),
        .scale = ls__edit_number(l.scale, "scale"), .w = weights_of(l.layer),
        .a = weights_of(l.a), .b = weights_of(l.b)};
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
static bool has_own_weights(const ls_graph *g, const ls_node *layer)
{
    const char *name = weights_of(layer);
    ls_array_spec p;
    int users = 0;

    for (int i = 0; i < ls_graph_nodes(g); i++)
        for (int k = 0; ls_node_param(ls_graph_node(g, i), k, &p); k++)
            users += !strcmp(p.name, name);
    return users == 1;
}

/* The dense layer of that name, if its weights are its own; NULL. */
static const ls_node *find_layer(const ls_graph *g, const char *name)
{
    for (int i = 0; i < ls_graph_nodes(g); i++) {
        const ls_node *n = ls_graph_node(g, i);

        if (is_op(n, "dense") && !strcmp(ls_node_name(n), name))
            return has_own_weights(g, n) ? n : NULL;
    }
    return NULL;
}

/* Is a node of an adapter, or the layer of one? */
static bool has_adapter(const ls_graph *g, const ls_node *n)
{
    lora l;

    for (int at = 0; next(g, &at, &l);)
        if (l.layer == n || l.a == n || l.b == n)
            return true;
    return false;
}

/* ------ adding ------ */

/* Start as peft does: A as PyTorch's Linear has it (kaiming_uniform with a =
 * sqrt(5)). */
static void start(const lora *l)
{
    ls__edit_start(l->a, 0, ls_init_variance(LS_UNIFORM, LS_FAN_IN, 1.0 / 3));
    ls__edit_start(l->b, 0, ls_init_constant(0));
}

/* Build one behind all other nodes; NULL: the graph has failed, and what is
 * half done sticks. */
static ls_node *build(ls_graph *g, const ls_node *layer, int64_t rank,
                      double scale)
{
    const char *a_name = ls__path(g, ls_node_name(layer), "lora_A");
    const char *b_name = ls__path(g, ls_node_name(layer), "lora_B");
    ls_dense_options bare = ls_dense_defaults();
    ls_node *x = ls__edit_node(read_by(layer)), *sum;

    if (!a_name || !b_name)
        return NULL;
    bare.no_bias = true;
    x = ls_dense_with(x, rank, &bare, a_name);
    x = ls_dense_with(ls_scale_shift(x, scale, 0), width(layer), &bare, b_name);
    if (!(sum = ls_add(ls__edit_node(layer), x))) {
        ls_graph_errors_pass(g, false);
        ls__graph_failed(g, LS_EINVAL);
    }
    return sum;
}

/* Add one to a layer.  Errors stick to the graph. */
static int insert(ls_graph *g, const ls_node *layer, int64_t rank, double scale)
{
    const ls_node *sum = build(g, layer, rank, scale);
    bool known;
    lora l;

    LS__NEED_STANDING(g, g);
    known = is_sum(sum, &l);
    LS__ASSERT(known);
    start(&l);
    ls__edit_redirect(layer, sum);
    ls__edit_move_behind(layer, NODES, PARAMS);
    return 0;
}

/* ------ by a pattern ------ */

static bool is_meant(const ls_graph *g, const ls_node *n, const char *names)
{
    return is_op(n, "dense") && ls__matches(names, weights_of(n)) &&
           has_own_weights(g, n);
}

static int check_layer(const ls_graph *g, const ls_node *n, int64_t rank)
{
    int64_t in = width(read_by(n)), out = width(n);

    if (has_adapter(g, n))
        return ls__fail(LS_EINVAL, "ls_lora_add: \"%s\" is of a layer with an "
                        "adapter", weights_of(n));
    if (rank < 1 || rank > (in < out ? in : out))
        return ls__fail(LS_EINVAL, "ls_lora_add: rank %lld of \"%s\", which "
                        "takes %lld to %lld; it must be 1 to %lld",
                        (long long)rank, weights_of(n), (long long)in,
                        (long long)out, (long long)(in < out ? in : out));
    return 0;
}

static int check(const ls_graph *g, const char *names, int64_t rank,
                 double alpha)
{
    int found = 0, status = 0;

    if (!(alpha > 0 && alpha < __builtin_inf()))
        return ls__fail(LS_EINVAL, "ls_lora_add: alpha %g is not a finite "
                        "number above 0", alpha);
    for (int i = 0; i < ls_graph_nodes(g) && status == 0; i++)
        if (is_meant(g, ls_graph_node(g, i), names)) {
            status = check_layer(g, ls_graph_node(g, i), rank);
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

    for (int i = ls_graph_nodes(g) - 1; i >= 0 && status == 0; i--)
        if (is_meant(g, ls_graph_node(g, i), names))
            status = insert(g, ls_graph_node(g, i), rank, scale);
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
    const ls_node *layer = find_layer(g, as->layer);
    int64_t in, out;

    if (!layer)
        return ls__fail(LS_ENOTFOUND, "%s: adapts \"%s\", which is no dense "
                        "layer with weights of its own here", path, as->layer);
    if (has_adapter(g, layer))
        return ls__fail(LS_EINVAL, "%s: adapts \"%s\", which has an adapter "
                        "here", path, as->layer);
    in = width(read_by(layer));
    out = width(layer);
    if (as->rank > (in < out ? in : out))
        return ls__fail(LS_EINVAL, "%s: adapts \"%s\", which takes %lld to "
                        "%lld here, with rank %lld", path, as->layer,
                        (long long)in, (long long)out, (long long)as->rank);
    return insert(g, layer, as->rank, as->scale);
}

/* ------ training them ------ */

ls_group ls_lora_rest(void)
{
    return ls_group_frozen(LS_LORA_REST);
}

/* ------ taking out ------ */

int ls__lora_without(ls_graph **copy, const ls_graph *graph)
{
    lora l;
    int status = ls__graph_copy(copy, graph);

    for (int at = 0; status == 0 && next(*copy, &at, &l); at = 0) {
        ls__edit_redirect(l.sum, l.layer);
        ls__edit_drop(l.sum);
        ls__edit_drop(l.b);
        ls__edit_drop(l.scale);
        ls__edit_drop(l.a);
    }
    return status;
}
