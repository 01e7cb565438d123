#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write variants.h: what test_cnn.c expects of the variants of a cnn.

    make_variants.py REFERENCE > variants.h

REFERENCE is the folder of the JAX fixtures (cnn_accum_dev1.json and so on),
which were made with jax 0.10.2, flax 0.12.8, optax 0.2.8, numpy 2.4.6 on an
x86-64 CPU with FMA.  Needs Python alone.
"""
import json
import os
import sys

VARIANTS = ["accum", "mask_global", "mask_mean", "bf16_seed",
            "bf16_model"]
DEVICES = [1, 2, 4, 8]


def load(variant, devices):
    name = f"cnn_{variant}_dev{devices}.json"
    return json.load(open(os.path.join(sys.argv[1], name)))


def short(x):
    """a hex float as C writes a float"""
    mantissa, exponent = x.split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}f"


def rows(items, indent=6, width=78):
    line, out = " " * (indent - 1), []
    for i in items:
        if line.strip() and len(line) + len(i) + 2 > width:
            out.append(line)
            line = " " * (indent - 1)
        line += " " + i + ","
    return "\n".join(out + [line])


def check(run):
    """the test has these numbers in it"""
    c = run["config"]
    assert (c["seed"], c["data_seed"], c["batch"], c["lr"]) == (0, 7, 128, 1e-3)
    assert (c["H"], c["W"], c["C"], c["c1"], c["c2"], c["classes"]) == (
        32, 32, 3, 32, 64, 10)
    assert (c["micro"], c["mask_mul"], c["mask_mod"]) == (4, 3, 15)
    for s in run["steps"]:
        want = 1 + 3 * s["step"] % 15
        assert s.get("masked_rows_at_end", want) == want


print("""/* Made by make_variants.py from runs of a cnn in JAX (jax 0.10.2, flax
 * 0.12.8, optax 0.2.8, numpy 2.4.6): the loss of each step, and the accuracy of
 * the first. */
enum { GOLDEN_STEPS = 20 };

typedef struct golden_variant {
    const char *variant;
    int devices;
    float accuracy;
    float loss[GOLDEN_STEPS];
} golden_variant;

static const golden_variant golden_variants[] = {""")
for variant in VARIANTS:
    for devices in DEVICES:
        run = load(variant, devices)
        check(run)
        first = run["steps"][0]["accuracy"]["hex"]
        losses = rows([short(s["loss"]["hex"]) for s in run["steps"]])
        print(f'    {{"{variant}", {devices}, {short(first)},')
        print("     {" + losses.strip().rstrip(",") + "}},")
print("};")
