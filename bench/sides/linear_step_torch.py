# SPDX-License-Identifier: BSD-3-Clause
"""The linear step in eager PyTorch: 64 rows, 8 -> 4, mean squared error, sgd.
One thread, which is its best for arrays this small.  Each number is the mean
of a block of steps, as in linear_step.c."""
import argparse
import json
import time

import numpy as np
import torch
import torch.nn.functional as F

BLOCK = 1000

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20, help="blocks")
parser.add_argument("--metrics", help="file; standard output if absent")
o = parser.parse_args()

torch.set_num_threads(1)
rs = np.random.RandomState(7)
x = torch.from_numpy(rs.randn(64, 8).astype(np.float32))
y = torch.from_numpy(rs.randn(64, 4).astype(np.float32))
w = torch.nn.Parameter(torch.zeros(4, 8))
b = torch.nn.Parameter(torch.zeros(4))
optimizer = torch.optim.SGD([w, b], lr=0.1, foreach=True)


def step():
    loss = F.mse_loss(F.linear(x, w, b), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()


with open(o.metrics or 1, "w") as f:
    print(json.dumps({"versions": {"torch": torch.__version__}}), file=f)
    for block in range(o.steps):
        start = time.perf_counter()
        for _ in range(BLOCK):
            loss = step()
        ms = 1e3 * (time.perf_counter() - start) / BLOCK
        print(json.dumps({"step": block, "loss": loss, "ms": ms}), file=f)
