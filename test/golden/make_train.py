#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write train.h and train.txt: what test_agreement.c expects of linear and lm.

    make_train.py REFERENCE train.txt > train.h

REFERENCE is the folder of the JAX fixtures (linear.json, linear.safetensors,
lm_replicated_dev1.json and its five siblings), which were made with jax
0.10.2, flax 0.12.8, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU with FMA.
Needs Python alone.
"""
import json
import os
import struct
import sys

from number_file import show

LM_RUNS = [(mode, n) for mode in ("replicated", "fsdp") for n in (1, 2, 4)]


def load(name):
    return json.load(open(os.path.join(sys.argv[1], name)))


def losses(run):
    return [float.fromhex(x["hex"]) for x in run["losses"]]


def tensor(name, data={}):
    """a tensor of linear.safetensors as floats"""
    if not data:
        raw = open(os.path.join(sys.argv[1], "linear.safetensors"), "rb").read()
        size = struct.unpack("<Q", raw[:8])[0]
        data.update(header=json.loads(raw[8:8 + size]), body=raw[8 + size:])
    first, last = data["header"][name]["data_offsets"]
    body = data["body"][first:last]
    return struct.unpack(f"<{len(body) // 4}f", body)


def linear(numbers):
    print("# linear/CASE/params: kernel and bias before the first step, after 1 "
          "and after 20.", file=numbers)
    print("""/* Linear regression: 20 steps on one batch, randn x then y from data_seed. */
typedef struct golden_linear {
    int64_t seed;
    uint32_t data_seed;
    int64_t rows, d_in, d_out;
    int devices;
    double lr;
} golden_linear;

static const golden_linear golden_linears[] = {""")
    for i, c in enumerate(load("linear.json")["cases"]):
        size = ", ".join(str(c[k]) for k in ("seed", "data_seed", "N", "D_in",
                                             "D_out", "num_devices", "lr"))
        print(f"    {{{size}}},")
        show(f"linear/{i}/loss", losses(c), numbers)
        show(f"linear/{i}/params",
             [x for steps in ("0", "1", "20") for part in ("kernel", "bias")
              for x in tensor(f"{c['name']}.{part}{steps}")], numbers)
    print("};\n")


def lm(numbers):
    runs = [load(f"lm_{mode}_dev{n}.json") for mode, n in LM_RUNS]
    for (mode, n), run in zip(LM_RUNS, runs):
        show(f"lm/{mode}/{n}/loss", losses(run), numbers)
    print("""/* The lm's parameters in canonical order, and the SHA-256 of their first
 * values as little-endian floats. */
typedef struct golden_array {
    const char *name;
    int64_t size;
    const char *sha256;
} golden_array;

static const golden_array golden_lm_arrays[] = {""")
    init = runs[0]["params_init"]
    for name, shape in runs[0]["param_names_and_shapes"]:
        size = 1
        for n in shape:
            size *= n
        print(f"    {{\"{name.replace('/', '.')}\", {size},\n"
              f"     \"{init[name]['sha256_f32_le']}\"}},")
    print("};\n")


print("""/* Made by make_train.py from the JAX fixtures (jax 0.10.2, flax 0.12.8,
 * optax 0.2.8, numpy 2.4.6); not edited by hand. */
#ifndef GOLDEN_TRAIN_H
#define GOLDEN_TRAIN_H

#include <stdint.h>

// clang-format off
""")
with open(sys.argv[2], "w") as numbers:
    print("# Made by make_train.py from the JAX fixtures (jax 0.10.2, flax 0.12.8, "
          "optax\n# 0.2.8, numpy 2.4.6); not edited by hand.", file=numbers)
    linear(numbers)
    lm(numbers)
print("// clang-format on\n\n#endif")
