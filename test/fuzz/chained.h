/* SPDX-License-Identifier: BSD-3-Clause */
/* Feeds readers of lines that each have the hash of the one before: an input is
 * a file twice, as it is, and with its hashes made right, so that damage gets
 * past them; and a training to make a good one of. */
#ifndef TEST_FUZZ_CHAINED_H
#define TEST_FUZZ_CHAINED_H

#include "base/sha.h"
#include "memory_file.h"
#include "mutate.h"
#include <lockstep.h>

enum { CHAIN_HASH = 64, CHAIN_STEPS = 3, CHAIN_ROWS = 4 };

/* Make the hashes right, as far as lines have room for one. */
static inline void rechain(char *bytes, size_t size)
{
    static const char name[] = "\"prev\":\"";
    char prev[CHAIN_HASH + 1], *end = bytes + size;

    memset(prev, '0', CHAIN_HASH);
    for (char *line = bytes, *next; line < end; line = next) {
        char *at = memmem(line, (size_t)(end - line), name, sizeof name - 1);
        ls__sha256 sha;

        next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next + 1 : end;
        if (at && at + sizeof name - 1 + CHAIN_HASH < next)
            memcpy(at + sizeof name - 1, prev, CHAIN_HASH);
        ls__sha256_init(&sha);
        ls__sha256_update(&sha, line, (size_t)(next - line));
        ls__sha256_hex(&sha, prev);
    }
}

static inline void chained_files(const uint8_t *data, size_t size,
                                 void (*parse)(const char *path))
{
    for (int chained = 0; chained < 2; chained++) {
        char *bytes = copy_of(data, size), path[32];
        int fd;

        if (chained)
            rechain(bytes, size);
        fd = memory_file((uint8_t *)bytes, size, path);
        free(bytes);
        parse(path);
        close(fd);
    }
}

/* A training of a small model, with its batch. */
typedef struct training {
    ls_pool *pool;
    ls_trainer *trainer;
    ls_batch *batch;
} training;

static inline training training_open(void)
{
    static float x[CHAIN_ROWS * 2] = {1, 2, 3, 4, 5, 6, 7, 8};
    static float y[CHAIN_ROWS] = {1, 0, 1, 0};
    ls_pool_options loose = {.size = sizeof loose, .no_pin = true};
    ls_mesh_options m = {.size = sizeof m, .devices = 2, .workers = 1};
    ls_trainer_options o = ls_trainer_defaults();
    training t = {0};
    ls_mesh *mesh = NULL;
    ls_graph *g = NULL;
    ls_node *in, *out;

    o.optimizer = ls_momentum(0.1, 0.9);
    if (ls_graph_new(&g) < 0 || ls_mesh_open(&mesh, &m) < 0 ||
        ls_pool_open(&t.pool, mesh, &loose) < 0)
        abort();
    in = ls_input(g, "x", LS_F32, 1, (int64_t[]){2});
    out = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
    if (ls_loss(g, ls_mean_squared_error(ls_dense(in, 1, "d"), out)) < 0 ||
        ls_trainer_open(&t.trainer, t.pool, g, &o) < 0 ||
        ls_batch_open(&t.batch, t.trainer) < 0 ||
        ls_batch_set(t.batch, "x", LS_F32, x, CHAIN_ROWS) < 0 ||
        ls_batch_set(t.batch, "y", LS_F32, y, CHAIN_ROWS) < 0)
        abort();
    ls_graph_free(g);
    ls_mesh_close(mesh);
    return t;
}

static inline void training_close(training *t)
{
    ls_batch_close(t->batch);
    ls_trainer_close(t->trainer);
    ls_pool_close(t->pool);
}

/* The bytes of a file; 0: it is not there, or larger. */
static inline size_t bytes_of(const char *path, uint8_t *to, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(to, 1, room, f) : 0;

    if (f)
        fclose(f);
    return n < room ? n : 0;
}

#endif
