#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that configure refuses CFLAGS that would leave out or move a rounding,
# and says why, as make does; that it takes the usual ones; that
# --disable-rpath leaves no run-time path in what `make install` puts there; and
# that pkg-config finds it below a prefix that only make was told.  Called by
# .ci/run: test/packaging/configure.sh CONFIGURE-ARGUMENTS.
tree=$(cd "$(dirname "$0")/../.." && pwd)
. "$tree/test/support/shell.sh"
# shellcheck disable=SC2154 # shell.sh makes dir
cd "$dir" || exit 99

# configured STATUS ARGUMENTS: whether that is configure's status; what it says
# in err.
configured() {
    expected=$1
    shift
    "$tree/configure" --quiet "$@" >out 2>err </dev/null
    status=$?
    is "configure $*" $status "$expected"
}

# knows FLAGS: whether the compiler does; others refuse them by themselves.
knows() { echo | ${CC:-gcc} $1 -S -o out -x c - 2>err; }

for flags in -ffast-math -Ofast "-O2 -ffp-contract=fast" \
    "-O2 -flto -ffp-contract=fast" "-O2 -freciprocal-math" \
    "-O2 -funsafe-math-optimizations" "-O3 -ffinite-math-only" \
    "-O2 -mfpmath=387" "-O2 -fsingle-precision-constant"; do
    knows "$flags" || continue
    configured 1 "$@" CFLAGS="$flags"
    has "$flags" err "no rounding may"
done
# (With the last gcc has _Float16 beside float, and FLT_EVAL_METHOD is 16.)
taken=-O3
for flag in -flto -march=native -mavx512fp16; do
    ! knows "$flag" || taken="$taken $flag"
done
configured 0 "$@" CFLAGS="$taken"

configured 0 "$@" --disable-rpath
{ make -j2 prefix=/other && make prefix=/other DESTDIR="$dir/to" install; } \
    >out 2>err
is "make install" $? 0
rm lib/rules/liblockstep_all_la-schedule.lo
make CFLAGS=-Ofast lib/rules/liblockstep_all_la-schedule.lo >out 2>err
has "make CFLAGS=-Ofast" err "no rounding may"
PKG_CONFIG_PATH=$(dirname "$(find to/other -name lockstep.pc)")
export PKG_CONFIG_PATH
is "the prefix in lockstep.pc" "$(pkg-config --variable=prefix lockstep)" /other
make prefix=/third DESTDIR="$dir/again" install >out 2>err
is "make install with another prefix" $? 0
is "ldconfig, with DESTDIR" "$(grep ldconfig out)" ""
# Programs without a run-time path, in a folder that no loader knows.
make prefix="$dir/to/other" install-exec-hook >out 2>err
has "make install" out "in $dir/to/other/lib yet: run ldconfig as root"
is "what names the first prefix" "$(grep -rlE '/other(/|$)' "$dir/again")" ""
is "a prefix given to pkg-config" \
    "$(pkg-config --define-variable=prefix=/a --cflags lockstep | xargs)" \
    -I/a/include

if command -v readelf >out; then
    find to -type f -perm -100 -exec readelf -d {} + >found 2>err
    grep rpath "$PKG_CONFIG_PATH/lockstep.pc" >>found
    has "programs and the library" found NEEDED
    is "run-time paths" "$(grep -iE 'rpath|runpath' found)" ""
else
    echo "--disable-rpath skipped: no readelf"
fi
finish
