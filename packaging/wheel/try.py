# SPDX-License-Identifier: BSD-3-Clause
"""What packaging/wheel/try asks of an installed wheel."""

import ctypes as C
import os
import platform
import resource
import shutil
import subprocess
import sys

import numpy as np

import lockstep as ls

MOST_MS = 50
STATE = "ac151c310daa20826a79f265ffbf6eea8b3db7e9df9037908ac54ebf25cf5cf5"


def times(code):
    """The least milliseconds of the processor that Python takes for it."""
    least = float("inf")
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        least = min(least, 1e3 * (after.ru_utime + after.ru_stime -
                                  before.ru_utime - before.ru_stime))
    return least


def train(workers):
    g = ls.Graph()
    x, y = g.input("x", (2,)), g.input("y", (1,))
    out = ls.dense(ls.gelu(ls.dense(x, 32, "hidden")), 1, "out")
    g.output(out, "product")
    g.loss(ls.mean_squared_error(out, y))
    rows = np.random.default_rng(0).uniform(-1, 1, (64, 2)).astype("f4")
    with ls.Trainer(g, optimizer=ls.adam(1e-2), workers=workers) as t:
        for _ in range(200):
            r = t.step(x=rows, y=ls.array(rows[:, :1] * rows[:, 1:]))
        assert r.loss < 0.01, r
        t.save_model("model.safetensors")
        p = ls.Predictor("model.safetensors").predict("product", x=rows)
        assert np.array_equal(p, t.predict("product", x=rows))
        return t.hash


def level():
    """The name of the kernels that are used."""
    level, i = ls.c.Isa(), 0
    while ls.c.ls_isa_level_bytes(i, C.byref(level), C.sizeof(level)):
        if level.used:
            return level.name.decode()
        i += 1


assert not shutil.which("cc") and not shutil.which("gcc")
folder = os.path.dirname(ls.__file__)
assert os.path.dirname(ls.ctypes_of.path) == folder, ls.ctypes_of.path
assert ls.c.ls_npy_shape(b"none.npy", None) < 0  # of liblockstep_data
assert train(1) == train(2) == STATE
if "avx2" in open("/proc/cpuinfo").read() and "emulated" not in sys.argv:
    assert level() != "x86-64-v2", "the library does not know the processor"
size = sum(os.path.getsize(os.path.join(folder, n)) for n in os.listdir(folder)
           if ".so" in n)
print(f"wheel: lockstep {ls.version()} trains on {platform.machine()}; libraries "
      f"of {size / 1e6:.1f} MB")
if "emulated" not in sys.argv:  # where no program can be started
    tools = os.path.dirname(sys.executable)
    model = ["--rows", "64", "--hidden", "8", "--steps", "6"]
    subprocess.run([os.path.join(tools, "lockstep-train"), "mlp", *model,
                    "--transcript", "run.lst", "--save", "run.st"], check=True)
    said = subprocess.run([os.path.join(tools, "lockstep-verify"), "run.lst",
                           "--weights", "run.st"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    assert "model   same" in said, said
    ms = times("import lockstep") - times("import numpy, ctypes")
    assert ms < MOST_MS, f"import lockstep takes {ms:.1f} ms besides NumPy's"
    print(f"wheel: imported in {ms:.1f} ms of the processor")
