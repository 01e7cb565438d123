/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks that share a trainer's devices, over a transport. */
#ifndef LS_RANKS_RANKS_H
#define LS_RANKS_RANKS_H

#include "base/error.h"
#include "ranks/exchange.h"
#include "train/hook.h"

/* A rank's word on how something went. */
typedef struct ls__word {
    int status;
    char message[LS__MESSAGE];
} ls__word;

typedef struct ls__ranks {
    const ls_transport *link;
    ls__exchange exchange;
    /* hooks, once the trainer has its memory */
    struct ls__reduce_scatter *reduce_scatter;
    struct ls__all_gather *all_gather;
    int64_t *bad;   /* [rank] */
    ls__word *word; /* [rank] there from the beginning: who has no memory must
                       still tell the others */
} ls__ranks;

/* Test the transport, and cut the devices over ranks.  LS_EIO, LS_EINVAL. */
int ls__ranks_open(ls__ranks **ranks, const ls_transport *transport,
                   int devices);
void ls__ranks_close(ls__ranks *ranks);

/* Wants of hooks that go along where ranks share the devices. */
bool ls__ranks_share(const ls__rig *rig, ls__needs *needs);

/* Makes the memory of the exchange, before the hooks that use it. */
extern const ls__hook ls__ranks_size;

#endif
