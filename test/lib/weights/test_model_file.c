/* SPDX-License-Identifier: BSD-3-Clause */
/* A model is a file: weights and graph are written and read again, and a
 * trainer of the graph that was read goes on with the bytes of the one that was
 * saved; every operator comes back with its attributes; a file from an earlier
 * day opens and computes what it did; and what is damaged or unknown is
 * refused. */
#define _GNU_SOURCE /* nftw */
#include "all_operators.h"
#include "file/file.h"
#include "base/memory.h"
#include "model/graph_json.h"
#include "file/safetensors.h"
#include "folder.h"
#include "graph/edit.h"
#include "output_models.h"

enum { DEVICES = 2, BATCH = 24, MOST = 4096 };

/* ------ text and back ------ */

/* The text of a graph, and that of the graph made from it. */
static void check_again(const ls_graph *g)
{
    char *text, *again;
    ls_graph *read;

    OK(ls__graph_write(g, &text));
    OK(ls__graph_read(&read, text, "text"));
    OK(ls__graph_write(read, &again));
    ck_assert_str_eq(text, again);
    ck_assert_int_eq(read->param_count, g->param_count);
    for (int i = 0; i < g->param_count; i++) {
        ck_assert_str_eq(read->params[i]->name, g->params[i]->name);
        ck_assert_int_eq(read->params[i]->request, g->params[i]->request);
        ck_assert_int_eq((int)read->params[i]->init, (int)g->params[i]->init);
    }
    for (int i = 0; i < g->input_count; i++)
        ck_assert_int_eq(read->inputs[i]->limit, g->inputs[i]->limit);
    ls_graph_free(read);
    free(text);
    free(again);
}

/* Every model and its copy. */
LOOP_TEST(test_again, 0, MODELS)
{
    ls_graph *g, *copy;

    OK(ls_graph_new(&g));
    models[_i].build(g, true);
    check_again(g);
    OK(ls__graph_copy(&copy, g));
    ls_graph_free(g);
    check_again(copy);
    ls_graph_free(copy);
}

/* All operators of the library; a new one is to be added to
 * all_operators.h. */
TEST(test_all_operators)
{
    ls_graph *g = all_operators();

    check_again(g);
    for (int i = 0; ls__ops[i]; i++)
        ck_assert_msg(has_op(g, ls__ops[i]), "%s is not among them",
                      ls__ops[i]->name);
    ls_graph_free(g);
}

/* Says a page "`word`"? */
static bool names(const char *page, const char *word)
{
    char quoted[64];

    snprintf(quoted, sizeof quoted, "`%s`", word);
    return strstr(page, quoted) != NULL;
}

/* Is it an elementwise operator without constants?  The page has one rule for
 * these. */
static bool is_by_rule(const ls__op *op)
{
    return op->term > LS__ADD && !op->file.attributes->name;
}

/* docs/model-file.md names every operator and its attributes. */
TEST(test_page)
{
    const char *root = getenv("top_srcdir");
    char path[256], *page;
    size_t size;

    snprintf(path, sizeof path, "%s/docs/model-file.md", root ? root : "..");
    OK(ls__file_load(path, 1 << 20, &page, &size));
    for (const ls__op *const *op = ls__ops; *op; op++) {
        ck_assert_msg(is_by_rule(*op) || names(page, (*op)->name), "no %s",
                      (*op)->name);
        for (const ls__attribute *a = (*op)->file.attributes; a && a->name; a++)
            ck_assert_msg(names(page, a->name), "%s: no %s", (*op)->name,
                          a->name);
    }
    free(page);
}

/* The keys of dropout are those of the graph that was written, though one layer
 * of rate 0 took one and left no node. */
TEST(test_requests)
{
    ls_graph *g = all_operators(), *read;
    char *text;

    OK(ls__graph_write(g, &text));
    OK(ls__graph_read(&read, text, "text"));
    ck_assert_int_eq(g->stream_count, 2);
    ck_assert_int_eq(read->stream_count, 1);
    ck_assert_int_eq(read->streams[0]->request, g->streams[1]->request);
    ck_assert_int_eq(read->requests, g->requests);
    free(text);
    ls_graph_free(g);
    ls_graph_free(read);
}

/* ------ to go on training ------ */

/* Rows for whichever of these inputs the model has. */
static void fill(ls_batch *b)
{
    static float x[BATCH * 216], target[BATCH * 3];
    static int32_t tokens[BATCH * 7], labels[BATCH];

    fill_uniform(1, BATCH * 216, x);
    fill_uniform(2, BATCH * 3, target);
    fill_indices(3, BATCH * 7, 11, tokens);
    fill_indices(4, BATCH, 5, labels);
    (void)ls_batch_set(b, "x", LS_F32, x, BATCH);
    (void)ls_batch_set(b, "target", LS_F32, target, BATCH);
    (void)ls_batch_set(b, "tokens", LS_I32, tokens, BATCH);
    (void)ls_batch_set(b, "labels", LS_I32, labels, BATCH);
}

/* Parameter 0 is what no seed gives. */
static void mark(ls_trainer *t)
{
    int64_t shape[LS_MAX_RANK];
    int rank = ls_trainer_param_shape(t, 0, shape);
    int64_t n = ls__count(rank, shape);
    float *values = fenced(n);

    fill_uniform(7, n, values);
    OK(ls_trainer_set(t, ls_trainer_param_name(t, 0), n, values));
}

static void hash_after(run *r, char hash[65])
{
    fill(r->batch);
    for (int s = 0; s < 3; s++)
        step(r);
    ls_trainer_hash(r->trainer, hash);
    close_run(r);
}

/* Steps of the graph and the weights in the file give the bytes of steps of the
 * trainer that wrote it; with dropout too. */
LOOP_TEST(test_goes_on, 0, MODELS)
{
    ls_pool *pool = open_pool(DEVICES, DEVICES);
    ls_trainer_options o = ls_trainer_defaults();
    char want[65], got[65];
    ls_graph *g = empty_graph();
    run r, s;

    folder_open();
    o.precision = models[_i].precision;
    o.optimizer = ls_adam(0.01);
    models[_i].build(g, true);
    r = open_run(pool, g, &o);
    mark(r.trainer);
    OK(ls_trainer_save_model(r.trainer, in_folder("m")));
    OK(ls_graph_load(&g, in_folder("m")));
    s = open_run(pool, g, &o);
    OK(ls_trainer_load(s.trainer, in_folder("m"), NULL));
    hash_after(&r, want);
    hash_after(&s, got);
    ck_assert_str_eq(want, got);
    ls_pool_close(pool);
    fences_free();
    folder_close();
}

/* ------ a file of an earlier day ------ */

/* The model of test/golden/model-1.safetensors, which this test wrote, with
 * WRITE_GOLDEN=1, when version 1 of the format was new (lockstep 0.2.0). */
static ls_graph *first_graph(void)
{
    ls_window odd = {3, 2, 2, 1, LS_VALID}, two = {2, 2, 0, 0, LS_SAME};
    ls_graph *g = empty_graph();
    ls_node *x, *y;

    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){7, 6, 2});
    x = ls_max_pool(ls_relu(ls_conv2d(x, 4, odd, "conv")), two);
    x = ls_dropout(ls_dropout(x, 0, "none"), 0.125, "drop");
    x = ls_layer_norm(ls_group_norm(x, 2, "groups"), "norm");
    y = ls_dense(ls_flatten(x), 3, "head");
    OK(ls_output(g, y, "y"));
    x = ls_input(g, "target", LS_F32, 1, (int64_t[]){3});
    OK(ls_loss(g, ls_mean_squared_error(y, x)));
    return g;
}

static void write_first(const char *path)
{
    ls_trainer_options o = ls_trainer_defaults();
    run r;

    o.seed = 3;
    r = open_run_on(1, 1, first_graph(), &o);
    OK(ls_trainer_save_model(r.trainer, path));
    close_run(&r);
}

/* ------ texts of a program's own ------ */

static const char *note_of(const ls_archive *a, const char *name)
{
    const char *is, *value;

    for (int i = 0; ls_archive_note(a, i, &is, &value); i++)
        if (!strcmp(is, name))
            return value;
    return NULL;
}

static int save_note(const ls_trainer *t, const char *path, const char *name,
                     const char *value)
{
    return save_noted(LS_SAVE_MODEL, t, path, 2,
                      (ls_setting[]){{"units", "cm"}, {name, value}});
}

TEST(test_notes)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_archive *a;
    run r = open_run_on(1, 1, first_graph(), &o);
    const char *path;

    folder_open();
    path = in_folder("m");
    OK(save_note(r.trainer, path, "table", "{\"a\": 1}"));
    OK(ls_archive_open(&a, path));
    ck_assert_str_eq(note_of(a, "table"), "{\"a\": 1}");
    ck_assert_str_eq(note_of(a, "units"), "cm");
    ck_assert_ptr_nonnull(note_of(a, "lockstep.graph"));
    ls_archive_close(a);
    OK(ls_trainer_load(r.trainer, path, NULL));
    ck_assert_int_eq(save_note(r.trainer, path, "units", "m"), LS_EINVAL);
    ck_assert_int_eq(save_note(r.trainer, path, "sha256", "m"), LS_EINVAL);
    ck_assert_int_eq(save_note(r.trainer, path, "lockstep.graph", "m"),
                     LS_EINVAL);
    ck_assert_int_eq(save_note(r.trainer, path, "x", "\xff"), LS_EINVAL);
    ck_assert_int_eq(save_note(r.trainer, path, NULL, "x"), LS_EINVAL);
    ck_assert_int_eq(save_noted(LS_SAVE_MODEL, r.trainer, path, 1, NULL),
                     LS_EINVAL);
    close_run(&r);
    folder_close();
}

/* What it predicts for fill_uniform(1): the bits are those of every machine. */
static const float first_y[3] = {-0x1.1def8ap-8f, 0x1.d0aa32p-1f,
                                0x1.67194ap-3f};

/* It opens, says the same graph and predicts the same bytes for ever. */
TEST(test_earlier)
{
    const char *root = getenv("top_srcdir");
    ls_graph *g = first_graph(), *read;
    char path[256], *want, *got;
    float x[7 * 6 * 2], y[3];
    ls_predictor *p;
    ls_context *c;

    snprintf(path, sizeof path, "%s/test/golden/model-1.safetensors",
             root ? root : "..");
    if (getenv("WRITE_GOLDEN"))
        write_first(path);
    OK(ls_graph_load(&read, path));
    OK(ls__graph_write(g, &want));
    OK(ls__graph_write(read, &got));
    ck_assert_str_eq(want, got);
    OK(ls_predictor_load(&p, path));
    OK(ls_context_open(&c, p, NULL));
    fill_uniform(1, 7 * 6 * 2, x);
    OK(ls_context_set(c, "x", LS_F32, x, 1));
    OK(ls_context_predict(c, "y", 3, y));
    ck_assert_msg(!memcmp(y, first_y, sizeof y), "%a %a %a", (double)y[0],
                  (double)y[1], (double)y[2]);
    ls_context_close(c);
    ls_predictor_close(p);
    free(want);
    free(got);
    ls_graph_free(g);
    ls_graph_free(read);
}

/* ------ what is refused ------ */

#define NODE "{\"op\":\"input\",\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[4]}"
#define DENSE(inputs, rest, shape, name) \
    "{\"op\":\"dense\",\"name\":\"fc\",\"inputs\":" inputs ",\"attributes\":{" \
    "\"features\":3,\"bias\":false," rest "},\"shape\":" shape "," \
    "\"parameters\":[\"" name "\"]}"
#define AGAIN(tied, name) \
    "{\"op\":\"dense\",\"name\":\"again\",\"inputs\":[0],\"attributes\":{" \
    "\"features\":3,\"bias\":false,\"kernel\":[4,3]},\"shape\":[3]," \
    "\"parameters\":[\"" name "\"],\"tied\":" tied "}"
#define GRAPH(version, nodes, rest) \
    "{\"version\":" version ",\"nodes\":[" NODE "," nodes "]," rest "}"
#define GOOD DENSE("[0]", "\"kernel\":[4,3]", "[3]", "fc.kernel")
#define REST "\"outputs\":[{\"name\":\"y\",\"node\":1}],\"metrics\":[]," \
    "\"loss\":null"

static const struct {
    const char *text;
    int status;
    const char *words;
} bad[] = {
    {GRAPH("1", GOOD, REST), 0, ""},
    {"", LS_EFORMAT, "no JSON"},
    {"[]", LS_EFORMAT, "version"},
    {"{\"version\":\"1\"}", LS_EFORMAT, "version"},
    {GRAPH("2", GOOD, REST), LS_ENOTSUP, "reads version 1"},
    {"{\"version\":1}", LS_EFORMAT, "\"nodes\""},
    {GRAPH("1", "7", REST), LS_EFORMAT, "node 1"},
    {GRAPH("1", "{\"op\":\"dance\",\"name\":\"\"}", REST), LS_ENOTSUP,
     "dance"},
    {GRAPH("1", DENSE("[1]", "\"kernel\":[4,3]", "[3]", "fc.kernel"), REST),
     LS_EFORMAT, "node before it"},
    {GRAPH("1", DENSE("[-1]", "\"kernel\":[4,3]", "[3]", "fc.kernel"), REST),
     LS_EFORMAT, "node before it"},
    {GRAPH("1", DENSE("[0,0]", "\"kernel\":[4,3]", "[3]", "fc.kernel"), REST),
     LS_EFORMAT, "number of inputs"},
    {GRAPH("1", DENSE("[0]", "\"kernel\":[4,4]", "[3]", "fc.kernel"), REST),
     LS_ESHAPE, "weights of (4,4)"},
    {GRAPH("1", DENSE("[0]", "\"kernel\":[4,-3]", "[3]", "fc.kernel"), REST),
     LS_EFORMAT, "\"kernel\""},
    {GRAPH("1", DENSE("[0]", "\"kernel\":[4,3],\"more\":1", "[3]", "fc.kernel"),
           REST), LS_ENOTSUP, "does not know"},
    {GRAPH("1", DENSE("[0]", "\"kernel\":[4,3]", "[4]", "fc.kernel"), REST),
     LS_EFORMAT, "its shape"},
    {GRAPH("1", DENSE("[0]", "\"kernel\":[4,3]", "[3]", "fc.weight"), REST),
     0, ""}, /* as ls_rename called it */
    {GRAPH("1", DENSE("[0]", "\"kernel\":[4,3]", "[3]",
                      "fc.kernel\",\"fc.bias"), REST),
     LS_EFORMAT, "other parameters"},
    {GRAPH("1", GOOD "," GOOD, REST), LS_EINVAL, "twice"},
    {GRAPH("1", GOOD "," AGAIN("[0]", "fc.kernel"), REST), 0, ""},
    {GRAPH("1", AGAIN("[0]", "again.kernel"), REST), LS_EFORMAT,
     "not that of a node before it"},
    {GRAPH("1", GOOD "," AGAIN("[1]", "fc.kernel"), REST), LS_EFORMAT,
     "not that of a node before it"},
    {GRAPH("1", GOOD "," AGAIN("[7]", "fc.kernel"), REST), LS_EFORMAT,
     "not that of a node before it"},
    {GRAPH("1", GOOD "," AGAIN("0", "fc.kernel"), REST), LS_EFORMAT,
     "\"tied\" is no list"},
    {GRAPH("1", GOOD "," AGAIN("[0],\"transposed\":true", "fc.kernel"), REST),
     LS_ESHAPE, "before it is transposed"},
    {GRAPH("1", GOOD, "\"outputs\":[{\"name\":\"y\",\"node\":2}]"), LS_EFORMAT,
     "outputs"},
    {GRAPH("1", GOOD, "\"outputs\":[],\"metrics\":[0],\"loss\":null"),
     LS_EFORMAT, "metrics"},
    {GRAPH("1", GOOD, "\"outputs\":[],\"metrics\":[],\"loss\":1"), LS_EFORMAT,
     "loss"},
};

LOOP_TEST(test_refused_text, 0, sizeof bad / sizeof *bad)
{
    ls_graph *g = NULL;

    if (bad[_i].status == 0)
        OK(ls__graph_read(&g, bad[_i].text, "here"));
    else
        FAILS(ls__graph_read(&g, bad[_i].text, "here"), bad[_i].status,
              bad[_i].words);
    ls_graph_free(g);
}

/* More requests than an int counts are refused at the node that goes beyond, by
 * "skipped" alone. */
TEST(test_skipped)
{
    enum { NODES = 2200 };
    size_t room = NODES * 100, at = 0;
    char *text = malloc(room + sizeof REST);
    ls_graph *g = NULL;

    at += (size_t)sprintf(text, "{\"version\":1,\"nodes\":[%s", NODE);
    for (int i = 0; i < NODES; i++)
        at += (size_t)sprintf(text + at, ",{\"op\":\"relu\",\"name\":\"\","
                              "\"inputs\":[0],\"shape\":[4],"
                              "\"skipped\":1048575}");
    ck_assert_uint_lt(at, room);
    sprintf(text + at, "],%s}", REST);
    FAILS(ls__graph_read(&g, text, "here"), LS_EFORMAT,
          "node 1025 of the graph: more requests");
    free(text);
}

/* A file whose graph declares more than the file holds is refused before any of
 * it is allocated. */
TEST(test_too_large)
{
    ls_setting pair = {"lockstep.graph", GRAPH("1", GOOD, REST)};
    float w[11] = {0};
    ls__safetensor tensor = {"fc.kernel", 1, {11}, w};
    ls_graph *g;

    folder_open();
    OK(ls__safetensors_write(in_folder("m"), 1, &tensor, 1, &pair));
    FAILS(ls_graph_load(&g, in_folder("m")), LS_EFORMAT, "more parameters");
    OK(ls__safetensors_write(in_folder("m"), 1, &tensor, 0, NULL));
    FAILS(ls_graph_load(&g, in_folder("m")), LS_ENOTFOUND, "no graph");
    FAILS(ls_graph_load(&g, in_folder("none")), LS_EIO, "none");
    FAILS(ls_graph_load(NULL, in_folder("m")), LS_EINVAL, "NULL");
    FAILS(ls_graph_load(&g, NULL), LS_EINVAL, "NULL");
    folder_close();
}

static int nothing(void *user, const ls_own_run *r)
{
    (void)user, (void)r;
    return 0;
}

/* A user's functions cannot be written; what was there stays. */
TEST(test_own)
{
    ls_own_op op = {.name = "mine", .inputs = 1, .forward = nothing,
                    .backward = nothing};
    ls_graph *g = empty_graph();
    char *text;
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});

    x = ls_own(&op, (ls_node *[]){ls_dense(x, 3, "fc")});
    OK(ls_output(g, x, "y"));
    FAILS(ls__graph_write(g, &text), LS_ENOTSUP, "\"mine\"");
    ls_graph_free(g);
}

/* ------ looking at a graph ------ */

TEST(test_look)
{
    ls_graph *g = all_operators();
    const char *name = NULL;
    ls_array_spec param;
    const ls_node *n;

    ck_assert_int_eq(ls_graph_nodes(g), g->node_count);
    ck_assert_str_eq(ls_node_op(ls_graph_node(g, 0)), "input");
    n = ls_graph_node(g, 3);
    ck_assert_str_eq(ls_node_op(n), "conv2d");
    ck_assert_str_eq(ls_node_name(n), "conv");
    ck_assert_ptr_eq(ls_node_input(n, 0), ls_graph_node(g, 0));
    ck_assert_ptr_null(ls_node_input(n, 1));
    ck_assert(ls_node_param(n, 1, &param));
    ck_assert_str_eq(param.name, "conv.bias");
    ck_assert_int_eq(param.shape[0], 6);
    ck_assert(!ls_node_param(n, 2, &param));
    ck_assert_ptr_null(ls_graph_node(g, g->node_count));
    ck_assert_str_eq(ls_node_op(ls_graph_output(g, 1, &name)), "dense");
    ck_assert_str_eq(name, "seen");
    ck_assert_ptr_null(ls_graph_output(g, 2, NULL));
    ck_assert_str_eq(ls_node_op(ls_graph_loss(g)), "next token");
    ls_graph_free(g);
}

MAIN()
