#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The referee alone: built by the compilers that are here, with and without
# optimisation, flags that would move roundings elsewhere, 32 bits and arm64, it
# gives one verdict on the same records.  A side is bound to what it published:
# who hands in a record that is not of its transcript, of the data or of the
# training has lost, and so has who made a record up.  Files that are none are
# refused, and no spoilt one ends it by a signal.  M32 is a folder where
# libc6-dev-i386, lib32gcc-*-dev and what they need are unpacked.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
forge=${top_builddir:-.}/test/support/forge
. "$(dirname "$0")/../../support/shell.sh"

sources=$top_srcdir/tools/referee

# build FLAGS: false where the compiler lacks them.
build() {
    "$@" -std=c99 "$sources"/*.c -o "$dir/referee" >"$dir/out" 2>"$dir/err"
}

cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null || cc=cc
if build $cc -O2 -pedantic -Wall -Wextra -Werror; then pass; else fail "it compiles"; fi

runner=
judge() {
    $runner "$dir/referee" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}

# judged NAME STATUS TEXT FILES..: the verdict, and what it says.
judged() {
    name=$1 want=$2 text=$3
    shift 3
    judge "$@"
    cat "$dir/err" >>"$dir/out"
    is "$name" $status "$want"
    has "$name" out "$text"
}

# train NAME STEP OPTIONS..: NAME.lst with every state, and the record of a step.
train() {
    name=$1 step=$2
    shift 2
    "$tool" "$@" --transcript "$dir/$name.lst":every=1 \
        >"$dir/out" 2>"$dir/err" || fail "$name is trained"
    "$tool" "$@" --record "$step" "$dir/$name.lsr" --values \
        >"$dir/out" 2>"$dir/err" || fail "$name is recorded"
}

mlp="mlp --rows 512 --d-in 12 --classes 5 --hidden 20,16 --batch 16 --devices 2
    --optimizer adamw --clip-norm 0.5 --steps 6 --seed"
# shellcheck disable=SC2086 # words
train a 4 $mlp 1
# shellcheck disable=SC2086
train other 4 $mlp 2
[ -s "$dir/a.lsr" ] || finish

# forged NAME WORDS..: a record with one word of another value.
forged() {
    name=$1
    shift
    "$forge" words "$dir/a.lsr" "$dir/$name.lsr" "$@" || fail "$name is forged"
}
forged value forward dense y 7 00000004
forged gradient backward relu dx 3 00400000
forged mean mean - "mean gradient" 40 00000001
forged rate rule - -lr 0 00000001
forged loss gradient - loss 1 00000001
forged moment after - nu 33 00000002
forged batch batch - x 80 00000004
forged label batch - y 3 00000001
forged number batch - "numbers of rows" 2 00000002
forged leaf batch - "leaf of the data" 20 00000002
forged way batch - "way of the data" 0 00000002
forged before before - parameters 40 00000001

# ------ without transcripts: the number, or the data ------

verdicts() {
    for one in value gradient mean rate loss moment; do
        judge "$dir/a.lsr" "$dir/$one.lsr"
        echo "$one $status"
        cat "$dir/out"
        judge "$dir/$one.lsr" "$dir/a.lsr"
        echo "$one $status"
    done
}
verdicts >"$dir/want"
for one in value gradient mean rate loss moment; do
    judged "$one" 0 "a is right" "$dir/a.lsr" "$dir/$one.lsr"
    judged "$one of a" 1 "b is right" "$dir/$one.lsr" "$dir/a.lsr"
done
is "lockstep-inspect has its values on a line" "$("${top_builddir:-.}/lockstep-inspect" "$dir/a.lsr" \
    "$dir/value.lsr" | grep -c '^  [0-9a-f]\{8\}  .*  and  ')" 1
judged "a value's place" 0 'step 4, device 0, rows 0 to 7, forward: 2 dense "layers.0": element 7 of 160 (row 0, channel 7)' \
    "$dir/a.lsr" "$dir/value.lsr"
judged "two values, one of them earlier" 0 "backward: " "$dir/a.lsr" "$dir/gradient.lsr"
judged "both wrong" 1 "b is right" "$dir/value.lsr" "$dir/gradient.lsr"
forged value2 forward dense y 7 00000008
judged "neither" 2 "neither is right" "$dir/value.lsr" "$dir/value2.lsr"
judged "the same" 4 "the records are the same" "$dir/a.lsr" "$dir/a.lsr"
judged "two steps' trainings" 3 "are not of one step" "$dir/a.lsr" "$dir/other.lsr"
judged "memory before a step" 3 "the update of the step before made it" \
    "$dir/a.lsr" "$dir/before.lsr"
for one in batch label leaf way number; do
    judged "the data: $one" 0 "b: " "$dir/a.lsr" "$dir/$one.lsr"
    judged "the data: $one of a" 1 "a: " "$dir/$one.lsr" "$dir/a.lsr"
done
judged "the data's number" 0 "of the data has" "$dir/a.lsr" "$dir/batch.lsr"

# ------ with transcripts: each side is bound to its own ------

# edited NAME SED..: the transcript of a with other lines, chained again.
edited() {
    name=$1
    shift
    sed "$@" "$dir/a.lst" >"$dir/edited"
    "$forge" chain "$dir/edited" "$dir/$name.lst" || fail "$name is chained"
}
# bound NAME STATUS TEXT A.lsr B.lsr A.lst B.lst
bound() {
    name=$1 want=$2 text=$3
    shift 3
    judged "$name" "$want" "$text" "$dir/$1.lsr" "$dir/$2.lsr" "$dir/$3.lst" "$dir/$4.lst"
}
digits=0000000000000000000000000000000000000000000000000000000000000000
edited plain -e ''
same "a chain made again" "$dir/a.lst" "$dir/plain.lst"
edited state -e "/\"kind\":\"state\",\"n\":5,/s/\"root\":\"[0-9a-f]*/\"root\":\"$digits/"
edited early -e "/\"kind\":\"state\",\"n\":4,/s/\"root\":\"[0-9a-f]*/\"root\":\"$digits/"
edited line -e "/\"first\":4,/s/\"root\":\"[0-9a-f]*/\"root\":\"$digits/"
edited nostate -e '/"kind":"state","n":5,/d'
next() { "${top_builddir:-.}/lockstep-verify" "$@" | grep '^next: '; }
is "the step behind the last equal state" "$(next "$dir/a.lst" "$dir/state.lst")" \
    "next: of both lockstep-verify --record 4 RUN.lst STEP.lsr, then referee A.lsr B.lsr A.lst B.lst"
edited head -e '1s/"clip_norm":"0.5"/"clip_norm":"0.25"/'
edited data -e "1s/\"source\":\"[0-9a-f]*/\"source\":\"$digits/"
edited graph -e "1s/\"graph\":\"[0-9a-f]*/\"graph\":\"$digits/"
bound "both honest" 4 "the records are the same" a a a a
is "all is compared" "$(wc -l <"$dir/out")" 1
bound "wrong states and honest records" 0 "b: the state after the step" a a a state
bound "wrong states of a" 1 "a: the state after the step" a a state a
bound "wrong states before" 0 "b: the state before the step" a a a early
bound "another step's line" 0 "b: the step in its record is not that" a a a line
bound "both wrong" 2 "neither is right" a a state early
bound "a record made up" 0 "layers.0" a value a a
bound "a moment made up" 0 "b: the state after the step" a moment a a
bound "memory before a step" 0 "b: the state before the step" a before a a
bound "a batch made up" 0 "b: batch: x" a batch a a
bound "no state" 4 "not compared: " a a a nostate
bound "no state, and a record made up" 0 "a is right" a value a nostate
has "no state, and a record made up" out "not compared: "
bound "another option" 3 "are of two trainings" a a a head
bound "another option of both" 2 "option \"clip_norm\" of its record" a a head head
bound "other data" 3 "are of two trainings" a a a data
bound "other data of both" 2 "not those of the root of the data" a a data data
bound "another graph of both" 2 "of another graph" a a graph graph
"$forge" head "$dir/a.lsr" "$dir/lies.lsr" '"clip_norm":"0.5"' '"clip_norm":"0.25"'
bound "a record of other options" 0 "b: option \"clip_norm\"" a lies a a
"$forge" head "$dir/a.lsr" "$dir/lies.lsr" '"features":16' '"features":17'
bound "a record of another graph" 0 "b: its record is of another graph" a lies a a
sed -n 's/.*"after":{"batches":5,"controls":\(\[.*\]\),"updates":5},"before".*/\1/p' \
    "$dir/a.lsr" | head -n 1 >"$dir/controls"
"$forge" head "$dir/a.lsr" "$dir/lies.lsr" "$(cat "$dir/controls")" '[]'
bound "no controls" 0 "b: its record has no controls after the step" a lies a a
bound "no controls, and wrong states" 0 "b: " a lies a state
bound "no controls of both" 4 "lies.lsr has no controls after the step" lies lies a a
sed "/\"kind\":\"state\",\"n\":3,/s/\"root\":\"[0-9a-f]*/\"root\":\"$digits/" "$dir/a.lst" >"$dir/broken.lst"
bound "a broken chain" 3 "no line behind the one before" a a a broken
"$tool" $mlp 1 --transcript "$dir/many.lst" >"$dir/out" 2>&1
bound "a step in a line of many" 4 "not compared: " a a many many
sed "/\"kind\":\"state\",\"n\":6,/s/\"root\":\"[0-9a-f]*/\"root\":\"$digits/" "$dir/many.lst" >"$dir/edited"
"$forge" chain "$dir/edited" "$dir/lies.lst"
is "one of several steps" "$(next "$dir/many.lst" "$dir/lies.lst")" \
    "next: it is one of steps 0 to 5: train again with --transcript :every=1, and compare"

# Whoever tries not to be bound: a step whose place or parameters are others', a
# line that says nothing was updated or that lacks a root, two states of one
# place, lines in another order.
head_of() { # NAME FROM TO: a record of another head
    "$forge" head "$dir/a.lsr" "$dir/$1.lsr" "$2" "$3" || fail "$1 is forged"
}
head_of place '"step":4' '"step":5'
head_of behind '"after":{"batches":5' '"after":{"batches":7'
head_of negative '"before":{"batches":4' '"before":{"batches":-4'
head_of slots '"floats":' '"floats":1'
head_of twice '"bits":' '"bits":1,"bits":'
head_of device '"device":"all"' '"device":0'
"$forge" head "$dir/a.lsr" "$dir/lies.lsr" '"arrays":[12,1],' ''
"$forge" head "$dir/lies.lsr" "$dir/noarrays.lsr" '"weighted":0' '"weighted":1'
judged "rows of no arrays" 2 "not those of the root" "$dir/noarrays.lsr" "$dir/noarrays.lsr"
for one in place behind negative slots; do
    bound "another $one" 0 "b: " a $one a a
    bound "another $one of a" 1 "a: " $one a a a
    judged "another $one, alone" 0 "b: " "$dir/a.lsr" "$dir/$one.lsr"
done
bound "a key that is there twice" 3 "its head is no record's" a twice a a
bound "a record of one device" 3 '"device" differs' a device a a
# shellcheck disable=SC2086 # words
"$tool" $mlp 1 --transcript "$dir/rows.lst":every=1,rows,gradient >"$dir/out" 2>&1
# rows_of NAME SED..: that transcript, edited.
rows_of() {
    name=$1
    shift
    sed "$@" "$dir/rows.lst" >"$dir/edited"
    "$forge" chain "$dir/edited" "$dir/$name.lst" || fail "$name is chained"
}
step='"kind":"step","loss":"[0-9a-f]*","lr":"[0-9a-f]*","n":4,'
rows_of nothing -e "/$step/s/\"updated\":1/\"updated\":0/"
rows_of norows -e "/$step/s/\"rows\":\"[0-9a-f]*\",//"
rows_of gradients -e "/$step/s/\"gradient\":\"[0-9a-f]*/\"gradient\":\"$digits/"
rows_of again -e "/$step/p"
rows_of tampered -e '/"kind":"state","n":5,/{p' -e "s/\"root\":\"[0-9a-f]*/\"root\":\"$digits/" -e '}'
rows_of late -e "/\"kind\":\"state\",\"n\":4,/{h" -e d -e '}' -e "/$step/{G" -e '}'
bound "rows and gradients" 4 "the records are the same" a a rows rows
bound "nothing was updated" 0 "b: its transcript says that the step made 0" a a rows nothing
bound "no root of the rows" 3 "the line of step 4 is not whole" a a rows norows
bound "another gradient" 0 "b: the gradient" a a rows gradients
bound "a step twice" 3 "not in its place" a a rows again
bound "two states of one place" 0 "b: its transcript has two states after 5" a a rows tampered
bound "a state too late" 3 "not in its place" a a rows late
# What files say cannot steer a terminal.
head_of steers '"clip_norm":' '"clip_norm\u001b[2J\u009b\u000ab is right":'
bound "a name with an escape" 0 "a is right" a steers a a
is "its escapes" "$(tr -d '\n -~' <"$dir/out" | wc -c)" 0

# A row that has a denormal: what is read of it is a zero, and both say so.
printf 'x,y\n1e-40,1\n1,2\n-1e-41,0\n.5,1\n' >"$dir/t.csv"
train tiny 1 mlp --data "$dir/t.csv" --target y --hidden 4 --batch 2 --steps 3 --seed 1
judged "denormal data" 4 "the same" "$dir/tiny.lsr" "$dir/tiny.lsr" "$dir/tiny.lst" "$dir/tiny.lst"
"$forge" words "$dir/tiny.lsr" "$dir/raw.lsr" batch - x 0 00000001
judge "$dir/tiny.lsr" "$dir/raw.lsr" "$dir/tiny.lst" "$dir/tiny.lst"
is "a denormal left in" $status 0

# ------ the contract's functions are the referee's ------

grep -ohE '`[a-z0-9]+_[a-z0-9_]+`' "$top_srcdir"/docs/contract.md \
    "$top_srcdir"/docs/contract-rules.md | tr -d '`' | sort -u |
    grep -vx 'clip_norm\|clip_value' | while read -r function; do
        grep -qE "[ *]$function\(" "$sources"/*.c || echo "$function"
    done >"$dir/out"
is "the contract's functions" "$(cat "$dir/out")" ""

# ------ compilers ------

for compiler in gcc clang tcc; do
    for flags in -O0 "-O3 -ffast-math" -mno-fma "-m32 -msse2" -m32; do
        command -v $compiler >/dev/null || continue
        # shellcheck disable=SC2086 # words
        build $compiler $flags || continue
        verdicts >"$dir/got"
        same "$compiler $flags" "$dir/want" "$dir/got"
    done
done
for flags in "-O2 -msse2 -mfpmath=sse" "-O0 -mfpmath=387"; do
    [ "${M32:-}" ] || continue
    libgcc=$(echo "$M32"/usr/lib/gcc/*/*/32)
    # shellcheck disable=SC2086 # words
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

# ------ what is no record ------

# A cross compiler may link with a sanitizer that its programs cannot load.
begins() { "$dir/referee" </dev/null >"$dir/out" 2>&1 || [ $? -lt 126 ]; }
{ build $cc -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all &&
    begins; } || build $cc -O1
judged "no file" 3 "cannot be opened" "$dir/none" "$dir/a.lsr"
judged "a transcript" 3 "is no record of a step" "$dir/a.lst" "$dir/a.lsr"
: >"$dir/empty"
judged "an empty file" 3 "is no record of a step" "$dir/empty" "$dir/a.lsr"
judged "one file" 3 "referee A.lsr B.lsr" "$dir/a.lsr"
head -c 20000 "$dir/a.lsr" >"$dir/short"
judged "a cut file" 3 "is not as long as its parts" "$dir/short" "$dir/a.lsr"
cp "$dir/value.lsr" "$dir/damaged"
printf x | dd of="$dir/damaged" bs=1 seek=3000 conv=notrunc 2>"$dir/err"
judge "$dir/a.lsr" "$dir/damaged"
is "a word that was changed after" $status 0
i=0
while [ $i -lt 40 ]; do
    cp "$dir/value.lsr" "$dir/damaged"
    size=$(wc -c <"$dir/damaged")
    for n in 1 2 3; do
        # shellcheck disable=SC2059 # a byte by its number
        printf "\\$(((i * 7 + n * 3) % 4))$(((i + n) % 8))$((i % 8))" |
            dd of="$dir/damaged" bs=1 conv=notrunc \
                seek=$(((i * 7919 + n * 104729) % size)) 2>"$dir/err"
    done
    judge "$dir/a.lsr" "$dir/damaged"
    if [ $status -gt 3 ] || grep -q 'Sanitizer\|runtime error' "$dir/err"; then
        fail "damaged, $i: status $status"
    fi
    i=$((i + 1))
done
pass

finish
