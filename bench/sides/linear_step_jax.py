# SPDX-License-Identifier: BSD-3-Clause
"""The linear step in JAX: 64 rows, 8 -> 4, mean squared error, sgd, jitted
with donated state on one device.  Each number is the mean of a block of
steps, as in linear_step.c; the loss is fetched at every step there and here."""
import argparse
import functools
import json
import time

import jax
import jax.numpy as jnp
import numpy as np

BLOCK = 1000

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20, help="blocks")
parser.add_argument("--metrics", help="file; standard output if absent")
o = parser.parse_args()

rs = np.random.RandomState(7)
x = jnp.asarray(rs.randn(64, 8).astype(np.float32))
y = jnp.asarray(rs.randn(64, 4).astype(np.float32))


def loss_fn(p):
    return jnp.mean((x @ p[0] + p[1] - y) ** 2)


@functools.partial(jax.jit, donate_argnums=0)
def step(p):
    loss, g = jax.value_and_grad(loss_fn)(p)
    return tuple(a - 0.1 * b for a, b in zip(p, g)), loss


p = (jnp.zeros((8, 4)), jnp.zeros(4))
with open(o.metrics or 1, "w") as f:
    print(json.dumps({"versions": {"jax": jax.__version__}}), file=f)
    for block in range(o.steps):
        start = time.perf_counter()
        for _ in range(BLOCK):
            p, loss = step(p)
            loss = float(loss)
        ms = 1e3 * (time.perf_counter() - start) / BLOCK
        print(json.dumps({"step": block, "loss": loss, "ms": ms}), file=f)
