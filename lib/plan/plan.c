/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a graph a list of instructions with memory.
 *
 *   copy     the nodes the loss and the outputs depend on, and
 *   fold     fuse activations and add into the epilogue of the product before
 *            them (plan_fold.c)
 *   chain    fuse elementwise operators that follow each other into formulas,
 *            each one pass over memory (plan_formula.c)
 *   list     what is left, in the order it was built, the loss last
 *   lay out  each output, stash and gradient where it is alone as long as it
 *            lives (plan_memory.c)
 *   plan     operators decide for themselves, and ask for scratch, memory that
 *            stays and packed weights
 *
 * A plain plan, to record, leaves out folds, chains, numbers of bf16, lots and
 * memory that is written twice.  No bit depends on any of them. */
#include "base/assert.h"
#include "plan/planner.h"

#include <stdlib.h>
#include <string.h>

enum { IMAGES = 1 << 19 };

/* ------ list ------ */

static int list_instructions(ls__planner *p)
{
    ls__plan *plan = p->plan;
    int nodes = p->graph->node_count, loss = p->loss ? p->loss->id : -1;

    for (int i = 0; i < nodes; i++) {
        bool runs = p->used[i] && p->node[i].op && p->home[i] == i;

        p->instr[i] = runs && i != loss ? plan->count++ : -1;
    }
    if (p->loss)
        p->instr[loss] = plan->count++;
    plan->instr = ls__arena_new(&plan->arena, (size_t)plan->count,
                                sizeof *plan->instr);
    if (!plan->instr)
        return LS_ENOMEM;
    for (int i = 0; i < nodes; i++)
        if (p->instr[i] >= 0) {
            ls__instr *in = &plan->instr[p->instr[i]];

            in->node = &p->node[i];
            in->inputs = ls__inputs_of(in->node);
            in->made = p->made[i];
        }
    return 0;
}

/* Choose the rows of a chunk: whole ones (sequences) as operators want them; of
 * images a power of two whose convolutions make at most IMAGES numbers.  Fusion
 * must not matter, nor operators for outputs alone. */
static void choose_chunk(ls__plan *plan)
{
    ls__wish wish = {.rows = LS__CHUNK};
    int64_t rows;

    for (int i = 0; i < plan->count; i++) {
        const ls_node *n = plan->instr[i].node;

        if (n->op->plan.wish && (!plan->loss.runs || plan->loss.runs[i]))
            n->op->plan.wish(n, &wish);
    }
    rows = wish.steps ? wish.steps : wish.rows;
    while (wish.images && rows > 1 &&
           (rows & (rows - 1) || rows * wish.images > IMAGES))
        rows--;
    LS__ASSERT(rows >= 1 && (!wish.images || LS__IS_POWER(rows)));
    plan->chunk_rows = rows;
}

/* ------ operators decide for themselves ------ */

/* The instruction that makes x[0], if nobody else reads that. */
static ls__instr *maker_of(const ls__planner *p, const ls__instr *in)
{
    const ls_node *x = in->node->in[0];

    return x && x->op && p->consumers[x->id] == 1 && !ls__planner_is_plain(p)
               ? &p->plan->instr[p->instr[x->id]] : NULL;
}

/* Open what operators see before places are known. */
static void open_bench(ls__planner *p)
{
    ls__plan *plan = p->plan;

    p->bench = (ls__bench){.arena = &plan->arena, .backend = &plan->backend,
                           .rows = plan->chunk_rows,
                           .backward = plan->purpose != LS__TO_PREDICT,
                           .lots = plan->purpose == LS__TO_TRAIN &&
                                   !plan->surveys.n,
                           .instr = plan->instr, .count = plan->count,
                           .param = plan->param};
}

static int plan_operators(ls__planner *p)
{
    ls__plan *plan = p->plan;
    ls__bench *b = &p->bench;
    int status = 0;

    b->left_out = plan->left_out;
    b->pack = ls__arena_new(&plan->arena, 2 * (size_t)plan->count,
                            sizeof *b->pack);
    if (!b->pack)
        return LS_ENOMEM;
    for (int i = 0; i < plan->count && status == 0; i++) {
        ls__instr *in = &plan->instr[i];

        b->maker = maker_of(p, in);
        if (in->node->op->plan.decide)
            status = in->node->op->plan.decide(b, in);
    }
    plan->memory.floats = plan->memory.scratch + (b->scratch + 15) / 16 * 16;
    LS__ASSERT(b->packs <= 2 * plan->count && plan->memory.scratch % 16 == 0);
    plan->memory.stays = b->stays;
    plan->packs.n = b->packs;
    plan->packs.of = b->pack;
    plan->packs.floats = b->packed;
    return status;
}

/* ------ packed weights ------ */

static bool is_same(const ls__pack *a, const ls__pack *b)
{
    return a->node->param[0] == b->node->param[0] && a->k == b->k &&
           a->n == b->n && a->row == b->row && a->write == b->write &&
           a->backward == b->backward;
}

/* The place of the same operand among another plan's. */
static const ls__pack *same_pack(const ls__plan *of, const ls__pack *q)
{
    for (int i = 0; i < of->packs.n; i++)
        if (is_same(&of->packs.of[i], q))
            return &of->packs.of[i];
    return NULL;
}

int ls__plan_share_packs(ls__plan *plan, const ls__plan *of)
{
    for (int i = 0; i < plan->packs.n; i++) {
        const ls__pack *q = &plan->packs.of[i], *same = same_pack(of, q);

        if (!same)
            return ls__fail(LS_ENOTSUP, "\"%s\": its weights were not packed",
                            q->node->name);
        LS__ASSERT(same->floats == q->floats);
        *q->at = same->offset;
    }
    return 0;
}

/* ------ gradients that nobody needs ------ */

static bool leaves(const ls__planner *p, const ls_node *n, int k)
{
    return n->op->run.leaves_params && !ls__planner_moves(p, n->param[k]);
}

/* Leave out unneeded gradients of parameters, if their operators can. */
static int leave_out(ls__planner *p)
{
    ls__plan *plan = p->plan;

    plan->left_out = ls__arena_new(&plan->arena, (size_t)plan->params + 1,
                                   sizeof *plan->left_out);
    if (!plan->left_out)
        return LS_ENOMEM;
    for (int i = 0; i < plan->count; i++) {
        const ls_node *n = plan->instr[i].node;

        for (int k = 0; k < n->params; k++)
            plan->left_out[n->param[k]] = leaves(p, n, k);
    }
    for (int i = 0; i < plan->count; i++) { /* of tied ones: all must do so */
        const ls_node *n = plan->instr[i].node;

        for (int k = 0; k < n->params; k++)
            plan->left_out[n->param[k]] &= leaves(p, n, k);
    }
    return 0;
}

/* ------ gradients that several instructions add to ------ */

/* Backward runs from the last instruction to the first: the first to come
 * writes, the others add. */
static int begin_gradients(ls__plan *plan)
{
    bool *begun = ls__arena_new(&plan->arena, (size_t)plan->params + 1,
                                sizeof *begun);

    if (!begun)
        return LS_ENOMEM;
    for (int i = plan->count - 1; i >= 0; i--) {
        ls__instr *in = &plan->instr[i];

        for (int k = 0; in->dy >= 0 && k < in->node->params; k++) {
            in->begun[k] = begun[in->node->param[k]];
            begun[in->node->param[k]] = true;
        }
    }
    return 0;
}

/* ------ goals ------ */

static int open_goal(ls__plan *plan, ls__goal *goal, int instr)
{
    goal->instr = instr;
    goal->runs = ls__arena_new(&plan->arena, (size_t)plan->count, 1);
    goal->reads = ls__arena_new(&plan->arena, (size_t)plan->inputs + 1, 1);
    return goal->runs && goal->reads ? 0 : LS_ENOMEM;
}

/* Mark all that the goal's marked nodes need, directly or through others; if
 * these are parameters alone, the first input too, which has the rows. */
static void mark_needed(const ls__planner *p, ls__goal *goal)
{
    bool reads = false;

    for (int i = goal->instr; i >= 0; i--) {
        const ls__instr *in = &p->plan->instr[i];

        LS__ASSERT(in->inputs <= LS__MAX_INPUTS);
        for (int k = 0; goal->runs[i] && k < in->inputs; k++) {
            const ls_node *x = in->node->in[k];

            LS__ASSERT(!x->op || (p->instr[x->id] >= 0 && p->instr[x->id] < i));
            if (x->op)
                goal->runs[p->instr[x->id]] = true;
            else
                reads = goal->reads[x->input] = true;
        }
    }
    if (!reads && p->plan->inputs)
        goal->reads[0] = true;
}

static int loss_goal(ls__planner *p)
{
    ls__plan *plan = p->plan;

    plan->loss.instr = -1;
    if (!p->loss)
        return 0;
    if (open_goal(plan, &plan->loss, p->instr[p->loss->id]) < 0)
        return LS_ENOMEM;
    plan->loss.runs[plan->loss.instr] = true;
    for (int i = 0; i < plan->metrics; i++)
        plan->loss.runs[p->instr[ls__metric_node(p, i)->id]] = true;
    mark_needed(p, &plan->loss);
    return 0;
}

static int output_goal(ls__planner *p, ls__goal *goal, const ls__output *output)
{
    ls__plan *plan = p->plan;

    goal->size = output->node->size;
    goal->name = ls__arena_text(&plan->arena, output->name);
    if (!goal->name ||
        open_goal(plan, goal, p->instr[p->home[output->node->id]]) < 0)
        return LS_ENOMEM;
    goal->runs[goal->instr] = true;
    mark_needed(p, goal);
    return 0;
}

static int goals(ls__planner *p)
{
    const ls_graph *g = p->graph;
    ls__plan *plan = p->plan;
    int status = loss_goal(p);

    plan->outputs = g->output_count;
    plan->output = ls__arena_new(&plan->arena, (size_t)plan->outputs,
                                 sizeof *plan->output);
    if (!plan->output)
        return LS_ENOMEM;
    for (int i = 0; i < plan->outputs && status == 0; i++)
        status = output_goal(p, &plan->output[i], g->outputs[i]);
    return status;
}

const ls__goal *ls__plan_output(const ls__plan *plan, const char *name)
{
    const char *first = plan->outputs ? plan->output[0].name : NULL;

    for (int i = 0; i < plan->outputs; i++)
        if (!strcmp(plan->output[i].name, name))
            return &plan->output[i];
    ls__fail(LS_ENOTFOUND, "no output is named \"%s\"%s%s%s", name,
             first ? "; the first is \"" : "", first ? first : "",
             first ? "\"" : "");
    return NULL;
}

/* ------ surveys ------ */

static bool needs_survey(const ls__plan *plan, int i)
{
    const ls_node *n = plan->instr[i].node;

    return plan->loss.runs && plan->loss.runs[i] && ls__survey_of(n->op) &&
           ls__survey_of(n->op)->size(n, false) > 0;
}

static void open_survey(ls__plan *plan, int i)
{
    ls__instr *in = &plan->instr[i];
    const ls__survey *survey = ls__survey_of(in->node->op);

    LS__ASSERT(!plan->surveys.n ||
               plan->surveys.instr[plan->surveys.n - 1] < i);
    plan->surveys.instr[plan->surveys.n++] = i;
    plan->surveys.meet |= survey->of_all(in->node);
    in->surveys = true;
    for (int back = 0; back < 2; back++) {
        in->found[back] = plan->surveys.found;
        plan->surveys.found += survey->size(in->node, back);
    }
}

/* Training steps alone have surveys. */
static int surveys(ls__plan *plan)
{
    bool trains = plan->purpose == LS__TO_TRAIN ||
                  plan->purpose == LS__TO_RECORD;

    plan->surveys.instr = ls__arena_new(&plan->arena, (size_t)plan->count,
                                 sizeof *plan->surveys.instr);
    plan->surveys.uses = ls__arena_new(&plan->arena,
                                        2 * (size_t)plan->count + 1,
                                        sizeof *plan->surveys.uses);
    if (!plan->surveys.instr || !plan->surveys.uses)
        return LS_ENOMEM;
    for (int i = 0; i < plan->count; i++)
        if (trains && needs_survey(plan, i))
            open_survey(plan, i);
    return 0;
}

void ls__plan_part(const ls__plan *plan, int part, ls__range *forward,
                   ls__range *back)
{
    int n = plan->surveys.n, j = 2 * n - part, loss = plan->loss.instr;

    LS__ASSERT(part >= 0 && part < ls__plan_parts(plan));
    *forward = *back = (ls__range){0, 0};
    if (part <= n)
        *forward = (ls__range){part ? plan->surveys.instr[part - 1] : 0,
                               part < n ? plan->surveys.instr[part] : loss};
    if (part >= n)
        *back = (ls__range){j ? plan->surveys.instr[j - 1] + 1 : 0,
                            (j < n ? plan->surveys.instr[j] : loss) + 1};
}

bool ls__plan_part_ends(const ls__plan *plan, int part, const ls__instr **in,
                        bool *back)
{
    int last = 2 * plan->surveys.n;

    *back = part >= plan->surveys.n;
    if (part == last) {
        *in = NULL;
        return false;
    }
    *in = &plan->instr[plan->surveys.instr[*back ? last - 1 - part : part]];
    return true;
}

/* ------ all of it ------ */

static int make_room(ls__planner *p)
{
    size_t n = (size_t)p->graph->node_count;
    ls__arena *arena = &p->plan->arena;
    size_t values = (2 + LS__MAX_INPUTS) * n; /* y, stash and gradients */
    int *lists = ls__arena_new(arena, 6 * n + values, sizeof *lists);

    p->node = ls__arena_new(arena, n, sizeof *p->node);
    p->used = ls__arena_new(arena, 2 * n, sizeof *p->used);
    p->values = ls__arena_new(arena, values, sizeof *p->values);
    p->waiters = ls__arena_new(arena, values, sizeof *p->waiters);
    p->refs = ls__arena_new(arena, n, sizeof *p->refs);
    p->made = ls__arena_new(arena, n, sizeof *p->made);
    if (!lists || !p->made || !p->node || !p->used || !p->values ||
        !p->waiters || !p->refs)
        return LS_ENOMEM;
    memset(lists, -1, (6 * n + values) * sizeof *lists);
    memset(p->refs, -1, n * sizeof *p->refs);
    p->trains = p->used + n;
    p->consumers = lists;
    p->home = lists + n;
    p->instr = lists + 2 * n;
    p->y = lists + 3 * n;
    p->stash = lists + 4 * n;
    p->grad = lists + 5 * n;
    p->waiting = lists + 6 * n;
    memset(p->consumers, 0, n * sizeof *p->consumers);
    return 0;
}

static int check_graph(const ls_graph *graph, ls__purpose purpose)
{
    if (!graph)
        return ls__fail(LS_EINVAL, "no graph");
    if (graph->status)
        return ls__fail(graph->status, "%s", graph->message);
    if (purpose == LS__TO_PREDICT && !graph->output_count)
        return ls__fail(LS_EINVAL, "the graph has no output: call ls_output");
    if (purpose != LS__TO_PREDICT && !graph->loss)
        return ls__fail(LS_EINVAL, "the graph has no loss: call ls_loss");
    if (graph->ties.open)
        return ls__fail(LS_EINVAL, "ls_tie named a parameter that no layer "
                        "declared");
    return 0;
}

static int build(ls__planner *p)
{
    int status;

    if ((status = make_room(p)) < 0 || (status = ls__plan_copy(p)) < 0)
        return status;
    if (!ls__planner_is_plain(p)) {
        ls__plan_fold(p);
        if ((status = ls__plan_chain(p)) < 0)
            return status;
    }
    if ((status = list_instructions(p)) < 0)
        return status;
    if ((status = goals(p)) < 0 || (status = surveys(p->plan)) < 0)
        return status;
    choose_chunk(p->plan);
    open_bench(p);
    if (!ls__planner_is_plain(p))
        ls__plan_bf16(p);
    if ((status = ls__plan_layout(p)) < 0)
        return status;
    ls__plan_write(p);
    if (leave_out(p) < 0 || begin_gradients(p->plan) < 0)
        return LS_ENOMEM;
    if ((status = plan_operators(p)) < 0)
        return status;
    ls__plan_weigh(p->plan);
    return 0;
}

int ls__plan_new(ls__plan **plan, const ls_graph *graph,
                 const ls__backend *backend, ls__purpose purpose,
                 const bool *frozen)
{
    ls__planner p = {.graph = graph, .frozen = frozen};
    int status = check_graph(graph, purpose);

    if (status < 0)
        return status;
    if (!(p.plan = ls__new(1, sizeof *p.plan, "plan")))
        return LS_ENOMEM;
    p.plan->backend = *backend;
    p.plan->purpose = purpose;
    if (purpose != LS__TO_PREDICT) {
        p.loss = graph->loss;
        p.plan->metrics = graph->metrics;
    }
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
    ls__arena_free(&plan->arena);
    free(plan);
}
