#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves which rows of a table are held back: by --group no rows of one value
# are on both sides, by --time later ones are, of classes each fold has its
# share; the same on any number of workers; and what is refused.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
tool=$build/lockstep-train
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

# Ten groups of 11, 12, .. 20 rows; times in an order of their own, of which
# each two rows share one; the class is "new" in the last fifth of them.
awk 'BEGIN { print "x,who,when,kind"
    for (g = 0; g < 10; g++) for (i = 0; i < 11 + g; i++) n++
    for (g = r = 0; g < 10; g++) for (i = 0; i < 11 + g; i++) {
        t = int(r++ * 7 % n / 2)
        printf "%d,w%d,%d,%s\n", r * 13 % 31, g, t, 2 * t < n * 4 / 5 ? "old" : "new" }
    }' >t.csv
n=$(($(wc -l <t.csv) - 1))
short="table --data t.csv --epochs 2 --hidden 4 --devices 2 --ignore who,when"
short_of() { echo "$short" | sed "s/who,when/$1/"; }

# held: the rows of each class that were held back, by the confusions.
held() { awk '/confusion/ { on = 4 } on && on-- < 3 { print $1, $2 + $3 }' out; }
fold_rows() { sed -n 's/.* fold .* rows \([0-9]*\) .*/\1/p' out; }

run $(short_of when) --group who
rows=$(held | awk '{ n += $2 } END { print n }')
is "no more than one group beyond the share is held back" \
    "$status $((rows >= n / 5 && rows < n / 5 + 20))" "0 1"
run $(short_of when) --group who --cv 10
fold_rows | sort -n | tr '\n' ' ' >rows
is "ten folds of ten groups are the groups" "$status $(cat rows)" \
    "0 11 12 13 14 15 16 17 18 19 20 "
cp out folds
run $(short_of when) --group who --cv 10 --workers 2
same "the same on more workers" out folds
run $(short_of when) --group who --cv 4 --data-seed 3
is "of fewer folds all are alike, and each row is in one" "$status $(fold_rows |
    awk '{ n += $1; if ($1 < 33 || $1 > 45) wrong++ } END { print n, wrong + 0 }
    ')" "0 $n 0"
run $(short_of when) --group who --cv 3 --valid 0.3
is "a fold's own rows can be parted, too" \
    "$status $(fold_rows | wc -l)" "0 3"

run $(short_of who) --time when
is "the last rows are held back" \
    "$status $(held | tr '\n' ' ')" "0 new 31 old 0 "
run $(short_of who) --time when --cv 4 --valid 0
is "each fold is later than what it is told by" \
    "$status $(fold_rows | tr '\n' ' ')$(grep -c 'fold [1-3] .*one class' out)" \
    "0 30 32 30 31 3"
run $(short_of who) --time when --valid 0.205 # 32 rows: half of a time
is "those of one time are not parted" "$status $(held | tr '\n' ' ')" \
    "0 new 31 old 2 "
awk -F, 'NR > 1 { $3 = sprintf("2024-%02d-%02d", 1 + $3 / 28, 1 + $3 % 28) } 1' \
    OFS=, t.csv >dates.csv
run $(short_of who) --data dates.csv --time when
is "dates are times" "$status $(held | tr '\n' ' ')" "0 new 31 old 0 "
is "and no inputs" "$(grep -c 'is of dates' err)" 0

awk -F, 'NR == 1 || $4 == "old" || k++ < 5' t.csv >rare.csv
run $short --data rare.csv --cv 5
is "each fold has its share of a rare class" \
    "$status $(grep -c ' fold .* AUC [01][.]' out)" "0 5"
run mlp --data t.csv --target kind --ignore when --group who --cv 2 --epochs 2
is "mlp has groups, too" "$status $(fold_rows | wc -l)" "0 2"

run table --data t.csv --ignore when --group who --epochs 2 --hidden 4 \
    --save m.st --transcript m.lst
tool=$build/lockstep-verify
run m.lst
is "a transcript has the column" "$status $(grep -c '^model *same' out)" "0 1"
tool=$build/lockstep-predict
cut -d, -f1 t.csv | head -n 4 >x.csv
run m.st x.csv
is "neither is asked for" "$status $(wc -l <out)" "0 4"
tool=$build/lockstep-train
run $short --group who --checkpoint c
expect 2 "group" $short --checkpoint c --resume

expect 2 "exclude each other" table --data t.csv --group who --time when
expect 2 'no column "whom"' table --data t.csv --group whom
expect 2 '"kind" is the target' table --data t.csv --time kind
expect 2 "--group needs --valid or --cv above 0" table --data t.csv --group who \
    --valid 0
expect 1 'line 2, column 2 "who": "w0" is no number; --time is' table --data \
    t.csv --time who
# shellcheck disable=SC2046 # words
expect 2 "11 folds of 10 groups" $(short_of when) --group who --cv 11
# shellcheck disable=SC2046 # words
expect 2 "folds of 78 times, which need one more" $(short_of who) --time when \
    --cv 78
sed '5s/w0//' t.csv >gap.csv
# shellcheck disable=SC2046 # words
expect 1 'line 5, column "who": the value is missing' $(short_of when) --data \
    gap.csv --group who
sed 's/,w[0-9],/,w,/' t.csv >one.csv
# shellcheck disable=SC2046 # words
expect 2 "in groups that leaves none" $(short_of when) --data one.csv --group who
expect 2 "not an option of rnn" rnn --data t.csv --target x --window 4 --time when
finish
