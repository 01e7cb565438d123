/* SPDX-License-Identifier: BSD-3-Clause */
/* How formulas run.
 *
 * A formula runs in blocks that stay in the first-level cache: all terms of one
 * block, then the next block, so memory is read and written once however long
 * the chain is.  Backward computes the values that gradients read again, block
 * by block, and keeps nothing.  What the chain reads by runs or is the same in
 * every row, and a sum at its end, lie under a row's blocks: they are never
 * there element by element.
 *
 * Gradients are added in the order in which single operators would add them:
 * from the last term to the first, a's before b's, each onto the addend; under
 * a row by rising elements, of parameters by rising rows. */
#include "op/formula_run.h"
#include "base/least.h"
#include "base/range.h"
#include "op/op_table.h"

#include <string.h>

enum { BLOCK = 256 };

/* One block: the values and gradients of all places.  A gradient stands there
 * once its place `has` one. */
enum { PLACES = LS__TERM_INPUTS + LS__TERMS };
typedef struct block {
    const ls__run *r;
    const ls__formula *f;
    int64_t rows, width;         /* what blocks are cut out of */
    int64_t row, at, n;          /* a block: n elements of a row from `at` on */
    int64_t first;               /* where that is among all rows' */
    const float *value[PLACES];
    float *grad[PLACES];         /* NULL: it is not wanted */
    float *made[PLACES], *own[PLACES]; /* room for both */
    bool has[PLACES], needed[PLACES];  /* needed: the value */
    float *sums;                 /* [params][size] of gradients over rows */
    float *spare;                /* a block */
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

/* Value and gradient of a block for each place, a block more, and the sums of
 * parameters' gradients. */
int ls__formula_plan(ls__bench *b, ls__instr *in)
{
    ls__formula one;
    const ls__formula *f = formula_of(in, &one);

    ls__bench_scratch(b, (2 * (f->inputs + f->terms) + 1) * BLOCK +
                             f->params * f->size);
    return 0;
}

/* Lay out the memory that all blocks use.  Where rows do not count, all are one
 * that is cut into blocks. */
static block start(const ls__run *r, const ls__formula *f)
{
    bool flat = f->whole && !f->params;
    block b = {.r = r, .f = f, .rows = flat ? 1 : r->rows,
               .width = flat ? r->rows * f->size : f->size,
               .spare = r->scratch};
    float *next = b.spare + BLOCK;

    for (int k = 0; k < f->inputs + f->terms; k++, next += 2 * BLOCK) {
        b.value[k] = b.made[k] = next;
        b.grad[k] = b.own[k] = next + BLOCK;
    }
    b.sums = next;
    return b;
}

/* ------ runs ------ */

/* Count those of `left` elements of a row from `at` on that one run lies under,
 * and say where they are in the array. */
static int64_t run_under(const ls__runs *of, int64_t at, int64_t left,
                         int64_t *from)
{
    int64_t within = at % of->n;

    *from = at / (of->n * of->times) * of->n + within;
    return ls__least(left, of->n - within);
}

/* What of an array of a row lies under a block: where it is, or written out. */
static const float *under(const block *b, const ls__runs *of,
                          const float *array, float *room)
{
    int64_t from, n = run_under(of, b->at, b->n, &from);

    if (n == b->n)
        return array + from;
    for (int64_t i = 0; i < b->n; i += n) {
        n = run_under(of, b->at + i, b->n - i, &from);
        memcpy(room + i, array + from, (size_t)n * sizeof *room);
    }
    return room;
}

/* Add a block's elements to what lies under them. */
static void collect(const block *b, const ls__runs *of, const float *from,
                    float *array)
{
    int64_t at, n;

    for (int64_t i = 0; i < b->n; i += n) {
        n = run_under(of, b->at + i, b->n - i, &at);
        b->r->kernels->add(n, array + at, from + i, array + at);
    }
}

static void clear(int64_t n, float *x)
{
    memset(x, 0, (size_t)n * sizeof *x);
}

/* ------ values ------ */

static int given(const ls__formula *f)
{
    return f->inputs - f->params;
}

static int64_t input_size(const block *b, int k)
{
    return b->r->node->in[k]->size;
}

static void find_input(block *b, int k)
{
    const ls__run *r = b->r;
    const ls__runs *of = &b->f->of[k];
    int param = k - given(b->f);

    if (param >= 0) {
        b->value[k] = r->param[param] + b->at;
        b->grad[k] = r->dparam[param] ? b->own[k] : NULL;
    } else if (of->n) {
        if (b->needed[k])
            b->value[k] = under(b, of, (const float *)r->x[k] +
                                           b->row * input_size(b, k),
                                b->made[k]);
        b->grad[k] = r->dx[k] ? b->own[k] : NULL;
    } else {
        b->value[k] = (const float *)r->x[k] + b->first;
        b->grad[k] = r->dx[k] ? r->dx[k] + b->first : NULL;
    }
}

/* Move to the block at element `at` of a row, before element `end`. */
static void move_to(block *b, int64_t row, int64_t at, int64_t end)
{
    b->row = row;
    b->at = at;
    b->n = ls__least(BLOCK, end - at);
    b->first = row * b->width + at;
    for (int k = 0; k < b->f->inputs; k++)
        find_input(b, k);
}

static ls__term_run run_of(const block *b, int t)
{
    const ls__term *term = &b->f->term[t];
    int place = b->f->inputs + t;

    return (ls__term_run){.n = b->n, .a = b->value[term->a],
                          .b = b->value[term->b], .y = b->made[place],
                          .dy = b->grad[place]};
}

static void values(const block *b)
{
    for (int t = 0; t < b->f->terms; t++) {
        ls__term_run run = run_of(b, t);

        if (b->needed[b->f->inputs + t])
            b->r->kernels->term_value(&b->f->term[t], &run);
    }
}

/* The block's elements of the value, or what is to be added to it. */
static void make(block *b)
{
    const ls__formula *f = b->f;
    int last = f->inputs + f->terms - 1;
    const ls__run *r = b->r;

    if (!f->sum.n)
        b->made[last] = r->y + b->first;
    values(b);
    if (f->sum.n)
        collect(b, &f->sum, b->made[last], r->y + b->row * r->node->size);
}

void ls__formula_forward(const ls__run *r)
{
    ls__formula one;
    const ls__formula *f = formula_of(r->in, &one);
    block b = start(r, f);

    memset(b.needed, true, sizeof b.needed);
    for (int64_t row = 0; row < b.rows; row++) {
        if (f->sum.n)
            clear(r->node->size, r->y + row * r->node->size);
        for (int64_t at = 0; at < b.width; at += BLOCK) {
            move_to(&b, row, at, b.width);
            make(&b);
        }
    }
}

/* ------ gradients ------ */

static unsigned reads_of(int kind)
{
    return kind < LS__ADD ? 1 : kind == LS__ADD ? 0 : ls__op_term[kind].reads;
}

/* The values that gradients read, and those they are made of. */
static void mark_needed(block *b)
{
    for (int t = b->f->terms - 1; t >= 0; t--) {
        const ls__term *of = &b->f->term[t];
        bool *value = &b->needed[b->f->inputs + t];
        unsigned reads = reads_of(of->kind);

        *value |= reads >> 2 & 1;
        b->needed[of->a] |= *value || reads & 1;
        b->needed[of->b] |= *value || reads >> 1 & 1;
    }
}

/* What a place's gradient is to be added to; NULL: nothing yet. */
static const float *before(const block *b, int place)
{
    if (b->has[place])
        return b->grad[place];
    return place < b->f->inputs && b->r->addend[place]
               ? b->r->addend[place] + b->first : NULL;
}

/* Give one operand of a term its share of the term's gradient. */
static void give(block *b, int t, int place, bool second)
{
    ls__term_run run = run_of(b, t);
    const float *old = before(b, place);
    float *to = old ? b->spare : b->grad[place];

    if (!b->grad[place])
        return; /* not wanted */
    run.da = second ? NULL : to;
    run.db = second ? to : NULL;
    b->r->kernels->term_grad(&b->f->term[t], &run);
    if (old)
        b->r->kernels->add(b->n, old, to, b->grad[place]);
    b->has[place] = true;
}

/* dy, which is copied since a dx may lie over it. */
static void take_dy(const block *b)
{
    const ls__runs *sum = &b->f->sum;
    float *to = b->own[b->f->inputs + b->f->terms - 1];
    const float *dy = b->r->dy + b->first;

    if (sum->n)
        dy = under(b, sum, b->r->dy + b->row * b->r->node->size, to);
    if (dy != to)
        memcpy(to, dy, (size_t)b->n * sizeof *to);
}

/* What inputs of runs and parameters get, added to what they have. */
static void collect_all(const block *b)
{
    const ls__formula *f = b->f;
    float *sums = b->sums + b->at;

    for (int k = 0; k < f->inputs; k++)
        if (k >= given(f)) {
            if (b->has[k])
                b->r->kernels->add(b->n, sums, b->own[k], sums);
            sums += f->size;
        } else if (f->of[k].n && b->has[k]) {
            collect(b, &f->of[k], b->own[k],
                    b->r->dx[k] + b->row * input_size(b, k));
        }
}

static void gradients(block *b)
{
    memset(b->has, 0, sizeof b->has);
    take_dy(b);
    for (int t = b->f->terms - 1; t >= 0; t--) {
        const ls__term *term = &b->f->term[t];

        give(b, t, term->a, false);
        if (ls__term_inputs(term->kind) == 2)
            give(b, t, term->b, true);
    }
    collect_all(b);
}

/* A row begins: zeros to add to.  Parameters have sums of LS__CHUNK rows. */
static void begin_row(const block *b, int64_t row)
{
    const ls__formula *f = b->f;

    for (int k = 0; k < given(f); k++)
        if (f->of[k].n && b->r->dx[k])
            clear(input_size(b, k), b->r->dx[k] + row * input_size(b, k));
    if (row % LS__CHUNK == 0)
        clear(f->params * f->size, b->sums);
}

/* A row ends: at the last of a chunk its sums go to the gradients. */
static void end_row(const block *b, int64_t row, ls__range columns)
{
    bool begun = b->r->add || row >= LS__CHUNK;
    int64_t n = columns.last - columns.first;

    if (row + 1 < b->rows && (row + 1) % LS__CHUNK)
        return;
    for (int k = 0; k < b->f->params; k++) {
        const float *sums = b->sums + k * b->f->size + columns.first;
        float *to = b->r->dparam[k] ? b->r->dparam[k] + columns.first : NULL;

        if (to && begun)
            b->r->kernels->add(n, to, sums, to);
        else if (to)
            memcpy(to, sums, (size_t)n * sizeof *to);
    }
}

/* The gradients of some columns of all rows. */
static void back(block *b, ls__range columns)
{
    for (int64_t row = 0; row < b->rows; row++) {
        begin_row(b, row);
        for (int64_t at = columns.first; at < columns.last; at += BLOCK) {
            move_to(b, row, at, columns.last);
            values(b);
            gradients(b);
        }
        end_row(b, row, columns);
    }
}

static bool wants_params(const ls__run *r)
{
    bool wants = false;

    for (int k = 0; k < r->node->params; k++)
        wants |= r->dparam[k] != NULL;
    return wants;
}

/* A turn is a part of the columns: no parameter's element needs another. */
unsigned ls__formula_turns(const ls__instr *in, unsigned most)
{
    const ls__formula *f = in->made;

    return (unsigned)ls__least(most, (f->size + BLOCK - 1) / BLOCK);
}

void ls__formula_backward(const ls__run *r)
{
    ls__formula one;
    block b = start(r, formula_of(r->in, &one));
    ls__range all = {0, b.width};
    unsigned most = r->of->turns ? r->of->turns->most : 1;
    int turns = wants_params(r) ? (int)ls__formula_turns(r->in, most) : 0;

    mark_needed(&b);
    if (!turns)
        back(&b, all);
    for (int i = 0; i < turns; i++) {
        if (!ls__take_turn(r))
            continue;
        back(&b, ls__range_part(all, turns, i, BLOCK));
        ls__end_turn(r);
    }
}
