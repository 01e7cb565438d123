/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that mpirun or srun started: who this process is among them, what only
 * the first one does, and how all end together.
 *
 * Every rank runs the same stages; the first one prints and writes files.  A
 * program that was started alone, or as the only rank, does nothing here. */
#ifndef TOOLS_LAUNCH_H
#define TOOLS_LAUNCH_H

#include <lockstep.h>

typedef struct launch {
    const ls_transport *transport; /* NULL: this process is alone */
    struct ls_mpi *mpi;            /* whose transport it is */
} launch;

/* How many ranks a launcher says that it started; 1 where there is none. */
int launch_ranks(void);

/* Meet the other ranks, and leave stdout to the first one.  OPT_FAILED, and a
 * message: the program was built without MPI, so that each rank would train a
 * model of its own. */
int launch_open(launch *l);

/* The rank that prints and writes. */
bool launch_first(const launch *l);

/* A record of every rank into of[rank], all of which call it; the own one stays
 * as it is.  There are other ranks.  False: the transport failed. */
bool launch_gather(const launch *l, const void *mine, void *of, size_t each);

/* The largest of a number that each rank has, all of which call it. */
int launch_most(const launch *l, int number);

/* The end of the program, which returns status.  Where this rank failed the
 * others are ended, for they may wait for it. */
int launch_close(launch *l, int status);

/* In launch_mpi.c or launch_no_mpi.c. */
int launch_connect(launch *l, int ranks);
void launch_disconnect(launch *l);

#endif
