#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Files that lockstep 0.1.0 wrote are still read: two checkpoints, of an lm with
# adamw and of a cnn on images from files, and a file of parameters go on to the
# hashes that 0.1.0 itself came to.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
old=$(dirname "$0")/golden/old
. "$(dirname "$0")/shell.sh"
# shellcheck source=golden/old/runs.sh
. "$old/runs.sh"

# ends NAME STATE ARGS: the hash that a run ends with.
ends() {
    name=$1 want=$2
    shift 2
    run "$@"
    is "$name" "$(sed -n 's/^state //p' "$dir/out")" "$want"
}

# The folders are copied, since the sources may be read-only.
goes_on() {
    cp -R "$old/$1" "$dir/$1-$2" && chmod -R u+w "$dir/$1-$2"
    eval "args=\$$1 all=\$$1_all want=\$$1_state"
    # shellcheck disable=SC2154,SC2086 # eval set them; words
    ends "$1 on $2 workers" "$want" $args --workers "$2" --steps "$all" \
        --checkpoint "$dir/$1-$2" --resume
    has "$1 on $2 workers" err "goes on from step"
    has "$1 on $2 workers" err "nobody compared: the graph, dropout_key"
}

for workers in 1 2 3; do
    goes_on lm $workers
    goes_on cnn $workers
done

# Their trainers had no groups of parameters and no average.
# refused TEXT OPTIONS
refused() {
    said=$1
    shift
    rm -rf "$dir/again"
    cp -R "$old/lm" "$dir/again" && chmod -R u+w "$dir/again"
    # shellcheck disable=SC2154,SC2086 # runs.sh has them; words
    expect 2 "$said" $lm --steps "$lm_all" --checkpoint "$dir/again" \
        --resume "$@"
}
refused "group 0 is *.bias: rate 1, decay 1, frozen, but was not set in the \
checkpoint; --change freeze goes on with bits of its own" --freeze "*.bias"
refused "--change no-decay goes on" --no-decay
refused "average is 0.9, but was not set" --ema 0.9
# shellcheck disable=SC2154,SC2086 # runs.sh has them; words
expect 0 "changed from step 7: group 0 * (vectors): rate 1, decay 0 (was not set), \
groups 1 (was 0); the bits are this run's own" $lm --steps "$lm_all" --resume \
    --checkpoint "$dir/again" --no-decay --change no-decay

# shellcheck disable=SC2154,SC2086 # runs.sh has them; words
ends "mlp from its parameters" "$mlp_state" $mlp --steps "$mlp_all" \
    --init "$old/mlp.safetensors"
finish
