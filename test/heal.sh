#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-train --check: the state is that of a run without it, its last line
# counts, and what is no rate is refused.  Where the library was configured
# --enable-test-level a core errs, is named, and the state stays.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
. "$(dirname "$0")/shell.sh"

small="mlp --steps 12 --batch 24 --devices 8 --workers 3"

run $small
is 'the exit status' $status 0
state=$(grep '^state' "$dir/out")

for check in all 0.3; do
    run $small --check $check
    is "the exit status of $check" $status 0
    is "the state of $check" "$(grep '^state' "$dir/out")" "$state"
    has "a count of $check" out 'check 0 of '
    has "what $check cannot see" err 'went unseen with probability'
done
run $small --check all
has 'all steps' out '12 of 12 steps drawn'

for check in 0 1.5 -1 some 0.1x; do
    expect 2 'must be a number above 0 and at most 1' $small --check $check
done

LS_FAULT=gemm,1,20,-1,1,7,0,1000000
export LS_FAULT
run $small --check all --metrics "$dir/metrics"
is 'the state with a fault' "$(grep '^state' "$dir/out")" "$state"
is 'the status with a fault' $status 0
if grep -q 'wrongly' "$dir/err"; then
    has 'who was wrong' err '(worker 1) computed'
    has 'a row of the metrics' metrics '"check":"wrong"'
fi
unset LS_FAULT
finish
