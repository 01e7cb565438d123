/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs from ONNX (test/golden/make_import.py): they put out what ONNX Runtime
 * does, steps lose what PyTorch's do, parameters have the file's names, and a
 * file that is saved differs from the one that was read by weights alone.  All
 * that cannot be done is told at once, and what is cut off is refused. */
#define _GNU_SOURCE /* nftw */
#include "export/proto.h"
#include "failing_memory.h"
#include "folder.h"
#include "golden/import_outputs.h"
#include "support.h"
#include <lockstep/onnx.h>

#define MODE "coordinate_transformation_mode"
enum { ROWS = 4, STEPS = 5 };

static const char *golden_file(const char *name)
{
    static char path[4096];
    const char *top = getenv("top_srcdir");

    snprintf(path, sizeof path, "%s/test/golden/%s", top ? top : "..", name);
    return path;
}

/* A model, its graph and a predictor with its weights. */
typedef struct model {
    ls_onnx *onnx;
    ls_graph *g;
    ls_predictor *p;
    ls_context *c;
} model;

static model open_model(const char *path)
{
    model m;

    OK(ls_onnx_open(&m.onnx, path));
    OK(ls_graph_load_onnx(&m.g, m.onnx, NULL));
    OK(ls_predictor_open_graph(&m.p, m.g, NULL));
    OK(ls_predictor_load_onnx(m.p, m.onnx));
    OK(ls_context_open(&m.c, m.p, NULL));
    return m;
}

static void close_model(model *m)
{
    ls_context_close(m->c);
    ls_predictor_close(m->p);
    ls_graph_free(m->g);
    ls_onnx_close(m->onnx);
}

static void gives(const model *m, const char *output, int64_t n,
                  const float *want)
{
    float *got = malloc((size_t)n * sizeof *got);

    ck_assert_ptr_nonnull(got);
    OK(ls_context_predict(m->c, output, n, got));
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)got[i] - (double)want[i]) <=
                          1e-5 * (1 + fabs((double)want[i])),
                      "%s[%lld]: %g, not %g", output, (long long)i,
                      (double)got[i], (double)want[i]);
    free(got);
}

static int count_op(const ls_graph *g, const char *op)
{
    int n = 0;

    for (int i = 0; i < ls_graph_nodes(g); i++)
        n += !strcmp(ls_node_op(ls_graph_node(g, i)), op);
    return n;
}

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

TEST(test_outputs)
{
    model m = open_model(golden_file("import_layers.onnx"));
    const char *y;

    ls_graph_output(m.g, 0, &y);
    OK(ls_context_set(m.c, "x", LS_F32, import_images, ROWS));
    gives(&m, y, COUNT(import_layers), import_layers);
    close_model(&m);

    m = open_model(golden_file("import_words.onnx"));
    ls_graph_output(m.g, 0, &y);
    OK(ls_context_set(m.c, "tokens", LS_I32, import_tokens, ROWS));
    gives(&m, y, COUNT(import_words), import_words);
    close_model(&m);

    m = open_model(golden_file("import_more.onnx"));
    ls_graph_output(m.g, 0, &y);
    OK(ls_context_set(m.c, "tokens", LS_I32, import_tokens, ROWS));
    gives(&m, y, COUNT(import_more), import_more);
    close_model(&m);

    m = open_model(golden_file("import_heads.onnx"));
    ls_graph_output(m.g, 0, &y);
    OK(ls_context_set(m.c, "x", LS_F32, import_table, ROWS));
    gives(&m, y, COUNT(import_heads), import_heads);
    ck_assert_int_eq(count_op(m.g, "attention"), 2);
    ck_assert_int_eq(count_op(m.g, "rotary"), 2);
    close_model(&m);

    m = open_model(golden_file("import_truths.onnx"));
    ls_graph_output(m.g, 0, &y);
    OK(ls_context_set(m.c, "x", LS_F32, import_table, ROWS));
    gives(&m, y, COUNT(import_truths), import_truths);
    close_model(&m);

    m = open_model(golden_file("import_cells.onnx"));
    ls_graph_output(m.g, 0, &y);
    OK(ls_context_set(m.c, "x", LS_F32, import_steps, ROWS));
    gives(&m, y, COUNT(import_cells), import_cells);
    close_model(&m);

    m = open_model(golden_file("import_terms.onnx"));
    OK(ls_context_set(m.c, "x", LS_F32, import_table, ROWS));
    gives(&m, import_name_0, COUNT(import_terms_0), import_terms_0);
    gives(&m, import_name_1, COUNT(import_terms_1), import_terms_1);
    gives(&m, import_name_2, COUNT(import_terms_2), import_terms_2);
    close_model(&m);
}

/* Images whose channels come last are the same ones. */
TEST(test_channels_last)
{
    ls_onnx_options o = ls_onnx_defaults();
    float turned[ROWS * 2 * 8 * 8];
    const char *y;
    model m;

    o.channels_last = true;
    OK(ls_onnx_open(&m.onnx, golden_file("import_layers.onnx")));
    OK(ls_graph_load_onnx(&m.g, m.onnx, &o));
    OK(ls_predictor_open_graph(&m.p, m.g, NULL));
    OK(ls_predictor_load_onnx(m.p, m.onnx));
    OK(ls_context_open(&m.c, m.p, NULL));
    for (int i = 0; i < ROWS * 2 * 64; i++)
        turned[i / 128 * 128 + i % 64 * 2 + i / 64 % 2] = import_images[i];
    ls_graph_output(m.g, 0, &y);
    OK(ls_context_set(m.c, "x", LS_F32, turned, ROWS));
    gives(&m, y, COUNT(import_layers), import_layers);
    for (int i = 0; i < ls_graph_nodes(m.g); i++) /* nothing moves but one flat
                                                     image */
        if (!strcmp(ls_node_op(ls_graph_node(m.g, i)), "transpose"))
            ck_assert_str_eq(
                ls_node_op(ls_node_input(ls_graph_node(m.g, i), 0)),
                "avg_pool");
    close_model(&m);
}

/* ------ names ------ */

static bool has_param(const ls_graph *g, const char *name, int rank,
                      const int64_t *shape)
{
    ls_array_spec p;
    const ls_node *n;

    for (int i = 0; (n = ls_graph_node(g, i)); i++)
        for (int k = 0; ls_node_param(n, k, &p); k++)
            if (!strcmp(p.name, name))
                return p.rank == rank &&
                       !memcmp(p.shape, shape, (size_t)rank * sizeof *shape);
    return false;
}

TEST(test_names)
{
    model m = open_model(golden_file("import_layers.onnx"));

    ck_assert(has_param(m.g, "stem.weight", 4, (int64_t[]){3, 3, 2, 4}));
    ck_assert(has_param(m.g, "norm.running_var", 1, (int64_t[]){4}));
    ck_assert(has_param(m.g, "deep.weight", 4, (int64_t[]){3, 3, 1, 4}));
    ck_assert(has_param(m.g, "group.weight", 1, (int64_t[]){4}));
    ck_assert(has_param(m.g, "head.weight", 2, (int64_t[]){51, 5}));
    ck_assert(has_param(m.g, "head.bias", 1, (int64_t[]){5}));
    ck_assert_ptr_nonnull(ls_onnx_node(m.onnx, "x"));
    ck_assert_ptr_nonnull(ls_onnx_node(m.onnx, NULL));
    ck_assert_ptr_null(ls_onnx_node(m.onnx, "none"));
    close_model(&m);
    m = open_model(golden_file("import_words.onnx"));
    ck_assert(has_param(m.g, "word.weight", 2, (int64_t[]){11, 8}));
    ck_assert(has_param(m.g, "place", 3, (int64_t[]){1, 6, 8}));
    ck_assert_int_eq(count_op(m.g, "attention"), 1);
    close_model(&m);
    m = open_model(golden_file("import_cells.onnx"));
    ck_assert(has_param(m.g, "both.weight_ih_l0", 2, (int64_t[]){3, 8}));
    ck_assert(has_param(m.g, "both.bias_hh_l0_reverse", 1, (int64_t[]){8}));
    ck_assert(has_param(m.g, "unit.weight_hh_l0", 2, (int64_t[]){4, 12}));
    ck_assert(has_param(m.g, "wide.weight", 4, (int64_t[]){1, 2, 2, 2}));
    ck_assert_ptr_null(ls_onnx_axes(m.onnx)); /* it is turned round */
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "\"wide.weight\""));
    close_model(&m);
}

/* ------ training ------ */

/* A trainer on a model's first output, by plain SGD with labels. */
static ls_trainer *trainer_of(ls_pool *pool, ls_onnx *onnx, ls_graph **g)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_trainer *t;

    OK(ls_graph_load_onnx(g, onnx, NULL));
    OK(ls_loss(*g, ls_cross_entropy(ls_onnx_node(onnx, NULL),
                                    ls_input(*g, "label", LS_I32, 0, NULL))));
    o.optimizer = ls_sgd(0.1);
    OK(ls_trainer_open(&t, pool, *g, &o));
    return t;
}

static void train(ls_trainer *t, const char *input, ls_dtype dtype,
                  const void *rows, const float *want)
{
    ls_batch *batch;

    OK(ls_batch_open(&batch, t));
    OK(ls_batch_set(batch, input, dtype, rows, ROWS));
    OK(ls_batch_set(batch, "label", LS_I32, import_labels, ROWS));
    for (int i = 0; i < STEPS; i++) {
        ls_result r;

        OK(ls_step(t, batch, &r));
        ck_assert_msg(fabs((double)r.loss - (double)want[i]) <= 2e-5,
                      "step %d: %.7g, not %.7g", i, (double)r.loss,
                      (double)want[i]);
    }
    ls_batch_close(batch);
}

/* The bytes that differ between two files of one size. */
static size_t differing(const char *a, const char *b)
{
    size_t n, m, count = 0;
    char *x = get_file(a, &n), *y = get_file(b, &m);

    ck_assert_uint_eq(n, m);
    for (size_t i = 0; i < n; i++)
        count += x[i] != y[i];
    free(x);
    free(y);
    return count;
}

static void trains(const char *name, const char *input, ls_dtype dtype,
                   const void *rows, const float *want, int64_t n)
{
    ls_pool *pool = open_pool(2, 2);
    ls_onnx *onnx;
    ls_trainer *t;
    ls_graph *g;
    ls_context *c;
    ls_predictor *p;
    float *now = malloc((size_t)n * sizeof *now);
    const char *y;
    model m;

    folder_open();
    OK(ls_onnx_open(&onnx, golden_file(name)));
    t = trainer_of(pool, onnx, &g);
    OK(ls_onnx_save(onnx, t, in_folder("same.onnx")));
    ck_assert_uint_eq(differing(golden_file(name), in_folder("same.onnx")), 0);
    train(t, input, dtype, rows, want);
    OK(ls_onnx_save(onnx, t, in_folder("new.onnx")));
    ck_assert_uint_gt(differing(golden_file(name), in_folder("new.onnx")), 0);

    ls_graph_output(g, 0, &y);
    OK(ls_predictor_open(&p, t));
    OK(ls_context_open(&c, p, NULL));
    OK(ls_context_set(c, input, dtype, rows, ROWS));
    OK(ls_context_predict(c, y, n, now));
    m = open_model(in_folder("new.onnx"));
    OK(ls_context_set(m.c, input, dtype, rows, ROWS));
    gives(&m, y, n, now);
    close_model(&m);

    ls_context_close(c);
    ls_predictor_close(p);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_onnx_close(onnx);
    ls_pool_close(pool);
    free(now);
    folder_close();
}

TEST(test_training)
{
    trains("import_layers.onnx", "x", LS_F32, import_images,
           import_layers_losses, COUNT(import_layers));
    trains("import_words.onnx", "tokens", LS_I32, import_tokens,
           import_words_losses, COUNT(import_words));
    trains("import_cells.onnx", "x", LS_F32, import_steps,
           import_cells_losses, COUNT(import_cells));
}

/* A model file whose arrays are as PyTorch has them. */
static void saves_as_in_file(ls_onnx *onnx, ls_trainer *t)
{
    static const char *const wrong[] = {
        "{", "[1]", "{\"head.weight\":1}", "{\"head.weight\":[0]}",
        "{\"head.weight\":[1,1]}", "{\"head.weight\":[0,2]}",
        "{\"head.weight\":[-1,0]}", "{\"head.weight\":[0.5,1]}",
        "{\"head.weight\":[0,1,2]}", NULL};
    ls_save_options o = ls_save_defaults();
    ls_archive *a;
    ls_entry e = {0};

    o.axes = ls_onnx_axes(onnx);
    OK(ls_trainer_save_with(t, in_folder("torch.safetensors"), &o));
    OK(ls_archive_open(&a, in_folder("torch.safetensors")));
    for (int i = 0; ls_archive_entry(a, i, &e); i++)
        if (!strcmp(e.name, "head.weight"))
            break;
    ck_assert_int_eq(e.shape[0], 11);
    ck_assert_int_eq(e.shape[1], 8);
    ls_archive_close(a);
    for (int i = 0; wrong[i]; i++) {
        o.axes = wrong[i];
        ck_assert_int_eq(ls_trainer_save_with(t, in_folder("no"), &o),
                         LS_EFORMAT);
    }
}

/* A model file tells a parameter's name, and that constants stay; one with the
 * arrays of the ONNX file is the same model. */
TEST(test_model_file)
{
    ls_pool *pool = open_pool(1, 1);
    ls_onnx *onnx;
    ls_graph *g, *again;
    ls_trainer *t, *other;
    ls_trainer_options o = ls_trainer_defaults();

    folder_open();
    OK(ls_onnx_open(&onnx, golden_file("import_words.onnx")));
    t = trainer_of(pool, onnx, &g);
    train(t, "tokens", LS_I32, import_tokens, import_words_losses);
    OK(ls_trainer_save_model(t, in_folder("m.safetensors")));
    OK(ls_graph_load(&again, in_folder("m.safetensors")));
    ck_assert(has_param(again, "word.weight", 2, (int64_t[]){11, 8}));
    o.optimizer = ls_sgd(0.1);
    OK(ls_trainer_open(&other, pool, again, &o));
    OK(ls_trainer_set_step(other, STEPS));
    saves_as_in_file(onnx, t);
    for (int i = 0; i < 2; i++) {
        char a[65], b[65];

        OK(ls_trainer_load(other, in_folder(i ? "torch.safetensors"
                                              : "m.safetensors"), NULL));
        OK(ls_trainer_hash(t, a));
        OK(ls_trainer_hash(other, b));
        ck_assert_str_eq(a, b);
    }
    ls_trainer_close(other);
    ls_graph_free(again);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_onnx_close(onnx);
    ls_pool_close(pool);
    folder_close();
}

/* ------ what is refused ------ */

static void put_typed(ls__proto *graph, int field, const char *name, int of)
{
    ls__proto value = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};

    ls__proto_text(&dim, 2, "rows");
    ls__proto_message(&shape, 1, &dim);
    ls__proto_text(&dim, 2, "T");
    ls__proto_message(&shape, 1, &dim);
    ls__proto_int(&tensor, 1, of);
    ls__proto_message(&tensor, 2, &shape);
    ls__proto_message(&type, 1, &tensor);
    ls__proto_text(&value, 1, name);
    ls__proto_message(&value, 2, &type);
    ls__proto_message(graph, field, &value);
}

static void put_info(ls__proto *graph, int field, const char *name)
{
    put_typed(graph, field, name, 1); /* of floats */
}

static void put_node(ls__proto *graph, const char *op, const char *in,
                     const char *other, const char *out)
{
    ls__proto n = {0};

    ls__proto_text(&n, 1, in);
    if (other)
        ls__proto_text(&n, 1, other);
    ls__proto_text(&n, 2, out);
    ls__proto_text(&n, 4, op);
    ls__proto_message(graph, 1, &n);
}

/* A model of one input "x" (rows,T), its graph finished by the caller. */
static ls__proto model_of(ls__proto *graph, int64_t opset)
{
    ls__proto all = {0}, set = {0};

    ls__proto_int(&all, 1, 9);
    put_info(graph, 11, "x");
    ls__proto_message(&all, 7, graph);
    ls__proto_int(&set, 2, opset);
    ls__proto_message(&all, 8, &set);
    return all;
}

static int load(const ls__proto *all, const char *sizes, ls_onnx **onnx)
{
    ls_onnx_options o = ls_onnx_defaults();
    ls_graph *g;
    int status = ls_onnx_open_memory(onnx, all->bytes, all->size);

    o.sizes = sizes;
    if (status < 0)
        return status;
    status = ls_graph_load_onnx(&g, *onnx, &o);
    if (status == 0)
        ls_graph_free(g);
    return status;
}

/* The graph is refused, in these words; it is read where they are NULL. */
static void check_refused(ls__proto *graph, int opset, const char *says)
{
    ls__proto all = model_of(graph, opset);
    ls_onnx *onnx = NULL;
    int status = load(&all, "T=4", &onnx);

    if (says)
        ck_assert_msg(status == LS_ENOTSUP && strstr(ls_errmsg(), says),
                      "%d: %s, not %s", status, ls_errmsg(), says);
    else
        OK(status);
    ls_onnx_close(onnx);
    ls__bytes_free(&all);
}

TEST(test_problems)
{
    ls__proto graph = {0}, all;
    ls_onnx *onnx;

    put_node(&graph, "Relu", "x", NULL, "a");
    put_node(&graph, "Strange", "a", NULL, "b");
    put_node(&graph, "Exp", "b", NULL, "c");
    put_node(&graph, "Erf", "a", NULL, "d");
    put_node(&graph, "Add", "c", "d", "y");
    put_info(&graph, 12, "y");
    all = model_of(&graph, 17);
    FAILS(load(&all, "S=2,T=3", &onnx), LS_ENOTSUP, "1 more");
    ck_assert_str_eq(ls_onnx_problem(onnx, 0),
                     "node \"b\" (Strange of (rows,3)): this operator is not "
                     "known here");
    ck_assert_ptr_nonnull(strstr(ls_onnx_problem(onnx, 1),
                                 "node \"d\" (Erf of (rows,3)): "));
    ck_assert_ptr_nonnull(strstr(ls_onnx_problem(onnx, 1), "opset 20"));
    ck_assert_ptr_null(ls_onnx_problem(onnx, 2));
    ls_onnx_close(onnx);

    FAILS(load(&all, NULL, &onnx), LS_ENOTSUP, "give sizes \"T=N\"");
    ls_onnx_close(onnx);
    ls__bytes_free(&all);

    put_node(&graph, "Relu", "x", NULL, "y");
    put_info(&graph, 12, "y");
    check_refused(&graph, 12, "opset 12");
}

/* A builder's words stay where its NULL becomes a status. */
TEST(test_words)
{
    ls_error(LS_ESHAPE, "dense \"d\": no");
    ck_assert_int_eq(ls_error(LS_ENOTSUP, ls_errmsg()), LS_ENOTSUP);
    ck_assert_str_eq(ls_errmsg(), "dense \"d\": no");
    ls_error(LS_ENOTSUP, ls_errmsg() + 7);
    ck_assert_str_eq(ls_errmsg(), "d\": no");
}

/* A name that two nodes make, or one makes of itself. */
TEST(test_twice)
{
    ls__proto graph = {0}, all;
    ls_onnx *onnx;

    put_node(&graph, "Relu", "x", NULL, "y");
    put_node(&graph, "Exp", "y", NULL, "y");
    put_info(&graph, 12, "y");
    all = model_of(&graph, 20);
    ck_assert_int_lt(load(&all, "T=3", &onnx), 0);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "twice"));
    ls_onnx_close(onnx);
    ls__bytes_free(&all);
}

/* Rows do not see each other: a sum over them is refused, and so is a number
 * that is made of how many there are. */
TEST(test_rows_apart)
{
    ls__proto graph = {0}, all;
    ls_onnx *onnx;

    put_node(&graph, "Transpose", "x", NULL, "t");
    put_node(&graph, "MatMul", "t", "x", "y"); /* over the rows */
    put_node(&graph, "Shape", "x", NULL, "s");
    put_node(&graph, "Add", "s", "s", "n");
    put_info(&graph, 12, "y");
    all = model_of(&graph, 20);
    ck_assert_int_eq(load(&all, "T=3", &onnx), LS_ENOTSUP);
    ck_assert_ptr_nonnull(strstr(ls_onnx_problem(onnx, 0), "over the rows"));
    ck_assert_ptr_nonnull(strstr(ls_onnx_problem(onnx, 1), "number of rows"));
    ls_onnx_close(onnx);
    ls__bytes_free(&all);
}

/* A node of inputs "a,b" with an attribute: "name:1", "name:1,2", "name=text"
 * (a text, or a list of it). */
static void put_call(ls__proto *graph, const char *op, const char *inputs,
                     const char *out, const char *attribute)
{
    ls__proto n = {0}, a = {0};
    size_t name = attribute ? strcspn(attribute, ":=") : 0;
    char text[40];

    for (int field = 1; field <= 2; field++)
        for (const char *at = field > 1 ? out : inputs; *at; at += *at == ',') {
            size_t size = strcspn(at, ",");

            snprintf(text, sizeof text, "%.*s", (int)size, at);
            ls__proto_text(&n, field, text);
            at += size;
        }
    ls__proto_text(&n, 4, op);
    snprintf(text, sizeof text, "%.*s", (int)name, attribute ? attribute : "");
    ls__proto_text(&a, 1, text);
    if (name && attribute[name] == '=') {
        ls__proto_text(&a, 4, attribute + name + 1);
        ls__proto_text(&a, 9, attribute + name + 1);
    } else if (name) {
        const char *at = attribute + name;

        while (*at++ && *at)
            ls__proto_int(&a, strchr(attribute, ',') ? 8 : 3,
                          strtol(at, (char **)&at, 10));
    }
    if (name)
        ls__proto_message(&n, 5, &a);
    ls__bytes_free(&a);
    ls__proto_message(graph, 1, &n);
}

/* A node, and what is said of it. */
typedef struct refusal {
    const char *op, *inputs, *attribute; /* text "a=b", or a number "a:1" */
    const char *says;      /* NULL: it is read */
} refusal;

/* "steps": x as the steps of a cell, behind "image" (rows,1,T). */
static void put_steps(ls__proto *graph)
{
    put_call(graph, "Constant", "", "axis", "value_ints:1,");
    put_call(graph, "Unsqueeze", "x,axis", "image", NULL);
    put_call(graph, "Transpose", "image", "steps", "perm:2,0,1");
}

/* Three axes of floats. */
static void put_weights(ls__proto *graph, const char *name,
                        const int64_t shape[3])
{
    static const float some[64] = {1, 2, 3};
    ls__proto t = {0};

    for (int k = 0; k < 3; k++)
        ls__proto_int(&t, 1, shape[k]);
    ls__proto_int(&t, 2, 1);
    ls__proto_numbers(&t, 4, some, (size_t)(shape[0] * shape[1] * shape[2]), 4);
    ls__proto_text(&t, 8, name);
    ls__proto_message(graph, 5, &t);
}

/* What a cell or a transposed convolution of the file has and ours has not is
 * refused by its name; without that the same node is read. */
LOOP_TEST(test_refused_attributes, 0, 12)
{
    static const refusal all[] = {
        {"LSTM", "steps,w,u", NULL, NULL},
        {"LSTM", "steps,w,u", "clip:3", "clip"},
        {"LSTM", "steps,w,u", "hidden_size:2", NULL},
        {"LSTM", "steps,w,u", "hidden_size:4", "do not fit"},
        {"LSTM", "steps,w,u", "layout:1", "layout"},
        {"LSTM", "steps,w,u", "input_forget:1", "input_forget"},
        {"LSTM", "steps,w,u", "activations=Relu", "activations"},
        {"GRU", "steps,w,u", "linear_before_reset:1", NULL},
        {"GRU", "steps,w,u", NULL, "linear_before_reset"},
        {"ConvTranspose", "image,w", NULL, NULL},
        {"ConvTranspose", "image,w", "auto_pad=SAME_UPPER", "auto_pad"},
        {"ConvTranspose", "image,w", "output_shape:9", "output_shape"},
    };
    const refusal *of = &all[_i];
    bool cell = *of->op != 'C';
    int64_t gates = *of->op == 'L' ? 4 : 3;
    ls__proto graph = {0};

    put_weights(&graph, "w", cell ? (int64_t[]){1, gates * 2, 1}
                                  : (int64_t[]){1, 1, 2});
    put_weights(&graph, "u", (int64_t[]){1, gates * 2, 2});
    put_steps(&graph);
    put_call(&graph, of->op, of->inputs, "z", of->attribute);
    put_call(&graph, "Transpose", "z", "y", cell ? "perm:2,0,1,3" : "perm:0,2,1"
             );
    put_info(&graph, 12, "y");
    check_refused(&graph, 20, of->says);
}

/* A cell whose last state alone has a name. */
TEST(test_last_state)
{
    ls__proto graph = {0};

    put_weights(&graph, "w", (int64_t[]){1, 8, 1});
    put_weights(&graph, "u", (int64_t[]){1, 8, 2});
    put_steps(&graph);
    put_call(&graph, "LSTM", "steps,w,u", ",h", NULL);
    put_call(&graph, "Transpose", "h", "y", "perm:1,0,2");
    put_info(&graph, 12, "y");
    check_refused(&graph, 20, NULL);
}

/* Attention that goes on from a cache, and heads and tables that do not fit. */
LOOP_TEST(test_refused_heads, 0, 10)
{
    static const refusal all[] = {
        {"Attention", "four,four,four", NULL, NULL},
        {"Attention", "four,four,four,,four,four", NULL, "earlier steps"},
        {"Attention", "four,four,four,four", NULL, "wider than its scores"},
        {"Attention", "four,four,four,x", NULL, "rows by rows"},
        {"Attention", "three,three,three", "q_num_heads:1", NULL},
        {"Attention", "three,three,three", "q_num_heads:3", "into 3 heads"},
        {"RotaryEmbedding", "four,table,table", NULL, NULL},
        {"RotaryEmbedding", "four,three,three", NULL, "tables do not fit"},
        {"RotaryEmbedding", "four,table,table", "rotary_embedding_dim:3",
         "turns 3 of 4"},
        {"RotaryEmbedding", "four,table,table,x", NULL, "that are known"},
    };
    const refusal *of = &all[_i];
    ls__proto graph = {0};

    put_call(&graph, "Constant", "", "one", "value_ints:1,");
    put_call(&graph, "Constant", "", "last", "value_ints:-1,");
    put_call(&graph, "Unsqueeze", "x,one", "three", NULL); /* (rows,1,4) */
    put_call(&graph, "Unsqueeze", "three,one", "four", NULL);
    put_call(&graph, "ReduceSum", "x,last", "sum", NULL);
    put_call(&graph, "Unsqueeze", "sum,last", "column", NULL);
    put_call(&graph, "Concat", "column,column", "table", "axis:2");
    put_call(&graph, of->op, of->inputs, "y", of->attribute);
    put_info(&graph, 12, "y");
    check_refused(&graph, 23, of->says);
}

/* Nearest neighbours that are no repetition, and floats that become whole. */
LOOP_TEST(test_refused_kinds, 0, 13)
{
    static const refusal all[] = {
        {"Resize", "image,,twice", NULL, NULL},
        {"Resize", "image,,thrice", NULL, NULL},
        {"Resize", "image,,twice", "nearest_mode=round_prefer_ceil", NULL},
        {"Resize", "image,,twice", "nearest_mode=floor", "nearest_mode"},
        {"Resize", "image,,twice", "nearest_mode=ceil", "nearest_mode"},
        {"Resize", "image,,twice", MODE "=asymmetric", NULL},
        {"Resize", "image,,thrice", MODE "=asymmetric", "nearest_mode"},
        {"Resize", "image,,twice", MODE "=align_corners", "aligned"},
        {"Resize", "image,,twice", "keep_aspect_ratio_policy=not_larger",
         "read is nearest"},
        {"CastLike", "x,twice", NULL, NULL},
        {"CastLike", "x,axes", NULL, "another kind"},
        {"CastLike", "twice,axes", NULL, NULL},
        {"CastLike", "half,axes", NULL, "cuts numbers off"},
    };
    const refusal *of = &all[_i];
    ls__proto graph = {0};

    put_call(&graph, "Constant", "", "axes", "value_ints:1,2");
    put_call(&graph, "Constant", "", "two", "value_ints:1,1,1,2");
    put_call(&graph, "Constant", "", "three", "value_ints:1,1,1,3");
    put_call(&graph, "Cast", "two", "twice", "to:1");
    put_call(&graph, "Cast", "three", "thrice", "to:1");
    put_call(&graph, "Reciprocal", "twice", "half", NULL);
    put_call(&graph, "Unsqueeze", "x,axes", "image", NULL); /* (rows,1,1,T) */
    put_call(&graph, of->op, of->inputs, "z", of->attribute);
    put_call(&graph, "Relu", "x", "y", NULL);
    put_info(&graph, 12, "y");
    check_refused(&graph, 20, of->says);
}

/* A norm over an axis of one element is its amount, a product with a vector has
 * an axis less, and of two remainders of -7 by 3 this is -1; and the only
 * initializer is a number, no parameter.  Known numbers are turned, and a slope
 * may be wider than what it is of. */
TEST(test_small_axes)
{
    static const float x[3] = {-1, 2, -3}, want[3] = {-19, -9, -14};
    ls_onnx_options o = ls_onnx_defaults();
    ls__proto graph = {0}, all;
    model m;

    put_call(&graph, "Constant", "", "one", "value_ints:1,");
    put_call(&graph, "Constant", "", "last", "value_ints:2,");
    put_call(&graph, "Cast", "last", "vector", "to:1");
    put_call(&graph, "Constant", "", "seven", "value_ints:-7,");
    put_call(&graph, "Constant", "", "three", "value_ints:3,");
    put_call(&graph, "Mod", "seven,three", "whole", "fmod:1");
    put_call(&graph, "Cast", "whole", "rest", "to:1");
    put_call(&graph, "Unsqueeze", "x,last", "column", NULL);
    put_call(&graph, "Unsqueeze", "x,one", "line", NULL);
    put_call(&graph, "ReduceL2", "column,last", "a", "keepdims:0");
    put_call(&graph, "ReduceL1", "column,last", "b", "keepdims:0");
    put_call(&graph, "ReduceSumSquare", "column,last", "c", "keepdims:0");
    put_call(&graph, "MatMul", "column,vector", "d", NULL);
    put_weights(&graph, "unit", (int64_t[]){1, 1, 1});
    put_call(&graph, "Mul", "line,unit", "same", NULL);
    put_call(&graph, "MatMul", "vector,same", "e", NULL);
    put_call(&graph, "Add", "a,b", "ab", NULL);
    put_call(&graph, "Add", "ab,c", "abc", NULL);
    put_call(&graph, "Add", "abc,d", "abcd", NULL);
    put_call(&graph, "Add", "abcd,e", "abcde", NULL);
    put_call(&graph, "Constant", "", "six", "value_ints:1,2,3,4,5,6");
    put_call(&graph, "Constant", "", "shape", "value_ints:2,3");
    put_call(&graph, "Cast", "six", "numbers", "to:1");
    put_call(&graph, "Reshape", "numbers,shape", "matrix", NULL);
    put_call(&graph, "Gemm", "x,matrix", "f", "transB:1");
    put_call(&graph, "ReduceSum", "f,one", "g", NULL);
    put_call(&graph, "Add", "abcde,rest", "last_but_one", NULL);
    put_call(&graph, "PRelu", "line,column", "square", NULL);
    put_call(&graph, "ReduceMin", "square,last", "h", "keepdims:0");
    put_call(&graph, "Add", "last_but_one,g", "last_one", NULL);
    put_call(&graph, "Add", "last_one,h", "y", NULL);
    put_info(&graph, 12, "y");
    all = model_of(&graph, 20);
    o.sizes = "T=3";
    OK(ls_onnx_open_memory(&m.onnx, all.bytes, all.size));
    OK(ls_graph_load_onnx(&m.g, m.onnx, &o));
    OK(ls_predictor_open_graph(&m.p, m.g, NULL));
    OK(ls_predictor_load_onnx(m.p, m.onnx));
    OK(ls_context_open(&m.c, m.p, NULL));
    OK(ls_context_set(m.c, "x", LS_F32, x, 1));
    gives(&m, "y", 3, want);
    close_model(&m);
    ls__bytes_free(&all);
}

/* Whole numbers are compared where they are known alone. */
TEST(test_whole_numbers)
{
    ls__proto graph = {0};

    put_typed(&graph, 11, "i", 7);
    put_node(&graph, "Equal", "i", "i", "y");
    put_info(&graph, 12, "y");
    check_refused(&graph, 20, "is LS_I32 (4) a row");
}

/* Programs do not agree where SAME padding lies around a window with holes. */
TEST(test_unclear_pool)
{
    ls__proto graph = {0}, node = {0}, a = {0};

    ls__proto_text(&node, 1, "x");
    ls__proto_text(&node, 2, "y");
    ls__proto_text(&node, 4, "MaxPool");
    ls__proto_text(&a, 1, "auto_pad");
    ls__proto_text(&a, 4, "SAME_UPPER");
    ls__proto_message(&node, 5, &a);
    ls__proto_text(&a, 1, "dilations");
    ls__proto_int(&a, 8, 2);
    ls__proto_message(&node, 5, &a);
    ls__proto_message(&graph, 1, &node);
    put_info(&graph, 12, "y");
    check_refused(&graph, 17, "auto_pad with dilations");
}

/* A node without an output is told of, whoever looks for who makes a value. */
TEST(test_no_output)
{
    ls__proto graph = {0}, node = {0}, all;
    ls_onnx *onnx;

    ls__proto_text(&node, 1, "x");
    ls__proto_text(&node, 4, "Neg");
    ls__proto_message(&graph, 1, &node);
    put_call(&graph, "Erf", "x", "y", NULL);
    put_info(&graph, 12, "y");
    all = model_of(&graph, 17);
    ck_assert_int_lt(load(&all, "T=3", &onnx), 0);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), "no output"));
    ls_onnx_close(onnx);
    ls__bytes_free(&all);
}

/* What is cut off at any byte is refused, or whole. */
TEST(test_cut)
{
    size_t n;
    char *bytes = get_file(golden_file("import_terms.onnx"), &n);
    ls_onnx *onnx;

    for (size_t k = 0; k < n; k++) {
        ls_graph *g;
        char *part = malloc(k + 1);

        memcpy(part, bytes, k);
        if (ls_onnx_open_memory(&onnx, part, k) == 0) {
            ck_assert_int_lt(ls_graph_load_onnx(&g, onnx, NULL), 0);
            ls_onnx_close(onnx);
        }
        free(part);
    }
    free(bytes);
}

/* ------ weights beside the file ------ */

static void put_pair(ls__proto *tensor, const char *key, const char *value)
{
    ls__proto pair = {0};

    ls__proto_text(&pair, 1, key);
    ls__proto_text(&pair, 2, value);
    ls__proto_message(tensor, 13, &pair);
}

/* y = x + w, w being 3 floats from byte 4 of a file. */
static void write_beside(const char *place, const char *length)
{
    ls__proto graph = {0}, tensor = {0}, all;

    ls__proto_int(&tensor, 1, 3);
    ls__proto_int(&tensor, 2, 1);
    ls__proto_text(&tensor, 8, "w");
    put_pair(&tensor, "location", place);
    put_pair(&tensor, "offset", "4");
    put_pair(&tensor, "length", length);
    ls__proto_int(&tensor, 14, 1);
    ls__proto_message(&graph, 5, &tensor);
    put_node(&graph, "Add", "x", "w", "y");
    put_info(&graph, 12, "y");
    all = model_of(&graph, 20);
    put_file(in_folder("a.onnx"), all.bytes, all.size);
    ls__bytes_free(&all);
}

TEST(test_beside)
{
    static const float data[4] = {9, 1, 2, 3}, x[3] = {4, 5, 6};
    ls_onnx_options o = ls_onnx_defaults();
    ls_onnx *onnx;
    ls_graph *g;
    ls_predictor *p;
    ls_context *c;
    float y[3];

    folder_open();
    put_file(in_folder("a.data"), data, sizeof data);
    write_beside("a.data", "12");
    o.sizes = "T=3";
    OK(ls_onnx_open(&onnx, in_folder("a.onnx")));
    OK(ls_graph_load_onnx(&g, onnx, &o));
    OK(ls_predictor_open_graph(&p, g, NULL));
    OK(ls_predictor_load_onnx(p, onnx));
    OK(ls_context_open(&c, p, NULL));
    OK(ls_context_set(c, "x", LS_F32, x, 1));
    OK(ls_context_predict(c, "y", 3, y));
    ck_assert(y[0] == 5 && y[1] == 7 && y[2] == 9);
    ls_context_close(c);
    ls_predictor_close(p);
    ls_graph_free(g);
    ls_onnx_close(onnx);

    write_beside("a.data", "16"); /* behind its end */
    ck_assert_int_eq(ls_onnx_open(&onnx, in_folder("a.onnx")), LS_EFORMAT);
    write_beside("../a.data", "12");
    ck_assert_int_eq(ls_onnx_open(&onnx, in_folder("a.onnx")), LS_EIO);
    ck_assert_int_eq(symlink("a.data", in_folder("link")), 0);
    write_beside("link", "12");
    FAILS(ls_onnx_open(&onnx, in_folder("a.onnx")), LS_EIO, "link");
    write_beside("none", "12");
    ck_assert_int_eq(ls_onnx_open(&onnx, in_folder("a.onnx")), LS_EIO);
    folder_close();
}

/* The loss is the sum of y, so a step of rate 1 takes 1 from each weight.  A
 * copy called `bad` would have its weights where the model has them. */
static void train_beside(const char *from, const char *to, const char *bad)
{
    static const float x[3] = {4, 5, 6};
    ls_trainer_options o = ls_trainer_defaults();
    ls_onnx_options sizes = ls_onnx_defaults();
    ls_pool *pool = open_pool(1, 1);
    ls_onnx *onnx;
    ls_graph *g;
    ls_node *y;
    ls_trainer *t;
    ls_batch *batch;
    ls_result r;

    sizes.sizes = "T=3";
    o.optimizer = ls_sgd(1);
    OK(ls_onnx_open(&onnx, in_folder(from)));
    OK(ls_graph_load_onnx(&g, onnx, &sizes));
    y = ls_sum_over(ls_onnx_node(onnx, NULL), 0, NULL);
    OK(ls_loss(g, ls_mean_loss(y, NULL)));
    OK(ls_trainer_open(&t, pool, g, &o));
    OK(ls_batch_open(&batch, t));
    OK(ls_batch_set(batch, "x", LS_F32, x, 1));
    OK(ls_step(t, batch, &r));
    OK(ls_onnx_save(onnx, t, in_folder(to)));
    ck_assert_int_eq(ls_onnx_save(onnx, t, in_folder(bad)), LS_EINVAL);
    ck_assert_ptr_nonnull(strstr(ls_errmsg(), ".data\", which would be"));
    ls_batch_close(batch);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_onnx_close(onnx);
    ls_pool_close(pool);
}

static void holds(const char *name, const float *want)
{
    size_t size;
    char *bytes = get_file(in_folder(name), &size);

    ck_assert_uint_eq(size, 4 * sizeof *want);
    ck_assert_mem_eq(bytes, want, size);
    free(bytes);
}

/* A copy in the folder of the model has a file beside it of its own. */
TEST(test_save_beside)
{
    static const float first[4] = {9, 1, 2, 3}, second[4] = {9, 0, 1, 2},
                       third[4] = {9, -1, 0, 1};
    const char *longer =
        "a_name_by_which_a_message_around_it_has_a_length_of_two_bytes_where_"
        "it_had_one_before_and_so_have_those_around_that_one_and_it.onnx";

    folder_open();
    put_file(in_folder("a.data"), first, sizeof first);
    write_beside("a.data", "12");
    train_beside("a.onnx", longer, "a");
    train_beside(longer, "b.onnx", longer);
    holds("a.data", first);
    holds("b.onnx.data", third);
    ck_assert_int_eq(rename(in_folder(longer), in_folder("c.onnx")), 0);
    train_beside("c.onnx", "c.onnx", longer);
    holds("c.onnx.data", third);
    train_beside("a.onnx", "c", "a");
    holds("c.data", second);
    folder_close();
}

/* ------ memory ------ */

/* Any allocation may fail: that is told, and nothing stays. */
LOOP_TEST(test_shortage, 0, COUNTS_MEMORY ? 5 : 0)
{
    static const char *const names[] = {"import_layers.onnx",
                                        "import_words.onnx",
                                        "import_cells.onnx",
                                        "import_more.onnx",
                                        "import_terms.onnx"};
    size_t size;
    char *bytes = get_file(golden_file(names[_i]), &size);
    int status = -1, was = live;

    for (int n = 0; status < 0; n++) {
        ls_onnx *onnx;
        ls_graph *g;

        allocations_left = n;
        if ((status = ls_onnx_open_memory(&onnx, bytes, size)) == 0) {
            if ((status = ls_graph_load_onnx(&g, onnx, NULL)) == 0)
                ls_graph_free(g);
            ls_onnx_close(onnx);
        }
        allocations_left = -1;
        ck_assert_msg(status == 0 || status == LS_ENOMEM, "%d: %d %s", n,
                      status, ls_errmsg());
        ck_assert_int_eq(live, was);
        ck_assert_int_lt(n, 20000);
    }
    free(bytes);
}

MAIN()
