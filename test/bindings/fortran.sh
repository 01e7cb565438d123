#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the Fortran module works: every_call.f90 and every_builder.f90 of
# test/fortran call all of it, the example prints what it printed, an array that
# may vanish is refused by the compiler, and other compilers and fpm build it from
# its sources where they are installed.
# Called by make check with what was built.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "fortran: $*"; exit 1; }

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
LD_LIBRARY_PATH=$(cd "$top_builddir" && pwd)/.libs
export LD_LIBRARY_PATH

# compile SOURCE PROGRAM
compile()
{
    # shellcheck disable=SC2086 # flags are words
    $FC -I"$top_builddir/bindings/fortran" "$1" -o "$2" -L"$top_builddir/.libs" \
        -llockstep_fortran -llockstep
}

for every in every_call every_builder; do
    if ! compile "$top_srcdir/test/fortran/$every.f90" "$work/$every" ||
        ! "$work/$every" "$work"; then
        fail "$every failed"
    fi
done

# What is public is called, or is made by declare.py in the words of something
# that is: as ls_mish is in those of ls_selu.
cat "$top_srcdir"/test/fortran/*.f90 | tr -cs a-z0-9_ '\n' | sort -u \
    >"$work/called"
awk 'FNR == NR { called[$0]; next }
    /^ *(function|subroutine) (ls|c)_/ {
        match($0, /(ls|c)_[a-z0-9_]+/)
        own = substr($0, RSTART, RLENGTH); sub(/^(ls|c)_/, "", own); text = ""
    }
    { gsub("(ls|c)_" own "[^a-z0-9_]*", ""); text = text $0 }
    /^ *end (function|subroutine)/ {
        words[own] = text
        if ("ls_" own in called) known[text]
    }
    END { for (own in words) if (words[own] in known) print "ls_" own }' \
    "$work/called" "$top_srcdir"/bindings/fortran/*.inc \
    "$top_srcdir/bindings/fortran/lockstep_c.f90" >"$work/like_called"
cat "$work/like_called" >>"$work/called"
for name in $(sed -n 's/^ *public :: \(ls_[a-z0-9_]*\)$/\1/p' \
    "$top_srcdir/bindings/fortran/lockstep.f90"); do
    grep -qx "$name" "$work/called" ||
        fail "no program of test/fortran calls $name"
done

if ! compile "$top_srcdir/examples/fortran/oscillator.f90" \
    "$work/oscillator" || ! "$work/oscillator" >"$work/out"; then
    fail "the example failed"
fi
cat "$work/out"
cmp "$work/out" "$top_srcdir/test/golden/oscillator.txt" ||
    fail "the example prints something else"

# from_source NAME COMPILER OPTIONS: another compiler compiles the sources for
# itself, as the README says, and both programs run.
from_source()
{
    mkdir "$work/$1"
    from=$(cd "$top_srcdir" && pwd)
    (
        cd "$work/$1" || exit 1
        shift
        for name in c base pool graph train batch gradients predictor run ''; do
            "$@" -I"$from/bindings/fortran" -c -o "in$name.o" \
                "$from/bindings/fortran/lockstep${name:+_}$name.f90" || exit 1
        done
        for every in every_call every_builder; do
            "$@" -I. -o $every "$from/test/fortran/$every.f90" in*.o \
                -L"$LD_LIBRARY_PATH" -llockstep && rm -rf run && ./$every . ||
                exit 1
        done
    ) || fail "from source, $*"
}

# As the standard has it, with what the compiler can check while a program runs.
# shellcheck disable=SC2086 # a name and options
case $($FC --version) in
GNU*) from_source checked $FC -std=f2018 -fcheck=all,no-array-temps ;;
esac

# LLVM's, where it is installed.
if command -v flang-new-19 >/dev/null; then
    from_source flang19 flang-new-19 -w -mmlir -allow-assumed-rank
fi
if command -v flang-22 >/dev/null; then
    from_source flang22 flang-22 -w
fi

# The README's program as a project of fpm's, where that is installed.
if command -v fpm >/dev/null; then
    mkdir -p "$work/fit/app"
    cp -R "$top_srcdir/bindings/fortran" "$work/lockstep"
    sed -n '/^```fortran/,/^```$/p' "$top_srcdir/bindings/fortran/README.md" |
        sed '/^```/d' >"$work/fit/app/main.f90"
    printf '%s\n' 'name = "fit"' '[dependencies]' \
        'lockstep = { path = "../lockstep" }' >"$work/fit/fpm.toml"
    if ! (
        LIBRARY_PATH=$LD_LIBRARY_PATH
        export LIBRARY_PATH
        cd "$work/fit" && fpm run --compiler "$FC"
    ) >"$work/out" 2>&1 || ! grep -q '^ *loss ' "$work/out"; then
        cat "$work/out"
        fail "fpm"
    fi
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
