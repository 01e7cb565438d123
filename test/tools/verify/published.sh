#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The runs in published/ are what they say: the small one and its model are made
# again, as a folder and as a tar.  The large one is whole, its first state and
# two steps are made again, and a changed line is found.  With WHOLE=1
# lockstep-verify trains all of it.
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
verify=${LOCKSTEP_VERIFY:-${top_builddir:-.}/lockstep-verify}
. "$(dirname "$0")/../../support/shell.sh"

small=$top_srcdir/examples/published/mlp
"$verify" "$small" >"$dir/out" 2>"$dir/err"
is "the small run" $? 0
has "its model" out "model   same: model.safetensors is what this run makes"
tar -C "$top_srcdir/examples/published" --format=ustar -cf "$dir/mlp.tar" mlp
"$verify" "$dir/mlp.tar" >"$dir/out" 2>"$dir/err"
is "its tar" $? 0
cp -r "$small" "$dir/mlp"
chmod -R u+w "$dir/mlp"
printf x >>"$dir/mlp/model.safetensors"
"$verify" "$dir/mlp" >"$dir/out" 2>"$dir/err"
is "another model is found" $? 3

file=$top_srcdir/examples/published/lm.lst
lm="lm --steps 60 --clip-norm 1 --schedule cosine:warmup=10 --log-every 0
    --transcript :every=16"

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
