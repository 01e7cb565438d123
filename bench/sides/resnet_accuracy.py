# SPDX-License-Identifier: BSD-3-Clause
"""What the tool's resnet learns of CIFAR-10 in PyTorch, by the tool's recipe:
rows in a new order, flips and crops, SGD with Nesterov's momentum, a rate that
falls as a cosine, l2 of kernels alone.  A line an epoch: updates done, loss
and accuracy of the test set.

    resnet_accuracy.py FOLDER --depth 8 --epochs 30 --seed 0
"""
import argparse
import math

import torch
import torch.nn.functional as F

import resnet_shared as resnet
from accuracy_torch import cifar, tensors

BATCH, LR, MOMENTUM, L2, PAD = 64, 0.1, 0.9, 5e-4, 4
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)


def of_channels(numbers):
    return torch.tensor(numbers).view(1, 3, 1, 1)


def normal(x):
    return (x - of_channels(MEAN)) / of_channels(STD)


def augmented(x):
    """Half of them flipped; of each, with black around it, a part."""
    n, _, h, w = x.shape
    flips = torch.rand(n).view(n, 1, 1, 1) < 0.5
    x = F.pad(torch.where(flips, x.flip(3), x), (PAD,) * 4)
    down, right = torch.randint(0, 2 * PAD + 1, (2, n, 1))
    rows = (down + torch.arange(h)).view(n, 1, h, 1)
    columns = (right + torch.arange(w)).view(n, 1, 1, w)
    return x[torch.arange(n).view(n, 1, 1, 1),
             torch.arange(3).view(1, 3, 1, 1), rows, columns]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("folder")
    a.add_argument("--depth", type=int, default=8)
    a.add_argument("--epochs", type=int, default=30)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--threads", type=int, default=1)
    o = a.parse_args()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    layout = torch.channels_last
    p = resnet.drawn(o.depth, layout)
    (x, y), (held, labels) = (tensors(*cifar(f"{o.folder}/{n}"))
                              for n in ("data_batch_*.bin", "test_batch.bin"))
    held = normal(held).contiguous(memory_format=layout)
    kernels = [t for name, t in p.items() if name.endswith(".kernel")]
    rest = [t for name, t in p.items() if name.endswith((".scale", ".bias"))]
    optimizer = torch.optim.SGD([{"params": kernels, "weight_decay": L2},
                                 {"params": rest}], lr=LR, momentum=MOMENTUM,
                                nesterov=True)
    done, steps = 0, o.epochs * (len(y) // BATCH)
    for _ in range(o.epochs):
        for rows in torch.randperm(len(y)).split(BATCH):
            if len(rows) < BATCH:
                continue
            for g in optimizer.param_groups:
                g["lr"] = LR / 2 * (1 + math.cos(math.pi * done / steps))
            images = normal(augmented(x[rows]))
            loss = F.cross_entropy(resnet.logits(
                p, images.contiguous(memory_format=layout), True), y[rows])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            done += 1
        with torch.no_grad():
            out = resnet.logits(p, held, False)
            right = (out.argmax(1) == labels).float().mean().item()
            print(f"step {done} loss {F.cross_entropy(out, labels).item():.4f}"
                  f" accuracy {right:.4f}", flush=True)


if __name__ == "__main__":
    main()
