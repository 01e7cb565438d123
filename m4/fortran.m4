dnl SPDX-License-Identifier: BSD-3-Clause
dnl LS_FORTRAN: finds a Fortran compiler for liblockstep_fortran, which is
dnl optional: it must know Fortran 2018's assumed ranks.
dnl
dnl Sets  FC_MODULES  the flag before the folder for module files,
dnl       fmoddir     where they are installed: a compiler reads no other's, so
dnl                   the folder has its name and, of gfortran, the files' version,
dnl       ls_fortran  for the summary,
dnl and the conditional FORTRAN.
AC_DEFUN([LS_FORTRAN], [
AC_ARG_WITH([fortran], [AS_HELP_STRING([--without-fortran],
    [no liblockstep_fortran, though there is a Fortran compiler])])
AC_ARG_WITH([fmoddir], [AS_HELP_STRING([--with-fmoddir=DIR],
    [where Fortran's module files go [LIBDIR/fortran/COMPILER]])])
AC_LANG_PUSH([Fortran])
ls_fortran="no compiler"
AS_IF([test "x$with_fortran" = xno], [ls_fortran="no (--without-fortran)"],
    [test "x$FC" != x], [
    AC_MSG_CHECKING([whether $FC knows assumed ranks])
    AC_FC_SRCEXT([f90], [AC_COMPILE_IFELSE([[
      subroutine probe(x, p)
        use, intrinsic :: iso_c_binding
        real, pointer, intent(in) :: x(..)
        type(c_ptr), intent(out) :: p
        p = c_null_ptr
        if (is_contiguous(x) .and. size(x) > 0) p = c_loc(x)
      end subroutine probe]],
        [ls_fortran=$FC], [ls_fortran="no: $FC is too old"])])
    AC_MSG_RESULT([$ls_fortran])])
AC_LANG_POP([Fortran])
AS_IF([test "x$with_fortran" = xyes && test "$ls_fortran" != "$FC"],
    [AC_MSG_ERROR([--with-fortran: $ls_fortran.  Install one:
    Debian, Ubuntu:  apt-get install gfortran
    Fedora:          dnf install gcc-gfortran])])
FC_MODULES=-J ls_module=`echo "$FC" | sed 's|.*/||; s| .*||'`
AS_IF([test "$ls_fortran" = "$FC"], [AS_CASE([`$FC --version 2>/dev/null`],
    [*flang*], [FC_MODULES="-module-dir "],
    [*GNU*], [
        echo 'module ls_probe; end module' >conftest.f90
        $FC -c conftest.f90 -o conftest.o
        ls_version=`gzip -dc ls_probe.mod 2>/dev/null |
            sed -n "1s/.*version '\([[0-9]]*\)'.*/\1/p"`
        ls_module=gfortran-mod-$ls_version
        rm -f conftest.* ls_probe.mod])])
AC_SUBST([FC_MODULES])
AS_CASE([$with_fmoddir], [yes|no|''], [fmoddir='${libdir}'/fortran/$ls_module],
    [fmoddir=$with_fmoddir])
AC_SUBST([fmoddir])
AM_CONDITIONAL([FORTRAN], [test "x$FC" != x && test "$ls_fortran" = "$FC"])
])
