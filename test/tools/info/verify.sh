#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-info --verify finds the recorded bytes on every level of
# this CPU, and that it names the run, the step and the first tensor where the
# bytes are others.  test/support/verify_other is the tool with wrong records.
unset LS_ISA BLIS_ARCH_TYPE
tool=${LOCKSTEP_INFO:-${top_builddir:-.}/lockstep-info}
. "$(dirname "$0")/../../support/shell.sh"

"$tool" --version >/dev/null || exit 99

run --verify
is 'the exit status' $status 0
has 'a run' out 'lm, adamw                    the same bytes'
is 'no run differs' "$(grep -c ' 0 different' "$dir/out")" \
    "$(grep -c '^x86-64\|^plain\|^neon$\|^test$' "$dir/out")"
best=$(sed -n 1p "$dir/out")
runs=$(sed -n 's/^  \([0-9]*\) the same.*/\1/p' "$dir/out" | head -n 1)
is 'there are runs' "$((runs > 20))" 1

run --verify --json
is 'an object a level' "$(grep -c '^{"version"' "$dir/out")" \
    "$(wc -l <"$dir/out" | tr -d ' ')"
has 'the state is in it' out '"same":true'
for other in --measure --devices=2 --workers=1 --cpus=0; do
    expect 2 'has no part in --verify' --verify $other
done

LS_ISA=$best
export LS_ISA
run --verify
is 'one level alone' "$(grep -c ' 0 different' "$dir/out")" 1

run --verify --each-core
is 'each core by itself' $status 0
for pu in $(taskset -pc $$ | sed 's/.*: //; s/[,-].*//'); do
    has 'the first PU' out "  PU $pu:"
done
is 'a line a PU' "$(grep -c ' PU [0-9]*: .* 0 different' "$dir/out")" \
    "$(nproc)"
if [ "$(nproc)" -gt 1 ]; then
    is 'a line a PU, all at once' \
        "$(grep -c ', all at once: .* 0 different' "$dir/out")" "$(nproc)"
fi
run --verify --each-core --json
is 'an object a PU' "$(grep -c \
    "\"level\":\"$best\",\"pu\":[0-9]*,\"at_once\":false" "$dir/out")" "$(nproc)"
# A library that can err (--enable-test-level) has one more level: the PU that
# does, and no other, is named.
last=$(nproc)
last=$((last - 1))
LS_FAULT=gemm,-1,20,-1,1,7,0,1000000,$last
export LS_FAULT
run --verify --each-core
unset LS_FAULT
"$tool" >"$dir/kernels" 2>/dev/null
if grep -q '^  test ' "$dir/kernels"; then
    is 'a fault is found' $status 1
fi
if [ $status -ne 0 ] && [ $last -gt 0 ]; then
    has 'the PU that errs' err "PU $last gave other bytes than those recorded"
    is 'a PU that does not' "$(grep -c 'PU 0: .* 0 different' "$dir/out")" 1
fi
# One that errs now and then differs from itself, too.
LS_FAULT=gemm,-1,20,-1,0.001,7,0,1000000,$last
export LS_FAULT
run --verify --each-core
unset LS_FAULT
if [ $status -ne 0 ]; then
    has 'it differs from itself' out 'differs from itself in step'
fi
run --verify --minutes 0.0001
is 'for a while' $status 0
has 'no longer than that' out ' not begun: the time was over'

# So little time that no round ends: what there was no time for is told.
unset LS_ISA
run --verify --each-core --minutes 0.00001
is 'the status of no time' $status 0
has 'what there was no time for' err 'the time was over after '
is 'runs of no time' "$(grep -c " $runs the same" "$dir/out")" 0
LS_ISA=$best
export LS_ISA
for minutes in -1 x; do
    expect 2 '--minutes' --verify --minutes $minutes
done
expect 2 '--each-core needs --verify' --each-core
expect 2 '--minutes needs --verify' --minutes 1

tool=${top_builddir:-.}/test/support/verify_other
run --verify --each-core
is 'other bytes of a core fail' $status 1
has 'the core' err 'gave other bytes than those recorded in'
has 'core, run, step, parameter' out \
    'linear, sgd differs in step 0, first in out.kernel'
run --verify
is 'other bytes fail' $status 1
has 'the first tensor' out \
    'linear, sgd                  differs in step 0, first in out.kernel'
has 'no record' out 'lm, adamw                    differs in step 0, first in all'
has 'the sum' err 'did not give the bytes that are recorded'

expect 2 '--verify' --verify --topology pack:1

finish
