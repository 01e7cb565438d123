#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that docs/tutorial.md and the guides tell the truth: each of the
# tutorial's pieces of C stands in an example, in one piece, and each command of a
# page, run in their order, prints what stands below it.  Needs POSIX tools.
docs=$(cd "${top_srcdir:-.}/docs" && pwd)
page=$docs/tutorial.md
build=$(cd "${top_builddir:-.}" && pwd)
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

# commands PAGE: runs them in a folder, where examples/ is; "page.ran" becomes the
# page with what they print.
commands() {
    mkdir "$dir/page"
    ln -s "$build/examples" "$dir/page/examples"
    while IFS= read -r line; do
        case $inside:$line in
        :'```text') inside=yes ;;
        yes:'```') inside= ;;
        yes:'$ '*)
            printf '%s\n' "$line"
            (cd "$dir/page" && PATH=$build:$PATH &&
                eval "${line#??}") </dev/null 2>>"$dir/err"
            n=$((n + 1))
            continue ;;
        yes:*) continue ;;
        esac
        printf '%s\n' "$line"
    done <"$1" >"$dir/page.ran"
    rm -r "$dir/page"
}

inside=
n=0
for page in "$page" "$docs"/guide/*.md; do
    commands "$page"
    cp "$dir/page.ran" "$dir/out"
    diff "$page" "$dir/page.ran" >"$dir/err"
    is "what $(basename "$page") prints stands there" $? 0
done
is "commands" $n 23

finish
