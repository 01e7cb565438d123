#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The root of the state that a run prints, the one in its last checkpoint and
# the last one in its transcript are equal, however the run ends, and whatever
# the transcript's N is; and a checkpoint that says another root is refused.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
[ -w /dev/shm ] && TMPDIR=/dev/shm && export TMPDIR
. "$(dirname "$0")/../support/shell.sh"

# A table whose last column follows from the others.
awk 'BEGIN {
    print "a,b,c"
    for (i = 0; i < 150; i++) {
        x = i * i % 31; y = i * 7 % 23
        print x "," y "," (x + y > 26)
    }
}' >"$dir/t.csv"
mlp="mlp --data $dir/t.csv --target c --valid 0.2 --hidden 24 --batch 24 --devices 2
    --ema 0.9 --clip-norm 1 --eval-every 0 --log-every 0"
evaluated="$mlp --eval-every 5"

# The root that the last line with one says.
last_root() { sed -n 's/.*"root":"\([0-9a-f]*\)".*/\1/p' "$1" | tail -n 1; }

# newest: the root of the newest checkpoint.
newest() {
    sed -n 's/^ "root": "\([0-9a-f]*\)",*$/\1/p' \
        "$(find "$dir/c" -name checkpoint.json | sort | tail -n 1)"
}

# agree NAME ARGS: after a run with them, what it printed is in the checkpoint
# and the transcript.
agree() {
    agree=$1
    shift
    run "$@" --checkpoint "$dir/c" --transcript "$dir/t.lst"
    is "$agree: status" $status 0
    root=$(sed -n 's/^root //p' "$dir/out")
    is "$agree: a root is printed" ${#root} 64
    is "$agree: checkpoint" "$(newest)" "$root"
    # A run that stopped has a state where one was due.
    [ "$agree" = "stopped at 11" ] || is "$agree: transcript" "$(last_root "$dir/t.lst")" "$root"
}

# anew: no checkpoint and no transcript.
anew() { rm -rf "$dir/c" "$dir/t.lst"; }

# ends NAME ARGS: the same root for each N.
ends() {
    ends=$1 first=
    shift
    for every in 0 1 3 16; do
        anew
        agree "$ends, N $every" "$@" --transcript :every=$every
        is "$ends: the root is that of any N" "${first:=$root}" "$root"
    done
}

ends "the end" $evaluated --steps 20
ends "early stop" $evaluated --steps 200 --early-stop 2 --lr 0.2 \
    --save "$dir/best.st"
has "early stop" out "none better in 2: the end"
ends "plateau" $evaluated --steps 40 --plateau 1:factor=0.5 --lr 0.2
ends "nothing to do" $evaluated --steps 0

# Stopped, and gone on: the transcript and the root of the unbroken run.
anew
agree "the unbroken run" $evaluated --steps 40 --transcript :every=4
whole=$root
cp "$dir/t.lst" "$dir/whole.lst"
for stop in 8 11; do
    anew
    agree "stopped at $stop" $evaluated --steps 40 --transcript :every=4 \
        --stop-at $stop
    agree "gone on from $stop" $evaluated --steps 40 --transcript :every=4 --resume
    is "gone on from $stop: root" "$root" "$whole"
    same "gone on from $stop" "$dir/t.lst" "$dir/whole.lst"
done

# begin ARGS: a long run in the background, once it has saved its second
# checkpoint.  It has no evaluations: a signal within one leaves a state that
# waits for it, and has its line in the transcript when the run is gone on with.
begin() {
    anew
    "$tool" $mlp --steps 100000 --checkpoint "$dir/c":every=3 \
        --transcript "$dir/t.lst":every=1 "$@" \
        >"$dir/out" 2>"$dir/err" </dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ ! -d "$dir/c/step-000000000006" ]; do
        sleep 0.02
    done
}

# A signal, wherever it comes, ends with a checkpoint.
begin --checkpoint :keep=0
kill -TERM $pid
wait $pid 2>/dev/null
root=$(sed -n 's/^root //p' "$dir/out")
is "a signal: a root is printed" ${#root} 64
is "a signal: checkpoint" "$(newest)" "$root"
is "a signal: transcript" "$(last_root "$dir/t.lst")" "$root"

# Killed, at whatever moment: the checkpoint's root is the transcript's.
begin --checkpoint :keep=0
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
if grep -q "\"root\":\"$(newest)\"" "$dir/t.lst"; then
    pass
else
    fail "killed: it has the line of its checkpoint"
fi

# The state of the beginning has one root, with an average and a plateau, too.
anew
run $evaluated --steps 4 --plateau 2 --transcript "$dir/z.lst"
run $evaluated --steps 4 --plateau 2 --checkpoint "$dir/c":first
zero=$(sed -n 's/.*"n":0,.*"root":"\([0-9a-f]*\)".*/\1/p' "$dir/z.lst")
is "a root of the beginning" ${#zero} 64
is "transcript and checkpoint of the beginning" "$zero" \
    "$(sed -n 's/.*"root": "\([0-9a-f]*\)".*/\1/p' \
        "$dir/c/step-000000000000/checkpoint.json")"

# A checkpoint that says another root, under a seal that holds.
anew
run $evaluated --steps 6 --checkpoint "$dir/c"
json=$(find "$dir/c" -name checkpoint.json)
cat >"$dir/forge.py" <<'EOF'
import re, sys, zlib
text = open(sys.argv[1], "rb").read()
text = re.sub(rb'"root": "[0-9a-f]{8}', rb'"root": "00000000', text)
seal = rb'"lockstep.crc32": "'
at = text.index(seal) + len(seal)
text = text[:at] + b"00000000" + text[at + 8:]
crc = b"%08x" % zlib.crc32(text)
open(sys.argv[1], "wb").write(text[:at] + crc + text[at + 8:])
EOF
if command -v python3 >/dev/null; then
    python3 "$dir/forge.py" "$json"
    expect 1 "but that of what it holds is" $evaluated --steps 9 \
        --checkpoint "$dir/c" --resume
fi

finish
