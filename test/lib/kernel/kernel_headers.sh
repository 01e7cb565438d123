#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that each header of the kernels can be read alone: it compiles without
# another before it, as the least level of the compiler's machine and, if it
# asks for them, with AVX2 or AVX-512.  k_lanes.h is for levels to include.
tool=
. "$(dirname "$0")/../../support/shell.sh"
: >"$dir/out"

# alone HEADER FLAGS: HEADER compiles with nothing before it.
alone() {
    header=$1
    shift
    if echo "#include \"kernel/$header\"" |
        ${CC:-cc} -x c -std=gnu11 -fsyntax-only -Wall -Wextra -Werror \
            -Wno-unused-function "$@" -I"$top_srcdir/include" \
            -I"$top_srcdir/lib" - 2>"$dir/err"; then
        pass
    else
        fail "$header $*"
    fi
}

machine=$(${CC:-cc} -dumpmachine)
avx2='-mavx2 -mfma'
avx512='-mavx2 -mfma -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl'
for path in "$top_srcdir"/lib/kernel/*.h; do
    header=$(basename "$path")
    # shellcheck disable=SC2086 # flags are words
    case $header:${machine%%-*} in
    k_simd_avx512.h:x86_64) alone "$header" $avx512 ;;
    k_simd_avx2.h:x86_64) alone "$header" $avx2 ;;
    k_simd_neon.h:aarch64) alone "$header" ;;
    k_lanes.h* | k_simd_avx* | k_simd_neon.h*) ;;
    *)  alone "$header"
        case $machine in x86_64*)
            ! grep -q '__A[VM]X' "$path" || alone "$header" $avx512 ;;
        esac ;;
    esac
done
finish
