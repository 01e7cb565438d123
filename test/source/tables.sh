#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the tables of speed in the documents are those that bench/tables
# makes from the raw rounds in bench/results, and that it sees a figure that was
# typed by hand, and a table of times that it does not make.
tool=
. "$(dirname "$0")/../support/shell.sh"
python=${PYTHON3:-python3}
command -v "$python" >/dev/null || { echo "skipped: no Python 3 here"; exit 77; }
tree=$(cd "${top_srcdir:-$(dirname "$0")/../..}" && pwd)

# tables FOLDER ARGUMENTS: bench/tables of a tree.
tables() {
    folder=$1
    shift
    "$python" -B "$folder/bench/tables" "$@" >"$dir/out" 2>"$dir/err"
}

tables "$tree" --check
is "the documents have the tables of bench/results" $? 0

mkdir "$dir/tree"
cp -r "$tree/bench" "$tree/docs" "$tree/README.md" "$dir/tree"
chmod -R u+w "$dir/tree"
tables "$dir/tree" --check
is "a copy has them" $? 0
sed -i 's/(141 MB) | [0-9.]*/(141 MB) | 0.1/' "$dir/tree/docs/bench.md"
tables "$dir/tree" --check
is "a figure that was typed" $? 1
has "which document" err "docs/bench.md is not what bench/results gives"
tables "$dir/tree"
is "it is made again" $? 0
cmp "$tree/docs/bench.md" "$dir/tree/docs/bench.md"
is "as it was" $? 0
newest=$(cd "$dir/tree/bench/results" && ls ./*amd*model-2-2.csv | tail -n 1)
sed -Ei '/,lm,lockstep,/s/^(([^,]*,){5})[^,]*/\199.5/' \
    "$dir/tree/bench/results/$newest"
tables "$dir/tree" --check
is "another round, another table" $? 1
has "in README, too" err "README.md is not"
tables "$dir/tree"
sed -i '/^[0-9]*,0.1,/s/,[0-9.]*$/,1/' "$dir/tree/bench/results/check/small.csv"
tables "$dir/tree" --check
is "another round of a check" $? 1
has "in its document" err "docs/healing.md is not"

tables "$dir/tree"
sed -i 's/^\(address: .*\) s,/\11 s,/' "$dir/tree/bench/results/checks/full.txt"
tables "$dir/tree" --check
is "another time of a step of .ci/full" $? 1
has "in its document" err "bench/results/checks/README.md is not"
tables "$dir/tree"
printf '\n| what | ms |\n|---|--:|\n| a step | 3 |\n' >>"$dir/tree/docs/bits.md"
tables "$dir/tree" --check
is "a table that is typed" $? 1
has "which" err "docs/bits.md: times that no program made: | what | ms |"
echo 'A step takes 3 ms.' >>"$dir/tree/docs/index.md"
tables "$dir/tree" --check
has "a sentence that is typed" err "docs/index.md: times that no program made"

# rounds ROW LEAST: what bench/run --json writes of a row that was measured once.
rounds() {
    echo '{"machine": {"cpu": "Some CPU", "cores": 2, "cpus": [0],
        "date": "2026-01-02 03:04:05", "command": "measure '"$1"'"},
        "rows": {"'"$1"'": {"ratios": {}, "sides": {"lockstep": [
        {"min": '"$2"', "median": 3}]}}}}' >"$dir/now.json"
    "$python" -B "$tree/bench/compare" --store --folder "$dir/kept" \
        --commit abc "$dir/now.json" >"$dir/out" 2>"$dir/err"
}
rounds one 1 && rounds two 1 && rounds one 2
is "rounds of one day are stored" $? 0
kept=$dir/kept/2026-01-02-some-cpu-2.csv
is "its rows join, the newer in place of the older" \
    "$(grep '^abc' "$kept" | tr '\n' ' ')" \
    "abc,one,lockstep,yes,1,2,3,,, abc,two,lockstep,yes,1,1,3,,, "
is "under the commands of both" "$(grep command "$kept")" \
    "# command: measure one; measure two"
finish
