# SPDX-License-Identifier: BSD-3-Clause
"""lockstep-train gpt in PyTorch: lm_torch.py's model with a causal mask, on the
same windows of the same text, drawn as jax.random and lockstep draw them
(threefry.py)."""
import numpy as np
import torch

import lm_torch as lm
import lm_shared as shared
import threefry
import torch_steps as ts

SEED = 1234
lm.CAUSAL = True
shared.V = 256


def windows(text, starts):
    rows = np.stack([text[s:s + shared.T] for s in starts])
    return torch.from_numpy(rows.astype(np.int64))


def draw(step, places):
    key = threefry.fold_in((0, SEED), step)
    return threefry.randint(key, shared.BATCH, places)


def batches(text, places, n):
    for s in range(n):
        yield (windows(text, draw(s, places)),)


def main():
    o = ts.options(data="")
    text = np.fromfile(o.data, np.uint8)
    p = lm.parameters(shared.read_safetensors(o.init))
    places = len(text) - len(text) // 10 - shared.T + 1
    ts.train(o, batches(text, places, o.steps), lm.loss_fn,
             torch.optim.AdamW(p.values(), lr=shared.LR, fused=True,
                               weight_decay=shared.WEIGHT_DECAY),
             take=lambda tokens: (p, tokens))


if __name__ == "__main__":
    main()
