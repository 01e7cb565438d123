#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write npz_files.h: archives of arrays by numpy, for test_npz.c, as C tables.

    make_npz_files.py > npz_files.h

Made with numpy 2.4.6: pip install numpy==2.4.6.
"""
import io
import zipfile

import numpy as np

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array([3, 1, 2, 0], dtype=np.int64)
Z = np.zeros((50, 8), dtype=np.float64)


def table(name, data):
    lines, line = [], "   "
    for b in data:
        if len(line) + len(str(b)) + 2 > 78:
            lines.append(line)
            line = "   "
        line += f" {b},"
    print(f"static const uint8_t {name}[{len(data)}] = {{\n"
          + "\n".join(lines + [line]) + "\n};\n")


def saved(save, **arrays):
    f = io.BytesIO()
    save(f, **arrays)
    return f.getvalue()


print(f"""/* Made by make_npz_files.py with numpy {np.__version__}; not edited by hand. */
#ifndef GOLDEN_NPZ_FILES_H
#define GOLDEN_NPZ_FILES_H

#include <stdint.h>

// clang-format off

/* x: 0 to 11 as f4 (4,3); y: 3 1 2 0 as i8 (4); zeros: f8 (50,8). */""")
table("golden_npz_stored", saved(np.savez, x=X, y=Y))
table("golden_npz_deflated", saved(np.savez_compressed, x=X, y=Y, zeros=Z))

# As other programs write them: sizes behind the data, and a comment.
class Unseekable(io.RawIOBase):
    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, b):
        self.data += bytes(b)
        return len(b)


out = Unseekable()
with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
    f = io.BytesIO()
    np.save(f, X)
    z.writestr("x.npy", f.getvalue())
    z.comment = b"made in pieces"
table("golden_npz_streamed", out.data)

# As numpy writes what is large: with the limits at 0, all numbers of the
# entries are in fields of ZIP64, and the end has a record of it.  Python leaves
# the short end as it is; "far" has all bits of its numbers set, as APPNOTE
# 4.4.1.4 has it.
LIMITS = zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = -1, 0
out = io.BytesIO()
with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
    for name, how, array in (("x.npy", zipfile.ZIP_DEFLATED, X),
                             ("y.npy", zipfile.ZIP_STORED, Y)):
        f = io.BytesIO()
        np.save(f, array)
        info = zipfile.ZipInfo(name)
        info.compress_type = how
        with z.open(info, "w", force_zip64=True) as member:
            member.write(f.getvalue())
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = LIMITS
near = out.getvalue()
assert near.count(b"PK\6\6") == near.count(b"PK\6\7") == 1
table("golden_npz_zip64", near)
table("golden_npz_zip64_far", near[:-14] + b"\xff" * 12 + near[-2:])
print("// clang-format on\n\n#endif")
