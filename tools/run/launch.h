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
    void *records;                 /* of all ranks, in launch_gather */
    bool all_end;                  /* every rank knows that all end */
} launch;

/* A launcher's word on the ranks that it started. */
typedef struct launcher {
    const char *name; /* of the variable that says it */
    int ranks;
    bool is_all; /* false: there are so many or more */
} launcher;

/* Meet the other ranks.  OPT_FAILED, and a message: the program was built
 * without MPI, so that each rank would train a model of its own.  Ranks that
 * have met stay so. */
int launch_join(launch *l);

/* launch_join, and leave stdout to the first rank; messages of others wait for
 * launch_agree. */
int launch_open(launch *l);

/* The rank that prints and writes. */
bool launch_first(const launch *l);

/* Agrees on the ranks' command lines, which all call: do all go on together?
 * The status stays where all ranks go on, or none does, having shown --help, or
 * being `apart`, with work of its own.  Else all ends: those that would wait
 * get the status of one that failed, or OPT_FAILED and a message; and of
 * failures that are alike the first rank alone prints one. */
int launch_agree(launch *l, int status, bool apart);

/* The records of all ranks, which all call it, in order of rank and until the
 * next call; each has at most LAUNCH_RECORD bytes.  There are other ranks.
 * Their memory is taken in launch_join, where no rank waits for another.  NULL,
 * and a message: the transport failed. */
enum { LAUNCH_RECORD = 512 };
const void *launch_gather(launch *l, const void *mine, size_t each);

/* Compare settings as ls_transport_compare does; all call it, and the first one
 * tells what differs. */
int launch_compare(launch *l, int count, const ls_setting *setting);

/* All ranks call it: *number becomes the largest that one has. */
int launch_most(launch *l, int *number);

/* The end of the program, which returns status.  Where this rank failed the
 * others are ended, for they may wait for it. */
int launch_close(launch *l, int status);

/* Defined in launch_mpi.c or launch_no_mpi.c. */
bool launch_has_mpi(void);
int launch_connect(launch *l, const launcher *by);
void launch_disconnect(launch *l);

#endif
