/* From a graph to a list of instructions with memory.
 *
 *   copy     the nodes the loss and the outputs depend on, and
 *   fold     activations and add into the epilogue of the product before them
 *            (plan_fold.c)
 *   list     what is left, in the order it was built, the loss last
 *   lay out  each output, stash and gradient where it is alone as long as it
 *            lives (plan_memory.c)
 *   pack     the weights that products want packed, once a step */
#include "plan/planner.h"
#include "op/op_table.h"

#include <stdlib.h>
#include <string.h>

enum { IMAGES = 1 << 19 };

/* ------ list ------ */

static int list_instructions(ls__planner *p)
{
    ls__plan *plan = p->plan;
    int nodes = p->graph->node_count, loss = p->graph->loss->id;

    for (int i = 0; i < nodes; i++) {
        bool runs = p->used[i] && p->node[i].op && p->home[i] == i;

        p->instr[i] = runs && i != loss ? plan->count++ : -1;
    }
    p->instr[loss] = plan->count++;
    plan->instr = ls__arena_new(&plan->arena, (size_t)plan->count,
                                sizeof *plan->instr);
    if (!plan->instr)
        return LS_ENOMEM;
    for (int i = 0; i < nodes; i++)
        if (p->instr[i] >= 0) {
            plan->instr[p->instr[i]].node = &p->node[i];
            plan->instr[p->instr[i]].inputs = ls__inputs_of(&p->node[i]);
        }
    return 0;
}

/* Whole rows (sequences) of at most 256 vectors through the widest dense
 * product; of images a power of two whose convolutions, before any pooling,
 * make no more than IMAGES numbers.  What is folded where must not matter. */
static void choose_chunk(ls__plan *plan)
{
    int64_t most = 1, images = 0, rows;

    for (int i = 0; i < plan->count; i++) {
        const ls_node *n = plan->instr[i].node;

        if (n->op == &ls__op_dense && ls__vectors(n) > most)
            most = ls__vectors(n);
        if (n->op == &ls__op_conv)
            images += n->window.h * n->window.w * ls__width(n);
    }
    rows = most < LS__CHUNK ? LS__CHUNK / most : 1;
    while (images && rows > 1 && (rows & (rows - 1) || rows * images > IMAGES))
        rows--;
    plan->chunk_rows = rows;
}

/* ------ products prepared ------ */

static int prepare_products(ls__planner *p)
{
    ls__plan *plan = p->plan;
    int status = 0;

    for (int i = 0; i < plan->count && status == 0; i++) {
        ls__instr *in = &plan->instr[i];

        if (plan->backend.prepare && in->node->op->prepare)
            status = in->node->op->prepare(in->node, plan->chunk_rows,
                                           p->refs[i][DX] >= 0, &plan->backend,
                                           in->prepared);
    }
    return status;
}

/* ------ packed weights ------ */

static void add_pack(ls__plan *plan, ls__instr *in, int transposed)
{
    int64_t i = ls__width(in->node->in[0]), n = ls__width(in->node);
    int64_t taps = in->node->window.kh * in->node->window.kw;
    ls__pack *q = &plan->pack[plan->packs++];

    *q = (ls__pack){.param = in->node->param[0],
                    .k = transposed ? n : i, .n = transposed ? i : n,
                    .row = transposed ? 1 : n, .col = transposed ? n : 1,
                    .taps = taps, .offset = plan->pack_floats,
                    .backward = transposed,
                    .prepared = in->prepared[transposed ? LS__OF_X : LS__OF_Y]};
    in->packed[transposed] = q->offset;
    q->floats = q->prepared ? q->prepared->packed
                : taps  ? plan->backend.conv_packed_size(taps, q->k, q->n)
                        : plan->backend.packed_size(q->k, q->n);
    plan->pack_floats += q->floats;
}

/* Does the backend want this instruction's weights packed? */
static bool packs(const ls__plan *plan, const ls_node *n)
{
    const ls__backend *b = &plan->backend;

    return n->op->is_product && (n->window.kh ? b->conv_pack != NULL
                                              : b->pack != NULL);
}

static int pack_list(ls__plan *plan)
{
    plan->pack = ls__arena_new(&plan->arena, 2 * (size_t)plan->count,
                               sizeof *plan->pack);
    if (!plan->pack)
        return LS_ENOMEM;
    for (int i = 0; i < plan->count; i++) {
        ls__instr *in = &plan->instr[i];

        in->packed[0] = in->packed[1] = -1;
        if (!packs(plan, in->node))
            continue;
        add_pack(plan, in, 0);
        if (in->dx[0] >= 0)
            add_pack(plan, in, 1);
    }
    return 0;
}

/* ------ goals ------ */

/* What the goal's instruction needs, directly or through others. */
static int mark_needed(ls__planner *p, ls__goal *goal, const char *name,
                       int instr)
{
    ls__plan *plan = p->plan;

    *goal = (ls__goal){.instr = instr};
    goal->runs = ls__arena_new(&plan->arena, (size_t)plan->count, 1);
    goal->reads = ls__arena_new(&plan->arena, (size_t)plan->inputs + 1, 1);
    if (name && !(goal->name = ls__arena_text(&plan->arena, name)))
        return LS_ENOMEM;
    if (!goal->runs || !goal->reads)
        return LS_ENOMEM;
    goal->runs[instr] = true;
    for (int i = 0; i < p->graph->metrics && !name; i++)
        goal->runs[p->instr[ls__metric_node(p, i)->id]] = true;
    for (int i = instr; i >= 0; i--)
        for (int k = 0; goal->runs[i] && k < plan->instr[i].inputs; k++) {
            const ls_node *x = plan->instr[i].node->in[k];

            if (x->op)
                goal->runs[p->instr[x->id]] = true;
            else
                goal->reads[x->input] = true;
        }
    return 0;
}

static int goals(ls__planner *p)
{
    const ls_graph *g = p->graph;
    ls__plan *plan = p->plan;
    int status;

    plan->goals = g->output_count + 1;
    plan->goal = ls__arena_new(&plan->arena, (size_t)plan->goals,
                               sizeof *plan->goal);
    if (!plan->goal)
        return LS_ENOMEM;
    status = mark_needed(p, &plan->goal[0], NULL, plan->count - 1);
    for (int i = 0; i < g->output_count && status == 0; i++)
        status = mark_needed(p, &plan->goal[i + 1], g->outputs[i]->name,
                             p->instr[p->home[g->outputs[i]->node->id]]);
    return status;
}

/* ------ all of it ------ */

static int make_room(ls__planner *p)
{
    size_t n = (size_t)p->graph->node_count;
    ls__arena *arena = &p->plan->arena;
    int *lists = ls__arena_new(arena, 6 * n, sizeof *lists);

    p->node = ls__arena_new(arena, n, sizeof *p->node);
    p->used = ls__arena_new(arena, 2 * n, sizeof *p->used);
    p->values = ls__arena_new(arena, 5 * n, sizeof *p->values);
    p->refs = ls__arena_new(arena, n, sizeof *p->refs);
    if (!lists || !p->node || !p->used || !p->values || !p->refs)
        return LS_ENOMEM;
    memset(lists, -1, 6 * n * sizeof *lists);
    memset(p->refs, -1, n * sizeof *p->refs);
    p->trains = p->used + n;
    p->consumers = lists;
    p->home = lists + n;
    p->instr = lists + 2 * n;
    p->y = lists + 3 * n;
    p->stash = lists + 4 * n;
    p->grad = lists + 5 * n;
    memset(p->consumers, 0, n * sizeof *p->consumers);
    return 0;
}

static int check_graph(const ls_graph *graph)
{
    if (!graph)
        return ls__fail(LS_EINVAL, "no graph");
    if (graph->status)
        return ls__fail(graph->status, "%s", graph->message);
    if (!graph->loss)
        return ls__fail(LS_EINVAL, "the graph has no loss: call ls_loss");
    if (!graph->param_count)
        return ls__fail(LS_EINVAL, "the graph has no parameters");
    return 0;
}

static int build(ls__planner *p)
{
    int status;

    if ((status = make_room(p)) < 0 || (status = ls__plan_copy(p)) < 0)
        return status;
    ls__plan_fold(p);
    if ((status = list_instructions(p)) < 0)
        return status;
    if ((status = goals(p)) < 0)
        return status;
    choose_chunk(p->plan);
    if ((status = ls__plan_layout(p)) < 0 || (status = prepare_products(p)) < 0)
        return status;
    ls__plan_write(p);
    return pack_list(p->plan);
}

int ls__plan_new(ls__plan **plan, const ls_graph *graph,
                 const ls__backend *backend)
{
    ls__planner p = {.graph = graph};
    int status = check_graph(graph);

    if (status < 0)
        return status;
    if (!(p.plan = ls__new(1, sizeof *p.plan, "plan")))
        return LS_ENOMEM;
    p.plan->backend = *backend;
    status = build(&p);
    if (status < 0) {
        ls__plan_free(p.plan);
        return status;
    }
    *plan = p.plan;
    return 0;
}

void ls__plan_free(ls__plan *plan)
{
    if (!plan)
        return;
    for (int i = 0; plan->instr && i < plan->count; i++)
        for (int k = 0; k < LS__PRODUCTS; k++)
            if (plan->instr[i].prepared[k])
                plan->instr[i].prepared[k]->free(plan->instr[i].prepared[k]);
    ls__arena_free(&plan->arena);
    free(plan);
}
