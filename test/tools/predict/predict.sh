#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-predict makes of a model file alone what its model says:
# classes with their probabilities, numbers, next tokens, a line for each row;
# that it writes the text that a model of text generates;
# that lockstep-inspect draws the graph; and what both refuse.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
here=$(cd "$(dirname "$0")" && pwd)
tool=$build/lockstep-predict
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

# train MODEL OPTIONS: save MODEL.safetensors.
train() {
    "$build/lockstep-train" "$@" --save "$1.safetensors" >out 2>err ||
        fail "lockstep-train $*"
}

# npy FILE DESCR SHAPE: an array of zeros.
npy() {
    head=$(printf "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" \
        "$2" "$3")
    bytes=4
    for extent in $(echo "$3" | tr ',' ' '); do
        bytes=$((bytes * extent))
    done
    {
        printf '\223NUMPY\001\000\166\000'
        printf '%-117s\n' "$head"
        head -c $bytes /dev/zero
    } >"$1"
}

# lines NAME N: so many came out, of as many columns each.
lines() {
    is "$1" "$(wc -l <out) lines, $(awk -F, '{ print NF }' out | sort -u |
        tr '\n' ' ')columns" "$2"
}

train mlp --rows 32 --batch 32 --d-in 5 --classes 3 --hidden 7 --steps 2
npy x.npy '<f4' '300, 5'
run mlp.safetensors x.npy
lines "classes" "301 lines, 4 columns"
is "header of classes" "$(head -n 1 out)" "class,p0,p1,p2"
sums=$(awk -F, 'NR > 1 { s = $2 + $3 + $4; if (s < 0.9999 || s > 1.0001) n++
    top = $2; c = 0; if ($3 > top) { top = $3; c = 1 }; if ($4 > top) c = 2
    if (c != $1) n++ } END { print n + 0 }' out)
is "probabilities add up, and the class is the largest" "$sums" 0
cp out whole
run mlp.safetensors x.npy -o file.csv
same "-o writes the same" whole file.csv
is "and nothing else" "$(cat out)" ""
run --output=file.csv mlp.safetensors x.npy
same "--output too" whole file.csv
expect 2 "was trained on no table: it takes an array" mlp.safetensors rows.csv
npy one.npy '<f4' '5,'
run mlp.safetensors one.npy
lines "a row alone" "2 lines, 4 columns"
{ head -c $((128 + 4 * 5 * 270)) x.npy; printf '\0\0\200\177' # infinity
    tail -c $((4 * 5 * 30 - 4)) x.npy; } >inf.npy
expect 1 "inf.npy: row 270: a number is not finite" mlp.safetensors inf.npy \
    -o none.csv
npy ints.npy '<i4' '4, 5'
run mlp.safetensors ints.npy
lines "integers" "5 lines, 4 columns"

train linear --steps 1
npy x8.npy '<f4' '3, 8'
run linear.safetensors x8.npy
is "header of numbers" "$(head -n 1 out)" \
    "prediction0,prediction1,prediction2,prediction3"
lines "numbers" "4 lines, 4 columns"

train lm --steps 1 --rows 32 --vocab 11 --seq-len 6 --d-model 8 --heads 2 \
    --layers 1 --d-ff 8 --devices 2
npy t.npy '<i4' '2, 6'
run lm.safetensors t.npy
is "header of tokens" "$(head -n 1 out | cut -c 1-11)" "token,p0,p1"
lines "tokens" "3 lines, 12 columns"

run mlp.safetensors --onnx mlp.onnx
is "ONNX alone" "$status $(cat out) $(head -c 2 mlp.onnx | od -An -tx1)" \
    "0   08 09"
expect 2 "no/where" mlp.safetensors --onnx no/where
for no in "-o x.csv" "--of logits" --score --explain --skip-broken; do
    # shellcheck disable=SC2086 # words
    expect 2 " needs an INPUT" mlp.safetensors --onnx mlp.onnx $no
done
"$build/lockstep-train" linear --rows 8 --batch 8 --steps 1 --checkpoint bare >out 2>err ||
    fail "a checkpoint"
bare=bare/step-000000000001/params.safetensors
expect 2 "which model"
expect 2 "which model" mlp.safetensors
expect 1 "no.safetensors" no.safetensors x.npy
expect 1 "no.npy" mlp.safetensors no.npy
expect 2 "the model takes rows of (5)" mlp.safetensors x8.npy
expect 1 "no graph" "$bare" x.npy
expect 2 "no/where" mlp.safetensors x.npy -o no/where
if [ -w /dev/full ]; then
    expect 1 "/dev/full" mlp.safetensors x.npy -o /dev/full
fi

# ------ text ------

yes "hello, world" | head -n 200 >hello
text="--data hello --vocab 128 --seq-len 12 --d-model 32 --batch 16 --devices 4
    --log-every 0 --data-seed 9"
# shellcheck disable=SC2086 # words
train gpt $text --heads 2 --layers 1 --d-ff 48 --steps 150 --lr 0.003 \
    --sample 90
sed '$d' out >said # less the line of the state
# shellcheck disable=SC2086 # words
train rnn $text --cell :units=24 --layers 1 --steps 60 --lr 0.02 --sample 90
sed '$d' out >said.rnn

run gpt.safetensors --generate 90 --seed 9
same "a file says what --sample said" out said
cp out gpt.said
run gpt.safetensors --generate 90 --seed 10
differ "another seed says something else" out said
for level in x86-64-v2 x86-64-v3 x86-64-v4; do
    LS_ISA=$level run gpt.safetensors --generate 90 --seed 9
    grep -q "LS_ISA=$level: .*it has" err ||
        same "the same text on $level" out gpt.said
done
run rnn.safetensors --generate 90 --seed 9
same "an rnn's too" out said.rnn
run gpt.safetensors --generate 90 --seed 9 -o file.txt
same "-o writes the same text" file.txt gpt.said

run gpt.safetensors --generate 24 --prompt 'hell' --temperature 0
is "it goes on with a prompt" "$(cat out)" "hello, world
hello, world
he"
run gpt.safetensors --generate 24 --prompt 'hello, world hello, world' \
    --temperature 0
is "with one longer than the window" "$(head -n 2 out)" \
    "hello, world hello, world
hello, world"
run gpt.safetensors --generate 90 --temperature 0 --seed 1
cp out likeliest
run gpt.safetensors --generate 90 --temperature 9 --top-k 1 --seed 2
same "the likeliest of one is the likeliest" out likeliest
run gpt.safetensors --generate 1 --temperature 1e30 --prompt hell --top-k 2
cp out one
for seed in 1 2 3 4 5 6 7 8 9; do
    run gpt.safetensors --generate 1 --temperature 1e30 --prompt hell --top-k 2 \
        --seed $seed
    cat out >>one
done
is "two bytes and no others are drawn of two" \
    "$(sort -u one | wc -l | tr -d ' ')" 2
run gpt.safetensors --generate 9 --top-k 128
cp out all
run gpt.safetensors --generate 9
same "all bytes are the default" out all

expect 2 "value is empty" gpt.safetensors --generate 3 --prompt ''
expect 2 "--prompt needs --generate" gpt.safetensors x.npy --prompt hell
expect 2 "exclude each other" gpt.safetensors --generate 3 --of logits
expect 2 "--generate takes no INPUT" gpt.safetensors x.npy --generate 3
expect 2 "top-k" gpt.safetensors --generate 3 --top-k 0
expect 2 "knows bytes below 128; byte 1 of the prompt is 195" gpt.safetensors \
    --generate 3 --prompt 'hé'
expect 2 "mlp.safetensors: generates no text" mlp.safetensors --generate 3
expect 2 "no causal mask" lm.safetensors --generate 3
expect 2 "no/where" gpt.safetensors --generate 3 -o no/where

# Images are made the numbers that training made of them.
# pixels FILE DESCR BLACK WHITE: four pictures, left or right half white.
pixels() {
    npy "$1" "$2" '4, 4, 4, 1'
    head -c 128 "$1" >header
    {
        cat header
        for i in 1 2 1 2; do
            for _ in 1 2 3 4; do
                [ $i -eq 1 ] && printf '%b' "$3$3$4$4"
                [ $i -eq 2 ] && printf '%b' "$4$4$3$3"
            done
        done
    } >"$1"
}
one='\0000\0000\0200\0077'
pixels bytes.npy '|u1' '\0000' '\0377'
pixels floats.npy '<f4' '\0000\0000\0000\0000' "$one"
pixels normal.npy '<f4' '\0000\0000\0200\0277' "$one"
npy labels.npy '<i4' '4,'
pictures="--x bytes.npy --y labels.npy --classes 2 --batch 4 --devices 2"
pictures="$pictures --steps 0"
# shellcheck disable=SC2086 # words
train cnn $pictures
for file in bytes normal; do
    run cnn.safetensors $file.npy
    cp out $file
done
run cnn.safetensors floats.npy
lines "pictures" "5 lines, 3 columns"
same "bytes are shares of 255" bytes out
# shellcheck disable=SC2086 # words
train cnn $pictures --mean 0.5 --std 0.5
run cnn.safetensors bytes.npy
same "and normalised" normal out
# shellcheck disable=SC2086 # words
train mlp $pictures --hidden 3
run mlp.safetensors bytes.npy
cp out bytes
run mlp.safetensors floats.npy
same "in a row, too" bytes out
npy x.npy '<f4' '4, 4, 5, 1'
expect 2 "images of (4,5,1); the model takes (4,4,1)" cnn.safetensors x.npy
expect 2 "images of (4,5,1); the model takes those of 16 numbers" \
    mlp.safetensors x.npy
npy x.npy '<f4' '2, 8, 2, 1' # as many numbers
expect 2 "images of (8,2,1); the model takes (4,4,1)" cnn.safetensors x.npy
npy x.npy '<f4' '5, 4, 1'
expect 2 "in a .npy one alone is (1,4,4,1)" cnn.safetensors x.npy
npy x.npy '<f4' '1, 4, 4, 1'
run cnn.safetensors x.npy
cp out alone
npy x.npy '<f4' '4, 4, 1'
run cnn.safetensors x.npy
same "one (H,W,C) is one image" alone out
head -c 128 normal.npy >header
{ cat header; printf '\0\0\300\177'; tail -c +133 normal.npy; } >nan.npy
expect 1 "nan.npy: row 0: a number is not finite" cnn.safetensors nan.npy
expect 1 "nan.npy: row 0: a number is not finite" mlp.safetensors nan.npy
npy x.npy '<f4' '4, 16'
run mlp.safetensors x.npy
lines "numbers that are made already" "5 lines, 3 columns"
expect 2 "images are (N,H,W) or (N,H,W,C)" cnn.safetensors x.npy

# ------ Several outputs ------

library=$build/.libs/liblockstep.so.2 python=${PYTHON3:-python3}
if [ -f "$library" ] && ! ${NM:-nm} -D "$library" |
    grep -qE '__(a|t|m|ub)san_' && "$python" -c 'import numpy' 2>/dev/null; then
    PYTHONPATH=$here/../../../bindings/python LOCKSTEP_LIBRARY=$library "$python" -B - <<'END'
import lockstep as ls, numpy as np
g = ls.Graph()
x, noise = g.input("x", (3,)), g.input("noise", (2,))
code = ls.dense(x, 2, "code")
back = ls.dense(code + noise, 3, "back")
g.output(back, "back")
g.output(code, "code")
g.output(ls.square(code), "squares")
g.loss(ls.mean_squared_error(back, x))
ls.Trainer(g, devices=1, workers=1, pin=False).save_model("two.safetensors")
np.save("three.npy", np.ones((4, 3), np.float32))
END
    tool=$build/lockstep-predict
    run two.safetensors three.npy --of code
    lines "another output, which needs one input" "5 lines, 2 columns"
    is "by its name" "$(head -n 1 out)" "code0,code1"
    expect 1 'output "back" needs more than one input, "x" and "noise"' \
        two.safetensors three.npy
    expect 2 '--of: two.safetensors has no output "mu"; the first is "back"' \
        two.safetensors three.npy --of mu
fi

tool=$build/lockstep-inspect
run mlp.safetensors
has "the graph is drawn" out "<- 2"
has "with its output" out "output logits"
finish
