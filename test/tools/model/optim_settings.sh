#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The optim_settings of a run that evaluates: --plateau lowers the learning rate, --ema
# evaluates and saves an average of the weights, --early-stop ends the run; and
# a run that goes on does what one does that was never interrupted.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
. "$(dirname "$0")/../../support/shell.sh"

state() { sed -n 's/^state //p' "$dir/out"; }
losses() { sed -n 's/.*eval step [0-9]* *\(loss [0-9.]*\).*/\1/p' "$dir/out"; }
rates() { sed -n 's/.*"lr":\([0-9.]*\).*/\1/p' "$1" | uniq -c | tr -s ' \n' ' '; }

awk 'BEGIN { print "a,b,price"; for (i = 0; i < 120; i++)
    printf "%d,%d,%g\n", i % 11, i % 7,
        3 * (i % 11) - 2 * (i % 7) + i * i % 13 / 3 }' >"$dir/t.csv"
table="mlp --data $dir/t.csv --target price --valid 0.25 --hidden 8 --devices 2
    --batch 16 --lr 0.1 --log-every 0"
five="$table --eval-every 5"

# ------ lower rates on a plateau ------

lower="--plateau 1:factor=0.5,cooldown=1"
run $five --steps 60 $lower --metrics "$dir/m"
want=$(state)
times=$(grep -c 'none better in 1: the learning rate is times' "$dir/out")
if [ "$times" -ge 2 ]; then pass; else fail "the rate went down twice"; fi
at=$(sed -n 's/.*the learning rate is times 0.5 after step 0*//p' "$dir/out")
is "from then on, and not before" "$(sed -n "$at,$((at + 2))p" "$dir/m" |
    sed 's/.*"lr":\([0-9.]*\).*/\1/' | tr '\n' ' ')" "0.1 0.1 0.05 "

# The evaluation of an end at step 33 does not count.
run $five --steps 33 $lower --metrics "$dir/n" --checkpoint "$dir/p"
run $five --steps 60 $lower --metrics "$dir/n" --checkpoint "$dir/p" --resume
is "a run that goes on" "$(state)" "$want"
is "has the same rates" "$(rates "$dir/n")" "$(rates "$dir/m")"

run $five --steps 60 --plateau 1:factor=0.5,least=0.5 \
    --metrics "$dir/l"
is "no lower than the least" "$(rates "$dir/l" | grep -c '0.05 $')" 1
run $five --steps 20 --plateau 3
with=$(state)
run $five --steps 20
is "no plateau changes nothing" "$with" "$(state)"

expect 2 "--plateau is 0, but was 1 in the checkpoint; --change plateau goes" \
    $five --steps 70 --checkpoint "$dir/p" --resume
expect 2 "plateau: --eval-every is 4, but was 5 in the checkpoint; --change \
plateau goes on" $table --eval-every 4 --steps 70 $lower \
    --checkpoint "$dir/p" --resume
expect 0 "note: changed from step 60: --plateau 2 (was 1); the bits are" \
    $five --steps 62 --plateau 2:factor=0.5,cooldown=1 \
    --checkpoint "$dir/p" --resume --change plateau --metrics "$dir/n"
expect 0 "lr 0.2 (was 0.1)" $five --steps 64 --plateau 2 --lr 0.2 \
    --plateau :factor=0.5,cooldown=1 --checkpoint "$dir/p" --resume \
    --change lr --metrics "$dir/n"
is "a new rate is as it is given" "$(tail -n 1 "$dir/n" | grep -c '"lr":0.2,')" 1
expect 2 "--plateau: nothing is evaluated before the end; --eval-every says" \
    $table --steps 60 --plateau 1
expect 2 "--plateau: nothing is held out" linear --plateau 1 --eval-every 0
expect 2 "--plateau:factor needs --plateau above 0" $five --plateau :factor=0.5 \
    --plateau 0
expect 2 "0 to below 1" $five --plateau 1:factor=1

# ------ an average of the weights ------

run $five --steps 30 --metrics "$dir/plain" --save "$dir/plain.st"
last=$(losses | tail -n 1)
run $five --steps 30 --metrics "$dir/ema" --save "$dir/ema.st" --ema 0.9
want=$(state)
is "the average is evaluated" "$(losses | tail -n 1 | grep -c "^$last$")" 0
last=$(losses | tail -n 1)
steps "$dir/plain" >"$dir/plain.steps"
steps "$dir/ema" >"$dir/ema.steps"
same "and the training is the same" "$dir/plain.steps" "$dir/ema.steps"
differ "it is what is saved" "$dir/plain.st" "$dir/ema.st"
run $five --steps 0 --init "$dir/ema.st"
is "to the last digit" "$(losses)" "$last"

run $five --steps 12 --ema 0.9 --checkpoint "$dir/e"
run $five --steps 30 --ema 0.9 --checkpoint "$dir/e" --resume --save "$dir/f.st"
is "an average that goes on" "$(state)" "$want"
same "is saved" "$dir/f.st" "$dir/ema.st"
expect 2 "average is 0.8, but was 0.9" $five --steps 31 --ema 0.8 \
    --checkpoint "$dir/e" --resume
expect 2 "average is not set, but was 0.9" $five --steps 31 \
    --checkpoint "$dir/e" --resume
run $five --steps 2 --checkpoint "$dir/g"
expect 2 "--ema is 0.9, but was 0" $five --steps 3 --ema 0.9 \
    --checkpoint "$dir/g" --resume
expect 2 "0 to below 1" $five --ema 1
run gpt --data "$0" --d-model 16 --heads 2 --layers 1 --d-ff 16 --steps 3 \
    --devices 1 --batch 4 --ema 0.5 --sample 5 --log-every 0
is "a sample of the average" $status 0

# ------ options without effect ------

expect 2 "--optimizer:decay-schedule needs --optimizer:l2 above 0" $five \
    --optimizer :decay-schedule=linear
expect 2 "--optimizer:no-decay needs --optimizer:weight-decay above 0" $five \
    --optimizer lion:weight-decay=0,no-decay
expect 2 "--dropout:schedule needs --dropout above 0" $five \
    --dropout :schedule=linear --checkpoint "$dir/no" --resume
expect 2 "--dropout:schedule needs --dropout or --dropout:residual above 0" gpt \
    --data "$0" --dropout :schedule=linear
expect 2 "--dropout is not an option of linear" linear \
    --dropout :schedule=linear
expect 2 "--temperature needs --sample above 0" gpt --data "$0" --temperature 1
expect 2 "--bucket is for several ranks, and there is one" linear --bucket 9
expect 2 "--top-k: nothing is held out" cnn --steps 1 --top-k 2
expect 2 "--shuffle is for files" cnn --steps 1 --shuffle
expect 2 "--early-stop: nothing is evaluated before the end" gpt --data "$0" \
    --early-stop 2
expect 2 "--valid is for files" lm --valid 0.2
expect 2 "--smoothing is for classes" table --data "$dir/t.csv" --smoothing 0.2
for no in weight-decay=1 no-decay decay-schedule=linear; do
    # shellcheck disable=SC2086 # words
    expect 2 "--optimizer:${no%%=*} has no effect on --recipe td-s" table \
        --data "$dir/t.csv" --recipe td-s --optimizer :$no
done
expect 2 "--dropout:schedule needs --dropout" table --data "$dir/t.csv" \
    --recipe td-s --dropout :schedule=linear
expect 2 "--missing needs --target" rnn --data "$0" --missing mean

# ------ the end ------

run $five --steps 200 --early-stop 3 --checkpoint "$dir/s" --save "$dir/best.st" \
    --metrics "$dir/s.m"
ended=$(sed -n 's/.*none better in 3: the end, after step 0*//p' "$dir/out")
best=$(sed -n 's/.*eval best loss [0-9.]* at step 0*\([0-9]*\), .*/\1/p' "$dir/out")
want=$(state)
is "three evaluations after the best" "$((ended - best))" 15
run $five --steps 200 --early-stop 3 --checkpoint "$dir/s" --resume
is "what ended stays ended" "$(state)" "$want"
has "and says so" out "none better in 3: the end, after step"
has "with the best" out "eval best loss"
run $five --steps "$((ended + 5))" --early-stop 9 --checkpoint "$dir/s" --resume
is "with more patience it goes on" "$(grep -c "eval step 0*$((ended + 5)) " "$dir/out")" 1

finish
