/* The table of models and the table of their options. */
#include "model.h"

#include <stdio.h>
#include <string.h>

/* A size named by the user must be the data's; otherwise it becomes it. */
static int follow(const opt_line *line, const char *name, int64_t *size,
                  int64_t actual, const char *path)
{
    if (opt_given(&model_program, line, name) && *size != actual)
        return opt_fail(OPT_FAILED, "%s has %lld where --%s says %lld", path,
                        (long long)actual, name, (long long)*size);
    *size = actual;
    return OPT_GO;
}

/* An input of floats in the precision asked for. */
static ls_node *rounded(ls_node *x, const settings *s)
{
    return s->precision == PRECISION_BF16_INPUT ? ls_round_bf16(x) : x;
}

/* Rate 0 is no layer: Flax's would take a key from the layers after it. */
static ls_node *drop(ls_node *x, const settings *s, const char *name)
{
    return s->dropout > 0 ? ls_dropout(x, s->dropout, name) : x;
}

/* Files are --data, or --x with --y; a mask weighs the latter. */
static int check_files(const settings *s)
{
    if (s->data && (s->x || s->y))
        return opt_fail(OPT_WRONG, "--data and --x exclude each other");
    if (!s->x != !s->y)
        return opt_fail(OPT_WRONG, "--x and --y go together");
    if (s->mask && !s->x)
        return opt_fail(OPT_WRONG, "--mask weighs the rows of --x");
    if (s->eval_data && !s->data)
        return opt_fail(OPT_WRONG, "--eval-data goes with --data");
    return OPT_GO;
}

static int load_mask(data *d, const settings *s)
{
    return s->mask ? data_mask(d, s->mask) : OPT_GO;
}

/* ------ linear: one dense layer, mean squared error ------ */

static int linear_files(data *d, settings *s, const opt_line *line)
{
    int status = data_load(d, "x", s->x, LS_F32, 2);

    if (status == OPT_GO)
        status = data_load(d, "y", s->y, LS_F32, 2);
    if (status == OPT_GO)
        status = follow(line, "rows", &s->rows, d->rows, s->x);
    if (status == OPT_GO)
        status = follow(line, "d-in", &s->d_in, d->input[0].all.shape[1], s->x);
    if (status == OPT_GO)
        status =
            follow(line, "d-out", &s->d_out, d->input[1].all.shape[1], s->y);
    return status == OPT_GO ? load_mask(d, s) : status;
}

static int linear_load(data *d, settings *s, const opt_line *line)
{
    ls_numpy rs;
    int status = check_files(s);

    if (status != OPT_GO)
        return status;
    if (s->x)
        return linear_files(d, s, line);
    ls_numpy_seed(&rs, (uint32_t)s->data_seed);
    status = data_randn(d, "x", &rs, s->rows, s->d_in);
    return status == OPT_GO ? data_randn(d, "y", &rs, s->rows, s->d_out)
                            : status;
}

/* Names without a layer: "kernel" and "bias", as nnx.Linear has them. */
static void linear_build(ls_graph *g, const settings *s)
{
    ls_node *x = ls_input(g, "x", LS_F32, 1, &s->d_in);
    ls_node *y = ls_input(g, "y", LS_F32, 1, &s->d_out);

    x = rounded(x, s);
    ls_loss(g, ls_mean_squared_error(ls_dense(x, s->d_out, ""), y));
}

static const model linear = {
    .keys = LS_KEYS_NNX,
    .load = linear_load,
    .build = linear_build,
};

/* ------ mlp: dense layers and an activation between them, classes ------ */

enum { MOST_LAYERS = 64, WIDEST = 1000000000 };

/* The widths of "512,512" in order: how many, 0 when it is no such list. */
static int read_widths(const char *text, int64_t widths[MOST_LAYERS])
{
    return opt_numbers(text, ',', WIDEST, MOST_LAYERS, widths);
}

/* One more than the largest label. */
static int64_t count_classes(const ls_tensor *labels)
{
    const int32_t *y = labels->data;
    int64_t most = 0;

    for (int64_t i = 0; i < labels->shape[0]; i++)
        most = y[i] > most ? y[i] : most;
    return most + 1;
}

static int too_many(const char *path, const char *of, int64_t labels,
                    int64_t classes)
{
    return opt_fail(OPT_FAILED, "%s: %slabels up to %lld, but %lld classes; "
                    "--classes sets their number", path, of,
                    (long long)labels - 1, (long long)classes);
}

/* Images are as they are named by --data, or by --x and --y. */
static int load_images(data *d, settings *s, const opt_line *line)
{
    image_files f = {.path = s->data, .evaluation = s->eval_data,
                     .mean = s->norm_mean, .std = s->norm_std};
    int status;

    if (s->x) {
        f.path = s->x;
        f.labels = s->y;
    }
    status = data_images(d, &f);
    if (status == OPT_GO)
        status = follow(line, "rows", &s->rows, d->rows, f.path);
    if (status != OPT_GO)
        return status;
    if (!opt_given(&model_program, line, "classes"))
        s->classes = d->source.classes;
    if (s->classes < d->source.classes)
        return too_many(f.path, "", d->source.classes, s->classes);
    if (s->classes < d->evaluation.classes)
        return too_many(s->eval_data ? s->eval_data : f.path, "the test set's ",
                        d->evaluation.classes, s->classes);
    return load_mask(d, s);
}

static int mlp_images(data *d, settings *s, const opt_line *line)
{
    int status = load_images(d, s, line);
    const int64_t *image;

    if (status != OPT_GO)
        return status;
    image = d->source.array[0].shape;
    return follow(line, "d-in", &s->d_in, image[0] * image[1] * image[2],
                  s->data ? s->data : s->x);
}

static int mlp_rows(data *d, settings *s, const opt_line *line)
{
    int status = data_load(d, "x", s->x, LS_F32, 2);

    if (s->norm_mean || s->norm_std)
        return opt_fail(OPT_WRONG, "--mean and --std are for images");
    if (status == OPT_GO)
        status = data_load(d, "y", s->y, LS_I32, 1);
    if (status == OPT_GO)
        status = follow(line, "rows", &s->rows, d->rows, s->x);
    if (status == OPT_GO)
        status = follow(line, "d-in", &s->d_in, d->input[0].all.shape[1], s->x);
    if (status == OPT_GO && !opt_given(&model_program, line, "classes"))
        s->classes = count_classes(&d->input[1].all);
    return status == OPT_GO ? load_mask(d, s) : status;
}

/* --x holds rows of numbers, or images, which have more axes. */
static int mlp_files(data *d, settings *s, const opt_line *line)
{
    int64_t shape[LS_MAX_RANK];
    int rank = s->x ? ls_npy_shape(s->x, shape) : 3;

    s->shuffle = !s->no_shuffle;
    if (rank < 0)
        return opt_check(rank);
    return rank > 2 ? mlp_images(d, s, line) : mlp_rows(d, s, line);
}

static int mlp_load(data *d, settings *s, const opt_line *line)
{
    int64_t widths[MOST_LAYERS];
    int status = check_files(s);
    ls_numpy rs;

    if (status != OPT_GO)
        return status;
    if (!read_widths(s->hidden, widths))
        return opt_fail(OPT_WRONG, "--hidden: \"%s\" is not a list of widths "
                        "as 512,512", s->hidden);
    if (s->x || s->data)
        return mlp_files(d, s, line);
    if (s->norm_mean || s->norm_std)
        return opt_fail(OPT_WRONG, "--mean and --std are for images");
    ls_numpy_seed(&rs, (uint32_t)s->data_seed);
    return data_classes(d, "x", "y", &rs, s->rows, s->d_in, s->classes);
}

/* "layers.2" and so on, as nnx names a list of nnx.Linear. */
static ls_node *mlp_layer(ls_node *x, int64_t width, int i)
{
    char name[32];

    snprintf(name, sizeof name, "layers.%d", i);
    return ls_dense(x, width, name);
}

/* In the order of the option's words. */
static ls_node *(*const activations[])(ls_node *) = {ls_relu, ls_tanh, ls_gelu,
                                                     ls_sigmoid};

static void mlp_build(ls_graph *g, const settings *s)
{
    int64_t widths[MOST_LAYERS];
    int n = read_widths(s->hidden, widths);
    ls_node *x = ls_input(g, "x", LS_F32, 1, &s->d_in);
    ls_node *y = ls_input(g, "y", LS_I32, 0, NULL);

    x = rounded(x, s);
    for (int i = 0; i < n; i++) {
        x = activations[s->activation](mlp_layer(x, widths[i], i));
        x = drop(x, s, "dropout");
    }
    x = mlp_layer(x, s->classes, n);
    ls_output(g, x, "logits");
    ls_loss(g, ls_cross_entropy(x, y));
}

static const model mlp = {
    .keys = LS_KEYS_NNX,
    .epochs = true,
    .load = mlp_load,
    .build = mlp_build,
};

/* ------ cnn: two convolutions with relu and pools, one dense layer ------ */

/* The sizes of "32x32x3", height first. */
static bool read_image(const char *text, int64_t size[3])
{
    return opt_numbers(text, 'x', 65536, 3, size) == 3;
}

/* Sizes follow the data: those named by the user must be the data's. */
static int cnn_images(data *d, settings *s, const opt_line *line)
{
    int status = load_images(d, s, line);
    const int64_t *shape;
    char *size = s->image_room;

    s->shuffle = !s->no_shuffle;
    if (status != OPT_GO)
        return status;
    shape = d->source.array[0].shape;
    snprintf(size, sizeof s->image_room, "%lldx%lldx%lld",
             (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    if (opt_given(&model_program, line, "image") && strcmp(s->image, size))
        return opt_fail(OPT_FAILED, "%s has images of %s where --image says "
                        "%s", s->data ? s->data : s->x, size, s->image);
    s->image = size;
    return OPT_GO;
}

static int cnn_noise(data *d, settings *s, const opt_line *line,
                     const int64_t image[3])
{
    if (opt_given(&model_program, line, "epochs"))
        return opt_fail(OPT_WRONG, "--epochs is for data: without any "
                        "there is a new batch each step");
    if (!opt_given(&model_program, line, "steps"))
        s->steps = 100;
    s->epochs = 0;
    d->noise = (noise){.seed = (uint32_t)s->data_seed,
                       .size = image[0] * image[1] * image[2],
                       .classes = s->classes};
    return OPT_GO;
}

static int cnn_load(data *d, settings *s, const opt_line *line)
{
    int64_t image[3], widths[MOST_LAYERS];
    int status = check_files(s);

    if (status != OPT_GO)
        return status;
    if (!read_image(s->image, image))
        return opt_fail(OPT_WRONG, "--image: \"%s\" is no size as 32x32x3",
                        s->image);
    if (!read_widths(s->channels, widths))
        return opt_fail(OPT_WRONG, "--channels: \"%s\" is not a list of "
                        "widths as 32,64", s->channels);
    if (s->x || s->data)
        return cnn_images(d, s, line);
    if (s->norm_mean || s->norm_std)
        return opt_fail(OPT_WRONG, "--mean and --std are for images");
    return cnn_noise(d, s, line, image);
}

/* "conv1", a 3x3 convolution, its relu and a 2x2 pool. */
static ls_node *cnn_layer(ls_node *x, int64_t width, int number)
{
    char name[32];

    snprintf(name, sizeof name, "conv%d", number);
    x = ls_conv2d(x, width, (ls_window){.height = 3, .width = 3}, name);
    return ls_max_pool(ls_relu(x), (ls_window){2, 2, 2, 2, LS_VALID});
}

static void cnn_build(ls_graph *g, const settings *s)
{
    int64_t image[3], widths[MOST_LAYERS];
    int n = read_widths(s->channels, widths);
    ls_node *x, *y = ls_input(g, "y", LS_I32, 0, NULL);

    read_image(s->image, image);
    x = rounded(ls_input(g, "x", LS_F32, 3, image), s);
    for (int i = 0; i < n; i++)
        x = cnn_layer(x, widths[i], i + 1);
    x = drop(ls_flatten(x), s, "dropout");
    x = ls_dense(x, s->classes, "dense");
    ls_output(g, x, "logits");
    ls_loss(g, ls_cross_entropy(x, y));
}

static const model cnn = {
    .keys = LS_KEYS_NNX,
    .epochs = true,
    .load = cnn_load,
    .build = cnn_build,
};

/* ------ lm: a transformer on tokens, without a causal mask ------ */

static int lm_load(data *d, settings *s, const opt_line *line)
{
    ls_numpy rs;
    int status;

    if (s->mask && !s->x)
        return opt_fail(OPT_WRONG, "--mask weighs the rows of --x");
    if (!s->x) {
        ls_numpy_seed(&rs, (uint32_t)s->data_seed);
        return data_randint(d, "tokens", &rs, s->rows, s->seq_len, s->vocab);
    }
    status = data_load(d, "tokens", s->x, LS_I32, 2);
    if (status == OPT_GO)
        status = follow(line, "rows", &s->rows, d->rows, s->x);
    if (status == OPT_GO)
        status = follow(line, "seq-len", &s->seq_len, d->input[0].all.shape[1],
                        s->x);
    return status == OPT_GO ? load_mask(d, s) : status;
}

/* "blocks_3.Dense_0" in room. */
static const char *block_name(char room[64], int64_t i, const char *layer)
{
    snprintf(room, 64, "blocks_%lld.%s", (long long)i, layer);
    return room;
}

/* x + attention(norm(x)), then x + mlp(norm(x)): the pre-norm form.  Dropout is
 * where Vaswani et al. 2017 have it: on what is added, and on the embedding. */
static ls_node *block(ls_node *x, int64_t i, bool causal, const settings *s)
{
    char name[64];
    ls_node *h;

    h = ls_layer_norm(x, block_name(name, i, "LayerNorm_0"));
    h = ls_self_attention(h, (int)s->heads, causal,
                          block_name(name, i, "SelfAttention_0"));
    x = ls_add(x, drop(h, s, block_name(name, i, "Dropout_0")));
    h = ls_layer_norm(x, block_name(name, i, "LayerNorm_1"));
    h = ls_gelu(ls_dense(h, s->d_ff, block_name(name, i, "Dense_0")));
    h = ls_dense(h, s->d_model, block_name(name, i, "Dense_1"));
    return ls_add(x, drop(h, s, block_name(name, i, "Dropout_1")));
}

static void transformer(ls_graph *g, bool causal, const settings *s)
{
    ls_node *tokens = ls_input(g, "tokens", LS_I32, 1, &s->seq_len);
    ls_node *x = ls_embed(tokens, s->vocab, s->d_model, "tok_emb");

    x = drop(ls_position(x, "pos_emb"), s, "Dropout_0");
    for (int64_t i = 0; i < s->layers && x; i++)
        x = block(x, i, causal, s);
    x = ls_dense_no_bias(ls_layer_norm(x, "ln_f"), s->vocab, "head");
    ls_output(g, x, "logits");
    ls_loss(g, ls_next_token_loss(x, tokens));
}

static void lm_build(ls_graph *g, const settings *s)
{
    transformer(g, false, s);
}

static const model lm = {
    .keys = LS_KEYS_LINEN,
    .parallel_only = true,
    .tokens = true,
    .load = lm_load,
    .build = lm_build,
};

/* ------ gpt: the same with a causal mask, on text byte by byte ------ */

static int gpt_load(data *d, settings *s, const opt_line *line)
{
    (void)line;
    if (!s->data)
        return opt_fail(OPT_WRONG, "gpt needs --data FILE, a text");
    return text_load(&d->text, s->data, s->eval_data, s->seq_len, s->vocab,
                     ls_key_new(s->data_seed));
}

static void gpt_build(ls_graph *g, const settings *s)
{
    transformer(g, true, s);
}

static const model gpt = {
    .keys = LS_KEYS_LINEN,
    .tokens = true,
    .load = gpt_load,
    .build = gpt_build,
};

/* ------ The tables ------ */

/* clang-format off */
/* Defaults of a model's own; the options' suit mlp and cnn. */
static const opt_start own_linear[] = {
    { "rows", "64" }, { "d-in", "8" }, { "batch", "" }, { "steps", "1" },
    { "epochs", "" }, { "optimizer", "sgd" }, { "lr", "0.1" },
    { "log-every", "1" }, { NULL, NULL },
};
static const opt_start own_lm[] = {
    { "seed", "42" }, { "data-seed", "1234" }, { "rows", "8192" },
    { "batch", "32" }, { "steps", "50" }, { "epochs", "" },
    { "optimizer", "adamw" }, { "lr", "0.0003" }, { "log-every", "10" },
    { NULL, NULL },
};
static const opt_start own_gpt[] = {
    { "seed", "42" }, { "data-seed", "1234" }, { "vocab", "256" },
    { "batch", "32" }, { "steps", "1000" }, { "optimizer", "adamw" },
    { "lr", "0.0003" }, { "log-every", "10" }, { NULL, NULL },
};

/* Who takes an option, in the order of the table. */
enum {
    LINEAR = 1, LM = 2, MLP = 4, GPT = 8, CNN = 16,
    IMAGES = MLP | CNN,
    ROWS = LINEAR | LM | IMAGES,
    TOKENS = LM | GPT,
};

static const opt_model models[] = {
    { "linear", "linear regression: one dense layer, mean squared error",
      "Without --x and --y the data is randn x (rows,d-in), then y "
      "(rows,d-out).", &linear,
      own_linear },
    { "lm", "transformer language model, WITHOUT a causal mask",
      "There is no causal mask: every position attends to every other, the "
      "next token\nit is to predict among them.  The loss is of use to compare "
      "machines and\nprograms; the model cannot generate text.  The position "
      "table is trained.\nWithout --x the tokens are random integers "
      "(rows,seq-len) below vocab.", &lm, own_lm },
    { "mlp", "classifier: dense layers with an activation between them",
      "--data is a folder or a file of images in CIFAR-10's binary form, IDX "
      "(MNIST's,\nplain or gzip'd) or .npy, labels beside it; sizes and "
      "classes follow it.\nA folder's test set, or --eval-data, is evaluated "
      "after each epoch.\n"
      "Without files the rows are made of classes: a centre each, randn, "
      "and\nrandn noise of deviation 3 around it.  Parameters are named as nnx "
      "names a\nlist of nnx.Linear: layers.0.kernel, layers.0.bias and so on.",
      &mlp, NULL },
    { "gpt", "transformer language model with a causal mask, on any text file",
      "The text is read byte by byte.  Each step takes random windows of "
      "seq-len\nbytes from its first nine tenths; the last tenth is held out "
      "for --eval-every.\nWith --eval-data all of --data is trained on.  The "
      "model is lm's but for the\nmask.", &gpt, own_gpt },
    { "cnn", "image classifier: 3x3 convolutions, relu, 2x2 max pools, "
      "dense",
      "--data is a folder or a file of images as mlp takes them; image and "
      "classes\nfollow it.  A folder's test set, or --eval-data, is evaluated "
      "after each epoch.\n"
      "Without files each step has a new batch of random images and labels, "
      "as the\nprogram it reproduces is tested with; nothing can be learnt "
      "from it.", &cnn, NULL },
};

#define AT(member) offsetof(settings, member)

static const opt options[] = {
    /* name, value, type, where, models, default, help */
    { "devices", "N|auto", OPT_DEVICES, AT(devices), OPT_ALL, "8",
      "shards of each batch; auto: the usable cores" },
    { "workers", "N", OPT_WORKERS, AT(workers), OPT_ALL, "",
      "threads; never changes a result (min(devices, cores))" },
    { "allow-single", NULL, OPT_FLAG, AT(allow_single), LINEAR | LM, "",
      "let lm run on one device" },
    { "seed", "S", OPT_SEED, AT(seed), OPT_ALL, "0",
      "of the initial parameters" },
    { "data-seed", "S", OPT_SEED32, AT(data_seed), OPT_ALL, "7",
      "of generated data, of the order, of windows" },
    { "x", "FILE.npy", OPT_TEXT, AT(x), ROWS, "",
      "(N,d-in), (N,T) or (N,H,W,C)" },
    { "y", "FILE.npy", OPT_TEXT, AT(y), LINEAR | IMAGES, "",
      "(N,d-out); mlp, cnn: N labels" },
    { "mask", "FILE.npy", OPT_TEXT, AT(mask), ROWS, "",
      "weights of the rows of --x" },
    { "data", "PATH", OPT_TEXT, AT(data), MLP | GPT | CNN, "",
      "images (CIFAR, IDX, .npy), or a text" },
    { "eval-data", "PATH", OPT_TEXT, AT(eval_data), MLP | GPT | CNN, "",
      "the same, to evaluate on" },
    { "mean", "A,B,..", OPT_TEXT, AT(norm_mean), IMAGES, "",
      "of each channel, taken from [0,1] images" },
    { "std", "A,B,..", OPT_TEXT, AT(norm_std), IMAGES, "",
      "what they are divided by then" },
    { "rows", "N", OPT_COUNT, AT(rows), LINEAR | LM | MLP, "4096",
      "size of generated data" },
    { "d-in", "N", OPT_COUNT, AT(d_in), LINEAR | MLP, "64",
      "width of x" },
    { "d-out", "N", OPT_COUNT, AT(d_out), LINEAR, "4",
      "width of y" },
    { "classes", "N", OPT_COUNT, AT(classes), IMAGES, "10",
      "labels are below this" },
    { "image", "HxWxC", OPT_TEXT, AT(image), CNN, "32x32x3",
      "height, width and channels of an image" },
    { "channels", "A,B,..", OPT_TEXT, AT(channels), CNN, "32,64",
      "of the convolutions" },
    { "hidden", "A,B,..", OPT_TEXT, AT(hidden), MLP, "512,512",
      "widths of the hidden layers" },
    { "activation", "relu|tanh|gelu|sigmoid", OPT_CHOICE,
      AT(activation), MLP, "relu",
      "after each hidden layer" },
    { "dropout", "P", OPT_DECAY, AT(dropout), MLP | GPT | CNN, "0",
      "share of values dropped in training" },
    { "vocab", "N", OPT_COUNT, AT(vocab), TOKENS, "512",
      "tokens are below this" },
    { "seq-len", "N", OPT_COUNT, AT(seq_len), TOKENS, "64",
      "tokens of a row" },
    { "d-model", "N", OPT_COUNT, AT(d_model), TOKENS, "256",
      "width of the model" },
    { "heads", "N", OPT_COUNT, AT(heads), TOKENS, "8",
      "attention heads; must divide d-model" },
    { "layers", "N", OPT_COUNT, AT(layers), TOKENS, "4",
      "transformer blocks" },
    { "d-ff", "N", OPT_COUNT, AT(d_ff), TOKENS, "1024",
      "width inside a block's dense layers" },
    { "batch", "N", OPT_COUNT, AT(batch), OPT_ALL, "128",
      "rows of a step, all devices; linear: all rows" },
    { "batch-per-device", "N", OPT_COUNT, AT(batch_per_device), OPT_ALL, "",
      "the same, of one device" },
    { "steps", "N", OPT_NUMBER, AT(steps), OPT_ALL, "",
      "updates; past the end of data it starts again" },
    { "epochs", "N", OPT_COUNT, AT(epochs), ROWS, "10",
      "passes over data, not --steps" },
    { "uneven", "drop|pad", OPT_CHOICE, AT(uneven), OPT_ALL, "drop",
      "skip short batches, or fill with weight 0" },
    { "shuffle", NULL, OPT_FLAG, AT(shuffle), IMAGES, "",
      "a new order in each epoch (files only)" },
    { "no-shuffle", NULL, OPT_FLAG, AT(no_shuffle), IMAGES, "",
      "rows in the order they have" },
    { "optimizer", "sgd|momentum|nesterov|adam|adamw", OPT_CHOICE,
      AT(optimizer), OPT_ALL, "adam",
      "the update rule, as optax defines it" },
    { "lr", "X", OPT_REAL, AT(lr), OPT_ALL, "0.001",
      "learning rate" },
    { "momentum", "X", OPT_DECAY, AT(momentum), OPT_ALL, "0.9",
      "of momentum and nesterov" },
    { "b1", "X", OPT_DECAY, AT(b1), OPT_ALL, "0.9",
      "decay of the first moment, adam and adamw" },
    { "b2", "X", OPT_DECAY, AT(b2), OPT_ALL, "0.999",
      "decay of the second moment, adam and adamw" },
    { "eps", "X", OPT_REAL, AT(eps), OPT_ALL, "1e-8",
      "added to the root, adam and adamw" },
    { "weight-decay", "X", OPT_REAL, AT(weight_decay), OPT_ALL, "0.0001",
      "of adamw" },
    { "schedule", "constant|linear|cosine|exponential|piecewise", OPT_CHOICE,
      AT(schedule), OPT_ALL, "constant",
      "the learning rate over time" },
    { "warmup", "N", OPT_NUMBER, AT(warmup), OPT_ALL, "0",
      "first updates, from rate 0 up to lr; any schedule" },
    { "decay-steps", "N", OPT_COUNT, AT(decay_steps), OPT_ALL, "",
      "end of linear, cosine; unit of exponential (steps)" },
    { "decay-rate", "X", OPT_REAL, AT(decay_rate), OPT_ALL, "",
      "exponential: the factor of every decay-steps updates" },
    { "end-lr", "X", OPT_REAL, AT(end_lr), OPT_ALL, "0",
      "where linear, cosine, exponential (0: nowhere) end" },
    { "boundaries", "STEP:FACTOR,...", OPT_TEXT, AT(boundaries), OPT_ALL, "",
      "piecewise: factors from these steps on" },
    { "scale-lr", NULL, OPT_FLAG, AT(scale_lr), OPT_ALL, "",
      "multiply lr by batch / 32" },
    { "clip-norm", "X", OPT_REAL, AT(clip_norm), OPT_ALL, "0",
      "clip the gradient to this global norm; 0: no" },
    { "accumulate", "K", OPT_WORKERS, AT(accumulate), OPT_ALL, "1",
      "cut the batch into K micro-batches for one update" },
    { "precision", "f32|bf16-input", OPT_CHOICE, AT(precision), OPT_ALL, "f32",
      "round inputs (no tokens) to bf16, or not" },
    { "state", "replicate|shard|PATTERN=AXIS,..", OPT_TEXT,
      AT(state), OPT_ALL, "replicate",
      "who updates which parameters: same bits" },
    { "masked-mean", "exact|per-shard", OPT_CHOICE, AT(mean), ROWS, "exact",
      "of rows, or of devices' means" },
    { "log-every", "N", OPT_NUMBER, AT(log_every), OPT_ALL, "100",
      "a line at 0, N, 2N.. and the last; 0: none" },
    { "eval-every", "N", OPT_NUMBER, AT(eval_every), MLP | GPT | CNN, "0",
      "after N, 2N.. updates, and at the end" },
    { "sample", "N", OPT_NUMBER, AT(sample), GPT, "0",
      "print N bytes of generated text at the end" },
    { "temperature", "X", OPT_REAL, AT(temperature), GPT, "0.8",
      "of the sample; below 1 the likely is likelier" },
    { "metrics", "FILE.jsonl", OPT_TEXT, AT(metrics), OPT_ALL, "",
      "write loss and timing of every step as JSON lines" },
    { "init", "FILE.safetensors", OPT_TEXT, AT(init), OPT_ALL, "",
      "start from these parameters" },
    { "init-only", "PATTERN", OPT_TEXT, AT(init_only), OPT_ALL, "",
      "of --init only those whose name matches" },
    { "trace", "FILE.json", OPT_TEXT, AT(trace), OPT_ALL, "",
      "write who did what when, for ui.perfetto.dev" },
    { "trace-level", "1|2", OPT_CHOICE, AT(trace_level), OPT_ALL, "1",
      "phases; 2: operators too" },
    { "stall-seconds", "S", OPT_REAL, AT(stall_seconds), OPT_ALL, "0",
      "say who does what if no step ends for so long" },
    { "save", "FILE.safetensors", OPT_TEXT, AT(save), OPT_ALL, "",
      "write the parameters at the end" },
    { "checkpoint", "DIR", OPT_TEXT, AT(checkpoint), OPT_ALL, "",
      "keep checkpoints in this folder" },
    { "checkpoint-every", "N", OPT_NUMBER, AT(checkpoint_every), OPT_ALL, "100",
      "after N, 2N.. steps and the last; 0: only that" },
    { "keep", "K", OPT_NUMBER, AT(keep), OPT_ALL, "3",
      "the newest that stay; 0: all" },
    { "resume", NULL, OPT_FLAG, AT(resume), OPT_ALL, "",
      "go on from the newest in DIR, if there is one" },
    { "backend", "native|blis|onednn", OPT_WORD, AT(backend), OPT_ALL, "",
      "matrix kernels; native and blis give the same bytes" },
};
/* clang-format on */

_Static_assert(sizeof options / sizeof *options <= OPT_MAX,
               "opt_line has no room for so many options");

const opt_program model_program = {
    .about = "Train a model data-parallel on the cores of this machine.",
    .models = models,
    .model_count = sizeof models / sizeof *models,
    .options = options,
    .option_count = sizeof options / sizeof *options,
};
