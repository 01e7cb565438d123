#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that docs/tutorial.md tells the truth: each of its pieces of C stands in
# an example, in one piece, and each command prints what stands below it.  Needs
# POSIX tools.
page=${top_srcdir:-.}/docs/tutorial.md
build=${top_builddir:-.}
tool=
. "$(dirname "$0")/shell.sh"

# pieces LANGUAGE: each fenced block of a language becomes $dir/LANGUAGE.N.
pieces() {
    awk -v language="$1" -v dir="$dir" '
        $0 == "```" { inside = 0 }
        inside { print > (dir "/" language "." n) }
        $0 == "```" language { inside = 1; n++ }' "$page"
}

# stands PIECE FILE: its lines follow each other in the file.
stands() {
    awk 'NR == FNR { want = want $0 "\n"; next } { all = all $0 "\n" }
        END { exit index(all, want) == 0 }' "$1" "$2"
}

pieces c
for piece in "$dir"/c.*; do
    found=
    for example in "${top_srcdir:-.}"/examples/*.c; do
        stands "$piece" "$example" && found=$example
    done
    if [ "$found" ]; then
        pass
    else
        fail "no example has this piece: $(sed 1q "$piece") .."
    fi
done
is "pieces of C" "$(ls "$dir" | grep -c '^c\.')" 6

pieces text
for piece in "$dir"/text.*; do
    command=$(sed -n '1s/^\$ //p' "$piece")
    sed 1d "$piece" >"$dir/printed"
    # shellcheck disable=SC2086 # words
    "$build"/$command >"$dir/out" 2>"$dir/err"
    same "$command prints what stands there" "$dir/out" "$dir/printed"
done
is "commands" "$(ls "$dir" | grep -c '^text\.')" 3

finish
