#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# csource_targets.sh MODEL.c [ROWS [LEVEL ..]]: C source of a model under every
# compiler, level (-O0 to -O3) and architecture that this machine has: the
# outputs of ROWS rows (10^5), asked together and every eighth alone, have the
# bytes of the first, or of a predictor, where MODEL.hash has the hash of those.
# MODEL.inputs defines what csource_rows.c must know of inputs that are not
# floats.  Prints a line each, with the seconds that it took; fails where one
# differs.  M32 names a folder where libc6-dev-i386, lib32gcc-*-dev and what they
# need are unpacked; WebAssembly needs wasi-libc, libclang-rt-*-dev-wasm32 and
# node.
set -u
c=$1 rows=${2:-100000}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- -O0 -O1 -O2 -O3
name=$(basename "$c" .c)
upper=$(echo "$name" | tr "[:lower:]" "[:upper:]")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp "$c" "${c%.c}.h" "$dir" || exit 1
tests=$(dirname "$0")
cp "$tests/csource_rows.h" "$dir"
{
    printf '#define %s\n' "ROWS $rows" "NAME $name" "UPPER $upper" \
        "HEADER \"$name.h\""
    cat "${c%.c}.inputs" 2>/dev/null
    cat "$tests/csource_rows.c"
} >"$dir/main.c"
cat >"$dir/run.mjs" <<'END'
import { WASI } from 'node:wasi';
import { readFileSync } from 'node:fs';
const wasi = new WASI({ version: 'preview1' });
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
END
first=$(cat "${c%.c}.hash" 2>/dev/null) failed=0

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
    start=$(date +%s)
    is=$($runner "$dir/run")
    seconds=$(($(date +%s) - start))
    [ "$first" ] || first=$is
    if [ "$is" = "$first" ]; then
        echo "same $is $cc $* ($seconds s)"
    else
        echo "DIFFERENT $is $cc $* ($seconds s)"
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
