#!/bin/sh
# Proves that the pages are complete: lockstep(3) names every function of the
# library and no other (ls_step, not the ls_step_sized that it calls), and the
# page of a tool every option of its --help.
status=0
page=$top_srcdir/man/lockstep.3

sed -n 's/^\.BR \(ls_[a-z0-9_]*\).*/\1/p' "$page" | LC_ALL=C sort >man.page
sed 's/_sized$//' "$top_srcdir/lib/exports.txt" | LC_ALL=C sort |
    diff man.page - || {
    echo "above: < only in lockstep.3, > only in lib/exports.txt"
    status=1
}

# options TOOL [MODEL]: the long options it prints
options()
{
    "$@" --help | grep -o '^ *--[a-z][a-z0-9-]*' | tr -d ' '
}

# pages TOOL: where its options are
pages()
{
    echo "$top_srcdir/man/${1##*/}.1"
    [ "${1##*/}" != lockstep-scale ] || echo "$top_srcdir/man/lockstep-train.1"
}

# check TOOL [MODEL]
check()
{
    tool=$1
    for option in $(options "$@" | sort -u); do
        # shellcheck disable=SC1003,SC2002,SC2046 # names are words
        if ! cat $(pages "$tool") | tr -d '\\' |
            grep -q -e "$option\([^a-z-]\|\$\)"; then
            echo "${tool##*/}.1 does not name $option"
            status=1
        fi
    done
    [ "$(options "$@" | wc -l)" -gt 2 ] || { echo "$* has no --help"; status=1; }
}

for tool in info inspect predict; do
    check "./lockstep-$tool"
done
for model in linear mlp cnn lm gpt rnn; do
    check ./lockstep-train $model
    check ./lockstep-scale $model # its page leaves models to the other
done
rm -f man.page
exit $status
