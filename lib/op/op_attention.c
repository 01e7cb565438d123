/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention of q (T,D) to k and v, head by head on columns h D/H of them.
 * Grouped-query attention: k and v have fewer heads, each for several of q's.
 *
 *     S = q k^T / sqrt(D/H),  P = softmax(S),  y = P v
 *     dv = P^T dy,  dP = dy v^T,  dS = P (dP - sum(dP P)) / sqrt(D/H)
 *     dq = dS k,  dk = dS^T q
 *
 * Heads that share one of k and v add dk and dv in rising order, the addend
 * last.
 *
 * In training elements of P may be dropped before they meet v, as op_dropout.c
 * has it; element (head,t,s) of row i is element ((i H + head) T + t) T + s of
 * the stream.
 *
 * P of every row and head is kept for backward, and a bit for each element that
 * was not dropped.  With a causal mask position t
 * sees 0 .. t: the softmax runs over t + 1 entries, the others are zeros. */
#include "backend/backend.h"
#include "base/assert.h"
#include "base/least.h"
#include "base/range.h"
#include "op/op_table.h"
#include "op/layer_parts.h"
#include "op/product_plan.h"

#include <string.h>

typedef struct attention {
    int64_t heads;
    bool causal;
    double dropout;
} attention;

static const attention *given(const ls_node *n)
{
    return n->of;
}

/* Floats that a head keeps: P, and the bits of those that stay. */
static int64_t kept_size(const ls_node *n)
{
    int64_t all = n->shape[0] * n->shape[0];

    return all + (given(n)->dropout > 0 ? (all + 31) / 32 : 0);
}

/* The sizes of one head's problem. */
typedef struct head {
    int64_t t, d, row; /* positions, D/H, D */
    int64_t kv_row;    /* width of k and v */
    int64_t each;      /* heads of q for one of k */
    float scale;       /* 1 / sqrt(D/H) */
} head;

static head head_of(const ls_node *n)
{
    int64_t t = n->shape[0], row = n->shape[1], d = row / given(n)->heads;
    int64_t kv_row = n->in[1]->shape[1];

    LS__ASSERT(row % kv_row == 0 && row % d == 0 && kv_row % d == 0);
    return (head){t, d, row, kv_row, row / kv_row,
                  1.0f / __builtin_sqrtf((float)d)};
}

/* The place of head k of row i in q, and in k and v. */
static int64_t q_at(head h, int64_t i, int64_t k)
{
    return i * h.t * h.row + k * h.d;
}

static int64_t kv_at(head h, int64_t i, int64_t k)
{
    return i * h.t * h.kv_row + k / h.each * h.d;
}

/* The place of head k of row i in y. */
static int64_t y_at(const ls__run *r, head h, int64_t i, int64_t k)
{
    return r->in->is_bf16 ? i * h.t * h.row / 2 + k * h.d * LS__BF16_STEP / 2
                      : q_at(h, i, k);
}

/* Grouped queries: do the heads of k and v divide those of q? */
static bool divides(const ls_node *n)
{
    int64_t heads = given(n)->heads, kv = n->in[1]->shape[1];
    int64_t d = n->in[0]->shape[1] / heads;

    return kv % d == 0 && heads % (kv / d) == 0;
}

static int attention_shape(ls_node *n)
{
    int64_t heads = given(n)->heads;
    const ls_node *q = n->in[0];
    char left[LS__SHAPE_TEXT], right[LS__SHAPE_TEXT];

    for (int k = 0; k < 3; k++) {
        if (ls__want(n, k, LS_F32, 2) < 0)
            return LS_ESHAPE;
        if (n->in[k]->rank != 2 || n->in[k]->shape[0] != q->shape[0] ||
            (k == 2 && n->in[2]->shape[1] != n->in[1]->shape[1]))
            return ls__fail(LS_ESHAPE, "attention \"%s\": %s and %s; both "
                            "must be the same (T,D); only the heads of keys "
                            "and values may be fewer", n->name,
                            ls__shape_text(left, q->rank, q->shape),
                            ls__shape_text(right, n->in[k]->rank,
                                           n->in[k]->shape));
    }
    if (heads < 1 || q->shape[1] % heads)
        return ls__fail(LS_ESHAPE, "attention \"%s\": width %lld does not "
                        "divide into %lld heads", n->name,
                        (long long)q->shape[1], (long long)heads);
    if (!(given(n)->dropout >= 0 && given(n)->dropout < 1))
        return ls__fail(LS_EINVAL, "attention \"%s\": dropout %g is not in "
                        "[0,1)", n->name, given(n)->dropout);
    if (!divides(n))
        return ls__fail(LS_ESHAPE, "attention \"%s\": keys of width %lld are "
                        "no heads of %lld that %lld heads could share", n->name,
                        (long long)n->in[1]->shape[1],
                        (long long)(q->shape[1] / heads), (long long)heads);
    return ls__node_set_shape(n, LS_F32, 2, q->shape);
}

static int64_t attention_stash(const ls__bench *b, const ls__instr *in)
{
    const ls_node *n = in->node;

    (void)b;
    return given(n)->heads * kept_size(n);
}

static ls_node *attention_declare(ls_node *n)
{
    if (given(n)->dropout > 0)
        n->stream = ls__graph_stream(n->graph, n->name);
    return given(n)->dropout > 0 && n->stream < 0
               ? ls__graph_failed(n->graph, n->stream) : n;
}

/* Each head is a product. */
static bool attention_bf16(const ls__instr *in, int k)
{
    return k == LS__VALUE && ls__bf16_fits(in->node, given(in->node)->heads);
}

static int attention_plan(ls__bench *b, ls__instr *in)
{
    head h = head_of(in->node);
    int64_t scores = b->backend->products->scratch(h.d, h.t);
    int64_t values = b->backend->products->scratch(h.t, h.d);

    ls__bench_scratch(b, 2 * h.t * h.t + h.t * h.d + 48 +
                             ls__most(scores, values));
    return 0;
}

/* Scores and mix, both for all of (T,T): what is masked is computed too. */
static double attention_flops(const ls_node *n)
{
    return 4.0 * (double)n->size * (double)n->shape[0];
}

/* (T,T) = scale a b^T for two columns of heads, of q's kind and of k's */
static void scores(const ls__run *r, head h, float by, const float *a,
                   const float *b, float *out, float *scratch)
{
    ls__product g = {.m = h.t, .n = h.t, .k = h.d, .a = a, .a_row = h.row,
                     .a_col = 1, .b = b, .b_row = 1, .b_col = h.kv_row,
                     .c = out, .c_row = h.t, .scale = by};

    r->backend->products->gemm(&g, scratch);
}

/* (T,D/H) = scale p b (+ addend), b of k's kind, into a column of q's kind; or,
 * transposed, scale p^T b, b of q's kind, into vectors out_row apart */
static void mix(const ls__run *r, head h, float by, const float *p,
                bool transposed, const float *b, const float *addend,
                float *out, int64_t out_row, float *scratch)
{
    ls__product g = {.m = h.t, .n = h.d, .k = h.t, .a = p,
                     .a_row = transposed ? 1 : h.t,
                     .a_col = transposed ? h.t : 1, .b = b,
                     .b_row = transposed ? h.row : h.kv_row,
                     .b_col = 1, .c = out, .c_row = out_row, .scale = by,
                     .add = addend, .c_bf16 = r->in->is_bf16 && !r->dy};

    r->backend->products->gemm(&g, scratch);
}

/* Softmax over the positions each one sees; zeros beyond. */
static void visible_softmax(const ls__run *r, head h, float *p)
{
    if (!given(r->node)->causal) {
        r->kernels->softmax(h.t, h.t, h.t, p);
        return;
    }
    for (int64_t t = 0; t < h.t; t++, p += h.t) {
        r->kernels->softmax(1, t + 1, h.t, p);
        memset(p + t + 1, 0, (size_t)(h.t - t - 1) * sizeof *p);
    }
}

/* One head's (T,T), which is at `at` of all rows' and heads'. */
static void show_head(const ls__run *r, head h, const char *what, int64_t at,
                      const float *of)
{
    ls__show(r, what, at, r->rows * given(r->node)->heads * h.t * h.t, of,
             h.t * h.t);
}

/* The place of P of a head of row i, among those of all rows. */
static int64_t place(const ls__run *r, head h, int64_t i, int64_t number)
{
    return (i * given(r->node)->heads + number) * h.t * h.t;
}

static float keep_of(const ls__run *r)
{
    return (float)(1 - given(r->node)->dropout * (double)r->of->drop);
}

static bool drops(const ls__run *r)
{
    return given(r->node)->dropout > 0 && r->of->train;
}

/* Drop some of P, into memory of its own, and mark what stays behind P. */
static const float *drop(const ls__run *r, head h, float *p, int64_t i,
                         int64_t number, float *to)
{
    int64_t all = h.t * h.t;
    uint64_t at = (uint64_t)place(r, h, r->of->first + i, number);

    if (!drops(r))
        return p;
    p[all + (all + 31) / 32 - 1] = 0; /* a record shows all of it */
    r->kernels->dropout(ls__draw_key(r).word, at, all,
                        keep_of(r), p, to,
                        (void *)(p + all));
    return to;
}

/* Drop of x what was dropped of P. */
static const float *drop_again(const ls__run *r, head h, const float *p,
                               const float *x, float *to)
{
    if (!drops(r))
        return x;
    r->kernels->dropout_grad(h.t * h.t, keep_of(r),
                             (const void *)(p + h.t * h.t), x, NULL, to);
    return to;
}

static void attention_fwd(const ls__run *r)
{
    int64_t heads = given(r->node)->heads;
    head h = head_of(r->node);
    float *p = r->stash, *scratch = r->scratch + (h.t * h.t + 15) / 16 * 16;

    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t k = 0; k < heads; k++, p += kept_size(r->node)) {
            int64_t at = q_at(h, i, k), kv = kv_at(h, i, k);

            scores(r, h, h.scale, (const float *)r->x[0] + at,
                   (const float *)r->x[1] + kv, p, scratch);
            show_head(r, h, "S", place(r, h, i, k), p);
            visible_softmax(r, h, p);
            mix(r, h, 1, drop(r, h, p, i, k, r->scratch), false,
                (const float *)r->x[2] + kv, NULL, r->y + y_at(r, h, i, k),
                h.row, scratch);
        }
}

static const float *at_or_null(const float *p, int64_t at)
{
    return p ? p + at : NULL;
}

/* A column of k's kind: to += more, (T,D/H) close together or h.kv_row apart.
 * */
static void add_column(const ls__run *r, head h, const float *more,
                       int64_t row, float *to)
{
    for (int64_t t = 0; t < h.t; t++, to += h.kv_row, more += row)
        r->kernels->add(h.d, more, to, to);
}

/* Gradient `k` of keys or values, p^T b, of head `number`: the first of those
 * that share one writes, others add, and with the last comes the addend. */
static void shared_grad(const ls__run *r, head h, int k, int64_t number,
                        float by, const float *p, const float *b, int64_t kv,
                        float *scratch)
{
    float *dx = r->dx[k] + kv, *later = scratch;
    const float *addend = at_or_null(r->addend[k], kv);

    scratch += (h.t * h.d + 15) / 16 * 16;
    if (number % h.each == 0) {
        mix(r, h, by, p, true, b, h.each == 1 ? addend : NULL, dx, h.kv_row,
            scratch);
    } else {
        mix(r, h, by, p, true, b, NULL, later, h.d, scratch);
        add_column(r, h, later, h.d, dx);
    }
    if (h.each > 1 && addend && (number + 1) % h.each == 0)
        add_column(r, h, addend, h.kv_row, dx);
}

/* The gradients of one head of row i. */
static void head_bwd(const ls__run *r, head h, const float *p, int64_t i,
                     int64_t number)
{
    const float *q = r->x[0], *k = r->x[1], *v = r->x[2];
    int64_t at = q_at(h, i, number), kv = kv_at(h, i, number);
    int64_t all = (h.t * h.t + 15) / 16 * 16;
    float *ds = r->scratch, *dropped = ds + all, *scratch = dropped + all;

    if (r->dx[2])
        shared_grad(r, h, 2, number, 1, drop_again(r, h, p, p, dropped),
                    r->dy + at, kv, scratch);
    scores(r, h, 1, r->dy + at, v + kv, ds, scratch);
    (void)drop_again(r, h, p, ds, ds);
    show_head(r, h, "dP", place(r, h, i, number), ds);
    r->kernels->softmax_grad(h.t, h.t, h.t, p, ds);
    show_head(r, h, "dS", place(r, h, i, number), ds);
    if (r->dx[0])
        mix(r, h, h.scale, ds, false, k + kv, at_or_null(r->addend[0], at),
            r->dx[0] + at, h.row, scratch);
    if (r->dx[1])
        shared_grad(r, h, 1, number, h.scale, ds, q + at, kv, scratch);
}

static void attention_bwd(const ls__run *r)
{
    int64_t heads = given(r->node)->heads;
    head h = head_of(r->node);
    const float *p = r->stash;

    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t k = 0; k < heads; k++, p += kept_size(r->node))
            head_bwd(r, h, p, i, k);
}

static const ls__attribute attributes[] = {
    LS__FIELD("heads", LS__INTEGER, attention, heads),
    LS__FIELD("causal", LS__YES_NO, attention, causal),
    {.name = "dropout", .type = LS__NUMBER,
     .offset = offsetof(attention, dropout), .may_lack = true},
    {0}};

/* ------ step by step ------ */

/* A row is a position: its key and value are kept, and it sees those of all
 * before it.  The bytes are those of the whole, where what is masked adds
 * zeros. */
static int step_shape(ls_node *n)
{
    if (!given(n)->causal)
        return ls__fail(LS_ENOTSUP, "attention \"%s\" has no causal mask: "
                        "every position needs those after it", n->name);
    return attention_shape(n);
}

/* The key/value cache: keys, then values, (positions,width of both). */
typedef struct step_made {
    int64_t keys;
} step_made;

static int step_plan(ls__bench *b, ls__instr *in)
{
    const ls_node *n = in->node;
    step_made *made = in->made;
    head h = head_of(n);
    int64_t scores = b->backend->products->scratch(h.d, n->positions);
    int64_t values = b->backend->products->scratch(n->positions, h.d);

    made->keys = ls__bench_stays(b, 2 * n->positions * n->in[1]->shape[1]);
    ls__bench_scratch(b, n->positions + 16 + ls__most(scores, values));
    return 0;
}

/* One head of q, and of y, at position t. */
static void step_head(const ls__run *r, head h, int64_t t, const float *q,
                      const float *k, const float *v, float *y)
{
    float *p = r->scratch, *scratch = p + (t + 16) / 16 * 16;
    ls__product of_p = {.m = 1, .n = t + 1, .k = h.d, .a = q, .a_row = h.d,
                        .a_col = 1, .b = k, .b_row = 1, .b_col = h.kv_row,
                        .c = p, .c_row = t + 1, .scale = h.scale};
    ls__product of_y = {.m = 1, .n = h.d, .k = t + 1, .a = p, .a_row = t + 1,
                        .a_col = 1, .b = v, .b_row = h.kv_row, .b_col = 1,
                        .c = y, .c_row = h.d, .scale = 1};

    r->backend->products->gemm(&of_p, scratch);
    r->kernels->softmax(1, t + 1, t + 1, p);
    r->backend->products->gemm(&of_y, scratch);
}

/* Heads of k first .. last-1, and those of q that they serve. */
static void step_heads(const ls__run *r, head h, ls__range heads)
{
    const step_made *made = r->in->made;
    const float *q = r->x[0], *k = r->x[1], *v = r->x[2];
    float *keys = r->of->stays + made->keys;
    float *values = keys + r->node->positions * h.kv_row;
    int64_t at = heads.first * h.d;
    size_t bytes = (size_t)((heads.last - heads.first) * h.d) * sizeof(float);

    for (int64_t i = 0; i < r->rows; i++) {
        int64_t t = r->of->first + i, row = i * h.kv_row + at;

        LS__ASSERT(t < r->node->positions);
        memcpy(keys + t * h.kv_row + at, k + row, bytes);
        memcpy(values + t * h.kv_row + at, v + row, bytes);
        for (int64_t j = heads.first * h.each; j < heads.last * h.each; j++)
            step_head(r, h, t, q + i * h.row + j * h.d,
                      keys + j / h.each * h.d, values + j / h.each * h.d,
                      r->y + i * h.row + j * h.d);
    }
}

static void step_fwd(const ls__run *r)
{
    head h = head_of(r->node);
    ls__range all = {0, h.kv_row / h.d};

    step_heads(r, h, ls__range_part(all, r->parts, r->part, 1));
}

static const ls__op attention_step = {
    .name = "attention step", .inputs = 3, .of = sizeof(attention),
    .shape = step_shape,
    .plan = {.made = sizeof(step_made), .decide = step_plan},
    .run = {.forward = step_fwd},
    .rare = LS__RARE(.splits = true)};

const ls__op ls__op_attention = {
    .name = "attention", .inputs = 3, .of = sizeof(attention),
    .step = &attention_step, .shape = attention_shape,
    .declare = attention_declare,
    .plan = {.reads = 7, .may_bf16 = attention_bf16, .stash = attention_stash,
             .decide = attention_plan},
    .run = {.forward = attention_fwd, .backward = attention_bwd, .cuts = 1,
            .flops = attention_flops},
    .file = {.attributes = attributes}};

ls_node *ls__attention(ls_node *q, ls_node *k, ls_node *v, int heads,
                       bool causal, double dropout, const char *name)
{
    return ls__node_with(ls__node_new(&ls__op_attention, name, q, k, v),
                         &(attention){heads, causal, dropout});
}

ls_node *ls_dot_product_attention(ls_node *q, ls_node *k, ls_node *v,
                                  int heads, bool causal)
{
    return ls__attention(q, k, v, heads, causal, 0, q ? q->name : "");
}
