#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# lockstep-predict --c: the C source of a model of a table and of a series reads
# rows as the command does and predicts what it writes; a small model has one
# hash under each compiler and processor here (of all rows and levels in
# .ci/full, which sets ROWS and M32).
train=$top_builddir/lockstep-train
tool=$top_builddir/lockstep-predict
. "$(dirname "$0")/shell.sh"

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
    "$train" "$@" --save "$dir/$name.st" >"$dir/out" 2>"$dir/err" &&
        "$tool" "$dir/$name.st" --c "$dir/$name.c" >>"$dir/out" 2>>"$dir/err" ||
        fail "$name: $*"
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

made table table --data "$dir/t.csv" --target load --epochs 1
cut -d, -f1,4,5 "$dir/t.csv" >"$dir/s.csv"
made series rnn --data "$dir/s.csv" --target load --window 4 --steps 2
check table t.csv
check series s.csv

made mlp mlp --data "$dir/t.csv" --target load --hidden 40,30 --steps 2
# shellcheck disable=SC2086 # levels are words
if "$top_srcdir/test/csource_targets.sh" "$dir/mlp.c" "${ROWS:-200}" \
    ${LEVELS--O2} >"$dir/out" 2>"$dir/err"; then
    pass
    grep -c '^same' "$dir/out"
else
    fail "one model, two hashes"
fi
[ "${ROWS:-}" ] && cat "$dir/out"
finish
