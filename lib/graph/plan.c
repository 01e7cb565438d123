/* From a graph to a list of instructions with memory.
 *
 *   copy    the nodes the loss and the outputs depend on
 *   fold    activations and add into the epilogue of the product before them
 *   list    what is left, in the order it was built, the loss last
 *   values  outputs, stashes and gradients, each with the time it is first
 *           written and last read: forward runs at 0 .. n-1, backward of
 *           instruction i at 2n-1-i
 *   place   each value at the lowest offset that no value alive at the same
 *           time uses (largest first)
 *
 * A gradient written over the memory of another (its addend, dy or x) is one
 * value with it; that is allowed when nobody reads the other afterwards. */
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

enum { IMAGES = 1 << 19 };

/* Memory with a lifetime. */
typedef struct value {
    int64_t size; /* floats */
    int first, last;
    int64_t offset;
} value;

typedef struct planner {
    ls__plan *plan;
    const ls_graph *graph;
    ls_node *node;    /* copies, by id */
    bool *used;       /* the loss or an output depends on it */
    bool *trains;     /* a parameter lies at or before it */
    int *consumers;   /* how many nodes, outputs and metrics read it */
    int *home;        /* the node whose instruction makes its value */
    int *instr;       /* instruction of a node, -1 for none */
    int *y, *stash, *grad; /* value numbers, -1 for none */
    value *values;
    int value_count;
    int (*refs)[3 + 2 * LS__MAX_INPUTS]; /* per instruction: y, stash, dy,
                                            dx.., addend.. */
} planner;

enum { Y, STASH, DY, DX, ADDEND = DX + LS__MAX_INPUTS };

/* ------ copy ------ */

static int inputs_of(const ls_node *n)
{
    return n->op ? n->op->inputs + n->residual : 0;
}

static void mark(planner *p, int id)
{
    ls_node *n = &p->node[id];

    p->used[id] = true;
    for (int k = 0; k < inputs_of(n); k++)
        p->used[n->in[k]->id] = true;
}

static const ls_own_op *copy_own(ls__plan *plan, const ls_own_op *own)
{
    ls_own_op *copy = ls__arena_new(&plan->arena, 1, sizeof *copy);

    if (copy)
        *copy = *own;
    return copy;
}

static int copy_nodes(planner *p)
{
    const ls_graph *g = p->graph;

    for (int i = 0; i < g->node_count; i++) {
        ls_node *n = &p->node[i];

        *n = *g->nodes[i];
        n->graph = NULL;
        n->name = ls__arena_text(&p->plan->arena, n->name);
        if (!n->name || (n->own && !(n->own = copy_own(p->plan, n->own))))
            return LS_ENOMEM;
        for (int k = 0; k < LS__MAX_INPUTS; k++)
            n->in[k] = n->in[k] ? &p->node[n->in[k]->id] : NULL;
    }
    p->used[g->loss->id] = true;
    for (int i = 0; i < g->output_count; i++) {
        p->used[g->outputs[i]->node->id] = true;
        p->consumers[g->outputs[i]->node->id]++;
    }
    for (int i = 0; i < g->metrics; i++) {
        p->used[g->metric[i]->id] = true;
        p->consumers[g->metric[i]->id]++;
    }
    for (int i = g->node_count - 1; i >= 0; i--)
        if (p->used[i])
            mark(p, i);
    for (int i = 0; i < g->node_count; i++) {
        ls_node *n = &p->node[i];

        p->home[i] = i;
        p->trains[i] = n->params > 0;
        for (int k = 0; p->used[i] && k < inputs_of(n); k++) {
            p->consumers[n->in[k]->id]++;
            p->trains[i] |= p->trains[n->in[k]->id];
        }
    }
    return 0;
}

static int copy_streams(planner *p)
{
    const ls_graph *g = p->graph;
    ls__plan *plan = p->plan;

    plan->streams = g->stream_count;
    plan->stream = ls__arena_new(&plan->arena, (size_t)plan->streams + 1,
                                 sizeof *plan->stream);
    if (!plan->stream)
        return LS_ENOMEM;
    for (int i = 0; i < plan->streams; i++) {
        plan->stream[i] = *g->streams[i];
        plan->stream[i].scope = ls__arena_text(&plan->arena,
                                               g->streams[i]->scope);
        if (!plan->stream[i].scope)
            return LS_ENOMEM;
    }
    return 0;
}

static int copy_specs(planner *p)
{
    const ls_graph *g = p->graph;
    ls__plan *plan = p->plan;

    plan->inputs = g->input_count;
    plan->params = g->param_count;
    plan->input = ls__arena_new(&plan->arena, (size_t)plan->inputs,
                                sizeof *plan->input);
    plan->param = ls__arena_new(&plan->arena, (size_t)plan->params,
                                sizeof *plan->param);
    if (!plan->input || !plan->param)
        return LS_ENOMEM;
    for (int i = 0; i < plan->inputs; i++)
        plan->input[i] = &p->node[g->inputs[i]->id];
    for (int i = 0; i < plan->params; i++) {
        ls__param *q = &plan->param[i];

        *q = *g->params[i];
        q->name = ls__arena_text(&plan->arena, q->name);
        q->scope = ls__arena_text(&plan->arena, q->scope);
        if (!q->name || !q->scope)
            return LS_ENOMEM;
    }
    return 0;
}

/* ------ fold ------ */

/* The product (dense, convolution) that makes x, if its epilogue can take
 * more: nobody else reads it, and it has no residual or pool yet. */
static ls_node *open_product(planner *p, const ls_node *x)
{
    ls_node *d = &p->node[p->home[x->id]];

    return d->op && d->op->is_product && p->consumers[x->id] == 1 &&
           !d->residual && !d->pooled
               ? d : NULL;
}

static bool fold_add(planner *p, ls_node *n, int product)
{
    ls_node *d = open_product(p, n->in[product]), *other = n->in[1 - product];

    if (!d || p->home[other->id] >= d->id || n->in[0] == n->in[1])
        return false;
    d->in[1] = other;
    d->residual = true;
    p->home[n->id] = d->id;
    return true;
}

/* A max pool into the convolution it reads, through a relu or nothing: then
 * what the pool reads is never kept. */
static void fold_pool(planner *p, ls_node *n)
{
    ls_node *d = open_product(p, n->in[0]);

    if (!d || d->op != &ls__op_conv ||
        (d->activation && d->activation != LS__RELU))
        return;
    d->pooled = true;
    d->pool = n->window;
    d->size = n->size;
    memcpy(d->shape, n->shape, sizeof d->shape);
    p->home[n->id] = d->id;
}

static void fold(planner *p, ls_node *n)
{
    ls_node *d;

    if (n->op && n->op->activation && (d = open_product(p, n->in[0])) &&
        !d->activation) {
        d->activation = n->op->activation;
        p->home[n->id] = d->id;
    } else if (n->op == &ls__op_max_pool) {
        fold_pool(p, n);
    } else if (n->op == &ls__op_add) {
        (void)(fold_add(p, n, 1) || fold_add(p, n, 0));
    }
}

/* A node whose value another node's instruction makes under its own id: what
 * reads it must read that one. */
static void fold_all(planner *p)
{
    for (int i = 0; i < p->graph->node_count; i++)
        if (p->used[i])
            fold(p, &p->node[i]);
    for (int i = 0; i < p->graph->node_count; i++) {
        ls_node *n = &p->node[i];
        int home = p->home[i];

        for (int k = 0; k < inputs_of(n); k++)
            n->in[k] = &p->node[p->home[n->in[k]->id]];
        if (home != i) /* the folded node's readers are now home's */
            p->consumers[home] = p->consumers[i];
    }
}

/* ------ list ------ */

static int list(planner *p)
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
            plan->instr[p->instr[i]].inputs = inputs_of(&p->node[i]);
        }
    return 0;
}

/* Whole rows (sequences) of at most 256 vectors through the widest dense
 * product; of images a power of two whose convolutions, before any pool, make
 * no more than IMAGES numbers.  What is folded where must not matter. */
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

/* ------ values ------ */

static int new_value(planner *p, int64_t row_size, int time)
{
    int64_t size = (row_size * p->plan->chunk_rows + 15) / 16 * 16;

    p->values[p->value_count] = (value){size, time, time, -1};
    return p->value_count++;
}

static void reads(planner *p, int v, int time)
{
    if (v >= 0 && p->values[v].last < time)
        p->values[v].last = time;
}

/* The node whose instruction makes the value of metric i. */
static const ls_node *measured(const planner *p, int i)
{
    return &p->node[p->home[p->graph->metric[i]->id]];
}

static void forward_values(planner *p)
{
    ls__plan *plan = p->plan;

    for (int i = 0; i < plan->count; i++) {
        const ls_node *n = plan->instr[i].node;
        int back = 2 * plan->count - 1 - i;
        int64_t kept = n->op->stash ? n->op->stash(n) : 0;

        for (int k = 0; k < plan->instr[i].inputs; k++) {
            reads(p, p->y[n->in[k]->id], i);
            if (n->op->is_loss || n->op->reads >> k & 1)
                reads(p, p->y[n->in[k]->id], back);
        }
        if (n->op->is_view && n->in[0]->op)
            p->y[n->id] = p->y[n->in[0]->id];
        else if (!n->op->is_loss)
            p->y[n->id] = new_value(p, n->size, i);
        if (n->op->reads_y)
            reads(p, p->y[n->id], back);
        if (kept) {
            p->stash[n->id] = new_value(p, kept, i);
            reads(p, p->stash[n->id], back);
        }
        p->refs[i][Y] = p->y[n->id];
        p->refs[i][STASH] = p->stash[n->id];
    }
    for (int i = 0; i < p->graph->metrics; i++) /* read before the loss */
        reads(p, p->y[measured(p, i)->id], plan->count - 1);
}

/* Nobody but node `id` still waits for gradient v, and v dies at `time`. */
static bool free_after(const planner *p, int v, int id, int time)
{
    for (int i = 0; i < p->graph->node_count; i++)
        if (i != id && p->grad[i] == v && p->instr[i] >= 0 &&
            2 * p->plan->count - 1 - p->instr[i] > time)
            return false;
    return p->values[v].last <= time;
}

/* The memory for the gradient of input k, which may be some that dies here. */
static int grad_value(planner *p, const ls_node *n, int k, int time, int dy,
                      int addend)
{
    const ls_node *x = n->in[k];
    const ls__op *op = n->op;
    int over = -1;

    if (addend >= 0 && op->dx_over_addend && free_after(p, addend, x->id, time))
        over = addend;
    else if (dy >= 0 && op->dx_over_dy && free_after(p, dy, n->id, time) &&
             p->values[dy].size >= x->size * p->plan->chunk_rows)
        over = dy;
    else if (op->dx_over_x && k == 0 && p->y[x->id] >= 0 &&
             p->values[p->y[x->id]].last <= time)
        over = p->y[x->id];
    return over >= 0 ? over : new_value(p, x->size, time);
}

/* Give input k of instruction i its gradient: passed on, or a new value. */
static void input_gradient(planner *p, int i, int k, int time, int dy)
{
    const ls_node *n = p->plan->instr[i].node, *x = n->in[k];
    int addend = p->grad[x->id];

    if (x->dtype != LS_F32 || !p->trains[x->id])
        return;
    if (n->op->passes >> k & 1 && addend < 0) {
        p->grad[x->id] = dy;
        return;
    }
    reads(p, addend, time);
    p->refs[i][ADDEND + k] = addend;
    p->refs[i][DX + k] = grad_value(p, n, k, time, dy, addend);
    p->grad[x->id] = p->refs[i][DX + k];
    reads(p, p->grad[x->id], time);
}

/* dx of a product can go through the slope of the activation that made its x,
 * when x has no other reader. */
static void fold_slope(planner *p, int i)
{
    ls__instr *in = &p->plan->instr[i];
    const ls_node *x = in->node->in[0];

    if (!in->node->op->is_product || !x->op || !x->op->is_product ||
        !x->activation || x->residual || x->pooled ||
        p->consumers[x->id] != 1)
        return;
    in->through_slope = true;
    p->plan->instr[p->instr[x->id]].dy_is_pre = true;
}

static void backward_values(planner *p)
{
    ls__plan *plan = p->plan;

    for (int i = plan->count - 1; i >= 0; i--) {
        const ls_node *n = plan->instr[i].node;
        int time = 2 * plan->count - 1 - i, dy = p->grad[n->id];

        p->refs[i][DY] = dy;
        if (!n->op->is_loss && dy < 0)
            continue; /* trains nothing */
        reads(p, dy, time);
        /* passed-on gradients last, so that dy is whole until then */
        for (int k = 0; k < plan->instr[i].inputs; k++)
            if (!(n->op->passes >> k & 1))
                input_gradient(p, i, k, time, dy);
        for (int k = 0; k < plan->instr[i].inputs; k++)
            if (n->op->passes >> k & 1)
                input_gradient(p, i, k, time, dy);
        fold_slope(p, i);
    }
}

/* ------ place ------ */

static int by_size(const void *a, const void *b)
{
    const value *x = *(value *const *)a, *y = *(value *const *)b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    return x < y ? -1 : 1;
}

/* The lowest offset for v among those already placed. */
static void place_one(value **order, int placed, value *v)
{
    int64_t at = 0;

    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < placed; i++) {
            const value *o = order[i];

            if (o->first <= v->last && v->first <= o->last &&
                o->offset < at + v->size && at < o->offset + o->size) {
                at = o->offset + o->size;
                moved = true;
            }
        }
    }
    v->offset = at;
}

static int place_all(planner *p)
{
    value **order = ls__new((size_t)p->value_count, sizeof *order, "plan");
    int64_t end = 0;

    if (!order)
        return LS_ENOMEM;
    for (int i = 0; i < p->value_count; i++)
        order[i] = &p->values[i];
    qsort(order, (size_t)p->value_count, sizeof *order, by_size);
    for (int i = 0; i < p->value_count; i++) {
        place_one(order, i, order[i]);
        if (order[i]->offset + order[i]->size > end)
            end = order[i]->offset + order[i]->size;
    }
    free(order);
    p->plan->scratch = end;
    return 0;
}

static int64_t offset_of(const planner *p, int v)
{
    return v < 0 ? -1 : p->values[v].offset;
}

/* ------ products made ready ------ */

static int make_products(planner *p)
{
    ls__plan *plan = p->plan;
    int status = 0;

    for (int i = 0; i < plan->count && status == 0; i++) {
        ls__instr *in = &plan->instr[i];

        if (plan->backend.make && in->node->op->make)
            status = in->node->op->make(in->node, plan->chunk_rows,
                                        p->refs[i][DX] >= 0, &plan->backend,
                                        in->made);
    }
    return status;
}

/* What an operator that runs them needs beside its own scratch. */
static int64_t made_scratch(const ls__instr *in)
{
    int64_t most = 0;

    for (int k = 0; k < LS__PRODUCTS; k++)
        if (in->made[k] && in->made[k]->scratch > most)
            most = in->made[k]->scratch;
    return most;
}

/* ------ offsets ------ */

/* Write the offsets into the instructions, and size the scratch. */
static void write_out(planner *p)
{
    ls__plan *plan = p->plan;
    int64_t scratch = 0;

    for (int i = 0; i < plan->count; i++) {
        ls__instr *in = &plan->instr[i];
        const ls_node *n = in->node;
        int64_t need = n->op->scratch
                           ? n->op->scratch(n, plan->chunk_rows, &plan->backend)
                           : 0;

        need += made_scratch(in);
        scratch = need > scratch ? need : scratch;
        in->y = offset_of(p, p->refs[i][Y]);
        in->stash = offset_of(p, p->refs[i][STASH]);
        in->dy = offset_of(p, p->refs[i][DY]);
        for (int k = 0; k < in->inputs; k++) {
            in->x[k].input = n->in[k]->op ? -1 : n->in[k]->input;
            in->x[k].offset = offset_of(p, p->y[n->in[k]->id]);
        }
        for (int k = 0; k < LS__MAX_INPUTS; k++) {
            in->dx[k] = offset_of(p, p->refs[i][DX + k]);
            in->addend[k] = offset_of(p, p->refs[i][ADDEND + k]);
        }
        in->slope_of_x = in->through_slope
                             ? offset_of(p, p->stash[n->in[0]->id])
                             : -1;
    }
    plan->metrics = p->graph->metrics;
    for (int i = 0; i < plan->metrics; i++)
        plan->metric[i] = (ls__measure){offset_of(p, p->y[measured(p, i)->id]),
                                        measured(p, i)->size};
    plan->floats = plan->scratch + (scratch + 15) / 16 * 16;
}

/* ------ packed kernels ------ */

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
                    .made = in->made[transposed ? LS__OF_X : LS__OF_Y]};
    in->packed[transposed] = q->offset;
    q->floats = q->made ? q->made->packed
                : taps  ? plan->backend.conv_packed_size(taps, q->k, q->n)
                        : plan->backend.packed_size(q->k, q->n);
    plan->pack_floats += q->floats;
}

/* Does the backend want this instruction's kernel packed? */
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
static int trace(planner *p, ls__goal *goal, const char *name, int instr)
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
        goal->runs[p->instr[measured(p, i)->id]] = true;
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

static int goals(planner *p)
{
    const ls_graph *g = p->graph;
    ls__plan *plan = p->plan;
    int status;

    plan->goals = g->output_count + 1;
    plan->goal = ls__arena_new(&plan->arena, (size_t)plan->goals,
                               sizeof *plan->goal);
    if (!plan->goal)
        return LS_ENOMEM;
    status = trace(p, &plan->goal[0], NULL, plan->count - 1);
    for (int i = 0; i < g->output_count && status == 0; i++)
        status = trace(p, &plan->goal[i + 1], g->outputs[i]->name,
                       p->instr[p->home[g->outputs[i]->node->id]]);
    return status;
}

/* ------ all of it ------ */

static int make_room(planner *p)
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

static int build(planner *p)
{
    int status;

    if ((status = make_room(p)) < 0 || (status = copy_nodes(p)) < 0 ||
        (status = copy_specs(p)) < 0 || (status = copy_streams(p)) < 0)
        return status;
    fold_all(p);
    if ((status = list(p)) < 0)
        return status;
    if ((status = goals(p)) < 0)
        return status;
    choose_chunk(p->plan);
    forward_values(p);
    backward_values(p);
    if ((status = place_all(p)) < 0 || (status = make_products(p)) < 0)
        return status;
    write_out(p);
    return pack_list(p->plan);
}

int ls__plan_new(ls__plan **plan, const ls_graph *graph,
                 const ls__backend *backend)
{
    planner p = {.graph = graph};
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
            if (plan->instr[i].made[k])
                plan->instr[i].made[k]->free(plan->instr[i].made[k]);
    ls__arena_free(&plan->arena);
    free(plan);
}
