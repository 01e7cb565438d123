#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# --checkpoint and --resume: a run that is killed with -9 at random moments, and
# resumed each time with other workers and another placement, ends as one that
# never was; contradictions are refused; a save that fails ends nothing else.
# KILLS says how many moments (12; make check-long: 500).
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
here=$(dirname "$0")
kills=12
[ "${LS_LONG:-0}" = 0 ] || kills=500
kills=${KILLS:-$kills}
# In memory where there is such a place: a killed process loses nothing there.
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
. "$(dirname "$0")/../../support/shell.sh"
at_end() { chmod -R u+w "$dir"; }

# Another backend where there is one.
other=native
with_blis && other=blis

state() { sed -n 's/^state //p' "$dir/out"; }

mlp="mlp --rows 256 --hidden 40,30 --batch 32 --epochs 40 \
    --schedule cosine:warmup=20 --clip-norm 1 --accumulate 2 --devices 2 --log-every 0"

# ------ wrong usage ------

run linear --steps 1
expect 2 "--resume needs --checkpoint" linear --resume
expect 2 "--checkpoint:keep needs --checkpoint" linear --checkpoint :keep=2
expect 2 "none/c: its folder: No such file" linear --checkpoint "$dir/none/c"
expect 2 "-: is not a file; /dev/stdout is the standard" linear --metrics -
expect 2 "-: is not a file; /dev/stdout is the standard" linear --save -

# ------ an unbroken run, with checkpoints and without ------

run $mlp --metrics "$dir/m"
want=$(state)
steps "$dir/m" >"$dir/steps"
run $mlp --checkpoint "$dir/c":every=7
is "checkpoints change nothing" "$(state)" "$want"
is "three are kept" "$(ls -A "$dir/c" | wc -l | tr -d ' ')" 3
expect 2 "holds 3 checkpoints already" $mlp --checkpoint "$dir/c"
expect 0 "goes on from step 320" $mlp --checkpoint "$dir/c" --resume
is "at the end nothing is left to do" "$(state)" "$want"
expect 0 "note: the 320 steps asked for are done already" $mlp --resume \
    --checkpoint "$dir/c"

run linear --steps 4 --checkpoint :every=1,keep=4294967297 --checkpoint "$dir/k"
is "a large number of them is all" "$(ls "$dir/k" | wc -l | tr -d ' ')" 4

# ------ contradictions ------

{ printf '\223NUMPY\1\0\166\0%-117s\n' \
    "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 1), }"
    head -c 32 /dev/zero; } >"$dir/x"

expect 2 "seed is 4, but was 0" $mlp --checkpoint "$dir/c" --resume --seed 4
expect 2 "lr is 0.5, but was 0.001" $mlp --checkpoint "$dir/c" --resume \
    --lr 0.5
expect 2 "--data-seed is 8, but was 7" $mlp --checkpoint "$dir/c" --resume --data-seed 8
expect 2 "--hidden is 40, but was 40,30" $mlp --checkpoint "$dir/c" \
    --resume --hidden 40
expect 2 "devices is 4, but was 2" $mlp --checkpoint "$dir/c" --resume \
    --devices 4
expect 2 "decay_steps is 400, but was 320" $mlp --checkpoint "$dir/c" \
    --resume --epochs 50

# ------ a checkpoint of a version that had parts as options ------

reseal=${RESEAL:-${top_builddir:-.}/test/support/reseal}
old="mlp --rows 64 --hidden 8 --batch 16 --schedule cosine:warmup=2,decay-steps=9"
run $old --steps 9
whole=$(state)
run $old --steps 4 --checkpoint "$dir/old"
json=$dir/old/step-000000000004/checkpoint.json
chmod u+w "$json"
sed 's/"--\(plateau\|lora\|init\|image\|missing\|transcript\):/"--\1-/
    s/-gradient"/-every-gradient"/; s/"--schedule:end"/"--end-lr"/
    s/"--lr:scale"/"--scale-lr"/; s/"--dropout:schedule"/"--dropout-schedule"/
    s/"--[a-z]*:\([a-z0-9-]*\)"/"--\1"/' "$json" >"$dir/json"
is "it names options" "$(grep -c '"--warm[u]p": "2"' "$dir/json")" 1
cat "$dir/json" >"$json"
"$reseal" "$json" || fail "no seal in $json"
cp -r "$dir/old" "$dir/old2"
run $old --steps 9 --checkpoint "$dir/old" --resume
has "it goes on" err "goes on from step 4"
is "to the same end" "$(state)" "$whole"
expect 2 "warmup is 3, but was 2" $old --steps 11 --schedule :warmup=3 \
    --checkpoint "$dir/old2" --resume

# ------ changes that are asked for ------

ten="mlp --rows 512 --d-in 8 --classes 3 --hidden 8 --schedule cosine"
run $ten --steps 10 --checkpoint "$dir/ten"
# go_on STATUS TEXT OPTIONS: from a copy of these ten steps.
go_on() {
    rm -rf "$dir/copy"
    cp -r "$dir/ten" "$dir/copy"
    expected=$1 said=$2
    shift 2
    expect "$expected" "$said" $ten --checkpoint "$dir/copy" --resume "$@"
}
go_on 2 "decay_steps is 20, but was 10 in the checkpoint; --schedule :decay-steps=10 \
keeps the schedule as it was; --change schedule goes on" --steps 20
go_on 0 "goes on from step 10" --steps 20 --schedule :decay-steps=10
is "nothing was changed" "$(grep -c changed "$dir/err")" 0
go_on 0 "note: changed from step 10: decay_steps 20 (was 10)" --steps 20 \
    --change steps
go_on 0 "decay_steps 48 (was 10)" --epochs 12 --change epochs
go_on 2 "decay_steps is 30, but was 10" --steps 20 --schedule :decay-steps=30 \
    --change steps
go_on 2 "lr is 0.01, but was 0.001 in the checkpoint; --change lr goes on" \
    --steps 10 --lr 0.01
go_on 2 "--change lr,schedule,clip-norm goes on with bits of its own" \
    --steps 20 --lr 0.01 --clip-norm 1 --schedule linear
go_on 2 "--optimizer:l2 is 0.1, but was 0 in the checkpoint; --change optimizer\
 goes on"     --steps 10 --optimizer :l2=0.1
go_on 2 "--clip-value is 1, but was 0 in the checkpoint; --change clip-value\
 goes on" --steps 10 --clip-value 1
go_on 0 "l2 0.1 (was not set)" --steps 10 --optimizer :l2=0.1 \
    --change optimizer
go_on 2 "lr is 0.01, but was 0.001" --steps 10 --lr 0.01 --hidden 9
is "a change that may not be gets no advice" "$(grep -c goes "$dir/err")" 0
go_on 2 "lr is 0.01, but was" --steps 20 --lr 0.01 --change schedule
go_on 2 "--change: \"batch\" is none of lr,optimizer,schedule," --change lr,batch
go_on 2 "--change: \"\" is none of lr," --change lr,
expect 2 "--change needs --resume" $ten --checkpoint "$dir/copy" --change lr
go_on 0 "note: changed from step 10: lr 0.01 (was 0.001), decay_steps 20 (was \
10); the bits are this run's own" --steps 20 --lr 0.01 --change lr,schedule
changed=$(state)
go_on 0 "" --steps 15 --lr 0.01 --schedule :decay-steps=20 \
    --change lr,schedule,log-every
expect 0 "goes on from step 15" $ten --checkpoint "$dir/copy" --resume --steps 20 \
    --lr 0.01 --workers 1
is "a changed run goes on like any" "$(state)" "$changed"
go_on 0 "schedule piecewise (was cosine)" --steps 15 \
    --schedule piecewise:boundaries=12:0.5 --change schedule
expect 0 "boundary 12 not set (was 0.5)" $ten --checkpoint "$dir/copy" --resume \
    --steps 20 --change schedule
is "all changes are recorded" "$(grep -c '"changes": "step 10: schedule .*; step 15: ' \
    "$dir"/copy/step-000000000020/checkpoint.json)" 1

run linear --checkpoint "$dir/e" --x "$dir/x" --y "$dir/x"
is "files are trained on" $status 0
cp "$dir/x" "$dir/elsewhere"
expect 0 "goes on" linear --checkpoint "$dir/e" --resume --x "$dir/elsewhere" \
    --y "$dir/x" --steps 2
printf '\1' | dd of="$dir/x" bs=1 seek=130 conv=notrunc 2>"$dir/err"
expect 2 "the checksum of the data is" linear --checkpoint "$dir/e" --resume \
    --x "$dir/x" --y "$dir/x" --steps 3
i=images-idx3-ubyte
{ printf '\0\0\10\3\0\0\0\10\0\0\0\2\0\0\0\2'; head -c 32 "$0"; } >"$dir/$i"
{ printf '\0\0\10\1\0\0\0\10'; head -c 8 /dev/zero; } >"$dir/labels-idx1-ubyte"
run mlp --data "$dir/$i" --checkpoint "$dir/i" --steps 1 --batch 8
is "images are trained on" $status 0
printf '\1' | dd of="$dir/$i" bs=1 seek=20 conv=notrunc 2>"$dir/err"
expect 2 "the checksum of the data is" mlp --data "$dir/$i" --resume \
    --checkpoint "$dir/i" --steps 2 --batch 8
expect 2 "precision is bf16, but was f32" $mlp --checkpoint "$dir/c" \
    --resume --precision bf16
expect 0 "goes on" $mlp --checkpoint "$dir/c" --resume --epochs 50 \
    --schedule :decay-steps=320 --log-every 3 --workers 2 --state shard \
    --backend "$other"

# ------ what comes with it ------

# A checkpoint of step 0 has its parameters: others do not come over them.
run linear --steps 0 --save "$dir/p" --seed 5
run linear --steps 0 --checkpoint "$dir/z"
is "step 0 is saved" "$(ls "$dir/z")" step-000000000000
run linear --checkpoint "$dir/z" --resume --init "$dir/p"
from=$(state)
run linear
is "a run that goes on is not begun again" "$from" "$(state)"
# Metrics go on where the checkpoint was, or not at all.
run linear --checkpoint "$dir/f" --metrics "$dir/j"
head -c 200 "$dir/j" >"$dir/short"
expect 1 "short: does not hold the" linear --checkpoint "$dir/f" --resume \
    --metrics "$dir/short" --steps 2
is "it is left alone" "$(wc -c <"$dir/short" | tr -d ' ')" 200
run linear --checkpoint "$dir/f" --resume --metrics "$dir/j" --steps 2
is "metrics of both steps" "$(grep -c '"step"' "$dir/j")" 2

# ------ a damaged one ------

newest=$(ls "$dir/c" | tail -n 1)
printf x >>"$dir/c/$newest/params.safetensors"
expect 0 "note: passed over: $dir/c/$newest/params" $mlp --checkpoint "$dir/c" \
    --resume --epochs 50 --schedule :decay-steps=320

# ------ the ten lines of Python ------

newest=$(ls "$dir/c" | tail -n 1)
if command -v python3 >/dev/null; then
    hash=$(python3 "$here/../../../examples/state_hash.py" "$dir/c/$newest")
    is "the hash by Python" "$hash" "$(state)"
else
    echo "skipped: no python3 to recompute the hash"
fi

# ------ with bf16 layers ------

run $mlp --precision bf16
bf16=$(state)
run $mlp --precision bf16 --epochs 11 --schedule :decay-steps=320 --checkpoint "$dir/b"
cp -R "$dir/b" "$dir/moved"
expect 0 "goes on from step 88" $mlp --precision bf16 --checkpoint "$dir/b" \
    --resume --workers 2
is "the state with bf16 layers" "$(state)" "$bf16"
if [ "$bf16" = "$want" ]; then fail "bf16 layers are f32"; else pass; fi

# The maker of bf16 products does not show: such a run may change hands.
LS_ISA=x86-64-v2
export LS_ISA
run $mlp --precision bf16 --steps 1
if [ $status -eq 0 ]; then
    expect 0 "goes on from step 88" $mlp --precision bf16 --resume \
        --checkpoint "$dir/moved"
    is "the state with bf16 layers at another level" "$(state)" "$bf16"
fi
unset LS_ISA

# ------ killed at random ------

# Milliseconds below 500: about as long as a run with a checkpoint after every
# 2nd step takes, so a kill falls into its start, a step, a save or its end.
random() { echo $((1 + $(od -An -N2 -tu2 /dev/urandom) % 500)); }

i=0 began=0 killed=0
rm -rf "$dir/c" "$dir/m"
while [ $killed -lt "$kills" ] && [ $i -lt $((10 * kills)) ]; do
    workers=$((1 + i % 2))
    place=shard
    [ $((i % 3)) -eq 0 ] && place=replicate
    timeout -s KILL "0.$(printf %03d "$(random)")" "$tool" $mlp --resume \
        --checkpoint "$dir/c":every=2 --metrics "$dir/m" \
        --workers $workers --state $place >"$dir/out" 2>"$dir/err"
    status=$?
    grep -q 'goes on' "$dir/err" && began=$((began + 1))
    [ $status -eq 137 ] && killed=$((killed + 1))
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
is "the state after $killed kills" "$(state)" "$want"
steps "$dir/m" >"$dir/steps2"
same "the metrics" "$dir/steps" "$dir/steps2"
echo "$killed of $i runs killed; $began had gone on from a checkpoint"

# ------ where it cannot be written ------

run $mlp --epochs 7 --schedule :decay-steps=320 --checkpoint "$dir/d"
# A limit on what files may hold is as good as a full disk.
(ulimit -f 8 && run $mlp --checkpoint "$dir/d" --resume --save "$dir/s" \
    --checkpoint :every=50 && [ $status -eq 1 ] &&
    grep -q 'params.safetensors: writing failed' "$dir/err" &&
    grep -q "the training goes on" "$dir/err" &&
    grep -q "$dir/s: writing failed" "$dir/err" &&
    [ "$(state)" = "$want" ])
is "a failed save is told, the training goes on, the status is 1" $? 0
is "the old one stays" "$(ls -A "$dir/d")" step-000000000056
expect 0 "goes on from step 56" $mlp --checkpoint "$dir/d" --resume
is "and goes on" "$(state)" "$want"

finish
