#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the numbers of rules.txt anew: what optax's optimizers end with, for
each row of that file.

    make_rules.py

Made with jax 0.10.2, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU with FMA:
pip install jax==0.10.2 optax==0.2.8 numpy==2.4.6.

The updates run within jit.  XLA's rsqrt is an approximation that depends on
the CPU, by an ulp, so what it makes agrees to a few ulps.
"""
import io
import os
import sys

import jax
import numpy as np
import optax

from number_file import show

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules.txt")
SIZE, UPDATES, RATE = 16, 10, 0.01


def with_l2(l2, rule):
    return optax.chain(optax.add_decayed_weights(l2), rule)


def moments(state):
    """(name, numbers) of what a state of optax has for each parameter."""
    for part in state if isinstance(state, tuple) else ():
        yield from moments(part)
    for name in getattr(state, "_fields", ()):
        if np.shape(getattr(state, name)) == (SIZE,):
            yield name, getattr(state, name)


def run(rule, p, grads):
    state = rule.init(p)

    @jax.jit
    def step(p, state, g):
        u, state = rule.update(g, state, p)
        return optax.apply_updates(p, u), state

    for g in grads:
        p, state = step(p, state, g)
    return [("p", p), *moments(state)]


def main():
    rs = np.random.RandomState(4)
    start = rs.randn(SIZE).astype(np.float32)
    grads = rs.randn(UPDATES, SIZE).astype(np.float32)
    grads[:, 3] = 0  # the sign of 0
    grads[:, 4] *= np.float32(1e-6)  # eps matters
    grads[:, 5] = np.float32(1e-30)  # its square is 0
    with open(FILE) as f:
        lines = f.readlines()
    out = io.StringIO()
    out.writelines(line for line in lines if line.startswith("#"))
    show("start", start, out)
    show("grads", grads.ravel(), out)
    rows = [line for line in lines if line.startswith("rule ")]
    for i, row in enumerate(rows):
        out.write(row)
        of = {"optax": optax, "RATE": RATE, "with_l2": with_l2}
        for name, numbers in run(eval(row.split(" is ")[1], of), start, grads):
            show(f"{name}.{i}", np.asarray(numbers), out)
    with open(FILE, "w") as f:
        f.write(out.getvalue())


if __name__ == "__main__":
    sys.exit(main())
