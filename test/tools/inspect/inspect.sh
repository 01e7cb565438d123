#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-inspect as its manual has it: the table, the first difference of two,
# JSON, and refusals.  LOCKSTEP_TRAIN, LOCKSTEP_INSPECT or top_builddir say
# where the tools are.
train=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
inspect=${LOCKSTEP_INSPECT:-${top_builddir:-.}/lockstep-inspect}
. "$(dirname "$0")/../../support/shell.sh"

# check STATUS TEXT ARGS: the exit status, and a line with TEXT, spaces being
# one, on either output.
check() {
    want=$1 text=$2
    shift 2
    (cd "$dir" && "$inspect" "$@") >"$dir/out" 2>&1 </dev/null
    status=$?
    if [ $status -eq "$want" ] &&
        tr -s ' ' <"$dir/out" | grep -qF -e "$text"; then
        pass
    else
        fail "$*: status $status, or no \"$text\""
    fi
}
case $inspect in /*) ;; *) inspect=$PWD/$inspect ;; esac

# safetensors HEADER: a file of it and data on stdin.
safetensors() {
    n=$(printf %s "$1" | wc -c)
    printf "\\$(printf %03o $((n % 256)))\\$(printf %03o $((n / 256)))"
    printf '\0\0\0\0\0\0%s' "$1"
    cat
}

run="linear --steps 2 --optimizer momentum:momentum=0 --devices 2"
"$train" $run --save "$dir/p" --checkpoint "$dir/c":every=1 \
    >"$dir/out" 2>"$dir/err" || exit 99
state=$(sed -n 's/^state //p' "$dir/out")
one=c/step-000000000001 two=c/step-000000000002

check 0 "Usage: lockstep-inspect FILE|FOLDER [FILE2|FOLDER2] [options]" --help
check 0 "lockstep-inspect 0." --version
check 2 "which file?"
check 2 "unexpected argument" p p p
check 0 "step: 2" $two
check 0 "state: $state" $two
check 0 "optimizer: momentum" $two
check 0 "trace.kernel F32 (8,4)" $two
check 0 "4 arrays, 72 elements, 288 bytes" $two
check 0 "2 arrays, 36 elements, 144 bytes" p
check 0 "equal: 2 arrays" p $two/params.safetensors
check 1 "trace.bias: only in $two" p $two
check 1 "bias: element (0) is " $one $two
check 1 "4 of 4 differ" $one $two
check 1 "4 arrays differ" $one $two
check 0 '"sha256"' p --json
check 1 '"equal": false' $one $two --json
check 0 '"equal": true' p --json p

# Other programs' files: types that are listed only, and one that is not 0.
e='"data_offsets":[0,4]}'
printf 'abcd' | safetensors "{\"i\":{\"dtype\":\"U8\",\"shape\":[2,2],$e" \
    >"$dir/cut"
printf 'abcd' | safetensors "{\"i\":{\"dtype\":\"U8\",\"shape\":[2,2],$e}" \
    >"$dir/a"
printf 'abxd' | safetensors "{\"i\":{\"dtype\":\"U8\",\"shape\":[2,2],$e}" \
    >"$dir/b"
printf 'abcd' | safetensors "{\"i\":{\"dtype\":\"I8\",\"shape\":[4],$e}" \
    >"$dir/s"
printf 'abcd' | safetensors "{\"i\":{\"dtype\":\"I16\",\"shape\":[2],$e}" \
    >"$dir/t"
printf '\0\0\300\177' | safetensors \
    "{\"i\":{\"dtype\":\"F32\",\"shape\":[],$e}" >"$dir/nan"
check 0 "i U8 (2,2) - - - - 4" a
check 1 "i: element (1,0) is 99 in a, 120 in b; 1 of 4 differ" a b
check 1 "i: shape is (2,2) in a, (4) in s" a s
check 1 "i: shape is (4) in s, (2) in t" s t
check 0 "i F32 () nan nan nan nan 4" nan
check 0 '"norm": null' nan --json
check 1 "no JSON" cut
check 1 "No such file" none
check 1 "c: holds 2 checkpoints; the newest is c/step-000000000002" c
mkdir "$dir/empty"
check 1 "empty: is no complete checkpoint" empty
# Names that would speak to the terminal.
printf 'abcd' | safetensors "{\"a\\nb\\u001b[2J\":{\"dtype\":\"F32\",\"shape\":[1],$e}" \
    >"$dir/evil"
check 0 "a?b?[2J F32 (1)" evil
"$train" linear --init "$dir/evil" --steps 0 >"$dir/out" 2>&1
is=$(tail -n 1 "$dir/out" | tr -d ' -~\n')
if [ -z "$is" ] && grep -qF 'tensor "a?b?[2J" is none' "$dir/out"; then
    pass
else
    fail "a message with control characters"
fi
printf x >>"$dir/$two/optimizer.safetensors"
check 1 "optimizer.safetensors" $two

finish
