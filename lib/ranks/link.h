/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between ranks: a transport's functions, with words for failures, and
 * waiting. */
#ifndef LS_RANKS_LINK_H
#define LS_RANKS_LINK_H

#include <lockstep/transport.h>

/* Post a message; nothing is sent for 0 bytes.  The two ends name the same
 * sizes in the same order. */
int ls__link_send(const ls_transport *t, int to, const void *data,
                  int64_t bytes);
int ls__link_receive(const ls_transport *t, int from, void *data,
                     int64_t bytes);

/* Move on what was posted, without waiting.  LS_EIO. */
int ls__link_move(const ls_transport *t);

/* The number of a rank's messages that may not be there yet, counted back from
 * the one posted last. */
int ls__link_left(const ls_transport *t, int from);

/* Wait until all that was posted is done, giving the core back to other ranks
 * after a moment.  LS_EIO: the transport failed, or its patience ended, which
 * names the rank waited for. */
int ls__link_wait(const ls_transport *t);

/* Something to do meanwhile, in small pieces: false where nothing could be
 * done. */
typedef bool ls__work_fn(void *user);

/* The same, and work between two looks; NULL: there is none. */
int ls__link_wait_at_work(const ls_transport *t, ls__work_fn *work,
                          void *user);

/* All to all: rank r has bytes border[r] .. border[r+1]-1 of `data`, and
 * afterwards every rank has all of them. */
int ls__link_gather(const ls_transport *t, void *data, const int64_t *border);

/* The same of records of one size each, rank r's the r-th. */
int ls__link_gather_each(const ls_transport *t, void *record, size_t bytes);

#endif
