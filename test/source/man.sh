#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that the pages are complete: each function of the libraries (ls_step,
# not the ls_step_bytes that it calls) has its name in a page with what its
# header says and in the list of all, and the page of a tool has every option of
# its --help; the guides name no other.
status=0
LC_ALL=C
export LC_ALL
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# The pages that are made of headers, in the order in which make names them:
# each function leads to one that declares it, and what it was made of reads as
# manual pages do.  The last header is made here: of lines that roff would obey.
cat >"$dir/dots.h" <<'END'
/* Lines that begin with a dot.
 * .so is no request here, and \ no escape.
 * 'br neither. */
LS_API int ls_dots(int n);
END
headers="$top_srcdir/include/lockstep.h
$(printf '%s\n' "$top_srcdir"/include/lockstep/*.h | grep -v /mpi.h)
$top_srcdir/include/lockstep/mpi.h $dir/dots.h"

# made_by AWK..: the pages as this awk makes them
made_by()
{
    # shellcheck disable=SC2086 # names are words
    "$@" -v folder="$dir" -f "$top_srcdir/docs/man/pages.awk" $headers \
        >"$dir/list"
}

# A page is called what the header's own text begins with.
made_by "${AWK:-awk}"
if grep -l 'SPDX' "$dir"/*.3; then
    echo "a page of functions has the header's license for its title"
    status=1
fi

# page_of NAME: the page that has it, of a function its own.
page_of()
{
    sed -n 's/^\.so man3.//p' "$dir/$1.3" | grep . || echo "$1.3"
}

# Every awk that is here makes the same bytes.
# shellcheck disable=SC2086 # a command and its arguments
for awk in "${AWK:-awk}" "busybox awk" "gawk --posix" mawk original-awk; do
    $awk 'BEGIN { exit }' >"$dir/out" 2>&1 || continue
    rm -f "$dir"/*.3
    made_by $awk || { echo "$awk does not make the pages"; status=1; continue; }
    sum=$(cat "$dir"/*.3 | cksum)
    [ "$sum" = "${first:=$sum}" ] || {
        echo "$awk makes other pages than ${AWK:-awk}"
        status=1
    }
done
made_by "${AWK:-awk}"

grep -q '^\\&\.so is no request here, and \\e no escape\.$' \
    "$dir/lockstep_dots.3" || {
    echo "a line that begins with a dot is not shown as it is"
    status=1
}
rm "$dir/lockstep_dots.3" "$dir/ls_dots.3"
all=$dir/lockstep_functions.all
mv "$dir/lockstep_functions.3" "$all"
# shellcheck disable=SC2086 # names are words
sed -nE 's/^typedef (struct|enum) (ls_[a-z0-9_]+) [{l].*/\2/p' $headers |
    sort >"$dir/types"
while read -r name; do
    grep -qE "^typedef (struct|enum) $name " \
        "$dir/$(page_of "$name")" || {
        echo "no page has the type $name"
        status=1
    }
done <"$dir/types"
sed -n 's/^\(ls_.*\)\.3$/\1/p' "$dir/list" | grep -vxFf "$dir/types" |
    grep -v '^ls_mpi_\|^ls_dots$' | sort >"$dir/names"
for side in engine data; do "$top_srcdir/packaging/functions" $side; done |
    sed 's/_bytes$//' | sort | diff "$dir/names" - || {
    echo "above: < only in pages, > only in the headers"
    status=1
}
sed -n 's/^\(ls_mpi_.*\)\.3$/\1/p' "$dir/list" |
    grep -vxFf "$dir/types" >>"$dir/names"
# A function has a page of its own where something is said of it alone.
grep -q '^ls_step \\- Train on one batch$' "$dir/ls_step.3" || {
    echo "ls_step(3) is no page of its own"
    status=1
}
while read -r name; do
    grep -q "fB.*[ *]$name(" \
        "$dir/$(page_of "$name")" || {
        echo "the page that $name.3 leads to does not declare it"
        status=1
    }
    grep -qE "(^|, )$name(,|\$)" "$all" || {
        echo "lockstep_functions.3 does not name $name"
        status=1
    }
done <"$dir/names"
! command -v groff >"$dir/out" ||
    groff -man -ww -Tascii -Z "$all" 2>&1 >"$dir/out" | grep . && status=1
[ "$(grep -L '^\.so' "$dir"/ls_*.3 | wc -l)" -gt 400 ] || {
    echo "most functions have no page of their own"
    status=1
}
for made in "$dir"/lockstep_*.3 "$dir"/ls_step.3 "$dir"/ls_dense.3; do
    include=lockstep.h
    alone=${made##*/lockstep_}
    alone=lockstep/${alone%.3}.h
    [ ! -f "$top_srcdir/include/$alone" ] ||
        grep -qxF "#include <$alone>" "$top_srcdir/include/lockstep.h" ||
        include=$alone
    grep -qx "\.B #include <$include>" "$made" || {
        echo "${made##*/} does not include $include"
        status=1
    }
    if ! grep -q ' \\- [A-Za-z]' "$made" ||
        grep -q '^#if\|_bytes(\|LS_API\|^/\*' "$made"; then
        echo "${made##*/} has no title, or has what only compilers read"
        status=1
    fi
    if command -v groff >"$dir/out" &&
        groff -man -ww -Tascii -Z "$made" 2>&1 >"$dir/out" | grep .; then
        status=1
    fi
done

# options TOOL [MODEL]: the long options it prints
options()
{
    "$@" --help all | grep -o '^ *--[a-z][a-z0-9-]*' | tr -d ' '
}

# parts TOOL [MODEL]: the parts of their values, "--schedule :warmup"
parts()
{
    "$@" --help all | awk '/^  --/ { word = $1 }
        /^    :/ { sub(/=.*/, "", $1); print word, $1 }'
}

# pages TOOL: where its options are
pages()
{
    echo "$top_srcdir/docs/man/${1##*/}.1"
    [ "${1##*/}" != lockstep-scale ] || echo "$top_srcdir/docs/man/lockstep-train.1"
}

# check TOOL [MODEL]
check()
{
    tool=$1
    options "$@" >>"$dir/options"
    for option in $(options "$@" | sort -u); do
        # shellcheck disable=SC1003,SC2002,SC2046 # names are words
        if ! cat $(pages "$tool") | tr -d '\\' |
            grep -q -e "$option\([^a-z-]\|\$\)"; then
            echo "${tool##*/}.1 does not name $option"
            status=1
        fi
    done
    parts "$@" | while read -r part; do
        # shellcheck disable=SC1003,SC2002,SC2046 # names are words
        cat $(pages "$tool") | tr -d '\\' | grep -q -e "$part\([^a-z-]\|\$\)" ||
            echo "${tool##*/}.1 does not name $part"
    done >"$dir/missing"
    [ ! -s "$dir/missing" ] || { cat "$dir/missing"; status=1; }
    [ "$(options "$@" | wc -l)" -gt 2 ] || {
        echo "$* has no --help"
        status=1
    }
}

for tool in info inspect predict verify; do
    check "./lockstep-$tool"
done
for model in linear mlp table cnn resnet lm gpt rnn onnx; do
    check ./lockstep-train $model
    check ./lockstep-scale $model # its page leaves models to the other
done

# What pages and guides tell to type is there, but for options of other programs.
printf -- '--%s\n' help version bind-to cflags libs failed name now with-mpi \
    >>"$dir/options"
cat "$top_srcdir"/docs/guide/*.md "$top_srcdir/docs/tools.md" \
    "$top_srcdir/docs/tutorial.md" "$top_srcdir"/docs/man/*.[1-9] |
    tr -d "\\\\" | grep -oE -e '--[a-z][a-z0-9-]+' |
    sort -u | grep -vxFf "$dir/options" && {
    echo "above: options that a page or guide names and no program has"
    status=1
}
exit $status
