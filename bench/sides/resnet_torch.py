# SPDX-License-Identifier: BSD-3-Clause
"""The tool's resnet in PyTorch, on the batches of cnn_torch.py: He et al. 2016,
section 4.2, batch norms of the whole batch, shortcuts without parameters;
channels_last, fused SGD with Nesterov's momentum."""
import torch
import torch.nn.functional as F

import cnn_torch as cnn
from lm_shared import read_safetensors


def parameters(arrays, layout):
    """lockstep's arrays: kernels HWIO -> OIHW, (in,out) -> (out,in).  The
    averages that a norm keeps, .mean and .var, are plain tensors."""
    turned, p = {4: (3, 2, 0, 1), 2: (1, 0), 1: (0,)}, {}
    for name, a in arrays.items():
        t = torch.tensor(a).permute(turned[a.ndim]).contiguous(
            memory_format=layout if a.ndim == 4 else torch.contiguous_format)
        p[name] = t if name.endswith((".mean", ".var")) else \
            torch.nn.Parameter(t)
    return p


def logits(p, x):
    def norm(x, name):
        return F.batch_norm(x, p[name + ".mean"], p[name + ".var"],
                            p[name + ".scale"], p[name + ".bias"], True, 0.1,
                            1e-5)

    x = F.conv2d(x, p["conv.kernel"], padding=1)
    x = F.relu(norm(x, "norm"))
    blocks = [n[:-len("conv1.kernel")] for n in p if n.endswith("conv1.kernel")]
    for block in sorted(blocks, key=lambda b: [int(c) for c in
                                               b[5:-1].split(".block")]):
        first, second = p[block + "conv1.kernel"], p[block + "conv2.kernel"]
        stride = 1 if first.shape[0] == x.shape[1] else 2
        y = F.conv2d(x, first, stride=stride, padding=1)
        y = F.relu(norm(y, block + "norm1"))
        y = norm(F.conv2d(y, second, padding=1), block + "norm2")
        if stride == 2:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, x.shape[1]))
        x = F.relu(y + x)
    return F.linear(x.mean((2, 3)), p["dense.kernel"], p["dense.bias"])


def loss_fn(p, x, y):
    return F.cross_entropy(logits(p, x), y)


def main():
    o = cnn.begin()
    p = parameters(read_safetensors(o.init), cnn.LAYOUT[o.layout])
    trained = [t for t in p.values() if isinstance(t, torch.nn.Parameter)]
    cnn.train(o, loss_fn, p, torch.optim.SGD(
        trained, lr=0.01, momentum=0.9, nesterov=True, fused=True))


if __name__ == "__main__":
    main()
