#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write watched.h: what test_control.c expects, as C tables.

    make_watched.py > watched.h

Made with jax 0.10.2, optax 0.2.8, flax 0.12.8, numpy 2.4.6:
pip install jax==0.10.2 optax==0.2.8 flax==0.12.8 numpy==2.4.6.

A row of losses, made here; for each case the scale of the learning rate after
each loss by optax.contrib.reduce_on_plateau, and whether training should stop
by flax.training.early_stopping.EarlyStopping.  That one counts from 0, so its
patience is ours less 1.
"""
import textwrap
from importlib.metadata import version

import jax
import numpy as np
import optax
from flax.training.early_stopping import EarlyStopping

COUNT = 40
PLATEAUS = [
    dict(patience=3),
    dict(factor=0.5, patience=2, rtol=0.01, cooldown=2),
    dict(factor=0.5, patience=1, atol=0.02, min_scale=0.1),
]
STOPS = [dict(patience=2), dict(patience=4, min_delta=0.05)]


def losses():
    r = np.random.RandomState(3)
    falling = 2 * np.exp(-np.arange(COUNT) / 6)
    return (falling + 0.2 * r.rand(COUNT)).astype(np.float32)


def scales(options, values):
    rule = optax.contrib.reduce_on_plateau(**options)
    grads = {"w": np.ones(1, np.float32)}
    state = rule.init(grads)
    out = []
    for v in values:
        _, state = rule.update(grads, state, value=v)
        out.append(float(state.scale))
    return out


def stops(options, values):
    rule = EarlyStopping(min_delta=options.get("min_delta", 0),
                         patience=options["patience"] - 1)
    out = []
    for v in values:
        rule = rule.update(float(v))
        out.append(int(rule.should_stop))
    return out


def table(kind, name, rows, form):
    size = f"[{len(rows)}]" if isinstance(rows[0], list) else ""
    print(f"\nstatic const {kind} {name}{size}[{COUNT}] = {{")
    for row in rows if size else [rows]:
        text = textwrap.fill(", ".join(form(v) for v in row), 72)
        print(textwrap.indent("{" + text + "}," if size else text, "    "))
    print("};")


v = losses()
print(f"/* Made by make_watched.py with optax {version('optax')}, flax "
      f"{version('flax')} and jax {jax.__version__}. */")
table("double", "control_loss", [float(x) for x in v], repr)
table("double", "control_scale", [scales(o, v) for o in PLATEAUS], repr)
table("int", "control_stop", [stops(o, v) for o in STOPS], str)
