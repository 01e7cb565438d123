/* SPDX-License-Identifier: BSD-3-Clause */
/* Trainers that cannot be opened: options, graphs and gradients that make no
 * sense, and what is said of them. */
#include "regression.h"

static void refuses(ls_pool *pool, const ls_graph *g,
                    const ls_trainer_options *o, int status,
                    const char *words)
{
    ls_trainer *t = (ls_trainer *)&o; /* must stay */

    FAILS(ls_trainer_open(&t, pool, g, o), status, words);
    ck_assert_ptr_eq(t, &o);
}

static void refuses_optimizer(ls_pool *pool, const ls_graph *g,
                              ls_optimizer optimizer, const char *words)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = optimizer;
    refuses(pool, g, &o, LS_EINVAL, words);
}

/* Proves that options which make no sense are refused by name and value. */
TEST(bad_options)
{
    ls_pool *pool = open_pool(DEVICES, 2);
    ls_graph *g = linear_graph(IN, OUT);
    ls_trainer_options o = ls_trainer_defaults();
    ls_optimizer adam = ls_adamw(1e-3);

    refuses_optimizer(pool, g, ls_sgd(-0.1), "learning rate is -0.1");
    refuses_optimizer(pool, g, ls_sgd((double)NAN), "learning rate is nan");
    refuses_optimizer(pool, g, ls_adam((double)INFINITY),
                      "learning rate is inf");
    refuses_optimizer(pool, g, ls_sgd(3.5e38), "learning rate is 3.5e+38");
    refuses_optimizer(pool, g, ls_momentum(0.1, -1), "momentum is -1");
    adam.b1 = 1;
    refuses_optimizer(pool, g, adam, "b1 is 1");
    adam = ls_adamw(1e-3);
    adam.b2 = -0.5;
    refuses_optimizer(pool, g, adam, "b2 is -0.5");
    adam = ls_adamw(1e-3);
    adam.eps = (double)NAN;
    refuses_optimizer(pool, g, adam, "eps is nan");
    adam = ls_adamw(1e-3);
    adam.weight_decay = -1;
    refuses_optimizer(pool, g, adam, "weight_decay is -1");
    adam.kind = (ls_optimizer_kind)99;
    refuses_optimizer(pool, g, adam, "kind 99");
    o.backend = "fast";
    refuses(pool, g, &o, LS_EINVAL, "backend \"fast\" is unknown");
    o = ls_trainer_defaults();
    o.mean = (ls_mean)7;
    refuses(pool, g, &o, LS_EINVAL, "mean 7");
    o = ls_trainer_defaults();
    o.state = (ls_state)-1;
    refuses(pool, g, &o, LS_EINVAL, "state -1");
    o = ls_trainer_defaults();
    o.keys = (ls_keys)5;
    refuses(pool, g, &o, LS_EINVAL, "keys 5");
    ls_graph_free(g);
    ls_pool_close(pool);
}

/* Proves that a graph that cannot train is refused, with its own first error
 * if it has one. */
TEST(bad_graphs)
{
    ls_pool *pool = open_pool(DEVICES, 2);
    ls_graph *good = linear_graph(IN, OUT), *g;
    ls_trainer *t;
    ls_node *x, *y;

    refuses(NULL, good, NULL, LS_EINVAL, "pool");
    refuses(pool, NULL, NULL, LS_EINVAL, "graph");
    OK(ls_graph_new(&g));
    refuses(pool, g, NULL, LS_EINVAL, "no loss");
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){IN});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){IN});
    OK(ls_loss(g, ls_mean_squared_error(x, y)));
    OK(ls_trainer_open(&t, pool, g, NULL)); /* for gradients by inputs */
    ls_trainer_close(t);
    ck_assert_ptr_null(ls_mean_squared_error(ls_dense(x, OUT, "fc"), y));
    ck_assert_ptr_null(ls_dense(x, 0, "later"));
    refuses(pool, g, NULL, LS_ESHAPE, "y is (2), target is (3)");
    ls_graph_free(g);
    ls_graph_free(good);
    ls_pool_close(pool);
}

static void refuses_gradient(ls_pool *pool, const ls_gradient *g, int status,
                             const char *words)
{
    ls_trainer *t = NULL;

    FAILS(ls_trainer_open_gradient(&t, pool, g, NULL), status, words);
    ck_assert_ptr_null(t);
}

/* Proves that a gradient whose arrays make no sense is refused by name. */
TEST(bad_gradients)
{
    static const ls_array_spec twice[] = {{"w", LS_F32, 1, {2}},
                                          {"w", LS_F32, 1, {3}}};
    static const ls_array_spec deep = {"deep", LS_F32, 9, {1}};
    static const ls_array_spec empty = {"empty", LS_F32, 2, {3, 0}};
    static const ls_array_spec strange = {"strange", (ls_dtype)7, 1, {3}};
    const ls_gradient good = {nothing, NULL, 2, 2, linear_input,
                              linear_param};
    ls_pool *pool = open_pool(DEVICES, 2);
    ls_gradient g = good;

    refuses_gradient(NULL, &g, LS_EINVAL, "pool");
    refuses_gradient(pool, NULL, LS_EINVAL, "gradient");
    g.fn = NULL;
    refuses_gradient(pool, &g, LS_EINVAL, "function");
    g = good;
    g.n_inputs = 0;
    refuses_gradient(pool, &g, LS_EINVAL, "input");
    g = good;
    g.n_params = -1;
    refuses_gradient(pool, &g, LS_EINVAL, "parameter");
    g = good;
    g.params = twice;
    refuses_gradient(pool, &g, LS_EINVAL, "\"w\" stands there twice");
    g.n_params = 1;
    g.params = &deep;
    refuses_gradient(pool, &g, LS_EINVAL, "\"deep\": rank 9");
    g.params = &empty;
    refuses_gradient(pool, &g, LS_ESHAPE, "\"empty\": (3,0)");
    g = good;
    g.n_inputs = 1;
    g.inputs = &strange;
    refuses_gradient(pool, &g, LS_EINVAL, "\"strange\": dtype 7");
    g.inputs = &empty;
    refuses_gradient(pool, &g, LS_EINVAL, "\"empty\"");
    g.inputs = &deep;
    refuses_gradient(pool, &g, LS_EINVAL, "\"deep\"");
    ls_pool_close(pool);
}

MAIN()
