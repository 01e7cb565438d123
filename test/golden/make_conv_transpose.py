#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Transposed convolutions by jax.lax.conv_transpose, for test_larger.c: writes
conv_transpose.txt.

    python make_conv_transpose.py >conv_transpose.txt

Two rows x (4,3,2), three channels out.  Of each: y, then the gradients of mean
of y^2 by the kernel and by the bias.
"""
import jax
import jax.numpy as jnp
import numpy as np

from number_file import show

CASES = [("same_3_2", 3, 3, 2, 2, "SAME"), ("valid_3_2", 3, 3, 2, 2, "VALID"),
         ("same_2_3", 2, 4, 3, 1, "SAME"), ("valid_1_2", 1, 4, 2, 3, "VALID")]


def uniform(seed, shape):
    return jax.random.uniform(jax.random.key(seed), shape, jnp.float32, -1, 1)


x = uniform(0, (2, 4, 3, 2))
print(f"# Made by make_conv_transpose.py with jax {jax.__version__}, numpy "
      f"{np.__version__}.")
for name, high, wide, sy, sx, padding in CASES:
    def layer(kernel, bias):
        return jax.lax.conv_transpose(
            x, kernel, (sy, sx), padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            precision="highest") + bias

    kernel, bias = uniform(20, (high, wide, 2, 3)), uniform(21, (3,))
    y = layer(kernel, bias)
    g = jax.grad(lambda k, b: jnp.mean(layer(k, b) ** 2), (0, 1))(kernel, bias)
    show(name, [v for a in (y, *g) for v in np.asarray(a).ravel()])
