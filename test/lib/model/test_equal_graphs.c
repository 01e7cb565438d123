/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that graphs are compared, all of them: every attribute of every
 * operator is changed, on one of two ranks and against what a checkpoint says,
 * and is refused by its node and name; whole runs of two graphs refuse each
 * other; and what an older checkpoint does not say is told. */
#define _GNU_SOURCE /* nftw */
#include "all_operators.h"
#include "checkpoint/checkpoint.h"
#include "model/graph_facts.h"
#include "graph/edit.h"
#include "ranks/agree.h"
#include "two_runs.h"

#include <jansson.h>

/* Lists of two graphs, one for each rank. */
static int agree_on(const ls_transport *t, void *user)
{
    const ls__facts *of = user;

    return ls__agree(t, &of[t->rank]);
}

static json_t *nodes_of(const ls__facts *f)
{
    json_t *nodes = json_object();

    for (int i = 0; i < f->count; i++) {
        ck_assert_msg(!json_object_get(nodes, f->fact[i].name),
                      "\"%s\" stands there twice", f->fact[i].name);
        json_object_set_new(nodes, f->fact[i].name,
                            json_string(f->fact[i].value));
    }
    return nodes;
}

/* Compare as a checkpoint does: f[0] is what it says. */
static void refused_by_checkpoint(const ls__facts f[2], const char *said)
{
    ls__comparison how = {.folder = "run", .may_change = "",
                          .changed = json_object()};
    json_t *then = nodes_of(&f[0]), *now = nodes_of(&f[1]);

    FAILS(ls__checkpoint_compare(&how, now, then, true), LS_ESHAPE, said);
    json_decref(how.changed);
    json_decref(then);
    json_decref(now);
}

static void refused_by_ranks(ranks_here *all, ls__facts f[2], const char *said)
{
    rank_body out[RANKS];

    on_ranks(all, 2, agree_on, f, out);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(out[r].status, LS_EINVAL);
        ck_assert_msg(strstr(out[r].message, said),
                      "\"%s\" does not say \"%s\"", out[r].message, said);
    }
}

/* Another value than what is there: put back by a second call, but for sizes
 * and numbers, which the caller keeps. */
static void change(const ls__attribute *a, void *at)
{
    ls__extents *sizes = at;
    int word;

    switch (a->type) {
    case LS__INTEGER:
        *(int64_t *)at ^= 1;
        break;
    case LS__NUMBER:
        *(double *)at = *(double *)at == 0.375 ? 0.25 : 0.375;
        break;
    case LS__YES_NO:
        *(bool *)at = !*(bool *)at;
        break;
    case LS__SIZES:
        sizes->rank = sizes->rank < LS_MAX_RANK ? sizes->rank + 1 : 1;
        break;
    case LS__WORD:
        memcpy(&word, at, sizeof word);
        word = !word;
        memcpy(at, &word, sizeof word);
        break;
    }
}

/* The graph's facts against those of the same with one attribute changed. */
static void check_attribute(ls_graph *g, ranks_here *all, const ls__facts *was,
                            ls_node *n, const ls__attribute *a)
{
    ls_graph *other;
    ls__facts f[2] = {*was, {.count = 0}};
    char said[TEXT];

    OK(ls__graph_copy(&other, g));
    change(a, ls__attribute_in(other->nodes[n->id], a));
    ls__graph_facts(other, false, &f[1]);
    ck_assert(!f[1].failed);
    snprintf(said, sizeof said, "node %d (%s%s%s%s): %s is ", n->id,
             n->op->name, *n->name ? " \"" : "", n->name, *n->name ? "\"" : "",
             a->name);
    refused_by_ranks(all, f, said);
    refused_by_checkpoint(f, said);
    ls__facts_free(&f[1]);
    ls_graph_free(other);
}

/* Every attribute of every operator of the library. */
TEST(test_attributes)
{
    ls_graph *g = all_operators();
    ls__facts was = {.count = 0};
    ranks_here *all;

    ls__graph_facts(g, false, &was);
    OK(ranks_open(&all, 2, NULL));
    for (int i = 0; i < g->node_count; i++) {
        const ls__op *op = g->nodes[i]->op;

        for (const ls__attribute *a = op ? op->file.attributes : NULL;
             a && a->name; a++)
            check_attribute(g, all, &was, g->nodes[i], a);
    }
    for (int i = 0; ls__ops[i]; i++)
        ck_assert_msg(has_op(g, ls__ops[i]), "%s is not among them",
                      ls__ops[i]->name);
    ranks_close(all);
    ls__facts_free(&was);
    ls_graph_free(g);
}

/* ------ whole runs of two graphs ------ */

static ls_node *slope(ls_node *x, bool odd)
{
    return ls_leaky_relu(x, odd ? 0.3 : 0.1);
}

static ls_node *chain(ls_node *x, bool odd)
{
    return ls_scale_shift(odd ? ls_abs(x) : ls_square(x), 0.1, 0);
}

static ls_node *epsilon(ls_node *x, bool odd)
{
    return ls_rms_norm(x, odd ? 0.1 : 1e-6, "n");
}

static ls_node *axes(ls_node *x, bool odd)
{
    int straight[] = {0, 1}, turned[] = {1, 0};

    x = ls_reshape(x, 2, (int64_t[]){4, 4});
    return ls_flatten(ls_transpose(x, odd ? straight : turned));
}

static ls_node *part(ls_node *x, bool odd)
{
    return ls_slice(x, 0, odd ? 0 : 4, 8);
}

static ls_node *base(ls_node *x, bool odd)
{
    x = ls_reshape(x, 2, (int64_t[]){4, 4});
    return ls_flatten(ls_rotary(x, 2, odd ? 123 : 10));
}

static ls_node *dilation(ls_node *x, bool odd)
{
    ls_conv_options o = ls_conv_defaults();

    o.dilation_y = o.dilation_x = odd ? 2 : 1;
    x = ls_reshape(x, 3, (int64_t[]){4, 4, 1});
    return ls_flatten(ls_conv2d_with(x, 2, 3, 3, &o, "c"));
}

static ls_node *hanging(ls_node *x, bool odd)
{
    ls_pooling_options o = ls_pooling_defaults();

    o.padding = LS_EXPLICIT;
    o.top = o.left = o.bottom = o.right = 1;
    o.exclude_padding = odd;
    x = ls_reshape(x, 3, (int64_t[]){4, 4, 1});
    return ls_flatten(ls_avg_pool_with(x, 3, 3, &o));
}

static ls_node *causal(ls_node *x, bool odd)
{
    x = ls_reshape(x, 2, (int64_t[]){4, 4});
    return ls_flatten(ls_self_attention(x, 2, odd, "a"));
}

static ls_node *order(ls_node *x, bool odd)
{
    ls_node *a = ls_abs(x);

    return odd ? ls_sub(a, x) : ls_sub(x, a);
}

static int copy_x(void *user, const ls_own_run *r)
{
    (void)user;
    memcpy(r->y, r->x[0], (size_t)r->rows * WIDTH * sizeof(float));
    return 0;
}

static int copy_dy(void *user, const ls_own_run *r)
{
    (void)user;
    memcpy(r->dx[0], r->dy, (size_t)r->rows * WIDTH * sizeof(float));
    return 0;
}

static ls_node *own(ls_node *x, bool odd)
{
    ls_own_op op = {.name = odd ? "theirs" : "ours", .inputs = 1,
                    .forward = copy_x, .backward = copy_dy};

    return ls_own(&op, &x);
}

/* A name that JSON could not hold. */
static ls_node *bytes(ls_node *x, bool odd)
{
    return ls_dropout(x, odd ? 0.5 : 0.25, "\xff\xfe");
}

static const struct {
    layer_fn *layer;
    const char *node, *says;
} graphs[] = {
    {slope, "node 3 (leaky_relu \"first\"): slope is 0.3", "0.1"},
    {chain, "node 3 is abs", "square"},
    {epsilon, "node 3 (rms_norm \"n\"): epsilon is 0.1", "1e-06"},
    {axes, "node 4 (transpose \"first\"): axes is [0,1]", "[1,0]"},
    {part, "node 3 (slice \"first\"): first is 0", "4"},
    {base, "node 4 (rotary \"first\"): base is 123", "1e+01"},
    {dilation, "node 4 (conv2d \"c\"): dilation_y is 2", "1"},
    {hanging, "node 4 (avg_pool \"first\"): inside is true", "false"},
    {causal, "): causal is true", "false"},
    {order, "): nodes it reads is [3,2]", "[2,3]"},
    {own, "node 3 is own operator \"theirs\"", "own operator \"ours\""},
    {bytes, "node 3 (dropout \"0xfffe\"): rate is 0.5", "0.25"},
};

/* Gradients of two models are not added; nor does one go on as another. */
LOOP_TEST(test_graphs, 0, sizeof graphs / sizeof *graphs)
{
    recipe r = same_runs();

    r.layer = graphs[_i].layer;
    on_two_ranks(&r, graphs[_i].node);
    on_checkpoint(&r, LS_ESHAPE, graphs[_i].node);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), graphs[_i].says));
    r.layer = plain;
    on_two_ranks(&r, NULL);
    on_checkpoint(&r, 0, NULL);
}

/* What is shown of a graph is no part of what is trained: ranks must show the
 * same, but a run goes on. */
TEST(test_shown)
{
    recipe r = same_runs();

    r.shows[1] = true;
    on_two_ranks(&r, "output 0: name shown");
    on_checkpoint(&r, 0, NULL);
}

/* A graph may be another where the program says so. */
TEST(test_allowed)
{
    recipe r = same_runs();

    r.layer = slope;
    folder_open();
    ck_assert_int_eq(go_on(&r, "node * (leaky_relu *): slope"), 0);
    folder_close();
    folder_open();
    ck_assert_int_eq(go_on(&r, "node * (leaky_relu *): axis"),
                     LS_ESHAPE);
    folder_close();
}

MAIN()
