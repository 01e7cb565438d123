#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-train rnn trains on the windows of a table whose rows
# follow each other: the last rows held back, figures in the target's units, the
# same on any number of workers; that lockstep-predict makes of the model file
# and the table what was evaluated, and a prediction for the rows to come; and
# what of wrong tables and options both say.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
tool=$build/lockstep-train
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

# y is 100 + 20 times what x was two rows before.
awk 'BEGIN { print "day,x,y"
    for (i = 0; i < 240; i++)
        printf "d%d,%.4f,%.4f\n", i, sin(i * i / 90), \
            100 + 20 * (i < 2 ? 0 : sin((i - 2) * (i - 2) / 90)) }' >t.csv
small="rnn --data t.csv --target y --ignore day --window 6 --cell :units=8 --layers 1 \
    --devices 2 --batch 24 --lr 0.01 --log-every 0 --valid 0.2"

for w in 1 2; do
    run $small --epochs 30 --workers $w --save s.st
    is "a series is trained on" $status 0
    [ $w = 1 ] && cp out out1 && cp s.st s1
    same "the same lines on $w workers" out out1
    same "the same file on $w workers" s.st s1
done
is "each epoch is evaluated, in the target's units" \
    "$(grep -c '^.lockstep. eval step 0[0-9]*  loss [0-9.]*  R2 [0-9.]*  RMSE [0-9.]*$' out1)" 30
rmse=$(sed -n 's/.* eval best step .* RMSE \([0-9.]*\)  in .*/\1/p' out1)
is "what it hangs on is learned" \
    "$(sed -n 's/.* R2 \([0-9.]*\) .*/\1/p' out1 | tail -n 1 | awk '{ print ($1 > 0.9) }')" 1

# Rows that are not equally far apart, but months and years are.
series() { # FILE UNIT STEPS..
    file=$1 unit=$2; shift 2; echo "when,y" >"$file"
    for i; do echo "$(date -u -d "2001-01-01 +$i $unit" +%F),$((i % 5))"; done >>"$file"
}
series even.csv day 0 1 2 3 4 5 6 7 8
series months.csv month 0 1 2 3 4 5 6 7 8
series years.csv year 0 1 2 3 4 5 6 7 8
series gap.csv day 0 1 2 3 6 7 8 9 10
series twice.csv day 0 0 1 1 2 2 3 3 4
for of in even months years gap twice; do
    run rnn --data $of.csv --target y --window 4 --cell :units=2 --devices 1 --steps 1
    is "a series, $of" $status 0
    sed -n "s/^note: \"when\": rows are taken as equally far apart, and/$of:/p" err >>apart
done
is "rows that are not equally far apart are told" "$(cat apart)" \
    "gap: 1 of 9 are not, the first in line 6, 3 days behind the one above
twice: 4 of 9 are not, the first in line 4, 1 days behind the one above; rows of \
several series belong into a file each"
{ head -n 8 even.csv; echo "2001-01-08,"; } >hole.csv
expect 1 "this is the target (1 such row); a series has all, so put numbers there" \
    rnn --data hole.csv --target y --window 4

# ------ Predictions ------

tool=$build/lockstep-predict
run s.st t.csv -o p.csv
is "predictions" "$status $(head -n 1 p.csv) $(wc -l <p.csv | tr -d ' ')" \
    "0 y 236"
# Line i of p.csv stands for row i + 6 of the table; the last 48 were held back.
is "they are what was evaluated" "$(awk -F, -v rmse="$rmse" '
    FNR == NR { if (FNR > 1) p[FNR + 4] = $1; next }
    FNR > 1 && FNR - 2 >= 192 { d = $3 - p[FNR - 2]; s += d * d; n++ }
    END { d = sqrt(s / n) / rmse; print n, (d > 0.999 && d < 1.001) }' p.csv t.csv)" "48 1"
{ head -n 1 t.csv; tail -n 6 t.csv; } >last.csv
run s.st last.csv
is "one window, one prediction, of the row to come" "$(tail -n 1 out)" \
    "$(tail -n 1 p.csv)"
{ head -n 1 t.csv; tail -n 5 t.csv; } >few.csv
expect 1 "few.csv: 5 rows; the model sees windows of 6" s.st few.csv
{ npy '<f4' '(6, 2)'; head -c 48 /dev/zero; } >x.npy
expect 2 "the model takes a table, a series" s.st x.npy
sed 's/,y$/,z/' t.csv >z.csv
expect 2 'z.csv: has no column "y"' s.st z.csv
sed '9s/.*/d7,,1/' t.csv >hole.csv
expect 1 'line 9, column 2 "x": the value is missing' s.st hole.csv
has "and says who may change that" err "; a model trained with --missing mean"
tool=$build/lockstep-train

# ------ Other kinds ------

cut -d, -f3 t.csv >y.csv
run rnn --data y.csv --target y --window 5:horizon=3 --cell gru:units=4 \
    --layers 2 --devices 1 --epochs 1 --valid 0.1 --save y.st
is "the target alone, three rows ahead" "$status $(grep -c 'eval step' out)" \
    "0 1"
tool=$build/lockstep-predict
run y.st y.csv
is "and its predictions" "$status $(wc -l <out | tr -d ' ')" "0 237"
tool=$build/lockstep-train
run rnn --data hole.csv --target y --ignore day --window 4 --missing mean \
    --cell :units=4 --devices 1 --steps 2
is "means in the place of missing values" $status 0

# Another table is evaluated on, after each epoch; all of the first is trained on.
{ head -n 1 t.csv; tail -n 48 t.csv; } >later.csv
run rnn --data t.csv --target y --ignore day --window 6 --cell :units=4 --devices 1 \
    --epochs 2 --eval-data later.csv --save later.st
is "a table of its own" "$status $(grep -c 'eval step .* RMSE' out)" "0 2"
rmse=$(sed -n 's/.* eval best step .* RMSE \([0-9.]*\)  in .*/\1/p' out)
tool=$build/lockstep-predict
run later.st later.csv -o p.csv
is "has the figures of its predictions" "$(awk -F, -v rmse="$rmse" '
    FNR == NR { if (FNR > 1) p[FNR + 4] = $1; next }
    FNR - 2 in p { d = $3 - p[FNR - 2]; s += d * d; n++ }
    END { d = sqrt(s / n) / rmse; print n, (d > 0.999 && d < 1.001) }' \
    p.csv later.csv)" "42 1"
tool=$build/lockstep-train

# ------ What is refused ------

series="rnn --devices 1 --cell :units=4 --target y"
awk -F, -v OFS=, 'NR > 1 {
    $1 = sprintf("2025-%02d-%02d", (NR - 2) / 28 + 1, (NR - 2) % 28 + 1) } 1' \
    t.csv >dated.csv
awk 'NR == 4 { held = $0; next } 1; NR == 5 { print held }' dated.csv >turned.csv
run $series --data dated.csv --window 6 --steps 2 --save dated.st
is "dates in order" $status 0
tool=$build/lockstep-predict
run dated.st dated.csv
is "of what is predicted, too" $status 0
run dated.st turned.csv
is "are asked for" "$status $(grep -c 'line 5, column 1 "day": "2025-01-03"' err)" "1 1"
tool=$build/lockstep-train
{
    expect 2 "--window N says how many rows of t.csv" $series --data t.csv
    expect 1 'line 2, column "day": "d0" is no number, and a series has' \
        $series --data t.csv --window 6
    expect 2 "240 rows; a window of 240 and a horizon of 1 need 241" $series \
        --data t.csv --ignore day --window 240
    expect 2 "192 rows to train on without those that --valid holds back" \
        $series --data t.csv --ignore day --window 190:horizon=3 --valid 0.2
    expect 2 "--valid: holds back 48 rows; a window of 50 and a horizon of 1 need 51 at" \
        $series --data t.csv --ignore day --window 50 --valid 0.2
    expect 1 'line 9, column "x": the value is missing, as in 1 of 240 rows' \
        $series --data hole.csv --ignore day --window 6
    expect 2 '--target: t.csv: line 2, column "day": "d0" is no number; the target of' \
        rnn --data t.csv --target day --window 6
    expect 2 "--sample is for texts, not tables" $series --data t.csv \
        --window 6 --sample 9
    expect 2 "--valid is for tables" rnn --data t.csv --valid 0.2
    expect 2 "--valid and --eval-data exclude each other" $series --data t.csv \
        --ignore day --window 6 --valid 0.2 --eval-data t.csv
    expect 2 "--eval-data: 5 rows; a window of 6 and a horizon of 1 need 7" \
        $series --data t.csv --ignore day --window 6 --eval-data few.csv
    expect 1 'turned.csv: line 5, column 1 "day": "2025-01-03" is before the row' \
        $series --data turned.csv --window 6
    expect 1 '{ head -n 1 FILE; tail -n +2 FILE | sort -s -t ' \
        $series --data turned.csv --window 6 --ignore day
    expect 1 'turned.csv: line 5, column 1 "day"' $series --data dated.csv \
        --window 6 --eval-data turned.csv
    expect 2 "--window needs --target" rnn --data t.csv --window 4
    expect 2 "--window:horizon needs --window" $series --data t.csv --window :horizon=4
}
finish
