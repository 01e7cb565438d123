/* SPDX-License-Identifier: BSD-3-Clause */
/* Generation position by position: the bytes of the whole sequence predicted at
 * once, however tokens come, in every precision; with the weights it began
 * with; on several NUMA nodes, each of which reads a copy; without an
 * allocation; and what is refused. */
#define _GNU_SOURCE /* nftw */
#include "faults.h"
#include "folder.h"
#include "mesh/neighbours.h"
#include "modern.h"
#include "predict/predictor.h"

enum { MOST = 320, VOCAB = 64 };

/* The models of golden/modern_lm.h, and one longer than a chunk of products. */
static golden_modern_lm model_at(int i)
{
    static const golden_modern_lm lengthy = {
        .vocab = 11, .length = 300, .width = 16, .heads = 4, .kv = 2,
        .layers = 2, .ff = 24, .batch = 2, .rms = 1, .base = 10000, .gated = 1,
        .tie = 1, .seed = 3, .data_seed = 4, .lr = 1e-3};
    static const golden_modern_lm wide = {
        .vocab = 64, .length = 13, .width = 192, .heads = 6, .kv = 3,
        .layers = 1, .ff = 320, .batch = 2, .rms = 1, .base = 10000, .gated = 1,
        .seed = 5, .data_seed = 6, .lr = 1e-3};
    enum { FLAX = sizeof golden_modern_lms / sizeof *golden_modern_lms };

    return i < FLAX ? golden_modern_lms[i] : i == FLAX ? lengthy : wide;
}

enum { CASES = 4, WIDE = CASES };

typedef struct scene {
    golden_modern_lm c;
    run run;
    ls_predictor *predictor;
    ls_context *context;
    ls_generator *generator;
    int32_t *tokens; /* (10 batches) */
    float *whole;    /* (length,vocab) of the first row */
} scene;

static void train_step(scene *s, int i)
{
    OK(ls_batch_set(s->run.batch, "tokens", LS_I32,
                    s->tokens + i * s->c.batch * s->c.length, s->c.batch));
    step(&s->run);
}

static scene open_scene(int i, ls_precision precision)
{
    scene s = {.c = model_at(i)};
    ls_trainer_options o = options_of(&s.c);

    o.precision = precision;
    s.run = open_run_on(1, 1, modern_graph(&s.c), &o);
    s.tokens = tokens_of(&s.c);
    train_step(&s, 0);
    OK(ls_predictor_open(&s.predictor, s.run.trainer));
    OK(ls_context_open(&s.context, s.predictor, NULL));
    OK(ls_generator_open(&s.generator, s.predictor, "logits"));
    ck_assert_int_eq(ls_generator_window(s.generator), s.c.length);
    s.whole = malloc((size_t)(s.c.length * s.c.vocab) * sizeof *s.whole);
    ck_assert_ptr_nonnull(s.whole);
    return s;
}

static void close_scene(scene *s)
{
    ls_predictor_close(s->predictor); /* its memory goes with the generator */
    ls_context_close(s->context);
    ls_generator_close(s->generator);
    close_run(&s->run);
    free(s->tokens);
    free(s->whole);
}

/* All positions at once. */
static void predict_whole(scene *s)
{
    OK(ls_context_set(s->context, "tokens", LS_I32, s->tokens, 1));
    OK(ls_context_predict(s->context, "logits", s->c.length * s->c.vocab,
                          s->whole));
}

static void append(scene *s, int64_t n)
{
    int64_t at = ls_generator_length(s->generator);
    float logits[VOCAB];

    OK(ls_generator_append(s->generator, n, s->tokens + at, s->c.vocab,
                           logits));
    ck_assert_int_eq(ls_generator_length(s->generator), at + n);
    ck_assert_msg(!memcmp(logits, s->whole + (at + n - 1) * s->c.vocab,
                          (size_t)s->c.vocab * sizeof *logits),
                  "position %lld differs", (long long)(at + n - 1));
}

/* One by one, in pieces, all at once; and again from the middle. */
LOOP_TEST(test_bytes, 0, CASES * (LS_F32X3_LAYERS + 1))
{
    scene s = open_scene(_i % CASES, (ls_precision)(_i / CASES));
    int64_t length = s.c.length;

    predict_whole(&s);
    for (int64_t t = 0; t < length; t++)
        append(&s, 1);
    OK(ls_generator_cut(s.generator, length / 2));
    append(&s, 3);
    append(&s, length - ls_generator_length(s.generator));
    OK(ls_generator_cut(s.generator, 0));
    append(&s, length);
    close_scene(&s);
}

/* Workers share a position: one by one, fewer than they are, and more. */
LOOP_TEST(test_shared, 0, 8)
{
    static const int counts[] = {1, 2, 3, 7};
    scene s = open_scene(WIDE, (ls_precision)(_i % 2));
    ls_pool *pool = open_pool(1, counts[_i / 2]);

    predict_whole(&s);
    OK(ls_generator_share(s.generator, pool));
    FAILS(ls_generator_share(s.generator, pool), LS_EINVAL, "already");
    for (int64_t t = 0; t < s.c.length; t++)
        append(&s, 1);
    OK(ls_generator_cut(s.generator, 0));
    append(&s, 2);
    append(&s, s.c.length - 2);
    close_scene(&s);
    ls_pool_close(pool);
}

/* What stands after a position does not show in it, so a row may be filled with
 * anything: the same as generation without a generator. */
TEST(test_filled)
{
    scene s = open_scene(0, LS_F32_LAYERS);

    predict_whole(&s);
    for (int64_t t = 5; t < s.c.length; t++)
        s.tokens[t] = 0;
    append(&s, 5);
    close_scene(&s);
}

/* New weights are for the next sequence. */
TEST(test_refresh)
{
    scene s = open_scene(0, LS_F32_LAYERS);

    predict_whole(&s);
    append(&s, 4);
    train_step(&s, 1);
    OK(ls_predictor_refresh(s.predictor, s.run.trainer));
    append(&s, 4);
    train_step(&s, 2);
    OK(ls_predictor_refresh(s.predictor, s.run.trainer));
    append(&s, 1);
    OK(ls_generator_cut(s.generator, 0));
    predict_whole(&s);
    append(&s, 4);
    close_scene(&s);
}

/* A generator of a model that a file holds. */
TEST(test_file)
{
    scene s = open_scene(0, LS_F32_LAYERS);

    folder_open();
    predict_whole(&s);
    OK(ls_trainer_save_model(s.run.trainer, in_folder("m")));
    ls_generator_close(s.generator);
    ls_predictor_close(s.predictor);
    OK(ls_predictor_load(&s.predictor, in_folder("m")));
    OK(ls_generator_open(&s.generator, s.predictor, "logits"));
    append(&s, 3);
    append(&s, 1);
    close_scene(&s);
    folder_close();
}

/* ------ NUMA nodes of described machines ------ */

static ls_pool *open_machine(const char *topology, int workers)
{
    ls_mesh_options o = ls_mesh_defaults();
    ls_mesh *mesh;
    ls_pool *pool;

    o.topology = topology;
    o.devices = o.workers = workers;
    OK(ls_mesh_open(&mesh, &o));
    OK(ls_pool_open(&pool, mesh, NULL));
    ls_mesh_close(mesh);
    return pool;
}

static const ls__weights *current(const scene *s)
{
    return &atomic_load(&s->predictor->snapshots.current)->weights;
}

static size_t packed_bytes(const scene *s)
{
    return (size_t)s->predictor->model.plan->packs.floats * sizeof(float);
}

/* Workers of one node read one copy, those of two read two, each of what is
 * current; there are none of one node. */
static void check_copies(const scene *s, ls_pool *pool)
{
    const ls__copies *c = &s->predictor->copies;

    ck_assert(!c->of != ls__mesh_has_nodes(ls__pool_mesh(pool)));
    for (int w = 0; c->of && w < c->workers; w++) {
        ls_place here, there;

        ls_mesh_place(ls__pool_mesh(pool), w, &here);
        ck_assert_ptr_ne(c->of[w].packed, current(s)->packed);
        ck_assert_ptr_eq(c->of[0].near[w],
                         c->of[(c->workers - w) % c->workers].packed);
        ck_assert(!memcmp(c->of[w].packed, current(s)->packed,
                          packed_bytes(s)));
        for (int i = 0; i < w; i++) {
            ls_mesh_place(ls__pool_mesh(pool), i, &there);
            ck_assert((c->of[w].packed == c->of[i].packed) ==
                      (here.numa == there.numa));
        }
    }
}

/* The bytes are the same for every number of workers on 2 x 96 cores, four
 * nodes a package, and each node has a copy. */
LOOP_TEST(test_nodes, 0, 5)
{
    static const int workers[] = {1, 2, 25, 64, 192};
    scene s = open_scene(WIDE, LS_F32_LAYERS);
    ls_pool *pool = open_machine("pack:2 numa:4 core:24", workers[_i]);

    predict_whole(&s);
    OK(ls_generator_share(s.generator, pool));
    append(&s, 2);
    check_copies(&s, pool);
    append(&s, 1);
    append(&s, s.c.length - 3);
    close_scene(&s);
    ls_pool_close(pool);
}

/* Does it show in a position that workers of this node read zeros? */
static bool shows(const scene *s, int worker)
{
    float *packed = s->predictor->copies.of[worker].packed;
    float logits[VOCAB];

    memset(packed, 0, packed_bytes(s));
    OK(ls_generator_append(s->generator, 1, s->tokens + 2, s->c.vocab, logits));
    OK(ls_generator_cut(s->generator, 2));
    memcpy(packed, current(s)->packed, packed_bytes(s));
    return memcmp(logits, s->whole + 2 * s->c.vocab,
                  (size_t)s->c.vocab * sizeof *logits) != 0;
}

/* Each worker reads the copy of its own node. */
LOOP_TEST(test_own_copies, 0, 2)
{
    scene s = open_scene(WIDE, (ls_precision)_i);
    ls_pool *pool = open_machine("numa:3 core:1", 3);

    predict_whole(&s);
    OK(ls_generator_share(s.generator, pool));
    append(&s, 2);
    for (int w = 0; w < 3; w++)
        ck_assert(shows(&s, w));
    append(&s, 1);
    close_scene(&s);
    ls_pool_close(pool);
}

/* One of several generators has copies, which are of what it took; so are those
 * of another one, when that is closed. */
TEST(test_one_has_copies)
{
    scene s = open_scene(WIDE, LS_F32_LAYERS), t = s;
    ls_pool *pool = open_machine("numa:2 core:2", 4);
    ls_pool *other = open_machine("numa:3 core:1", 3);

    t.whole = malloc((size_t)(s.c.length * s.c.vocab) * sizeof *t.whole);
    ck_assert_ptr_nonnull(t.whole);
    OK(ls_generator_open(&t.generator, s.predictor, "logits"));
    OK(ls_generator_share(s.generator, pool));
    OK(ls_generator_share(t.generator, pool));
    predict_whole(&s);
    append(&s, 2);
    train_step(&s, 1);
    OK(ls_predictor_refresh(s.predictor, s.run.trainer));
    predict_whole(&t);
    append(&t, 2);
    append(&s, 1);
    OK(ls_generator_cut(s.generator, 0));
    predict_whole(&s);
    append(&s, 2);
    check_copies(&s, pool);
    append(&s, 1);
    ls_generator_close(s.generator);
    append(&t, 1);
    OK(ls_generator_open(&s.generator, s.predictor, "logits"));
    append(&s, 1);
    OK(ls_generator_share(s.generator, other));
    ck_assert_ptr_null(s.predictor->copies.of); /* in the midst of it */
    append(&s, 1);
    ls_generator_close(t.generator);
    OK(ls_generator_open(&t.generator, s.predictor, "logits"));
    OK(ls_generator_share(t.generator, other));
    append(&t, 2);
    check_copies(&t, other);
    append(&t, 1);
    ls_generator_close(t.generator);
    free(t.whole);
    close_scene(&s);
    ls_pool_close(other);
    ls_pool_close(pool);
}

#if OWN_MALLOC

/* Nothing is allocated after the first position. */
TEST(test_no_allocation)
{
    scene s = open_scene(0, LS_F32_LAYERS);
    float logits[VOCAB];
    int bad = 0;

    predict_whole(&s);
    append(&s, 1);
    fail_memory = ALL_MEMORY;
    watch_from(0); /* Check's own assertions allocate */
    for (int i = 1; i < 6; i++)
        bad += ls_generator_append(s.generator, 1, s.tokens + i, s.c.vocab,
                                   logits) != 0;
    bad += ls_generator_cut(s.generator, 0) != 0;
    bad += ls_generator_append(s.generator, 7, s.tokens, s.c.vocab,
                               logits) != 0;
    atomic_store(&watching, false);
    ck_assert_int_eq(bad, 0);
    ck_assert_int_eq(atomic_load(&count), 0);
    fail_memory = NO_MEMORY;
    close_scene(&s);
}

/* A generator that could not share a position has no pool, and goes on alone;
 * it can be asked again. */
TEST(test_share_without_memory)
{
    scene s = open_scene(0, LS_F32_LAYERS);
    ls_pool *pool = open_pool(3, 3);
    int status = LS_ENOMEM, tries = 0;

    predict_whole(&s);
    while (status == LS_ENOMEM && tries < 20) {
        fail_memory = ALL_MEMORY;
        watch_from(++tries);
        status = ls_generator_share(s.generator, pool);
        atomic_store(&watching, false);
        fail_memory = NO_MEMORY;
        OK(ls_generator_cut(s.generator, 0));
        append(&s, 2);
    }
    ck_assert_int_eq(status, 0);
    ck_assert_int_gt(tries, 3); /* the team, and what two more write to */
    ls_pool_close(pool);
    close_scene(&s);
}

#endif

TEST(test_refused)
{
    scene s = open_scene(0, LS_F32_LAYERS);
    int64_t length = s.c.length, vocab = s.c.vocab;
    int32_t bad[] = {0, 37};
    float logits[VOCAB];
    ls_generator *g = NULL;

    FAILS(ls_generator_open(&g, s.predictor, "none"), LS_ENOTFOUND, "none");
    FAILS(ls_generator_append(s.generator, 2, bad, vocab, logits), LS_ERANGE,
          "token 1 is 37");
    FAILS(ls_generator_append(s.generator, 1, bad, vocab - 1, logits),
          LS_ESHAPE, "37 elements, not 36");
    FAILS(ls_generator_append(s.generator, 0, bad, vocab, logits), LS_ERANGE,
          "0 tokens");
    predict_whole(&s);
    append(&s, length);
    FAILS(ls_generator_append(s.generator, 1, bad, vocab, logits), LS_ERANGE,
          "window of 12");
    FAILS(ls_generator_cut(s.generator, length + 1), LS_ERANGE, "13 of 12");
    FAILS(ls_generator_cut(s.generator, -1), LS_ERANGE, "-1 of 12");
    close_scene(&s);
}

/* Models whose output needs all positions at once. */
static void see_all(ls_graph *g, ls_node *t)
{
    ls_node *x = ls_embed(t, 7, 8, "e");

    OK(ls_output(g, ls_self_attention(x, 2, false, "see"), "y"));
}

static void softmax_over_time(ls_graph *g, ls_node *t)
{
    ls_node *x = ls_transpose(ls_embed(t, 7, 8, "e"), NULL);

    OK(ls_output(g, ls_softmax(x), "y"));
}

static void two_inputs(ls_graph *g, ls_node *t)
{
    ls_node *u = ls_input(g, "u", LS_I32, 1, (int64_t[]){5});
    ls_node *x = ls_embed(t, 7, 8, "e"), *y = ls_embed(u, 7, 8, "f");

    OK(ls_output(g, ls_add(x, y), "y"));
}

static void of_floats(ls_graph *g, ls_node *t)
{
    ls_node *u = ls_input(g, "u", LS_F32, 2, (int64_t[]){5, 8});

    (void)t;
    OK(ls_output(g, ls_dense(u, 3, "d"), "y"));
}

static const struct {
    void (*build)(ls_graph *g, ls_node *tokens);
    const char *words;
} all_at_once[] = {
    {see_all, "\"see\" has no causal mask"},
    {softmax_over_time, "transpose \"e\" looks at several positions"},
    {two_inputs, "\"u\" is not the only input"},
    {of_floats, "\"u\" is no sequence of indices"},
};

LOOP_TEST(test_all_at_once, 0, 4)
{
    ls_pool *pool = open_pool(1, 1);
    ls_generator *generator = NULL;
    ls_predictor *p;
    ls_trainer *t;
    ls_node *tokens;
    ls_graph *g = empty_graph();

    tokens = ls_input(g, "tokens", LS_I32, 1, (int64_t[]){5});
    all_at_once[_i].build(g, tokens);
    OK(ls_loss(g, ls_mean_loss(ls_embed(tokens, 7, 2, "other"), NULL)));
    OK(ls_trainer_open(&t, pool, g, NULL));
    OK(ls_predictor_open(&p, t));
    FAILS(ls_generator_open(&generator, p, "y"), LS_ENOTSUP,
          all_at_once[_i].words);
    ls_predictor_close(p);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
}

MAIN()
