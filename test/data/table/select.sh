#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that --select chooses the epoch and the trial by the figure that it
# names, that --calibrate fits a temperature which the model file has and which
# moves no class, and what both refuse.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
tool=$build/lockstep-train
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

# A class that a line parts, but for a seventh of the rows; and a number.
table() { awk -v n="$1" -v from="$2" 'BEGIN { print "a,b,kind,size"
    for (i = from; i < from + n; i++) {
        a = i * 37 % 101 / 50 - 1; b = i * 53 % 97 / 48 - 1
        k = (a + b > 0) != (i * 29 % 7 == 0)
        printf "%.3f,%.3f,%s,%.3f\n", a, b, k ? "yes" : "no", 100 * a + b
    } }'; }
table 300 0 >t.csv
table 150 1000 >other.csv
short="table --data t.csv --hidden 16,16 --epochs 20 --devices 2 --log-every 1
    --ensemble 1 --eval-data
    other.csv"
kind="$short --target kind --ignore size"
best() { sed -n "s/.*eval best $1 \([-0-9.]*\) at.*/\1/p" out; }
all() { sed -n "s/.*eval step .* $1 \([-0-9.]*\).*/\1/p" out; }

for of in auc:AUC f1:F1 ap:AP accuracy:acc; do
    run $kind --select ${of%:*}
    is "the best ${of#*:} of all epochs" \
        "$status $(awk -v x="$(best ${of#*:})" -v y="$(all ${of#*:} |
            sort -g | tail -n 1)" 'BEGIN { print x - y < 1e-4 && y - x < 1e-4 }
        ')" "0 1"
done
for of in rmse:RMSE mae:MAE r2:R2; do
    run $short --target size --ignore kind --select ${of%:*}
    [ $of = r2:R2 ] && pick="tail -n 1" || pick="head -n 1"
    is "and the best ${of#*:} of numbers" \
        "$status $(awk -v x="$(best ${of#*:})" -v y="$(all ${of#*:} |
            sort -g | $pick)" 'BEGIN { d = (x - y) / y
            print (d < 1e-3 && d > -1e-3) }')" "0 1"
done

run $kind --smoothing 0 --save plain.st
grep 'eval step' out >plain
run $kind --smoothing 0 --calibrate --save calibrated.st
grep 'eval step' out >calibrated
same "a temperature changes no step" calibrated plain
run $kind --select logloss --save logloss.st --transcript logloss.lst
loss=$(best logloss)
is "the least log loss" "$status $(all logloss | sort -g | head -n 1)" "0 $loss"
tool=$build/lockstep-predict
log_loss() { run "$1" other.csv; cut -d, -f2,3 out | paste -d, - other.csv |
    awk -F, 'NR > 1 { s -= log($5 == "no" ? $1 : $2) }
        END { printf "%.4f\n", s / (NR - 1) }'; }
is "is that of the probabilities that the file's model gives" \
    "$(log_loss logloss.st)" "$loss"
is "and a temperature lowers it" \
    "$(echo "$(log_loss calibrated.st) $(log_loss plain.st)" |
        awk '{ print ($1 < $2) }')" 1
run plain.st other.csv
cut -d, -f1 out >plain
run calibrated.st other.csv
cut -d, -f1 out >calibrated
same "no class is another" calibrated plain
run calibrated.st --c m.c
is "C source has it" "$status $(grep -c temperature m.c)" "0 2"
tool=$build/lockstep-verify
run logloss.lst
is "who trains again gets the file" "$status $(grep -c '^model *same' out)" "0 1"

tool=$build/lockstep-train
run $kind --select logloss --tune 4 --epochs 4
is "the trial with the least is the best" \
    "$status $(sed -n 's/^trial [0-9]: \([0-9.]*\) .*/\1/p' err | sort -g |
        head -n 1)" "0 $(sed -n 's/.*tune best .*: trial [0-9]  \([0-9.]*\) .*/\1/p
        ' out)"
is "and smooths no label" "$(grep -c smoothing err)" 0
run table --data t.csv --target kind --ignore size --hidden 16 --epochs 4 \
    --select logloss --cv 2
is "folds tell it" "$status $(grep -c 'fold [12] of 2 .* logloss [0-9.]* ' out)" \
    "0 2"
run mlp --data t.csv --target kind --ignore size --valid 0.2 --early-stop 3 \
    --epochs 4 --select auc
is "mlp has it, too" "$status $(grep -c 'best AUC' out)" "0 1"
run mlp --data t.csv --eval-data other.csv --target kind --ignore size \
    --epochs 40 --lr 0.02 --select logloss --save mlp.st
loss=$(best logloss)
tool=$build/lockstep-predict
is "and a temperature, which its file has" \
    "$status $(log_loss mlp.st)" "0 $loss"
tool=$build/lockstep-inspect
run mlp.st
has "by its name" out "temperature"
tool=$build/lockstep-train
expect 2 "calibrate is for classes, and the target is a number" mlp --data t.csv \
    --target size --ignore kind --calibrate --valid 0.2

# ------ What a table means ------

table 1300 0 >many.csv
for of in 4:t.csv 1:many.csv; do
    tool=$build/lockstep-train
    run table --data ${of#*:} --target kind --ignore size --epochs 1 --hidden 4 \
        --save of.st
    tool=$build/lockstep-inspect
    run of.st
    is "${of%:*} networks of ${of#*:}" "$(grep -c 'layers.0.kernel' out)" ${of%:*}
done
tool=$build/lockstep-train
run table --data t.csv --target kind --ignore size --epochs 900 --hidden 2
is "the end comes a hundred updates after the best" \
    "$status $(grep -c 'none better in 100: the end' out)" "0 1"

awk -F, 'NR == 1 { print "PassengerId,paid,Ticket_ID,a,alive" }
    NR > 1 { print 7 * NR "," 3 * NR ",t" NR "," $1 "," 1 + ($3 == "yes") }' \
    t.csv >ids.csv
run table --data ids.csv --epochs 3 --hidden 4 --save ids.st
is "two whole numbers are classes" "$status $(grep -c 'eval step .* acc ' out)" "0 3"
has "told" err '"alive", the target, is one of two whole numbers, so they are cl'
is "ids are left out, numbers and words" \
    "$(grep -c '"PassengerId" is left out\|"Ticket_ID" is left out' err)" 2
tool=$build/lockstep-predict
printf 'a,paid\n1,2\n' >one.csv
run ids.st one.csv
is "and nobody asks for them" "$status $(head -n 1 out)" "0 alive,p_1,p_2"
tool=$build/lockstep-train
run table --data ids.csv --epochs 3 --hidden 4 --task regression
is "or a number, if that is said" "$status $(grep -c ' RMSE ' out)" "0 4"
sed 's/,2$/,2.5/' ids.csv >half.csv
run table --data half.csv --epochs 3 --hidden 4
is "halves are numbers" "$status $(grep -c ' RMSE ' out)" "0 4"
head -n 19 ids.csv | cut -d, -f1,4,5 >few.csv
run table --data few.csv --epochs 3 --hidden 4
is "of few rows none is an id" "$status $(grep -c 'left out' err)" "0 0"

expect 2 'is for numbers, and "kind" is of classes' $kind --select rmse
expect 2 'is for classes, and "size" is a number' $short --target size \
    --select auc
awk -F, 'NR > 1 { $3 = "k" NR % 3 } 1' OFS=, t.csv >three.csv
expect 2 'is for two classes, and "kind" has 3' table --data three.csv --target \
    kind --select f1
expect 2 "--calibrate is for classes" $short --target size --calibrate
expect 2 "--calibrate: nothing is held out" table --data t.csv --target kind \
    --valid 0 --calibrate
expect 2 "--select: nothing is held out" table --data t.csv --target kind \
    --valid 0 --select f1
expect 2 '"best" is none of auto' table --data t.csv --select best
finish
