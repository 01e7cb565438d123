#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Holds what the tree may weigh.  Lines are those of code that is kept by git: no
# pages, no fragments of the Makefile, no numbers (txt), no rounds of bench.  Whoever
# adds takes away, or says in the commit why a number here must rise; whoever took
# away lowers it.
. "$(dirname "$0")/../support/shell.sh"
cd "$top_srcdir" || exit 99
git ls-files >"$dir/files" 2>/dev/null
[ -s "$dir/files" ] || { echo "skipped: no clone here"; exit 77; }

# code FOLDERS: the files that count.
code()
{
    for folder; do grep "^$folder/" "$dir/files"; done |
        grep -Ev '^bench/results/|/golden/|/corpus/|\.(md|am|txt|toml)$' |
        while read -r file; do [ -f "$file" ] && echo "$file"; done
}

lines() { code "$@" | tr '\n' '\0' | xargs -0 cat | wc -l; }

# members: "count struct file" of each struct that a header of lib/ declares, but
# the table of kernels, which is a list; a group in a struct is one member.
members()
{
    code lib | grep '\.h$' | grep -v '^lib/kernel/' | tr '\n' '\0' | xargs -0 awk '
        /^typedef struct |^struct / && /{$/ {
            name = $0; sub(/^(typedef )?struct /, "", name); sub(/ .*/, "", name)
            n = depth = 0; on = 1; text = ""; comment = 0; next }
        on && /^}/ { print n, name, FILENAME; on = 0 }
        on {
            line = $0
            if (comment) { if (line !~ /\*\//) next; sub(/.*\*\//, "", line); comment = 0 }
            gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
            if (line ~ /\/\*/) { sub(/\/\*.*/, "", line); comment = 1 }
            depth += gsub(/{/, "", line)
            if (depth) { depth -= gsub(/}/, "", line); n += !depth; next }
            text = text line
            if (line ~ /;/) {
                while (match(text, /\([^()]*\)/))
                    text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
                n += gsub(/,/, "", text) + gsub(/;/, "", text)
                text = ""
            } }' | sort -rn
}

# words: "words page" of the pages, but of tables and manuals.
words()
{
    grep -E '^docs/.*\.md$|^README\.md$' "$dir/files" | while read -r page; do
        [ ! -f "$page" ] || echo "$(sed '/^|/d' "$page" | wc -w) $page"
    done | sort -rn
}

# within WHAT NUMBER LIMIT
within()
{
    echo "$1: $2 of $3"
    if [ "$2" -le "$3" ]; then pass; else fail "$1: $2, and $3 are allowed"; fi
}

members >"$dir/members"
words >"$dir/words"
options=$(for model in linear mlp cnn lm gpt table resnet rnn onnx; do
    "$top_builddir/lockstep-train" $model --help all
done | grep -oE '^ +--[a-z0-9-]+' | sort -u | wc -l)
within "lines of lib, data, tools, bindings, include and bench" \
    "$(lines lib data tools bindings include bench)" 141593
within "lines of lib" "$(lines lib)" 63622
within "lines of tests" "$(lines test)" 78449
within "public functions" \
    "$(for side in engine data; do packaging/functions $side; done | wc -l)" 450
within "members of $(sed -n '1s/[0-9]* //p' "$dir/members")" \
    "$(sed -n '1s/ .*//p' "$dir/members")" 28
within "options of lockstep-train" "$options" 109
within "words of $(sed -n '1s/[0-9]* //p' "$dir/words")" \
    "$(sed -n '1s/ .*//p' "$dir/words")" 4000
within "folders at the top" "$(grep / "$dir/files" | sed 's|/.*||' | sort -u | wc -l)" 14
within "files at the top" "$(grep -v / "$dir/files" | grep -vc '^\.')" 12
finish
