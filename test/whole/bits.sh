#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The version of the contract of bits (LS_BITS) and the bytes that are recorded
# change together: test/whole/bits.txt has, beside each version, the SHA-256 of the
# files that hold them.  Who changes a recorded byte raises LS_BITS and adds
# lines; who only adds records puts the new digest in the place of the old one,
# and a reader of that change sees that nothing but additions came with it.
tool=
. "$(dirname "$0")/../support/shell.sh"

known=$top_srcdir/test/whole/bits.txt
bits=$(sed -n 's/^#define LS_BITS //p' \
    "$top_srcdir/include/lockstep/transcript.h")

is "the contract's title" "$(sed -n 1p "$top_srcdir/docs/contract.md")" \
    "# The contract of bits, version $bits"
for file in tools/info/verify_hashes.txt test/architectures/hashes tools/referee/vectors.txt; do
    sum=$(sha256sum "$top_srcdir/$file" | cut -c1-64)
    is "$file under LS_BITS $bits" "$bits $file $sum" \
        "$(grep "^$bits $file " "$known")"
done
is "each version has three lines" \
    "$(cut -d' ' -f1 "$known" | sort -n | uniq -c | awk '{ print $1 }' |
        sort -u)" 3
is "no version is above LS_BITS" \
    "$(cut -d' ' -f1 "$known" | sort -n | tail -n 1)" "$bits"

finish
