#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep.h and each header below lockstep/ compile alone, without
# a warning, as C11 and as C++11 to C++20; that lockstep.h includes them all but
# those that say which other library they are of, and none of them lockstep.h: each
# begins with its guard and includes what it needs; and that none is too long to
# be read from the top.
include=$top_srcdir/include
strict='-Wall -Wextra -Wpedantic -Werror -fsyntax-only'
longest=600 # lines of a header
failed=0

# headers: the names by which programs include them; mpi.h needs MPI, and is
# compiled by test/lib/mpi/mpi.sh.
headers()
{
    (cd "$include" && echo lockstep.h lockstep/*.h) |
        sed 's| lockstep/mpi\.h||'
}

# compile COMPILER LANGUAGE STANDARD: each header alone.
compile()
{
    for header in $(headers); do
        echo "#include <$header>" |
            $1 -x "$2" -std="$3" $strict -I"$include" - && continue
        echo "above: $header alone, as $3"
        failed=1
    done
}

# compiles COMPILER STANDARD: whether the compiler knows the standard.
compiles()
{
    echo 'int i;' | $1 -x c++ -std="$2" -fsyntax-only - 2>/dev/null
}

compile "${CC:-cc}" c c11
cxx=
for cxx in ${CXX:-c++ g++ clang++} none; do
    command -v "$cxx" >/dev/null && break
done
if [ "$cxx" = none ]; then
    echo "C++ not tried: no compiler here"
else
    for standard in c++11 c++14 c++17 c++20; do
        compiles "$cxx" $standard && compile "$cxx" c++ $standard
    done
fi

# guarded HEADER: whether nothing but a comment stands before its guard.
guarded()
{
    guard=LOCKSTEP_$(basename "$1" .h | tr "[:lower:]" "[:upper:]")_H
    [ "$1" != lockstep.h ] || guard=LOCKSTEP_H
    [ "$(grep -m1 '^#' "$include/$1")" = "#ifndef $guard" ]
}

# wrong TEXT: the header at hand is not as it should be.
wrong()
{
    echo "$header $1"
    failed=1
}

for header in $(headers); do
    guarded "$header" || wrong "does not begin with its guard"
    [ "$(wc -l <"$include/$header")" -le $longest ] ||
        wrong "has more than $longest lines"
    [ "$header" != lockstep.h ] || continue
    grep -qxF "#include <$header>" "$include/lockstep.h" ||
        grep -q '^ \* .*-llockstep_data' "$include/$header" ||
        wrong "is not included by lockstep.h"
    if grep -q '^#include <lockstep\.h>' "$include/$header"; then
        wrong "includes lockstep.h"
    fi
done
exit $failed
