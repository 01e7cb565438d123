# SPDX-License-Identifier: BSD-3-Clause
"""The numbers that draw() of bench/training.h draws, as a tensor."""
import numpy as np
import torch


def draw(seed, scale, *shape):
    i = np.arange(np.prod(shape), dtype=np.int64)
    x = ((i * 7919 + seed * 104729) % 20011 - 10005).astype(np.float32)
    return torch.from_numpy((x * (np.float32(scale) / np.float32(10006)))
                            .reshape(shape))
