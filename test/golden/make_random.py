#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write random.h: what test_random.c expects, as C tables.

    make_random.py REFERENCE > random.h

REFERENCE is the folder of the JAX fixtures (vectors.json, linear.json,
linear.safetensors, lm_replicated_dev1.json, cnn_plain_dev1.json), which were
made with jax 0.10.2, flax 0.12.8, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU
with FMA.  The streams of RandomState are drawn here, with NumPy itself.
"""
import hashlib
import json
import os
import struct
import sys

import numpy as np


def load(name):
    return json.load(open(os.path.join(sys.argv[1], name)))


def sha(array, kind):
    return hashlib.sha256(np.ascontiguousarray(array, kind).tobytes()).hexdigest()


def tensor(name, data={}):
    """a tensor of linear.safetensors as raw bytes"""
    if not data:
        raw = open(os.path.join(sys.argv[1], "linear.safetensors"), "rb").read()
        size = struct.unpack("<Q", raw[:8])[0]
        data.update(header=json.loads(raw[8:8 + size]), body=raw[8 + size:])
    first, last = data["header"][name]["data_offsets"]
    return data["body"][first:last]


def short(x):
    """a hex float of the fixtures as C writes a float"""
    mantissa, exponent = x.split("p")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}p{exponent}f"


def rows(items, width=76):
    line, out = "   ", []
    for i in items:
        if line.strip() and len(line) + len(i) + 2 > width:
            out.append(line)
            line = "   "
        line += " " + i + ","
    return "\n".join(out + [line])


def table(kind, name, items, inner=""):
    print(f"static const {kind} {name}[]{inner} = {{\n{rows(items)}\n}};\n")


def flat(x):
    return sum((flat(i) for i in x), []) if isinstance(x, list) else [x]


V = load("vectors.json")
floats = lambda name, key: table("float", name, map(short, flat(V[key])))
words = lambda name, key: table("uint32_t", name, flat(V[key]))
ints = lambda name, key: table("int64_t", name, map(str, V[key]))
pairs = lambda name, d: table("float", name, (
    "{%s, %s}" % (short(x), short(y)) for x, y in d.items()), "[2]")

print("""/* Made by make_random.py from the JAX fixtures (jax 0.10.2, flax 0.12.8,
 * numpy 2.4.6); not edited by hand. */
#ifndef GOLDEN_RANDOM_H
#define GOLDEN_RANDOM_H

#include <stdint.h>

// clang-format off

/* Keys are two words each, of PRNGKey(42) unless the name says otherwise. */
""")
words("golden_split", "split(PRNGKey(42),3)")
words("golden_fold_in_7", "fold_in(PRNGKey(42),7)")
words("golden_bits", "random_bits(PRNGKey(42),4)")
words("golden_nnx_keys_of_0", "nnx.Rngs(0) first keys")
floats("golden_uniform", "uniform(PRNGKey(42),4)")
floats("golden_uniform_1_1", "uniform(PRNGKey(42),4,-1,1)")
floats("golden_normal", "normal(PRNGKey(42),4)")
floats("golden_truncated", "truncated_normal(PRNGKey(42),-2,2,4)")
ints("golden_randint", "randint(PRNGKey(42),8,0,100)")
ints("golden_bernoulli", "bernoulli(PRNGKey(42),0.5,8)")
ints("golden_permutation", "permutation(PRNGKey(42),10)")
V["erf_inv"] = {np.float32(float.fromhex(x)).item().hex(): y
                for x, y in V["erf_inv"].items()}
pairs("golden_erf_inv", V["erf_inv"])
pairs("golden_log1p", V["log1p"])

print("/* Initial values of one layer made with nnx.Rngs(0). */")
floats("golden_nnx_linear_3_2", "nnx.Linear(3,2,rngs=nnx.Rngs(0)).kernel")
floats("golden_nnx_embed_4_3", "nnx.Embed(4,3,rngs=nnx.Rngs(0)).embedding")

print("/* Keys of parameters in linen scopes, root PRNGKey(42). */")
lm_keys = next(v for k, v in V.items() if k.endswith("keys (PRNGKey(42))"))
table("struct { const char *scope; uint32_t word[2]; }", "golden_linen", (
    '{"%s", {%s, %s}}' % (k.rpartition("/")[0].replace("/", "."), *w)
    for k, w in lm_keys.items()))

print("/* 1 - b^n for n = 1, 2, 10. */")
floats("golden_bias_0_9", "bias correction 1-0.9^n")
floats("golden_bias_0_999", "bias correction 1-0.999^n")

print("/* RandomState(seed in the name). */")
ints("golden_mt_raw_1234", "RandomState(1234) raw words")
ints("golden_mt_randint_1234", "RandomState(1234).randint(0,512,8,dtype=int32)")
floats("golden_mt_rand_7", "RandomState(7).rand(3) as float32")
floats("golden_mt_randn_100", "RandomState(100).randn(3) as float32")
ints("golden_mt_permutation_0", "RandomState(0).permutation(8)")
R = np.random.RandomState
low, high = -2**40, 2**41 + 12345
table("int64_t", "golden_mt_wide_5", map(str, R(5).randint(low, high, 8)))
print("/* SHA-256 of RandomState(0): rand(5001) as float64, permutation(4001),\n"
      " * and of RandomState(1234).randint(0, 512, (8192, 64), int32), the tokens\n"
      " * of the lm. */")
table("char *const", "golden_mt_sha", [
    f'"{sha(R(0).rand(5001), "<f8")}"',
    f'"{sha(R(0).permutation(4001), "<i8")}"',
    f'"{sha(R(1234).randint(0, 512, (8192, 64), np.int32), "<i4")}"'])

print("/* Linear regression: nnx.Linear's initial weights, and the data as float32;\n"
      " * SHA-256 of little-endian float32. */")
table("struct { int64_t seed; uint32_t data_seed; int64_t n, d_in, d_out;\n"
      "    const char *kernel, *x, *y; }", "golden_linear", (
    '{%d, %d, %d, %d, %d,\n     %s}' % (
        c["seed"], c["data_seed"], c["N"], c["D_in"], c["D_out"],
        ",\n     ".join('"%s"' % hashlib.sha256(
            tensor(f'{c["name"]}.{t}')).hexdigest()
                        for t in ("kernel0", "x", "y")))
    for c in load("linear.json")["cases"]))

HASHED = "struct { const char *name; int rank; int64_t shape[4];\n    const char *sha; }"


def hashed(name, params):
    table(HASHED, name, (
        '{"%s", %d, {%s},\n     "%s"}' % (
            k.replace("/", "."), len(p["shape"]),
            ", ".join(map(str, p["shape"])), p["sha256_f32_le"])
        for k, p in params.items()))


print("/* The cnn and the lm: initial parameters. */")
hashed("golden_cnn", load("cnn_plain_dev1.json")["params_init"])
hashed("golden_lm", load("lm_replicated_dev1.json")["params_init"])
print("// clang-format on\n\n#endif")
