#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-scale verifies before it reports: tables, files and exit
# statuses on tiny models, counts beyond the cores marked, and a count with
# other bytes refused.  No number of time is looked at.  Needs only POSIX tools;
# jq and xmllint are used where present.  LOCKSTEP_SCALE or top_builddir say
# where the tool is.
unset SPOIL
tool=${LOCKSTEP_SCALE:-${top_builddir:-.}/lockstep-scale}
here=$(dirname "$0")
. "$(dirname "$0")/../../support/shell.sh"

# column N: of the first table, without its head; then a blank between each.
column() {
    awk -v n="$1" '/^workers/ { table++; next } table == 1 && NF == 0 { exit }
        table == 1 { gsub(/ %/, "%"); print $n }' "$dir/out" | tr '\n' ' '
}

"$tool" --version >/dev/null || exit 99

# ------ help, usage, failures ------

for model in "" lm; do
    run $model --help
    is "--help $model" $status 0
    awk 'length > 80' "$dir/out" >"$dir/long"
    is "--help $model fits 80 columns" "$(cat "$dir/long")" ""
done
run --help all
for name in $(sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' "$dir/out"); do
    if sed 's/\\-/-/g' "$here/../../../docs/man/lockstep-scale.1" \
        "$here/../../../docs/man/lockstep-train.1" | grep -q -e "--$name\b"; then
        pass
    else
        fail "--$name is in no manual"
    fi
done
run --version
has version out "lockstep-scale 0."
expect 2 "which model?"
expect 2 "did you mean linear?" liner
expect 2 "unknown option --worker; did you mean --workers?" linear --worker 2
expect 2 "unknown option --metrics; it is one of lockstep-train" linear \
    --metrics "$dir/m"
expect 2 "unknown option --epochs; it is one of lockstep-train" linear \
    --epochs 2
for bad in 0 -1 1,0 1,,2 '1,2,' ,1 "1, 2" x 1x; do
    expect 2 "--workers: \"$bad\" is not a list" linear "--workers=$bad"
done
for bad in 65537 1,99999999999999999999; do
    expect 2 "--workers: \"$bad\" has a number that is too large" linear \
        "--workers=$bad"
done
expect 2 "--repeat: \"0\" is not" linear --repeat 0
expect 2 "--ranks: \"2,\" is not a list" linear --ranks 2,
expect 2 "2 are more than the 1 that were started; mpirun -n 2" linear --ranks 2
expect 2 "--steps: \"0\" is not" linear --steps 0
expect 2 "--optimizer:b1 is for --optimizer adam" linear --optimizer :b1=0.9
expect 2 "gpt needs --data" gpt --workers 1
expect 2 "Need at least 2 devices" lm --devices 1
expect 2 "none/f.json: its folder: No such file" \
    linear --json "$dir/none/f.json"
expect 2 "not a regular file" linear --json "$dir"
expect 2 "f.png: --plot writes SVG" linear --plot "$dir/f.png"
expect 2 "9999 workers on " linear --workers 9999
has "what would measure them is said" err "--oversubscribe"
echo kept >"$dir/old.json"
expect 2 "none/f.svg" linear --json "$dir/new.json" --report "$dir/none/f.svg"
is "a refusal leaves no file" "$(ls "$dir/new.json" 2>/dev/null)" ""
expect 2 "none/f.svg" linear --json "$dir/old.json" --report "$dir/none/f.svg"
is "nor changes one" "$(cat "$dir/old.json")" kept

# ------ tables and files ------

# Once with roofs; they take longer than all else, minutes under a sanitizer.
quick="--repeat 2 --steps 3 --devices 4 --no-roofs"
run linear ${quick% *} --workers 3,2,2 --json "$dir/f.json" --csv "$dir/f.csv" \
    --plot "$dir/f.svg"
is "linear" $status 0
is "counts in order, 1 among them" "$(column 1)" "1 2 3 "
is "the first is its own measure" \
    "$(column 6 | cut -d ' ' -f 1) $(column 7 | cut -d ' ' -f 1)" "1.00 100%"
has "the head" out "linear, 64 rows a step, 4 devices: strong scaling, 2 x 3"
has "the command" out "lockstep-scale linear --repeat 2"
has "FLOP" out "128 FLOP and 162 bytes a row"
has "an operator's share of both" out "dense                  100 %    70 %       1.12"
has "what an operator is bound by" out " memory"
has "the bound" out " x of the bound of "
is "workers in CSV" "$(cut -d, -f1 "$dir/f.csv" | tr '\n' ' ')" "workers 1 2 3 "
is "as many fields in each line" \
    "$(awk -F, '{ print NF }' "$dir/f.csv" | sort -u)" 27
is "of the names of JSON" "$(sed '1!d; s/_max//g; s/,/\n/g' "$dir/f.csv" |
    while read -r name; do grep -q "\"$name\":" "$dir/f.json" || echo "$name"
    done)" tokens_per_second
is "an SVG with an ideal line and a bar of four parts for each count" \
    "$(grep -c 'class="ideal"' "$dir/f.svg") $(grep -c \
        '<rect class="[a-z]*" .* width="[^1]' "$dir/f.svg")" "1 12"
is "no progress without a terminal" "$(grep -c 'run 1 of' "$dir/err")" 0
has "but what is measured" err "measuring linear: 6 runs"
has "and how long that takes" err "the first run took"
if command -v jq >/dev/null; then
    is "JSON" "$(jq -c '[.model, .devices, .repeats, .steps,
        (.points | map(.workers, .verified, (.repeats | length))),
        (.points | map(.state) | unique | length)]' "$dir/f.json")" \
        '["linear",4,2,3,[1,true,2,2,true,2,3,true,2],1]'
    is "operators in JSON" "$(jq -c '[.row_bytes, (.operators |
        map(.op, .row_bytes)), .operators[1].bound_by,
        ((.operators | map([.cores_seconds, .memory_seconds] | max) | add) *
            .points[0].rows / .bound_seconds * 1e6 | round),
        (.points | map(.gradient_rate > 0) | unique)]' "$dir/f.json")" \
        '[162,["dense",114,"squared error",48],"memory",1000000,[true]]'
fi

run linear $quick --workers 1
is "without roofs" $status 0
is "no copy" "$(awk '/ copy$/ { t = 1; next } t { print $NF; exit }' \
    "$dir/out")" -
is "no bound" "$(grep -c 'bound by\|at the roofs' "$dir/out")" 0

# ------ a report ------

expect 2 "--json is of one MODEL" --report --json "$dir/none.json"
expect 2 "none/r.json: its folder: No such file" \
    linear --report "$dir/none/r.json"
run linear $quick --workers 1 --report "$dir/r.json"
is "a report" $status 0
run linear $quick --workers 1 --report
is "a report on stdout" $status 0
if command -v jq >/dev/null; then
    for file in r.json out; do
        is "what is in $file" "$(jq -c '[.program, (.version | length > 0),
            (.machine | has("levels", "kernels", "usable_cores")),
            .system.name, (.models | map(.model, (.points | length)))]' \
            "$dir/$file")" \
            '["lockstep-scale",true,true,true,true,"Linux",["linear",1]]'
    done
fi

# ------ two files: a regression or noise ------

# timed FACTOR NOISE..: a file of runs that took so long.
timed() {
    factor=$1
    shift
    list=$(for x in "$@"; do awk "BEGIN { print $factor * $x }"; done |
        tr '\n' ',')
    echo '{ "program": "lockstep-scale", "model": "mlp", "cpu": "a CPU",' \
        '"points": [{ "workers": 1, "verified": true, "rows": 1,' \
        '"repeats": ['"${list%,}"'] }] }'
}

compare=$here/../../../bench/compare
if command -v python3 >/dev/null; then
    timed 1 1 1.03 1.01 1.5 1.02 >"$dir/before"
    for trial in "1 0" "1.01 0" "1.2 1" "0.8 0"; do
        timed "${trial% *}" 1.02 1 1.03 1.01 1.01 >"$dir/after"
        python3 -B "$compare" "$dir/before" "$dir/after" >"$dir/out" \
            2>"$dir/err"
        is "$trial: worse or not" $? "${trial#* }"
    done
fi

# ------ other models, weak scaling ------

run lm --repeat 1 --steps 1 --no-roofs --devices 2 --workers 1,2 --weak \
    --state shard --vocab 16 --seq-len 8 --d-model 8 --heads 2 --layers 1 --d-ff 8 --batch 4
is "lm, weak" $status 0
has "rows grow" out "lm, 4 rows a step and worker, 2 devices: weak scaling"
has "tokens" out "tokens/s"
has "operators" out "attention"
run mlp --repeat 1 --steps 1 --no-roofs --workers 2 --hidden 8 --rows 256 --weak
is "mlp, weak" $status 0
awk 'BEGIN { for (i = 0; i < 200; i++) print "some words to learn" }' \
    >"$dir/text"
run gpt --data "$dir/text" --repeat 1 --steps 1 --no-roofs --workers 2 --weak \
    --seq-len 8 --d-model 8 --heads 2 --layers 1 --d-ff 8
is "gpt, weak" $status 0

# ------ counts beyond the cores ------

run linear $quick --workers 1
cores=$(sed -n '2{s/ usable core.*//;s/.* //p;}' "$dir/out")
if [ "${cores:-0}" -ge 1 ] && [ "$cores" -lt 32 ]; then
    run linear $quick --workers "$cores,$((cores + 1))"
    is "marked in each table" "$(grep -c ' oversubscribed$' "$dir/out")" 4
fi

# ------ other bytes, of a library that is spoilt ------

tool=${LOCKSTEP_SPOILT:-${top_builddir:-.}/test/support/spoilt_scale}
for weak in "" --weak; do
    SPOIL=2
    export SPOIL
    run linear $quick --workers 2,3 $weak --json "$dir/f.json" \
        --csv "$dir/f.csv"
    unset SPOIL
    is "other bytes$weak are a failure" $status 1
    has "other bytes$weak" err "2 workers: the state is not that of 1 worker"
    is "other bytes$weak have no speed-up" "$(column 6 | cut -d ' ' -f 2)" "-"
    is "nor in JSON$weak" "$(awk '/"(verified|speedup)":/ { printf "%s ", $2 }' \
        "$dir/f.json" | cut -d ' ' -f 3,4)" "false, null,"
    is "nor in CSV$weak" "$(sed -n 3p "$dir/f.csv" | cut -d, -f1,4,12,13)" "2,0,,"
    has "marked$weak" out "state differs"
done

# ------ the gate of bench/compare ------

# made SECONDS FILE: a file as of --json, of one worker.
made() {
    echo "{\"program\": \"lockstep-scale\", \"model\": \"mlp\",
        \"cpu\": \"Some CPU (R) 2\", \"usable_cores\": 2, \"points\": [{
        \"workers\": 1, \"rows\": 8, \"verified\": true,
        \"repeats\": [$1, ${1}1, ${1}2, $1, ${1}1]}]}" >"$2"
}

compare() {
    python3 "$here/../../../bench/compare" --folder "$dir/kept" "$@" >"$dir/out" \
        2>"$dir/err"
}

if command -v python3 >/dev/null; then
    made 1.00 "$dir/now.json"
    made 1.10 "$dir/later.json"
    compare --baseline "$dir/now.json"
    is "nothing is stored yet" $? 77
    compare --store "$dir/now.json"
    is "a file is stored" "$(ls "$dir/kept")" \
        stored-some-cpu-r-2-2-scale-mlp.json
    compare --baseline "$dir/now.json"
    is "as fast as stored" $? 0
    compare --baseline "$dir/later.json"
    is "slower than stored" $? 1
    sed 's/"cpu": "[^"]*/& (family 6, model 1)/' "$dir/later.json" \
        >"$dir/family.json"
    compare --baseline "$dir/family.json"
    is "what is stored without a family serves each" $? 1
    compare --store "$dir/family.json"
    compare --baseline "$dir/family.json"
    is "what is stored for the family comes first" $? 0
    compare "$dir/later.json" "$dir/now.json"
    is "faster" $? 0
    compare "$dir/now.json"
    is "one file and nothing to compare with" $? 2
    echo '{"machine": {}}' >"$dir/other.json"
    echo 'no JSON' >"$dir/text.json"
    echo '{"points": []}' >"$dir/points.json"
    sed 's/{$//; /"workers"/d; $s/.*/]}/' "$dir/now.json" >"$dir/empty.json"
    sed 's/"cpu"/"name"/' "$dir/now.json" >"$dir/nameless.json"
    sed 's,"model": "mlp",,' "$dir/now.json" >"$dir/model.json"
    for file in other text points empty nameless model none; do
        compare --baseline "$dir/$file.json"
        is "$file.json is no result" $? 2
        has "which is said in one line" err "compare: $dir/$file.json: "
    done
    sed 's/"workers": 1,/"workers": 2,/' "$dir/now.json" >"$dir/two.json"
    compare "$dir/now.json" "$dir/two.json"
    is "no row in common is no success" $? 2
fi
finish
