#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep.hpp compiles as C++17 and C++20 without a warning, and
# does what test/bindings/test_hpp.cpp and the examples in C++ ask of it.
top=$top_srcdir
library=$top_builddir/.libs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

for cxx in ${CXX:-c++ g++ clang++} none; do
    command -v "$cxx" >/dev/null && break
done
[ "$cxx" != none ] || { echo "skipped: no C++ compiler here"; exit 77; }
[ -f "$library/liblockstep.so" ] || {
    echo "skipped: no shared library was built"
    exit 77
}
if ${NM:-nm} -D "$library/liblockstep.so" | grep -qE '__(a|t|m|ub)san_'; then
    echo "skipped: the library has a sanitizer, which the program must have too"
    exit 77
fi

# build SOURCE STANDARD
build()
{
    "$cxx" -std="$2" -Wall -Wextra -Wpedantic -Wshadow -Werror -I"$top/include" \
        -o "$work/program" "$top/$1" -L"$library" -llockstep || exit 1
}

echo 'int i;' | "$cxx" -x c++ -std=c++17 -fsyntax-only - 2>/dev/null || {
    echo "skipped: the compiler does not know C++17"
    exit 77
}
for standard in c++17 c++20; do
    echo 'int i;' | "$cxx" -x c++ -std=$standard -fsyntax-only - 2>/dev/null ||
        continue
    build test/bindings/test_hpp.cpp $standard
    "$work/program" "$work/model.safetensors" || exit 1
done
for source in "$top"/examples/*.cpp; do
    build "examples/$(basename "$source")" c++17
    "$work/program" || exit 1
done
