# SPDX-License-Identifier: BSD-3-Clause
"""The tool's resnet of depth 20 in PyTorch, on the batches of cnn_torch.py:
channels_last, fused SGD with Nesterov's momentum."""
import torch
import torch.nn.functional as F

import cnn_torch as cnn
import resnet_shared as resnet
from lm_shared import read_safetensors

DEPTH, LR, MOMENTUM = 20, 0.01, 0.9


def loss_fn(p, x, y):
    return F.cross_entropy(resnet.logits(p, x, True), y)


def main():
    o = cnn.begin()
    layout = cnn.LAYOUT[o.layout]
    p = resnet.loaded(read_safetensors(o.init), layout) if o.init \
        else resnet.drawn(DEPTH, layout)
    cnn.train(o, loss_fn, p, torch.optim.SGD(
        resnet.trained(p), lr=LR, momentum=MOMENTUM, nesterov=True, fused=True))


if __name__ == "__main__":
    main()
