#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that bindings/python/lockstep works: test/bindings/python.py, where there are Python
# and NumPy, and a compiler that tells the offsets of the headers' structs.
# Called by make check with what was built, and by test/packaging/install.sh.
python=${PYTHON3:-python3}
: "${CC:=cc}" "${library:=$top_builddir/.libs/liblockstep.so.2}"
: "${include:=$top_srcdir/include}" "${module:=$top_srcdir/bindings/python}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 8))' \
    2>/dev/null || {
    echo "skipped: no Python 3.8 with NumPy here"
    exit 77
}
[ -f "$library" ] || { echo "skipped: no shared library was built"; exit 77; }
if ${NM:-nm} -D "$library" | grep -qE '__(a|t|m|ub)san_'; then
    echo "skipped: the library has a sanitizer, which Python has not"
    exit 77
fi
LOCKSTEP_LIBRARY=$library PYTHONPATH=$module PYTHONDONTWRITEBYTECODE=1
export LOCKSTEP_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE

# It is installed where Python looks, whatever scheme that has.
"$python" - "$top_srcdir/bindings/python/place.py" <<'END' || exit 1
import site, subprocess, sys
for folder in site.getsitepackages():
    prefix = folder.partition("/lib/")[0]
    place = subprocess.run([sys.executable, sys.argv[1], prefix], check=True,
                           capture_output=True, text=True).stdout.strip()
    if "/lib/" in folder and place not in sys.path:
        sys.exit(f"with the prefix {prefix} the module is put into {place}")
END

LOCKSTEP_LIBRARY=$work/none.so "$python" -c 'import lockstep' 2>&1 |
    grep -q 'ImportError: .*none.so: .*LOCKSTEP_LIBRARY names another' || {
    echo "an import without a library does not say what is missing"
    exit 1
}
mkdir -p "$work/environment/lib"
ln -s "$(realpath "$library")" "$work/environment/lib/liblockstep.so.2"
env -u LOCKSTEP_LIBRARY "$python" - "$work/environment" <<'END' || exit 1
import sys
sys.prefix = sys.argv[1]
import lockstep
assert lockstep.ctypes_of.path == sys.prefix + "/lib/liblockstep.so.2"
END
"$python" - >"$work/offsets.c" <<'END' || exit 1
import lockstep
for header in ("lockstep.h", "lockstep/columns.h", "lockstep/csource.h",
               "lockstep/images.h", "lockstep/onnx.h", "lockstep/realmlp.h", "stddef.h",
               "stdio.h"):
    print(f"#include <{header}>")
print("int main(void)\n{")
for name, struct in lockstep.c.STRUCTS.items():
    print(f'printf("{name}.sizeof %zu\\n", sizeof({name}));')
    for member, _ in struct._fields_:
        print(f'printf("{name}.{member} %zu\\n", offsetof({name}, {member}));')
print("return 0;\n}")
END
# shellcheck disable=SC2086
$CC -std=c11 -I"$include" -o "$work/offsets" "$work/offsets.c" &&
    "$work/offsets" >"$work/offsets.txt" || exit 1
"$python" "$top_srcdir/test/bindings/python.py" "$work/offsets.txt" "$work" \
    "$top_srcdir/test/golden/import_layers.onnx" || exit 1
: "${tool:=$top_builddir/lockstep-train}"
"$python" "$top_srcdir/test/bindings/python_runs.py" "$work" "$tool" \
    "$top_srcdir/docs/guide/python.md"
