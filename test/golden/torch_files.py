# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts make_torch_*.py write: a state_dict as the safetensors
package does, and arrays for C."""
import json
import struct

import numpy as np
import torch


def save(path, state):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, p in sorted(state.items()):
        kind = {torch.float32: ("F32", "<f4"), torch.int64: ("I64", "<i8")}[p.dtype]
        raw = p.numpy().astype(kind[1]).tobytes()
        header[name] = {"dtype": kind[0], "shape": list(p.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(head)) + head + data)


def array(name, x):
    x = np.asarray(x, np.float64).ravel()
    rows = "\n".join("    " + " ".join(f"{v:.9g}," for v in x[i:i + 6])
                     for i in range(0, x.size, 6))
    return f"static const double {name}[{x.size}] = {{\n{rows}\n}};\n"
