/* SPDX-License-Identifier: BSD-3-Clause */
/* resnet: the residual networks of He et al. 2016 (section 4.2) for images of
 * CIFAR's size: depth 6n+2, three stages of n blocks. */
#include "model/model_parts.h"

#include <stdio.h>
#include <string.h>

enum { STAGES = 3, GROUPS = 8 };

static bool is_depth(int64_t depth)
{
    return depth >= 8 && depth <= 56 && depth % 6 == 2;
}

static int resnet_load(data *d, settings *s, const opt_line *line)
{
    const model_settings *m = &s->model;

    if (!is_depth(m->depth))
        return opt_fail(OPT_WRONG, "--depth %lld: it is 8, 14, 20, and so on "
                        "to 56", (long long)m->depth);
    if (m->norm < MODEL_BATCH || m->norm > MODEL_GROUP)
        return opt_fail(OPT_WRONG, "--norm: resnet has batch, batch-of-shard "
                        "or group");
    if (m->norm == MODEL_GROUP && m->width % GROUPS)
        return opt_fail(OPT_WRONG, "--depth :width=%lld: with --norm group "
                        "it is a multiple of %d", (long long)m->width, GROUPS);
    return model_load_images(d, s, line);
}

/* ------ the network ------ */

/* A window of 3x3, with a pixel of zeros on all sides of the image: with a
 * stride, too, its middle is the pixel that the shortcut takes. */
static ls_node *conv(ls_node *x, int64_t n, int64_t stride, const char *name)
{
    ls_conv_options o = ls_conv_defaults();

    o.no_bias = true;
    o.stride_y = o.stride_x = stride;
    o.padding = LS_EXPLICIT;
    o.top = o.bottom = o.left = o.right = 1;
    return ls_conv2d_with(x, n, 3, 3, &o, name);
}

static ls_node *norm(ls_node *x, const model_settings *s, const char *name)
{
    ls_batch_norm_options o = ls_batch_norm_defaults();
    ls_norm_options of_groups = ls_norm_defaults();

    of_groups.epsilon = o.epsilon;
    if (s->norm == MODEL_GROUP)
        return ls_group_norm_with(x, GROUPS, &of_groups, name);
    if (s->norm == MODEL_SHARD)
        o.statistics = LS_STATISTICS_OF_SHARD;
    return ls_batch_norm_with(x, &o, name);
}

/* "stage1.block0.conv2" in room. */
static const char *part(char room[64], int stage, int64_t block,
                        const char *layer)
{
    snprintf(room, 64, "stage%d.block%lld.%s", stage, (long long)block, layer);
    return room;
}

/* The value itself; where a stage begins, each second pixel of it, and zeros
 * for the channels that it lacks: without parameters (option A). */
static ls_node *shortcut(ls_node *x, int64_t stride)
{
    ls_node *both[2];

    if (stride == 1)
        return x;
    both[0] = ls_max_pool(x, (ls_window){1, 1, stride, stride, LS_VALID});
    both[1] = ls_scale_shift(both[0], 0, 0);
    return ls_concat(both, 2, 2);
}

static ls_node *block(ls_node *x, const model_settings *s, int stage, int64_t i)
{
    int64_t width = s->width << (stage - 1);
    int64_t stride = stage > 1 && i == 0 ? 2 : 1;
    char name[64];
    ls_node *y;

    y = conv(x, width, stride, part(name, stage, i, "conv1"));
    y = ls_relu(norm(y, s, part(name, stage, i, "norm1")));
    y = conv(y, width, 1, part(name, stage, i, "conv2"));
    y = norm(y, s, part(name, stage, i, "norm2"));
    return ls_relu(ls_add(y, shortcut(x, stride)));
}

static void resnet_build(ls_graph *g, const model_settings *s)
{
    ls_node *x, *y = ls_input(g, "y", LS_I32, 0, NULL);
    ls_init he;
    int64_t image[3];

    model_image_size(s->image, image);
    x = model_rounded(ls_input(g, "x", LS_F32, 3, image), s);
    x = ls_relu(norm(conv(x, s->width, 1, "conv"), s, "norm"));
    for (int stage = 1; stage <= STAGES; stage++)
        for (int64_t i = 0; i < (s->depth - 2) / 6; i++)
            x = block(x, s, stage, i);
    ls_init_named(&he, "he-normal");
    ls_init_params(g, "*kernel", &he);
    x = ls_mean_over(x, 2, (const int[]){0, 1});
    x = ls_dense(model_drop(x, s->dropout, "dropout"), s->classes, "dense");
    ls_output(g, x, "logits");
    ls_loss(g, model_label_loss(g, x, y, s->smoothing, s));
}

static const model resnet = {
    .keys = LS_KEYS_NNX,
    .epochs = true,
    .load = resnet_load,
    .build = resnet_build,
};

static const opt_start own[] = {
    {"norm", "batch"}, {"smoothing", "0"}, {"optimizer", "nesterov"},
    {"lr", "0.1"}, {"schedule", "cosine"}, {NULL, NULL}};

const opt_model model_resnet = {
    .name = "resnet",
    .about = "image classifier: the residual network of He et al. for CIFAR",
    .note = "--data is a folder or a file of images as mlp takes them; image "
            "and classes\nfollow it.  A folder's test set, or --eval-data, is "
            "evaluated after each epoch.\n--depth is 6n+2: three stages of n "
            "blocks, with :width channels and twice and\nfour times as many; "
            "global average pooling; shortcuts without parameters.\n"
            "--optimizer :l2=5e-4,no-decay pulls kernels alone; --ema, "
            "--augment and\n--smoothing go with it.",
    .impl = &resnet,
    .own = own,
};
