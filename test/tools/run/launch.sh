#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-train is one of several ranks or says why it cannot be:
# built with MPI, what it prints has the bytes of one process on any number of
# ranks; built without, it refuses, as lockstep-scale does.
tool=./lockstep-train
# In memory where there is such a place: a save takes no disk's time there.
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
. "$(dirname "$0")/../../support/shell.sh"

args="mlp --devices 6 --batch 24 --steps 5 --log-every 1 --seed 3"

# What a launcher says, without one.
for size in OMPI_COMM_WORLD_SIZE MV2_COMM_WORLD_SIZE PMI_SIZE \
    SLURM_STEP_NUM_TASKS WORLD_SIZE; do
    [ -z "${MPIRUN:-}" ] || break
    tool=./lockstep-scale
    export $size=3 RANK=0
    expect 1 "started as one of 3 ranks ($size)" linear --devices 2 --steps 1
    unset RANK
    [ $size != WORLD_SIZE ] || expect 0 "" linear --devices 2 --steps 1
    unset $size
done
if [ -z "${MPIRUN:-}" ]; then
    PMIX_RANK=0
    export PMIX_RANK
    expect 1 "one of several ranks (PMIX_RANK)" linear --devices 2 --steps 1
    SLURM_STEP_NUM_TASKS=1
    export SLURM_STEP_NUM_TASKS
    expect 0 "" linear --devices 2 --steps 1
    unset PMIX_RANK SLURM_STEP_NUM_TASKS
fi
PMI_SIZE=2
export PMI_SIZE
if [ -z "${MPIRUN:-}" ]; then
    tool=./lockstep-info
    expect 1 "built without MPI"
    run --topology "core:4 pu:1"
    is "another machine has no ranks" "$status" 0
fi
tool=./lockstep-train
PMI_SIZE=1
export PMI_SIZE
run linear --devices 2 --steps 1
is "the only rank is alone" "$status" 0
unset PMI_SIZE

if [ -z "${MPIRUN:-}" ]; then
    PMI_SIZE=2
    export PMI_SIZE
    expect 1 "built without MPI" linear --devices 2 --steps 1
    finish
    exit
fi

ranks_anywhere

# shellcheck disable=SC2086 # options are words
./lockstep-train $args >"$dir/alone" 2>"$dir/err"
for ranks in 1 2 4 6; do
    # shellcheck disable=SC2086
    $MPIRUN -n $ranks ./lockstep-train $args >"$dir/out" 2>"$dir/err"
    if cmp -s "$dir/alone" "$dir/out"; then pass; else fail "$ranks ranks"; fi
done
is "one hash" "$(grep -c '^state [0-9a-f]\{64\}$' "$dir/out")" 1
printf 'a\0b\0c\0d\0e\0f\0g\0h\0' >"$dir/tokens.bin"
$MPIRUN -n 2 ./lockstep-train gpt --data "$dir/tokens.bin" --seq-len 8 \
    --d-model 8 --heads 2 --d-ff 8 --layers 1 --steps 1 --batch 8 --devices 2 \
    >"$dir/out" 2>"$dir/err"
is "a note on the data is the first rank's" \
    "$(grep -c '^note: .*tokens of 16 bits' "$dir/err")" 1
# Checkpoints: the files of one process, from which any number goes on.
saved="$args --schedule cosine --optimizer adam --steps 12 --checkpoint :every=3
    --resume"
# shellcheck disable=SC2086
./lockstep-train $saved --checkpoint "$dir/c1" >"$dir/alone" 2>"$dir/err"
# shellcheck disable=SC2086
$MPIRUN -n 4 ./lockstep-train $saved --checkpoint "$dir/c4" >"$dir/out" \
    2>"$dir/err"
same "the output with checkpoints" "$dir/alone" "$dir/out"
if diff -r "$dir/c1" "$dir/c4" >"$dir/err"; then pass; else fail "files"; fi
is "of three saves" "$(ls -A "$dir/c4" | wc -l | tr -d ' ')" 3

# What a run that fails had learned is saved, with an average too, which the
# ranks take together.
$MPIRUN -n 2 ./lockstep-train linear --devices 2 --steps 60 --lr 30 --ema 0.9 \
    --save "$dir/failed.st" >"$dir/out" 2>"$dir/err"
has "it fails" err "the loss is not finite"
has "it is saved" err "failed.st: the parameters after"
is "the file is there" "$(head -c 40 "$dir/failed.st" | wc -c)" 40

# A transcript of one process, verified by one to five ranks; and written by
# them, with the roots of rows and gradients, and their leaves by their owners.
# shellcheck disable=SC2086
hashed="--transcript :every=2,rows,gradient"
# shellcheck disable=SC2086 # words
./lockstep-train $args --transcript "$dir/t.lst" $hashed >"$dir/alone" 2>"$dir/err"
root=$(sed -n 's/^root //p' "$dir/alone")
is "a root" ${#root} 64
for ranks in 1 2 3 4 5; do
    # shellcheck disable=SC2086
    $MPIRUN -n $ranks ./lockstep-train $args --against "$dir/t.lst" $hashed \
        >"$dir/out" 2>"$dir/err"
    has "verified by $ranks ranks" out "against same 5 batches"
    rm -rf "$dir/cr"
    # shellcheck disable=SC2086
    $MPIRUN -n $ranks ./lockstep-train $args --transcript "$dir/r.lst" $hashed \
        --checkpoint "$dir/cr" >"$dir/out" 2>"$dir/err"
    same "written by $ranks ranks" "$dir/t.lst" "$dir/r.lst"
    is "the root of $ranks ranks" "$(sed -n 's/^root //p' "$dir/out")" "$root"
    is "the root in the checkpoint of $ranks ranks" \
        "$(grep -c "\"root\": \"$root\"" "$dir"/cr/*/checkpoint.json)" 1
done

# Ranks that are killed at any moment, and others, with other instructions, that
# go on: the launcher starts a shell, which leaves its number and becomes the
# rank.  KILLS says how many must be killed.
kills=2
[ "${LS_LONG:-0}" = 0 ] || kills=200
kills=${KILLS:-$kills}
cat >"$dir/rank" <<'EOS'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
echo $$ >"$1/pid.$rank"
level=$(sed -n "$((rank + 1))p" "$1/levels")
[ -n "$level" ] && LS_ISA=$level && export LS_ISA
shift
exec "$@"
EOS
chmod +x "$dir/rank"
other=x86-64-v3
LS_ISA=$other ./lockstep-train linear --steps 0 >"$dir/out" 2>"$dir/err" || other=
# random BELOW
random() { echo $(($(od -An -N2 -tu2 /dev/urandom) % $1)); }

# go_on RANKS: with a level for each; leaves the launcher's number in $launcher
go_on() {
    rm -f "$dir"/pid.*
    for _ in 1 2 3 4 5; do
        if [ "$(random 2)" = 0 ]; then echo; else echo "$other"; fi
    done >"$dir/levels"
    # shellcheck disable=SC2086
    $MPIRUN -n "$1" "$dir/rank" "$dir" ./lockstep-train $saved --steps 60 \
        --schedule :decay-steps=60 --checkpoint "$dir/ck" --log-every 0 \
        >"$dir/out" 2>"$dir/err" &
    launcher=$!
}
# shellcheck disable=SC2086
./lockstep-train $saved --steps 60 --schedule :decay-steps=60 --log-every 0 \
    --checkpoint "$dir/cw" >"$dir/alone" 2>"$dir/err"
killed=0 runs=0
while [ $killed -lt "$kills" ] && [ $runs -lt $((20 * kills + 20)) ]; do
    ranks=$((1 + $(random 5))) runs=$((runs + 1))
    go_on $ranks
    sleep "0.$(printf %03d "$(random 999)")"
    victim=$(cat "$dir/pid.$(random $ranks)" 2>/dev/null)
    [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null
    if wait $launcher; then
        same "after $killed kills" "$dir/alone" "$dir/out"
        rm -rf "$dir/ck"
    else
        killed=$((killed + 1))
        [ $((killed % 20)) != 0 ] || echo "$killed of $runs runs killed"
        if grep -q 'ranks differ' "$dir/err"; then fail "refused"; fi
    fi
done
go_on 3
wait $launcher
is "the last one ends" $? 0
same "after all kills" "$dir/alone" "$dir/out"
if diff -r "$dir/cw" "$dir/ck" >"$dir/err"; then pass; else fail "last files"; fi
echo "$killed of $runs runs killed"
# What one rank is told otherwise, and what it reads, ends all.
cat >"$dir/odd" <<'EOS'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
[ "$rank" = 1 ] || shift
[ "$rank" = 1 ] && more=$1 && shift
# shellcheck disable=SC2086
exec "$@" ${more:-}
EOS
chmod +x "$dir/odd"
# odd SAID OPTIONS ARGS: one rank has the options besides.  Where ranks find out
# at the same time, one ends all, and MPICH's launcher may say 9, with which it
# has killed the other one.
odd() {
    said=$1
    shift
    $MPIRUN -n 2 "$dir/odd" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
    if [ "$wrong $status" = "1 9" ]; then status=1; fi
    is "odd: $1" $status "$wrong"
    has "odd: $1" err "$said"
}
wrong=2
odd "lockstep-train: rank 1 of 2: unknown option --bogus" "--bogus" \
    ./lockstep-train $args
odd "lockstep-info: unknown option --bogus" --bogus ./lockstep-info --devices 2
wrong=1
# What is wrong with all of them is said once.
for option in "--bogus" "--devices 2" "--check :heal"; do
    # shellcheck disable=SC2086
    $MPIRUN -n 3 ./lockstep-train $args $option >"$dir/out" 2>"$dir/err"
    is "$option is wrong" $? 2
    is "$option: one says so" "$(grep -c '^lockstep-train: ' "$dir/err")" 1
done
odd "steps is 6 on rank 1, and 5 on rank 0" "--steps 6" ./lockstep-train $args
is "one rank says so" "$(grep -c 'ranks differ' "$dir/err")" 1
odd "--batch is 12 on rank 1, and 24 on rank 0" "--batch 12" \
    ./lockstep-train $args
odd "--rows is 240 on rank 1" "--rows 240" ./lockstep-train $args
odd "--lr is 0.2 on rank 1, and 0.1 on rank 0" "--lr 0.2" \
    ./lockstep-scale linear --devices 2 --steps 1
# Every option that may move a message, given to one rank.
for option in "--check all" "--stop-at 1" "--transcript $dir/o.lst" \
    "--against $dir/t.lst" "--save $dir/o.st" "--checkpoint $dir/co" \
    "--eval-every 2" "--ema 0.9" "--clip-norm 1" "--bucket 4096" \
    "--state shard" "--data-seed 8"; do
    name=${option% *}
    odd "ranks differ: $name is " "$option" ./lockstep-train $args
done
# And those that are each rank's own.
for option in "--workers 1" "--metrics $dir/om" "--log-every 2" \
    "--trace $dir/ot" "--backend native"; do
    $MPIRUN -n 2 "$dir/odd" "$option" ./lockstep-train $args >"$dir/out" \
        2>"$dir/err"
    is "$option on one rank" $? 0
done

# Files that one rank has otherwise: the rows in full, whatever they are, those
# that are evaluated on, and the parameters to begin with.
head -c 9000 /dev/zero | tr '\0' a >"$dir/text"
{ head -c 1500 "$dir/text" && printf odd && head -c 7497 "$dir/text"; } \
    >"$dir/other"
gpt="./lockstep-train gpt --seq-len 6 --d-model 8 --heads 2 --layers 1 --d-ff 8
    --steps 2 --batch 8 --devices 4 --log-every 0 --data $dir/text"
for i in 1 2; do # an odd number in the 71st row
    { npy '<f4' '(100, 8)' && head -c 2276 /dev/zero && printf "\\$i" &&
        head -c 923 /dev/zero; } >"$dir/x$i.npy"
    ./lockstep-train $args --seed $i --save "$dir/m$i" >"$dir/out" 2>"$dir/err"
done
{ npy '<i4' '(100,)' && head -c 400 /dev/zero; } >"$dir/y.npy"
odd "the checksum of the data is " "--data $dir/other" $gpt
odd "the checksum of the data evaluated on is " "--eval-data $dir/other" \
    $gpt --eval-data "$dir/text"
odd "the checksum of the data is " "--x $dir/x2.npy" ./lockstep-train $args \
    --x "$dir/x1.npy" --y "$dir/y.npy"
odd "the checksum of the data evaluated on is " "--eval-x $dir/x2.npy" \
    ./lockstep-train $args --x "$dir/x1.npy" --y "$dir/y.npy" \
    --eval-x "$dir/x1.npy" --eval-y "$dir/y.npy"
odd "the hash of the parameters is " "--init $dir/m2" ./lockstep-train $args \
    --init "$dir/m1"

# A rank that shows its help, or works apart, lets no other one wait.
for tool in train scale info; do
    case $tool in
    info) words="./lockstep-info --devices 2" ;;
    *) words="./lockstep-$tool linear --devices 2" ;;
    esac
    # shellcheck disable=SC2086
    odd "rank 1 has other options" --help $words
    # shellcheck disable=SC2086
    odd "rank 1 has other options" --version $words
    # shellcheck disable=SC2086
    $MPIRUN -n 2 $words --help >"$dir/out" 2>"$dir/err"
    is "$tool: all show their help" $? 0
done
odd "rank 1 has other options" "--topology pu:2" ./lockstep-info --devices 2

# lockstep-scale measures the ranks that there are, and fewer of them.
$MPIRUN -n 3 ./lockstep-scale linear --devices 3 --batch 6 --workers 1 \
    --repeat 1 --steps 2 --json "$dir/s.json" --ranks 3,2 >"$dir/out" 2>"$dir/err"
is "scaling" $? 0
is "verified on each count of ranks" \
    "$(awk '/"(ranks|verified)":/ { printf "%s", $2 }' "$dir/s.json")" \
    "1,true,2,true,3,true,"
is "counts of ranks in order" "$(awk '/^ranks/ { t++; next } t == 1 &&
    NF == 0 { exit } t == 1 { print $1 "x" $2 }' "$dir/out" | tr '\n' ' ')" \
    "1x1 2x1 3x1 "
is "told once" "$(grep -c '^serial\|strong scaling' "$dir/out")" 1
$MPIRUN -n 2 ./lockstep-scale linear --ranks 3 >"$dir/out" 2>"$dir/err"
has "more ranks than started" err "3 are more than the 2 that were started"

# More ranks than cores make progress.
wide="mlp --devices 8 --batch 24 --steps 5 --log-every 1 --seed 3"
./lockstep-train $wide >"$dir/alone" 2>"$dir/err"
$MPIRUN -n 8 ./lockstep-train $wide >"$dir/out" 2>"$dir/err"
same "8 ranks" "$dir/alone" "$dir/out"
has "the factor" err "8 ranks send 8 partial sums of 8 devices, factor 1.00"
$MPIRUN -n 3 ./lockstep-train $wide >"$dir/out" 2>"$dir/err"
same "3 ranks with 8 devices" "$dir/alone" "$dir/out"
has "the factor" err "factor 1.67; 7 or 10 devices would make it 1"

# Where each rank runs: told once, by the first one.
$MPIRUN -n 4 ./lockstep-info --devices 6 >"$dir/out" 2>"$dir/err"
is "a map of ranks" "$(grep -c '^  ranks  machine' "$dir/out")" 1
is "a line for each" "$(sed '1,/^  ranks/d; /^$/,$d' "$dir/out" |
    sed 's/^ *\([0-9]*\)  .*/\1/' | tr '\n' ' ')" "0 1 2 3 "
$MPIRUN -n 2 ./lockstep-info --devices 2 --json >"$dir/out" 2>"$dir/err"
is "a place for each in JSON" "$(grep -c '"rank": [01]' "$dir/out")" 2
$MPIRUN -n 3 ./lockstep-info --devices 2 >"$dir/out" 2>"$dir/err"
has "more ranks than devices" err "3 ranks are more than 2 devices"
$MPIRUN -n 1 ./lockstep-info --devices 2 >"$dir/out" 2>"$dir/err"
has "the only rank is alone" out "devices "

$MPIRUN -n 3 ./lockstep-train linear --devices 2 --steps 1 \
    >"$dir/out" 2>"$dir/err"
is "more ranks than devices" "$(grep -c 'more than 2 devices' "$dir/err" |
    sed 's/[1-9].*/some/')" some
finish
