# SPDX-License-Identifier: BSD-3-Clause
"""The tool's resnet of depth 20 in PyTorch, on the batches of cnn_torch.py:
channels_last, fused SGD with Nesterov's momentum."""
import torch
import torch.nn.functional as F

import cnn_shared as shared
import resnet_shared as resnet
from cnn_torch import LAYOUT

DEPTH, LR, MOMENTUM = 20, 0.01, 0.9


def main():
    o = shared.options(["eager", "compile"], ["channels_last", "contiguous"])
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    layout = LAYOUT[o.layout]
    p = resnet.loaded(shared.read_safetensors(o.init), layout) if o.init \
        else resnet.drawn(DEPTH, layout)
    optimizer = torch.optim.SGD(resnet.trained(p), lr=LR, momentum=MOMENTUM,
                                nesterov=True, fused=True)

    def loss_fn(p, x, y):
        return F.cross_entropy(resnet.logits(p, x, True), y)

    f = torch.compile(loss_fn) if o.mode == "compile" else loss_fn

    def step(x, y):
        images = torch.from_numpy(x).permute(0, 3, 1, 2)
        with torch.autocast("cpu", torch.bfloat16, o.precision == "bf16"):
            loss = f(p, images.contiguous(memory_format=layout),
                     torch.from_numpy(y))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    shared.run(step, o, {"torch": torch.__version__})


if __name__ == "__main__":
    main()
