# SPDX-License-Identifier: BSD-3-Clause
"""784-512-512-10, and recurrent layers, in KANN, a small framework in C:
fetched, built with its best flags, and run (kann_mlp.c, kann_recurrent.c).

    kann.py --build DIR                     fetch and compile; 1: it cannot
    kann.py --build DIR --init F --x F.npy --y F.npy --metrics F
    kann.py --build DIR --cell lstm|gru --metrics F

Its source is that of one commit, known by checksums; files that are in
DIR/bench-kann already are not asked for again.  Parameters, rows and batches
are lockstep's.  The optimizer is RMSprop, since KANN has no Adam, so the loss
that must agree is that of the first step.

The cnn row it cannot do: a convolution with padding leaves out the kernel's
first row (conv2d_loop1 and 2 of kautodiff.c end at ii < 0).
"""
import argparse
import hashlib
import http.client
import os
import subprocess
import sys
import urllib.request

COMMIT = "e260712e414e1fae5f57a2da6178b7a8af6bf0af"  # r557
FROM = "https://raw.githubusercontent.com/attractivechaos/kann/"
SHA256 = {
    "kann.c":
    "ca957f412ec411239f408fc86d319090ba681228aafc126364adcd66e1b7eaa6",
    "kann.h":
    "274c5afca1d348e2b2a863eff4711ae5ca60389e22a0a95b2b1dc597ac282e40",
    "kautodiff.c":
    "19a9c9242ba2eb297bea335bb65f5ed30660bbf5ad812984e521d42d38e3b2a0",
    "kautodiff.h":
    "5d4c353a46df71bf7c4f1b20308c81419fbc88fcf25e2006fe034795f22321ad",
}
# Its own loops, and its products by BLAS: one thread of BLIS in each of its.
BUILDS = {"own": [], "blas": ["-DHAVE_CBLAS", "-lblis"]}
PROGRAMS = {"kann": "kann_mlp.c", "recurrent": "kann_recurrent.c"}
HERE = os.path.dirname(os.path.abspath(__file__))


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--products", choices=BUILDS, default="own")
    p.add_argument("--cell", choices=("lstm", "gru"))
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--steps", type=int, default=50)
    for name in ("--init", "--x", "--y", "--metrics"):
        p.add_argument(name)
    return p.parse_args()


# ------ the program ------

def fetch(folder, name):
    path = f"{folder}/{name}"
    if not os.path.exists(path):
        try:
            with urllib.request.urlopen(FROM + COMMIT + "/" + name,
                                        timeout=20) as page:
                text = page.read()
        except (OSError, http.client.HTTPException) as e:
            raise OSError(f"KANN cannot be fetched: {e}") from e
        with open(path, "wb") as f:
            f.write(text)
    with open(path, "rb") as f:
        if hashlib.sha256(f.read()).hexdigest() != SHA256[name]:
            raise OSError(f"{path} is not the file of commit {COMMIT[:7]}")


def build(folder):
    os.makedirs(folder, exist_ok=True)
    for name in SHA256:
        fetch(folder, name)
    for program, source in PROGRAMS.items():
        for name, flags in BUILDS.items():
            subprocess.run(
                ["cc", "-std=gnu11", "-O3", "-march=native", "-w",
                 "-DHAVE_PTHREAD", "-I", folder, folder + "/kann.c",
                 folder + "/kautodiff.c", f"{HERE}/{source}", "-o",
                 f"{folder}/{program}-{name}", "-pthread", *flags, "-lm"],
                check=True)


# ------ what it is given ------

def parameters(init):
    """lockstep's matrices are (in,out), KANN's (out,in)."""
    for i in range(3):
        yield init[f"layers.{i}.kernel"].T.ravel()
        yield init[f"layers.{i}.bias"]


def write(o, folder):
    """-> the files' names, by the driver's options."""
    import numpy as np
    from lm_shared import read_safetensors
    arrays = {"params": np.concatenate([*parameters(read_safetensors(o.init))]),
              "x": np.load(o.x), "y": np.eye(10)[np.load(o.y)]}
    for name, a in arrays.items():
        a.astype("<f4").tofile(f"{folder}/{name}")
    return [word for name in arrays
            for word in ("--" + name, f"{folder}/{name}")]


def main():
    o = options()
    folder = o.build + "/bench-kann"
    if o.cell:
        program = f"{folder}/recurrent-{o.products}"
        os.execv(program, [program, "--cell", o.cell, "--steps", str(o.steps),
                           "--threads", str(o.threads), "--metrics",
                           o.metrics])
    if o.init:
        program = f"{folder}/kann-{o.products}"
        os.execv(program, [program, *write(o, folder), "--steps",
                           str(o.steps), "--threads", str(o.threads),
                           "--metrics", o.metrics])
    try:
        build(folder)
    except (OSError, subprocess.CalledProcessError) as e:
        sys.exit(str(e))


if __name__ == "__main__":
    main()
