/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of model_settings.h. */
#include "model/model_settings.h"
#include "data/data_settings.h"
#include "model/selection.h"

#include <lockstep.h>

static const opt_word norms[] = {
    {"layer", MODEL_LAYER}, {"rms", MODEL_RMS}, {"batch", MODEL_BATCH},
    {"batch-of-shard", MODEL_SHARD}, {"group", MODEL_GROUP},
    {"stored", MODEL_STORED}, {NULL, 0}};

static const opt_word positions[] = {{"learned", 0}, {"rotary", 1}, {NULL, 0}};

static const opt_word starts[] = {{"layer", 0}, {"gpt2", 1}, {NULL, 0}};

static const opt_word units[] = {{"gelu", 0}, {"swiglu", 1}, {NULL, 0}};

#define BY_ONNX "export PyTorch's network with torch.onnx.export(..), and " \
                "type lockstep-train onnx --model F.onnx"

static const opt_gone init_gone[] = {
    {"layout", BY_ONNX}, {"names", BY_ONNX}, {NULL, NULL}};

static const opt_word adapters[] = {{"adapters", ADAPT_ALONE},
                                    {"model", ADAPT_MODEL},
                                    {"merged", ADAPT_MERGED},
                                    {NULL, 0}};

static const char *initialiser_word(int64_t i)
{
    return i ? ls_init_name((int)i - 1) : "layer";
}

#define AT(member) offsetof(model_settings, member)
#define OF(member) offsetof(start_settings, member)

/* clang-format off */
static const opt layers[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("d-in", "N", OPT_COUNT, AT(d_in), FOR("linear", "mlp"), "64",
              "width of x") },
    { OPT_ROW("d-out", "N", OPT_COUNT, AT(d_out), FOR("linear"), "4",
              "width of y") },
    { OPT_ROW("model", "F.onnx[:NAME=N,..]", OPT_TEXT, AT(file), FOR("onnx"),
              "", "the network; behind it sizes that it gives names only"),
      .first = 2, READS },
    { OPT_ROW("loss", NULL, OPT_CHOICE, AT(loss), FOR("onnx"), "cross-entropy",
              "of the output and --y; none: the output itself"),
      .first = 2, .words = model_losses },
    { OPT_ROW("output", "NAME", OPT_TEXT, AT(output), FOR("onnx"), "",
              "which output it is of (the first)"), .first = 2 },
    { OPT_ROW("classes", "N", OPT_COUNT, AT(classes), FOR(CLASSIFIERS), "10",
              "labels are below this"), .marks = OF_CLASSES },
    { OPT_ROW("image", "HxWxC", OPT_TEXT, AT(image), FOR(IMAGES), "32x32x3",
              "height, width and channels of an image") },
    { OPT_ROW("channels", "A,B,..", OPT_TEXT, AT(channels), FOR("cnn"), "32,64",
              "of the convolutions") },
    { OPT_ROW("depth", "N", OPT_COUNT, AT(depth), FOR("resnet"), "20",
              "layers with weights: 8, 14, 20, and so on to 56") },
    { OPT_ROW("depth:width", "N", OPT_COUNT, AT(width), FOR("resnet"), "16",
              "channels of the first stage; later ones have twice as many"),
      .was = "width" },
    { OPT_ROW("hidden", "A,B,..", OPT_TEXT, AT(hidden), FOR("mlp", "table"),
              "512,512",
              "widths of the hidden layers") },
    { OPT_ROW("activation", NULL, OPT_CHOICE, AT(activation),
              FOR("mlp", "table"), "relu",
              "after each hidden layer (table: selu; of numbers mish)"),
      .words = model_activations },
    { OPT_ROW("recipe", NULL, OPT_CHOICE, AT(recipe), FOR("table"), "td",
              "RealMLP-TD, or TD-S, which has less"), .words = model_recipes },
    { OPT_ROW("select", NULL, OPT_CHOICE, AT(select), FOR("mlp", "table"),
              "auto",
              "what chooses the epoch and the trial, on rows held back"),
      .first = 2, .words = select_words, TRAIN,
      .marks = OF_HELD | OF_TABLE },
    { OPT_ROW("calibrate", NULL, OPT_FLAG, AT(calibrate),
              FOR("mlp", "table"), "",
              "divide logits by a temperature fitted on rows held back"),
      TRAIN, .marks = OF_HELD | OF_CLASSES | OF_TABLE },
    { OPT_ROW("recipe:periodic", "SIGMA", OPT_REAL, AT(periodic), FOR("table"),
              "0.1", "deviation of the frequencies of numbers; 0: none"),
      .was = "periodic" },
    { OPT_ROW("ensemble", "K", OPT_COUNT, AT(ensemble), FOR("table"), "1",
              "networks whose predictions are averaged (below 1000 rows: 4)") },
    { OPT_ROW("smoothing", "P", OPT_DECAY, AT(smoothing),
              FOR("table", "resnet"), "0.1",
              "share of a label that all classes get"),
      .marks = OF_CLASSES },
    { OPT_ROW("dropout", "P", OPT_DECAY, AT(dropout),
              FOR(TEXT, CLASSIFIERS, "table"), "0",
              "share of values dropped in training") },
    { OPT_ROW("initialiser", NULL, OPT_CHOICE, AT(initialiser), ALL, "layer",
              "how kernels start: as the layer has it, or as JAX has it"),
      .word = initialiser_word },
    { OPT_ROW("vocab", "N", OPT_COUNT, AT(vocab), FOR(TOKENS, "rnn"), "512",
              "tokens are below this"), .marks = OF_TEXT },
    { OPT_ROW("seq-len", "N", OPT_COUNT, AT(seq_len), FOR(TOKENS, "rnn"), "64",
              "tokens of a row"), .marks = OF_TEXT },
    { OPT_ROW("d-model", "N", OPT_COUNT, AT(d_model), FOR(TOKENS, "rnn"),
              "256", "width of the model; rnn: of the embedding"),
      .marks = OF_TEXT },
    { OPT_ROW("heads", "N", OPT_COUNT, AT(heads), FOR(TOKENS), "8",
              "attention heads; must divide d-model") },
    { OPT_ROW("layers", "N", OPT_COUNT, AT(layers), FOR(TOKENS, "rnn"), "4",
              "transformer blocks; rnn: recurrent layers") },
    { OPT_ROW("cell", NULL, OPT_CHOICE, AT(cell), FOR("rnn"), "lstm",
              "of the recurrent layers"), .words = model_cells },
    { OPT_ROW("cell:units", "N", OPT_COUNT, AT(units), FOR("rnn"), "128",
              "of each recurrent layer"),
      .was = "units" },
    { OPT_ROW("window", "N", OPT_COUNT, AT(window), FOR("rnn"), "",
              "of a table: rows that a prediction sees"), .needs = "target" },
    { OPT_ROW("window:horizon", "N", OPT_COUNT, AT(horizon), FOR("rnn"), "1",
              "of a table: rows from the last of them to the target"),
      .was = "horizon",
      .needs = "window" },
    { OPT_ROW("d-ff", "N", OPT_COUNT, AT(d_ff), FOR(TOKENS), "1024",
              "width inside a block's dense layers") },
    { OPT_ROW("norm", NULL, OPT_CHOICE, AT(norm), FOR("gpt", "resnet", "onnx"),
              "layer", "rms: no mean and no bias; resnet has the next three, "
              "batch: of all devices; onnx stored or batch"), .words = norms },
    { OPT_ROW("norm:epsilon", "X", OPT_REAL, AT(norm_epsilon), FOR("gpt"),
              "1e-06", "keeps a norm's divisor from 0; PyTorch: 1e-5"),
      .was = "norm-epsilon" },
    { OPT_ROW("positions", NULL, OPT_CHOICE, AT(positions), FOR("gpt"),
              "learned", "a table, or queries and keys turned (base 10000)"),
      .words = positions },
    { OPT_ROW("ffn", NULL, OPT_CHOICE, AT(ffn), FOR("gpt"), "gelu",
              "inside a block; swiglu: a gated unit without biases"),
      .words = units },
    { OPT_ROW("heads:kv", "N", OPT_COUNT, AT(kv_heads), FOR("gpt"), "",
              "of keys and values; must divide heads (heads)"),
      .was = "kv-heads" },
    { OPT_ROW("tie", NULL, OPT_FLAG, AT(tie), FOR("gpt"), "",
              "the output layer is the transposed embedding") },
    { OPT_ROW("start", NULL, OPT_CHOICE, AT(start), FOR("gpt"), "layer",
              "gpt2: kernels and tables of deviation 0.02, as GPT-2 starts"),
      .words = starts, .not_with = "initialiser" },
    { OPT_ROW("dropout:residual", "P", OPT_DECAY, AT(residual_dropout),
              FOR("gpt"), "0", "of what blocks add, in place of --dropout"),
      .was = "residual-dropout" },
};

static const opt start[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("init", "FILE.safetensors", OPT_TEXT, OF(init), ALL, "",
              "start from these parameters"), TRAIN, READS,
      .gone = init_gone },
    { OPT_ROW("init:only", "PATTERN", OPT_TEXT, OF(init_only), ALL, "",
              "of --init only those whose name matches"),
      .was = "init-only", TRAIN, REPLAYED,
      .needs = "init" },
    { OPT_ROW("lora", "RANK", OPT_COUNT, OF(lora), ALL, "",
              "train adapters of this rank alone, on what --init gives"),
      TRAIN, .needs = "init|model" },
    { OPT_ROW("lora:alpha", "A", OPT_REAL, OF(lora_alpha), ALL, "16",
              "what they put out is multiplied by A / RANK"),
      .was = "lora-alpha", TRAIN,
      .needs = "lora" },
    { OPT_ROW("lora:on", "PATTERN,..", OPT_TEXT, OF(lora_on), ALL, "*",
              "on dense layers whose weights a pattern matches"),
      .was = "lora-on", TRAIN,
      .needs = "lora" },
    { OPT_ROW("lora:init", "FILE.safetensors", OPT_TEXT, OF(lora_init), ALL, "",
              "begin with these adapters"),
      .was = "lora-init", TRAIN, READS,
      .needs = "lora" },
    { OPT_ROW("lora:save", NULL, OPT_CHOICE, OF(lora_save), ALL, "adapters",
              "what --save writes: them alone, with the model, or in it"),
      .was = "lora-save",
      .words = adapters, TRAIN, REPLAYED, .needs = "lora" },
};
/* clang-format on */

const opt_rows model_options = OPT_GROUP("model", layers);
const opt_rows start_options = OPT_GROUP("start", start);
