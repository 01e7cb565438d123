/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that ranks share out a training: moments exist once over all of them,
 * a step sends no byte more than it must, each reads its rows alone, each has
 * cores of its own, and a small state, of which most own nothing, its root. */
#include "rank_plans.h"
#include "reduce/reduce.h"
#include "train/trainer.h"
#include <lockstep/transcript.h>

#include <malloc.h>

/* ------ Moments ------ */

/* The ranks' share of a moment, which they have between them once. */
typedef struct shares {
    plan plan;
    int64_t of[RANKS], all;
} shares;

static int read_moment(const ls_transport *transport, void *user)
{
    shares *s = user;
    plan p = s->plan;
    float mu[700];
    rank_run own;
    ls_result r;
    int status;

    p.options.transport = transport;
    if ((status = rank_open(&own, &p)) == 0)
        status = ls_step(own.trainer, own.batch, &r);
    if (status == 0) {
        const ls_trainer *t = own.trainer;

        s->of[transport->rank] =
            (int64_t)malloc_usable_size(ls__block_memory(t->moments.of[0]));
        if (transport->rank == 0)
            s->all = 4 * t->model.params.floats;
        if (transport->rank == 1 &&
            ls_trainer_get(t, "mu.hidden.bias", 700, mu) != LS_ENOTSUP)
            status = 1;
    }
    rank_close(&own);
    return status;
}

/* Moments are there once, over all ranks together, and nobody reads what
 * another one has. */
TEST(test_moments)
{
    shares s = {.plan = new_wide_plan(4)};
    int64_t sum = 0;
    ranks_here *all;

    OK(ranks_open(&all, 3, NULL));
    all_succeed(all, 3, read_moment, &s);
    ranks_close(all);
    for (int r = 0; r < 3; r++)
        sum += s.of[r];
    ck_assert_int_ge(sum, s.all);
    ck_assert_int_le(sum, s.all + 3 * 4096 + 3 * 256); /* malloc rounds up */
    free_plan(&s.plan);
}

/* ------ Roots ------ */

typedef struct roots {
    plan plan;
    char root[RANKS][65];
} roots;

static int find_root(const ls_transport *transport, void *user)
{
    roots *s = user;
    plan p = s->plan;
    rank_run own;
    ls_result r;
    int status;

    p.options.transport = transport;
    if ((status = rank_open(&own, &p)) == 0)
        status = ls_step(own.trainer, own.batch, &r);
    if (status == 0)
        status = ls_trainer_root(own.trainer, 1, 0, NULL,
                                 s->root[transport->rank]);
    rank_close(&own);
    return status;
}

/* A model of one leaf has one root, however many ranks own none of it. */
TEST(test_roots)
{
    roots s = {.plan = new_plan(RANKS)};
    char one[65];
    ranks_here *all;

    for (int ranks = 1; ranks <= RANKS; ranks++) {
        OK(ranks_open(&all, ranks, NULL));
        all_succeed(all, ranks, find_root, &s);
        ranks_close(all);
        if (ranks == 1)
            memcpy(one, s.root[0], sizeof one);
        for (int r = 0; r < ranks; r++)
            ck_assert_str_eq(s.root[r], one);
    }
    free_plan(&s.plan);
}

/* ------ What is sent ------ */

/* Bytes that each rank sends in a step. */
typedef struct traffic {
    plan plan;
    const ranks_here *all;
    int64_t floats, blocks, sent[RANKS];
} traffic;

static int count_step(const ls_transport *transport, void *user)
{
    traffic *c = user;
    plan p = c->plan;
    int rank = transport->rank, status;
    rank_run own;
    ls_result r;

    p.options.transport = transport;
    status = rank_open(&own, &p);
    c->sent[rank] = -ranks_sent(c->all, rank);
    if (status == 0)
        status = ls_step(own.trainer, own.batch, &r);
    c->sent[rank] += ranks_sent(c->all, rank);
    if (status == 0 && rank == 0) {
        c->floats = own.trainer->model.params.floats;
        c->blocks = p.options.clip_norm > 0 ? ls__reduce_blocks(c->floats) : 0;
    }
    rank_close(&own);
    return status;
}

/* A step with ranks x 2^k devices sends, as a whole, 2 N (R-1)/R floats a rank,
 * and besides them a report for each device, what is not finite, and the
 * squares of blocks: no other byte. */
LOOP_TEST(test_traffic, 0, 2)
{
    for (int ranks = 1; ranks <= 6; ranks++) {
        traffic c = {.plan = new_wide_plan(2 * ranks)};
        int64_t sum = 0, besides;
        ranks_here *all;

        c.plan.options.clip_norm = _i ? 0.5 : 0;
        c.plan.options.accumulate = _i ? 2 : 1;
        OK(ranks_open(&all, ranks, NULL));
        c.all = all;
        all_succeed(all, ranks, count_step, &c);
        ranks_close(all);
        for (int r = 0; r < ranks; r++)
            sum += c.sent[r];
        besides = (int64_t)sizeof(ls__report) * c.plan.devices + 8 * ranks +
                  4 * c.blocks;
        ck_assert_int_eq(sum, (ranks - 1) * (4 * 2 * c.floats + besides));
        free_plan(&c.plan);
    }
}

/* ------ Data ------ */

/* A training from a source: one rank may have another one. */
typedef struct feed {
    plan plan;
    int64_t rows, batch;
    bool shuffle, spoilt; /* by the odd rank */
    ls_uneven uneven;
    int64_t asked[RANKS]; /* rows, by each rank */
    char hash[65]; /* by the first rank, or without ranks */
} feed;

/* Counts the rows that are asked for. */
typedef struct counted {
    ls_source inner;
    int64_t asked;
} counted;

static int fill_counted(void *user, int64_t n, const int64_t *index,
                        void *const *out)
{
    counted *c = user;

    c->asked += n;
    return c->inner.fill(c->inner.user, n, index, out);
}

static int steps_from(counted *c, ls_trainer *t, ls_source *source,
                      const ls_loader_options *o)
{
    ls_loader *loader = NULL;
    ls_batch *b = NULL;
    ls_result r;
    int status = ls_loader_open(&loader, t, source, o);

    if (status == 0)
        status = ls_batch_open(&b, t);
    c->asked = 0; /* those that were compared do not count */
    for (int64_t i = 0; i < 6 && status == 0; i++)
        if ((status = ls_loader_fill(loader, i, b, NULL)) == 0)
            status = ls_step(t, b, &r);
    ls_batch_close(b);
    ls_loader_close(loader);
    return status;
}

static int feed_rank(const ls_transport *transport, void *user)
{
    feed *f = user;
    plan p = f->plan;
    bool odd = transport && transport->rank == p.odd;
    ls_array a[] = {{"x", LS_F32, 2, {f->rows - (odd && f->rows > 40), IN},
                     (void *)p.x},
                    {"label", LS_I32, 1, {f->rows - (odd && f->rows > 40)},
                     (void *)p.label}};
    ls_loader_options o = ls_loader_defaults();
    counted c = {.asked = 0};
    ls_source s = {0};
    ls_trainer *t = NULL;
    ls_pool *pool = NULL;
    float *copy = NULL;
    char hash[65] = "";
    int status = pool_of(&pool, p.devices);

    o.batch = f->batch - 6 * (odd && f->batch == 12);
    o.shuffle = f->shuffle;
    o.key = ls_key_new(5);
    o.no_thread = true;
    o.uneven = f->uneven;
    p.options.transport = transport;
    if (odd && f->spoilt && (copy = malloc(ROWS * IN * sizeof *copy))) {
        memcpy(copy, p.x, ROWS * IN * sizeof *copy);
        copy[(f->rows - 1) * IN] += 1;
        a[0].data = copy;
    }
    if (status == 0 && (status = ls_source_arrays(&c.inner, 2, a)) == 0) {
        s = c.inner;
        s.fill = fill_counted;
        s.user = &c;
        s.close = NULL;
        status = ls_trainer_open(&t, pool, p.graph, &p.options);
    }
    if (status == 0)
        status = steps_from(&c, t, &s, &o);
    f->asked[transport ? transport->rank : 0] = c.asked;
    if (status < 0 && status != LS_EINVAL && transport)
        transport->abort(transport->user, ls_errmsg());
    if (status == 0)
        ls_trainer_hash(t, hash);
    if (status == 0 && (!transport || transport->rank == 0))
        memcpy(f->hash, hash, sizeof hash);
    ls_source_close(&c.inner);
    ls_trainer_close(t);
    ls_pool_close(pool);
    free(copy);
    return status;
}

/* Rows come to the rank whose devices need them, and to no other: in their
 * order and shuffled, with micro-batches, padded at the end of an epoch, or cut
 * unevenly. */
LOOP_TEST(test_feed, 0, 8)
{
    bool cut = _i & 4;
    feed f = {.plan = new_plan(6), .rows = 40, .batch = cut ? 22 : 24,
              .uneven = cut ? LS_UNEVEN_CUT : LS_UNEVEN_PAD};

    f.shuffle = _i & 1;
    f.plan.options.accumulate = _i & 2 ? 2 : 1;
    OK(feed_rank(NULL, &f));
    for (int ranks = 1; ranks <= 5; ranks += 2) {
        feed g = {.plan = f.plan, .rows = f.rows, .batch = f.batch,
                  .shuffle = f.shuffle, .uneven = f.uneven};
        ranks_here *all;

        OK(ranks_open(&all, ranks, NULL));
        all_succeed(all, ranks, feed_rank, &g);
        ranks_close(all);
        ck_assert_str_eq(g.hash, f.hash);
        for (int r = 1; r < ranks; r++) {
            ck_assert_int_lt(g.asked[r], f.asked[0]);
            g.asked[0] += g.asked[r];
        }
        ck_assert_int_eq(g.asked[0], f.asked[0]);
    }
    free_plan(&f.plan);
}

static const struct {
    int64_t rows, batch;
    bool spoilt;
    const char *words;
} other_data[] = {
    {41, 24, false, "number of rows of the data is 40 on rank 1, and 41 on"},
    {40, 12, false, "number of rows of a batch is 6 on rank 1, and 12 on"},
    {40, 24, true, "the hash of 24 rows of the data is "},
};

/* A rank with other data is found before the first step. */
LOOP_TEST(test_other_data, 0, sizeof other_data / sizeof *other_data)
{
    rank_body out[RANKS];
    feed f = {.plan = new_plan(6), .rows = other_data[_i].rows,
              .batch = other_data[_i].batch, .spoilt = other_data[_i].spoilt,
              .uneven = LS_UNEVEN_PAD};
    ranks_here *all;

    f.plan.odd = 1;
    OK(ranks_open(&all, 3, NULL));
    on_ranks(all, 3, feed_rank, &f, out);
    for (int r = 0; r < 3; r++) {
        ck_assert_msg(strstr(out[r].message, other_data[_i].words), "%s",
                      out[r].message);
        ck_assert_int_eq(out[r].status, LS_EINVAL);
    }
    ranks_close(all);
    free_plan(&f.plan);
}

/* ------ Places ------ */

typedef struct places {
    char list[RANKS][256];
    int own[RANKS];
} places;

static int find_place(const ls_transport *t, void *user)
{
    places *p = user;

    p->own[t->rank] = ls_transport_cpus(t, NULL, p->list[t->rank], 256);
    return p->own[t->rank] < 0 ? p->own[t->rank] : 0;
}

/* Ranks of one process may all run on the same cores: each gets some of its own
 * while there are enough, and none where there are not. */
TEST(test_places)
{
    ls_mesh *mesh;
    ranks_here *all;
    int cores;

    OK(ls_mesh_open(&mesh, NULL));
    cores = ls_mesh_usable_cores(mesh);
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        places p = {0};

        OK(ranks_open(&all, ranks, NULL));
        all_succeed(all, ranks, find_place, &p);
        ranks_close(all);
        for (int r = 0; r < ranks; r++) {
            ck_assert_int_eq(p.own[r], ranks <= cores);
            ck_assert_int_eq(*p.list[r] != 0, ranks > 1 && ranks <= cores);
            for (int q = 0; q < r && *p.list[r]; q++)
                ck_assert_str_ne(p.list[q], p.list[r]);
        }
    }
    ls_mesh_close(mesh);
}

MAIN(.timeout = 3000)
