#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Losses and gradients by optax, for test_mean_loss.c: writes mean_loss.h.

    python make_mean_loss.py >mean_loss.h     made with jax 0.10.2, optax 0.2.8

The model is y = x w, w being the identity; a case is the loss and w after one
update of sgd 1: the identity less the gradient.
"""
import jax
import jax.numpy as jnp
import numpy as np
import optax

ROWS, WIDTH = 8, 4


def uniform(seed, n=ROWS * WIDTH):
    return jax.random.uniform(jax.random.key(seed), (n,), jnp.float32, -1, 1)


X = uniform(1).reshape(ROWS, WIDTH) * 3
T = uniform(2).reshape(ROWS, WIDTH)
P = (T + 1) / 2                       # in [0, 1)
V = jnp.abs(uniform(3)).reshape(ROWS, WIDTH) + jnp.float32(0.5)
L = jnp.arange(ROWS) % WIDTH
one_hot = jax.nn.one_hot(L, WIDTH)


def gaussian(y):  # torch.nn.GaussianNLLLoss
    return 0.5 * (jnp.log(V) + (y - T) ** 2 / V).mean()


def heads(y):
    return 0.25 * jnp.abs(y - T).mean() + 2 * optax.softmax_cross_entropy(
        y, one_hot).mean()


CASES = {
    "mean absolute error": lambda y: jnp.abs(y - T).mean(),
    "huber": lambda y: optax.huber_loss(y, T, delta=0.75).mean(),
    "binary cross entropy":
        lambda y: optax.sigmoid_binary_cross_entropy(y, P).mean(),
    "kl divergence":
        lambda y: optax.kl_divergence(jax.nn.log_softmax(y), P).mean(),
    "gaussian": gaussian,
    "labels": lambda y: optax.softmax_cross_entropy(y, one_hot).mean(),
    "smoothed": lambda y: optax.softmax_cross_entropy(
        y, optax.smooth_labels(one_hot, 0.1)).mean(),
    "weighted": lambda y: (V * (y - T) ** 2).sum() / V.sum(),
    "heads": heads,
}

print("/* Made by make_mean_loss.py with jax " + jax.__version__ + ", optax " +
      optax.__version__ + ". */")
print("static const wanted wanteds[] = {")
for name, loss in CASES.items():
    w = jnp.eye(WIDTH)
    value, grad = jax.value_and_grad(
        lambda w: loss(jnp.matmul(X, w, precision="highest")))(w)
    numbers = ", ".join(float(v).hex() + "f"
                        for v in np.asarray(w - grad).ravel())
    print(f'    {{"{name}", {float(value).hex()}, {{{numbers}}}}},')
print("};")
