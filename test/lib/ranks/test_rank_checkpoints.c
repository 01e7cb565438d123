/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that checkpoints which ranks write are those of one machine, byte for
 * byte, that any number of ranks goes on from them, and that a rank that dies
 * costs no bit. */
#include "rank_plans.h"

/* A part of a run: from the newest checkpoint on, to a step, saving after each
 * `every`th. */
typedef struct leg {
    plan plan;
    const char *folder;
    int64_t from, to; /* from: where it must go on, -1: at the beginning */
    int every;
    char hash[65];    /* by the first rank */
} leg;

static int save_step(ls_checkpoints *c, int64_t step)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)step);
    return ls_checkpoints_save(c, 1, &(ls_setting){"cursor", text});
}

static int go_on(leg *l, ls_trainer *t, ls_checkpoints *c, int64_t *done)
{
    char text[32];
    int status = ls_checkpoints_load(c, done);

    if (status < 0)
        return status;
    if (l->from >= -1 && *done != l->from)
        return ls_error(LS_EIO, "it goes on from another step");
    snprintf(text, sizeof text, "%lld", (long long)*done);
    if (*done >= 0 && strcmp(ls_checkpoints_note(c, "cursor"), text))
        return ls_error(LS_EIO, "the note is another");
    *done = *done < 0 ? 0 : *done;
    return ls_trainer_step(t) == *done ? 0 : LS_EIO;
}

static int walk(leg *l, ls_trainer *t, ls_batch *b, ls_checkpoints *c)
{
    int64_t done = 0;
    ls_result r;
    int status = go_on(l, t, c, &done);

    for (; status == 0 && done < l->to; done++) {
        status = ls_step(t, b, &r);
        if (status == 0 && (done + 1) % l->every == 0)
            status = save_step(c, done + 1);
    }
    return status < 0 ? status : ls_checkpoints_wait(c);
}

static int walk_rank(const ls_transport *transport, void *user)
{
    leg *l = user;
    plan p = l->plan;
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_setting which = {"which", transport && transport->rank == p.odd
                                     ? "odd" : "even"};
    ls_checkpoints *c = NULL;
    char hash[65] = "";
    rank_run own;
    int status;

    o.folder = l->folder;
    o.settings = &which;
    o.n_settings = 1;
    p.options.transport = transport;
    if ((status = rank_open(&own, &p)) == 0 &&
        (status = ls_checkpoints_open(&c, own.trainer, &o)) == 0)
        status = walk(l, own.trainer, own.batch, c);
    if (status == 0) {
        ls_trainer_hash(own.trainer, hash);
        status = *hash ? 0 : LS_EIO;
    }
    if (!transport || transport->rank == 0)
        memcpy(l->hash, hash, sizeof hash);
    if (status == LS_EIO && transport)
        transport->abort(transport->user, ls_errmsg());
    ls_checkpoints_close(c);
    rank_close(&own);
    return status;
}

/* ranks 0: without a transport. */
static void walk_on(leg *l, int ranks)
{
    ranks_here *all;

    if (ranks == 0) {
        OK(walk_rank(NULL, l));
        return;
    }
    OK(ranks_open(&all, ranks, NULL));
    all_succeed(all, ranks, walk_rank, l);
    ranks_close(all);
}

static const char *const kept[] = {"params.safetensors",
                                   "optimizer.safetensors", "checkpoint.json"};

static void same_checkpoint(const char *a, const char *b, int step)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char command[256];

        snprintf(command, sizeof command, "cmp %s/step-%012d/%s "
                 "%s/step-%012d/%s", a, step, kept[i], b, step, kept[i]);
        ck_assert_msg(system(command) == 0, "%s", command);
    }
}

/* Written by any number of ranks they are the files of one machine, and any
 * number goes on from them. */
TEST(test_checkpoints)
{
    static const int way[] = {0, 3, 1, 6, 0, 4, 2, 5};
    plan p = new_wide_plan(6);
    leg whole = {.plan = p, .folder = "c-alone", .from = -1, .to = 16,
                 .every = 2};
    leg l = {.plan = p, .folder = "c-ranks", .from = -1, .every = 2};

    ck_assert_int_eq(system("rm -rf c-alone c-ranks"), 0);
    walk_on(&whole, 0);
    for (int i = 0; i < 8; i++) {
        l.to = 2 * (i + 1);
        walk_on(&l, way[i]);
        l.from = l.to;
    }
    ck_assert_str_eq(l.hash, whole.hash);
    for (int step = 12; step <= 16; step += 2)
        same_checkpoint("c-alone", "c-ranks", step);
    ck_assert_int_eq(system("rm -rf c-alone c-ranks"), 0);
    free_plan(&p);
}

/* What only one rank sees, all fail by: a folder that cannot be made, a setting
 * that is another, a checkpoint of another seed. */
TEST(test_checkpoint_failures)
{
    rank_body out[RANKS];
    plan p = new_plan(4);
    leg l = {.plan = p, .folder = "none/c", .from = -1, .to = 2, .every = 1};
    ranks_here *all;

    ck_assert_int_eq(system("rm -rf c-fail"), 0);
    for (int k = 0; k < 3; k++) {
        static const char *const words[] = {
            "cannot be made", "which is odd on rank 1, and even on rank 0",
            "seed is 9, but was 0 in the checkpoint"};

        OK(ranks_open(&all, 3, NULL));
        on_ranks(all, 3, walk_rank, &l, out);
        for (int r = 0; r < 3; r++) {
            ck_assert_msg(strstr(out[r].message, words[k]), "%s",
                          out[r].message);
            ck_assert_int_eq(out[r].status, k ? LS_EINVAL : LS_EIO);
        }
        ranks_close(all);
        l.folder = "c-fail";
        l.plan.odd = k == 0 ? 1 : -1;
        if (k == 1) {
            walk_on(&l, 2);
            l.plan.options.seed = 9;
        }
    }
    ck_assert_int_eq(system("rm -rf c-fail"), 0);
    free_plan(&p);
}

/* Everything that is said of a state over ranks: a step, saved, gone back to,
 * counted and hashed. */
static int say_all(const ls_transport *transport, void *user)
{
    leg *l = user;
    plan p = l->plan;
    ls_checkpoints_options o = ls_checkpoints_defaults();
    ls_checkpoints *c = NULL;
    char hash[65] = "";
    int64_t at = -1;
    rank_run own;
    ls_result r;
    int status;

    o.folder = l->folder;
    o.keep = 1;
    p.options.transport = transport;
    if ((status = rank_open(&own, &p)) == 0 &&
        (status = ls_checkpoints_open(&c, own.trainer, &o)) == 0 &&
        (status = ls_step(own.trainer, own.batch, &r)) == 0 &&
        (status = ls_checkpoints_save(c, 0, NULL)) == 0 &&
        (status = ls_checkpoints_wait(c)) == 0 &&
        (status = ls_checkpoints_load(c, &at)) == 0 &&
        (status = ls_checkpoints_count(c)) >= 0) {
        status = status == 1 && at == 1 ? 0 : LS_EUSER;
        ls_trainer_hash(own.trainer, hash);
        status = *hash ? status : LS_EIO;
    }
    if (transport->rank == 0)
        memcpy(l->hash, hash, sizeof hash);
    ls_checkpoints_close(c);
    rank_close(&own);
    return status;
}

/* A rank dies at each message in turn: it says so, nobody waits for ever, and
 * what stands is whole, the checkpoint of that step. */
LOOP_TEST(test_every_death, 0, 2)
{
    int dies = _i, failed = 1, deaths = 0;
    plan p = new_plan(2);
    leg l = {.plan = p, .folder = "c-every"};
    char whole[65];
    rank_body out[RANKS];
    ranks_here *all;

    ck_assert_int_eq(system("rm -rf c-every"), 0);
    OK(ranks_open(&all, 2, NULL));
    all_succeed(all, 2, say_all, &l);
    ranks_close(all);
    memcpy(whole, l.hash, sizeof whole);
    for (int64_t n = 0; failed; n++) {
        ranks_options o = {.fault = RANK_DIES, .patience = 60,
                              .rank = dies, .posts = n};

        OK(ranks_open(&all, 2, &o));
        on_ranks(all, 2, say_all, &l, out);
        ranks_close(all);
        failed = (out[0].status < 0) + (out[1].status < 0);
        deaths += failed > 0;
        for (int r = 0; r < 2; r++)
            ck_assert_msg(out[r].status == 0 ||
                              (out[r].status == LS_EIO && *out[r].message),
                          "rank %d, message %d: %s", r, (int)n, out[r].message);
        ck_assert(out[dies].status < 0 || !failed);
    }
    ck_assert_str_eq(l.hash, whole);
    ck_assert_int_gt(deaths, 10);
    ck_assert_int_eq(system("rm -rf c-every"), 0);
    free_plan(&p);
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* A random rank dies at a random message, and a random number of ranks goes on
 * from the last checkpoint that stands, until the end: one hash. */
TEST(test_deaths)
{
    int runs = long_run() ? 200 : 4, deaths = 0;
    uint32_t seed = 17;
    plan p = new_plan(6);
    leg whole = {.plan = p, .folder = "c-whole", .from = -1, .to = 12,
                 .every = 2};

    ck_assert_int_eq(system("rm -rf c-whole c-death"), 0);
    walk_on(&whole, 0);
    for (int i = 0; i < runs; i++) {
        leg l = {.plan = p, .folder = "c-death", .from = -2, .to = 12,
                 .every = 2};

        for (bool ended = false; !ended;) {
            int ranks = 2 + (int)draw(&seed, 4);
            ranks_options o = {.fault = RANK_DIES, .patience = 60,
                                  .rank = (int)draw(&seed, (uint32_t)ranks),
                                  .posts = draw(&seed, (uint32_t)(30 * ranks))};
            rank_body out[RANKS];
            ranks_here *all;

            OK(ranks_open(&all, ranks, &o));
            on_ranks(all, ranks, walk_rank, &l, out);
            ended = true;
            for (int r = 0; r < ranks; r++)
                ended = ended && out[r].status == 0;
            deaths += !ended;
            ranks_close(all);
        }
        ck_assert_str_eq(l.hash, whole.hash);
        same_checkpoint("c-whole", "c-death", 12);
        ck_assert_int_eq(system("rm -rf c-death"), 0);
    }
    ck_assert_int_ge(deaths, runs);
    printf("%d runs, %d deaths, one hash\n", runs, deaths);
    ck_assert_int_eq(system("rm -rf c-whole"), 0);
    free_plan(&p);
}

MAIN(.timeout = 3000)
