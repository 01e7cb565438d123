#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write rmsprop.h: what test_optim.c expects of rmsprop, as C tables.

    make_rmsprop.py > rmsprop.h

Made with jax 0.10.2, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU with FMA:
pip install jax==0.10.2 optax==0.2.8 numpy==2.4.6.

The updates run within jit.  XLA's rsqrt is an approximation that depends on
the CPU, by an ulp, so parameters agree to a few ulps and "nu" to the bit.
"""
import sys
from importlib.metadata import version

import jax
import numpy as np
import optax

SIZE, UPDATES = 16, 10
CASES = [{}, {"decay": 0.99, "eps": 1e-3}]


def c_float(x):
    mantissa, exponent = float(np.float32(x)).hex().split("p")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}p{exponent}f"


def table(values, indent):
    lines, line = [], ""
    for v in map(c_float, values):
        if line and len(indent + line) + len(v) + 2 > 78:
            lines.append(indent + line.rstrip())
            line = ""
        line += v + ", "
    return "\n".join(lines + [indent + line.rstrip(", ")])


def run(options, start, grads):
    optimizer = optax.rmsprop(0.01, **options)
    p, state = start, optimizer.init(start)

    @jax.jit
    def step(p, state, g):
        u, state = optimizer.update(g, state, p)
        return optax.apply_updates(p, u), state

    for g in grads:
        p, state = step(p, state, g)
    return np.asarray(p), np.asarray(state[0].nu)


def main():
    rs = np.random.RandomState(3)
    start = rs.randn(SIZE).astype(np.float32)
    grads = rs.randn(UPDATES, SIZE).astype(np.float32)
    grads[:, 3] = 0  # nothing moves
    grads[:, 4] *= np.float32(1e-6)  # eps matters
    print(f"""/* Made by make_rmsprop.py with jax {version('jax')}, optax {version('optax')},
 * numpy {version('numpy')}; not edited by hand. */
#ifndef GOLDEN_RMSPROP_H
#define GOLDEN_RMSPROP_H

// clang-format off

enum {{ RMSPROP_SIZE = {SIZE}, RMSPROP_UPDATES = {UPDATES} }};

static const float rmsprop_start[RMSPROP_SIZE] = {{
{table(start, "    ")}
}};

static const float rmsprop_grads[RMSPROP_UPDATES * RMSPROP_SIZE] = {{
{table(grads.ravel(), "    ")}
}};

/* What all updates with rate 0.01 end with. */
static const struct {{
    double decay, eps;
    float p[RMSPROP_SIZE], nu[RMSPROP_SIZE];
}} rmsprop_want[] = {{""")
    for options in CASES:
        p, nu = run(options, start, grads)
        print(f"""    {{{options.get("decay", 0.9)}, {options.get("eps", 1e-8)},
     {{
{table(p, "      ")}}},
     {{
{table(nu, "      ")}}}}},""")
    print("""};

// clang-format on

#endif""")


if __name__ == "__main__":
    sys.exit(main())
