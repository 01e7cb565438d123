#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the transport over MPI moves bytes, says what MPI lacks, and works
# on a program's own communicator, with each MPI that is installed, whether or
# not this build was configured with one.
tool=
. "$(dirname "$0")/../../support/shell.sh"

library=$top_builddir/.libs
# shellcheck disable=SC2086 # NM may be a name and options
if [ ! -f "$library/liblockstep.so" ] ||
    ${NM:-nm} -D "$library/liblockstep.so" | grep -q '__[at]san_init'; then
    echo "skipped: no shared library that any program can link"
    exit 77
fi

ranks_anywhere

# build KIND: the program of the test, its messages in small pieces, and the
# examples.  MPICH waits without yielding, so the coupled one is short; without
# contractions its model has the same bits in C and in Fortran.
build() {
    "mpicc.$1" -std=gnu11 -O2 -DLS_MPI_PIECE=1000 -I"$top_srcdir/include" \
        "$top_srcdir/test/support/mpi_ranks.c" "$top_srcdir/lib/mpi/mpi.c" \
        -o "$dir/ranks.$1" -L"$library" -llockstep -Wl,-rpath,"$library" \
        >"$dir/out" 2>"$dir/err" &&
        "mpicc.$1" -std=gnu11 -O2 -I"$top_srcdir/include" \
            "$top_srcdir/examples/surrogate_mpi.c" \
            "$top_srcdir/lib/mpi/mpi.c" -o "$dir/example.$1" \
            -L"$library" -llockstep -Wl,-rpath,"$library" \
            >"$dir/out" 2>"$dir/err" &&
        "mpicc.$1" -std=gnu11 -O2 -ffp-contract=off -DBATCHES=6 \
            -I"$top_srcdir/include" \
            "$top_srcdir/examples/lorenz96_mpi.c" \
            "$top_srcdir/lib/mpi/mpi.c" -o "$dir/lorenz96_mpi.$1" \
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

# fortran KIND SOURCE: a program that gives its communicator as an integer, in
# $dir/fortran_NAME.KIND
fortran() {
    objects=$dir/fortran.$1
    mkdir -p "$objects"
    name=$(basename "$2" .f90)
    sed 's/batches = 3000/batches = 6/' "$2" >"$objects/$name.f90"
    if "mpicc.$1" -std=gnu11 -I"$top_srcdir/include" \
        -c "$top_srcdir/lib/mpi/mpi.c" -o "$objects/mpi.o" 2>"$dir/err" &&
        "mpifort.$1" -O2 -ffp-contract=off -I"$top_builddir/bindings/fortran" \
            -J"$objects" "$top_srcdir/bindings/fortran/lockstep_mpi.f90" \
            "$objects/$name.f90" "$objects/mpi.o" -o "$dir/fortran_$name.$1" \
            -L"$library" -llockstep_fortran -llockstep \
            -Wl,-rpath,"$library" 2>"$dir/err"; then
        pass
    else
        fail "mpifort.$1: $name.f90"
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
    for ranks in 1 3 8; do
        example lorenz96_mpi $kind $ranks
    done
    if [ ! -f "$library/liblockstep_fortran.so" ] ||
        ! command -v "mpifort.$kind" >/dev/null; then
        continue
    fi
    fortran $kind "$top_srcdir/test/fortran/ranks.f90"
    fortran $kind "$top_srcdir/examples/fortran/lorenz96.f90"
    for ranks in 1 3; do
        example fortran_ranks $kind $ranks
    done
    for ranks in 1 4; do
        example fortran_lorenz96 $kind $ranks
    done
    is "$kind: the state in Fortran" "$(grep state "$dir/fortran_lorenz96.4")" \
        "$(grep state "$dir/lorenz96_mpi.8")"
done
if [ $((passed + failed)) -eq 0 ]; then
    echo "skipped: neither Open MPI nor MPICH is installed"
    exit 77
fi
finish
