#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the transport over MPI moves bytes, says what MPI lacks, and works
# on a program's own communicator, with each MPI that is installed, whether or
# not this build was configured with one.
tool=
. "$(dirname "$0")/shell.sh"

library=$top_builddir/.libs
# shellcheck disable=SC2086 # NM may be a name and options
if [ ! -f "$library/liblockstep.so" ] ||
    ${NM:-nm} -D "$library/liblockstep.so" | grep -q '__[at]san_init'; then
    echo "skipped: no shared library that any program can link"
    exit 77
fi

ranks_anywhere

# build KIND: the program of the test, its messages in small pieces, and the
# example
build() {
    "mpicc.$1" -std=gnu11 -O2 -DLS_MPI_PIECE=1000 -I"$top_srcdir/include" \
        "$top_srcdir/test/mpi_ranks.c" "$top_srcdir/mpi/mpi.c" \
        -o "$dir/ranks.$1" -L"$library" -llockstep -Wl,-rpath,"$library" \
        >"$dir/out" 2>"$dir/err" &&
        "mpicc.$1" -std=gnu11 -O2 -I"$top_srcdir/include" \
            "$top_srcdir/examples/surrogate_mpi.c" \
            "$top_srcdir/mpi/mpi.c" -o "$dir/example.$1" \
            -L"$library" -llockstep -Wl,-rpath,"$library" \
            >"$dir/out" 2>"$dir/err" &&
        "mpicc.$1" -std=gnu11 -O2 -DBATCHES=40 -I"$top_srcdir/include" \
            "$top_srcdir/examples/lorenz96_mpi.c" \
            "$top_srcdir/mpi/mpi.c" -o "$dir/lorenz96.$1" \
            -L"$library" -llockstep -Wl,-rpath,"$library" \
            >"$dir/out" 2>"$dir/err"
}

# compiles KIND: the header alone, without a warning
compiles() {
    if echo '#include <lockstep/mpi.h>' | "mpicc.$1" -x c -std=c11 -Wall \
        -Wextra -Werror -fsyntax-only -I"$top_srcdir/include" - \
        >"$dir/out" 2>"$dir/err"; then
        pass
    else
        fail "mpicc.$1: lockstep/mpi.h alone"
    fi
}

# prove KIND RANKS WHAT: it prints "ok", once, and all ranks succeed.
prove() {
    if "mpirun.$1" -n "$2" "$dir/ranks.$1" "$3" >"$dir/out" 2>"$dir/err" &&
        [ "$(cat "$dir/out")" = ok ]; then
        pass
    else
        fail "$1, $2 ranks: $3"
    fi
}

# ends KIND: the first and the last of three ranks say why the second one ended,
# wherever they were when they heard it
ends() {
    if "mpirun.$1" -n 3 "$dir/ranks.$1" words >"$dir/out" 2>"$dir/err"; then
        fail "$1: nothing ended"
    fi
    for rank in 0 2; do
        is "$1: rank $rank says why" "$(sed -n \
            "s/^rank $rank: .*rank 1 ended the run: //p" "$dir/err")" \
            "the disk is full"
    done
}

# example NAME KIND RANKS: an example ends in one state on any number
example() {
    "mpirun.$2" -n "$3" "$dir/$1.$2" >"$dir/out" 2>"$dir/err"
    cp "$dir/out" "$dir/$1.$3"
    if grep -q '^state [0-9a-f]\{64\}$' "$dir/out" &&
        cmp -s "$dir/$1.1" "$dir/out"; then
        pass
    else
        fail "$2, $3 ranks: the state of $1"
    fi
}

# fortran KIND: a program that gives its communicator as an integer ends in one
# state on any number of ranks
fortran() {
    objects=$dir/fortran.$1
    mkdir -p "$objects"
    if ! "mpicc.$1" -std=gnu11 -I"$top_srcdir/include" \
        -c "$top_srcdir/mpi/mpi.c" -o "$objects/mpi.o" 2>"$dir/err" ||
        ! "mpifort.$1" -I"$top_builddir/fortran" -J"$objects" \
            "$top_srcdir/fortran/lockstep_mpi.f90" \
            "$top_srcdir/test/fortran/ranks.f90" "$objects/mpi.o" \
            -o "$objects/ranks" -L"$library" -llockstep_fortran -llockstep \
            -Wl,-rpath,"$library" 2>"$dir/err"; then
        fail "mpifort.$1"
        return
    fi
    for ranks in 1 3; do
        "mpirun.$1" -n $ranks "$objects/ranks" >"$objects/$ranks" 2>"$dir/err"
    done
    if grep -q '^[0-9a-f]\{64\}$' "$objects/1" &&
        cmp -s "$objects/1" "$objects/3"; then
        pass
    else
        fail "$1: a program of Fortran's"
    fi
}

for kind in openmpi mpich; do
    command -v "mpicc.$kind" >/dev/null || continue
    command -v "mpirun.$kind" >/dev/null || continue
    build $kind || { fail "mpicc.$kind"; continue; }
    compiles $kind
    prove $kind 1 check
    prove $kind 5 check
    prove $kind 3 ring
    prove $kind 2 counts
    prove $kind 2 sizes
    prove $kind 4 halves
    prove $kind 2 refused
    ends $kind
    for ranks in 1 3 6; do
        example example $kind $ranks
    done
    example lorenz96 $kind 1
    example lorenz96 $kind 3
    [ ! -f "$library/liblockstep_fortran.so" ] ||
        ! command -v "mpifort.$kind" >/dev/null || fortran $kind
done
if [ $((passed + failed)) -eq 0 ]; then
    echo "skipped: neither Open MPI nor MPICH is installed"
    exit 77
fi
finish
