#!/bin/sh
# Proves that the shared library exports exactly the functions that
# lib/exports.txt lists and lockstep.h declares, and calls none of libm's
# functions whose bits change from machine to machine.
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
tr '\n' ' ' <"$top_srcdir/include/lockstep.h" | sed 's/LS_API /\n&/g' |
    sed -n 's/^LS_API [^(]*[ *]\(ls_[a-z0-9_]*\)(.*/\1/p' |
    compare lockstep.h || failed=1

functions='a?(sin|cos|tan)h?|sincos|atan2|exp(2|10|m1)?|log(2|10|1p)?|pow|erfc?'
functions="($functions|cbrt|hypot|lgamma|tgamma|fma)[fl]?"
if ${NM:-nm} -D --undefined-only "$library" | sed 's/.* //; s/@.*//' |
    grep -Ex "$functions"; then
    echo "above: functions of libm, whose bits the library must not use"
    failed=1
fi
exit $failed
