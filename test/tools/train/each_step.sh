#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Going on from the checkpoint of every step, for each model with its dropout,
# shuffled rows, micro-batches, schedule and evaluations: on other workers and
# with another placement the run prints what the unbroken one printed from there
# on, state hash included; and the script of ten lines finds the same hash in
# the files.  Needs POSIX tools; without python3 the script is not tried.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
script=$(dirname "$0")/../../../examples/state_hash.py
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
. "$(dirname "$0")/../../support/shell.sh"

hash_of() {
    command -v python3 >/dev/null || return 0
    if [ "state $(python3 "$script" "$2")" = "$(tail -n 1 "$dir/out")" ]; then
        pass
    else
        fail "$1: another hash in $2"
    fi
}

# logged_from STEP FILE: how many lines of steps from there on.
logged_from() {
    awk -v from="$1" '/^.lockstep. step/ && $3 + 0 >= from + 0' "$2" | wc -l
}

# drop_root FILE: without the root that runs with checkpoints print.
drop_root() {
    sed '/^root /d' "$1" >"$dir/rootless" && mv "$dir/rootless" "$1"
}

# each NAME ARGS
each() {
    name=$1 n=0
    shift
    rm -rf "$dir/all"
    "$tool" "$@" >"$dir/want" 2>"$dir/err" || fail "$name"
    "$tool" "$@" --checkpoint "$dir/all":every=1,keep=0 \
        >"$dir/out" 2>"$dir/err"
    drop_root "$dir/out"
    same "$name: checkpoints change nothing" "$dir/out" "$dir/want"
    for step in "$dir"/all/step-*; do
        rm -rf "$dir/one"
        mkdir "$dir/one"
        cp -R "$step" "$dir/one"
        state=replicate
        [ $((n % 2)) -eq 0 ] && state=shard
        "$tool" "$@" --resume --checkpoint "$dir/one" --state $state \
            --workers $((1 + n % 3)) >"$dir/out" 2>"$dir/err" ||
            fail "$name from ${step##*/}"
        drop_root "$dir/out"
        tail -n "$(wc -l <"$dir/out")" "$dir/want" >"$dir/rest"
        same "$name from ${step##*/}" "$dir/out" "$dir/rest"
        is "$name from ${step##*/}: steps logged" \
            "$(grep -c '^.lockstep. step' "$dir/out")" \
            "$(logged_from "${step##*-}" "$dir/want")"
        n=$((n + 1))
    done
    hash_of "$name" "$step"
}

# Images of 5x4 in three classes, 40 to train on and 21 held out: IDX files.
mkdir "$dir/i"
idx() {
    # shellcheck disable=SC2059 # the format is the bytes
    printf "\\0\\0\\010\\00$3\\0\\0\\0\\$2" >"$dir/i/$1"
    # shellcheck disable=SC2059
    [ "$3" = 1 ] || printf '\0\0\0\005\0\0\0\004' >>"$dir/i/$1"
    awk "BEGIN { for (i = 0; i < $4; i++) for (p = 0; p < $5; p++)
        printf \"\\\\%03o\\n\", $6 }" | while read -r byte; do
        # shellcheck disable=SC2059
        printf "$byte"
    done >>"$dir/i/$1"
}
idx train-images-idx3-ubyte 050 3 40 20 "(p % 3 == i * i % 3) * 99 + i"
idx train-labels-idx1-ubyte 050 1 40 1 "i * i % 3"
idx t10k-images-idx3-ubyte 025 3 21 20 "(p % 3 == i * i % 3) * 99 + p"
idx t10k-labels-idx1-ubyte 025 1 21 1 "i * i % 3"

all="--devices 2 --accumulate 2 --schedule cosine:warmup=3 --clip-norm 1
    --log-every 2"
images="--data $dir/i --batch 16 --uneven pad --epochs 3 --dropout 0.2"
text="--seq-len 8 --d-model 16 --heads 2 --layers 1 --d-ff 16 --batch 16"
# shellcheck disable=SC2086 # words
{
    each linear linear $all --steps 6 --optimizer nesterov
    each mlp mlp $all --rows 64 --batch 16 --shuffle --dropout 0.2 \
        --hidden 9,7 --epochs 2
    each adagrad mlp --rows 64 --batch 16 --hidden 9 --steps 6 --log-every 2 \
        --optimizer adagrad:l2=0.01 --clip-value 0.01 --devices 2 \
        --schedule cosine-restarts:decay-steps=2,cycle-factor=2
    each lion mlp --rows 64 --batch 16 --hidden 9 --steps 5 --log-every 2 \
        --optimizer lion --schedule one-cycle:decay-steps=5 --devices 2
    each "mlp on images" mlp $all $images --hidden 9
    each cnn cnn $all --image 8x8x3 --channels 4,5 --batch 8 --steps 5 \
        --dropout 0.2
    each "cnn on images" cnn $all $images --channels 4
    each lm lm $all $text --vocab 50 --rows 64 --steps 6
    each gpt gpt $all $text --data "$script" --steps 6 --dropout 0.1 \
        --eval-every 2 --sample 20
    each "modern gpt" gpt $all $text --data "$script" --steps 6 --norm rms \
        --positions rotary --ffn swiglu --heads :kv=1 --tie \
        --dropout :residual=0.1 --eval-every 2 --sample 20
    each rnn rnn --devices 2 --data "$script" --seq-len 9 --d-model 8 --cell :units=9 \
        --batch 8 --steps 5 --dropout 0.1 --eval-every 2
}

finish
