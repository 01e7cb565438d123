/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters from PyTorch's state_dict (test/golden/make_torch_file.py): the
 * model then puts out what PyTorch put out, for a convolution and the Linear
 * behind its Flatten, with batch norms folded into them
 * (make_torch_norm.py), for a block of a transformer, for LSTM, GRU and a batch
 * norm that stands alone (make_torch_steps.py), and for both of them both ways
 * (make_torch_both.py); what does not fit is refused by name, and nothing has
 * changed. */
#define _GNU_SOURCE /* nftw */
#include "golden/torch_both_outputs.h"
#include "golden/torch_norm_outputs.h"
#include "golden/torch_outputs.h"
#include "golden/torch_steps_outputs.h"
#include "folder.h"
#include "layers.h"
#include "models.h"
#include <lockstep/torch.h>

enum { T = 4, VOCAB = 11 };

static const char images_file[] = "torch.safetensors",
                  norms_file[] = "torch_norm.safetensors",
                  steps_file[] = "torch_steps.safetensors",
                  plain_file[] = "torch_steps_plain.safetensors";

static const char *golden_file(const char *name)
{
    static char path[4096];
    const char *top = getenv("top_srcdir");

    snprintf(path, sizeof path, "%s/test/golden/%s", top ? top : "..", name);
    return path;
}

/* ------ models ------ */

/* What stands between the input and the logits; how says more. */
typedef ls_node *layers_fn(ls_node *x, int64_t how);

/* Rows of "x", each with a "label". */
static ls_graph *classes(int rank, const int64_t *shape, layers_fn *layers,
                         int64_t how)
{
    ls_graph *g;
    ls_node *x, *label;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, rank, shape);
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = layers(x, how);
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

static ls_graph *image_classes(layers_fn *layers, int64_t how)
{
    return classes(3, (int64_t[]){6, 5, 2}, layers, how);
}

static const ls_window window = {3, 2, 1, 1, LS_VALID};

static ls_node *image_layers(ls_node *x, int64_t outputs)
{
    x = ls_relu(ls_conv2d(x, 3, window, "conv"));
    return ls_dense(ls_dropout(ls_flatten(x), 0.5, "drop"), outputs, "dense");
}

/* Convolutions without a bias, which is where a norm's shift would be. */
static ls_node *no_bias_layers(ls_node *x, int64_t outputs)
{
    x = ls_flatten(conv2d_no_bias(x, 3, window, "conv"));
    return ls_dense(ls_layer_norm(x, "norm"), outputs, "dense");
}

static ls_node *normed_layers(ls_node *x, int64_t outputs)
{
    x = ls_batch_norm(conv2d_no_bias(x, 3, window, "conv"), 1e-5, "norm");
    x = ls_dense(ls_flatten(ls_relu(x)), outputs, "dense");
    return ls_batch_norm(x, 0.25, "last");
}

static ls_node *steps_layers(ls_node *x, int64_t two_biases)
{
    x = ls_lstm(ls_lstm(x, 4, "rnn_l0"), 4, "second");
    x = two_biases ? gru_two_biases(x, 2, NULL, NULL, NULL, "unit")
                   : ls_gru(x, 2, "unit");
    return ls_dense(ls_batch_norm(ls_flatten(x), 1e-3, "norm"), 3, "head");
}

static ls_graph *steps_graph(bool two_biases)
{
    return classes(2, (int64_t[]){5, 3}, steps_layers, two_biases);
}

enum { ROWS = 3, STEPS = 5, IN = 3, UNITS = 4, OUT = 2 };

/* LSTM and GRU, each both ways, on rows of different lengths. */
static ls_graph *both_ways(void)
{
    ls_recurrent_options o = ls_recurrent_defaults();
    ls_node *x, *last;
    ls_graph *g;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){STEPS, IN});
    o.bidirectional = true;
    o.lengths = ls_input(g, "lengths", LS_I32, 0, NULL);
    o.last = &last;
    x = ls_lstm_with(x, UNITS, &o, "rnn");
    OK(ls_output(g, last, "last"));
    o.last = NULL;
    o.two_biases = true;
    x = ls_gru_with(x, OUT, &o, "unit");
    OK(ls_output(g, x, "y"));
    OK(ls_loss(g, ls_mean_loss(ls_square(x), NULL)));
    return g;
}

static ls_graph *text_graph(void)
{
    ls_graph *g;
    ls_node *tokens, *x;

    OK(ls_graph_new(&g));
    tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){T});
    x = ls_position(ls_embed(tokens, VOCAB, 6, "tok_emb"), "pos_emb");
    x = ls_add(x, ls_self_attention(ls_layer_norm(x, "blocks_0.norm"), 2, true,
                                    "blocks_0"));
    x = ls_dense(x, VOCAB, "head");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_next_token_loss(x, tokens)));
    return g;
}

/* ------ what is loaded, and what is refused ------ */

/* A model whose labels, if it has any, are 0. */
static run open_rows(ls_pool *pool, ls_graph *g, int64_t rows, const float *x)
{
    static const int32_t label[2];
    run r = open_run(pool, g, NULL);

    OK(ls_batch_set(r.batch, "x", LS_F32, x, rows));
    OK(ls_batch_set(r.batch, "label", LS_I32, label, rows));
    return r;
}

/* Nothing of what was there before may be left in what a file gives. */
static void spoil(ls_trainer *t)
{
    float seven[256];

    for (int i = 0; i < 256; i++)
        seven[i] = 7;
    for (int i = 0; i < ls_trainer_params(t); i++) {
        int64_t shape[LS_MAX_RANK], n = 1;

        for (int k = ls_trainer_param_shape(t, i, shape); k-- > 0;)
            n *= shape[k];
        ck_assert_int_le(n, 256);
        OK(ls_trainer_set(t, ls_trainer_param_name(t, i), n, seven));
    }
}

/* The model puts out what PyTorch put out of what it was given, n numbers from
 * each of rows. */
static void try_file(ls_graph *g, const char *name, const char *names,
                     const char *layers, int64_t rows, int64_t size,
                     const double *given, int64_t n, const double *want)
{
    ls_pool *pool = open_pool(1, 1);
    float x[60], y[6];
    run r;

    for (int64_t i = 0; i < rows * size; i++)
        x[i] = (float)given[i];
    r = open_rows(pool, g, rows, x);
    spoil(r.trainer);
    OK(ls_trainer_load_torch(r.trainer, golden_file(name), names, layers));
    OK(ls_predict(r.trainer, r.batch, "logits", rows * n, y));
    ck_assert_double_le(max_relative(rows * n, y, want), 1e-6);
    close_run(&r);
    ls_pool_close(pool);
}

static void refuse(ls_graph *g, const char *name, const char *names,
                   const char *layers, int status, const char *message)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, g, NULL);
    char before[65], after[65];

    ls_trainer_hash(r.trainer, before);
    FAILS(ls_trainer_load_torch(r.trainer, golden_file(name), names, layers),
          status, message);
    ls_trainer_hash(r.trainer, after);
    ck_assert_str_eq(before, after);
    close_run(&r);
    ls_pool_close(pool);
}

/* ------ layers ------ */

static const char renamed[] = "conv=features.0,dense=features.3";

START_TEST(images)
{
    try_file(image_classes(image_layers, 5), images_file, "[cd]*", renamed, 1,
             60, torch_image, 5, torch_logits);
}
END_TEST

START_TEST(texts)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, text_graph(), NULL);
    float y[T * VOCAB];
    int32_t token[T] = {0, 3, 6, 9};

    OK(ls_trainer_load_torch(r.trainer, golden_file(images_file), "*", NULL));
    OK(ls_batch_set(r.batch, "tokens", LS_I32, token, 1));
    OK(ls_predict(r.trainer, r.batch, "logits", T * VOCAB, y));
    ck_assert_double_le(max_relative(T * VOCAB, y, torch_text), 2e-6);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        int64_t outputs;
        const char *names, *layers;
        int status;
        const char *message;
    } row[] = {
        {5, NULL, renamed, LS_ENOTFOUND,
         "\"blocks.0.key.weight\" is none of the 4 parameters'"},
        {5, NULL, NULL, LS_ENOTFOUND,
         "has no tensor \"conv.bias\" for the "
         "parameter \"conv.bias\""},
        {5, "x*", renamed, LS_ENOTFOUND, "pattern \"x*\" matches no parameter"},
        {5, "*", "conv=features.0,dense=features.3,fc=a", LS_ENOTFOUND,
         "no parameter's name begins with \"fc\"; the first is \"conv.bias\""},
        {4, "*", renamed, LS_ESHAPE,
         "\"features.3.bias\" is (5), the parameter "
         "\"dense.bias\" wants (4)"},
        {4, "*.kernel", renamed, LS_ESHAPE,
         "\"features.3.weight\" is (5,48), the parameter \"dense.kernel\" "
         "wants (4,48)"},
        {5, "*", "conv=blocks.0.query,dense=features.3", LS_ENOTFOUND,
         "no tensor \"blocks.0.query.bias\""},
        {5, "conv.kernel", "conv=blocks.0.query", LS_ESHAPE,
         "is (6,6), the parameter \"conv.kernel\" wants (3,2,3,2)"},
        {5, "*", "conv", LS_EINVAL, "\"conv\" is not OURS=THEIRS"},
        {5, "*", "=a", LS_EINVAL, "\"=a\" is not OURS=THEIRS"},
        {5, "*", "a=b,", LS_EINVAL, "\"\" is not OURS=THEIRS"},
        {5, "*", "", LS_EINVAL, "\"\" is not OURS=THEIRS"},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        refuse(image_classes(image_layers, row[i].outputs), images_file,
               row[i].names, row[i].layers, row[i].status, row[i].message);
}
END_TEST

START_TEST(no_layers)
{
    const ls_array_spec spec = {"x", LS_F32, 1, {6}};
    ls_gradient own = {no_gradient, NULL, 1, 1, &spec, &spec};
    ls_pool *pool = open_pool(1, 1);
    ls_trainer *t;

    OK(ls_trainer_open_gradient(&t, pool, &own, NULL));
    FAILS(ls_trainer_load_torch(t, golden_file(images_file), NULL, NULL),
          LS_ENOTSUP, "no layers whose layout");
    FAILS(ls_trainer_load_torch(t, "none.st", NULL, NULL), LS_ENOTSUP, "");
    ls_trainer_close(t);
    ls_pool_close(pool);
}
END_TEST

/* ------ batch norms, folded ------ */

START_TEST(norms)
{
    try_file(image_classes(image_layers, 5), norms_file, NULL,
             "conv=0&1,dense=4&5:0.25", 1, 60, torch_norm_image, 5,
             torch_norm_logits);
}
END_TEST

START_TEST(another_epsilon)
{
    ls_pool *pool = open_pool(1, 1);
    float x[60], y[5];
    run r;

    for (int i = 0; i < 60; i++)
        x[i] = (float)torch_norm_image[i];
    r = open_rows(pool, image_classes(image_layers, 5), 1, x);
    OK(ls_trainer_load_torch(r.trainer, golden_file(norms_file), NULL,
                             "conv=0&1,dense=4&5"));
    OK(ls_predict(r.trainer, r.batch, "logits", 5, y));
    ck_assert_double_gt(max_relative(5, y, torch_norm_logits), 1e-3);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

START_TEST(norms_refused)
{
    static const struct {
        const char *layers;
        bool no_bias;
        int status;
        const char *message;
    } row[] = {
        {"conv=0&9,dense=4&5", false, LS_ENOTFOUND,
         "no tensor \"9.running_mean\""},
        {"conv=0&5,dense=4&5", false, LS_ESHAPE,
         "\"5.running_mean\" is (5), the layer before that batch norm has 3"},
        {"conv=0,dense=4&5", false, LS_ENOTFOUND, "no tensor \"0.bias\""},
        {"conv=0&1,dense=4", false, LS_ENOTFOUND,
         "\"5.num_batches_tracked\" is none of"},
        {"conv=0&1:x,dense=4&5", false, LS_EINVAL,
         "batch norm \"1\": epsilon \"x\" is no number from 0 up"},
        {"conv=0&1:-1,dense=4&5", false, LS_EINVAL, "epsilon \"-1\""},
        {"conv=0&,dense=4&5", false, LS_ENOTFOUND, "\".running_mean\""},
        {"conv=0&1,dense=4&5", true, LS_EINVAL,
         "cannot be folded into \"conv\""},
        {"norm=0&1,dense=4&5", true, LS_ENOTFOUND, "\"conv.weight\""},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        refuse(image_classes(row[i].no_bias ? no_bias_layers : image_layers, 5),
               norms_file, NULL, row[i].layers, row[i].status, row[i].message);
}
END_TEST

/* ------ batch norms as operators, recurrent layers ------ */

/* The norm whose scale and shift PyTorch lacks gets ones and zeros. */
START_TEST(norm_operators)
{
    try_file(image_classes(normed_layers, 5), norms_file, NULL,
             "conv=0,norm=1,dense=4,last=5", 1, 60, torch_norm_image, 5,
             torch_norm_logits);
}
END_TEST

static const char layers_of_steps[] = "second=rnn_l1";

static void try_steps(bool two_biases, const char *name, const double *want)
{
    try_file(steps_graph(two_biases), name, NULL, layers_of_steps, 2, 15,
             torch_steps_x, 3, want);
}

START_TEST(steps)
{
    try_steps(true, steps_file, torch_steps_logits);
    try_steps(true, plain_file, torch_steps_plain);
    try_steps(false, plain_file, torch_steps_plain);
}
END_TEST

/* Values, last states and the gradient by the input are PyTorch's. */
START_TEST(both)
{
    enum { XS = ROWS * STEPS * IN, YS = ROWS * STEPS * 2 * OUT,
           LAST = ROWS * 2 * 2 * UNITS };
    static const int32_t lengths[ROWS] = {5, 2, 3};
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, both_ways(), NULL);
    float x[XS], y[YS], last[LAST], dx[XS];

    for (int i = 0; i < XS; i++)
        x[i] = (float)torch_both_x[i];
    OK(ls_batch_set(r.batch, "x", LS_F32, x, ROWS));
    OK(ls_batch_set(r.batch, "lengths", LS_I32, lengths, ROWS));
    spoil(r.trainer);
    OK(ls_trainer_load_torch(r.trainer, golden_file("torch_both.safetensors"),
                             NULL, NULL));
    OK(ls_predict(r.trainer, r.batch, "y", YS, y));
    ck_assert_double_le(max_relative(YS, y, torch_both_y), 1e-6);
    OK(ls_predict(r.trainer, r.batch, "last", LAST, last));
    ck_assert_double_le(max_relative(LAST, last, torch_both_last), 1e-6);
    OK(ls_input_gradient(r.trainer, r.batch, false, "x", XS, dx));
    ck_assert_double_le(max_relative(XS, dx, torch_both_dx), 2e-6);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* ------ attention by its names ------ */

enum { E = 4 };

/* A file of tensors by their names, (rows,E), or (rows) where a name has "bias"
 * in it, filled with 0, 1/8, 2/8, .. from the first to the last. */
static const char *put_tensors(const char *name, const char *const *tensor,
                               const int *rows)
{
    char head[2048], file[8192];
    int used = snprintf(head, sizeof head, "{"), at = 0;
    uint64_t length;

    for (int i = 0; tensor[i]; i++) {
        bool bias = strstr(tensor[i], "bias");
        int n = 4 * rows[i] * (bias ? 1 : E);

        used += snprintf(head + used, sizeof head - (size_t)used,
                         "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%d%s],"
                         "\"data_offsets\":[%d,%d]}", i ? "," : "", tensor[i],
                         rows[i], bias ? "" : ",4", at, at + n);
        at += n;
    }
    used += snprintf(head + used, sizeof head - (size_t)used, "}");
    while (used % 8)
        head[used++] = ' ';
    length = (uint64_t)used;
    memcpy(file, &length, 8);
    memcpy(file + 8, head, (size_t)used);
    for (int i = 0; i < at / 4; i++)
        memcpy(file + 8 + used + 4 * i, &(float){(float)i / 8}, 4);
    put_file(in_folder(name), file, (size_t)(8 + used + at));
    return in_folder(name);
}

static ls_graph *attention_graph(bool cross)
{
    ls_attention_options o = ls_attention_defaults();
    ls_graph *g;
    ls_node *x;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){3, E});
    o.qkv_bias = o.out_bias = true;
    x = cross ? ls_cross_attention_with(x, x, NULL, 2, &o, "at")
              : ls_attention_with(x, 2, &o, "at");
    OK(ls_output(g, x, "y"));
    OK(ls_loss(g, ls_mean_loss(ls_square(x), NULL)));
    return g;
}

static void hash_of(bool cross, const char *path, const char *layers,
                    char hash[65])
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, attention_graph(cross), NULL);

    spoil(r.trainer);
    OK(ls_trainer_load_torch(r.trainer, path, NULL, layers));
    ls_trainer_hash(r.trainer, hash);
    close_run(&r);
    ls_pool_close(pool);
}

static const struct {
    const char *layers;
    const char *tensor[9];
    int rows[8];
} attentions[] = {
    {NULL,
     {"at.query.weight", "at.key.weight", "at.value.weight", "at.query.bias",
      "at.key.bias", "at.value.bias", "at.out.weight", "at.out.bias"},
     {E, E, E, E, E, E, E, E}},
    {NULL,
     {"at.in_proj_weight", "at.in_proj_bias", "at.out_proj.weight",
      "at.out_proj.bias"}, {3 * E, 3 * E, E, E}},
    {"at=layers.0",
     {"layers.0.c_attn.weight", "layers.0.c_attn.bias",
      "layers.0.c_proj.weight", "layers.0.c_proj.bias"}, {3 * E, 3 * E, E, E}},
    {"at.out=o,at=qkv",
     {"qkv.weight", "qkv.bias", "o.weight", "o.bias"}, {3 * E, 3 * E, E, E}},
    {NULL,
     {"at.q_proj.weight", "at.k_proj.weight", "at.v_proj.weight",
      "at.q_proj.bias", "at.k_proj.bias", "at.v_proj.bias", "at.o_proj.weight",
      "at.o_proj.bias"}, {E, E, E, E, E, E, E, E}},
    {NULL,
     {"at.q_proj_weight", "at.k_proj_weight", "at.v_proj_weight",
      "at.in_proj_bias", "at.out_proj.weight", "at.out_proj.bias"},
     {E, E, E, 3 * E, E, E}},
};

/* Proves that each form of PyTorch's attention gives the weights that the first
 * one gives, and that one of other sizes is refused. */
START_TEST(attention)
{
    static const char *const wide[] = {"at.in_proj_weight", NULL};
    char want[65], got[65];
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, attention_graph(false), NULL);

    folder_open();
    for (int cross = 0; cross < 2; cross++) {
        hash_of(cross, put_tensors("a", attentions[0].tensor,
                                   attentions[0].rows), NULL, want);
        hash_of(cross, put_tensors("b", attentions[_i].tensor,
                                   attentions[_i].rows),
                attentions[_i].layers, got);
        ck_assert_str_eq(got, want);
    }
    FAILS(ls_trainer_load_torch(r.trainer, put_tensors("c", wide, (int[]){8}),
                                "*.query.kernel", NULL), LS_ESHAPE,
          "queries, keys and values beside \"at.query\" have 12 rows of 4");
    folder_close();
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* Proves that a network without a loss is served with PyTorch's weights. */
START_TEST(served)
{
    ls_graph *g;
    ls_node *x;
    ls_predictor *p;
    ls_context *c;
    float in[2 * 15], y[2 * 3];

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){STEPS, IN});
    OK(ls_output(g, steps_layers(x, true), "logits"));
    OK(ls_predictor_open_graph(&p, g, NULL));
    ls_graph_free(g);
    for (int i = 0; i < 2 * 15; i++)
        in[i] = (float)torch_steps_x[i];
    OK(ls_context_open(&c, p, NULL));
    OK(ls_context_set(c, "x", LS_F32, in, 2));
    OK(ls_context_predict(c, "logits", 6, y));
    for (int i = 0; i < 6; i++)
        ck_assert(y[i] == 0); /* as all parameters are */
    FAILS(ls_predictor_load_torch(p, golden_file(images_file), NULL),
          LS_ESHAPE, "tensor \"head.bias\" is (11)");
    OK(ls_predictor_load_torch(p, golden_file(steps_file), layers_of_steps));
    OK(ls_context_predict(c, "logits", 6, y));
    ck_assert_double_le(max_relative(6, y, torch_steps_logits), 1e-6);
    ls_context_close(c);
    ls_predictor_close(p);
}
END_TEST

START_TEST(steps_refused)
{
    static const struct {
        const char *layers;
        int status;
        const char *message;
    } row[] = {
        {layers_of_steps, LS_ENOTSUP,
         "\"unit.bias_hh_l0\": number 0 of the last third is not 0"},
        {NULL, LS_ENOTFOUND, "no tensor \"second.bias_ih_l0\""},
        {"second=rnn_l2", LS_ENOTFOUND, "no tensor \"rnn.bias_ih_l2\""},
        {"second=rnn", LS_ESHAPE,
         "\"rnn.weight_ih_l0\" is (16,3), the "
         "parameter \"second.dense_i.kernel\" wants "
         "(16,4)"},
        {"second=unit", LS_ESHAPE,
         "\"unit.bias_ih_l0\" is (6), the parameter \"second.dense_h.bias\" "
         "wants (16)"},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        refuse(steps_graph(false), steps_file, NULL, row[i].layers,
               row[i].status, row[i].message);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("torch file");
    TCase *t = tcase_create("torch file");

    tcase_add_test(t, images);
    tcase_add_test(t, texts);
    tcase_add_test(t, refused);
    tcase_add_test(t, no_layers);
    tcase_add_test(t, norms);
    tcase_add_test(t, another_epsilon);
    tcase_add_test(t, norms_refused);
    tcase_add_test(t, norm_operators);
    tcase_add_test(t, steps);
    tcase_add_test(t, steps_refused);
    tcase_add_test(t, both);
    tcase_add_test(t, served);
    tcase_add_loop_test(t, attention, 0, 5);
    suite_add_tcase(s, t);
    return run_suite(s);
}
