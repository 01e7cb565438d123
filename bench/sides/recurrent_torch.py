# SPDX-License-Identifier: BSD-3-Clause
"""bench/recurrent.c in eager PyTorch: two layers of 128 units, LSTM or GRU, on
64 rows of 100 steps of 32 features.  PyTorch has two biases where there is one;
the other is 0 and is not trained."""
import torch
import torch.nn.functional as F

import torch_steps as ts
from torch_steps import draw

ROWS, STEPS, IN, UNITS = 64, 100, 32, 128

o = ts.options(cell="lstm")
gates = 4 if o.cell == "lstm" else 3
net = (torch.nn.LSTM if o.cell == "lstm" else torch.nn.GRU)(
    IN, UNITS, num_layers=2, batch_first=True)
out = torch.nn.Linear(UNITS, 1)
number = 10  # of the parameters in lockstep's order: by name
with torch.no_grad():
    for layer in range(2):
        i, h = (getattr(net, f"{w}_{k}h_l{layer}") for w in ("weight",)
                for k in "ih")
        bi, bh = (getattr(net, f"bias_{k}h_l{layer}") for k in "ih")
        used, idle = (bh, bi) if o.cell == "lstm" else (bi, bh)
        idle.zero_()
        idle.requires_grad_(False)
        wide = gates * UNITS
        names = (["bias", "h", "i"] if o.cell == "lstm"
                 else ["h", "bias", "i"])  # dense_h.*, then dense_i.*
        for name in names:
            if name == "bias":
                used.copy_(draw(number, 0.0884, wide))
            else:
                w = h if name == "h" else i
                w.copy_(draw(number, 0.0884, w.shape[1], wide).T)
            number += 1
    out.bias.copy_(draw(number, 0.0884, 1))
    out.weight.copy_(draw(number + 1, 0.0884, UNITS, 1).T)
x = draw(1, 1, ROWS, STEPS, IN)
y = draw(2, 1, ROWS, STEPS, 1)
trained = [p for p in [*net.parameters(), *out.parameters()]
           if p.requires_grad]


def loss_fn(x, y):
    return F.mse_loss(out(net(x)[0]), y)


ts.train(o, ((x, y) for _ in range(o.steps)), loss_fn,
         torch.optim.Adam(trained, lr=0.001, fused=True))
