# SPDX-License-Identifier: BSD-3-Clause
"""lockstep-train gpt in PyTorch: lm_torch.py's model with a causal mask, on the
same windows of the same text, evaluated on the same held-out windows.

    lockstep-train gpt --data F --steps 0 --save init.safetensors
    gpt_torch.py --data F --init init.safetensors
    lockstep-train gpt --data F --eval-every 250

With --nanogpt it is the model that nanoGPT proposes for a CPU, trained as there
(config/train_shakespeare_char.py and its notes on a CPU): docs/nanogpt.md has
the command on lockstep's side.

Windows are drawn as jax.random and lockstep draw them (threefry.py);
everything after the initial parameters is PyTorch's.
"""
import argparse
import math
import os
import time

import numpy as np
import torch

import lm_torch as lm
import lm_shared as shared
import steps
import threefry

SEED = 1234
lm.CAUSAL = True
shared.V = 256


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--init", help="safetensors file of lockstep-train")
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--eval-every", type=int, default=250)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--nanogpt", action="store_true")
    p.add_argument("--metrics", help="a line of JSON a step, as lockstep's")
    p.add_argument("--mode", choices=["eager", "compile"], default="eager")
    return p.parse_args()


def windows(text, starts):
    rows = np.stack([text[s:s + shared.T] for s in starts])
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
    at = np.arange(0, len(held) - 1, shared.T - 1)
    weights = np.minimum(1, (len(held) - 1 - at) / (shared.T - 1))
    return np.minimum(at, len(held) - shared.T), weights


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


def nanogpt(p):
    """Biases and scales of norms do not decay."""
    still = [a for n, a in p.items() if n.endswith((".bias", ".scale"))]
    rest = [a for n, a in p.items() if not n.endswith((".bias", ".scale"))]
    return torch.optim.AdamW(
        [{"params": rest}, {"params": still, "weight_decay": 0}],
        lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True)


def rate(i, steps, top=1e-3, end=1e-4, warmup=100):
    if i < warmup:
        return top * i / warmup
    turn = math.pi * (i - warmup) / (steps - warmup)
    return end + (top - end) * 0.5 * (1 + math.cos(turn))


def main():
    o = options()
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    text = np.fromfile(o.data, np.uint8)
    train = len(text) - len(text) // 10
    if o.nanogpt:
        shared.T, shared.D, shared.H, shared.L = 64, 128, 4, 4
        shared.FF, shared.BATCH = 512, 12
    p = lm.fuse(shared.initial(o.init))
    optimizer = nanogpt(p) if o.nanogpt else torch.optim.AdamW(
        p.values(), lr=shared.LR, fused=True, weight_decay=shared.WEIGHT_DECAY)
    updates = 0
    f = torch.compile(lm.loss_fn) if o.mode == "compile" else lm.loss_fn
    versions = {"torch": torch.__version__}
    print("#", versions, flush=True)

    def step(tokens):
        nonlocal updates
        loss = f(p, tokens)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if o.nanogpt:
            torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
            for group in optimizer.param_groups:
                group["lr"] = rate(updates, o.steps)
        optimizer.step()
        updates += 1
        return loss.item()

    for s, loss in steps.timed(step, batches(text, train - shared.T + 1, o.steps),
                               o.metrics or os.devnull, versions):
        if s % 10 == 0 or s == o.steps - 1:
            print(f"step {s:04d}  loss {loss:.4f}", flush=True)
        if o.eval_every and ((s + 1) % o.eval_every == 0
                             or s == o.steps - 1):
            print(f"eval step {s + 1:04d}  loss "
                  f"{evaluate(p, text[train:]):.4f}", flush=True)
    print(f"# {time.process_time():.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
