#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-predict --c: the C source of a model of a table and of a series reads
# rows as the command does and predicts what it writes; a small model has one
# hash under each compiler and processor here, as floats and as bytes (in
# .ci/full, which sets ROWS, LEVELS and M32, of all rows and levels, and a model
# of each kind of layer, too).  MNIST names a folder of its files to count what
# bytes cost.
train=$top_builddir/lockstep-train
tool=$top_builddir/lockstep-predict
. "$(dirname "$0")/../../support/shell.sh"

cc=${CC:-cc}
if ! $cc --version >/dev/null 2>&1; then
    echo "there is no compiler"
    exit 77
fi
awk 'function draw() { seed = (seed * 75 + 74) % 65537; return seed / 65537 }
     BEGIN {
         seed = 1
         print "x,town,many,y,load"
         for (i = 0; i < 60; i++) {
             x = draw()
             printf "%.4f,%s,%s,%.3f,%.4f\n", x, draw() < .5 ? "a" : "b c",
                 substr("abcdefghijkl", draw() * 12 + 1, 1), 9 * draw() - 4,
                 x * 3 + draw()
         }
     }' >"$dir/t.csv"

# made MODEL OPTIONS: MODEL.st, and MODEL.c and .h of it.
made() {
    name=$1
    shift
    { "$train" "$@" --save "$dir/$name.st" &&
        "$tool" "$dir/$name.st" --c "$dir/$name.c"; } \
        >"$dir/out" 2>"$dir/err" || fail "$name: $*"
}

# Reads a table of texts and numbers; of a series a window moves.
cat >"$dir/main.c" <<'END'
#include "MODEL.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef UP_WINDOW
enum { WINDOW = UP_WINDOW };
#else
enum { WINDOW = 1 };
#endif
enum { STEP = UP_INPUTS / WINDOW };
static float s[UP_SCRATCH / 4], x[UP_INPUTS], y[UP_OUTPUTS];
int main(void)
{
    char line[256];
    int rows = 0;

    for (; fgets(line, sizeof line, stdin); rows++) {
        const char *word[5];
        double number[5];
        char *at = strtok(line, ",\n");

        for (int i = 0; at; at = strtok(NULL, ",\n"), i++) {
            word[i] = at;
            number[i] = strtod(at, NULL);
        }
        if (rows == 0)
            continue;
        memmove(x, x + STEP, sizeof x - STEP * sizeof *x);
        if (MODEL_inputs(number, word, x + UP_INPUTS - STEP))
            return 1;
        if (rows < WINDOW)
            continue;
        MODEL_predict(x, y, s);
        printf("%.9g\n", MODEL_value(y));
    }
    return 0;
}
END

# check MODEL TABLE
check() {
    upper=$(echo "$1" | tr '[:lower:]' '[:upper:]')
    sed "s/MODEL/$1/g; s/UP/$upper/g" "$dir/main.c" >"$dir/m.c"
    "$tool" "$dir/$1.st" "$dir/$2" 2>"$dir/err" | tail -n +2 >"$dir/want"
    if $cc -O1 -o "$dir/m" "$dir/m.c" "$dir/$1.c" 2>"$dir/err" &&
        "$dir/m" <"$dir/$2" >"$dir/out"; then
        same "$1: other numbers" "$dir/want" "$dir/out"
    else
        fail "$1"
    fi
}

made table table --data "$dir/t.csv" --target load --hidden 40,30 --epochs 1
cut -d, -f1,4,5 "$dir/t.csv" >"$dir/s.csv"
made series rnn --data "$dir/s.csv" --target load --window 4 --steps 2
made folds table --data "$dir/t.csv" --target load --hidden 9 --epochs 2 \
    --cv 2
check table t.csv
check series s.csv
check folds t.csv

# Names of columns and classes that would end a comment or a text stay names.
words='"*/ int x;"|"""q"""|b\|"??/"|"two
lines"|%d'
{
    printf 'n*/um,"w""o??/rd\","%%s\n*/ ""x"\n'
    echo "$words" | awk 'BEGIN { RS = "\001" } {
        sub(/\n$/, "")
        n = split($0, word, "|")
        for (i = 0; i < 60; i++)
            printf "%d,%s,%s\n", i, word[i % n + 1], word[i * i % n + 1]
        for (i = 1; i <= n; i++)
            printf "%d,%s,%s\n", i, word[i], word[i]
    }'
} >"$dir/h.csv"
made hostile table --data "$dir/h.csv" --target '%s
*/ "x' --hidden 8 --epochs 1
cat >"$dir/h.c" <<'END'
#include "hostile.h"
#include <stdio.h>
int main(void)
{
    static float x[HOSTILE_INPUTS];
    const double number[2] = {1, 0};

    for (int i = 0; i < HOSTILE_CLASSES; i++) {
        const char *const word[2] = {"", hostile_class[i]};

        printf("%d %s\n", hostile_inputs(number, word, x), hostile_class[i]);
    }
    return 0;
}
END
printf '0 %b\n' '"q"' %d '*/ int x;' '??/' "b\\\\" 'two\nlines' \
    >"$dir/want"
if $cc -std=c99 -trigraphs -Wall -Wextra -Werror -Wno-unknown-pragmas \
    -o "$dir/h" "$dir/h.c" "$dir/hostile.c" 2>"$dir/err" &&
    "$dir/h" >"$dir/out"; then
    same "hostile: other names" "$dir/want" "$dir/out"
else
    fail "hostile names"
fi

# Of MNIST's test images 8 bits tell less than 0.3 of 100 fewer than floats do.
cat >"$dir/digits.c" <<'END'
#include "digit.h"
#include "digit8.h"
#include <stdio.h>
static float s[DIGIT_SCRATCH + DIGIT8_SCRATCH], x[784], y[10];
static int right(unsigned char label)
{
    for (int i = 0; i < 10; i++)
        if (y[i] > y[label])
            return 0;
    return 1;
}
int main(void)
{
    FILE *images = fopen("images", "rb"), *labels = fopen("labels", "rb");
    unsigned char image[784], label;
    int all = 0, floats = 0, bytes = 0;

    fseek(images, 16, SEEK_SET);
    fseek(labels, 8, SEEK_SET);
    for (; fread(image, 784, 1, images) && fread(&label, 1, 1, labels); all++) {
        for (int i = 0; i < 784; i++)
            x[i] = image[i] / 255.0f;
        digit_predict(x, y, s);
        floats += right(label);
        digit8_predict(x, y, s);
        bytes += right(label);
    }
    printf("of %d digits %d by floats, %d by bytes\n", all, floats, bytes);
    return floats < all / 2 || (floats - bytes) * 1000 >= 3 * all;
}
END
if [ "${MNIST:-}" ]; then
    made digit mlp --data "$MNIST" --hidden 64 --epochs 4
    "$tool" "$dir/digit.st" --c "$dir/digit8.c" --int8
    gzip -cd "$MNIST"/t10k-images*.gz >"$dir/images"
    gzip -cd "$MNIST"/t10k-labels*.gz >"$dir/labels"
    if $cc -O2 -o "$dir/digits" "$dir/digits.c" "$dir/digit.c" \
        "$dir/digit8.c" 2>"$dir/err" && (cd "$dir" && ./digits) >"$dir/out"; then
        pass
        cat "$dir/out"
    else
        fail "digits by bytes"
    fi
else
    echo "MNIST names no folder: what 8 bits cost was not counted"
fi

# targets MODEL.c: one hash.
targets() {
    # shellcheck disable=SC2086 # levels are words
    if "$top_srcdir/test/data/export/csource_targets.sh" "$1" "${ROWS:-200}" \
        ${LEVELS--O2} >"$dir/out" 2>"$dir/err"; then
        pass
    else
        fail "one model, two hashes"
    fi
    [ "${ROWS:-}" ] && sed "s/^/$(basename "$1") /" "$dir/out"
}
made mlp mlp --data "$dir/t.csv" --target load --hidden 40,30 --steps 2
targets "$dir/mlp.c"
"$tool" "$dir/mlp.st" --c "$dir/mlp_8.c" --int8
targets "$dir/mlp_8.c"

# All rows of each kind of layer, against a predictor's.
if [ "${ROWS:-}" ]; then
    targets "$dir/table.c"
    mkdir "$dir/kinds"
    LS_CSOURCE_TO=$dir/kinds "$top_builddir/test/data/export/test_csource" >"$dir/out" 2>&1 ||
        fail "sources of each kind"
    for c in "$dir"/kinds/*.c; do
        targets "$c"
    done
fi
finish
