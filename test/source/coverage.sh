#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that test/source/coverage fails when a test fails and when a goal is missed,
# and passes when all pass and both are met: with a suite of one line and counts
# that are made here, without a compiler.
cd "$(dirname "$0")" || exit 99
here=$PWD
. ../support/shell.sh
command -v python3 >"$dir/out" || { echo "skipped: no python3 here"; exit 77; }
unset MAKEFLAGS MFLAGS
COVERAGE_BUILD=$dir/build CLANG=true LLVM_PROFDATA=true LLVM_COV=$dir/cov
export COVERAGE_BUILD CLANG LLVM_PROFDATA LLVM_COV
mkdir "$dir/build"
printf '#!/bin/sh\ncat "%s/counts.json"\n' "$dir" >"$dir/cov"
chmod +x "$dir/cov"

# suite STATUS LINES FALSE: what make check ends with, how many lines a file
# has, of which all but one ran, and how often the last of ten sides was taken.
suite() {
    printf 'check:\n\texit %s\n' "$1" >"$dir/build/Makefile"
    branches=
    for i in 1 2 3 4; do
        branches="${branches}[$i, 1, $i, 2, 1, 1, 0, 0],"
    done
    cat >"$dir/counts.json" <<END
{"data": [{"files": [{"filename": "$here/../../lib/base/sha.c", "segments": [
    [1, 1, 1, true, true, false], [$(($2 - 1)), 9, 0, false, false, false],
    [$2, 1, 0, true, true, false], [$2, 9, 0, false, false, false]]}],
  "functions": [{"filenames": ["$here/../../lib/base/sha.c"], "regions": [],
    "branches": [$branches [5, 1, 5, 2, 1, $3, 0, 0]]}]}]}
END
}

# ends NAME STATUS TEXT [TEST]: what test/source/coverage ends with and says.
ends() {
    name=$1 expected=$2 text=$3
    shift 3
    "$here/coverage" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    is "$name" $? "$expected"
    cat "$dir/err" >>"$dir/out"
    has "$name" out "$text"
}

suite 0 20 0
ends "all pass and both goals are met" 0 \
    "lines  95.00 % of    20   branches  90.00 % of    10"
suite 1 20 0
ends "a test fails" 1 "some tests failed"
has "the shares are said all the same" out "lines  95.00 %"
suite 0 19 0
ends "too few lines" 1 "the goal of 95 % of the lines is missed"
ends "tests that are named need not run all" 0 "lines  94.74 %" test/test_x
suite 0 20 0
sed 's/\[1, 1, 1, 2, 1, 1/[1, 1, 1, 2, 1, 0/' "$dir/counts.json" >"$dir/c"
mv "$dir/c" "$dir/counts.json"
ends "too few branches" 1 "the goal of 90 % of the branches is missed"
finish
