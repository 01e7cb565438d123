/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves the root of a source's rows, and that the referee finds in it all that
 * a loader gives to a batch: rows in their order, shuffled, padded, of several
 * arrays, with weights; and no other batch. */
#define _GNU_SOURCE
#include "folder.h"
#include "models.h"
#include "referee/sha.h"
#include "referee/verdict.h"

#include <lockstep/record.h>

enum { WIDE = 7, ROWS = 700, OUT = 3 };

/* Rows of two arrays. */
typedef struct rows {
    float x[ROWS * WIDE], y[ROWS * OUT], weight[ROWS];
    ls_source source;
} rows;

static void open_rows(rows *r, int64_t n, bool weighted)
{
    const ls_array all[] = {{.name = "x", .dtype = LS_F32, .rank = 2,
                             .shape = {n, WIDE}, .data = r->x},
                            {.name = "y", .dtype = LS_F32, .rank = 2,
                             .shape = {n, OUT}, .data = r->y}};

    for (int i = 0; i < ROWS * WIDE; i++)
        r->x[i] = (float)i;
    for (int i = 0; i < ROWS * OUT; i++)
        r->y[i] = -(float)i - 1;
    for (int i = 0; i < ROWS; i++)
        r->weight[i] = 0.5f + (float)(i % 4);
    OK(ls_source_arrays(&r->source, 2, all));
    if (weighted)
        OK(ls_source_weigh(&r->source, r->weight, n));
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ------ the root ------ */

/* The root by this page's own hashes: leaves of 4096 words, one after the
 * other, and nodes of the greatest power of two below. */
static void root_of(const uint32_t *word, long n, uint8_t hash[HASH])
{
    uint8_t both[2 * HASH];
    long left = LEAF;

    if (n <= LEAF) {
        hash_words(word, n, hash);
        return;
    }
    while (2 * left < n)
        left *= 2;
    root_of(word, left, both);
    root_of(word + left, n - left, both + HASH);
    hash_pair(both, hash);
}

LOOP_TEST(test_root, 0, 12)
{
    static const int sizes[] = {1, 2, 409, 410, 585, 700};
    static rows r;
    static uint32_t word[ROWS * (WIDE + OUT + 1)];
    bool weighted = _i % 2;
    int64_t n = sizes[_i / 2], at = 0;
    uint8_t hash[HASH];
    char root[65], want[65] = "";

    open_rows(&r, n, weighted);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < WIDE; k++)
            word[at++] = bits_of(r.x[i * WIDE + k]);
        for (int k = 0; k < OUT; k++)
            word[at++] = bits_of(r.y[i * OUT + k]);
        if (weighted)
            word[at++] = bits_of(r.weight[i]);
    }
    root_of(word, at, hash);
    sha_hex(hash, want);
    OK(ls_source_root(&r.source, root));
    ck_assert_str_eq(root, want);
    ls_source_close(&r.source);
}

/* ------ batches ------ */

/* How a loader cuts the rows. */
static const struct cut {
    int64_t rows, batch;
    bool shuffle, pad, weighted;
} cuts[] = {{700, 32, false, false, false}, {700, 32, true, false, false},
            {700, 96, true, true, true}, {590, 590, true, false, false},
            {10, 4, false, true, false}, {1, 1, true, false, false},
            {10, 3, false, true, false}, {11, 5, true, true, true}};

/* A trainer that takes such rows. */
static run open_training(ls_pool *pool)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g = empty_graph();
    ls_node *x, *y;

    o.optimizer = ls_sgd(1e-12);
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDE});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    OK(ls_loss(g, ls_mean_squared_error(ls_dense(x, OUT, "d"), y)));
    return open_run(pool, g, &o);
}

/* Record a step whose batch is of the rows, or not: the record is the same as
 * itself, or neither side is right. */
static void judge(run *at, const ls_record_options *o, int status)
{
    const char *const same[2] = {o->path, o->path};
    ls_result result;

    OK(ls_trainer_record(at->trainer, at->batch, o, &result));
    ck_assert_msg(judge_files(same, NULL) == status, "%s", judge_why());
}

static ls_record_options record_of(const rows *r, int64_t step)
{
    ls_record_options o = ls_record_defaults();

    o.path = in_folder("step.lsr");
    o.values = true;
    o.batches = step;
    o.source = &r->source;
    return o;
}

LOOP_TEST(test_batches, 0, (int)(sizeof cuts / sizeof *cuts))
{
    static rows r;
    const struct cut *cut = &cuts[_i];
    ls_pool *pool = open_pool(4, 1);
    run at = open_training(pool);
    ls_loader_options o = ls_loader_defaults();
    ls_loader *loader;
    int64_t real;

    open_rows(&r, cut->rows, cut->weighted);
    o.batch = cut->batch;
    o.shuffle = cut->shuffle;
    o.key = ls_key_new(5);
    o.uneven = cut->pad ? LS_UNEVEN_PAD : LS_UNEVEN_CUT;
    o.no_thread = true;
    folder_open();
    for (int i = 0; i < (UNDER_SANITIZER ? 3 : 9); i++) {
        ls_source source = r.source;
        ls_record_options to = record_of(&r, i * 29 % 41);

        source.close = NULL;
        OK(ls_loader_open(&loader, at.trainer, &source, &o));
        to.batch = cut->batch;
        to.epoch = ls_loader_batches(loader);
        to.shuffle = cut->shuffle;
        to.key = o.key;
        OK(ls_loader_fill(loader, to.batches, at.batch, &real));
        judge(&at, &to, SAME);
        for (int k = 0; k < ROWS * WIDE; k++)
            r.x[k] += 1; /* which the batch has not */
        judge(&at, &to, NEITHER_IS_RIGHT);
        for (int k = 0; k < ROWS * WIDE; k++)
            r.x[k] -= 1;
        ls_loader_close(loader);
    }
    folder_close();
    ls_source_close(&r.source);
    close_run(&at);
    ls_pool_close(pool);
}

/* A denormal and a NaN's payload are hashed, and judged, as the zero and the
 * NaN that a record has of them. */
TEST(test_canonical)
{
    static const uint32_t raw[] = {0x80000001, 0x007fffff, 0xffc00001},
                          is[] = {0x80000000, 0, 0x7fc00000};
    static rows r;
    char root[65], want[65];

    open_rows(&r, 10, false);
    for (int i = 0; i < 3; i++) {
        memcpy(&r.x[9 + i], &raw[i], sizeof raw[i]);
        OK(ls_source_root(&r.source, root));
        memcpy(&r.x[9 + i], &is[i], sizeof is[i]);
        OK(ls_source_root(&r.source, want));
        ck_assert_str_eq(root, want);
    }
    ls_source_close(&r.source);
}

MAIN()
