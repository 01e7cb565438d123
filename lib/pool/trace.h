/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace and its ring buffers, for who writes them. */
#ifndef LS_POOL_TRACE_H
#define LS_POOL_TRACE_H

#include "pool/track.h"

struct ls_trace {
    ls_pool *pool;
    int workers;
    int64_t opened; /* ns: 0 of the file's clock */
    int level;
    bool taken; /* the pool has another */
    uint64_t capacity;
    ls__event **event; /* [workers + 1], of the tracks */
};

/* The ring of a worker, or of the counters behind the last one, and its oldest
 * event that is still there. */
const ls__ring *ls__trace_ring(const ls_trace *trace, int row);
uint64_t ls__trace_first(const ls_trace *trace, int row);

#endif
