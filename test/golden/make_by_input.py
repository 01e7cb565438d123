#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients by inputs, for test_input_gradient.c: writes by_input.txt.

    python make_by_input.py >by_input.txt       made with jax 0.10.2

Input and parameter number i, in the order of their names, is uniform in
[-1,1) by key 10 + i and 100 + i, parameters halved.
"""
import jax
import jax.numpy as jnp
import numpy as np

from number_file import show

ROWS = 7
WEIGHTS = jnp.array([1, 0.5, 0, 2, 1, 3, 0.25], jnp.float32)
HIGH = jax.lax.Precision.HIGHEST


def uniform(seed, shape):
    n = int(np.prod(shape))
    return jax.random.uniform(jax.random.key(seed), (n,), jnp.float32, -1,
                              1).reshape(shape)


def squared(y, t):
    """The mean over all elements, rows weighted."""
    each = ((y - t) ** 2).reshape(ROWS, -1)
    return (WEIGHTS @ each.sum(1)) / (WEIGHTS.sum() * each.shape[1])


def dense(x, p, name):
    return jnp.matmul(x, p[name + ".kernel"], precision=HIGH) + p[name + ".bias"]


def tower(x, p):
    y = dense(jnp.tanh(dense(x["x"], p, "a")), p, "b") + x["x"]
    return squared(y * x["x"], x["t"])


def image(x, p):
    y = jax.lax.conv_general_dilated(
        x["x"], p["c.kernel"], (1, 1), "SAME", precision=HIGH,
        dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["c.bias"]
    y = jax.lax.reduce_window(jax.nn.relu(y), -jnp.inf, jax.lax.max,
                              (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    y = jax.nn.log_softmax(dense(y.reshape(ROWS, -1), p, "d"))
    each = -y[jnp.arange(ROWS), jnp.arange(ROWS) % 3]
    return WEIGHTS @ each / WEIGHTS.sum()


def sequence(x, p):
    h = x["x"]
    mean, square = h.mean(-1, keepdims=True), (h * h).mean(-1, keepdims=True)
    h = (h - mean) * jax.lax.rsqrt(square - mean ** 2 + 1e-6)
    h = h * p["n.scale"] + p["n.bias"]
    q, k, v = (jnp.einsum("btd,dhe->bthe", h, p[f"s.{n}.kernel"],
                          precision=HIGH) for n in ("query", "key", "value"))
    s = jnp.einsum("bthe,bshe->bhts", q, k, precision=HIGH) / 2
    s = jnp.where(jnp.tril(jnp.ones((5, 5), bool)), s, -jnp.inf)
    y = jnp.einsum("bhts,bshe->bthe", jax.nn.softmax(s), v, precision=HIGH)
    y = jnp.einsum("bthe,hed->btd", y, p["s.out.kernel"], precision=HIGH)
    return squared(x["x"] + y, x["t"])


MODELS = [
    (tower, {"t": (6,), "x": (6,)},
     {"a.bias": (16,), "a.kernel": (6, 16), "b.bias": (6,),
      "b.kernel": (16, 6)}),
    (image, {"x": (6, 6, 2)},
     {"c.bias": (3,), "c.kernel": (3, 3, 2, 3), "d.bias": (3,),
      "d.kernel": (27, 3)}),
    (sequence, {"t": (5, 8), "x": (5, 8)},
     {"n.bias": (8,), "n.scale": (8,), "s.key.kernel": (8, 2, 4),
      "s.out.kernel": (2, 4, 8), "s.query.kernel": (8, 2, 4),
      "s.value.kernel": (8, 2, 4)}),
]

print(f"# Made by make_by_input.py with jax {jax.__version__}.")
for model, inputs, params in MODELS:
    x = {k: uniform(10 + i, (ROWS,) + s)
         for i, (k, s) in enumerate(inputs.items())}
    p = {k: uniform(100 + i, s) / 2 for i, (k, s) in enumerate(params.items())}
    for name, g in jax.grad(model)(x, p).items():
        show(f"{model.__name__}_by_{name}", np.asarray(g).ravel())
