#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Called by rattler-build.
set -eu
[ -e configure ] || ./bootstrap
# A Fortran compiler would be the system's: the recipe asks for none.
./configure --prefix="$PREFIX" --disable-static --disable-rpath \
    --without-fortran --with-blis="$PREFIX"
make -j"${CPU_COUNT:-2}"
make check-some TESTS="test/lib/op/test_ops test/lib/train/test_determinism test/tools/info/verify.sh"
make install
find "$PREFIX/lib" -name 'liblockstep*.la' -delete
