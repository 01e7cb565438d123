/* SPDX-License-Identifier: BSD-3-Clause */
/* mlp and cnn: classifiers of images, or of rows of numbers. */
#include "model/model_parts.h"
#include "model/selection.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ------ What both take ------ */

enum { WIDEST = 1000000000 };

int model_widths(const char *option, const char *text,
                 int64_t widths[MODEL_LAYERS], int *n)
{
    const opt_list list = {.option = option, .between = ',', .high = WIDEST,
                           .least = 1, .most = MODEL_LAYERS,
                           .no_list = "is not a list of widths as 512,512"};

    return opt_numbers(&list, text, widths, n);
}

static int too_many(const char *path, const char *of, int64_t labels,
                    int64_t classes)
{
    return opt_fail(OPT_WRONG, "%s: %slabels up to %lld, but %lld classes; "
                    "--classes sets their number", path, of,
                    (long long)labels - 1, (long long)classes);
}

int model_image_size(const char *text, int64_t size[3])
{
    static const opt_list list = {.option = "image", .between = 'x',
                                  .high = 65536, .least = 3, .most = 3,
                                  .no_list = "is no size as 32x32x3"};
    int n;

    return opt_numbers(&list, text, size, &n);
}

/* Sizes follow the data: those named by the user must be the data's. */
static int follow_image(const data *d, settings *s, const opt_line *line,
                        const char *path)
{
    const int64_t *shape = d->source.arrays[0].shape;
    char *size = s->model.image_room;

    snprintf(size, sizeof s->model.image_room, "%lldx%lldx%lld",
             (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    if (opt_given(line, "image") && strcmp(s->model.image, size))
        return opt_fail(OPT_WRONG, "%s has images of %s where --image says %s",
                        path, size, s->model.image);
    s->model.image = size;
    return OPT_GO;
}

/* --classes, or as many as the labels have, those of the test set too. */
static int follow_classes(const data *d, settings *s, const opt_line *line,
                          const char *path)
{
    if (!opt_given(line, "classes"))
        s->model.classes = d->source.classes;
    if (s->model.classes < d->source.classes)
        return too_many(path, "", d->source.classes, s->model.classes);
    if (s->model.classes < d->evaluation.classes)
        return too_many(s->data.eval_path ? s->data.eval_path : path,
                        "the test set's ", d->evaluation.classes,
                        s->model.classes);
    return OPT_GO;
}

int model_image_files(data *d, settings *s, const opt_line *line)
{
    image_files f = {.path = s->data.path,
                     .evaluation = s->data.eval_path,
                     .mean = s->data.norm_mean,
                     .std = s->data.norm_std,
                     .fit = s->data.image_fit,
                     .skip_broken = s->data.skip_broken,
                     .classes = opt_given(line, "classes") ? s->model.classes
                                                           : 0,
                     .valid = s->data.valid,
                     .augment = s->data.augment,
                     .seed = s->data.seed,
                     .x = s->model.x,
                     .y = s->model.y};
    int status = OPT_GO;

    if (opt_given(line, "image") || s->model.file)
        status = model_image_size(s->model.image, f.shape);
    if (status != OPT_GO)
        return status;
    if (s->data.x) {
        f.path = s->data.x;
        f.labels = s->data.y;
        f.evaluation = s->data.eval_x;
        f.eval_labels = s->data.eval_y;
    }
    status = data_images(d, &f);
    s->model.mixes = d->augment.mixup > 0;
    if (status == OPT_GO && !d->normal.classes) /* they have no folders */
        status = opt_refuse_idle(line, OF_PICTURES, " is for folders of "
                                 "pictures");
    if (status == OPT_GO)
        status = model_follow(line, "rows", &s->data.rows, d->rows, f.path);
    if (status == OPT_GO)
        status = follow_image(d, s, line, f.path);
    if (status == OPT_GO)
        status = follow_classes(d, s, line, f.path);
    return status == OPT_GO ? model_load_rest(d, s) : status;
}

/* Refuses the options of images. */
static int check_no_images(const opt_line *line)
{
    return opt_refuse(line, OF_IMAGES, " is for images of files");
}

/* The same of rows that have one axis. */
static int check_rows(const opt_line *line)
{
    return opt_given(line, "image")
               ? opt_fail(OPT_WRONG, "--image is for images; --d-in is the "
                          "width of other rows")
               : check_no_images(line);
}

/* ------ mlp: dense layers and an activation between them, classes ------ */

static int mlp_images(data *d, settings *s, const opt_line *line)
{
    int status = model_image_files(d, s, line);
    const int64_t *image;

    if (status != OPT_GO)
        return status;
    image = d->source.arrays[0].shape;
    return model_follow(line, "d-in", &s->model.d_in,
                        image[0] * image[1] * image[2],
                        s->data.path ? s->data.path : s->data.x);
}

/* --classes, or one more than the largest label. */
static int count_classes(const ls_array *labels, settings *s,
                         const opt_line *line)
{
    bool given = opt_given(line, "classes");
    const int32_t *y = labels->data;
    int64_t most = 0;

    for (int64_t i = 0; i < labels->shape[0]; i++)
        most = y[i] > most ? y[i] : most;
    s->model.classes = given ? s->model.classes : most + 1;
    return data_labels(labels, s->data.y, s->model.classes, true);
}

void model_table_defaults(settings *s, const opt_line *line)
{
    s->data.shuffle = !s->data.no_shuffle;
    if (!opt_given(line, "epochs"))
        s->data.epochs = 50;
    if (!opt_given(line, "uneven"))
        s->data.uneven = UNEVEN_PAD;
}

/* The table that the settings name. */
static table_file table_of(const settings *s)
{
    return (table_file){
        .path = s->data.path,
        .weights = s->data.weights,
        .group = s->data.group,
        .time = s->data.time,
        .valid = s->data.valid,
        .seed = s->data.seed,
        .fold = s->data.fold,
        .folds = s->data.folds,
        .x = s->model.x,
        .y = s->model.y,
        .wants = {.target = s->data.target,
                  .ignore = s->data.ignore,
                  .task = (ls_table_task)s->data.task,
                  .missing_mean = s->data.missing == DATA_MEAN,
                  .robust = s->model.recipe != MODEL_PLAIN,
                  .drop_no_target = s->data.missing_target == DATA_DROP}};
}

int model_table_rows(data *d, settings *s, const opt_line *line)
{
    table_file f = table_of(s);
    int status = check_rows(line);
    int64_t rows;

    if (status == OPT_GO && s->data.text_columns)
        status = embed_read(s->data.text_columns, &s->model.words);
    if (status == OPT_GO)
        status = data_table(d, &f);
    if (status == OPT_GO && s->model.words.is)
        status = embed_check(data_coding(d), s->data.path);
    if (status != OPT_GO)
        return status;
    s->model.coding = data_coding(d);
    s->model.regression = data_target(d).words == 0;
    if (s->model.regression && opt_given(line, "classes"))
        return opt_fail(OPT_WRONG, "--classes: \"%s\" is a number, so it is "
                        "the target of a regression; --task classification "
                        "makes classes of whole ones", s->data.target);
    if ((status = select_check(s->model.select, data_target(d))) != OPT_GO)
        return status;
    s->model.d_out = 1;
    rows = d->rows + d->held_out[0].shape[0] + d->fold[0].shape[0];
    status = model_follow(line, "rows", &s->data.rows, rows, s->data.path);
    if (status == OPT_GO)
        status = model_follow(line, "d-in", &s->model.d_in,
                              ls_coding_width(s->model.coding),
                              s->data.path);
    if (status == OPT_GO && !s->model.regression)
        status = model_follow(line, "classes", &s->model.classes,
                              data_target(d).words, s->data.path);
    if (status == OPT_GO && s->data.eval_path)
        status = data_table_held(d, s->data.eval_path);
    return status == OPT_GO ? model_load_rest(d, s) : status;
}

/* Labels, or with --task regression numbers as they are. */
static int mlp_rows(data *d, settings *s, const opt_line *line)
{
    bool numbers = s->data.task == LS_TABLE_REGRESSION;
    int status = check_rows(line);

    if (status == OPT_GO && numbers)
        status = opt_refuse_idle(line, OF_CLASSES, " is for classes, and not "
                                 "for --task regression");
    if (status == OPT_GO)
        status = model_load_arrays(d, s, line, numbers ? LS_F32 : LS_I32,
                                   numbers ? 2 : 1);
    if (status != OPT_GO)
        return status;
    s->model.regression = numbers;
    if (numbers)
        s->model.d_out = d->input[1].all.shape[1];
    else if ((status = count_classes(&d->input[1].all, s, line)) != OPT_GO)
        return status;
    status = model_load_rest(d, s);
    return status == OPT_GO && !numbers && s->data.eval_y
               ? data_labels(&d->held_out[1], s->data.eval_y, s->model.classes,
                             false)
               : status;
}

/* --x holds rows of numbers, or images, which have more axes. */
static int mlp_files(data *d, settings *s, const opt_line *line)
{
    int64_t shape[LS_MAX_RANK];
    int rank = s->data.x ? data_shape(s->data.x, shape) : 3;

    s->data.shuffle = !s->data.no_shuffle;
    if (rank < 0)
        return opt_check(rank);
    if (rank > 2 && s->data.task == LS_TABLE_REGRESSION)
        return opt_fail(OPT_WRONG, "--task regression is for tables and for "
                        "rows of --x, not for images");
    return rank > 2 ? mlp_images(d, s, line) : mlp_rows(d, s, line);
}

bool model_names_table(const char *path)
{
    return (opt_ends_as(path, ".csv") || opt_ends_as(path, ".tsv")) &&
           access(path, F_OK) == 0;
}

static int mlp_table(data *d, settings *s, const opt_line *line)
{
    int status;

    model_table_defaults(s, line);
    status = model_table_rows(d, s, line);
    s->model.calibrate |= s->model.select == SELECT_LOGLOSS;
    return status == OPT_GO && s->model.regression
               ? opt_refuse_idle(line, OF_CLASSES, " is for classes, and the "
                                 "target is a number")
               : status;
}

static int mlp_load(data *d, settings *s, const opt_line *line)
{
    int64_t widths[MODEL_LAYERS];
    int n, status = model_check_files(s);
    ls_numpy rs;

    if (status == OPT_GO)
        status = model_widths("hidden", s->model.hidden, widths, &n);
    if (status != OPT_GO)
        return status;
    if (s->data.target)
        return mlp_table(d, s, line);
    if (opt_refuse(line, OF_TABLE, " needs --target") != OPT_GO)
        return OPT_WRONG;
    if (s->data.path && model_names_table(s->data.path))
        return opt_fail(OPT_WRONG,
                        "%s: --target names the column that is to "
                        "be predicted",
                        s->data.path);
    if (s->data.x || s->data.path)
        return mlp_files(d, s, line);
    if (check_rows(line) != OPT_GO ||
        opt_refuse_idle(line, OF_FILES, " is for files, --data or --x"))
        return OPT_WRONG;
    ls_numpy_seed(&rs, (uint32_t)s->data.seed);
    return data_classes(d, "x", "y", &rs, s->data.rows, s->model.d_in,
                        s->model.classes);
}

/* "layers.2" and so on, as nnx names a list of nnx.Linear. */
static ls_node *mlp_layer(ls_node *x, int64_t width, int i)
{
    char name[32];

    snprintf(name, sizeof name, "layers.%d", i);
    return ls_dense(x, width, name);
}

/* The words of --activation; the value is the place of its function. */

const opt_word model_activations[] = {
    {"relu", MODEL_RELU}, {"tanh", MODEL_TANH},
    {"gelu", MODEL_GELU}, {"sigmoid", MODEL_SIGMOID},
    {"selu", MODEL_SELU}, {"mish", MODEL_MISH},
    {NULL, 0}};

static ls_node *(*const activations[])(ls_node *) = {
    [MODEL_RELU] = ls_relu, [MODEL_TANH] = ls_tanh, [MODEL_GELU] = ls_gelu,
    [MODEL_SIGMOID] = ls_sigmoid, [MODEL_SELU] = ls_selu,
    [MODEL_MISH] = ls_mish};

ls_node *(*model_activation(int64_t activation))(ls_node *x)
{
    return activation < 0 ? NULL : activations[activation];
}

/* Logits by the temperature, which is 1 in training: --calibrate. */
static ls_node *calibrated(ls_graph *g, ls_node *x, const model_settings *s)
{
    ls_init init = ls_init_constant(1);
    ls_node *by;

    if (!s->calibrate)
        return x;
    by = ls_buffer(g, "temperature", 1, &s->classes);
    ls_init_params(g, "temperature", &init);
    return ls_div(x, by);
}

static void mlp_build(ls_graph *g, const model_settings *s)
{
    int64_t widths[MODEL_LAYERS];
    ls_node *x = ls_input(g, "x", LS_F32, 1, &s->d_in);
    int64_t wanted = s->regression ? s->d_out : s->classes;
    ls_node *y = s->regression ? ls_input(g, "y", LS_F32, 1, &s->d_out)
                               : ls_input(g, "y", LS_I32, 0, NULL);
    int n;

    model_widths("hidden", s->hidden, widths, &n);
    x = model_rounded(x, s);
    if (s->words.is)
        x = embed_words(g, x, s->coding, &s->words);
    for (int i = 0; i < n; i++) {
        x = model_activation(s->activation)(mlp_layer(x, widths[i], i));
        x = model_drop(x, s->dropout, "dropout");
    }
    x = mlp_layer(x, wanted, n);
    ls_output(g, calibrated(g, x, s), s->regression ? "prediction" : "logits");
    ls_loss(g, s->regression ? ls_mean_squared_error(x, y)
                             : model_label_loss(g, x, y, 0, s));
}

static const model mlp = {
    .keys = LS_KEYS_NNX,
    .epochs = true,
    .load = mlp_load,
    .build = mlp_build,
};

const opt_model model_mlp = {
    .name = "mlp",
    .about = "dense layers with an activation between them: classes, numbers",
    .note = "--data F.csv --target COLUMN is a table: its columns are "
            "standardised, a\ntarget of text is classes, one of numbers "
            "regression; --valid 0.2 holds a\nfifth back.\nOther --data is a "
            "folder or a file of images in CIFAR-10's binary form, IDX\n"
            "(MNIST's, plain or gzip'd) or .npy, with its labels; sizes and "
            "classes\nfollow it.\nA folder's test set, or --eval-data, is "
            "evaluated after each epoch.\nWithout files the rows are made of "
            "classes: a centre each, randn, and\nrandn noise of deviation 3 "
            "around it.  Parameters are named as nnx names a\nlist of "
            "nnx.Linear: layers.0.kernel, layers.0.bias and so on.",
    .impl = &mlp,
};

/* ------ cnn: two convolutions with relu and pools, one dense layer ------ */

static int cnn_noise(data *d, settings *s, const opt_line *line,
                     const int64_t image[3])
{
    if (!opt_given(line, "steps"))
        s->data.steps = 100;
    s->data.epochs = 0;
    d->noise = (noise){.seed = (uint32_t)s->data.seed,
                       .size = image[0] * image[1] * image[2],
                       .classes = s->model.classes};
    return OPT_GO;
}

int model_load_images(data *d, settings *s, const opt_line *line)
{
    int64_t image[3], widths[MODEL_LAYERS];
    int n, status = model_check_files(s);

    if (status == OPT_GO)
        status = model_image_size(s->model.image, image);
    if (status == OPT_GO && s->model.channels) /* resnet has none */
        status = model_widths("channels", s->model.channels, widths, &n);
    if (status != OPT_GO)
        return status;
    if (s->data.path && model_names_table(s->data.path))
        return opt_fail(OPT_WRONG, "%s: cnn and resnet take images; mlp and "
                        "rnn take tables", s->data.path);
    if (s->data.x || s->data.path) {
        s->data.shuffle = !s->data.no_shuffle;
        return model_image_files(d, s, line);
    }
    status = check_no_images(line);
    if (status == OPT_GO)
        status = opt_refuse_idle(line, OF_FILES | OF_END, " is for files, "
                                 "--data or --x: without any there is a new "
                                 "batch each step");
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

static void cnn_build(ls_graph *g, const model_settings *s)
{
    int64_t image[3], widths[MODEL_LAYERS];
    ls_node *x, *y = ls_input(g, "y", LS_I32, 0, NULL);
    int n;

    model_image_size(s->image, image);
    model_widths("channels", s->channels, widths, &n);
    x = model_rounded(ls_input(g, "x", LS_F32, 3, image), s);
    for (int i = 0; i < n; i++)
        x = cnn_layer(x, widths[i], i + 1);
    x = model_drop(ls_flatten(x), s->dropout, "dropout");
    x = ls_dense(x, s->classes, "dense");
    ls_output(g, x, "logits");
    ls_loss(g, model_label_loss(g, x, y, 0, s));
}

static const model cnn = {
    .keys = LS_KEYS_NNX,
    .epochs = true,
    .load = model_load_images,
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
