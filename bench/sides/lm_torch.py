# SPDX-License-Identifier: BSD-3-Clause
"""The tool's lm in PyTorch, in its fastest form on a CPU:
one product for query, key and value, scaled_dot_product_attention, fused
AdamW.  Pre-norm, no mask, tanh gelu, head not tied, no bias in attention."""
import numpy as np
import torch
import torch.nn.functional as F

import lm_shared as shared
import torch_steps as ts

CAUSAL = False  # gpt_torch.py sets it


def dense(p, name):
    w = p[name + ".kernel"]
    return w, p.get(name + ".bias")


def parameters(p):
    """lockstep's arrays -> torch's: (out,in) matrices, q, k, v as one."""
    q = {}
    for name, a in p.items():
        if ".query." in name:
            parts = [p[name.replace("query", n)].reshape(shared.D, shared.D)
                     for n in ("query", "key", "value")]
            q[name.replace("query", "qkv")] = np.concatenate(parts, 1).T
        elif ".out." in name:
            q[name] = a.reshape(shared.D, shared.D).T
        elif name.endswith(".kernel") and ".key." not in name \
                and ".value." not in name:
            q[name] = a.T
        elif not name.endswith(".kernel"):
            q[name] = a
    return {n: torch.nn.Parameter(torch.tensor(np.ascontiguousarray(a)))
            for n, a in q.items()}


def norm(p, name, x):
    return F.layer_norm(x, (shared.D,), p[name + ".scale"], p[name + ".bias"],
                        shared.EPS_NORM)


def attention(p, name, x):
    rows, length, _ = x.shape
    qkv = F.linear(x, p[name + ".qkv.kernel"])
    q, k, v = qkv.view(rows, length, 3, shared.H, -1).permute(2, 0, 3, 1, 4)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=CAUSAL)
    return F.linear(y.transpose(1, 2).reshape(x.shape),
                    p[name + ".out.kernel"])


def feed_forward(p, b, x):
    h = F.linear(x, p[b + "Dense_0.kernel"], p[b + "Dense_0.bias"])
    return F.linear(F.gelu(h, approximate="tanh"), p[b + "Dense_1.kernel"],
                    p[b + "Dense_1.bias"])


def hidden(p, tokens):
    x = F.embedding(tokens, p["tok_emb.embedding"])
    x = x + p["pos_emb"][:tokens.shape[1]]
    for i in range(shared.L):
        b = f"blocks_{i}."
        x = x + attention(p, b + "SelfAttention_0",
                          norm(p, b + "LayerNorm_0", x))
        x = x + feed_forward(p, b, norm(p, b + "LayerNorm_1", x))
    return norm(p, "ln_f", x)


def logits(p, tokens):
    return F.linear(hidden(p, tokens), p["head.kernel"])


def loss_fn(p, tokens):
    return F.cross_entropy(logits(p, tokens)[:, :-1].reshape(-1, shared.V),
                           tokens[:, 1:].reshape(-1))


def main():
    o = ts.options(precision="f32", batch=shared.BATCH)
    p = parameters(shared.read_safetensors(o.init))
    ts.train(o, shared.batches(o.steps, o.batch), loss_fn,
             torch.optim.AdamW(p.values(), lr=shared.LR, fused=True,
                               weight_decay=shared.WEIGHT_DECAY),
             take=lambda t: (p, torch.from_numpy(t).long()))


if __name__ == "__main__":
    main()
