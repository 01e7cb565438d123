#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write group_updates.txt: what test_groups.c expects.

    make_group_updates.py > group_updates.txt

Made with jax 0.10.2, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU with FMA:
pip install jax==0.10.2 optax==0.2.8 numpy==2.4.6.

Five updates by adamw of four arrays of given gradients: no weight decay on what
has fewer than two axes (a mask), half the rate for "b.*", "a.kernel" frozen,
clipping by the norm of the rest; and optax.incremental_update of them all.
"""
import jax
import numpy as np
import optax

from number_file import show

UPDATES, LR, WD, DECAY, CLIP = 5, 0.01, 0.1, 0.9, 1.5
SHAPES = {"a.bias": (4,), "a.kernel": (3, 4), "b.kernel": (4, 2),
          "norm.scale": (4,)}


def label(name):
    return {"a.kernel": "frozen", "b.kernel": "half"}.get(name, "plain")


def adamw(rate):
    return optax.adamw(rate, weight_decay=WD, mask=lambda tree: {
        k: v is not None and len(SHAPES[k]) > 1 for k, v in tree.items()})


r = np.random.RandomState(5)
params = {k: r.randn(*s).astype(np.float32) for k, s in SHAPES.items()}
grads = [{k: r.randn(*s).astype(np.float32) for k, s in SHAPES.items()}
         for _ in range(UPDATES)]
rule = optax.multi_transform(
    {"frozen": optax.set_to_zero(), "half": adamw(LR / 2), "plain": adamw(LR)},
    {k: label(k) for k in SHAPES})
clip = optax.clip_by_global_norm(CLIP)


@jax.jit
def update(params, average, state, g):
    g = {k: 0 * v if label(k) == "frozen" else v for k, v in g.items()}
    g, _ = clip.update(g, clip.init(params))
    u, state = rule.update(g, state, params)
    params = optax.apply_updates(params, u)
    return params, optax.incremental_update(params, average, 1 - DECAY), state


def flat(tree):
    return np.concatenate([np.ravel(tree[k]) for k in sorted(SHAPES)])


state, average, out = rule.init(params), params, []
start = flat(params)
for g in grads:
    params, average, state = update(params, average, state, g)
    out.append((flat(params), flat(average)))
print(f"# Made by make_group_updates.py with optax {optax.__version__} and jax "
      f"{jax.__version__}.")
show("start", start)
for name, rows in (("gradient", [flat(g) for g in grads]),
                   ("params", [p for p, _ in out]),
                   ("average", [a for _, a in out])):
    for i, row in enumerate(rows):
        show(f"{name}/{i}", row)
