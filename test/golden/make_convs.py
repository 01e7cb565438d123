#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write convs.txt: what test_conv_options.c expects of convolutions by JAX.

    make_convs.py > convs.txt

Made with jax 0.10.2, flax 0.12.8, numpy 2.4.6.

lax.conv_general_dilated with dilations, groups and padding by numbers: values,
and gradients by x and the weights, of numbers that are sines; and nnx.Conv over
steps, causal with dilation, likewise.
"""
from importlib.metadata import version

import jax
import numpy as np
from flax import nnx

from number_file import show

jax.config.update("jax_enable_x64", True)

# name, rows, (H,W,C), n, window, strides, dilations, groups, padding
CASES = [
    ("dilated", 2, (6, 7, 3), 4, (3, 2), (1, 1), (2, 3), 1, "SAME"),
    ("grouped", 2, (5, 4, 6), 9, (2, 3), (2, 1), (1, 1), 3, "VALID"),
    ("depthwise", 2, (6, 5, 20), 20, (3, 3), (1, 2), (1, 1), 20, "SAME"),
    ("padded", 1, (4, 5, 2), 3, (3, 3), (2, 2), (1, 2), 1, ((0, 3), (5, 1))),
    ("all", 2, (7, 6, 4), 8, (2, 3), (3, 1), (2, 1), 2, ((4, 1), (2, 0))),
]


def sines(count, by):
    return np.sin(np.arange(count) * by)


def one(name, rows, image, n, window, strides, dilations, groups, padding):
    shape, kernel = (rows, *image), (*window, image[2] // groups, n)
    x = sines(np.prod(shape), 0.7).reshape(shape)
    w = sines(np.prod(kernel), 1.3).reshape(kernel)

    def conv(x, w):
        return jax.lax.conv_general_dilated(
            x, w, strides, padding, rhs_dilation=dilations,
            feature_group_count=groups,
            dimension_numbers=("NHWC", "HWIO", "NHWC"))

    y, back = jax.vjp(conv, x, w)
    dx, dw = back(sines(y.size, 1.9).reshape(y.shape))
    for part, values in (("y", y), ("dx", dx), ("dw", dw)):
        show(f"{name}/{part}", np.ravel(values).astype(np.float32))


def steps():
    """nnx.Conv over steps of 2 rows."""
    for name, options in (
            ("causal", dict(padding="CAUSAL", kernel_dilation=4)),
            ("padded", dict(padding=[(3, 1)], strides=2)),
            ("grouped", dict(padding="SAME", feature_group_count=3))):
        conv = nnx.Conv(3, 6, (3,), rngs=nnx.Rngs(0), **options)
        conv.kernel.set_value(
            sines(conv.kernel.get_value().size, 1.3).reshape(
                conv.kernel.get_value().shape))
        x = sines(2 * 11 * 3, 0.7).reshape(2, 11, 3)
        show(f"steps/{name}", np.ravel(conv(x)).astype(np.float32))


def main():
    print("# Made by make_convs.py with flax", version("flax"), "and jax",
          version("jax") + ".")
    for case in CASES:
        one(*case)
    steps()


main()
