# SPDX-License-Identifier: BSD-3-Clause
"""What every peer of the lm row shares: sizes, tokens, initial
parameters and options.

Parameters are named as lockstep names them, in its shapes.  With --init they
come from a file lockstep-train saved, so all sides start from the same bits
and the losses prove that the models are one; without, from a similar draw.
"""
import argparse
import json
import struct

import numpy as np

import steps

V, T, D, H, L, FF = 512, 64, 256, 8, 4, 1024
BATCH, LR, WEIGHT_DECAY, EPS_NORM = 32, 3e-4, 1e-4, 1e-6


def options(modes):
    p = argparse.ArgumentParser()
    p.add_argument("--mode", choices=modes, default=modes[0])
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--precision", choices=["f32", "bf16"], default="f32",
                   help="bf16: torch.autocast")
    p.add_argument("--batch", type=int, default=BATCH)
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--init", help="safetensors file of lockstep-train")
    p.add_argument("--metrics", help="file; standard output if absent")
    return p.parse_args()


def tokens():
    """(8192,T) int32, the toy data of the lm."""
    return np.random.RandomState(1234).randint(0, V, (8192, T), np.int32)


def batches(n, rows=BATCH):
    """The first n, as NumPy views."""
    data = tokens()
    for s in range(n):
        first = s * rows % len(data)
        yield (data[first:first + rows],)


def positions():
    i = np.arange(0, D, 2)
    angle = np.arange(T)[:, None] * np.exp(-np.log(10000.0) / D * i)
    table = np.empty((T, D), np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return table


def drawn():
    rs = np.random.RandomState(42)

    def normal(*shape, fan):
        return (rs.randn(*shape) / np.sqrt(fan)).astype(np.float32)

    p = {"tok_emb.embedding": normal(V, D, fan=D), "pos_emb": positions(),
         "head.kernel": normal(D, V, fan=D)}
    norms = ["ln_f"]
    for b in (f"blocks_{i}." for i in range(L)):
        norms += [b + "LayerNorm_0", b + "LayerNorm_1"]
        for n in ("query", "key", "value"):
            p[f"{b}SelfAttention_0.{n}.kernel"] = normal(D, H, D // H, fan=D)
        p[b + "SelfAttention_0.out.kernel"] = normal(H, D // H, D, fan=D)
        for n, i, o in (("Dense_0", D, FF), ("Dense_1", FF, D)):
            p[b + n + ".kernel"] = normal(i, o, fan=i)
            p[b + n + ".bias"] = np.zeros(o, np.float32)
    for n in norms:
        p[n + ".scale"] = np.ones(D, np.float32)
        p[n + ".bias"] = np.zeros(D, np.float32)
    return p


def read_safetensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], "<f4")
            .reshape(t["shape"]) for name, t in header.items()}


def initial(path):
    return read_safetensors(path) if path else drawn()


def run(step, options, versions):
    steps.run(step, batches(options.steps, options.batch), options.metrics or 1,
              versions)
