#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that only the levels of the kernels, of which a CPU takes those that it
# has, use registers that the least x86-64 lacks: no other object of the library
# or of its data names a ymm or zmm register or a mask of AVX-512.
. "$(dirname "$0")/../../support/shell.sh"
top=${top_builddir:-.}

case $(uname -m) in
x86_64) ;;
*) echo "skipped: no x86-64"; exit 77 ;;
esac
command -v objdump >/dev/null || { echo "skipped: no objdump"; exit 77; }

# A build for the builder's own CPU has them everywhere.
if ${CC:-cc} ${CFLAGS:-} -dM -E - </dev/null 2>/dev/null | grep -q __AVX__; then
    echo "skipped: CFLAGS ask for AVX"
    exit 77
fi

wide() { objdump -d --no-show-raw-insn "$1" | grep -c '%[yz]mm[0-9]\|%k[1-7]'; }

seen=0
find "$top/lib" "$top/data" -name '*.o' -path '*/.libs/*' >"$dir/objects"
while read -r object; do
    seen=$((seen + 1))
    case $object in
    */lib/kernel/.libs/libkernel_*) continue ;;
    esac
    is "${object#"$top/"}" "$(wide "$object")" 0
done <"$dir/objects"
is "there are objects" $((seen > 100)) 1
# That it can see them, and that the levels are where they are.
level=$(sed -n 's/\(.*libkernel_v4_la-v4\.o\)$/\1/p' "$dir/objects")
is "the widest level has them" $(($(wide "${level:-none}") > 100)) 1
finish
