#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write rules.h: what test_optim.c expects of adagrad, lion and l2, as C tables.

    make_rules.py > rules.h

Made with jax 0.10.2, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU with FMA:
pip install jax==0.10.2 optax==0.2.8 numpy==2.4.6.

The updates run within jit.  XLA's rsqrt is an approximation that depends on
the CPU, by an ulp, so adagrad's parameters agree to a few ulps and its sum of
squares to the bit.
"""
import sys
from importlib.metadata import version

import jax
import numpy as np
import optax

SIZE, UPDATES, RATE = 16, 10, 0.01


def with_l2(l2, rule):
    return optax.chain(optax.add_decayed_weights(l2), rule)


# The kind, its options, which of them the state's first moment is, the ulps
# that parameters may be apart, and optax's rule.
CASES = [
    ("LS_ADAGRAD, 0, 0, 0, 0, 0, 1e-7, 0.1, 0", "sum_of_squares", 8,
     optax.adagrad(RATE)),
    ("LS_ADAGRAD, 0, 0, 0, 0, 0, 1e-3, 0, 0", "sum_of_squares", 8,
     optax.adagrad(RATE, 0.0, 1e-3)),
    ("LS_LION, 0, 0.9, 0.99, 0, 1e-3, 0, 0, 0", "mu", 0, optax.lion(RATE)),
    ("LS_LION, 0, 0.95, 0.98, 0, 0.1, 0, 0, 0", "mu", 0,
     optax.lion(RATE, 0.95, 0.98, weight_decay=0.1)),
    ("LS_LION, 0, 0.9, 0.99, 0, 0, 0, 0, 0", "mu", 0,
     optax.lion(RATE, weight_decay=0.0)),
    ("LS_SGD, 0, 0, 0, 0, 0, 0, 0, 0.01", None, 0,
     with_l2(0.01, optax.sgd(RATE))),
    ("LS_MOMENTUM, 0.9, 0, 0, 0, 0, 0, 0, 0.3", "trace", 0,
     with_l2(0.3, optax.sgd(RATE, 0.9))),
    ("LS_NESTEROV, 0.9, 0, 0, 0, 0, 0, 0, 0.3", "trace", 0,
     with_l2(0.3, optax.sgd(RATE, 0.9, nesterov=True))),
    ("LS_ADAM, 0, 0.9, 0.999, 0, 0, 1e-8, 0, 0.1", "mu", 4,
     with_l2(0.1, optax.adam(RATE))),
    ("LS_RMSPROP, 0, 0, 0, 0.9, 0, 1e-8, 0, 0.1", "nu", 8,
     with_l2(0.1, optax.rmsprop(RATE))),
]


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


def find(state, name):
    """The moment of that name somewhere in an optax state."""
    if hasattr(state, name or ""):
        return np.asarray(getattr(state, name))
    for part in state if isinstance(state, tuple) else ():
        if (found := find(part, name)) is not None:
            return found
    return None


def run(rule, name, start, grads):
    p, state = start, rule.init(start)

    @jax.jit
    def step(p, state, g):
        u, state = rule.update(g, state, p)
        return optax.apply_updates(p, u), state

    for g in grads:
        p, state = step(p, state, g)
    moment = find(state, name) if name else np.zeros(SIZE, np.float32)
    return np.asarray(p), moment


def main():
    rs = np.random.RandomState(4)
    start = rs.randn(SIZE).astype(np.float32)
    grads = rs.randn(UPDATES, SIZE).astype(np.float32)
    grads[:, 3] = 0  # the sign of 0
    grads[:, 4] *= np.float32(1e-6)  # eps matters
    grads[:, 5] = np.float32(1e-30)  # its square is 0
    print(f"""/* Made by make_rules.py with jax {version('jax')}, optax {version('optax')},
 * numpy {version('numpy')}; not edited by hand. */
#ifndef GOLDEN_RULES_H
#define GOLDEN_RULES_H

#include "lockstep.h"

// clang-format off

enum {{ RULES_SIZE = {SIZE}, RULES_UPDATES = {UPDATES} }};

static const float rules_start[RULES_SIZE] = {{
{table(start, "    ")}
}};

static const float rules_grads[RULES_UPDATES * RULES_SIZE] = {{
{table(grads.ravel(), "    ")}
}};

/* What all updates with rate {RATE} end with; "moment" is the rule's first. */
static const struct {{
    ls_optimizer_kind kind;
    double momentum, b1, b2, decay, weight_decay, eps, initial_accumulator, l2;
    int ulps;
    float p[RULES_SIZE], moment[RULES_SIZE];
}} rules_want[] = {{""")
    for fields, name, ulps, rule in CASES:
        p, moment = run(rule, name, start, grads)
        print(f"""    {{{fields}, {ulps},
     {{
{table(p, "      ")}}},
     {{
{table(moment, "      ")}}}}},""")
    print("""};

// clang-format on

#endif""")


if __name__ == "__main__":
    sys.exit(main())
