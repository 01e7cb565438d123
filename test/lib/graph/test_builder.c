/* SPDX-License-Identifier: BSD-3-Clause */
/* What the builder of graphs refuses, and how it says so. */
#include "bad_nodes.h"
#include "failing_memory.h"
#include "graphs.h"
#include "layers.h"
#include "plan/exec.h"

/* ------ What the builder refuses ------ */

/* A row: a function of the graph, its status, and all that is said. */
#define BAD_GRAPHS(ROW) \
    ROW(add, ls_add(f32(g, "a", 2, 2, 3, 0), f32(g, "b", 2, 3, 2, 0)), \
        LS_ESHAPE, "add", "(2,3)", "(3,2)") \
    ROW(add_rank, ls_add(f32(g, "a", 2, 2, 3, 0), f32(g, "b", 1, 2, 0, 0)), \
        LS_ESHAPE, "add", "(2,3)", "(2)") \
    ROW(add_dtype, ls_add(f32(g, "a", 1, 2, 0, 0), i32(g, "b", 1, 2, 0)), \
        LS_ESHAPE, "add", "LS_I32", "(2)") \
    ROW(squared, \
        ls_mean_squared_error(f32(g, "a", 1, 3, 0, 0), \
                              f32(g, "b", 1, 4, 0, 0)), \
        LS_ESHAPE, "squared error", "(3)", "(4)") \
    ROW(entropy, \
        ls_cross_entropy(f32(g, "a", 2, 5, 7, 0), i32(g, "b", 1, 6, 0)), \
        LS_ESHAPE, "cross entropy", "(5,7)", "(6)") \
    ROW(entropy_dtype, \
        ls_cross_entropy(f32(g, "a", 2, 5, 7, 0), f32(g, "b", 1, 5, 0, 0)), \
        LS_ESHAPE, "cross entropy", "LS_F32", "(5)") \
    ROW(next, \
        ls_next_token_loss(f32(g, "a", 2, 5, 7, 0), i32(g, "b", 1, 6, 0)), \
        LS_ESHAPE, "next token", "(5,7)", "(6)") \
    ROW(next_rank, \
        ls_next_token_loss(f32(g, "a", 3, 5, 4, 7), i32(g, "b", 2, 5, 4)), \
        LS_ESHAPE, "next token", "(5,4)") \
    ROW(next_short, \
        ls_next_token_loss(f32(g, "a", 2, 1, 7, 0), i32(g, "b", 1, 1, 0)), \
        LS_ESHAPE, "next token", "(1)", "two or more") \
    ROW(heads, ls_self_attention(f32(g, "x", 2, 4, 10, 0), 3, false, "att"), \
        LS_ESHAPE, "attention \"att\"", "10", "3 heads") \
    ROW(no_heads, \
        ls_self_attention(f32(g, "x", 2, 4, 10, 0), 0, false, "att"), \
        LS_ESHAPE, "attention \"att\"", "10", "0 heads") \
    ROW(negative_heads, \
        ls_self_attention(f32(g, "x", 2, 4, 10, 0), -2, false, "att"), \
        LS_ESHAPE, "attention \"att\"", "10", "-2 heads") \
    ROW(attention_rank, \
        ls_self_attention(f32(g, "x", 3, 4, 2, 10), 2, false, "att"), \
        LS_ESHAPE, "attention \"att\"", "(4,2,10)") \
    ROW(dense_dtype, ls_dense(i32(g, "x", 2, 4, 10), 3, "fc"), \
        LS_ESHAPE, "dense \"fc\"", "LS_I32", "(4,10)") \
    ROW(dense_rank, ls_dense(f32(g, "x", 0, 0, 0, 0), 3, "fc"), \
        LS_ESHAPE, "dense \"fc\"", "()") \
    ROW(dense_zero, ls_dense(f32(g, "x", 1, 4, 0, 0), 0, "fc"), \
        LS_ESHAPE, "dense \"fc\"", "(0)") \
    ROW(dense_negative, ls_dense(f32(g, "x", 1, 4, 0, 0), -5, "fc"), \
        LS_ESHAPE, "dense \"fc\"", "(-5)") \
    ROW(dense_huge, ls_dense(f32(g, "x", 1, 4, 0, 0), INT64_MAX, "fc"), \
        LS_ESHAPE, "dense \"fc\"", "(9223372036854775807)") \
    ROW(dense_kernel, \
        ls_dense(f32(g, "x", 1, INT32_MAX, 0, 0), INT32_MAX, "fc"), \
        LS_ESHAPE, "\"fc.kernel\"", "large") \
    ROW(embed_dtype, ls_embed(f32(g, "x", 1, 4, 0, 0), 10, 3, "table"), \
        LS_ESHAPE, "embed \"table\"", "LS_F32", "(4)") \
    ROW(embed_count, ls_embed(i32(g, "x", 1, 4, 0), 0, 3, "table"), \
        LS_ESHAPE, "table", "empty") \
    ROW(embed_negative, ls_embed(i32(g, "x", 1, 4, 0), -1, 3, "table"), \
        LS_ESHAPE, "table") \
    ROW(embed_huge, ls_embed(i32(g, "x", 1, 4, 0), INT64_MAX / 2, 3, "table"), \
        LS_ESHAPE, "table", "large") \
    ROW(embed_width, ls_embed(i32(g, "x", 1, 4, 0), 10, 0, "table"), \
        LS_ESHAPE, "embed \"table\"", "(4,0)") \
    ROW(norm, ls_layer_norm(f32(g, "x", 0, 0, 0, 0), "norm"), \
        LS_ESHAPE, "layer_norm \"norm\"", "()") \
    ROW(position, ls_position(f32(g, "x", 1, 4, 0, 0), "pos"), \
        LS_ESHAPE, "position \"pos\"", "(4)") \
    ROW(gelu, ls_gelu(i32(g, "x", 1, 4, 0)), \
        LS_ESHAPE, "gelu", "LS_I32", "(4)") \
    ROW(names, ls_dense(ls_dense(f32(g, "x", 1, 4, 0, 0), 4, "fc"), 4, "fc"), \
        LS_EINVAL, "\"fc.kernel\"", "twice") \
    ROW(input_names, (f32(g, "x", 1, 4, 0, 0), f32(g, "x", 1, 4, 0, 0)), \
        LS_EINVAL, "input \"x\"", "twice") \
    ROW(input_name, f32(g, NULL, 1, 4, 0, 0), \
        LS_EINVAL, "ls_input: name is NULL") \
    ROW(input_rank, f32(g, "x", LS_MAX_RANK, 1, 1, 1), \
        LS_EINVAL, "input \"x\"", "rank 8") \
    ROW(input_negative_rank, f32(g, "x", -1, 1, 1, 1), \
        LS_EINVAL, "input \"x\"", "rank -1") \
    ROW(input_dtype, ls_input(g, "x", (ls_dtype)7, 1, (int64_t[]){4}), \
        LS_EINVAL, "input \"x\"", "dtype 7") \
    ROW(input_zero, f32(g, "x", 2, 4, 0, 0), \
        LS_ESHAPE, "input \"x\"", "(4,0)") \
    ROW(input_negative, f32(g, "x", 2, 4, -4, 0), \
        LS_ESHAPE, "input \"x\"", "(4,-4)") \
    ROW(input_huge, f32(g, "x", 2, 1 << 20, 1 << 20, 0), \
        LS_ESHAPE, "input \"x\"", "(1048576,1048576)") \
    ROW(input_overflow, f32(g, "x", 3, INT64_MAX, INT64_MAX, 2), \
        LS_ESHAPE, "input \"x\"", "9223372036854775807") \
    ROW(second_loss, \
        (end(g, ls_dense(x_of(g, 3), 2, "d")), ls_loss(g, g->loss)), \
        LS_EINVAL, "ls_loss", "has a loss") \
    ROW(loss, ls_loss(g, ls_dense(f32(g, "x", 1, 4, 0, 0), 3, "fc")), \
        LS_EINVAL, "ls_loss", "not a loss") \
    ROW(loss_input, ls_loss(g, f32(g, "x", 1, 4, 0, 0)), \
        LS_EINVAL, "ls_loss", "not a loss") \
    ROW(no_loss, ls_dense(f32(g, "x", 1, 4, 0, 0), 3, "fc"), \
        LS_EINVAL, "no loss") \
    ROW(nothing, (void)g, LS_EINVAL, "no loss")

#define FUNCTION(name, nodes, status, ...) \
    static void bad_##name(ls_graph *g) \
    { \
        nodes; \
    }
BAD_GRAPHS(FUNCTION)
#undef FUNCTION

#define ENTRY(name, nodes, status, ...) {bad_##name, status, {__VA_ARGS__}},
static const struct {
    void (*build)(ls_graph *g);
    int status;
    const char *says[3];
} bad[] = {BAD_GRAPHS(ENTRY)};
#undef ENTRY
enum { BAD = sizeof bad / sizeof *bad };

/* The graph's compilation fails with that status and message, and leaves the
 * result untouched. */
static void check_refused(const ls_graph *g, int status,
                          const char *const *says)
{
    ls__plan *plan = NULL;
    int got = ls__plan_new(&plan, g, backend(NULL), LS__TO_TRAIN, NULL);

    ck_assert_msg(got == status, "status %d, must be %d: %s", got, status,
                  ls_errmsg());
    ck_assert_ptr_null(plan);
    for (int i = 0; i < 3 && says[i]; i++)
        ck_assert_msg(strstr(ls_errmsg(), says[i]) != NULL,
                      "\"%s\" does not say %s", ls_errmsg(), says[i]);
}

/* What building, planning and freeing leaves allocated.  (No assertion inside:
 * Check allocates too.) */
static int left_by(void (*build)(ls_graph *g), const ls__backend *be)
{
    int before = live;
    ls_graph *g = NULL;
    ls__plan *plan = NULL;

    if (ls_graph_new(&g) == 0) {
        build(g);
        ls__plan_new(&plan, g, be, LS__TO_TRAIN, NULL);
    }
    ls__plan_free(plan);
    ls_graph_free(g);
    return live - before;
}

/* Every mistake gets its status and a message naming the thing and the sizes;
 * nothing is left behind. */
LOOP_TEST(test_refused, 0, BAD)
{
    ls_graph *g = NULL;
    int left = left_by(bad[_i].build, backend(NULL));

    ck_assert_int_eq(left, 0);
    ck_assert_int_eq(ls_graph_new(&g), 0);
    bad[_i].build(g);
    check_refused(g, bad[_i].status, bad[_i].says);
    ls_graph_free(g);
}

/* Where a node is refused there is none, and the graph keeps the status. */
LOOP_TEST(test_bad_node, 0, sizeof bad_nodes / sizeof *bad_nodes)
{
    const char *name = bad_nodes[_i].name;
    ls_graph *g = empty_graph();
    ls_node *n = bad_nodes[_i].build(leaves_of(g));

    ck_assert_msg(!n, "%s: there is a node", name);
    ck_assert_msg(g->status == bad_nodes[_i].status, "%s: status %d, %s", name,
                  g->status, ls_errmsg());
    ck_assert_msg(strstr(ls_errmsg(), bad_nodes[_i].words), "%s: %s", name,
                  ls_errmsg());
    ls_graph_free(g);
}

/* Some rows are of a first error that sticks. */
static bool sticks(const char *name)
{
    const char *end = strrchr(name, '_');

    return end && !strcmp(end, "_after");
}

/* Where errors pass, every one leaves the graph as it was: one more that is
 * good gets the number, the names and the keys that it would have had. */
TEST(test_errors_pass)
{
    ls_graph *g, *plain;
    leaves l;

    OK(ls_graph_new(&g));
    OK(ls_graph_new(&plain));
    ls_graph_errors_pass(g, true);
    l = leaves_of(g);
    leaves_of(plain);
    for (size_t i = 0; i < sizeof bad_nodes / sizeof *bad_nodes; i++) {
        ls_node *n = sticks(bad_nodes[i].name) ? NULL : bad_nodes[i].build(l);

        if (sticks(bad_nodes[i].name))
            continue;
        ck_assert_msg(!n && strstr(ls_errmsg(), bad_nodes[i].words), "%s: %s",
                      bad_nodes[i].name, ls_errmsg());
        ck_assert_msg(g->status == 0, "%s: it sticks", bad_nodes[i].name);
        ck_assert_msg(g->requests == 0 && g->param_count == 0 &&
                          g->stream_count == 0,
                      "%s: it left a parameter", bad_nodes[i].name);
    }
    for (int i = 0; i < g->input_count; i++)
        ck_assert_int_eq(g->inputs[i]->limit, plain->inputs[i]->limit);
    ck_assert_ptr_nonnull(ls_swiglu(l.x, 3, "conv"));
    ck_assert_ptr_nonnull(ls_self_attention(l.x, 2, false, "a"));
    ck_assert_ptr_null(ls_self_attention(l.image, 2, false, "b"));
    ck_assert_int_eq(g->requests, 6);
    ck_assert_int_eq(g->params[5]->count, 1);
    ls_graph_free(g);
    ls_graph_free(plain);
}

/* A tie that a layer was refused with is there for the next one, and a NULL
 * that a refused builder returned is told in its words. */
TEST(test_errors_pass_ties)
{
    ls_graph *g = empty_graph();
    leaves l;

    ls_graph_errors_pass(g, true);
    l = leaves_of(g);
    ck_assert_ptr_nonnull(ls_dense(l.x, 5, "first"));
    FAILS(ls_tie(g, "second.kernel", "none", false), LS_ENOTFOUND, "none");
    OK(ls_tie(g, "second.kernel", "first.kernel", false));
    ck_assert_ptr_null(ls_dense(l.x, 3, "second"));
    ck_assert_ptr_null(ls_add(l.x, ls_dense(l.x, -1, "third")));
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "\"third\""));
    ck_assert_ptr_nonnull(ls_dense(l.x, 5, "second"));
    ck_assert_int_eq(g->param_count, 3);
    ck_assert_int_eq(g->ties.open, 0);
    FAILS(ls_loss(g, NULL), LS_EINVAL, "loss is NULL");
    FAILS(ls_output(g, l.x, "y"), LS_EINVAL, "not the value");
    ls_graph_errors_pass(g, false);
    FAILS(ls_metric(g, NULL), LS_EINVAL, "node is NULL");
    FAILS(ls_metric(g, ls_relu(l.x)), LS_EINVAL, "node is NULL");
    ls_graph_free(g);
}

/* Nodes of two graphs do not meet, and neither do a graph and another's loss;
 * the second graph stays whole. */
TEST(test_two_graphs)
{
    static const char *const mixed[3] = {"add", "two graphs"};
    static const char *const foreign[3] = {"ls_loss", "of this graph"};
    ls_graph *a = new_graph(build_linear), *b = new_graph(build_mlp);
    ls_graph *c = NULL;

    ck_assert_int_eq(ls_graph_new(&c), 0);
    ck_assert_int_eq(ls_loss(c, b->loss), LS_EINVAL);
    check_refused(c, LS_EINVAL, foreign);
    ck_assert_ptr_null(
        ls_add(f32(a, "p", 1, 4, 0, 0), f32(b, "p", 1, 4, 0, 0)));
    check_refused(a, LS_EINVAL, mixed);
    ls__plan_free(new_plan(b, NULL));
    ls_graph_free(a);
    ls_graph_free(b);
    ls_graph_free(c);
}

/* NULL in gives NULL out, for every builder, and spoils nothing. */
TEST(test_null)
{
    ls_graph *g = new_graph(build_linear);
    ls_node *x = f32(g, "more", 2, 4, 6, 0);
    int64_t shape[LS_MAX_RANK];
    ls__plan *plan = NULL;

    ck_assert_ptr_null(f32(NULL, "x", 1, 4, 0, 0));
    ck_assert_ptr_null(ls_dense(NULL, 3, "d"));
    ck_assert_ptr_null(dense_no_bias(NULL, 3, "d"));
    ck_assert_ptr_null(ls_embed(NULL, 3, 4, "d"));
    ck_assert_ptr_null(ls_position(NULL, "d"));
    ck_assert_ptr_null(ls_layer_norm(NULL, "d"));
    ck_assert_ptr_null(ls_self_attention(NULL, 2, false, "d"));
    ck_assert_ptr_null(ls_gelu(NULL));
    ck_assert_ptr_null(ls_add(NULL, NULL));
    ck_assert_ptr_null(ls_add(x, NULL));
    ck_assert_ptr_null(ls_add(NULL, x));
    ck_assert_ptr_null(ls_mean_squared_error(x, NULL));
    ck_assert_ptr_null(ls_cross_entropy(NULL, NULL));
    ck_assert_ptr_null(ls_next_token_loss(x, NULL));
    ck_assert_int_eq(ls_node_shape(NULL, shape), LS_EINVAL);
    ck_assert_int_eq(ls_loss(NULL, NULL), LS_EINVAL);
    ck_assert_int_eq(
        ls__plan_new(&plan, NULL, backend(NULL), LS__TO_TRAIN, NULL),
        LS_EINVAL);
    ck_assert_ptr_null(plan);
    ls_graph_free(NULL);
    ls__plan_free(NULL);
    ls__context_close(NULL);
    FAILS(ls__plan_new(&plan, g, backend(NULL), LS__TO_TRAIN, NULL), LS_EINVAL,
          "add: input 1 is NULL");
    ls_graph_free(g);
}

/* The first error sticks: later calls build nothing, change nothing, and
 * ls_loss and the plan tell of the first. */
TEST(test_first_error)
{
    static const char *const says[3] = {"add", "(2,3)", "(3,2)"};
    ls_graph *g = NULL;
    ls_node *x;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    x = f32(g, "x", 2, 4, 10, 0);
    bad_add(g);
    ck_assert_ptr_null(ls_self_attention(x, 3, false, "att"));
    ck_assert_ptr_null(ls_dense(x, -1, "fc"));
    ck_assert_ptr_null(f32(g, "x", 1, 4, 0, 0));
    FAILS(ls_loss(g, NULL), LS_ESHAPE, "(2,3)");
    check_refused(g, LS_ESHAPE, says);
    ls_graph_free(g);
}

/* Names may be missing or long: no crash, and no layer refused for it. */
LOOP_TEST(test_names, 0, 3)
{
    char name[700];
    const char *const names[] = {"", name, NULL};
    ls_graph *g = NULL;
    ls_node *x;

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    ck_assert_int_eq(ls_graph_new(&g), 0);
    x = f32(g, "x", 2, 3, 4, 0);
    x = ls_self_attention(x, 2, false, names[_i]);
    ck_assert_msg(x != NULL, "%.200s", ls_errmsg());
    x = ls_dense(x, 3, names[_i]);
    ck_assert_msg(x != NULL, "%.200s", ls_errmsg());
    end(g, x);
    ls__plan_free(new_plan(g, NULL));
    ls_graph_free(g);
}

/* Indices must fit every table and every class that reads them. */
LOOP_TEST(test_limits, 0, 3)
{
    static const struct {
        void (*build)(ls_graph *g);
        int64_t limit;              /* of the first input */
    } rows[] = {{build_tables, 11}, /* of 13, 11 and 12 */
                {build_classes, 5},
                {build_transformer, 19}};
    ls_graph *g = new_graph(rows[_i].build);
    ls__plan *plan = new_plan(g, NULL);

    ck_assert_int_eq(plan->input[0]->limit, rows[_i].limit);
    ls__plan_free(plan);
    ls_graph_free(g);
}

/* A loss is the end: another operator that reads it is refused. */
TEST(test_loss_of_loss)
{
    ls_graph *g = NULL;
    ls__plan *plan = NULL;
    ls_node *x, *loss;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    x = x_of(g, 3);
    loss = ls_mean_squared_error(ls_dense(x, 3, "d"),
                                 ls_input(g, "y", LS_F32, 1, (int64_t[]){3}));
    loss = ls_mean_squared_error(loss, ls_input(g, "z", LS_F32, 0, NULL));
    ls_loss(g, loss);
    ck_assert_int_lt(
        ls__plan_new(&plan, g, backend(NULL), LS__TO_TRAIN, NULL), 0);
    ck_assert_ptr_null(plan);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "loss"));
    ls_graph_free(g);
}

MAIN()
