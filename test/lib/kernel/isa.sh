#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that a whole training run of every model gives the same bytes at every
# instruction level, in f32 with our kernels and BLIS's, and with layers in bf16,
# and f32x3; and that a level which is none is refused.  Levels that the CPU lacks
# are skipped with a message.  Needs only POSIX tools.  LOCKSTEP_TRAIN or
# top_builddir say where the tool is.
unset LS_ISA BLIS_ARCH_TYPE
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
. "$(dirname "$0")/../../support/shell.sh"

# run LEVEL ARGS: output in out and err, the metrics without the first line and
# the timings in rows, the status in $status.
run() {
    level=$1
    shift
    rm -f "$dir/m"
    LS_ISA=$level "$tool" "$@" --metrics "$dir/m" >"$dir/out" 2>"$dir/err" \
        </dev/null
    status=$?
    steps "$dir/m" >"$dir/rows" 2>/dev/null
}

# The levels of this CPU, as the refusal of a bad one names them.
run x86-64-v9 linear
here=$(sed -n 's/.*LS_ISA=x86-64-v9: not an .*; it has //p' "$dir/err" |
    tr -d ,)
# The least level and those above it.
least=x86-64-v2 first=x86-64-v3 next=x86-64-v4
case " $here " in
*" x86-64-v2 "*) ;;
*" neon test "*) least=neon first=neon next=test ;;
*" plain "* | *" neon "*) echo "skipped: one level only, $here"; exit 77 ;;
*) fail "the refusal of a bad level names no level" ;;
esac
if [ $status -eq 1 ] && [ ! -s "$dir/out" ]; then
    pass
else
    fail "a bad level: status $status, or output"
fi

has() {
    case " $here " in *" $1 "*) true ;; *) false ;; esac
}

# alike LEVEL [BACKEND]: the model at LEVEL, where this CPU has it, gives the
# bytes in out1 and rows1.
alike() {
    has "$1" || return 0
    # shellcheck disable=SC2086 # a model's options are words
    run "$1" $model ${2:+--backend "$2"}
    if cmp -s "$dir/out" "$dir/out1" && cmp -s "$dir/rows" "$dir/rows1" &&
        grep -q '^state [0-9a-f]\{64\}$' "$dir/out"; then
        pass
    else
        fail "$* gives other bytes: $model"
    fi
}

with_blis # says why not

i=0
while [ $i -lt 60 ]; do
    echo "$i green bottles, hanging on the wall"
    i=$((i + 1))
done >"$dir/text"

# A precision, a model and its options a line, in the list at the end; small
# sizes that are no multiples of 16.  Workers show in no bit, either.
while read -r precision model; do
    model="$model --precision $precision"
    # shellcheck disable=SC2086 # a model's options are words
    run $least $model --workers 2
    if [ $status -ne 0 ]; then
        fail "$least, status $status: $model"
        continue
    fi
    cp "$dir/out" "$dir/out1"
    cp "$dir/rows" "$dir/rows1"
    alike $first
    alike $next
    if [ $blis -eq 0 ] && [ $precision = f32 ]; then
        alike $first blis
        alike $next blis
    fi
done <<EOF
f32 linear --steps 5 --optimizer momentum --rows 40 --d-in 19 --d-out 7
f32 mlp --rows 200 --d-in 21 --classes 5 --hidden 35,17 --batch 40 --epochs 2
f32 mlp --rows 80 --d-in 9 --classes 3 --hidden 18 --activation tanh --batch 40 \
    --steps 3 --clip-norm 0.5
f32 mlp --rows 80 --d-in 9 --classes 3 --hidden 18 --activation sigmoid \
    --batch 40 --steps 3 --accumulate 5
bf16-input mlp --rows 80 --d-in 9 --classes 3 --hidden 18 --activation gelu \
    --batch 40 --steps 3 --dropout 0.3
f32 cnn --image 11x9x3 --channels 5,7,18 --classes 6 --batch 16 --steps 3 \
    --dropout 0.2
f32 lm --vocab 37 --seq-len 20 --d-model 36 --heads 2 --layers 2 --d-ff 50 \
    --rows 64 --batch 16 --steps 4
f32 gpt --data $dir/text --vocab 128 --seq-len 13 --d-model 36 --heads 3 \
    --layers 2 --d-ff 50 --batch 16 --steps 4 --eval-every 2 --sample 20 \
    --schedule cosine:warmup=1,decay-steps=4
f32 gpt --data $dir/text --vocab 128 --seq-len 13 --d-model 36 --heads 6 \
    --layers 2 --d-ff 50 --batch 16 --steps 4 --norm rms --positions rotary \
    --ffn swiglu --heads :kv=2 --tie --dropout :residual=0.1
f32 rnn --data $dir/text --vocab 128 --seq-len 13 --d-model 9 --cell :units=21 \
    --batch 16 --steps 4 --eval-every 2 --sample 20
f32 rnn --data $dir/text --vocab 128 --seq-len 13 --d-model 9 --cell :units=21 \
    --batch 16 --steps 4 --cell gru
bf16 mlp --rows 200 --d-in 21 --classes 5 --hidden 35,17 --batch 40 --epochs 1
bf16 cnn --image 11x9x3 --channels 5,7,18 --classes 6 --batch 16 --steps 3
bf16 cnn --image 12x10x1 --channels 18,5,3 --classes 6 --batch 16 --steps 3
bf16 lm --vocab 37 --seq-len 20 --d-model 36 --heads 2 --layers 2 --d-ff 50 \
    --rows 64 --batch 16 --steps 3
bf16 gpt --data $dir/text --vocab 128 --seq-len 13 --d-model 36 --heads 3 \
    --layers 1 --d-ff 50 --batch 16 --steps 3
f32x3 mlp --rows 80 --d-in 21 --classes 5 --hidden 35,17 --batch 40 --steps 2
f32x3 cnn --image 7x6x3 --channels 5,7 --classes 6 --batch 8 --steps 2
f32x3 lm --vocab 37 --seq-len 8 --d-model 36 --heads 2 --layers 1 --d-ff 50 \
    --rows 16 --batch 8 --steps 2
EOF

for level in $first $next; do
    has $level || echo "$level skipped: this CPU has $here"
done
finish
