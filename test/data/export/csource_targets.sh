#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# csource_targets.sh MODEL.c [ROWS [LEVEL ..]]: C source of a model under every
# compiler, level (-O0 to -O3) and architecture that this machine has: the
# outputs of ROWS rows (10^5), asked together and every eighth alone, have the
# bytes of the first, or of a predictor, where MODEL.hash has the hash of those.
# MODEL.inputs defines what csource_rows.c must know of inputs that are not
# floats.  Prints a line each, with the seconds of a processor that it took, as
# many at once as there are processors; fails where one differs.  M32 names a
# folder where libc6-dev-i386, lib32gcc-*-dev and what they need are unpacked;
# WebAssembly needs wasi-libc, libclang-rt-*-dev-wasm32 and node.
set -u
c=$1 rows=${2:-100000}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- -O0 -O1 -O2 -O3
name=$(basename "$c" .c)
upper=$(echo "$name" | tr "[:lower:]" "[:upper:]")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp "$c" "${c%.c}.h" "$dir" || exit 1
tests=$(dirname "$0")/../../support
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
printf '#include <%s>\n' stdint.h stdio.h >"$dir/any.c"
echo 'int main(void) { return puts("") < 0; }' >>"$dir/any.c"

# try RUNNER COMPILER FLAGS ..: by the worker that comes first.  What does not
# compile, where another program does, is no target that is missing.
try() {
    number=$((number + 1)) runner=$1 cc=$2
    mkdir "$dir/$number" 2>/dev/null || return 0
    shift 2
    for program in "${runner%% *}" "$cc"; do
        [ ! "$program" ] || command -v "$program" >/dev/null || {
            echo "skip $cc $*: there is no $program" >"$dir/$number/says"
            return 0
        }
    done
    if ! $cc "$dir/main.c" "$dir/$name.c" "$@" -o "$dir/$number/run" \
        2>"$dir/$number/err"; then
        says=skip
        ! $cc "$dir/any.c" "$@" -o "$dir/$number/run" 2>/dev/null ||
            says="not compiled:"
        echo "$says $cc $*: $(head -n 1 "$dir/$number/err")" \
            >"$dir/$number/says"
        return 0
    fi
    (
        $runner "$dir/$number/run" >"$dir/$number/is" || echo " status $?" \
            >>"$dir/$number/is"
        times >"$dir/$number/times"
    )
    seconds=$(tail -n 1 "$dir/$number/times" | tr ms '  ' |
        awk '{ printf "%.1f", $1 * 60 + $2 + $3 * 60 + $4 }')
    echo "$(tr -d ' \n' <"$dir/$number/is") $cc $* ($seconds s)" \
        >"$dir/$number/says"
    rm -f "$dir/$number/run"
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

# emulated ARCHITECTURE LEVEL: by the emulator of either package.
emulated() {
    emulator=qemu-$1
    command -v "$emulator" >/dev/null || emulator=$emulator-static
    try "$emulator" "$1-linux-gnu-gcc" "$2" -static
}

# work LEVEL ..: what no other worker has taken.
work() {
    number=0
    for level; do
        [ "$level" != -O2 ] || {
            try '' tcc
            try '' gcc -O2 -mfpmath=387
            try '' gcc -O2 "-D${upper}_LIBM" -lm
        }
        emulated s390x "$level"
        emulated riscv64 "$level"
        emulated aarch64 "$level"
        try_32 gcc "$level"
        try '' gcc "$level"
        try '' clang "$level"
        try '' gcc "$level" -march=native
        try '' clang "$level" -march=native
        try_32 gcc "$level" -msse2 -mfpmath=sse
        try_32 clang "$level" -msse2
        try 'node --no-warnings '"$dir/run.mjs" clang "$level" \
            --target=wasm32-wasi
    done
}

workers=$(nproc)
while [ "$workers" -gt 0 ]; do
    work "$@" &
    workers=$((workers - 1))
done
wait
first=$(cat "${c%.c}.hash" 2>/dev/null) failed=0 number=0
while number=$((number + 1)) && [ -d "$dir/$number" ]; do
    read -r is what <"$dir/$number/says"
    case $is in
    skip) ;;
    "${first:=$is}") is="same $is" ;;
    *) is="DIFFERENT $is" failed=1 ;;
    esac
    echo "$is $what"
done
exit $failed
