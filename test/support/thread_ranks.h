/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that are threads of one process: each rank is used by a thread of its
 * own, with a mesh, a pool and a trainer of its own, over a transport that
 * delays messages, lets them overtake each other and dies where a test asks. */
#ifndef TEST_THREAD_RANKS_H
#define TEST_THREAD_RANKS_H

#include <lockstep/transport.h>

typedef struct ranks_here ranks_here;

/* Faults of a rank. */
typedef enum rank_fault {
    RANK_SOUND = 0,
    RANK_DIES,   /* its calls fail, and its messages are lost */
    RANK_STALLS, /* its messages are never delivered */
    RANK_LIES    /* one bit of each of its messages is wrong */
} rank_fault;

/* Faults and delays between ranks. */
typedef struct ranks_options {
    double delay;        /* seconds each message takes */
    double bandwidth;    /* bytes a second that a rank sends; 0: no limit */
    int64_t shuffle;     /* not 0: a seed; each message takes up to `delay`
                            more, so that those of different ranks overtake */
    double patience;     /* of each transport */
    rank_fault fault;    /* of one of the ranks */
    int rank;            /* that rank */
    int64_t posts;       /* the messages that it has posted before the fault */
} ranks_options;

/* Make as many ranks; options NULL: sound, as fast as memory.  LS_EINVAL: a
 * count that is not 1 .. 1024, or an option that makes no sense.  LS_ENOMEM. */
int ranks_open(ranks_here **ranks, int count, const ranks_options *options);

/* The transport of a rank, which lives as long as the ranks; NULL: no such
 * rank. */
const ls_transport *ranks_transport(const ranks_here *ranks, int rank);

/* The number of bytes that a rank has posted so far. */
int64_t ranks_sent(const ranks_here *ranks, int rank);

/* Free the ranks, once all trainers with these transports are closed. */
void ranks_close(ranks_here *ranks);

#endif
