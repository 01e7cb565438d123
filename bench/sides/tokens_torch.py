# SPDX-License-Identifier: BSD-3-Clause
"""The text of bench/tokens.c by PyTorch, from the same weights: the likeliest
token after token, from token 10 until the window is full.

cached: eager, with keys and values in arrays that are there from the beginning,
of which attention is given what is filled, and one product for query, key and
value.  compiled: torch.compile of a step over whole arrays with a mask, shapes
that never change.  whole: eager, nothing kept, all positions for each token.
"""
import torch
import torch.nn.functional as F

import lm_shared as shared
import lm_torch as lm
import steps
import torch_steps as ts

lm.CAUSAL = True

o = ts.options("cached", "compiled", "whole")
p = {n: v.detach()
     for n, v in lm.parameters(shared.read_safetensors(o.init)).items()}
T = p["pos_emb"].shape[0]
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
        h = lm.norm(p, b + "LayerNorm_0", x)
        x = x + attend(b + "SelfAttention_0", i, h, at, whole)
        x = x + lm.feed_forward(p, b, lm.norm(p, b + "LayerNorm_1", x))
    return F.linear(lm.norm(p, "ln_f", x), p["head.kernel"]).argmax()


def cached():
    return lambda text: position(text[-1], len(text) - 1, False)


def compiled():
    step = torch.compile(lambda token, at: position(token, at, True))
    numbers = [torch.tensor([i]) for i in range(max(T, shared.V))]
    return lambda text: step(numbers[text[-1]], numbers[len(text) - 1])


def whole():
    def step(text):
        h = lm.hidden(p, torch.tensor([text]))[:, -1]
        return F.linear(h, p["head.kernel"]).argmax()
    return step


following = {"cached": cached, "compiled": compiled, "whole": whole}[o.mode]()


def window():
    """Its text, as a sum over tokens' numbers."""
    text = [10]
    for _ in range(T):
        text.append(int(following(text)))
    return sum(i * token for i, token in enumerate(text))


with torch.inference_mode():
    steps.run(window, (() for _ in range(o.steps)), o.metrics, ts.VERSIONS,
              tokens=T)
