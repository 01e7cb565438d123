#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the rooms of lib/, data/ and tools/ include only those below them:
# each folder's README.md has a line "may include: base kernel ..", no file
# includes another room than these, no circle leads from a room to itself, and
# docs/design.md lists them from the ground up.
# Each says which tests test it ("tested by: test_text data.sh"), and these are
# there.  Tools see nothing of lib/ and data/ but the public headers, and data/
# these and the rooms of lib/ of which it has its own copy; lib/ and data/ include
# those that they need and not lockstep.h, and lib/ neither includes nor calls
# data/.
# What rooms share, ls__name, is defined once, so that a name has one meaning.
# File names are unique: two files share one only as a .c and its .h.  (Public
# headers below lockstep/ are named as the room whose functions they declare.)
# No line is wider than 80 characters, and each source names its license.
# Comments above functions and types begin with a verb or a noun: a comment that
# begins with a bare preposition ("Of a device.") sends the reader on to look for
# what it speaks of.  No file is longer than 500 lines, and among those of a step
# none leads back to itself.  What one file alone uses is static there.  Files that
# pages name are there.
tool=
. "$(dirname "$0")/../support/shell.sh"
: >"$dir/err"
: >"$dir/out"

# none NAME FILE: the file is empty; else its lines are what is wrong.
none() {
    cp "$2" "$dir/out"
    if [ -s "$2" ]; then fail "$1"; else pass; fi
}

# allowed ROOT: "room other" for each room that a room may include.
allowed() {
    for readme in "$1"/*/README.md; do
        room=$(basename "$(dirname "$readme")")
        sed -n 's/^may include://p' "$readme" | tr ' ' '\n' |
            sed -n "s/..*/$room &/p"
    done
}

# included ROOT: "room other file" for each include of another folder.
included() {
    (cd "$1" && grep -HEo '^ *# *include "[a-z]+/[a-z0-9_.]+' ./*/*.[ch]) |
        sed -n 's|^\./\([a-z]*\)/\([^:]*\):.*"\([a-z]*\)/.*$|\1 \3 \2|p' |
        awk '$1 != $2' | sort -u
}

# order TREE FOLDER: its rooms from the ground up, as docs/design.md lists them
# after "`FOLDER/`".
order() {
    tr '\n' ' ' <"$1/docs/design.md" |
        sed -n "s|.*\`$2/\`[^.]* from the ground up: \([a-z, ]*\)\..*|\1|p" |
        tr -s ', ' '\n'
}

# misplaced TREE FOLDER: rooms that the list lacks, and those that may include
# what stands after them.
misplaced() {
    order "$1" "$2" >"$dir/order"
    allowed "$1/$2" >"$dir/allowed"
    awk 'FILENAME ~ /order$/ { at[$1] = FNR; next }
        !($1 in at) { print $1 " is not in the list"; next }
        at[$2] >= at[$1] { print $1 " stands before " $2 }' \
        "$dir/order" "$dir/allowed"
    for room in "$1/$2"/*/README.md; do
        grep -qx "$(basename "$(dirname "$room")")" "$dir/order" || echo "$room"
    done
}

# unnamed ROOM: what its README.md does not say.
unnamed() {
    for line in "may include" "tested by"; do
        grep -q "^$line:" "$1/README.md" 2>/dev/null ||
            echo "$1 has no README.md with a line \"$line:\""
    done
}

# untested TREE ROOM: tests that its README.md names, and that are not there.
untested() {
    awk '/^$/ { on = 0 } sub(/^tested by:/, "") { on = 1 } on' \
        "$1/$2/README.md" 2>/dev/null | tr ' ' '\n' | grep . |
        while read -r test; do
            find "$1/test" -name "$test" -o -name "$test.c" | grep -q . ||
                echo "$2 is tested by $test, which is not there"
        done
}

# rooms_of TREE FOLDER: what is wrong with the rooms of one folder, a line each.
rooms_of() {
    allowed "$1/$2" >"$dir/allowed"
    (cd "$1" && find "$2" -name '*.[ch]') | sed 's|/[^/]*$||' | sort -u |
        while read -r room; do
            (cd "$1" && unnamed "$room")
            untested "$1" "$room"
        done
    included "$1/$2" | awk -v folder="$2" '
        FILENAME != "-" { may[$1, $2]; next }
        !(($1, $2) in may) { print folder "/" $1 "/" $3 " includes " $2 \
            ", which " $1 " may not" }' "$dir/allowed" -
    while read -r room other; do
        [ -d "$1/$2/$other" ] ||
            { [ "$2" = data ] && [ -d "$1/lib/$other" ]; } ||
            echo "$2/$room may include $other, which is no room of $2"
    done <"$dir/allowed"
    tsort <"$dir/allowed" 2>&1 >/dev/null | sed 's/^tsort: -: /a circle: /'
}

# rooms TREE: the same of all.
rooms() {
    rooms_of "$1" lib
    rooms_of "$1" data
    rooms_of "$1" tools
    (cd "$1" && grep -En '# *include [<"]lockstep\.h[>"]' lib/*/*.[ch] data/*/*.[ch])
}

# symbols TREE BUILD: "room kind symbol" from the objects of what is in lib/ and
# data/ now.
symbols() {
    # shellcheck disable=SC2086 # NM may be a command with an option
    (cd "$2" && find lib data -name '*.o' -exec ${NM:-nm} -A {} + 2>/dev/null) |
        sed -n 's|^\([a-z]*/[a-z]*\)/\([^ ]*[-/]\)\{0,1\}|\1 |
            s|^\([a-z/]* [a-z0-9_]*\)\.o:.* \(.\) |\1 \2 |p' |
        awk -v tree="$1" '{
            file = tree "/" $1 "/" $2 ".c"
            if (!(file in there)) {
                there[file] = (getline line < file) > 0
                close(file)
            }
            if (there[file]) print $1, $3, $4
        }'
}

# calls TREE BUILD: a line for each call of one room to another that it may not
# see; the rooms that a room sees are those that it may include, those that these
# may include, and so on.  What is public data/ and lib/mpi, which are libraries of
# their own, may call all the same.
calls() {
    allowed "$1/lib" | sed 's|^|lib/|; s| | lib/|' >"$dir/allowed"
    allowed "$1/data" | while read -r room other; do
        tree=data
        [ -d "$1/data/$other" ] || tree=lib
        echo "data/$room $tree/$other"
    done >>"$dir/allowed"
    symbols "$1" "$2" >"$dir/symbols"
    awk 'FILENAME ~ /allowed$/ { sees[$1, $2]; room[$1]; room[$2]; next }
        $2 ~ /^[TDRBCVW]$/ { home[$3] = $1 }
        $2 == "U" { wants[$1 " " $3] }
        END {
            for (k in room) for (i in room) for (j in room)
                if ((i, k) in sees && (k, j) in sees) sees[i, j]
            for (w in wants) {
                split(w, of, " ")
                to = home[of[2]]
                if (of[1] ~ /^data|^lib\/mpi$/ && of[2] ~ /^ls_[a-z]/)
                    continue
                if (to != "" && to != of[1] && !((of[1], to) in sees))
                    print of[1] " calls " of[2] " of " to \
                        ", which it may not see"
            }
        }' "$dir/allowed" "$dir/symbols" | sort
}

# twice ROOT: file names, without what follows the dot, that two files have.
twice() {
    (cd "$1" && find lib data tools test bench examples -name '*.[ch]' \
        ! -path 'tools/referee/*') |
        sed 's|^\(.*\)/\([^/]*\)\.\([ch]\)$|\2 \1 \3|' | sort |
        awk '$1 == name && ($2 != folder || $3 == kind) { print $1, folder, $2 }
            { name = $1; folder = $2; kind = $3 }'
}

# defined ROOT: "name file" for each ls__ type, function and table that is defined,
# but for no_x.c, which is compiled where x.c is not.
defined() {
    (cd "$1" && find lib data -name '*.[ch]' ! -name 'no_*.c' | sort | xargs awk '
        FNR == 1 || /^}/ { begun = "" }
        /^typedef struct [a-z0-9_]+ [a-z0-9_]+;/ { next }
        /^} ls__/ || /^(struct|union|enum) ls__[a-z0-9_]+ [{]/ ||
        /^typedef [^{(]*[ *]ls__[a-z0-9_]+;/ {
            sub(/( [{]|;.*)$/, "")
            sub(/.*[ *]/, "")
            print $0, FILENAME
            next
        }
        /^[a-z]/ && !/^(typedef|extern) / &&
        match($0, /[ *]ls__[a-z0-9_]+([(]|([[].*)? =)/) {
            begun = substr($0, RSTART + 1)
            table = begun !~ /^[a-z0-9_]+[(]/
            sub(/[^a-z0-9_].*/, "", begun)
        }
        begun && (table || /[{]/) { print begun, FILENAME }
        table || /[{;]/ { begun = ""; table = 0 }')
}

# homonyms ROOT: "name file file" for each that has two meanings.
homonyms() {
    defined "$1" | sort -u |
        awk '$1 == name { print name, file, $2 } { name = $1; file = $2 }'
}

# wide ROOT: lines of code of more than 80 characters, but of numbers that
# programs wrote (test/golden).
wide() {
    (cd "$1" && find include lib data tools examples bench test \
        -name golden -prune -o \( -name '*.[ch]' -o -name '*.hpp' \) -print |
        sort | xargs awk 'length > 80 { print FILENAME ":" FNR }')
}

# broad ROOT: lines of pages of more than 100 characters, but for code, tables and
# what a program reads.
broad() {
    (cd "$1" && find docs lib data tools examples bench test -name '*.md' 2>/dev/null) |
        sort | while read -r file; do
            LC_ALL=C awk -v file="$file" '/^```/ { code = !code }
                !code && !/^(    |[|<!]|[a-z ]+: )/ {
                    gsub(/[\200-\277]/, "") # of a character, its first byte
                    if (length > 100)
                        print file ":" FNR
                }' "$1/$file"
        done
}

# gone ROOT: files that pages name, with a folder of the tree, and that are not there.
gone() {
    (cd "$1" && find docs lib data tools test bench bindings ./*.md \
        -name '*.md' -exec cat {} + 2>/dev/null | tr '\n' ' ' |
        grep -oE '`(added +|row [a-z]+ +)?(lib|data|tools|include|test|docs|bench|'\
'examples|bindings|packaging)/[a-z0-9_./-]+' | sed 's/.*[` ]//' | sort -u |
        while read -r file; do
            ls -d "$file"* >/dev/null 2>&1 || echo "$file"
        done)
}

# upward ROOT: files of the rooms of a step that lead back to themselves, a .c
# counting as its .h: none includes what stands above it.
upward() {
    (cd "$1/lib" && for room in train hooks rules ranks passes trainer; do
        grep -HoE '^#include "[a-z]+/[a-z0-9_]+' "$room"/*.[ch] 2>/dev/null
    done) | sed 's/\.[ch]:#include "/ /' | awk '$1 != $2' | tsort 2>&1 >/dev/null |
        sed 1d
}

# long ROOT: files of more than 500 lines, which hold more than one idea; the
# header for C++ is one for all of them.
long() {
    (cd "$1" && find include lib data tools -name '*.[ch]' | sort |
        xargs awk 'FNR == 501 { print FILENAME }')
}

# bare ROOT: comments at the beginning of a line that begin with a preposition.
bare() {
    (cd "$1" && find include lib data tools examples bench test \
        -name '*.[ch]' ! -path 'tools/referee/*' -o -name '*.hpp' | sort | xargs grep -nHE "^(/[*]|//) \
?(After|Among|Around|As|At|Before|Behind|Between|By|For|From|In|Into|Of|On|Over|\
Through|To|Under|Until|With|Within|Without) " /dev/null)
}

# unlicensed ROOT: sources that name no license in their first lines.
unlicensed() {
    (cd "$1" && find include lib data tools examples bench test bindings \
        \( -name golden -o -name '*venv*' \) -prune -o \
        \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.sh' -o -name '*.py' \
        -o -name '*.awk' \) -print 2>/dev/null | sort | xargs awk '
            function tell() { if (!names) print file }
            FNR == 1 { if (file) tell(); file = FILENAME; names = 0 }
            FNR < 4 && /SPDX-License-[I]dentifier: BSD-3-Clause/ { names = 1 }
            END { tell() }')
}

# shared ROOT: functions and tables that a header declares, and one file uses.
shared() {
    (cd "$1" && find lib data tools test examples -name '*.[ch]' | sort |
        xargs awk '
            { declares = FILENAME ~ /[.]h$/ && /^[a-z]/ && !/^(static|typedef) /
              while (match($0, /ls__[a-z0-9_]+/)) {
                  name = substr($0, RSTART, RLENGTH)
                  $0 = substr($0, RSTART + RLENGTH)
                  if (declares && /^[([]/)
                      at[name] = FILENAME ":" FNR
                  used[name] += !((name, FILENAME) in seen)
                  again[name] += FILENAME ~ /[.]h$/
                  seen[name, FILENAME]
              } }
            END { for (name in at) if (used[name] == 2 && again[name] == 1)
                  print at[name] ": " name }') | sort
}

# by_locale ROOT: lines that read a real number, or tell letters, as the host's locale
# has it, but for those of the file that knows how.
by_locale() {
    (cd "$1" && find lib data -name '*.[ch]' ! -path lib/base/real_text.c |
        sort | xargs grep -nE \
        -e '\<(strto(d|f|ld)|atof)\(|scanf\(.*%[0-9]*l?[aefg]' \
        -e '\<(strn?casecmp|is(al(pha|num)|lower|p(rint|unct)|space|upper))\(' \
        -e '\<to(lower|upper)\(' /dev/null)
}

rooms "$top_srcdir" >"$dir/wrong"
none "rooms include what is below them" "$dir/wrong"
calls "$top_srcdir" "$top_builddir" >"$dir/wrong"
none "rooms call what is below them" "$dir/wrong"
misplaced "$top_srcdir" lib >"$dir/wrong"
misplaced "$top_srcdir" tools >>"$dir/wrong"
none "docs/design.md lists rooms from the ground up" "$dir/wrong"
twice "$top_srcdir" >"$dir/wrong"
none "file names are unique" "$dir/wrong"
homonyms "$top_srcdir" >"$dir/wrong"
none "what rooms share has one meaning" "$dir/wrong"
wide "$top_srcdir" >"$dir/wrong"
none "lines fit 80 columns" "$dir/wrong"
broad "$top_srcdir" >"$dir/wrong"
none "paragraphs of pages fit 100 columns" "$dir/wrong"
gone "$top_srcdir" >"$dir/wrong"
none "files that pages name are there" "$dir/wrong"
upward "$top_srcdir" >"$dir/wrong"
none "no file of a step includes what is above it" "$dir/wrong"
long "$top_srcdir" >"$dir/wrong"
none "files have 500 lines at the most" "$dir/wrong"
bare "$top_srcdir" >"$dir/wrong"
none "comments begin with a verb or a noun" "$dir/wrong"
unlicensed "$top_srcdir" >"$dir/wrong"
none "sources name their license" "$dir/wrong"
shared "$top_srcdir" >"$dir/wrong"
none "headers declare what several files use" "$dir/wrong"
by_locale "$top_srcdir" >"$dir/wrong"
none "numbers and letters are read in any locale" "$dir/wrong"

# The check itself sees what is wrong.
tree=$dir/tree
mkdir -p "$tree/lib/base" "$tree/lib/low" "$tree/lib/high" "$tree/data/up" \
    "$tree/tools/one" "$tree/test" "$tree/include" "$tree/bench" "$tree/examples"
says() { printf 'may include: %s\n\ntested by: %s\n' "$2" "${3:-test_a}" \
    >"$tree/$1/README.md"; }
says lib/low ""
says lib/high low
says data/up base
says tools/one ""
: >"$tree/test/test_a.c"
echo '#include "low/a.h"' >"$tree/lib/high/b.c"
echo '#include "base/a.h"' >"$tree/data/up/u.c"
echo '#include "one/t.h"' >"$tree/tools/one/t.c"
: >"$tree/tools/one/t.h"
: >"$tree/lib/low/a.h"
rooms "$tree" >"$dir/wrong"
none "a good tree" "$dir/wrong"
echo '#include "high/b.h"' >"$tree/lib/low/a.h"
is "an include that goes up" "$(rooms "$tree")" \
    "lib/low/a.h includes high, which low may not"
says data/up none
is "data that may include no room" "$(rooms "$tree" | grep -c 'no room of')" 1
says data/up "base low"
echo '#include "low/a.h"' >>"$tree/data/up/u.c"
is "data that includes a room of lib" "$(rooms "$tree" | grep -c up/u.c)" 0
says data/up base
is "data that includes another" \
    "$(rooms "$tree" | grep -c 'up/u.c includes low')" 1
echo '#include "base/a.h"' >"$tree/data/up/u.c"
echo '#include <lockstep.h>' >>"$tree/lib/high/b.c"
is "all public headers" "$(rooms "$tree" | grep -c high/b.c)" 1
mkdir -p "$dir/built/lib/low" "$dir/built/lib/high" "$dir/built/data/up"
echo >"$tree/lib/low/a.c"
if echo 'int up(void); int low(void); int low(void) { return up(); }' |
    ${CC:-cc} -c -x c -o "$dir/built/lib/low/a.o" - 2>/dev/null &&
    echo 'int low(void); int up(void); int up(void) { return low(); }' |
    ${CC:-cc} -c -x c -o "$dir/built/lib/high/b.o" - 2>/dev/null; then
    is "a call that goes up" "$(calls "$tree" "$dir/built")" \
        "lib/low calls up of lib/high, which it may not see"
    echo 'int low(void); int ls_a(void) { return low(); }' |
        ${CC:-cc} -c -x c -o "$dir/built/data/up/u.o" - 2>/dev/null
    echo 'int ls_a(void); int up(void); int up(void) { return ls_a(); }' |
        ${CC:-cc} -c -x c -o "$dir/built/lib/high/b.o" - 2>/dev/null
    is "calls between the engine and data" \
        "$(calls "$tree" "$dir/built" | sed 's/ calls.*//' | tr '\n' ' ')" \
        "data/up lib/high lib/low "
    mkdir "$tree/lib/mpi" "$dir/built/lib/mpi"
    echo >"$tree/lib/mpi/m.c"
    echo 'int up(void); int ls_a(void); int m(void); int m(void) { return ls_a() + up(); }' |
        ${CC:-cc} -c -x c -o "$dir/built/lib/mpi/m.o" - 2>/dev/null
    is "calls of a library of its own in lib" \
        "$(calls "$tree" "$dir/built" | grep mpi)" \
        "lib/mpi calls up of lib/high, which it may not see"
    rm -r "$tree/lib/mpi" "$dir/built/lib/mpi"
fi
rm "$tree/lib/low/a.c"
says lib/low high
is "a circle" "$(rooms "$tree" | grep -c circle | sed 's/[1-9].*/some/')" some
rm "$tree/lib/low/README.md"
is "a room without its lines" "$(rooms "$tree" | grep -c 'no README.md')" 2
says lib/low "" b
is "a test that is not there" "$(rooms "$tree" | grep -c 'by b, which')" 1
echo '#include "low/a.h"' >"$tree/tools/one/t.c"
is "a tool that looks inside" "$(rooms "$tree" | grep -c tools/one/t.c)" 1
: >"$tree/lib/low/b.h"
is "a name twice" "$(twice "$tree")" "b lib/high lib/low"
printf '\n%081d\n' 0 >"$tree/lib/low/b.h"
is "a wide line" "$(wide "$tree")" "lib/low/b.h:2"
printf 'typedef struct ls__cut {\n    int n;\n} ls__cut;\nint ls__of(\n    int n);\n' \
    >"$tree/lib/low/b.h"
printf 'int ls__of(\n    int n)\n{\n}\nconst int ls__list[2] = {\n};\n' \
    >"$tree/lib/high/b.c"
is "names of one meaning" "$(homonyms "$tree")" ""
printf 'typedef int ls__cut;\n' >"$tree/data/up/m.h"
cp "$tree/lib/high/b.c" "$tree/data/up/u.c"
cp "$tree/lib/high/b.c" "$tree/data/up/no_u.c"
is "names of two" "$(homonyms "$tree")" "ls__cut data/up/m.h lib/low/b.h
ls__list data/up/u.c lib/high/b.c
ls__of data/up/u.c lib/high/b.c"
rm "$tree/data/up/m.h"
mkdir "$tree/docs"
printf '    %0101d\n%0101d\n' 0 0 >"$tree/docs/a.md"
is "a wide paragraph" "$(broad "$tree")" "docs/a.md:2"
echo 'See `lib/high/b.c` and `added
tools/two/t.c`.' >"$tree/docs/a.md"
is "a file that is gone" "$(gone "$tree")" tools/two/t.c
echo '`lib/`, the engine, from the ground up: low, high.' >"$tree/docs/design.md"
is "rooms in their order" "$(misplaced "$tree" lib)" ""
echo '`lib/`, the engine, from the ground up: high, low.' >"$tree/docs/design.md"
is "a room below what it includes" "$(misplaced "$tree" lib)" \
    "high stands before low"
rm -r "$tree/docs"
printf '/* Of a device. */\n/* A device. */\n' >"$tree/lib/low/b.h"
mkdir "$tree/lib/train"
echo '#include "train/b.h"' >"$tree/lib/train/a.h"
is "nothing runs back up" "$(upward "$tree")" ""
echo '#include "train/a.h"' >"$tree/lib/train/b.c"
is "a file that includes what is above it" \
    "$(upward "$tree" | sed 's/.* //' | sort | tr '\n' ' ')" "train/a train/b "
yes '' | sed 501q >"$tree/lib/low/long.h"
is "a long file" "$(long "$tree")" lib/low/long.h
is "a comment without a subject" "$(bare "$tree")" \
    "lib/low/b.h:1:/* Of a device. */"
echo 'int ls__a(void);' >>"$tree/lib/low/a.h"
is "a function that is shared for nothing" "$(shared "$tree")" ""
echo 'int ls__a(void) { return 0; }' >"$tree/lib/low/a.c"
is "a function of one file" "$(shared "$tree")" "lib/low/a.h:2: ls__a"
printf '    x = strtod(text, NULL);\n    sscanf(text, ": rate %%lf", &x);\n' \
    >"$tree/lib/low/a.c"
echo '    strcasecmp(a, b) || islower(*a)' >>"$tree/lib/low/a.c"
is "numbers and letters of a locale" \
    "$(by_locale "$tree" | sed 's/: .*//' | tr '\n' ' ')" \
    "lib/low/a.c:1 lib/low/a.c:2 lib/low/a.c:3 "
is "a source without license" "$(unlicensed "$tree" | sed 1q)" \
    data/up/no_u.c
finish
