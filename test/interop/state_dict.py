# SPDX-License-Identifier: BSD-3-Clause
"""Weights of bindings/python/lockstep into a model of PyTorch's and back, and its
tensors as inputs: the same predictions, the same bits."""

import os
import sys

import numpy as np
import torch

sys.path.append(f"{os.path.dirname(__file__)}/../../bindings/python")
import lockstep as ls  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 6, 3, padding=1)
        self.fc = torch.nn.Linear(6 * 4 * 5, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.attn = torch.nn.MultiheadAttention(4, 2, batch_first=True)
        self.rnn = torch.nn.LSTM(4, 3, batch_first=True)
        self.gru = torch.nn.GRU(3, 3, batch_first=True)
        self.out = torch.nn.Linear(6, 2)

    def forward(self, x):
        h = self.fc(torch.relu(self.conv(x)).flatten(1))
        h = self.norm(h).reshape(-1, 2, 4)
        h = self.rnn(self.attn(h, h, h)[0])[0]
        return self.out(self.gru(h)[0].reshape(-1, 6))


def trainer(seed):
    g = ls.Graph()
    image, y = g.input("x", (4, 5, 3)), g.input("y", (2,))
    h = ls.conv2d(image, 6, (3, 3), "conv")
    h = ls.layer_norm(ls.dense(ls.flatten(ls.relu(h)), 8, "fc"), "norm")
    h = ls.attention_with(ls.reshape(h, (2, 4)), 2, "attn", qkv_bias=True,
                          out_bias=True)
    h = ls.lstm(h, 3, "rnn")
    h, _ = ls.gru_with(h, 3, "gru", two_biases=True)
    out = ls.dense(ls.reshape(h, (6,)), 2, "out")
    g.output(out, "y")
    g.loss(ls.mean_squared_error(out, y))
    return ls.Trainer(g, devices=2, workers=1, seed=seed, pin=False)


def main():
    torch.manual_seed(0)
    net = Net().eval()
    x = torch.randn(7, 4, 5, 3)
    with trainer(1) as t, trainer(2) as u, torch.no_grad():
        for name, shape in t.shapes().items():
            t[name] = np.random.default_rng(0).normal(size=shape) / 4
        t.export_torch(net.state_dict())
        theirs = net(x.permute(0, 3, 1, 2))
        ours = torch.from_dlpack(t.predict("y", x=x))
        assert (ours - theirs).abs().max() < 1e-5, (ours, theirs)
        u.import_torch(net.state_dict())
        assert all(np.array_equal(u[n], t[n]) for n in t.shapes())
        net = Net()
        u.import_torch(net.state_dict())
        half = {n: p.to(torch.bfloat16) for n, p in net.state_dict().items()}
        u.import_torch(half)
        u.export_torch(half)
    print("state_dict: the same weights there and here")


main()
