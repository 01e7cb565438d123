#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write small_lm.h: losses of the lm at other sizes.

    make_small_lm.py > small_lm.h

Trains the model with Flax and optax themselves, on one CPU device; small_lm.h
was made with jax 0.10.2, flax 0.12.8, optax 0.2.8, numpy 2.4.6, Python 3.11.
    python3 -m venv v
    v/bin/pip install jax==0.10.2 flax==0.12.8 optax==0.2.8 numpy==2.4.6
"""
import hashlib

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

STEPS = 10
# Every size odd to a vector of 16, heads that do not divide 16; then a
# sequence that is longer than one chunk of 256 in a matrix product.
CONFIGS = [
    dict(vocab=37, length=12, width=24, heads=3, layers=2, ff=40, batch=6,
         seed=7, data_seed=70, lr=1e-3),
    dict(vocab=53, length=300, width=40, heads=5, layers=1, ff=72, batch=2,
         seed=8, data_seed=80, lr=1e-3),
]


def sinusoids(length, width):
    pos = jnp.arange(length)[:, None]
    i = jnp.arange(0, width, 2)[None, :]
    freq = jnp.exp(-(jnp.log(10000.0) / width) * i)
    table = jnp.zeros((length, width), dtype=jnp.float32)
    table = table.at[:, 0::2].set(jnp.sin(pos * freq))
    return table.at[:, 1::2].set(jnp.cos(pos * freq))


class Block(nn.Module):
    width: int
    heads: int
    ff: int

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        x = x + nn.SelfAttention(num_heads=self.heads, qkv_features=self.width,
                                 use_bias=False, deterministic=True)(y)
        y = nn.LayerNorm()(x)
        y = nn.gelu(nn.Dense(self.ff)(y))
        return x + nn.Dense(self.width)(y)


class Model(nn.Module):
    c: dict

    def setup(self):
        c = self.c
        self.tok_emb = nn.Embed(c["vocab"], c["width"])
        self.pos_emb = self.param(
            "pos_emb", lambda key: sinusoids(c["length"], c["width"]))
        self.blocks = [Block(c["width"], c["heads"], c["ff"])
                       for _ in range(c["layers"])]
        self.ln_f = nn.LayerNorm()
        self.head = nn.Dense(c["vocab"], use_bias=False)

    def __call__(self, tokens):
        x = self.tok_emb(tokens) + self.pos_emb[None]
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


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


def main():
    print("""/* Made by make_small_lm.py (jax %s, flax %s, optax %s,
 * numpy %s); not edited by hand. */
#ifndef GOLDEN_SMALL_LM_H
#define GOLDEN_SMALL_LM_H

#include <stdint.h>

// clang-format off

/* Tokens are randint (10 batch, length) from data_seed, a new batch each
 * step; sha256 is of the first parameters' values in canonical order. */
typedef struct golden_small_lm {
    int64_t vocab, length, width, heads, layers, ff, batch;
    int64_t seed;
    uint32_t data_seed;
    double lr;
    const char *sha256;
    float loss[10];
} golden_small_lm;

static const golden_small_lm golden_small_lms[] = {""" % (
        jax.__version__, flax.__version__, optax.__version__, np.__version__))
    for c in CONFIGS:
        losses, sha = train(c)
        print("    {" + ", ".join(str(v) for v in c.values()) + ",")
        print(f"     \"{sha}\", {{")
        for i in range(0, STEPS, 4):
            print("        " + "".join(
                f" {x.hex().replace('0000000p', 'p')}f,"
                for x in losses[i:i + 4]))
        print("    }},")
    print("};\n\n// clang-format on\n\n#endif")


main()
