#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that no command destroys what it reads or what was there before it: a
# file that is read is not written, whatever it is called, nor is one written
# twice; a run that fails leaves old results; and what cannot be written at the
# end is refused before the training.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
corpus=$(cd "$(dirname "$0")" && pwd)/../../fuzz/corpus/npy
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

# kept NAME FILE: it holds what it held.
kept() {
    same "$1" "$2" "$2.was"
}

awk 'BEGIN { print "a,b,y"; for (i = 0; i < 64; i++)
    print i % 7 "," i % 5 "," (i % 2 ? "yes" : "no") }' >table.csv
cp table.csv table.csv.was
small="mlp --data table.csv --target y --batch 32 --hidden 4 --steps 2
    --log-every 0"
tool=$build/lockstep-train
# shellcheck disable=SC2086 # words
"$tool" $small --save model >out 2>err || fail "the model"
cp model model.was
ln -s table.csv link
ln table.csv hard

# ------ lockstep-train ------

for option in --save --metrics --plot --trace; do
    # shellcheck disable=SC2086 # words
    expect 2 "is named by --data and by $option" $small $option ./table.csv
    # shellcheck disable=SC2086 # words
    expect 2 "is named by --data and by $option" $small $option hard
done
kept "a table is not written" table.csv
# shellcheck disable=SC2086 # words
expect 2 "is named by --init and by --save" $small --init model --lora 1 \
    --save model
kept "nor by adapters, which need it" model
cp model again
# shellcheck disable=SC2086 # words
expect 0 "" $small --init again --save again
differ "a model may be replaced by what it has become" again model
# shellcheck disable=SC2086 # words
expect 0 "" $small --metrics /dev/null --plot /dev/null

# One rule for links: the file that one names is written, and the link stays.
for option in --save --metrics --plot --trace --transcript "--record 0"; do
    rm -f by-name
    echo old >target
    ln -s target by-name
    # shellcheck disable=SC2086 # words
    expect 0 "" $small $option by-name
    is "$option: a link stays one" "$(find by-name -type l)" by-name
    differ "$option: what it names is written" target table.csv
    is "$option: in the place of what was there" "$(grep -cx old target)" 0
    rm target
    # shellcheck disable=SC2086 # words
    expect 2 "by-name: is a link to nothing" $small $option by-name
done
rm by-name

# walk WORDS KNOWN ARGS: each option of $tool (as its --help has them, behind
# WORDS) that takes a file or a folder names what KNOWN does.  Behind an output
# it is refused, whatever the option does; an input stays as it is.
walk() {
    words=$1 known=$2
    shift 2
    # shellcheck disable=SC2086 # one word or none
    "$tool" $words --help all | awk '/^  --/ { word = $1 }
        /^  --[a-z0-9-]+ [^ ]*(F\.|FILE|PATH|DIR|PROGRAM)/ { print word }
        /^    :[a-z]+=[^ ]*(F\.|FILE|PATH|DIR|PROGRAM)/ {
            print word, substr($1, 1, index($1, "=")) }' >options
    [ "$(wc -l <options)" -ge 5 ] || fail "$words: the options of --help"
    while read -r option part; do
        needs=
        case $option$part in
        "$known") continue ;; # a mode without outputs
        --config) continue ;; # read before any file is written
        --tune:file=) needs="--tune 2" ;;
        --lora:init=) needs="--lora 1 --init a" ;;
        --eval-x) needs="--x a.npy" ;;
        --eval-y) needs="--x a.npy --eval-x b.npy" ;;
        esac
        [ "$tool $option" != "$build/lockstep-predict --plot" ] ||
            needs=--explain
        case $known in
        --*)
            # shellcheck disable=SC2086 # words
            expect 2 "one of the two would be lost" $words "$@" $needs \
                "$known" new.c "$option" "$part./new.c"
            [ ! -e new.c ] || fail "$known $option: a file is made" ;;
        *)
            # shellcheck disable=SC2086 # words
            run $words "$known" "$@" $needs "$option" "$part$known"
            kept "$words: $option does not write $known" "$known" ;;
        esac
    done <options
}
for model in table cnn linear gpt onnx; do
    walk $model --metrics
done
tool=$build/lockstep-predict
walk "" --output model table.csv
walk "" model table.csv
tool=$build/lockstep-verify
"$build/lockstep-train" linear --steps 2 --transcript run.lst >out 2>err
cp run.lst run.lst.was
walk "" --attest run.lst
walk "" run.lst
tool=$build/lockstep-scale
walk mlp --json
tool=$build/lockstep-train

# An array of a file is the file.
cp "$corpus/npz_deflated" d.npz
cp d.npz d.npz.was
arrays="mlp --x d.npz:x --y d.npz:y --batch 4 --steps 2"
for option in --save --metrics --plot --trace; do
    # shellcheck disable=SC2086 # words
    expect 2 "is named by --x and by $option" $arrays $option d.npz
done
# shellcheck disable=SC2086 # words
expect 2 "is named by --mask and by --metrics" mlp --x x.npy --y y.npy \
    --mask d.npz:mask --metrics ./d.npz
kept "an array's file is not written" d.npz

# Images are a folder, or have their labels beside them.
mkdir set
{ npy '|u1' '(4, 4, 4)'; head -c 64 /dev/zero; } >set/train-images.npy
{ npy '|u1' '(4,)'; printf '\0\1\0\1'; } >set/train-labels.npy
cp set/train-images.npy set/x_one.npy
cp set/train-labels.npy set/y_one.npy
cp set/train-labels.npy labels.was
cp set/train-images.npy images.was
ln set/train-labels.npy labels
images="cnn --batch 4 --devices 2 --steps 1"
for option in --save --metrics --plot --trace; do
    # shellcheck disable=SC2086 # words
    expect 2 "belongs to what --data names, and $option" $images --data set \
        $option set/train-images.npy
    # shellcheck disable=SC2086 # words
    expect 2 "belongs to what --data names, and $option" $images --data set \
        $option labels
    # shellcheck disable=SC2086 # words
    expect 2 "belongs to what --data names, and $option" $images \
        --data set/x_one.npy $option set/y_one.npy
done
# shellcheck disable=SC2086 # words
expect 2 "belongs to what --eval-data names, and --metrics" $images \
    --data set/x_one.npy --eval-data set/train-images.npy \
    --metrics set/train-labels.npy
same "images are not written" set/train-images.npy images.was
same "nor their labels" set/train-labels.npy labels.was
same "nor those of one file" set/y_one.npy labels.was
# shellcheck disable=SC2086 # words
expect 0 "" $images --data set --metrics set/metrics --save set/model
# shellcheck disable=SC2086 # words
expect 0 "" $images --data set --metrics set/metrics --save set/model
cp table.csv x.csv
cp table.csv y.csv
expect 0 "" mlp --data x.csv --target y --batch 32 --steps 1 --metrics y.csv

# Pictures are all files of their folder, and those of checkpoints too.
mkdir -p pictures/cat pictures/dog kept/step-000000000001
for picture in pictures/cat/1.png pictures/dog/2.png; do
    echo picture >$picture
done
cp pictures/cat/1.png picture.was
ln pictures/cat/1.png its-link
ln -s ../pictures/dog/2.png kept/its-name
cp picture.was kept/step-000000000001/arrays.safetensors
for option in --save --metrics --plot --trace --transcript \
    "--record 0"; do
    for name in pictures/cat/1.png its-link kept/its-name; do
        # shellcheck disable=SC2086 # words
        expect 2 "belongs to what --data names, and" cnn --data pictures \
            $option $name
    done
    # shellcheck disable=SC2086 # words
    expect 2 "belongs to what --checkpoint names, and" cnn --data set \
        --checkpoint kept $option kept/step-000000000001/arrays.safetensors
done
same "a picture is not written" pictures/cat/1.png picture.was
same "nor is another" pictures/dog/2.png picture.was
rm -r kept

# A folder of --publish has files of its own.
mkdir theirs
echo mine >theirs/README.md
cp theirs/README.md readme.was
# shellcheck disable=SC2086 # words
expect 2 "theirs/README.md: is there" $small --publish theirs
same "a file that was there stays" theirs/README.md readme.was

# A run whose first step fails has nothing better than what is there.
{ npy '<f4' '(2, 1)'; printf '\0\0\300\177\0\0\300\177'; } >nan.npy
cp model old
cp old old.was
run linear --x nan.npy --y nan.npy --devices 2 --save old
is "the first step fails" $status 1
kept "no update replaces nothing" old

# (Sanitizers, which set CK_FORK, write files of their own as a program begins.)
if [ -z "${CK_FORK:-}" ]; then
    # shellcheck disable=SC2086 # words
    (ulimit -f 0
    "$tool" $small --metrics new >/dev/null 2>&1)
    is "no first line of metrics" $? 1
fi
# shellcheck disable=SC2086 # words
"$tool" $small --log-every 1 --metrics lines --checkpoint kept --save streams \
    <&- >&- 2>&-
is "closed streams are a failure" $? 1
is "and nothing is printed into files" "$(grep -c '^{' lines) $(grep -cv '^{' \
    lines)" "2 0"

# ------ lockstep-predict ------

tool=$build/lockstep-predict
run model table.csv
cp out predicted
for option in -o --onnx; do
    name=$option
    [ $option = -o ] && name=--output
    expect 2 "is named by INPUT and by $name" model table.csv $option hard
    expect 2 "is named by MODEL and by $name" model table.csv $option model
done
expect 2 "is named by INPUT and by --output" model table.csv -o link
expect 2 "is named by MODEL and by --onnx" model --onnx ./model
expect 2 "is named by --output and by --onnx" model table.csv -o new --onnx new
kept "what is read is not written" table.csv
kept "nor the model" model

cp table.csv cut.csv
echo 1 >>cut.csv
cp predicted old.csv
cp old.csv old.csv.was
run model cut.csv -o old.csv
is "a row that is cut short" $status 1
kept "a failure leaves old results" old.csv
run model cut.csv -o none.csv
is "and makes no new ones" "$(ls none.csv* 2>/dev/null)" ""
# A limit on what files may hold is as good as a full disk.
if [ -z "${CK_FORK:-}" ]; then
    (ulimit -f 0
    "$tool" model table.csv -o old.csv 2>/dev/null)
    is "a disk that is full" $? 1
    kept "does, too" old.csv
fi
chmod 600 old.csv
ln -s old.csv by
run model table.csv -o by
same "through a link" old.csv predicted
is "which stays one, with the mode" "$(find by -type l) $(stat -c %a old.csv)" \
    "by 600"
run model table.csv -o /dev/stdout
same "standard output by its name" out predicted

cp set/train-images.npy set/t10k-images.npy
expect 2 "belongs to what INPUT names, and --output" set/model set \
    -o set/t10k-images.npy
same "nor are images" set/t10k-images.npy images.was

# Where no other file can take the place of the old one the lines go into it.
mkdir small
cp table.csv under.csv
awk 'BEGIN { print "a,b"; for (i = 0; i < 320; i++) print i % 7 "," i % 5 }' \
    >long.csv
: >mounted.csv
: >disk.csv
if unshare -rm true 2>/dev/null; then
    unshare -rm sh -c 'mount --bind under.csv mounted.csv &&
        "$1" model table.csv -o mounted.csv &&
        mount -t tmpfs -o size=4k none small && : >small/f &&
        mount --bind small/f disk.csv &&
        ! "$1" model long.csv -o disk.csv' sh "$tool" >err 2>&1
    is "a file that is a mount point" $? 0
    same "is written" under.csv predicted
    has "on a disk that is full" err "disk.csv: No space left on device"
    has "the result is kept" err "what would be there is in"
    kept=$(sed -n 's/.*; what would be there is in //p' err)
    is "whole, with a header" "$(head -n 1 "$kept"), $(wc -l <"$kept")" \
        "$(head -n 1 predicted), 321"
    rm -f "$kept"
else
    echo "skipped: a file that is a mount point: unshare -rm is refused"
fi
mkdir sticky
chmod 1777 sticky
cp predicted sticky/theirs.csv
if chown nobody sticky/theirs.csv 2>/dev/null; then
    chmod 640 sticky/theirs.csv
    run model table.csv -o sticky/theirs.csv
    is "a file keeps its owner and its mode" \
        "$(stat -c '%U %a' sticky/theirs.csv)" "nobody 640"
    chown nobody sticky
    chmod 666 sticky/theirs.csv
    : >sticky/theirs.csv
    if unshare -r true 2>/dev/null; then
        unshare -r "$tool" model table.csv -o sticky/theirs.csv 2>err
        is "a file of a stranger in a folder like /tmp" $? 0
        same "is written" sticky/theirs.csv predicted
        is "and stays theirs" "$(stat -c %U sticky/theirs.csv)" nobody
    fi
else
    echo "skipped: files of other owners: only root can give one away"
fi

# A signal takes along what is not whole.
"$build/lockstep-train" rnn --data table.csv --seq-len 4 --cell :units=8 --layers 1 \
    --batch 4 --devices 2 --steps 1 --log-every 0 --save says >out 2>err ||
    fail "a model that says something"
"$tool" says --generate 1000000000 -o ended.txt 2>err &
pid=$!
until ls ended.txt.tmp-* >out 2>&1; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
is "text goes aside" "$(wc -l <out | tr -d ' ')" 1
kill -TERM $pid
wait $pid
is "SIGTERM ends it" $? 143
is "and nothing is left" "$(ls ended.txt* 2>/dev/null)" ""

# C source has a header beside it.
cp model m.h
cp model m.h.was
expect 2 "m.h: is named by MODEL and by F.h of --c" m.h --c m.c
expect 2 "m.h: is named by INPUT and by F.h of --c" model m.h -o x --c m.c
expect 2 "is named by --onnx and by F.h of --c" model --onnx r.h --c r.c
kept "a header is not written over a model" m.h

# ------ lockstep-verify ------

tool=$build/lockstep-verify
expect 2 "is named by RUN.lst and by --attest" run.lst --attest run.lst
expect 2 "is named by --weights and by --attest" run.lst --weights model \
    --attest model
expect 2 "is named by RUN.lst and by --record" --record 1 run.lst run.lst
expect 2 "belongs to what --data names, and --attest" run.lst --data pictures \
    --attest pictures/cat/1.png
kept "a transcript is not written" run.lst

# So do folders of models that a --cv which was killed left.
mkdir -p scratch/lockstep-folds-abcdef scratch/lockstep-folds-longer-name
echo half >scratch/lockstep-folds-abcdef/0
# shellcheck disable=SC2086 # words
TMPDIR=$PWD/scratch "$build/lockstep-train" $small --cv 2 >out 2>err ||
    fail "a cross-validation"
is "what a killed one left is gone" "$(ls scratch)" lockstep-folds-longer-name

# What a run that was killed left beside its output goes with the next.
echo half >x.csv.tmp-lockstep-0
"$build/lockstep-predict" model table.csv -o x.csv >out 2>err ||
    fail "predictions"
is "what was left is gone" "$(ls x.csv*)" x.csv

# ------ lockstep-scale ------

tool=$build/lockstep-scale
expect 2 "is named by --report and by --json" linear --json new --report ./new
expect 2 "is named by --data and by --json" mlp --data table.csv --target y \
    --json table.csv
kept "a table is not written over" table.csv

is "nothing is left aside" "$(find . -name '*.tmp-*')" ""
finish
