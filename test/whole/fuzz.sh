#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that every file of the fuzzers' corpus, seeds and finds, is read or
# refused without harm.
bin=${FUZZ_BIN:-${top_builddir:-.}/test/fuzz}
corpus=${top_srcdir:-.}/test/fuzz/corpus
failed=0

for target in idx cifar npy; do
    "$bin/fuzz_$target" "$corpus/$target"/* || failed=1
done
exit $failed
