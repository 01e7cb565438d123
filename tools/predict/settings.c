/* SPDX-License-Identifier: BSD-3-Clause */
/* See settings.h. */
#include "predict/settings.h"

#include <float.h>

#define AT(member) offsetof(settings, member)

static const opt options[] = {
    {OPT_ROW("output", "F.csv", OPT_TEXT, AT(output), NULL, "",
             "where the lines go; -o F.csv too (standard output)"),
     .marks = OF_ROWS, .use = OPT_WRITTEN},
    {OPT_ROW("of", "NAME", OPT_TEXT, AT(of), NULL, "",
             "which of the model's outputs they are of (the first)"),
     .not_with = "generate", .marks = OF_ROWS},
    {OPT_ROW("onnx", "F.onnx", OPT_TEXT, AT(onnx), NULL, "",
             "write the model for ONNX, of a table with its columns as "
             "inputs; INPUT may be left out then"),
     .use = OPT_ASIDE},
    {OPT_ROW("c", "F.c", OPT_TEXT, AT(c), NULL, "",
             "write the model as C source, F.c and F.h; INPUT may be left "
             "out then"), .not_with = "lora", .use = OPT_SOURCE},
    {OPT_ROW("int8", NULL, OPT_FLAG, AT(int8), NULL, "",
             "in F.c weights and products are of 8 bits"), .needs = "c"},
    {OPT_ROW("lora", "F.safetensors", OPT_TEXT, AT(lora), NULL, "",
             "put these adapters on the model"), .use = OPT_READ},
    {OPT_ROW("score", NULL, OPT_FLAG, AT(score), NULL, "",
             "tell how good the predictions are, of a table with its target "
             "or of images with labels"),
     .not_with = "generate", .marks = OF_ROWS},
    {OPT_ROW("explain", NULL, OPT_FLAG, AT(explain), NULL, "",
             "tell which columns matter, and how far predictions are right"),
     .not_with = "generate", .marks = OF_ROWS},
    {OPT_ROW("plot", "F.svg", OPT_TEXT, AT(plot), NULL, "",
             "and draw it; with --score the residuals of numbers"),
     .needs = "explain|score", .use = OPT_PICTURE},
    {OPT_ROW("threshold", "X", OPT_REAL, AT(threshold), NULL, "",
             "of two classes it is the second, where that is at least so "
             "probable (the likelier)"),
     .least = DBL_MIN, .below = 1, .range = "a number above 0 and below 1",
     .not_with = "generate", .marks = OF_ROWS},
    {OPT_ROW("keep", "COLUMN,..", OPT_TEXT, AT(keep), NULL, "",
             "lines begin with these columns of INPUT; of a series those of "
             "the row that is predicted, after its number"),
     .not_with = "score", .marks = OF_ROWS},
    {OPT_ROW("skip-broken", NULL, OPT_FLAG, AT(skip_broken), NULL, "",
             "leave out files that are no pictures, or broken"),
     .not_with = "generate", .marks = OF_ROWS},
    {OPT_ROW("generate", "N", OPT_COUNT, AT(generate), NULL, "",
             "write N bytes of text; there is no INPUT then")},
    {OPT_ROW("prompt", "TEXT", OPT_TEXT, AT(prompt), NULL, "",
             "the text to go on with (a newline, which is not written)"),
     .needs = "generate"},
    {OPT_ROW("temperature", "X", OPT_REAL, AT(temperature), NULL, "0.8",
             "below 1 likely bytes become likelier; 0: the likeliest"),
     .needs = "generate"},
    {OPT_ROW("top-k", "K", OPT_COUNT, AT(top_k), NULL, "",
             "draw from the K likeliest bytes (all); with --score tell how "
             "often the class is among the K likeliest"),
     .needs = "generate|score"},
    {OPT_ROW("seed", "S", OPT_SEED32, AT(seed), NULL, "1234",
             "of what is drawn; as --data-seed for --sample"),
     .needs = "generate"},
};

const opt_rows settings_rows = OPT_ROWS(options);

static const opt_model only = {
    .name = "",
    .about = "Write what a model file predicts for each row of INPUT, a table "
             "(.csv), an array\nin a .npy file, images, or for each of the "
             "pictures that are named: a header\nline, then a line a row.  "
             "With --generate the text that a model of text writes.",
};
const opt_model *const settings_models[] = {&only};
