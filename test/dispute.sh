#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-verify --dispute: of two sides whose trainings differ by one bit of
# one step the step, the operator and the number are named, and the referee says
# which side is right; a side that does not stand by its transcript, answers late
# or not in the form that is asked for has lost.
tool=
verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
honest=${top_builddir:-.}/test/faulty_train
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
. "$(dirname "$0")/shell.sh"

cc=${CC:-cc}
$cc -O2 -std=c99 "$top_srcdir/referee/referee.c" -o "$dir/referee" \
    >"$dir/out" 2>"$dir/err" || {
    echo "skipped: no compiler for the referee"
    exit 77
}

"$honest" faulty --transcript="$dir/good.lst" || fail "a training"

# dispute NAME FAULT TEXT..: a is honest, b has the fault; both say each TEXT.
dispute() {
    name=$1 fault=$2
    shift 2
    FAULT=$fault "$honest" faulty --transcript="$dir/bad.lst"
    rm -rf "$dir/talk"
    FAULT='' "$verify" --dispute "$dir/talk" --trainer "$honest" \
        --referee "$dir/referee" --wait 60 "$dir/good.lst" \
        >"$dir/out" 2>"$dir/err" &
    a=$!
    while [ ! -e "$dir/talk/side-a" ]; do sleep 0.05; done
    FAULT=$fault "$verify" --dispute "$dir/talk" --trainer "$honest" \
        --referee "$dir/referee" --wait 60 "$dir/bad.lst" \
        >"$dir/out.b" 2>"$dir/err.b"
    is "$name: b's status" $? 5
    wait $a
    is "$name: a's status" $? 5
    for text; do
        has "$name" out "$text"
    done
    grep -v '^[a-z._]*: it is' "$dir/out" >"$dir/said"
    same "$name: the verdict" "$dir/said" "$dir/talk/verdict"
}

dispute "a value" 5:forward:y "a is right" "numbers opened" "step 5, device 0" "forward: "
dispute "a gradient by an input" 9:backward:dx "a is right" "step 9, device 0" "backward: "
dispute "a device's gradient" 11:gradient:gradient "a is right" "step 11, device 0, gradient"
dispute "the mean" 3:mean:"mean gradient" "a is right" "step 3, mean"
dispute "a moment" 17:after:mu "a is right" "step 17, after: mu: element"
dispute "a row" 6:rows:x "a is right" "step 6, device 0" "rows: x"
dispute "a batch" 6:batch:x "a is right: the row of the data" "step 6, rows 0 to 47, batch: x"
dispute "labels" 19:batch:y "a is right: the row of the data" "step 19, rows 0 to 47, batch: y"
dispute "an initial value" 0:before:parameters "a is right" "step 0, before"
dispute "a first value" -1:before:parameters "a is right" "step 0, before"
dispute "a value in memory" 8:before:parameters "a is right" "step 8, before"
dispute "the rate" 2:rule:-lr "a is right" "step 2, rule: -lr"

# What b's transcript says is not what b's machine makes.
dispute_text() {
    rm -rf "$dir/talk"
    "$verify" --dispute "$dir/talk" --trainer "$honest" --wait 60 \
        "$dir/good.lst" "$1" >"$dir/out" 2>"$dir/err"
    status=$?
}
FAULT=5:forward:y "$honest" faulty --transcript="$dir/bad.lst"
dispute_text "$dir/bad.lst"
is "a lie" $status 5
has "a lie" out "b has lost: it does not stand by its transcript"

dispute_text "$dir/good.lst"
is "no difference" $status 0
has "no difference" out "same: "

# Nobody answers; what answers has another form.
mkdir "$dir/alone"
"$verify" --dispute "$dir/alone" --wait 0.2 "$dir/good.lst" >"$dir/out" 2>&1
is "nobody" $? 5
has "nobody" out "b has lost: it gave no answer 1"
mkdir "$dir/wrong"
echo '{"answer":"00"}' >"$dir/wrong/0001-b.json"
"$verify" --dispute "$dir/wrong" --wait 5 "$dir/good.lst" >"$dir/out" 2>&1
has "another form" out "b has lost: its answer 1 is not of the form"
"$verify" --dispute "$dir/wrong" "$dir/good.lst" >"$dir/out" 2>&1
"$verify" --dispute "$dir/wrong" "$dir/good.lst" >"$dir/out" 2>"$dir/err"
is "a third side" $? 1
has "a third side" err "a folder of its own"

"$verify" --record 4 --trainer "$honest" "$dir/good.lst" "$dir/verified.lsr" \
    >"$dir/out" 2>"$dir/err"
is "--record" $? 0
"$honest" faulty --record=4 "$dir/a.lsr" --values
same "--record: what a training writes" "$dir/a.lsr" "$dir/verified.lsr"
for step in 1000000 4: :1 x +4 4:-1 4:4294967296; do
    "$verify" --record $step --trainer "$honest" "$dir/good.lst" \
        "$dir/none.lsr" >"$dir/out" 2>"$dir/err"
    is "--record $step" $? 2
done
FAULT=4:forward:y "$honest" faulty --record=4 "$dir/b.lsr" --values
"$verify" --trace-bits "$dir/a.lsr" "$dir/b.lsr" >"$dir/out" 2>"$dir/err"
is "--trace-bits" $? 5
has "--trace-bits" out "device 0, rows 0 to 15, forward: "
has "--trace-bits" out "its inputs are the same"
finish
