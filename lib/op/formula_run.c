/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution of formulas (fused elementwise operators).
 *
 * A formula runs in blocks that stay in the first-level cache: all terms of one
 * block, then the next block, so memory is read and written once however long
 * the chain is.  Backward computes the values that gradients read again, block
 * by block, and keeps nothing.  What the chain reads by runs or is the same in
 * every row, and a sum at its end, lie under a row's blocks: they are never
 * there element by element.  A block is of the same columns in one row after
 * the other, so that parameters and sums of their gradients stay in the cache.
 *
 * Gradients are added in the order in which single operators would add them:
 * from the last term to the first, a's before b's, each onto the addend; under
 * a row by rising elements, of parameters by rising rows. */
#include "op/formula_run.h"
#include "base/assert.h"
#include "base/least.h"
#include "base/range.h"
#include "op/op_table.h"

#include <string.h>

enum { LEAST = 256, ROOM = 8192, PLACES = LS__TERM_INPUTS + LS__TERMS };

/* An input or a term under the block. */
typedef struct place {
    float *made, *own;  /* room for its value and its gradient; of a parameter
                           made is the sum of gradients over rows */
    const float *value, *addend;
    float *grad, *to;   /* the gradient while it is made, and its place;
                           NULL: it is not wanted */
    bool needed, has;   /* the value; the gradient, which is added to then */
    int operands;       /* that are this place */
    int64_t from;       /* an input's place in its row */
    bool wraps;         /* the same run of it lies under all of the block's */
} place;

/* A block: `runs` runs of n elements of a row, from `at` on, `all` of them. */
typedef struct block {
    const ls__run *r;
    const ls__formula *f;
    int64_t rows, width, most; /* to cut into blocks; the most of one */
    ls__runs by;               /* the runs; n of 0: there are none */
    int64_t row, at, all, n, runs;
    int64_t from;              /* the place of its sums in a row of them */
    place place[PLACES];
} block;

/* The formula of an instruction: the chain that the plan made, or its operator
 * as the only term. */
static const ls__formula *formula_of(const ls__instr *in, ls__formula *one)
{
    const ls_node *n = in->node;

    if (in->made)
        return in->made;
    *one = (ls__formula){.inputs = n->op->inputs, .terms = 1, .size = n->size,
                         .whole = true, .term = {ls__term_from(n, 0, 1)}};
    return one;
}

/* The fewer places, the longer are blocks. */
static int64_t most_of(const ls__formula *f)
{
    int64_t n = ROOM / (2 * (f->inputs + f->terms));

    LS__ASSERT(f->inputs <= LS__TERM_INPUTS && f->terms <= LS__TERMS &&
               f->params <= f->inputs);
    return ls__most(LEAST, n - n % 64);
}

/* Value and gradient of a block for each place. */
int ls__formula_plan(ls__bench *b, ls__instr *in)
{
    ls__formula one;
    const ls__formula *f = formula_of(in, &one);

    ls__bench_scratch(b, 2 * (f->inputs + f->terms) * most_of(f));
    return 0;
}

/* Lay out the memory that all blocks use.  Where rows do not matter, all of
 * them are one, cut into blocks. */
static void start(block *b, const ls__run *r, const ls__formula *f)
{
    bool flat = f->whole && !f->params;
    float *next = r->scratch;

    *b = (block){.r = r, .f = f, .rows = flat ? 1 : r->rows,
                 .width = flat ? r->rows * f->size : f->size,
                 .most = most_of(f), .by = f->sum};
    for (int k = 0; k < f->inputs + f->terms; k++, next += 2 * b->most) {
        b->place[k].made = next;
        b->place[k].value = next;
        b->place[k].own = b->place[k].to = b->place[k].grad = next + b->most;
    }
    for (int t = 0; t < f->terms; t++) {
        LS__ASSERT(f->term[t].a < f->inputs + t &&
                   f->term[t].b < f->inputs + t);
        b->place[f->term[t].a].operands++;
        b->place[f->term[t].b].operands += ls__term_inputs(f->term[t].kind) - 1;
    }
    for (int k = 0; k < f->inputs && !b->by.n; k++)
        if (f->of[k].times > 1 && f->of[k].n < b->most)
            b->by = f->of[k];
}

/* ------ where a block is ------ */

static int given(const ls__formula *f)
{
    return f->inputs - f->params;
}

/* Count the elements, of `left` in a row from `at` on, that share one run, and
 * give its place in the array. */
static int64_t run_under(const ls__runs *of, int64_t at, int64_t left,
                         int64_t *from)
{
    int64_t within = at % of->n;

    *from = at / (of->n * of->times) * of->n + within;
    return ls__least(left, of->n - within);
}

/* Does one run of an input lie under the block, or under each of the block's
 * own?  Else cut it to what the first is under. */
static bool fits(block *b, const ls__runs *of, place *p)
{
    int64_t n = run_under(of, b->at, b->all, &p->from);
    int64_t left = of->times - b->at / of->n % of->times;

    p->wraps = n < b->all;
    if (!p->wraps || (n == of->n && n == b->n && b->runs <= left &&
                      p->operands == 1))
        return true;
    b->all = b->n = ls__least(b->n, n);
    b->runs = 1;
    return false;
}

/* Cut the block at element `at` of a row, before element `end`. */
static void cut(block *b, int64_t at, int64_t end)
{
    const ls__runs *by = &b->by;
    int64_t most = ls__least(b->most, end - at);

    b->at = at;
    b->n = by->n ? run_under(by, at, most, &b->from) : most;
    b->runs = 1;
    if (b->n == by->n)
        b->runs = ls__least(by->times - at / by->n % by->times, most / by->n);
    b->all = b->n * b->runs;
    for (int k = 0; k < given(b->f); k++) {
        b->place[k].from = at;
        if (b->f->of[k].n && !fits(b, &b->f->of[k], &b->place[k]))
            k = -1; /* all again */
    }
    LS__ASSERT(b->all >= 1 && b->all <= b->most && b->all == b->n * b->runs);
}

static int64_t input_size(const block *b, int k)
{
    return b->r->node->in[k]->size;
}

/* Move to the block in a row.  A gradient with an addend is added to its place
 * at once, unless several operands make it. */
static void enter(block *b, int64_t row)
{
    const ls__run *r = b->r;

    b->row = row;
    for (int k = 0; k < b->f->inputs; k++) {
        place *p = &b->place[k];
        int param = k - given(b->f);

        if (param < 0) {
            int64_t at = row * input_size(b, k) + p->from;

            p->value = (const float *)r->x[k] + at;
            p->to = r->dx[k] ? r->dx[k] + at : NULL;
            p->addend = r->addend[k] ? r->addend[k] + at : NULL;
        } else {
            p->value = r->param[param] + b->at;
            p->to = r->dparam[param] ? p->made : NULL;
        }
        p->has = b->f->of[k].n && p->operands == 1;
        p->grad = p->to && b->f->of[k].n && !p->has ? p->own : p->to;
    }
}

static void clear(int64_t n, float *x)
{
    memset(x, 0, (size_t)n * sizeof *x);
}

/* ------ values ------ */

/* The place of the block's values or sums in an array of the node's. */
static int64_t at_end(const block *b)
{
    return b->f->sum.n ? b->row * b->r->node->size + b->from
                       : b->row * b->width + b->at;
}

static ls__term_run run_of(const block *b, int t)
{
    const ls__term *term = &b->f->term[t];
    const place *x = &b->place[term->a], *z = &b->place[term->b];
    const place *y = &b->place[b->f->inputs + t];

    return (ls__term_run){.n = b->n, .a = x->value, .b = z->value,
                          .y = y->made, .dy = y->own, .runs = b->runs,
                          .same_a = x->wraps, .same_b = z->wraps};
}

/* The last term makes the node's value, or what is added to it. */
static void values(const block *b)
{
    const ls__formula *f = b->f;

    for (int t = 0; t < f->terms; t++) {
        ls__term_run run = run_of(b, t);

        if (!b->r->dy && t == f->terms - 1) {
            run.y = b->r->y + at_end(b);
            run.sums = f->sum.n;
        }
        if (b->place[f->inputs + t].needed)
            b->r->kernels->term_value(&f->term[t], &run);
    }
}

void ls__formula_forward(const ls__run *r)
{
    ls__formula one;
    block b;

    start(&b, r, formula_of(r->in, &one));
    for (int t = 0; t < b.f->terms; t++)
        b.place[b.f->inputs + t].needed = true;
    if (b.f->sum.n)
        clear(r->rows * r->node->size, r->y);
    for (int64_t at = 0; at < b.width; at += b.all) {
        cut(&b, at, b.width);
        for (int64_t row = 0; row < b.rows; row++) {
            enter(&b, row);
            values(&b);
        }
    }
}

/* ------ gradients ------ */

static unsigned reads_of(int kind)
{
    return kind < LS__ADD    ? 1
           : kind == LS__ADD ? 0
                             : ls__op_term[kind].plan.reads;
}

/* The values that gradients read, and those they are made of. */
static void mark_needed(block *b)
{
    for (int t = b->f->terms - 1; t >= 0; t--) {
        const ls__term *of = &b->f->term[t];
        bool *value = &b->place[b->f->inputs + t].needed;
        unsigned reads = reads_of(of->kind);

        *value |= reads >> 2 & 1;
        b->place[of->a].needed |= *value || reads & 1;
        b->place[of->b].needed |= *value || reads >> 1 & 1;
    }
}

/* The place for an operand's share of a term's gradient, and what it is added
 * to; NULL: nothing yet. */
static float *give(place *p, const float **onto)
{
    *onto = p->has ? p->grad : p->addend;
    p->has = true;
    return p->grad;
}

/* The last term reads dy where it is; a dx may lie over that. */
static void gradients(block *b)
{
    const ls__formula *f = b->f;

    for (int t = 0; t < f->terms; t++)
        b->place[f->inputs + t].has = false;
    for (int t = f->terms - 1; t >= 0; t--) {
        const ls__term *term = &f->term[t];
        ls__term_run run = run_of(b, t);

        if (t == f->terms - 1) {
            run.dy = b->r->dy + at_end(b);
            run.sums = f->sum.n;
        }
        run.da = give(&b->place[term->a], &run.onto_a);
        if (ls__term_inputs(term->kind) == 2)
            run.db = give(&b->place[term->b], &run.onto_b);
        if (run.da || run.db)
            b->r->kernels->term_grad(term, &run);
    }
    for (int k = 0; k < f->inputs; k++) {
        place *p = &b->place[k];

        if (p->grad != p->to)
            b->r->kernels->add(b->all, p->to, p->own, p->to);
    }
}

/* Parameters have sums of LS__CHUNK rows, which go to their gradients. */
static void begin_chunk(const block *b)
{
    for (int k = given(b->f); k < b->f->inputs; k++)
        clear(b->all, b->place[k].made);
}

static void end_chunk(const block *b)
{
    bool begun = b->r->add || b->row >= LS__CHUNK;

    for (int k = 0; k < b->f->params; k++) {
        const float *sums = b->place[given(b->f) + k].made;
        float *to = b->r->dparam[k] ? b->r->dparam[k] + b->at : NULL;

        if (to && begun)
            b->r->kernels->add(b->all, to, sums, to);
        else if (to)
            memcpy(to, sums, (size_t)b->all * sizeof *to);
    }
}

/* The gradients of a block in all rows. */
static void back_rows(block *b)
{
    for (int64_t row = 0; row < b->rows; row++) {
        if (row % LS__CHUNK == 0)
            begin_chunk(b);
        enter(b, row);
        values(b);
        gradients(b);
        if (row + 1 == b->rows || (row + 1) % LS__CHUNK == 0)
            end_chunk(b);
    }
}

/* The gradients of some columns; those of runs are added to zeros. */
static void back(block *b, ls__range columns)
{
    for (int k = 0; k < given(b->f); k++)
        if (b->f->of[k].n && b->r->dx[k])
            clear(b->r->rows * input_size(b, k), b->r->dx[k]);
    for (int64_t at = columns.first; at < columns.last; at += b->all) {
        cut(b, at, columns.last);
        back_rows(b);
    }
}

/* A turn is a part of the columns: no parameter's element needs another. */
unsigned ls__formula_turns(const ls__instr *in, unsigned most)
{
    const ls__formula *f = in->made;

    return (unsigned)ls__least(most, (f->size + LEAST - 1) / LEAST);
}

void ls__formula_backward(const ls__run *r)
{
    unsigned most = r->of->turns ? r->of->turns->most : 1;
    int turns = ls__wants_params(r) ? (int)ls__formula_turns(r->in, most) : 0;
    ls__formula one;
    ls__range all;
    block b;

    start(&b, r, formula_of(r->in, &one));
    mark_needed(&b);
    all = (ls__range){0, b.width};
    if (!turns)
        back(&b, all);
    for (int i = 0; i < turns; i++) {
        if (!ls__take_turn(r))
            continue;
        back(&b, ls__range_part(all, turns, i, LEAST));
        ls__end_turn(r);
    }
}
