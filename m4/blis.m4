dnl SPDX-License-Identifier: BSD-3-Clause
dnl LS_BLIS(IF-MISSING): finds BLIS in any packaging and prefers the variant
dnl without threads of its own: serial, then pthread, then openmp.
dnl
dnl Sets  BLIS_CFLAGS  so that <blis.h> is the chosen variant's header,
dnl       BLIS_LIBS    for the linker, with a run-time path where it needs one,
dnl       ls_blis      for the summary,
dnl and the conditional BLIS, which --without-blis makes false.
dnl
dnl Why a run-time path: Debian's three variants are three directories with one
dnl soname, libblis.so.4, and update-alternatives decides which of them the
dnl dynamic linker finds.  Alone, -L decides only what the link is checked
dnl against; the program could still start with OpenMP's variant, which brings
dnl libgomp, obeys OMP_NUM_THREADS in each worker, and blinds ThreadSanitizer.
dnl With the directory in the library's RUNPATH what was chosen here is what
dnl runs, and LD_LIBRARY_PATH still goes first for whoever wants another.
dnl (Debian 12 with all three installed: the alternatives pick OpenMP's.)
dnl A library that lies in the linker's own directories gets no such path, and
dnl with --disable-rpath none does.
dnl (-Wl,-rpath, not libtool's -R: in a library -R reaches only the programs
dnl that are linked with it by libtool.)

dnl LS__BLIS_TRY(INCLUDE-DIR, LIBRARY-DIR, LIBRARY): the first that links wins;
dnl an empty directory means the compiler's own.
m4_define([LS__BLIS_TRY], [
AS_IF([test "$ls_blis" = no && { test -z "$1" || test -f "$1/blis.h"; } &&
       { test -z "$2" || ls "$2/lib$3".* >/dev/null 2>&1; }], [
    BLIS_CFLAGS= BLIS_LIBS="-l$3"
    AS_IF([test -n "$1"], [BLIS_CFLAGS="-isystem $1"])
    AS_IF([test -n "$2"], [BLIS_LIBS="-L$2 $BLIS_LIBS"])
    AS_IF([test -n "$2" && test "$enable_rpath" != no],
        [BLIS_LIBS="-Wl,-rpath,$2 $BLIS_LIBS"])
    CFLAGS="$ls_saved_CFLAGS $BLIS_CFLAGS"
    LIBS="$BLIS_LIBS $ls_saved_LIBS"
    AC_LINK_IFELSE([LS__BLIS_PROGRAM], [ls_blis="$BLIS_LIBS"], [
        # Compiled without optimization, functions of its header need libm.
        BLIS_LIBS="$BLIS_LIBS -lm" LIBS="$LIBS -lm"
        AC_LINK_IFELSE([LS__BLIS_PROGRAM], [ls_blis="$BLIS_LIBS"])])])
])

m4_define([LS__BLIS_PROGRAM], [AC_LANG_PROGRAM([[#include <blis.h>]], [[
    rntm_t rntm = BLIS_RNTM_INITIALIZER;
    float x = 1;
    bli_rntm_set_num_threads(1, &rntm);
    bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, 1, 1, 1, &x, &x, 1, 1,
                 &x, 1, 1, &x, &x, 1, 1, NULL, &rntm);]])])

dnl The packaged places of variant $ls_v: Debian's blis-serial, blis-pthread,
dnl blis-openmp directories, Fedora's blis, blisp, bliso headers and libraries.
m4_define([LS__BLIS_TRY_VARIANT], [
for ls_dir in /usr/include/*/blis-$ls_v; do
    ls_lib=/usr/lib/${ls_dir@%:@/usr/include/}
    LS__BLIS_TRY([$ls_dir], [$ls_lib], [blis])
done
AS_CASE([$ls_v], [serial], [ls_name=blis], [pthread], [ls_name=blisp],
    [ls_name=bliso])
LS__BLIS_TRY([/usr/include/$ls_name], [], [$ls_name])
])

dnl What the header in use says of its threads.
m4_define([LS__BLIS_THREADS], [
AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <blis.h>
#ifndef BLIS_ENABLE_OPENMP
#error
#endif]])], [ls_blis_threads=openmp], [
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <blis.h>
#ifndef BLIS_ENABLE_PTHREADS
#error
#endif]])], [ls_blis_threads=pthread], [ls_blis_threads=serial])])
])

dnl LS__BLIS_FIND(IF-MISSING): the first variant that $with_blis allows.
m4_define([LS__BLIS_FIND], [
ls_blis=no
ls_saved_CFLAGS=$CFLAGS ls_saved_CPPFLAGS=$CPPFLAGS ls_saved_LIBS=$LIBS
AC_MSG_CHECKING([for BLIS])
AS_CASE([$with_blis],
    [''|yes|serial|pthread|openmp], [
        AS_CASE([$with_blis], [''|yes], [ls_wanted="serial pthread openmp"],
            [ls_wanted=$with_blis])
        for ls_v in $ls_wanted; do
            LS__BLIS_TRY_VARIANT
        done
        AS_CASE([$with_blis], [''|yes], [LS__BLIS_TRY([], [], [blis])])],
    [/*], [
        for ls_dir in "$with_blis/include/blis" "$with_blis/include"; do
            for ls_lib in "$with_blis/lib64" "$with_blis/lib"; do
                LS__BLIS_TRY([$ls_dir], [$ls_lib], [blis])
            done
        done],
    [AC_MSG_ERROR([--with-blis takes serial, pthread, openmp or a full path])])
AS_IF([test "$ls_blis" = no], [
    AC_MSG_RESULT([none that $CC can use; config.log says why])
    AS_IF([test -n "$with_blis" && test "$with_blis" != yes],
        [AC_MSG_ERROR([no BLIS with bli_sgemm_ex at --with-blis=$with_blis])])
    $1], [
    CPPFLAGS="$CPPFLAGS $BLIS_CFLAGS"
    LS__BLIS_THREADS
    AC_MSG_RESULT([$ls_blis_threads ($ls_blis)])
    ls_blis="$ls_blis_threads ($ls_blis)"
    AS_IF([test $ls_blis_threads = openmp], [AC_MSG_NOTICE([this BLIS is built on OpenMP: it works, but it brings libgomp, which
    ThreadSanitizer cannot follow.  Better: libblis-serial-dev (Debian, Ubuntu)])])])
CFLAGS=$ls_saved_CFLAGS CPPFLAGS=$ls_saved_CPPFLAGS LIBS=$ls_saved_LIBS
])

AC_DEFUN([LS_BLIS], [
AC_ARG_WITH([blis], [AS_HELP_STRING([--with-blis=WHICH],
    [serial, pthread or openmp (packaged), or the prefix BLIS is installed in;
     --without-blis: no backend "blis", whose results are those of "native"])])
AS_IF([test "x$with_blis" = xno],
    [BLIS_CFLAGS= BLIS_LIBS= ls_blis="no (as configured)"],
    [LS__BLIS_FIND([$1])])
AC_SUBST([BLIS_CFLAGS])
AC_SUBST([BLIS_LIBS])
AM_CONDITIONAL([BLIS], [test "x$with_blis" != xno])
])
