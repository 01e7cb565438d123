/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of data_settings.h. */
#include "data/data_settings.h"
#include "data/data.h"

static const opt_word tasks[] = {{"auto", LS_TABLE_AUTO},
                                 {"classification", LS_TABLE_CLASSIFICATION},
                                 {"regression", LS_TABLE_REGRESSION},
                                 {NULL, 0}};

static const opt_word missing[] = {
    {"refuse", DATA_REFUSE}, {"mean", DATA_MEAN}, {NULL, 0}};

static const opt_word unlabelled[] = {
    {"refuse", DATA_REFUSE}, {"drop", DATA_DROP}, {NULL, 0}};

static const opt_word balances[] = {{"even", 0}, {"balanced", 1}, {NULL, 0}};

static const opt_word uneven[] = {
    {"drop", UNEVEN_DROP}, {"pad", UNEVEN_PAD}, {NULL, 0}};

#define AT(member) offsetof(data_settings, member)

/* clang-format off */
static const opt rows[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("data-seed", "S", OPT_SEED32, AT(seed), ALL, "7",
              "of generated data, of the order, of windows") },
    { OPT_ROW("x", "FILE.npy", OPT_TEXT, AT(x), FOR(ROWS), "",
              "(N,d-in), (N,T) or (N,H,W,C)"), READS },
    { OPT_ROW("y", "FILE.npy", OPT_TEXT, AT(y), FOR("linear", IMAGES), "",
              "(N,d-out); mlp, cnn: N labels"), READS },
    { OPT_ROW("mask", "FILE.npy", OPT_TEXT, AT(mask), FOR(ROWS), "",
              "weights of the rows of --x"), READS },
    { OPT_ROW("data", "PATH", OPT_TEXT, AT(path),
              FOR(TEXT, IMAGES, "table"), "",
              "pictures, CIFAR, IDX or .npy, a text, or a table"),
      .first = 1,
      READS },
    { OPT_ROW("target", "COLUMN", OPT_TEXT, AT(target), FOR(TABLES), "",
              "of a table: what is to be predicted"),
      .first = 1, .needs = "data" },
    { OPT_ROW("ignore", "COLUMN,..", OPT_TEXT, AT(ignore), FOR(TABLES), "",
              "of a table: columns to leave out"), .first = 2, .needs = "data",
      .marks = OF_TABLE },
    { OPT_ROW("task", NULL, OPT_CHOICE, AT(task),
              FOR("mlp", "table", "onnx"), "auto",
              "auto: classes of a text or two whole numbers, else a number"),
      .words = tasks, .marks = OF_FILES },
    { OPT_ROW("missing", NULL, OPT_CHOICE, AT(missing), FOR(TABLES), "refuse",
              "values of a table; mean: the column's in their place"),
      .first = 2,
      .words = missing, .needs = "data", .marks = OF_TABLE },
    { OPT_ROW("missing:target", NULL, OPT_CHOICE, AT(missing_target),
              FOR("mlp", "table", "onnx"), "refuse",
              "rows of a table without a target; drop leaves them out"),
      .was = "missing-target",
      .words = unlabelled, .needs = "data", REPLAYED, .marks = OF_TABLE },
    { OPT_ROW("weight-column", "COLUMN", OPT_TEXT, AT(weights),
              FOR("mlp", "table", "onnx"), "",
              "of a table: what its rows weigh in training"),
      .needs = "data", .marks = OF_TABLE },
    { OPT_ROW("group", "COLUMN", OPT_TEXT, AT(group), FOR("mlp", "table"), "",
              "of a table: --valid and --cv part no rows of one value"),
      .first = 2, NEEDS_ABOVE_0("valid|cv"), .not_with = "time",
      .marks = OF_TABLE },
    { OPT_ROW("time", "COLUMN", OPT_TEXT, AT(time), FOR("mlp", "table"), "",
              "of a table: --valid and --cv hold later rows back"),
      .first = 2, NEEDS_ABOVE_0("valid|cv"), .marks = OF_TABLE },
    { OPT_ROW("text-columns", "HOW", OPT_TEXT, AT(text_columns), FOR("mlp"),
              "onehot", "of a table: onehot, embed or embed:WIDTH"),
      .needs = "target" },
    { OPT_ROW("valid", "X", OPT_DECAY, AT(valid),
              FOR("linear", "lm", "cnn", "resnet", TABLES), "0",
              "share of the rows of files to hold back, as 0.2"), .first = 1,
      .not_with = "mask", .marks = OF_FILES | OF_END },
    { OPT_ROW("class-weights", NULL, OPT_CHOICE, AT(balance),
              FOR(IMAGES, "table"), "even",
              "balanced: the rarer a class, the heavier its rows"),
      .words = balances, .not_with = "mask", .marks = OF_FILES },
    { OPT_ROW("eval-data", "PATH", OPT_TEXT, AT(eval_path),
              FOR(TEXT, IMAGES, "table"), "", "the same, to evaluate on"),
      TRAIN, READS },
    { OPT_ROW("eval-x", "FILE.npy", OPT_TEXT, AT(eval_x), FOR(ROWS), "",
              "rows to evaluate on, as --x"), TRAIN, READS,
      .needs = "x" },
    { OPT_ROW("eval-y", "FILE.npy", OPT_TEXT, AT(eval_y),
              FOR("linear", IMAGES), "", "and their targets, as --y"), TRAIN,
      READS, .needs = "eval-x" },
    { OPT_ROW("mean", "A,B,..", OPT_TEXT, AT(norm_mean), FOR(IMAGES), "",
              "of each channel, taken from [0,1] images"), .marks = OF_IMAGES },
    { OPT_ROW("std", "A,B,..", OPT_TEXT, AT(norm_std), FOR(IMAGES), "",
              "what they are divided by then"), .marks = OF_IMAGES },
    { OPT_ROW("augment", "HOW,..", OPT_TEXT, AT(augment), FOR(IMAGES), "",
              "images anew in each epoch, as flip,crop:4,rotate:10"),
      .marks = OF_IMAGES },
    { OPT_ROW("image:fit", NULL, OPT_CHOICE, AT(image_fit), FOR(IMAGES), "crop",
              "of pictures: their middle, all of it on black, or out of shape"),
      .was = "image-fit",
      .word = normal_fit, .needs = "data", .marks = OF_IMAGES | OF_PICTURES },
    { OPT_ROW("skip-broken", NULL, OPT_FLAG, AT(skip_broken), FOR(IMAGES), "",
              "leave out files that are no pictures, or broken"),
      .needs = "data", .marks = OF_IMAGES | OF_PICTURES },
    { OPT_ROW("rows", "N", OPT_COUNT, AT(rows),
              FOR("linear", "lm", "mlp"), "4096", "size of generated data") },
};

static const opt cut[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("batch", "N", OPT_COUNT, AT(batch), ALL, "128",
              "rows of a step, all devices; linear: all rows"),
      .not_with = "batch-per-device" },
    { OPT_ROW("batch-per-device", "N", OPT_COUNT, AT(batch_per_device), ALL, "",
              "the same, of one device"), REPLAYED },
    { OPT_ROW("steps", "N", OPT_NUMBER, AT(steps), ALL, "",
              "updates; past the end of data it starts again"),
      .first = 2, TRAIN,
      REPLAYED, .not_with = "epochs" },
    { OPT_ROW("epochs", "N", OPT_COUNT, AT(epochs),
              FOR(ROWS, "rnn", "table"), "10",
              "passes over data, not --steps"), .first = 1, TRAIN, REPLAYED,
      .marks = OF_END },
    { OPT_ROW("uneven", NULL, OPT_CHOICE, AT(uneven), ALL, "drop",
              "skip short batches, or fill with weight 0"), .words = uneven },
    { OPT_ROW("shuffle", NULL, OPT_FLAG, AT(shuffle),
              FOR(IMAGES, "rnn", "table"), "",
              "a new order in each epoch (files only)"),
      .not_with = "no-shuffle", .marks = OF_END },
    { OPT_ROW("no-shuffle", NULL, OPT_FLAG, AT(no_shuffle),
              FOR(IMAGES, "rnn", "table"), "",
              "rows in the order they have"), REPLAYED, .marks = OF_END },
};
/* clang-format on */

const opt_rows data_options = OPT_GROUP("data", rows);
const opt_rows data_cut_options = OPT_GROUP("data", cut);
