#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the shared libraries export exactly the functions that the public
# headers declare, that the static ones define nothing else but ls__ names, and
# that no object of the engine calls any of libm's functions whose bits change
# from machine to machine.
export LC_ALL=C
library=$top_builddir/.libs/liblockstep.so
failed=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

[ -f "$library" ] || { echo "skipped: no shared library was built"; exit 77; }

# compare WHAT: fails unless the names on stdin are those that headers declare.
compare()
{
    sort -u | diff "$dir/declared" - && return
    echo "above: > only in $1, < only in the headers of include/"
    return 1
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

# check SIDE NAME ONE: the library NAME, of which ONE is a function.
check()
{
    "$top_srcdir/packaging/functions" "$1" >"$dir/declared"
    ${NM:-nm} -D --defined-only "$top_builddir/.libs/$2.so" | sed 's/.* //' |
        compare "$2.so" || failed=1

    # All objects, as the static library has them.
    objects=$top_builddir/.libs/${2}_all.a
    ${NM:-nm} "$objects" | grep -q " T $3$" || {
        echo "$objects has no $3"
        failed=1
    }
    # What they define for others begins with ls_, and the public half is
    # declared.  (Sanitizers add symbols of their own.)
    names=$(${NM:-nm} --defined-only --extern-only "$objects" |
        sed -n 's/^[0-9a-f]* [A-Z] //p' | grep -v '^__')
    if echo "$names" | grep -v '^ls_'; then
        echo "above: names of the objects of $2 that do not begin with ls_"
        failed=1
    fi
    echo "$names" | grep '^ls_[a-z]' | compare "the objects" || failed=1
}

check engine liblockstep ls_step_bytes
check data liblockstep_data ls_table_open
# Also those that nobody calls.
${NM:-nm} -D --undefined-only "$library" | no_libm liblockstep.so || failed=1
${NM:-nm} --undefined-only "$top_builddir/.libs/liblockstep_all.a" |
    no_libm "the objects" || failed=1
exit $failed
