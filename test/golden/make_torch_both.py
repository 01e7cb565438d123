#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A bidirectional LSTM and GRU of PyTorch for test_torch_file.c, on rows of
different lengths; writes what the state_dict holds, what they put out, the
LSTM's last states, and the gradient of the mean of squares by the input.

    python make_torch_both.py              made with torch 2.13.0; writes
                                           torch_both.safetensors, torch_both_outputs.h

Arrays are uniform in [-1,1) by numpy.random.RandomState(8).
"""
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from torch_files import array, save

ROWS, STEPS, LENGTHS = 3, 5, torch.tensor([5, 2, 3])
rs = np.random.RandomState(8)


def uniform(*shape):
    return torch.from_numpy(rs.uniform(-1, 1, shape).astype(np.float32))


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, batch_first=True, bidirectional=True)
        self.unit = nn.GRU(8, 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        x = pack_padded_sequence(x, LENGTHS, batch_first=True,
                                 enforce_sorted=False)
        x, (h, c) = self.rnn(x)
        y = pad_packed_sequence(self.unit(x)[0], batch_first=True,
                                total_length=STEPS)[0]
        # (rows, way, c and h, n)
        return y, torch.stack([c, h], 2).transpose(0, 1)


model = Both()
with torch.no_grad():
    for name, p in sorted(model.state_dict().items()):
        p.copy_(uniform(*p.shape))
save("torch_both.safetensors", model.state_dict())
x = uniform(ROWS, STEPS, 3).requires_grad_()
y, last = model(x)
(y ** 2).mean().backward()
with open("torch_both_outputs.h", "w") as out:
    out.write(f"/* Made by make_torch_both.py with torch {torch.__version__}. */\n")
    out.write(array("torch_both_x", x.detach()))
    out.write(array("torch_both_y", y.detach()))
    out.write(array("torch_both_last", last.detach()))
    out.write(array("torch_both_dx", x.grad))
