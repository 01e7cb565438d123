/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of floats that have gradients: parameters with touching blocks are one
 * run. */
#include "train/trained.h"
#include "base/assert.h"
#include "base/least.h"
#include "kernel/kernel.h"
#include "reduce/reduce.h"

#include <string.h>

static ls__range all_of(const ls__trained *t)
{
    return (ls__range){0, t->floats};
}

static void add_slot(ls__trained *t, const ls__slot *s)
{
    int64_t block = LS__REDUCE_BLOCK, first = s->offset / block * block;
    int64_t last = ls__reduce_blocks(s->offset + s->size) * block;

    LS__ASSERT(s->offset + s->size <= t->floats);
    ls__ranges_add(&t->runs, (ls__range){first, ls__least(last, t->floats)});
}

int ls__trained_open(ls__trained *t, ls__arena *arena, const ls__params *params,
                     const bool *frozen, const bool *left_out)
{
    size_t n = (size_t)params->count;

    t->floats = params->floats;
    t->runs.run = ls__arena_new(arena, n + 1, sizeof *t->runs.run);
    t->slot = ls__arena_new(arena, n + 1, sizeof *t->slot);
    t->clears = ls__arena_new(arena, n + 1, sizeof *t->clears);
    if (!t->runs.run || !t->slot || !t->clears)
        return LS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int declared = params->slot[i].declared;

        t->slot[i] = !frozen || !frozen[declared];
        t->clears[i] = !t->slot[i] && !(left_out && left_out[declared]);
        if (t->slot[i])
            add_slot(t, &params->slot[i]);
    }
    return 0;
}

void ls__trained_all(ls__trained *t)
{
    t->runs.run[0] = all_of(t);
    t->runs.count = 1;
}

float *ls__trained_block(const ls__trained *t, int64_t floats, const char *what)
{
    size_t bytes = (size_t)floats * sizeof(float);

    return ls__ranges_sum(&t->runs) < t->floats ? ls__block_sparse(bytes, what)
                                                : ls__block_zero(bytes, what);
}

void ls__trained_zero(const ls__trained *t, float *gradient)
{
    for (ls__range r = {0, 0}; ls__ranges_next(&t->runs, all_of(t), &r);)
        memset(gradient + r.first, 0,
               (size_t)(r.last - r.first) * sizeof *gradient);
}

void ls__trained_add(const ls__trained *t, const float *more, float *gradient)
{
    for (ls__range r = {0, 0}; ls__ranges_next(&t->runs, all_of(t), &r);)
        ls__kernels()->add(r.last - r.first, gradient + r.first,
                           more + r.first, gradient + r.first);
}

void ls__trained_clear(const ls__trained *t, const ls__params *params,
                       float *const *grads)
{
    for (int i = 0; i < params->count; i++) {
        const ls__slot *s = &params->slot[i];

        if (t->clears[i] && grads[s->declared])
            memset(grads[s->declared], 0, (size_t)s->size * sizeof **grads);
    }
}
