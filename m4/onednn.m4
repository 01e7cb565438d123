dnl LS_ONEDNN(IF-MISSING): finds the headers of oneDNN 2, which is optional.
dnl
dnl Sets  ONEDNN_CFLAGS  -DLS_ONEDNN where it is used,
dnl       ONEDNN_LIBS    for the linker: what dlopen needs, since oneDNN itself
dnl                      is loaded when a program asks for it,
dnl       ls_onednn      for the summary,
dnl and the conditional ONEDNN.  IF-MISSING is run where it is asked for and not
dnl there.
dnl
dnl oneDNN 3 has another C interface.  Of the runtimes, OpenMP and none give a
dnl worker its own thread; a thread pool or TBB would bring others.

m4_define([LS__ONEDNN_HEADER], [
AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <dnnl.h>
]])], [], [ls_onednn="no (not found)"])
AS_IF([test "$ls_onednn" = yes], [
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <dnnl.h>
#if DNNL_VERSION_MAJOR != 2 || DNNL_VERSION_MINOR < 6
#error
#endif]])], [], [ls_onednn="no (its version is not 2.6 or 2.7)"])])
AS_IF([test "$ls_onednn" = yes], [
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <dnnl.h>
#if DNNL_CPU_RUNTIME != DNNL_RUNTIME_OMP && \
    DNNL_CPU_RUNTIME != DNNL_RUNTIME_SEQ
#error
#endif]])], [], [ls_onednn="no (its threads are neither OpenMP's nor none)"])])
])

m4_define([LS__ONEDNN_LOADS], [
ONEDNN_LIBS=
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <dlfcn.h>]],
    [[return !dlopen("libdnnl.so.2", RTLD_NOW);]])], [], [ONEDNN_LIBS=-ldl])
])

AC_DEFUN([LS_ONEDNN], [
AC_ARG_WITH([onednn], [AS_HELP_STRING([--with-onednn],
    [the backend "onednn", to compare with: oneDNN 2.6 or 2.7])], [],
    [with_onednn=no])
AS_CASE([$with_onednn], [yes], [ls_onednn=yes],
    [no], [ls_onednn="no (--with-onednn asks for it)"],
    [AC_MSG_ERROR([--with-onednn takes yes or no])])
AC_MSG_CHECKING([for oneDNN])
AS_IF([test "$ls_onednn" = yes], [LS__ONEDNN_HEADER])
AS_IF([test "$ls_onednn" = yes], [LS__ONEDNN_LOADS])
AC_MSG_RESULT([$ls_onednn])
AS_IF([test "$ls_onednn" = yes],
    [ONEDNN_CFLAGS=-DLS_ONEDNN
    ls_onednn="yes (libdnnl.so.2, when asked for)"], [
    ONEDNN_CFLAGS= ONEDNN_LIBS=
    AS_CASE([$with_onednn:$ls_onednn], [yes:*found*], [$1],
        [yes:*], [AC_MSG_ERROR([--with-onednn: $ls_onednn.  Install libdnnl-dev dnl
2.6 (Debian 12), or configure --without-onednn])])])
AC_SUBST([ONEDNN_CFLAGS])
AC_SUBST([ONEDNN_LIBS])
AM_CONDITIONAL([ONEDNN], [test -n "$ONEDNN_CFLAGS"])
])
