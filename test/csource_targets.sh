#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# csource_targets.sh MODEL.c [ROWS]: C source of a model (float inputs) under
# every compiler, level and architecture that this machine has: the outputs of
# ROWS rows (10^5) have the bytes of the first.  Prints a line each; fails where
# one differs.  Part of the long checks, since it takes minutes.
set -u
c=$1 rows=${2:-100000}
name=$(basename "$c" .c)
upper=$(echo "$name" | tr "[:lower:]" "[:upper:]")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp "$c" "${c%.c}.h" "$dir"
cat >"$dir/main.c" <<END
#include "$name.h"
#include <stdio.h>
static float s[${upper}_SCRATCH / 4], x[${upper}_INPUTS], y[${upper}_OUTPUTS];
int main(void)
{
    uint32_t state = 1;
    uint64_t hash = 14695981039346656037u;
    long i;
    int j;
    for (i = 0; i < $rows; i++) {
        for (j = 0; j < ${upper}_INPUTS; j++) {
            state = state * 1664525u + 1013904223u;
            x[j] = state >> 30 ? (float)(int32_t)(state >> 8) / 4194304 - 2 : 0;
        }
        ${name}_predict(x, y, s);
        for (j = 0; j < ${upper}_OUTPUTS; j++) {
            union { float f; uint32_t u; } word;
            word.f = y[j];
            hash = (hash ^ word.u) * 1099511628211u;
        }
    }
    printf("%08lx%08lx\n", (unsigned long)(hash >> 32),
           (unsigned long)(hash & 0xffffffffu));
    return 0;
}
END
first='' failed=0

# try RUNNER COMPILER FLAGS ..
try() {
    runner=$1
    shift
    command -v "$1" >/dev/null || return 0
    if ! "$@" -o "$dir/run" "$dir/main.c" "$dir/$name.c" 2>"$dir/err"; then
        echo "skip $*: $(head -n 1 "$dir/err")"
        return 0
    fi
    is=$($runner "$dir/run")
    [ "$first" ] || first=$is
    if [ "$is" = "$first" ]; then
        echo "same $is $*"
    else
        echo "DIFFERENT $is $*"
        failed=1
    fi
}

for level in -O0 -O1 -O2 -O3; do
    try '' gcc $level
    try '' clang $level
    try '' gcc $level -march=native
    try '' clang $level -march=native
    try '' gcc $level -m32 -msse2
    try '' clang $level -m32 -msse2
    try qemu-aarch64 aarch64-linux-gnu-gcc $level -static
    try qemu-riscv64 riscv64-linux-gnu-gcc $level -static
    try qemu-s390x s390x-linux-gnu-gcc $level -static
done
try '' tcc
try '' gcc -O2 -mfpmath=387
try '' gcc -O2 "-D${upper}_LIBM" -lm
exit $failed
