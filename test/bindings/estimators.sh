#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep.sklearn's estimators are scikit-learn's: test/bindings/estimators.py,
# where there are NumPy and scikit-learn 1.6 or later.
python=${PYTHON3:-python3}
: "${library:=$top_builddir/.libs/liblockstep.so.2}"
: "${module:=$top_srcdir/bindings/python}"
LOCKSTEP_LIBRARY=$library PYTHONPATH=$module PYTHONDONTWRITEBYTECODE=1
# Python's own threads of BLAS gain nothing on tables this small.
OPENBLAS_NUM_THREADS=1
export LOCKSTEP_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS

"$python" -c 'import sklearn.utils.validation as v; v.validate_data' \
    2>/dev/null || {
    echo "skipped: no scikit-learn 1.6 here"
    exit 77
}
[ -f "$library" ] || { echo "skipped: no shared library was built"; exit 77; }
if ${NM:-nm} -D "$library" | grep -qE '__(a|t|m|ub)san_'; then
    echo "skipped: the library has a sanitizer, which Python has not"
    exit 77
fi
: "${tools:=$top_builddir}"
"$python" "$top_srcdir/test/bindings/estimators.py" "$top_srcdir/docs/guide/python.md" \
    "$tools"
