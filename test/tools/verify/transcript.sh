#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# --transcript and lockstep-verify: one file for any number of workers, any
# instruction level, and a run that was killed; a run that is another one, data,
# weights or checkpoints that are others, and a file that was changed are told
# apart, each with an exit status of its own.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
. "$(dirname "$0")/../../support/shell.sh"

# holds NAME COMMAND..: the command succeeds.
holds() {
    name_of=$1
    shift
    if "$@" >/dev/null 2>&1; then pass; else fail "$name_of"; fi
}

# Text that repeats, so that there is something to learn.
i=0
while [ $i -lt 400 ]; do
    echo "line $i of a text that a model reads, $((i * i % 97))"
    i=$((i + 1))
done >"$dir/text"

# More than 10^8 FLOP a batch, so that each step has a line of its own.
wide="mlp --hidden 512,512 --rows 256 --batch 64 --steps 40
    --schedule cosine:warmup=8 --clip-norm 1 --accumulate 2 --devices 2 --ema 0.9
    --log-every 0"
thin="mlp --hidden 48,48${wide#*512,512}" # the same in less time
mlp="$thin --transcript :every=1" # and a state after each step
gpt="gpt --data $dir/text --seq-len 16 --d-model 16 --heads 2 --layers 1
    --d-ff 32 --batch 8 --steps 24 --devices 2 --dropout 0.1 --eval-every 10
    --log-every 0"
linear="linear --steps 300 --log-every 0"

# ------ one file ------

for model in "$wide" "$mlp" "$gpt" "$linear"; do
    name=${model%% *}
    run $model --transcript "$dir/$name.lst" --save "$dir/$name.st"
    state=$(sed -n 's/^state //p' "$dir/out")
    is "$name trains" $status 0
    run $model --workers 1 --transcript "$dir/b" --save "$dir/$name.st"
    same "$name: one worker" "$dir/$name.lst" "$dir/b"
    LS_ISA=x86-64-v3 "$tool" $model --workers 2 --transcript "$dir/b" \
        --state shard --save "$dir/$name.st" >/dev/null 2>&1
    [ "$(uname -m)" != x86_64 ] ||
        same "$name: another level" "$dir/$name.lst" "$dir/b"
    holds "$name: the end has the state" \
        grep -q "\"state\":\"$state\"" "$dir/$name.lst"
    digest=$(sha256sum "$dir/$name.st" | cut -c1-64)
    holds "$name: the end has the model" \
        grep -q "\"model\":\"$digest\"" "$dir/$name.lst"
    # Each line has the hash of the one before.
    head -n 1 "$dir/$name.lst" | sha256sum | cut -c1-64 >"$dir/prev"
    sed -n 2p "$dir/$name.lst" >"$dir/second"
    holds "$name: prev" grep -q -f "$dir/prev" "$dir/second"
    ask 0 "replay  same: " "$dir/$name.lst" --data "$dir/text" \
        --weights "$dir/$name.st"
    ask 0 "\"replay\":{\"same\":true" "$dir/$name.lst" --json \
        --data "$dir/text"
done
is "short steps share lines" "$(wc -l <"$dir/linear.lst" | tr -d ' ')" 6

# ------ rows and gradients ------

# A step that is recorded too, one that is checked, and another placement give
# the same roots; each of these reduces in its own way.
more="--transcript :rows,gradient"
for model in "$thin" "$gpt" "$linear"; do
    name=${model%% *}
    run $model $more --transcript "$dir/a.lst" --workers 1
    is "$name: each step has both" "$(grep -c '"kind":"step"' "$dir/a.lst")" \
        "$(grep -c '"gradient":".*"rows":"' "$dir/a.lst")"
    for with in "--workers 2" "--state shard" "--check 1" \
        "--record 3 $dir/b.lsr"; do
        run $model $more --transcript "$dir/b" $with
        is "$name $with" $status 0
        same "$name: rows and gradients $with" "$dir/a.lst" "$dir/b"
    done
    ask 0 "replay  same: " "$dir/a.lst" --data "$dir/text"
done
run $thin --transcript :rows --transcript "$dir/a.lst"
run $thin --against "$dir/a.lst"
is "rows that the options do not ask for" $status 5
has "rows that the options do not ask for" out \
    "options --transcript is :rows in the file, missing here"
run $thin --transcript :rows --against "$dir/a.lst"
is "rows that they ask for" $status 0
expect 2 "--transcript:rows needs --transcript" $thin --transcript :rows

# ------ a run that was killed ------

run $wide --transcript "$dir/wide.lst" --save "$dir/mlp.st"
for every in 3 7; do
    rm -rf "$dir/c" "$dir/killed.lst"
    "$tool" $wide --checkpoint "$dir/c":every=$every --resume \
        --transcript "$dir/killed.lst" --workers 1 --save "$dir/mlp.st" \
        >"$dir/out" 2>"$dir/err" </dev/null &
    pid=$!
    sleep 0.1
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    run $wide --checkpoint "$dir/c":every=$every --resume \
        --transcript "$dir/killed.lst" --workers 2 --save "$dir/mlp.st"
    same "killed and gone on" "$dir/wide.lst" "$dir/killed.lst"
done
for stop in 1 5 13 39; do
    rm -rf "$dir/c"
    run $mlp --checkpoint "$dir/c" --stop-at $stop --transcript "$dir/s.lst"
    is "stopped at $stop: no end" "$(grep -c '"kind":"end"' "$dir/s.lst")" 0
    run $mlp --checkpoint "$dir/c" --resume --transcript "$dir/s.lst" \
        --save "$dir/mlp.st"
    same "stopped at $stop and gone on" "$dir/mlp.lst" "$dir/s.lst"
done
run $thin --checkpoint "$dir/d" --stop-at 8
expect 1 "was saved without --transcript" $thin --checkpoint "$dir/d" --resume \
    --transcript "$dir/late.lst"

# The head has said which files the run reads.
printf '%s\n' a,y 1,2 2,4 3,6 4,8 >"$dir/e.csv"
sheet="mlp --data $dir/e.csv --target y --batch 2 --epochs 9 --hidden 4
    --devices 2 --checkpoint $dir/e --transcript $dir/e.lst"
run $sheet --stop-at 4
cp "$dir/e.lst" "$dir/kept.lst"
expect 1 "and has no --eval-data: go on without it" $sheet --resume \
    --eval-data "$dir/e.csv"
same "a refusal leaves the file" "$dir/kept.lst" "$dir/e.lst"

# ------ options that changed, a rate that was lowered, an early end ------

rm -rf "$dir/c"
run $thin --checkpoint "$dir/c" --stop-at 14 --transcript "$dir/s.lst"
run $thin --checkpoint "$dir/c" --resume --change lr,clip-norm --lr 0.003 \
    --clip-norm 0.5 --transcript "$dir/s.lst" --stop-at 20
run $thin --lr 0.003 --clip-norm 0.5 --steps 50 --checkpoint "$dir/c" --resume \
    --change steps --transcript "$dir/s.lst" --checkpoint :keep=0
is "changed twice" "$(grep -c '"what":"change"' "$dir/s.lst")" 2
holds "from and to" grep -q \
    '"from":{"--clip-norm":"1".*"to":{"--clip-norm":"0.5","--lr":"0.003"' \
    "$dir/s.lst"
ask 0 "replay  same: 50 batches" "$dir/s.lst"
ask 0 "replay  same: 50 batches" "$dir/s.lst" --from 14 --checkpoint "$dir/c"
sed 's/"--lr":"0.003"/"--lr":"0.004"/' "$dir/s.lst" >"$dir/bad.lst"
ask 1 "does not have the hash" "$dir/bad.lst"
run $thin --checkpoint "$dir/c2" --stop-at 14 --transcript "$dir/s2.lst"
run $thin --checkpoint "$dir/c2" --resume --transcript "$dir/s2.lst" \
    --change lr --lr 0.004
ask 5 "differs" "$dir/s.lst" "$dir/s2.lst"
awk 'BEGIN {
    print "a,b,c"
    for (i = 0; i < 150; i++)
        print i * i % 31 "," i * 7 % 23 "," (i * i % 31 + i * 7 % 23 > 26)
}' >"$dir/t.csv"
table="mlp --data $dir/t.csv --target c --valid 0.2 --hidden 24 --batch 24
    --devices 2 --eval-every 5 --steps 200 --lr 0.2"
run $table --early-stop 3 --plateau 1 --transcript "$dir/p.lst"
holds "a plateau" grep -q '"scale":"[0-9a-f]*","what":"plateau"' "$dir/p.lst"
is "it stops once" "$(grep -c '"since":"3","what":"stop"' "$dir/p.lst")" 1
ask 0 "replay  same: " "$dir/p.lst" --data "$dir/t.csv"

# Rows that are left out are left out again.
{ cat "$dir/t.csv"; echo "3,4,"; } >"$dir/lacks.csv"
lacks="mlp --data $dir/lacks.csv --target c --hidden 8 --batch 24 --devices 2
    --steps 4"
run $lacks --missing :target=drop --transcript "$dir/lacks.lst"
ask 0 "replay  same: 4 batches" "$dir/lacks.lst" --data "$dir/lacks.csv"

# What a program did by itself is named, not passed over.
head -n 3 "$dir/mlp.lst" >"$dir/own.lst"
printf '{"kind":"event","n":1,"prev":"%s","times":"1","what":"set"}\n' \
    "$(tail -n 1 "$dir/own.lst" | sha256sum | cut -c1-64)" >>"$dir/own.lst"
ask 1 "event \"set\" of 1 is its program's own act" "$dir/own.lst"

# Options of a file that somebody made up: what lockstep-train would not write
# there never comes to it, least of all what writes files.
forged() {
    prev=$(printf '%064d' 0)
    sed "$1" "$dir/linear.lst" | while IFS= read -r line; do
        rest=${line#*\"prev\":\"}
        line="${line%%\"prev\":\"*}\"prev\":\"$prev${rest#????????????????????????????????????????????????????????????????}"
        printf '%s\n' "$line"
        prev=$(printf '%s\n' "$line" | sha256sum | cut -c1-64)
    done >"$dir/forged.lst"
}
forged 's/nothing/changes/'
same "forged as it was" "$dir/linear.lst" "$dir/forged.lst"
forged "s|\"--steps\":|\"--save\":\"$dir/stolen\",&|"
for how in "" "--record 1"; do
    ask 1 'names the option "--save", which' "$dir/forged.lst" $how \
        ${how:+"$dir/forged.lsr"}
done
forged "s|\"--steps\":|\"--metrics\":\"$dir/stolen\",&|"
ask 1 'names the option "--metrics", which' "$dir/forged.lst"
forged "s|\"generator\":|\"file --save\":\"$dir/stolen\",&|"
ask 1 'whose field "options" is not what it must be' "$dir/forged.lst"
forged "s|\"generator\":|\"file --save\":\"\",&|"
ask 3 '--save is an option, and no file' "$dir/forged.lst"
forged "s|\"--steps\":|\"--init\":\"/etc/hostname\",&|"
ask 1 'names the option "--init", which' "$dir/forged.lst"
hex=$(printf '%064d' 0)
for name in /etc/hostname .. . '' 'a\\u0007' 'a/b'; do
    forged "s|\"data\":\[|&{\"bytes\":1,\"name\":\"$name\",\"role\":\"--init\",\"sha256\":\"$hex\"}|"
    ask 1 'whose field "data" is not what it must be' "$dir/forged.lst"
done
one="{\"bytes\":1,\"name\":\"a\",\"role\":\"--init\",\"sha256\":\"$hex\"}"
forged "s|\"data\":\[|&$one,$one|"
ask 1 'whose field "data" is not what it must be' "$dir/forged.lst"
echo >"$dir/a"
forged "s|\"data\":\[|&$one|"
ask 3 'a (--init): SHA-256 0000000000000000.. recorded' "$dir/forged.lst"
forged "s|\"data\":\[|&$(echo "$one" |
    sed "s/\"$hex/\"$(sha256sum <"$dir/a" | cut -c1-64)/")|"
ask 3 'a has the role --init, and no option reads it' "$dir/forged.lst"
forged "s|\"lockstep-train linear\"|\"lockstep-train --save=$dir/stolen\"|"
ask 1 'which alone can train it again' "$dir/forged.lst"
is "nothing was written" "$(ls "$dir" | grep -c stolen)" 0

# ------ another run ------

against() {
    said=$1
    shift
    run "$@" --against "$dir/mlp.lst"
    is "$said: status" $status 5
    has "$said" out "against differs $dir/mlp.lst: $said"
}
against "line 1 (head): options seed is 0 in the file, 4 here" $mlp --seed 4
against "line 1 (head)" $mlp --batch 16
against "line 1 (head): options --data-seed is 7 in the file, 9" $mlp \
    --data-seed 9
run $mlp --against "$dir/mlp.lst" --workers 1
is "the same run" $status 0
has "the same run" out "against same 40 batches"
expect 2 "--transcript and --against exclude each other" $thin --transcript "$dir/x.lst" \
    --against "$dir/mlp.lst"
expect 1 "No such file" $thin --against "$dir/none.lst"

# ------ other files, other states ------

sed 's/line 7 /line 8 /' "$dir/text" >"$dir/text2"
ask 3 "files   differs: text" "$dir/gpt.lst" --data "$dir/text2"
ask 3 "not asked" "$dir/mlp.lst" --only-bytes --weights "$dir/gpt.st"
ask 0 "files   same: 2 of 2" "$dir/gpt.lst" --only-bytes --data "$dir/text" \
    --weights "$dir/gpt.st"
ask 1 "nowhere: No such file; --data PATH says where" "$dir/gpt.lst" \
    --data "$dir/nowhere"
mkdir "$dir/away" "$dir/away/deep"
cp "$dir/gpt.lst" "$dir/away"
ask 1 "away/text: No such file; --data PATH says where" "$dir/away/gpt.lst"
cp "$dir/text" "$dir/away/deep/renamed.md"
for data in away away/deep/renamed.md; do
    ask 0 "replay  same: " "$dir/gpt.lst" --data "$dir/$data"
done
rm -rf "$dir/c" "$dir/o"
run $thin --checkpoint "$dir/c":keep=0,every=8 \
    --transcript "$dir/e.lst":every=8 --save "$dir/thin.st"
run $thin --checkpoint "$dir/o":keep=0,every=8 --lr 0.002
run $thin --checkpoint "$dir/p":keep=0,every=8 --init "$dir/thin.st" \
    --transcript "$dir/q.lst":every=8
ask 0 "state   same: 5 checkpoints have the committed state" "$dir/e.lst" \
    --only-state --checkpoint "$dir/c"
ask 0 "state   same: 1 checkpoint has" "$dir/e.lst" --checkpoint "$dir/c" \
    --from 16
ask 0 "drawn by SHA-256(beacon, digest of the file)" "$dir/e.lst" --checkpoint "$dir/c" \
    --sample 2 --beacon 8a5f09d1
has "the chance" out "if one batch is wrong it went unseen with probability 0."
rm -r "$dir/c/step-000000000016"
cp -r "$dir/c/step-000000000024" "$dir/c/step-000000000016"
ask 4 "state   differs: the run came to 24 batches, not 16" "$dir/e.lst" \
    --checkpoint "$dir/c" --only-state
ask 4 "line 4 (state of 8): root is" "$dir/e.lst" --checkpoint "$dir/p" \
    --only-state
ask 1 "lr is 0.001, but was 0.002" "$dir/e.lst" --checkpoint "$dir/o" --only-state
ask 2 "--sample needs --beacon" "$dir/e.lst" --checkpoint "$dir/c" --sample 2
ask 2 "--from needs --checkpoint" "$dir/e.lst" --from 8
for beacon in xyz 8A; do
    ask 2 "--beacon $beacon: it takes digits" "$dir/e.lst" \
        --checkpoint "$dir/c" --sample 2 --beacon "$beacon"
done
ask 2 "no transcript is named"

# ------ a file that was changed ------

sed '4s/"root":"./"root":"f/' "$dir/mlp.lst" >"$dir/bad.lst"
ask 1 "does not have the hash of the line before" "$dir/bad.lst"
head -n 20 "$dir/mlp.lst" >"$dir/cut.lst"
ask 7 "has no end" "$dir/cut.lst"
sed '3d' "$dir/mlp.lst" >"$dir/bad.lst"
ask 1 "line 3" "$dir/bad.lst"
echo '{}' >"$dir/bad.lst"
ask 1 "no kind of line" "$dir/bad.lst"
ask 1 "is a safetensors file, and not a transcript" "$dir/mlp.st"

# Options without effect are refused, but where a run is trained again: it may be
# of a version that took them.
run linear --optimizer :no-decay,decay-schedule=linear --steps 4 --stop-at 3 \
    --transcript "$dir/idle.lst":every=1
ask 7 "has no end" "$dir/idle.lst"
ask 0 "" --record 1 "$dir/idle.lst" "$dir/idle.lsr"
run linear --optimizer :no-decay,decay-schedule=linear --steps 4
is "they are refused" $status 2

# ------ two files, and a statement ------

# The documents have the table of what may differ.
sed -n 's/^| \([a-z]*\) | `\([]a-z.[]*\)` | \(.*\) |$/\1|\2|\3/p' \
    "$top_srcdir/docs/transcript.md" >"$dir/documented"
tr -d '\n' <"$top_srcdir/lib/file/differ.c" | sed 's/" *"//g' |
    grep -o '{"[a-z]*", "[]a-z.[]*", "[^"]*"' |
    sed 's/^{"//; s/", "/|/g; s/"$//' >"$dir/coded"
is "there is a table of what may differ" \
    "$(($(wc -l <"$dir/coded") > 3))" 1
same "the table in docs/transcript.md" "$dir/coded" "$dir/documented"

cp "$dir/mlp.lst" "$dir/copy.lst"
ask 0 "same:" "$dir/mlp.lst" "$dir/copy.lst"
run $mlp --transcript "$dir/other.lst" --lr 0.002
ask 5 "differs: line 1 (head of 0): options" "$dir/mlp.lst" "$dir/other.lst"
is "other options lead to no step" "$(grep -c next: "$dir/out")" 0
ask 5 '{"same":false,"line":1,"text":"line 1 (head of 0): options' \
    "$dir/mlp.lst" "$dir/other.lst" --json
ask 2 "--only-bytes has no part in a comparison of two" "$dir/mlp.lst" \
    "$dir/other.lst" --only-bytes
ask 2 "--checkpoint has no part in --only-bytes" "$dir/e.lst" --only-bytes \
    --checkpoint "$dir/c"
ask 2 "--weights has no part in --only-state" "$dir/e.lst" --only-state \
    --checkpoint "$dir/c" --weights "$dir/mlp.st"
ask 2 "--weights has no part in --record" "$dir/mlp.lst" "$dir/none.lsr" \
    --record 1 --weights "$dir/mlp.st"
ask 0 "same" "$dir/mlp.lst" --weights "$dir/mlp.st" --attest "$dir/a.json"
holds "the statement's subject is the model" \
    grep -q "$(sha256sum "$dir/mlp.st" | cut -c1-64)" "$dir/a.json"
holds "the statement's type" \
    grep -q '"_type": "https://in-toto.io/Statement/v1"' "$dir/a.json"
[ ! -w /dev/full ] ||
    ask 1 "/dev/full: No space" "$dir/mlp.lst" --attest /dev/full

# What the referee has no evidence for is named; a record of a published run.
small="resnet --depth 8 --steps 2 --batch 4 --devices 2 --image 8x8x3"
run $small --norm group --transcript "$dir/group.lst"
ask 0 'referee knows every operator, update and schedule' "$dir/group.lst"
ask 0 '' --record 1:0 "$dir/group.lst" "$dir/group.lsr"
holds "the record of a step" "${top_builddir:-.}/lockstep-inspect" "$dir/group.lsr" \
    "$dir/group.lsr"
run $small --transcript "$dir/batch.lst"
ask 0 'referee knows every operator, update and schedule, and not rows of a batch (they are noise)' \
    "$dir/batch.lst"
ask 0 '"knows":true,"rows":false,"unknown":"rows of a batch (they are noise)"' \
    "$dir/batch.lst" --json
ask 0 '' --record 1:0 "$dir/batch.lst" "$dir/batch.lsr"

cp "$dir/mlp.st" "$dir/own.st"
run $mlp --init "$dir/own.st" --steps 10 --transcript "$dir/init.lst"
ask 0 'referee does not know first values, which the program set or read' \
    "$dir/init.lst" --data "$dir"
run linear --d-in 1025 --d-out 1025 --rows 8 --batch 8 --steps 1 --devices 2 \
    --initialiser orthogonal --transcript "$dir/wide.lst"
ask 0 'an orthogonal matrix of 1050625 numbers' "$dir/wide.lst"

# A name that is a part of another one is told, and each once.
cat >"$dir/trainer" <<'END'
#!/bin/sh
for name in 'schedule "odd" of decay' 'schedule "odd"' 'schedule' 'schedule "odd"'; do
    echo "referee does not know $name"
done
echo "against same 1 batch"
END
chmod +x "$dir/trainer"
ask 0 'replay' --trainer "$dir/trainer" "$dir/wide.lst"
is "names of which one is in another" \
    "$(sed -n 's/; rows of a batch.*//; s/^referee does not know //p' "$dir/out")" \
    'schedule "odd" of decay; schedule "odd"; schedule'

# ------ rows of the data ------

cc=${CC:-cc}
$cc -O2 -std=c99 "$top_srcdir"/tools/referee/*.c -o "$dir/referee" \
    >"$dir/out" 2>"$dir/err" || {
    echo "no compiler for the referee"
    finish
}

# judged NAME STEP OPTIONS: the batch of the step is what the referee finds under
# the transcript's root, and all else of the record is the transcript's: both
# states, with what an evaluation after the step made of them, and the step.
judged() {
    name=$1 step=$2
    shift 2
    run "$@" --transcript "$dir/rows.lst":every=1
    is "$name: a transcript" $status 0
    run "$@" --record "$step" "$dir/rows.lsr" --values
    "$dir/referee" "$dir/rows.lsr" "$dir/rows.lsr" "$dir/rows.lst" "$dir/rows.lst" \
        >"$dir/out" 2>"$dir/err"
    is "$name: the record's batch" $? 4
    is "$name: all is compared" "$(grep -c . "$dir/out")" 1
    grep -aq '"rows":{' "$dir/rows.lsr" || fail "$name: rows"
}

printf 'a,b,c\n' >"$dir/t.csv"
i=0
while [ $i -lt 150 ]; do
    echo "$((i * 7 % 13)).5,$((i * i % 31)),$((i % 3))"
    i=$((i + 1))
done >>"$dir/t.csv"
table="mlp --data $dir/t.csv --target c --hidden 5 --batch 32 --steps 9
    --devices 3 --log-every 0"
judged "a table" 6 $table
judged "an epoch's order" 8 $table --shuffle
judged "weights of rows" 5 $table --weight-column b --shuffle
watched="$table --ema 0.9 --valid 0.2 --eval-every 2 --plateau 1 --early-stop 3 --lr 0.5"
for step in 0 1 3 5 7; do
    judged "evaluations, step $step" $step $watched
done
grep -q '"what":"plateau"' "$dir/rows.lst" || fail "a rate that falls"
sed '/"first":7,/s/"root":"[0-9a-f]\{8\}/"root":"00000000/' "$dir/rows.lst" >"$dir/wrong.lst"
rm "$dir/rows.lsr"
run $watched --against "$dir/wrong.lst" --transcript :every=1 --record 7 "$dir/rows.lsr"
is "a step that differs" $status 5
is "and has its record" "$(ls "$dir" | grep -c '^rows.lsr')$(head -n 1 "$dir/rows.lsr")" \
    "1lockstep record"
judged "a text" 11 $gpt
cp "$dir/rows.lst" "$dir/text.lst"
ask 0 'referee knows every operator, update and schedule' "$dir/text.lst" \
    --data "$dir/text"
is "and rows" "$(grep -c 'rows of a batch' "$dir/out")" 0

# Another text has another root, which the head says.
mkdir "$dir/other"
sed 's/line 7 /line 8 /' "$dir/text" >"$dir/other/text"
run ${gpt%%"$dir/text"*}"$dir/other/text"${gpt#*"$dir/text"} --against "$dir/text.lst"
is "another text" $status 5
has "another text" out 'data --data is'

# A transcript without the root of its rows is none of this run.
run $gpt --steps 1 --transcript "$dir/linear.lst"
forged '1s/"source":"[0-9a-f]*",//'
ask 5 'source is missing in the file' "$dir/forged.lst" --data "$dir/text"

# A file that cannot be opened is status 1, and no difference: with ever more
# that may be, among them those that a search for options reads once more.
if [ -z "${CK_FORK:-}" ]; then
    awk 'BEGIN { print "a,b,y"; for (i = 0; i < 64; i++)
        print i % 7 "," i % 5 "," (i % 2 ? "yes" : "no") }' >"$dir/tuned.csv"
    run table --data "$dir/tuned.csv" --target y --hidden 4 --epochs 1 \
        --batch 32 --devices 2 --tune 2 --transcript "$dir/tuned.lst"
    options=$(sed -n 1p "$dir/tuned.lst" | tr ',' '\n' |
        sed -n 's/.*"\(--[a-z-]*\)":"\([^"]*\)".*/\1=\2/p' |
        sed -e '/=false$/d' -e 's/=true$//')
    program=${tool%/*}/.libs/lockstep-train # what libtool's script runs
    [ -x "$program" ] || program=$tool
    said=
    for files in 4 5 6 7 8; do
        # shellcheck disable=SC2016,SC2086 # sh's own; words
        LD_LIBRARY_PATH=${tool%/*}/.libs sh -c \
            'ulimit -n "$1" && shift && exec "$@"' sh $files "$program" table \
            --data "$dir/tuned.csv" --against "$dir/tuned.lst" $options \
            >"$dir/out" 2>"$dir/err" </dev/null
        said="$said $?"
    done
    is "no file is no difference" "$(echo "$said" | tr -d ' 1')" \
        "$(echo "$said" | tr -cd 0)"
    has "a transcript of a search is compared" out "against same"
fi
finish
