#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that configure.ac, lockstep/base.h and the Python package state the same
# version.
header=$top_srcdir/include/lockstep/base.h

# part NAME: the number after LS_VERSION_NAME
part()
{
    sed -n "s/^#define LS_VERSION_$1 \([0-9]*\)\$/\1/p" "$header"
}

configured=$(sed -n 's/^AC_INIT(\[lockstep\], \[\(.*\)\])$/\1/p' \
    "$top_srcdir/configure.ac")
declared=$(part MAJOR).$(part MINOR).$(part PATCH)
if [ "$configured" != "$declared" ]; then
    echo "configure.ac says $configured, lockstep/base.h says $declared"
    exit 1
fi
packaged=$(sed -n 's/^version = "\(.*\)"$/\1/p' \
    "$top_srcdir/bindings/python/pyproject.toml")
if [ "$configured" != "$packaged" ]; then
    echo "configure.ac says $configured, bindings/python/pyproject.toml says $packaged"
    exit 1
fi
