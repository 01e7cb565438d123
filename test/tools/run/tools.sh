#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command line tools against what their manual promises: messages and exit
# statuses, golden losses, files.  Needs only POSIX tools; where jq is present
# it also parses the metrics.  LOCKSTEP_TRAIN or top_builddir say where the
# tool is.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
man=$(dirname "$0")/../../../docs/man/lockstep-train.1
. "$(dirname "$0")/../../support/shell.sh"

# prints TEXT ARGS: succeeds, with TEXT on stdout.
prints() {
    text=$1
    shift
    run "$@"
    if [ $status -eq 0 ] && grep -qF -e "$text" "$dir/out"; then
        pass
    else
        fail "$*: status $status, or no \"$text\" on stdout"
    fi
}

# bytes N: 0 1 2 ... modulo 7, N of them.
bytes() {
    i=0
    while [ $i -lt "$1" ]; do
        printf "\\00$((i % 7))"
        i=$((i + 1))
    done
}

"$tool" --version >/dev/null || exit 99

# ------ help, version ------

for model in "" linear lm mlp gpt rnn cnn; do
    prints "Usage: lockstep-train ${model:-MODEL} [options]" $model --help
    awk 'length > 80' "$dir/out" >"$dir/long"
    is "--help of $model fits 80 columns" "$(cat "$dir/long")" ""
done
for other in info inspect predict scale verify; do
    is "--help of lockstep-$other fits 80 columns" "$("${tool%train}$other" --help |
        awk 'length > 80')" ""
done
prints "no causal mask" lm --help
for words in -h help "help lm" "--help lm" "lm -h" "-h lm"; do
    case $words in *lm*) model=lm ;; *) model=MODEL ;; esac
    # shellcheck disable=SC2086 # words
    prints "Usage: lockstep-train $model [options]" $words
done
prints "lockstep-train 0." --version
prints "lockstep-train 0." lm --version

run --help
is "--help is a page" "$(wc -l <"$dir/out" | awk '{ print ($1 <= 25) }')" 1
for model in linear lm mlp gpt rnn cnn resnet table; do
    run $model --help
    is "$model --help is short" \
        "$(wc -l <"$dir/out" | awk '{ print ($1 < 60) }')" 1
    grep -o -e '--[a-z0-9-]*' "$dir/out" | sort -u >"$dir/named"
    run $model --help all
    sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p' "$dir/out" |
        grep -vx -e --model -e --version | sort >"$dir/all"
    is "$model --help names all options" "$(comm -13 "$dir/named" "$dir/all")" ""
done
prints "  --missing refuse|mean" table --help data
is "a group is one" "$(grep -c '^  --\(lr\|help\)' "$dir/out")" 0
prints "    :warmup=N " --help optimizer

# Each model's own defaults make its experiment; "-": it has none.
# shellcheck disable=SC2034 # by eval
while read -r name linear mlp cnn lm gpt; do
    for model in linear mlp cnn lm gpt; do
        eval "value=\$$model"
        [ "$value" = - ] && continue
        run $model --help all
        is "$model --$name" "$(grep -A1 -e "^  --$name " "$dir/out" |
            sed -n 's/.*(\([^()]*\))$/\1/p' | head -n 1)" "$value"
    done
done <<EOF
seed 0 0 0 42 42
data-seed 7 7 7 1234 1234
rows 64 4096 - 8192 -
d-in 8 64 - - -
vocab - - - 512 256
batch - 128 128 32 32
steps 1 - - 50 1000
epochs - 10 10 - -
optimizer sgd adam adam adamw adamw
lr 0.1 0.001 0.001 0.0003 0.0003
log-every 1 100 100 10 10
EOF

# Every option of --help is in the manual.
run --help all
for name in $(sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' "$dir/out"); do
    if sed 's/\\-/-/g' "$man" | grep -q -e "--$name\b"; then
        pass
    else
        fail "--$name is not in $man"
    fi
done

# ------ wrong usage ------

expect 2 "which model?"
expect 2 "did you mean linear?" liner
expect 2 "unknown model" vgg
expect 2 "the model comes first" --steps 3
expect 2 "unknown model \"vgg\"" --steps 3 --model vgg
expect 2 "--model \"mlp\": the model is linear already" linear --model mlp
run --steps 3 --model linear
cp "$dir/out" "$dir/linear"
run linear --steps=3 --model=linear
same "--model MODEL is the word" "$dir/out" "$dir/linear"
expect 2 "unknown option --step; did you mean --steps?" linear --step 3
expect 2 "unknown option --zzzzzz; see" linear --zzzzzz
expect 2 "unexpected argument \"3\"" linear --steps 3 3
expect 2 "unexpected argument \"-x\"; options begin with two dashes, as --x" \
    linear -x
expect 2 "unknown option --learning-rate; did you mean --lr?" linear \
    --learning-rate 1
expect 2 "unknown option --batch-size; did you mean --batch?" linear \
    --batch-size 1
expect 2 "unknown option --threads; did you mean --workers?" lm --threads 1
expect 2 "is not a finite number from 0 up; fractions stand behind a point" \
    linear --lr 0,1
expect 2 "unknown option --dev; did you mean --devices?" linear --dev 2
expect 2 "did you mean --transcript?" linear --transc c
expect 2 "unknown model \"gptt\"; did you mean gpt?" help gptt
expect 2 "--steps needs a value: N" linear --steps
expect 2 "--allow-single takes no value" lm --allow-single=1
expect 2 "--vocab is not an option of linear (it is for lm, gpt, rnn)" linear --vocab 9
expect 2 "--y is not an option of lm (it is for linear, mlp, cnn, resnet, onnx)" \
    lm --y y.npy
expect 2 "--save: the value is empty" lm --save=
for bad in -1 "" x 1x " 1" +1 1.5 1e3 0x10 99999999999999999999; do
    expect 2 "--steps: \"$bad\" is not a whole number" linear "--steps=$bad"
done
for bad in 0 -8 1000000000 many; do
    expect 2 "--devices: \"$bad\" is not auto or" linear --devices $bad
    expect 2 "--workers: \"$bad\" is not a whole" linear --workers $bad
done
for bad in -1 "" nan inf 1e999 0x1p3 1,5 "1 "; do
    expect 2 "--lr: \"$bad\" is not a finite number" linear "--lr=$bad"
done
expect 2 "--optimizer:b1: \"1\" is not a number from 0 to below 1" lm --optimizer :b1=1
expect 2 "--data-seed: \"-1\" is not" lm --data-seed -1
expect 2 "\"tiger\" is none of sgd|momentum|" lm --optimizer tiger
expect 2 "\"cuda\" is none of native|" lm --backend cuda
expect 2 "--steps and --epochs exclude" linear --steps 1 --epochs 1
expect 2 "--batch and --batch-per-device exclude" \
    linear --batch 8 --batch-per-device 1
expect 2 "--optimizer:momentum is for --optimizer momentum" linear --optimizer :momentum=0.9
expect 2 "--optimizer:weight-decay is for --optimizer adamw" \
    linear --optimizer adam:weight-decay=0.1
expect 2 "--x and --y go together" linear --x x.npy
expect 2 "--state: \"split\" is none of replicate, shard" lm --state split

# ------ failures ------

expect 2 "Need at least 2 devices for data parallelism." lm --devices 1
expect 2 "cpus \"x\": not a list of processors" linear --cpus x
expect 2 "processor 65535 may not be used: this machine has none" \
    linear --cpus 65535 --devices auto
expect 2 "a batch of 65 rows is more than the 64" linear --batch 65
expect 1 "$dir/none.npy: No such file" linear --x "$dir/none.npy" --y y
mkfifo "$dir/pipe"
expect 1 "$dir/pipe: is not a regular file" linear --x "$dir/pipe" --y y
expect 2 "No such file" linear --save "$dir/none/file"
expect 2 "No such file" linear --metrics "$dir/none/file"
expect 1 "No space left" linear --metrics /dev/full
run linear --steps 3 --transcript /dev/full
is "a transcript on a full disk" $status 1
is "it is told once" "$(grep -c 'No space left' "$dir/err")" 1
run linear --steps 9 --stop-at 3 --transcript /dev/full
is "a transcript on a full disk, of a run that stops" $status 1
is "a full stdout is a failure" \
    "$("$tool" linear 2>&1 >/dev/full; echo $?)" \
    "$("$tool" linear 2>&1 >/dev/null | grep -v '^note: the model is not kept')
lockstep-train: standard output: No space left on device
1"
expect 2 "not a regular file" linear --save /dev/null
is "--save never replaces a device" "$(test -c /dev/null && echo yes)" yes

{ npy '|u1' '(8, 3)'; bytes 24; } >"$dir/x.npy"
{ npy '|u1' '(8, 2)'; bytes 16; } >"$dir/y.npy"
{ npy '|u1' '(7, 2)'; bytes 14; } >"$dir/short.npy"
{ npy '|u1' '(0, 2)'; } >"$dir/empty.npy"
{ npy '|u1' '(8, 9)'; bytes 24; } >"$dir/lie.npy"
{ npy '<f4' '(2, 1)'; printf '\0\0\300\177\0\0\300\177'; } >"$dir/nan.npy"
x=$dir/x.npy y=$dir/y.npy
expect 1 "7 rows, but x has 8" linear --x "$x" --y "$dir/short.npy"
expect 1 "the data set is empty" linear --x "$dir/empty.npy" --y "$y"
expect 1 "at byte 128" linear --x "$dir/lie.npy" --y "$y"
expect 2 "x.npy has 3 where --d-in says 4" linear --x "$x" --y "$y" --d-in 4
expect 1 "not finite" linear --x "$dir/nan.npy" --y "$dir/nan.npy" --devices 2

# ------ linear ------

prints "[lockstep] step 0000  loss " linear
is "linear logs one line and the state" \
    "$(sed 's/loss [0-9]\.[0-9]\{4\}$/loss/; s/[0-9a-f]\{64\}$/hash/' \
        "$dir/out" | tr '\n' '|')" "[lockstep] step 0000  loss|state hash|"
is "talk is on stderr" "$(grep -cE ' devices? on ' "$dir/err")" 1
cp "$dir/out" "$dir/default"
run linear --steps=1 --batch 64 --lr .1 --seed 0 --data-seed 7 --optimizer sgd
same "the defaults are what --help says" "$dir/out" "$dir/default"
run linear --batch-per-device 8
same "--batch-per-device 8 of 8 devices is 64" "$dir/out" "$dir/default"
run linear --steps 20
is "linear logs each step" "$(grep -c '^\[lockstep\] step' "$dir/out")" 20
run linear --steps 10000
is "but few of many" "$(sed -n 's/^.lockstep. step \([0-9]*\) .*/\1/p' "$dir/out" |
    tr '\n' ' ')" "0000 1000 2000 3000 4000 5000 6000 7000 8000 9000 9999 "
run linear --steps 20
# From the same program in NumPy 2.4.6: 2.1487718 and 1.0201219.
is "linear's golden losses" "$(sed -n '1p;20p' "$dir/out" | tr '\n' '|')" \
    "[lockstep] step 0000  loss 2.1488|[lockstep] step 0019  loss 1.0201|"
run linear --epochs 3 --batch 16
is "3 epochs of 4 batches" "$(grep -c '^\[lockstep\] step' "$dir/out")" 12
run linear --epochs 2 --batch 24
is "the short batch is dropped" "$(grep -c step "$dir/out")" 4
run linear --epochs 2 --batch 24 --uneven pad --metrics "$dir/m"
is "the short batch is padded" "$(steps "$dir/m" | sed 's/.*rows"://' \
    | tr -d '\n')" "24}24}16}24}24}16}"
run linear --x "$x" --y "$y" --steps 3
is "a file is trained on" "$status" 0
# (N,) is (N,1), for rows and for targets.
for shape in '(8, 1)' '(8,)'; do
    { npy '|u1' "$shape"; bytes 8; } >"$dir/column.npy"
    run linear --x "$dir/column.npy" --y "$dir/column.npy" --steps 3
    is "$shape is a column" "$status" 0
    mv "$dir/out" "$dir/out$shape"
done
same "a list is a column" "$dir/out(8,)" "$dir/out(8, 1)"
expect 1 "1 axis, but tokens needs 2" lm --x "$dir/column.npy" --batch 8
run linear --x "$x" --y "$y" --steps 0 --devices 3 --uneven pad
is "pad divides any batch" "$status" 0
# What does not divide is cut unevenly, with the bytes of what is padded.
for more in "--batch 30" "--batch 12" "--batch 3" "--batch 30 --accumulate 2"; do
    run linear --steps 2 $more
    state=$(grep state "$dir/out")
    run linear --steps 2 $more --uneven pad
    is "$more is cut as it is padded" "$(grep state "$dir/out")" "$state"
done

# Rows that are only padding do not change the loss.
run linear --x "$x" --y "$y" --devices 8 --log-every 1
exact=$(sed -n 's/.*loss //p' "$dir/out")
run linear --x "$x" --y "$y" --devices 5 --uneven pad
is "padding has no weight" "$(sed -n 's/.*loss //p' "$dir/out")" "$exact"

# ------ lm ------

small="lm --vocab 50 --seq-len 12 --d-model 32 --heads 4 --layers 2 --d-ff 48 \
    --rows 24 --batch 8 --devices 4"
# Emulated a step takes long; a sanitizer, which sets CK_FORK, sees all that there
# is to see in the small one.
losses="0000  loss 6.7112|0010  loss 6.3131|" steps=11
[ -z "${LS_EMULATED-}" ] || losses=${losses%0010*} steps=1
[ "${CK_FORK-}" ] || {
    run lm --devices 2 --steps $steps
    is "lm's losses are JAX's" \
        "$(sed -n 's/.*step //p' "$dir/out" | tr '\n' '|')" "$losses"
}
run $small --steps 12 --log-every 5
is "the last step is logged" "$(sed -n 's/.*step \([0-9]*\).*/\1/p' \
    "$dir/out" | tr '\n' ' ')" "0000 0005 0010 0011 "
run $small --steps 2 --log-every 0
is "--log-every 0 is silent" "$(grep -c . "$dir/out")" 1
run lm --devices 1 --allow-single --steps 0
is "--allow-single" "$status" 0
expect 2 "heads" $small --heads 5

{ npy '|u1' '(8, 6)'; bytes 48; } >"$dir/tokens.npy"
run lm --x "$dir/tokens.npy" --vocab 7 --batch 8 --d-model 16 --heads 2 \
    --layers 1 --d-ff 16 --steps 1
is "tokens from a file" "$status" 0
expect 1 "token" lm --x "$dir/tokens.npy" --vocab 6 --batch 8 --d-model 16 \
    --heads 2 --layers 1 --d-ff 16

# ------ the number of workers changes nothing; nor does the placement ------

run $small --steps 6 --workers 1 --metrics "$dir/m1"
cp "$dir/out" "$dir/out1"
steps "$dir/m1" >"$dir/rows1"
row='^[{]"step":[0-5],"loss":[0-9.]+,("accuracy":[0-9.]+,)?'
row=$row'"lr":0.0003,"rows":8[}]$'
is "a row for each step" "$(grep -Ec "$row" "$dir/rows1")" 6
for w in 2 3 4 7; do
    run $small --steps 6 --workers $w --metrics "$dir/mw"
    same "same lines on $w workers" "$dir/out" "$dir/out1"
    steps "$dir/mw" >"$dir/rowsw"
    same "same metrics on $w workers" "$dir/rowsw" "$dir/rows1"
    run $small --steps 6 --workers $w --state shard
    same "same lines when sharded on $w" "$dir/out" "$dir/out1"
    run $small --steps 6 --workers $w --state '*.kernel=0,*_emb*=1'
    same "same lines when placed by names on $w" "$dir/out" "$dir/out1"
    run $small --steps 6 --workers $w --axes model:2 \
        --state 'head.*=replicate,*Dense*.kernel=1:model,*=model'
    same "same lines on another axis of the mesh on $w" "$dir/out" "$dir/out1"
done
expect 2 '"blocks_0.Dense_0.kernel" (32,48) has no axis 2' \
    $small --state '*Dense*.kernel=2'
expect 2 "\"head.kernel\" (32,50): axis 1 does not divide by the 4 devices" \
    $small --state 'head.kernel=1'
expect 2 "the mesh has no axis \"model\"; its axes are \"data\" (4)" \
    $small --state '*=model'
expect 2 "axis 1 does not divide by the 3 devices along \"model\"" \
    $small --axes model:3 --state 'head.kernel=1:model'
expect 2 "axes \"data:4,model\": a size is missing" $small --axes model \
    --state shard
expect 2 "--axes needs --state" $small --axes model:2
expect 2 "\"nope\" matches no parameter" $small --state 'head.kernel=0,nope=0'
backends=native
with_blis && backends="native blis"
for backend in $backends; do
    run $small --steps 6 --backend $backend
    same "same lines with $backend" "$dir/out" "$dir/out1"
done
header='^{"program":"lockstep-train","model":"lm","options":{.*'
header=$header'"batch":8,"steps":6,.*"optimizer":"adamw:.*},"devices":4,'
header=$header'"workers":1,"bits":"portable","versions":{"lockstep":"0\..*}}$'
is "the header names the run" "$(sed 1q "$dir/m1" | grep -c "$header")" 1
if command -v jq >/dev/null; then
    run linear --steps 3 --metrics "$dir/m" \
        --save "$dir/q\"\\ $(printf '\303\251 \377')"
    is "jq parses the metrics" "$(jq -r .step "$dir/m" | tr '\n' ' ')" \
        "null 0 1 2 "
fi

# ------ words with parts ------

# An option may be there again, and a part may stand alone; old names are told.
small4="linear --steps 4 --transcript $dir/w.lst"
# words: what the transcript says of an option
words() { sed -n "1s/.*\"--$1\":\"\([^\"]*\)\".*/\1/p" "$dir/w.lst"; }
for way in "cosine:warmup=1,end=1e-3" "cosine:end=0.001 --schedule :warmup=1" \
    ":warmup=1 --schedule cosine:end=1e-03"; do
    rm -f "$dir/w.lst"
    run $small4 --schedule $way
    is "--schedule $way: one spelling" "$(words schedule)" \
        "cosine:warmup=1,end=0.001"
done
rm -f "$dir/w.lst"
run $small4 --optimizer :l2=0.1,no-decay
is "a part alone" "$(words optimizer)" ":l2=0.1,no-decay"
was="--warm""up" # names of old
expect 2 "$was is a part of --schedule: type --schedule :warmup=9" linear $was 9
expect 2 "type --lora :on=a,,b" lm --lora""-on=a,b
expect 2 "type --optimizer :no-decay" linear --no""-decay --steps 4
expect 2 "type --schedule :warmup=9" linear --schedule:warmup 9
expect 2 '"warmpu" is none of its parts: warmup, decay-steps,' linear \
    --schedule cosine:warmpu=1
expect 2 '"" is none of its parts' linear --schedule cosine:
expect 2 '"" is none of its parts' linear --schedule cosine:warmup=1,
expect 2 "--schedule:warmup is there twice" linear --schedule :warmup=1,warmup=2
expect 2 "--schedule:warmup needs a value: warmup=N" linear --schedule :warmup
expect 2 "--optimizer:no-decay takes no value" linear --optimizer :no-decay=1
expect 2 "--heads:kv is not an option of lm (it is for gpt)" lm --heads 4:kv=2
expect 2 "--schedule: \"\" is none of" linear --schedule ""
expect 2 "a ':' in a name stands twice" linear --transcript "$dir/a:b.lst"
run linear --steps 4 --transcript "$dir/a::b,c.lst:every=2"
is "a name with a colon and a comma" "$(head -n 1 "$dir/a:b,c.lst" |
    grep -c '"--transcript":":every=2"')" 1

# ------ a run in a file ------

words="mlp --rows 64 --hidden 9,8 --batch 16 --epochs 2 --optimizer lion:b1=0.8 \
    --schedule cosine:warmup=2 --seed -3 --uneven pad"
prints '"optimizer":"lion:b1=0.8"' $words --print-config
cp "$dir/out" "$dir/c.json"
has "defaults, too" out '"optimizer":":b2=0.99,weight-decay=0.001,'
run $words --print-config --lr 0.1 --plot "$dir/no.svg"
is "nothing is made" "$(ls "$dir"/no.* 2>/dev/null)" ""
rm -f "$dir/w.lst"
run $words --transcript "$dir/w.lst"
cp "$dir/out" "$dir/out1"
mv "$dir/w.lst" "$dir/v.lst"
run --config "$dir/c.json" --transcript "$dir/w.lst"
same "the run of a file" "$dir/out" "$dir/out1"
same "its transcript" "$dir/w.lst" "$dir/v.lst"
run --config="$dir/c.json" --print-config
same "a file gives itself" "$dir/out" "$dir/c.json"
for model in linear lm mlp table gpt rnn cnn resnet "onnx --data $dir/none"; do
    run $model --print-config
    cp "$dir/out" "$dir/d.json"
    run --config "$dir/d.json" --print-config
    same "a file of $model's defaults gives itself" "$dir/out" "$dir/d.json"
done
prints '"lr":0.25,' --config "$dir/c.json" --lr 0.25 --print-config
expect 2 "another one is named" linear --config "$dir/c.json"
expect 2 "one of the two would be lost" --config "$dir/c.json" \
    --metrics "$dir/c.json"
wrong() { printf '%s' "$1" >"$dir/d.json"; }
for bad in '' '[]' '{' '{"lr":1,"lr":2}'; do
    wrong "$bad"
    expect 1 "--config: $dir/d.json: " --config "$dir/d.json"
done
for bad in '{}' '{"model":"linear","lr":null}' '{"model":"linear","nix":1}' \
    '{"model":"linear","schedule:warmup":1}' \
    '{"model":"linear","shuffle":true}' '{"model":"linear","allow-single":2}'; do
    wrong "$bad"
    expect 2 "--config: $dir/d.json: \"" --config "$dir/d.json"
done
wrong '{"model":"linear","lr":"x"}'
expect 2 "--lr: \"x\" is not a finite number" --config "$dir/d.json"
wrong '{"model":"none"}'
expect 2 'unknown model "none"' --config "$dir/d.json"
expect 1 "none.json" --config "$dir/none.json"

# ------ schedules, clipping ------

# rates ARGS: the learning rates of each step of linear.
rates() {
    run linear --steps 5 --metrics "$dir/m" "$@"
    steps "$dir/m" | sed 's/.*"lr":\([^,]*\),.*/\1/' | tr '\n' ' '
}
# optax 0.2.8 on the same counts.
is "linear" "$(rates --schedule linear)" \
    "0.1 0.080000006 0.060000002 0.04 0.02 "
is "linear with a warm-up" \
    "$(rates --schedule linear:warmup=2,decay-steps=4,end=0.02)" \
    "0 0.05 0.099999994 0.06 0.02 "
is "cosine with a warm-up" \
    "$(rates --schedule cosine:warmup=1,end=0.05)" \
    "0 0.1 0.092677675 0.075 0.05732233 "
is "exponential" \
    "$(rates --schedule exponential:decay-rate=0.5,decay-steps=1)" \
    "0.1 0.05 0.025 0.0125 0.00625 "
is "piecewise" "$(rates --schedule piecewise:boundaries=1:0.5,,4:2e1)" \
    "0.1 0.05 0.05 0.05 1 "
is "polynomial" "$(rates --schedule polynomial:power=2)" \
    "0.1 0.064 0.036000002 0.015999999 0.0039999997 "
is "cosine-restarts" "$(rates --schedule cosine-restarts:decay-steps=2,restart-factor=0.5)" \
    "0.1 0.049999997 0.05 0.024999999 0.025 "
is "cosine-restarts, longer ones" "$(rates --schedule cosine-restarts:decay-steps=1,cycle-factor=2)" \
    "0.1 0.1 0.049999997 0.1 0.08535534 "
is "one-cycle" "$(rates --schedule one-cycle:pct-start=0.25,div-factor=10)" \
    "0.009999998 0.099999994 0.08535548 0.050000492 0.014645515 "
is "linear-one-cycle" \
    "$(rates --schedule linear-one-cycle:pct-start=0.25,div-factor=10,pct-final=0.8)" \
    "0.01 0.099999994 0.06999999 0.039999995 0.01 "
is "warm-restarts" "$(rates --schedule warm-restarts:warmup=1,decay-steps=2)" "0 0.1 0 0.1 0 "
is "--lr :scale" "$(rates --lr :scale)" "0.2 0.2 0.2 0.2 0.2 "
is "no steps, no schedule to fail" \
    "$(rates --schedule cosine:warmup=9 --steps 0; echo $status)" "0"
expect 2 "--schedule piecewise needs --schedule:boundaries" linear \
    --schedule piecewise
expect 2 "needs --schedule:decay-rate" linear --schedule exponential
expect 2 "--schedule:end is for --schedule linear, cosine" linear --schedule :end=0.1
expect 2 "--schedule:boundaries is for" lm --schedule cosine:boundaries=1:1
for bad in 2 2: :1 '2:1,' ,2:1 2:nan 2:-1 2:0x1 -2:1 99999999999999999999:1; do
    expect 2 "--schedule:boundaries: \"$bad\" is not STEP:FACTOR" \
        linear --schedule "piecewise:boundaries=$(echo "$bad" | sed 's/,/,,/g')"
done
expect 2 "boundary 1 at update 2" \
    linear --schedule piecewise:boundaries=2:1,,2:1
expect 2 "within the warm-up of 9" linear --schedule cosine:warmup=9
expect 2 "needs --schedule:power" linear --schedule polynomial
expect 2 "one-cycle: a warm-up of 2" linear --schedule one-cycle:warmup=2
expect 2 "--schedule:cycle-factor is for --schedule cosine-restarts" linear \
    --schedule cosine:cycle-factor=2
expect 2 "restart-factor: \"2\" is not a number above 0, at most 1" linear \
    --schedule cosine-restarts:restart-factor=2
expect 2 "clip norm 1e-44" linear --clip-norm 1e-44
expect 2 "clip value 1e-44" linear --clip-value 1e-44
expect 2 "--optimizer:l2 is for --optimizer sgd, momentum, nesterov, adam, rmsprop, " \
    linear --optimizer adamw:l2=1

# ------ arrays of .npz files ------

corpus=${top_srcdir:-.}/test/fuzz/corpus/npy
cp "$corpus/npz_stored" "$dir/s.npz"
cp "$corpus/npz_deflated" "$dir/d.npz"
cp "$corpus/npz_streamed" "$dir/one.npz"
tail -c +56 "$dir/s.npz" | head -c 176 >"$dir/from.npy" # x as it lies there
# archived X: the state of an mlp on these rows.
archived() {
    run mlp --x "$1" --y "$dir/d.npz:y" --batch 4 --steps 2 --devices 2
    tail -n 1 "$dir/out"
}
want=$(archived "$dir/from.npy")
is "it trains on .npy" "${want%% *}" state
is "stored rows" "$(archived "$dir/s.npz:x")" "$want"
is "deflated rows" "$(archived "$dir/d.npz:x")" "$want"
is "the only array" "$(archived "$dir/one.npz")" "$want"
expect 1 "has no array called \"q\"" mlp --x "$dir/d.npz:q" --y "$dir/d.npz:y"
expect 1 "has 3 arrays" mlp --x "$dir/d.npz" --y "$dir/d.npz:y"

# ------ initialisers ------

# start ARGS: the state of a model before any step.
start() {
    run "$@"
    tail -n 1 "$dir/out"
}
is "what Flax's layers have is the truncated one" \
    "$(start cnn --steps 0 --initialiser lecun-truncated)" \
    "$(start cnn --steps 0)"
for name in zeros orthogonal glorot-uniform he-normal; do
    start mlp --steps 1 --initialiser $name >>"$dir/starts"
done
is "initialisers differ" "$(sort "$dir/starts" | uniq | wc -l)" 4
is "each gives one state" "$(start mlp --steps 1 --initialiser orthogonal \
    --workers 1)" "$(sed -n 2p "$dir/starts")"
expect 2 "\"glorot\" is none of layer|zeros|" mlp --initialiser glorot

# ------ groups of parameters ------

# moved ARGS: the first array of linear that two steps with ARGS change.
moved() {
    run linear --steps 0 --save "$dir/start.st"
    run linear --steps 2 --save "$dir/end.st" "$@"
    "${top_builddir:-.}/lockstep-inspect" "$dir/start.st" "$dir/end.st" |
        sed -n '1s/:.*//p'
}
# state ARGS: of an mlp with weight decay.
state() {
    run mlp --steps 3 --optimizer adamw "$@"
    tail -n 1 "$dir/out"
}
is "all are trained" "$(moved)" bias
is "a bias is frozen" "$(moved --freeze 'b*')" kernel
is "biases without decay" \
    "$([ "$(state --optimizer :weight-decay=0.5,no-decay)" = \
        "$(state --optimizer :weight-decay=0.5)" ] && echo same)" ""
expect 2 "--optimizer:no-decay needs --optimizer:weight-decay above 0" mlp \
    --optimizer adamw:weight-decay=0,no-decay
is "l2 without biases" "$([ "$(state --optimizer adam:l2=0.5,no-decay)" = \
    "$(state --optimizer adam:l2=0.5)" ] && echo same)" ""
is "no l2 at all" "$(state --optimizer adam:l2=0)" "$(state --optimizer adam)"
is "l2 is no decoupled decay" "$([ "$(state --optimizer adam:l2=0.5)" = \
    "$(state --optimizer :weight-decay=0.5)" ] && echo same)" ""
expect 2 'group "x*": matches no parameter' linear --freeze 'x*'
expect 2 'all 2 parameters are frozen' linear --freeze 'bias,kernel'
expect 2 'has an empty pattern' linear --freeze 'bias,'

scheduled="$small --steps 6 --schedule cosine:warmup=2 --clip-norm 0.5"
run $scheduled --workers 1 --metrics "$dir/m1"
cp "$dir/out" "$dir/out1"
is "the norm is in the metrics" "$(grep -c '"grad_norm":[0-9.]*,"rows"' \
    "$dir/m1")" 6
for w in 2 3 7; do
    for state in replicate shard; do
        run $scheduled --workers $w --state $state --metrics "$dir/mw"
        same "same clipped lines on $w workers, $state" "$dir/out" "$dir/out1"
        steps "$dir/m1" >"$dir/rows1"
        steps "$dir/mw" >"$dir/rowsw"
        same "same clipped metrics on $w, $state" "$dir/rowsw" "$dir/rows1"
    done
done

# ------ accumulation ------

expect 2 "--accumulate: \"0\" is not" linear --accumulate 0
run linear --steps 20 --accumulate 8
is "linear's golden losses, accumulated" \
    "$(sed -n '1p;20p' "$dir/out" | tr '\n' '|')" \
    "[lockstep] step 0000  loss 2.1488|[lockstep] step 0019  loss 1.0201|"
run linear --x "$x" --y "$y" --devices 8 --uneven pad
exact=$(sed -n 's/.*loss //p' "$dir/out")
run linear --x "$x" --y "$y" --devices 3 --accumulate 2 --uneven pad
is "padding micro-batches has no weight" \
    "$(sed -n 's/.*loss //p' "$dir/out")" "$exact"
run $scheduled --accumulate 2 --workers 1
cp "$dir/out" "$dir/out1"
for w in 2 3 7; do
    run $scheduled --accumulate 2 --workers $w --state shard
    same "same accumulated lines on $w workers" "$dir/out" "$dir/out1"
done

# ------ --save ------

run $small --steps 0 --save "$dir/a"
cp "$dir/a" "$dir/b"
for gone in "--init $dir/a:layout=torch" "--init :names=a=b" \
    "--init-layout torch" "--init-names a=b"; do
    expect 2 "type lockstep-train onnx --model F.onnx" $small $gone
done

run $small --steps 0 --save "$dir/a" --workers 3 --state shard
same "the same parameters, the same file" "$dir/a" "$dir/b"
run $small --steps 1 --save "$dir/a"
differ "a step changes nothing" "$dir/a" "$dir/b"
length=$(od -An -tu4 -N4 "$dir/a" | tr -d ' ')
is "the header ends at a multiple of 8" $((length % 8)) 0
is "the checksum is that of the data" \
    "$(tail -c +$((length + 9)) "$dir/a" | sha256sum | cut -c1-64)" \
    "$(head -c $((length + 8)) "$dir/a" \
        | sed -n 's/.*"sha256":"\([0-9a-f]*\)".*/\1/p')"
is "nothing is left beside it" "$(find "$dir" -name '*.tmp-*')" ""

# ------ --init ------

run $small --steps 0 --save "$dir/a"
run $small --steps 0 --seed 5 --init "$dir/a" --save "$dir/b"
same "--init starts from what --save wrote" "$dir/a" "$dir/b"
expect 1 "matches no parameter" $small --init "$dir/a":only=none
expect 2 "--init:only needs --init" $small --init :only='x'
expect 1 "No such file" $small --init "$dir/none"
expect 1 "is none of the" linear --init "$dir/a"
head -c 1000 "$dir/a" >"$dir/cut"
expect 1 "does not fit" $small --init "$dir/cut"

finish
