# SPDX-License-Identifier: BSD-3-Clause
"""784-512-512-10 with relu in PyTorch, on the same rows: --x F.npy --y F.npy."""
import numpy as np
import torch
import torch.nn.functional as F

import lm_shared as shared
import torch_steps as ts

BATCH, LR = 256, 1e-3


def parameters(arrays):
    return {n: torch.nn.Parameter(torch.tensor(a.T.copy()))
            for n, a in arrays.items()}


def logits(p, x):
    for i in range(2):
        x = F.relu(F.linear(x, p[f"layers.{i}.kernel"], p[f"layers.{i}.bias"]))
    return F.linear(x, p["layers.2.kernel"], p["layers.2.bias"])


def loss_fn(p, x, y):
    return F.cross_entropy(logits(p, x), y)


def batches(x, y, n):
    for s in range(n):
        rows = slice(s * BATCH % len(x), s * BATCH % len(x) + BATCH)
        yield x[rows], y[rows]


def main():
    o = ts.options(x="", y="")
    p = parameters(shared.read_safetensors(o.init))
    x, y = np.load(o.x), np.load(o.y).astype(np.int64)
    ts.train(o, batches(x, y, o.steps), loss_fn,
             torch.optim.Adam(p.values(), lr=LR, fused=True),
             take=lambda x, y: (p, torch.from_numpy(x), torch.from_numpy(y)))


if __name__ == "__main__":
    main()
