# SPDX-License-Identifier: BSD-3-Clause
"""bench/predict.c in PyTorch, under inference_mode."""
import torch

import cnn_torch
import lm_shared
import lm_torch
import mlp_torch
import steps
import torch_steps as ts

MODELS = {
    "mlp": (mlp_torch, lambda: ts.draw(1, 1, 1, 784)),
    "cnn": (cnn_torch, lambda: ts.draw(1, 1, 1, 32, 32, 3).permute(
        0, 3, 1, 2).contiguous(memory_format=torch.channels_last)),
    "lm": (lm_torch, lambda: torch.zeros(1, lm_shared.T, dtype=torch.long)),
}

o = ts.options(model="mlp")
side, row = MODELS[o.model]
p = side.parameters(lm_shared.read_safetensors(o.init))
x = row()
with torch.inference_mode():
    steps.blocks(lambda: side.logits(p, x), o, ts.VERSIONS)
