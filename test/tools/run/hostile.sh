#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the tools do with files, variables and notes that somebody prepared, with
# a terminal that goes away, and with numbers that run out: words and a status,
# and nothing of the user's is lost.  Needs POSIX tools.
build=${top_builddir:-.}
tool=${LOCKSTEP_TRAIN:-$build/lockstep-train}
inspect=${LOCKSTEP_INSPECT:-$build/lockstep-inspect}
info=${LOCKSTEP_INFO:-$build/lockstep-info}
reseal=${RESEAL:-$build/test/support/reseal}
pid=
. "$(dirname "$0")/../../support/shell.sh"
at_end() { [ -z "$pid" ] || kill -KILL $pid 2>/dev/null; }

linear="linear --devices 2 --workers 1"

# ------ Pipes, where a file is wanted ------

mkfifo "$dir/pipe"
expect 1 "pipe: is not a regular file" gpt --data "$dir/pipe"
mkfifo "$dir/images-pipe" "$dir/labels-pipe"
expect 1 "images-pipe: is not a regular file" mlp --data "$dir/images-pipe"
expect 1 "pipe: is not a regular file" linear --init "$dir/pipe"
expect 1 "pipe: is not a regular file" linear --x "$dir/pipe" --y "$dir/pipe"

expect 1 "pipe: is not a regular file; - reads a pipe, as COMMAND |" \
    table --data "$dir/pipe"

# ------ Text that would act on the terminal ------

# A right-to-left override (U+202E), an escape, C1's CSI, and a good e acute.
name=$(printf 'a\342\200\256b\302\233c\303\251')
{
    header=$(printf '{"%s\\u001b[31m":{"dtype":"F32","shape":[1],' "$name"
        printf '"data_offsets":[0,4]}}')
    printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s\\0\\0\\0\\0" \
        "$header"
} >"$dir/odd.safetensors"
"$inspect" "$dir/odd.safetensors" >"$dir/out" 2>"$dir/err"
is "inspect shows what acts as ?" "$(grep -c "a?b?c.*?\\[31m" "$dir/out")" 1
is "and characters as they are" \
    "$(grep -c "$(printf 'c\303\251')" "$dir/out")" 1
expect 1 "a?b?c" linear --init "$dir/odd.safetensors"

# Names of columns, classes, files and folders, in all that is printed of them:
# a carriage return, a new line that begins as a result does, escapes, C1's CSI
# and a right-to-left override.  raw FILE..: what of these comes through.
predict=${tool%/*}/lockstep-predict
raw() {
    cat "$@" | grep -ac "$(printf '[\001-\010\013-\037\177]')\\|^FORGED\\|$(
        printf '\302\233')\\|$(printf '\342\200\256')"
}
run gpt --data "$tool" --seq-len 4 --d-model 8 --heads 2 --d-ff 8 --layers 1 \
    --steps 0 --devices 2 --save "$dir/text.st"
echo "'$predict' '$dir/text.st' --generate 1 --prompt '$name'" >"$dir/say"
if command -v script >/dev/null; then # a terminal for its output
    script -qec "sh '$dir/say'" /dev/null >"$dir/out" </dev/null
    is "text that a model writes" \
        "$(grep -c "^a?b?c$(printf '\303\251')" "$dir/out")" 1
fi
odd=$(printf 'n\033[31m\r\nFORGED \342\200\256\302\233x')
mkdir "$dir/$odd"
in=$dir/$odd/$odd
awk -v odd="$(printf 'c<&\033[7m\r\nFORGED')" 'BEGIN {
    print "a,\"" odd "\",\"day" odd "\",y"
    for (i = 0; i < 64; i++)
        print i % 7 ",\"" (i % 3 ? odd : "v") "\",2024-0" 1 + i % 9 "-03,\"" \
            (i % 2 ? "no" : odd) "\"" }' >"$in.csv"
clean() { is "$1 shows names as ?" "$(raw "$dir/out" "$dir/err")" 0; }
small="--epochs 1 --hidden 4 --devices 2 --batch 32 --log-every 0"
run table --data "$in.csv" $small --save "$in.st" --checkpoint "$in" \
    --transcript "$in.lst" --record 0 "$in.lsr"
is "a table of odd names trains" $status 0
clean "a training"
run table --data "$in.csv" $small --checkpoint "$in" --resume --early-stop 1 \
    --eval-every 1
clean "a run that goes on"
run table --data "$in.csv" $small --cv 2
clean "--cv"
run table --data "$in.csv" $small --tune 1
clean "--tune"
run table --data "$in.csv" $small --seed 1 --against "$in.lst"
is "another seed" $status 5
clean "--against"
tool=$predict
run "$in.st" "$in.csv" --score --explain --plot "$dir/odd.svg"
is "odd names are explained" $status 0
clean "--explain"
is "a picture has none" "$(raw "$dir/odd.svg")" 0
has "and is XML" odd.svg "c&lt;&amp;?[7m"
run "$in.st" "$in"
clean "a failure"
tool=$inspect
run "$in.st"
clean "lockstep-inspect"
run --json "$in.st"
clean "lockstep-inspect --json"
run "$in.st" "$in/step-000000000002"
clean "lockstep-inspect of two"
run "$in.lsr" "$in.lsr"
clean "lockstep-inspect of records"
tool=${inspect%/*}/lockstep-verify
run "$in.lst" --data "$in.csv"
is "odd names are trained again" $status 0
clean "lockstep-verify"
run "$in.lst" --data "$dir/odd.svg"
clean "lockstep-verify of other data"
run "$in.lst" --json --only-bytes --data "$dir/odd.svg"
clean "lockstep-verify --json"
tool=${inspect%/*}/lockstep-scale
run table --data "$in.csv" --hidden 4 --batch 32 --steps 1 --repeat 1 \
    --no-roofs --workers 1
clean "lockstep-scale"
tool=$info
run --topology "$in"
clean "lockstep-info"
tool=${LOCKSTEP_TRAIN:-$build/lockstep-train}

# ------ Variables of the environment ------

HWLOC_SYNTHETIC="core:3 pu:1" "$info" >"$dir/out" 2>"$dir/err"
has "a machine by variable is said" err "HWLOC_SYNTHETIC is set"
HWLOC_SYNTHETIC="pack:1000 core:1000 pu:2" "$info" >"$dir/out" 2>"$dir/err"
is "one that would take hours is refused" \
    "$? $(grep -c 'more than 4096 PUs' "$dir/err")" "2 1"
HWLOC_XMLFILE=/dev/zero "$info" >"$dir/out" 2>"$dir/err"
is "a device is no topology" $? 1
has "and that is said" err '"/dev/zero": not a regular file'

if with_blis; then
    for family in 999999 -7; do
        BLIS_ARCH_TYPE=$family
        export BLIS_ARCH_TYPE
        expect 2 "BLIS_ARCH_TYPE=$family is no family" linear --backend blis
        unset BLIS_ARCH_TYPE
    done
fi

# ------ Checkpoints that are well sealed and untrue ------

run $linear --steps 3 --checkpoint "$dir/c" --metrics "$dir/m"
json=$dir/c/step-000000000003/checkpoint.json
cp "$json" "$dir/json"
cp "$dir/m" "$dir/m0"

# forge NAME VALUE: the note NAME says VALUE.
forge() {
    sed "s/\"$1\": \"[^\"]*\"/\"$1\": \"$2\"/" "$dir/json" >"$json"
    "$reseal" "$json" || fail "no seal in $json"
}

forge cursor 3
run $linear --steps 4 --checkpoint "$dir/c" --resume --metrics "$dir/m"
is "a note put back as it was is good" $status 0
cp "$dir/m0" "$dir/m"
rm -r "$dir/c/step-000000000004"

for value in 9223372036854775807 99999999999999999999 2 -3 abc "" 3x; do
    forge cursor "$value"
    expect 1 "cursor" $linear --steps 9 --checkpoint "$dir/c" --resume \
        --metrics "$dir/m"
    same "cursor $value: the metrics stay" "$dir/m" "$dir/m0"
done
for value in -5 -0x1 1 "" 7.5; do
    forge metrics "$value"
    run $linear --steps 9 --checkpoint "$dir/c" --resume --metrics "$dir/m"
    is "metrics $value: refused" $status 1
    same "metrics $value: they stay" "$dir/m" "$dir/m0"
done
first=$(head -n 1 "$dir/m0" | wc -c)
for value in 0 "$first" $((first + 1)); do
    forge metrics $((value))
    run $linear --steps 9 --checkpoint "$dir/c" --resume --metrics "$dir/m"
    is "metrics $value: refused" $status 1
    same "metrics $value: they stay" "$dir/m" "$dir/m0"
done
forge "epoch loss" none
expect 1 '"epoch loss" is none' $linear --steps 9 --checkpoint "$dir/c" --resume

# ------ One folder, two runs ------

# What started this script may ignore SIGHUP, as nohup does, and a shell cannot
# undo that.
default=
env --default-signal=HUP true 2>/dev/null && default="env --default-signal=HUP"

# start ARGS: a long run in the background, past its third step.
start() {
    rm -f "$dir/log"
    $default "$tool" $linear --steps 100000000 --log-every 1 --metrics "$dir/log" "$@" \
        >"$dir/out" 2>"$dir/err" </dev/null &
    pid=$!
    until grep -q '"step":3' "$dir/log" 2>/dev/null; do
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
}

start --checkpoint "$dir/two"
"$tool" $linear --checkpoint "$dir/two" --resume >"$dir/out2" 2>"$dir/err2"
is "a second run in one folder" $? 1
is "is refused in words" \
    "$(grep -c "another run keeps its checkpoints there" "$dir/err2")" 1

# ------ A small stack ------

# Sanitizers, which set CK_FORK, make frames larger.
if [ -z "${CK_FORK:-}" ]; then
    # shellcheck disable=SC3045 # every sh of Linux has it
    for other in lockstep-train lockstep-scale lockstep-predict lockstep-info \
        lockstep-inspect; do
        # shellcheck disable=SC3045 # every sh here has it
        (ulimit -s 64 && exec "${tool%/*}/$other" --help) >"$dir/out" \
            2>"$dir/err"
        is "$other with a small stack" "$? $(grep -c 'ulimit -s' "$dir/err")" \
            "1 1"
    done
    # shellcheck disable=SC3045
    (ulimit -s 128 && exec "$tool" lm --layers 1 --rows 64 --steps 1 \
        --clip-norm 1 --precision bf16 >"$dir/small" 2>&1)
    is "a stack of 128 kB is enough" $? 0
fi

# ------ A terminal that goes away ------

kill -HUP $pid
wait $pid
is "SIGHUP ends a run with" $? 129
pid=
has "SIGHUP: after a step" err "ends after this step"
run $linear --steps 1 --checkpoint "$dir/two"
has "SIGHUP leaves a checkpoint" err "two: holds"

# ------ Numbers that run out ------

# Rows of 1, targets of 10^4: the first update of a very large rate overflows,
# and nobody asks for another loss.
{
    npy '<f4' '(4, 1)'
    printf '\000\000\200\077%.0s' 1 2 3 4
} >"$dir/x.npy"
{
    npy '<f4' '(4, 1)'
    printf '\000\100\034\106%.0s' 1 2 3 4
} >"$dir/y.npy"
linear="$linear --x $dir/x.npy --y $dir/y.npy"
run $linear --steps 1 --save "$dir/w"
cp "$dir/w" "$dir/w0"
for steps in 1 2; do
    rm -rf "$dir/d"
    run $linear --steps $steps --lr 1e38 --save "$dir/w" \
        --checkpoint "$dir/d"
    is "a diverged run of $steps ends with" $status 1
    has "a diverged run of $steps names what" err "not finite"
    same "$steps: what was saved stays" "$dir/w" "$dir/w0"
    is "$steps: no such checkpoint" "$(find "$dir/d" -name 'step-*')" ""
done

finish
