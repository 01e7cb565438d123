/* The table of models and the table of their options. */
#include "model.h"

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
      "(rows,d-out).", &model_linear,
      own_linear },
    { "lm", "transformer language model, WITHOUT a causal mask",
      "There is no causal mask: every position attends to every other, the "
      "next token\nit is to predict among them.  The loss is of use to compare "
      "machines and\nprograms; the model cannot generate text.  The position "
      "table is trained.\nWithout --x the tokens are random integers "
      "(rows,seq-len) below vocab.", &model_lm, own_lm },
    { "mlp", "classifier: dense layers with an activation between them",
      "--data is a folder or a file of images in CIFAR-10's binary form, IDX "
      "(MNIST's,\nplain or gzip'd) or .npy, labels beside it; sizes and "
      "classes follow it.\nA folder's test set, or --eval-data, is evaluated "
      "after each epoch.\n"
      "Without files the rows are made of classes: a centre each, randn, "
      "and\nrandn noise of deviation 3 around it.  Parameters are named as nnx "
      "names a\nlist of nnx.Linear: layers.0.kernel, layers.0.bias and so on.",
      &model_mlp, NULL },
    { "gpt", "transformer language model with a causal mask, on any text file",
      "The text is read byte by byte.  Each step takes random windows of "
      "seq-len\nbytes from its first nine tenths; the last tenth is held out "
      "for --eval-every.\nWith --eval-data all of --data is trained on.  The "
      "model is lm's but for the\nmask.", &model_gpt, own_gpt },
    { "cnn", "image classifier: 3x3 convolutions, relu, 2x2 max pools, "
      "dense",
      "--data is a folder or a file of images as mlp takes them; image and "
      "classes\nfollow it.  A folder's test set, or --eval-data, is evaluated "
      "after each epoch.\n"
      "Without files each step has a new batch of random images and labels, "
      "as the\nprogram it reproduces is tested with; nothing can be learnt "
      "from it.", &model_cnn, NULL },
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
    { "precision", "f32|bf16|bf16-input", OPT_CHOICE,
      AT(precision), OPT_ALL, "f32",
      "of layers; bf16-input: f32, inputs rounded" },
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
