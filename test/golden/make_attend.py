#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Attention to another sequence, by Flax, for test_cross_attention.c: writes
attend.txt.

    python make_attend.py >attend.txt         made with jax 0.10.2, flax 0.12.8

Arrays are uniform in [-1,1): x by key 1, memory 2, target 3, the parameter i in
the order of names 100 + i, halved.  Position t of row r may look at s where (r +
2 t + 3 s) % 5 > 1; position 4 of row 1 at none.
"""
import jax
import jax.numpy as jnp
import numpy as np
import flax
from flax import linen

from number_file import show

ROWS, T, D, S, E, HEADS = 3, 5, 8, 7, 6, 2
SHAPES = {"key": (E, HEADS, D // HEADS), "out": (HEADS, D // HEADS, D),
          "query": (D, HEADS, D // HEADS), "value": (E, HEADS, D // HEADS)}


def uniform(seed, shape):
    n = int(np.prod(shape))
    return jax.random.uniform(jax.random.key(seed), (n,), jnp.float32, -1,
                              1).reshape(shape)


target = uniform(3, (ROWS, T, D))
mask = np.fromfunction(lambda r, t, s: (r + 2 * t + 3 * s) % 5 > 1,
                       (ROWS, T, S)).copy()
mask[1, 4] = False
layer = linen.MultiHeadDotProductAttention(
    num_heads=HEADS, use_bias=False, qkv_features=D, out_features=D,
    precision=jax.lax.Precision.HIGHEST)


def loss(values, masked):
    x, memory, p = values
    p = {"params": {k: {"kernel": v} for k, v in p.items()}}
    y = layer.apply(p, x, memory, mask=mask[:, None] if masked else None)
    return ((y - target) ** 2).mean()


values = (uniform(1, (ROWS, T, D)), uniform(2, (ROWS, S, E)),
          {k: uniform(100 + i, s) / 2 for i, (k, s) in enumerate(SHAPES.items())})
print(f"# Made by make_attend.py with jax {jax.__version__}, flax "
      f"{flax.__version__}.")
for masked, word in ((False, "open"), (True, "masked")):
    value, (dx, dm, dp) = jax.value_and_grad(loss)(values, masked)
    show(f"{word}_loss", [value])
    arrays = {"x": dx, "memory": dm, **dp}
    for name, g in arrays.items():
        show(f"{word}_{name}", np.asarray(g).ravel())
