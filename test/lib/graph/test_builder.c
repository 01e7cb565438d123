/* SPDX-License-Identifier: BSD-3-Clause */
/* What the builder of graphs refuses, and how it says so. */
#include "bad_nodes.h"
#include "failing_memory.h"
#include "graphs.h"
#include "layers.h"
#include "plan/exec.h"

/* ------ What the builder refuses ------ */

static void bad_add(ls_graph *g)
{
    ls_add(f32(g, "a", 2, 2, 3, 0), f32(g, "b", 2, 3, 2, 0));
}

static void bad_add_rank(ls_graph *g)
{
    ls_add(f32(g, "a", 2, 2, 3, 0), f32(g, "b", 1, 2, 0, 0));
}

static void bad_add_dtype(ls_graph *g)
{
    ls_add(f32(g, "a", 1, 2, 0, 0), i32(g, "b", 1, 2, 0));
}

static void bad_squared(ls_graph *g)
{
    ls_mean_squared_error(f32(g, "a", 1, 3, 0, 0), f32(g, "b", 1, 4, 0, 0));
}

static void bad_entropy(ls_graph *g)
{
    ls_cross_entropy(f32(g, "a", 2, 5, 7, 0), i32(g, "b", 1, 6, 0));
}

static void bad_entropy_dtype(ls_graph *g)
{
    ls_cross_entropy(f32(g, "a", 2, 5, 7, 0), f32(g, "b", 1, 5, 0, 0));
}

static void bad_next(ls_graph *g)
{
    ls_next_token_loss(f32(g, "a", 2, 5, 7, 0), i32(g, "b", 1, 6, 0));
}

static void bad_next_rank(ls_graph *g)
{
    ls_next_token_loss(f32(g, "a", 3, 5, 4, 7), i32(g, "b", 2, 5, 4));
}

static void bad_next_short(ls_graph *g)
{
    ls_next_token_loss(f32(g, "a", 2, 1, 7, 0), i32(g, "b", 1, 1, 0));
}

static void bad_heads(ls_graph *g)
{
    ls_self_attention(f32(g, "x", 2, 4, 10, 0), 3, false, "att");
}

static void bad_no_heads(ls_graph *g)
{
    ls_self_attention(f32(g, "x", 2, 4, 10, 0), 0, false, "att");
}

static void bad_negative_heads(ls_graph *g)
{
    ls_self_attention(f32(g, "x", 2, 4, 10, 0), -2, false, "att");
}

static void bad_attention_rank(ls_graph *g)
{
    ls_self_attention(f32(g, "x", 3, 4, 2, 10), 2, false, "att");
}

static void bad_dense_dtype(ls_graph *g)
{
    ls_dense(i32(g, "x", 2, 4, 10), 3, "fc");
}

static void bad_dense_rank(ls_graph *g)
{
    ls_dense(f32(g, "x", 0, 0, 0, 0), 3, "fc");
}

static void bad_dense_zero(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, 4, 0, 0), 0, "fc");
}

static void bad_dense_negative(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, 4, 0, 0), -5, "fc");
}

static void bad_dense_huge(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, 4, 0, 0), INT64_MAX, "fc");
}

static void bad_dense_kernel(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, INT32_MAX, 0, 0), INT32_MAX, "fc");
}

static void bad_embed_dtype(ls_graph *g)
{
    ls_embed(f32(g, "x", 1, 4, 0, 0), 10, 3, "table");
}

static void bad_embed_count(ls_graph *g)
{
    ls_embed(i32(g, "x", 1, 4, 0), 0, 3, "table");
}

static void bad_embed_negative(ls_graph *g)
{
    ls_embed(i32(g, "x", 1, 4, 0), -1, 3, "table");
}

static void bad_embed_huge(ls_graph *g)
{
    ls_embed(i32(g, "x", 1, 4, 0), INT64_MAX / 2, 3, "table");
}

static void bad_embed_width(ls_graph *g)
{
    ls_embed(i32(g, "x", 1, 4, 0), 10, 0, "table");
}

static void bad_norm(ls_graph *g)
{
    ls_layer_norm(f32(g, "x", 0, 0, 0, 0), "norm");
}

static void bad_position(ls_graph *g)
{
    ls_position(f32(g, "x", 1, 4, 0, 0), "pos");
}

static void bad_gelu(ls_graph *g)
{
    ls_gelu(i32(g, "x", 1, 4, 0));
}

static void bad_names(ls_graph *g)
{
    ls_node *x = f32(g, "x", 1, 4, 0, 0);

    ls_dense(ls_dense(x, 4, "fc"), 4, "fc");
}

static void bad_input_names(ls_graph *g)
{
    f32(g, "x", 1, 4, 0, 0);
    f32(g, "x", 1, 4, 0, 0);
}

static void bad_input_name(ls_graph *g)
{
    f32(g, NULL, 1, 4, 0, 0);
}

static void bad_input_rank(ls_graph *g)
{
    f32(g, "x", LS_MAX_RANK, 1, 1, 1);
}

static void bad_input_negative_rank(ls_graph *g)
{
    f32(g, "x", -1, 1, 1, 1);
}

static void bad_input_dtype(ls_graph *g)
{
    ls_input(g, "x", (ls_dtype)7, 1, (int64_t[]){4});
}

static void bad_input_zero(ls_graph *g)
{
    f32(g, "x", 2, 4, 0, 0);
}

static void bad_input_negative(ls_graph *g)
{
    f32(g, "x", 2, 4, -4, 0);
}

static void bad_input_huge(ls_graph *g)
{
    f32(g, "x", 2, 1 << 20, 1 << 20, 0);
}

static void bad_input_overflow(ls_graph *g)
{
    f32(g, "x", 3, INT64_MAX, INT64_MAX, 2);
}

static void bad_second_loss(ls_graph *g)
{
    end(g, ls_dense(x_of(g, 3), 2, "d"));
    ls_loss(g, g->loss);
}

static void bad_loss(ls_graph *g)
{
    ls_loss(g, ls_dense(f32(g, "x", 1, 4, 0, 0), 3, "fc"));
}

static void bad_loss_input(ls_graph *g)
{
    ls_loss(g, f32(g, "x", 1, 4, 0, 0));
}

static void bad_no_loss(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, 4, 0, 0), 3, "fc");
}

static void bad_nothing(ls_graph *g)
{
    (void)g;
}

/* clang-format off */
static const struct {
    void (*build)(ls_graph *g);
    int status;
    const char *says[3]; /* all of these */
} bad[] = {
    {bad_add, LS_ESHAPE, {"add", "(2,3)", "(3,2)"}},
    {bad_add_rank, LS_ESHAPE, {"add", "(2,3)", "(2)"}},
    {bad_add_dtype, LS_ESHAPE, {"add", "LS_I32", "(2)"}},
    {bad_squared, LS_ESHAPE, {"squared error", "(3)", "(4)"}},
    {bad_entropy, LS_ESHAPE, {"cross entropy", "(5,7)", "(6)"}},
    {bad_entropy_dtype, LS_ESHAPE, {"cross entropy", "LS_F32", "(5)"}},
    {bad_next, LS_ESHAPE, {"next token", "(5,7)", "(6)"}},
    {bad_next_rank, LS_ESHAPE, {"next token", "(5,4)"}},
    {bad_next_short, LS_ESHAPE, {"next token", "(1)", "two or more"}},
    {bad_heads, LS_ESHAPE, {"attention \"att\"", "10", "3 heads"}},
    {bad_no_heads, LS_ESHAPE, {"attention \"att\"", "10", "0 heads"}},
    {bad_negative_heads, LS_ESHAPE, {"attention \"att\"", "10", "-2 heads"}},
    {bad_attention_rank, LS_ESHAPE, {"attention \"att\"", "(4,2,10)"}},
    {bad_dense_dtype, LS_ESHAPE, {"dense \"fc\"", "LS_I32", "(4,10)"}},
    {bad_dense_rank, LS_ESHAPE, {"dense \"fc\"", "()"}},
    {bad_dense_zero, LS_ESHAPE, {"dense \"fc\"", "(0)"}},
    {bad_dense_negative, LS_ESHAPE, {"dense \"fc\"", "(-5)"}},
    {bad_dense_huge, LS_ESHAPE, {"dense \"fc\"", "(9223372036854775807)"}},
    {bad_dense_kernel, LS_ESHAPE, {"\"fc.kernel\"", "large"}},
    {bad_embed_dtype, LS_ESHAPE, {"embed \"table\"", "LS_F32", "(4)"}},
    {bad_embed_count, LS_ESHAPE, {"table", "empty"}},
    {bad_embed_negative, LS_ESHAPE, {"table"}},
    {bad_embed_huge, LS_ESHAPE, {"table", "large"}},
    {bad_embed_width, LS_ESHAPE, {"embed \"table\"", "(4,0)"}},
    {bad_norm, LS_ESHAPE, {"layer_norm \"norm\"", "()"}},
    {bad_position, LS_ESHAPE, {"position \"pos\"", "(4)"}},
    {bad_gelu, LS_ESHAPE, {"gelu", "LS_I32", "(4)"}},
    {bad_names, LS_EINVAL, {"\"fc.kernel\"", "twice"}},
    {bad_input_names, LS_EINVAL, {"input \"x\"", "twice"}},
    {bad_input_name, LS_EINVAL, {"ls_input: name is NULL"}},
    {bad_input_rank, LS_EINVAL, {"input \"x\"", "rank 8"}},
    {bad_input_negative_rank, LS_EINVAL, {"input \"x\"", "rank -1"}},
    {bad_input_dtype, LS_EINVAL, {"input \"x\"", "dtype 7"}},
    {bad_input_zero, LS_ESHAPE, {"input \"x\"", "(4,0)"}},
    {bad_input_negative, LS_ESHAPE, {"input \"x\"", "(4,-4)"}},
    {bad_input_huge, LS_ESHAPE, {"input \"x\"", "(1048576,1048576)"}},
    {bad_input_overflow, LS_ESHAPE, {"input \"x\"", "9223372036854775807"}},
    {bad_second_loss, LS_EINVAL, {"ls_loss", "has a loss"}},
    {bad_loss, LS_EINVAL, {"ls_loss", "not a loss"}},
    {bad_loss_input, LS_EINVAL, {"ls_loss", "not a loss"}},
    {bad_no_loss, LS_EINVAL, {"no loss"}},
    {bad_nothing, LS_EINVAL, {"no loss"}}};
/* clang-format on */
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
    ls_graph *g;
    ls_node *n;

    OK(ls_graph_new(&g));
    n = bad_nodes[_i].build(leaves_of(g));
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
    ls_graph *g;
    leaves l;

    OK(ls_graph_new(&g));
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
    ck_assert_int_eq(ls_loss(g, NULL), LS_ESHAPE);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "(2,3)"));
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
