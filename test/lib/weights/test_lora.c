/* SPDX-License-Identifier: BSD-3-Clause */
/* Low-rank adapters: PyTorch's numbers; a graph that is the same whether it was
 * built, adapted or read; what is frozen stays to the bit; files of adapters
 * alone, merged and whole; and what is refused. */
#define _GNU_SOURCE /* nftw */
#include "agreement.h"
#include "folder.h"
#include "layers.h"
#include "record_bytes.h"
#include "golden/lora_updates.h"

#include <math.h>

enum { LENGTH = 6, VOCAB = 11, ROWS = 4, WIDTH = 8 };

/* ------ PyTorch ------ */

static ls_graph *golden_graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){LORA_IN});
    ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){LORA_OUT});

    x = ls_relu(ls_dense(x, LORA_HIDDEN, "fc"));
    OK(ls_loss(g,
               ls_mean_squared_error(dense_no_bias(x, LORA_OUT, "out"), y)));
    OK(ls_lora_add(g, "*.kernel", LORA_RANK, lora_alpha));
    return g;
}

static void set_golden(ls_trainer *t)
{
    for (size_t i = 0; i < COUNT(lora_params); i++)
        OK(ls_trainer_set(t, lora_params[i].name, lora_params[i].size,
                          lora_params[i].start));
}

static void check_golden(const ls_trainer *t)
{
    float got[64];

    for (size_t i = 0; i < COUNT(lora_params); i++) {
        int n = lora_params[i].size;

        OK(ls_trainer_get(t, lora_params[i].name, n, got));
        if (!lora_params[i].after)
            ck_assert_mem_eq(got, lora_params[i].start,
                             (size_t)n * sizeof *got);
        for (int k = 0; lora_params[i].after && k < n; k++)
            near((double)got[k], (double)lora_params[i].after[k], 2e-6,
                 lora_params[i].name, k);
    }
}

TEST(test_torch)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_group rest = ls_lora_rest();

    o.optimizer = ls_momentum(lora_lr, 0.9);
    o.n_groups = 1;
    o.groups = &rest;
    for (int devices = 1; devices <= 4; devices *= 2) {
        run r = open_run_on(devices, 0, golden_graph(), &o);

        ck_assert_int_eq(ls_trainer_params(r.trainer), COUNT(lora_params));
        set_golden(r.trainer);
        OK(ls_batch_set(r.batch, "x", LS_F32, lora_x, LORA_ROWS));
        OK(ls_batch_set(r.batch, "y", LS_F32, lora_y, LORA_ROWS));
        for (int i = 0; i < LORA_STEPS; i++)
            near((double)step(&r).loss, (double)lora_loss[i], 1e-6, "loss", i);
        check_golden(r.trainer);
        close_run(&r);
    }
}

/* ------ a transformer, with what counts on the order of nodes ------ */

/* Dropout between the layers, a bias that is another layer's, and a tied
 * output layer. */
static ls_graph *text_graph(void)
{
    ls_graph *g = empty_graph();
    ls_node *tokens, *x, *h;

    tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){LENGTH});
    x = ls_embed(tokens, VOCAB, WIDTH, "embed");
    x = ls_dropout(x, 0.25, "drop_0");
    h = ls_grouped_attention(ls_rms_norm(x, 1e-6, "norm_0"), 2, 1, 10000, true,
                             "mix");
    x = ls_add(x, ls_dropout(h, 0.25, "drop_1"));
    h = ls_gelu(ls_dense(x, WIDTH, "up"));
    OK(ls_tie(g, "down.bias", "up.bias", false));
    x = ls_add(x, ls_dropout(ls_dense(h, WIDTH, "down"), 0.25, "drop_2"));
    OK(ls_tie(g, "head.kernel", "embed.embedding", true));
    x = dense_no_bias(ls_layer_norm(x, "norm_1"), VOCAB, "head");
    OK(ls_output(g, x, "logits"));
    OK(ls_loss(g, ls_next_token_loss(x, tokens)));
    return g;
}

static const int32_t *tokens(void)
{
    static int32_t t[ROWS * LENGTH];

    fill_indices(5, ROWS * LENGTH, VOCAB, t);
    return t;
}

typedef struct way {
    ls_keys keys;
    bool own_key, frozen;
    int devices, workers;
} way;

static run open_way(ls_pool *pool, ls_graph *g, const way *w)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_group rest = ls_lora_rest();
    run r;

    o.seed = 3;
    o.keys = w->keys;
    o.own_dropout_key = w->own_key;
    o.dropout_key = ls_key_new(8);
    o.optimizer = ls_adamw(0.05);
    o.average = 0.9;
    o.n_groups = w->frozen;
    o.groups = &rest;
    r = open_run(pool, g, &o);
    OK(ls_batch_set(r.batch, "tokens", LS_I32, tokens(), ROWS));
    return r;
}

static void steps(const run *r, int n)
{
    for (int i = 0; i < n; i++)
        step(r);
}

static void save_base(const char *path)
{
    ls_pool *pool = open_pool(1, 1);
    run r =
        open_way(pool, text_graph(), &(way){LS_KEYS_NNX, false, false, 1, 1});

    steps(&r, 3);
    OK(ls_trainer_save_model(r.trainer, path));
    close_run(&r);
    ls_pool_close(pool);
}

static ls_graph *adapted(ls_graph *g)
{
    OK(ls_lora_add(g, "mix.[qv]*", 1, 2));
    OK(ls_lora_add(g, "[ud]*.kernel", 3, 1.5));
    return g;
}

/* A file does not say how parameters begin, so that is said here. */
static void start_of(ls_graph *g, const way *w, char hash[65])
{
    ls_pool *pool = open_pool(w->devices, w->workers);
    ls_init normal = ls_init_random(LS_NORMAL, 0.3);
    run r;

    OK(ls_init_params(g, LS_LORA_OWN, &normal));
    r = open_way(pool, g, w);
    steps(&r, 3);
    ls_trainer_hash(r.trainer, hash);
    close_run(&r);
    ls_pool_close(pool);
}

/* A graph that was adapted and one that is read from its file draw the same
 * keys, for parameters and dropout. */
LOOP_TEST(test_order, 0, 3)
{
    static const way ways[] = {{LS_KEYS_NNX, false, true, 2, 1},
                               {LS_KEYS_NNX, true, true, 2, 2},
                               {LS_KEYS_LINEN, false, false, 2, 1}};
    const way *w = &ways[_i];
    char here[65], there[65];
    ls_graph *g;

    folder_open();
    {
        ls_pool *pool = open_pool(1, 1);
        run r = open_way(pool, adapted(text_graph()), w);

        OK(ls_trainer_save_model(r.trainer, in_folder("whole")));
        close_run(&r);
        ls_pool_close(pool);
    }
    start_of(adapted(text_graph()), w, here);
    OK(ls_graph_load(&g, in_folder("whole")));
    start_of(g, w, there);
    ck_assert_str_eq(here, there);
    folder_close();
}

TEST(test_workers)
{
    char one[65], two[65];

    start_of(adapted(text_graph()), &(way){LS_KEYS_NNX, false, true, 4, 1},
             one);
    start_of(adapted(text_graph()), &(way){LS_KEYS_NNX, false, true, 4, 2},
             two);
    ck_assert_str_eq(one, two);
}

/* ------ files ------ */

static run open_adapted(ls_pool *pool, const char *base)
{
    ls_graph *g;
    run r;

    OK(ls_graph_load(&g, base));
    r = open_way(pool, adapted(g), &(way){LS_KEYS_NNX, false, true, 1, 1});
    OK(ls_trainer_load(r.trainer, base, LS_LORA_REST));
    return r;
}

enum { LOGITS = ROWS * LENGTH * VOCAB };

static void logits_of(ls_predictor *p, float *out)
{
    ls_context *c;

    OK(ls_context_open(&c, p, NULL));
    OK(ls_context_set(c, "tokens", LS_I32, tokens(), ROWS));
    OK(ls_context_predict(c, "logits", LOGITS, out));
    ls_context_close(c);
    ls_predictor_close(p);
}

static void file_logits(const char *path, const char *adapters, float *out)
{
    ls_predictor *p;

    if (adapters)
        OK(ls_predictor_load_lora(&p, path, adapters));
    else
        OK(ls_predictor_load(&p, path));
    logits_of(p, out);
}

static char *graph_of(const char *path)
{
    const char *name, *value, *text = "";
    ls_archive *a;
    char *copy;

    OK(ls_archive_open(&a, path));
    for (int i = 0; ls_archive_note(a, i, &name, &value); i++)
        if (!strcmp(name, "lockstep.graph"))
            text = value;
    copy = strdup(text);
    ls_archive_close(a);
    return copy;
}

static void check_same_rest(const char *a, const char *b)
{
    ls_archive *one, *two;
    ls_entry e, f;

    OK(ls_archive_open(&one, a));
    OK(ls_archive_open(&two, b));
    for (int i = 0; i < ls_archive_entries(one); i++) {
        ck_assert(ls_archive_entry(one, i, &e));
        for (int k = 0; k < ls_archive_entries(two); k++) {
            ck_assert(ls_archive_entry(two, k, &f));
            if (!strcmp(e.name, f.name))
                ck_assert_mem_eq(e.data, f.data, e.bytes);
        }
    }
    ls_archive_close(one);
    ls_archive_close(two);
}

TEST(test_files)
{
    ls_pool *pool = open_pool(1, 1);
    static float base[LOGITS], first[LOGITS], here[LOGITS], other[LOGITS];
    char file[256], *one, *two;
    double moved = 0;
    ls_predictor *p;
    run r;

    folder_open();
    snprintf(file, sizeof file, "%s", in_folder("base"));
    save_base(file);
    file_logits(file, NULL, base);
    r = open_adapted(pool, file);
    OK(ls_predictor_open(&p, r.trainer));
    logits_of(p, first);
    ck_assert_mem_eq(base, first, sizeof base); /* B is 0 */
    steps(&r, 20);
    OK(ls_predictor_open(&p, r.trainer));
    logits_of(p, here);
    for (int i = 0; i < LOGITS; i++) {
        double by = fabs((double)here[i] - (double)base[i]);

        moved = by > moved ? by : moved;
    }
    ck_assert_double_gt(moved, 0.1);

    OK(save_as(LS_SAVE_ADAPTERS, r.trainer, in_folder("adapters")));
    OK(save_as(LS_SAVE_MERGED, r.trainer, in_folder("merged")));
    OK(ls_trainer_save_model(r.trainer, in_folder("whole")));
    check_same_rest(file, in_folder("whole"));
    file_logits(file, in_folder("adapters"), other);
    ck_assert_mem_eq(here, other, sizeof here);
    file_logits(in_folder("whole"), NULL, other);
    ck_assert_mem_eq(here, other, sizeof here);
    file_logits(in_folder("merged"), NULL, other);
    for (int i = 0; i < LOGITS; i++)
        near((double)other[i], (double)here[i], 1e-5, "merged", i);
    one = graph_of(file);
    two = graph_of(in_folder("merged"));
    ck_assert_uint_gt(strlen(one), 100);
    ck_assert_str_eq(one, two);
    free(one);
    free(two);

    /* onto the base again, by what the file says */
    {
        float was[3 * WIDTH], is[3 * WIDTH];
        ls_graph *g;
        run again;

        OK(ls_graph_load(&g, file));
        OK(ls_lora_add_saved(g, in_folder("adapters")));
        again = open_way(pool, g, &(way){LS_KEYS_NNX, false, true, 1, 1});
        OK(ls_trainer_load(again.trainer, file, LS_LORA_REST));
        OK(ls_lora_load(again.trainer, in_folder("adapters")));
        OK(ls_trainer_get(r.trainer, "down.lora_B.kernel", 3 * WIDTH, was));
        OK(ls_trainer_get(again.trainer, "down.lora_B.kernel", 3 * WIDTH, is));
        ck_assert_mem_eq(was, is, sizeof was);
        close_run(&again);
    }
    /* the average of what is frozen is itself */
    OK(ls_trainer_use_average(r.trainer, true));
    OK(ls_trainer_save_model(r.trainer, in_folder("average")));
    check_same_rest(file, in_folder("average"));
    close_run(&r);
    ls_pool_close(pool);
    folder_close();
}

/* Does the record of the next step say what first values follow from? */
static bool says_start(const run *r)
{
    ls_record_options o = ls_record_defaults();
    ls__record_header h;
    ls__record_entry first;
    ls_result result;
    uint8_t *file;
    size_t n;
    bool says;

    o.path = in_folder("record");
    OK(ls_trainer_record(r->trainer, r->batch, &o, &result));
    file = read_bytes(o.path, &n);
    h = header_of(file);
    memcpy(&first, file + h.tail_at + h.head_bytes, sizeof first);
    ls__record_entry_turn(&first);
    says = first.phase == 0; /* what they follow from comes first */
    free(file);
    OK(remove(o.path));
    return says;
}

/* Adapters of a file are no first values. */
TEST(test_loaded)
{
    const way w = {LS_KEYS_NNX, false, true, 1, 1};
    ls_pool *pool = open_pool(1, 1);
    run r = open_way(pool, adapted(text_graph()), &w);

    folder_open();
    ck_assert(says_start(&r));
    OK(save_as(LS_SAVE_ADAPTERS, r.trainer, in_folder("adapters")));
    close_run(&r);
    r = open_way(pool, adapted(text_graph()), &w);
    OK(ls_lora_load(r.trainer, in_folder("adapters")));
    ck_assert(!says_start(&r));
    close_run(&r);
    ls_pool_close(pool);
    folder_close();
}

/* Nor are those that a step or a checkpoint gave, at whatever step. */
TEST(test_changed)
{
    const way w = {LS_KEYS_NNX, false, true, 1, 1};
    ls_pool *pool = open_pool(1, 1);
    run r = open_way(pool, adapted(text_graph()), &w);
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_checkpoints *kept;
    int64_t step;
    ls_result result;

    folder_open();
    o.folder = in_folder("kept");
    OK(ls_checkpoints_open(&kept, r.trainer, &o));
    OK(ls_step(r.trainer, r.batch, &result));
    OK(ls_trainer_set_step(r.trainer, 0));
    ck_assert(!says_start(&r));
    OK(ls_trainer_set_step(r.trainer, 0));
    OK(ls_checkpoints_save(kept, 0, NULL));
    ls_checkpoints_close(kept);
    close_run(&r);
    r = open_way(pool, adapted(text_graph()), &w);
    OK(ls_checkpoints_open(&kept, r.trainer, &o));
    OK(ls_checkpoints_load(kept, &step));
    ck_assert_int_eq(ls_trainer_step(r.trainer), 0);
    ck_assert(!says_start(&r));
    ls_checkpoints_close(kept);
    close_run(&r);
    ls_pool_close(pool);
    folder_close();
}

/* ------ notes ------ */

static bool has_note(const char *path)
{
    const char *name, *value;
    bool found = false;
    ls_archive *a;

    OK(ls_archive_open(&a, path));
    for (int i = 0; ls_archive_note(a, i, &name, &value); i++)
        found |= !strcmp(name, "units") && !strcmp(value, "cm");
    ls_archive_close(a);
    return found;
}

TEST(test_notes)
{
    static const struct {
        ls_setting note[2];
        const char *says;
    } rows[] = {
        {{{"units", "cm"}, {"units", "m"}}, "two notes are named \"units\""},
        {{{"units", "cm"}, {"lockstep.lora", "{}"}}, "\"lockstep.lora\" is"},
        {{{"units", "cm"}, {NULL, "m"}}, "note 1 of 2 is NULL"},
    };
    ls_setting units = {"units", "cm"};
    ls_pool *pool = open_pool(1, 1);
    float alone[LOGITS], noted[LOGITS];
    ls_save_options nix = ls_save_defaults();
    run r;

    nix.filled = "nix";
    folder_open();
    save_base(in_folder("base"));
    r = open_adapted(pool, in_folder("base"));
    steps(&r, 2);
    OK(save_as(LS_SAVE_ADAPTERS, r.trainer, in_folder("plain")));
    OK(save_noted(LS_SAVE_ADAPTERS, r.trainer, in_folder("alone"), 1, &units));
    OK(save_noted(LS_SAVE_MERGED, r.trainer, in_folder("merged"), 1, &units));
    ck_assert(!has_note(in_folder("plain")));
    ck_assert(has_note(in_folder("alone")));
    ck_assert(has_note(in_folder("merged")));
    file_logits(in_folder("base"), in_folder("plain"), alone);
    file_logits(in_folder("base"), in_folder("alone"), noted);
    ck_assert_mem_eq(alone, noted, sizeof alone);
    for (size_t i = 0; i < COUNT(rows); i++) {
        FAILS(save_noted(LS_SAVE_ADAPTERS, r.trainer, in_folder("alone"), 2,
                         rows[i].note),
              LS_EINVAL, rows[i].says);
        FAILS(save_noted(LS_SAVE_MERGED, r.trainer, in_folder("merged"), 2,
                         rows[i].note),
              LS_EINVAL, rows[i].says);
    }
    FAILS(save_noted(LS_SAVE_ADAPTERS, r.trainer, in_folder("alone"), 1, NULL),
          LS_EINVAL, "ls_trainer_save_with: notes is NULL");
    FAILS(save_noted(LS_SAVE_MERGED, r.trainer, in_folder("merged"), -1, NULL),
          LS_EINVAL, "-1 notes");
    FAILS(ls_trainer_save_with(r.trainer, in_folder("x"), &nix),
          LS_ENOTFOUND, "no parameter is named \"nix\"");
    FAILS(save_as((ls_save_kind)3, r.trainer, in_folder("x")), LS_EINVAL,
          "kind is 3, which is none");
    close_run(&r);
    ls_pool_close(pool);
    folder_close();
}

/* ------ refusals ------ */

TEST(test_graph_refusals)
{
    static const struct {
        const char *names;
        int64_t rank;
        double alpha;
        int status;
        const char *says;
    } rows[] = {
        {"*.kernel", 0, 1, LS_EINVAL, "rank 0 of \"mix.query.kernel\""},
        {"up.kernel", -3, 1, LS_EINVAL, "rank -3"},
        {"up.kernel", WIDTH + 1, 1, LS_EINVAL,
         "takes 8 to 8; it must be 1 to 8"},
        {"mix.key.kernel", 5, 1, LS_EINVAL, "takes 8 to 4; it must be 1 to 4"},
        {"up.kernel", 2, 0, LS_EINVAL, "alpha 0"},
        {"up.kernel", 2, -1, LS_EINVAL, "alpha -1"},
        {"up.kernel", 2, (double)NAN, LS_EINVAL, "alpha"},
        {"up.kernel", 2, (double)INFINITY, LS_EINVAL, "alpha inf"},
        {"nothing", 2, 1, LS_ENOTFOUND, "\"nothing\" matches no weights"},
        {"up.bias", 2, 1, LS_ENOTFOUND, "matches no weights"},
        {"norm*", 2, 1, LS_ENOTFOUND, "matches no weights"},
        {"head.kernel", 2, 1, LS_ENOTFOUND, "matches no weights"}, /* tied */
    };
    ls_graph *g;

    for (size_t i = 0; i < COUNT(rows); i++) {
        g = text_graph();
        FAILS(ls_lora_add(g, rows[i].names, rows[i].rank, rows[i].alpha),
              rows[i].status, rows[i].says);
        FAILS(ls_output(g, NULL, "x"), rows[i].status, rows[i].says);
        ls_graph_free(g);
    }
    g = adapted(text_graph());
    FAILS(ls_lora_add(g, "up.kernel", 2, 1), LS_EINVAL,
          "\"up.kernel\" is of a layer with an adapter");
    ls_graph_free(g);
    g = adapted(text_graph());
    FAILS(ls_lora_add(g, "up.lora_A.kernel", 2, 1), LS_EINVAL,
          "of a layer with an adapter");
    ls_graph_free(g);
}

TEST(test_file_refusals)
{
    ls_pool *pool = open_pool(1, 1);
    float bias[WIDTH] = {1};
    ls_predictor *p;
    ls_graph *g;
    run r, plain;

    folder_open();
    save_base(in_folder("base"));
    r = open_adapted(pool, in_folder("base"));
    steps(&r, 2);
    OK(save_as(LS_SAVE_ADAPTERS, r.trainer, in_folder("adapters")));
    FAILS(save_as(LS_SAVE_ADAPTERS, r.trainer, in_folder("no/where")), LS_EIO,
          "no/where");
    FAILS(ls_lora_load(r.trainer, in_folder("base")), LS_EFORMAT,
          "holds no adapters");
    FAILS(ls_lora_load(r.trainer, in_folder("none")), LS_EIO, "none");

    /* another base: one bias is another */
    OK(ls_trainer_set(r.trainer, "up.bias", WIDTH, bias));
    FAILS(ls_lora_load(r.trainer, in_folder("adapters")), LS_EINVAL,
          "adapters of another base");
    OK(ls_trainer_save_model(r.trainer, in_folder("whole")));
    FAILS(ls_predictor_load_lora(&p, in_folder("whole"), in_folder("adapters")),
          LS_EINVAL, "\"down\", which has an adapter here");
    OK(save_as(LS_SAVE_MERGED, r.trainer, in_folder("merged")));
    FAILS(
        ls_predictor_load_lora(&p, in_folder("merged"), in_folder("adapters")),
        LS_EINVAL, "adapters of another base");
    FAILS(ls_predictor_load_lora(&p, in_folder("base"), in_folder("base")),
          LS_EFORMAT, "holds no adapters");
    close_run(&r);

    /* other adapters */
    OK(ls_graph_load(&g, in_folder("base")));
    OK(ls_lora_add(g, "mix.[qv]*", 1, 2));
    OK(ls_lora_add(g, "[ud]*.kernel", 3, 1));
    r = open_way(pool, g, &(way){LS_KEYS_NNX, false, true, 1, 1});
    FAILS(ls_lora_load(r.trainer, in_folder("adapters")), LS_EINVAL,
          "has rank 3 and alpha 1.5, not 3 and 1");
    close_run(&r);
    OK(ls_graph_load(&g, in_folder("base")));
    OK(ls_lora_add(g, "mix.[qv]*", 1, 2));
    r = open_way(pool, g, &(way){LS_KEYS_NNX, false, true, 1, 1});
    FAILS(ls_lora_load(r.trainer, in_folder("adapters")), LS_EINVAL,
          "has 4 adapters, the model 2");
    close_run(&r);

    /* none, and no layers for them */
    plain =
        open_way(pool, text_graph(), &(way){LS_KEYS_NNX, false, false, 1, 1});
    FAILS(save_as(LS_SAVE_ADAPTERS, plain.trainer, in_folder("x")), LS_EINVAL,
          "has no adapters");
    FAILS(save_as(LS_SAVE_MERGED, plain.trainer, in_folder("x")), LS_EINVAL,
          "has no adapters");
    FAILS(ls_lora_load(plain.trainer, in_folder("adapters")), LS_EINVAL,
          "has no adapters");
    close_run(&plain);
    g = mlp_graph();
    FAILS(ls_lora_add_saved(g, in_folder("adapters")), LS_ENOTFOUND,
          "which is no dense layer");
    FAILS(ls_output(g, NULL, "x"), LS_ENOTFOUND, "no dense layer");
    ls_graph_free(g);
    ls_pool_close(pool);
    folder_close();
}

/* "!" takes what the rest does not match: of groups and of loads. */
TEST(test_others)
{
    ls_group two[] = {ls_group_frozen("!up.*"), ls_group_of("!nothing")};
    ls_trainer_options o = ls_trainer_defaults();
    float was[WIDTH * WIDTH], is[WIDTH * WIDTH], up[WIDTH * WIDTH];
    run r;

    o.n_groups = 2;
    o.groups = two;
    folder_open();
    r = open_run_on(1, 1, text_graph(), &o);
    OK(ls_batch_set(r.batch, "tokens", LS_I32, tokens(), ROWS));
    OK(ls_trainer_get(r.trainer, "down.kernel", WIDTH * WIDTH, was));
    OK(ls_trainer_get(r.trainer, "up.kernel", WIDTH * WIDTH, up));
    OK(ls_trainer_save(r.trainer, in_folder("first")));
    steps(&r, 2);
    OK(ls_trainer_get(r.trainer, "down.kernel", WIDTH * WIDTH, is));
    ck_assert_mem_eq(was, is, sizeof was);
    OK(ls_trainer_get(r.trainer, "up.kernel", WIDTH * WIDTH, is));
    ck_assert_mem_ne(up, is, sizeof up);
    memcpy(up, is, sizeof up);
    OK(ls_trainer_load(r.trainer, in_folder("first"), "!up.kernel"));
    OK(ls_trainer_get(r.trainer, "up.kernel", WIDTH * WIDTH, is));
    ck_assert_mem_eq(up, is, sizeof up);
    OK(ls_trainer_load(r.trainer, in_folder("first"), "!down.*"));
    OK(ls_trainer_get(r.trainer, "up.kernel", WIDTH * WIDTH, is));
    ck_assert_mem_ne(up, is, sizeof up);
    close_run(&r);
    folder_close();
}

MAIN()
