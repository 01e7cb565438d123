/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves transcripts: the root of a state is put together here again, byte by
 * byte; a training writes the same bytes on any number of workers and ranks,
 * and after a kill; a training that is the same is told to be, and one changed
 * bit of a parameter, a batch, a rate or a setting is found at the line where
 * it shows first; a file that was changed, cut or made up is refused, wherever.
 */
#define _GNU_SOURCE
#include "state/merkle.h"
#include "base/sha.h"
#include "fixture.h"
#include "folder.h"
#include "lockstep/transcript.h"
#include "on_ranks.h"
#include "state/trainer_state.h"
#include "train/trainer.h"

#include <jansson.h>

enum { DEVICES = 4, ROWS = 24, IN = 20, HIDDEN = 150, OUT = 64, STEPS = 10 };

/* What happens to a training of STEPS batches. */
typedef struct course {
    const char *path;
    int workers;
    int first, last;     /* batches taken; a run that goes on begins later */
    bool compare, is_short;
    bool rows, gradient;
    bool sets;           /* the program flips it */
    int flip;            /* after so many batches a bit of a parameter flips */
    int spoil;           /* in this batch a bit of x is another */
    double lr;           /* 0: the usual one */
    const char *setting; /* its value; NULL: the usual one */
    const char *resume;
    int64_t every;
    ls_optimizer_kind kind;
    ls_precision precision;
    char note[LS_TRANSCRIPT_NOTE]; /* out: after the last batch */
    char root[65], state[65];      /* out */
    const char *checkpoint; /* folder: saved at the end, or loaded first */
    int closed;             /* out */
} course;

static course usual(const char *path)
{
    return (course){.path = path, .workers = 2, .last = STEPS, .flip = -1,
                    .spoil = -1, .every = 4, .kind = LS_ADAM};
}

static int make_graph(ls_graph **graph)
{
    int status = ls_graph_new(graph);

    if (status < 0)
        return status;
    ls_node *x = ls_input(*graph, "x", LS_F32, 1, (int64_t[]){IN});
    ls_node *y = ls_input(*graph, "y", LS_F32, 1, (int64_t[]){OUT});
    ls_node *h = ls_relu(ls_dense(x, HIDDEN, "h"));

    return ls_loss(*graph, ls_mean_squared_error(ls_dense(h, OUT, "o"), y));
}

static int open_trainer(ls_trainer **trainer, ls_pool *pool, const course *c,
                        const ls_transport *t)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *graph;
    int status = make_graph(&graph);

    o.optimizer = c->kind == LS_SGD ? ls_sgd(0.1) : ls_adam(0.01);
    o.average = c->kind == LS_SGD ? 0 : 0.9;
    o.clip_norm = 1;
    o.precision = c->precision;
    o.transport = t;
    if (status == 0)
        status = ls_trainer_open(trainer, pool, graph, &o);
    ls_graph_free(graph);
    return status;
}

static int set_batch(ls_batch *b, int s, bool is_spoilt, float *x, float *y)
{
    int status;

    ls_random_normal(ls_key_new(1), (uint64_t)s * ROWS * IN, ROWS * IN, x);
    ls_random_normal(ls_key_new(2), (uint64_t)s * ROWS * OUT, ROWS * OUT, y);
    if (is_spoilt)
        ((uint32_t *)x)[17] ^= 1u << 20;
    status = ls_batch_set(b, "x", LS_F32, x, ROWS);
    return status < 0 ? status : ls_batch_set(b, "y", LS_F32, y, ROWS);
}

/* Flip a bit of a parameter as a fault would; set: as a program does. */
static int flip(ls_trainer *t, bool set)
{
    float b[OUT];
    int status = ls_trainer_get(t, "o.bias", OUT, b);

    ((uint32_t *)b)[12] ^= 1u << 20;
    if (status == 0)
        status = ls_trainer_set(t, "o.bias", OUT, b);
    t->history.sets -= !set;
    return status;
}

static int step(ls_transcript *r, ls_trainer *t, const course *c, int s)
{
    float x[ROWS * IN], y[ROWS * OUT];
    ls_control cursor = {"cursor", (uint64_t)s + 1};
    ls_result result;
    ls_batch *b;
    int status = ls_batch_open(&b, t);

    if (status == 0)
        status = set_batch(b, s, s == c->spoil, x, y);
    if (status == 0)
        status = ls_step(t, b, &result);
    if (status == 0)
        status = ls_transcript_step(r, s, &result);
    ls_batch_close(b);
    if (status == 0 && s + 1 == c->flip)
        status = flip(t, c->sets);
    if (status == 0 && s == 6)
        status = ls_transcript_event(r, "evaluation", 1,
                                     &(ls_setting){"loss", "3f800000"});
    if (status == 0 && ls_transcript_is_due(r))
        status = ls_transcript_state(r, 1, &cursor);
    return status;
}

static int train(ls_transcript *r, ls_trainer *t, course *c)
{
    ls_control cursor = {"cursor", (uint64_t)c->last};
    int status = 0;

    for (int s = c->first; status == 0 && s < c->last; s++)
        status = step(r, t, c, s);
    if (status == 0)
        status = ls_trainer_root(t, c->last, 1, &cursor, c->root);
    if (status == 0 && !c->compare && c->last < STEPS)
        return ls_transcript_note(r, c->note);
    if (status == 0)
        ls_trainer_hash(t, c->state);
    return status < 0 ? status : ls_transcript_end(r, 1, &cursor, NULL);
}

static int open_transcript(ls_transcript **r, ls_trainer *t, const course *c)
{
    ls_transcript_options o = ls_transcript_defaults();
    ls_setting setting = {"shape of the moon", c->setting ? c->setting
                                                          : "round"};
    ls_control cursor = {"cursor", (uint64_t)c->first};

    o.path = c->path;
    o.compare = c->compare;
    o.from = c->compare && c->first ? c->first : -1;
    o.every = c->every;
    o.program = "test";
    o.n_settings = 1;
    o.settings = &setting;
    o.step_flops = c->is_short ? 1e6 : 0;
    o.rows = c->rows;
    o.gradient = c->gradient;
    o.resume = c->resume;
    return ls_transcript_open(r, t, &o, 1, &cursor);
}

static int checkpoint(ls_trainer *t, const char *place, bool load)
{
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_checkpoints *all;
    int64_t at;
    int status;

    o.folder = place;
    status = ls_checkpoints_open(&all, t, &o);
    if (status == 0)
        status = load ? ls_checkpoints_load(all, &at)
                      : ls_checkpoints_save(all, 0, NULL);
    if (status == 0)
        status = ls_checkpoints_wait(all);
    ls_checkpoints_close(all);
    return status;
}

static int take(const ls_transport *t, void *user)
{
    course *c = user, mine = *c;
    ls_transcript *r = NULL;
    ls_trainer *trainer = NULL;
    ls_pool *pool = NULL;
    int status = pool_with(&pool, DEVICES, c->workers);

    if (status == 0)
        status = open_trainer(&trainer, pool, c, t);
    if (status == 0 && c->lr)
        status = ls_trainer_set_lr(trainer, c->lr);
    if (status == 0 && c->checkpoint && c->first > 0)
        status = checkpoint(trainer, c->checkpoint, true);
    if (status == 0)
        status = open_transcript(&r, trainer, c);
    if (status == 0)
        status = train(r, trainer, &mine);
    if (status == 0 && c->checkpoint && c->first == 0)
        status = checkpoint(trainer, c->checkpoint, false);
    mine.closed = ls_transcript_close(r);
    if (!t) /* ranks share it, and read alone */
        *c = mine;
    else if (t->rank == 0)
        memcpy(c->note, mine.note, sizeof c->note);
    ls_trainer_close(trainer);
    ls_pool_close(pool);
    return status;
}

static void expect(course c, int status, const char *words)
{
    ck_assert_int_eq(take(NULL, &c), status);
    ck_assert_msg(!words || strstr(ls_errmsg(), words), "\"%s\" has no \"%s\"",
                  ls_errmsg(), words);
}

static void expect_same_files(const char *a, const char *b)
{
    size_t n, m;
    char *x = get_file(a, &n), *y = get_file(b, &m);

    ck_assert_uint_eq(n, m);
    ck_assert_mem_eq(x, y, n);
    free(x);
    free(y);
}

/* Proves that a full disk fails the call that meets it, and again the one that
 * closes the file. */
LOOP_TEST(full_disk, 0, access("/dev/full", W_OK) == 0)
{
    course noted = usual("/dev/full"), ended = noted;

    noted.last = 4;
    ck_assert_int_eq(take(NULL, &noted), LS_EIO);
    ck_assert_int_eq(noted.closed, LS_EIO);
    take(NULL, &ended);
    ck_assert_int_eq(ended.closed, LS_EIO);
}

/* ------ roots ------ */

static size_t put_parameter(const ls_trainer *t, const char *name, int64_t n,
                            float *flat, size_t at)
{
    OK(ls_trainer_get(t, name, n, flat + at));
    return at + ((size_t)n + 15) / 16 * 16;
}

static void add_int(ls__sha256 *sha, uint64_t x)
{
    ls__sha256_update(sha, &x, sizeof x);
}

/* The root for plain sgd, as docs/transcript.md says it. */
TEST(root_by_hand)
{
    static float flat[IN * HIDDEN + HIDDEN * OUT + HIDDEN + OUT + 64];
    course c = usual(in_folder("t"));
    ls_control control[] = {{"cursor", 7}, {"epoch", 2}};
    ls_pool *pool = open_pool(DEVICES, 2);
    ls__digest leaf[8], top;
    ls_trainer *t;
    ls__sha256 sha;
    char want[65], got[65];
    double lr = 0.1;
    size_t n;

    c.kind = LS_SGD;
    OK(open_trainer(&t, pool, &c, NULL));
    n = put_parameter(t, "h.bias", HIDDEN, flat, 0);
    n = put_parameter(t, "h.kernel", IN * HIDDEN, flat, n);
    n = put_parameter(t, "o.bias", OUT, flat, n);
    n = put_parameter(t, "o.kernel", HIDDEN * OUT, flat, n);
    ls__merkle_hash(flat, (int64_t)n, 0, ls__merkle_leaves((int64_t)n), leaf);
    top = ls__merkle_root(leaf, ls__merkle_leaves((int64_t)n));
    ls__sha256_init(&sha);
    ls__sha256_update(&sha, "lockstep state 1", 17);
    add_int(&sha, 0); /* updates */
    add_int(&sha, 5); /* batches */
    add_int(&sha, 1);
    ls__sha256_update(&sha, "", 1);
    add_int(&sha, n);
    ls__sha256_update(&sha, &top, 32);
    add_int(&sha, 3);
    ls__sha256_update(&sha, "lr", 3);
    ls__sha256_update(&sha, &lr, 8);
    ls__sha256_update(&sha, "cursor", 7);
    add_int(&sha, 7);
    ls__sha256_update(&sha, "epoch", 6);
    add_int(&sha, 2);
    ls__sha256_update(&sha, "\2", 1);
    ls__sha256_hex(&sha, want);
    OK(ls_trainer_root(t, 5, 2, control, got));
    ck_assert_str_eq(got, want);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* The average in the parameters' place is the same state. */
TEST(root_of_average)
{
    float x[ROWS * IN], y[ROWS * OUT];
    course c = usual("");
    ls_pool *pool = open_pool(DEVICES, 1);
    char before[65], after[65];
    ls_result result;
    ls_trainer *t;
    ls_batch *b;

    OK(open_trainer(&t, pool, &c, NULL));
    OK(ls_batch_open(&b, t));
    OK(set_batch(b, 0, false, x, y));
    OK(ls_step(t, b, &result));
    OK(ls_trainer_root(t, 1, 0, NULL, before));
    OK(ls_trainer_use_average(t, true));
    OK(ls_trainer_root(t, 1, 0, NULL, after));
    ck_assert_str_eq(before, after);
    OK(flip(t, false));
    OK(ls_trainer_root(t, 1, 0, NULL, after));
    ck_assert_str_ne(before, after);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* Roots are about what a step reads: a denormal is a zero of its sign, a NaN
 * has no payload, and what lies between parameters is none of the state. */
TEST(root_of_canonical_words)
{
    static const uint32_t word[][2] = {{0x80000001, 0x80000000},
                                       {0x007fffff, 0},
                                       {0xff800001, 0x7fc00000}};
    course c = usual("");
    ls_pool *pool = open_pool(DEVICES, 2);
    char root[65], same[65];
    float b[OUT];
    ls_trainer *t;

    OK(open_trainer(&t, pool, &c, NULL));
    OK(ls_trainer_get(t, "o.bias", OUT, b));
    for (int i = 0; i < 3; i++) {
        memcpy(&b[7], &word[i][0], sizeof *b);
        OK(ls_trainer_set(t, "o.bias", OUT, b));
        OK(ls_trainer_root(t, 0, 0, NULL, root));
        memcpy(&b[7], &word[i][1], sizeof *b);
        OK(ls_trainer_set(t, "o.bias", OUT, b));
        OK(ls_trainer_root(t, 0, 0, NULL, same));
        ck_assert_str_eq(root, same);
    }
    ls__state_write(t, 0)[HIDDEN + 3] = 5;
    ls__state_write(t, 1)[HIDDEN + 3] = 5;
    OK(ls_trainer_root(t, 0, 0, NULL, root));
    ck_assert_str_eq(root, same);
    ls__state_write(t, 0)[HIDDEN - 1] = 5;
    OK(ls_trainer_root(t, 0, 0, NULL, root));
    ck_assert_str_ne(root, same);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

static int save_note(ls_trainer *t, const char *value, char read[65])
{
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_checkpoints *all;
    int64_t at;
    int status;

    o.folder = in_folder("c");
    OK(ls_checkpoints_open(&all, t, &o));
    status = ls_checkpoints_save(all, 1, &(ls_setting){"root", value});
    if (status == 0) {
        OK(ls_checkpoints_wait(all));
        OK(ls_checkpoints_load(all, &at));
        snprintf(read, 65, "%s", ls_checkpoints_note(all, "root"));
    }
    ls_checkpoints_close(all);
    return status;
}

/* A checkpoint has the root beside the state hash, and takes nothing else for
 * one. */
TEST(root_in_checkpoint)
{
    course c = usual("");
    ls_pool *pool = open_pool(DEVICES, 1);
    char root[65], read[65], *text;
    ls_trainer *t;
    size_t n;

    OK(open_trainer(&t, pool, &c, NULL));
    ck_assert_int_eq(save_note(t, "round", read), LS_EINVAL);
    OK(ls_trainer_root(t, 0, 0, NULL, root));
    OK(save_note(t, root, read));
    ck_assert_str_eq(read, root);
    text = get_file(in_folder("c/step-000000000000/checkpoint.json"), &n);
    text[n - 1] = 0;
    ck_assert_ptr_nonnull(strstr(text, "\n \"root\": \""));
    ck_assert_ptr_null(strstr(text, "\n  \"root\": \""));
    free(text);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* ------ one file ------ */

LOOP_TEST(any_workers, 0, 2)
{
    course one = usual(in_folder("one"));

    one.is_short = _i;
    one.workers = 1;
    OK(take(NULL, &one));
    for (int w = 2; w <= DEVICES; w++) {
        course c = usual(in_folder("more"));

        c.is_short = _i;
        c.workers = w;
        OK(take(NULL, &c));
        expect_same_files(one.path, c.path);
        ck_assert_str_eq(c.root, one.root);
    }
}

/* Take the course on so many ranks; 0: on none. */
static void take_on(int ranks, course *c)
{
    ranks_here *all;

    if (!ranks) {
        OK(take(NULL, c));
        return;
    }
    c->workers = 1;
    OK(ranks_open(&all, ranks, NULL));
    all_succeed(all, ranks, take, c);
    ranks_close(all);
}

TEST(any_ranks)
{
    course one = usual(in_folder("one"));

    OK(take(NULL, &one));
    for (int n = 2; n <= 4; n++) {
        course c = usual(in_folder("more"));

        take_on(n, &c);
        expect_same_files(one.path, c.path);
    }
}

enum { MISTAKES = 5 };

/* The second rank makes one of some mistakes. */
typedef struct wrong {
    int how;
    char path[300], folder[300];
} wrong;

static int mistake(const ls_transport *t, void *user)
{
    const wrong *w = user;
    int how = w->how, odd = t->rank == 1;
    course c = usual(w->path);
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_checkpoints *saved = NULL;
    ls_transcript *r = NULL;
    ls_trainer *trainer = NULL;
    ls_pool *pool = NULL;
    char root[65];
    int status = pool_with(&pool, DEVICES, 1);

    if (status == 0)
        status = open_trainer(&trainer, pool, &c, t);
    c.path = how == 0 && odd ? NULL : c.path;
    if (status == 0)
        status = open_transcript(&r, trainer, &c);
    if (status == 0)
        status = step(r, trainer, &c, 0);
    o.folder = odd ? NULL : w->folder;
    if (status == 0 && how == 1)
        status = ls_transcript_state(r, -odd, NULL);
    if (status == 0 && how == 2)
        status = ls_transcript_end(r, -odd, NULL, NULL);
    if (status == 0 && how == 3)
        status = ls_trainer_root(trainer, -odd, 0, NULL, root);
    if (status == 0 && how == 4)
        status = ls_checkpoints_open(&saved, trainer, &o);
    ls_checkpoints_close(saved);
    ls_transcript_close(r);
    ls_trainer_close(trainer);
    ls_pool_close(pool);
    return status;
}

/* What one rank calls wrongly fails on all, which would wait for it. */
LOOP_TEST(mistakes_of_one_rank, 0, MISTAKES)
{
    static const char *const words[MISTAKES] = {
        "options.path is NULL", "-1 controls", "-1 controls", "-1 batches",
        "checkpoints need a folder"};
    rank_body out[RANKS];
    wrong w = {.how = _i};
    ranks_here *all;

    snprintf(w.path, sizeof w.path, "%s", in_folder("mistake"));
    snprintf(w.folder, sizeof w.folder, "%s", in_folder("c"));
    OK(ranks_open(&all, 2, &(ranks_options){.patience = 20}));
    on_ranks(all, 2, mistake, &w, out);
    ranks_close(all);
    for (int k = 0; k < 2; k++) {
        ck_assert_msg(out[k].status == LS_EINVAL &&
                      strstr(out[k].message, words[_i]), "rank %d: %d, %s", k,
                      out[k].status, out[k].message);
        ck_assert(!strncmp(out[k].message, "rank 1: ", 8) == (k == 0));
    }
}

/* ------ rows and gradients ------ */

/* The root in a field of the line of a step, as 64 digits. */
static void root_of_step(const char *path, int s, const char *field,
                         char root[65])
{
    char want[2][40], line[800];
    FILE *f = fopen(path, "r");
    const char *at = NULL;

    snprintf(want[0], sizeof want[0], "\"n\":%d,\"norm\"", s);
    snprintf(want[1], sizeof want[1], "\"%s\":\"", field);
    while (!at && fgets(line, sizeof line, f))
        if (strstr(line, want[0]))
            at = strstr(line, want[1]);
    fclose(f);
    ck_assert_ptr_nonnull(at);
    snprintf(root, 65, "%.64s", at + strlen(want[1]));
}

static void hex_of(const ls__digest *d, char hex[65])
{
    ls__digest_text(d, hex);
    hex[64] = 0;
}

/* The root of rows as docs/transcript.md says it. */
static void rows_by_hand(int s, char hex[65])
{
    float x[ROWS * IN], y[ROWS * OUT];
    ls__digest leaf[DEVICES], top;
    enum { EACH = ROWS / DEVICES };

    ls_random_normal(ls_key_new(1), (uint64_t)s * ROWS * IN, ROWS * IN, x);
    ls_random_normal(ls_key_new(2), (uint64_t)s * ROWS * OUT, ROWS * OUT, y);
    for (int d = 0; d < DEVICES; d++) {
        ls__sha256 sha;

        ls__sha256_init(&sha);
        add_int(&sha, EACH);
        ls__sha256_update(&sha, x + d * EACH * IN, sizeof(float) * EACH * IN);
        ls__sha256_update(&sha, y + d * EACH * OUT,
                          sizeof(float) * EACH * OUT);
        ls__sha256_update(&sha, "", 1);
        ls__sha256_final(&sha, leaf[d].byte);
    }
    top = ls__merkle_root(leaf, DEVICES);
    hex_of(&top, hex);
}

/* The root of the first step's gradient as ls_gradients gives it. */
static void gradient_by_hand(char hex[65])
{
    static float flat[IN * HIDDEN + HIDDEN * OUT + HIDDEN + OUT + 64];
    float x[ROWS * IN], y[ROWS * OUT];
    course c = usual("");
    ls_pool *pool = open_pool(DEVICES, 2);
    ls_gradients *g;
    ls_result result;
    ls__digest leaf[8], top;
    ls_trainer *t;
    ls_batch *b;
    static const struct {
        const char *name;
        int n;
    } of[] = {{"h.bias", HIDDEN}, {"h.kernel", IN * HIDDEN}, {"o.bias", OUT},
              {"o.kernel", HIDDEN * OUT}};
    size_t n = 0;

    OK(open_trainer(&t, pool, &c, NULL));
    OK(ls_batch_open(&b, t));
    OK(set_batch(b, 0, false, x, y));
    OK(ls_gradients_open(&g, t, 1));
    OK(ls_gradients_compute(g, b, &result));
    for (int i = 0; i < 4; i++) {
        OK(ls_gradients_get(g, of[i].name, of[i].n, flat + n));
        n += ((size_t)of[i].n + 15) / 16 * 16;
    }
    ls__merkle_hash(flat, (int64_t)n, 0, ls__merkle_leaves((int64_t)n), leaf);
    top = ls__merkle_root(leaf, ls__merkle_leaves((int64_t)n));
    hex_of(&top, hex);
    ls_gradients_close(g);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

TEST(rows_and_gradients)
{
    course one = usual(in_folder("one"));
    ls_transcript_facts facts;
    char want[65], got[65];

    one.rows = one.gradient = true;
    OK(take(NULL, &one));
    OK(ls_transcript_check(one.path, &facts));
    for (int s = 0; s < STEPS; s++) {
        rows_by_hand(s, want);
        root_of_step(one.path, s, "rows", got);
        ck_assert_str_eq(got, want);
    }
    gradient_by_hand(want);
    root_of_step(one.path, 0, "gradient", got);
    ck_assert_str_eq(got, want);
    for (int n = 0; n <= 4; n++) {
        course c = usual(in_folder("more"));

        c.rows = c.gradient = true;
        c.workers = 3;
        if (n != 1)
            take_on(n, &c);
        if (n != 1)
            expect_same_files(one.path, c.path);
    }
    one.compare = true;
    expect(one, 0, NULL);
    one.rows = false;
    expect(one, LS_EDIFFERS, "(head): rows is 1 in the file, missing here");
    one.rows = true;
    one.spoil = 3;
    expect(one, LS_EDIFFERS, "(step of 3): gradient is");
    one.gradient = true;
    one.rows = true;
    one.compare = false;
    one.spoil = -1;
    one.last = 5;
    one.checkpoint = in_folder("c");
    OK(take(NULL, &one));
    one.resume = one.note;
    one.first = 5;
    one.last = STEPS;
    one.rows = one.gradient = false;
    OK(take(NULL, &one));
    expect_same_files(one.path, in_folder("more"));
}

/* A line of a kind that has this number; NULL: there is none. */
static json_t *line_of(const char *path, const char *kind, const char *field,
                       int64_t n)
{
    FILE *f = fopen(path, "r");
    char text[4096];
    json_t *line = NULL;

    ck_assert_ptr_nonnull(f);
    while (!line && fgets(text, sizeof text, f)) {
        json_t *one = json_loads(text, 0, NULL);

        if (strcmp(json_string_value(json_object_get(one, "kind")), kind) ||
            json_integer_value(json_object_get(one, field)) != n)
            json_decref(one);
        else
            line = one;
    }
    fclose(f);
    return line;
}

/* The words of a step's line in the order of a record. */
static void words_of(const json_t *line, uint32_t word[6])
{
    static const char *const name[] = {"lr", "loss", "weight", "norm"};

    for (int i = 0, n = 0; i < 4; i++) {
        uint64_t bits = strtoull(json_string_value(
                                     json_object_get(line, name[i])), NULL, 16);

        word[n++] = (uint32_t)bits;
        if (i == 2)
            word[n++] = (uint32_t)(bits >> 32);
    }
    word[5] = (uint32_t)json_integer_value(json_object_get(line, "updated"));
}

/* The root of the records of steps that share a line, as docs/transcript.md
 * says it, from the lines that they have otherwise. */
TEST(short_steps_by_hand)
{
    course one = usual(in_folder("one")), all;
    char path[256], want[65];

    snprintf(path, sizeof path, "%s/short", folder);
    all = usual(path);
    all.is_short = true;
    OK(take(NULL, &one));
    OK(take(NULL, &all));
    for (int first = 0, last; first < STEPS; first = last + 1) {
        json_t *line = line_of(path, "steps", "first", first);
        uint32_t before[6] = {0}, now[6];
        ls__sha256 sha;

        ck_assert_ptr_nonnull(line);
        last = (int)json_integer_value(json_object_get(line, "last"));
        ls__sha256_init(&sha);
        for (int s = first; s <= last; s++) {
            json_t *step_line = line_of(one.path, "step", "n", s);
            uint32_t mask = 0;

            words_of(step_line, now);
            for (int i = 0; i < 6; i++)
                mask |= (uint32_t)(now[i] != before[i]) << i;
            ls__sha256_update(&sha, &mask, sizeof mask);
            for (int i = 0; i < 6; i++)
                if (mask >> i & 1)
                    ls__sha256_update(&sha, &now[i], sizeof now[i]);
            memcpy(before, now, sizeof now);
            json_decref(step_line);
        }
        ls__sha256_hex(&sha, want);
        ck_assert_str_eq(json_string_value(json_object_get(line, "root")),
                         want);
        json_decref(line);
    }
}

/* N follows from bytes and FLOP, of layers in bf16 from four times as much. */
LOOP_TEST(every_follows_from_the_training, 0, 2)
{
    ls_pool *pool;
    ls_trainer *t;
    course c = usual("unused");
    double bytes, swift = _i ? 4 : 1;

    c.precision = _i ? LS_BF16_LAYERS : LS_F32_LAYERS;
    OK(pool_with(&pool, DEVICES, 1));
    OK(open_trainer(&t, pool, &c, NULL));
    bytes = 4. * (double)t->model.params.floats * (1 + t->moments.count);
    for (double flops = 1; flops < 1e15; flops *= 7) {
        double n = 1e5 * swift * (bytes + 8192) / (flops + 4e5);
        int64_t every = ls_transcript_every(t, flops);

        ck_assert((double)every >= n || every == 1 << 20);
        ck_assert(every == 1 || (double)every / 2 < n);
        ck_assert_int_eq(every & (every - 1), 0);
    }
    ck_assert_int_eq(ls_transcript_every(t, 0), 256);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* A run that was killed some batches after its checkpoint goes on from there.
 */
LOOP_TEST(goes_on, 0, 4)
{
    static const struct {
        bool is_short;
        int ranks, by;
    } way[] = {{false, 0, 1}, {true, 0, 1}, {false, 2, 4}, {false, 3, 4}};
    char path[2][256];
    course whole = usual(path[0]);

    snprintf(path[0], sizeof path[0], "%s/whole", folder);
    snprintf(path[1], sizeof path[1], "%s/cut", folder);
    whole.is_short = way[_i].is_short;
    OK(take(NULL, &whole));
    for (int at = 1; at < STEPS; at += way[_i].by) {
        course c = usual(path[1]), rest;
        char name[16];
        FILE *f;

        snprintf(name, sizeof name, "at%d", at);
        c.last = at;
        c.is_short = way[_i].is_short;
        c.checkpoint = in_folder(name);
        take_on(way[_i].ranks, &c);
        f = fopen(c.path, "a");
        fputs("{\"kind\":\"step\",\"n\":99", f);
        fclose(f);
        rest = c;
        rest.resume = c.note;
        rest.first = at;
        rest.last = STEPS;
        take_on(way[_i].ranks, &rest);
        expect_same_files(whole.path, c.path);
    }
}

/* ------ comparing ------ */

LOOP_TEST(same_or_not, 0, 2)
{
    course c = usual(in_folder("run"));

    c.is_short = _i;
    OK(take(NULL, &c));
    c.compare = true;
    expect(c, 0, NULL);
    c.workers = 1;
    expect(c, 0, NULL);
    c.setting = "square";
    expect(c, LS_EDIFFERS, "line 1 (head): options shape of the moon is round "
                           "in the file, square here");
    c.setting = NULL;
    c.lr = 0.02;
    expect(c, LS_EDIFFERS, "(state of 0): root");
    c.lr = 0;
    for (int s = 0; s < STEPS; s++) {
        char words[40];

        c.spoil = s;
        snprintf(words, sizeof words, "(step of %d): ", s);
        expect(c, LS_EDIFFERS, _i ? ": root is" : words);
    }
    c.spoil = -1;
    c.flip = 5;
    expect(c, LS_EDIFFERS, _i ? ": root is" : "(step of 5): ");
    c.flip = STEPS;
    expect(c, LS_EDIFFERS, "root");
}

/* What a program sets is an event, which the same program repeats and another
 * run has not. */
LOOP_TEST(values_set, 0, 2)
{
    course c = usual(in_folder("run"));
    size_t n;
    char *text;

    c.is_short = _i;
    c.sets = true;
    c.flip = 5;
    OK(take(NULL, &c));
    text = get_file(c.path, &n);
    text[n - 1] = 0;
    ck_assert_ptr_nonnull(strstr(text, "\"n\":5,\"prev\""));
    ck_assert_ptr_nonnull(strstr(text, "\"times\":\"1\",\"what\":\"set\""));
    free(text);
    c.compare = true;
    expect(c, 0, NULL);
    c.flip = -1;
    expect(c, LS_EDIFFERS, _i ? "(steps)" : "(event of 5)");
}

/* A run that goes on with another option says which, and can be compared from
 * there on, or before. */
TEST(options_changed)
{
    course c = usual(in_folder("run")), rest;
    ls_transcript_facts facts;
    size_t n;
    char *text;

    c.last = 5;
    c.checkpoint = in_folder("c");
    OK(take(NULL, &c));
    rest = c;
    rest.resume = c.note;
    rest.first = 5;
    rest.last = STEPS;
    rest.setting = "square";
    OK(take(NULL, &rest));
    OK(ls_transcript_check(c.path, &facts));
    text = get_file(c.path, &n);
    text[n - 1] = 0;
    ck_assert_ptr_nonnull(strstr(
        text, "{\"from\":{\"shape of the moon\":\"round\"},\"kind\":"
              "\"event\",\"n\":5,"));
    ck_assert_ptr_nonnull(strstr(
        text, "\"to\":{\"shape of the moon\":\"square\"},\"what\":"
              "\"change\"}"));
    free(text);
    rest.resume = NULL;
    rest.compare = true;
    expect(rest, 0, NULL);
    rest.setting = NULL;
    expect(rest, LS_EDIFFERS, "line 1 (head): options shape of the moon is "
                              "square in the file, round here");
}

/* Two files, without training. */
TEST(two_files)
{
    course one = usual(in_folder("one")), two = usual(in_folder("two"));
    const char *cut = in_folder("cut");
    ls_transcript_difference d;
    ls_transcript_facts facts;
    size_t n;
    char *text;

    OK(take(NULL, &one));
    two.workers = 1;
    OK(take(NULL, &two));
    OK(ls_transcript_check(one.path, &facts));
    OK(ls_transcript_compare(one.path, two.path, &d));
    ck_assert(d.same);
    ck_assert_int_eq(d.line, facts.lines);
    ck_assert_str_eq(d.text, "");
    two.spoil = 3;
    OK(take(NULL, &two));
    OK(ls_transcript_compare(one.path, two.path, &d));
    ck_assert(!d.same && d.line < facts.lines);
    ck_assert_ptr_nonnull(strstr(d.text, " (step of 3): "));
    ck_assert_ptr_nonnull(strstr(d.text, " in the first, "));

    text = get_file(one.path, &n);
    for (n--; text[n - 1] != '\n'; n--)
        ;
    put_file(cut, text, n);
    OK(ls_transcript_compare(one.path, cut, &d));
    ck_assert_int_eq(d.line, facts.lines);
    ck_assert_ptr_nonnull(strstr(d.text, "the second file ends before it"));
    OK(ls_transcript_compare(cut, one.path, &d));
    ck_assert_ptr_nonnull(strstr(d.text, "the first file ends before it"));
    text[n / 2] ^= 1;
    put_file(cut, text, n);
    free(text);
    ck_assert_int_eq(ls_transcript_compare(cut, one.path, &d), LS_EFORMAT);
}

/* ------ hostile files ------ */

static void expect_refused(const char *name, const char *bytes, size_t n)
{
    ls_transcript_facts facts;

    put_file(name, bytes, n);
    ck_assert_msg(ls_transcript_check(name, &facts) == LS_EFORMAT, "%s",
                  ls_errmsg());
}

/* A byte changed anywhere, in 2000 places; every cut that is not behind a
 * line. */
LOOP_TEST(changed_files, 0, 2)
{
    course c = usual(in_folder("run"));
    const char *name = in_folder("changed");
    ls_transcript_facts facts;
    uint32_t place[4000];
    size_t n;
    char *bytes;

    c.is_short = _i;
    OK(take(NULL, &c));
    OK(ls_transcript_check(c.path, &facts));
    ck_assert(facts.is_whole);
    ck_assert_int_eq(facts.batches, STEPS);
    ck_assert_int_eq(facts.every, 4);
    ck_assert_str_eq(facts.root, c.root);
    bytes = get_file(c.path, &n);
    ls_random_bits(ls_key_new(9), 0, 4000, place);
    for (int i = 0; i < 2000; i++) {
        size_t at = place[2 * i] % n;
        char was = bytes[at], bit = (char)(1 << place[2 * i + 1] % 7);

        /* What the last line says but its hash of the one before, and the
         * numbers that tie it to the others, is tied by nothing behind it. */
        if (at > n - 150)
            continue;
        bytes[at] ^= bit;
        expect_refused(name, bytes, n);
        bytes[at] = was;
    }
    for (size_t cut = 0; cut < n; cut++)
        if (cut == 0 || bytes[cut - 1] != '\n')
            expect_refused(name, bytes, cut);
    free(bytes);
}

TEST(strange_files)
{
    static const char *const strange[] = {
        "", "\n", "{}\n", "[]\n", "{\"kind\":\"head\"}\n", "\xff\xfe\n",
        "{\"kind\":\"nothing\"}\n", "{\"kind\":7}\n", "null\n",
        "{\"kind\":\"state\",\"n\":0,\"prev\":\"0000000000000000000000000000000"
        "000000000000000000000000000000000\",\"root\":\"00000000000000000000000"
        "00000000000000000000000000000000000000000\",\"updates\":0}\n",
    };
    ls_transcript_facts facts;
    char root[65];

    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        expect_refused(in_folder("odd"), strange[i], strlen(strange[i]));
    ck_assert_int_eq(ls_transcript_check(in_folder("none"), &facts), LS_EIO);
    ck_assert_int_eq(ls_transcript_check(folder, &facts), LS_EFORMAT);
    ck_assert_int_lt(ls_transcript_root_at(in_folder("odd"), 0, root), 0);
}

TEST(no_utf8)
{
    course c = usual(in_folder("no_utf8"));

    c.setting = "\xff";
    expect(c, LS_EINVAL, "value 0: its text is no UTF-8");
}

/* All state lines at once are what each of them is. */
TEST(states)
{
    course c = usual(in_folder("states"));
    ls_state_root of[STEPS + 2];
    char root[65];
    int64_t n;

    expect(c, 0, NULL);
    n = ls_transcript_states(c.path, STEPS + 2, of);
    ck_assert_int_gt(n, 2);
    ck_assert_int_eq(ls_transcript_states(c.path, 0, NULL), n);
    for (int64_t i = 0; i < n; i++) {
        OK(ls_transcript_root_at(c.path, of[i].batches, root));
        ck_assert_str_eq(of[i].root, root);
        ck_assert(i == 0 || of[i].batches > of[i - 1].batches);
    }
    of[0].batches = of[1].batches = -1;
    ck_assert_int_eq(ls_transcript_states(c.path, 1, of), n);
    ck_assert(of[0].batches == 0 && of[1].batches == -1);
    ck_assert_int_eq(ls_transcript_states(c.path, -1, of), LS_EINVAL);
    ck_assert_int_eq(ls_transcript_states(in_folder("none"), 0, NULL), LS_EIO);
    put_file(in_folder("wrong"), "{}\n", 3);
    ck_assert_int_eq(ls_transcript_states(in_folder("wrong"), 0, NULL),
                     LS_EFORMAT);
}

MAIN(.setup = folder_open, .teardown = folder_close)
