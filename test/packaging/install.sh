#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that what `make install` left is enough for a user: every example, as
# C11, and a C++17 program build with nothing but pkg-config, with the shared
# and with the static library, and run; and so do the tools.  Of a build with MPI,
# ranks run, too.  Called by make installcheck; with PARTS=ranks it tries MPI, and
# the CMake package, alone.
set -e
: "${CC:=cc}" "${PKG_CONFIG:=pkg-config}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# A C++ compiler, or nothing.
for cxx in ${CXX:-c++ g++ clang++} ''; do
    [ -z "$cxx" ] || ! command -v $cxx >/dev/null || break
done
[ -n "$cxx" ] || echo "install: C++17 not tried: no C++ compiler here"

# package SOURCE: the library that a program names by its headers.
package()
{
    ! grep -q '<lockstep/\(columns\|files\|images\|table\)\.h>' "$1" || {
        echo lockstep_data
        return
    }
    echo lockstep
}

# flags_shared SOURCE, flags_static SOURCE: what a user would type.
flags_shared()
{
    $PKG_CONFIG --cflags --libs "$(package "$1")"
}

# Not pkg-config --static: it wants all libraries static, hwloc's own too.
flags_static()
{
    [ "$(package "$1")" = lockstep ] || echo "$libdir/liblockstep_data.a"
    echo "$libdir/liblockstep.a" "$STATIC_LIBS" \
        "$($PKG_CONFIG --cflags lockstep)" \
        "$($PKG_CONFIG --libs hwloc jansson zlib)" -pthread
}

# run KIND: each program, as a user would type it; -lm is theirs.
# shellcheck disable=SC2046 # flags are words
run()
{
    for source in "$top_srcdir"/examples/[0-9]*.c; do # the others want MPI
        $CC -std=c11 -o "$work/program" "$source" $(flags_"$1" "$source") -lm
        case $source in */16_answer.c) continue ;; esac # wants a model
        "$work/program" >"$work/out" || {
            echo "install: $source, $1, failed:"
            cat "$work/out"
            return 1
        }
    done
    [ -n "$cxx" ] || return 0
    for source in "$top_srcdir/test/packaging/install.cpp" \
        "$top_srcdir"/examples/*.cpp; do
        $cxx -std=c++17 -o "$work/program" "$source" $(flags_"$1" "$source")
        "$work/program"
    done
}

# by_cmake PREFIX: a project that finds lockstep by its package file, all of it
# below this prefix.  What uses MPI runs as one process, and in Fortran only where
# MPIFORT names the compiler of the MPI that lockstep was built with.
by_cmake()
{
    rm -rf "$work/cmake"
    if ! cmake --version >/dev/null 2>&1 || [ -z "$cxx" ]; then
        echo "install: the CMake package not tried: no cmake, or no C++, here"
        return 0
    fi
    if ! cmake -S "$top_srcdir/test/cmake" -B "$work/cmake" \
        -DCMAKE_PREFIX_PATH="$1" -DPLACE="$1" -DCMAKE_CXX_COMPILER="$cxx" \
        ${MPIFORT:+-DMPI_Fortran_COMPILER="$MPIFORT"} \
        -DEXAMPLES="$top_srcdir/examples" >"$work/out" 2>&1 ||
        ! cmake --build "$work/cmake" >>"$work/out" 2>&1; then
        echo "install: the CMake project failed:"
        cat "$work/out"
        return 1
    fi
    "$work/cmake/in_c"
    "$work/cmake/in_cxx"
    "$work/cmake/in_data"
    for program in in_mpi in_mpi_fortran; do
        [ ! -x "$work/cmake/$program" ] || "$work/cmake/$program"
    done
}

# The module for Fortran, where it was built, by pkg-config.
fortran()
{
    # shellcheck disable=SC2046 # flags are words
    ${FC:-gfortran} -o "$work/program" \
        "$top_srcdir/examples/fortran/oscillator.f90" \
        $($PKG_CONFIG --cflags --libs lockstep_fortran lockstep)
    "$work/program" >/dev/null
}

# The transport over MPI, where it was built: programs by pkg-config, in C and
# in Fortran, and the tool, each as two ranks.
ranks()
{
    # shellcheck source=/dev/null
    . "$top_srcdir/packaging/debian/tests/mpi-environment"
    MPIFORT=$(command -v "$(echo "$MPICC" | sed 's/mpicc/mpifort/')") || MPIFORT=
    # shellcheck disable=SC2046 # flags are words
    "$MPICC" -o "$work/program" "$top_srcdir/examples/surrogate_mpi.c" \
        $($PKG_CONFIG --cflags --libs lockstep_mpi)
    "$MPIRUN" -n 2 "$work/program"
    for ranks in 1 2; do
        "$MPIRUN" -n $ranks "$bindir/lockstep-train" linear --devices 2 |
            tail -n 1 >"$work/state.$ranks"
    done
    grep state "$work/state.1"
    cmp "$work/state.1" "$work/state.2"
    [ -f "$libdir/liblockstep_mpi_fortran.so" ] && [ "$MPIFORT" ] || return 0
    # shellcheck disable=SC2046 # flags are words
    "$MPIFORT" -o "$work/program" "$top_srcdir/test/fortran/ranks.f90" \
        $($PKG_CONFIG --cflags --libs lockstep_mpi_fortran lockstep_fortran)
    "$MPIRUN" -n 2 "$work/program"
}

if grep -Hn '@' "$libdir"/pkgconfig/lockstep*.pc; then
    echo "install: what pkg-config reads was not filled in"
    exit 1
fi
if [ -f "$libdir/liblockstep_mpi.so" ] && command -v "$MPICC" >/dev/null; then
    ranks
fi
if [ "${PARTS-}" = ranks ]; then
    by_cmake "$prefix"
    echo "install: ranks start from $libdir"
    exit
fi
[ ! -f "$libdir/liblockstep.so" ] || run shared
[ ! -f "$libdir/liblockstep_fortran.so" ] || fortran
[ ! -f "$libdir/liblockstep.a" ] || run static
by_cmake "$prefix"
# A tree that was moved, which the first one must not show through.
include=$work/moved/$(basename "$includedir")
lib=$work/moved/$(basename "$libdir")
mkdir -p "$include" "$lib/cmake"
cp -R "$includedir"/lockstep* "$include"
cp -R "$libdir"/liblockstep* "$lib"
cp -R "$libdir/cmake/lockstep" "$lib/cmake"
[ ! -d "$libdir/fortran" ] || cp -R "$libdir/fortran" "$lib"
[ "$(dirname "$libdir")" != "$(dirname "$includedir")" ] ||
    by_cmake "$work/moved"
# The layer for Python over what was installed.
status=0
[ ! -f "$libdir/liblockstep.so" ] ||
    library=$libdir/liblockstep.so.2 tool=$bindir/lockstep-train \
        sh "$top_srcdir/test/bindings/python.sh" ||
    status=$?
[ $status = 0 ] || [ $status = 77 ]
"$bindir/lockstep-train" --version
"$bindir/lockstep-info" --version
"$bindir/lockstep-scale" --version
echo "install: the examples build and run from $libdir"
