#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the shared libraries export exactly the functions that their lists
# (lib/exports.txt, data/exports.txt) and the public headers declare, that the
# static ones define nothing else but ls__ names, and that no object of the
# engine calls any of libm's functions whose bits change from machine to
# machine.
export LC_ALL=C
library=$top_builddir/.libs/liblockstep.so
include=$top_srcdir/include
failed=0

[ -f "$library" ] || { echo "skipped: no shared library was built"; exit 77; }

# compare WHAT: fails unless the names on stdin are those of the list.
compare()
{
    sort -u | diff "$list" - && return
    echo "above: > only in $1, < only in ${list#"$top_srcdir"/}"
    return 1
}

# headers in|out: those that lockstep.h includes, it too, or the others but
# mpi.h.
headers()
{
    [ "$1" = out ] || echo "$include/lockstep.h"
    for header in "$include"/lockstep/*.h; do
        side=out
        ! grep -qxF "#include <lockstep/${header##*/}>" \
            "$include/lockstep.h" || side=in
        [ "$side" != "$1" ] || [ "${header##*/}" = mpi.h ] || echo "$header"
    done
}

# declared IN|OUT: declarations may run over lines: put each on one line first.
declared()
{
    # shellcheck disable=SC2046,SC2002 # paths are words, and several
    cat $(headers "$1") | tr '\n' ' ' | sed 's/LS_API /\n&/g' |
        sed -n 's/^LS_API [^(]*[ *]\(ls_[a-z0-9_]*\)(.*/\1/p'
}

functions='a?(sin|cos|tan)h?|sincos|atan2|exp(2|10|m1)?|log(2|10|1p)?|pow|erfc?'
functions="($functions|cbrt|hypot|lgamma|tgamma|fma)[fl]?"

# no_libm WHAT: fails if undefined symbols on stdin are functions of libm.
no_libm()
{
    sed 's/.* //; s/@.*//' | grep -Ex "$functions" || return 0
    echo "above: functions of libm in $1, whose bits the library must not use"
    return 1
}

# check ROOM NAME ONE HEADERS: the library NAME, of which ONE is a function.
check()
{
    list=$top_srcdir/$1/exports.txt
    sort -uc "$list" || failed=1
    ${NM:-nm} -D --defined-only "$top_builddir/.libs/$2.so" | sed 's/.* //' |
        compare "$2.so" || failed=1
    declared "$4" | compare "the public headers" || failed=1

    # All objects, as the static library has them.
    objects=$top_builddir/.libs/${2}_all.a
    ${NM:-nm} "$objects" | grep -q " T $3$" || {
        echo "$objects has no $3"
        failed=1
    }
    # What they define for others begins with ls_, and the public half is
    # listed.  (Sanitizers add symbols of their own.)
    names=$(${NM:-nm} --defined-only --extern-only "$objects" |
        sed -n 's/^[0-9a-f]* [A-Z] //p' | grep -v '^__')
    if echo "$names" | grep -v '^ls_'; then
        echo "above: names of the objects of $2 that do not begin with ls_"
        failed=1
    fi
    echo "$names" | grep '^ls_[a-z]' | compare "the objects" || failed=1
}

check lib liblockstep ls_step_bytes in
check data liblockstep_data ls_table_open out
# Also those that nobody calls.
${NM:-nm} -D --undefined-only "$library" | no_libm liblockstep.so || failed=1
${NM:-nm} --undefined-only "$top_builddir/.libs/liblockstep_all.a" |
    no_libm "the objects" || failed=1
exit $failed
