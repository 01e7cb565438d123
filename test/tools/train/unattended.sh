#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs nobody sits beside: what signals, failures and stalls leave behind, and
# what a trace shows.  Needs POSIX tools; where jq is present it reads the
# traces.  LOCKSTEP_TRAIN or top_builddir say where the tool is.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
pid=
. "$(dirname "$0")/../../support/shell.sh"
at_end() { [ -z "$pid" ] || kill -KILL $pid 2>/dev/null; }

# says NAME TEXT: it is on stderr.
says() { has "$1" err "$2"; }

# start ARGS: a long run of linear in the background, which a signal from the
# keyboard would reach; past its third step when this returns.
start() {
    rm -f "$dir/m"
    $default "$tool" linear --devices 4 --steps 100000000 --log-every 1 \
        --metrics "$dir/m" "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    pid=$!
    until grep -q '"step":3' "$dir/m" 2>/dev/null; do
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
}

# end: its status.
end() {
    wait $pid
    status=$?
    pid=
}

# json FILE: it is JSON, if somebody here can tell.
json() {
    command -v jq >/dev/null || return 0
    if jq -e '.traceEvents | length > 0' "$1" >/dev/null; then
        pass
    else
        fail "$1 is not a trace"
    fi
}

# A shell's background ignores Ctrl-C; newer env undoes it.
default=
signals=TERM:143
if env --default-signal=INT true 2>/dev/null; then
    default="env --default-signal=INT"
    signals="TERM:143 INT:130"
fi

# ------ A signal: the step is finished, and all is written ------

for signal in $signals; do
    name=${signal%:*}
    start --save "$dir/s" --trace "$dir/t"
    kill -$name $pid
    end
    is "SIG$name ends with" $status ${signal#*:}
    says "SIG$name is answered" "ends after this step"
    json "$dir/t"
    is "the state is printed" "$(tail -n 1 "$dir/out" | cut -c1-6)" "state "
    steps=$(tail -n 1 "$dir/m" | sed 's/^{"step":\([0-9]*\),.*}$/\1/')
    is "metrics hold the steps that were logged" \
        "$(sed -n 's/.*step 0*\([0-9][0-9]*\) .*/\1/p' "$dir/out" \
            | tail -n 1)" "$steps"
    "$tool" linear --devices 4 --steps $((steps + 1)) --log-every 0 \
        --save "$dir/again" >"$dir/whole" 2>/dev/null
    is "it is the state after these steps" "$(tail -n 1 "$dir/out")" \
        "$(cat "$dir/whole")"
    same "and so are the parameters" "$dir/s" "$dir/again"
done

# With checkpoints the step is saved, and the run goes on from there as if
# nothing had been.
rm -rf "$dir/c"
start --checkpoint "$dir/c":every=1000000000 --trace "$dir/t"
kill -TERM $pid
end
is "SIGTERM with checkpoints ends with" $status 143
done=$(ls "$dir/c" | sed 's/step-0*//')
is "the last step is saved" "$(tail -n 1 "$dir/m" \
    | sed 's/^{"step":\([0-9]*\),.*}$/\1/')" $((done - 1))
is "the save is traced" "$(grep -c '"name":"checkpoint"' "$dir/t")" 1
rm -f "$dir/m"
"$tool" linear --devices 4 --steps $((done + 50)) --log-every 1 --resume \
    --checkpoint "$dir/c" 2>"$dir/err" | grep -v '^root ' >"$dir/out"
"$tool" linear --devices 4 --steps $((done + 50)) --log-every 1 2>/dev/null \
    | tail -n 51 >"$dir/whole"
same "the run goes on from the signal" "$dir/out" "$dir/whole"

# A signal within an evaluation ends it; the run that goes on makes it anew.
{ npy '<f4' '(8, 784)'; head -c 25088 /dev/zero; } >"$dir/few.npy"
{ npy '<i4' '(8,)'; head -c 32 /dev/zero; } >"$dir/few_y.npy"
{ npy '<f4' '(12000, 784)'; head -c 37632000 /dev/zero; } >"$dir/many.npy"
{ npy '<i4' '(12000,)'; head -c 48000 /dev/zero; } >"$dir/many_y.npy"
as=
evaluated() {
    $as "$tool" mlp --x "$dir/few.npy" --y "$dir/few_y.npy" --hidden 512 --steps 2 \
        --eval-x "$dir/many.npy" --eval-y "$dir/many_y.npy" --log-every 1 \
        --eval-every 2 --early-stop 9 --checkpoint "$dir/c" "$@"
}
rm -rf "$dir/c"
evaluated --transcript "$dir/whole.lst" >"$dir/whole" 2>"$dir/err"
for signal in TERM:143 USR1:138 USR2:140; do
    for _ in 1 2 3 4 5; do # it may be over already
        rm -rf "$dir/c"
        { as="exec" && evaluated --transcript "$dir/cut.lst"; } \
            >"$dir/out" 2>"$dir/err" &
        pid=$!
        until grep -q 'step 0001' "$dir/out" || ! kill -0 $pid; do
            sleep 0.01
        done 2>/dev/null
        kill -${signal%:*} $pid
        end
        grep -q 'eval step' "$dir/out" || break
    done
    is "$signal within an evaluation" $status ${signal#*:}
    is "it is not ended" "$(grep -c 'eval' "$dir/out")" 0
    is "the step is kept" "$(ls "$dir/c")" step-000000000002
    evaluated --transcript "$dir/cut.lst" --resume >"$dir/out" 2>"$dir/err"
    sed -n '/eval step/,$p' "$dir/whole" >"$dir/rest"
    same "the run that goes on evaluates" "$dir/rest" "$dir/out"
    same "and has the transcript" "$dir/whole.lst" "$dir/cut.lst"
    evaluated --transcript "$dir/cut.lst" --resume >"$dir/out" 2>"$dir/err"
    is "once" "$(grep -c 'eval step' "$dir/out")" 0
done

# Of two signals that arrive together the second one ends it.  (The thread
# sanitizer keeps signals back and hands on one; builds with sanitizers set
# CK_FORK.)
if [ -n "$default" ] && [ -z "${CK_FORK:-}" ]; then
    start --save "$dir/never"
    kill -STOP $pid
    kill -TERM $pid
    kill -INT $pid
    kill -CONT $pid
    end
    is "two signals kill" $((status == 130 || status == 143)) 1
    is "nothing is written then" "$(grep -c state "$dir/out")" 0
    is "nor saved" "$(find "$dir" -name 'never*')" ""
fi

# ------ A failure: the last good state ------

one='\0\0\200\077' nan='\0\0\300\177'
{ npy '<f4' '(8, 1)'; printf "$one$one$one$one$one$nan$one$one"; } >"$dir/x"
{ npy '<f4' '(8, 1)'; printf "$one$one$one$one$one$one$one$one"; } >"$dir/y"
data="--x $dir/x --y $dir/y --devices 2 --batch 2"
"$tool" linear $data --steps 3 --save "$dir/s" --trace "$dir/t" \
    --metrics "$dir/m" >"$dir/out" 2>"$dir/err"
is "a loss that is not finite fails" $? 1
says "the step, the device and the row are named" \
    "step 2: the loss is not finite on device 1, first in row 1"
says "what is kept is said" "$dir/s: the parameters after 2 updates"
"$tool" linear $data --steps 2 --save "$dir/again" >/dev/null 2>&1
same "the last good state is kept" "$dir/s" "$dir/again"
is "the metrics hold the good steps" "$(grep -c '"step"' "$dir/m")" 2
"$tool" linear $data --steps 3 --checkpoint "$dir/n":every=1 \
    >"$dir/out" 2>"$dir/err"
is "a loss that is not finite fails with checkpoints" $? 1
is "those of the good steps stay" "$(ls "$dir/n" | tr '\n' ' ')" \
    "step-000000000001 step-000000000002 "
"$tool" linear $data --steps 2 --checkpoint "$dir/n" --resume --save "$dir/s" \
    >"$dir/out" 2>"$dir/err"
same "and load" "$dir/s" "$dir/again"
json "$dir/t"

# ------ A stall: who does what ------

# Nobody reads the metrics, so that the tool waits for room in the pipe.
mkfifo "$dir/pipe"
exec 3<>"$dir/pipe"
"$tool" linear --steps 100000000 --log-every 0:stall=0.3 --metrics "$dir/pipe" \
    --workers 2 >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
# (On a busy machine a step may be late by itself before.)
until grep -A1 '): metrics' "$dir/err" | grep -q 'worker 1 '; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
says "a stall is reported" "lockstep-train: no step finished for "
says "who is where" "): metrics"
is "the others do nothing" "$(grep -A1 '): metrics' "$dir/err" | head -n 2 |
    grep -c 'worker 1 (PU [0-9]*): nothing$')" 1
cat <&3 >/dev/null &
reader=$!
until grep -q 'goes on' "$dir/err"; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
says "the end of a stall is told" "goes on;"
kill -TERM $pid
end
is "it ended as asked" $status 143
kill $reader
wait $reader 2>/dev/null
exec 3<&-

# ------ Traces, and options that make no sense ------

expect 2 "--trace:level needs --trace" linear --trace :level=2
run linear --trace "$dir/u" --metrics "$dir/m"
has "a level is told" m '/u:level=1",'
expect 2 "\"3\" is none of 1|2" linear --trace "$dir/t":level=3
expect 2 "--log-every:stall" linear --log-every :stall=-1
expect 2 "type --log-every :stall=3" linear --stall-seconds 3
expect 2 "not a regular file" linear --trace /dev/null
expect 2 "No such file" linear --trace "$dir/none/t"

"$tool" linear --steps 3 --trace "$dir/t":level=2 >"$dir/out" \
    2>"$dir/err"
json "$dir/t"
for name in gradients reduce update barrier step data dense loss rows/s \
    "worker 0 (PU"; do
    is "$name is traced" "$(grep -c "\"name\":\"$name" "$dir/t" \
        | sed 's/[1-9][0-9]*/some/')" some
done
is "nothing is left aside" "$(find "$dir" -name '*.tmp-*')" ""

finish
