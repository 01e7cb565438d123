#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-predict --score tells of a table what its predictions and
# its target say: by class, by threshold, of numbers and of a series; that
# --threshold moves the label and --keep carries columns along; and what both
# refuse.  That the figures are scikit-learn's is test_score's.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

awk 'BEGIN { srand(3); print "id,a,b,kind,three,price"
    for (i = 1; i <= 160; i++) { a = rand() * 4; b = rand() * 4 - 2
        n = a + b + 2 * rand()
        printf "%d,%.3f,%.3f,%s,%s,%.2f\n", i, a, b, (n > 4.2 ? "yes" : "no"),
            (n < 2 ? "low" : n < 4 ? "mid" : "top"), n * 50 } }' >t.csv
train() {
    name=$1
    shift
    "$build/lockstep-train" mlp --data t.csv --ignore "id,$1" --target "$name" \
        --hidden 8 --devices 2 --batch 32 --epochs 12 --lr 0.02 --log-every 0 \
        --save "$name.st" >out 2>err || fail "$name: $(tail -n 1 err)"
}
train kind three,price
train three kind,price
train price kind,three
tool=$build/lockstep-predict

# ------ Lines ------

run kind.st t.csv
cp out plain
run kind.st t.csv --keep id,kind -o p.csv
is "kept columns stand first" "$status $(head -n 1 p.csv)" \
    "0 id,kind,kind,p_no,p_yes"
cut -d, -f3- p.csv >out
same "and the others are as they were" plain out
cut -d, -f1,4 t.csv >want
cut -d, -f1,2 p.csv >out
same "each of its row" want out
printf 'id,a,b,n\n"a ""b"", c",1,2,\n' >quoted.csv
run kind.st quoted.csv --keep "n,id"
is "as CSV has them" "$status $(sed -n 2p out | cut -d, -f1-3)" \
    '0 ,"a ""b"", c"'
"$tool" kind.st - --keep id,kind <t.csv >out 2>err
same "of the standard input, too" p.csv out
run kind.st t.csv --threshold 0.3 --keep kind -o low.csv
is "a threshold moves the label" "$status $(awk -F, 'NR > 1 {
    if (($2 == "yes") != ($4 >= 0.3)) wrong++
    if ($4 >= 0.3 && $4 < 0.5) moved++ } END {
    print wrong + 0, (moved > 0) }' low.csv)" "0 0 1"

# ------ Scores of classes ------

# scores FILE COLUMN-OF-TRUTH COLUMN-OF-PREDICTION CLASS: P, R, F1, rows.
scores() {
    awk -F, -v t="$2" -v p="$3" -v c="$4" 'NR > 1 { is = $t == c; said = $p == c
        n += is; s += said; r += is && said } END { printf "%.4f %.4f %.4f %d\n",
        s ? r / s : 0, n ? r / n : 0, n ? 2 * r / (n + s) : 0, n }' "$1"
}
run kind.st t.csv --score
is "one line first" "$status $(grep -c \
    '^rows 160  acc [01]\.[0-9]*  AUC [01]\.[0-9]*  log loss [0-9.]*  AP [0-9.]*$' \
    out)" "0 1"
for class in no yes; do
    is "the scores of $class" "$(awk -v c=$class '$5 == c { print $1, $2, $3, $4 }' \
        out)" "$(scores p.csv 2 3 $class)"
done
is "no line is wide" "$(awk 'length > 80' out)" ""
is "as a macro average" "$(awk '$5 == "no" || $5 == "yes" { s += $3 / 2 }
    /macro/ { d = s - $3 } END { print (d * d < 1e-7) }' out)" 1
is "by threshold" "$(awk '$1 == "0.3" && NF == 6 { print $2, $3, $4 }' out)" \
    "$(scores low.csv 1 2 yes | cut -d' ' -f1-3)"
awk '/^threshold/ { on = 1 } on && NF >= 6 && $4 + 0 > most { most = $4 }
    /the best F1/ { best = $4 } END { print best - most }' out >best
is "the best F1 is no less than others" "$(cat best)" 0
from=$(awk '/the best F1/ { print $1 }' out)
run kind.st t.csv --threshold "$from" --keep kind -o best.csv
run kind.st t.csv --score
is "and that of its threshold" "$(awk '/the best F1/ { print $2, $3, $4 }' out)" \
    "$(scores best.csv 1 2 yes | cut -d' ' -f1-3)"
acc=$(awk '$1 == "0.3" && NF == 6 { print $5 }' out)
run kind.st t.csv --score --threshold 0.3
is "--score goes by the threshold" "$(awk 'NR == 1 { print $4 }
    $5 == "yes" { print $1, $2, $3, $4 }' out | tr '\n' ' ')" \
    "$acc $(scores low.csv 1 2 yes) "
run three.st t.csv --keep three -o p.csv
run three.st t.csv --score --top-k 2
is "of three classes each" "$(awk '$5 == "mid" { print $1, $2, $3, $4 }' out)" \
    "$(scores p.csv 1 2 mid)"
is "without thresholds" "$status $(grep -c threshold out)" "0 0"
is "top-k ends the first line" "$(head -n 1 out | grep -c '  top-2 [01]\.[0-9]*$')" 1

# ------ Numbers ------

run price.st t.csv --keep price -o p.csv
run price.st t.csv --score --plot r.svg
is "MAE and RMSE" "$status $(awk -F, 'NR == FNR { if (FNR > 1) { d = $1 - $2
    a += d < 0 ? -d : d; s += d * d } next }
    { split($0, w, "  *"); for (i in w) v[w[i]] = w[i + 1]
      x = v["MAE"] / (a / 160) - 1; y = v["RMSE"] / sqrt(s / 160) - 1
      print (x * x < 1e-6), (y * y < 1e-6) }' p.csv out)" "0 1 1"
is "a residual is a dot" "$(grep -c 'class="dot"' r.svg) $(tail -n 1 r.svg)" \
    "160 </svg>"

# ------ A series ------

awk 'BEGIN { print "when,heat,load"; for (i = 0; i < 90; i++)
    printf "2026-%02d-%02dT06:00,%.2f,%.3f\n", 1 + i / 28, 1 + i % 28,
        sin(i / 3), 100 + 9 * sin(i / 5) }' >s.csv
"$build/lockstep-train" rnn --data s.csv --target load --ignore when --window \
    6:horizon=3 --cell :units=6 --devices 2 --steps 30 --batch 16 --save s.st \
    >out 2>err || fail "a series: $(tail -n 1 err)"
run s.st s.csv --keep when,load -o p.csv
is "a line has the row that is predicted" "$(head -n 1 p.csv) $(sed -n 2p p.csv |
    cut -d, -f1-3)" "row,when,load,load 9,$(sed -n 10p s.csv | cut -d, -f1,3)"
is "which the table need not have" "$(tail -n 1 p.csv | cut -d, -f1-3)" "93,,"
run s.st s.csv --score
is "the score is of those it has" "$status $(awk -F, 'NR == FNR {
    if (FNR > 1 && $3 != "") { d = $3 - $4; s += d * d; n++ } next }
    { split($0, w, "  *"); y = w[6] / sqrt(s / n) - 1
      print n, w[1], w[2], (y * y < 1e-6) }' p.csv out)" "0 82 rows 82 1"
head -n 9 s.csv >few.csv
expect 1 "--score: 8 rows are too few" s.st few.csv --score
expect 2 "--explain is for tables whose rows stand alone" s.st s.csv --explain

# ------ Refused ------

for x in 1.5 1 0 -0.1 half; do
    expect 2 "threshold" kind.st t.csv --threshold "$x"
done
expect 2 "--threshold is for two classes, and here numbers" price.st t.csv \
    --threshold 0.5
expect 2 "--threshold is for two classes, and here there are others" three.st \
    t.csv --threshold 0.5
expect 2 '--keep: t.csv: has no column "Id"' kind.st t.csv --keep Id
expect 2 'no column ""' kind.st t.csv --keep id,,a
expect 2 "--keep" kind.st t.csv --keep id --score
expect 2 "--keep is for lines" kind.st t.csv --keep id --explain
expect 2 "here classes are predicted" kind.st t.csv --score --plot x.svg
expect 2 " needs an INPUT" kind.st --onnx k.onnx --threshold 0.5
"$build/lockstep-train" linear --steps 1 --save l.st >out 2>err
for no in "--keep a" "--threshold 0.5" "--score --plot x.svg"; do
    # shellcheck disable=SC2086 # words
    expect 2 "is for models of a table" l.st t.csv $no
done
finish
