# SPDX-License-Identifier: BSD-3-Clause
"""What every peer of the lm row shares: sizes, tokens and initial parameters.

Parameters are named as lockstep names them, in its shapes.  They come from a
file that lockstep-train saved, so all sides start from the same bits and the
losses prove that the models are one.
"""
import json
import struct

import numpy as np

V, T, D, H, L, FF = 512, 64, 256, 8, 4, 1024
BATCH, LR, WEIGHT_DECAY, EPS_NORM = 32, 3e-4, 1e-4, 1e-6


def tokens():
    """(8192,T) int32, the toy data of the lm."""
    return np.random.RandomState(1234).randint(0, V, (8192, T), np.int32)


def batches(n, rows=BATCH):
    """The first n, as NumPy views."""
    data = tokens()
    for s in range(n):
        first = s * rows % len(data)
        yield (data[first:first + rows],)


def read_safetensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], "<f4")
            .reshape(t["shape"]) for name, t in header.items()}
