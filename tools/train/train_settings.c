/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of train_settings.h. */
#include "train/train_settings.h"
#include "data/data_settings.h"

#include <lockstep.h>

static const opt_word levels[] = {{"1", 1}, {"2", 2}, {NULL, 0}};

static bool is_sgd(int64_t optimizer, const char *option)
{
    (void)option;
    return optimizer == LS_SGD;
}

#define AT(member) offsetof(train_settings, member)

/* clang-format off */
static const opt report[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("log-every", "N", OPT_NUMBER, AT(log_every), ALL, "100",
              "a line at 0, N, 2N.. and the last; 0: none"), TRAIN,
      MAY_DIFFER, .marks = NO_TRIAL },
    { OPT_ROW("eval-every", "N", OPT_NUMBER, AT(eval_every), ALL, "0",
              "after N, 2N.. updates, and at the end"), TRAIN, REPLAYED,
      .marks = OF_HELD },
    { OPT_ROW("top-k", "K", OPT_NUMBER, AT(top_k), FOR(IMAGES), "0",
              "tell how often the class is among the K likeliest"), TRAIN,
      MAY_DIFFER, .marks = OF_HELD | OF_ALL },
    { OPT_ROW("mistakes", "F.png", OPT_TEXT, AT(mistakes), FOR(IMAGES), "",
              "write a sheet of images that were taken for another class"),
      TRAIN, MAY_DIFFER, .marks = NO_TRIAL },
    { OPT_ROW("early-stop", "N", OPT_NUMBER, AT(early_stop), ALL, "0",
              "end after N evaluations without a better one; save the best"),
      TRAIN, REPLAYED, .marks = OF_HELD },
    { OPT_ROW("plateau", "N", OPT_NUMBER, AT(plateau), ALL, "0",
              "lower the rate after N evaluations without a better one"), TRAIN,
      MAY_CHANGE, .kept_as = "plateau:*", .marks = OF_HELD },
    { OPT_ROW("plateau-factor", "X", OPT_DECAY, AT(plateau_factor), ALL, "0.1",
              "what multiplies the rate then"), TRAIN, MAY_CHANGE,
      NEEDS_ABOVE_0("plateau") },
    { OPT_ROW("plateau-cooldown", "N", OPT_NUMBER, AT(plateau_cooldown), ALL,
              "0", "evaluations after that which do not count"), TRAIN,
      MAY_CHANGE, NEEDS_ABOVE_0("plateau") },
    { OPT_ROW("plateau-least", "X", OPT_DECAY, AT(plateau_least), ALL, "0",
              "no lower than this share of lr"), TRAIN, MAY_CHANGE,
      NEEDS_ABOVE_0("plateau") },
    { OPT_ROW("sample", "N", OPT_NUMBER, AT(sample), FOR(TEXT), "0",
              "print N bytes of generated text at the end"), TRAIN,
      MAY_DIFFER, .marks = NO_TRIAL | OF_TEXT },
    { OPT_ROW("temperature", "X", OPT_REAL, AT(temperature), FOR(TEXT), "0.8",
              "of the sample; below 1 likely bytes become likelier"), TRAIN,
      MAY_DIFFER, NEEDS_ABOVE_0("sample"), .marks = OF_TEXT },
    { OPT_ROW("explain", NULL, OPT_FLAG, AT(explain), FOR("linear"), "",
              "show the first step device by device"), TRAIN, MAY_DIFFER,
      .of = "optimizer", .fits = is_sgd },
    { OPT_ROW("cv", "K", OPT_NUMBER, AT(cv), FOR("mlp", "table"), "0",
              "of a table: train K times, each time without a K-th of it"),
      TRAIN, MAY_DIFFER, .needs = "data" },
    { OPT_ROW("tune", "N", OPT_NUMBER, AT(tune), FOR("table"), "0",
              "try N sets of options, and train by the best"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("tune-file", "F.csv", OPT_TEXT, AT(tune_file), FOR("table"), "",
              "what was tried; a search goes on from it"), TRAIN, MAY_DIFFER,
      NEEDS_ABOVE_0("tune") },
    { OPT_ROW("metrics", "FILE.jsonl", OPT_TEXT, AT(metrics), ALL, "",
              "write loss and timing of every step as JSON lines"), TRAIN,
      MAY_DIFFER, .marks = NO_TRIAL },
    { OPT_ROW("plot", "FILE.svg", OPT_TEXT, AT(curve), ALL, "",
              "draw the losses of training and evaluation"), TRAIN,
      MAY_DIFFER, .marks = NO_TRIAL },
};

static const opt kept[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("trace", "FILE.json", OPT_TEXT, AT(trace), ALL, "",
              "write who did what when, for ui.perfetto.dev"), TRAIN,
      MAY_DIFFER, .marks = NO_TRIAL },
    { OPT_ROW("trace-level", NULL, OPT_CHOICE, AT(trace_level), ALL, "1",
              "phases; 2: operators too"), .words = levels, TRAIN, MAY_DIFFER,
      .needs = "trace" },
    { OPT_ROW("stall-seconds", "S", OPT_REAL, AT(stall_seconds), ALL, "0",
              "tell what each worker does when a step takes so long"), TRAIN,
      MAY_DIFFER, .marks = NO_TRIAL },
    { OPT_ROW("transcript", "FILE.lst", OPT_TEXT, AT(transcript), ALL, "",
              "write hashes that commit the run to its bits"), TRAIN,
      MAY_DIFFER, .not_with = "against", .marks = NO_TRIAL },
    { OPT_ROW("transcript-every", "N", OPT_NUMBER, AT(transcript_every), ALL,
              "0", "batches between its states; 0: by the model's size"),
      TRAIN, MAY_DIFFER, .needs = "transcript" },
    { OPT_ROW("transcript-rows", NULL, OPT_FLAG, AT(transcript_rows), ALL, "",
              "and hash the rows of each batch"), TRAIN, MAY_DIFFER,
      .needs = "transcript" },
    { OPT_ROW("transcript-every-gradient", NULL, OPT_FLAG,
              AT(transcript_gradient), ALL, "",
              "and hash the mean gradient of each step"), TRAIN, MAY_DIFFER,
      .needs = "transcript" },
    { OPT_ROW("against", "FILE.lst", OPT_TEXT, AT(against), ALL, "",
              "compare the run with this transcript; status 5: another"),
      TRAIN, MAY_DIFFER, .marks = NO_TRIAL },
    { OPT_ROW("record", "STEP[:DEVICE]", OPT_TEXT, AT(record), ALL, "",
              "hash all that a step makes into FILE.lsr, which follows"),
      TRAIN, MAY_DIFFER, .marks = NO_TRIAL },
    { OPT_ROW("values", NULL, OPT_FLAG, AT(values), ALL, "",
              "and write its numbers"), TRAIN, MAY_DIFFER,
      .needs = "record" },
    { OPT_ROW("prove", "CLAIM", OPT_TEXT, AT(prove), ALL, "",
              "evidence of a batch's STEP:ELEMENT:A:B:INPUT into FILE, which "
              "follows; train nothing"), TRAIN, MAY_DIFFER,
      .not_with = "record" },
    { OPT_ROW("stop-at", "N", OPT_NUMBER, AT(stop_at), ALL, "0",
              "end after N batches as a signal would; 0: do not"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("save", "FILE.safetensors", OPT_TEXT, AT(save), ALL, "",
              "write the model at the end: weights and graph"), TRAIN,
      MAY_DIFFER, .marks = NO_TRIAL },
    { OPT_ROW("checkpoint", "DIR", OPT_TEXT, AT(checkpoint), ALL, "",
              "keep checkpoints in this folder"), TRAIN, MAY_DIFFER,
      .marks = NO_TRIAL },
    { OPT_ROW("checkpoint-every", "N", OPT_NUMBER, AT(checkpoint_every),
              ALL, "100", "after N, 2N.. steps and the last; 0: only the last"),
      TRAIN, MAY_DIFFER, .needs = "checkpoint" },
    { OPT_ROW("keep", "K", OPT_NUMBER, AT(keep), ALL, "3",
              "the newest that stay; 0: all"), TRAIN, MAY_DIFFER,
      .needs = "checkpoint" },
    { OPT_ROW("keep-first", NULL, OPT_FLAG, AT(keep_first), ALL, "",
              "save the beginning too, and keep it beside the newest"), TRAIN,
      MAY_DIFFER, .needs = "checkpoint" },
    { OPT_ROW("heal", NULL, OPT_FLAG, AT(heal), ALL, "",
              "--check found a core: go back, compute again; --keep-first"),
      TRAIN, MAY_DIFFER, .needs = "checkpoint", .not_with = "against",
      .marks = NO_TRIAL },
    { OPT_ROW("resume", NULL, OPT_FLAG, AT(resume), ALL, "",
              "go on from the newest in DIR, if there is one"), TRAIN,
      MAY_DIFFER, .needs = "checkpoint", .marks = NO_TRIAL },
    { OPT_ROW("change", "OPTION,..", OPT_TEXT, AT(change), ALL, "",
              "with --resume: options that may differ, as lr,schedule"), TRAIN,
      MAY_DIFFER, .needs = "resume" },
};
/* clang-format on */

const opt_rows train_report_options = OPT_ROWS(report);
const opt_rows train_keep_options = OPT_ROWS(kept);
