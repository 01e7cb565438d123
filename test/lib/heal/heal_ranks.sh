#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-train --check over ranks that a launcher starts: a core of one rank
# errs, and the run ends in the hash, transcript and metrics of a sound one.
# Needs MPI, and a library configured --enable-test-level.
tool=./lockstep-train
. "$(dirname "$0")/../../support/shell.sh"

if [ -z "${MPIRUN:-}" ]; then
    echo "skipped: built without MPI"
    exit 77
fi
ranks_anywhere

args="mlp --steps 30 --batch 24 --devices 8 --workers 2 --hidden 32 --d-in 16"
healing="--check 0.2:heal --checkpoint :every=5"

# The second rank errs.  On two cores each of two ranks would have one, and no
# other to move to: so the first one is bound to one, and the other shares both.
cat >"$dir/rank" <<'EOS'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
[ "$rank" = 1 ] && exec "$@"
unset LS_FAULT
[ "$rank" = 0 ] && [ "$TWO" ] && exec taskset -c "$FIRST" "$@"
exec "$@"
EOS
chmod +x "$dir/rank"
FIRST=$(taskset -pc $$ 2>/dev/null | sed 's/.*: \([0-9]*\).*/\1/')
export FIRST

# on RANKS ARGS: the second rank errs from the 60th product of its worker 1 on
on() {
    TWO=
    [ "$1" != 2 ] || [ -z "$FIRST" ] || TWO=1
    export TWO
    ranks=$1
    shift
    LS_FAULT=gemm,1,20,-1,1,7,60,1000000 $MPIRUN -n "$ranks" "$dir/rank" \
        ./lockstep-train "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}

run $args --transcript "$dir/clean.lst":every=4
state=$(grep '^state' "$dir/out")

for n in 2 3; do
    # shellcheck disable=SC2086 # options are words
    on $n $args --check all
    is "$n ranks: the status" $status 0
    is "$n ranks: the state" "$(grep '^state' "$dir/out")" "$state"
    if ! grep -q wrongly "$dir/err"; then
        echo "skipped: no fault in this build"
        exit 77
    fi
    has "$n ranks: who was wrong" err "rank 1: "
    is "$n ranks: what was wrong is counted where it is printed" \
        "$(grep -c '^check 0 of' "$dir/out")" 0

    # shellcheck disable=SC2086
    on $n $args $healing --checkpoint "$dir/ck$n" \
        --transcript "$dir/$n.lst":every=4 --metrics "$dir/metrics$n"
    is "$n ranks: the status of a run that healed" $status 0
    if ! grep -q 'its work moves' "$dir/err"; then
        echo "$n ranks: nothing was undone: rank 1 has no other core"
        continue
    fi
    has "$n ranks: the onset" err 'steps is the first that was wrong; that after'
    is "$n ranks: the state of a run that healed" \
        "$(grep '^state' "$dir/out")" "$state"
    same "$n ranks: the transcript" "$dir/clean.lst" "$dir/$n.lst"
    has "$n ranks: the rank in the metrics" "metrics$n" '"rank":1,"worker":1'
    is "$n ranks: each step once" "$(grep -c '"step":' "$dir/metrics$n")" 30
done
finish
