#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The models mlp, cnn, gpt and rnn from the command line: that they learn, the same bytes
# on any number of workers, numbers of PyTorch, and what they refuse.
# Needs only POSIX tools.  LOCKSTEP_TRAIN or top_builddir say where the tool is.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
. "$(dirname "$0")/../../support/shell.sh"

# A second backend where there is one.
other=native
with_blis && other=blis

# below NAME A B: of two numbers.
below() {
    if awk "BEGIN { exit !($2 < $3) }"; then
        pass
    else
        fail "$1: $2 is not below $3"
    fi
}

# pattern N MODULUS: (i * i + i / 3) modulo it as bytes, for i below N.
pattern() {
    i=0
    while [ $i -lt "$1" ]; do
        # shellcheck disable=SC2059 # the format is the byte
        printf "\\$(printf %03o $(((i * i + i / 3) % $2)))"
        i=$((i + 1))
    done
}

# any_workers NAME ARGS: stdout and metrics on 1, 2, 3 and 7 workers, sharded
# too and with BLIS, are those of one worker, which stay in out1 and rows1.
any_workers() {
    name=$1
    shift
    run "$@" --workers 1 --metrics "$dir/m"
    is "$name runs" $status 0
    cp "$dir/out" "$dir/out1"
    steps "$dir/m" >"$dir/rows1"
    for more in "--workers 2" "--workers 3" "--workers 7" \
        "--workers 3 --state shard" "--workers 2 --backend $other"; do
        # shellcheck disable=SC2086 # two words or four
        run "$@" $more --metrics "$dir/m"
        same "$name with $more: same lines" "$dir/out" "$dir/out1"
        steps "$dir/m" >"$dir/rows"
        same "$name with $more: same metrics" "$dir/rows" "$dir/rows1"
    done
}

# ------ mlp ------

small="mlp --rows 256 --d-in 16 --classes 4 --hidden 32,24 --batch 32 \
    --devices 4"
# shellcheck disable=SC2086 # words
any_workers mlp $small --epochs 3 --log-every 5
is "mlp prints steps and epochs" \
    "$(sed 's/  loss .*//; s/=[0-9]\.[0-9]*/=/g; s/^state .*/state/' "$dir/out1" |
        tr '\n' '|')" \
    "$(printf '%s|' '[lockstep] step 0000' '[lockstep] step 0005' \
        'Epoch 1: Loss=, Acc=' '[lockstep] step 0010' '[lockstep] step 0015' \
        'Epoch 2: Loss=, Acc=' '[lockstep] step 0020' '[lockstep] step 0023' \
        'Epoch 3: Loss=, Acc=' 'state')"
is "every step has an accuracy" \
    "$(grep -cE '"accuracy":(0|1|0\.[0-9]+),' "$dir/rows1")" 24
below "mlp learns" "$(sed -n 's/Epoch 3: Loss=\(.*\),.*/\1/p' "$dir/out1")" \
    "$(sed -n 's/Epoch 1: Loss=\(.*\),.*/\1/p' "$dir/out1")"
# The epoch's line is the mean of its steps.
is "an epoch is the mean of its steps" \
    "$(sed -n '1,8s/.*"loss":\([0-9.]*\),"accuracy":\([0-9.]*\).*/\1 \2/p' \
        "$dir/rows1" | awk '{ l += $1; a += $2 }
            END { printf "Epoch 1: Loss=%.4f, Acc=%.4f", l / 8, a / 8 }')" \
    "$(grep 'Epoch 1' "$dir/out1")"
for f in relu tanh gelu sigmoid; do
    # shellcheck disable=SC2086 # words
    run $small --activation $f --steps 30 --log-every 29 --lr 0.01
    below "mlp learns with $f" \
        "$(sed -n 's/.*step 0029  loss //p' "$dir/out")" \
        "$(sed -n 's/.*step 0000  loss //p' "$dir/out")"
done
# shellcheck disable=SC2086 # words
run $small --epochs 2 --batch 48 --uneven pad --metrics "$dir/m"
is "mlp pads the short batch" \
    "$(steps "$dir/m" | sed 's/.*"rows":\([0-9]*\).*/\1/' | tr '\n' ' ')" \
    "48 48 48 48 48 16 48 48 48 48 48 16 "
# shellcheck disable=SC2086 # words
run $small --steps 0 --save "$dir/p"
is "mlp's names are nnx's" \
    "$(head -c 9000 "$dir/p" | grep -ao '"layers[a-z0-9.]*"' | tr '\n' ' ')" \
    "\"layers.0.bias\" \"layers.0.kernel\" \"layers.1.bias\" \
\"layers.1.kernel\" \"layers.2.bias\" \"layers.2.kernel\" "
is "--steps and not the default --epochs" \
    "$(grep -c Epoch "$dir/out")" 0

# shellcheck disable=SC2086 # words
any_workers "mlp with dropout" $small --epochs 2 --dropout 0.3 --accumulate 2
cp "$dir/rows1" "$dir/dropped"
# shellcheck disable=SC2086 # words
run $small --epochs 2 --accumulate 2 --metrics "$dir/m"
steps "$dir/m" >"$dir/rows"
differ "--dropout drops" "$dir/rows" "$dir/dropped"
# shellcheck disable=SC2086 # words
any_workers "mlp with rounded inputs" $small --steps 4 --precision bf16-input
cp "$dir/rows1" "$dir/rounded"
# shellcheck disable=SC2086 # words
run $small --steps 4 --metrics "$dir/m"
steps "$dir/m" >"$dir/rows"
differ "bf16-input" "$dir/rows" "$dir/rounded"
expect 2 "\"1\" is not a number from 0 to below 1" mlp --dropout 1
expect 2 "--dropout is not an option of lm" lm --dropout 0.1
expect 2 "\"bf8\" is none of f32|bf16|f32x3|bf16-input" mlp --precision bf8
expect 2 "--precision: f32x6 is no more: f32 has the same 24 bits" mlp \
    --precision f32x6
for tokens in lm gpt; do
    expect 2 "bf16-input rounds inputs that are floats; $tokens takes tokens" \
        $tokens --precision bf16-input
done

for w in 1 2 3 7; do
    # shellcheck disable=SC2086 # words
    run $small --steps 4 --precision bf16 --workers $w --metrics "$dir/m"
    [ $w = 1 ] && cp "$dir/out" "$dir/out1"
    same "mlp with bf16 layers on $w workers" "$dir/out" "$dir/out1"
done
steps "$dir/m" >"$dir/rounded"
differ "bf16 layers" "$dir/rows" "$dir/rounded"
if ! grep -q "^bits:" "$dir/out" &&
    grep -q "^bf16 layers: .* \(products\|with AMX\|slower than f32\)$" "$dir/err" &&
    sed 1q "$dir/m" | grep -q '"bits":"portable","products":"..*"'; then
    pass
else
    fail "how bf16 layers compute"
fi
if [ "${other-}" = blis ]; then
    expect 2 "--precision bf16 and --backend blis exclude" mlp \
        --precision bf16 --backend blis
    expect 2 "--precision f32x3 and --backend blis exclude" mlp \
        --precision f32x3 --backend blis
fi
expect 2 '--backend: "onednn" is none of native|blis' mlp --backend onednn

tiny_cnn="cnn --image 8x8x1 --classes 4 --channels 4,8 --batch 16 --devices 4 \
    --steps 3 --log-every 1"
# shellcheck disable=SC2086 # words
any_workers "cnn with dropout, rounded inputs" $tiny_cnn --dropout 0.3 \
    --accumulate 2 --precision bf16-input
for one in "--dropout 0.3" "--precision bf16-input"; do
    # shellcheck disable=SC2086 # words
    run $tiny_cnn --accumulate 2 $one
    differ "cnn $one" "$dir/out" "$dir/out1"
done

{ npy '|u1' '(40, 3)'; pattern 120 7; } >"$dir/x.npy"
{ npy '|u1' '(40,)'; pattern 40 3; } >"$dir/y.npy"
{ npy '|u1' '(39,)'; pattern 39 3; } >"$dir/short.npy"
x=$dir/x.npy y=$dir/y.npy
files="mlp --x $x --y $y --hidden 8 --batch 16 --devices 4 --steps 6 \
    --log-every 1"
# shellcheck disable=SC2086 # words
any_workers "mlp from files" $files
# shellcheck disable=SC2086 # words
run $files --shuffle
same "files are shuffled" "$dir/out" "$dir/out1"
# shellcheck disable=SC2086 # words
run $files --no-shuffle
differ "--no-shuffle" "$dir/out" "$dir/out1"
# shellcheck disable=SC2086 # words
run $files --batch 40 --steps 1
all=$(sed 1q "$dir/out")
# shellcheck disable=SC2086 # words
run $files --batch 40 --steps 1 --no-shuffle
is "an order is a permutation" "$(sed 1q "$dir/out")" "$all"

expect 2 "--hidden: \"8,\" is not a list" mlp --hidden 8,
expect 2 "--hidden: \"0\" is not a list" mlp --hidden 0
expect 2 "has a number that is too large; the largest there may be is 1000000000" \
    mlp --hidden 2147483647,2147483647
expect 2 "too large" mlp --hidden 99999999999999999999999
expect 2 "has 65 numbers; it may have 64" mlp --hidden "$(seq -s, 65)"
expect 2 "--hidden: \"8;8\" is not a list" mlp --hidden "8;8"
expect 2 "\"swish\" is none of relu|tanh|" mlp --activation swish
expect 2 "--shuffle and --no-shuffle exclude" mlp --shuffle --no-shuffle
expect 2 "--x and --y go together" mlp --x "$x"
expect 1 "39 rows, but x has 40" mlp --x "$x" --y "$dir/short.npy"
expect 2 "has 3 where --d-in says 4" mlp --x "$x" --y "$y" --d-in 4
expect 1 "labels from 0 to 2, but the 2 classes" mlp --x "$x" --y "$y" \
    --classes 2 --batch 40
# labels BYTES..: 40 labels of one byte in turn.
labels() {
    npy '|i1' '(40,)'
    # shellcheck disable=SC2059 # bytes
    printf "$1$2$3$4%.0s" 1 2 3 4 5 6 7 8 9 10
}
labels '\377' '\0' '\1' '\2' >"$dir/below.npy"
run mlp --x "$x" --y "$dir/below.npy" --steps 1
has "labels below 0" err "10 of 40 labels are below 0, and these rows are"
run mlp --x "$x" --y "$y" --eval-x "$x" --eval-y "$dir/below.npy" --steps 1
has "of rows held out" err "10 of 40 labels are below 0, and these rows are"
labels '\377' '\1' '\1' '\377' >"$dir/signs.npy"
expect 1 "its labels are -1 and 1" mlp --x "$x" --y "$dir/signs.npy"
expect 1 "its labels are -1 and 1" mlp --x "$x" --y "$y" --eval-x "$x" \
    --eval-y "$dir/signs.npy"
labels '\377' '\377' '\376' '\377' >"$dir/signs.npy"
expect 1 "all 40 labels are below 0" mlp --x "$x" --y "$dir/signs.npy"
labels '\3' '\4' '\5' '\3' >"$dir/above.npy"
run mlp --x "$x" --y "$dir/above.npy" --steps 1
has "labels from 3 on" err "no label is below 3; classes are counted from 0"
expect 1 "labels from 3 to 5, but the 3 classes are counted from 0 to 2" mlp \
    --x "$x" --y "$dir/above.npy" --classes 3
expect 0 "" mlp --x "$y" --y "$y" --steps 1 --log-every 0

# ------ cnn ------

small="cnn --image 6x9x2 --channels 5,18 --classes 3 --batch 24 --devices 4"
# shellcheck disable=SC2086 # words
any_workers cnn $small --steps 3 --log-every 1
is "every step of cnn has an accuracy" \
    "$(grep -cE '"accuracy":(0|1|0\.[0-9]+),' "$dir/rows1")" 3
# shellcheck disable=SC2086 # words
run $small --steps 0 --save "$dir/p"
is "cnn's names are nnx's" \
    "$(head -c 9000 "$dir/p" | grep -ao '"\(conv\|dense\)[a-z0-9.]*"' |
        tr '\n' ' ')" \
    "\"conv1.bias\" \"conv1.kernel\" \"conv2.bias\" \"conv2.kernel\" \
\"dense.bias\" \"dense.kernel\" "
# The losses of the same cnn in JAX.
run cnn --steps 2 --log-every 1
is "cnn's losses are JAX's" \
    "$(sed -n 's/\[lockstep\] //p' "$dir/out" | tr '\n' '|')" \
    "$(printf '%s|' 'step 0000  loss 2.3669' 'step 0001  loss 2.8237')"

{ npy '|u1' '(40, 5, 4, 3)'; pattern 2400 7; } >"$dir/images.npy"
images=$dir/images.npy
files="cnn --x $images --y $y --channels 8 --batch 16 --devices 4 --lr 0.05"
# shellcheck disable=SC2086 # words
any_workers "cnn from files" $files --epochs 4
below "cnn learns" "$(sed -n 's/Epoch 4: Loss=\(.*\),.*/\1/p' "$dir/out1")" \
    "$(sed -n 's/Epoch 1: Loss=\(.*\),.*/\1/p' "$dir/out1")"
# shellcheck disable=SC2086 # words
run $small --batch 10 --uneven pad --steps 1 --metrics "$dir/m"
is "cnn pads its batch" "$(steps "$dir/m" | sed 's/.*"rows":\([0-9]*\).*/\1/')" \
    10

expect 2 "--image: \"32x32\" is no size" cnn --image 32x32
expect 2 "--image: \"0x1x1\" is no size" cnn --image 0x1x1
expect 2 "--channels: \"8,,\" is not a list" cnn --channels 8,,
expect 2 "--x and --y go together" cnn --x "$images"
expect 2 "--epochs is for files" cnn --epochs 2
expect 2 "images of 5x4x3 where --image says 5x4x1" cnn --x "$images" \
    --y "$y" --image 5x4x1
expect 1 "images are (N,H,W) or (N,H,W,C)" cnn --x "$x" --y "$y"
{ npy '|u1' '(2, 3, 8, 8)'; head -c 384 /dev/zero; } >"$dir/chw.npy"
expect 1 "images are (N,H,W,C), and (2,3,8,8) is (N,C,H,W); numpy.save(NEW, x.tr" \
    cnn --x "$dir/chw.npy" --y "$y"
expect 2 "(32,32,1000000000) is no shape of a row; it has 1 to 2147483647" cnn \
    --channels 1000000000
expect 2 "max_pool \"conv2\": a window of 2 by 2 does not fit into an image of 1 by 1" \
    cnn --image 3x3x1

# ------ resnet ------

small="resnet --depth 8:width=8 --image 8x6x3 --classes 3 --batch 12 --devices 4"
# shellcheck disable=SC2086 # words
any_workers resnet $small --steps 3 --log-every 1 --accumulate 2
cp "$dir/out1" "$dir/batch"
for one in "--norm batch-of-shard" "--norm group" "--smoothing 0.1" "--depth 14"; do
    # shellcheck disable=SC2086 # words
    run $small --steps 3 --log-every 1 --accumulate 2 $one
    differ "resnet $one" "$dir/out" "$dir/batch"
done
files="resnet --depth 8 --x $images --y $y --batch 20 --devices 4 \
--optimizer :l2=5e-4,no-decay --ema 0.5"
# shellcheck disable=SC2086 # words
any_workers "resnet from files" $files --epochs 3
below "resnet learns" "$(sed -n 's/Epoch 3: Loss=\(.*\),.*/\1/p' "$dir/out1")" \
    "$(sed -n 's/Epoch 1: Loss=\(.*\),.*/\1/p' "$dir/out1")"
expect 2 "--depth 10: it is 8, 14, 20, and so on to 56" resnet --depth 10
expect 2 "--depth 62: it is 8, 14, 20, and so on to 56" resnet --depth 62
expect 2 "--norm: resnet has batch, batch-of-shard or group" resnet --norm rms
for norm in batch batch-of-shard; do
    expect 2 "do not go together with check" resnet --norm $norm --check all
done
expect 2 "--norm: gpt has layer or rms" gpt --data "$0" --norm batch
expect 2 "--depth :width=12: with --norm group it is a multiple of 8" resnet \
    --norm group --depth :width=12

# ------ gpt ------

seq 1 3000 >"$dir/count"
i=0
while [ $i -lt 200 ]; do
    echo "hello, world"
    i=$((i + 1))
done >"$dir/hello"

# gpt_torch.py --data count --init init --steps 6 --eval-every 3, from the
# initial parameters of lockstep; PyTorch 2.13.0, windows by jax 0.10.2.
run gpt --data "$dir/count" --steps 6 --eval-every 3
is "gpt's losses are PyTorch's" \
    "$(sed -n 's/\[lockstep\] //p' "$dir/out" | tr '\n' '|')" \
    "$(printf '%s|' 'step 0000  loss 6.3708' 'eval step 0003  loss 3.0771' \
        'step 0005  loss 2.7155' 'eval step 0006  loss 2.8121')"

tiny="gpt --data $dir/hello --seq-len 12 --d-model 32 --heads 2 --layers 1 \
    --d-ff 48 --batch 16 --devices 4"
# shellcheck disable=SC2086 # words
any_workers gpt $tiny --steps 4 --eval-every 2 --sample 30
is "gpt prints steps and evaluations" \
    "$(sed -n 's/^\[lockstep\] \(.*\)  loss [0-9.]*$/\1/p' "$dir/out1" |
        tr '\n' '|')" \
    "step 0000|eval step 0002|step 0003|eval step 0004|"
# shellcheck disable=SC2086 # words
any_workers "gpt with dropout" $tiny --steps 4 --eval-every 2 --dropout 0.2
modern="--norm rms --positions rotary --ffn swiglu --heads :kv=1 --tie"
# shellcheck disable=SC2086 # words
any_workers "a modern gpt" $tiny $modern --steps 4 --eval-every 2 --sample 30
cp "$dir/out" "$dir/modern"
# shellcheck disable=SC2086 # words
any_workers "with dropout of what is added" $tiny $modern --steps 4 \
    --eval-every 2 --sample 30 --dropout :residual=0.2
differ "--dropout :residual drops" "$dir/out" "$dir/modern"
for one in "--norm rms" "--positions rotary" "--ffn swiglu" "--heads :kv=1" \
    "--tie" "--start gpt2" "--norm :epsilon=1e-5" "--norm rms:epsilon=1e-5"
do
    # shellcheck disable=SC2086 # words
    run $tiny --steps 2 $one
    grep state "$dir/out" >>"$dir/states"
done
is "each option makes another model" \
    "$(sort -u "$dir/states" | wc -l | tr -d ' ')" 8
# The first loss of GPT-2's start is that of a guess, ln 256.
# shellcheck disable=SC2086 # words
run $tiny --steps 1 --start gpt2 --log-every 1
is "GPT-2's start guesses" "$(sed -n 's/.*step 0000  loss //p' "$dir/out" |
    awk '{ print ($1 > 5.5 && $1 < 5.6) }')" 1
# shellcheck disable=SC2086 # words
expect 2 "--start and --initialiser exclude each other" $tiny --start gpt2 \
    --initialiser zeros
# shellcheck disable=SC2086 # words
run $tiny $modern --steps 150 --lr 0.003 --eval-every 150 --sample 64 \
    --temperature 0
below "it learns what was held out" \
    "$(sed -n 's/.*eval step 0150  loss //p' "$dir/out")" 0.1
# shellcheck disable=SC2086 # words
expect 2 "2 heads cannot share 3" $tiny --heads :kv=3
# shellcheck disable=SC2086 # words
expect 2 "heads of an even width" $tiny --positions rotary --d-model 6
# shellcheck disable=SC2086 # words
expect 2 "--tie is not an option of lm" lm --tie
# shellcheck disable=SC2086 # words
run $tiny --steps 150 --lr 0.003 --eval-every 150 --sample 64 --temperature 0
below "gpt learns what was held out" \
    "$(sed -n 's/.*eval step 0150  loss //p' "$dir/out")" 0.1
# 64 bytes are five lines but for the last newline, which the tool adds.
is "gpt says what it learned" "$(grep -c '^hello, world$' "$dir/out")" 5
# ------ rnn ------

for cell in lstm gru; do
    small="rnn --data $dir/hello --seq-len 12 --d-model 12 --cell :units=24 --batch 16 \
        --devices 4 --cell $cell"
    # shellcheck disable=SC2086 # words
    any_workers "rnn, $cell" $small --steps 4 --eval-every 2 --sample 30 \
        --dropout 0.1
    # shellcheck disable=SC2086 # words
    run $small --layers 1 --steps 150 --lr 0.02 --eval-every 150 \
        --sample 64 --temperature 0
    below "rnn, $cell, learns what was held out" \
        "$(sed -n 's/.*eval step 0150  loss //p' "$dir/out")" 0.3
    is "rnn, $cell, says what it learned" \
        "$(grep -c '^hello, world$' "$dir/out")" 5
done

# shellcheck disable=SC2086 # words
run $tiny --steps 0 --sample 100 --log-every 0
is "a sample has its bytes, then a newline" \
    "$(wc -c <"$dir/out" | tr -d ' ')" $((100 + 1 + 6 + 64 + 1))
cp "$dir/out" "$dir/said"
# shellcheck disable=SC2086 # words
run $tiny --steps 0 --sample 100 --log-every 0 --accumulate 4
same "the same with micro-batches" "$dir/out" "$dir/said"

# The loss held out does not depend on how it is cut, and --eval-data is that.
tail -c 260 "$dir/hello" >"$dir/tenth"
for cut in "--batch 4" "--batch 32 --devices 8" "--batch 5 --devices 1" \
    "--batch 7 --devices 3 --uneven pad" "--eval-data $dir/tenth"; do
    # shellcheck disable=SC2086 # words
    run $tiny --steps 0 --eval-every 1 $cut
    sed 1q "$dir/out" >>"$dir/losses"
done
is "the loss held out is one" "$(sort -u "$dir/losses" | wc -l | tr -d ' ')" 1
is "it is there five times" "$(grep -c 'eval step 0000' "$dir/losses")" 5
# shellcheck disable=SC2086 # words
run $tiny --steps 2 --eval-data "$dir/tenth"
is "--eval-data is evaluated at the end" \
    "$(sed -n 's/.*\(eval step [0-9]*\) .*/\1/p' "$dir/out")" "eval step 0002"

head -c 50 "$dir/count" >"$dir/short"
: >"$dir/empty"
printf 'abc\200' >"$dir/high"
expect 2 "rnn needs --data FILE" rnn
expect 2 "--heads is not an option of rnn" rnn --heads 2
expect 2 "gpt needs --data FILE" gpt
expect 2 "--epochs is not an option of gpt" gpt --epochs 1
expect 1 "$dir/none: No such file" gpt --data "$dir/none"
# Tokens of 16 bits: those of a text's bytes train to the text's state, those
# that are no bytes are told by --vocab, and nothing else is taken for them.
tr -d '\n' <"$dir/hello" >"$dir/line"
sed 's/./&\n/g' "$dir/line" | tr '\n' '\0' >"$dir/tokens.bin"
for vocab in 256 50257; do
    for data in line tokens.bin; do
        run gpt --data "$dir/$data" --d-model 8 --heads 1 --layers 1 --d-ff 8 \
            --seq-len 8 --steps 2 --batch 8 --vocab $vocab --log-every 0 \
            --eval-every 2 --transcript "$dir/t.lst"
        cp "$dir/out" "$dir/$data.out"
    done
    has "--vocab $vocab" err "tokens.bin: tokens of 16 bits"
    is "--vocab $vocab, states" "$(grep state "$dir/out")" \
        "$(grep state "$dir/line.out")"
    same "--vocab $vocab, losses" "$dir/out" "$dir/line.out"
done
expect 2 "--sample writes bytes" gpt --data "$dir/tokens.bin" --sample 5
printf 'a\0b\1' >"$dir/high.bin"
run gpt --data "$dir/high.bin" --seq-len 2 --steps 1 --batch 8 --vocab 256
has "bytes of 0" err "is read as bytes all the same; of tokens of 16 bits"
printf '\377\376a\0\n\0' >"$dir/utf16"
expect 1 "is a text in UTF-16; iconv -f utf-16 -t utf-8 makes one" gpt \
    --data "$dir/utf16"
expect 2 "token 1 is 354; --vocab 354 needs tokens below that" \
    gpt --data "$dir/high.bin" --vocab 354
expect 2 "--seq-len 64" gpt --data "$dir/high.bin" --vocab 355
expect 2 "2 tokens to train on are fewer" \
    gpt --data "$dir/high.bin" --vocab 355 --seq-len 4
expect 2 "0 bytes to train on are fewer than" gpt --data "$dir/empty"
printf a >"$dir/one"
expect 2 "1 byte to train on is fewer than --seq-len 64" gpt --data "$dir/one"
expect 2 "45 bytes to train on are fewer than --seq-len 64" \
    gpt --data "$dir/short"
expect 2 "5 bytes are held out, fewer than --seq-len 20" \
    gpt --data "$dir/short" --seq-len 20 --eval-every 1
expect 2 "$dir/short: 50 bytes are held out, fewer than --seq-len 64" \
    gpt --data "$dir/count" --eval-data "$dir/short"
expect 2 "byte 3 is 128; --vocab 128 needs bytes below that" \
    gpt --data "$dir/high" --vocab 128
expect 2 "--seq-len 1 leaves nothing" gpt --data "$dir/count" --seq-len 1
expect 1 ": is not a regular file" gpt --data "$dir"

finish
