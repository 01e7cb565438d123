#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two small models of PyTorch for test_torch_file.c: writes what their
state_dict holds, as the safetensors package does, and what they put out.

    python make_torch_file.py              made with torch 2.13.0; writes
                                           torch.safetensors, torch_outputs.h

Arrays are uniform in [-1,1) by numpy.random.RandomState(5), as is the image;
tokens are (3 i) % 11.
"""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from torch_files import array, save

rs = np.random.RandomState(5)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(6, eps=1e-6)
        self.query = nn.Linear(6, 6, bias=False)
        self.key = nn.Linear(6, 6, bias=False)
        self.value = nn.Linear(6, 6, bias=False)
        self.out = nn.Linear(6, 6, bias=False)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = (f(h).view(1, 4, 2, 3).transpose(1, 2)
                   for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(1, 4, 6))


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(2, 3, (3, 2), padding="valid"),
                                      nn.ReLU(), nn.Flatten(), nn.Linear(48, 5))
        self.tok_emb = nn.Embedding(11, 6)
        self.pos_emb = nn.Embedding(4, 6)
        self.blocks = nn.ModuleList([Block()])
        self.head = nn.Linear(6, 11)

    def text(self, tokens):
        x = self.tok_emb(tokens) + self.pos_emb.weight
        return self.head(self.blocks[0](x))


model = Both()
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.from_numpy(
            rs.uniform(-1, 1, tuple(p.shape)).astype(np.float32)))
    image = torch.from_numpy(rs.uniform(-1, 1, (1, 2, 6, 5)).astype(np.float32))
    logits = model.features(image)
    text = model.text((3 * torch.arange(4) % 11)[None])

save("torch.safetensors", model.state_dict())

with open("torch_outputs.h", "w") as out:
    out.write(f"/* Made by make_torch_file.py with torch {torch.__version__}. */\n")
    # channels last, as lockstep has images
    out.write(array("torch_image", image.permute(0, 2, 3, 1)))
    out.write(array("torch_logits", logits))
    out.write(array("torch_text", text))
