#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The same bytes for every number of workers: each model of the tool on 1, 2 and
# 8 devices, in bf16 too, with micro-batches, checked steps, transcripts and
# records, and on ranks whose workers share devices.  Some numbers of workers;
# with LS_LONG=1 each model on all from 1 to 64.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
case $tool in /*) ;; *) tool=$PWD/$tool ;; esac
. "$(dirname "$0")/../support/shell.sh"
cd "$dir" || exit 1

if [ "${LS_LONG:-0}" = 0 ]; then
    workers="3 16"
    devices="1 2"
    # Under a sanitizer, which sets CK_FORK, each run takes ten times as long.
    [ -z "${CK_FORK-}" ] || devices=2
else
    workers=$(seq 2 64)
    devices="1 2 8"
fi

seq 1 3000 >text
awk 'BEGIN { print "a,b,word,y"
    for (i = 0; i < 256; i++)
        printf "%d,%.2f,w%d,%s\n", i * 7 % 23, i * 13 % 17 / 4, i % 5,
            (i * 7 % 23 > 9) ? "big" : "small" }' >table.csv

# A model a line; shards are chunks enough, and large enough, to be shared.
cat >models <<'EOS'
lm --allow-single --vocab 60 --seq-len 32 --d-model 32 --heads 4 --layers 2 --d-ff 64 --rows 64 --batch 32
lm --allow-single --vocab 60 --seq-len 32 --d-model 32 --heads 4 --layers 1 --d-ff 64 --rows 64 --batch 32 --precision bf16
linear --allow-single --rows 64 --d-in 128 --d-out 64
mlp --rows 1024 --d-in 32 --classes 5 --hidden 64,48 --batch 1024 --dropout 0.1
mlp --rows 1024 --d-in 32 --classes 5 --hidden 64,48 --batch 1024 --precision bf16
mlp --data table.csv --target y --hidden 32 --batch 256
table --data table.csv --target y --hidden 32,32 --batch 128 --ensemble 2
cnn --image 8x8x3 --channels 8,16 --classes 4 --batch 48
cnn --image 8x8x3 --channels 8,16 --classes 4 --batch 48 --precision bf16
resnet --depth 8:width=8 --image 8x8x3 --classes 3 --batch 16
resnet --depth 8:width=8 --image 8x8x3 --classes 3 --batch 16 --norm group
resnet --depth 8:width=8 --image 8x8x3 --classes 3 --batch 16 --precision bf16
gpt --data text --seq-len 24 --d-model 32 --heads 2 --layers 2 --d-ff 48 --batch 16 --sample 20
gpt --data text --seq-len 24 --d-model 32 --heads 4:kv=2 --layers 1 --d-ff 48 --batch 16 --norm rms --positions rotary --ffn swiglu --tie
rnn --data text --seq-len 16 --d-model 16 --batch 16 --cell lstm:units=24 --dropout 0.1
rnn --data text --seq-len 16 --d-model 16 --batch 16 --cell gru:units=24
EOS

# one NAME ARGS: what a run prints and its metrics, in $1.lines.
one() {
    name=$1
    shift
    run "$@" --log-every 1 --metrics m
    [ $status -eq 0 ] || fail "$*: status $status"
    { cat out; steps m; } >"$name.lines"
}

# all ARGS: every number of workers ends as one.
all() {
    one want "$@" --workers 1
    for w in $workers; do
        one got "$@" --workers "$w"
        same "$* on $w workers" want.lines got.lines
    done
}

for d in $devices; do
    while read -r args; do
        # shellcheck disable=SC2086 # words
        all $args --devices "$d" --steps 2
    done <models
done

# ------ Ways of training ------

[ "${LS_LONG:-0}" = 0 ] || workers="2 3 5 8 16 31 64"

# proved ARGS: transcripts and records of every number of workers are those of
# one; where statistics are of all devices' rows there are no records.
proved() {
    run "$@" --workers 1 --transcript t1.lst:every=1,gradient
    is "$*: a transcript" $status 0
    run "$@" --workers 1 --record 1 r1.lsr
    recorded=$status
    for w in $workers; do
        run "$@" --workers "$w" --against t1.lst --transcript :every=1,gradient
        is "$* on $w workers: its transcript" $status 0
        [ $recorded -eq 0 ] || continue
        run "$@" --workers "$w" --record 1 r.lsr
        same "$* on $w workers: its record" r1.lsr r.lsr
    done
}

while read -r args; do
    case $args in linear*) continue ;; esac
    # shellcheck disable=SC2086 # words
    all $args --devices 2 --steps 2 --accumulate 2
    # shellcheck disable=SC2086 # words
    case $args in
    resnet*group* | [!r]* | rnn*) all $args --devices 2 --steps 2 --check all ;;
    esac
    # shellcheck disable=SC2086 # words
    proved $args --devices 2 --steps 2
done <models

# ------ Ranks ------

# spread RANKS ARGS: on so many ranks, which share devices among 1 to 5 workers.
spread() {
    ranks=$1
    shift
    for w in 1 2 5; do
        # shellcheck disable=SC2086 # a command
        $MPIRUN -n "$ranks" "$tool" "$@" --workers $w --log-every 1 >out 2>err \
            </dev/null
        is "$* on $ranks ranks: the status" $? 0
        same "$* on $ranks ranks of $w workers" want.out out
    done
}

if [ -n "${MPIRUN:-}" ]; then
    ranks_anywhere
    while read -r args; do
        case $args in lm*bf16 | cnn*48 | resnet*16 | rnn*) ;; *)
            [ "${LS_LONG:-0}" != 0 ] || continue ;;
        esac
        for ranks in 2 3; do
            # shellcheck disable=SC2086 # words
            run $args --steps 2 --devices 3 --log-every 1
            cp out want.out
            # shellcheck disable=SC2086 # words
            spread $ranks $args --steps 2 --devices 3
        done
    done <models
fi

finish
