/* The state hash of a trainer. */
#include "checkpoint/state_hash.h"
#include "train/seam.h"
#include "train/trainer.h"

static void hash_arrays(ls__sha256 *sha, const char *prefix,
                        const ls__params *params, const float *values)
{
    for (int i = 0; i < params->count; i++) {
        const ls__slot *s = &params->slot[i];

        ls__state_array(sha, prefix, s->name, s->rank, s->shape,
                        values + s->offset, (size_t)s->size * sizeof *values);
    }
}

void ls_trainer_hash(ls_trainer *t, char hex[65])
{
    ls_optimizer_kind kind = t->options.optimizer.kind;
    ls__sha256 sha;

    hex[0] = 0;
    if (ls__seam_moments(t) < 0)
        return;
    ls__sha256_init(&sha);
    hash_arrays(&sha, "", &t->model.params, t->model.value);
    for (int i = 0; i < ls__optim_moments(kind); i++)
        hash_arrays(&sha, ls__optim_moment_name(kind, i), &t->model.params,
                    t->moment[i]);
    ls__state_end(&sha, t->step, hex);
}
