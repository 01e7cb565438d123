#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the Fortran module works: every_call.f90 and every_builder.f90 of
# test/fortran call all of it, the example prints what it printed, an array that
# may vanish is refused by the compiler, and what is generated from the headers
# is new.
# Called by make check with what was built.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "fortran: $*"; exit 1; }

python=${PYTHON3:-python3}
if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null
then
    cp "$top_srcdir"/fortran/*.f90 "$work"
    "$python" "$top_srcdir/fortran/declare.py" "$top_srcdir/include" "$work" ||
        exit 1
    for file in lockstep_c.f90 builders.inc lockstep.f90; do
        cmp "$work/$file" "$top_srcdir/fortran/$file" && continue
        fail "fortran/declare.py include fortran was not run again"
    done
    rm "$work"/*
fi

library=$top_builddir/.libs/liblockstep_fortran.so
[ -f "$library" ] || {
    echo "skipped: liblockstep_fortran was not built"
    exit 77
}
if ${NM:-nm} -D "$top_builddir/.libs/liblockstep.so" |
    grep -qE '__(a|t|m|ub)san_'; then
    echo "skipped: the library has a sanitizer, which the program has not"
    exit 77
fi
LD_LIBRARY_PATH=$top_builddir/.libs
export LD_LIBRARY_PATH

# compile SOURCE PROGRAM
compile()
{
    # shellcheck disable=SC2086 # flags are words
    $FC -I"$top_builddir/fortran" "$1" -o "$2" -L"$top_builddir/.libs" \
        -llockstep_fortran -llockstep
}

for every in every_call every_builder; do
    if ! compile "$top_srcdir/test/fortran/$every.f90" "$work/$every" ||
        ! "$work/$every" "$work"; then
        fail "$every failed"
    fi
done
for name in $(sed -n 's/^ *public :: \(ls_[a-z0-9_]*\)$/\1/p' \
    "$top_srcdir/fortran/lockstep.f90"); do
    grep -qw "$name" "$top_srcdir"/test/fortran/*.f90 ||
        fail "no program of test/fortran calls $name"
done

if ! compile "$top_srcdir/examples/fortran/oscillator.f90" \
    "$work/oscillator" || ! "$work/oscillator" >"$work/out"; then
    fail "the example failed"
fi
cat "$work/out"
cmp "$work/out" "$top_srcdir/test/golden/oscillator.txt" ||
    fail "the example prints something else"

# LLVM's compiler, where it is installed, compiles the sources for itself, as
# the README says.
if command -v flang-new-19 >/dev/null; then
    mkdir "$work/flang"
    objects=
    for name in c base pool graph train batch gradients predictor run ''; do
        objects="$objects $work/flang/$name.o"
        flang-new-19 -w -mmlir -allow-assumed-rank -module-dir "$work/flang" \
            -I"$top_srcdir/fortran" -c -o "$work/flang/$name.o" \
            "$top_srcdir/fortran/lockstep${name:+_}$name.f90" ||
            fail "flang and lockstep${name:+_}$name.f90"
    done
    for every in every_call every_builder; do
        rm -rf "$work/run"
        if ! flang-new-19 -w -I"$work/flang" -o "$work/$every" \
            "$top_srcdir/test/fortran/$every.f90" $objects \
            -L"$top_builddir/.libs" -llockstep || ! "$work/$every" "$work"; then
            fail "$every by flang failed"
        fi
    done
fi

# An array without the target attribute, or an expression, is not borrowed.
cat >"$work/bad.f90" <<'END'
program bad
  use lockstep
  type(ls_batch) :: b
  real :: x(2, 3)
  call ls_batch_set(b, "x", x + 1)
end program bad
END
if compile "$work/bad.f90" "$work/bad" 2>"$work/words"; then
    fail "an expression was borrowed"
fi
grep -qi 'pointer\|target\|no specific' "$work/words" || {
    cat "$work/words"
    fail "the compiler speaks of something else"
}

# Without stat= an error ends the program with its message.
cat >"$work/stops.f90" <<'END'
program stops
  use lockstep
  type(ls_mesh) :: mesh
  call ls_mesh_open(mesh, devices=-1)
end program stops
END
compile "$work/stops.f90" "$work/stops" || fail "stops.f90"
if "$work/stops" 2>"$work/words"; then
    fail "an error without stat= went on"
fi
grep -q 'devices' "$work/words" || fail "it ended without its message"
echo "fortran: as it should be"
