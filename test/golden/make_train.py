#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write train.h: what test_agreement.c expects of linear and lm.

    make_train.py REFERENCE > train.h

REFERENCE is the folder of the JAX fixtures (linear.json, linear.safetensors,
lm_replicated_dev1.json and its five siblings), which were made with jax
0.10.2, flax 0.12.8, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU with FMA.
Needs Python alone.
"""
import json
import os
import struct
import sys

LM_RUNS = [(mode, n) for mode in ("replicated", "fsdp") for n in (1, 2, 4)]


def load(name):
    return json.load(open(os.path.join(sys.argv[1], name)))


def short(x):
    """a hex float as C writes a float"""
    mantissa, exponent = x.split("p")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}p{exponent}f"


def rows(items, indent=4, width=78):
    line, out = " " * (indent - 1), []
    for i in items:
        if line.strip() and len(line) + len(i) + 2 > width:
            out.append(line)
            line = " " * (indent - 1)
        line += " " + i + ","
    return "\n".join(out + [line])


def tensor(name, data={}):
    """a tensor of linear.safetensors as C floats"""
    if not data:
        raw = open(os.path.join(sys.argv[1], "linear.safetensors"), "rb").read()
        size = struct.unpack("<Q", raw[:8])[0]
        data.update(header=json.loads(raw[8:8 + size]), body=raw[8 + size:])
    first, last = data["header"][name]["data_offsets"]
    body = data["body"][first:last]
    return [short(x.hex()) for x in struct.unpack(f"<{len(body) // 4}f", body)]


def linear():
    cases, values = load("linear.json")["cases"], []
    print("""/* Linear regression: 20 steps on one batch, randn x then y from data_seed.  After
 * the losses in golden_linear_values: kernel and bias before the first step,
 * after 1 and after 20, case after case. */
typedef struct golden_linear {
    int64_t seed;
    uint32_t data_seed;
    int64_t rows, d_in, d_out;
    int devices;
    double lr;
    float loss[20];
} golden_linear;

static const golden_linear golden_linears[] = {""")
    for c in cases:
        size = ", ".join(str(c[k]) for k in ("seed", "data_seed", "N", "D_in",
                                             "D_out", "num_devices", "lr"))
        losses = rows([short(x["hex"]) for x in c["losses"]], 9)
        print(f"    {{{size}, {{\n{losses}\n    }}}},")
        for steps in ("0", "1", "20"):
            for part in ("kernel", "bias"):
                values += tensor(f"{c['name']}.{part}{steps}")
    print("};\n")
    print(f"static const float golden_linear_values[] = {{\n{rows(values)}\n}};"
          "\n")


def lm():
    runs = [load(f"lm_{mode}_dev{n}.json") for mode, n in LM_RUNS]
    print("""/* The lm: 50 losses of each of its runs. */
typedef struct golden_lm_run {
    const char *mode;
    int devices;
    float loss[50];
} golden_lm_run;

static const golden_lm_run golden_lm_runs[] = {""")
    for (mode, n), run in zip(LM_RUNS, runs):
        losses = rows([short(x["hex"]) for x in run["losses"]], 9)
        print(f"    {{\"{mode}\", {n}, {{\n{losses}\n    }}}},")
    print("""};

/* Its parameters in canonical order, and the SHA-256 of their first values as
 * little-endian floats. */
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
linear()
lm()
print("// clang-format on\n\n#endif")
