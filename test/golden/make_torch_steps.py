#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A network of PyTorch over steps for test_torch_file.c: two layers of LSTM, a
GRU, a batch norm behind no layer and a Linear in inference; writes what its
state_dict holds and what it puts out.

    python make_torch_steps.py             made with torch 2.13.0; writes
                                           torch_steps.safetensors, torch_steps_outputs.h,
                                           and torch_steps_plain.safetensors, whose
                                           GRU's last third of bias_hh is zeros

Arrays are uniform in [-1,1) by numpy.random.RandomState(7), the variances in
[0.1,2.1).
"""
import numpy as np
import torch
from torch import nn

from torch_files import array, save

rs = np.random.RandomState(7)


def uniform(*shape):
    return torch.from_numpy(rs.uniform(-1, 1, shape).astype(np.float32))


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, num_layers=2, batch_first=True)
        self.unit = nn.GRU(4, 2, batch_first=True)
        self.norm = nn.BatchNorm1d(10, eps=1e-3)
        self.head = nn.Linear(10, 3)

    def forward(self, x):
        y = self.unit(self.rnn(x)[0])[0]
        return self.head(self.norm(y.flatten(1)))


model = Steps().eval()
state = model.state_dict()
with torch.no_grad():
    for name, p in sorted(state.items()):
        if p.dtype == torch.float32:
            p.copy_(uniform(*p.shape))
        if name.endswith("running_var"):
            p.add_(1.1)
    x = uniform(2, 5, 3)
    logits = model(x)
    save("torch_steps.safetensors", state)
    state["unit.bias_hh_l0"][4:] = 0  # what r multiplies beside the weights
    plain = model(x)
    save("torch_steps_plain.safetensors", state)

with open("torch_steps_outputs.h", "w") as out:
    out.write(f"/* Made by make_torch_steps.py with torch {torch.__version__}. */\n")
    out.write(array("torch_steps_x", x))
    out.write(array("torch_steps_logits", logits))
    out.write(array("torch_steps_plain", plain))
