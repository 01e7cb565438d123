/* SPDX-License-Identifier: BSD-3-Clause */
/* Recurrent layers over the T steps of a row: LSTM and GRU as Flax has them,
 * backward by backpropagation through time.
 *
 * A dense layer before this operator computes the gates' share of the input for
 * all steps at once; x here is its value (T,G n).  Each step adds the share of
 * the state, (rows,n) (n,G n) + bias, and goes through the gates
 * (kernel/k_recurrent.h), which replace x where nobody else reads it.  Back in
 * time each step leaves its gradients there.  d is the gradient by the state's
 * share; for GRU it differs from dx in one gate:
 *
 *     by the state before:  d U^T + what passes the gates by
 *     dU = sum over steps, and in each over rows, of h^T d,  dbias likewise
 *
 * dU is one product with K running so over the chunk, piece by piece.  A row
 * with a length has as many steps: beyond it y is 0, the state stays and
 * gradients are 0. */
#include "backend/backend.h"
#include "base/least.h"
#include "op/op_table.h"
#include "op/recurrent_layer.h"

#include <string.h>

/* ------ memory ------ */

/* The stash of forward, by steps but for the gates, which lie as x does: these,
 * unless they lie where x was; for GRU hn; and each state before each step and
 * after the last. */
static int64_t recurrent_stash(const ls__bench *b, const ls__instr *in)
{
    const ls_node *n = in->node;
    int64_t t = ls__recurrent_steps(n), units = ls__recurrent_units(n);
    const ls__rnn_cell *c = ls__cell_of(n);

    (void)b;
    return (in->over_x ? 0 : n->in[0]->size) + (c == &ls__gru ? t * units : 0) +
           c->states * (t + 1) * units;
}

/* The weights packed, if the backend packs; a step's share of the state, or d;
 * dh, dc, past; a piece of d of all steps; then what products need. */
typedef struct layout {
    int64_t gates, dh, dc, past, piece, products, end;
} layout;

static layout layout_of(const ls_node *n, int64_t rows, const ls__backend *b)
{
    const ls__products *of = b->products;
    int64_t units = ls__recurrent_units(n), wide = n->in[0]->shape[1];
    int64_t state = (rows * units + 15) / 16 * 16;
    int64_t room = of->pack ? ls__most(of->packed_size(units, wide),
                                       of->packed_size(wide, units))
                            : 0;
    layout l;

    l.gates = (room + 15) / 16 * 16;
    l.dh = l.gates + (rows * wide + 15) / 16 * 16;
    l.dc = l.dh + state;
    l.past = l.dc + state;
    l.piece = l.past + state;
    l.products = l.piece;
    l.products += ls__least(rows * ls__recurrent_steps(n), LS__DEEP) * wide;
    l.products = (l.products + 15) / 16 * 16;
    room = ls__most(of->scratch(units, wide), of->scratch(wide, units));
    room = ls__most(room, of->scratch(LS__DEEP, wide));
    l.end = l.products + room;
    return l;
}

static int recurrent_plan(ls__bench *b, ls__instr *in)
{
    ls__bench_scratch(b, layout_of(in->node, b->rows, b->backend).end);
    return 0;
}

enum { GATES = 1 << 22 };

/* The products of its steps have as many rows as the chunk, and the gates of
 * all its steps should not fill the memory. */
static void recurrent_wish(const ls_node *n, ls__wish *wish)
{
    int64_t rows = 64;

    while (rows > 16 && rows * n->in[0]->size > GATES)
        rows /= 2;
    wish->steps = wish->steps ? ls__least(wish->steps, rows) : rows;
}

static double recurrent_flops(const ls_node *n)
{
    return 2.0 * (double)n->in[0]->size * (double)ls__recurrent_units(n);
}

/* ------ what both ways share ------ */

typedef struct work {
    const ls__run *r;
    const ls__rnn_cell *cell;
    layout at;
    int64_t t, units, wide, states; /* states: floats of one array, all rows */
    float *kept, *hn, *h, *c;       /* of step 0 */
    ls__recurrence step;            /* members that all steps share */
} work;

static work work_of(const ls__run *r)
{
    const ls_node *n = r->node;
    work w = {.r = r, .cell = ls__cell_of(n), .t = ls__recurrent_steps(n),
              .units = ls__recurrent_units(n), .wide = n->in[0]->shape[1],
              .at = layout_of(n, r->rows, r->backend)};

    w.states = r->rows * w.units;
    w.kept = r->in->over_x ? (float *)(uintptr_t)r->x[0] : r->stash;
    w.hn = r->stash + (r->in->over_x ? 0 : r->rows * n->in[0]->size);
    w.h = w.hn + (w.cell == &ls__gru ? w.t * w.states : 0);
    w.c = w.h + (w.t + 1) * w.states;
    LS__ASSERT(w.h + w.cell->states * (w.c - w.h) ==
               r->stash + r->rows * recurrent_stash(NULL, r->in));
    w.step = (ls__recurrence){.rows = r->rows, .n = w.units,
                              .stride = n->size, .x_stride = w.t * w.wide};
    if (ls__recurrent_lengths(n) >= 0)
        w.step.length = r->x[ls__recurrent_lengths(n)];
    return w;
}

/* Step t's places. */
static ls__recurrence step_of(const work *w, int64_t t)
{
    ls__recurrence s = w->step;

    s.t = t;
    s.kept = w->kept + t * w->wide;
    s.hn = w->cell == &ls__gru ? w->hn + t * w->states : NULL;
    s.h = w->h + t * w->states;
    s.h_next = w->h + (t + 1) * w->states;
    if (w->cell->states > 1) {
        s.c = w->c + t * w->states;
        s.c_next = w->c + (t + 1) * w->states;
    }
    return s;
}

/* U or its transpose packed, where that pays: it serves each step. */
static const float *packed_kernel(const work *w, bool transposed)
{
    const ls__products *of = w->r->backend->products;
    int64_t k = transposed ? w->wide : w->units;
    int64_t n = transposed ? w->units : w->wide;

    if (!of->pack || w->t * w->r->rows < 16)
        return NULL;
    of->pack(k, n, w->r->param[0], transposed ? 1 : w->wide,
             transposed ? w->wide : 1, w->r->scratch);
    return w->r->scratch;
}

/* Array k of a state, which stands as Flax has it: c, h. */
static int64_t place(const work *w, bool of_h)
{
    return of_h ? (w->cell->states - 1) * w->units : 0;
}

/* Copy an array of the state, whose rows are so many floats apart. */
static void copy_state(const work *w, const float *from, int64_t from_row,
                       float *to, int64_t to_row)
{
    for (int64_t i = 0; i < w->r->rows; i++)
        memcpy(to + i * to_row, from + i * from_row,
               (size_t)w->units * sizeof *to);
}

/* ------ forward ------ */

/* The state before the first step. */
static void begin(const work *w)
{
    int from = ls__recurrent_from(w->r->node);
    int64_t stride = w->cell->states * w->units;
    size_t bytes = (size_t)w->states * sizeof *w->h;

    if (from >= 0) {
        const float *state = w->r->x[from];

        copy_state(w, state + place(w, true), stride, w->h, w->units);
        if (w->cell->states > 1)
            copy_state(w, state, stride, w->c, w->units);
        return;
    }
    memset(w->h, 0, bytes);
    if (w->cell->states > 1)
        memset(w->c, 0, bytes);
}

/* And after the last, behind the values. */
static void end(const work *w)
{
    const ls_node *n = w->r->node;
    float *y = w->r->y + w->t * w->units;

    copy_state(w, w->h + w->t * w->states, w->units, y + place(w, true),
               n->size);
    if (w->cell->states > 1)
        copy_state(w, w->c + w->t * w->states, w->units, y, n->size);
}

/* gates = h U + bias */
static void share_of_state(const work *w, const float *packed, const float *h,
                           float *gates)
{
    const ls__run *r = w->r;
    ls__product g = {.m = r->rows, .n = w->wide, .k = w->units, .a = h,
                     .a_row = w->units, .a_col = 1, .b = r->param[0],
                     .b_row = w->wide, .b_col = 1, .packed = packed,
                     .c = gates, .c_row = w->wide, .scale = 1,
                     .bias = r->node->params > 1 ? r->param[1] : NULL,
                     .round = r->backend->bf16};

    r->backend->products->gemm(&g, r->scratch + w->at.products);
}

/* Show what a step made, in the order of time: of each row its share of the
 * state, its gates; and the state after it. */
static void show_step(const work *w, int64_t t, const ls__recurrence *s)
{
    const ls__run *r = w->r;
    int64_t gates = r->rows * w->wide, states = w->cell->states * w->states;
    int64_t all = w->t * (2 * gates + states), at = t * (2 * gates + states);

    ls__show(r, "steps", at, all, s->gates, gates);
    for (int64_t i = 0; i < r->rows; i++)
        ls__show(r, "steps", at + gates + i * w->wide, all,
                 s->kept + i * s->x_stride, w->wide);
    ls__show(r, "steps", at + 2 * gates, all, s->h_next, w->states);
    if (w->cell->states > 1)
        ls__show(r, "steps", at + 2 * gates + w->states, all, s->c_next,
                 w->states);
}

static void recurrent_fwd(const ls__run *r)
{
    work w = work_of(r);
    const float *packed = packed_kernel(&w, false);
    ls__recur *recur = w.cell == &ls__lstm ? r->kernels->lstm_step
                                       : r->kernels->gru_step;
    float *gates = r->scratch + w.at.gates;

    begin(&w);
    for (int64_t t = 0; t < w.t; t++) {
        ls__recurrence s = step_of(&w, t);

        share_of_state(&w, packed, s.h, gates);
        s.gates = gates;
        s.x = (const float *)r->x[0] + t * w.wide;
        s.y = r->y + t * w.units;
        recur(&s);
        if (r->of->observer)
            show_step(&w, t, &s);
    }
    if (ls__recurrent_ends(r->node))
        end(&w);
}

/* ------ backward ------ */

/* The gradients by the state after the last step. */
static void begin_back(const work *w, float *dh, float *dc)
{
    const ls_node *n = w->r->node;
    const float *dy = w->r->dy + w->t * w->units;

    if (ls__recurrent_ends(n)) {
        copy_state(w, dy + place(w, true), n->size, dh, w->units);
        if (w->cell->states > 1)
            copy_state(w, dy, n->size, dc, w->units);
        return;
    }
    memset(dh, 0, (size_t)w->states * sizeof *dh);
    memset(dc, 0, (size_t)w->states * sizeof *dc);
}

/* dx of the state's array at `at` = addend + d. */
static void end_back(const work *w, int64_t at, const float *d)
{
    const ls__run *r = w->r;
    int from = ls__recurrent_from(r->node);
    int64_t stride = w->cell->states * w->units;

    for (int64_t i = 0; i < r->rows; i++)
        ls__give_back(r, from, i * stride + at, w->units, d + i * w->units);
}

/* Show what a step back made: its gradients by the state's share; what it was
 * given as that by the state after it; and by the state before it what passes
 * the gates by. */
static void show_back(const work *w, int64_t t, const ls__recurrence *s)
{
    const ls__run *r = w->r;
    int64_t gates = r->rows * w->wide, one = gates + 3 * w->states;
    int64_t at = t * one + gates;

    ls__show(r, "steps back", t * one, w->t * one, s->d, gates);
    ls__show(r, "steps back", at, w->t * one, s->dh, w->states);
    ls__show(r, "steps back", at + w->states, w->t * one, s->past, w->states);
    if (w->cell->states > 1)
        ls__show(r, "steps back", at + 2 * w->states, w->t * one, s->dc,
                 w->states);
}

/* dh = d U^T + past */
static void through_state(const work *w, const float *packed, const float *d,
                          const float *past, float *dh)
{
    const ls__run *r = w->r;
    ls__product g = {.m = r->rows, .n = w->units, .k = w->wide, .a = d,
                     .a_row = w->wide, .a_col = 1, .b = r->param[0],
                     .b_row = 1, .b_col = w->wide, .packed = packed, .c = dh,
                     .c_row = w->units, .scale = 1, .add = past};

    r->backend->products->gemm(&g, r->scratch + w->at.products);
}

/* Rows first .. first + n of d, which run over steps and in each over rows. */
static void take_piece(const work *w, int64_t first, int64_t n, float *to)
{
    int64_t own = w->cell == &ls__gru ? w->units : 0, rows = w->r->rows;
    size_t shared = (size_t)(w->wide - own) * sizeof *to;

    LS__ASSERT(n <= LS__DEEP && first + n <= rows * w->t);
    for (int64_t i = first; i < first + n; i++, to += w->wide) {
        int64_t at = (i % rows * w->t + i / rows) * w->wide;

        memcpy(to, w->kept + at, shared);
        memcpy(to + w->wide - own, w->hn + i * own, (size_t)own * sizeof *to);
    }
}

/* dU (+)= h^T d, dbias (+)= the sum of d */
static void kernel_grad(const work *w)
{
    const ls__run *r = w->r;
    float *d = r->scratch + w->at.piece;
    ls__product g = {.m = w->units, .n = w->wide, .a_row = 1,
                     .a_col = w->units, .b = d, .b_row = w->wide, .b_col = 1,
                     .c = r->dparam[0], .c_row = w->wide, .scale = 1};
    int64_t k = w->t * r->rows;
    bool bias = r->node->params > 1 && r->dparam[1];

    for (int64_t p = 0; p < k && (g.c || bias); p += LS__DEEP) {
        g.k = ls__least(k - p, LS__DEEP);
        g.a = w->h + p * w->units;
        g.accumulate = r->add || p > 0;
        take_piece(w, p, g.k, d);
        if (g.c)
            r->backend->products->gemm(&g, r->scratch + w->at.products);
        if (bias)
            r->kernels->column_sum(g.k, w->wide, d, g.accumulate,
                                   r->dparam[1]);
    }
}

/* dx = addend + what stands where the gates were kept. */
static void give_dx(const work *w)
{
    const ls__run *r = w->r;
    int64_t n = r->rows * r->node->in[0]->size;

    if (r->dx[0] && r->dx[0] != w->kept)
        ls__give_back(r, 0, 0, n, w->kept);
}

static void recurrent_bwd(const ls__run *r)
{
    work w = work_of(r);
    const float *packed = packed_kernel(&w, true);
    ls__recur *recur = w.cell == &ls__lstm ? r->kernels->lstm_step_back
                                       : r->kernels->gru_step_back;
    float *dh = r->scratch + w.at.dh, *dc = r->scratch + w.at.dc;
    int from = ls__recurrent_from(r->node);
    bool whole = from >= 0 && r->dx[from]; /* back to before the first step */

    begin_back(&w, dh, dc);
    for (int64_t t = w.t - 1; t >= 0; t--) {
        ls__recurrence s = step_of(&w, t);

        s.dy = r->dy + t * w.units;
        s.dh = dh;
        s.dc = dc;
        s.past = r->scratch + w.at.past;
        s.d = r->scratch + w.at.gates;
        recur(&s);
        if (r->of->observer)
            show_back(&w, w.t - 1 - t, &s);
        if (t > 0 || whole)
            through_state(&w, packed, s.d, s.past, dh);
    }
    if (whole) {
        end_back(&w, place(&w, true), dh);
        if (w.cell->states > 1)
            end_back(&w, 0, dc);
    }
    kernel_grad(&w);
    give_dx(&w);
}

/* ------ the operators ------ */

static const ls__attribute attributes[] = {
    LS__FIELD("ends", LS__YES_NO, ls__recurrent_of, ends),
    LS__FIELD_IF("bias", ls__recurrent_of, bias), {0}};

#define OPERATOR(text, count, indices) \
    {.name = text, .inputs = count, .of = sizeof(ls__recurrent_of), \
     .shape = ls__recurrent_shape, .declare = ls__recurrent_declare, \
     .plan = {.reads = indices, .over = LS__OVER_ADDEND | LS__KEPT_OVER_X, \
              .wish = recurrent_wish, .stash = recurrent_stash, \
              .decide = recurrent_plan}, \
     .run = {.forward = recurrent_fwd, .backward = recurrent_bwd, \
             .leaves_params = true, .flops = recurrent_flops}, \
     .file = {.attributes = attributes}}

#define OPERATORS(name) \
    {[0] = OPERATOR(name, 1, 0), \
     [LS__FROM] = OPERATOR(name "_from", 2, 0), \
     [LS__LENGTHS] = OPERATOR(name "_lengths", 2, 2), \
     [LS__FROM | LS__LENGTHS] = OPERATOR(name "_from_lengths", 3, 4)}

const ls__op ls__op_lstm[LS__RECURRENT] = OPERATORS("lstm");
const ls__op ls__op_gru[LS__RECURRENT] = OPERATORS("gru");

int ls__recurrent_kind(const ls__op *op)
{
    for (int i = 0; i < LS__RECURRENT; i++)
        if (op == &ls__op_lstm[i])
            return LS__IS_LSTM | i;
        else if (op == &ls__op_gru[i])
            return LS__IS_GRU | i;
    return 0;
}
