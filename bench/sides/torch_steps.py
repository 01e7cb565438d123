# SPDX-License-Identifier: BSD-3-Clause
"""What the sides in PyTorch share."""
import torch

import steps

VERSIONS = {"torch": torch.__version__}


def options(*modes, **more):
    o = steps.options(*modes or ("eager", "compile"), **more)
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    return o


def step_of(o, loss_fn, *optimizers, take=lambda *batch: batch):
    """A step for steps.run: take() makes tensors of a batch, in its time."""
    f = torch.compile(loss_fn) if o.mode == "compile" else loss_fn
    half = getattr(o, "precision", "f32") == "bf16"

    def step(*batch):
        with torch.autocast("cpu", torch.bfloat16, half):
            loss = f(*take(*batch))
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.item()
    return step


def train(o, batches, *step, **take):
    steps.run(step_of(o, *step, **take), batches, o.metrics, VERSIONS)


def draw(seed, scale, *shape):
    return torch.from_numpy(steps.draw(seed, scale, *shape))
