#!/bin/sh
# Proves that lockstep-info --verify finds the recorded bytes on every level of
# this CPU, and that it names the run, the step and the first tensor where the
# bytes are others.  test/verify_other is the tool with wrong records.
unset LS_ISA BLIS_ARCH_TYPE
tool=${LOCKSTEP_INFO:-${top_builddir:-.}/lockstep-info}
. "$(dirname "$0")/shell.sh"

"$tool" --version >/dev/null || exit 99

run --verify
is 'the exit status' $status 0
has 'a run' out 'lm, adamw                    the same bytes'
is 'no run differs' "$(grep -c ' 0 different' "$dir/out")" \
    "$(grep -c '^x86-64\|^plain\|^neon$\|^test$' "$dir/out")"
best=$(sed -n 1p "$dir/out")

run --verify --json
is 'an object a level' "$(grep -c '^{"version"' "$dir/out")" \
    "$(wc -l <"$dir/out" | tr -d ' ')"
has 'the state is in it' out '"same":true'
for other in --measure --devices=2 --workers=1 --cpus=0; do
    expect 2 'no option but --json' --verify $other
done

LS_ISA=$best
export LS_ISA
run --verify
is 'one level alone' "$(grep -c ' 0 different' "$dir/out")" 1

tool=${top_builddir:-.}/test/verify_other
run --verify
is 'other bytes fail' $status 1
has 'the first tensor' out \
    'linear, sgd                  differs in step 0, first in out.kernel'
has 'no record' out 'lm, adamw                    differs in step 0, first in all'
has 'the sum' err 'did not give the bytes that are recorded'

expect 2 '--verify' --verify --topology pack:1

finish
