#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write sequences.txt: what test_sequences.c expects of LSTM and GRU by Flax.

    make_sequences.py > sequences.txt

Made with jax 0.10.2, flax 0.12.8, numpy 2.4.6:
pip install jax==0.10.2 flax==0.12.8 numpy==2.4.6.

Two layers of nnx.OptimizedLSTMCell or nnx.GRUCell and a Linear, with nnx's own
initial parameters of a seed; rows of different lengths (the loss is the mean
squared error of the outputs of all steps, those beyond a row's length taken to
be 0 before the Linear); steps of plain SGD.  The losses before each step, and
sums of the parameters before the first and after the last.
"""
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from number_file import show

ROWS, STEPS, IN, UNITS, OUT, UPDATES, RATE, SEED = 6, 5, 3, 4, 2, 6, 0.5, 7
LENGTHS = np.array([5, 1, 0, 3, 4, 5])


def uniform(seed, shape):
    return jax.random.uniform(jax.random.key(seed), shape, jnp.float32, -1, 1)


class Model(nnx.Module):
    def __init__(self, cell, rngs):
        self.one = cell(IN, UNITS, rngs=rngs)
        self.two = cell(UNITS, UNITS, rngs=rngs)
        self.out = nnx.Linear(UNITS, OUT, rngs=rngs)

    def run(self, cell, x, lengths):
        carry = cell.initialize_carry((ROWS, x.shape[-1]), nnx.Rngs(0))
        ys = []
        for t in range(STEPS):
            new, y = cell(carry, x[:, t])
            there = (t < lengths)[:, None]
            carry = jax.tree.map(lambda a, b: jnp.where(there, a, b), new,
                                 carry)
            ys.append(jnp.where(there, y, 0))
        return jnp.stack(ys, 1)

    def __call__(self, x, lengths):
        return self.out(self.run(self.two, self.run(self.one, x, lengths),
                                 lengths))


def paths(state):
    flat = nnx.to_flat_state(state)
    return sorted((".".join(map(str, p)), v.get_value()) for p, v in flat)


def one(name, cell):
    model = Model(cell, nnx.Rngs(SEED))
    x = uniform(1, (ROWS, STEPS, IN)) * 2
    target = uniform(2, (ROWS, STEPS, OUT))
    first = np.concatenate([np.ravel(v)
                            for _, v in paths(nnx.state(model, nnx.Param))])
    losses = []
    for _ in range(UPDATES):
        def loss_of(m):
            return jnp.mean((m(x, LENGTHS) - target) ** 2)
        loss, grads = nnx.value_and_grad(loss_of)(model)
        losses.append(loss)
        state = nnx.state(model, nnx.Param)
        nnx.update(model, jax.tree.map(lambda p, g: p - RATE * g, state,
                                       nnx.state(grads, nnx.Param)))
    last = np.concatenate([np.ravel(v)
                           for _, v in paths(nnx.state(model, nnx.Param))])
    show(f"{name}/first", first)
    show(f"{name}/last", last)
    show(f"{name}/loss", np.array(losses, np.float32))
    return [p for p, _ in paths(nnx.state(model, nnx.Param))]


def convolutions():
    """nnx.Conv over steps, its bias 0 at first."""
    for name, stride, padding in (("causal", 1, "CAUSAL"),
                                  ("causal_2", 2, "CAUSAL"),
                                  ("same_2", 2, "SAME"),
                                  ("valid", 1, "VALID")):
        conv = nnx.Conv(IN, UNITS, (3,), strides=stride, padding=padding,
                        rngs=nnx.Rngs(SEED))
        y = conv(uniform(1, (ROWS, STEPS, IN)))
        show(f"conv/{name}", np.ravel(y))


def main():
    print("# Made by make_sequences.py with flax", version("flax"), "and jax",
          version("jax") + ".")
    for name, cell in (("lstm", nnx.OptimizedLSTMCell), ("gru", nnx.GRUCell)):
        for path in one(name, cell):
            print(f"# {name}: {path}")
    convolutions()
    key = jax.random.key(11)
    make = nnx.initializers.orthogonal()
    for rows, columns in ((3, 12), (12, 3), (5, 5)):
        show(f"orthogonal/{rows}/{columns}",
             np.ravel(make(key, (rows, columns), jnp.float32)))


main()
