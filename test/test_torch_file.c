/* Parameters from PyTorch's state_dict (test/golden/make_torch_file.py): the
 * model then puts out what PyTorch put out, for a convolution and the Linear
 * behind its Flatten, with batch norms folded into them
 * (make_torch_norm.py), for a block of a transformer, and for LSTM, GRU and a
 * batch norm that stands alone (make_torch_steps.py); what does not fit is
 * refused by name, and nothing has changed. */
#include "golden/torch_norm_outputs.h"
#include "golden/torch_outputs.h"
#include "golden/torch_steps_outputs.h"
#include "models.h"

enum { T = 4, VOCAB = 11 };

static const char *golden_file(const char *name)
{
    static char path[4096];
    const char *top = getenv("top_srcdir");

    snprintf(path, sizeof path, "%s/test/golden/%s", top ? top : "..", name);
    return path;
}

static const char *file(void)
{
    return golden_file("torch.safetensors");
}

static ls_graph *image_graph(int64_t outputs)
{
    ls_graph *g;
    ls_node *x, *label;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){6, 5, 2});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = ls_relu(ls_conv2d(x, 3, (ls_window){3, 2, 1, 1, LS_VALID}, "conv"));
    x = ls_dropout(ls_flatten(x), 0.5, "drop");
    x = ls_dense(x, outputs, "dense");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
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

static const char image_only[] = "[cd]*", renamed[] =
    "conv=features.0,dense=features.3";

START_TEST(images)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, image_graph(5), NULL);
    float x[60], y[5];
    int32_t label = 0;

    for (int i = 0; i < 60; i++)
        x[i] = (float)torch_image[i];
    OK(ls_trainer_load_torch(r.trainer, file(), image_only, renamed));
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 1));
    OK(ls_batch_set(r.batch, "label", LS_I32, &label, 1));
    OK(ls_predict(r.trainer, r.batch, "logits", 5, y));
    ck_assert_double_le(max_relative(5, y, torch_logits), 1e-6);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

START_TEST(texts)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, text_graph(), NULL);
    float y[T * VOCAB];
    int32_t token[T] = {0, 3, 6, 9};

    OK(ls_trainer_load_torch(r.trainer, file(), "*", NULL));
    OK(ls_batch_set(r.batch, "tokens", LS_I32, token, 1));
    OK(ls_predict(r.trainer, r.batch, "logits", T * VOCAB, y));
    ck_assert_double_le(max_relative(T * VOCAB, y, torch_text), 2e-6);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* ------ batch norm ------ */

static const char normed[] = "conv=0&1,dense=4&5:0.25";

START_TEST(norms)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, image_graph(5), NULL);
    float x[60], y[5], other[5];
    int32_t label = 0;

    for (int i = 0; i < 60; i++)
        x[i] = (float)torch_norm_image[i];
    OK(ls_trainer_load_torch(r.trainer, golden_file("torch_norm.safetensors"),
                             NULL, normed));
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 1));
    OK(ls_batch_set(r.batch, "label", LS_I32, &label, 1));
    OK(ls_predict(r.trainer, r.batch, "logits", 5, y));
    ck_assert_double_le(max_relative(5, y, torch_norm_logits), 1e-6);

    /* another epsilon is another network */
    OK(ls_trainer_load_torch(r.trainer, golden_file("torch_norm.safetensors"),
                             NULL, "conv=0&1,dense=4&5"));
    OK(ls_predict(r.trainer, r.batch, "logits", 5, other));
    ck_assert_double_gt(max_relative(5, other, torch_norm_logits), 1e-3);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

/* Convolutions without a bias, which is where a norm's shift would be. */
static ls_graph *no_bias_graph(void)
{
    ls_graph *g;
    ls_node *x, *label;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){6, 5, 2});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = ls_conv2d_no_bias(x, 3, (ls_window){3, 2, 1, 1, LS_VALID}, "conv");
    x = ls_layer_norm(ls_flatten(x), "norm");
    OK(ls_loss(g, ls_cross_entropy(ls_dense(x, 5, "dense"), label)));
    return g;
}

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
    ls_pool *pool = open_pool(1, 1);

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run r = open_run(pool, row[i].no_bias ? no_bias_graph()
                                              : image_graph(5), NULL);
        char before[65], after[65];

        ls_trainer_hash(r.trainer, before);
        FAILS(ls_trainer_load_torch(r.trainer,
                                    golden_file("torch_norm.safetensors"), NULL,
                                    row[i].layers), row[i].status,
              row[i].message);
        ls_trainer_hash(r.trainer, after);
        ck_assert_str_eq(before, after);
        close_run(&r);
    }
    ls_pool_close(pool);
}
END_TEST

/* ------ batch norms as operators, recurrent layers ------ */

static ls_graph *normed_graph(void)
{
    ls_graph *g;
    ls_node *x, *label;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){6, 5, 2});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = ls_conv2d_no_bias(x, 3, (ls_window){3, 2, 1, 1, LS_VALID}, "conv");
    x = ls_flatten(ls_relu(ls_batch_norm(x, 1e-5, "norm")));
    x = ls_batch_norm(ls_dense(x, 5, "dense"), 0.25, "last");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

START_TEST(norm_operators)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, normed_graph(), NULL);
    float x[60], y[5], shift[5] = {1, 2, 3, 4, 5};
    int32_t label = 0;

    for (int i = 0; i < 60; i++)
        x[i] = (float)torch_norm_image[i];
    /* the norm without scale and shift gets ones and zeros */
    OK(ls_trainer_set(r.trainer, "last.bias", 5, shift));
    OK(ls_trainer_load_torch(r.trainer, golden_file("torch_norm.safetensors"),
                             NULL, "conv=0,norm=1,dense=4,last=5"));
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 1));
    OK(ls_batch_set(r.batch, "label", LS_I32, &label, 1));
    OK(ls_predict(r.trainer, r.batch, "logits", 5, y));
    ck_assert_double_le(max_relative(5, y, torch_norm_logits), 1e-6);
    close_run(&r);
    ls_pool_close(pool);
}
END_TEST

static ls_graph *steps_graph(bool two_biases)
{
    ls_graph *g;
    ls_node *x, *label;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 2, (int64_t[]){5, 3});
    label = ls_input(g, "label", LS_I32, 0, NULL);
    x = ls_lstm(ls_lstm(x, 4, "rnn_l0"), 4, "second");
    x = two_biases ? ls_gru_two_biases(x, 2, NULL, NULL, NULL, "unit")
                   : ls_gru(x, 2, "unit");
    x = ls_dense(ls_batch_norm(ls_flatten(x), 1e-3, "norm"), 3, "head");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_cross_entropy(x, label)));
    return g;
}

static const char layers_of_steps[] = "second=rnn_l1";

static void try_steps(bool two_biases, const char *name, const double *want)
{
    ls_pool *pool = open_pool(1, 1);
    run r = open_run(pool, steps_graph(two_biases), NULL);
    float x[30], y[6];
    int32_t label[2] = {0};

    for (int i = 0; i < 30; i++)
        x[i] = (float)torch_steps_x[i];
    OK(ls_trainer_load_torch(r.trainer, golden_file(name), NULL,
                             layers_of_steps));
    OK(ls_batch_set(r.batch, "x", LS_F32, x, 2));
    OK(ls_batch_set(r.batch, "label", LS_I32, label, 2));
    OK(ls_predict(r.trainer, r.batch, "logits", 6, y));
    ck_assert_double_le(max_relative(6, y, want), 1e-6);
    close_run(&r);
    ls_pool_close(pool);
}

START_TEST(steps)
{
    try_steps(true, "torch_steps.safetensors", torch_steps_logits);
    try_steps(true, "torch_steps_plain.safetensors", torch_steps_plain);
    try_steps(false, "torch_steps_plain.safetensors", torch_steps_plain);
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
        {"second=rnn", LS_ESHAPE, "\"rnn.weight_ih_l0\" is (16,3), the "
                                  "parameter \"second.dense_i.kernel\" wants "
                                  "(16,4)"},
        {"second=unit", LS_ESHAPE,
         "\"unit.bias_ih_l0\" is (6), the parameter \"second.dense_h.bias\" "
         "wants (16)"},
    };
    ls_pool *pool = open_pool(1, 1);

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run r = open_run(pool, steps_graph(false), NULL);
        char before[65], after[65];

        ls_trainer_hash(r.trainer, before);
        FAILS(ls_trainer_load_torch(r.trainer,
                                    golden_file("torch_steps.safetensors"),
                                    NULL, row[i].layers), row[i].status,
              row[i].message);
        ls_trainer_hash(r.trainer, after);
        ck_assert_str_eq(before, after);
        close_run(&r);
    }
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
        {5, NULL, NULL, LS_ENOTFOUND, "has no tensor \"conv.bias\" for the "
                                      "parameter \"conv.bias\""},
        {5, "x*", renamed, LS_ENOTFOUND, "pattern \"x*\" matches no parameter"},
        {5, "*", "conv=features.0,dense=features.3,fc=a", LS_ENOTFOUND,
         "no parameter's name begins with \"fc\"; the first is \"conv.bias\""},
        {4, "*", renamed, LS_ESHAPE, "\"features.3.bias\" is (5), the parameter "
                                     "\"dense.bias\" wants (4)"},
        {4, "*.kernel", renamed, LS_ESHAPE,
         "\"features.3.weight\" is (5,48), the parameter \"dense.kernel\" wants "
         "(4,48)"},
        {5, "*", "conv=blocks.0.query,dense=features.3", LS_ENOTFOUND,
         "no tensor \"blocks.0.query.bias\""},
        {5, "conv.kernel", "conv=blocks.0.query", LS_ESHAPE,
         "is (6,6), the parameter \"conv.kernel\" wants (3,2,3,2)"},
        {5, "*", "conv", LS_EINVAL, "\"conv\" is not OURS=THEIRS"},
        {5, "*", "=a", LS_EINVAL, "\"=a\" is not OURS=THEIRS"},
        {5, "*", "a=b,", LS_EINVAL, "\"\" is not OURS=THEIRS"},
        {5, "*", "", LS_EINVAL, "\"\" is not OURS=THEIRS"},
    };
    const ls_array_spec spec = {"x", LS_F32, 1, {6}};
    ls_gradient own = {no_gradient, NULL, 1, 1, &spec, &spec};
    ls_pool *pool = open_pool(1, 1);
    ls_trainer *t;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run r = open_run(pool, image_graph(row[i].outputs), NULL);
        char before[65], after[65];

        ls_trainer_hash(r.trainer, before);
        FAILS(ls_trainer_load_torch(r.trainer, file(), row[i].names,
                                    row[i].layers), row[i].status,
              row[i].message);
        ls_trainer_hash(r.trainer, after);
        ck_assert_str_eq(before, after);
        close_run(&r);
    }
    OK(ls_trainer_open_gradient(&t, pool, &own, NULL));
    FAILS(ls_trainer_load_torch(t, file(), NULL, NULL), LS_ENOTSUP,
          "no layers whose layout");
    FAILS(ls_trainer_load_torch(t, "none.st", NULL, NULL), LS_ENOTSUP, "");
    ls_trainer_close(t);
    ls_pool_close(pool);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("torch file");
    TCase *t = tcase_create("torch file");

    tcase_add_test(t, images);
    tcase_add_test(t, texts);
    tcase_add_test(t, norms);
    tcase_add_test(t, norms_refused);
    tcase_add_test(t, norm_operators);
    tcase_add_test(t, steps);
    tcase_add_test(t, steps_refused);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    return run_suite(s);
}
