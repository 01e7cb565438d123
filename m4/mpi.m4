dnl SPDX-License-Identifier: BSD-3-Clause
dnl LS_MPI: finds MPI, which is optional, by asking its compiler.
dnl
dnl Sets  MPI_CFLAGS, MPI_LIBS  for mpi and what uses it (both may be given),
dnl       MPIRUN                for the tests; empty without MPI,
dnl       ls_mpi                for the summary,
dnl and the conditional MPI.
dnl
dnl `mpicc -show` of Open MPI, MPICH and Intel MPI prints the command that it
dnl would run; the compiler stays ours, so that nothing else changes.

m4_define([LS__MPI_ASK], [
AS_IF([test -z "$MPI_CFLAGS$MPI_LIBS"], [
    for ls_word in `$MPICC -show 2>/dev/null | sed 's/^[[^ ]]*//'`; do
        AS_CASE([$ls_word],
            [-L*|-l*|-Wl,*|*.so|*.a], [MPI_LIBS="$MPI_LIBS $ls_word"],
            [MPI_CFLAGS="$MPI_CFLAGS $ls_word"])
    done])
ls_saved_CFLAGS=$CFLAGS ls_saved_LIBS=$LIBS
CFLAGS="$MPI_CFLAGS $CFLAGS" LIBS="$MPI_LIBS $LIBS"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[
    int level;
    return MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, &level);]])], [],
    [ls_mpi=missing])
CFLAGS=$ls_saved_CFLAGS LIBS=$ls_saved_LIBS
])

AC_DEFUN([LS_MPI], [
AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi],
    [liblockstep_mpi, and tools that train over ranks])], [], [with_mpi=no])
AC_ARG_VAR([MPICC], [the compiler of the MPI for --with-mpi [mpicc]])
AC_ARG_VAR([MPI_CFLAGS], [C flags for MPI, where MPICC -show is no help])
AC_ARG_VAR([MPI_LIBS], [linker flags for MPI])
AS_CASE([$with_mpi], [yes], [ls_mpi=yes],
    [no], [ls_mpi="no (--with-mpi asks for it)" MPIRUN=],
    [AC_MSG_ERROR([--with-mpi takes yes or no; MPICC=.. says which])])
AC_MSG_CHECKING([for MPI])
AS_IF([test "$ls_mpi" = yes], [: ${MPICC=mpicc}
    MPIRUN=`echo "$MPICC" | sed 's/mpicc/mpirun/'`
LS__MPI_ASK])
AC_MSG_RESULT([$ls_mpi])
AS_CASE([$ls_mpi],
    [missing], [AC_MSG_ERROR([--with-mpi: $MPICC finds no MPI with MPI_THREAD_FUNNELED.  Install one:
    Debian, Ubuntu:  apt-get install libopenmpi-dev (or libmpich-dev, MPICC=mpicc.mpich)
    Fedora:          dnf install openmpi-devel])],
    [yes], [ls_mpi="yes ($MPICC)"], [MPI_CFLAGS= MPI_LIBS=])
AC_SUBST([MPIRUN])
AM_CONDITIONAL([MPI], [test "$with_mpi" = yes])
])
