/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of run_settings.h. */
#include "run/run_settings.h"
#include "data/data_settings.h"

static const opt_word precisions[] = {{"f32", PRECISION_F32},
                                      {"bf16", PRECISION_BF16},
                                      {"f32x3", PRECISION_F32X3},
                                      {"bf16-input", PRECISION_BF16_INPUT},
                                      {NULL, 0}};
static const opt_gone precisions_gone[] = {
    {"f32x6", "f32 has the same 24 bits; f32x3, of 17, is faster with AMX"},
    {NULL, NULL}};

static const opt_word means[] = {
    {"exact", LS_MEAN_EXACT}, {"per-shard", LS_MEAN_OF_SHARDS}, {NULL, 0}};

static bool is_piecewise(int64_t schedule, const char *option)
{
    (void)option;
    return schedule == LS_PIECEWISE;
}

static const char *backend_word(int64_t i)
{
    return ls_backend_name((int)i);
}

static const opt_word shares[] = {{"constant", LS_CONSTANT},
                                  {"linear", LS_LINEAR},
                                  {"cosine", LS_COSINE},
                                  {"coslog", LS_COSLOG},
                                  {"flat-cosine", LS_FLAT_COSINE},
                                  {NULL, 0}};

#define AT(member) offsetof(run_settings, member)

/* clang-format off */
static const opt mesh[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("devices", "N|auto", OPT_DEVICES, AT(devices), ALL, "8",
              "shards of each batch; auto: the usable cores"), REPLAYED },
    { OPT_ROW("workers", "N", OPT_WORKERS, AT(workers), ALL, "",
              "threads; never changes a result (min(devices, cores))"), TRAIN,
      MAY_DIFFER, EACH_RANK },
    { OPT_ROW("cpus", "LIST", OPT_TEXT, AT(cpus), ALL, "",
              "processors the workers may sit on: 8-15"), MAY_DIFFER,
      EACH_RANK },
    { OPT_ROW("allow-single", NULL, OPT_FLAG, AT(allow_single),
              FOR("linear", "lm"), "", "let lm run on one device"),
      REPLAYED },
    { OPT_ROW("seed", "S", OPT_SEED, AT(seed), ALL, "0",
              "of the initial parameters"), .group = "model" },
};

static const opt optimizer[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("optimizer", NULL, OPT_CHOICE, AT(optimizer), ALL, "adam",
              "the update rule, as optax defines it"),
      .word = optim_settings_optimizer },
    { OPT_ROW("lr", "X", OPT_REAL, AT(lr), ALL, "0.001",
              "learning rate"), .first = 1, MAY_CHANGE },
};

static const opt schedule[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("schedule", NULL, OPT_CHOICE, AT(schedule), ALL, "constant",
              "the learning rate over time"), .word = optim_settings_schedule,
      MAY_CHANGE },
    { OPT_ROW("schedule:warmup", "N", OPT_NUMBER, AT(warmup), ALL, "0",
              "first updates, from rate 0 up to lr; any schedule"),
      .was = "warmup", .kept_as = "warmup",
      MAY_CHANGE },
    { OPT_ROW("schedule:decay-steps", "N", OPT_COUNT, AT(decay_steps), ALL, "",
              "updates until the end, or of one factor (steps)"),
      .was = "decay-steps", .kept_as = "decay_steps",
      REPLAYED, MAY_CHANGE, .of = "schedule",
      .fits = optim_settings_schedule_has },
    { OPT_ROW("schedule:cycle-factor", "N", OPT_COUNT, AT(cycle_factor), ALL,
              "1",
              "each cycle is N times as long as the one before"),
      .was = "cycle-factor", .kept_as = "cycle_factor",
      MAY_CHANGE, .of = "schedule", .fits = optim_settings_schedule_has },
    { OPT_ROW("schedule:cycles", "N", OPT_COUNT, AT(cycles), ALL, "4",
              "waves, each twice as long as the one before"),
      .was = "cycles", .kept_as = "cycles",
      MAY_CHANGE, .of = "schedule", .fits = optim_settings_schedule_has },
};

static const opt step[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("schedule:boundaries", "STEP:FACTOR,..", OPT_TEXT,
              AT(boundaries), ALL, "", "factors from these steps on"),
      .was = "boundaries",
      .of = "schedule", .fits = is_piecewise, .required = true, MAY_CHANGE,
      .kept_as = "boundary *" },
    { OPT_ROW("optimizer:decay-schedule", NULL, OPT_CHOICE,
              AT(decay_schedule), ALL, "constant",
              "what share of weight decay an update has, to 0"),
      .was = "decay-schedule", .kept_as = "decay_schedule",
      .words = shares, MAY_CHANGE,
      NEEDS_ABOVE_0("optimizer:weight-decay|optimizer:l2"),
      .marks = OF_DECAY },
    { OPT_ROW("dropout:schedule", NULL, OPT_CHOICE, AT(dropout_schedule), ALL,
              "constant", "and of the rates of dropout"),
      .was = "dropout-schedule", .kept_as = "dropout_schedule", .words = shares,
      MAY_CHANGE, NEEDS_ABOVE_0("dropout|dropout:residual"),
      .marks = OF_DROPOUT },
    { OPT_ROW("lr:scale", NULL, OPT_FLAG, AT(scale_lr), ALL, "",
              "multiply lr by batch / 32"),
      .was = "scale-lr", MAY_CHANGE },
    { OPT_ROW("clip-norm", "X", OPT_REAL, AT(clip_norm), ALL, "0",
              "clip the gradient to this global norm; 0: no"), MAY_CHANGE },
    { OPT_ROW("clip-value", "X", OPT_REAL, AT(clip_value), ALL, "0",
              "clip each element of it to -X to X; 0: no"), MAY_CHANGE },
    { OPT_ROW("freeze", "PATTERN,..", OPT_TEXT, AT(freeze), ALL, "",
              "parameters that keep their values: \"embed.*\""), MAY_CHANGE,
      .kept_as = "group*" },
    { OPT_ROW("optimizer:no-decay", NULL, OPT_FLAG, AT(no_decay), ALL, "",
              "no weight decay nor l2 of biases and of scales of norms"),
      .was = "no-decay",
      MAY_CHANGE, .kept_as = "group*",
      NEEDS_ABOVE_0("optimizer:weight-decay|optimizer:l2"),
      .marks = OF_DECAY },
    { OPT_ROW("ema", "DECAY", OPT_DECAY, AT(ema), ALL, "0",
              "evaluate and save an average of the weights, as 0.999"),
      .kept_as = "average" },
    { OPT_ROW("accumulate", "K", OPT_WORKERS, AT(accumulate), ALL, "1",
              "cut the batch into K micro-batches for one update") },
    { OPT_ROW("bucket", "BYTES", OPT_NUMBER, AT(bucket), ALL, "0",
              "over ranks, gradients leave by so many; 0: 1 MiB"),
      .group = "machine", MAY_DIFFER,
      .marks = OF_RANKS },
    { OPT_ROW("check", "RATE", OPT_TEXT, AT(check), ALL, "",
              "compute so many steps twice and compare, as 0.01; all"),
      .group = "machine", TRAIN,
      MAY_DIFFER },
    { OPT_ROW("precision", NULL, OPT_CHOICE, AT(precision), ALL, "f32",
              "of layers; bf16-input: f32, inputs rounded"), .group = "machine",
      .words = precisions, .gone = precisions_gone },
    { OPT_ROW("state", "replicate|shard|PATTERN=AXIS,..", OPT_TEXT, AT(state),
              ALL, "replicate", "who updates which parameters: same bits"),
      .group = "machine",
      MAY_DIFFER },
    { OPT_ROW("axes", "NAME:N,..", OPT_TEXT, AT(axes), ALL, "",
              "more axes of the mesh than data, for --state *=1:NAME"),
      .group = "machine", TRAIN,
      MAY_DIFFER, .needs = "state" },
    { OPT_ROW("masked-mean", NULL, OPT_CHOICE, AT(mean), FOR(ROWS), "exact",
              "of rows, or of devices' means"), .words = means },
};

static const opt maker[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("backend", NULL, OPT_WORD, AT(backend), ALL, "",
              "who multiplies matrices; they give the same bytes"),
      .word = backend_word, MAY_DIFFER, EACH_RANK },
};
/* clang-format on */

const opt_rows run_mesh_options = OPT_GROUP("machine", mesh);
const opt_rows run_optimizer_options = OPT_GROUP("optimizer", optimizer);
const opt_rows run_schedule_options = OPT_GROUP("optimizer", schedule);
const opt_rows run_step_options = OPT_GROUP("optimizer", step);
const opt_rows run_backend_options = OPT_GROUP("machine", maker);
