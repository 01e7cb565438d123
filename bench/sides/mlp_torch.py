# SPDX-License-Identifier: BSD-3-Clause
"""784-512-512-10 with relu in PyTorch, on the same rows: --x F.npy --y F.npy."""
import argparse

import numpy as np
import torch
import torch.nn.functional as F

import lm_shared as shared
import steps

BATCH, LR = 256, 1e-3


def loss_fn(p, x, y):
    for i in range(2):
        x = F.relu(F.linear(x, p[f"layers.{i}.kernel"], p[f"layers.{i}.bias"]))
    return F.cross_entropy(F.linear(x, p["layers.2.kernel"],
                                    p["layers.2.bias"]), y)


def batches(x, y, n):
    for s in range(n):
        rows = slice(s * BATCH % len(x), s * BATCH % len(x) + BATCH)
        yield x[rows], y[rows]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--mode", choices=["eager", "compile"], default="eager")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--steps", type=int, default=50)
    a.add_argument("--init", required=True)
    a.add_argument("--x", required=True)
    a.add_argument("--y", required=True)
    a.add_argument("--metrics", required=True)
    o = a.parse_args()
    torch.set_num_threads(o.threads)
    p = {n: torch.nn.Parameter(torch.tensor(a.T.copy()))
         for n, a in shared.read_safetensors(o.init).items()}
    optimizer = torch.optim.Adam(p.values(), lr=LR, fused=True)
    f = torch.compile(loss_fn) if o.mode == "compile" else loss_fn
    x, y = np.load(o.x), np.load(o.y).astype(np.int64)

    def step(x, y):
        loss = f(p, torch.from_numpy(x), torch.from_numpy(y))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    steps.run(step, batches(x, y, o.steps), o.metrics,
              {"torch": torch.__version__})


if __name__ == "__main__":
    main()
