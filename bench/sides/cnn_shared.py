# SPDX-License-Identifier: BSD-3-Clause
"""What the peers of the cnn row share: its sizes, its data (a fresh
batch of rand images and randint labels each step), initial parameters and
options, as in lm_shared.py."""
import argparse

import numpy as np

import steps
from lm_shared import read_safetensors

H, W, C, CHANNELS, CLASSES = 32, 32, 3, (32, 64), 10
BATCH, LR, DATA_SEED = 128, 1e-3, 7


def options(modes, layouts):
    p = argparse.ArgumentParser()
    p.add_argument("--mode", choices=modes, default=modes[0])
    p.add_argument("--layout", choices=layouts, default=layouts[0])
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--precision", choices=["f32", "bf16"], default="f32",
                   help="bf16: torch.autocast")
    p.add_argument("--steps", type=int, default=50)
    p.add_argument("--init", help="safetensors file of lockstep-train")
    p.add_argument("--metrics", help="file; standard output if absent")
    return p.parse_args()


def drawn():
    rs = np.random.RandomState(0)

    def layer(name, *shape):
        fan = np.prod(shape[:-1])
        kernel = rs.randn(*shape) / np.sqrt(fan)
        return {name + ".kernel": kernel.astype(np.float32),
                name + ".bias": np.zeros(shape[-1], np.float32)}

    a, b = CHANNELS
    return {**layer("conv1", 3, 3, C, a), **layer("conv2", 3, 3, a, b),
            **layer("dense", H // 4 * (W // 4) * b, CLASSES)}


def initial(path):
    return read_safetensors(path) if path else drawn()


def batches(n):
    rs = np.random.RandomState(DATA_SEED)
    for _ in range(n):
        x = rs.rand(BATCH, H, W, C).astype(np.float32)
        yield x, rs.randint(0, CLASSES, size=BATCH)


def run(step, options, versions):
    steps.run(step, batches(options.steps), options.metrics or 1, versions)
