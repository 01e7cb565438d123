/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that ranks which each have rows of their own train to the bytes of one
 * program that has them all: rows that move to their devices in the order of
 * ranks, whoever has how many; rows that stay, as devices whose rows are filled
 * up with rows of weight 0.  Numbers change from step to step, a rank may have
 * none, and what is wrong on one rank fails on all. */
#include "on_ranks.h"

#include <stdlib.h>

enum { ROWS = 42, WIDTH = 3, STEPS = 4, MOST = 96, HIDDEN = 8 };

/* A training, and what comes out of it. */
typedef struct plan {
    ls_rows rows;
    int devices, micro;
    int split[STEPS][RANKS + 1]; /* rank r has rows split[r] .. split[r+1]-1 */
    int ranks;
    bool weighted, loaded;
} plan;

typedef struct outcome {
    float loss[STEPS], evaluated;
    float predicted[ROWS], row_loss[ROWS], by_x[ROWS * WIDTH];
    char hash[65];
} outcome;

static float x[ROWS][WIDTH], weight[ROWS];
static int32_t label[ROWS];
static ls_graph *graph;

static void make(void)
{
    ls_node *in, *h;

    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < WIDTH; k++)
            x[i][k] = (float)((i * 7 + k * 13) % 23) / 23 - 0.5f;
        label[i] = i * 5 % 4;
        weight[i] = (float)(i % 5) / 4;
    }
    OK(ls_graph_new(&graph));
    in = ls_input(graph, "x", LS_F32, 1, (int64_t[]){WIDTH});
    h = ls_tanh(ls_dense(in, HIDDEN, "hidden"));
    h = ls_dense(ls_dropout(h, 0.25, "drop"), 4, "out");
    OK(ls_output(graph, ls_slice(h, 0, 1, 1), "second"));
    OK(ls_loss(graph, ls_cross_entropy(h, ls_input(graph, "label", LS_I32, 0,
                                                   NULL))));
}

static void end(void)
{
    ls_graph_free(graph);
}

/* A rank without rows has no memory for them. */
static int set_rows(ls_batch *b, const plan *p, int first, int rows)
{
    int status = ls_batch_set(b, "x", LS_F32, rows ? x[first] : NULL, rows);

    if (status == 0)
        status = ls_batch_set(b, "label", LS_I32, rows ? label + first : NULL,
                              rows);
    return status < 0 || !p->weighted
               ? status
               : ls_batch_set_weights(b, weight + first, rows);
}

static int look(ls_trainer *t, ls_batch *b, outcome *o)
{
    ls_result r;
    int status = ls_evaluate(t, b, &r);

    o->evaluated = r.loss;
    if (status == 0)
        status = ls_predict(t, b, "second", ROWS, o->predicted);
    if (status == 0)
        status = ls_row_losses(t, b, ROWS, o->row_loss);
    if (status == 0)
        status = ls_input_gradient(t, b, true, "x", ROWS * WIDTH, o->by_x);
    return status == 0 ? ls_trainer_hash(t, o->hash) : status;
}

static int open_trainer(const plan *p, const ls_transport *link, ls_pool *pool,
                        ls_trainer **t)
{
    ls_trainer_options o = ls_trainer_defaults();

    o.optimizer = ls_adam(0.05);
    o.accumulate = p->micro;
    o.clip_norm = 1;
    o.transport = link;
    o.rows = link ? p->rows : LS_ROWS_ALL;
    return ls_trainer_open(t, pool, graph, &o);
}

/* A source of the rank's rows, of which each step takes all. */
static int set_by_loader(ls_loader **loader, ls_trainer *t, ls_batch *b,
                         int first, int rows, int step)
{
    ls_array array[2] = {{"x", LS_F32, 2, {rows, WIDTH}, x[first]},
                         {"label", LS_I32, 1, {rows}, label + first}};
    ls_source source;
    int status = 0;

    if (!*loader) {
        OK(ls_source_arrays(&source, 2, array));
        status = ls_loader_open(loader, t, &source, NULL);
        if (status < 0)
            ls_source_close(&source);
    }
    return status < 0 ? status : ls_loader_fill(*loader, step, b, NULL);
}

static int train(const plan *p, const ls_transport *link, outcome *o)
{
    ls_pool *pool = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    ls_loader *loader = NULL;
    int status = pool_with(&pool, p->devices, 1);

    if (status == 0)
        status = open_trainer(p, link, pool, &t);
    if (status == 0)
        status = ls_batch_open(&b, t);
    for (int i = 0; i < STEPS && status == 0; i++) {
        const int *split = p->split[i] + (link ? link->rank : 0);
        int first = link ? split[0] : 0, last = link ? split[1] : ROWS;
        ls_result r;

        status = p->loaded ? set_by_loader(&loader, t, b, first, last - first,
                                           i)
                           : set_rows(b, p, first, last - first);
        if (status == 0 && (status = ls_step(t, b, &r)) == 0)
            o->loss[i] = r.loss;
    }
    if (status == 0)
        status = look(t, b, o);
    ls_loader_close(loader);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

static outcome expected;

/* What the rows come to in a program that has them all. */
static void train_alone(const plan *p)
{
    memset(&expected, 0, sizeof expected);
    OK(train(p, NULL, &expected));
}

static int train_rank(const ls_transport *link, void *user)
{
    outcome o = {.evaluated = 0};
    int status = train(user, link, &o);

    if (status < 0)
        link->abort(link->user, ls_errmsg());
    return status < 0 ? status : memcmp(&o, &expected, sizeof o) != 0;
}

static void on(const plan *p)
{
    ranks_here *all;

    OK(ranks_open(&all, p->ranks, NULL));
    all_succeed(all, p->ranks, train_rank, (void *)p);
    ranks_close(all);
}

/* Cut ROWS over ranks; numbers are drawn, and a rank may have none. */
static void draw_split(int *split, int ranks, unsigned *seed)
{
    split[0] = 0;
    split[ranks] = ROWS;
    for (int r = 1; r < ranks; r++) {
        *seed = *seed * 1664525 + 1013904223;
        split[r] = (int)(*seed >> 8) % (ROWS + 1);
    }
    for (int r = 1; r < ranks; r++)
        for (int k = r; k > 1 && split[k] < split[k - 1]; k--) {
            int swap = split[k];

            split[k] = split[k - 1];
            split[k - 1] = swap;
        }
}

/* ------ rows that move ------ */

LOOP_TEST(moved_rows_have_the_bytes_of_one_batch, 0, 4)
{
    plan p = {.rows = LS_ROWS_MOVED, .devices = 8,
              .micro = 1 + _i % 2, .weighted = _i / 2 % 2};
    unsigned seed = (unsigned)_i + 1;

    make();
    train_alone(&p);
    for (p.ranks = 1; p.ranks <= 5; p.ranks++) {
        for (int i = 0; i < STEPS; i++)
            draw_split(p.split[i], p.ranks, &seed);
        on(&p);
    }
    end();
}

TEST(one_rank_may_have_all)
{
    plan p = {.rows = LS_ROWS_MOVED, .devices = 3, .micro = 1, .ranks = 3};

    make();
    train_alone(&p);
    for (int has = 0; has < p.ranks; has++) {
        for (int i = 0; i < STEPS; i++)
            for (int r = 0; r <= p.ranks; r++)
                p.split[i][r] = r > has ? ROWS : 0;
        on(&p);
    }
    end();
}

TEST(a_loader_reads_the_ranks_local_rows)
{
    plan p = {.rows = LS_ROWS_MOVED, .devices = 4, .micro = 1, .ranks = 3,
              .loaded = true};

    make();
    p.loaded = false;
    train_alone(&p);
    p.loaded = true;
    for (int i = 0; i < STEPS; i++)
        memcpy(p.split[i], (int[]){0, 9, 11, ROWS}, 4 * sizeof(int));
    on(&p);
    end();
}

/* ------ rows that stay ------ */

/* The batch whose shards are those of ranks that keep their rows, each filled
 * up to the most that any has. */
typedef struct filled {
    float x[MOST][WIDTH], weight[MOST];
    int32_t label[MOST];
    int rows;
} filled;

static int up(int n, int parts)
{
    return (n + parts - 1) / parts;
}

/* Ranks have equally many devices here. */
static void fill(filled *f, const plan *p, const int *split)
{
    int each = p->devices / p->ranks, most = 0;

    memset(f, 0, sizeof *f);
    for (int r = 0; r < p->ranks; r++)
        if (up(split[r + 1] - split[r], each * p->micro) > most)
            most = up(split[r + 1] - split[r], each * p->micro);
    f->rows = most * p->devices * p->micro;
    ck_assert_int_le(f->rows, MOST);
    for (int s = 0; s < p->devices * p->micro; s++) {
        int m = s / p->devices, d = s % p->devices, r = d / each;
        int n = split[r + 1] - split[r], part = up(n, each * p->micro);
        int at = (m * each + d % each) * part;

        for (int i = 0; i < part && at + i < n; i++) {
            int to = s * most + i, from = split[r] + at + i;

            memcpy(f->x[to], x[from], sizeof x[from]);
            f->label[to] = label[from];
            f->weight[to] = p->weighted ? weight[from] : 1;
        }
    }
}

static void train_filled(const plan *p, outcome *o)
{
    ls_pool *pool;
    ls_trainer *t;
    ls_batch *b;
    ls_result r;
    filled f;

    OK(pool_with(&pool, p->devices, 1));
    OK(open_trainer(p, NULL, pool, &t));
    OK(ls_batch_open(&b, t));
    for (int i = 0; i < STEPS; i++) {
        fill(&f, p, p->split[i]);
        OK(ls_batch_set(b, "x", LS_F32, f.x, f.rows));
        OK(ls_batch_set(b, "label", LS_I32, f.label, f.rows));
        OK(ls_batch_set_weights(b, f.weight, f.rows));
        OK(ls_step(t, b, &r));
        o->loss[i] = r.loss;
    }
    OK(ls_trainer_hash(t, o->hash));
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
}

/* Losses and state alone: the filled batch has other rows to look at, so those
 * are compared with the rows' own. */
static int keep_rank(const ls_transport *link, void *user)
{
    const plan *p = user;
    outcome o = {.evaluated = 0};
    int status = train(p, link, &o);

    if (status < 0)
        link->abort(link->user, ls_errmsg());
    if (status == 0 && (memcmp(o.loss, expected.loss, sizeof o.loss) ||
                        strcmp(o.hash, expected.hash)))
        return 1;
    for (int i = 0; i < ROWS && status == 0; i++)
        if (!(o.row_loss[i] > 0) ||
            (o.predicted[i] != 0) == (p->weighted && weight[i] == 0))
            return 2; /* a row of weight 0 is not predicted */
    return status;
}

LOOP_TEST(kept_rows_are_devices_filled_up, 0, 4)
{
    plan p = {.rows = LS_ROWS_KEPT, .devices = 6, .micro = 1 + _i % 2,
              .weighted = _i / 2 % 2};
    static const int splits[][4] = {
        {0, ROWS}, {0, 20, ROWS}, {0, 14, 28, ROWS}, {0, 12, 25, ROWS}};
    ranks_here *all;

    make();
    for (size_t k = 0; k < sizeof splits / sizeof *splits; k++) {
        p.ranks = k < 2 ? (int)k + 1 : 3;
        for (int i = 0; i < STEPS; i++)
            memcpy(p.split[i], splits[k], sizeof splits[k]);
        if (k == 3)
            p.split[1][1] = 13; /* another step, other numbers */
        memset(&expected, 0, sizeof expected);
        train_filled(&p, &expected);
        OK(ranks_open(&all, p.ranks, NULL));
        all_succeed(all, p.ranks, keep_rank, &p);
        ranks_close(all);
    }
    end();
}

/* ------ what is wrong ------ */

enum { WRONG = 8 };

/* Rank 1 is wrong in one of some ways; all ranks fail in the same call. */
static int wrong_rank(const ls_transport *link, void *user)
{
    int how = *(const int *)user, odd = link->rank == 1, status;
    plan p = {.rows = LS_ROWS_MOVED, .devices = 2, .micro = 1};
    int32_t bad[2] = {0, how == 0 && odd ? 9 : 1};
    ls_pool *pool = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;

    OK(pool_with(&pool, 2, 1));
    OK(open_trainer(&p, link, pool, &t));
    OK(ls_batch_open(&b, t));
    OK(ls_batch_set(b, "x", LS_F32, x, 2));
    status = ls_batch_set(b, "label", LS_I32, bad,
                          how == 1 ? 0 : how == 2 && odd ? 1 : 2);
    if (how == 3 && status == 0)
        status = ls_batch_set_weights(b, odd ? (float[]){1, -1} : weight, 2);
    if (how == 4 && status == 0)
        status = ls_batch_set(b, "x", odd ? LS_I32 : LS_F32, x, 2);
    if (how == 5 && status == 0)
        status = ls_batch_set(b, odd ? "y" : "x", LS_F32, x, 2);
    if (how == 6 && status == 0)
        status = ls_batch_set_view(b, "x", LS_F32, 6, odd ? NULL : x, 2);
    if (how == 7 && status == 0)
        status = ls_batch_set_weights(b, weight, odd ? -3 : 2);
    if (status == 0)
        status = ls_step(t, b, &(ls_result){0});
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

LOOP_TEST(what_is_wrong_on_one_rank_fails_on_all, 0, WRONG)
{
    static const struct {
        int status;
        const char *odd, *other;
    } want[WRONG] = {
        {LS_ERANGE, "label", "label: rank 1 failed: value out of range"},
        {LS_EINVAL, "0 rows", "0 rows"},
        {LS_EINVAL, "\"x\" of the batch is not set", "\"x\""},
        {LS_ERANGE, "weight", "weights: rank 1 failed"},
        {LS_EINVAL, "x", "x: rank 1 failed"},
        {LS_ENOTFOUND, "\"y\"", "x: rank 1 failed: no such name"},
        {LS_EINVAL, "not NULL", "x: rank 1 failed: invalid argument"},
        {LS_EINVAL, "-3 rows", "weights: rank 1 failed: invalid argument"}};
    rank_body out[RANKS];
    ranks_here *all;
    int how = _i;

    make();
    OK(ranks_open(&all, 2, &(ranks_options){.patience = 20}));
    on_ranks(all, 2, wrong_rank, &how, out);
    ranks_close(all);
    for (int r = 0; r < 2; r++) {
        const char *words = r == 1 ? want[how].odd : want[how].other;

        ck_assert_msg(out[r].status == want[how].status &&
                          strstr(out[r].message, words),
                      "rank %d: %d, %s", r, out[r].status, out[r].message);
    }
    end();
}

/* An epoch must have as many batches on all ranks. */
static int short_rank(const ls_transport *link, void *user)
{
    plan p = {.rows = LS_ROWS_MOVED, .devices = 2, .micro = 1};
    int64_t rows = link->rank == 1 ? 8 : 12;
    ls_array array[2] = {{"x", LS_F32, 2, {rows, WIDTH}, x},
                         {"label", LS_I32, 1, {rows}, label}};
    ls_loader_options o = ls_loader_defaults();
    ls_loader *loader = NULL;
    ls_source source;
    ls_pool *pool;
    ls_trainer *t;
    int status;

    (void)user;
    o.batch = 4;
    OK(pool_with(&pool, 2, 1));
    OK(open_trainer(&p, link, pool, &t));
    OK(ls_source_arrays(&source, 2, array));
    status = ls_loader_open(&loader, t, &source, &o);
    ls_loader_close(loader);
    ls_source_close(&source);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

/* A source that fails on one rank, at its second batch. */
static int failing_fill(void *user, int64_t n, const int64_t *index,
                        void *const *out)
{
    memset(out[0], 0, (size_t)n * sizeof x[0]);
    memset(out[1], 0, (size_t)n * sizeof label[0]);
    return *(const int *)user && index[0] > 0 ? -5 : 0;
}

static int failing_rank(const ls_transport *link, void *user)
{
    plan p = {.rows = LS_ROWS_MOVED, .devices = 2, .micro = 1};
    int odd = link->rank == 1, status = 0;
    ls_array_spec spec[2] = {{"x", LS_F32, 1, {WIDTH}},
                             {"label", LS_I32, 0, {0}}};
    ls_source source = {.rows = 12, .n_arrays = 2, .arrays = spec,
                        .fill = failing_fill, .user = &odd};
    ls_loader_options o = ls_loader_defaults();
    ls_loader *loader;
    ls_pool *pool;
    ls_trainer *t;
    ls_batch *b;

    (void)user;
    o.batch = 4;
    o.no_thread = link->rank == 0;
    OK(pool_with(&pool, 2, 1));
    OK(open_trainer(&p, link, pool, &t));
    OK(ls_batch_open(&b, t));
    OK(ls_loader_open(&loader, t, &source, &o));
    for (int i = 0; i < 2 && status == 0; i++)
        if ((status = ls_loader_fill(loader, i, b, NULL)) == 0)
            status = ls_step(t, b, &(ls_result){0});
    ls_loader_close(loader);
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_pool_close(pool);
    return status;
}

TEST(a_source_that_fails_fails_on_all)
{
    rank_body out[RANKS];
    ranks_here *all;

    make();
    OK(ranks_open(&all, 2, &(ranks_options){.patience = 20}));
    on_ranks(all, 2, failing_rank, NULL, out);
    ranks_close(all);
    ck_assert_int_eq(out[1].status, LS_EUSER);
    ck_assert_int_eq(out[0].status, LS_EINVAL);
    ck_assert_msg(strstr(out[0].message, "x: rank 1 failed"), "%s",
                  out[0].message);
    end();
}

TEST(epochs_are_equally_long)
{
    rank_body out[RANKS];
    ranks_here *all;

    make();
    OK(ranks_open(&all, 2, NULL));
    on_ranks(all, 2, short_rank, NULL, out);
    ranks_close(all);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(out[r].status, LS_EINVAL);
        ck_assert_str_eq(out[r].message, "an epoch has 2 batches of the rows "
                                         "of rank 1, and 3 of rank 0");
    }
    end();
}

MAIN(.timeout = 3000)
