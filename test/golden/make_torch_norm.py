#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A network of PyTorch with batch norms in inference, for test_torch_file.c:
writes what its state_dict holds, as the safetensors package does, and what it
puts out after eval().

    python make_torch_norm.py              made with torch 2.13.0; writes
                                           torch_norm.safetensors, torch_norm_outputs.h

Arrays are uniform in [-1,1) by numpy.random.RandomState(6), variances in
[0.1,2.1).  The convolution has no bias, the second norm no scale and shift and
another epsilon.
"""
import numpy as np
import torch
from torch import nn

from torch_files import array, save

rs = np.random.RandomState(6)
model = nn.Sequential(nn.Conv2d(2, 3, (3, 2), padding="valid", bias=False),
                      nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(),
                      nn.Linear(48, 5),
                      nn.BatchNorm1d(5, eps=0.25, affine=False))
model.eval()
state = model.state_dict()
with torch.no_grad():
    for name, p in sorted(state.items()):
        if p.dtype == torch.float32:
            p.copy_(torch.from_numpy(
                rs.uniform(-1, 1, tuple(p.shape)).astype(np.float32)))
        if name.endswith("running_var"):
            p.add_(1.1)
    image = torch.from_numpy(rs.uniform(-1, 1, (1, 2, 6, 5)).astype(np.float32))
    logits = model(image)

save("torch_norm.safetensors", state)

with open("torch_norm_outputs.h", "w") as out:
    out.write(f"/* Made by make_torch_norm.py with torch {torch.__version__}. */\n")
    # channels last, as lockstep has images
    out.write(array("torch_norm_image", image.permute(0, 2, 3, 1)))
    out.write(array("torch_norm_logits", logits))
