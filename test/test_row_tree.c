/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves the root of a source's rows, and that the referee finds in it the
 * number that a loader gives to a batch: rows in their order, shuffled, padded,
 * of several arrays, with weights, and windows; and that it refuses evidence in
 * which anything is changed. */
#define _GNU_SOURCE
#define REFEREE_IS_TESTED
#include "../referee/referee.c"
#include "folder.h"
#include "models.h"
#include "spoilt_evidence.h"

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

static void forget_evidence(void)
{
    (void)print_rules; /* its main's own */
    (void)graph_of;
    for (int i = 0; i < count; i++)
        free(lists[i].x);
    memset(lists, 0, sizeof lists);
    count = 0;
}

/* What the referee makes of the evidence in a file. */
static uint32_t judged(const char *path)
{
    char op[32];
    FILE *f = fopen(path, "r");

    ck_assert_ptr_nonnull(f);
    forget_evidence();
    ck_assert(read_evidence(f, op));
    fclose(f);
    return make(op);
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
static void root_of(const uint32_t *word, long n, uint32_t hash[8])
{
    uint32_t both[16];
    long left = LEAF;

    if (n <= LEAF) {
        hash_words(word, n, hash);
        return;
    }
    while (2 * left < n)
        left *= 2;
    root_of(word, left, both);
    root_of(word + left, n - left, both + 8);
    hash_pair(both, hash);
}

START_TEST(test_root)
{
    static const int sizes[] = {1, 2, 409, 410, 585, 700};
    static rows r;
    static uint32_t word[ROWS * (WIDE + OUT + 1)];
    bool weighted = _i % 2;
    int64_t n = sizes[_i / 2], at = 0;
    uint32_t hash[8];
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
    for (int i = 0; i < 8; i++)
        sprintf(want + 8 * i, "%08x", (unsigned)hash[i]);
    OK(ls_source_root(&r.source, root));
    ck_assert_str_eq(root, want);
    ls_source_close(&r.source);
}
END_TEST

/* ------ batches ------ */

/* How a loader cuts the rows. */
static const struct cut {
    int64_t rows, batch;
    bool shuffle, pad, weighted;
} cuts[] = {{700, 32, false, false, false}, {700, 32, true, false, false},
            {700, 96, true, true, true}, {590, 590, true, false, false},
            {10, 4, false, true, false}, {1, 1, true, false, false},
            {10, 3, false, true, false}, {11, 5, true, true, true}};

/* A source that remembers what it wrote last. */
typedef struct seen_fill {
    ls_source inner;
    const float *out[3];
    int64_t rows;
} seen_fill;

static int fill_seen(void *user, int64_t n, const int64_t *index,
                     void *const *out)
{
    seen_fill *s = user;

    for (int a = 0; a < 3; a++)
        s->out[a] = out[a];
    s->rows = n;
    return s->inner.fill(s->inner.user, n, index, out);
}

/* A trainer that takes such rows. */
static run open_training(ls_pool *pool)
{
    ls_trainer_options o = ls_trainer_defaults();
    ls_graph *g;
    ls_node *x, *y;

    OK(ls_graph_new(&g));
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){WIDE});
    y = ls_input(g, "y", LS_F32, 1, (int64_t[]){OUT});
    OK(ls_loss(g, ls_mean_squared_error(ls_dense(x, OUT, "d"), y)));
    return open_run(pool, g, &o);
}

/* A digit of the leaf, the path or the root: it opens no more. */
static void spoil_proof(const char *path, uint32_t is, uint32_t *r)
{
    size_t bytes;
    char *text = read_text(path, &bytes), *leaf = strstr(text, "\nleaf ");
    char *at;

    ck_assert_ptr_nonnull(leaf);
    do
        at = text + between(r, leaf + 6 - text, (int64_t)bytes - 2);
    while (*at == ' ' || *at == '\n' ||
           at - (char *)memrchr(text, '\n', (size_t)(at - text)) < 6);
    *at = *at == 'f' ? '0' : 'f';
    ck_assert_int_eq(judge_text(text, bytes, is), 3);
    free(text);
}

/* A number of the step's batch, of which so many rows are none that fill it up,
 * or what a row weighs: the referee finds it, and no other. */
static void check_word(const rows *r, const struct cut *cut,
                       const seen_fill *seen, ls_row_claim c, int64_t real,
                       uint32_t *at)
{
    const char *path = in_folder("evidence");
    int64_t size = (const int[]){WIDE, OUT, 1}[c.array];
    uint32_t is;

    c.element = between(at, 0, seen->rows * size - 1);
    is = bits_of(seen->out[c.array][c.element]);
    if (c.array == 2 && c.element >= real)
        is = 0;
    else if (c.array == 2 && !cut->weighted)
        is = bits_of(1);
    c.a = is;
    c.b = is ^ 1;
    c.shuffle = cut->shuffle;
    OK(ls_source_evidence(&r->source, &c, path));
    ck_assert_uint_eq(judged(path), is);
    for (int i = 0; i < 4 && (c.array < 2 || cut->weighted); i++)
        spoil_proof(path, is, at);
}

START_TEST(test_batches)
{
    static rows r;
    const struct cut *cut = &cuts[_i];
    ls_pool *pool = open_pool(4, 1);
    run at = open_training(pool);
    ls_loader_options o = ls_loader_defaults();
    ls_row_claim c = ls_row_claim_defaults();
    ls_loader *loader;
    seen_fill seen;
    ls_source source;
    uint32_t draws = 11;
    int64_t real;

    open_rows(&r, cut->rows, cut->weighted);
    seen = (seen_fill){.inner = r.source};
    o.batch = c.batch = cut->batch;
    o.shuffle = cut->shuffle;
    o.key = c.key = ls_key_new(5);
    o.uneven = cut->pad ? LS_UNEVEN_PAD : LS_UNEVEN_CUT;
    o.no_thread = true;
    folder_open();
    for (int i = 0; i < (UNDER_SANITIZER ? 6 : 18); i++) {
        source = r.source;
        source.fill = fill_seen;
        source.close = NULL;
        source.user = &seen;
        OK(ls_loader_open(&loader, at.trainer, &source, &o));
        c.batches = ls_loader_batches(loader);
        c.step = between(&draws, 0, 40);
        c.array = i % 3;
        OK(ls_loader_fill(loader, c.step, at.batch, &real));
        check_word(&r, cut, &seen, c, real, &draws);
        ls_loader_close(loader);
    }
    folder_close();
    ls_source_close(&r.source);
    close_run(&at);
    ls_pool_close(pool);
}
END_TEST

/* Windows: as a text's are drawn. */
START_TEST(test_windows)
{
    static rows r;
    const ls_array all = {.name = "x", .dtype = LS_F32, .rank = 1,
                          .shape = {ROWS * WIDE}, .data = r.x};
    ls_row_claim c = ls_row_claim_defaults();
    const char *path;
    uint32_t draws = 3;
    ls_source bytes;

    open_rows(&r, ROWS, false);
    OK(ls_source_arrays(&bytes, 1, &all));
    folder_open();
    path = in_folder("evidence");
    c.batch = 8;
    c.window = 33;
    c.key = ls_key_new(17);
    for (int i = 0; i < 40; i++) {
        int64_t row = between(&draws, 0, 7), word = between(&draws, 0, 32);
        int32_t start;

        c.step = between(&draws, 0, 1000);
        c.element = row * c.window + word;
        ls_random_randint(ls_key_fold_in(c.key, (uint32_t)c.step),
                          (uint64_t)row, 1, 0,
                          (int32_t)(ROWS * WIDE - c.window + 1), &start);
        OK(ls_source_evidence(&bytes, &c, path));
        ck_assert_uint_eq(judged(path), bits_of(r.x[start + word]));
    }
    c.array = 1;
    for (c.element = 6; c.element < 10; c.element++) { /* weights */
        OK(ls_source_evidence(&bytes, &c, path));
        ck_assert_uint_eq(judged(path), bits_of(c.element < c.batch));
    }
    folder_close();
    ls_source_close(&bytes);
    ls_source_close(&r.source);
}
END_TEST

/* ------ what has none ------ */

static int fill_badly(void *user, int64_t n, const int64_t *index,
                      void *const *out)
{
    (void)user, (void)n, (void)index, (void)out;
    return -3;
}

START_TEST(test_refused)
{
    static rows r;
    ls_row_claim c = ls_row_claim_defaults();
    ls_source bad, none = {0};
    char root[65];

    open_rows(&r, ROWS, false);
    bad = r.source;
    bad.by_epoch = true;
    FAILS(ls_source_root(&bad, root), LS_ENOTSUP, "others in each epoch");
    bad.by_epoch = false;
    bad.fill = fill_badly;
    FAILS(ls_source_root(&bad, root), LS_EUSER, "status -3");
    FAILS(ls_source_root(&none, root), LS_EINVAL, "is empty");
    c.batch = 8;
    FAILS(ls_source_evidence(&r.source, &c, "no/evidence"), LS_EINVAL,
          "no such word");
    c.batches = 87;
    FAILS(ls_source_evidence(&r.source, &c, "no/evidence"), LS_EIO,
          "no/evidence");
    c.array = 3; /* 2 is the weights */
    FAILS(ls_source_evidence(&r.source, &c, "no/evidence"), LS_EINVAL,
          "array 3");
    c.size = 0;
    FAILS(ls_source_evidence(&r.source, &c, "no/evidence"), LS_EINVAL,
          "as ls_row_claim_defaults()");
    ls_source_close(&r.source);
}
END_TEST

static Suite *row_tree_suite(void)
{
    Suite *s = suite_create("row_tree");
    TCase *t = tcase_create("rows");

    tcase_add_loop_test(t, test_root, 0, 12);
    tcase_add_loop_test(t, test_batches, 0, (int)(sizeof cuts / sizeof *cuts));
    tcase_add_test(t, test_windows);
    tcase_add_test(t, test_refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(row_tree_suite());
}
