#!/bin/sh
# Proves that lockstep-train is one of several ranks or says why it cannot be:
# built with MPI, what it prints has the bytes of one process on any number of
# ranks; built without, it refuses, as lockstep-scale always does.
tool=./lockstep-train
. "$(dirname "$0")/shell.sh"

args="mlp --devices 6 --batch 24 --steps 5 --log-every 1 --seed 3"

# What a launcher says, without one.
for size in OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_STEP_NUM_TASKS; do
    tool=./lockstep-scale
    export $size=3
    expect 1 "started as one of 3 ranks" linear --devices 2 --steps 1
    unset $size
done
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

OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM \
    OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_hwloc_base_binding_policy \
    OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_mpi_yield_when_idle

# shellcheck disable=SC2086 # options are words
./lockstep-train $args >"$dir/alone" 2>"$dir/err"
for ranks in 1 2 4 6; do
    # shellcheck disable=SC2086
    $MPIRUN -n $ranks ./lockstep-train $args >"$dir/out" 2>"$dir/err"
    if cmp -s "$dir/alone" "$dir/out"; then pass; else fail "$ranks ranks"; fi
done
is "one hash" "$(grep -c '^state [0-9a-f]\{64\}$' "$dir/out")" 1
$MPIRUN -n 3 ./lockstep-train linear --devices 2 --steps 1 \
    >"$dir/out" 2>"$dir/err"
is "more ranks than devices" "$(grep -c 'more than 2 devices' "$dir/err" |
    sed 's/[1-9].*/some/')" some
finish
