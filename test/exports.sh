#!/bin/sh
# Proves that the shared library exports exactly the functions that
# lib/exports.txt lists and the public headers declare, that the static one defines
# nothing else but ls__ names, and that no object calls any of libm's functions
# whose bits change from machine to machine.
export LC_ALL=C
library=$top_builddir/.libs/liblockstep.so
list=$top_srcdir/lib/exports.txt
failed=0

[ -f "$library" ] || { echo "skipped: no shared library was built"; exit 77; }

# compare WHAT: fails unless the names on stdin are those of the list.
compare()
{
    sort -u | diff "$list" - && return
    echo "above: > only in $1, < only in lib/exports.txt"
    return 1
}

sort -uc "$list" || failed=1

${NM:-nm} -D --defined-only "$library" | sed 's/.* //' |
    compare liblockstep.so || failed=1

# Declarations may run over lines: put each on one line first.
cat "$top_srcdir/include/lockstep.h" "$top_srcdir"/include/lockstep/*.h |
    tr '\n' ' ' | sed 's/LS_API /\n&/g' |
    sed -n 's/^LS_API [^(]*[ *]\(ls_[a-z0-9_]*\)(.*/\1/p' |
    compare "the public headers" || failed=1

functions='a?(sin|cos|tan)h?|sincos|atan2|exp(2|10|m1)?|log(2|10|1p)?|pow|erfc?'
functions="($functions|cbrt|hypot|lgamma|tgamma|fma)[fl]?"

# no_libm WHAT: fails if undefined symbols on stdin are functions of libm.
no_libm()
{
    sed 's/.* //; s/@.*//' | grep -Ex "$functions" || return 0
    echo "above: functions of libm in $1, whose bits the library must not use"
    return 1
}

${NM:-nm} -D --undefined-only "$library" | no_libm liblockstep.so || failed=1

# All objects, as the static library has them, also those that nobody calls.
objects=$top_builddir/.libs/liblockstep_all.a
${NM:-nm} --undefined-only "$objects" | no_libm "the objects" || failed=1
${NM:-nm} "$objects" | grep -q ' T ls_step_sized$' || {
    echo "$objects has no ls_step_sized"
    failed=1
}
# What they define for others begins with ls_, and the public half is listed.
# (Sanitizers add symbols of their own.)
names=$(${NM:-nm} --defined-only --extern-only "$objects" |
    sed -n 's/^[0-9a-f]* [A-Z] //p' | grep -v '^__')
if echo "$names" | grep -v '^ls_'; then
    echo "above: names of the objects that do not begin with ls_"
    failed=1
fi
echo "$names" | grep '^ls_[a-z]' | compare "the objects" || failed=1
exit $failed
