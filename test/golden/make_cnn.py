#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write cnn.h: what test_cnn.c expects of the tool's cnn and of other CNNs.

    make_cnn.py REFERENCE > cnn.h

REFERENCE is the folder of the JAX fixtures (cnn_plain_dev1.json and its three
siblings).  The other networks, whose windows have all kinds of sizes, strides
and padding, are trained here, on one device: needs jax, flax, optax, numpy.
"""
import hashlib
import json
import os
import sys

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

STEPS = 10
CONV, MAX, AVG, NORM, RELU, END = range(6)
NAMES = ["GOLDEN_" + k for k in "CONV MAX AVG NORM RELU END".split()]
SAME, VALID = range(2)
# kind, channels or groups, window, strides, padding; a dense layer follows
CONFIGS = [
    # the tool's, of other sizes: not square, odd, one channel
    dict(image=(9, 14, 1), classes=3, batch=12, seed=1, data_seed=11, layers=[
        (CONV, 5, 3, 3, 1, 1, SAME), (RELU,), (MAX, 0, 2, 2, 2, 2, VALID),
        (CONV, 17, 3, 3, 1, 1, SAME), (RELU,), (MAX, 0, 2, 2, 2, 2, VALID)]),
    dict(image=(17, 7, 5), classes=7, batch=18, seed=2, data_seed=12, layers=[
        (CONV, 33, 3, 3, 1, 1, SAME), (RELU,), (MAX, 0, 2, 2, 2, 2, VALID),
        (CONV, 6, 3, 3, 1, 1, SAME), (RELU,)]),
    # every operator, every padding
    dict(image=(15, 12, 3), classes=4, batch=6, seed=3, data_seed=13, layers=[
        (CONV, 12, 5, 3, 2, 1, SAME), (NORM, 4), (RELU,),
        (AVG, 0, 3, 2, 1, 2, SAME), (CONV, 8, 2, 4, 1, 1, SAME),
        (MAX, 0, 3, 3, 2, 2, SAME), (CONV, 10, 2, 2, 2, 1, VALID)]),
    dict(image=(11, 11, 2), classes=5, batch=6, seed=4, data_seed=14, layers=[
        (CONV, 6, 4, 4, 3, 2, SAME), (MAX, 0, 2, 3, 1, 2, SAME), (RELU,),
        (CONV, 9, 1, 1, 1, 1, VALID), (NORM, 3),
        (AVG, 0, 2, 2, 1, 1, VALID)]),
]


def load(name):
    return json.load(open(os.path.join(sys.argv[1], name)))


def short(x):
    mantissa, exponent = x.split("p")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}p{exponent}f"


def rows(values, indent=9):
    items = [short(float(x).hex()) + "," for x in values]
    return "\n".join(" " * indent + " ".join(items[i:i + 4])
                     for i in range(0, len(items), 4))


class CNN(nnx.Module):
    def __init__(self, c):
        rngs, shape = nnx.Rngs(c["seed"]), (1,) + c["image"]
        self.plan = tuple(c["layers"])
        for i, layer in enumerate(self.plan):
            kind, rest = layer[0], layer[1:]
            if kind == CONV:
                n, kh, kw, sy, sx, pad = rest
                setattr(self, f"layer{i}", nnx.Conv(
                    shape[3], n, (kh, kw), strides=(sy, sx),
                    padding=["SAME", "VALID"][pad], rngs=rngs))
            elif kind == NORM:
                setattr(self, f"layer{i}", nnx.GroupNorm(
                    shape[3], num_groups=rest[0], rngs=rngs))
            shape = jax.eval_shape(lambda x: self.apply(i, x),
                                   jnp.zeros(shape)).shape
        self.dense = nnx.Linear(int(np.prod(shape)), c["classes"], rngs=rngs)

    def apply(self, i, x):
        kind, rest = self.plan[i][0], self.plan[i][1:]
        if kind in (CONV, NORM):
            return getattr(self, f"layer{i}")(x)
        if kind == RELU:
            return nnx.relu(x)
        pool = nnx.max_pool if kind == MAX else nnx.avg_pool
        _, kh, kw, sy, sx, pad = rest
        return pool(x, (kh, kw), strides=(sy, sx),
                    padding=["SAME", "VALID"][pad])

    def __call__(self, x):
        for i in range(len(self.plan)):
            x = self.apply(i, x)
        return self.dense(x.reshape(x.shape[0], -1))


def sha256(model):
    """over the values of all arrays in the order of their paths"""
    sha = hashlib.sha256()
    arrays = {".".join(map(str, path)): v for path, v in
              nnx.to_flat_state(nnx.state(model, nnx.Param))}
    for name in sorted(arrays):
        sha.update(np.asarray(arrays[name][...], "<f4").tobytes())
    return sha.hexdigest()


def train(c):
    model = CNN(c)
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    first, losses = sha256(model), []
    rs = np.random.RandomState(c["data_seed"])

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(
            lambda m: optax.softmax_cross_entropy_with_integer_labels(
                m(x), y).mean())(model)
        optimizer.update(model, grads)
        return loss

    for _ in range(STEPS):
        x = rs.rand(c["batch"], *c["image"]).astype(np.float32)
        y = rs.randint(0, c["classes"], size=c["batch"])
        losses.append(float(step(model, optimizer, x, y)))
    return first, losses


def plain():
    runs = [load(f"cnn_plain_dev{n}.json") for n in (1, 2, 4, 8)]
    print("""/* 20 steps of batch 128 on each number of devices; its
 * parameters in canonical order, and the SHA-256 of their first values as
 * little-endian floats. */
typedef struct golden_cnn_run {
    int devices;
    float loss[20], accuracy[20];
} golden_cnn_run;

static const golden_cnn_run golden_cnn_runs[] = {""")
    for r in runs:
        loss, accuracy = ([float.fromhex(s[k]["hex"]) for s in r["steps"]]
                          for k in ("loss", "accuracy"))
        print(f"    {{{r['devices']}, {{\n{rows(loss)}\n    }}, "
              f"{{\n{rows(accuracy)}\n    }}}},")
    print("""};

typedef struct golden_cnn_array {
    const char *name;
    int64_t size;
    const char *sha256;
} golden_cnn_array;

static const golden_cnn_array golden_cnn_arrays[] = {""")
    for name, a in sorted(runs[0]["params_init"].items()):
        print(f"    {{\"{name}\", {int(np.prod(a['shape']))},\n"
              f"     \"{a['sha256_f32_le']}\"}},")
    print("};\n")


def others():
    print("""/* Other networks, 10 steps; layers are named "layer<i>" by their place, the
 * dense one at the end "dense".  sha256 is of all first parameters' values in
 * canonical order. */
typedef enum golden_kind {
    GOLDEN_CONV, GOLDEN_MAX, GOLDEN_AVG, GOLDEN_NORM, GOLDEN_RELU, GOLDEN_END
} golden_kind;

typedef struct golden_layer {
    golden_kind kind;
    int64_t n; /* channels or groups */
    int64_t kh, kw, sy, sx;
    int padding; /* 0 SAME, 1 VALID */
} golden_layer;

typedef struct golden_net {
    int64_t image[3], classes, batch;
    int64_t seed;
    uint32_t data_seed;
    golden_layer layer[8];
    const char *sha256;
    float loss[10];
} golden_net;

static const golden_net golden_nets[] = {""")
    for c in CONFIGS:
        sha, losses = train(c)
        layers = ",\n      ".join(
            "{" + ", ".join([NAMES[layer[0]]] + [str(v) for v in (
                layer[1:] + (0,) * 6)[:6]]) + "}"
            for layer in c["layers"] + [(END,)])
        image = ", ".join(map(str, c["image"]))
        print(f"    {{{{{image}}}, {c['classes']}, {c['batch']}, {c['seed']}, "
              f"{c['data_seed']},\n     {{{layers}}},\n"
              f"     \"{sha}\", {{\n{rows(losses)}\n    }}}},")
    print("};\n")


print(f"""/* Made by make_cnn.py from the JAX fixtures and with jax {jax.__version__}, flax
 * {flax.__version__}, optax {optax.__version__}, numpy {np.__version__}; not edited by hand. */
#ifndef GOLDEN_CNN_H
#define GOLDEN_CNN_H

#include <stdint.h>

// clang-format off
""")
plain()
others()
print("// clang-format on\n\n#endif")
