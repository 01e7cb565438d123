/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of a text: which bytes they are, and that no more is read of a file
 * than the windows of a rank's own devices. */
#define _GNU_SOURCE
#include "on_ranks.h"

#include <stdlib.h>
#include <unistd.h>

/* Bytes that this thread has read. */
static _Thread_local int64_t bytes_read;

static ssize_t counted_pread(int fd, void *to, size_t n, off_t at)
{
    ssize_t got = pread(fd, to, n, at);

    bytes_read += got > 0 ? got : 0;
    return got;
}

#define pread counted_pread
#include "data/text.c"

const char opt_program_name[] = "test";

enum { BYTES = 200003, WINDOW = 100, BATCH = 8, DEVICES = 4, STEPS = 10 };

static unsigned char byte_of(int64_t i)
{
    return (unsigned char)(i * 2654435761u >> 13);
}

static void write_text(char path[64])
{
    int fd;
    FILE *file;

    strcpy(path, "/tmp/lockstep-text-XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    file = fdopen(fd, "wb");
    for (int64_t i = 0; i < BYTES; i++)
        fputc(byte_of(i), file);
    fclose(file);
}

static void open_windows(text_data *t, const char *path)
{
    *t = (text_data){.window = 0};
    ck_assert_int_eq(text_load(t, path, NULL, WINDOW, 256, ls_key_new(3)), 0);
    text_plan(t, BATCH, DEVICES);
}

/* Proves that row i of step s is the window at randint(fold_in(key, s))[i],
 * whichever rows are asked for together, and that evaluation covers the last
 * tenth once. */
TEST(windows)
{
    static int32_t tokens[BATCH * 3 * WINDOW];
    float weights[BATCH * 3];
    double all = 0;
    void *out[] = {tokens, weights};
    int64_t index[BATCH * 3], at = BYTES - BYTES / 10;
    text_data t;
    ls_source s;
    char path[64];

    write_text(path);
    open_windows(&t, path);
    s = text_source(&t);
    ck_assert_int_eq(bytes_read, SOME); /* is it a text? */
    bytes_read = 0;
    for (int i = 0; i < BATCH * 3; i++)
        index[i] = i * 5 % 7 ? 5 * BATCH + i : 2 * BATCH + i;
    ck_assert_int_eq(s.fill(s.user, BATCH * 3, index, out), 0);
    for (int i = 0; i < BATCH * 3; i++) {
        int32_t start[BATCH];

        ls_random_randint(ls_key_fold_in(ls_key_new(3),
                                         (uint32_t)(index[i] / BATCH)),
                          0, BATCH, 0,
                          BYTES - BYTES / 10 - WINDOW + 1, start);
        ck_assert(weights[i] == 1);
        for (int j = 0; j < WINDOW; j++)
            ck_assert_int_eq(tokens[i * WINDOW + j],
                             byte_of(start[index[i] % BATCH] + j));
    }
    s = text_eval_source(&t);
    ck_assert_int_eq(s.rows, text_eval_batches(&t) * BATCH);
    for (int64_t i = 0; i < s.rows; i++) {
        ck_assert_int_eq(s.fill(s.user, 1, &i, out), 0);
        all += (double)weights[0] * (WINDOW - 1);
        if (weights[0] == 1) {
            ck_assert_int_eq(tokens[0], byte_of(at));
            at += WINDOW - 1;
        }
    }
    ck_assert_double_eq_tol(all, BYTES / 10 - 1, .1);
    text_free(&t);
    unlink(path);
}

static int nothing(void *user, int device, const ls_shard *shard,
                   const float *const *params, float *const *grads,
                   ls_sums *sums)
{
    (void)user, (void)device, (void)params, (void)grads;
    sums->weight = (double)shard->rows;
    return 0;
}

/* What a rank has read at the end of its steps. */
typedef struct reading {
    const char *path;
    int64_t bytes[2];
} reading;

static int read_steps(const ls_transport *link, void *user)
{
    reading *r = user;
    ls_mesh_options mesh_options = ls_mesh_defaults();
    ls_pool_options pool_options = ls_pool_defaults();
    ls_trainer_options options = ls_trainer_defaults();
    ls_loader_options o = ls_loader_defaults();
    ls_array_spec param = {"w", LS_F32, 0, {0}};
    ls_gradient g = {.fn = nothing, .n_inputs = 1, .n_params = 1,
                     .params = &param};
    ls_mesh *mesh;
    ls_pool *pool;
    ls_trainer *trainer;
    ls_loader *loader;
    ls_batch *batch;
    ls_source s;
    text_data t;

    bytes_read = 0;
    open_windows(&t, r->path);
    s = text_source(&t);
    g.inputs = s.arrays;
    mesh_options.devices = DEVICES;
    mesh_options.workers = 1;
    pool_options.no_pin = true;
    options.transport = link;
    o.batch = BATCH;
    o.no_thread = true;
    OK(ls_mesh_open(&mesh, &mesh_options));
    OK(ls_pool_open(&pool, mesh, &pool_options));
    OK(ls_trainer_open_gradient(&trainer, pool, &g, &options));
    OK(ls_batch_open(&batch, trainer));
    OK(ls_loader_open(&loader, trainer, &s, &o));
    for (int64_t step = 0; step < STEPS; step++)
        OK(ls_loader_fill(loader, step, batch, NULL));
    r->bytes[link->rank] = bytes_read;
    ls_loader_close(loader);
    ls_batch_close(batch);
    ls_trainer_close(trainer);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    text_free(&t);
    return 0;
}

/* Proves that each of two ranks reads half of the windows, and those few that
 * ranks compare. */
TEST(reads_its_own)
{
    char path[64];
    reading r = {path, {0}};
    ranks_here *all;

    write_text(path);
    OK(ranks_open(&all, 2, NULL));
    all_succeed(all, 2, read_steps, &r);
    for (int k = 0; k < 2; k++)
        ck_assert_int_eq(r.bytes[k],
                         SOME + (STEPS * BATCH / 2 + BATCH) * WINDOW);
    ranks_close(all);
    unlink(path);
}

/* Proves that a text that is cut off fails the row that misses it. */
TEST(cut_off)
{
    int32_t tokens[WINDOW];
    float weight;
    void *out[] = {tokens, &weight};
    int64_t first = 0;
    text_data t;
    ls_source s;
    char path[64];

    write_text(path);
    open_windows(&t, path);
    s = text_eval_source(&t);
    OK(truncate(path, BYTES - BYTES / 10 + 20));
    FAILS(s.fill(s.user, 1, &first, out), LS_EIO, "became shorter");
    text_free(&t);
    unlink(path);
}

MAIN()
