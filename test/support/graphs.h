/* SPDX-License-Identifier: BSD-3-Clause */
/* Small graphs of every form that the plan has to deal with. */
#ifndef TEST_GRAPHS_H
#define TEST_GRAPHS_H

#include "backend/backend.h"
#include "backends.h"
#include "plan/planner.h"
#include "support.h"

enum { MOST_NODES = 64 }; /* of a graph below */

/* An input of a name and extents. */
static inline ls_node *f32(ls_graph *g, const char *name, int rank, int64_t a,
                           int64_t b, int64_t c)
{
    return ls_input(g, name, LS_F32, rank, (int64_t[]){a, b, c});
}

static inline ls_node *i32(ls_graph *g, const char *name, int rank, int64_t a,
                           int64_t b)
{
    return ls_input(g, name, LS_I32, rank, (int64_t[]){a, b});
}

/* The input "x" of shape (n). */
static inline ls_node *x_of(ls_graph *g, int64_t n)
{
    return ls_input(g, "x", LS_F32, 1, &n);
}

/* The mean squared error of y against an input of its shape. */
static inline void end(ls_graph *g, ls_node *y)
{
    int64_t shape[LS_MAX_RANK];
    int rank = ls_node_shape(y, shape);

    ls_loss(g, ls_mean_squared_error(
                   y, ls_input(g, "target", LS_F32, rank, shape)));
}

static inline void build_linear(ls_graph *g)
{
    end(g, ls_dense(x_of(g, 5), 3, "d"));
}

static inline void build_mlp(ls_graph *g)
{
    ls_node *h = ls_tanh(ls_dense(x_of(g, 5), 17, "a"));

    h = ls_sigmoid(ls_dense(h, 9, "b"));
    end(g, ls_dense(h, 3, "c"));
}

/* Activations in every place: on an input, twice, after a residual, last. */
static inline void build_gelus(ls_graph *g)
{
    ls_node *x = x_of(g, 12), *h = ls_dense(ls_gelu(x), 12, "a");

    h = ls_gelu(ls_gelu(h));
    h = ls_gelu(ls_add(x, ls_dense(h, 12, "b")));
    end(g, ls_gelu(ls_dense(h, 7, "c")));
}

/* One value read three times, and sums of sums. */
static inline void build_diamond(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 6), 15, "a");
    ls_node *y = ls_add(ls_add(ls_gelu(h), ls_layer_norm(h, "n")), h);

    end(g, ls_dense(ls_add(y, ls_dense(h, 15, "b")), 4, "c"));
}

/* The same, with a sum as the only way on, and last. */
static inline void build_sums(ls_graph *g)
{
    ls_node *h = ls_gelu(ls_dense(x_of(g, 6), 8, "a"));
    ls_node *twice = ls_add(h, h), *thrice = ls_add(twice, h);

    end(g, ls_add(ls_add(thrice, thrice), ls_add(twice, h)));
}

/* Residuals of an input, of another product, of what comes later. */
static inline void build_residuals(ls_graph *g)
{
    ls_node *x = x_of(g, 10), *a = ls_dense(x, 10, "a");
    ls_node *b = ls_gelu(ls_dense(x, 10, "b")), *y = ls_add(x, a), *z;

    z = ls_add(b, ls_dense(y, 10, "c"));
    end(g, ls_add(ls_dense(z, 10, "d"), ls_layer_norm(ls_add(y, z), "n")));
}

/* A chain in which each gradient can take the memory of the last. */
static inline void build_chain(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 9), 9, "a");

    h = ls_layer_norm(ls_gelu(ls_layer_norm(h, "n1")), "n2");
    h = ls_add(h, ls_gelu(ls_layer_norm(h, "n3")));
    end(g, ls_gelu(ls_add(ls_layer_norm(h, "n4"), h)));
}

/* A gradient passed on to two; one goes on in place. */
static inline void build_passed(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 11), 11, "a"), *n = ls_layer_norm(h, "n");
    ls_node *e = ls_gelu(n), *s = ls_add(e, n), *t = ls_add(s, h);

    end(g, ls_add(t, ls_gelu(s)));
}

/* An addend that q, which comes last, still waits for: e may not write over
 * it. */
static inline void build_shared(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 11), 11, "a"), *q = ls_layer_norm(h, "q");
    ls_node *n = ls_layer_norm(h, "n"), *e = ls_gelu(n), *s = ls_add(q, n);

    end(g, ls_add(s, e));
}

/* Nodes and parameters that the loss does not depend on. */
static inline void build_unused(ls_graph *g)
{
    ls_node *x = x_of(g, 5), *h = ls_dense(x, 6, "a");

    ls_layer_norm(ls_gelu(ls_dense(h, 8, "unused1")), "unused2");
    end(g, ls_dense(h, 3, "b"));
    ls_dense(h, 8, "unused3");
}

/* One number a row, and inputs that meet each other. */
static inline void build_scalars(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});
    ls_node *more = ls_input(g, "more", LS_F32, 1, (int64_t[]){1});

    end(g, ls_gelu(ls_dense(ls_add(x, more), 1, "a")));
}

/* A target may be trained too: its gradient is the other sign. */
static inline void build_target(ls_graph *g)
{
    ls_node *x = x_of(g, 5), *y = ls_dense(x, 3, "a");

    ls_loss(g, ls_mean_squared_error(y, ls_dense(x, 3, "b")));
}

/* It may be what the other side is made of, or be made of it. */
static inline void build_own_target(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 5), 3, "a"), *y = ls_gelu(h);

    ls_loss(g, ls_mean_squared_error(y, h));
}

static inline void build_other_target(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 5), 3, "a"), *t = ls_gelu(h);

    ls_loss(g, ls_mean_squared_error(h, t));
}

static inline void build_classes(ls_graph *g)
{
    ls_node *labels = ls_input(g, "labels", LS_I32, 0, NULL);
    ls_node *h = ls_gelu(ls_dense(x_of(g, 8), 16, "a"));

    ls_loss(g, ls_cross_entropy(ls_dense(h, 5, "b"), labels));
}

/* Two tables of one input; tokens must fit the smaller. */
static inline void build_tables(ls_graph *g)
{
    ls_node *t = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){7});
    ls_node *h = ls_add(ls_embed(t, 13, 6, "e"), ls_embed(t, 11, 6, "f"));

    ls_loss(g, ls_cross_entropy(ls_dense(ls_position(h, "p"), 12, "d"), t));
}

static inline ls_node *block(ls_node *h, bool causal, const char *const name[5])
{
    int64_t shape[LS_MAX_RANK];
    int64_t d = shape[ls_node_shape(h, shape) - 1];
    ls_node *u;

    u = ls_self_attention(ls_layer_norm(h, name[0]), 3, causal, name[1]);
    h = ls_add(h, u);
    u = ls_gelu(ls_dense(ls_layer_norm(h, name[2]), 2 * d, name[3]));
    return ls_add(h, ls_dense(u, d, name[4]));
}

static inline void transformer(ls_graph *g, int64_t t, int64_t vocab, int64_t d)
{
    static const char *const names[2][5] = {
        {"b0.n0", "b0.att", "b0.n1", "b0.up", "b0.down"},
        {"b1.n0", "b1.att", "b1.n1", "b1.up", "b1.down"}};
    ls_node *x = ls_input(g, "tokens", LS_I32, 1, &t);
    ls_node *h = ls_position(ls_embed(x, vocab, d, "embed"), "position");

    h = block(h, false, names[0]);
    h = block(h, true, names[1]);
    h = ls_dense(ls_layer_norm(h, "norm"), vocab, "head");
    ls_loss(g, ls_next_token_loss(h, x));
}

static inline void build_transformer(ls_graph *g)
{
    transformer(g, 7, 19, 12);
}

/* Three sequences a chunk. */
static inline void build_transformer_of_85(ls_graph *g)
{
    transformer(g, 85, 13, 6);
}

/* A sequence longer than a chunk of K. */
static inline void build_transformer_of_300(ls_graph *g)
{
    transformer(g, 300, 11, 6);
}

/* clang-format off */
static const struct {
    const char *name;
    void (*build)(ls_graph *g);
    int64_t chunk_rows;
} graphs[] = {
    {"linear", build_linear, 256}, {"mlp", build_mlp, 256},
    {"gelus", build_gelus, 256}, {"diamond", build_diamond, 256},
    {"sums", build_sums, 256}, {"residuals", build_residuals, 256},
    {"chain", build_chain, 256}, {"passed", build_passed, 256},
    {"shared", build_shared, 256},
    {"unused", build_unused, 256}, {"scalars", build_scalars, 256},
    {"target", build_target, 256},
    {"own target", build_own_target, 256},
    {"other target", build_other_target, 256},
    {"classes", build_classes, 256}, {"tables", build_tables, 36},
    {"transformer", build_transformer, 36},
    {"transformer of 85", build_transformer_of_85, 3},
    {"transformer of 300", build_transformer_of_300, 1}};
/* clang-format on */
enum { GRAPHS = sizeof graphs / sizeof *graphs };

static inline ls_graph *new_graph(void (*build)(ls_graph *g))
{
    ls_graph *g = NULL;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    build(g);
    ck_assert_msg(g->status == 0, "%s", g->message);
    return g;
}

static const ls__backend *backend(const char *name)
{
    static ls__backend be;

    ck_assert_int_eq(ls__backend_find(&be, name, LS_F32_LAYERS), 0);
    return &be;
}

static inline ls__plan *new_plan(const ls_graph *g, const char *backend_name)
{
    ls__plan *plan = NULL;
    int status = ls__plan_new(&plan, g, backend(backend_name), LS__TO_TRAIN,
                              NULL);

    ck_assert_msg(status == 0, "%s", ls_errmsg());
    return plan;
}

#endif
