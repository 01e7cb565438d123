/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints: going on from any step is as if nothing had happened, what is
 * damaged is never loaded, and what does not fit is refused in so many words.
 * test_kill.c does the same with the writer interrupted. */
#define _GNU_SOURCE
#include "calls.h"
#include "comma.h"
#include "folder.h"
#include "fuzz/mutate.h"
#include "models.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { ROWS = 8, TOKENS = 6, MODELS = 3, STEPS = 6 };

/* ------ Models and their data: a batch is a function of its step ------ */

static const lm_sizes small_lm = {11, TOKENS, 8, 2, 1, 12};

typedef struct world {
    run r;
    ls_checkpoints *saved;
    float x[ROWS * 9], y[ROWS * 2];
    int32_t label[ROWS], token[ROWS * TOKENS];
} world;

static ls_graph *graph_of(int model)
{
    return model == 0 ? linear_graph(9, 2) : model == 1 ? mlp_graph()
                                                        : lm_graph(&small_lm);
}

/* Schedule, accumulation and clipping all on. */
static ls_trainer_options options_of(int model)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.seed = 3;
    o.optimizer = model == 0 ? ls_nesterov(0.01, 0.9) : ls_adamw(0.01);
    o.schedule = (ls_schedule){.kind = LS_COSINE, .warmup = 2,
                               .decay_steps = 10, .end_lr = 1e-4};
    o.accumulate = 2;
    o.clip_norm = 0.5;
    return o;
}

/* Rows in an order of the step's own. */
static void fill(world *w, int model, int64_t step)
{
    ls_key key = ls_key_fold_in(ls_key_new(5), (uint32_t)step);
    float all[ROWS * 9];
    int32_t order[ROWS];

    ls_random_normal(key, 0, ROWS * 9, all);
    OK(ls_random_permutation(key, ROWS, order));
    for (int i = 0; i < ROWS; i++)
        memcpy(w->x + 9 * i, all + 9 * order[i], 9 * sizeof *all);
    ls_random_normal(key, 100, ROWS * 2, w->y);
    ls_random_randint(key, 0, ROWS, 0, 5, w->label);
    ls_random_randint(key, 0, ROWS * TOKENS, 0, 11, w->token);
    if (model < 2)
        OK(ls_batch_set(w->r.batch, "x", LS_F32, w->x, ROWS));
    if (model == 0)
        OK(ls_batch_set(w->r.batch, "y", LS_F32, w->y, ROWS));
    if (model == 1)
        OK(ls_batch_set(w->r.batch, "label", LS_I32, w->label, ROWS));
    if (model == 2)
        OK(ls_batch_set(w->r.batch, "tokens", LS_I32, w->token, ROWS));
}

static void open_with(world *w, int model, int workers, ls_state state,
                      const ls_trainer_options *options)
{
    ls_trainer_options o = options ? *options : options_of(model);

    o.state = state;
    w->saved = NULL;
    w->r = open_run_on(4, workers, graph_of(model), &o);
}

static void close_world(world *w)
{
    ls_checkpoints_close(w->saved);
    close_run(&w->r);
}

static ls_checkpoints_options options_in(const char *name)
{
    static const ls_setting setting[] = {{"model", "mine"}, {"data", ""}};

    return (ls_checkpoints_options){.size = sizeof(ls_checkpoints_options),
                                    .folder = in_folder(name), .n_settings = 2,
                                    .settings = setting};
}

static int keep_in(world *w, const char *name, int keep)
{
    ls_checkpoints_options o = options_in(name);

    o.keep = keep;
    return ls_checkpoints_open(&w->saved, w->r.trainer, &o);
}

static void steps(world *w, int model, int64_t to)
{
    for (int64_t s = ls_trainer_step(w->r.trainer); s < to; s++) {
        fill(w, model, s);
        step(&w->r);
    }
}

static void save(world *w)
{
    char text[24];
    ls_setting note = {"cursor", text};

    snprintf(text, sizeof text, "at %lld",
             (long long)ls_trainer_step(w->r.trainer));
    OK(ls_checkpoints_save(w->saved, 1, &note));
}

static bool there(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

/* ------ Going on ------ */

/* A run that goes on from the checkpoint of any step of any model, with other
 * workers and another placement, ends with the hash of the one that was never
 * broken. */
LOOP_TEST(every_step, 0, MODELS)
{
    int model = _i;
    char want[65], got[65], name[64], text[24];
    int64_t at;
    world w, v;

    open_with(&w, model, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 0));
    save(&w);
    for (int64_t s = 1; s <= STEPS; s++) {
        steps(&w, model, s);
        save(&w);
    }
    ls_trainer_hash(w.r.trainer, want);
    close_world(&w);
    for (int64_t s = STEPS; s >= 0; s--) {
        open_with(&v, model, 1 + (int)s % 3, s % 2 ? LS_REPLICATE : LS_SHARD,
                  NULL);
        OK(keep_in(&v, "c", 0));
        OK(ls_checkpoints_load(v.saved, &at));
        ck_assert_int_eq(at, s);
        snprintf(text, sizeof text, "at %lld", (long long)s);
        ck_assert_str_eq(ls_checkpoints_note(v.saved, "cursor"), text);
        ck_assert_ptr_null(ls_checkpoints_note(v.saved, "model"));
        ck_assert_ptr_null(ls_checkpoints_skipped(v.saved));
        steps(&v, model, STEPS);
        ls_trainer_hash(v.r.trainer, got);
        ck_assert_msg(!strcmp(got, want), "model %d from step %lld", model,
                      (long long)s);
        close_world(&v);
        snprintf(name, sizeof name, "c/step-%012lld/checkpoint.json",
                 (long long)s);
        ck_assert_int_eq(unlink(in_folder(name)), 0);
        snprintf(name, sizeof name, "c/step-%012lld", (long long)s);
        nftw(in_folder(name), folder_remove, 8, FTW_DEPTH | FTW_PHYS);
    }
}

/* A copy is written, not the state as it is when the thread gets to it. */
TEST(consistent)
{
    char want[65], got[65];
    int64_t at;
    world w;

    open_with(&w, 1, 2, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 0));
    for (int64_t s = 0; s < 20; s += 2) {
        steps(&w, 1, s);
        ls_trainer_hash(w.r.trainer, want);
        save(&w);
        steps(&w, 1, s + 1); /* while it is being written */
        OK(ls_checkpoints_wait(w.saved));
        OK(ls_checkpoints_load(w.saved, &at));
        ls_trainer_hash(w.r.trainer, got);
        ck_assert_str_eq(got, want);
    }
    close_world(&w);
}

/* The state hash in the folder is the trainer's, and its arrays are listed
 * with those of the optimizer behind the parameters. */
TEST(archived)
{
    char hex[65];
    const char *name, *value;
    ls_archive *a;
    ls_entry e;
    world w;

    open_with(&w, 1, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 0));
    steps(&w, 1, 3);
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    ls_trainer_hash(w.r.trainer, hex);
    OK(ls_archive_open(&a, in_folder("c/step-000000000003")));
    ck_assert_int_eq(ls_archive_entries(a),
                     3 * ls_trainer_params(w.r.trainer));
    ck_assert(ls_archive_entry(a, 0, &e));
    ck_assert_str_eq(e.name, "hidden.bias");
    ck_assert(ls_archive_entry(a, 6, &e));
    ck_assert_str_eq(e.name, "mu.hidden.bias");
    ck_assert(ls_archive_note(a, 0, &name, &value));
    ck_assert_str_eq(value, "3");
    ck_assert(ls_archive_note(a, 1, &name, &value));
    ck_assert_str_eq(name, "state");
    ck_assert_str_eq(value, hex);
    ls_archive_close(a);
    close_world(&w);
}

/* The newest K stay, and a step that is saved again does not touch the folder
 * that is there. */
TEST(keeps)
{
    int64_t at;
    world w;

    open_with(&w, 0, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 2));
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, -1);
    for (int s = 1; s <= 4; s++) {
        steps(&w, 0, s);
        save(&w);
    }
    OK(ls_checkpoints_wait(w.saved));
    ck_assert(!there("c/step-000000000002"));
    ck_assert(there("c/step-000000000003"));
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    ck_assert(!there("c/step-000000000003"));
    ck_assert(there("c/step-000000000004"));
    ck_assert(there("c/step-000000000004.1"));
    ck_assert(!there("c/.writing"));
    close_world(&w);
}

/* The oldest stays beside the newest; and going back comes to it, step by step,
 * in the bytes that were saved, while the younger ones go. */
TEST(goes_back)
{
    ls_checkpoints_options o = options_in("c");
    char hex[5][65], now[65];
    int64_t at = INT64_MAX;
    world w;

    open_with(&w, 0, 1, LS_REPLICATE, NULL);
    o.keep = 2;
    o.keep_first = true;
    OK(ls_checkpoints_open(&w.saved, w.r.trainer, &o));
    for (int s = 0; s <= 4; s++) {
        steps(&w, 0, s);
        OK(ls_trainer_hash(w.r.trainer, hex[s]));
        save(&w);
    }
    OK(ls_checkpoints_wait(w.saved));
    ck_assert(there("c/step-000000000000"));
    ck_assert(!there("c/step-000000000001"));
    ck_assert(!there("c/step-000000000002"));
    for (int i = 0; i < 3; i++) {
        static const int step[] = {4, 3, 0};

        OK(ls_checkpoints_back(w.saved, at, &at));
        ck_assert_int_eq(at, step[i]);
        ck_assert_int_eq(ls_trainer_step(w.r.trainer), at);
        OK(ls_trainer_hash(w.r.trainer, now));
        ck_assert_str_eq(now, hex[at]);
    }
    ck_assert(!there("c/step-000000000003"));
    ck_assert(!there("c/step-000000000004"));
    OK(ls_checkpoints_back(w.saved, at, &at));
    ck_assert_int_eq(at, -1);
    ck_assert(there("c/step-000000000000"));
    steps(&w, 0, 4);
    OK(ls_trainer_hash(w.r.trainer, now));
    ck_assert_str_eq(now, hex[4]);
    close_world(&w);
}

/* ------ What does not fit ------ */

static ls_trainer_options changed(int which)
{
    static const ls_boundary boundary = {7, 0.5};
    ls_trainer_options o = options_of(1);

    switch (which) {
    case 0: o.seed = 4; break;
    case 1: o.optimizer = ls_adam(0.01); break;
    case 2: o.optimizer.lr = 0.02; break;
    case 3: o.optimizer.b2 = 0.99; break;
    case 4: o.optimizer.weight_decay = 0; break;
    case 5: o.schedule.kind = LS_LINEAR; break;
    case 6: o.schedule.decay_steps = 20; break;
    case 7: o.schedule = (ls_schedule){.kind = LS_PIECEWISE, .n_boundaries = 1,
                                       .boundaries = &boundary}; break;
    case 8: o.accumulate = 1; break;
    case 9: o.clip_norm = 0; break;
    case 10: o.mean = LS_MEAN_OF_SHARDS; break;
    case 11: o.keys = LS_KEYS_LINEN; break;
    case 12: o.schedule.end_lr = 0.1; break;
    case 13: o.clip_value = 0.1; break;
    }
    return o;
}

static const char *const contradictions[] = {
    "seed is 4, but was 3", "optimizer is adam, but was adamw",
    "lr is 0.02, but was 0.01", "b2 is 0.99, but was 0.999",
    "weight_decay is 0, but was 0.0001", "schedule is linear, but was cosine",
    "decay_steps is 20, but was 10", "schedule is piecewise, but was cosine",
    "accumulate is 1, but was 2", "clip_norm is 0, but was 0.5",
    "mean is of shards, but was exact", "keys is linen, but was nnx",
    "end_lr is 0.1, but was 0.0001",
    "clip_value is 0.1, but was not set",
};
enum { CONTRADICTIONS = sizeof contradictions / sizeof *contradictions };

static void make_one(int model, const char *name)
{
    world w;

    open_with(&w, model, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, name, 0));
    steps(&w, model, 2);
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    close_world(&w);
}

/* Loading is refused in these words, and changes nothing. */
static void refused(world *w, int status, const char *words)
{
    char before[65], after[65];
    int64_t at = 77;

    ls_trainer_hash(w->r.trainer, before);
    FAILS(ls_checkpoints_load(w->saved, &at), status, words);
    ls_trainer_hash(w->r.trainer, after);
    ck_assert_str_eq(before, after);
    ck_assert_int_eq(at, 77);
}

/* Going on from "c" with a model and options (NULL: its own) is. */
static void does_not_go_on(int model, const ls_trainer_options *options,
                           int status, const char *words)
{
    world w;

    open_with(&w, model, 1, LS_REPLICATE, options);
    OK(keep_in(&w, "c", 0));
    refused(&w, status, words);
    close_world(&w);
}

/* An option of the trainer that has changed is named with both values. */
LOOP_TEST(contradicts, 0, CONTRADICTIONS)
{
    ls_trainer_options o = changed(_i);

    make_one(1, "c");
    does_not_go_on(1, &o, LS_EINVAL, contradictions[_i]);
}

/* Options that may change do, and are told with both values; one that may not
 * is refused, and told with the others. */
TEST(changes)
{
    ls_checkpoints_options o = options_in("c");
    ls_trainer_options options = options_of(1);
    int64_t at = -1;
    ls_change c;
    world w;

    make_one(1, "c");
    options.optimizer.lr = 0.02;
    options.schedule.decay_steps = 20;
    open_with(&w, 1, 1, LS_REPLICATE, &options);
    o.may_change = "schedule,decay*";
    OK(ls_checkpoints_open(&w.saved, w.r.trainer, &o));
    refused(&w, LS_EINVAL, "lr is 0.02, but was 0.01");
    ck_assert(ls_checkpoints_change(w.saved, 1, &c));
    ck_assert_str_eq(c.name, "decay_steps");
    ls_checkpoints_close(w.saved);
    o.may_change = "decay*,lr";
    OK(ls_checkpoints_open(&w.saved, w.r.trainer, &o));
    ck_assert(!ls_checkpoints_change(w.saved, 0, &c));
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, 2);
    ck_assert(ls_checkpoints_change(w.saved, 0, &c));
    ck_assert_str_eq(c.name, "lr");
    ck_assert_str_eq(c.is, "0.02");
    ck_assert_str_eq(c.was, "0.01");
    ck_assert(ls_checkpoints_change(w.saved, 1, &c));
    ck_assert_str_eq(c.was, "10");
    ck_assert(!ls_checkpoints_change(w.saved, 2, &c));
    close_world(&w);
}

/* Two layers of n features; the second one's name, and whether it is a
 * convolution. */
static run open_layers(ls_pool *pool, int64_t n, const char *name, bool image)
{
    ls_window one = {1, 1, 1, 1, LS_SAME};
    ls_node *x, *h;
    ls_graph *g = empty_graph();

    x = ls_input(g, "x", LS_F32, 3, (int64_t[]){1, 1, 4});
    h = ls_dense(x, n, "first");
    h = image ? ls_conv2d(h, 4, one, name) : ls_dense(h, 4, name);
    OK(ls_loss(g, ls_mean_squared_error(h, x)));
    return open_run(pool, g, NULL);
}

/* A checkpoint of layers of other names, sizes or ranks, or of more of them, is
 * another model's: all that is there stays. */
TEST(other_models)
{
    static const struct {
        int64_t n;
        const char *name;
        bool image;
        int status;
        const char *words;
    } row[] = {{3, "second", false, 0, ""},
               {3, "third", false, LS_ENOTFOUND, "the model has \"third."},
               {5, "second", false, LS_ESHAPE, "is (5)"},
               {3, "second", true, LS_ESHAPE,
                "\"second.kernel\" is (1,1,3,4)"}};
    ls_checkpoints_options o = {.size = sizeof o, .folder = in_folder("m")};
    ls_pool *pool = open_pool(2, 1);

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run r = open_layers(pool, row[i].n, row[i].name, row[i].image);
        ls_checkpoints *c;
        int64_t at = -1;

        OK(ls_checkpoints_open(&c, r.trainer, &o));
        if (i == 0) {
            OK(ls_checkpoints_save(c, 0, NULL));
            OK(ls_checkpoints_wait(c));
            OK(ls_checkpoints_load(c, &at));
        } else {
            FAILS(ls_checkpoints_load(c, &at), row[i].status, row[i].words);
            ck_assert_int_eq(at, -1);
        }
        ls_checkpoints_close(c);
        close_run(&r);
    }
    ls_pool_close(pool);
}

/* What is asked of files wrongly; names that are nearly a checkpoint's. */
TEST(misused)
{
    ls_checkpoints_options o = options_in("c");
    const char *name, *value;
    ls_archive *a;
    ls_entry e;
    float x;
    world w;

    make_one(1, "c");
    OK(mkdir(in_folder("c/step--00000000001"), 0777));
    OK(mkdir(in_folder("c/step-000000000000000000000000000000000000000001"),
             0777));
    FAILS(ls_archive_open(&a, in_folder("c")), LS_EFORMAT,
          "holds 1 checkpoint; the newest is");
    OK(ls_archive_open(&a, in_folder("c/step-000000000002")));
    ck_assert(!ls_archive_entry(a, -1, &e));
    FAILS(ls_archive_read(a, 1000, 1, &x), LS_EINVAL, "no array 1000 of");
    ck_assert(!ls_archive_note(a, -1, &name, &value));
    ls_archive_close(a);
    open_with(&w, 1, 1, LS_REPLICATE, NULL);
    o.keep = -1;
    FAILS(ls_checkpoints_open(&w.saved, w.r.trainer, &o), LS_EINVAL,
          "number to keep");
    o.folder = NULL;
    o.keep = 1;
    FAILS(ls_checkpoints_open(&w.saved, w.r.trainer, &o), LS_EINVAL,
          "need a folder");
    o.size = 1;
    FAILS(ls_checkpoints_open(&w.saved, w.r.trainer, &o), LS_EINVAL,
          "size is 1");
    close_world(&w);
}

/* So are other devices, other settings of the program, another model. */
TEST(contradicts_more)
{
    const ls_setting other = {"model", "yours"};
    ls_checkpoints_options o = {.size = sizeof o,
                                .n_settings = 1, .settings = &other};
    ls_trainer_options options = options_of(1);
    world w;

    make_one(1, "c");
    open_with(&w, 1, 1, LS_REPLICATE, NULL);
    o.folder = in_folder("c");
    OK(ls_checkpoints_open(&w.saved, w.r.trainer, &o));
    refused(&w, LS_EINVAL, "model is yours, but was mine in the checkpoint");
    close_world(&w);

    w.saved = NULL;
    w.r = open_run_on(2, 1, mlp_graph(), &options);
    OK(keep_in(&w, "c", 0));
    refused(&w, LS_EINVAL, "devices is 2, but was 4");
    close_world(&w);

    does_not_go_on(2, NULL, LS_ESHAPE,
                   "17 parameters and 34 moments, but were 6 and 12");
}

/* Patterns that let an optimizer be another do not make its moments fit; a
 * setting that is empty now is called not set. */
TEST(contradicts_twice)
{
    const ls_setting set[] = {{"model", "mine"}, {"data", "rows"}};
    ls_trainer_options options = options_of(1);
    ls_checkpoints_options o = options_in("c");
    world w;

    o.settings = set;
    open_with(&w, 1, 1, LS_REPLICATE, NULL);
    OK(ls_checkpoints_open(&w.saved, w.r.trainer, &o));
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    close_world(&w);
    options.optimizer = ls_sgd(0.01);
    open_with(&w, 1, 1, LS_REPLICATE, &options);
    o.may_change = "optimizer,b1,b2,eps,weight_decay";
    OK(ls_checkpoints_open(&w.saved, w.r.trainer, &o));
    refused(&w, LS_ESHAPE, "6 parameters and 0 moments, but were 6 and 12");
    close_world(&w);
    does_not_go_on(1, NULL, LS_EINVAL, "data is not set, but was rows");
}

/* Save at once, or go on from what is there; then three steps. */
static void first_steps(bool saves, const char *name, char hex[65])
{
    ls_trainer_options o = options_of(1);
    int64_t at;
    world w;

    o.optimizer.lr = 0.1 + 0.2; /* 17 digits */
    open_with(&w, 1, 1, LS_REPLICATE, &o);
    OK(keep_in(&w, name, 0));
    if (saves) {
        OK(ls_trainer_set_lr(w.r.trainer, 0.1875));
        save(&w);
        OK(ls_checkpoints_wait(w.saved));
    } else {
        OK(ls_checkpoints_load(w.saved, &at));
        ck_assert_int_eq(at, 0);
    }
    steps(&w, 1, 3);
    ls_trainer_hash(w.r.trainer, hex);
    close_world(&w);
}

/* What is saved in one locale is gone on with in the other: options, and the
 * rate that was set. */
TEST(any_locale)
{
    char half[8], want[65], got[65];

    if (!set_comma())
        return;
    for (int i = 0; i < 2; i++) {
        setlocale(LC_NUMERIC, i ? "C" : "xx_XX");
        snprintf(half, sizeof half, "%.1f", 0.5);
        ck_assert_str_eq(half, i ? "0.5" : "0,5");
        first_steps(true, i ? "c" : "d", want);
        setlocale(LC_NUMERIC, i ? "xx_XX" : "C");
        first_steps(false, i ? "c" : "d", got);
        ck_assert_str_eq(got, want);
    }
    unset_comma();
}

/* A folder that cannot be used is refused at once; one in use too. */
TEST(refuses_folders)
{
    world w, v;

    open_with(&w, 0, 1, LS_REPLICATE, NULL);
    open_with(&v, 0, 1, LS_REPLICATE, NULL);
    FAILS(keep_in(&w, "none/c", 0), LS_EIO, "cannot be made");
    put_file(in_folder("file"), "", 0);
    FAILS(keep_in(&w, "file", 0), LS_EIO, "file: the folder cannot be opened");
    FAILS(ls_checkpoints_open(&w.saved, w.r.trainer, NULL), LS_EINVAL,
          "options is NULL");
    OK(keep_in(&w, "c", 0));
    FAILS(keep_in(&v, "c", 0), LS_EBUSY, "another run");
    ls_checkpoints_close(w.saved);
    w.saved = NULL;
    OK(keep_in(&v, "c", 0));
    close_world(&v);
    close_world(&w);
    ls_checkpoints_close(NULL);
}

/* ------ Damage ------ */

static const char *const files[] = {"checkpoint.json", "params.safetensors",
                                    "optimizer.safetensors"};

static const char *file_of(int64_t step, const char *file)
{
    char name[128];

    snprintf(name, sizeof name, "c/step-%012lld/%s", (long long)step, file);
    return in_folder(name);
}

/* Each file cut at every 512 bytes, and at its last byte, is refused. */
TEST(truncated)
{
    world w;

    make_one(2, "c");
    open_with(&w, 2, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 0));
    for (int f = 0; f < 3; f++) {
        const char *name = file_of(2, files[f]);
        size_t n;
        char *bytes = get_file(name, &n);

        for (size_t cut = 0; cut < n; cut += 512) {
            put_file(file_of(2, files[f]), bytes, cut);
            refused(&w, LS_EFORMAT, "of 1 checkpoint none");
        }
        put_file(file_of(2, files[f]), bytes, n - 1);
        refused(&w, LS_EFORMAT, "of 1 checkpoint none");
        unlink(file_of(2, files[f]));
        refused(&w, LS_EFORMAT, "of 1 checkpoint none");
        put_file(file_of(2, files[f]), bytes, n);
        free(bytes);
    }
    close_world(&w);
}

static void flip(const char *name, long at, int bit)
{
    FILE *f = fopen(name, "r+b");
    int byte;

    ck_assert_ptr_nonnull(f);
    fseek(f, at, SEEK_SET);
    byte = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(byte ^ 1 << bit, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* Any bit flipped in any file: the checkpoint is refused, never half loaded. */
TEST(flipped)
{
    int trials = UNDER_SANITIZER ? 2000 : 10000;
    struct stat info;
    int64_t at;
    world w;

    make_one(0, "c");
    open_with(&w, 0, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 0));
    for (int i = 0; i < trials; i++) {
        const char *name = file_of(2, files[i % 3]);
        int32_t place, bit;

        ck_assert_int_eq(stat(name, &info), 0);
        ls_random_randint(ls_key_new(i), 0, 1, 0, (int32_t)info.st_size,
                          &place);
        ls_random_randint(ls_key_new(i), 1, 1, 0, 8, &bit);
        flip(name, place, bit);
        refused(&w, LS_EFORMAT, "of 1 checkpoint none");
        flip(file_of(2, files[i % 3]), place, bit);
    }
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, 2);
    close_world(&w);
}

/* Where the newest is damaged the one before it counts, and that is said; the
 * run then saves under a name of its own. */
TEST(falls_back)
{
    int64_t at;
    world w;

    open_with(&w, 1, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 0));
    for (int s = 1; s <= 3; s++) {
        steps(&w, 1, s);
        save(&w);
    }
    OK(ls_checkpoints_wait(w.saved));
    flip(file_of(3, files[1]), 700, 3);
    unlink(file_of(2, files[0]));
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, 1);
    ck_assert(strstr(ls_checkpoints_skipped(w.saved), "step-000000000003"));
    ck_assert(strstr(ls_checkpoints_skipped(w.saved), "damaged"));
    steps(&w, 1, 3);
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    ck_assert(there("c/step-000000000003.1"));
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, 3);
    ck_assert_ptr_null(ls_checkpoints_skipped(w.saved));
    close_world(&w);
}

/* Two whole files of different checkpoints are no checkpoint. */
TEST(mixed)
{
    int64_t at;
    world w;

    open_with(&w, 1, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 0));
    for (int s = 1; s <= 2; s++) {
        steps(&w, 1, s);
        save(&w);
    }
    OK(ls_checkpoints_wait(w.saved));
    ck_assert_int_eq(rename(file_of(1, files[2]), file_of(2, files[2])), 0);
    FAILS(ls_checkpoints_load(w.saved, &at), LS_EFORMAT, "hash");
    close_world(&w);
}

/* A note that stands where the library keeps the rate that was set, and is no
 * number: the rate is that of the options. */
LOOP_TEST(forged_rate, 0, 2)
{
    const ls_setting note = {"the learning rate as it was set",
                             _i ? "fast" : ""};
    char want[65], got[65];
    int64_t at;
    world w;

    open_with(&w, 1, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 0));
    OK(ls_checkpoints_save(w.saved, 1, &note));
    OK(ls_checkpoints_wait(w.saved));
    steps(&w, 1, 3);
    ls_trainer_hash(w.r.trainer, want);
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_str_eq(ls_checkpoints_note(w.saved, note.name), note.value);
    steps(&w, 1, 3);
    ls_trainer_hash(w.r.trainer, got);
    ck_assert_str_eq(got, want);
    close_world(&w);
}

/* A whole file of another element type, under a good checksum and the hash of
 * the same bytes: somebody else made it. */
TEST(forged_type)
{
    size_t n;
    char *bytes, *type;

    make_one(1, "c");
    bytes = get_file(file_of(2, files[1]), &n);
    type = memmem(bytes, n, "\"F32\"", 5);
    ck_assert_ptr_nonnull(type);
    memcpy(type, "\"I32\"", 5);
    reseal(bytes, n, n);
    put_file(file_of(2, files[1]), bytes, n);
    free(bytes);
    does_not_go_on(1, NULL, LS_EFORMAT, "\"hidden.bias\" is of type I32");
}

/* ------ Where it cannot be written ------ */

/* A disk that is full ends the save, with a message told once, and not the
 * training; the checkpoint before it stays, and the next save works. */
TEST(disk_full)
{
    struct rlimit old, small;
    int64_t at;
    world w;

    open_with(&w, 2, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 1));
    steps(&w, 2, 1);
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){4096, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    steps(&w, 2, 2);
    save(&w);
    FAILS(ls_checkpoints_wait(w.saved), LS_EIO, "writing failed");
    OK(ls_checkpoints_wait(w.saved));
    setrlimit(RLIMIT_FSIZE, &old);
    ck_assert(!there("c/.writing"));
    steps(&w, 2, 3);
    OK(ls_checkpoints_load(w.saved, &at));
    ck_assert_int_eq(at, 1);
    steps(&w, 2, 3);
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    ck_assert(there("c/step-000000000003"));
    ck_assert(!there("c/step-000000000001"));
    close_world(&w);
}

/* A folder that is gone is reported by the next save, which tries again. */
TEST(folder_gone)
{
    world w;

    open_with(&w, 0, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 1));
    ck_assert_int_eq(rename(in_folder("c"), in_folder("d")), 0);
    save(&w);
    FAILS(ls_checkpoints_save(w.saved, 0, NULL), LS_EIO, "/c: the folder");
    FAILS(ls_checkpoints_wait(w.saved), LS_EIO, "/c: the folder");
    ck_assert_int_eq(mkdir(in_folder("c"), 0777), 0);
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    ck_assert(there("c/step-000000000000"));
    close_world(&w);
}

/* A folder without permission to write: the same.  (Root may always write.) */
TEST(no_permission)
{
    world w;

    if (geteuid() == 0)
        return;
    open_with(&w, 0, 1, LS_REPLICATE, NULL);
    OK(keep_in(&w, "c", 1));
    chmod(in_folder("c"), 0555);
    save(&w);
    FAILS(ls_checkpoints_wait(w.saved), LS_EIO, "Permission denied");
    chmod(in_folder("c"), 0755);
    save(&w);
    OK(ls_checkpoints_wait(w.saved));
    close_world(&w);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    return RUN_TESTS(.setup = folder_open, .teardown = folder_close);
}
