#!/bin/sh
# --checkpoint and --resume: a run that is killed with -9 at random moments, and
# resumed each time with other workers and another placement, ends as one that
# never was; contradictions are refused; a save that fails ends nothing else.
# KILLS says how many moments (12; make check-long: 300).
set -u
LC_ALL=C
export LC_ALL
train=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
here=$(dirname "$0")
kills=${KILLS:-${LS_LONG:+300}}
kills=${kills:-12}
# In memory where there is such a place: a killed process loses nothing there.
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
dir=$(mktemp -d) || exit 99
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "FAIL: $1"
    sed 's/^/  err: /' "$dir/err"
    sed 's/^/  out: /' "$dir/out" | tail -n 5
}
run() {
    "$train" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
}
is() {
    if [ "$2" = "$3" ]; then pass; else fail "$1: \"$2\" is not \"$3\""; fi
}
# expect STATUS TEXT ARGS: the exit status, and TEXT on stderr.
expect() {
    code=$1 text=$2
    shift 2
    run "$@"
    if [ $status -eq "$code" ] && grep -qF -e "$text" "$dir/err"; then
        pass
    else
        fail "$*: status $status, or no \"$text\""
    fi
}
state() { sed -n 's/^state //p' "$dir/out"; }
# The metrics without the first line and the timings.
steps() { sed -e 1d -e 's/,"ms":[0-9.]*}$/}/' "$1"; }

mlp="mlp --rows 256 --hidden 40,30 --batch 32 --epochs 40 --schedule cosine
    --warmup 20 --clip-norm 1 --accumulate 2 --devices 2 --log-every 0"

# ------ wrong usage ------

run linear --steps 1
expect 2 "--resume needs --checkpoint" linear --resume
expect 2 "--keep needs --checkpoint" linear --keep 2
expect 1 "cannot be made" linear --checkpoint "$dir/none/c"

# ------ an unbroken run, with checkpoints and without ------

run $mlp --metrics "$dir/m"
want=$(state)
lines=$(grep -c Epoch "$dir/out")
steps "$dir/m" >"$dir/steps"
run $mlp --checkpoint "$dir/c" --checkpoint-every 7
is "checkpoints change nothing" "$(state)" "$want"
is "three are kept" "$(ls -A "$dir/c" | wc -l | tr -d ' ')" 3
expect 1 "holds 3 checkpoints already" $mlp --checkpoint "$dir/c"
expect 0 "goes on from step 320" $mlp --checkpoint "$dir/c" --resume
is "at the end nothing is left to do" "$(state)" "$want"

# ------ contradictions ------

expect 1 "seed is 4, but was 0" $mlp --checkpoint "$dir/c" --resume --seed 4
expect 1 "lr is 0.5, but was 0.001" $mlp --checkpoint "$dir/c" --resume \
    --lr 0.5
expect 1 "--data-seed is 8, but was 7" $mlp --checkpoint "$dir/c" --resume --data-seed 8
expect 1 "--hidden is 40, but was 40,30" $mlp --checkpoint "$dir/c" \
    --resume --hidden 40
expect 1 "devices is 4, but was 2" $mlp --checkpoint "$dir/c" --resume \
    --devices 4
expect 1 "decay_steps is 400, but was 320" $mlp --checkpoint "$dir/c" \
    --resume --epochs 50
expect 1 "precision is bf16, but was f32" $mlp --checkpoint "$dir/c" \
    --resume --precision bf16
expect 0 "goes on" $mlp --checkpoint "$dir/c" --resume --epochs 50 \
    --decay-steps 320 --log-every 3 --workers 2 --state shard

# ------ a damaged one ------

newest=$(ls "$dir/c" | tail -n 1)
printf x >>"$dir/c/$newest/params.safetensors"
expect 0 "note: passed over: $dir/c/$newest/params" $mlp --checkpoint "$dir/c" \
    --resume --epochs 50 --decay-steps 320

# ------ the ten lines of Python ------

newest=$(ls "$dir/c" | tail -n 1)
if command -v python3 >/dev/null; then
    hash=$(python3 "$here/../examples/state_hash.py" "$dir/c/$newest")
    is "the hash by Python" "$hash" "$(state)"
else
    echo "skipped: no python3 to recompute the hash"
fi

# ------ with bf16 layers ------

run $mlp --precision bf16
bf16=$(state)
run $mlp --precision bf16 --epochs 11 --decay-steps 320 --checkpoint "$dir/b"
expect 0 "goes on from step 88" $mlp --precision bf16 --checkpoint "$dir/b" \
    --resume --workers 2
is "the state with bf16 layers" "$(state)" "$bf16"
if [ "$bf16" = "$want" ]; then fail "bf16 layers are f32"; else pass; fi

# ------ killed at random ------

# Milliseconds below 500: about as long as a run with a checkpoint after every
# 2nd step takes, so a kill falls into its start, a step, a save or its end.
random() { echo $((1 + $(od -An -N2 -tu2 /dev/urandom) % 500)); }

i=0 began=0
rm -rf "$dir/c" "$dir/m"
while [ $i -lt "$kills" ]; do
    workers=$((1 + i % 2))
    place=shard
    [ $((i % 3)) -eq 0 ] && place=replicate
    timeout -s KILL "0.$(printf %03d "$(random)")" "$train" $mlp --resume \
        --checkpoint "$dir/c" --checkpoint-every 2 --metrics "$dir/m" \
        --workers $workers --state $place >"$dir/out" 2>"$dir/err"
    status=$?
    grep -q 'goes on' "$dir/err" && began=$((began + 1))
    if [ $status -ne 137 ] && [ $status -ne 0 ]; then
        fail "kill $i: status $status"
    fi
    # Start again now and then: a finished run has nothing left to kill.
    if [ $status -eq 0 ]; then
        is "after kill $i the end" "$(state)" "$want"
        rm -rf "$dir/c" "$dir/m"
    fi
    i=$((i + 1))
done
run $mlp --resume --checkpoint "$dir/c" --metrics "$dir/m"
is "the state after $kills kills" "$(state)" "$want"
steps "$dir/m" >"$dir/steps2"
if cmp -s "$dir/steps" "$dir/steps2"; then pass; else fail "the metrics"; fi
echo "$kills kills, $began runs that went on"

# ------ where it cannot be written ------

run $mlp --epochs 7 --decay-steps 320 --checkpoint "$dir/d"
rm -rf "$dir/d/.writing"
: >"$dir/d/.writing"
expect 1 "the training goes on" $mlp --checkpoint "$dir/d" --resume \
    --checkpoint-every 50
is "the run ends as it would" "$(state)" "$want"
is "the old one stays" "$(ls "$dir/d" | tail -n 1)" step-000000000056
rm "$dir/d/.writing"
expect 0 "goes on from step 56" $mlp --checkpoint "$dir/d" --resume
is "and goes on" "$(state)" "$want"

echo "$passed checks passed, $failed failed"
[ $failed -eq 0 ]
