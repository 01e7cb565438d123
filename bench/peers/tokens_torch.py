"""The gpt of bench/tokens in PyTorch with keys and values kept, one thread:
tokens_torch.py eager|compiled MODEL [BLOCKS].  The likeliest token after token
from token 10 until the window is full; a line a block as bench-tokens writes.

eager: caches that are there from the beginning, of which attention is given
what is filled, one product for query, key and value.  compiled: torch.compile
of a step over whole caches with a mask, shapes that never change."""
import json
import sys
import time

import torch
import torch.nn.functional as F

import lm_shared as shared
import lm_torch

side, path = sys.argv[1:3]
blocks = int(sys.argv[3]) if len(sys.argv) > 3 else 20
torch.set_num_threads(1)
arrays = shared.read_safetensors(path)
p = {n: v.detach() for n, v in lm_torch.fuse(arrays).items()}
T = shared.T = p["pos_emb"].shape[0]
WIDTH = shared.D // shared.H
keys = [torch.zeros(1, shared.H, T, WIDTH) for _ in range(shared.L)]
values = [torch.zeros(1, shared.H, T, WIDTH) for _ in range(shared.L)]
places = torch.arange(T)


def attend(b, i, x, at, whole):
    q, k, v = F.linear(x, p[b + ".qkv.kernel"]).view(1, 3, shared.H, 1,
                                                     WIDTH).unbind(1)
    if whole:
        keys[i].index_copy_(2, at, k)
        values[i].index_copy_(2, at, v)
        y = F.scaled_dot_product_attention(q, keys[i], values[i],
                                           attn_mask=(places <= at)[None])
    else:
        keys[i][:, :, at:at + 1] = k
        values[i][:, :, at:at + 1] = v
        y = F.scaled_dot_product_attention(q, keys[i][:, :, :at + 1],
                                           values[i][:, :, :at + 1])
    return F.linear(y.view(1, shared.D), p[b + ".out.kernel"])


def position(token, at, whole):
    x = p["tok_emb.embedding"][token] + p["pos_emb"][at]
    x = x.view(1, shared.D)
    for i in range(shared.L):
        b = f"blocks_{i}."
        h = lm_torch.norm(p, b + "LayerNorm_0", x)
        x = x + attend(b + "SelfAttention_0", i, h, at, whole)
        x = x + lm_torch.feed_forward(p, b,
                                      lm_torch.norm(p, b + "LayerNorm_1", x))
    return F.linear(lm_torch.norm(p, "ln_f", x), p["head.kernel"]).argmax()


def eager(token, at):
    return position(int(token), at, False)


step = eager
if side == "compiled":
    made = torch.compile(lambda token, at: position(token, at, True))
    numbers = [torch.tensor([i]) for i in range(T)]

    def step(token, at):
        return made(token, numbers[at])

with torch.inference_mode():
    for block in range(-2, blocks):
        token, total = torch.tensor(10), 0
        start, busy = time.perf_counter(), time.process_time()
        for at in range(T):
            token = step(token, at)
            total += (at + 1) * int(token)
        ms = 1e3 * (time.perf_counter() - start) / T
        spent = 1e3 * (time.process_time() - busy) / T
        if block >= 0:
            print(json.dumps({"step": block, "ms": ms, "by_processor": spent,
                              "sum": total}), flush=True)
