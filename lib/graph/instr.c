/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of operators to a plan. */
#include "graph/instr.h"
#include "base/assert.h"

void ls__bench_scratch(ls__bench *b, int64_t floats)
{
    if (floats > b->scratch)
        b->scratch = floats;
}

int64_t ls__bench_stays(ls__bench *b, int64_t floats)
{
    int64_t at = b->stays;

    b->stays += (floats + 15) / 16 * 16;
    return at;
}

void ls__bench_pack(ls__bench *b, ls__pack q, int64_t *at)
{
    LS__ASSERT(b->packs < 2 * b->count && q.floats > 0 && q.whole > 0);
    q.offset = b->packed;
    q.at = at;
    *at = q.offset;
    b->pack[b->packs++] = q;
    b->packed += q.floats;
}
