/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs for ONNX: every operator of the library has its row; a file is written
 * whole, of the same bytes each time; what cannot be written is refused and
 * leaves nothing; and a shortage of memory at any place is a status.  What ONNX
 * makes of the files is tried by make interop. */
#define _GNU_SOURCE /* nftw */
#include "all_operators.h"
#include "faults.h"
#include "folder.h"
#include "export/onnx.h"
#include "op/op_table.h"
#include "layers.h"
#include "output_models.h"
#include <lockstep/onnx.h>

TEST(test_rows)
{
    for (int i = 0; ls__ops[i]; i++)
        if (!ls__ops[i]->is_loss)
            ck_assert_msg(ls__onnx_knows(ls__ops[i]->name),
                          "%s has no row for ONNX", ls__ops[i]->name);
}

static ls_predictor *predictor_of(int i)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_predictor *p;
    ls_graph *g = empty_graph();
    run r;

    models[i].build(g, true);
    r = open_run_on(1, 1, g, &o);
    OK(ls_predictor_open(&p, r.trainer));
    close_run(&r);
    return p;
}

/* "lockstep" and the names of an input and of the output are in it. */
LOOP_TEST(test_file, 0, 3)
{
    ls_predictor *p = predictor_of(_i);
    char *bytes, *again;
    size_t n, m;

    folder_open();
    OK(ls_predictor_save_onnx(p, in_folder("a")));
    OK(ls_predictor_save_onnx(p, in_folder("b")));
    bytes = get_file(in_folder("a"), &n);
    again = get_file(in_folder("b"), &m);
    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(bytes, again, n);
    ck_assert_ptr_nonnull(memmem(bytes, n, "lockstep", 8));
    ck_assert_ptr_nonnull(memmem(bytes, n, "\1y", 2));
    ck_assert_ptr_null(memmem(bytes, n, "target", 6)); /* the loss's alone */
    free(bytes);
    free(again);
    ls_predictor_close(p);
    folder_close();
}

/* ------ every operator ------ */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static ls_node *floats(ls_graph *g, const char *name, int64_t t, int64_t d)
{
    return ls_input(g, name, LS_F32, 2, (int64_t[]){t, d});
}

static ls_node *indices(ls_graph *g, const char *name, int64_t n)
{
    return ls_input(g, name, LS_I32, 1, &n);
}

static void of_elements(ls_graph *g)
{
    ls_node *x = floats(g, "x", 6, 4), *u = floats(g, "u", 6, 4);
    ls_node *h = x;

    for (int kind = LS__ADD + 1; kind < LS__TERM_KINDS; kind++)
        h = term_node(kind, h, u);
    h = ls_mul(ls_round_bf16(h), ls_softmax(ls_log_softmax(u)));
    OK(ls_output(g, h, "y"));
}

static void of_shapes(ls_graph *g)
{
    ls_node *x = floats(g, "x", 6, 4), *at = indices(g, "at", 3), *h, *y;

    y = ls_parameter(g, "mix", 2, (int64_t[]){4, 4});
    h = ls_concat((ls_node *[]){x, ls_matmul(x, y)}, 2, 0);
    h = ls_reshape(ls_slice(h, 0, 3, 6), 2, (int64_t[]){4, 6});
    h = ls_transpose(h, NULL);
    x = ls_sum_over(h, 1, (int[]){0});
    h = ls_add(h, ls_broadcast_to(x, 2, (int64_t[]){6, 4}));
    h = ls_matmul(h, ls_transpose(h, NULL));
    OK(ls_output(g, ls_max_over(h, 1, (int[]){1}), "most"));
    OK(ls_output(g, ls_mul(ls_gather(h, at), ls_one_hot(at, 6)), "rows"));
}

static void of_tokens(ls_graph *g)
{
    ls_node *at = indices(g, "tokens", 6), *x;

    x = ls_position(ls_embed(at, 11, 8, "table"), "position");
    x = ls_grouped_attention(ls_rms_norm(x, 1e-6, "rms"), 4, 2, 10000, true,
                             "mix");
    x = ls_batch_norm(x, 1e-5, "batch");
    OK(ls_tie(g, "head.kernel", "table.embedding", true));
    OK(ls_output(g, dense_no_bias(x, 11, "head"), "y"));
}

static void of_bags(ls_graph *g)
{
    ls_node *at = indices(g, "at", 5), *x;
    ls_node *values = ls_input(g, "values", LS_F32, 1, (int64_t[]){5});

    x = ls_add(ls_embed_bag(at, LS_BAG_SUM, 9, 4, "sum"),
               ls_embed_bag(at, LS_BAG_MEAN, 9, 4, "mean"));
    x = ls_add(x, ls_sparse_dense(at, values, 9, 4, "sparse"));
    x = ls_add(x, sparse_dense_no_bias(at, NULL, 9, 4, "ones"));
    OK(ls_output(g, ls_batch_norm(x, 1e-5, "batch"), "y"));
}

static void of_steps(ls_graph *g)
{
    ls_node *x = floats(g, "x", 5, 3), *state = floats(g, "state", 2, 4);
    ls_node *one = ls_input(g, "one", LS_F32, 1, (int64_t[]){4});
    ls_node *n = ls_input(g, "n", LS_I32, 0, NULL), *last, *h;

    h = lstm_from(x, 4, state, n, &last, "lstm");
    OK(ls_output(g, last, "last"));
    h = gru_from(h, 4, one, NULL, &last, "gru");
    OK(ls_output(g, last, "end"));
    h = gru_two_biases(h, 4, NULL, n, NULL, "two");
    OK(ls_output(g, ls_lstm(h, 4, "plain"), "y"));
}

/* Both ways are one node, but where a state or what lies between is wanted. */
static void of_both_ways(ls_graph *g)
{
    ls_recurrent_options o = ls_recurrent_defaults();
    ls_node *x = floats(g, "x", 5, 3), *last, *h;

    o.bidirectional = true;
    o.lengths = ls_input(g, "n", LS_I32, 0, NULL);
    h = ls_lstm_with(x, 4, &o, "lstm");
    OK(ls_output(g, ls_gru_with(h, 4, &o, "gru"), "y"));
    o.lengths = NULL;
    o.last = &last;
    OK(ls_output(g, ls_lstm_with(x, 2, &o, "last"), "steps"));
    OK(ls_output(g, last, "end"));
}

/* A kernel that two layers share is written once. */
static void of_images(ls_graph *g)
{
    ls_window three = {3, 3, 1, 1, LS_SAME}, two = {2, 2, 2, 2, LS_VALID};
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){8, 6, 2});
    ls_pooling_options o = ls_pooling_defaults();

    x = ls_batch_norm(ls_conv2d(x, 2, three, "conv"), 1e-5, "batch");
    OK(ls_tie(g, "again.kernel", "conv.kernel", false));
    x = ls_group_norm(conv2d_no_bias(x, 2, three, "again"), 2, "group");
    x = ls_avg_pool(ls_max_pool(x, two), two);
    o.padding = LS_EXPLICIT;
    o.ceil_mode = true;
    o.top = o.left = o.stride_y = 1;
    x = ls_avg_pool_with(ls_max_pool_with(x, 2, 2, &o), 2, 2, &o);
    OK(ls_output(g, ls_layer_norm(ls_flatten(x), "norm"), "y"));
}

/* Norms that train by the rows are those of stored statistics there. */
static void of_larger(ls_graph *g)
{
    ls_node *x = ls_input(g, "x", LS_F32, 3, (int64_t[]){4, 6, 2});
    ls_batch_norm_options o = ls_batch_norm_defaults();
    ls_window w = {3, 2, 2, 3, LS_SAME};

    x = ls_batch_norm_with(ls_upsample(x, 2, 3), &o, "batch");
    x = ls_conv2d_transpose(x, 3, w, "up");
    o.statistics = LS_STATISTICS_OF_SHARD;
    OK(ls_output(g, ls_batch_norm_with(x, &o, "shard"), "y"));
}

/* Calls that ONNX must be told of, each followed by a space. */
static const struct {
    void (*build)(ls_graph *g);
    const char *words;
} of_all[] = {
    {of_elements, "Sub Mul Div Max Min Abs Sqrt Exp Log Clip Pow LeakyRelu Elu "
                  "Softplus Sigmoid Cast LogSoftmax Softmax "},
    {of_shapes, "Concat Slice Reshape Transpose ReduceSum Expand Add MatMul "
                "ReduceMax GatherND OneHot "},
    {of_tokens, "Gather ReduceMean MatMul Softmax BatchNormalization Slice "},
    {of_bags, "Gather Max GreaterOrEqual BatchNormalization "},
    {of_steps, "LSTM GRU Squeeze Unsqueeze Gather Concat "},
    {of_both_ways, "LSTM GRU bidirectional Slice Concat "},
    {of_images, "Conv BatchNormalization MaxPool AveragePool Pad "},
    {of_larger, "Reshape Expand BatchNormalization Concat Conv "},
};

static ls_graph *graph_of(int i)
{
    ls_graph *g = empty_graph();

    of_all[i].build(g);
    return g;
}

/* A predictor of a graph, which gets a parameter and a loss: trainers want
 * them. */
static ls_predictor *predictor_with_loss(ls_graph *g)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_node *y = dense_no_bias(g->outputs[0]->node, 1, "some");
    ls_pool *pool = open_pool(1, 1);
    ls_predictor *p;
    ls_trainer *t;
    ls_node *want = ls_input(g, "wanted", LS_F32, y->rank, y->shape);

    OK(ls_loss(g, ls_mean_squared_error(y, want)));
    OK(ls_trainer_open(&t, pool, g, &o));
    ls_graph_free(g);
    OK(ls_predictor_open(&p, t));
    ls_trainer_close(t);
    ls_pool_close(pool);
    return p;
}

/* A name of an operator as a NodeProto has it: field 4, its length. */
static bool calls(const char *bytes, size_t n, const char *name, size_t length)
{
    char field[40] = {4 << 3 | 2, (char)length};

    memcpy(field + 2, name, length);
    return memmem(bytes, n, field, length + 2) != NULL;
}

LOOP_TEST(test_calls, 0, COUNT(of_all))
{
    ls_predictor *p = predictor_with_loss(graph_of(_i));
    char *bytes;
    size_t n;

    folder_open();
    OK(ls_predictor_save_onnx(p, in_folder("m")));
    bytes = get_file(in_folder("m"), &n);
    ck_assert_ptr_null(memmem(bytes, n, "wanted", 6));
    for (const char *word = of_all[_i].words; *word;) {
        size_t length = strcspn(word, " ");

        ck_assert_msg(calls(bytes, n, word, length), "no %.*s", (int)length,
                      word);
        ck_assert(!calls(bytes, n, "None", 4));
        if (!strncmp(word, "OneHot", length)) /* a depth of int32, as the
                                                 indices: "to" of type 2, 6 */
            ck_assert_ptr_nonnull(
                memmem(bytes, n, "to\xa0\x01\x02\x18\x06", 7));
        word += length + 1;
    }
    free(bytes);
    ls_predictor_close(p);
    folder_close();
}

/* ------ tables ------ */

/* A table's columns and target; calls and texts that its file has, or what the
 * message of a refusal says. */
#define NUMBER(name) "{\"name\":\"" name "\",\"mean\":1,\"scale\":2}"
#define WORDS(name, words) "{\"name\":\"" name "\",\"words\":[" words "]}"
#define DATE(name, part) \
    "{\"name\":\"" name "\",\"date\":\"" part "\",\"mean\":9e3,\"scale\":2}"

static const struct {
    const char *missing, *inputs, *target, *rest;
    int width, outputs, status;
    const char *calls, *texts;
} of_tables[] = {
    {"mean", NUMBER("x.0") "," WORDS("label", "\"a\",\"z\\\"\\n\u00fc\""),
     WORDS("kind", "\"no\",\"yes\""), "", 3, 2, 0,
     "LabelEncoder Gather Equal Where IsNaN ArgMax Softmax ",
     "x.0|label|z\"\n\u00fc|label_|probabilities|no|yes|ai.onnx.ml|::fc.bias"},
    {"refused", NUMBER("a") "," NUMBER("b"), NUMBER("price"), "", 2, 1, 0,
     "Concat Sub Div Cast ReduceSum Mul ", "a|b|value|price"},
    {"mean", NUMBER("a"), NUMBER("load"), ",\"window\":3,\"horizon\":2", 6, 1,
     0, "IsNaN Where Reshape ", "a|load|value"},
    {"mean", DATE("t", "days") "," DATE("t", "hour"), NUMBER("y"), "", 2, 1, 0,
     "Concat ", "t.days|t.hour"},
    {"mean", NUMBER(":0"), NUMBER("y"), "", 1, 1, LS_EINVAL, "", "colon"},
    {"mean", NUMBER("t.days") "," DATE("t", "days"), NUMBER("y"), "", 2, 1,
     LS_EINVAL, "", "t.days"},
};

typedef struct of_table {
    ls_graph *g;
    ls_predictor *p;
    ls_coding *coding;
    ls_table_model *m;
} of_table;

static of_table open_table(int i)
{
    const int64_t width = of_tables[i].width;
    of_table t;
    char note[1000];

    snprintf(note, sizeof note, "{\"version\":1,\"missing\":\"%s\","
             "\"inputs\":[%s],\"target\":%s%s}", of_tables[i].missing,
             of_tables[i].inputs, of_tables[i].target, of_tables[i].rest);
    OK(ls_coding_read(&t.coding, note, "note"));
    OK(ls_graph_new(&t.g));
    OK(ls_output(t.g, ls_dense(ls_input(t.g, "x", LS_F32, 1, &width),
                               of_tables[i].outputs, "fc"), "y"));
    OK(ls_predictor_open_graph(&t.p, t.g, NULL));
    OK(ls_table_model_of(&t.m, t.p, t.coding));
    return t;
}

static void close_table(of_table *t)
{
    ls_table_model_close(t->m);
    ls_predictor_close(t->p);
    ls_graph_free(t->g);
    ls_coding_free(t->coding);
}

/* What is read here has no texts. */
static void check_refused(const char *path)
{
    ls_onnx *onnx;
    ls_graph *g;

    OK(ls_onnx_open(&onnx, path));
    FAILS(ls_graph_load_onnx(&g, onnx, NULL), LS_ENOTSUP,
          "input \"label\" is of type 8");
    ls_onnx_close(onnx);
}

static void check_table(int i, const char *path)
{
    const char *w;
    size_t n, length;
    char *bytes = get_file(path, &n);

    for (w = of_tables[i].calls; *w; w += length + 1) {
        length = strcspn(w, " ");
        ck_assert_msg(calls(bytes, n, w, length), "no %s", w);
    }
    for (w = of_tables[i].texts; *w; w += length + (w[length] == '|')) {
        length = strcspn(w, "|");
        ck_assert_msg(memmem(bytes, n, w, length), "no %s", w);
    }
    ck_assert_ptr_null(memmem(bytes, n, "\12\1x", 3)); /* an input "x" */
    ck_assert_ptr_nonnull(memmem(bytes, n, LS_CODING_NOTE, 14));
    free(bytes);
}

LOOP_TEST(test_table, 0, COUNT(of_tables))
{
    of_table t = open_table(_i);
    const char *path;

    folder_open();
    path = in_folder("m");
    if (of_tables[_i].status) {
        FAILS(ls_table_model_save_onnx(t.m, path), of_tables[_i].status,
              of_tables[_i].texts);
        ck_assert_int_ne(access(path, F_OK), 0);
    } else {
        OK(ls_table_model_save_onnx(t.m, path));
        check_table(_i, path);
    }
    if (!_i)
        check_refused(path);
    close_table(&t);
    folder_close();
}

/* Integers by the examples of the definition of the encoding: 150 is 96 01. */
TEST(test_encoding)
{
    static const char want[] = "\x08\x96\x01\x12\x02hi\x1a\x05\x25\0\0\x80?";
    ls__proto p = {0}, inner = {0};

    ls__proto_int(&p, 1, 150);
    ls__proto_text(&p, 2, "hi");
    ls__proto_float(&inner, 4, 1);
    ls__proto_message(&p, 3, &inner);
    ck_assert_uint_eq(p.size, sizeof want - 1);
    ck_assert_mem_eq(p.bytes, want, sizeof want - 1);
    ls__bytes_free(&p);
}

static int nothing(void *user, const ls_own_run *r)
{
    (void)user, (void)r;
    return 0;
}

TEST(test_refused)
{
    ls_own_op op = {.name = "mine", .inputs = 1, .forward = nothing,
                    .backward = nothing};
    ls_predictor *p;
    ls_graph *g;
    ls_node *x;

    folder_open();
    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});
    x = dense_no_bias(x, 3, "fc");
    OK(ls_output(g, x, "x"));
    p = predictor_with_loss(g);
    FAILS(ls_predictor_save_onnx(p, in_folder("m")), LS_EINVAL, "two names");
    ls_predictor_close(p);
    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});
    x = ls_own(&op, (ls_node *[]){dense_no_bias(x, 3, "fc")});
    OK(ls_output(g, x, "y"));
    p = predictor_with_loss(g);
    FAILS(ls_predictor_save_onnx(p, in_folder("m")), LS_ENOTSUP, "mine");
    ls_predictor_close(p);
    FAILS(ls_predictor_save_onnx(NULL, "m"), LS_EINVAL, "predictor");
    FAILS(ls_table_model_save_onnx(NULL, "m"), LS_EINVAL, "model");
    ck_assert_int_ne(access(in_folder("m"), F_OK), 0);
    folder_close();
}

#if OWN_MALLOC

/* Every allocation fails in turn, with a status. */
LOOP_TEST(test_shortage, 0, COUNT(of_all) + 3)
{
    ls_predictor *p = predictor_with_loss(graph_of(_i % COUNT(of_all)));
    int status = -1;

    of_table table = open_table(_i % 3);

    folder_open();
    for (int n = 1; status < 0; n++) {
        const char *path = in_folder("m");

        fail_memory = OUR_MEMORY;
        watch_from(n);
        status = _i < (int)COUNT(of_all) ? ls_predictor_save_onnx(p, path)
                                    : ls_table_model_save_onnx(table.m, path);
        atomic_store(&watching, false);
        fail_memory = NO_MEMORY;
        ck_assert(status == 0 || status == LS_ENOMEM);
        ck_assert(status < 0 || access(path, F_OK) == 0);
        ck_assert_int_lt(n, 2000);
    }
    close_table(&table);
    ls_predictor_close(p);
    folder_close();
}

#endif

MAIN()
