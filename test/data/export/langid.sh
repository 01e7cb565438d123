#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The language identifier of examples/langid, on a text of its own: trained at
# two instruction levels, in two folders, it is the same C source; its library
# knows the languages that it saw.
build=${top_builddir:-.}
case $build in /*) ;; *) build=$PWD/$build ;; esac
top=$(cd "$(dirname "$0")/../../.." && pwd)
tool=$build/lockstep-predict
. "$(dirname "$0")/../../support/shell.sh"

cc=${CC:-cc}
if ! make --version >/dev/null 2>&1 || ! $cc --version >/dev/null 2>&1; then
    echo "there is no compiler, or no make"
    exit 77
fi
if ${NM:-nm} -D "$build/.libs/liblockstep.so" 2>/dev/null |
    grep -qE '__(a|t|m|ub)san_'; then
    echo "skipped: the library has a sanitizer, its program has not"
    exit 77
fi
source=$top/examples/langid

# Sentences of three languages, each its words in another order.
awk 'function say(lang, words,    w, n, i, k, line) {
         n = split(words, w, " ")
         for (i = 0; i < 300; i++) {
             line = ""
             for (k = 0; k < 8; k++) {
                 seed = (seed * 75 + 74) % 65537
                 line = line w[seed % n + 1] " "
             }
             print lang "\t" line
         }
     }
     BEGIN {
         seed = 1
         say("de", "der die das und nicht mit einer Datei wird werden kann")
         say("en", "the and not with a file will be can of this that from")
         say("fr", "le la les et ne pas avec un fichier sera peut du cette")
     }' >"$dir/text.train"
cp "$dir/text.train" "$dir/text.test"

# make_in FOLDER LEVEL ZONE
make_in() {
    mkdir -p "$dir/$1" && cp "$source"/*.[ch] "$source/Makefile" \
        "$dir"/text.* "$dir/$1" &&
        LS_ISA=$2 TZ=$3 make -C "$dir/$1" CC="$cc" PREDICT="$tool" \
            LOCKSTEP="-I$top/include -L$build/.libs -llockstep \
            -Wl,-rpath,$build/.libs" langid liblangid.so.1 >"$dir/out" 2>"$dir/err"
}

if make_in a x86-64-v3 UTC; then pass; else fail "the build"; fi
if make_in b/c "" Asia/Tokyo; then pass; else fail "the build elsewhere"; fi
for file in model.c languages.h; do
    if cmp "$dir/a/$file" "$dir/b/c/$file" >"$dir/out" 2>"$dir/err"; then
        pass
    else
        fail "$file is another one"
    fi
done
# The SHA-256 of its weights is the same on every processor.
is "the weights" "$(sed -n 's/^ \* weights *//p' "$dir/a/model.c")" \
    2067cf74c09111f8b40e28a4965c59c964baf4685c958566426b6c697999d6b4
"$dir/a/langid" "der die das und nicht" "pas avec un fichier" >"$dir/out"
if [ "$(cut -d' ' -f1 "$dir/out" | tr '\n' ' ')" = "de fr " ]; then
    pass
else
    fail "languages of sentences"
fi
# Its shared library exports what the package's list of symbols has.
is "symbols" "$(${NM:-nm} -D --defined-only "$dir/a/liblangid.so.1" |
    sed 's/.* //' | tr '\n' ' ')" \
    "$(sed -n 's/^ \(.*\)@.*/\1/p' "$source/debian/liblangid1.symbols" |
        tr '\n' ' ')"
finish
