#!/bin/sh
# Proves that what `make install` left is enough for a user: the example of
# lockstep.h builds with nothing but pkg-config, with the shared and with the
# static library, and runs, and so does the tool.  Called by make installcheck.
set -e
: "${CC:=cc}" "${PKG_CONFIG:=pkg-config}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# build OUTPUT FLAGS: the example, as a user would type it
build()
{
    output=$1
    shift
    $CC -std=c11 -o "$work/$output" "$top_srcdir/examples/02_mlp.c" "$@"
}

if [ -f "$libdir/liblockstep.so" ]; then
    build shared $($PKG_CONFIG --cflags --libs lockstep)
    "$work/shared" >"$work/shared.out"
fi
if [ -f "$libdir/liblockstep.a" ]; then
    # Not pkg-config --static: it wants all libraries static, hwloc's own too.
    build static $($PKG_CONFIG --cflags lockstep) "$libdir/liblockstep.a" \
        $BLIS_LIBS $($PKG_CONFIG --libs hwloc jansson zlib) -pthread
    "$work/static" >"$work/static.out"
fi
"$bindir/lockstep-train" --version
"$bindir/lockstep-info" --version
"$bindir/lockstep-scale" --version
echo "install: the example builds and runs from $libdir"
