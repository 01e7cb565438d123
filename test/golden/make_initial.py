#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write initial.h and initial.txt: what test_initial.c expects.

    make_initial.py initial.txt > initial.h

Made with jax 0.10.2, flax 0.12.8, numpy 2.4.6:
pip install jax==0.10.2 flax==0.12.8 numpy==2.4.6.
"""
import sys
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx
from jax.nn import initializers as init

from number_file import show


def values(name, x):
    show(name, np.asarray(x, np.float32).ravel(), numbers)


def shape_of(shape):
    return "%d, {%s}" % (len(shape), ", ".join(map(str, shape)))


DRAWS = {"uniform": "LS_UNIFORM", "normal": "LS_NORMAL",
         "truncated_normal": "LS_TRUNCATED_NORMAL"}
FANS = {"fan_in": "LS_FAN_IN", "fan_out": "LS_FAN_OUT",
        "fan_avg": "LS_FAN_AVERAGE"}
KEY = jax.random.key(7)

numbers = open(sys.argv[1], "w")
print(f"# Made by make_initial.py with jax {version('jax')}, flax "
      f"{version('flax')}, numpy {version('numpy')}; not edited\n# by hand.",
      file=numbers)
print(f"""/* Made by make_initial.py with jax {version('jax')}, flax {version('flax')},
 * numpy {version('numpy')}; not edited by hand. */
#ifndef GOLDEN_INITIAL_H
#define GOLDEN_INITIAL_H

#include "lockstep.h"

// clang-format off

/* jax.nn.initializers with key 7. */
static const struct {{
    ls_init init;
    int rank;
    int64_t shape[4];
}} golden_initial[] = {{""")
case = 0
for shape in ((6, 5), (3, 2, 2, 4)):
    for draw, word in DRAWS.items():
        for fan, of in FANS.items():
            x = init.variance_scaling(1.7, fan, draw)(KEY, shape)
            print(f"    {{{{LS_INIT_VARIANCE, {word}, {of}, 1.7, 0, 0}}, "
                  f"{shape_of(shape)}}},")
            values(f"initial/{case}", x)
            case += 1
        x = getattr(init, draw)(0.03)(KEY, shape)
        print(f"    {{{{LS_INIT_RANDOM, {word}, 0, 0.03, 0, 0}}, "
              f"{shape_of(shape)}}},")
        values(f"initial/{case}", x)
        case += 1
print("""};

/* orthogonal(0.7) with key 7, by LAPACK. */
static const struct {
    int rank;
    int64_t shape[4];
} golden_orthogonal[] = {""")
for i, shape in enumerate(((6, 5), (5, 6), (7, 7), (3, 2, 2, 4), (1, 2, 3, 16))):
    x = init.orthogonal(0.7)(KEY, shape)
    print(f"    {{{shape_of(shape)}}},")
    values(f"orthogonal/{i}", x)
print("};\n")

named = {"glorot-uniform": init.glorot_uniform(),
         "he-truncated": init.he_normal(),
         "lecun-uniform": init.lecun_uniform()}
print("""/* Two dense layers, 5 to 4 to 3, by Flax with these kernels. */
static const struct {
    const char *name;
    ls_keys keys;
} golden_layers[] = {""")
for i, (name, kernel) in enumerate(named.items()):
    rngs = nnx.Rngs(3)
    a = nnx.Linear(5, 4, kernel_init=kernel, rngs=rngs)
    b = nnx.Linear(4, 3, kernel_init=kernel, rngs=rngs)
    print(f'    {{"{name}", LS_KEYS_NNX}},')
    values(f"layers/{2 * i}/first", a.kernel[...])
    values(f"layers/{2 * i}/second", b.kernel[...])

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            x = linen.Dense(4, kernel_init=kernel, name="a")(x)
            return linen.Dense(3, kernel_init=kernel, name="b")(x)

    p = Net().init(jax.random.key(3), jnp.zeros((1, 5)))["params"]
    print(f'    {{"{name}", LS_KEYS_LINEN}},')
    values(f"layers/{2 * i + 1}/first", p["a"]["kernel"])
    values(f"layers/{2 * i + 1}/second", p["b"]["kernel"])
numbers.close()
print("};\n\n// clang-format on\n\n#endif")
