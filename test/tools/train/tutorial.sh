#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that docs/tutorial.md and the guides tell the truth: each of the
# tutorial's pieces of C stands in an example, in one piece, and each command of a
# page, run in their order, prints what stands below it.  A guide's pieces of C and
# Python stand in examples, too.  Needs POSIX tools; commands that are Python's are
# passed over where there is none with NumPy, or no shared library.
docs=$(cd "${top_srcdir:-.}/docs" && pwd)
page=$docs/tutorial.md
build=$(cd "${top_builddir:-.}" && pwd)
tool=
. "$(dirname "$0")/../../support/shell.sh"

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

# in_examples LANGUAGE: each of the page's pieces in it stands in an example.
in_examples() {
    pieces "$1"
    for piece in "$dir/$1".*; do
        found=
        for example in "${top_srcdir:-.}"/examples/*.c \
            "${top_srcdir:-.}"/examples/*.py; do
            stands "$piece" "$example" && found=$example
        done
        if [ "$found" ]; then
            pass
        else
            fail "no example has this piece: $(sed 1q "$piece") .."
        fi
    done
}

in_examples c
is "pieces of C" "$(ls "$dir" | grep -c '^c\.')" 6
rm "$dir"/c.*
page=$docs/guide/service.md
in_examples c
in_examples python
is "pieces of a service" "$(ls "$dir" | grep -cE '^(c|python)\.')" 2
page=$docs/tutorial.md

# Python's commands find the module, and the library that was built.
LOCKSTEP_LIBRARY=$build/.libs/liblockstep.so.2
PYTHONPATH=$(cd "${top_srcdir:-.}/bindings/python" && pwd)
PYTHONDONTWRITEBYTECODE=1
export LOCKSTEP_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE
python=
python3 -c 'import lockstep' 2>/dev/null && python=yes

# commands PAGE: runs them in a folder, where examples/ is; "page.ran" becomes the
# page with what they print.
commands() {
    mkdir "$dir/page"
    mkdir "$dir/page/examples"
    ln -s "$build"/examples/* "$dir/page/examples"
    ln -sf "$(cd "${top_srcdir:-.}/examples" && pwd)/answer.py" \
        "$dir/page/examples"
    while IFS= read -r line; do
        case $inside:$line in
        :'```text') inside=yes ;;
        ?*:'```') inside= ;;
        ?*:'$ '*)
            printf '%s\n' "$line"
            n=$((n + 1)) inside=yes
            case $python:$line in
            :*python3*) inside=passed ;;
            *)
                (cd "$dir/page" && PATH=$build:$PATH &&
                    eval "${line#??}") </dev/null 2>>"$dir/err" ;;
            esac
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
is "commands" $n 31

finish
