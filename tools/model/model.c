/* The table of models and the table of their options. */
#include "model/model.h"

static const opt_model *const models[] = {
    &model_linear, &model_lm, &model_mlp, &model_gpt, &model_rnn, &model_cnn,
};

/* ------ The words of options ------ */

static const opt_word uneven[] = {
    {"drop", UNEVEN_DROP}, {"pad", UNEVEN_PAD}, {NULL, 0}};

static const opt_word precisions[] = {
    {"f32", PRECISION_F32},
    {"bf16", PRECISION_BF16},
    {"f32x3", PRECISION_F32X3},
    {"f32x6", PRECISION_F32X6},
    {"bf16-input", PRECISION_BF16_INPUT},
    {NULL, 0}};

static const opt_word means[] = {
    {"exact", LS_MEAN_EXACT}, {"per-shard", LS_MEAN_OF_SHARDS}, {NULL, 0}};

static const opt_word tasks[] = {
    {"auto", CODING_AUTO}, {"classification", CODING_CLASSES},
    {"regression", CODING_REGRESSION}, {NULL, 0}};

static const opt_word missing[] = {
    {"refuse", CODING_REFUSE}, {"mean", CODING_MEAN}, {NULL, 0}};

static const opt_word balances[] = {{"even", 0}, {"balanced", 1}, {NULL, 0}};

static const opt_word norms[] = {{"layer", 0}, {"rms", 1}, {NULL, 0}};

static const opt_word positions[] = {
    {"learned", 0}, {"rotary", 1}, {NULL, 0}};

static const opt_word units[] = {{"gelu", 0}, {"swiglu", 1}, {NULL, 0}};

static const opt_word layouts[] = {
    {"flax", INIT_FLAX}, {"torch", INIT_TORCH}, {NULL, 0}};

static const opt_word adapters[] = {
    {"adapters", ADAPT_ALONE}, {"model", ADAPT_MODEL},
    {"merged", ADAPT_MERGED}, {NULL, 0}};

static const opt_word levels[] = {{"1", 1}, {"2", 2}, {NULL, 0}};

static bool is_piecewise(int64_t schedule, const char *option)
{
    (void)option;
    return schedule == LS_PIECEWISE;
}

static bool is_sgd(int64_t optimizer, const char *option)
{
    (void)option;
    return optimizer == LS_SGD;
}

static const char *initialiser_word(int64_t i)
{
    return i ? ls_init_name((int)i - 1) : "layer";
}

static const char *backend_word(int64_t i)
{
    return ls_backend_name((int)i);
}

/* ------ The options ------ */

/* Models that take an option. */
#define ALL NULL
#define FOR(...) (const char *const[]){__VA_ARGS__, NULL}
#define IMAGES "mlp", "cnn"
#define TOKENS "lm", "gpt"
#define TEXT "gpt", "rnn"
#define ROWS "linear", "lm", IMAGES
#define TABLES "mlp", "rnn"

#define TRAIN .only = "lockstep-train"
#define MAY_DIFFER .may_differ = true
#define MAY_CHANGE .may_change = true
#define AT(member) offsetof(settings, member)

/* clang-format off */
/* What may differ when a run goes on: length, logs, places, who computes what;
 * where files are (the data is compared by what it is); the backend (where it
 * shows in bits, the maker of products is compared); and ways to say what the
 * trainer's own options hold.  The options of the optimizer follow the first
 * table, those of the schedule the second. */
static const opt first[] = {
    /* name, value, type, where, models, default, help */
    { OPT_ROW("devices", "N|auto", OPT_DEVICES, AT(devices), ALL, "8",
              "shards of each batch; auto: the usable cores"), MAY_DIFFER },
    { OPT_ROW("workers", "N", OPT_WORKERS, AT(workers), ALL, "",
              "threads; never changes a result (min(devices, cores))"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("cpus", "LIST", OPT_TEXT, AT(cpus), ALL, "",
              "processors the workers may sit on: 8-15"), MAY_DIFFER },
    { OPT_ROW("allow-single", NULL, OPT_FLAG, AT(allow_single),
              FOR("linear", "lm"), "", "let lm run on one device"),
      MAY_DIFFER },
    { OPT_ROW("seed", "S", OPT_SEED, AT(seed), ALL, "0",
              "of the initial parameters") },
    { OPT_ROW("data-seed", "S", OPT_SEED32, AT(data_seed), ALL, "7",
              "of generated data, of the order, of windows") },
    { OPT_ROW("x", "FILE.npy", OPT_TEXT, AT(x), FOR(ROWS), "",
              "(N,d-in), (N,T) or (N,H,W,C)"), MAY_DIFFER },
    { OPT_ROW("y", "FILE.npy", OPT_TEXT, AT(y), FOR("linear", IMAGES), "",
              "(N,d-out); mlp, cnn: N labels"), MAY_DIFFER },
    { OPT_ROW("mask", "FILE.npy", OPT_TEXT, AT(mask), FOR(ROWS), "",
              "weights of the rows of --x"), MAY_DIFFER },
    { OPT_ROW("data", "PATH", OPT_TEXT, AT(data), FOR(TEXT, IMAGES), "",
              "images (CIFAR, IDX, .npy), a text, or a table (.csv)"),
      MAY_DIFFER },
    { OPT_ROW("target", "COLUMN", OPT_TEXT, AT(target), FOR(TABLES), "",
              "of a table: what is to be predicted"), .needs = "data" },
    { OPT_ROW("ignore", "COLUMN,..", OPT_TEXT, AT(ignore), FOR(TABLES), "",
              "of a table: columns to leave out"), .needs = "target" },
    { OPT_ROW("task", NULL, OPT_CHOICE, AT(task), FOR("mlp"), "auto",
              "auto: a target of text is classes, of numbers regression"),
      .words = tasks },
    { OPT_ROW("missing", NULL, OPT_CHOICE, AT(missing), FOR(TABLES), "refuse",
              "values of a table; mean puts the column's in their place"),
      .words = missing, .needs = "target" },
    { OPT_ROW("text-columns", "HOW", OPT_TEXT, AT(text_columns), FOR("mlp"),
              "onehot", "of a table: onehot, embed or embed:WIDTH"),
      .needs = "target" },
    { OPT_ROW("valid", "X", OPT_DECAY, AT(valid),
              FOR("linear", "lm", TABLES), "0",
              "share of the rows of files to hold back, as 0.2"),
      .not_with = "mask" },
    { OPT_ROW("class-weights", NULL, OPT_CHOICE, AT(balance), FOR("mlp"),
              "even", "balanced: the rarer a class, the heavier its rows"),
      .words = balances, .not_with = "mask" },
    { OPT_ROW("eval-data", "PATH", OPT_TEXT, AT(eval_data),
              FOR(TEXT, IMAGES), "", "the same, to evaluate on"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("eval-x", "FILE.npy", OPT_TEXT, AT(eval_x), FOR(ROWS), "",
              "rows to evaluate on, as --x"), TRAIN, MAY_DIFFER,
      .needs = "x" },
    { OPT_ROW("eval-y", "FILE.npy", OPT_TEXT, AT(eval_y),
              FOR("linear", IMAGES), "", "and their targets, as --y"), TRAIN,
      MAY_DIFFER, .needs = "eval-x" },
    { OPT_ROW("mean", "A,B,..", OPT_TEXT, AT(norm_mean), FOR(IMAGES), "",
              "of each channel, taken from [0,1] images") },
    { OPT_ROW("std", "A,B,..", OPT_TEXT, AT(norm_std), FOR(IMAGES), "",
              "what they are divided by then") },
    { OPT_ROW("rows", "N", OPT_COUNT, AT(rows),
              FOR("linear", "lm", "mlp"), "4096", "size of generated data") },
    { OPT_ROW("d-in", "N", OPT_COUNT, AT(d_in), FOR("linear", "mlp"), "64",
              "width of x") },
    { OPT_ROW("d-out", "N", OPT_COUNT, AT(d_out), FOR("linear"), "4",
              "width of y") },
    { OPT_ROW("classes", "N", OPT_COUNT, AT(classes), FOR(IMAGES), "10",
              "labels are below this") },
    { OPT_ROW("image", "HxWxC", OPT_TEXT, AT(image), FOR("cnn"), "32x32x3",
              "height, width and channels of an image") },
    { OPT_ROW("channels", "A,B,..", OPT_TEXT, AT(channels), FOR("cnn"), "32,64",
              "of the convolutions") },
    { OPT_ROW("hidden", "A,B,..", OPT_TEXT, AT(hidden), FOR("mlp"), "512,512",
              "widths of the hidden layers") },
    { OPT_ROW("activation", NULL, OPT_CHOICE, AT(activation),
              FOR("mlp"), "relu", "after each hidden layer"),
      .words = model_activations },
    { OPT_ROW("dropout", "P", OPT_DECAY, AT(dropout), FOR(TEXT, IMAGES), "0",
              "share of values dropped in training") },
    { OPT_ROW("initialiser", NULL, OPT_CHOICE, AT(initialiser), ALL, "layer",
              "how kernels start: as the layer has it, or as JAX has it"),
      .word = initialiser_word },
    { OPT_ROW("vocab", "N", OPT_COUNT, AT(vocab), FOR(TOKENS, "rnn"), "512",
              "tokens are below this") },
    { OPT_ROW("seq-len", "N", OPT_COUNT, AT(seq_len), FOR(TOKENS, "rnn"), "64",
              "tokens of a row") },
    { OPT_ROW("d-model", "N", OPT_COUNT, AT(d_model), FOR(TOKENS, "rnn"),
              "256", "width of the model; rnn: of the embedding") },
    { OPT_ROW("heads", "N", OPT_COUNT, AT(heads), FOR(TOKENS), "8",
              "attention heads; must divide d-model") },
    { OPT_ROW("layers", "N", OPT_COUNT, AT(layers), FOR(TOKENS, "rnn"), "4",
              "transformer blocks; rnn: recurrent layers") },
    { OPT_ROW("cell", NULL, OPT_CHOICE, AT(cell), FOR("rnn"), "lstm",
              "of the recurrent layers"), .words = model_cells },
    { OPT_ROW("units", "N", OPT_COUNT, AT(units), FOR("rnn"), "128",
              "of each recurrent layer") },
    { OPT_ROW("window", "N", OPT_COUNT, AT(window), FOR("rnn"), "",
              "of a table: rows that a prediction sees"), .needs = "target" },
    { OPT_ROW("horizon", "N", OPT_COUNT, AT(horizon), FOR("rnn"), "1",
              "of a table: rows from the last of them to the target"),
      .needs = "window" },
    { OPT_ROW("d-ff", "N", OPT_COUNT, AT(d_ff), FOR(TOKENS), "1024",
              "width inside a block's dense layers") },
    { OPT_ROW("norm", NULL, OPT_CHOICE, AT(norm), FOR("gpt"), "layer",
              "rms: no mean and no bias (1e-6)"), .words = norms },
    { OPT_ROW("positions", NULL, OPT_CHOICE, AT(positions), FOR("gpt"),
              "learned", "a table, or queries and keys turned (base 10000)"),
      .words = positions },
    { OPT_ROW("ffn", NULL, OPT_CHOICE, AT(ffn), FOR("gpt"), "gelu",
              "inside a block; swiglu: a gated unit without biases"),
      .words = units },
    { OPT_ROW("kv-heads", "N", OPT_COUNT, AT(kv_heads), FOR("gpt"), "",
              "of keys and values; must divide heads (heads)") },
    { OPT_ROW("tie", NULL, OPT_FLAG, AT(tie), FOR("gpt"), "",
              "the output layer is the transposed embedding") },
    { OPT_ROW("residual-dropout", "P", OPT_DECAY, AT(residual_dropout),
              FOR("gpt"), "0", "of what blocks add, in place of --dropout") },
    { OPT_ROW("batch", "N", OPT_COUNT, AT(batch), ALL, "128",
              "rows of a step, all devices; linear: all rows"),
      .not_with = "batch-per-device" },
    { OPT_ROW("batch-per-device", "N", OPT_COUNT, AT(batch_per_device), ALL, "",
              "the same, of one device"), MAY_DIFFER },
    { OPT_ROW("steps", "N", OPT_NUMBER, AT(steps), ALL, "",
              "updates; past the end of data it starts again"), TRAIN,
      MAY_DIFFER, .not_with = "epochs" },
    { OPT_ROW("epochs", "N", OPT_COUNT, AT(epochs), FOR(ROWS, "rnn"), "10",
              "passes over data, not --steps"), TRAIN, MAY_DIFFER },
    { OPT_ROW("uneven", NULL, OPT_CHOICE, AT(uneven), ALL, "drop",
              "skip short batches, or fill with weight 0"), .words = uneven },
    { OPT_ROW("shuffle", NULL, OPT_FLAG, AT(shuffle), FOR(IMAGES, "rnn"), "",
              "a new order in each epoch (files only)"),
      .not_with = "no-shuffle" },
    { OPT_ROW("no-shuffle", NULL, OPT_FLAG, AT(no_shuffle),
              FOR(IMAGES, "rnn"), "",
              "rows in the order they have"), MAY_DIFFER },
    { OPT_ROW("optimizer", NULL, OPT_CHOICE, AT(optimizer), ALL, "adam",
              "the update rule, as optax defines it"),
      .word = knobs_optimizer },
    { OPT_ROW("lr", "X", OPT_REAL, AT(lr), ALL, "0.001",
              "learning rate"), MAY_CHANGE },
};

static const opt second[] = {
    { OPT_ROW("schedule", NULL, OPT_CHOICE, AT(schedule), ALL, "constant",
              "the learning rate over time"), .word = knobs_schedule,
      MAY_CHANGE },
    { OPT_ROW("warmup", "N", OPT_NUMBER, AT(warmup), ALL, "0",
              "first updates, from rate 0 up to lr; any schedule"),
      MAY_CHANGE },
    { OPT_ROW("decay-steps", "N", OPT_COUNT, AT(decay_steps), ALL, "",
              "updates until the end, or of one factor (steps)"),
      MAY_DIFFER, MAY_CHANGE, .of = "schedule", .fits = knobs_schedule_has },
    { OPT_ROW("cycle-factor", "N", OPT_COUNT, AT(cycle_factor), ALL, "1",
              "each cycle is N times as long as the one before"),
      MAY_CHANGE, .of = "schedule", .fits = knobs_schedule_has },
};

static const opt third[] = {
    { OPT_ROW("boundaries", "STEP:FACTOR,...", OPT_TEXT, AT(boundaries),
              ALL, "", "factors from these steps on"),
      .of = "schedule", .fits = is_piecewise, .required = true, MAY_CHANGE,
      .kept_as = "boundary *" },
    { OPT_ROW("scale-lr", NULL, OPT_FLAG, AT(scale_lr), ALL, "",
              "multiply lr by batch / 32"), MAY_CHANGE },
    { OPT_ROW("clip-norm", "X", OPT_REAL, AT(clip_norm), ALL, "0",
              "clip the gradient to this global norm; 0: no"), MAY_CHANGE },
    { OPT_ROW("clip-value", "X", OPT_REAL, AT(clip_value), ALL, "0",
              "clip each element of it to -X to X; 0: no"), MAY_CHANGE },
    { OPT_ROW("freeze", "PATTERN,..", OPT_TEXT, AT(freeze), ALL, "",
              "parameters that keep their values: \"embed.*\""), MAY_CHANGE,
      .kept_as = "group*" },
    { OPT_ROW("no-decay", NULL, OPT_FLAG, AT(no_decay), ALL, "",
              "no weight decay nor l2 of biases and of scales of norms"),
      MAY_CHANGE, .kept_as = "group*" },
    { OPT_ROW("ema", "DECAY", OPT_DECAY, AT(ema), ALL, "0",
              "evaluate and save an average of the weights, as 0.999"),
      .kept_as = "average" },
    { OPT_ROW("accumulate", "K", OPT_WORKERS, AT(accumulate), ALL, "1",
              "cut the batch into K micro-batches for one update") },
    { OPT_ROW("bucket", "BYTES", OPT_NUMBER, AT(bucket), ALL, "0",
              "over ranks, gradients leave by so many; 0: 1 MiB"), MAY_DIFFER },
    { OPT_ROW("precision", NULL, OPT_CHOICE, AT(precision), ALL, "f32",
              "of layers; bf16-input: f32, inputs rounded"),
      .words = precisions },
    { OPT_ROW("state", "replicate|shard|PATTERN=AXIS,..", OPT_TEXT, AT(state),
              ALL, "replicate", "who updates which parameters: same bits"),
      MAY_DIFFER },
    { OPT_ROW("axes", "NAME:N,..", OPT_TEXT, AT(axes), ALL, "",
              "more axes of the mesh than data, for --state *=1:NAME"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("masked-mean", NULL, OPT_CHOICE, AT(mean), FOR(ROWS), "exact",
              "of rows, or of devices' means"), .words = means },
    { OPT_ROW("log-every", "N", OPT_NUMBER, AT(log_every), ALL, "100",
              "a line at 0, N, 2N.. and the last; 0: none"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("eval-every", "N", OPT_NUMBER, AT(eval_every), ALL, "0",
              "after N, 2N.. updates, and at the end"), TRAIN, MAY_DIFFER },
    { OPT_ROW("top-k", "K", OPT_NUMBER, AT(top_k), FOR("mlp"), "0",
              "tell how often the class is among the K likeliest"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("early-stop", "N", OPT_NUMBER, AT(early_stop), ALL, "0",
              "end after N evaluations without a better one; save the best"),
      TRAIN, MAY_DIFFER },
    { OPT_ROW("plateau", "N", OPT_NUMBER, AT(plateau), ALL, "0",
              "lower the rate after N evaluations without a better one"), TRAIN,
      MAY_CHANGE, .kept_as = "plateau:*" },
    { OPT_ROW("plateau-factor", "X", OPT_DECAY, AT(plateau_factor), ALL, "0.1",
              "what multiplies the rate then"), TRAIN, MAY_CHANGE,
      .needs = "plateau" },
    { OPT_ROW("plateau-cooldown", "N", OPT_NUMBER, AT(plateau_cooldown), ALL,
              "0", "evaluations after that which do not count"), TRAIN,
      MAY_CHANGE, .needs = "plateau" },
    { OPT_ROW("plateau-least", "X", OPT_DECAY, AT(plateau_least), ALL, "0",
              "no lower than this share of lr"), TRAIN, MAY_CHANGE,
      .needs = "plateau" },
    { OPT_ROW("sample", "N", OPT_NUMBER, AT(sample), FOR(TEXT), "0",
              "print N bytes of generated text at the end"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("temperature", "X", OPT_REAL, AT(temperature), FOR(TEXT), "0.8",
              "of the sample; below 1 likely bytes become likelier"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("explain", NULL, OPT_FLAG, AT(explain), FOR("linear"), "",
              "show the first step device by device"), TRAIN, MAY_DIFFER,
      .of = "optimizer", .fits = is_sgd },
    { OPT_ROW("metrics", "FILE.jsonl", OPT_TEXT, AT(metrics), ALL, "",
              "write loss and timing of every step as JSON lines"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("plot", "FILE.svg", OPT_TEXT, AT(curve), ALL, "",
              "draw the losses of training and evaluation"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("init", "FILE.safetensors", OPT_TEXT, AT(init), ALL, "",
              "start from these parameters"), TRAIN, MAY_DIFFER },
    { OPT_ROW("init-only", "PATTERN", OPT_TEXT, AT(init_only), ALL, "",
              "of --init only those whose name matches"), TRAIN, MAY_DIFFER,
      .needs = "init" },
    { OPT_ROW("init-layout", NULL, OPT_CHOICE, AT(init_layout), ALL, "flax",
              "whose names and layouts --init has"), .words = layouts, TRAIN,
      MAY_DIFFER, .needs = "init" },
    { OPT_ROW("init-names", "OURS=THEIRS,..", OPT_TEXT, AT(init_names), ALL, "",
              "layers that torch calls otherwise: layers.0=0"), TRAIN,
      MAY_DIFFER, .needs = "init-layout" },
    { OPT_ROW("lora", "RANK", OPT_COUNT, AT(lora), ALL, "",
              "train adapters of this rank alone, on what --init gives"),
      TRAIN, .needs = "init" },
    { OPT_ROW("lora-alpha", "A", OPT_REAL, AT(lora_alpha), ALL, "16",
              "what they put out is multiplied by A / RANK"), TRAIN,
      .needs = "lora" },
    { OPT_ROW("lora-on", "PATTERN,..", OPT_TEXT, AT(lora_on), ALL, "*",
              "on dense layers whose weights a pattern matches"), TRAIN,
      .needs = "lora" },
    { OPT_ROW("lora-init", "FILE.safetensors", OPT_TEXT, AT(lora_init), ALL, "",
              "begin with these adapters"), TRAIN, MAY_DIFFER,
      .needs = "lora" },
    { OPT_ROW("lora-save", NULL, OPT_CHOICE, AT(lora_save), ALL, "adapters",
              "what --save writes: them alone, with the model, or in it"),
      .words = adapters, TRAIN, MAY_DIFFER, .needs = "lora" },
    { OPT_ROW("trace", "FILE.json", OPT_TEXT, AT(trace), ALL, "",
              "write who did what when, for ui.perfetto.dev"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("trace-level", NULL, OPT_CHOICE, AT(trace_level), ALL, "1",
              "phases; 2: operators too"), .words = levels, TRAIN, MAY_DIFFER,
      .needs = "trace" },
    { OPT_ROW("stall-seconds", "S", OPT_REAL, AT(stall_seconds), ALL, "0",
              "tell what each worker does when a step takes so long"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("save", "FILE.safetensors", OPT_TEXT, AT(save), ALL, "",
              "write the model at the end: weights and graph"), TRAIN,
      MAY_DIFFER },
    { OPT_ROW("checkpoint", "DIR", OPT_TEXT, AT(checkpoint), ALL, "",
              "keep checkpoints in this folder"), TRAIN, MAY_DIFFER },
    { OPT_ROW("checkpoint-every", "N", OPT_NUMBER, AT(checkpoint_every),
              ALL, "100", "after N, 2N.. steps and the last; 0: only the last"),
      TRAIN, MAY_DIFFER, .needs = "checkpoint" },
    { OPT_ROW("keep", "K", OPT_NUMBER, AT(keep), ALL, "3",
              "the newest that stay; 0: all"), TRAIN, MAY_DIFFER,
      .needs = "checkpoint" },
    { OPT_ROW("resume", NULL, OPT_FLAG, AT(resume), ALL, "",
              "go on from the newest in DIR, if there is one"), TRAIN,
      MAY_DIFFER, .needs = "checkpoint" },
    { OPT_ROW("change", "OPTION,..", OPT_TEXT, AT(change), ALL, "",
              "with --resume: options that may differ, as lr,schedule"), TRAIN,
      MAY_DIFFER, .needs = "resume" },
    { OPT_ROW("backend", NULL, OPT_WORD, AT(backend), ALL, "",
              "who multiplies matrices; they give the same bytes"),
      .word = backend_word, MAY_DIFFER },
};
/* clang-format on */

#define COUNT(rows) (int)(sizeof(rows) / sizeof *(rows))

void model_program(opt_program *p, const char *about)
{
    *p = (opt_program){.about = about, .models = models,
                       .model_count = COUNT(models)};
    opt_add(p, COUNT(first), first);
    knobs_add(p, KNOBS_OPTIMIZER, AT(of_optimizer));
    opt_add(p, COUNT(second), second);
    knobs_add(p, KNOBS_SCHEDULE, AT(of_schedule));
    opt_add(p, COUNT(third), third);
}
