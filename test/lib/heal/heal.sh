#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-train --check: the state is that of a run without it, its last line
# counts, and what is no rate is refused.  Where the library was configured
# --enable-test-level a core errs, is named, and the state stays.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
. "$(dirname "$0")/../../support/shell.sh"

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

# The oldest stays, from the beginning on; --check :heal wants the options it goes by.
run $small --checkpoint "$dir/first":every=2,first
is 'what is kept' "$(ls "$dir/first" | tr '\n' ' ')" \
    'step-000000000000 step-000000000008 step-000000000010 step-000000000012 '
expect 2 '--check:heal needs a rate' $small --check :heal --checkpoint "$dir/none"
expect 2 '--check:heal needs --checkpoint' $small --check 0.1:heal

# A core that errs from some step on, long before it is found: the run goes back
# to the beginning and ends as a sound one does, transcript and metrics too.
# (A worker that no other PU takes stays, and nothing is undone.)
long="mlp --steps 40 --batch 24 --devices 8 --workers 2 --transcript :every=4"
run $long --transcript "$dir/clean.lst" --metrics "$dir/clean"
state=$(grep '^state' "$dir/out")
went=0
for worker in 0 1; do
    # The first wrong call is one of two, in different steps: where a step that
    # is checked has it, no state before was wrong, and there is no onset.
    for first in 400 300; do
        LS_FAULT=gemm,$worker,20,-1,1,7,$first,1000000
        export LS_FAULT
        rm -rf "$dir/heal$worker"
        run $long --check 0.1:heal --transcript "$dir/$worker.lst" \
            --metrics "$dir/$worker" --checkpoint "$dir/heal$worker":every=5
        unset LS_FAULT
        is 'the status of a run that healed' $status 0
        grep -q 'onset: none' "$dir/err" || break
    done
    grep -q 'its work moves' "$dir/err" || continue
    went=1
    has 'that it went back' err 'goes back to step 0'
    has 'the onset' err 'steps is the first that was wrong; that after'
    has 'how often' out '1 times gone back'
    is 'the state of a run that healed' "$(grep '^state' "$dir/out")" "$state"
    cmp -s "$dir/clean.lst" "$dir/$worker.lst"
    is 'the transcript is the clean one' $? 0
    has 'the onset in the metrics' $worker '"check":"onset"'
    is 'each step once' "$(grep -c '"step":' "$dir/$worker")" 40
done
[ $went = 1 ] || echo "skipped: no fault in this build, or no other core"

# A run that is killed while it goes back goes on from the oldest checkpoint,
# whatever is left of the younger ones, in which there are errors.
LS_FAULT=gemm,1,20,-1,1,7,400,1000000
export LS_FAULT
run $long --transcript "$dir/bad.lst" --checkpoint "$dir/bad":first,every=10
unset LS_FAULT
for left in 4 3 1; do
    rm -rf "$dir/killed"
    cp -r "$dir/bad" "$dir/killed"
    cp "$dir/bad.lst" "$dir/killed.lst"
    for gone in $(ls "$dir/killed" | sort | sed "1,${left}d"); do
        rm -r "$dir/killed/$gone"
    done
    touch "$dir/killed/going-back"
    run $long --resume --checkpoint "$dir/killed":every=10,first \
        --transcript "$dir/killed.lst"
    is "$left left: the status" $status 0
    has "$left left: where it goes on" err 'goes on from step 0, the oldest'
    is "$left left: the state" "$(grep '^state' "$dir/out")" "$state"
    same "$left left: the transcript" "$dir/clean.lst" "$dir/killed.lst"
    is "$left left: the folder" "$(ls "$dir/killed" | tr '\n' ' ')" \
        "$(ls "$dir/bad" | tr '\n' ' ')"
done

# Without it the run says what to type.
LS_FAULT=gemm,1,20,-1,1,7,400,1000000
export LS_FAULT
run $long --check 0.1 --checkpoint "$dir/told":every=5
unset LS_FAULT
if grep -q 'wrongly' "$dir/err"; then
    has 'what to type' err 'with --resume --check :heal, without PU'
    is 'its status' $status 1
    has 'its last message' err 'was not undone'
fi
finish
