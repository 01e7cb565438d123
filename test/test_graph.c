/* Graphs: what the builder refuses and how it says so; the plan's memory, by
 * walking its instructions over a shadow of it; folding; and gradients of whole
 * graphs against reference.h, chunk by chunk, in memory full of NaN. */
#include "backend/backend.h"
#include "backends.h"
#include "base/error.h"
#include "base/fpmode.h"
#include "plan/exec.h"
#include "plan/planner.h"
#include "reference.h"
#include "support.h"

#include <stdio.h>

enum { MOST_INPUTS = 4, MOST_PARAMS = 64 };

/* ------ Allocations that fail in turn ------ */

static int allocations_left = -1; /* until one fails; -1: none does */
static int live;                  /* allocated and not yet freed */

#if defined(__GLIBC__) && !UNDER_SANITIZER
enum { COUNTS_MEMORY = 1 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

static bool may_allocate(void)
{
    if (allocations_left == 0)
        return false;
    allocations_left -= allocations_left > 0;
    return true;
}

static void *counted(void *p)
{
    live += p != NULL;
    return p;
}

void *malloc(size_t size)
{
    return may_allocate() ? counted(__libc_malloc(size)) : NULL;
}

void *calloc(size_t count, size_t size)
{
    return may_allocate() ? counted(__libc_calloc(count, size)) : NULL;
}

void *aligned_alloc(size_t align, size_t size)
{
    return may_allocate() ? counted(__libc_memalign(align, size)) : NULL;
}

void *realloc(void *p, size_t size)
{
    void *q = may_allocate() ? __libc_realloc(p, size) : NULL;

    return p ? q : counted(q);
}

void free(void *p)
{
    live -= p != NULL;
    __libc_free(p);
}
#else
enum { COUNTS_MEMORY = 0 };
#endif

/* ------ Graphs ------ */

/* The input "x" of shape (n). */
static ls_node *x_of(ls_graph *g, int64_t n)
{
    return ls_input(g, "x", LS_F32, 1, &n);
}

/* The mean squared error of y against an input of its shape. */
static void end(ls_graph *g, ls_node *y)
{
    int64_t shape[LS_MAX_RANK];
    int rank = ls_node_shape(y, shape);

    ls_loss(g, ls_mean_squared_error(
                   y, ls_input(g, "target", LS_F32, rank, shape)));
}

static void build_linear(ls_graph *g)
{
    end(g, ls_dense(x_of(g, 5), 3, "d"));
}

static void build_mlp(ls_graph *g)
{
    ls_node *h = ls_tanh(ls_dense(x_of(g, 5), 17, "a"));

    h = ls_sigmoid(ls_dense(h, 9, "b"));
    end(g, ls_dense(h, 3, "c"));
}

/* Activations in every place: on an input, twice, after a residual, last. */
static void build_gelus(ls_graph *g)
{
    ls_node *x = x_of(g, 12), *h = ls_dense(ls_gelu(x), 12, "a");

    h = ls_gelu(ls_gelu(h));
    h = ls_gelu(ls_add(x, ls_dense(h, 12, "b")));
    end(g, ls_gelu(ls_dense(h, 7, "c")));
}

/* One value read three times, and sums of sums. */
static void build_diamond(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 6), 15, "a");
    ls_node *y = ls_add(ls_add(ls_gelu(h), ls_layer_norm(h, "n")), h);

    end(g, ls_dense(ls_add(y, ls_dense(h, 15, "b")), 4, "c"));
}

/* The same, with a sum as the only way on, and last. */
static void build_sums(ls_graph *g)
{
    ls_node *h = ls_gelu(ls_dense(x_of(g, 6), 8, "a"));
    ls_node *twice = ls_add(h, h), *thrice = ls_add(twice, h);

    end(g, ls_add(ls_add(thrice, thrice), ls_add(twice, h)));
}

/* Residuals of an input, of another product, of what comes later. */
static void build_residuals(ls_graph *g)
{
    ls_node *x = x_of(g, 10), *a = ls_dense(x, 10, "a");
    ls_node *b = ls_gelu(ls_dense(x, 10, "b")), *y = ls_add(x, a), *z;

    z = ls_add(b, ls_dense(y, 10, "c"));
    end(g, ls_add(ls_dense(z, 10, "d"), ls_layer_norm(ls_add(y, z), "n")));
}

/* A chain in which each gradient can take the memory of the last. */
static void build_chain(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 9), 9, "a");

    h = ls_layer_norm(ls_gelu(ls_layer_norm(h, "n1")), "n2");
    h = ls_add(h, ls_gelu(ls_layer_norm(h, "n3")));
    end(g, ls_gelu(ls_add(ls_layer_norm(h, "n4"), h)));
}

/* A gradient passed on to two, one of which goes on in place. */
static void build_passed(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 11), 11, "a"), *n = ls_layer_norm(h, "n");
    ls_node *e = ls_gelu(n), *s = ls_add(e, n), *t = ls_add(s, h);

    end(g, ls_add(t, ls_gelu(s)));
}

/* An addend that q, which comes last, still waits for: e may not write over
 * it. */
static void build_shared(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 11), 11, "a"), *q = ls_layer_norm(h, "q");
    ls_node *n = ls_layer_norm(h, "n"), *e = ls_gelu(n), *s = ls_add(q, n);

    end(g, ls_add(s, e));
}

/* Nodes and parameters that the loss does not depend on. */
static void build_unused(ls_graph *g)
{
    ls_node *x = x_of(g, 5), *h = ls_dense(x, 6, "a");

    ls_layer_norm(ls_gelu(ls_dense(h, 8, "unused1")), "unused2");
    end(g, ls_dense(h, 3, "b"));
    ls_dense(h, 8, "unused3");
}

/* One number a row, and inputs that meet each other. */
static void build_scalars(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){1});
    ls_node *more = ls_input(g, "more", LS_F32, 1, (int64_t[]){1});

    end(g, ls_gelu(ls_dense(ls_add(x, more), 1, "a")));
}

/* A target may be trained too: its gradient is the other sign. */
static void build_target(ls_graph *g)
{
    ls_node *x = x_of(g, 5), *y = ls_dense(x, 3, "a");

    ls_loss(g, ls_mean_squared_error(y, ls_dense(x, 3, "b")));
}

/* It may be what the other side is made of, or be made of it. */
static void build_own_target(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 5), 3, "a"), *y = ls_gelu(h);

    ls_loss(g, ls_mean_squared_error(y, h));
}

static void build_other_target(ls_graph *g)
{
    ls_node *h = ls_dense(x_of(g, 5), 3, "a"), *t = ls_gelu(h);

    ls_loss(g, ls_mean_squared_error(h, t));
}

static void build_classes(ls_graph *g)
{
    ls_node *labels = ls_input(g, "labels", LS_I32, 0, NULL);
    ls_node *h = ls_gelu(ls_dense(x_of(g, 8), 16, "a"));

    ls_loss(g, ls_cross_entropy(ls_dense(h, 5, "b"), labels));
}

/* Two tables of one input; tokens must fit the smaller. */
static void build_tables(ls_graph *g)
{
    ls_node *t = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){7});
    ls_node *h = ls_add(ls_embed(t, 13, 6, "e"), ls_embed(t, 11, 6, "f"));

    ls_loss(g, ls_cross_entropy(ls_dense(ls_position(h, "p"), 12, "d"), t));
}

static ls_node *block(ls_node *h, bool causal, const char *const name[5])
{
    int64_t shape[LS_MAX_RANK];
    int64_t d = shape[ls_node_shape(h, shape) - 1];
    ls_node *u;

    u = ls_self_attention(ls_layer_norm(h, name[0]), 3, causal, name[1]);
    h = ls_add(h, u);
    u = ls_gelu(ls_dense(ls_layer_norm(h, name[2]), 2 * d, name[3]));
    return ls_add(h, ls_dense(u, d, name[4]));
}

static void transformer(ls_graph *g, int64_t t, int64_t vocab, int64_t d)
{
    static const char *const names[2][5] = {
        {"b0.n0", "b0.att", "b0.n1", "b0.up", "b0.down"},
        {"b1.n0", "b1.att", "b1.n1", "b1.up", "b1.down"}};
    ls_node *x = ls_input(g, "tokens", LS_I32, 1, &t);
    ls_node *h = ls_position(ls_embed(x, vocab, d, "embed"), "position");

    h = block(h, false, names[0]);
    h = block(h, true, names[1]);
    h = ls_dense(ls_layer_norm(h, "norm"), vocab, "head");
    ls_loss(g, ls_next_token_loss(h, x));
}

static void build_transformer(ls_graph *g)
{
    transformer(g, 7, 19, 12);
}

/* Three sequences a chunk. */
static void build_transformer_of_85(ls_graph *g)
{
    transformer(g, 85, 13, 6);
}

/* A sequence longer than a chunk of K. */
static void build_transformer_of_300(ls_graph *g)
{
    transformer(g, 300, 11, 6);
}

/* clang-format off */
static const struct {
    const char *name;
    void (*build)(ls_graph *g);
    int64_t chunk_rows;
} graphs[] = {
    {"linear", build_linear, 256}, {"mlp", build_mlp, 256},
    {"gelus", build_gelus, 256}, {"diamond", build_diamond, 256},
    {"sums", build_sums, 256}, {"residuals", build_residuals, 256},
    {"chain", build_chain, 256}, {"passed", build_passed, 256},
    {"shared", build_shared, 256},
    {"unused", build_unused, 256}, {"scalars", build_scalars, 256},
    {"target", build_target, 256},
    {"own target", build_own_target, 256},
    {"other target", build_other_target, 256},
    {"classes", build_classes, 256}, {"tables", build_tables, 36},
    {"transformer", build_transformer, 36},
    {"transformer of 85", build_transformer_of_85, 3},
    {"transformer of 300", build_transformer_of_300, 1}};
/* clang-format on */
enum { GRAPHS = sizeof graphs / sizeof *graphs };

static ls_graph *new_graph(void (*build)(ls_graph *g))
{
    ls_graph *g = NULL;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    build(g);
    ck_assert_msg(g->status == 0, "%s", g->message);
    return g;
}

static const ls__backend *backend(const char *name)
{
    static ls__backend be;

    ck_assert_int_eq(ls__backend_find(&be, name, LS_F32_LAYERS), 0);
    return &be;
}

static ls__plan *new_plan(const ls_graph *g, const char *backend_name)
{
    ls__plan *plan = NULL;
    int status = ls__plan_new(&plan, g, backend(backend_name), LS__TO_TRAIN);

    ck_assert_msg(status == 0, "%s", ls_errmsg());
    return plan;
}

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
    return (ls__weights){(const float *const *)d->param, e->packed};
}

static void prepare(runner *e, const data *d)
{
    ls__weights w = weights_of(e, d);

    ls__exec_pack(e->plan, &w, 0, 1, true);
}

/* Gradients begin as zeros, which is what untrained parameters keep. */
static result gradient(runner *e, const data *d, bool wanted)
{
    ls_shard shard = {.rows = d->rows, .data = d->input, .weights = d->weights};
    result r = {.sums = {.correct = __builtin_nan("")}};

    for (int i = 0; i < d->params; i++)
        r.grad[i] =
            memset(fenced(d->size[i]), 0, (size_t)d->size[i] * sizeof(float));
    prepare(e, d);
    ls__weights w = weights_of(e, d);
    ck_assert_int_eq(ls__exec_gradient(e->context, &w, &shard,
                                       wanted ? r.grad : NULL, &r.sums),
                     0);
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
    e.packed = ls__block((size_t)e.plan->pack_floats * sizeof(float), "packed");
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

enum { MOST_NODES = 64 };

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
START_TEST(test_gradients)
{
    ls_graph *g = new_graph(graphs[_i].build);
    int64_t chunk = graphs[_i].chunk_rows;
    const int64_t rows[] = {1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 1};

    ls__fpmode_set();
    for (int i = 0; i < 5; i++)
        check_rows(g, rows[i], i % 2);
    ls_graph_free(g);
}
END_TEST

/* The same for every number of rows through two chunks and one. */
START_TEST(test_all_rows)
{
    void (*build)(ls_graph * g) = _i ? build_transformer_of_85 : build_linear;
    int64_t most = _i ? 7 : 513;
    ls_graph *g = new_graph(build);

    ls__fpmode_set();
    for (int64_t rows = 1; rows <= most; rows++)
        check_rows(g, rows, rows % 2);
    ls_graph_free(g);
}
END_TEST

/* The reference of whole graphs is right: its gradients are the slopes of its
 * loss along random directions. */
START_TEST(test_reference)
{
    ls_graph *g = new_graph(graphs[_i].build);
    data d = make_data(g, 3, true);
    model m = make_model(g, &d);
    const double h = 1e-5;

    for (int i = 0; i < d.params; i++) {
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
END_TEST

/* Both backends give the same bytes for every graph. */
START_TEST(test_backends)
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
    if (fuses(ls__kernels()))
        check_same(&d, &a, &b);
    check_right(g, &d, &b);
    close_exec(&native);
    close_exec(&blis);
    free_data(&d);
    ls_graph_free(g);
}
END_TEST

/* A plan owns all it needs: the graph may be gone. */
START_TEST(test_owned)
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
END_TEST

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
              offset + n <= s->plan->scratch);
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
    int64_t kept = n->op->stash ? n->op->stash(n) : 0;

    if (!n->op->is_loss)
        s->y[n->id] = put(s, in->y, floats_of(s, n));
    if (kept)
        s->stash[n->id] = put(s, in->stash, kept * s->plan->chunk_rows);
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

static void check_dx(const shadow *s, const ls__instr *in, int k)
{
    const ls__op *op = in->node->op;
    int64_t kept = op->stash ? op->stash(in->node) * s->plan->chunk_rows : 0;

    check_meeting(s, in, k, "dy", in->dy, floats_of(s, in->node),
                  op->dx_over_dy);
    check_meeting(s, in, k, "stash", in->stash, kept, false);
    for (int j = 0; j < in->inputs; j++) {
        int64_t size = floats_of(s, in->node->in[j]);

        /* of one node twice, the second adds to what the first has written */
        if (!(j > k && in->node->in[j] == in->node->in[k]))
            check_meeting(s, in, k, "addend", in->addend[j], size,
                          op->dx_over_addend && j == k);
        if (op->reads >> j & 1 && in->x[j].input < 0)
            check_meeting(s, in, k, "input", in->x[j].offset, size,
                          op->dx_over_x && j == 0 && k == 0);
        if (j != k)
            check_meeting(s, in, k, "other gradient", in->dx[j], size, false);
    }
    if (in->through_slope)
        check_meeting(s, in, k, "slope", in->slope_of_x,
                      floats_of(s, in->node->in[0]), false);
}

static void read_backward(const shadow *s, const ls__instr *in)
{
    const ls_node *n = in->node;

    if (!n->op->is_loss)
        take(s, in, "dy", in->dy, floats_of(s, n), s->grad[n->id]);
    for (int k = 0; k < in->inputs; k++)
        if (n->op->reads >> k & 1)
            read_x(s, in, k);
    if (in->stash >= 0)
        take(s, in, "stash", in->stash, n->op->stash(n) * s->plan->chunk_rows,
             s->stash[n->id]);
    if (in->through_slope)
        take(s, in, "slope", in->slope_of_x, floats_of(s, n->in[0]),
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
            ck_assert(n->op->passes >> k & 1 && !before);
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
    int64_t need = op->scratch
                       ? op->scratch(in->node, plan->chunk_rows, &plan->backend)
                       : 0;

    ck_assert_int_le(plan->scratch + need, plan->floats);
}

/* Nothing that is still to be read is written over, in no graph; everything
 * that trains gets a gradient, and all lies within the memory. */
START_TEST(test_memory)
{
    static const char *const names[] = {"native", "blis"};
    ls_graph *g = new_graph(graphs[_i].build);

    for (int b = 0; b < 1 + have_blis(); b++) {
        ls__plan *plan = new_plan(g, names[b]);
        shadow s = {.plan = plan};

        ck_assert_int_eq(plan->chunk_rows, graphs[_i].chunk_rows);
        s.tag = ls__new((size_t)plan->floats, sizeof *s.tag, "shadow");
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
END_TEST

/* ------ Folding ------ */

/* z or, with a second reader that adds zeros to y, a z that nothing may be
 * folded into: the same function. */
static ls_node *guard(ls_node *y, ls_node *z, bool blocked)
{
    int64_t shape[LS_MAX_RANK];
    int64_t n = shape[ls_node_shape(z, shape) - 1];

    return blocked ? ls_add(y, ls_dense_no_bias(z, n, "zero")) : y;
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
    const ls__instr *a = instr_of(plan, "a"), *b = instr_of(plan, "b");

    ck_assert_int_eq(plan->count, blocked ? f->blocked_count : f->count);
    ck_assert_int_eq(a->node->activation == LS__GELU, f->gelu && !blocked);
    ck_assert_int_eq(a->node->residual, f->residual && !blocked);
    ck_assert_int_eq(a->dy_is_pre, f->slope && !blocked);
    ck_assert_int_eq(b->through_slope, f->slope && !blocked);
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
static result blocked_gradient(const ls_graph *g,
                               const ls_graph *free_g, const data *free_d)
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
START_TEST(test_folding)
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
END_TEST

/* ------ Losses that are not the last ------ */

/* A loss is the end: another operator that reads it is refused. */
START_TEST(test_loss_of_loss)
{
    ls_graph *g = NULL;
    ls__plan *plan = NULL;
    ls_node *x, *loss;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    x = x_of(g, 3);
    loss = ls_mean_squared_error(ls_dense(x, 3, "d"),
                                 ls_input(g, "y", LS_F32, 1, (int64_t[]){3}));
    loss = ls_mean_squared_error(loss, ls_input(g, "z", LS_F32, 0, NULL));
    ls_loss(g, loss);
    ck_assert_int_lt(ls__plan_new(&plan, g, backend(NULL), LS__TO_TRAIN), 0);
    ck_assert_ptr_null(plan);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "loss"));
    ls_graph_free(g);
}
END_TEST

/* ------ What the builder refuses ------ */

static ls_node *f32(ls_graph *g, const char *name, int rank, int64_t a,
                    int64_t b, int64_t c)
{
    return ls_input(g, name, LS_F32, rank, (int64_t[]){a, b, c});
}

static ls_node *i32(ls_graph *g, const char *name, int rank, int64_t a,
                    int64_t b)
{
    return ls_input(g, name, LS_I32, rank, (int64_t[]){a, b});
}

static void bad_add(ls_graph *g)
{
    ls_add(f32(g, "a", 2, 2, 3, 0), f32(g, "b", 2, 3, 2, 0));
}

static void bad_add_rank(ls_graph *g)
{
    ls_add(f32(g, "a", 2, 2, 3, 0), f32(g, "b", 1, 2, 0, 0));
}

static void bad_add_dtype(ls_graph *g)
{
    ls_add(f32(g, "a", 1, 2, 0, 0), i32(g, "b", 1, 2, 0));
}

static void bad_squared(ls_graph *g)
{
    ls_mean_squared_error(f32(g, "a", 1, 3, 0, 0), f32(g, "b", 1, 4, 0, 0));
}

static void bad_entropy(ls_graph *g)
{
    ls_cross_entropy(f32(g, "a", 2, 5, 7, 0), i32(g, "b", 1, 6, 0));
}

static void bad_entropy_dtype(ls_graph *g)
{
    ls_cross_entropy(f32(g, "a", 2, 5, 7, 0), f32(g, "b", 1, 5, 0, 0));
}

static void bad_next(ls_graph *g)
{
    ls_next_token_loss(f32(g, "a", 2, 5, 7, 0), i32(g, "b", 1, 6, 0));
}

static void bad_next_rank(ls_graph *g)
{
    ls_next_token_loss(f32(g, "a", 3, 5, 4, 7), i32(g, "b", 2, 5, 4));
}

static void bad_next_short(ls_graph *g)
{
    ls_next_token_loss(f32(g, "a", 2, 1, 7, 0), i32(g, "b", 1, 1, 0));
}

static void bad_heads(ls_graph *g)
{
    ls_self_attention(f32(g, "x", 2, 4, 10, 0), 3, false, "att");
}

static void bad_no_heads(ls_graph *g)
{
    ls_self_attention(f32(g, "x", 2, 4, 10, 0), 0, false, "att");
}

static void bad_negative_heads(ls_graph *g)
{
    ls_self_attention(f32(g, "x", 2, 4, 10, 0), -2, false, "att");
}

static void bad_attention_rank(ls_graph *g)
{
    ls_self_attention(f32(g, "x", 3, 4, 2, 10), 2, false, "att");
}

static void bad_dense_dtype(ls_graph *g)
{
    ls_dense(i32(g, "x", 2, 4, 10), 3, "fc");
}

static void bad_dense_rank(ls_graph *g)
{
    ls_dense(f32(g, "x", 0, 0, 0, 0), 3, "fc");
}

static void bad_dense_zero(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, 4, 0, 0), 0, "fc");
}

static void bad_dense_negative(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, 4, 0, 0), -5, "fc");
}

static void bad_dense_huge(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, 4, 0, 0), INT64_MAX, "fc");
}

static void bad_dense_kernel(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, INT32_MAX, 0, 0), INT32_MAX, "fc");
}

static void bad_embed_dtype(ls_graph *g)
{
    ls_embed(f32(g, "x", 1, 4, 0, 0), 10, 3, "table");
}

static void bad_embed_count(ls_graph *g)
{
    ls_embed(i32(g, "x", 1, 4, 0), 0, 3, "table");
}

static void bad_embed_negative(ls_graph *g)
{
    ls_embed(i32(g, "x", 1, 4, 0), -1, 3, "table");
}

static void bad_embed_huge(ls_graph *g)
{
    ls_embed(i32(g, "x", 1, 4, 0), INT64_MAX / 2, 3, "table");
}

static void bad_embed_width(ls_graph *g)
{
    ls_embed(i32(g, "x", 1, 4, 0), 10, 0, "table");
}

static void bad_norm(ls_graph *g)
{
    ls_layer_norm(f32(g, "x", 0, 0, 0, 0), "norm");
}

static void bad_position(ls_graph *g)
{
    ls_position(f32(g, "x", 1, 4, 0, 0), "pos");
}

static void bad_gelu(ls_graph *g)
{
    ls_gelu(i32(g, "x", 1, 4, 0));
}

static void bad_names(ls_graph *g)
{
    ls_node *x = f32(g, "x", 1, 4, 0, 0);

    ls_dense(ls_dense(x, 4, "fc"), 4, "fc");
}

static void bad_input_names(ls_graph *g)
{
    f32(g, "x", 1, 4, 0, 0);
    f32(g, "x", 1, 4, 0, 0);
}

static void bad_input_name(ls_graph *g)
{
    f32(g, NULL, 1, 4, 0, 0);
}

static void bad_input_rank(ls_graph *g)
{
    f32(g, "x", LS_MAX_RANK, 1, 1, 1);
}

static void bad_input_negative_rank(ls_graph *g)
{
    f32(g, "x", -1, 1, 1, 1);
}

static void bad_input_dtype(ls_graph *g)
{
    ls_input(g, "x", (ls_dtype)7, 1, (int64_t[]){4});
}

static void bad_input_zero(ls_graph *g)
{
    f32(g, "x", 2, 4, 0, 0);
}

static void bad_input_negative(ls_graph *g)
{
    f32(g, "x", 2, 4, -4, 0);
}

static void bad_input_huge(ls_graph *g)
{
    f32(g, "x", 2, 1 << 20, 1 << 20, 0);
}

static void bad_input_overflow(ls_graph *g)
{
    f32(g, "x", 3, INT64_MAX, INT64_MAX, 2);
}

static void bad_loss(ls_graph *g)
{
    ls_loss(g, ls_dense(f32(g, "x", 1, 4, 0, 0), 3, "fc"));
}

static void bad_loss_input(ls_graph *g)
{
    ls_loss(g, f32(g, "x", 1, 4, 0, 0));
}

static void bad_no_loss(ls_graph *g)
{
    ls_dense(f32(g, "x", 1, 4, 0, 0), 3, "fc");
}

static void bad_no_params(ls_graph *g)
{
    end(g, ls_gelu(f32(g, "x", 1, 4, 0, 0)));
}

static void bad_nothing(ls_graph *g)
{
    (void)g;
}

/* clang-format off */
static const struct {
    void (*build)(ls_graph *g);
    int status;
    const char *says[3]; /* all of these */
} bad[] = {
    {bad_add, LS_ESHAPE, {"add", "(2,3)", "(3,2)"}},
    {bad_add_rank, LS_ESHAPE, {"add", "(2,3)", "(2)"}},
    {bad_add_dtype, LS_ESHAPE, {"add", "LS_I32", "(2)"}},
    {bad_squared, LS_ESHAPE, {"squared error", "(3)", "(4)"}},
    {bad_entropy, LS_ESHAPE, {"cross entropy", "(5,7)", "(6)"}},
    {bad_entropy_dtype, LS_ESHAPE, {"cross entropy", "LS_F32", "(5)"}},
    {bad_next, LS_ESHAPE, {"next token", "(5,7)", "(6)"}},
    {bad_next_rank, LS_ESHAPE, {"next token", "(5,4)"}},
    {bad_next_short, LS_ESHAPE, {"next token", "(1)", "two or more"}},
    {bad_heads, LS_ESHAPE, {"attention \"att\"", "10", "3 heads"}},
    {bad_no_heads, LS_ESHAPE, {"attention \"att\"", "10", "0 heads"}},
    {bad_negative_heads, LS_ESHAPE, {"attention \"att\"", "10", "-2 heads"}},
    {bad_attention_rank, LS_ESHAPE, {"attention \"att\"", "(4,2,10)"}},
    {bad_dense_dtype, LS_ESHAPE, {"dense \"fc\"", "LS_I32", "(4,10)"}},
    {bad_dense_rank, LS_ESHAPE, {"dense \"fc\"", "()"}},
    {bad_dense_zero, LS_ESHAPE, {"dense \"fc\"", "(0)"}},
    {bad_dense_negative, LS_ESHAPE, {"dense \"fc\"", "(-5)"}},
    {bad_dense_huge, LS_ESHAPE, {"dense \"fc\"", "(9223372036854775807)"}},
    {bad_dense_kernel, LS_ESHAPE, {"\"fc.kernel\"", "large"}},
    {bad_embed_dtype, LS_ESHAPE, {"embed \"table\"", "LS_F32", "(4)"}},
    {bad_embed_count, LS_ESHAPE, {"table"}},
    {bad_embed_negative, LS_ESHAPE, {"table"}},
    {bad_embed_huge, LS_ESHAPE, {"table", "large"}},
    {bad_embed_width, LS_ESHAPE, {"embed \"table\"", "(4,0)"}},
    {bad_norm, LS_ESHAPE, {"layer_norm \"norm\"", "()"}},
    {bad_position, LS_ESHAPE, {"position \"pos\"", "(4)"}},
    {bad_gelu, LS_ESHAPE, {"gelu", "LS_I32", "(4)"}},
    {bad_names, LS_EINVAL, {"\"fc.kernel\"", "twice"}},
    {bad_input_names, LS_EINVAL, {"input \"x\"", "twice"}},
    {bad_input_name, LS_EINVAL, {"input \"\""}},
    {bad_input_rank, LS_EINVAL, {"input \"x\"", "rank 8"}},
    {bad_input_negative_rank, LS_EINVAL, {"input \"x\"", "rank -1"}},
    {bad_input_dtype, LS_EINVAL, {"input \"x\"", "dtype 7"}},
    {bad_input_zero, LS_ESHAPE, {"input \"x\"", "(4,0)"}},
    {bad_input_negative, LS_ESHAPE, {"input \"x\"", "(4,-4)"}},
    {bad_input_huge, LS_ESHAPE, {"input \"x\"", "(1048576,1048576)"}},
    {bad_input_overflow, LS_ESHAPE, {"input \"x\"", "9223372036854775807"}},
    {bad_loss, LS_EINVAL, {"ls_loss", "not a loss"}},
    {bad_loss_input, LS_EINVAL, {"ls_loss", "not a loss"}},
    {bad_no_loss, LS_EINVAL, {"no loss"}},
    {bad_no_params, LS_EINVAL, {"no parameters"}},
    {bad_nothing, LS_EINVAL, {"no loss"}}};
/* clang-format on */
enum { BAD = sizeof bad / sizeof *bad };

/* The graph's compilation fails with that status and message, and leaves the
 * result untouched. */
static void check_refused(const ls_graph *g, int status,
                          const char *const *says)
{
    ls__plan *plan = NULL;
    int got = ls__plan_new(&plan, g, backend(NULL), LS__TO_TRAIN);

    ck_assert_msg(got == status, "status %d, must be %d: %s", got, status,
                  ls_errmsg());
    ck_assert_ptr_null(plan);
    for (int i = 0; i < 3 && says[i]; i++)
        ck_assert_msg(strstr(ls_errmsg(), says[i]) != NULL,
                      "\"%s\" does not say %s", ls_errmsg(), says[i]);
}

/* What building, planning and freeing leaves allocated.  (No assertion inside:
 * Check allocates too.) */
static int left_by(void (*build)(ls_graph *g), const ls__backend *be)
{
    int before = live;
    ls_graph *g = NULL;
    ls__plan *plan = NULL;

    if (ls_graph_new(&g) == 0) {
        build(g);
        ls__plan_new(&plan, g, be, LS__TO_TRAIN);
    }
    ls__plan_free(plan);
    ls_graph_free(g);
    return live - before;
}

/* Every mistake gets its status and a message naming the thing and the sizes;
 * nothing is left behind. */
START_TEST(test_refused)
{
    ls_graph *g = NULL;
    int left = left_by(bad[_i].build, backend(NULL));

    ck_assert_int_eq(left, 0);
    ck_assert_int_eq(ls_graph_new(&g), 0);
    bad[_i].build(g);
    check_refused(g, bad[_i].status, bad[_i].says);
    ls_graph_free(g);
}
END_TEST

/* Nodes of two graphs do not meet, and neither do a graph and another's loss;
 * the second graph stays whole. */
START_TEST(test_two_graphs)
{
    static const char *const mixed[3] = {"add", "two graphs"};
    static const char *const foreign[3] = {"ls_loss", "of this graph"};
    ls_graph *a = new_graph(build_linear), *b = new_graph(build_mlp);
    ls_graph *c = NULL;

    ck_assert_int_eq(ls_graph_new(&c), 0);
    ck_assert_int_eq(ls_loss(c, b->loss), LS_EINVAL);
    check_refused(c, LS_EINVAL, foreign);
    ck_assert_ptr_null(
        ls_add(f32(a, "p", 1, 4, 0, 0), f32(b, "p", 1, 4, 0, 0)));
    check_refused(a, LS_EINVAL, mixed);
    ls__plan_free(new_plan(b, NULL));
    ls_graph_free(a);
    ls_graph_free(b);
    ls_graph_free(c);
}
END_TEST

/* NULL in gives NULL out, for every builder, and spoils nothing. */
START_TEST(test_null)
{
    ls_graph *g = new_graph(build_linear);
    ls_node *x = f32(g, "more", 2, 4, 6, 0);
    int64_t shape[LS_MAX_RANK];
    ls__plan *plan = NULL;

    ck_assert_ptr_null(f32(NULL, "x", 1, 4, 0, 0));
    ck_assert_ptr_null(ls_dense(NULL, 3, "d"));
    ck_assert_ptr_null(ls_dense_no_bias(NULL, 3, "d"));
    ck_assert_ptr_null(ls_embed(NULL, 3, 4, "d"));
    ck_assert_ptr_null(ls_position(NULL, "d"));
    ck_assert_ptr_null(ls_layer_norm(NULL, "d"));
    ck_assert_ptr_null(ls_self_attention(NULL, 2, false, "d"));
    ck_assert_ptr_null(ls_gelu(NULL));
    ck_assert_ptr_null(ls_add(NULL, NULL));
    ck_assert_ptr_null(ls_add(x, NULL));
    ck_assert_ptr_null(ls_add(NULL, x));
    ck_assert_ptr_null(ls_mean_squared_error(x, NULL));
    ck_assert_ptr_null(ls_cross_entropy(NULL, NULL));
    ck_assert_ptr_null(ls_next_token_loss(x, NULL));
    ck_assert_int_eq(ls_node_shape(NULL, shape), 0);
    ck_assert_int_eq(ls_loss(NULL, NULL), LS_EINVAL);
    ck_assert_int_eq(ls__plan_new(&plan, NULL, backend(NULL), LS__TO_TRAIN),
                     LS_EINVAL);
    ck_assert_ptr_null(plan);
    ls_graph_free(NULL);
    ls__plan_free(NULL);
    ls__context_close(NULL);
    ls__plan_free(new_plan(g, NULL));
    ls_graph_free(g);
}
END_TEST

/* The first error sticks: later calls build nothing, change nothing, and
 * ls_loss and the plan tell of the first. */
START_TEST(test_first_error)
{
    static const char *const says[3] = {"add", "(2,3)", "(3,2)"};
    ls_graph *g = NULL;
    ls_node *x;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    x = f32(g, "x", 2, 4, 10, 0);
    bad_add(g);
    ck_assert_ptr_null(ls_self_attention(x, 3, false, "att"));
    ck_assert_ptr_null(ls_dense(x, -1, "fc"));
    ck_assert_ptr_null(f32(g, "x", 1, 4, 0, 0));
    ck_assert_int_eq(ls_loss(g, NULL), LS_ESHAPE);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "(2,3)"));
    check_refused(g, LS_ESHAPE, says);
    ls_graph_free(g);
}
END_TEST

/* Names may be missing or long: no crash, and no layer refused for it. */
START_TEST(test_names)
{
    char name[700];
    const char *const names[] = {"", name, NULL};
    ls_graph *g = NULL;
    ls_node *x;

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    ck_assert_int_eq(ls_graph_new(&g), 0);
    x = f32(g, "x", 2, 3, 4, 0);
    x = ls_self_attention(x, 2, false, names[_i]);
    ck_assert_msg(x != NULL, "%.200s", ls_errmsg());
    x = ls_dense(x, 3, names[_i]);
    ck_assert_msg(x != NULL, "%.200s", ls_errmsg());
    end(g, x);
    ls__plan_free(new_plan(g, NULL));
    ls_graph_free(g);
}
END_TEST

/* Indices must fit every table and every class that reads them. */
START_TEST(test_limits)
{
    static const struct {
        void (*build)(ls_graph *g);
        int64_t limit;              /* of the first input */
    } rows[] = {{build_tables, 11}, /* of 13, 11 and 12 */
                {build_classes, 5},
                {build_transformer, 19}};
    ls_graph *g = new_graph(rows[_i].build);
    ls__plan *plan = new_plan(g, NULL);

    ck_assert_int_eq(plan->input[0]->limit, rows[_i].limit);
    ls__plan_free(plan);
    ls_graph_free(g);
}
END_TEST

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
    status = ls__plan_new(&plan, g, be, LS__TO_TRAIN);
    if (status < 0 && plan)
        status = 1;
    if (status == 0 && (status = ls__context_open(&c, plan)) < 0 && c)
        status = 1;
    ls__context_close(c);
    ls__plan_free(plan);
    ls_graph_free(g);
    return status;
}

/* Whichever allocation fails, from the graph to the executor: LS_ENOMEM, and
 * nothing stays allocated. */
START_TEST(test_no_memory)
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
END_TEST

/* More memory than there is: LS_ENOMEM, not a crash. */
START_TEST(test_huge)
{
    ls_graph *g = NULL;
    ls__plan *plan = NULL;
    ls__context *c = NULL;
    ls_node *x;

    ck_assert_int_eq(ls_graph_new(&g), 0);
    x = i32(g, "x", 1, 1 << 12, 0);
    end(g, ls_embed(x, 4, 1 << 18, "wide")); /* 2^30 floats a row, 256 rows */
    ck_assert_int_eq(ls__plan_new(&plan, g, backend(NULL), LS__TO_TRAIN), 0);
    if (!UNDER_SANITIZER) /* they stop the program instead */
        ck_assert_int_eq(ls__context_open(&c, plan), LS_ENOMEM);
    ck_assert_ptr_null(c);
    ls__plan_free(plan);
    ls_graph_free(g);
}
END_TEST

static TCase *cases(const char *name)
{
    TCase *t = tcase_create(name);

    tcase_set_timeout(t, 120);
    return t;
}

static Suite *graph_suite(void)
{
    Suite *s = suite_create("graph");
    TCase *builder = cases("builder"), *plan = cases("plan");
    TCase *exec = cases("exec");

    tcase_add_loop_test(builder, test_refused, 0, BAD);
    tcase_add_test(builder, test_two_graphs);
    tcase_add_test(builder, test_null);
    tcase_add_test(builder, test_first_error);
    tcase_add_loop_test(builder, test_names, 0, 3);
    tcase_add_loop_test(builder, test_limits, 0, 3);
    tcase_add_test(builder, test_loss_of_loss);
    suite_add_tcase(s, builder);
    tcase_add_loop_test(plan, test_memory, 0, GRAPHS);
    tcase_add_loop_test(plan, test_folding, 0, sizeof folds / sizeof *folds);
    tcase_add_test(plan, test_no_memory);
    tcase_add_test(plan, test_huge);
    suite_add_tcase(s, plan);
    tcase_add_loop_test(exec, test_reference, 0, GRAPHS);
    tcase_add_loop_test(exec, test_gradients, 0, GRAPHS);
    tcase_add_loop_test(exec, test_all_rows, 0, 2);
    tcase_add_loop_test(exec, test_backends, 0, GRAPHS);
    tcase_add_test(exec, test_owned);
    suite_add_tcase(s, exec);
    return s;
}

int main(void)
{
    return run_suite(graph_suite());
}
