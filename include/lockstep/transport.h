/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports: how the ranks of a run, which may be processes on many machines,
 * send each other bytes.
 *
 * A transport only moves bytes; it never adds.  Every sum is made by lockstep
 * in the order of one tree over all devices, so that a model has the same
 * bytes on any number of ranks.  There are two kinds: that over MPI
 * (lockstep/mpi.h), and a program's own. */
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

#ifdef __cplusplus
}
#endif

#endif
