#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-train and lockstep-predict on folders of pictures: classes by their
# names, sizes, rows held back, files that are broken, and that the bytes depend
# on no number of workers.  LOCKSTEP_TRAIN or top_builddir say where the tool is.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
predict=${LOCKSTEP_PREDICT:-${top_builddir:-.}/lockstep-predict}
. "$(dirname "$0")/../../support/shell.sh"

"${top_builddir:-.}/test/support/make_pictures" "$dir/pets" 12 || exit 77
state() { sed -n 's/^state //p' "$dir/out"; }
small="--channels 4,8 --devices 2 --batch 6 --lr 0.02 --log-every 0"

# ------ Training ------

for w in 1 2; do
    # shellcheck disable=SC2086 # words
    run cnn --data "$dir/pets" --image 16x16x3 --valid 0.25 --epochs 8 $small \
        --workers $w --save "$dir/m$w.safetensors"
    is "pictures are trained on" $status 0
    [ $w = 1 ] && one=$(state)
    is "the same state on $w workers" "$(state)" "$one"
    is "evaluations of what is held back" "$(grep -c 'eval step' "$dir/out")" 8
done
same "the same model file" "$dir/m1.safetensors" "$dir/m2.safetensors"
best=$(sed -n 's/.*eval best acc 0*\([0-9.]*\) .*/\1/p' "$dir/out")
is "it learns" "$(awk "BEGIN { print ($best > .5) }")" 1
# shellcheck disable=SC2086
for fit in fit stretch; do
    run cnn --data "$dir/pets" --image 16x16x3:fit=$fit --valid 0.25 \
        --epochs 8 $small
    is "--image :fit=$fit" $status 0
    if [ "$(state)" != "$one" ]; then pass; else fail "other pixels"; fi
done
# shellcheck disable=SC2086
run mlp --data "$dir/pets/" --image 8x8x1 --steps 2 --hidden 8 --devices 2 \
    --batch 4 --save "$dir/flat.safetensors"
is "mlp" $status 0
expect 1 "name a size that all become, as --image 64x64x3" cnn \
    --data "$dir/pets" --epochs 1
expect 1 "2 channels; there are" cnn --data "$dir/pets" --image 8x8x2
expect 2 "is no size as 32x32x3" cnn --data "$dir/pets" --image 8by8
expect 2 "--valid and --eval-data exclude" cnn --data "$dir/pets" \
    --image 8x8x3 --valid 0.1 --eval-data "$dir/pets"
expect 2 "is none of crop|fit|stretch" cnn --data "$dir/pets" --image :fit=cut

# ------ A transcript has the list of all pictures ------

verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
# shellcheck disable=SC2086
run cnn --data "$dir/pets/" --image 8x8x3 --steps 3 $small \
    --transcript "$dir/p.lst"
is "a transcript" $status 0
is "its manifest is the list's hash" \
    "$(head -n 1 "$dir/p.lst" | sed 's/.*"name":"pets","role":"--data","sha256":"\([^"]*\)".*/\1/')" \
    "$( (cd "$dir/pets" && find -L . -type f ! -path '*/.*' | cut -c3- |
        LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum) | sha256sum |
        cut -c1-64)"
"$verify" "$dir/p.lst" --data "$dir" >"$dir/out" 2>"$dir/err"
is "it verifies" $? 0
has "files" out "files   same: 1 of 1"
"$verify" "$dir/p.lst" --data "$dir/pets/" --only-bytes >"$dir/out" 2>"$dir/err"
is "the folder itself" $? 0
cp -r "$dir/pets" "$dir/other"
mkdir "$dir/moved" && mv "$dir/other" "$dir/moved/pets"
some=$(find "$dir/moved/pets" -type f | sort | head -n 1)
printf x >>"$some"
"$verify" "$dir/p.lst" --data "$dir/moved" >"$dir/out" 2>"$dir/err"
is "a byte more in one picture" $? 3
has "a byte more" out "files   differs: pets (--data): SHA-256"
mv "$some" "$some.png"
"$verify" "$dir/p.lst" --data "$dir/moved/pets" --only-bytes >"$dir/out" 2>&1
is "another name" $? 3

# ------ A run that goes on knows its pictures, not their files ------

cp -r "$dir/pets" "$dir/mine"
# shellcheck disable=SC2086
run cnn --data "$dir/mine" --image 8x8x3 --steps 8 $small
whole=$(state)
# shellcheck disable=SC2086
run cnn --data "$dir/mine" --image 8x8x3 --steps 8 $small \
    --checkpoint "$dir/ck" --stop-at 5
echo "behind the end" >>"$dir/mine/cat/000.png"
# shellcheck disable=SC2086
run cnn --data "$dir/mine" --image 8x8x3 --steps 8 $small --workers 1 \
    --checkpoint "$dir/ck" --resume
is "other bytes of the same pixels" "$(state)" "$whole"
rm -r "$dir/ck"
# shellcheck disable=SC2086
run cnn --data "$dir/mine" --image 8x8x3 --steps 8 $small \
    --checkpoint "$dir/ck" --stop-at 5
cp "$dir/mine/cat/002.png" "$dir/mine/cat/000.png"
# shellcheck disable=SC2086
expect 2 "the checksum of the data" cnn --data "$dir/mine" --image 8x8x3 \
    --steps 8 $small --checkpoint "$dir/ck" --resume

# ------ What it gets wrong ------

# shellcheck disable=SC2086
run cnn --data "$dir/pets" --image 16x16x3 --valid 0.25 --epochs 1 $small \
    --top-k 2 --lr 0.001
is "mistakes" $status 0
has "top-k" out "  top-2 "
is "a table of confusions" "$(grep -A 1 confusion "$dir/out" | tail -n 1 |
    tr -s ' ')" " cat dog green frog"
is "of all that is held back" \
    "$(awk '/confusion/ { on = 1; next } /^state/ { on = 0 }
        on { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) n += $i }
        END { print n }' "$dir/out")" 9
even=$(state)
# shellcheck disable=SC2086
run cnn --data "$dir/pets" --image 16x16x3 --valid 0.25 --epochs 1 $small \
    --lr 0.001 --class-weights balanced
if [ "$(state)" != "$even" ]; then pass; else fail "classes weigh the same"; fi
# shellcheck disable=SC2086
run cnn --data "$dir/pets" --image 16x16x3 --valid 0.25 --epochs 2 $small \
    --early-stop 5 --ema 0.5
is "mistakes of the best weights" $status 0
expect 2 "--class-weights is for files" cnn --class-weights balanced

# ------ Predicting ------

ask() {
    "$predict" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
}
ask "$dir/m1.safetensors" "$dir"/pets/cat/*.* "$dir"/pets/dog/00[01].*
is "predictions" $status 0
is "the header" "$(head -n 1 "$dir/out")" \
    "file,class,probability,p_cat,p_dog,p_green frog"
is "a line for each file" "$(wc -l <"$dir/out")" 15
is "its name first" "$(sed -n '2s/,.*//p' "$dir/out")" "$dir/pets/cat/000.png"
is "most cats are cats" \
    "$(awk -F, '/pets.cat/ && $2 == "cat" { n++ } END { print (n > 7) }' \
        "$dir/out")" 1
is "the class has the probability" \
    "$(awk -F, 'NR > 1 && $3 != $4 && $3 != $5 && $3 != $6' "$dir/out")" ""
sed -n 2p "$dir/out" >"$dir/alone"
ask "$dir/m1.safetensors" "$dir/pets/cat/000.png"
is "one alone" "$(sed -n 2p "$dir/out")" "$(cat "$dir/alone")"
ask "$dir/m1.safetensors" "$dir/pets"
is "all of a folder" "$(wc -l <"$dir/out")" 37
ask "$dir/m1.safetensors" "$dir/pets" --score --top-k 3
is "all are among three classes" \
    "$(sed 's/acc [01]\.[0-9]*/acc X/' "$dir/out")" "rows 36  acc X  top-3 1.0000"
ask "$dir/m1.safetensors" "$dir/pets" -o "$dir/said"
acc=$(awk -F, 'NR > 1 { split($1, at, "/"); n += at[length(at) - 1] == $2 }
    END { printf "%.4f", n / 36 }' "$dir/said")
is "lines tell the same" "$status" 0
ask "$dir/m1.safetensors" "$dir/pets" --score
is "the share of files whose class is their folder" "$(cat "$dir/out")" \
    "rows 36  acc $acc"
ask "$dir/m1.safetensors" "$dir/pets" --score --top-k 4
is "four of three" "$status $(cat "$dir/err")" \
    "2 lockstep-predict: --top-k: 4 is more than the 3 classes"
ask "$dir/m1.safetensors" "$dir/pets/cat/000.png" --score
is "a picture alone has no label" $status 2
ask "$dir/m1.safetensors" "$dir/pets" --explain
is "there are no columns to explain" $status 2
ask "$dir/m1.safetensors" "$dir/pets/dog"
is "a folder without classes" "$(wc -l <"$dir/out")" 13
ask "$dir/flat.safetensors" "$dir/pets/dog/001.jpg"
is "mlp knows the shape" $status 0

# A loss of smoothed or mixed labels counts no right ones: predictions do.
for how in "cnn --augment mixup:0.2 --channels 4,8" "resnet --depth 8:width=4 \
    --smoothing 0.1"; do
    # shellcheck disable=SC2086
    run $how --data "$dir/pets" --eval-data "$dir/pets" --image 16x16x3 \
        --epochs 1 --batch 6 --devices 2 --save "$dir/soft.safetensors"
    acc=$(sed -n 's/.*eval step .* \(acc [0-9.]*\).*/\1/p' "$dir/out")
    ask "$dir/soft.safetensors" "$dir/pets" --score
    is "the accuracy of ${how%% *}" "$(cat "$dir/out")" "rows 36  $acc"
done

# A finished run that is gone on with has nothing left to do, and shows the same.
for k in 1 2; do
    # shellcheck disable=SC2086
    run cnn --data "$dir/pets" --image 16x16x3 --valid 0.25 --steps 3 $small \
        --checkpoint "$dir/ended" --resume
    sed -n '/confusion/,/^state/p' "$dir/out" >"$dir/confusion$k"
done
has "the confusion at the end" confusion1 "confusion at step 0003"
same "and when gone on with" "$dir/confusion1" "$dir/confusion2"

# ------ What is broken ------

head -c 300 "$dir/pets/dog/001.jpg" >"$dir/pets/dog/cut.jpg"
cp "$dir/pets/dog/001.jpg" "$dir/pets/dog/named.png"
expect 1 "dog/cut.jpg: JPEG" cnn --data "$dir/pets" --image 8x8x3
has "and what to type" err "or leave out what is no picture (skip_broken, --skip-broken)"
rm "$dir/pets/dog/cut.jpg"
# shellcheck disable=SC2086
run cnn --data "$dir/pets" --image 16x16x3 --epochs 1 $small
is "a JPEG named as PNG" $status 0
printf 'GIF89a\0' >"$dir/pets/dog/named.png"
echo x >"$dir/pets/dog/notes"
# shellcheck disable=SC2086
run cnn --data "$dir/pets" --image 16x16x3 --valid 0.25 --epochs 8 $small \
    --skip-broken
is "as if they were not there" "$(state)" "$one"
has "how many" err "2 files are left out"
has "and why" err "dog/named.png: is a GIF picture, and not a PNG or JPEG"
ask "$dir/m1.safetensors" "$dir"/pets/dog/*
is "a broken input" $status 1
ask --skip-broken "$dir/m1.safetensors" "$dir"/pets/dog/*
is "a broken input left out" "$(wc -l <"$dir/out")" 13
rm "$dir/pets/dog/notes" "$dir/pets/dog/named.png"

# ------ Sets of their own ------

mkdir -p "$dir/sets/train" "$dir/sets/test/dog"
cp -r "$dir/pets/cat" "$dir/pets/dog" "$dir/sets/train"
mv "$dir/sets/train/dog/000.png" "$dir/sets/test/dog"
# shellcheck disable=SC2086
run cnn --data "$dir/sets" --image 16x16x3 --epochs 1 $small
has "the test set is evaluated" out "eval step"
ask "$dir/m1.safetensors" "$dir/sets" --score
is "of the test set" "$(cut -c 1-7 "$dir/out")" "rows 1 "
# shellcheck disable=SC2086
run cnn --data "$dir/sets/train" --eval-data "$dir/sets/test" \
    --image 16x16x3 --epochs 1 $small
has "so is a folder of classes" out "eval step"
mkdir "$dir/sets/test/cow"
cp "$dir/pets/cat/000.png" "$dir/sets/test/cow"
# shellcheck disable=SC2086
expect 1 "test/cow: there is no class of that name" cnn --data "$dir/sets" \
    --image 16x16x3 --epochs 1 $small
ask "$dir/m1.safetensors" "$dir/sets" --score
is "a class that was not trained on" $status 2
expect 2 "--image:fit needs --data" mlp --x "$dir/none.npy" \
    --y "$dir/none.npy" --image :fit=fit
echo "a,b
1,2" >"$dir/t.csv"
expect 2 "is for images of files" mlp --data "$dir/t.csv" --target b \
    --skip-broken
expect 2 "--image is for images" mlp --data "$dir/t.csv" --target b --image 8x8x3
finish
