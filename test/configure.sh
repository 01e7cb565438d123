#!/bin/sh
# Proves that configure refuses CFLAGS that would leave out or move a rounding,
# and says why, and that it takes the usual ones.  Called by .ci/run:
# test/configure.sh CONFIGURE-ARGUMENTS.
tree=$(cd "$(dirname "$0")/.." && pwd)
. "$tree/test/shell.sh"
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

for flags in -ffast-math -Ofast "-O2 -ffp-contract=fast" \
    "-O2 -flto -ffp-contract=fast" "-O2 -freciprocal-math" \
    "-O2 -funsafe-math-optimizations" "-O3 -ffinite-math-only"; do
    configured 1 "$@" CFLAGS="$flags"
    has "$flags" err "no rounding may"
done
for flags in -O0 "-O2 -flto" "-O3 -march=native"; do
    configured 0 "$@" CFLAGS="$flags"
done

finish
