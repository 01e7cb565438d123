dnl SPDX-License-Identifier: BSD-3-Clause
dnl LS_SANITIZER(LIST): sets SANITIZER_CFLAGS, or stops when this compiler
dnl cannot link a program with the sanitizers in LIST.
dnl
dnl Every finding ends the program: a test's exit status is its verdict.
AC_DEFUN([LS_SANITIZER], [
ls_sanitizer=$1
SANITIZER_CFLAGS="-fsanitize=$1 -fno-sanitize-recover=all -fno-omit-frame-pointer -g"
AC_MSG_CHECKING([whether $CC has -fsanitize=$ls_sanitizer])
ls_saved=$CFLAGS
CFLAGS="$CFLAGS $SANITIZER_CFLAGS"
AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
    AC_MSG_ERROR([$CC cannot link with -fsanitize=$ls_sanitizer (memory: clang only; the run-time libraries may be a package of their own)])])
CFLAGS=$ls_saved
AC_SUBST([SANITIZER_CFLAGS])
])
