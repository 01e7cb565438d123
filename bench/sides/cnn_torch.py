# SPDX-License-Identifier: BSD-3-Clause
"""The tool's cnn in PyTorch, in its fastest form on a CPU: channels_last,
so that convolutions work on NHWC as lockstep's do, fused Adam."""
import numpy as np
import torch
import torch.nn.functional as F

import torch_steps as ts
from lm_shared import read_safetensors

BATCH, LR = 128, 1e-3
LAYOUT = {"channels_last": torch.channels_last,
          "contiguous": torch.contiguous_format}


def parameters(arrays, layout=torch.channels_last):
    """lockstep's arrays -> torch's: kernels HWIO -> OIHW, (in,out) -> (out,in).
    The dense kernel's rows stay in the order h, w, c."""
    p = {}
    for name, a in arrays.items():
        t = torch.tensor(a)
        if t.ndim == 4:
            t = t.permute(3, 2, 0, 1).contiguous(memory_format=layout)
        elif t.ndim == 2:
            t = t.T.contiguous()
        p[name] = torch.nn.Parameter(t)
    return p


def logits(p, x):
    for name in ("conv1", "conv2"):
        x = F.conv2d(x, p[name + ".kernel"], p[name + ".bias"], padding=1)
        x = F.max_pool2d(F.relu(x), 2)
    x = x.permute(0, 2, 3, 1).flatten(1)
    return F.linear(x, p["dense.kernel"], p["dense.bias"])


def loss_fn(p, x, y):
    return F.cross_entropy(logits(p, x), y)


def begin():
    return ts.options(layout="channels_last", precision="f32")


def batches(n):
    """A fresh batch of rand images and randint labels each step."""
    rs = np.random.RandomState(7)
    for _ in range(n):
        x = rs.rand(BATCH, 32, 32, 3).astype(np.float32)
        yield x, rs.randint(0, 10, size=BATCH)


def train(o, loss_fn, p, optimizer):
    """Train p on the row's batches, images in the layout that is asked for."""
    def take(x, y):
        images = torch.from_numpy(x).permute(0, 3, 1, 2)
        return (p, images.contiguous(memory_format=LAYOUT[o.layout]),
                torch.from_numpy(y))
    ts.train(o, batches(o.steps), loss_fn, optimizer, take=take)


def main():
    o = begin()
    p = parameters(read_safetensors(o.init), LAYOUT[o.layout])
    train(o, loss_fn, p, torch.optim.Adam(p.values(), lr=LR, fused=True))


if __name__ == "__main__":
    main()
