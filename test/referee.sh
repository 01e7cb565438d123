#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The referee alone: built by the compilers that are here, with and without
# optimisation, flags that would move roundings elsewhere, 32 bits and arm64, it
# gives one verdict on each piece of evidence; each rule has a row in the contract
# and a test vector; evidence that is not as its rule wants it is refused, and no
# spoilt evidence ends it by a signal.  EVIDENCE names a file with more evidence
# to judge (of what the tests wrote with LS_EVIDENCE), M32 a folder where
# libc6-dev-i386, lib32gcc-*-dev and what they need are unpacked.
tool=
. "$(dirname "$0")/shell.sh"

source=$top_srcdir/referee/referee.c
vectors=$top_srcdir/referee/vectors.txt
contract=$top_srcdir/docs/contract.md

# evidence NAME OP CLAIMS LINES..: a file
evidence() {
    name=$1
    {
        echo "lockstep evidence 1"
        echo "op $2"
        echo "claim $3"
        shift 3
        for line; do echo "$line"; done
    } >"$dir/$name.ev"
}

# 1 x 0.5 + 2 x 0.25 = 1; the second side has its last bit wrong.
evidence first product "3f800000 3f800001" "a 3f800000 40000000" \
    "b 3f000000 3e800000"
evidence second product "3f800001 3f800000" "a 3f800000 40000000" \
    "b 3f000000 3e800000"
evidence neither product "3f800001 3f800002" "a 3f800000 40000000" \
    "b 3f000000 3e800000"
evidence gelu term.gelu "3f57585c 3f57585d" "a 3f800000"
evidence tanh term.tanh "3f42f7d6 3f42f7d5" "a 3f800000"
evidence mean mean "3f800000 00000000" "a 3f800000 40000000 3f800000" \
    "factor 3e800000"
evidence sgd update.sgd "3f733333 3f733334" "g 3f000000" "lr 3dcccccd" \
    "p 3f800000" "at 00000000"
evidence parts column "40800000 00000000" "a 3f800000 40000000 3f800000" \
    "parts 00000002 00000001"

# words HASH: eight words.
words() {
    echo "$1" | sed 's/......../& /g; s/ $//'
}

# 1 + 2, of an array of two numbers, which is one piece.
root=$(printf '\000\000\200\077\000\000\000\100\000' | sha256sum |
    cut -d ' ' -f 1)
opened() {
    evidence "$1" column "40400000 40400001" "a $2" \
        "a@ 00000000 00000000 00000001 00000002" \
        "@ 00000002 $(words "$root")" "@proof $3"
}
opened opened "3f800000 40000000" "3f800000 40000000"

runner=
judge() {
    one=$1
    shift
    $runner "$dir/referee" "$dir/$one.ev" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}

verdicts() {
    for one in first second neither gelu tanh mean sgd parts opened; do
        judge $one
        printf '%s %s ' $one $status
        cat "$dir/out"
    done
    for more in "$vectors" ${EVIDENCE:+"$EVIDENCE"}; do
        $runner "$dir/referee" "$more"
        echo "$?"
    done
}

# build FLAGS: false where the compiler lacks them.
build() {
    "$@" -std=c99 "$source" -o "$dir/referee" >"$dir/out" 2>"$dir/err"
}

cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null || cc=cc
if build $cc -O2 -Wall -Wextra -Werror; then pass; else fail "it compiles"; fi
verdicts >"$dir/want"
for one in "first 0" "second 1" "neither 2" "gelu 0" "tanh 0" "mean 0" \
    "sgd 0" "parts 0" "opened 0"; do
    cp "$dir/want" "$dir/out"
    has "the verdict" out "$one $(sed -n "s/^$one //p" "$dir/want")"
done
"$dir/referee" --rules >"$dir/rules"

# Each rule by its number, its name, its function and its vector.
sed -n 's/^op //p' "$vectors" >"$dir/names"
same "each rule has a vector" "$dir/rules" "$dir/names"
is "vectors" "$("$dir/referee" "$vectors" | grep -c 'first side is right')" \
    "$(wc -l <"$dir/rules" | tr -d ' ')"
awk '/^op / { name = $2 } /^claim / { print ++n, name, $2 }' "$vectors" \
    >"$dir/want_rows"
sed -n 's/^| \([0-9]*\) | `\([^`]*\)` |.*| \([0-9a-f]\{8\}\) |$/\1 \2 \3/p' \
    "$contract" | sort -n >"$dir/rows"
same "the contract's rules" "$dir/want_rows" "$dir/rows"
sed -n 's/^| [0-9]* | `[^`]*` | `\([^`]*\)` |.*/\1/p' "$contract" | sort -u |
    while read -r function; do
        grep -q "^static [a-z0-9 *]*[ *]$function(" "$source" ||
            echo "$function"
    done >"$dir/out"
is "the contract's functions are the referee's" "$(cat "$dir/out")" ""

for compiler in gcc clang tcc; do
    for flags in -O0 "-O3 -ffast-math" -mno-fma "-m32 -msse2" -m32; do
        command -v $compiler >/dev/null || continue
        build $compiler $flags || continue
        verdicts >"$dir/got"
        same "$compiler $flags" "$dir/want" "$dir/got"
    done
done
for flags in "-O2 -msse2 -mfpmath=sse" "-O0 -mfpmath=387"; do
    [ "${M32:-}" ] || continue
    libgcc=$(echo "$M32"/usr/lib/gcc/*/*/32)
    if build gcc -m32 $flags -static -B"$M32/usr/lib32" -B"$libgcc" \
        -L"$libgcc" -L"$M32/usr/lib32" -isystem "/usr/include/$(uname -m)-linux-gnu" \
        -isystem "$M32/usr/include"; then
        verdicts >"$dir/got"
        same "32 bits, $flags" "$dir/want" "$dir/got"
    else
        fail "32 bits, $flags"
    fi
done
runner=$(command -v qemu-aarch64-static)
if [ "$runner" ] && build aarch64-linux-gnu-gcc -O2 -static; then
    verdicts >"$dir/got"
    same "arm64" "$dir/want" "$dir/got"
fi
runner=

# ------ what is no evidence ------

# A cross compiler may link with a sanitizer that its programs cannot load.
begins() { "$dir/referee" </dev/null >"$dir/out" 2>&1 || [ $? -lt 126 ]; }
{ build $cc -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all &&
    begins; } || build $cc -O1
opened other "3f800000 40000001" "3f800000 40000000"
opened proof "3f800000 40000001" "3f800000 40000001"
opened longer "3f800000 40000000" "3f800000 40000000 00000000"
evidence bare column "40400000 40400001" "a 3f800000 40000000" \
    "@ 00000002 $(words "$root")"
evidence noroot column "40400000 40400001" "a 3f800000 40000000" \
    "a@ 00000001 00000000 00000001 00000002" "@ 00000002 $(words "$root")"
evidence short product "3f800000 3f800001" "a 3f800000 40000000" "b 3f000000"
evidence twice product "3f800000 3f800001" "a 3f800000" "a 3f800000"
evidence word product "3f800000 3f80000g" "a 3f800000" "b 3f000000"
evidence norule nothing "3f800000 3f800001" "a 3f800000"
evidence far softmax "3f800000 3f800001" "x 3f800000 40000000" "at 00000002"
evidence long column "3f800000 3f800001" "a 3f800000" "parts 7fffffff"
printf 'lockstep evidence 2\n' >"$dir/version.ev"
: >"$dir/empty.ev"
opened both "3f800000 40000000" "3f800000 40000000"
echo "root $(words "$root")" >>"$dir/both.ev"
for one in short twice word norule far long version empty other proof longer \
    bare noroot both; do
    judge $one
    is "$one is refused" $status 3
    has "$one says why" err "evidence refused"
done
judge none
is "no file" $status 3
echo "{\"pieces\":\"$root\"}" >"$dir/record"
judge opened "$dir/record"
is "a record that has the array" $status 0
echo '{}' >"$dir/record"
judge opened "$dir/record"
is "a record that does not" $status 3
has "a record that does not" err "an array is not in the record"
judge first "$dir/record"
has "evidence that opens nothing" err "nothing is opened"
printf '{"pieces":"%s"}\n{"source":"%s"}\n' "$root" "$root" >"$dir/record"
judge both "$dir/record"
is "evidence of arrays and of a row, of which both are there" $status 3
has "arrays and a row" err "@ and root"

# Digits changed, lines cut and doubled: any verdict, but no crash.
i=0
while [ $i -lt 60 ]; do
    for one in first gelu mean sgd parts opened; do
        awk -v seed=$i 'BEGIN { srand(seed) }
            { if (rand() < .1) next
              if (rand() < .3) {
                  at = int(rand() * length($0)) + 1
                  $0 = substr($0, 1, at - 1) \
                      substr("0123456789abcdef ", int(rand() * 17) + 1, 1) \
                      substr($0, at + 1) }
              print; if (rand() < .1) print }' "$dir/$one.ev" >"$dir/bad.ev"
        judge bad
        if [ $status -gt 3 ] || grep -q 'Sanitizer\|runtime error' "$dir/err"
        then
            fail "spoilt $one, seed $i: status $status"
        fi
    done
    i=$((i + 1))
done
pass

finish
