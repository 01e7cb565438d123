#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-train table trains RealMLP: classes and numbers, words
# that are coded and words that are embedded, missing values; the same bytes on
# any number of workers; the weights of the best epoch; what lockstep-predict
# makes of its file; and what it refuses.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
tool=$build/lockstep-train
. "$(dirname "$0")/../../support/shell.sh"
cd "$dir" || exit 1

# Numbers (one is constant), two words, three, and twelve; a target of classes
# that follows from a, b and the colour, and one of numbers.
awk 'BEGIN { print "a,b,same,side,colour,town,kind,price"
    for (i = 0; i < 200; i++) {
        a = (i * 7 % 23) / 4; b = 100 * (i * 13 % 17)
        c = i % 3 == 0 ? "red" : i % 3 == 1 ? "green" : "blue"
        s = i % 5 < 2 ? "left" : "right"
        k = a * 300 + (c == "red") * 400 > b ? "big" : "small"
        p = 1000 + 300 * a - 2 * b + (c == "red") * 500 + (s == "left") * 300
        printf "%.2f,%d,7,%s,%s,t%d,%s,%.1f\n", a, b, s, c, i * 5 % 12, k, p }
    }' >t.csv
short="table --data t.csv --epochs 24 --devices 2 --hidden 32,32 --seed 1
    --ensemble 1"

for w in 1 2 3; do
    run $short --ignore price --target kind --workers $w --save kind.st \
        --log-every 0
    is "classes are trained on" $status 0
    [ $w = 1 ] && cp out out1 && cp kind.st kind1
    same "the same lines on $w workers" out out1
    same "the same file on $w workers" kind.st kind1
done
cp out all
run $short --ignore price --target kind --save kind.st
is "unless they are asked for, some of the lines are left out" \
    "$(sed -n 's/^Epoch \([0-9]*\):.*/\1/p' out | tr '\n' ' ')$(grep -vcxFf all out)" \
    "1 2 5 10 20 24 0"
same "and nothing else" kind.st kind1
is "each epoch is evaluated" \
    "$(grep -c '^.lockstep. eval step 0[0-9]*  loss .* acc [0-9.]*  AUC' out1)" \
    24
best=$(sed -n 's/.*eval best acc \([0-9.]*\) at step.*/\1/p' out1)
is "the last of the best counts" \
    "$(sed -n "s/.*eval step \([0-9]*\)  .*acc $best .*/\1/p" out1 |
        tail -n 1)" \
    "$(sed -n 's/.*eval best acc .* at step \([0-9]*\),.*/\1/p' out1)"
# With a transcript each of them is written; without, the last of several.
run $short --ignore price --target kind --save kind.st --transcript kind.lst
# The file then names its transcript, which the other has not.
sum='"sha256":"[0-9a-f]*"'
is "the last of several is held until the end" \
    "$(head -n 1 kind.st | grep -ao "$sum")" "$(head -n 1 kind1 | grep -ao "$sum")"
run ${short#table } --ignore price --target kind --save kind.st
same "a file of CSV needs no model's name" kind.st kind1
run --data=t.csv ${short#*t.csv} --ignore price --target kind --save kind.st
same "however it is named" kind.st kind1
is "they are learned" "$(echo "$best" | awk '{ print ($1 > 0.9) }')" 1

# The last column is predicted unless told otherwise, in its own unit.
run $short --ignore kind --batch 32 --save price.st
is "numbers" "$status $(grep -c 'eval best step .* R2 0.9' out)" "0 1"
tool=$build/lockstep-predict
run price.st t.csv
is "a prediction for each row" "$status $(wc -l <out)" "0 201"
is "within the range that was trained on" "$(awk 'NR > 1 {
    if ($1 < -2200 || $1 > 3500) wrong++ } END { print wrong + 0 }' out)" 0
is "most are near" "$(awk -F, 'NR == FNR { y[FNR] = $8; next }
    FNR > 1 { d = y[FNR] - $1; s += d * d } END { print (s / 200 < 40000) }' \
    t.csv out)" 1
tool=$build/lockstep-inspect
run kind1
is "two words, then three, share four places; twelve are embedded" \
    "$(grep -c -E 'codes.scale +F32 +\(4\)|embed.0.kernel +F32 +\(12,8\)' out)" 2
tool=$build/lockstep-train

# ------ The smaller recipe ------

run $short --ignore price --target kind --recipe td-s --save small.st
is "td-s" $status 0
is "learns too" "$(sed -n 's/.*eval best acc \([0-9.]*\) .*/\1/p' out |
    awk '{ print ($1 > 0.85) }')" 1
is "of equal outputs the first class counts" \
    "$(sed -n 's/.*eval step 0001 .*acc \([0-9.]*\) .*/\1/p' out |
        awk '{ print ($1 < 0.8) }')" 1
tool=$build/lockstep-inspect
run small.st
is "it has neither waves nor learned activations nor embeddings" \
    "$(grep -c -E 'periodic|act\.|embed' out)" 0
tool=$build/lockstep-train

# ------ Several networks side by side ------

for w in 1 3; do
    run $short --ignore price --target kind --ensemble 3 --workers $w \
        --save three.st
    is "three are trained" $status 0
    [ $w = 1 ] && cp three.st three1
    same "to the same file on $w workers" three.st three1
done
is "they learn" "$(sed -n 's/.*eval best acc \([0-9.]*\) .*/\1/p' out |
    awk '{ print ($1 > 0.9) }')" 1
run $short --ignore kind --batch 32 --ensemble 2 --save two.st
is "numbers too" "$status $(grep -c 'eval best step .* R2 0.9' out)" "0 1"
tool=$build/lockstep-inspect
run three.st
is "each has its layers, and they share the coded words" \
    "$(grep -c 'm[012].layers.1.kernel' out) $(grep -c 'codes.scale *F32' out)" "3 1"
tool=$build/lockstep-predict
run three.st t.csv
is "what is predicted are probabilities" "$(awk -F, 'NR > 1 {
    d = $2 + $3 - 1; if (d * d > 1e-8) wrong++ } END { print NR, wrong + 0 }' \
    out)" "201 0"
run two.st t.csv
is "most are near" "$(awk -F, 'NR == FNR { y[FNR] = $8; next }
    FNR > 1 { d = y[FNR] - $1; s += d * d } END { print (s / 200 < 40000) }' \
    t.csv out)" 1
tool=$build/lockstep-train
expect 2 "members" table --data t.csv --ensemble 5000

# ------ What predictions come from ------

tool=$build/lockstep-predict
run kind1 t.csv --score
head -n 1 out >scored
run kind1 t.csv --explain --plot kind.svg
is "it is told" "$status $(grep -c '^importance: acc that is lost' out)" "0 1"
head -n 1 out >first
same "with the figures of --score" first scored
is "the class follows from these columns" \
    "$(sed -n '/^importance/,/^$/p' out | awk 'NR > 1 && NR < 4 { print $3 }' |
        sort | tr '\n' ' ')" "a b "
is "nothing is lost by a column that is the same everywhere" \
    "$(awk '$3 == "same" { print $1, $2 }' out)" "0.0000 0.0000"
is "each row is in one bin, whose probability rises" \
    "$(sed -n '/^calibration/,$p' out | awk 'NR > 2 {
        n += $3; if ($1 <= last || $2 < 0 || $2 > 1) wrong++; last = $1 }
        END { print n, wrong + 0 }')" "200 0"
is "the picture has a bar for each column" \
    "$(grep -c 'class="bar"' kind.svg) $(tail -n 1 kind.svg)" "6 </svg>"
is "its numbers are those of the text" \
    "$(sed -n 's/.*text-anchor="start">\(-*0\.[0-9]*\)<.*/\1/p' kind.svg |
        head -n 6)" \
    "$(sed -n '/^importance/,/^$/p' out | awk 'NR > 1 && NF { print $1 }' |
        head -n 6)"
cp out told
run kind1 t.csv --explain
same "it is told the same again" out told
run price.st t.csv --explain
is "numbers too" "$status $(grep -c 'importance: R2\|mean of price' out)" "0 2"
is "what is predicted is what is" "$(sed -n '/^calibration/,$p' out | awk '
    NR > 2 { d = $1 - $2; if (d * d > 40000) wrong++; n++ }
    END { print n, wrong + 0 }')" "10 0"
expect 2 "needs --explain" kind1 t.csv --plot x.svg
expect 2 "x.png" kind1 t.csv --explain --plot x.png
cut -d, -f1-6 t.csv >no.csv
expect 2 'has no column "kind"' kind1 no.csv --explain
expect 2 "--skip-broken is for pictures" kind1 t.csv --skip-broken
tool=$build/lockstep-train
run mlp --data t.csv --target kind --hidden 4 --steps 3 --devices 2 \
    --batch 32 --lr 1e30 --save wild.st # its logits are no numbers
tool=$build/lockstep-predict
run wild.st t.csv --explain
is "probabilities that are no numbers have a place" \
    "$status $(grep -c '^ *nan ' out)" "0 1"
tool=$build/lockstep-train

# ------ Folds, and a search ------

TMPDIR=$dir/none
export TMPDIR
expect 1 "$dir/none/lockstep-folds-" table --data t.csv --cv 2
mkdir none
run $short --ignore price --target kind --cv 5
is "five folds" "$status $(grep -c '^.lockstep. fold [1-5] of 5  rows 40  acc' \
    out)" "0 5"
cp out folds
is "their mean is theirs, and so is the deviation" "$(awk '/ fold / {
    n++; s += $9; q += $9 * $9 } / cv / { gsub(/[()]/, ""); m = s / n
    d = sqrt(q / n - m * m)
    print (m - $6 < 1e-4 && $6 - m < 1e-4 && d - $7 < 1e-3 && $7 - d < 1e-3)
    }' out)" 1
is "what was learned holds for rows that no training saw" \
    "$(awk '/ cv / { print ($6 > 0.75) }' out)" 1
run $short --ignore price --target kind --cv 5 --workers 3
same "the same with more workers, and fewer processes" out folds
"$tool" ${short#table --data t.csv} --model table --data - --ignore price \
    --target kind --cv 5 <t.csv >out 2>err
same "each process reads the standard input" out folds
for no in "--metrics m" "--plot p.svg" "--trace t" "--transcript t" \
    "--checkpoint c" "--record 1 r.lsr"; do
    expect 2 "${no%% *}: --cv trains the folds alone" $short --cv 2 $no
    expect 2 "it goes without --cv" $short --cv 2 --save no.st $no
done
is "and nothing is saved" "$(ls no.st 2>&1 | grep -c cannot)" 1

# ------ Folds as one model ------

run $short --ignore price --target kind --cv 3 --workers 1
cp out folds
for w in 1 2; do
    run $short --ignore price --target kind --cv 3 --workers $w --calibrate \
        --save bag$w.st
    is "the folds' models are one" "$status $(grep -c ' 3: .*bag' err)" "0 1"
done
same "on any number of workers and processes" bag2.st bag1.st
run $short --ignore price --target kind --cv 3 --save bag.st
same "its figures are those of the folds" out folds
score() { "$build/lockstep-predict" "$1" t.csv --score | sed -n 's/^rows 200  [a-zR2]* \([^ ]*\).*/\1/p'; }
is "and it knows what they know" \
    "$(score bag.st | awk '{ print ($1 > 0.9) }')" 1
run $short --ignore kind --cv 3 --batch 32 --save bag.st
is "of numbers, too" "$status $(grep -c ' cv 3 folds  R2 .* RMSE ' out) $(score \
    bag.st | awk '{ print ($1 > 0.8) }')" "0 1 1"
awk -F, 'NR > 1 { $8 *= 10000 } 1' OFS=, t.csv >large.csv
run $short --data large.csv --ignore kind --epochs 1 --cv 2
is "large numbers have no exponent" \
    "$status $(grep -c ' RMSE [0-9.]* ([0-9]*[.][0-9])$' out)" "0 1"
run mlp --data t.csv --ignore kind --target price --steps 60 --devices 2 --cv 2 --save plain.st
is "and of mlp" "$status $(score plain.st | awk '{ print NF }')" "0 1"
awk -F, 'NR == 1 || $7 == "big" || !seen++' t.csv >rare.csv
run $short --data rare.csv --ignore price --target kind --cv 3
is "the AUC is that of the folds that have both classes" \
    "$status $(grep -c ' AUC [01][.0-9]* (0) of 1 fold$' out)" "0 1"
awk -F, 'NR == 1 || $7 == "big"' t.csv >single.csv
run $short --data single.csv --ignore price --target kind --cv 3
is "or is not there" "$status $(grep -c 'AUC\|nan' out)" "0 0"
has "of one class" err '"kind", the target, is "big" in all rows'
"$tool" $short --ignore kind --cv 2 >/dev/full 2>err
is "folds that nobody can read are a failure" $? 1
has "of the standard output" err "standard output: No space left"
expect 2 "folds of 200 rows" table --data t.csv --cv 300
awk -F, 'NR > 1 { $8 = 3 } 1' OFS=, t.csv >still.csv
run $short --data still.csv --ignore kind --cv 2
is "rows of one value have no R2" \
    "$status $(grep -c ' R2 - (one value)  RMSE' out) $(grep -c nan out)" "0 3 0"
tool=$build/lockstep-predict
run kind1 single.csv --score
is "those of one class no AUC" \
    "$status $(grep -c ' AUC - (one class)' out)" "0 1"
tool=$build/lockstep-train
expect 2 "there are 2 to" table --data t.csv --cv 1
expect 2 "no column \"nix\"" table --data t.csv --target nix --cv 2

tune="table --data t.csv --epochs 2 --devices 2 --ignore price --target kind
    --batch 64 --tune 4"
run $tune --tune :file=tried.csv --save best.st
is "a search ends in the best" "$status $(grep -c 'tune best of 4: trial' out)" \
    "0 1"
grep 'tune\|state' out >searched
is "each trial is kept" "$(grep -c '^[0-3],0[.0-9]*,\"' tried.csv)" 4
is "the first has no options of its own" \
    "$(grep -c '^0,.*--lr' tried.csv) $(grep -c '^[1-3],.*--lr' tried.csv)" "0 3"
head -n 3 tried.csv >some.csv
run $tune --tune :file=some.csv --save again.st
grep 'tune\|state' out >again
same "a search goes on from its file" again searched
same "to the same model" best.st again.st
same "and the same file" some.csv tried.csv
{ head -n 3 tried.csv; printf '3,0.5,"--da'; } >torn.csv
run $tune --tune :file=torn.csv
same "a line that was never written whole is made again" torn.csv tried.csv
{ head -n 1 tried.csv; sed -n '4p;2p' tried.csv; } >mixed.csv
run ${tune% 4} 2 --tune :file=mixed.csv
{ head -n 1 tried.csv; sed -n '2p;3p;4p' tried.csv; } >three.csv
same "a table is in order in the end, with trials that this search has not" \
    mixed.csv three.csv

# Of each task and recipe the search draws what both take.
for recipe in td td-s; do
    for target in kind price; do
        rm -f drawn.csv
        run $short --epochs 1 --ignore side --target $target --tune 3 \
            --recipe $recipe --tune :file=drawn.csv
        is "a search of $recipe for $target" \
            "$status $(grep -c '^trial [0-2]: [-0-9.]*  ' err) $(
                grep -c '^[0-2],[-0-9.]*,' drawn.csv)" "0 3 3"
        is "draws smoothing for classes, decay for td" \
            "$(grep -c smoothing drawn.csv) $(grep -c decay drawn.csv)" \
            "$([ $target = kind ] && echo 2 || echo 0) $(
                [ $recipe = td ] && echo 2 || echo 0)"
    done
done
run $short --epochs 1 --target kind --optimizer sgd --lr 0.1 --tune 2
is "nor what the optimizer does not take" "$status $(grep -c decay err)" "0 0"

# What a full disk leaves behind, and a kill before the first line is whole.
: >empty.csv
printf 'trial,sc' >begun.csv
for file in empty begun; do
    run $tune --tune :file=$file.csv
    same "an $file file is none" $file.csv tried.csv
done
# An error of the command line's own leaves none.
expect 2 'no column "nix"' $tune --target nix --tune :file=nix.csv
is "no file of a search that had no trial" "$(ls nix.csv 2>/dev/null)" ""

# begin FILE EPOCHS TRIALS: a search in the background that has one trial.
begin() {
    "$tool" ${tune% 4} "$3" --epochs "$2" --hidden 8 --workers 2 \
        --tune :file="$1" >begun.out 2>begun.err &
    until [ -f "$1" ] && [ "$(wc -l <"$1")" -ge 2 ]; do
        kill -0 $! 2>/dev/null || break
        sleep 0.02
    done
}
begin mine.csv 20 4000
expect 1 "mine.csv: another search writes it" $tune --tune :file=mine.csv
kill -TERM $!
wait $!
is "a search that is asked to end says so" "$?" 143
has "and why" begun.err "the trials were stopped"
begin hung.csv 20 4000
kill -HUP $!
wait $!
is "by the signal's number" "$?" 129
"$tool" $short --ignore price --target kind --cv 3 --epochs 100000 2>cv.err &
until [ -n "$(ls none)" ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -TERM $!
wait $!
is "so do folds" "$?" 143
if [ -r "/proc/$$/task/$$/children" ]; then
    begin lost.csv 100 3
    until kill -9 "$(cut -d' ' -f1 /proc/$!/task/$!/children)" 2>/dev/null; do
        kill -0 $! 2>/dev/null || break
    done
    wait $!
    is "a trial that fails is told" "$?" 0
    has "with the reason" begun.err "trial 1: failed: the process died"
    has "and counted" begun.err "1 of 3 trials failed"
    is "and is no result" "$(cut -d, -f1 lost.csv | tr '\n' ' ')" \
        "trial 0 2 "
fi
{ head -n 1 tried.csv; sed -n 's/^\([0-3]\),[^,]*,/\1,,/p' tried.csv; } >none.csv
expect 1 "none of 4 trials has a score" $tune --tune :file=none.csv

# Killed after its first trials, with those that run then.
"$tool" $tune --tune :file=killed.csv >killed.out 2>&1 &
until [ -f killed.csv ] && [ "$(wc -l <killed.csv)" -ge 2 ]; do
    kill -0 $! 2>/dev/null || break
    sleep 0.02
done
{ kill -9 $! && wait $!; } 2>/dev/null
run $tune --tune :file=killed.csv --save again.st
same "a search that was killed goes on to the same file" killed.csv tried.csv
same "and to the same model" again.st best.st
run $tune --cv 2
is "a search by folds" "$status $(grep -c 'tune best of 4' out)" "0 1"
expect 2 "had the options" $tune --tune :file=tried.csv --seed 5
expect 2 "nothing is held back" table --data t.csv --tune 2 --valid 0 --epochs 1
cp t.csv other.csv
expect 2 "is no file of --tune" table --data t.csv --tune 2:file=other.csv
expect 2 "t.csv" table --data t.csv --tune 2:file=t.csv
expect 2 "none-such" table --data t.csv --tune 2:file=none-such/f.csv
is "before the first trial" "$(grep -c '^trial' err)" 0
is "nothing is left behind" "$(ls none)" ""

# ------ Rows that weigh more ------

awk -F, 'NR == FNR { n[$7]++; next } FNR == 1 { print $0 ",w" }
    FNR > 1 { printf "%s,%.17g\n", $0, 200 / (2 * n[$7]) }' t.csv t.csv >w.csv
whole="--valid 0 --ignore price --target kind --hidden 8 --epochs 8 --devices 2"
run table --data w.csv --weight-column w $whole --save weighed.st
is "a column of weights" $status 0
run table --data t.csv --class-weights balanced $whole --save even.st
same "is what classes that weigh the same are" weighed.st even.st
run table --data t.csv $whole --save plain.st
is "and not what rows that do are" "$(cmp -s weighed.st plain.st; echo $?)" 1
run $short --data w.csv --target kind --ignore price --weight-column w --cv 2 \
    --class-weights balanced
is "folds and classes that weigh the same go with it" $status 0
awk '{ for (i = 0; i < 300; i++)
        printf "%s,", NR == 1 ? "a_column_that_is_left_out_" i : i % 7
    print }' w.csv >wide.csv
names=$(head -n 1 wide.csv | sed 's/,a,b,.*//')
run table --data wide.csv --weight-column w $whole --save wide.st --ignore \
    "price,$names"
same "however long the names are that are ignored" weighed.st wide.st
wide="table --data wide.csv --epochs 1 --devices 1 --hidden 8 --tune 2 --ignore"
run $wide "$names" --tune :file=long.csv
is "a trial's options stand behind long ones, too" \
    "$status $(grep -c '^1,.*--lr 0' long.csv)" "0 1"
expect 2 "had the options" $wide "$names" --tune :file=long.csv --seed 5
for _ in 1 2 3; do
    names=$names,$names
done
expect 2 "--tune: the options have more than 65024 bytes" $wide "$names"
sed '7s/,[0-9.]*$/,-1/' w.csv >minus.csv
expect 1 "line 7: a row cannot weigh -1" table --data minus.csv --target kind \
    --weight-column w
expect 2 "no column \"nix\"" table --data w.csv --weight-column nix
expect 2 "is the target" table --data w.csv --weight-column w

# ------ Missing values, other rows, no rows to evaluate on ------

sed '5s/^[^,]*/NA/;9s/red\|green\|blue/NA/;12s/left\|right/NA/' t.csv >gaps.csv
run table --data gaps.csv --ignore price --target kind --epochs 2 --devices 2
is "missing values are refused" "$status $(grep -c 'line 5, column "a"' err)" \
    "1 1"
run table --data gaps.csv --ignore price --target kind --epochs 2 --devices 2 \
    --missing mean
is "or become the median, or no word" $status 0
run $short --ignore kind --eval-data t.csv --log-every 0
is "another table to evaluate on" "$status $(grep -c 'eval step' out)" "0 24"
run $short --ignore kind --valid 0 --save all.st
is "nothing held back" "$status $(grep -c 'eval' out)" "0 0"
expect 2 "table needs --data FILE.csv" table
expect 2 "the model comes first" --data t.txt
expect 2 "the model comes first" --epochs 3 --data
expect 1 "none.csv" --data none.csv
expect 2 "--smoothing" table --data t.csv --smoothing 1
expect 2 "--ignore needs --target" mlp --data t.csv --ignore a
finish
