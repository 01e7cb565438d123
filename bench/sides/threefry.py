# SPDX-License-Identifier: BSD-3-Clause
"""jax.random.fold_in and randint in NumPy (threefry2x32, partitionable), so
that a peer draws what lockstep draws without JAX being installed."""
import numpy as np

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key, x0, x1):
    k0, k1 = (np.uint32(k) for k in key)
    ks = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x0, x1 = np.uint32(x0) + ks[0], np.uint32(x1) + ks[1]
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(r) | x1 >> np.uint32(32 - r)) ^ x0
        x0 = x0 + ks[(i + 1) % 3]
        x1 = x1 + ks[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


def fold_in(key, n):
    with np.errstate(over="ignore"):
        return tuple(int(x) for x in threefry(key, 0, n))


def bits(key, n):
    x0, x1 = threefry(key, np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32))
    return x0 ^ x1


def randint(key, n, end):
    """n integers in [0, end), as jax.random.randint for int32."""
    end = np.uint32(end)
    high, low = (bits(fold_in(key, i), n) for i in range(2))
    by = np.uint32((2**16 % int(end))**2 % 2**32 % int(end))
    return ((high % end * by + low % end) % end).astype(np.int32)
