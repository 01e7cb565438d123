#!/bin/sh
# --lora: a gpt that was saved learns another text by adapters alone, which are
# saved alone, with the model or in it, and put on the model again; the same for
# all workers, and when a run goes on; and what is refused.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
case $tool in /*) ;; *) tool=$PWD/$tool ;; esac
predict=$(dirname "$tool")/lockstep-predict
. "$(dirname "$0")/shell.sh"
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
# shellcheck disable=SC2086 # words
run $gpt --data hello --steps 150 --lr 0.003 --save base
lora="$gpt --data jello --lr 0.01 --init base --lora 4 --lora-on *.kernel"
set -f
# shellcheck disable=SC2086 # words
run $lora --steps 100 --save alone --workers 1
one=$(state)
# shellcheck disable=SC2086 # words
run $lora --steps 100 --save whole --lora-save model --workers 2
is "the same for all workers" "$(state)" "$one"
# shellcheck disable=SC2086 # words
run $lora --steps 100 --save merged --lora-save merged
is "whatever is saved" "$(state)" "$one"
is "adapters alone are small" \
    "$(($(wc -c <base) > 4 * $(wc -c <alone)))" 1

is "the base says" "$(says base | head -c 12)" "hello, world"
want=$(says base --lora alone)
is "with adapters" "$(echo "$want" | head -c 12)" "jello, morld"
is "the whole says the same" "$(says whole)" "$want"
is "the merged one too" "$(says merged)" "$want"

# shellcheck disable=SC2086 # words
run $lora --steps 60 --checkpoint kept
# shellcheck disable=SC2086 # words
run $lora --steps 100 --checkpoint kept --resume
is "a run that goes on" "$(state)" "$one"

# A run may begin with adapters; without steps they are as they were.
# shellcheck disable=SC2086 # words
run $lora --steps 0 --lora-init alone --save again
same "adapters go around" alone again

# shellcheck disable=SC2086 # words
expect 2 "lora" $lora --steps 1 --lora 0
# shellcheck disable=SC2086 # words
expect 2 "it must be 1 to 32" $lora --steps 1 --lora 33
# shellcheck disable=SC2086 # words
expect 2 "alpha 0 is not" $lora --steps 1 --lora-alpha 0
# shellcheck disable=SC2086 # words
expect 2 "\"none\" matches no weights" $lora --steps 1 --lora-on none
# shellcheck disable=SC2086 # words
expect 2 "--lora needs --init" $gpt --data jello --lora 4
# shellcheck disable=SC2086 # words
expect 2 "--lora-save needs --lora" $gpt --data jello --lora-save merged
# shellcheck disable=SC2086 # words
expect 1 "has rank 4 and alpha 16, not 3 and 16" $lora --lora 3 --steps 0 \
    --lora-init alone
# shellcheck disable=SC2086 # words
expect 1 "adapters of another base" $lora --init merged --steps 0 \
    --lora-init alone
tool=$predict
expect 1 "adapters of another base" merged --lora alone --generate 3
expect 1 "holds no adapters" base --lora base --generate 3
finish
