#!/usr/bin/env python3
"""A network of PyTorch with batch norms in inference, for test_torch_file.c:
writes what its state_dict holds, as the safetensors package does, and what it
puts out after eval().

    python make_torch_norm.py              made with torch 2.13.0; writes
                                           torch_norm.safetensors, torch_norm_outputs.h

Arrays are uniform in [-1,1) by numpy.random.RandomState(6), variances in
[0.1,2.1).  The convolution has no bias, the second norm no scale and shift and
another epsilon.
"""
import json
import struct

import numpy as np
import torch
from torch import nn

rs = np.random.RandomState(6)
model = nn.Sequential(nn.Conv2d(2, 3, (3, 2), padding="valid", bias=False),
                      nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(),
                      nn.Linear(48, 5),
                      nn.BatchNorm1d(5, eps=0.25, affine=False))
model.eval()
state = model.state_dict()
with torch.no_grad():
    for name, p in sorted(state.items()):
        if p.dtype == torch.float32:
            p.copy_(torch.from_numpy(
                rs.uniform(-1, 1, tuple(p.shape)).astype(np.float32)))
        if name.endswith("running_var"):
            p.add_(1.1)
    image = torch.from_numpy(rs.uniform(-1, 1, (1, 2, 6, 5)).astype(np.float32))
    logits = model(image)

header, data = {"__metadata__": {"format": "pt"}}, b""
for name, p in sorted(state.items()):
    kind = {torch.float32: ("F32", "<f4"), torch.int64: ("I64", "<i8")}[p.dtype]
    raw = p.numpy().astype(kind[1]).tobytes()
    header[name] = {"dtype": kind[0], "shape": list(p.shape),
                    "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
head = json.dumps(header, separators=(",", ":")).encode()
head += b" " * (-len(head) % 8)
with open("torch_norm.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(head)) + head + data)


def array(name, x):
    x = np.asarray(x, np.float64).ravel()
    rows = "\n".join("    " + " ".join(f"{v:.9g}," for v in x[i:i + 6])
                     for i in range(0, x.size, 6))
    return f"static const double {name}[{x.size}] = {{\n{rows}\n}};\n"


with open("torch_norm_outputs.h", "w") as out:
    out.write(f"/* Made by make_torch_norm.py with torch {torch.__version__}. */\n")
    # channels last, as lockstep has images
    out.write(array("torch_norm_image", image.permute(0, 2, 3, 1)))
    out.write(array("torch_norm_logits", logits))
