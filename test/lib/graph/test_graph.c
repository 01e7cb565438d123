/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of whole graphs against reference.h, chunk by chunk, in memory full
 * of NaN; and folding, which changes no byte. */
#include "op/product_plan.h"
#include "base/fpmode.h"
#include "graphs.h"
#include "plan/exec.h"
#include "layers.h"
#include "reference.h"

enum { MOST_INPUTS = 4, MOST_PARAMS = 64 };

/* ------ What a run is given, and gives ------ */

typedef struct data {
    int inputs, params;
    int64_t rows, size[MOST_PARAMS]; /* of parameters */
    const void *input[MOST_INPUTS];
    float *param[MOST_PARAMS], *weights; /* weights may be NULL */
    double *input_d[MOST_INPUTS], *param_d[MOST_PARAMS];
} data;

static void make_inputs(data *d, const ls_graph *g)
{
    for (int i = 0; i < g->input_count; i++) {
        const ls_node *x = g->inputs[i];
        int64_t n = d->rows * x->size;
        void *room = fenced(n);

        if (x->dtype == LS_F32)
            fill_uniform(i, n, room);
        else
            fill_indices(i, n, x->limit, room);
        d->input[i] = room;
        d->input_d[i] = doubles(n, room, x->dtype);
    }
}

static void make_params(data *d, const ls_graph *g)
{
    for (int i = 0; i < g->param_count; i++) {
        const ls__param *p = g->params[i];

        d->size[i] = p->size;
        d->param[i] = uniform(10 + i, p->size);
        for (int64_t j = 0; j < p->size; j++) /* near what training has */
            d->param[i][j] = p->init == LS__INIT_ONES ? 1 + d->param[i][j] / 4
                                                      : d->param[i][j] / 2;
        d->param_d[i] = doubles(p->size, d->param[i], LS_F32);
    }
}

static data make_data(const ls_graph *g, int64_t rows, bool weighted)
{
    data d = {.inputs = g->input_count, .params = g->param_count, .rows = rows};

    ck_assert(d.inputs <= MOST_INPUTS && d.params <= MOST_PARAMS);
    make_inputs(&d, g);
    make_params(&d, g);
    if (weighted) {
        d.weights = uniform(5, rows);
        for (int64_t i = 0; i < rows; i++)
            d.weights[i] = i % 5 == 2 ? 0 : 1 + d.weights[i];
    }
    return d;
}

static void free_data(data *d)
{
    for (int i = 0; i < d->inputs; i++)
        free(d->input_d[i]);
    for (int i = 0; i < d->params; i++)
        free(d->param_d[i]);
    fences_free();
}

typedef struct result {
    ls_sums sums;
    float *grad[MOST_PARAMS];
} result;

/* A plan with what it runs in. */
typedef struct runner {
    ls__plan *plan;
    ls__context *context;
    float *packed;
} runner;

static ls__weights weights_of(runner *e, const data *d)
{
    return (ls__weights){.of = (const float *const *)d->param,
                         .packed = e->packed};
}

static void prepare(runner *e, const data *d)
{
    ls__weights w = weights_of(e, d);

    ls__exec_pack(e->plan, &w, 0, 1, true);
}

/* Gradients begin as zeros, which is what untrained parameters keep. */
static result zeros(const data *d)
{
    result r = {.sums = {.correct = __builtin_nan("")}};

    for (int i = 0; i < d->params; i++)
        r.grad[i] =
            memset(fenced(d->size[i]), 0, (size_t)d->size[i] * sizeof(float));
    return r;
}

static void run(runner *e, const data *d, bool wanted, result *r)
{
    ls_shard shard = {.rows = d->rows, .data = d->input, .weights = d->weights};
    ls__weights w = weights_of(e, d);

    prepare(e, d);
    ck_assert_int_eq(ls__exec_gradient(e->context, &w, &shard,
                                       wanted ? r->grad : NULL, &r->sums),
                     0);
}

static result gradient(runner *e, const data *d, bool wanted)
{
    result r = zeros(d);

    run(e, d, wanted, &r);
    return r;
}

/* Leave NaN in all memory that a run writes. */
static void poison(runner *e, const data *d)
{
    data bad = *d;

    for (int i = 0; i < d->params; i++)
        bad.param[i] = fenced(d->size[i]);
    gradient(e, &bad, true);
}

static runner open_exec(const ls_graph *g, const char *backend_name)
{
    runner e = {.plan = new_plan(g, backend_name)};

    OK(ls__context_open(&e.context, e.plan));
    e.packed = ls__block((size_t)e.plan->packs.floats * sizeof(float),
                         "packed");
    ck_assert_ptr_nonnull(e.packed);
    return e;
}

static void close_exec(runner *e)
{
    ls__context_close(e->context);
    ls__block_free(e->packed);
    ls__plan_free(e->plan);
}

static void check_same(const data *d, const result *a, const result *b)
{
    ck_assert(!memcmp(&a->sums.loss, &b->sums.loss, sizeof a->sums.loss));
    ck_assert(!memcmp(&a->sums.weight, &b->sums.weight, sizeof a->sums.weight));
    for (int i = 0; i < d->params; i++)
        ck_assert_msg(
            !memcmp(a->grad[i], b->grad[i], (size_t)d->size[i] * sizeof(float)),
            "gradient %d differs", i);
}

/* ------ The reference of a whole graph ------ */

typedef struct model {
    const ls_graph *g;
    const data *d;
    double *y[MOST_NODES], *dy[MOST_NODES], *dparam[MOST_PARAMS];
} model;

static ref ref_of(const model *m, const ls_node *n)
{
    ref r = {.node = n,
             .rows = m->d->rows,
             .weights = m->d->weights,
             .y = m->y[n->id],
             .dy = m->dy[n->id]};

    for (int k = 0; k < n->op->inputs; k++) {
        r.x[k] = m->y[n->in[k]->id];
        r.dx[k] = m->dy[n->in[k]->id];
    }
    for (int k = 0; k < n->params; k++) {
        r.param[k] = m->d->param_d[n->param[k]];
        r.dparam[k] = m->dparam[n->param[k]];
    }
    return r;
}

static double model_loss(const model *m)
{
    for (int i = 0; i <= m->g->loss->id; i++) {
        const ls_node *n = m->g->nodes[i];
        ref r;

        if (!n->op)
            continue;
        r = ref_of(m, n);
        reference_of(n->op)->forward(&r);
    }
    return *m->y[m->g->loss->id];
}

static model make_model(const ls_graph *g, const data *d)
{
    model m = {g, d, {0}, {0}, {0}};

    ck_assert(g->node_count <= MOST_NODES);
    for (int i = 0; i < g->node_count; i++) {
        const ls_node *n = g->nodes[i];

        m.y[i] = n->op ? doubles(d->rows * n->size, NULL, LS_F32)
                       : d->input_d[n->input];
        m.dy[i] = doubles(d->rows * n->size, NULL, LS_F32);
    }
    for (int i = 0; i < g->param_count; i++)
        m.dparam[i] = doubles(d->size[i], NULL, LS_F32);
    model_loss(&m);
    for (int i = g->loss->id; i >= 0; i--)
        if (g->nodes[i]->op &&
            (i == g->loss->id || !g->nodes[i]->op->is_loss)) {
            ref r = ref_of(&m, g->nodes[i]);

            reference_of(g->nodes[i]->op)->backward(&r);
        }
    return m;
}

static void free_model(model *m)
{
    for (int i = 0; i < m->g->node_count; i++) {
        if (m->g->nodes[i]->op)
            free(m->y[i]);
        free(m->dy[i]);
    }
    for (int i = 0; i < m->g->param_count; i++)
        free(m->dparam[i]);
}

static void check_grad(const ls_graph *g, int i, const float *got,
                       const double *want)
{
    const ls__param *p = g->params[i];

    if (!strncmp(p->name, "unused", 6)) {
        for (int64_t j = 0; j < p->size; j++)
            ck_assert(got[j] == 0 && want[j] == 0);
        return;
    }
    ck_assert_msg(max_relative(p->size, got, want) <= 2e-5,
                  "gradient of %s: error %g", p->name,
                  max_relative(p->size, got, want));
    ck_assert_msg(!mostly_zero(p->size, got),
                  "gradient of %s: nearly all zeros", p->name);
}

/* Loss, weight and all gradients of a run against the reference. */
static void check_right(const ls_graph *g, const data *d, const result *r)
{
    model m = make_model(g, d);
    double loss = *m.y[g->loss->id];

    ck_assert_msg(fabs(r->sums.loss - loss) <= 1e-5 * fabs(loss),
                  "loss %.9g, must be %.9g", r->sums.loss, loss);
    for (int i = 0; i < g->param_count; i++)
        check_grad(g, i, r->grad[i], m.dparam[i]);
    free_model(&m);
}

/* ------ Gradients ------ */

static void check_rows(const ls_graph *g, int64_t rows, bool weighted)
{
    data d = make_data(g, rows, weighted);
    runner e = open_exec(g, "native");
    result first = gradient(&e, &d, true), again, alone;

    check_right(g, &d, &first);
    poison(&e, &d);
    again = gradient(&e, &d, true);
    check_same(&d, &first, &again);
    alone = gradient(&e, &d, false);
    ck_assert_double_eq(alone.sums.loss, first.sums.loss);
    ck_assert_double_eq(alone.sums.weight, first.sums.weight);
    close_exec(&e);
    free_data(&d);
}

/* Loss and gradients are right for shards of any number of chunks, whole or
 * not, weighted or not, in memory that holds NaN; the loss alone is no
 * other. */
LOOP_TEST(test_gradients, 0, GRAPHS)
{
    ls_graph *g = new_graph(graphs[_i].build);
    int64_t chunk = graphs[_i].chunk_rows;
    const int64_t rows[] = {1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1};

    ls__fpmode_set();
    for (int i = 0; i < 5; i++)
        check_rows(g, rows[i], i % 2);
    ls_graph_free(g);
}

/* The same for every number of rows through two chunks and one. */
LOOP_TEST(test_all_rows, 0, 2)
{
    void (*build)(ls_graph * g) = _i ? build_transformer_of_85 : build_linear;
    int64_t most = _i ? 7 : 513;
    ls_graph *g = new_graph(build);

    ls__fpmode_set();
    for (int64_t rows = 1; rows <= most; rows++)
        check_rows(g, rows, rows % 2);
    ls_graph_free(g);
}

/* What the gradients are when the first operator of the last chunk has gone
 * back. */
typedef struct glimpse {
    const data *d;
    const result *now;
    result then;
    bool seen;
} glimpse;

static void look(void *user, int instr)
{
    glimpse *p = user;

    (void)instr;
    for (int i = 0; i < p->d->params && !p->seen; i++)
        memcpy(p->then.grad[i], p->now->grad[i],
               (size_t)p->d->size[i] * sizeof(float));
    p->seen = true;
}

/* Check what is seen: of three chunks, the first one's. */
static void check_glimpse(runner *e, const data *d, int64_t chunk)
{
    result r = zeros(d), before;
    glimpse p = {.d = d, .now = &r, .then = zeros(d)};
    data some = *d;

    some.rows = chunk;
    before = gradient(e, &some, true);
    ls__context_after(e->context, look, &p);
    run(e, d, true, &r);
    ls__context_after(e->context, NULL, NULL);
    p.then.sums = before.sums;
    ck_assert(p.seen);
    check_same(d, &before, &p.then);
}

/* Two chunks that go back together have the bytes of one after the other, and
 * complete no gradient before. */
LOOP_TEST(test_pairs, 0, GRAPHS)
{
    ls_graph *g = new_graph(graphs[_i].build);
    int64_t chunk = graphs[_i].chunk_rows;
    const int64_t rows[] = {1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1};

    ls__fpmode_set();
    for (int i = 0; i < 5; i++) {
        data d = make_data(g, rows[i], i % 2);
        runner one = open_exec(g, "native"), two = open_exec(g, "native");
        result a = gradient(&one, &d, true), b;

        OK(ls__context_pair(two.context));
        ck_assert(ls__context_pairs(two.context));
        poison(&two, &d);
        b = gradient(&two, &d, true);
        check_same(&d, &a, &b);
        if (i == 4)
            check_glimpse(&two, &d, chunk);
        close_exec(&one);
        close_exec(&two);
        free_data(&d);
    }
    ls_graph_free(g);
}

static void build_tied(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 6), 6, "a");

    ls_tie(g, "b.kernel", "a.kernel", false);
    end(g, ls_dense(ls_gelu(h), 6, "b"));
}

/* One chunk after the other adds to a tied parameter in another order. */
TEST(test_tied_alone)
{
    ls_graph *g = new_graph(build_tied);
    runner e = open_exec(g, "native");

    OK(ls__context_pair(e.context));
    ck_assert(!ls__context_pairs(e.context));
    close_exec(&e);
    ls_graph_free(g);
}

/* The reference of whole graphs is right: its gradients are the slopes of its
 * loss along random directions. */
LOOP_TEST(test_reference, 0, GRAPHS)
{
    ls_graph *g = new_graph(graphs[_i].build);
    data d = make_data(g, 3, true);
    model m = make_model(g, &d);
    const double h = 1e-5;

    for (int i = 0; i < d.params; i += UNDER_SANITIZER ? 3 : 1) {
        float *along = uniform(90 + i, d.size[i]);
        double slope = 0, by_g = 0, size = 0;

        for (int side = 1; side >= -1; side -= 2) {
            for (int64_t j = 0; j < d.size[i]; j++)
                d.param_d[i][j] += side * h * (double)along[j];
            slope += side * model_loss(&m) / (2 * h);
            for (int64_t j = 0; j < d.size[i]; j++)
                d.param_d[i][j] -= side * h * (double)along[j];
        }
        for (int64_t j = 0; j < d.size[i]; j++) {
            by_g += m.dparam[i][j] * (double)along[j];
            size += m.dparam[i][j] * m.dparam[i][j];
        }
        ck_assert_msg(fabs(slope - by_g) <= 1e-6 * sqrt(size),
                      "%s: %.9g, slope %.9g", g->params[i]->name, by_g, slope);
    }
    free_model(&m);
    free_data(&d);
    ls_graph_free(g);
}

/* Both backends give the same bytes for every graph. */
LOOP_TEST(test_backends, 0, GRAPHS)
{
    ls_graph *g;
    data d;
    runner native, blis;
    result a, b;

    if (!have_blis())
        return;
    g = new_graph(graphs[_i].build);
    d = make_data(g, graphs[_i].chunk_rows + 2, true);
    native = open_exec(g, "native");
    blis = open_exec(g, "blis");
    ls__fpmode_set();
    a = gradient(&native, &d, true);
    b = gradient(&blis, &d, true);
    check_same(&d, &a, &b);
    check_right(g, &d, &b);
    close_exec(&native);
    close_exec(&blis);
    free_data(&d);
    ls_graph_free(g);
}

/* A plan owns all it needs: the graph may be gone. */
TEST(test_owned)
{
    ls_graph *g = new_graph(build_transformer);
    data d = make_data(g, 5, false);
    runner kept = open_exec(g, NULL), e = open_exec(g, NULL);
    result a, b;

    ls__fpmode_set();
    a = gradient(&kept, &d, true);
    ls_graph_free(g);
    b = gradient(&e, &d, true);
    check_same(&d, &a, &b);
    close_exec(&kept);
    close_exec(&e);
    free_data(&d);
}

/* ------ Folding ------ */

/* z or, with a second reader that adds zeros to y, a z that nothing may be
 * folded into: the same function. */
static ls_node *guard(ls_node *y, ls_node *z, bool blocked)
{
    int64_t shape[LS_MAX_RANK];
    int64_t n = shape[ls_node_shape(z, shape) - 1];

    return blocked ? ls_add(y, dense_no_bias(z, n, "zero")) : y;
}

static void fold_gelu(ls_graph *g, bool blocked)
{
    ls_node *z = ls_dense(x_of(g, 6), 20, "a");

    end(g, ls_dense(guard(ls_gelu(z), z, blocked), 5, "b"));
}

static void fold_add(ls_graph *g, bool blocked)
{
    ls_node *x = ls_gelu(x_of(g, 20)), *z = ls_dense(x, 20, "a");

    end(g, ls_dense(guard(ls_add(x, z), z, blocked), 5, "b"));
}

static void fold_add_left(ls_graph *g, bool blocked)
{
    ls_node *x = x_of(g, 20), *z = ls_dense(x, 20, "a");

    end(g, ls_dense(guard(ls_add(z, x), z, blocked), 5, "b"));
}

static void fold_both(ls_graph *g, bool blocked)
{
    ls_node *x = x_of(g, 20), *z = ls_dense(x, 20, "a");

    end(g, ls_dense(guard(ls_add(x, ls_gelu(z)), z, blocked), 5, "b"));
}

/* The activation's value has two readers: folded forward, but not its slope. */
static void fold_forward(ls_graph *g, bool blocked)
{
    ls_node *z = ls_dense(x_of(g, 6), 20, "a");
    ls_node *h = guard(ls_gelu(z), z, blocked);

    end(g, ls_add(ls_dense(h, 5, "b"), ls_dense(h, 5, "c")));
}

typedef struct fold {
    void (*build)(ls_graph *g, bool blocked);
    int count, blocked_count; /* instructions */
    bool gelu, residual, slope;
} fold;

/* Blocked there are the zero product and what is not folded besides; the sum
 * with zeros folds into the zero product, and a gelu with the add that follows
 * it is one formula. */
/* clang-format off */
static const fold folds[] = {
    {fold_gelu, 3, 5, true, false, true},
    {fold_add, 4, 6, false, true, false},
    {fold_add_left, 3, 5, false, true, false},
    {fold_both, 3, 5, true, true, false},
    {fold_forward, 4, 6, true, false, false}};
/* clang-format on */

/* The instruction of a layer. */
static const ls__instr *instr_of(const ls__plan *plan, const char *name)
{
    for (int i = 0; i < plan->count; i++)
        if (!strcmp(plan->instr[i].node->name, name))
            return &plan->instr[i];
    ck_abort_msg("no instruction for %s", name);
}

static void check_folded(const ls_graph *g, const fold *f, bool blocked)
{
    ls__plan *plan = new_plan(g, NULL);
    const ls__product_made *m = instr_of(plan, "a")->made;
    const ls__product_made *b = instr_of(plan, "b")->made;

    ck_assert_int_eq(plan->count, blocked ? f->blocked_count : f->count);
    ck_assert_int_eq(m->activation == LS__GELU, f->gelu && !blocked);
    ck_assert_int_eq(m->residual, f->residual && !blocked);
    ck_assert_int_eq(m->dy_is_pre, f->slope && !blocked);
    ck_assert_int_eq(b->slope_of_x >= 0, f->slope && !blocked);
    ls__plan_free(plan);
}

static ls_graph *fold_graph(const fold *f, bool blocked)
{
    ls_graph *g = NULL;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    f->build(g, blocked);
    ck_assert_msg(g->status == 0, "%s", g->message);
    check_folded(g, f, blocked);
    return g;
}

static int param_of(const ls_graph *g, const char *name)
{
    for (int i = 0; i < g->param_count; i++)
        if (!strcmp(g->params[i]->name, name))
            return i;
    return -1;
}

/* Gradients of the blocked graph, its parameters being the free one's. */
static result blocked_gradient(const ls_graph *g, const ls_graph *free_g,
                               const data *free_d)
{
    runner e = open_exec(g, NULL);
    data d = make_data(g, free_d->rows, true);
    result r, out = {0};

    for (int i = 0; i < g->param_count; i++) {
        int j = param_of(free_g, g->params[i]->name);
        size_t bytes = (size_t)d.size[i] * sizeof(float);

        if (j < 0)
            memset(d.param[i], 0, bytes);
        else
            memcpy(d.param[i], free_d->param[j], bytes);
    }
    r = gradient(&e, &d, true);
    out.sums = r.sums;
    for (int j = 0; j < free_g->param_count; j++)
        out.grad[j] = r.grad[param_of(g, free_g->params[j]->name)];
    close_exec(&e);
    for (int i = 0; i < d.inputs; i++)
        free(d.input_d[i]);
    for (int i = 0; i < d.params; i++)
        free(d.param_d[i]);
    return out;
}

/* gelu and add are folded into the product before them when nobody else reads
 * it, and not otherwise; the bytes are the same either way. */
LOOP_TEST(test_folding, 0, sizeof folds / sizeof *folds)
{
    const fold *f = &folds[_i];
    ls_graph *g = fold_graph(f, false), *blocked = fold_graph(f, true);
    data d = make_data(g, 300, true);
    runner e = open_exec(g, NULL);
    result a, b;

    ls__fpmode_set();
    a = gradient(&e, &d, true);
    b = blocked_gradient(blocked, g, &d);
    check_right(g, &d, &a);
    check_same(&d, &a, &b);
    close_exec(&e);
    free_data(&d);
    ls_graph_free(g);
    ls_graph_free(blocked);
}

MAIN()
