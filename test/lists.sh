#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the lists of docs/design.md, "The newest of each", are true: each
# says by which names the newest operator (optimizer, ..) is called, and which
# files it touched.  Those that have one of the names and those that are listed
# are the same; of tests and documents the listed ones must have it.
tool=
. "$(dirname "$0")/shell.sh"
: >"$dir/err"

# lists DOC: "title: names" and then a line for each file, as the text has them.
lists() {
    awk '/^## / { on = /The newest of each/ } on && /^    /' "$1"
}

# having TREE NAMES..: files of the tree that have one of them.
having() {
    tree=$1
    shift
    (cd "$tree" && printf '%s\n' "$@" | grep -rlwIFf - include lib data tools man \
        python fortran referee Makefile.am 2>/dev/null) |
        grep -vE '/\.|README|__pycache__' | sort
}

# compare TREE TITLE NAMES: the files on stdin against those of the tree.
compare() {
    sort >"$dir/listed"
    # shellcheck disable=SC2086 # names are words
    having "$1" $3 >"$dir/having"
    grep -vE '^(test|docs)/' "$dir/listed" | comm -3 - "$dir/having" |
        sed "s|^	|$2: not listed, though it names it: |; t
            s|^|$2: listed, but names it not: |"
    grep -E '^(test|docs)/' "$dir/listed" | while read -r file; do
        # shellcheck disable=SC2086
        printf '%s\n' $3 | grep -qwFf - "$1/$file" 2>/dev/null ||
            echo "$2: listed, but names it not: $file"
    done
}

# wrong TREE: what is wrong with its lists.
wrong() {
    lists "$1/docs/design.md" | sed 's/^    //' >"$dir/lists"
    grep -n ': ' "$dir/lists" | while IFS=: read -r line title names; do
        tail -n "+$((line + 1))" "$dir/lists" |
            awk '/: / { exit } { for (i = 1; i <= NF; i++) print $i }' |
            compare "$1" "$title" "$names"
    done
}

wrong "$top_srcdir" >"$dir/out"
if [ -s "$dir/out" ]; then fail "lists are true"; else pass; fi
[ "$(grep -c ': ' "$dir/lists")" -ge 6 ] || fail "six lists"

# The check itself sees what is wrong.
tree=$dir/tree
mkdir -p "$tree/docs" "$tree/lib" "$tree/test"
printf '## The newest of each\n\n    a thing: ls_thing\n      lib/a.c test/b.c\n' \
    >"$tree/docs/design.md"
echo 'int ls_thing(void);' >"$tree/lib/a.c"
cp "$tree/lib/a.c" "$tree/test/b.c"
is "a list that is true" "$(wrong "$tree")" ""
cp "$tree/lib/a.c" "$tree/lib/more.c"
is "a file too few" "$(wrong "$tree")" \
    "a thing: not listed, though it names it: lib/more.c"
rm "$tree/lib/a.c" "$tree/lib/more.c" "$tree/test/b.c"
is "files too many" "$(wrong "$tree")" \
    "a thing: listed, but names it not: lib/a.c
a thing: listed, but names it not: test/b.c"
finish
