#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# --lora: a gpt that was saved learns another text by adapters alone, which are
# saved alone, with the model or in it, and put on the model again; the same for
# all workers, and when a run goes on; what the rows were goes with each of the
# three; and what is refused.
# shellcheck disable=SC2086 # words
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
case $tool in /*) ;; *) tool=$PWD/$tool ;; esac
train=$tool
predict=$(dirname "$tool")/lockstep-predict
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

state() { sed -n 's/^state //p' "$dir/out"; }

# says MODEL OPTIONS: what it writes.
says() {
    "$predict" "$@" --generate 30 --temperature 0 >"$dir/out" 2>"$dir/err" ||
        fail "lockstep-predict $*"
    cat "$dir/out"
}

yes "hello, world" | head -n 200 >hello
yes "jello, morld" | head -n 200 >jello
gpt="gpt --seq-len 12 --d-model 32 --heads 2 --layers 1 --d-ff 48 --batch 16
    --devices 4 --log-every 0"
run $gpt --data hello --steps 150 --lr 0.003 --save base
lora="$gpt --data jello --lr 0.01 --init base --lora 4:on=*.kernel"
set -f
run $lora --steps 100 --save alone --workers 1
one=$(state)
has "what goes on is told" err "lockstep-predict base --lora alone --generate"
run $lora --steps 100 --save whole --lora :save=model --workers 2
is "the same for all workers" "$(state)" "$one"
run $lora --steps 100 --save merged --lora :save=merged
is "whatever is saved" "$(state)" "$one"
is "adapters alone are small" \
    "$(($(wc -c <base) > 4 * $(wc -c <alone)))" 1

is "the base says" "$(says base | head -c 12)" "hello, world"
want=$(says base --lora alone)
is "with adapters" "$(echo "$want" | head -c 12)" "jello, morld"
is "the whole says the same" "$(says whole)" "$want"
is "the merged one too" "$(says merged)" "$want"

run $lora --steps 60 --checkpoint kept
run $lora --steps 100 --checkpoint kept --resume
is "a run that goes on" "$(state)" "$one"

# A run may begin with adapters; without steps they are as they were.
run $lora --steps 0 --lora :init=alone --save again
same "adapters go around" alone again

expect 2 "lora" $lora --steps 1 --lora 0
expect 2 "it must be 1 to 32" $lora --steps 1 --lora 33
expect 2 "alpha 0 is not" $lora --steps 1 --lora :alpha=0
expect 2 "\"none\" matches no weights" $lora --steps 1 --lora :on=none
expect 2 "--lora needs --init" $gpt --data jello --lora 4
expect 2 "--lora:save needs --lora" $gpt --data jello --lora :save=merged
expect 1 "has rank 4 and alpha 16, not 3 and 16" $lora --lora 3 --steps 0 \
    --lora :init=alone
expect 1 "adapters of another base" $lora --init merged --steps 0 \
    --lora :init=alone
tool=$predict
expect 1 "adapters of another base" merged --lora alone --generate 3
expect 1 "has adapters of another file but no graph" alone --generate 3
expect 1 "holds no adapters" base --lora base --generate 3

# ------ What becomes of rows goes with what is saved ------

tool=$train

# three NAME ROWS: the whole model, adapters alone on the base and the merged
# model predict the same of the rows, the last but for rounding.
three() {
    for model in whole "base --lora alone" merged; do
        "$predict" $model "$2" >"$dir/said.${model%% *}" 2>"$dir/err" ||
            fail "$1: lockstep-predict $model"
    done
    same "$1: adapters alone" said.whole said.base
    is "$1: merged" "$(paste -d, said.whole said.merged | awk -F, '
        { for (i = 1; i <= NF / 2; i++) {
            by = $i - $(i + NF / 2)
            if (NR > 1 ? by < -1e-4 || by > 1e-4 : $i != $(i + NF / 2)) bad++
        } }
        END { print NR, bad + 0 }')" "$(wc -l <said.whole | tr -d ' ') 0"
}

# save_all OPTIONS: whole, alone and merged, of one training from the base.
save_all() {
    for kind in model adapters merged; do
        name=$kind
        [ $kind = model ] && name=whole
        [ $kind = adapters ] && name=alone
        run "$@" --init base --lora 1:on='*.kernel',save=$kind \
            --save $name
        is "saves $kind" $status 0
    done
}

{ npy '|u1' '(4, 4, 4, 1)'
    for _ in 1 2; do
        printf '\0\1\2\3\4\5\6\7\300\301\302\303\304\305\306\307'
        printf '\377\376\375\374\373\372\371\370\7\6\5\4\3\2\1\0'
    done; } >images.npy
{ npy '<i4' '(4,)'
    printf '\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0'; } >labels.npy
images="cnn --x images.npy --y labels.npy --classes 2 --batch 4 --devices 2
    --log-every 0"
run $images --steps 2 --save base
save_all $images --mean 0.4 --std 0.3 --steps 3 --lr 0.01
three "images" images.npy
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 32; i++)
    print i % 7 "," i % 5 "," (i % 2 ? "yes" : "no") }' >one.csv
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 32; i++)
    print 90 + i % 5 "," 3 * (i % 7) "," (i % 3 ? "yes" : "no") }' >other.csv
table="mlp --target y --batch 32 --hidden 4 --devices 2 --log-every 0"
run $table --data one.csv --steps 2 --save base
save_all $table --data other.csv --steps 3 --lr 0.01
three "a table" other.csv
finish
