#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Batch norms that train, by PyTorch and Flax, for test_statistics.c: writes
batch_norm.txt.

    python make_batch_norm.py >batch_norm.txt

of_batch: torch.nn.BatchNorm over all rows, which is what SyncBatchNorm computes
of all processes' rows together (it runs on GPUs alone).  of_shard: Flax's
linen.BatchNorm on four shards, gradients summed, running averages as
jax.lax.pmean has them.  weighted: of_batch by the formulas of lockstep/ops.h
under JAX's own gradient, with weights of rows; without weights they have
PyTorch's numbers, which is asserted here.

Of each: the loss, the gradients of the parameters below in their order, and the
four stored statistics after one step with momentum 0.9.
"""
import flax
import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import torch

from number_file import show

ROWS, DEVICES, MOMENTUM, EPSILON = 24, 4, 0.9, 1e-5
SHAPES = {"pre.kernel": (2, 3), "first.scale": (3,), "first.bias": (3,),
          "hidden.kernel": (36, 5), "second.scale": (5,), "second.bias": (5,),
          "out.kernel": (5, 3)}


def uniform(seed, shape):
    return np.asarray(jax.random.uniform(jax.random.key(seed), shape,
                                         jnp.float32, -1, 1))


def parameters():
    out = {}
    for i, (name, shape) in enumerate(SHAPES.items()):
        out[name] = uniform(50 + i, shape) + np.float32(
            1.5 if name.endswith("scale") else 0)
    return out


x = uniform(90, (ROWS, 4, 3, 2)) * np.float32(2) + np.float32(0.5)
label = np.arange(ROWS) % 3
weights = np.asarray([(0, 1, 2, 0.5)[i % 4] for i in range(ROWS)], np.float32)


def network(p, x, label, w, norm):
    """The sum of weighted losses, norm being called with a name."""
    h = norm("first", x @ p["pre.kernel"], w)
    h = h.reshape(h.shape[0], -1) @ p["hidden.kernel"]
    h = jnp.tanh(norm("second", h, w)) @ p["out.kernel"]
    return -jnp.sum(w * jax.nn.log_softmax(h)[jnp.arange(len(label)), label])


def by_formula(p, w):
    seen = {}

    def norm(name, x, w):
        axes = tuple(range(x.ndim - 1))
        wide = jnp.broadcast_to(w.reshape((-1,) + (1,) * (x.ndim - 1)),
                                x.shape[:-1] + (1,))
        mean = jnp.sum(wide * x, axes) / jnp.sum(wide)
        var = jnp.sum(wide * (x - mean) ** 2, axes) / jnp.sum(wide)
        seen[name] = (mean, var)
        return ((x - mean) / jnp.sqrt(var + EPSILON) * p[name + ".scale"] +
                p[name + ".bias"])

    loss = network(p, x, label, w, norm) / np.sum(w)
    return loss, {k: (MOMENTUM * 0 + (1 - MOMENTUM) * m,
                      MOMENTUM * 1 + (1 - MOMENTUM) * v)
                  for k, (m, v) in seen.items()}


def formula(w):
    grad = jax.value_and_grad(lambda p: by_formula(p, w), has_aux=True)
    (loss, stats), g = grad(parameters())
    return loss, g, stats


def by_flax():
    """The mean over the shards, each with its own statistics."""
    def shard(p, x, label):
        stats = {}

        def norm(name, x, w):
            layer = linen.BatchNorm(use_running_average=False,
                                    momentum=MOMENTUM, epsilon=EPSILON)
            params = {"scale": p[name + ".scale"], "bias": p[name + ".bias"]}
            n = x.shape[-1]
            state = {"mean": jnp.zeros(n), "var": jnp.ones(n)}
            y, new = layer.apply({"params": params, "batch_stats": state}, x,
                                 mutable=["batch_stats"])
            new = new["batch_stats"]
            stats[name] = (new["mean"], new["var"])
            return y

        loss = network(p, x, label, jnp.ones(len(label)), norm)
        return loss / ROWS, stats

    per = ROWS // DEVICES
    grad = jax.value_and_grad(shard, has_aux=True)
    all_ = [grad(parameters(), x[i:i + per], label[i:i + per])
            for i in range(0, ROWS, per)]
    g = {k: sum(a[1][k] for a in all_) for k in SHAPES}
    stats = {k: tuple(sum(a[0][1][k][i] for a in all_) / DEVICES
                      for i in (0, 1)) for k in ("first", "second")}
    return sum(a[0][0] for a in all_), g, stats


def by_torch():
    p = {k: torch.tensor(v, requires_grad=True)
         for k, v in parameters().items()}
    stats = {}

    def norm(name, x):
        n = x.shape[-1]
        mean, var = torch.zeros(n), torch.ones(n)
        flat = x.reshape(-1, n)
        y = torch.nn.functional.batch_norm(
            flat, mean, var, p[name + ".scale"], p[name + ".bias"], True,
            1 - MOMENTUM, EPSILON)
        # what is stored is divided by one less than by Flax
        count = flat.shape[0]
        var = MOMENTUM + (var - MOMENTUM) * (count - 1) / count
        stats[name] = (mean, var)
        return y.reshape(x.shape)

    h = norm("first", torch.tensor(x) @ p["pre.kernel"])
    h = h.reshape(ROWS, -1) @ p["hidden.kernel"]
    h = torch.tanh(norm("second", h)) @ p["out.kernel"]
    loss = torch.nn.functional.cross_entropy(h, torch.tensor(label))
    loss.backward()
    return (loss.detach().numpy(), {k: v.grad.numpy() for k, v in p.items()},
            {k: tuple(np.asarray(s) for s in v) for k, v in stats.items()})


def flat(result):
    loss, g, stats = result
    parts = [np.asarray(g[k]).ravel() for k in SHAPES]
    parts += [np.asarray(s) for k in ("first", "second") for s in stats[k]]
    return [float(loss)] + [float(v) for part in parts for v in part]


kinds = {"of_batch": flat(by_torch()), "of_shard": flat(by_flax()),
         "weighted": flat(formula(weights))}
np.testing.assert_allclose(kinds["of_batch"], flat(formula(np.ones(ROWS))),
                           rtol=1e-4, atol=2e-6)
print(f"# Made by make_batch_norm.py with torch {torch.__version__}, jax "
      f"{jax.__version__}, flax {flax.__version__}, numpy\n# "
      f"{np.__version__}.")
for name, values in kinds.items():
    show(name, np.asarray(values, np.float32))
