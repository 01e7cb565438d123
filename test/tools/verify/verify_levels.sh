#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A transcript that is recorded on one instruction level is verified on each
# other one that the CPU has, by another number of workers.  (Over ranks:
# test/tools/run/launch.sh.  Under an emulated one: test/architectures/run.)
unset LS_ISA
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
. "$(dirname "$0")/../../support/shell.sh"

# The levels of this CPU, as the refusal of a bad one names them.
LS_ISA=none "$tool" linear >"$dir/out" 2>"$dir/err" </dev/null
levels=$(sed -n 's/.*LS_ISA=none: not an .*; it has //p' "$dir/err" | tr -d ,)
is "the refusal of a bad level names some" "${levels:+some}" some

mlp="mlp --rows 256 --hidden 300,65 --batch 64 --steps 6 --clip-norm 1
    --optimizer adamw --ema 0.9 --devices 3"
lm="lm --vocab 37 --seq-len 20 --d-model 36 --heads 2 --layers 1 --d-ff 50
    --rows 64 --batch 16 --steps 3"
cnn="cnn --image 11x9x3 --channels 5,7 --classes 6 --batch 16 --steps 3
    --precision bf16"
for model in "$mlp" "$lm" "$cnn"; do
    for level in $levels; do
        rm -f "$dir/t.lst"
        LS_ISA=$level "$tool" $model --log-every 0 --workers 2 \
            --transcript :every=2,gradient \
            --transcript "$dir/t.lst" >"$dir/out" 2>"$dir/err" </dev/null
        is "${model%% *} on $level" $? 0
        for other in $levels; do
            [ "$other" != "$level" ] || continue
            LS_ISA=$other "$verify" "$dir/t.lst" --workers 1 >"$dir/out" \
                2>"$dir/err" </dev/null
            is "${model%% *}: $level, verified on $other" $? 0
            has "${model%% *}: $level, verified on $other" out "replay  same: "
        done
    done
done

finish
