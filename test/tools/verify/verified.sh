#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A published run is what it says or is refused: models, files and transcripts
# that were forged and chained again, cut files, folders and tars; and honest
# ones pass whoever trains them again and whatever their files are called.
# With LS_LONG=1 there are more honest runs.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
reseal=${RESEAL:-${top_builddir:-.}/test/support/reseal}
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
. "$(dirname "$0")/../../support/shell.sh"

# forge FILE SCRIPT: forged.lst is the transcript after sed, chained again.
forge() {
    prev=$(printf '%064d' 0)
    sed "$2" "$1" | while IFS= read -r line; do
        rest=${line#*\"prev\":\"}
        line="${line%%\"prev\":\"*}\"prev\":\"$prev${rest#????????????????????????????????????????????????????????????????}"
        printf '%s\n' "$line"
        prev=$(printf '%s\n' "$line" | sha256sum | cut -c1-64)
    done >"$dir/new.lst"
    ! cmp -s "$1" "$dir/new.lst" || fail "forging changed nothing: $2"
    mv "$dir/new.lst" "$dir/forged.lst"
}

digest() { sha256sum <"${1:-/dev/stdin}" | cut -c1-64; }

# claim FILE MODEL: forged.lst says that the run saved this model.
claim() { forge "$1" "\$s/\"model\":\"[0-9a-f]*\"/\"model\":\"$(digest "$2")\"/"; }

# released: forged.lst is run.lst of another release, with what its replay holds.
released() {
    forge "$dir/run.lst" '1s/"lockstep":"[^"]*"/"lockstep":"0.2.9"/'
    ask 6 "contents is" "$dir/forged.lst" --data "$dir/t.csv"
    contents=$(sed -n 's/^model .* in the file, \([0-9a-f]*\) here$/\1/p' "$dir/out")
    forge "$dir/forged.lst" "\$s/\"contents\":\"[0-9a-f]*\"/\"contents\":\"$contents\"/"
}

# other NAME ARGS: a model of other options is not the run's, though its digest
# is written into the transcript.
other() {
    name=$1
    shift
    run "$@" --transcript "$dir/other.lst" --save "$dir/other.st"
    is "$name trains" $status 0
    claim "$dir/run.lst" "$dir/other.st"
    ask 6 "model   differs: " "$dir/forged.lst" --data "$dir" \
        --weights "$dir/other.st"
    # And what it holds.
    contents=$(sed -n 's/.*"contents":"\([0-9a-f]*\)".*/\1/p' "$dir/other.lst")
    forge "$dir/forged.lst" "\$s/\"contents\":\"[0-9a-f]*\"/\"contents\":\"$contents\"/"
    ask 6 "contents is" "$dir/forged.lst" --data "$dir" \
        --weights "$dir/other.st"
    # Nor does it pass as another release's, whose bytes are not compared.
    claim "$dir/run.lst" "$dir/other.st"
    forge "$dir/forged.lst" '1s/"lockstep":"[^"]*"/"lockstep":"0.2.9"/'
    ask 6 "contents is" "$dir/forged.lst" --data "$dir" \
        --weights "$dir/other.st"
}

awk 'BEGIN {
    print "a,b,w,c"
    for (i = 0; i < 120; i++)
        print i * i % 31 "," i * 7 % 23 "," 1 + i % 2 "," \
            (i * i % 31 + i * 7 % 23 > 26 ? "yes" : "no")
}' >"$dir/t.csv"
awk -F, -v OFS=, 'NR > 1 { $4 = $4 == "yes" ? "no" : "yes" } { print }' \
    "$dir/t.csv" >"$dir/turned.csv"
i=0
while [ $i -lt 200 ]; do
    echo "line $i of a text, $((i * i % 97))"
    i=$((i + 1))
done >"$dir/text"

# ------ models ------

table="mlp --data $dir/t.csv --target c --hidden 6 --batch 24 --devices 2
    --valid 0.2 --eval-every 3 --log-every 0"
run $table --steps 30 --lr 0.5 --early-stop 2 --transcript "$dir/run.lst" \
    --save "$dir/run.st"
is "a table trains" $status 0
ask 0 "model   same: " "$dir/run.lst" --data "$dir" --weights "$dir/run.st"
has "which files" out "files   same: 2 of 2: --data t.csv, the model"
ask 0 "model   same: the run wrote the file" "$dir/run.lst" --data "$dir"
ask 0 '"model":{"same":true' "$dir/run.lst" --data "$dir" --json
ask 0 "replay  not asked" "$dir/run.lst" --data "$dir" --weights "$dir/run.st" \
    --only-bytes
ask 3 "files   differs: " "$dir/run.lst" --data "$dir" --weights "$dir/t.csv"

other "another seed" $table --steps 30 --lr 0.5 --early-stop 2 --seed 9
other "swapped labels" mlp --data "$dir/turned.csv" ${table#*t.csv} --steps 30 \
    --lr 0.5 --early-stop 2
other "another early stop" $table --steps 30 --lr 0.5
other "an average" $table --steps 30 --lr 0.5 --early-stop 2 --ema 0.5
other "another graph" $table --steps 30 --lr 0.5 --early-stop 2 --hidden 7
other "other columns" $table --steps 30 --lr 0.5 --early-stop 2 --ignore b

# twist SCRIPT: twisted.st is run.st after sed, which its reader takes, as is the
# model of forged.lst, whose head it names.
twist() {
    head=$(sed 1q "$dir/forged.lst" | digest)
    sed "s/\(transcript\":\"\)[0-9a-f]*/\1$head/; $1" "$dir/run.st" \
        >"$dir/twisted.st"
    "$reseal" "$dir/twisted.st" || fail "no seal"
    claim "$dir/forged.lst" "$dir/twisted.st"
    "${top_builddir:-.}/lockstep-inspect" "$dir/twisted.st" >"$dir/out" \
        2>"$dir/err"
    is "a model after $1" $? 0
}

# Means, scales and names of classes that are others, as this release's file,
# and as another's, of which what it holds is compared.
for script in 's/n[o]\\"/on\\"/' 's/\(mean[^,]*,\)\(.*\)\(mean[^,]*,\)/\3\2\1/' \
    's/scale\\":8[.]/scale\\":9./'; do
    cp "$dir/run.lst" "$dir/forged.lst"
    twist "$script"
    ask 6 "model   differs: " "$dir/forged.lst" --data "$dir/t.csv" \
        --weights "$dir/twisted.st"
    released
    twist ''
    ask 0 "model   same: " "$dir/forged.lst" --data "$dir/t.csv" \
        --weights "$dir/twisted.st"
    twist "$script"
    ask 6 "contents is" "$dir/forged.lst" --data "$dir/t.csv" \
        --weights "$dir/twisted.st"
done

# A run that ended early claims more steps than it made; where early stopping ended
# it no step tells, but its model names the head.
forge "$dir/run.lst" '1s/"--steps":"30"/"--steps":"60"/'
ask 6 "contents is" "$dir/forged.lst" --data "$dir/t.csv"
run $table --epochs 3 --transcript "$dir/three.lst" --save "$dir/three.st"
forge "$dir/three.lst" '1s/"--epochs":"3"/"--epochs":"9"/'
ask 5 "kind is state in the file, steps here" "$dir/forged.lst" \
    --data "$dir/t.csv"

# The best weights are the model without --early-stop, too; a transcript of a
# program that kept the last does not say so in its head, and is verified.
ask 0 "model   same: " "$dir/three.lst" --data "$dir" --weights "$dir/three.st"
run $table --steps 30 --lr 0.5 --early-stop 0 --transcript "$dir/last.lst"
is "one event says what is kept" "$(grep -c '"what":"saved"' "$dir/last.lst")" 1
forge "$dir/last.lst" '1s/"--early-stop":"0",//'
ask 0 "replay  same: " "$dir/forged.lst" --data "$dir/t.csv"

# Its tables were of one network, and of all epochs.
few="table --data $dir/t.csv --target c --hidden 8 --epochs 30 --seed 1"
run $few --ensemble 1 --early-stop 1000000 --transcript "$dir/one.lst"
forge "$dir/one.lst" '1s/"--ensemble":"1",//
    1s/"--early-stop":"1000000",//; 1s/"keeps":"best",//'
ask 0 "replay  same: " "$dir/forged.lst" --data "$dir/t.csv"
run $few --early-stop 2 --transcript "$dir/four.lst"
ask 0 "replay  same: " "$dir/four.lst" --data "$dir/t.csv"

small="mlp --data $dir/t.csv --target c --hidden 6 --batch 24 --devices 2
    --steps 6 --init $dir/run.st --lora 2"
run $small --transcript "$dir/lora.lst" --save "$dir/lora.st"
is "adapters train" $status 0
ask 0 "model   same: " "$dir/lora.lst" --data "$dir" --weights "$dir/lora.st"
run $small --lora :save=merged --save "$dir/merged.st" \
    --transcript "$dir/merged.lst"
ask 0 "model   same: " "$dir/merged.lst" --data "$dir" --weights "$dir/merged.st"
claim "$dir/lora.lst" "$dir/merged.st"
ask 6 "model   differs: " "$dir/forged.lst" --data "$dir" \
    --weights "$dir/merged.st"

# ------ files ------

forge "$dir/run.lst" "1s/\"sha256\":\"[0-9a-f]*\"/\"sha256\":\"$(digest "$dir/turned.csv")\"/"
ask 5 "data --data is" "$dir/forged.lst" --data "$dir/turned.csv"
forge "$dir/run.lst" '1s/"bytes":[0-9]*/"bytes":1/'
ask 5 "data --data is" "$dir/forged.lst" --data "$dir/t.csv"
forge "$dir/run.lst" '1s/"data":\[[^]]*\]/"data":[]/'
ask 3 "--data is an option, and no file" "$dir/forged.lst" --data "$dir/t.csv"
forge "$dir/run.lst" '1s/"role":"--data"/"role":"--init"/'
ask 3 "--data is an option, and no file" "$dir/forged.lst" --data "$dir/t.csv"
forge "$dir/run.lst" '1s/"file --data":"",/&"file --init":"",/'
ask 3 "--init is an option, and no file" "$dir/forged.lst" --data "$dir/t.csv"
# A name and a release may be others, but a model names its own run's head.
forge "$dir/run.lst" '1s/"name":"t.csv"/"name":"u.csv"/'
ask 6 "contents is" "$dir/forged.lst" --data "$dir/t.csv"
has "the training is the same" out "replay  same: "
released
ask 0 "its bytes were not compared" "$dir/forged.lst" --data "$dir/t.csv"
ask 6 "contents is" "$dir/forged.lst" --data "$dir" --weights "$dir/run.st"
ask 1 "--weights FILE names them" "$dir/forged.lst" --data "$dir/t.csv" \
    --attest "$dir/a.json"
for field in bits devices micro plan every sum source graph layout; do
    case $field in
    bits | devices | micro | plan | every) to='[0-9]*' new=77 ;;
    *) to='"[0-9a-f]*"' new="\"$(printf '%064d' 1)\"" ;;
    esac
    forge "$dir/run.lst" "1s/\"$field\":$to/\"$field\":$new/"
    "$verify" "$dir/forged.lst" --data "$dir/t.csv" >"$dir/out" 2>"$dir/err"
    status=$?
    if [ $status -ne 5 ] && [ $status -ne 1 ]; then
        fail "$field forged: status $status"
    elif ! cat "$dir/out" "$dir/err" | grep -q "$field\|contract"; then
        fail "$field forged: not named"
    else
        pass
    fi
done

# Two files of one name, under other names, and one array of several.
mkdir "$dir/a" "$dir/b" "$dir/mv"
run $small --transcript "$dir/init.lst"
cp "$dir/t.csv" "$dir/a"
cp "$dir/turned.csv" "$dir/b/t.csv"
cp "$dir/t.csv" "$dir/mv/one"
cp "$dir/turned.csv" "$dir/mv/other"
run mlp --data "$dir/a/t.csv" --eval-data "$dir/b/t.csv" --target c --hidden 6 \
    --batch 24 --devices 2 --steps 3 --transcript "$dir/two.lst"
is "two files of one name" $status 0
ask 0 "files   same: 2 of 2: --data t.csv, --eval-data t.csv" "$dir/two.lst" \
    --data "$dir/mv"
has "two files of one name" out "replay  same: 3 batches"
rm "$dir/mv/other"
ask 1 "t.csv: No such file; --data PATH says where the file of --eval-data" \
    "$dir/two.lst" --data "$dir/mv"

# ------ cut files ------

lines=$(wc -l <"$dir/run.lst")
for n in 2 3 $((lines - 1)); do
    head -n "$n" "$dir/run.lst" >"$dir/cut.lst"
    ask 7 "is incomplete" "$dir/cut.lst" --data "$dir/t.csv"
    has "the same so far" out "replay  same: "
done
ask 1 "names no model" "$dir/cut.lst" --data "$dir/t.csv" \
    --attest "$dir/a.json"

# ------ statements and samples ------

run mlp --hidden 8 --rows 64 --batch 16 --devices 2 --steps 40 \
    --transcript :every=4 --checkpoint "$dir/c":keep=0,every=8 \
    --transcript "$dir/s.lst" --save "$dir/s.st"
sample="--checkpoint $dir/c --beacon 8a5f09d1"
ask 0 "model   same: " "$dir/s.lst" $sample --sample 1 --attest "$dir/a.json"
has "the share" out "40 batches ("
has "the weights' part" out "and those that made the saved weights"
has "how much" a.json '"whole": false'
ask 0 "40 of 40 batches (100.0 %)" "$dir/s.lst" $sample --sample 99
ask 0 "model   same: " "$dir/s.lst" --weights "$dir/s.st" --attest "$dir/a.json"
has "all of it" a.json '"whole": true'
has "the type" a.json 'verified-training/v2'
run mlp --hidden 8 --rows 64 --batch 16 --devices 2 --steps 40 --seed 3 \
    --save "$dir/other.st"
claim "$dir/s.lst" "$dir/other.st"
ask 6 "model   differs: " "$dir/forged.lst" $sample --sample 1
for too_little in "--only-bytes" "--only-state --checkpoint $dir/c" \
    "--from 8 --checkpoint $dir/c"; do
    rm -f "$dir/a.json"
    ask 2 "--attest" "$dir/s.lst" --attest "$dir/a.json" $too_little
    is "no statement with $too_little" "$(ls "$dir" | grep -c '^a.json')" 0
done
ask 1 "names no model" "$dir/init.lst" --data "$dir" --attest "$dir/a.json"

# ------ folders, tars, sentences ------

run $table --steps 30 --lr 0.5 --early-stop 2 --publish "$dir/pub"
is "it is published" $status 0
same "as the run without" "$dir/run.lst" "$dir/pub/run.lst"
mkdir "$dir/mine"
for name in README.md SHA256SUMS; do # of somebody's own
    echo mine >"$dir/mine/$name"
    expect 2 "mine/$name: is there" $table --publish "$dir/mine"
    is "$name is kept" "$(cat "$dir/mine/$name")" mine
    rm "$dir/mine/$name"
done
cp -r "$dir/pub" "$dir/again"
echo "and how to cite it" >>"$dir/again/README.md"
cp "$dir/again/README.md" "$dir/mine"
run $table --steps 30 --lr 0.5 --early-stop 2 --publish "$dir/again"
same "a README.md that somebody wrote in" "$dir/mine/README.md" \
    "$dir/again/README.md"
has "is told of" err "again/README.md stays as it is"
expect 2 "leave --save out" $table --publish "$dir/pub" --save "$dir/x.st"
ask 1 "t.csv: No such file; --data PATH" "$dir/pub"
ask 0 "model   same: model.safetensors is what" "$dir/pub" --data "$dir/t.csv"
(cd "$dir" && sha256sum -c pub/SHA256SUMS >out 2>err)
is "sha256sum reads the list" $? 0
tar -C "$dir" --format=ustar -cf "$dir/pub.tar" pub
ask 0 "model   same: " "$dir/pub.tar" --data "$dir/t.csv"
tar -C "$dir/pub" --format=ustar -cf "$dir/dot.tar" .
ask 0 "model   same: " "$dir/dot.tar" --data "$dir/t.csv"
ask 0 "the best of the evaluations" --explain "$dir/pub"
has "it is unsigned" out "It is unsigned"
has "its defaults" out "--optimizer "
ask 0 "t.csv, " --explain "$dir/run.lst"
ask 2 "has no part in --explain" --explain "$dir/pub" --only-bytes
cp -r "$dir/pub" "$dir/bad"
echo >>"$dir/bad/SHA256SUMS"
ask 3 "SHA256SUMS names other files" "$dir/bad" --data "$dir/t.csv"
cp "$dir/other.st" "$dir/bad/model.safetensors"
cp "$dir/pub/SHA256SUMS" "$dir/bad"
ask 3 "model.safetensors: SHA-256" "$dir/bad" --data "$dir/t.csv"
rm "$dir/bad/run.lst"
ask 1 "has no run.lst" "$dir/bad"

# hostile NAME TEXT: bad.tar is refused.
hostile() {
    ask 1 "$2" "$dir/bad.tar" --data "$dir/t.csv"
    is "$1 wrote nothing" "$(ls "$dir/stolen" 2>/dev/null | wc -l | tr -d ' ')" 0
}
mkdir "$dir/h" "$dir/h/run"
cp "$dir/pub/"* "$dir/h/run"
ln -s /etc/hostname "$dir/h/run/model"
tar -C "$dir/h" --format=ustar -cf "$dir/bad.tar" run
hostile "a link" "something else than plain files"
rm "$dir/h/run/model"
ln "$dir/h/run/run.lst" "$dir/h/run/hard"
tar -C "$dir/h" --format=ustar -cf "$dir/bad.tar" run
hostile "a hard link" "something else than plain files"
rm "$dir/h/run/hard"
mkfifo "$dir/h/run/fifo"
tar -C "$dir/h" --format=ustar -cf "$dir/bad.tar" run
hostile "a pipe" "something else than plain files"
rm "$dir/h/run/fifo"
for name in "$dir/stolen/x" ../../stolen ../x run/../../x run/deep/x; do
    tar -C "$dir/h" --format=ustar -P -cf "$dir/bad.tar" run/run.lst \
        --transform "s|run/README.md|$name|" run/README.md
    hostile "$name" "of a published folder"
done
tar -C "$dir/h" --format=ustar -cf "$dir/bad.tar" run/run.lst run/run.lst \
    --hard-dereference
hostile "twice" "of a published folder"
tar -C "$dir/h" --format=ustar -cf "$dir/bad.tar" run/run.lst
tar -C "$dir/h/run" --format=ustar -rf "$dir/bad.tar" README.md
hostile "two folders" "of several folders"
tar -C "$dir/h" --format=ustar -cf "$dir/good.tar" run
for bytes in 300 512 700 1500; do
    head -c $bytes "$dir/good.tar" >"$dir/bad.tar"
    "$verify" "$dir/bad.tar" --data "$dir/t.csv" >"$dir/out" 2>"$dir/err"
    is "cut after $bytes bytes" $? 1
done
sed '1s/ustar/ustaR/' "$dir/good.tar" | head -c 3000 >"$dir/bad.tar"
ask 1 "" "$dir/bad.tar"
{ head -c 124 "$dir/good.tar"; printf '77777777777\0'
  tail -c +137 "$dir/good.tar"; } >"$dir/bad.tar"
hostile "a size that is not so" "a checksum of it is wrong"

# ------ honest ones ------

# honest ARGS: whoever trains it again gets it.
honest() {
    run "$@" --transcript "$dir/h.lst" --save "$dir/h.st" --workers 1
    is "$*" $status 0
    mkdir -p "$dir/renamed"
    cp "$dir/t.csv" "$dir/renamed/1.dat"
    cp "$dir/text" "$dir/renamed/2.dat"
    for workers in $many; do
        for level in $levels; do
            [ "$level" = any ] || { LS_ISA=$level; export LS_ISA; }
            ask 0 "model   same: " "$dir/h.lst" --data "$dir/renamed" \
                --weights "$dir/h.st" --workers "$workers"
            unset LS_ISA
        done
    done
}
many=2 levels=any
if [ "${LS_LONG:-0}" != 0 ]; then
    many="1 2 3"
    levels=$("${top_builddir:-.}/lockstep-info" --verify 2>/dev/null |
        sed -n 's/^\(x86-64-v[234]\|plain\|neon\)$/\1/p' | sort -u)
    [ "$levels" ] || levels=any
fi
gpt="gpt --data $dir/text --seq-len 8 --d-model 8 --heads 2 --layers 1 --d-ff 16
    --batch 8 --steps 4 --devices 3"
honest linear --steps 20 --devices 3
honest $gpt --dropout 0.1
if [ "${LS_LONG:-0}" != 0 ]; then
    for how in "--optimizer sgd" "--optimizer adamw:weight-decay=0.1" \
        "--ema 0.9" "--schedule cosine:warmup=2" "--clip-norm 1" \
        "--accumulate 2" "--precision bf16" "--transcript :rows" \
        "--transcript :gradient" "--early-stop 2" "--plateau 1"; do
        honest $table --steps 12 $how
        case $how in
        --early* | --plateau*) ;;
        *) honest $gpt $how ;;
        esac
    done
    honest $table --steps 12 --weight-column w
    for stop in 1 5 11; do
        rm -rf "$dir/k"
        run $table --steps 12 --checkpoint "$dir/k" --stop-at $stop \
            --transcript "$dir/k.lst"
        run $table --steps 12 --checkpoint "$dir/k" --resume \
            --transcript "$dir/k.lst" --save "$dir/k.st"
        ask 0 "model   same: " "$dir/k.lst" --data "$dir/renamed" \
            --weights "$dir/k.st"
    done
fi

finish
