/* mlp and cnn: classifiers of images, or of rows of numbers. */
#include "model_parts.h"

#include <stdio.h>
#include <string.h>

/* ------ What both take ------ */

enum { MOST_LAYERS = 64, WIDEST = 1000000000 };

/* --hidden and --channels: *n widths in order. */
static int read_widths(const char *option, const char *text,
                       int64_t widths[MOST_LAYERS], int *n)
{
    const opt_list list = {.option = option, .between = ',', .high = WIDEST,
                           .least = 1, .most = MOST_LAYERS,
                           .no_list = "is not a list of widths as 512,512"};

    return opt_numbers(&list, text, widths, n);
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
        f.evaluation = s->eval_x;
        f.eval_labels = s->eval_y;
    }
    status = data_images(d, &f);
    if (status == OPT_GO)
        status = model_follow(line, "rows", &s->rows, d->rows, f.path);
    if (status != OPT_GO)
        return status;
    if (!opt_given(line, "classes"))
        s->classes = d->source.classes;
    if (s->classes < d->source.classes)
        return too_many(f.path, "", d->source.classes, s->classes);
    if (s->classes < d->evaluation.classes)
        return too_many(s->eval_data ? s->eval_data : f.path, "the test set's ",
                        d->evaluation.classes, s->classes);
    return model_load_rest(d, s);
}

/* Of the options of images. */
static int check_no_images(const settings *s)
{
    if (s->norm_mean || s->norm_std)
        return opt_fail(OPT_WRONG, "--mean and --std are for images");
    return OPT_GO;
}

/* ------ mlp: dense layers and an activation between them, classes ------ */

static int mlp_images(data *d, settings *s, const opt_line *line)
{
    int status = load_images(d, s, line);
    const int64_t *image;

    if (status != OPT_GO)
        return status;
    image = d->source.array[0].shape;
    return model_follow(line, "d-in", &s->d_in, image[0] * image[1] * image[2],
                        s->data ? s->data : s->x);
}

/* One more than the largest label. */
static int64_t count_classes(const ls_array *labels)
{
    const int32_t *y = labels->data;
    int64_t most = 0;

    for (int64_t i = 0; i < labels->shape[0]; i++)
        most = y[i] > most ? y[i] : most;
    return most + 1;
}

static int mlp_rows(data *d, settings *s, const opt_line *line)
{
    int status = check_no_images(s);

    if (status == OPT_GO)
        status = data_load(d, "x", s->x, LS_F32, 2);
    if (status == OPT_GO)
        status = data_load(d, "y", s->y, LS_I32, 1);
    if (status == OPT_GO)
        status = model_follow(line, "rows", &s->rows, d->rows, s->x);
    if (status == OPT_GO)
        status = model_follow(line, "d-in", &s->d_in, d->input[0].all.shape[1],
                              s->x);
    if (status == OPT_GO && !opt_given(line, "classes"))
        s->classes = count_classes(&d->input[1].all);
    return status == OPT_GO ? model_load_rest(d, s) : status;
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
    int n, status = model_check_files(s);
    ls_numpy rs;

    if (status == OPT_GO)
        status = read_widths("hidden", s->hidden, widths, &n);
    if (status != OPT_GO)
        return status;
    if (s->x || s->data)
        return mlp_files(d, s, line);
    if (check_no_images(s) != OPT_GO)
        return OPT_WRONG;
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

/* The words of --activation; the value is the place of its function. */
enum { RELU, TANH, GELU, SIGMOID };

const opt_word model_activations[] = {
    {"relu", RELU}, {"tanh", TANH}, {"gelu", GELU}, {"sigmoid", SIGMOID},
    {NULL, 0}};

static ls_node *(*const activations[])(ls_node *) = {
    [RELU] = ls_relu, [TANH] = ls_tanh, [GELU] = ls_gelu,
    [SIGMOID] = ls_sigmoid};

static void mlp_build(ls_graph *g, const settings *s)
{
    int64_t widths[MOST_LAYERS];
    ls_node *x = ls_input(g, "x", LS_F32, 1, &s->d_in);
    ls_node *y = ls_input(g, "y", LS_I32, 0, NULL);
    int n;

    read_widths("hidden", s->hidden, widths, &n);
    x = model_rounded(x, s);
    for (int i = 0; i < n; i++) {
        x = activations[s->activation](mlp_layer(x, widths[i], i));
        x = model_drop(x, s, "dropout");
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

const opt_model model_mlp = {
    .name = "mlp",
    .about = "classifier: dense layers with an activation between them",
    .note = "--data is a folder or a file of images in CIFAR-10's binary form, "
            "IDX (MNIST's,\nplain or gzip'd) or .npy, labels beside it; sizes "
            "and classes follow it.\nA folder's test set, or --eval-data, is "
            "evaluated after each epoch.\nWithout files the rows are made of "
            "classes: a centre each, randn, and\nrandn noise of deviation 3 "
            "around it.  Parameters are named as nnx names a\nlist of "
            "nnx.Linear: layers.0.kernel, layers.0.bias and so on.",
    .impl = &mlp,
};

/* ------ cnn: two convolutions with relu and pools, one dense layer ------ */

/* The sizes of "32x32x3", height first. */
static int read_image(const char *text, int64_t size[3])
{
    static const opt_list list = {.option = "image", .between = 'x',
                                  .high = 65536, .least = 3, .most = 3,
                                  .no_list = "is no size as 32x32x3"};
    int n;

    return opt_numbers(&list, text, size, &n);
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
    if (opt_given(line, "image") && strcmp(s->image, size))
        return opt_fail(OPT_FAILED, "%s has images of %s where --image says "
                        "%s", s->data ? s->data : s->x, size, s->image);
    s->image = size;
    return OPT_GO;
}

static int cnn_noise(data *d, settings *s, const opt_line *line,
                     const int64_t image[3])
{
    if (opt_given(line, "epochs"))
        return opt_fail(OPT_WRONG, "--epochs is for data: without any "
                        "there is a new batch each step");
    if (!opt_given(line, "steps"))
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
    int n, status = model_check_files(s);

    if (status == OPT_GO)
        status = read_image(s->image, image);
    if (status == OPT_GO)
        status = read_widths("channels", s->channels, widths, &n);
    if (status != OPT_GO)
        return status;
    if (s->x || s->data)
        return cnn_images(d, s, line);
    status = check_no_images(s);
    return status == OPT_GO ? cnn_noise(d, s, line, image) : status;
}

/* "conv1", a 3x3 convolution, its relu and a 2x2 max pooling. */
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
    ls_node *x, *y = ls_input(g, "y", LS_I32, 0, NULL);
    int n;

    read_image(s->image, image);
    read_widths("channels", s->channels, widths, &n);
    x = model_rounded(ls_input(g, "x", LS_F32, 3, image), s);
    for (int i = 0; i < n; i++)
        x = cnn_layer(x, widths[i], i + 1);
    x = model_drop(ls_flatten(x), s, "dropout");
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

const opt_model model_cnn = {
    .name = "cnn",
    .about = "image classifier: 3x3 convolutions, relu, 2x2 max pools, dense",
    .note = "--data is a folder or a file of images as mlp takes them; image "
            "and classes\nfollow it.  A folder's test set, or --eval-data, is "
            "evaluated after each epoch.\nWithout files each step has a new "
            "batch of random images and labels, as the\nprogram it reproduces "
            "is tested with; nothing can be learnt from it.",
    .impl = &cnn,
};
