/* SPDX-License-Identifier: BSD-3-Clause */
/* The state hash of a trainer. */
#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "state/state_hash.h"
#include "state/over_ranks.h"
#include "state/trainer_state.h"

static void hash_arrays(ls__sha256 *sha, const char *prefix,
                        const ls__params *params, const float *values)
{
    for (int i = 0; i < params->count; i++) {
        const ls__slot *s = &params->slot[i];

        ls__state_array(sha, prefix, s->name, s->rank, s->shape,
                        values + s->offset, (size_t)s->size * sizeof *values);
    }
}

/* Moment i of all elements: where it is or, of a state that is spread, in
 * room. */
static int get_moment(const ls_trainer *t, int i, float *room,
                      const float **all)
{
    LS__ASSERT(!ls__spread_is(t) || !ls__spread_first(t) || room);
    *all = ls__spread_is(t) ? room : ls__state_block(t, i + 1);
    return ls__spread_is(t) ? ls__spread_collect(t, i, room) : 0;
}

/* Every rank takes part, and the first one's hash counts. */
static int hash(const ls_trainer *t, float *room, char hex[65])
{
    const ls__state is = ls__state_of(t);
    bool first = ls__spread_first(t);
    const float *all = NULL;
    ls__sha256 sha;
    int status = 0;

    ls__sha256_init(&sha);
    if (first)
        hash_arrays(&sha, "", is.layout, ls__state_block(t, 0));
    for (int i = 0; i < is.moments && status == 0; i++) {
        status = get_moment(t, i, room, &all);
        if (first && status == 0)
            hash_arrays(&sha, is.moment_name[i], is.layout, all);
    }
    ls__state_end(&sha, is.step, hex);
    return status == 0 && ls__spread_is(t) ? ls__spread_tell(t, hex, 65)
                                           : status;
}

int ls_trainer_hash(ls_trainer *t, char hex[65])
{
    LS__NEED_AS(t, "trainer", LS_EINVAL);
    LS__NEED(hex);

    size_t bytes = (size_t)ls__state_of(t).layout->floats * sizeof(float);
    bool needs_room = ls__spread_is(t) && ls__spread_first(t);
    float *room = needs_room ? ls__block(bytes, "collected moments") : NULL;
    int status = ls__spread_agree(t, needs_room && !room ? LS_ENOMEM : 0);

    if (status == 0)
        status = hash(t, room, hex);
    if (status < 0)
        hex[0] = 0;
    ls__block_free(room);
    return status;
}
