#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-train mlp trains on tables: classes and numbers, words,
# rows held back, figures in the target's units, early stops; that
# lockstep-predict makes of the model file alone what was evaluated; the same on
# any number of workers; and what of wrong tables and options both say.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
tool=$build/lockstep-train
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

# A table of three kinds: numbers, words, a target of classes that both tell,
# and one of numbers, 1000 + 300 a - 200 b + 50 where the colour is red.
awk 'BEGIN { print "a,\"the b\",colour,kind,price"
    for (i = 0; i < 120; i++) {
        a = (i * 7 % 23) / 4; b = 100 * (i * 13 % 17)
        c = i % 3 == 0 ? "red" : i % 3 == 1 ? "green" : "\"dark, blue\""
        k = a * 300 > b ? "big" : "small"
        p = 1000 + 300 * a - 2 * b + (i % 3 == 0) * 50
        printf "%.2f,%d,%s,%s,%.1f\n", a, b, c, k, p } }' >t.csv
small="mlp --data t.csv --hidden 16 --devices 2 --batch 24 --lr 0.01 --log-every 0"

# ------ Classes ------

for w in 1 2 3; do
    run $small --target kind --ignore price --valid 0.25 --epochs 40 \
        --workers $w --save kind.st
    is "classes are trained on" $status 0
    [ $w = 1 ] && cp out out1 && cp kind.st kind1
    same "the same lines on $w workers" out out1
    same "the same file on $w workers" kind.st kind1
done
is "each epoch is evaluated" \
    "$(grep -c '^.lockstep. eval step 0[0-9]*  loss [0-9.]*  acc [0-9.]*  AUC [0-9.]*$' out1)" 40
acc=$(sed -n 's/.*eval step 0160 .*acc \([0-9.]*\).*/\1/p' out1)
is "they are learned" "$(echo "$acc" | awk '{ print ($1 > 0.9) }')" 1
is "what is confused adds up to the rows and the accuracy" \
    "$(awk '/confusion/ { on = NR } on && NR > on + 1 && NR < on + 4 {
        for (i = 2; i <= NF; i++) { n += $i; if (i == NR - on) right += $i } }
        END { printf "%d %.4f", n, right / n }' out1)" "30 $acc"
run $small --target kind --ignore price --valid 0.25 --epochs 2 --data-seed 8
differ "other rows are held back with another seed" out out1
# Whole numbers are classes called by the number: 1.0 and 1 are one.
awk -F, '{ s = $1 < 2 ? "1.0" : $1 < 3 ? "1" : $1 < 4 ? "2" : "10"
    print $0 "," (NR == 1 ? "stars" : s) }' t.csv >stars.csv
run $small --data stars.csv --target stars --ignore kind,price,colour \
    --task classification --epochs 60 --valid 0.2 --save stars.st
is "numbers as classes" $status 0
is "their names" "$(awk '/confusion/ { getline; print $1, $2, $3, NF }' out)" \
    "1 2 10 3"
awk 'BEGIN { print "a,k"
    for (i = 0; i < 90; i++) print i "," (i % 2 ? "größe 類類類類類類" : "b") }' >long.csv
run $small --data long.csv --target k --epochs 1 --valid 0.2
has "a long name is cut between characters" out "größe 類類類類類     "
tool=$build/lockstep-predict
run stars.st stars.csv
is "and predictions" "$(head -n 1 out) $(awk -F, 'NR > 1 { print $1 }' out |
    sort -un | tr '\n' ' ')" "stars,p_1,p_2,p_10 1 2 10 "
tool=$build/lockstep-train
awk -F, 'NR == 1 { print "a,n,half"; next }
    { print $1 "," NR % 30 "," (NR % 3 ? NR % 3 : 0.5) }' t.csv >odd.csv
said='0.5 is no whole number, as a class is, and there are 3 different values'
expect 2 "--task classification: odd.csv: line 3, column \"half\": $said; --task reg" \
    mlp --data odd.csv --target half --task classification
said='30 different numbers in 120 rows, too many for classes; --task regression'
expect 2 "--target: odd.csv: column \"n\" has $said" mlp --data odd.csv --target n --task classification
expect 2 '--classes: "n" is a number' mlp --data odd.csv --target n --classes 3
run $small --target colour --ignore kind,price --valid 0.2 --epochs 3 --top-k 2
is "top-k" "$(grep -c 'acc [0-9.]*  top-2 [0-9.]*$' out)" 3
run $small --target colour --epochs 3 --valid 0.2
cp out even
run $small --target colour --epochs 3 --valid 0.2 --class-weights balanced
is "class weights" $status 0
awk -F, 'NR == 1 || $3 != "red" || NR % 2' t.csv >skew.csv
for weights in even balanced; do
    run mlp --data skew.csv --target colour --hidden 8 --devices 2 --batch 24 \
        --log-every 1 --steps 1 --class-weights $weights
    grep "step 0000" out >$weights
done
differ "rare classes weigh more" even balanced
# A label below 0 is none; a class that there is not is refused.
one='\000\000\200\077' zero='\000\000\000\000' two='\002\000\000\000'
first='\001\000\000\000' none='\377\377\377\377'
# shellcheck disable=SC2059 # bytes
{
    { npy "<f4" "(6, 1)"; printf "$one$zero$one$zero$zero$one"; } >x6.npy
    { npy "<i4" "(6,)"; printf "$zero$zero$zero$first$zero$none"; } >y6.npy
    { npy "<f4" "(5, 1)"; printf "$one$zero$one$zero$zero"; } >x5.npy
    { npy "<i4" "(5,)"; printf "$zero$zero$zero$first$zero"; } >y5.npy
    { npy "<i4" "(5,)"; printf "$zero$two$zero$first$zero"; } >y3.npy
}
for rows in 5 6; do
    run mlp --x x$rows.npy --y y$rows.npy --devices 1 --batch $rows \
        --no-shuffle --log-every 1 --steps 3 --class-weights balanced
    grep "step 000" out >w$rows
done
is "three steps" "$(grep -c loss w6)" 3
same "rows without a label weigh nothing" w5 w6
expect 1 "labels from 0 to 2, but the 2 classes are counted from 0 to 1" \
    mlp --x x5.npy --y y3.npy --devices 1 --classes 2 --class-weights balanced

# ------ Numbers ------

run $small --target price --ignore kind --valid 0.25 --epochs 150 --save p.st
is "numbers are trained on" $status 0
is "their figures" \
    "$(grep -c '^.lockstep. eval step 0[0-9]*  loss [0-9.]*  R2 -*[0-9.]*  RMSE [0-9.]*$' out)" 150
is "they are learned" "$(sed -n \
    's/.*eval step 0600 .*R2 \([0-9.]*\) .*/\1/p' out |
    awk '{ print ($1 > 0.95) }')" 1
is "there is no accuracy of an epoch" "$(grep -c '^Epoch 150: Loss=[0-9.]*$' out)" 1
rmse=$(sed -n 's/.*eval step 0600 .*RMSE \([0-9.]*\)$/\1/p' out)

# ------ Predictions ------

tool=$build/lockstep-predict
run p.st t.csv -o p.csv
is "a header and a line for each row" "$status $(wc -l <p.csv | tr -d ' ') $(
    head -n 1 p.csv)" "0 121 price"
# The table in another order, without its target, with another separator and CR
# LF, gives the same.
awk -F, 'NR == 1 { print "x;colour;a;the b\r"; next }
    /dark/ { print "9;\"dark, blue\";" $1 ";" $2 "\r"; next }
    { print "9;" $3 ";" $1 ";" $2 "\r" }' t.csv >other.csv
run p.st other.csv
same "columns go by their names" out p.csv
# The whole table's error in the target's units is near that of the rows held
# back.
is "predictions are in the target's units" "$(paste -d, t.csv p.csv |
    sed 's/"dark, blue"/blue/' | awk -F, -v rmse="$rmse" 'NR > 1 {
        d = $6 - $5; s += d * d } END {
        e = sqrt(s / 120); print (e < 3 * rmse && e > rmse / 5) }')" 1
run kind.st t.csv
is "header of classes" "$(head -n 1 out)" "kind,p_big,p_small"
is "classes by their words, the likeliest" "$(awk -F, 'NR > 1 {
    s = $2 + $3; w = $2 > $3 ? "big" : "small"
    if ($1 != w || s < 0.999 || s > 1.001) n++ } END { print NR, n + 0 }' out)" \
    "121 0"
head -n 1 t.csv >head.csv
run kind.st head.csv
is "no rows are no lines" "$status $(cat out)" "0 kind,p_big,p_small"
tail -n +2 t.csv | grep -v blue | awk -F, 'NR < 3 { print }' >rows
{ head -n 1 t.csv; echo "1,2,mauve,,"; } >new.csv
expect 2 "no/where: its folder: No such file" kind.st t.csv -o no/where
expect 2 "-: is not a file; /dev/stdout is the standard" kind.st t.csv -o -
expect 2 "no/where: its folder: No such file" kind.st --onnx no/where
run kind.st --onnx kind.onnx
has "the columns of a table are inputs of ONNX" kind.onnx LabelEncoder
run help
has "help is --help" out "Usage: lockstep-predict MODEL INPUT.. [options]"
expect 1 'line 2, column 3 "colour": "mauve" is none of the 3 words' p.st new.csv
{ head -n 1 t.csv; cat rows; echo "1,,red,,"; } >gap.csv
expect 1 'line 4, column 2 "the b": the value is missing' p.st gap.csv
expect 2 'column "colour" is of text: the model takes a table' p.st x.npy
expect 1 "no/where" p.st no/where.csv
cut -d, -f 1 t.csv >one.csv
expect 2 'one.csv: has no column "the b"' p.st one.csv

# An array has the raw numbers, in the order of the columns.
tool=$build/lockstep-train
awk 'BEGIN { print "u,v,w"; for (i = 0; i < 40; i++)
    printf "%d,%d,%d\n", i % 5, i % 7, 3 * (i % 5) - 2 * (i % 7) + 100 }' >n.csv
run mlp --data n.csv --target w --hidden 8 --devices 1 --epochs 30 --lr 0.02 \
    --save n.st
tool=$build/lockstep-predict
{ npy '|u1' '(3, 2)'; printf '\001\002\004\003\000\006'; } >n.npy
printf 'v,u\n2,1\n3,4\n6,0\n' >n3.csv
run n.st n3.csv
cp out table
run n.st n.npy
same "an array is a table without names" out table
{ npy '<f4' '(2, 2)'; printf '\0\0\200\077%.0s' 1 2 3; printf '\0\0\300\177'
} >hole.npy
expect 1 'row 1, column "v": the value is missing' n.st hole.npy
has "and says who may change that" err "; a model trained with --missing mean"
{ npy '<f4' '(2, 2)'; printf '\0\0\200\077%.0s' 1 2 3; printf '\0\0\200\177'
} >far.npy
expect 1 "row 1: a value is too far" n.st far.npy
printf 'v,u\n2,1\n3,1e308\n' >far.csv
expect 1 "line 3: a value is too far" n.st far.csv

# A file is believed nothing.
sed 's/"lockstep.table":"{\\"version\\":1/"lockstep.table":"{\\"version\\":2/' \
    n.st >bad.st
run bad.st n.npy
is "a file that was changed" $status 1
tool=$build/lockstep-train

# ------ Early stops ------

run $small --target price --ignore kind --valid 0.25 --epochs 400 --lr 0.1 \
    --early-stop 4 --save best.st
is "it stops early" "$(grep -c 'eval none better in 4: the end' out)" 1
best=$(sed -n 's/.*eval best loss [0-9.]* at step 0*\([0-9]*\), .*/\1/p' out)
last=$(sed -n 's/.*eval step 0*\([0-9]*\) .*/\1/p' out | tail -n 1)
is "four evaluations after the best" "$((last - best))" 16
run $small --target price --ignore kind --valid 0.25 --steps "$best" --lr 0.1 \
    --save there.st
same "what is saved is the best" best.st there.st

# Without the option the best is kept, too; --early-stop 0 keeps the last.
many="$small --target price --ignore kind --valid 0.25 --lr 0.1"
run $many --epochs "$((last / 4))" --save kept.st
same "the best is kept without the option" kept.st best.st
has "and its figures are told" out \
    "$(sed -n "s/.*eval step 0*$best  loss/eval best step 00$best  loss/p" out)"
has "with the epoch" err "note: epoch $((best / 4)) of $((last / 4)) was best: loss "
run $many --steps 3
has "with the step, of no whole epoch" err "note: step 3 of 3 was best: loss "
run $many --epochs "$((last / 4))" --early-stop 0 --save last.st
has "the last's figures" err "note: epoch $((last / 4)) of $((last / 4)): loss "
is "and no best is told" "$(grep -c 'eval best step' out)" 0
run $many --steps "$last" --eval-every "$last" --save there.st
same "the last is kept" last.st there.st

# A run that goes on has the best of before, or says that it is gone.
run $many --epochs "$((best / 4 + 1))" --checkpoint going --save going.st
run $many --epochs "$((last / 4))" --checkpoint going --save going.st --resume
same "gone on with, the best is kept" going.st best.st
rm going.st
run $many --epochs "$((last / 4))" --checkpoint going --save going.st --resume
same "where it is gone the last is kept" going.st last.st
has "and that is told" err "note: step $best was better than the end"
expect 2 "nothing is held out" mlp --data t.csv --target price --early-stop 3

# What is printed at the end is of the weights that are saved: the figures of
# their own evaluation, and confusions that the file gives on all rows, too.
stops="$small --data stars.csv --target kind --ignore price --valid 0.5 \
    --lr 0.1 --eval-every 3"
run $stops --epochs 90 --early-stop 5 --save best.st
best=$(sed -n 's/.*eval best acc .* at step 0*\([0-9]*\), .*/\1/p' out)
last=$(sed -n 's/.*eval step 0*\([0-9]*\) .*/\1/p' out | tail -n 1)
is "it has stopped after the best" "$((last > best))" 1
line=$(sed -n "s/.*eval step 0*$best  loss/loss/p" out)
has "the figures of the best" out "eval best step 00$best  $line  in best.st"
sed -n '/confusion/,/^state/p' out | grep -v state >best.txt
run $stops --steps "$best"
sed -n '/confusion/,/^state/p' out | grep -v state >there.txt
same "the confusions of the best" best.txt there.txt
has "and the step" best.txt "confusion at step 00$best: a line"

# A run that goes on knows whether the best is saved.
run $stops --steps "$((best + 6))" --early-stop 5 --save on.st \
    --checkpoint stops
run $stops --epochs 90 --early-stop 5 --save on.st \
    --checkpoint stops --resume
has "that the best is from before" out "eval best weights are in on.st, from before this run"
has "and whose confusions these are" out "confusion at step 00$last: a line"
same "and leaves it" on.st best.st
rm -f on.st
run $stops --steps "$((best + 6))" --checkpoint unsaved
run $stops --epochs 90 --early-stop 5 --save on.st \
    --checkpoint unsaved --resume
is "what was never saved is not left out" "$status $(test -s on.st && echo there)" \
    "0 there"
# One that had ended shows its figures again.
run $small --target kind --valid 0.25 --epochs 2 --checkpoint ended
cp out before
run $small --target kind --valid 0.25 --epochs 2 --checkpoint ended --resume
is "an end again" "$status $(tail -n 1 out)" "0 $(tail -n 1 before)"
has "with the best" out "eval best acc"
is "and the confusions" "$(grep confusion out)" "$(grep confusion before)"

# ------ Pictures ------

run $small --target price --ignore kind --valid 0.25 --epochs 3 --plot curve.svg
is "a picture of two lines" "$status $(grep -c '<polyline' curve.svg)" "0 2"
expect 2 "no/where.svg" mlp --data t.csv --target price --plot no/where.svg
expect 2 "curve.PNG: --plot writes SVG; name a file that ends in .svg" \
    mlp --data t.csv --target price --plot curve.PNG
run $small --target price --ignore kind --epochs 1 --plot v1.curve
is "any other name will do" "$status $(test -s v1.curve && echo there)" \
    "0 there"

# ------ Missing values ------

{ cat t.csv; echo ",700,red,big,1"; echo "NA,700,,big,1"; } >holes.csv
expect 1 'line 122, column "a": the value is missing, as in 2 of 122 rows' \
    mlp --data holes.csv --target price
{ echo "a,b,c"; echo "1,NA,2"; echo "2,,3"; } >none.csv
expect 1 'none.csv: column "b": the value is missing in all of 2 rows; --ignore' \
    mlp --data none.csv --target c --missing mean
run mlp --data holes.csv --target price --missing mean --steps 3 --devices 2 \
    --save holes.st
is "the mean in their place" $status 0
tool=$build/lockstep-predict
run holes.st gap.csv
is "when predicting, too" "$status $(wc -l <out | tr -d ' ')" "0 4"
{ head -n 1 t.csv; echo ",700,,big,"; echo "1,2,mauve,small,"; } >gap2.csv
expect 1 '"mauve" is none of the 3 words trained on; an empty field is a' \
    holes.st gap2.csv
tool=$build/lockstep-train

# ------ Programs ------

# What a program gets of the same file is what the command writes: classes and
# numbers, missing values, columns in another order.
for pair in kind:t p:t stars:stars n:n3 holes:holes holes:gap; do
    model=${pair%:*}.st input=${pair#*:}.csv
    tool=$build/lockstep-predict
    run "$model" "$input"
    cp out want
    tool=$build/test/support/ask_table
    for way in text doubles; do
        run $way "$model" "$input"
        same "a program's $way: $input of $model" out want
    done
done
expect 1 'ask_table: the rows have no column "the b"' text p.st one.csv
expect 1 'row 0, column "colour": "mauve" is none of the 3 words' text p.st \
    new.csv
tool=$build/lockstep-train

# ------ Rows without a target, an index, other tables, standard input ------

awk 'NR % 9 == 5 { sub(/,[^,]*$/, ",") } { print }' t.csv >unlabelled.csv
awk 'NR % 9 != 5' t.csv >labelled.csv
drop="$small --target price --epochs 3"
expect 1 "the value is missing, and this is the target" mlp \
    --data unlabelled.csv --target price
run $drop --data labelled.csv
grep -v '^waited' out >labelled
run $drop --data unlabelled.csv --missing :target=drop
has "rows without a target are counted" err \
    "note: rows without a target are left out: 13"
same "and left out" out labelled
{ echo "a,b"; echo "1,"; echo "2,NA"; } >none.csv
expect 1 "none.csv: no row has a target" mlp --data none.csv --target b \
    --missing :target=drop

awk 'NR == 1 { print "," $0; next } { print NR - 2 "," $0 }' t.csv >index.csv
run $drop --data index.csv
has "an index is noticed" err 'note: "column 1" has no name and counts the rows'
run $drop --data index.csv --ignore "column 1"
is "unless it is left out" "$(grep -c 'counts the rows' err)" 0
cp out ignored
run $drop
same "as if it were not there" out ignored
awk 'NR == 1 { print "," $0; next } { print NR % 7 "," $0 }' t.csv >named.csv
run $drop --data named.csv
is "other numbers without a name are none" "$(grep -c 'counts the rows' err)" 0

# A table to evaluate on has the columns in another order, and more of them.
awk 'BEGIN { print "colour,kind" >"words.csv"; print "kind,note,colour" >"eval.csv"
    for (i = 0; i < 120; i++) {
        c = i % 3 == 0 ? "red" : i % 3 == 1 ? "green" : "blue"
        k = i % 3 == 0 || i % 7 == 0 ? "big" : "small"
        print c "," k >"words.csv"; print k ",x" i "," c >"eval.csv" } }'
words="mlp --data words.csv --target kind --hidden 8 --devices 2 --batch 24"
run $words --epochs 1 --eval-data ./words.csv --seed 1 --seed 2
has "an option twice" err 'note: --seed is given more than once, and the last one counts, 2'
has "rows trained on" err 'note: the rows of --eval-data are those trained on,'
run $words --epochs 2 --eval-data eval.csv --log-every 0 --save words.st
is "another table is evaluated on, after each epoch" \
    "$status $(grep -c 'eval step .* acc ' out)" "0 2"
is "all of it" "$(awk '/confusion/ { on = NR } on && NR > on + 1 && NR < on + 4 {
    for (i = 2; i <= NF; i++) n += $i } END { print n }' out)" 120
acc=$(sed -n 's/.*eval step 0010 .*acc \([0-9.]*\).*/\1/p' out)
expect 2 "--valid and --eval-data exclude each other" mlp --data words.csv \
    --target kind --valid 0.2 --eval-data eval.csv
{ echo "colour,kind"; echo "purple,big"; } >other.csv
expect 1 '"purple" is none of the 3 words trained on' mlp --data words.csv \
    --target kind --eval-data other.csv
{ echo "kind,b"; echo "big,1"; } >other.csv
expect 2 'other.csv: has no column "colour"' mlp --data words.csv \
    --target kind --eval-data other.csv

"$tool" $words --epochs 2 --log-every 0 --save piped.st --data - \
    <words.csv >piped 2>err
"$tool" $words --epochs 2 --log-every 0 --save file.st >out 2>err
same "a table comes from the standard input" piped out
same "the same model" piped.st file.st
# shellcheck disable=SC2002 # a pipe, not the file
cat words.csv | "$tool" $words --epochs 2 --log-every 0 --data - >piped 2>err
same "or a pipe" piped out
run mlp --data - --target kind
is "which may be empty" "$status $(grep -c '^lockstep-train: standard input: .* is empty' err)" "1 1"
gzip -c words.csv >words.csv.gz
"$tool" $words --epochs 2 --log-every 0 --data words.csv >file 2>err
"$tool" $words --epochs 2 --log-every 0 --data words.csv.gz >piped 2>err
same "what gzip packed is read" piped file
"$tool" $words --epochs 2 --log-every 0 --data - <words.csv.gz >piped 2>err
same "from the standard input, too" piped file
head -c 90 words.csv.gz >cut.csv.gz
expect 1 "cut.csv.gz: the gzip stream is cut short at byte 90" mlp \
    --data cut.csv.gz --target kind
printf 'PAR1\0...PAR1' >rows.parquet
expect 1 "rows.parquet: is Parquet, and not a table as text; in Python, pandas" mlp \
    --data rows.parquet --target kind

tool=$build/lockstep-predict
run words.st eval.csv
cp out lines
"$tool" words.st - <eval.csv >out 2>err
same "predictions of the standard input" out lines
run words.st eval.csv --score
is "a score is that of the training" "$status $(grep -c \
    "^rows 120  acc $acc" out)" "0 1"
"$tool" words.st - --score <eval.csv >piped 2>err
same "of the standard input, too" piped out
run words.st eval.csv --score --top-k 2
is "and how often two classes have the right one" "$status $(grep -c \
    "^rows 120  acc $acc.*  top-2 [01]\.[0-9]*$" out)" "0 1"
expect 2 "--top-k is for classes" holes.st t.csv --score --top-k 2
expect 2 "--top-k needs --generate or --score" words.st eval.csv --top-k 2
run holes.st t.csv --score
is "of numbers" "$status $(grep -c '^rows 120  R2 .* RMSE ' out)" "0 1"
{ head -n 1 t.csv; echo "1,700,red,big,"; } >one.csv
run holes.st one.csv --score
is "a target that is missing has none" "$status $(grep -c 'value is missing' \
    err)" "1 1"
{ echo "colour"; echo "red"; } >none.csv
expect 2 'has no column "kind"' words.st none.csv --score
tool=$build/lockstep-train

# ------ Dates ------

# Mondays, and the days of March, cost more.
awk 'BEGIN { print "when,n,cost"; for (i = 0; i < 120; i++) {
    m = i < 31 ? 1 : i < 59 ? 2 : i < 90 ? 3 : 4
    d = i - (m > 1) * 31 - (m > 2) * 28 - (m > 3) * 31 + 1
    printf "2026-%02d-%02d,%d,%.1f\n", m, d, i % 5,
        10 + 5 * (i % 7 == 4) + 3 * (m == 3) + i % 5 } }' >days.csv
days="mlp --data days.csv --target cost --hidden 32 --devices 2 --batch 24
    --lr 0.01 --epochs 200 --log-every 0"
run $days --save days.st
is "dates become numbers" "$status $(grep -c \
    '"when" is of dates, which become numbers: days, month, day, weekday, yearday$' \
    err)" "0 1"
tool=$build/lockstep-predict
run days.st days.csv --score
is "that tell" "$(sed -n 's/.*R2 \([0-9.]*\) .*/\1/p' out |
    awk '{ print ($1 > 0.9) }')" 1
{ head -n 1 days.csv; echo "2026-05-04T12:00,1,2"; } >next.csv
run days.st next.csv
is "of another form, too" "$status $(wc -l <out | tr -d ' ')" "0 2"
{ head -n 1 days.csv; echo "2026-02-29,1,2"; } >next.csv
expect 1 'line 2, column 1 "when": "2026-02-29" is no date, as 2026-11-25 is' \
    days.st next.csv
tool=$build/lockstep-train
run $days --epochs 1 --ignore when
is "or are left out" "$status $(grep -c 'is of dates' err)" "0 0"
{ cat days.csv; echo "soon,1,2"; } >soon.csv
expect 1 'line 122: "soon" is no date, as 120 of the 121 values of "when" are' \
    mlp --data soon.csv --target cost
{ cat days.csv; echo ",1,2"; } >late.csv
run $days --epochs 1 --data late.csv --missing mean
is "one may be missing" "$status" 0
run rnn --data days.csv --target cost --window 7 --steps 1 --cell :units=4 --devices 2 \
    --save week.st
is "a series has them, too" "$status" 0

# ------ What is refused ------

expect 2 "--top-k is for classes" mlp --data t.csv --target price --top-k 2
expect 2 "--top-k: 4 is more than the 3 classes" mlp --data t.csv \
    --target colour --top-k 4
expect 2 "t.csv: --target names the column" mlp --data t.csv
expect 2 'has no column "kid"; the nearest is "kind"' mlp --data t.csv \
    --target kid
expect 2 'has no column "KIND"; the nearest is "kind"' mlp --data t.csv \
    --target KIND
expect 2 'has no column "x"; the last one is "price"' mlp --data t.csv --target x
expect 2 '--ignore: t.csv: has no column "colours"; the nearest is "colour"' \
    mlp --data t.csv --target kind --ignore a,colours
expect 2 '"kind" is the target' mlp --data t.csv --target kind --ignore kind
expect 2 '--task regression: t.csv: line 2, column "kind": "small" is no number; --task classification' mlp --data t.csv --target kind \
    --task regression
expect 2 "--target needs --data" mlp --target kind
expect 2 '"t.csv": type --data t.csv' mlp --target kind t.csv
expect 2 '"t.csv": type --data t.csv' table t.csv
expect 2 "--valid is for files" mlp --valid 0.2
expect 2 "a number from 0 to below 1" mlp --data t.csv --target kind --valid 1
expect 2 "is none of auto|classification|regression" mlp --task x
expect 2 "t.csv has 120 where --rows says 9" mlp --data t.csv --target kind \
    --rows 9
expect 2 "--class-weights is for classes" mlp --data t.csv --target price \
    --class-weights balanced
expect 1 "no/where.csv: No such file" mlp --data no/where.csv --target a
{ cat t.csv; echo "x,1,red,big,1"; } >typo.csv
expect 1 'line 122: "x" is no number, as 120 of the 121 values of "a" are' \
    mlp --data typo.csv --target price
awk 'BEGIN { print "nr,y"; for (i = 0; i < 60; i++) print "n" i "," i }' >id.csv
expect 1 'column "nr" has 60 different words in 60 rows, "n0" in line 2; --ignore' \
    mlp --data id.csv --target y
awk 'BEGIN { print "nr,y"; for (i = 0; i < 60; i++)
    printf "\"%d,%03d\",%d\n", i + 1, i, i }' >commas.csv
expect 1 'line 2, column "nr": "1,000" (60 such values) looks like a number with marks' \
    mlp --data commas.csv --target y
expect 1 "has no column except the target" mlp --data id.csv --target y \
    --ignore nr
expect 1 "the data set is empty" mlp --data head.csv --target kind
{ cat t.csv; echo "1,1,red,,1"; } >none.csv
expect 1 "this is the target (1 such row); --missing :target=drop leaves" \
    mlp --data none.csv --target kind

# ------ Numbers, dates and names that are written otherwise ------

# cells FILE TEXT: a table with 60 cells "a" of a text in which M is a month, m
# the same without a zero before it, D and d are days, and N is three digits.
cells() {
    awk -v text="$2" 'BEGIN { print "q,a,y"
        for (i = 0; i < 60; i++) {
            a = text; m = i % 12 + 1; d = i % 28 + 1
            gsub("M", m < 10 ? "0" m : m, a); gsub("m", m, a)
            gsub("D", d < 10 ? "0" d : d, a); gsub("d", d, a)
            gsub("N", 100 + i * 13 % 900, a)
            print i % 7 "," a "," i % 5 } }' >"$1"
}
short="mlp --hidden 2 --devices 1 --steps 1 --target y --data"
while IFS='!' read -r format looks; do
    cells odd.csv "$format"
    expect 1 "looks like $looks" $short odd.csv
    expect 1 "looks like $looks" ${short% --target*} --target a --data odd.csv
done <<'END'
m.N%!a number with "%" behind it; sed -E
$mN!a number with "$" before it; sed -E
-US$mN!a number with "US$" before it; sed -E
-md.N €!a number with "€" behind it; sed -E
mN ft3!a number with "ft3" behind it; sed -E
~mN kg!a number with "~..kg" around it; sed -E
(m.N)!a negative number; sed -E
m.N-!a negative number; sed -E
- m.N!a negative number; sed -E
m_N!a number with marks between thousands; python3 -c
"1m,10,N"!a number with marks between thousands; python3 -c
٣N!a number in other digits than 0 to 9; python3 -c
"m,N"!a number with marks between thousands; python3 -c
m N!a number with marks between thousands; python3 -c
m N!a number with a blank that is none of ASCII; sed
"-m.N,d"!a number with marks between thousands; python3 -c
"m,dN"!a number with a comma for the point; python3 -c
M/D/2N!a date, which is 2025-01-31 or
m/d/25!a date, which is 2025-01-31 or
d-jan-2N!a date, which is 2025-01-31 or
2025.M.D 6:30!a date, which is 2025-01-31 or
M:D!a time of day
END
# What the hint says makes the table of plain numbers, in columns that lie side by
# side, in quotes or not, and with the ends of lines that Windows has.
twice() { awk -F, '{ print $2 "," $0 "," $2 }' "$1" | sed '1s/.*/p,q,a,y,z/'; }
while IFS='!' read -r format as; do
    cells odd.csv "$format"
    twice odd.csv >wide.csv
    { sed 1q wide.csv; sed '1d; s/,\([^,]*\)$/,"\1"/; s/$/\r/' wide.csv; } >odd.csv
    run $short odd.csv
    sed -n "s/.* looks like .*; \(sed.*\) FILE >NEW.*/\1 odd.csv/p; s/.* looks like \
.*; \(python3.*\) <FILE >NEW.*/\1 <odd.csv/p" err >typed.sh
    sh typed.sh >right.csv
    cells plain.csv "$as"
    twice plain.csv >wide.csv
    sed 's/"//g; s/\r//; 1d' right.csv >bare
    sed 1d wide.csv | cmp -s - bare
    is "$format becomes $as by what is said" $? 0
done <<'END'
m.N%!m.N
m.N kg!m.N
~mN!mN
-US$ mN!-mN
(m.N)!-m.N
m.N-!-m.N
- mN!-mN
m N!mN
٣N!3N
[mN]!mN
END
for format in 'm %' 'CHF m' 'Rs. m' "m'"; do
    cells odd.csv "$format"
    run $short odd.csv
    has "$format may be words" err 'note: "a" is taken for words, and '
done
cells odd.csv '−m.N'
cells plain.csv '-m.N'
for file in odd plain; do
    run $short $file.csv --save $file.st
done
same "a minus of Unicode is one" odd.st plain.st
cells odd.csv 'CHF mN'
expect 1 'leaves the column out; it may be a number with "CHF" before it' \
    $short odd.csv
expect 2 'too many for classes; name another column; it may be a number with' \
    ${short% --target*} --target a --data odd.csv
for format in td.m m-d d.m.N.7 v1.m-rcd Qm m/d; do
    cells odd.csv "$format"
    run $short odd.csv
    is "$format is no number" "$(grep -c 'looks like' err)" 0
done
cells de.csv 'D.M.2025 13:30'
cells iso.csv '2025-M-DT13:30'
for file in de iso; do
    run $short $file.csv --save $file.st
done
same "days before months, with points, are dates" de.st iso.st

# A point or a comma between thousands, where the other is in the file.
awk 'BEGIN { print "p;q;y"; for (i = 0; i < 60; i++)
    print (i % 2 ? 900 + i : "1.0" 10 + i) ";" i ",5;" i % 5 }' >de.csv
expect 1 "line 2, column 2 \"q\": \"0,5\" has a comma where line 2 has a point" \
    $short de.csv
has "and how it is read" err 'sep=";", thousands=".", decimal=","'
awk -F';' '{ print $2 ";" $1 ";" $3 }' de.csv >turned.csv
expect 1 '"1.010" has a point where line 2 has a comma, and one of them parts' \
    $short turned.csv
sed 's/,5;/;/' de.csv >whole.csv
run $short whole.csv
has "alone it may be either" err 'note: "p": 1.010 is read with decimals; if'
awk '{ gsub(/;/, "\t"); gsub(/\./, "!"); gsub(/,/, "."); gsub(/!/, ",") } 1' \
    de.csv >en.tsv
expect 1 'has a point where line 2 has a comma' $short en.tsv
has "the other way round" err 'sep="\t", thousands=","'

# A first line that is a row.
sed 1d t.csv | sed 's/"dark, blue"/blue/' >row.csv
expect 1 "row.csv: line 1: all fields are such as those below them; the first" \
    mlp --data row.csv --target "$(sed 's/.*,//;q' row.csv)"
has "and what to type" err "{ seq -s',' -f c%g 5; cat FILE; } >NEW"
{ seq -s, -f c%g 5; cat row.csv; } >named.csv
run ${short%% *} --data named.csv --target c4 --steps 1 --devices 1
is "which does it" $status 0
awk 'BEGIN { print "label,0,1,2"; for (i = 0; i < 40; i++)
    print (i % 2 ? "a" : "b") "," i ",1,2" }' >years.csv
run mlp --data years.csv --target label --steps 1 --devices 1
is "names may be numbers" $status 0

# Dialects.
cells plain.csv N
run $short plain.csv --save plain.st
{ echo 'sep=;'; tr , ';' <plain.csv; } >sep.csv
{ printf '\357\273\277sep=|\r\n'; tr , '|' <plain.csv; } >marked.csv
tr , '|' <plain.csv >pipe.csv
sed 's/$/,/' plain.csv >end.csv
for file in sep marked pipe end; do
    run $short $file.csv --save $file.st
    same "$file.csv is the same table" plain.st $file.st
done
run table --data end.csv --epochs 1 --save end.st
run table --data plain.csv --epochs 1 --save plain.st
same "the last column with a name is the target" plain.st end.st
{ echo "# a comment"; cat plain.csv; } >comment.csv
expect 1 "grep -v '^#' FILE >NEW leaves" table --data comment.csv
{ echo "# a, b"; cat plain.csv; } >comment.csv
expect 1 "3 fields where the first line has 2; grep -v '^#' FILE >NEW leaves" \
    table --data comment.csv
tr , ' ' <plain.csv >blank.csv
expect 1 "if blanks part its fields, tr -s ' ' , <FILE >NEW" table --data blank.csv
iconv -f utf-8 -t utf-16 plain.csv >wide.csv
expect 1 "iconv -f utf-16 -t utf-8 makes one" table --data wide.csv
printf 'a,y\n\200,1\n' >cp1252.csv
expect 1 "iconv -f cp1252 -t utf-8" table --data cp1252.csv

# Ids of more digits than a number keeps: as classes each is one.
cells long.csv 900719925474099N
run $short long.csv
has "digits that are lost" err 'in line 2 has more digits than a number keeps; if it is a name'
awk -F, -v OFS=, 'NR > 1 { $2 = "1234567890123456789" NR % 2 } 1' plain.csv >ids.csv
run ${short% --target*} --task classification --target a --data ids.csv --save ids.st
tool=$build/lockstep-predict
run ids.st ids.csv
is "and classes are told apart" "$(head -n 1 out)" \
    "a,p_12345678901234567890,p_12345678901234567891"
tool=$build/lockstep-train

# NA in quotes is a word, and said to be one.
awk -F, -v OFS=, 'NR > 1 { $2 = NR % 3 ? "UK" : "\"NA\"" } 1' plain.csv >na.csv
run $short na.csv
has "NA in quotes" err "note: \"a\": \"NA\" in line 3 has quotes, so it is a word; sed 's/\"NA\"//g'"
awk -F, -v OFS=, 'NR > 1 { $2 = NR % 3 ? NR : "\"NA\"" } 1' plain.csv >na.csv
expect 1 'is no number, as 40 of the 60 values of "a" are; it may be a missing' \
    $short na.csv

# Words for missing values, and all columns that need something.
for word in None - NaT '#N/A' '<NA>' N/D; do
    awk -F, -v OFS=, -v w="$word" 'NR > 1 && NR % 3 { $2 = w } 1' plain.csv \
        >gone.csv
    expect 1 "it may be a missing value, which is an empty field here" $short gone.csv
    sed -E ":a;s@(^|[,])$word([,]|\$)@\1\2@;ta" gone.csv >empty.csv
    run $short empty.csv --missing mean
    is "$word taken out" $status 0
done
awk 'BEGIN { print "nr,age,name,nix,y"; for (i = 0; i < 60; i++)
    print i + 1 "," (i % 9 ? i : "") ",n" i ",," i % 7 }' >all.csv
expect 1 'all 3 such columns: --missing mean --ignore "name,nix"' $short all.csv
run $short all.csv --missing mean --ignore "name,nix"
is "which is enough" $status 0
has "a column that counts the rows" err \
    'note: "nr" counts the rows, as an index does; --ignore "nr"'
awk -F, 'NR > 1 { $3 = 5 } { print $2 "," $3 }' plain.csv >const.csv
run $short const.csv
has "nothing to learn" err 'note: "y", the target, is "5" in all rows, so there'

# ------ Columns of text embedded ------

embed="$small --target price --epochs 100 --missing mean --text-columns"
for w in 1 2; do
    run $embed embed:2 --valid 0.25 --workers $w --save e$w.st
    is "words are embedded" $status 0
done
same "the same file on 2 workers" e1.st e2.st
is "what they tell is learned" "$(sed -n \
    's/.*eval step 0400 .*R2 \([0-9.]*\) .*/\1/p' out |
    awk '{ print ($1 > 0.95) }')" 1
run $embed embed --ignore kind --epochs 1 --save half.st
run $embed onehot --epochs 1 --save one.st
run $small --target price --epochs 1 --missing mean --save none.st
same "onehot is what is done unless told otherwise" one.st none.st

# Seed 0 of nnx.Rngs: nnx.Embed(3, 2), nnx.Embed(2, 2) and nnx.Linear(6, 16)
# begin with these, the least and the largest.
run $embed embed:2 --epochs 1 --lr 0 --save start.st
tool=$build/lockstep-inspect
run start.st
is "tables start as those of Flax" \
    "$(awk '/^(embed|layers[.]0[.]k)/ { print $4, $6 }' out | tr '\n' ' ')" \
    "-0.8283 0.7099 -1.727 0.1453 -0.7504 0.8941 "
tool=$build/lockstep-train

# In two halves: the checkpoint knows it.
run $embed embed:2 --epochs 2 --save whole.st
run $embed embed:2 --epochs 1 --checkpoint kept
run $embed embed:2 --epochs 2 --checkpoint kept --resume --save two.st
same "a run that goes on" two.st whole.st
run $embed embed:3 --epochs 3 --checkpoint kept --resume
is "with other widths it does not" "$status $(grep -c text-columns err)" "2 1"

tool=$build/lockstep-inspect
shapes() { run "$1" && awk '/^(embed|layers[.]0[.]k)/ { print $1, $3 }' out |
    tr '\n' ' '; }
is "a table for each column of text, joined with the numbers" \
    "$(shapes e1.st)" \
    "embed.0.kernel (3,2) embed.1.kernel (2,2) layers.0.kernel (6,16) "
is "half as wide as there are words" "$(shapes half.st)" \
    "embed.0.kernel (3,2) layers.0.kernel (4,16) "
tool=$build/lockstep-predict
run e1.st t.csv
is "the file alone predicts" "$status $(wc -l <out | tr -d ' ')" "0 121"
awk -F, 'NR == 1 { print "kind,colour,the b,a"; next }
    /dark/ { print $5 ",\"dark, blue\"," $2 "," $1; next }
    { print $4 "," $3 "," $2 "," $1 }' t.csv >moved.csv
cp out table
run e1.st moved.csv
same "and finds the columns" out table
printf 'a,the b,colour,kind\n1,200,mauve,big\n1,200,,big\n1,200,red,big\n' >m.csv
expect 1 '"mauve" is none of the 3 words' e1.st m.csv
sed -i 2d m.csv
run e1.st m.csv
is "a missing word is not one of the others" \
    "$status $(awk 'NR > 1' out | sort -u | wc -l | tr -d ' ')" "0 2"
run e1.st --onnx e.onnx
is "ONNX of it" "$status $(cat out) $(head -c 1 e.onnx | od -An -tx1)" "0   08"
tool=$build/lockstep-train
for width in "" 0 x 1.5 -1 1025 99999999999999999999 1,2; do
    run $embed "embed:$width"
    is "a width of \"$width\"" \
        "$status $(grep -c -e "--text-columns: \"$width\" has" err)" "2 1"
done
for how in words embedded one onehot:3; do
    expect 2 "--text-columns: \"$how\" is none of onehot|embed|embed:WIDTH" \
        $embed $how
done
expect 2 "--text-columns: t.csv has no column of text to embed" $embed embed \
    --ignore kind,colour
expect 2 "--text-columns needs --target" mlp --text-columns embed

# ------ Arrays: rows held back, numbers without classes ------

{ npy '<f4' '(40, 2)'; head -c 320 /dev/zero; } >x.npy
{ npy '<f4' '(40,)'; head -c 160 /dev/zero; } >y.npy
expect 2 "--classes is for classes, and not for --task" mlp --x x.npy \
    --y y.npy --task regression --classes 3
run mlp --x x.npy --y y.npy --task regression --valid 0.25 --epochs 2 \
    --devices 2 --hidden 4
is "mlp of numbers from arrays" "$status $(grep -c 'eval step' out)" "0 2"
run linear --x x.npy --y y.npy --valid 0.25 --steps 2 --devices 2
is "linear" "$status $(grep -c 'eval step 0002  loss .* R2 ' out)" "0 1"
finish
