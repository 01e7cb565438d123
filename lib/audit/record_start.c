/* SPDX-License-Identifier: BSD-3-Clause */
/* See record_start.h. */
#include "audit/record_start.h"
#include "model/seeds.h"
#include "rules/optim.h"
#include "train/trainer.h"

#include <string.h>

enum { SCALE = 1, FAN = 3, KEY = 5 }; /* words */

_Static_assert((int)KEY + 2 <= (int)LS__START_WORDS, "all are in a start");
_Static_assert(LS__UNIFORM + (int)LS_TRUNCATED_NORMAL < (int)LS__SINUSOID,
               "distributions are kinds of their own");

void ls__record_words(double x, uint32_t word[2])
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    word[0] = (uint32_t)(bits >> 32);
    word[1] = (uint32_t)bits;
}

static void put_constant(float x, uint32_t word[LS__START_WORDS])
{
    memset(word, 0, LS__START_WORDS * sizeof *word);
    memcpy(&word[SCALE], &x, sizeof x);
}

static void put_drawn(const ls__start *of, uint32_t word[LS__START_WORDS])
{
    bool varies = of->init->kind == LS_INIT_VARIANCE;

    word[0] = LS__UNIFORM + (uint32_t)of->init->distribution;
    ls__record_words(of->init->scale, &word[SCALE]);
    ls__record_words(varies ? of->fan : 0, &word[FAN]);
    memcpy(&word[KEY], of->key.word, 2 * sizeof *word);
}

bool ls__record_at_start(const ls_trainer *t)
{
    return t->step == 0 && !t->history.changed;
}

bool ls__record_start(const ls_trainer *t, int slot,
                      uint32_t word[LS__START_WORDS])
{
    const ls_trainer_options *o = &t->options;
    const ls__seeds seeds = {o->keys, o->seed, o->own_dropout_key,
                             o->dropout_key};
    const ls__slot *p = &t->model.params.slot[slot];
    ls__start start = ls__seeds_start(&t->model, &seeds, p->declared);
    int64_t columns = p->rank ? p->shape[p->rank - 1] : 1;

    switch (start.init->kind) {
    case LS_INIT_CONSTANT:
        put_constant((float)start.init->scale, word);
        return true;
    case LS_INIT_LAYER:
        put_constant(0, word);
        word[0] = LS__SINUSOID;
        word[SCALE] = (uint32_t)columns;
        return true;
    case LS_INIT_RANDOM:
    case LS_INIT_VARIANCE: put_drawn(&start, word); return true;
    case LS_INIT_ORTHOGONAL:
        put_drawn(&start, word);
        word[0] = LS__ORTHOGONAL;
        word[FAN] = (uint32_t)(p->size / columns);
        word[FAN + 1] = (uint32_t)columns;
        return true;
    default: return false; /* the program's own */
    }
}

void ls__record_start_moment(const ls_trainer *t, int moment,
                             uint32_t word[LS__START_WORDS])
{
    put_constant(moment ? 0 : ls__optim_start(&t->options.optimizer), word);
}
