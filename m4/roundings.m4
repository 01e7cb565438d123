dnl SPDX-License-Identifier: BSD-3-Clause
dnl LS_ROUNDINGS: the flags that keep every rounding where the source has it,
dnl and the refusal of CFLAGS that would move one.
dnl
dnl Sets  ROUNDING_CFLAGS  for Makefile.am, which puts them before the user's.
dnl
dnl The contract of bits is a contract about roundings.  -ffast-math, -Ofast,
dnl -ffp-contract=fast and their parts let a compiler leave some out, and then
dnl all results differ a little, on one machine and not on the next.  No list of
dnl option names is kept: the compiler is asked what it believes.

dnl LS__BELIEVES(STATEMENT): sets ls_believes to STATEMENT if the compiler takes
dnl it, which holds for real numbers and not for floats, for true: then the call
dnl of a function that does not exist is dropped, and the program links.
m4_define([LS__BELIEVES], [
AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <string.h>
extern volatile float given;
volatile float given;
extern void does_not_exist(void);
static int same(float x, float y) { return !memcmp(&x, &y, sizeof x); }
]], [[float a = given;
if (!($1)) does_not_exist();]])], [ls_believes="$1"])
])

dnl LS__FUSES: sets ls_believes if a * b + c becomes one instruction.  The
dnl sequence is looked for in assembly: no program can tell without being run.
m4_define([LS__FUSES], [
AS_CASE([$host_cpu], [x86_64], [ls_fma=-mfma], [ls_fma=])
AC_LANG_CONFTEST([AC_LANG_SOURCE([[
float f(float a, float b, float c) { return a * b + c; }]])])
AS_IF([$CC $CPPFLAGS $CFLAGS $ls_fma -fno-lto -S -o conftest.s conftest.c \
           >&AS_MESSAGE_LOG_FD 2>&1 &&
       $GREP -E 'fn?m(add|la)' conftest.s >&AS_MESSAGE_LOG_FD],
    [ls_believes="a * b + c is rounded once"])
rm -f conftest.s conftest.c
])

AC_DEFUN([LS_ROUNDINGS], [
AC_REQUIRE([AC_PROG_GREP])
ROUNDING_CFLAGS="-ffp-contract=off -fno-math-errno -fno-trapping-math"
AC_SUBST([ROUNDING_CFLAGS])
AC_MSG_CHECKING([whether $CC keeps every rounding])
ls_saved_CFLAGS=$CFLAGS ls_believes=
CFLAGS="$ROUNDING_CFLAGS $CFLAGS"
# Without optimization clang believes all and uses none of it.
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#if defined __FAST_MATH__ || __FINITE_MATH_ONLY__
#error
#endif]])], [], [ls_believes="floats are real numbers"])
AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <float.h>
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16 /* 16: _Float16 is there */
#error
#endif]])], [], [ls_believes="a float has more bits between operations"])
LS__BELIEVES([0.1 == 0.1f])
LS__BELIEVES([a == a])
LS__BELIEVES([same((a + 1) - 1, a)])
LS__BELIEVES([same(a + 0.0f, a)])
LS__BELIEVES([same(a / 3, a * (1.0f / 3))])
LS__FUSES
CFLAGS=$ls_saved_CFLAGS
AS_IF([test -z "$ls_believes"], [AC_MSG_RESULT([yes])], [
    AC_MSG_RESULT([no])
    AC_MSG_ERROR([with CFLAGS="$CFLAGS" $CC takes it that $ls_believes.
    lockstep gives the same bytes on every machine, and for that no rounding may
    be left out or moved.  Leave out -ffast-math, -Ofast, -ffp-contract=fast,
    -mfpmath=387 and the like.])])
])
