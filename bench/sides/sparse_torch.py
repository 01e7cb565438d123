# SPDX-License-Identifier: BSD-3-Clause
"""bench/sparse.c in eager PyTorch: EmbeddingBag of both sides in one call, with
dense gradients and Adam, or (--sparse 1) with sparse ones and SparseAdam."""
import numpy as np
import torch
import torch.nn.functional as F

import torch_steps as ts
from torch_steps import draw

INPUTS, ONES, UNITS, ROWS = 41024, 30, 256, 16384
o = ts.options(kings=64, sparse=0)


def side(seed):
    r = np.arange(ROWS, dtype=np.int64)[:, None]
    j = np.arange(ONES, dtype=np.int64)[None, :]
    king = (r * 7919 + seed * 104729) % 20011 % o.kings
    return torch.from_numpy(
        king * 641 + j * 21 +
        (r * 613 + j * 7919 + seed * 104729) % 20011 % 21)


bag = torch.nn.EmbeddingBag(INPUTS, UNITS, mode="sum", sparse=bool(o.sparse))
bias = torch.nn.Parameter(draw(10, 0.1, UNITS))
hidden, out = torch.nn.Linear(2 * UNITS, 32), torch.nn.Linear(32, 1)
with torch.no_grad():
    bag.weight.copy_(draw(11, 0.1, INPUTS, UNITS))
    hidden.bias.copy_(draw(12, 0.1, 32))
    hidden.weight.copy_(draw(13, 0.1, 2 * UNITS, 32).T)
    out.bias.copy_(draw(14, 0.1, 1))
    out.weight.copy_(draw(15, 0.1, 32, 1).T)
rest = [bias, *hidden.parameters(), *out.parameters()]
if o.sparse:
    optimizers = [torch.optim.SparseAdam(bag.parameters(), lr=0.001),
                  torch.optim.Adam(rest, lr=0.001, fused=True)]
else:
    optimizers = [torch.optim.Adam([*bag.parameters(), *rest], lr=0.001,
                                   fused=True)]
x = torch.stack([side(1), side(2)], 1).reshape(2 * ROWS, ONES).contiguous()
y = draw(3, 1, ROWS, 1)


def loss_fn(x, y):
    h = (bag(x) + bias).view(ROWS, 2 * UNITS).clamp(0, 1)
    return F.mse_loss(out(hidden(h).clamp(0, 1)), y)


ts.train(o, ((x, y) for _ in range(o.steps)), loss_fn, *optimizers)
