/* The state hash: one number for everything a run arrived at. */
#include "base/sha.h"
#include "train/trainer.h"

#include <string.h>

static void hash_int(ls__sha256 *sha, int64_t x)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)x >> 8 * i);
    ls__sha256_update(sha, bytes, 8);
}

/* Floats are little-endian in memory on every machine we run on. */
static void hash_array(ls__sha256 *sha, const char *prefix, const ls__slot *s,
                       const float *values)
{
    ls__sha256_update(sha, prefix, strlen(prefix));
    ls__sha256_update(sha, *prefix ? "." : "", *prefix ? 1 : 0);
    ls__sha256_update(sha, s->name, strlen(s->name) + 1);
    hash_int(sha, s->rank);
    for (int i = 0; i < s->rank; i++)
        hash_int(sha, s->shape[i]);
    ls__sha256_update(sha, values + s->offset,
                      (size_t)s->size * sizeof *values);
}

static void hash_arrays(ls__sha256 *sha, const char *prefix,
                        const ls__params *params, const float *values)
{
    for (int i = 0; i < params->count; i++)
        hash_array(sha, prefix, &params->slot[i], values);
}

void ls_trainer_hash(const ls_trainer *t, char hex[65])
{
    ls_optimizer_kind kind = t->options.optimizer.kind;
    ls__sha256 sha;

    ls__sha256_init(&sha);
    hash_arrays(&sha, "", &t->params, t->value);
    for (int i = 0; i < ls__optim_moments(kind); i++)
        hash_arrays(&sha, ls__optim_moment_name(kind, i), &t->params,
                    t->moment[i]);
    hash_int(&sha, t->step);
    ls__sha256_hex(&sha, hex);
}
