#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write dropout.h: losses of Flax models with dropout, for test_dropout.c.

    make_dropout.py > dropout.h

Run with jax 0.10.2, flax 0.12.8, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU.
Every case trains dense 33, gelu, dropout 0.25, dense 17, dropout 0.5, dense 5
on the same 24 rows for six updates of sgd 0.1.
"""
import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

X = jnp.asarray(np.random.RandomState(3).randn(24, 9), jnp.float32)
Y = jnp.asarray(np.random.RandomState(4).randint(0, 5, 24))
STEPS = 6


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(
        logits, labels).mean()


class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(9, 33, rngs=rngs)
        self.da = nnx.Dropout(0.25, rngs=rngs)
        self.b = nnx.Linear(33, 17, rngs=rngs)
        self.db = nnx.Dropout(0.5, rngs=rngs)
        self.c = nnx.Linear(17, 5, rngs=rngs)

    def __call__(self, x):
        x = self.da(nnx.gelu(self.a(x)))
        return self.c(self.db(self.b(x)))


def train_nnx(rngs, micro):
    """each micro-batch is a call of the model"""
    net = Net(rngs)
    net.train()
    grad = nnx.value_and_grad(lambda m, x, y: cross_entropy(m(x), y))
    losses = []
    for _ in range(STEPS):
        parts = [grad(net, x, y) for x, y in
                 zip(jnp.split(X, micro), jnp.split(Y, micro))]
        mean = jax.tree.map(lambda *g: sum(g) / micro, *[g for _, g in parts])
        nnx.update(net, jax.tree.map(lambda p, g: p - 0.1 * g,
                                     nnx.state(net, nnx.Param), mean))
        losses.append(np.float32(sum(float(l) for l, _ in parts) / micro))
    return losses


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.gelu(nn.Dense(33)(x))
        x = nn.Dropout(0.25, deterministic=False)(x)
        return nn.Dropout(0.5, deterministic=False)(nn.Dense(17)(x))


class Linen(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(5, name="head")(Block(name="block_3")(x))


def train_linen(seed, dropout):
    model, losses = Linen(), []
    key = jax.random.key(dropout)
    params = model.init({"params": jax.random.key(seed), "dropout": key}, X)
    for c in range(STEPS):
        rngs = {"dropout": jax.random.fold_in(key, c)}
        loss, g = jax.value_and_grad(
            lambda p: cross_entropy(model.apply(p, X, rngs=rngs), Y))(params)
        params = jax.tree.map(lambda p, d: p - 0.1 * d, params, g)
        losses.append(np.float32(loss))
    return losses


CASES = [
    ("nnx", 0, -1, 1, lambda: train_nnx(nnx.Rngs(0), 1)),
    ("nnx", 5, 7, 1, lambda: train_nnx(nnx.Rngs(5, dropout=7), 1)),
    ("nnx", 0, -1, 3, lambda: train_nnx(nnx.Rngs(0), 3)),
    ("linen", 42, -1, 1, lambda: train_linen(42, 42)),
    ("linen", 42, 9, 1, lambda: train_linen(42, 9)),
]

print(f"""/* Made by make_dropout.py: jax {jax.__version__}, flax {flax.__version__}, \
optax {optax.__version__},
 * numpy {np.__version__}.  dropout -1: no key of its own. */
typedef struct golden_dropout {{
    ls_keys keys;
    int seed, dropout, micro;
    float loss[{STEPS}];
}} golden_dropout;

static const golden_dropout golden_dropouts[] = {{""")
for keys, seed, dropout, micro, run in CASES:
    text = ", ".join(float(x).hex() + "f" for x in run()[:])
    parts = text.split(", ")
    print(f"    {{LS_KEYS_{keys.upper()}, {seed}, {dropout}, {micro},")
    short = []
    for p in parts:
        m, e = p.split("p")
        short.append(m.rstrip("0") + "p" + e)
    print("     {" + ", ".join(short[:3]) + ",\n      " +
          ", ".join(short[3:]) + "}},")
print("};")
