#!/bin/sh
# Proves that lockstep.h compiles alone, without a warning, as C11 and C++17.
strict='-Wall -Wextra -pedantic -Werror -fsyntax-only'

# compile COMPILER LANGUAGE STANDARD
compile()
{
    echo '#include "lockstep.h"' |
        $1 -x $2 -std=$3 $strict -I"$top_srcdir/include" -
}

compile "${CC:-cc}" c c11 || exit 1
for cxx in ${CXX:-c++ g++ clang++}; do
    if command -v $cxx >/dev/null; then
        compile $cxx c++ c++17
        exit
    fi
done
echo "C++17 not tried: no C++ compiler here"
