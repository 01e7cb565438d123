#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-train on files: images of each format, evaluation, masks, orders and
# uneven batches, each the same on any number of workers; and what is refused.
# Needs only POSIX tools and gzip.  LOCKSTEP_TRAIN or top_builddir say where the
# tool is.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
. "$(dirname "$0")/../../support/shell.sh"

# bytes SCRIPT: numbers that awk prints, as bytes.
bytes() {
    # shellcheck disable=SC2059 # the format is the bytes
    awk "BEGIN { $1 }" | while read -r line; do printf "$line"; done
}

# Images 4x3 of three classes, each bright in a column of its own: row i is of
# class (i * i + i / 3) % 3.
pixels() {
    bytes "for (i = $1; i < $2; i++) { c = (i * i + int(i / 3)) % 3
        for (p = 0; p < 12; p++)
            printf \"\\\\%03o\", (p % 3 == c) * 150 + (i * 7 + p * 29) % 100
        printf \"\\n\" }"
}
classes() {
    bytes "for (i = $1; i < $2; i++)
        printf \"\\\\%03o\\n\", (i * i + int(i / 3)) % 3"
}

pixels 0 60 >"$dir/p"
classes 0 60 >"$dir/c"
pixels 60 81 >"$dir/tp"
classes 60 81 >"$dir/tc"

# The same images as IDX, plain and gzip'd, and as .npy.
mkdir "$dir/idx" "$dir/gz" "$dir/npy"
{ printf '\0\0\010\003\0\0\0\074\0\0\0\004\0\0\0\003'; cat "$dir/p"; } \
    >"$dir/idx/train-images-idx3-ubyte"
{ printf '\0\0\010\001\0\0\0\074'; cat "$dir/c"; } \
    >"$dir/idx/train-labels-idx1-ubyte"
{ printf '\0\0\010\003\0\0\0\025\0\0\0\004\0\0\0\003'; cat "$dir/tp"; } \
    >"$dir/idx/t10k-images-idx3-ubyte"
{ printf '\0\0\010\001\0\0\0\025'; cat "$dir/tc"; } \
    >"$dir/idx/t10k-labels-idx1-ubyte"
for f in "$dir"/idx/*; do gzip -c "$f" >"$dir/gz/${f##*/}.gz"; done
{ npy '|u1' '(60, 4, 3, 1)'; cat "$dir/p"; } >"$dir/npy/x_train.npy"
{ npy '|u1' '(60,)'; cat "$dir/c"; } >"$dir/npy/y_train.npy"
{ npy '|u1' '(21, 4, 3)'; cat "$dir/tp"; } >"$dir/npy/x_test.npy"
{ npy '|u1' '(21,)'; cat "$dir/tc"; } >"$dir/npy/y_test.npy"

# ------ Images ------

small="mlp --hidden 16 --devices 4 --lr 0.02 --batch-per-device 4"
for w in 1 2 3; do
    # shellcheck disable=SC2086 # words
    run $small --data "$dir/idx" --epochs 6 --workers $w
    is "images are trained on" $status 0
    [ $w = 1 ] && cp "$dir/out" "$dir/out1"
    same "the same lines on $w workers" "$dir/out" "$dir/out1"
done
is "epochs, evaluations, best and last" \
    "$(sed 's/0\.[0-9]*/0/g; s/[0-9]*\.[0-9]*/0/g; s/^state.*/state/' \
        "$dir/out1" | sed -n '2,3p;13,$p' | tr '\n' '|')" \
    "$(printf '%s|' 'Epoch 1: Loss=0, Acc=0' \
        '[lockstep] eval step 0003  loss 0  acc 0' \
        'Epoch 6: Loss=0, Acc=0' '[lockstep] eval step 0018  loss 0  acc 0' \
        '[lockstep] eval best acc 0 at step 0003, last 0' 'state')"
is "the classes are learned" \
    "$(sed -n 's/.*best acc \(.*\) at step.*, last \(.*\)/\1 \2/p' \
        "$dir/out1")" "1.0000 1.0000"
is "the wait for data is told" "$(grep -c '^waited for data: ' "$dir/err")" 1
for form in gz npy; do
    # shellcheck disable=SC2086 # words
    run $small --data "$dir/$form" --epochs 6
    same "the same lines from $form" "$dir/out" "$dir/out1"
done
# shellcheck disable=SC2086 # words
run $small --data "$dir/gz/train-images-idx3-ubyte.gz" \
    --eval-data "$dir/npy/x_test.npy" --epochs 6
same "the same lines from two files" "$dir/out" "$dir/out1"
# shellcheck disable=SC2086 # words
run $small --x "$dir/npy/x_train.npy" --y "$dir/npy/y_train.npy" --epochs 6
grep -v eval "$dir/out1" >"$dir/plain"
same "the same lines from --x and --y" "$dir/out" "$dir/plain"
run mlp --hidden 16 --devices 4 --lr 0.02 --batch 16 --data "$dir/idx" \
    --epochs 6
same "--batch-per-device 4 of 4 devices is 16" "$dir/out" "$dir/out1"
# shellcheck disable=SC2086 # words
run $small --data "$dir/idx" --epochs 6 --no-shuffle
differ "files are shuffled" "$dir/out" "$dir/out1"
# shellcheck disable=SC2086 # words
run $small --data "$dir/idx" --epochs 6 --mean 0.5 --std 0.25
differ "--mean and --std" "$dir/out" "$dir/out1"
# shellcheck disable=SC2086 # words
run $small --data "$dir/idx" --epochs 6 --mean 0 --std 1
same "mean 0 and std 1 are nothing" "$dir/out" "$dir/out1"
# shellcheck disable=SC2086 # words
run $small --data "$dir/idx" --steps 7 --eval-every 3 --log-every 0
is "--eval-every and the last" \
    "$(sed -n 's/.*eval step \([0-9]*\) .*/\1/p' "$dir/out" | tr '\n' ' ')" \
    "0003 0006 0007 "

# What is held out is one number, however it is cut.
for cut in "--batch 1 --devices 1" "--batch 60 --devices 4" \
    "--batch 21 --devices 7" "--batch 5 --devices 3 --uneven pad" \
    "--batch 24 --devices 8 --masked-mean per-shard"; do
    # shellcheck disable=SC2086 # words
    run mlp --data "$dir/idx" --hidden 8 --steps 0 --eval-every 1 $cut
    sed 1q "$dir/out" >>"$dir/held"
done
is "the evaluation is one" "$(sort -u "$dir/held" | wc -l | tr -d ' ')" 1
is "it is there five times" "$(grep -c 'eval step 0000' "$dir/held")" 5

# cnn, with all that changes what a step reads: the same lines on any number of
# workers and from each format, and one evaluation.
cnn="cnn --channels 6 --devices 4 --batch 14 --uneven pad --accumulate 2 \
    --lr 0.02 --mean 0.4 --std 0.3 --precision bf16-input --dropout 0.2"
for w in 1 2 3 7; do
    # shellcheck disable=SC2086 # words
    run $cnn --data "$dir/idx" --epochs 3 --workers $w
    [ $w = 1 ] && cp "$dir/out" "$dir/out1"
    same "the same lines of cnn on $w workers" "$dir/out" "$dir/out1"
done
is "epochs and evaluations of cnn" \
    "$(grep -cE '^(Epoch|\[lockstep\] eval (step|best))' "$dir/out1")" 7
for form in gz npy; do
    # shellcheck disable=SC2086 # words
    run $cnn --data "$dir/$form" --epochs 3
    same "the same lines of cnn from $form" "$dir/out" "$dir/out1"
done
for more in "--mean 0.3" "--std 0.2" "--precision f32" "--dropout 0.3" \
    "--no-shuffle" "--data-seed 8" "--uneven drop --batch 16"; do
    # shellcheck disable=SC2086 # words
    run $cnn --data "$dir/idx" --epochs 3 $more
    differ "cnn $more" "$dir/out" "$dir/out1"
done
rm "$dir/held"
for cut in "--batch 1 --devices 1" "--batch 24 --devices 2 --accumulate 3" \
    "--batch 5 --devices 3 --uneven pad --accumulate 2"; do
    # shellcheck disable=SC2086 # words
    run cnn --data "$dir/idx" --channels 6 --steps 0 $cut
    sed 1q "$dir/out" >>"$dir/held"
done
is "the evaluation of cnn is one" "$(sort -u "$dir/held" | wc -l | tr -d ' ')" 1
is "it is there three times" "$(grep -c 'eval step 0000' "$dir/held")" 3

# A folder with parts of the sets.
mkdir "$dir/part"
cp "$dir/gz/t10k-images-idx3-ubyte.gz" "$dir/gz/t10k-labels-idx1-ubyte.gz" \
    "$dir/part"
expect 1 "holds no training set" cnn --data "$dir/part"
for f in "$dir"/gz/train-*; do
    cp "$f" "$dir/part/train60-${f##*/train-}"
done
# shellcheck disable=SC2086 # words
run $cnn --data "$dir/part" --epochs 3
same "the same lines of cnn from train60-.." "$dir/out" "$dir/out1"

# CIFAR-100 by its coarse labels, at the second command, too.
mkdir "$dir/cifar100"
{ printf '\7\143'; head -c 3072 /dev/zero; } >"$dir/cifar100/train.bin"
run mlp --data "$dir/cifar100" --classes 20 --batch 1 --devices 1 --steps 9 \
    --hidden 8 --log-every 0 --save "$dir/coarse.st"
is "coarse labels" $status 0
./lockstep-predict "$dir/coarse.st" "$dir/cifar100/train.bin" --score >"$dir/out" \
    2>"$dir/err"
is "they are learned" "$(grep -c 'acc 1.0000' "$dir/out")" 1
./lockstep-predict "$dir/coarse.st" "$dir/cifar100/train.bin" >"$dir/out" 2>"$dir/err"
is "as class 7" "$(sed -n '2s/,.*//p' "$dir/out")" 7
# CIFAR-10: two records, as a folder and as a file.
mkdir "$dir/cifar"
bytes 'for (r = 0; r < 2; r++) { printf "\\%03o\n", r * 9
    for (i = 0; i < 96; i++) { for (j = 0; j < 32; j++)
        printf "\\%03o", (r * 40 + i * 3 + j) % 256
        printf "\n" } }' >"$dir/cifar/data_batch_1.bin"
is "CIFAR-10's records" "$(wc -c <"$dir/cifar/data_batch_1.bin" | tr -d ' ')" \
    6146
for no in --image:fit --skip-broken; do
    how=$no
    [ $no = --skip-broken ] || how="--image :fit=fit"
    # shellcheck disable=SC2086 # words
    expect 2 "$no is for folders of pictures" mlp --data "$dir/cifar" $how
done
run mlp --data "$dir/cifar" --batch 2 --devices 2 --steps 2 --hidden 8
is "CIFAR-10 is trained on" $status 0
cp "$dir/out" "$dir/outc"
run mlp --data "$dir/cifar/data_batch_1.bin" --batch 2 --devices 2 --steps 2 \
    --hidden 8 --d-in 3072 --classes 10 --rows 2
same "a CIFAR-10 file alone" "$dir/out" "$dir/outc"

# shellcheck disable=SC2086 # words
run cnn --channels 4,4,4 --data "$dir/cifar" --batch 2 --devices 2 --steps 2 \
    --mean 0.5,0.4,0.3 --std 0.3,0.2,0.1 --eval-data \
    "$dir/cifar/data_batch_1.bin"
is "cnn on CIFAR-10" "$status $(grep -c 'eval best acc' "$dir/out")" "0 1"

# ------ Masks ------

{ npy '|u1' '(60,)'; bytes 'for (i = 0; i < 60; i++)
    printf "\\%03o\n", (i >= 20)'; } >"$dir/tail.npy"
{ npy '|b1' '(60,)'; bytes 'for (i = 0; i < 60; i++) printf "\\001\n"'; } \
    >"$dir/ones.npy"
rows="mlp --x $dir/npy/x_train.npy --y $dir/npy/y_train.npy --hidden 8 \
    --batch 60 --no-shuffle --log-every 1"
# shellcheck disable=SC2086 # words
run $rows --devices 4 --steps 3
cp "$dir/out" "$dir/plain"
# shellcheck disable=SC2086 # words
run $rows --devices 4 --steps 3 --mask "$dir/ones.npy"
same "a mask of ones is none" "$dir/out" "$dir/plain"
for w in 1 2 3; do
    # shellcheck disable=SC2086 # words
    run $rows --devices 3 --steps 3 --mask "$dir/tail.npy" --workers $w
    [ $w = 1 ] && cp "$dir/out" "$dir/masked"
    same "the same masked lines on $w workers" "$dir/out" "$dir/masked"
done
# The first third has no weight: the rest alone gives the same loss.
{ npy '|u1' '(40, 4, 3)'; tail -c 480 "$dir/p"; } >"$dir/x40.npy"
{ npy '|u1' '(40,)'; tail -c 40 "$dir/c"; } >"$dir/y40.npy"
run mlp --x "$dir/x40.npy" --y "$dir/y40.npy" --hidden 8 --batch 40 \
    --no-shuffle --log-every 1 --devices 2 --steps 3
is "rows of weight 0 do not count" "$(grep loss "$dir/out")" \
    "$(grep loss "$dir/masked")"
cnn="cnn --channels 6 --no-shuffle --log-every 1 --steps 3"
# shellcheck disable=SC2086 # words
run $cnn --x "$dir/npy/x_train.npy" --y "$dir/npy/y_train.npy" --batch 60 \
    --devices 3 --mask "$dir/tail.npy"
grep loss "$dir/out" >"$dir/masked"
# shellcheck disable=SC2086 # words
run $cnn --x "$dir/x40.npy" --y "$dir/y40.npy" --batch 40 --devices 2
is "rows of weight 0 do not count for cnn" "$(grep loss "$dir/out")" \
    "$(cat "$dir/masked")"
# shellcheck disable=SC2086 # words
run $rows --devices 3 --steps 1 --mask "$dir/tail.npy" \
    --masked-mean per-shard
is "an empty shard has no mean" $status 1
is "it is named" "$(grep -c 'device 0 has rows of weight 0 only' "$dir/err")" 1
# 60 rows are fewer than the default batch: as many of them as divide are one.
for more in "--devices 8 56" "--devices 7 56" "--devices 60 60" \
    "--devices 9 54" "--devices 61 60" "--accumulate 5 40" "--uneven pad 60"; do
    set -- $more
    run mlp --x "$dir/npy/x_train.npy" --y "$dir/npy/y_train.npy" --hidden 8 \
        --steps 1 "$1" "$2" --no-shuffle --metrics "$dir/fit"
    for last; do :; done
    is "the default batch fits with $more" "$(sed -n \
        's/^note: \([0-9]*\) rows a batch, not 128: there are 60$/\1/p' \
        "$dir/err")" "$last"
    has "it is what is trained" fit "\"rows\":$last"
done
expect 2 "a batch of 128 rows is more than the 60 rows there are" mlp \
    --x "$dir/npy/x_train.npy" --y "$dir/npy/y_train.npy" --batch 128
# What is evaluated after step N on the rows of a step is the loss of step N + 1.
{ npy '<i4' '(8, 6)'; bytes 'for (i = 0; i < 48; i++)
    printf "\\%03o\\000\\000\\000\n", i % 7'; } >"$dir/tokens.npy"
x=$dir/npy/x_train.npy y=$dir/npy/y_train.npy
for model in "linear --x $y --y $y" "mlp --x $x --y $y --hidden 8 --no-shuffle" \
    "lm --x $dir/tokens.npy --vocab 7 --d-model 8 --heads 2 --layers 1 --d-ff 8" \
    "linear --x $y --y $y --devices 7 --uneven pad"; do
    eval=$(echo "$model" | sed 's/--x/--eval-x/; s/--y/--eval-y/; s/^[a-z]* //
        s/ --[hdvnu].*//')
    case $model in lm*) rows=8 ;; *) rows=60 ;; esac
    case $model in *--devices*) d= ;; *) d="--devices 4" ;; esac
    # shellcheck disable=SC2086 # words
    run $model $eval $d --batch $rows --steps 4 --log-every 1 --eval-every 1
    sed -n 's/^.lockstep. step 000\([123]\)/\1/p' "$dir/out" >"$dir/stepped"
    sed -n 's/^.lockstep. eval step 000\([123]\)/\1/p' "$dir/out" |
        sed 's/  acc.*//; s/  R2.*//' >"$dir/evaluated"
    same "$model is evaluated" "$dir/stepped" "$dir/evaluated"
    is "at the end too" "$(grep -c '^.lockstep. eval step 0004' "$dir/out")" 1
    is "$model has a best" "$(grep -c '^.lockstep. eval best' "$dir/out")" 1
done
has "linear is judged by its loss" out "[lockstep] eval best loss "
run linear --x "$y" --y "$y" --eval-x "$y" --eval-y "$y" --batch 60 --devices 4
is "arrays are evaluated at the end without being told to" \
    "$(grep -c 'eval step 0001' "$dir/out")" 1
expect 2 "--valid and --eval-x exclude each other" lm --x "$dir/tokens.npy" \
    --eval-x "$dir/tokens.npy" --valid 0.2
expect 2 "--eval-x and --eval-y go together" linear --x "$y" --y "$y" --eval-x "$x"
expect 2 "--eval-y needs --eval-x" linear --x "$y" --y "$y" --eval-y "$x"
expect 2 "--eval-x needs --x" linear --eval-x "$y" --eval-y "$y"
expect 2 "nothing is held out; --eval-data or --eval-x" linear --eval-every 1
expect 1 "1 axis, but tokens needs 2" lm --x "$dir/tokens.npy" --eval-x "$y" \
    --batch 8
expect 1 "not the shape of those trained on" linear --x "$y" --y "$y" \
    --eval-x "$dir/tokens.npy" --eval-y "$y" --batch 60 --devices 4
# A batch of weight 0 is no update and still one of its epoch.
{ npy '|u1' '(60,)'; bytes 'for (i = 0; i < 60; i++)
    printf "\\%03o\n", (i < 20 || i >= 40)'; } >"$dir/gap.npy"
run mlp --x "$dir/npy/x_train.npy" --y "$dir/npy/y_train.npy" --hidden 8 \
    --batch 20 --no-shuffle --devices 4 --epochs 2 --log-every 1 \
    --mask "$dir/gap.npy" --metrics "$dir/m"
is "batches of weight 0 are counted" \
    "$(sed 's/[.:].*//; s/  loss 0//; s/^state.*/state/' "$dir/out" |
        tr '\n' '|')" \
    "$(printf '%s|' '[lockstep] step 0000' '[lockstep] step 0001  loss nan' \
        '[lockstep] step 0002' 'Epoch 1' '[lockstep] step 0003' \
        '[lockstep] step 0004  loss nan' '[lockstep] step 0005' 'Epoch 2' \
        'state')"
is "and why there is no loss is told, once" "$(grep -c \
    '^note: step 1: all rows have weight 0' "$dir/err")" 1
is "a label that is ignored is a reason, too" "$(grep -c \
    'weight 0, or a label below 0' "$dir/err")" 1
is "in the metrics too" "$(sed -n 's/{"step":\([0-9]*\).*/\1/p' "$dir/m" |
    tr '\n' ' ')" "0 1 2 3 4 5 "
# 60 rows: the last batch has 4, for 8 devices, and with 2 micro-batches too.
pad="mlp --x $dir/npy/x_train.npy --y $dir/npy/y_train.npy --hidden 8 \
    --uneven pad --masked-mean per-shard"
for k in 1 2; do
    # shellcheck disable=SC2086 # words
    expect 2 "a batch of 4 rows leaves device 7 without any" $pad \
        --batch 56 --devices 8 --accumulate $k
done
expect 2 "a batch of 3 rows leaves device 3" cnn --batch 3 \
    --devices 4 --uneven pad --masked-mean per-shard
expect 2 "a batch of 3 rows leaves device 3" cnn --batch 3 \
    --devices 4 --masked-mean per-shard
for good in "--batch 56 --devices 4" "--batch 56 --devices 3 --accumulate 2" \
    "--batch 56 --devices 8 --steps 1" "--batch 10 --devices 8 --accumulate 5"
do
    # shellcheck disable=SC2086 # words
    run $pad $good
    is "pad and per-shard: $good" $status 0
done
{ npy '<f4' '(8,)'; printf '\0\0\200\277'; head -c 28 /dev/zero; } \
    >"$dir/negative.npy"
{ npy '|u1' '(8, 3)'; head -c 24 "$dir/p"; } >"$dir/x8.npy"
expect 1 "the weight of row 0 is -1" linear --x "$dir/x8.npy" \
    --y "$dir/x8.npy" --mask "$dir/negative.npy"

# A number that is none is named by its row, whatever its batch.
{ npy '<f4' '(8, 3)'; head -c 64 /dev/zero; printf '\0\0\300\177'; head -c 28 /dev/zero
} >"$dir/nan.npy"
expect 1 "nan.npy: row 5 has nan among its numbers" mlp --x "$dir/nan.npy" \
    --y "$dir/negative.npy" --task regression
run linear --x "$dir/x8.npy" --y "$dir/x8.npy" --eval-x "$dir/x8.npy" \
    --eval-y "$dir/x8.npy" --steps 1
has "rows trained on" err "note: the rows of --eval-x are those trained on"

# ------ What is refused ------

expect 2 "--data and --x exclude" mlp --data "$dir/idx" --x "$dir/x8.npy" \
    --y "$dir/x8.npy"
expect 2 "--mask weighs the rows of --x" mlp --mask "$dir/ones.npy"
expect 2 "--eval-data goes with --data" mlp --eval-data "$dir/idx"
expect 2 "--mean: \"1,,2\" is not a list" mlp --data "$dir/idx" --mean 1,,2
for list in 0x1 " 1" nan inf 1,inf; do
    expect 2 "--std: \"$list\" is not a list" cnn --data "$dir/idx" --std "$list"
done
expect 2 "std 1e+39: floats are wanted" cnn --data "$dir/idx" --std 1e39
expect 2 "--mean and --std: 3 and 2" mlp --data "$dir/idx" --mean 1,2,3 \
    --std 1,2
expect 2 "--std is for images of files" mlp --std 2
expect 2 "mean and std have 3 channels, the images 1" mlp --data "$dir/idx" \
    --mean 1,2,3
expect 2 "std 0" mlp --data "$dir/idx" --std 0
expect 2 "idx: labels up to 2, but 2 classes" mlp --data "$dir/idx" --classes 2
expect 2 "has 12 where --d-in says 9" mlp --data "$dir/idx" --d-in 9
expect 2 "--eval-data or --eval-x names rows to evaluate on" mlp --data "$dir/cifar" \
    --eval-every 1 --batch 2 --devices 2
expect 1 "those trained on are 4x3x1" mlp --data "$dir/idx" --eval-data \
    "$dir/cifar/data_batch_1.bin" --classes 10
expect 1 "holds no training set" mlp --data "$dir"
expect 1 "60 weights for 8 rows" linear --x "$dir/x8.npy" --y "$dir/x8.npy" \
    --mask "$dir/ones.npy"
head -c 100 "$dir/idx/train-images-idx3-ubyte" >"$dir/idx/cut-images-idx3"
expect 1 "(60,4,3) bytes by the header, 84 follow" mlp --data \
    "$dir/idx/cut-images-idx3"
head -c 200 "$dir/gz/train-images-idx3-ubyte.gz" >"$dir/gz/cut-images-idx3"
expect 1 "the gzip stream is cut short at byte 200" mlp --data \
    "$dir/gz/cut-images-idx3"

finish
