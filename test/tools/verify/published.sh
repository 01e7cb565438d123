#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The run that is published in published/ begins as it was recorded: the file is
# whole, its first state and two steps are made again here, and a changed line is
# found.  With WHOLE=1 lockstep-verify trains all of it.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
. "$(dirname "$0")/shell.sh"

file=$top_srcdir/published/lm.lst
lm="lm --steps 60 --clip-norm 1 --schedule cosine --warmup 10 --log-every 0"

"$verify" "$file" --only-bytes >"$dir/out" 2>"$dir/err"
is "the file is whole" $? 0
run $lm --stop-at 2 --against "$file"
is "two steps: status" $status 0
has "two steps" out "against same 2 batches"

# A rate that is another one.
sed '3s/"lr":"\(.\).......","n":0/"lr":"\15555555","n":0/' "$file" >"$dir/bad.lst"
run $lm --stop-at 2 --against "$dir/bad.lst"
is "another line is found" $status 5

if [ "${WHOLE:-0}" != 0 ]; then
    "$verify" "$file" >"$dir/out" 2>"$dir/err"
    is "all of it" $? 0
    has "all of it" out "replay  same: "
fi

finish
