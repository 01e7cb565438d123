# SPDX-License-Identifier: BSD-3-Clause
"""lockstep-train gpt in PyTorch: lm_torch.py's model with a causal mask, on the
same windows of the same text, evaluated on the same held-out windows.

    lockstep-train gpt --data F --steps 0 --save init.safetensors
    gpt_torch.py --data F --init init.safetensors
    lockstep-train gpt --data F --eval-every 250

Windows are drawn as jax.random and lockstep draw them (threefry.py);
everything after the initial parameters is PyTorch's.
"""
import argparse
import os

import numpy as np
import torch

import lm_torch as lm
import lm_shared as shared
import steps
import threefry

SEED = 1234
T = shared.T
lm.CAUSAL = True
shared.V = 256


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--init", help="safetensors file of lockstep-train")
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--eval-every", type=int, default=250)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--metrics", help="a line of JSON a step, as lockstep's")
    p.add_argument("--mode", choices=["eager", "compile"], default="eager")
    return p.parse_args()


def windows(text, starts):
    rows = np.stack([text[s:s + T] for s in starts])
    return torch.from_numpy(rows.astype(np.int64))


def draw(step, places):
    key = threefry.fold_in((0, SEED), step)
    return threefry.randint(key, shared.BATCH, places)


def batches(text, places, n):
    for s in range(n):
        yield (windows(text, draw(s, places)),)


def held_out(held):
    """Each window starts on the last byte of the one before; the last ends
    with the text and weighs as much as it has new bytes."""
    at = np.arange(0, len(held) - 1, T - 1)
    weights = np.minimum(1, (len(held) - 1 - at) / (T - 1))
    return np.minimum(at, len(held) - T), weights


@torch.no_grad()
def evaluate(p, held):
    starts, weights = held_out(held)
    total = 0.0
    for i in range(0, len(starts), shared.BATCH):
        some = slice(i, i + shared.BATCH)
        whole = weights[some] == 1
        total += whole.sum() * lm.loss_fn(
            p, windows(held, starts[some][whole])).item() if whole.any() else 0
        for s, w in zip(starts[some][~whole], weights[some][~whole]):
            total += w * lm.loss_fn(p, windows(held, [s])).item()
    return total / weights.sum()


def main():
    o = options()
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    text = np.fromfile(o.data, np.uint8)
    train = len(text) - len(text) // 10
    p = lm.fuse(shared.initial(o.init))
    optimizer = torch.optim.AdamW(p.values(), lr=shared.LR, fused=True,
                                  weight_decay=shared.WEIGHT_DECAY)
    f = torch.compile(lm.loss_fn) if o.mode == "compile" else lm.loss_fn
    versions = {"torch": torch.__version__}
    print("#", versions, flush=True)

    def step(tokens):
        loss = f(p, tokens)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    for s, loss in steps.timed(step, batches(text, train - T + 1, o.steps),
                               o.metrics or os.devnull, versions):
        if s % 10 == 0 or s == o.steps - 1:
            print(f"step {s:04d}  loss {loss:.4f}", flush=True)
        if o.eval_every and ((s + 1) % o.eval_every == 0
                             or s == o.steps - 1):
            print(f"eval step {s + 1:04d}  loss "
                  f"{evaluate(p, text[train:]):.4f}", flush=True)


if __name__ == "__main__":
    main()
