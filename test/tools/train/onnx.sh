#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-train onnx: a network of another program is trained on, with the same
# bytes on any number of workers and after a break; what is saved differs from
# what came in by weights alone; transcripts verify; each loss; and what is
# refused, with what to type.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
predict=${LOCKSTEP_PREDICT:-${top_builddir:-.}/lockstep-predict}
verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
. "$(dirname "$0")/../../support/shell.sh"
golden=$top_srcdir/test/golden
cp "$golden/import_layers.onnx" "$dir/net.onnx"  # (2,8,8) gives 5
cp "$golden/import_words.onnx" "$dir/words.onnx" # 6 tokens give 11
cp "$golden/import_two.onnx" "$dir/pair.onnx"    # two inputs, two outputs

# bytes N MODULUS: numbers from 1 up to the modulus.
bytes() {
    LC_ALL=C awk "BEGIN { for (i = 0; i < $1; i++)
        printf \"%c\", 1 + (i * i + int(i / 3)) % $2 }"
}

# array FILE SHAPE N MODULUS
array() { { npy '|u1' "$2"; bytes "$3" "$4"; } >"$dir/$1.npy"; }

array x '(24, 2, 8, 8)' 3072 9
array turned '(24, 8, 8, 2)' 3072 9
array new '(3, 2, 8, 8)' 384 9
array y '(24,)' 24 4
array five '(24, 5)' 120 1
array tokens '(24, 6)' 144 10
array next '(24,)' 24 10
array small '(24, 2, 8, 4)' 1536 9
array x43 '(4, 3)' 12 1
array four '(24, 4)' 96 1

few="onnx --model $dir/net.onnx --batch 8 --devices 2"
rows="--x $dir/x.npy --y $dir/y.npy"

LC_ALL=C sed 's/\(.\)y/\1z/g' "$dir/pair.onnx" >"$dir/z.onnx"

# ------ one result ------

# shellcheck disable=SC2086 # words, here and below
run $few $rows --steps 6 --workers 1 --save "$dir/one.onnx" \
    --transcript "$dir/one.lst"
is "it trains" $status 0
differ "the weights are others" "$dir/one.onnx" "$dir/net.onnx"
is "the size is the same" "$(wc -c <"$dir/one.onnx")" "$(wc -c <"$dir/net.onnx")"
for more in "--workers 2" "--state shard" "--check all"; do
    run $few $rows --steps 6 $more --save "$dir/two.onnx" \
        --transcript "$dir/two.lst"
    same "$more: the same file" "$dir/one.onnx" "$dir/two.onnx"
    same "$more: the same transcript" "$dir/one.lst" "$dir/two.lst"
done
run $few $rows --steps 3 --checkpoint "$dir/kept" --save "$dir/two.onnx"
run $few $rows --steps 6 --checkpoint "$dir/kept" --resume --save "$dir/two.onnx"
same "a run that went on" "$dir/one.onnx" "$dir/two.onnx"
run --model "$dir/net.onnx" $rows --batch 8 --devices 2 --steps 6 \
    --save "$dir/two.onnx"
same "the file's name says the model" "$dir/one.onnx" "$dir/two.onnx"
"$tool" $few $rows --steps 6 --print-config >"$dir/f.json"
run --config "$dir/f.json" --save "$dir/two.onnx"
same "from a file of options" "$dir/one.onnx" "$dir/two.onnx"
expect 1 "$dir/none: No such" $few --data "$dir/none" --image :fit=fit

ask 0 "replay  same: " "$dir/one.lst" --data "$dir"
has "first values are told of once" out "and 14 others, which functions of the"
mkdir "$dir/apart"
cp "$dir/x.npy" "$dir/y.npy" "$dir/apart"
cp "$dir/one.onnx" "$dir/apart/net.onnx"
"$verify" "$dir/one.lst" --data "$dir/apart" >"$dir/out" 2>"$dir/err"
is "another network is told" $? 3

# ------ what is saved predicts alike ------

five="--x $dir/x.npy --y $dir/five.npy"
run $few $five --loss mse --steps 6 --save "$dir/one.onnx"
grep '^state' "$dir/out" >"$dir/state"
run $few $five --loss mse --steps 6 --save "$dir/m.safetensors"
grep '^state' "$dir/out" >"$dir/two"
same "the same state" "$dir/state" "$dir/two"
"$predict" "$dir/one.onnx" "$dir/new.npy" >"$dir/a" 2>"$dir/err"
"$predict" "$dir/m.safetensors" "$dir/new.npy" >"$dir/b" 2>"$dir/err"
same "both files predict alike" "$dir/a" "$dir/b"
run $few $rows --steps 0 --init "$dir/m.safetensors" --save "$dir/two.onnx"
same "one becomes the other" "$dir/one.onnx" "$dir/two.onnx"
run $few $rows --steps 2 --save "$dir/lora.safetensors" --lora 1
is "adapters" $status 0
run $few $rows --steps 2 --precision bf16 --freeze 'norm.*' --ema 0.9
is "bf16, a group, an average" $status 0
run $few --x "$dir/turned.npy" --y "$dir/y.npy" --steps 2 --norm batch \
    --valid 0.25 --record 1 "$dir/s.lsr"
is "channels last, batch norms, rows held back, a record" $status 0
has "it is judged" out "eval best acc"

# ------ losses, tokens, outputs ------

for loss in mse mae huber bce kl; do
    run $few $five --steps 2 --loss $loss
    is "$loss" $status 0
done
run $few --x "$dir/x.npy" --steps 2 --loss none
is "none" $status 0
run onnx --model "$dir/words.onnx" --x "$dir/tokens.npy" --y "$dir/next.npy" \
    --eval-x "$dir/tokens.npy" --eval-y "$dir/next.npy" --batch 8 --epochs 2
is "tokens" $status 0
has "they are evaluated" out "  acc "

# A softmax is left out of a loss of logits: the same loss from both outputs.
cp "$top_srcdir/test/fuzz/corpus/npy/npz_stored" "$dir/two.npz" # x, and y as input
array classes '(4,)' 4 2
two="onnx --model $dir/pair.onnx:width=3 --x $dir/two.npz --y $dir/classes.npy
    --batch 4 --devices 2 --steps 2 --eval-x $dir/two.npz --eval-y $dir/classes.npy"
run $two
grep loss "$dir/out" >"$dir/a"
has "the first of two outputs" err "--output names another"
run $two --output likely
grep loss "$dir/out" >"$dir/b"
same "logits are found" "$dir/a" "$dir/b"
run $two --output likely --loss mse --y "$dir/x43.npy" --eval-y "$dir/x43.npy"
is "two inputs of a file" $status 0
run $two --transcript "$dir/two.lst" --save "$dir/sum.onnx"
mkdir "$dir/all"
cp "$dir/pair.onnx" "$dir/two.npz" "$dir/classes.npy" "$dir/all"
ask 0 "replay  same: " "$dir/two.lst" --data "$dir/all"
"$predict" "$dir/sum.onnx:width=3" --of sum "$dir/x43.npy" >"$dir/a" 2>"$dir/err"
is "an output of two inputs is refused" $? 1

# Weights beside it are written beside what is saved, under a name of their own in
# its folder.
mkdir "$dir/in" "$dir/to"
cp "$golden"/import_beside.* "$dir/in"
beside="onnx --model $dir/in/import_beside.onnx:width=3 --x $dir/two.npz
    --y $dir/classes.npy --batch 4 --devices 2 --steps 2"
run $beside --save "$dir/in/other.onnx"
differ "a file of its own" "$dir/in/import_beside.data" "$dir/in/other.onnx.data"
expect 2 "external_data=False" $beside --transcript "$dir/b.lst"
run $beside --save "$dir/to/other.onnx"
is "to another folder" $status 0
same "the graph is the same" "$dir/in/import_beside.onnx" "$dir/to/other.onnx"
same "the weights are the new ones" "$dir/in/other.onnx.data" \
    "$dir/to/import_beside.data"

# ------ the page's commands ------

bin=$(cd "${top_builddir:-.}" && pwd)
for page in onnx from-pytorch; do
    sed -n '/^    lockstep/,/^$/s/^    //p' "$top_srcdir/docs/$page.md"
done |
    sed "s|^lockstep|$bin/lockstep|" >"$dir/page"
(cd "$dir" && sh -e ./page) >"$dir/out" 2>"$dir/err"
is "the page's commands" $? 0
is "they wrote" "$(ls "$dir/trained.onnx" "$dir/trained.safetensors" | wc -l)" 2

# ------ what is refused ------

expect 2 "onnx needs --model F.onnx" onnx $rows
expect 2 "onnx needs rows" $few
expect 2 "--loss none exclude" $few $rows --loss none
expect 2 "the outputs of $dir/net.onnx are" $few $rows --output nothing
expect 2 "rows of (2,8,4), and input \"x\" of $dir/net.onnx takes (2,8,8)" \
    $few --x "$dir/small.npy" --y "$dir/y.npy"
expect 1 "the 5 classes of \"" $few --x "$dir/x.npy" --y "$dir/next.npy"
expect 2 "is (5)" $few --x "$dir/x.npy" --y "$dir/four.npy" --loss mse
expect 2 "onnx has stored" $few $rows --norm rms
expect 2 "--initialiser" $few $rows --initialiser zeros
expect 2 "--image: the size is that of" $few $rows --image 8x8x2
expect 2 "is named by --model and by --save" $few $rows --save "$dir/net.onnx"
expect 2 "lockstep-predict F.safetensors --onnx" mlp --save "$dir/mlp.onnx"
expect 2 "adapters are saved as" $few $rows --lora 1 --save "$dir/l.onnx"
expect 2 "has 2 inputs, \"x\"" onnx --model "$dir/pair.onnx:width=3" $rows
expect 1 "give sizes \"width=N\" behind the file's name" onnx --model "$dir/pair.onnx" \
    $rows
expect 1 "two.npz: has no array called \"z\"" onnx --model "$dir/z.onnx:width=3" \
    --x "$dir/two.npz" --y "$dir/classes.npy"
head -c 3000 "$dir/net.onnx" >"$dir/cut.onnx"
expect 1 "$dir/cut.onnx: no ONNX model" onnx --model "$dir/cut.onnx" $rows
expect 1 "$dir/gone.onnx" onnx --model "$dir/gone.onnx" $rows
expect 1 "is not a regular file" onnx --model "$dir" $rows
LC_ALL=C sed 's/Conv/Cons/g' "$dir/net.onnx" >"$dir/odd.onnx"
expect 1 "(Cons of (rows,2,8,8)" onnx --model "$dir/odd.onnx" $rows
LC_ALL=C sed 's/Gather/Gathar/; s/MatMul/MatMal/' "$dir/pair.onnx" \
    >"$dir/odd.onnx"
expect 1 "(Gathar of (4,3), (rows)" onnx --model "$dir/odd.onnx:width=3" $rows
has "all of them are told" err "note: $dir/odd.onnx: node "
has "the other one, too" err "(MatMal of (rows,3), (3,3)"
tool=$predict
expect 2 "lockstep-train onnx --save F.safetensors" "$dir/net.onnx" --c "$dir/n.c"
finish
