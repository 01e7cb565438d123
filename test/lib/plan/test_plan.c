/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan's memory, by walking its instructions over a shadow of it, and what
 * happens when there is not enough. */
#include "op/op_table.h"
#include "op/product_plan.h"
#include "failing_memory.h"
#include "graphs.h"
#include "plan/exec.h"

/* ------ The plan's memory ------ */

/* A tag for every float of a worker's memory: which value was last written
 * there.  What an instruction reads must still carry the tag it should. */
typedef struct shadow {
    const ls__plan *plan;
    int *tag, last;
    int y[MOST_NODES], stash[MOST_NODES], grad[MOST_NODES];
} shadow;

static int64_t floats_of(const shadow *s, const ls_node *n)
{
    return n->size * s->plan->chunk_rows;
}

static int put(shadow *s, int64_t offset, int64_t n)
{
    ck_assert(offset >= 0 && offset % 16 == 0 &&
              offset + n <= s->plan->memory.scratch);
    s->last++;
    for (int64_t i = 0; i < n; i++)
        s->tag[offset + i] = s->last;
    return s->last;
}

static void take(const shadow *s, const ls__instr *in, const char *what,
                 int64_t offset, int64_t n, int tag)
{
    ck_assert(offset >= 0 && tag > 0);
    for (int64_t i = 0; i < n; i++)
        if (s->tag[offset + i] != tag)
            ck_abort_msg("%s \"%s\": its %s is written over",
                         in->node->op->name, in->node->name, what);
}

static void read_x(const shadow *s, const ls__instr *in, int k)
{
    const ls_node *x = in->node->in[k];

    if (in->x[k].input < 0)
        take(s, in, "input", in->x[k].offset, floats_of(s, x), s->y[x->id]);
    else
        ck_assert(!x->op && x->input == in->x[k].input);
}

static void walk_forward(shadow *s, const ls__instr *in)
{
    const ls_node *n = in->node;

    if (!n->op->is_loss)
        s->y[n->id] = in->lends ? s->y[n->in[0]->id]
                                : put(s, in->y, floats_of(s, n));
    if (in->kept)
        s->stash[n->id] = put(s, in->stash, in->kept * s->plan->chunk_rows);
    for (int k = 0; k < in->inputs; k++) /* after the writes: none hit it */
        read_x(s, in, k);
}

static bool trains(const ls_node *n)
{
    if (n->params)
        return true;
    for (int k = 0; n->op && k < ls__inputs_of(n); k++)
        if (trains(n->in[k]))
            return true;
    return false;
}

/* dx may meet what the instruction reads only as the operator allows. */
static void check_meeting(const shadow *s, const ls__instr *in, int k,
                          const char *what, int64_t other, int64_t size,
                          bool allowed)
{
    int64_t dx = in->dx[k], n = floats_of(s, in->node->in[k]);

    if (other < 0 || dx >= other + size || other >= dx + n)
        return;
    ck_assert_msg(allowed && dx == other,
                  "%s \"%s\": gradient %d at %lld "
                  "meets its %s at %lld",
                  in->node->op->name, in->node->name, k, (long long)dx, what,
                  (long long)other);
}

/* Where slopes lie that a product's dx goes through; -1: nowhere. */
static int64_t slope_of(const ls__instr *in)
{
    const ls__op *op = in->node->op;
    const ls__product_made *m = in->made;

    return op == &ls__op_dense || op == &ls__op_conv ? m->slope_of_x : -1;
}

static void check_dx(const shadow *s, const ls__instr *in, int k)
{
    const ls__op *op = in->node->op;
    int64_t kept = in->kept * s->plan->chunk_rows;

    check_meeting(s, in, k, "dy", in->dy, floats_of(s, in->node),
                  op->plan.over & LS__OVER_DY);
    check_meeting(s, in, k, "stash", in->stash, kept, false);
    for (int j = 0; j < in->inputs; j++) {
        int64_t size = floats_of(s, in->node->in[j]);

        /* of one node twice, the second adds to what the first has written */
        if (!(j > k && in->node->in[j] == in->node->in[k]))
            check_meeting(s, in, k, "addend", in->addend[j], size,
                          op->plan.over & LS__OVER_ADDEND && j == k);
        if (op->plan.reads >> j & 1 && in->x[j].input < 0)
            check_meeting(s, in, k, "input", in->x[j].offset, size,
                          op->plan.over & LS__OVER_X && j == 0 && k == 0);
        if (j != k)
            check_meeting(s, in, k, "other gradient", in->dx[j], size, false);
    }
    if (slope_of(in) >= 0)
        check_meeting(s, in, k, "slope", slope_of(in),
                      floats_of(s, in->node->in[0]), false);
}

static void read_backward(const shadow *s, const ls__instr *in)
{
    const ls_node *n = in->node;

    if (!n->op->is_loss)
        take(s, in, "dy", in->dy, floats_of(s, n), s->grad[n->id]);
    for (int k = 0; k < in->inputs; k++)
        if (n->op->plan.reads >> k & 1)
            read_x(s, in, k);
    if (in->stash >= 0)
        take(s, in, "stash", in->stash, in->kept * s->plan->chunk_rows,
             s->stash[n->id]);
    if (slope_of(in) >= 0)
        take(s, in, "slope", slope_of(in), floats_of(s, n->in[0]),
             s->stash[n->in[0]->id]);
}

static void walk_backward(shadow *s, const ls__instr *in)
{
    const ls_node *n = in->node;
    int tag[LS__MAX_INPUTS] = {0};

    if (!n->op->is_loss && !trains(n))
        return;
    read_backward(s, in);
    for (int k = 0; k < in->inputs; k++) {
        const ls_node *x = n->in[k];
        int before = s->grad[x->id];

        if (!trains(x)) {
            ck_assert(in->dx[k] < 0);
        } else if (in->dx[k] < 0) { /* dy itself, for the first reader */
            ck_assert(n->op->plan.passes >> k & 1 && !before);
            s->grad[x->id] = s->grad[n->id];
        } else {
            check_dx(s, in, k);
            ck_assert_int_eq(in->addend[k] >= 0, before > 0);
            if (before)
                take(s, in, "addend", in->addend[k], floats_of(s, x), before);
            s->grad[x->id] = tag[k] = put(s, in->dx[k], floats_of(s, x));
        }
    }
    for (int k = 0; k < in->inputs; k++) /* none hit another */
        if (tag[k] && s->grad[n->in[k]->id] == tag[k])
            take(s, in, "dx", in->dx[k], floats_of(s, n->in[k]), tag[k]);
}

static void check_scratch(const ls__plan *plan, const ls__instr *in)
{
    const ls__op *op = in->node->op;
    ls__arena arena = {0};
    ls__pack room[2];
    ls__instr again = *in;
    ls__bench b = {.arena = &arena, .backend = &plan->backend,
                   .rows = plan->chunk_rows, .backward = true,
                   .instr = plan->instr, .count = plan->count, .pack = room};

    if (op->plan.made)
        again.made = memcpy(ls__arena_new(&arena, 1, op->plan.made), in->made,
                            op->plan.made);
    if (op->plan.decide)
        ck_assert_int_eq(op->plan.decide(&b, &again), 0);
    ck_assert_int_le(plan->memory.scratch + b.scratch, plan->memory.floats);
    ls__arena_free(&arena);
}

/* Nothing that is still to be read is written over, in no graph; everything
 * that trains gets a gradient, and all lies within the memory. */
LOOP_TEST(test_memory, 0, GRAPHS)
{
    static const char *const names[] = {"native", "blis"};
    ls_graph *g = new_graph(graphs[_i].build);

    for (int b = 0; b < 1 + have_blis(); b++) {
        ls__plan *plan = new_plan(g, names[b]);
        shadow s = {.plan = plan};

        ck_assert_int_eq(plan->chunk_rows, graphs[_i].chunk_rows);
        s.tag = ls__new((size_t)plan->memory.floats, sizeof *s.tag, "shadow");
        ck_assert_ptr_nonnull(s.tag);
        for (int i = 0; i < plan->count; i++) {
            check_scratch(plan, &plan->instr[i]);
            walk_forward(&s, &plan->instr[i]);
        }
        for (int i = plan->count - 1; i >= 0; i--)
            walk_backward(&s, &plan->instr[i]);
        free(s.tag);
        ls__plan_free(plan);
    }
    ls_graph_free(g);
}

/* ------ Shortage ------ */

/* Build, plan, open and close; the first status that is not 0, or 1 when a
 * failure left a result.  (No assertion inside: Check allocates too.) */
static int whole_way(const ls__backend *be)
{
    ls_graph *g = NULL;
    ls__plan *plan = NULL;
    ls__context *c = NULL;
    int status = ls_graph_new(&g);

    if (status < 0)
        return g ? 1 : status;
    build_transformer(g);
    status = ls__plan_new(&plan, g, be, LS__TO_TRAIN, NULL);
    if (status < 0 && plan)
        status = 1;
    if (status == 0 && (status = ls__context_open(&c, plan)) < 0 && c)
        status = 1;
    if (status == 0)
        status = ls__context_pair(c);
    ls__context_close(c);
    ls__plan_free(plan);
    ls_graph_free(g);
    return status;
}

/* Whichever allocation fails, from the graph to the executor: LS_ENOMEM, and
 * nothing stays allocated. */
TEST(test_no_memory)
{
    const ls__backend *be = backend(NULL);
    int status = LS_ENOMEM, n = 0;

    for (; COUNTS_MEMORY && status < 0; n++) {
        int before = live, left;

        allocations_left = n;
        status = whole_way(be);
        allocations_left = -1;
        left = live - before;
        ck_assert_msg(left == 0, "allocation %d: %d are left", n, left);
        ck_assert_msg(status == 0 || status == LS_ENOMEM,
                      "allocation %d: status %d: %s", n, status, ls_errmsg());
        ck_assert_int_lt(n, 1000);
    }
    ck_assert(!COUNTS_MEMORY || n > 10);
}

/* More memory than there is: LS_ENOMEM, not a crash. */
TEST(test_huge)
{
    ls_graph *g = NULL;
    ls__plan *plan = NULL;
    ls__context *c = NULL;
    ls_node *x;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    x = i32(g, "x", 1, 1 << 12, 0);
    end(g, ls_embed(x, 4, 1 << 18, "wide")); /* 2^30 floats a row, 256 rows */
    ck_assert_int_eq(
        ls__plan_new(&plan, g, backend(NULL), LS__TO_TRAIN, NULL), 0);
    if (!UNDER_SANITIZER) /* they stop the program instead */
        ck_assert_int_eq(ls__context_open(&c, plan), LS_ENOMEM);
    ck_assert_ptr_null(c);
    ls__plan_free(plan);
    ls_graph_free(g);
}

MAIN()
