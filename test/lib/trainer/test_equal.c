/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that every member of the trainer's options is compared that must be
 * equal: each is changed, on one of two ranks and between a checkpoint and the
 * run that goes on from it, and is refused by its name; and the header is read,
 * so that a new member fails until somebody says who must have the same. */
#define _GNU_SOURCE /* nftw */
#include "file/file.h"
#include "rules/trainer_rows.h"
#include "two_runs.h"

#include <ctype.h>

static ls_schedule over_nine(ls_schedule_kind kind)
{
    ls_schedule s = ls_schedule_defaults(kind);

    s.decay_steps = 9;
    return s;
}

#define CHANGE(name, what) \
    static void name(ls_trainer_options *o) \
    { \
        what; \
    }

CHANGE(other_seed, o->seed = 7)
CHANGE(other_keys, o->keys = LS_KEYS_LINEN)
CHANGE(other_optimizer, o->optimizer = ls_lion(0.1))
CHANGE(other_lr, o->optimizer.lr = 0.2)
CHANGE(other_schedule, o->schedule = over_nine(LS_LINEAR))

static const ls_boundary steps[] = {{3, 0.5}, {6, 0.5}};
static const ls_boundary moved[] = {{3, 0.5}, {7, 0.5}};
static const ls_boundary scaled[] = {{3, 0.5}, {6, 0.25}};

CHANGE(one_boundary, o->schedule.n_boundaries = 1)
CHANGE(moved_boundary, o->schedule.boundaries = moved)
CHANGE(scaled_boundary, o->schedule.boundaries = scaled)
CHANGE(other_clip_norm, o->clip_norm = 3)
CHANGE(other_clip_value, o->clip_value = 3)
CHANGE(other_accumulate, o->accumulate = 2)
CHANGE(other_mean, o->mean = LS_SUM)
CHANGE(other_precision, o->precision = LS_BF16_LAYERS)
CHANGE(other_average, o->average = 0.5)
CHANGE(falling_decay, o->decay_schedule = over_nine(LS_FLAT_COSINE))
CHANGE(falling_dropout, o->dropout_schedule = over_nine(LS_FLAT_COSINE))
CHANGE(one_group, o->n_groups = 1)

/* The groups of both, so that a test changes one in its place; the first has a
 * name whose end is past what was once compared. */
static char long_name[200], other_name[200];
static ls_group groups[2], others[2];

CHANGE(take_others, o->groups = others)
CHANGE(other_names, take_others(o); others[0].names = other_name)
CHANGE(other_vectors, take_others(o); others[0].vectors = true)
CHANGE(other_frozen, take_others(o); others[1].frozen = true)
CHANGE(other_rate, take_others(o); others[1].rate = 0.5)
CHANGE(other_decay, take_others(o); others[1].decay = 0.5)
CHANGE(seeds_dropout_key, o->own_dropout_key = false)
CHANGE(other_dropout_key, o->dropout_key = ls_key_new(2))
CHANGE(even_rows, o->even_rows = true)
CHANGE(local_rows, o->rows = LS_ROWS_MOVED)

/* No bit depends on these. */
static void other_ways(ls_trainer_options *o)
{
    o->state = LS_SHARD;
    o->check_divergence = true;
    o->bucket = 1;
    o->backend = "native";
    o->data_axis = "data";
}

/* Each member, and what ranks and checkpoints say of it; NULL: nothing. */
static const struct change {
    const char *of, *member; /* NULL: set by the tests themselves */
    void (*make)(ls_trainer_options *o);
    const char *rank, *checkpoint;
} changes[] = {
    {"ls_trainer_options", "size", NULL, NULL, NULL},
    {"ls_trainer_options", "seed", other_seed, "seed is 7", "seed is 7"},
    {"ls_trainer_options", "keys", other_keys, "keys is linen",
     "keys is linen"},
    {"ls_trainer_options", "optimizer", other_optimizer, "optimizer is lion",
     "optimizer is lion"},
    {"ls_optimizer", "kind", other_optimizer, "optimizer is lion",
     "optimizer is lion"},
    {"ls_optimizer", "lr", other_lr, "lr is 0.2", "lr is 0.2"},
    {"ls_optimizer", "room", NULL, NULL, NULL},
    {"ls_trainer_options", "schedule", other_schedule, "schedule is linear",
     "schedule is linear"},
    {"ls_schedule", "kind", other_schedule, "schedule is linear",
     "schedule is linear"},
    {"ls_schedule", "n_boundaries", one_boundary, "boundaries is 1",
     "boundary 6 is not set"},
    {"ls_schedule", "boundaries", moved_boundary, "boundary 7",
     "boundary 6 is not set"},
    {"ls_boundary", "update", moved_boundary, "boundary 7",
     "boundary 6 is not set"},
    {"ls_boundary", "factor", scaled_boundary, "boundary 6 is 0.25",
     "boundary 6 is 0.25"},
    {"ls_schedule", "room", NULL, NULL, NULL},
    {"ls_trainer_options", "clip_norm", other_clip_norm, "clip_norm is 3",
     "clip_norm is 3"},
    {"ls_trainer_options", "clip_value", other_clip_value, "clip_value is 3",
     "clip_value is 3"},
    {"ls_trainer_options", "accumulate", other_accumulate, "accumulate is 2",
     "accumulate is 2"},
    {"ls_trainer_options", "mean", other_mean, "mean is sum", "mean is sum"},
    {"ls_trainer_options", "precision", other_precision, "precision is bf16",
     "precision is bf16"},
    {"ls_trainer_options", "average", other_average, "average is 0.5",
     "average is 0.5"},
    {"ls_trainer_options", "decay_schedule", falling_decay,
     "decay_schedule is flat-cosine, w", "decay_schedule is flat-cosine, w"},
    {"ls_trainer_options", "dropout_schedule", falling_dropout,
     "dropout_schedule is flat-cosine", "dropout_schedule is flat-cosine"},
    {"ls_trainer_options", "n_groups", one_group, "groups is 1",
     "group 1 is not set"},
    {"ls_trainer_options", "groups", other_rate, "group 1 is ",
     "group 1 is last.kernel: rate 0.5"},
    {"ls_group", "names", other_names, "group 0 is ***", "group 0 is ***"},
    {"ls_group", "vectors", other_vectors, "group 0 is ***", "group 0 is ***"},
    {"ls_group", "frozen", other_frozen, "group 1 is ", ", frozen"},
    {"ls_group", "rate", other_rate, "rate 0.5", "rate 0.5"},
    {"ls_group", "decay", other_decay, "decay 0.5", "decay 0.5"},
    {"ls_group", "room", NULL, NULL, NULL},
    {"ls_trainer_options", "own_dropout_key", seeds_dropout_key,
     "dropout_key is of the seed", "dropout_key is of the seed"},
    {"ls_trainer_options", "dropout_key", other_dropout_key, "dropout_key is ",
     "dropout_key is "},
    {"ls_trainer_options", "even_rows", even_rows, "even_rows is 1", NULL},
    {"ls_trainer_options", "rows", local_rows, "rows is moved", NULL},
    {"ls_trainer_options", "state", other_ways, NULL, NULL},
    {"ls_trainer_options", "check_divergence", other_ways, NULL, NULL},
    {"ls_trainer_options", "bucket", other_ways, NULL, NULL},
    {"ls_trainer_options", "check", NULL, NULL, NULL}, /* not over ranks */
    {"ls_trainer_options", "backend", other_ways, NULL, NULL},
    {"ls_trainer_options", "data_axis", other_ways, NULL, NULL},
    {"ls_trainer_options", "transport", NULL, NULL, NULL},
};
enum { CHANGES = sizeof changes / sizeof *changes };

static ls_trainer_options base_options(void)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(0.1);
    o.schedule = ls_schedule_defaults(LS_PIECEWISE);
    o.schedule.n_boundaries = 2;
    o.schedule.boundaries = steps;
    o.own_dropout_key = true;
    o.dropout_key = ls_key_new(1);
    memset(long_name, '*', 150);
    strcpy(long_name + 150, "st.bias");
    memcpy(other_name, long_name, sizeof other_name);
    strcpy(other_name + 150, "last.bias");
    groups[0] = ls_group_of(long_name);
    groups[1] = ls_group_of("last.kernel");
    groups[0].rate = groups[1].rate = 0.75;
    memcpy(others, groups, sizeof others);
    o.n_groups = 2;
    o.groups = groups;
    return o;
}

static recipe base_recipe(void)
{
    recipe r = same_runs();

    r.options[0] = r.options[1] = base_options();
    return r;
}

/* Each of them. */
LOOP_TEST(test_options, 0, CHANGES)
{
    const struct change *c = &changes[_i];
    recipe r = base_recipe();

    if (!c->make)
        return;
    c->make(&r.options[1]);
    on_two_ranks(&r, c->rank);
    on_checkpoint(&r, LS_EINVAL, c->checkpoint);
}

/* The name of an option behind "is", as a message begins with it. */
static void expect_option(recipe *r, const char *name)
{
    char said[TEXT];

    snprintf(said, sizeof said, "%s is ", name);
    on_two_ranks(r, said);
    on_checkpoint(r, LS_EINVAL, said);
}

static const double values[] = {0.25, 0.5, 0.75, 1, 2, 3, 40};
enum { VALUES = sizeof values / sizeof *values };

/* Would a trainer take these options? */
static bool is_taken(const recipe *r)
{
    ls_pool *pool = NULL;
    ls_trainer *t = NULL;
    int status;

    OK(pool_with(&pool, DEVICES, 1));
    status = open_one(&t, r, true, pool, NULL);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status == 0;
}

/* Every option of every optimizer, with another value that is allowed. */
TEST(test_optimizers)
{
    ls_option option;

    for (int k = 0; ls_optimizer_name((ls_optimizer_kind)k); k++)
        for (int i = 0; ls_optimizer_option((ls_optimizer_kind)k, i, &option);
             i++) {
            recipe r = base_recipe();
            ls_optimizer *o = &r.options[1].optimizer;
            int v = 0;

            *o = ls_optimizer_defaults((ls_optimizer_kind)k, 0.1);
            r.options[0].optimizer = *o;
            for (; v < VALUES; v++)
                if (values[v] != option.start &&
                    ls_optimizer_set(o, option.name, values[v]) == 0 &&
                    is_taken(&r))
                    break;
            ck_assert_int_lt(v, VALUES);
            expect_option(&r, option.name);
        }
}

/* A schedule whose options all have values that go together. */
static const ls_boundary late = {90, 0.5};

static ls_schedule base_schedule(ls_schedule_kind kind)
{
    ls_schedule s = ls_schedule_defaults(kind);
    ls_option option;

    for (int i = 0; ls_schedule_option(kind, i, &option); i++)
        if (option.start != option.start)
            OK(ls_schedule_set(&s, option.name, option.whole ? 50 : 0.5));
    s.n_boundaries = kind == LS_PIECEWISE;
    s.boundaries = &late;
    return s;
}

/* Every option of every schedule. */
TEST(test_schedules)
{
    ls_option option;

    for (int k = 0; ls_schedule_name((ls_schedule_kind)k); k++)
        for (int i = 0; ls_schedule_option((ls_schedule_kind)k, i, &option);
             i++) {
            recipe r = base_recipe();
            ls_schedule *s = &r.options[1].schedule, was;
            int v = 0;

            *s = was = base_schedule((ls_schedule_kind)k);
            r.options[0].schedule = was;
            for (; v < VALUES; v++, *s = was)
                if (ls_schedule_set(s, option.name, values[v]) == 0 &&
                    memcmp(s, &was, sizeof was) &&
                    is_taken(&r))
                    break;
            ck_assert_msg(v < VALUES, "%s", option.name);
            expect_option(&r, option.name);
        }
}

/* ------ no member is forgotten ------ */

static bool has_change(const char *of, const char *member)
{
    for (int i = 0; i < CHANGES; i++)
        if (!strcmp(changes[i].of, of) && !strcmp(changes[i].member, member))
            return true;
    return false;
}

static bool has_row(const char *member)
{
    for (const ls__member *m = ls__trainer_members; m->name; m++)
        if (!strcmp(m->name, member))
            return true;
    return false;
}

/* An option of a choice is changed by its row, above. */
static bool is_option(const char *of, const char *member)
{
    ls_option o;

    for (int k = 0; !strcmp(of, "ls_optimizer") &&
                    ls_optimizer_name((ls_optimizer_kind)k); k++)
        for (int i = 0; ls_optimizer_option((ls_optimizer_kind)k, i, &o); i++)
            if (!strcmp(o.name, member))
                return true;
    for (int k = 0; !strcmp(of, "ls_schedule") &&
                    ls_schedule_name((ls_schedule_kind)k); k++)
        for (int i = 0; ls_schedule_option((ls_schedule_kind)k, i, &o); i++)
            if (!strcmp(o.name, member))
                return true;
    return false;
}

static void check_member(const char *of, const char *member)
{
    ck_assert_msg(has_change(of, member) || is_option(of, member),
                  "%s.%s: nobody says who must have the same", of, member);
    if (!strcmp(of, "ls_trainer_options"))
        ck_assert_msg(has_row(member), "%s has no row in trainer_rows.c",
                      member);
}

/* The text of the public header that has a struct; to be freed. */
static void load_header(const char *name, char **text)
{
    static const char *const files[] = {
        "lockstep/trainer.h", "lockstep/optim.h", "lockstep/train.h",
        "lockstep/trainer.h"};
    const char *root = getenv("top_srcdir");
    char path[TEXT], begins[TEXT];
    size_t size;

    snprintf(begins, sizeof begins, "typedef struct %s {", name);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/include/%s", root ? root : "..",
                 files[i]);
        if (access(path, R_OK) < 0)
            continue;
        OK(ls__file_load(path, 1 << 20, text, &size));
        if (strstr(*text, begins))
            return;
        free(*text);
    }
    ck_abort_msg("no header has struct %s", name);
}

static void blank_comments(char *text)
{
    for (char *at; (at = strstr(text, "/*"));) {
        char *end = strstr(at, "*/");

        ck_assert_ptr_nonnull(end);
        memset(at, ' ', (size_t)(end + 2 - at));
    }
}

/* The name that a declarator ends with: "*groups", " room[8]". */
static void check_declarator(const char *of, const char *text, size_t n)
{
    const char *bracket = memchr(text, '[', n);
    char name[64];
    size_t from, to = bracket ? (size_t)(bracket - text) : n;

    while (to && (text[to - 1] == ' ' || text[to - 1] == '\n'))
        to--;
    for (from = to; from && (isalnum((unsigned char)text[from - 1]) ||
                             text[from - 1] == '_');)
        from--;
    snprintf(name, sizeof name, "%.*s", (int)(to - from), text + from);
    if (*name)
        check_member(of, name);
}

/* Every member that a public header gives these has a row or a change. */
LOOP_TEST(test_members, 0, 5)
{
    static const char *const structs[] = {"ls_trainer_options", "ls_optimizer",
                                          "ls_schedule", "ls_boundary",
                                          "ls_group"};
    const char *of = structs[_i];
    char *text, begins[TEXT], *at;
    int members = 0;

    load_header(of, &text);
    blank_comments(text);
    snprintf(begins, sizeof begins, "typedef struct %s {", of);
    at = strstr(text, begins) + strlen(begins);
    while (*at != '}') {
        size_t n = strcspn(at, ",;}");

        check_declarator(of, at, n);
        members += at[n] != '}';
        at += n + (at[n] != '}');
    }
    ck_assert_int_ge(members, 2);
    free(text);
}

MAIN()
