#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write modern_lm.h: losses of causal transformers with RMSNorm, rotary
positions, gated units, grouped queries and a tied output layer.

    make_modern_lm.py > modern_lm.h

Trains them with Flax and optax, on one CPU device; modern_lm.h was made with
jax 0.10.2, flax 0.12.8, optax 0.2.8, numpy 2.4.6, Python 3.11.
"""
import hashlib

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

STEPS = 10
# The first has all of it, the others one each (a rotary base of 0: the learned
# table); kv: heads of keys and values.
CONFIGS = [
    dict(vocab=37, length=12, width=24, heads=6, kv=2, layers=2, ff=40, batch=6,
         rms=1, base=10000, gated=1, tie=1, seed=7, data_seed=70, lr=1e-3),
    dict(vocab=53, length=20, width=32, heads=4, kv=4, layers=1, ff=72, batch=4,
         rms=0, base=0, gated=0, tie=1, seed=8, data_seed=80, lr=1e-3),
    dict(vocab=29, length=18, width=20, heads=2, kv=1, layers=1, ff=31, batch=4,
         rms=0, base=500, gated=1, tie=0, seed=9, data_seed=90, lr=1e-3),
]


def sinusoids(length, width):
    pos = jnp.arange(length)[:, None]
    i = jnp.arange(0, width, 2)[None, :]
    freq = jnp.exp(-(jnp.log(10000.0) / width) * i)
    table = jnp.zeros((length, width), dtype=jnp.float32)
    table = table.at[:, 0::2].set(jnp.sin(pos * freq))
    return table.at[:, 1::2].set(jnp.cos(pos * freq))


def rotary(x, base):
    """x (batch, positions, heads, width), the halves of a head being pairs"""
    d = x.shape[-1]
    power = jnp.arange(0, d, 2, jnp.float32) / jnp.float32(d)
    angle = jnp.outer(jnp.arange(x.shape[1], dtype=jnp.float32),
                      1 / jnp.float32(base) ** power)
    angle = jnp.tile(angle, (1, 2))[:, None]
    turned = jnp.concatenate([-x[..., d // 2:], x[..., :d // 2]], -1)
    return x * jnp.cos(angle) + turned * jnp.sin(angle)


class Attention(nn.Module):
    c: dict

    @nn.compact
    def __call__(self, x):
        c, d = self.c, self.c["width"] // self.c["heads"]

        def heads(n, name):
            return nn.DenseGeneral((n, d), use_bias=False, name=name)(x)

        q, k = heads(c["heads"], "query"), heads(c["kv"], "key")
        v = heads(c["kv"], "value")
        if c["base"]:
            q, k = rotary(q, c["base"]), rotary(k, c["base"])
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return nn.DenseGeneral(c["width"], axis=(-2, -1), use_bias=False,
                               name="out")(y)


class SwiGLU(nn.Module):
    n: int

    @nn.compact
    def __call__(self, x):
        gate = nn.Dense(self.n, use_bias=False, name="gate")(x)
        return nn.silu(gate) * nn.Dense(self.n, use_bias=False, name="up")(x)


class Block(nn.Module):
    c: dict

    @nn.compact
    def __call__(self, x):
        c = self.c
        norm = nn.RMSNorm if c["rms"] else nn.LayerNorm
        x = x + Attention(c, name="SelfAttention_0")(norm(name="norm_0")(x))
        y = norm(name="norm_1")(x)
        if c["gated"]:
            y = nn.Dense(c["width"], use_bias=False, name="Dense_1")(
                SwiGLU(c["ff"], name="SwiGLU_0")(y))
        else:
            y = nn.Dense(c["width"], name="Dense_1")(
                nn.gelu(nn.Dense(c["ff"], name="Dense_0")(y)))
        return x + y


class Model(nn.Module):
    c: dict

    def setup(self):
        c = self.c
        self.tok_emb = nn.Embed(c["vocab"], c["width"])
        if not c["base"]:
            self.pos_emb = self.param(
                "pos_emb", lambda key: sinusoids(c["length"], c["width"]))
        self.blocks = [Block(c) for _ in range(c["layers"])]
        self.ln_f = (nn.RMSNorm if c["rms"] else nn.LayerNorm)()
        if not c["tie"]:
            self.head = nn.Dense(c["vocab"], use_bias=False)

    def __call__(self, tokens):
        x = self.tok_emb(tokens)
        if not self.c["base"]:
            x = x + self.pos_emb[None]
        for block in self.blocks:
            x = block(x)
        x = self.ln_f(x)
        return self.tok_emb.attend(x) if self.c["tie"] else self.head(x)


def next_token_loss(logits, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(
        logits[:, :-1], tokens[:, 1:]).mean()


def train(c):
    model, optimizer = Model(flax.core.freeze(c)), optax.adamw(c["lr"])
    rs = np.random.RandomState(c["data_seed"])
    data = rs.randint(0, c["vocab"], (STEPS * c["batch"], c["length"]),
                      dtype=np.int32)
    params = model.init(jax.random.PRNGKey(c["seed"]), data[:1])["params"]
    first = sha256(params)

    @jax.jit
    def step(params, state, tokens):
        loss, grads = jax.value_and_grad(lambda p: next_token_loss(
            model.apply({"params": p}, tokens), tokens))(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    state, losses = optimizer.init(params), []
    for tokens in np.split(data, STEPS):
        params, state, loss = step(params, state, tokens)
        losses.append(float(loss))
    return losses, first


def sha256(params):
    """over the values of all arrays, in the order JAX sorts a tree"""
    sha = hashlib.sha256()
    for array in jax.tree_util.tree_leaves(params):
        sha.update(np.asarray(array, "<f4").tobytes())
    return sha.hexdigest()


print(f"""/* Made by make_modern_lm.py (jax {jax.__version__}, flax {flax.__version__}, optax
 * {optax.__version__}, numpy {np.__version__}); not edited by hand. */
#ifndef GOLDEN_MODERN_LM_H
#define GOLDEN_MODERN_LM_H

#include <stdint.h>

// clang-format off

/* Tokens are randint (10 batch, length) from data_seed, a new batch each
 * step; sha256 is of the first parameters' values in canonical order. */
typedef struct golden_modern_lm {{
    int64_t vocab, length, width;
    int heads, kv;
    int64_t layers, ff, batch;
    int rms, base, gated, tie;
    int64_t seed;
    uint32_t data_seed;
    double lr;
    const char *sha256;
    float loss[10];
}} golden_modern_lm;

static const golden_modern_lm golden_modern_lms[] = {{""")
for c in CONFIGS:
    losses, sha = train(c)
    print("    {" + ", ".join(str(v) for v in c.values()) + ",")
    print(f"     \"{sha}\", {{")
    for i in range(0, STEPS, 4):
        print("        " + "".join(f" {x.hex().replace('0000000p', 'p')}f,"
                                   for x in losses[i:i + 4]))
    print("    }},")
print("};\n\n// clang-format on\n\n#endif")
