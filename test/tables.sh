#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the tables of speed in the documents are those that bench/tables
# makes from the raw rounds in bench/results, and that it sees a figure that was
# typed by hand.
tool=
. "$(dirname "$0")/shell.sh"
python=${PYTHON3:-python3}
command -v "$python" >/dev/null || { echo "skipped: no Python 3 here"; exit 77; }
tree=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd)

# tables FOLDER ARGUMENTS: bench/tables of a tree.
tables() {
    folder=$1
    shift
    "$python" -B "$folder/bench/tables" "$@" >"$dir/out" 2>"$dir/err"
}

tables "$tree" --check
is "the documents have the tables of bench/results" $? 0
"$python" -B "$tree/bench/nanogpt" --check >"$dir/out" 2>"$dir/err"
is "docs/nanogpt.md and its picture, too" $? 0

mkdir "$dir/tree" "$dir/tree/docs"
cp -r "$tree/bench" "$dir/tree"
cp "$tree/README.md" "$dir/tree"
cp "$tree/docs/bench.md" "$tree/docs/csource.md" "$tree/docs/speed.md" \
    "$tree/docs/healing.md" "$tree/docs/tables.md" \
    "$tree/docs/step-times.svg" "$dir/tree/docs"
chmod -R u+w "$dir/tree"
tables "$dir/tree" --check
is "a copy has them" $? 0
sed -i 's/(141 MB) | 212.2/(141 MB) | 211.2/' "$dir/tree/docs/bench.md"
tables "$dir/tree" --check
is "a figure that was typed" $? 1
has "which document" err "docs/bench.md is not what bench/results gives"
tables "$dir/tree"
is "it is made again" $? 0
cmp "$tree/docs/bench.md" "$dir/tree/docs/bench.md"
is "as it was" $? 0
first=$(cd "$dir/tree/bench/results" && echo *amd*model-2-2.csv)
sed -i '/,lm,lockstep,/s/106.907/99.5/' "$dir/tree/bench/results/$first"
tables "$dir/tree" --check
is "another round, another table" $? 1
has "in README, too" err "README.md is not"
tables "$dir/tree"
sed -i '/^[0-9]*,0.1,/s/,[0-9.]*$/,1/' "$dir/tree/bench/results/check/small.csv"
tables "$dir/tree" --check
is "another round of a check" $? 1
has "in its document" err "docs/healing.md is not"
finish
