#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-train --augment: the same bytes on any number of workers and after a
# run went on, another set of images in each epoch, the sheet that shows them,
# and what is refused.  The images are arrays, so this needs no other library.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
. "$(dirname "$0")/../../support/shell.sh"

# bytes N: that many, which differ.
bytes() {
    awk "BEGIN { for (i = 0; i < $1; i++) printf \"\\\\%03o\\n\",
        (i * 37 + int(i * i / 11)) % 256 }" | while read -r line; do
        # shellcheck disable=SC2059 # the format is the byte
        printf "$line"
    done
}
{ npy '|u1' '(12, 8, 8, 1)'; bytes 768; } >"$dir/x.npy"
{ npy '|u1' '(12,)'; printf '\0\1\2\0\1\2\0\1\2\0\1\2'; } >"$dir/y.npy"
all="flip,crop:2,rotate:10,scale:0.8-1.2,brightness:0.2,contrast:0.2,cutout:3,mixup:0.2"
small="cnn --x $dir/x.npy --y $dir/y.npy --channels 4 --devices 2 --batch 6
    --log-every 0"
state() { sed -n 's/^state //p' "$dir/out"; }

# shellcheck disable=SC2086 # words, here and below
run $small --epochs 4 --augment $all --workers 1
is "augmented images are trained on" $status 0
one=$(state)
verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
run $small --epochs 1 --augment $all --transcript "$dir/t.lst"
"$verify" "$dir/t.lst" --data "$dir" >"$dir/out" 2>"$dir/err" </dev/null
is "augmented images are verified" $? 0
has "that their rows are not judged" out \
    'and not rows of a batch (they are augmented)'
run $small --epochs 4 --augment $all --workers 2
is "the same on two workers" "$(state)" "$one"
run $small --epochs 4
if [ "$(state)" != "$one" ]; then pass; else fail "images are others"; fi
run $small --epochs 4 --augment $all --data-seed 8
if [ "$(state)" != "$one" ]; then pass; else fail "another data seed"; fi

# A run that stopped in the second epoch goes on to the same end.
run $small --epochs 4 --augment $all --checkpoint "$dir/c" --stop-at 3
run $small --epochs 4 --augment $all --checkpoint "$dir/c" --resume
is "a run that went on" "$(state)" "$one"
expect 2 "--augment is flip, but was" $small --epochs 4 --augment flip --checkpoint "$dir/c" \
    --resume

# mean and std: what was normalised before is so afterwards.
run $small --epochs 2 --mean 0.5 --std 0.25
plain=$(state)
run $small --epochs 2 --mean 0.5 --std 0.25 --augment brightness:0
is "normalised after it" "$(state)" "$plain"

# A model of mixed images is evaluated, predicts and is written as source as
# others are: what is mixed is of its loss alone.
predict=${LOCKSTEP_PREDICT:-${top_builddir:-.}/lockstep-predict}
for model in "mlp --hidden 5" "cnn --channels 4" \
    "resnet --depth 8:width=8 --smoothing 0.1"; do
    run $model --x "$dir/x.npy" --y "$dir/y.npy" --eval-x "$dir/x.npy" \
        --eval-y "$dir/y.npy" --devices 2 --batch 6 --epochs 2 --log-every 0 \
        --augment mixup:0.4,flip --class-weights balanced \
        --save "$dir/m.safetensors"
    is "$model of mixed images" $status 0
    is "its evaluations" "$(grep -c 'eval step .* acc ' "$dir/out")" 2
    "$predict" "$dir/m.safetensors" "$dir/x.npy" --c "$dir/m.c" \
        --onnx "$dir/m.onnx" >"$dir/out" 2>"$dir/err"
    is "its predictions" "$? $(wc -l <"$dir/out") $(head -n 1 "$dir/out")" \
        "0 13 class,p0,p1,p2"
    is "its source" "$(grep -c '[*]share\|[*]other' "$dir/m.c")" 0
done

for wrong in turn "is none of flip" crop "is not as crop:4" \
    crop:1.5 "is not as crop:4" rotate:181 "0 to 180" \
    scale:1.2-0.8 "as scale:0.8-1.2" scale:1 "as scale:0.8-1.2" \
    flip:1 "takes no number" flip,flip "twice" mixup:2 "0.001 to 1" \
    "flip," "is none of" crop:x "is not as"; do
    if [ -z "${word-}" ]; then word=$wrong; continue; fi
    expect 2 "$wrong" $small --steps 1 --augment "$word"
    word=
done
expect 2 "--augment is for images of files" cnn --augment flip
finish
