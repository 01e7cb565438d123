/* SPDX-License-Identifier: BSD-3-Clause */
/* A transport over MPI, in a library of its own: link with -llockstep_mpi
 * (pkg-config lockstep_mpi) and the MPI that it was built with.
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
 *     ls_mpi_open(&mpi, MPI_COMM_WORLD);
 *     ..
 *     ls_mpi_close(mpi);
 *     MPI_Finalize();
 *
 * MPI moves bytes; no reduction of MPI's is used, since their order of
 * additions is not promised. */
#ifndef LOCKSTEP_MPI_H
#define LOCKSTEP_MPI_H

#include <lockstep/transport.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ls_mpi ls_mpi;

/* A transport among the processes of a communicator, which is duplicated, so
 * that messages never meet the program's own.  All of its processes call it,
 * from the thread that started MPI, and that thread makes all later calls of
 * the trainer.  LS_EINVAL: MPI has not been started, or has ended.  LS_ENOTSUP:
 * it was started without MPI_THREAD_FUNNELED.  LS_ETHREAD: another thread
 * calls.  LS_EIO: MPI fails.  LS_ENOMEM. */
int ls_mpi_open(ls_mpi **mpi, MPI_Comm comm);

/* ls_mpi_open of a communicator of Fortran's: the integer of `use mpi`, or the
 * MPI_VAL of `use mpi_f08`. */
int ls_mpi_open_fortran(ls_mpi **mpi, MPI_Fint comm);

/* ls_mpi_open of MPI_COMM_WORLD, for programs that have no other use of MPI: it
 * is started if nobody has done so, and then also ended by ls_mpi_close. */
int ls_mpi_open_world(ls_mpi **mpi);

/* The transport, which lives as long as `mpi`; the program may change its
 * patience. */
ls_transport *ls_mpi_transport(ls_mpi *mpi);

/* Close the transport.  All processes call this, once the trainers with this
 * transport are closed. */
void ls_mpi_close(ls_mpi *mpi);

#ifdef __cplusplus
}
#endif

#endif
