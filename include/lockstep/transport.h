/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports: how the ranks of a run, which may be processes on many machines,
 * send each other bytes.
 *
 * A transport only moves bytes; it never adds.  Every sum is made by lockstep
 * in the order of one tree over all devices, so that a model has the same
 * bytes on any number of ranks.  There are three kinds: that over MPI
 * (lockstep/mpi.h), the ranks in one process below, which are for tests, and a
 * program's own. */
#ifndef LOCKSTEP_TRANSPORT_H
#define LOCKSTEP_TRANSPORT_H

#include <lockstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A rank's end of a transport.  A program that makes its own fills in all
 * members (`reason` and `patience` may be 0).  Each function is called by one
 * thread at a time, with `user` as its first argument, and returns a negative
 * status of LS_ERRORS when it fails, after which the run cannot go on.
 *
 * Messages from one rank to another arrive in the order of their posting, and
 * each is received by one call that asks for its number of bytes. */
typedef struct ls_transport {
    void *user;
    int rank, ranks; /* this one, 0 .. ranks-1 */
    double patience; /* seconds a rank is waited for; 0: 600 */
    /* Begin to send bytes > 0 to another rank.  They must not change before
     * `test` has returned 1. */
    int (*send)(void *user, int to, int64_t bytes, const void *data);
    /* Begin to receive from another rank.  The bytes are there once `test` has
     * returned 1. */
    int (*receive)(void *user, int from, int64_t bytes, void *data);
    /* Move on what was posted, without waiting.  Returns 1 when all of it is
     * done; else 0, and *rank is a rank for which it waits. */
    int (*test)(void *user, int *rank);
    /* Make the other ranks fail as well, soon, with these words if the
     * transport can carry them.  With MPI this ends the program: ranks that
     * wait for others within a minute, which may compute until then, fail with
     * the words first. */
    void (*abort)(void *user, const char *why);
    /* Words for what went wrong in the last call that failed, valid until the
     * next call; NULL: there are none. */
    const char *(*reason)(void *user);
    /* Returns how many of the receives posted for that rank may still be
     * incomplete.  They complete in order, so all earlier ones are done, and
     * what is there is used while the rest travels.  NULL: nobody knows before
     * `test` has returned 1. */
    int (*left)(void *user, int from);
} ls_transport;

/* Send numbers with known sums between all ranks, there and back, and compare:
 * finds a transport that loses, swaps or changes bytes.  All ranks call it.
 * LS_EIO names the rank whose bytes are wrong, or that did not answer. */
LS_API int ls_transport_check(const ls_transport *transport);

/* Compare settings of a program, names and texts in one order, over all ranks,
 * which all call it: what is not the same everywhere trains something that
 * nobody asked for.  LS_EINVAL, on all ranks alike, names the first that
 * differs, with both texts.  LS_EIO. */
LS_API int ls_transport_compare(const ls_transport *transport, int n_settings,
                                const ls_setting *settings);

/* Share the cores of a machine among its ranks; all of them call it.  Ranks
 * that may run on the same processors (of `cpus`, as in ls_mesh_options) each
 * get a part, neighbours together, as a list for ls_mesh_options.cpus.  A rank
 * with processors of its own, by a launcher's binding, keeps them.  The list is
 * empty where nothing is to be dealt.  Returns 1: the cores are this rank's
 * own, and its workers may be pinned; 0: there are more ranks than cores, do
 * not pin; or a negative status. */
LS_API int ls_transport_cpus(const ls_transport *transport, const char *cpus,
                             char *list, size_t room);

/* Returns the number of partial sums of a gradient that ranks with so many
 * devices send in the reduce-scatter: `ranks` at least, as for devices =
 * ranks x 2^k.  The quotient is what a step sends over what it must send.
 * LS_EINVAL: more ranks than devices. */
LS_API int ls_transport_sums(int ranks, int devices);

/* ------ Ranks in one process ------ */

/* Ranks that are threads of one process, for tests: each rank is used by a
 * thread of its own, with a mesh, a pool and a trainer of its own. */
typedef struct ls_ranks ls_ranks;

/* Faults of a rank. */
typedef enum ls_rank_fault {
    LS_RANK_SOUND = 0,
    LS_RANK_DIES,   /* its calls fail, and its messages are lost */
    LS_RANK_STALLS, /* its messages are never delivered */
    LS_RANK_LIES    /* one bit of each of its messages is wrong */
} ls_rank_fault;

/* Faults and delays between ranks. */
typedef struct ls_ranks_options {
    double delay;        /* seconds each message takes */
    double bandwidth;    /* bytes a second that a rank sends; 0: no limit */
    int64_t shuffle;     /* not 0: a seed; each message takes up to `delay`
                            more, so that those of different ranks overtake */
    double patience;     /* of each transport */
    ls_rank_fault fault; /* of one of the ranks */
    int rank;            /* that rank */
    int64_t posts;       /* the messages that it has posted before the fault */
} ls_ranks_options;

/* Make as many ranks; options NULL: sound, as fast as memory.  LS_EINVAL: a
 * count that is not 1 .. 1024, or an option that makes no sense.  LS_ENOMEM. */
LS_API int ls_ranks_open(ls_ranks **ranks, int count,
                         const ls_ranks_options *options);

/* The transport of a rank, which lives as long as the ranks; NULL: no such
 * rank. */
LS_API const ls_transport *ls_ranks_transport(const ls_ranks *ranks, int rank);

/* The number of bytes that a rank has posted so far. */
LS_API int64_t ls_ranks_sent(const ls_ranks *ranks, int rank);

/* Free the ranks, once all trainers with these transports are closed. */
LS_API void ls_ranks_close(ls_ranks *ranks);

#ifdef __cplusplus
}
#endif

#endif
