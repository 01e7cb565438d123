#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# csource_targets.sh MODEL.c [ROWS [LEVEL ..]]: C source of a model (float
# inputs, or --int8 of such a model) under every compiler, level (-O0 to -O3)
# and architecture that this machine has: the outputs of ROWS rows (10^5), asked
# one by one and together, have the bytes of the first.  Prints a line each;
# fails where one differs.  M32 names a folder where libc6-dev-i386,
# lib32gcc-*-dev and what they need are unpacked; WebAssembly needs wasi-libc,
# libclang-rt-*-dev-wasm32 and node.
set -u
c=$1 rows=${2:-100000}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- -O0 -O1 -O2 -O3
name=$(basename "$c" .c)
upper=$(echo "$name" | tr "[:lower:]" "[:upper:]")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp "$c" "${c%.c}.h" "$dir"
cat >"$dir/main.c" <<END
#include "$name.h"
#include <stdio.h>
enum { MANY = 40 };
static float s[${upper}_SCRATCH_ROWS / 4], x[MANY * ${upper}_INPUTS];
static float y[${upper}_OUTPUTS], all[MANY * ${upper}_OUTPUTS];
static uint32_t bits(float f)
{
    union { float f; uint32_t u; } word;
    word.f = f;
    return word.u;
}
int main(void)
{
    uint32_t state = 1, differ = 0;
    uint64_t hash = 14695981039346656037u;
    long i;
    int j, k;
    for (i = 0; i < $rows; i += MANY) {
        for (j = 0; j < MANY * ${upper}_INPUTS; j++) {
            state = state * 1664525u + 1013904223u;
            x[j] = state >> 30 ? (float)(int32_t)(state >> 8) / 4194304 - 2 : 0;
        }
        ${name}_predict_rows(MANY, x, all, s);
        for (k = 0; k < MANY; k++) {
            ${name}_predict(x + k * ${upper}_INPUTS, y, s);
            for (j = 0; j < ${upper}_OUTPUTS; j++) {
                hash = (hash ^ bits(y[j])) * 1099511628211u;
                differ |= bits(y[j]) ^ bits(all[k * ${upper}_OUTPUTS + j]);
            }
        }
    }
    printf("%08lx%08lx%s\n", (unsigned long)(hash >> 32),
           (unsigned long)(hash & 0xffffffffu), differ ? " rows differ" : "");
    return 0;
}
END
cat >"$dir/run.mjs" <<'END'
import { WASI } from 'node:wasi';
import { readFileSync } from 'node:fs';
const wasi = new WASI({ version: 'preview1' });
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
END
first='' failed=0

# try RUNNER COMPILER FLAGS ..
try() {
    runner=$1
    shift
    for program in "${runner%% *}" "$1"; do
        [ ! "$program" ] || command -v "$program" >/dev/null || return 0
    done
    cc=$1
    shift
    if ! $cc "$dir/main.c" "$dir/$name.c" "$@" -o "$dir/run" 2>"$dir/err"; then
        echo "skip $cc $*: $(head -n 1 "$dir/err")"
        return 0
    fi
    is=$($runner "$dir/run")
    [ "$first" ] || first=$is
    if [ "$is" = "$first" ]; then
        echo "same $is $cc $*"
    else
        echo "DIFFERENT $is $cc $*"
        failed=1
    fi
}

# try_32 COMPILER FLAGS ..: 32 bits, by the system's C library or by M32's.
try_32() {
    if [ ! "${M32:-}" ]; then
        try '' "$@" -m32
        return 0
    fi
    libgcc=$(echo "$M32"/usr/lib/gcc/*/*/32)
    try '' "$@" -m32 -static -B"$M32/usr/lib32" -B"$libgcc" -L"$libgcc" \
        -L"$M32/usr/lib32" -isystem "/usr/include/$(uname -m)-linux-gnu" \
        -isystem "$M32/usr/include"
}

for level; do
    try '' gcc "$level"
    try '' clang "$level"
    try '' gcc "$level" -march=native
    try '' clang "$level" -march=native
    try_32 gcc "$level" -msse2 -mfpmath=sse
    try_32 clang "$level" -msse2
    try 'node --no-warnings '"$dir/run.mjs" clang "$level" --target=wasm32-wasi
    try qemu-aarch64 aarch64-linux-gnu-gcc "$level" -static
    try qemu-riscv64 riscv64-linux-gnu-gcc "$level" -static
    try qemu-s390x s390x-linux-gnu-gcc "$level" -static
done
try '' tcc
try '' gcc -O2 -mfpmath=387
try_32 gcc -O2
try '' gcc -O2 "-D${upper}_LIBM" -lm
exit $failed
