# SPDX-License-Identifier: BSD-3-Clause
"""lockstep from Python, on ctypes and NumPy.

    import lockstep as ls

    g = ls.Graph()
    x, y = g.input("x", (2,)), g.input("y", (1,))
    h = ls.gelu(ls.dense(x, 32, "hidden"))
    out = ls.dense(h, 1, "out")
    g.output(out, "product")
    g.loss(ls.mean_squared_error(out, y))

    t = ls.Trainer(g, optimizer=ls.adam(1e-2), devices=4)
    for _ in range(200):
        r = t.step(x=xs, y=ys)          # NumPy arrays, not copied
    t.save_model("product.safetensors")

    p = ls.Predictor("product.safetensors")
    p.predict("product", x=xs[:1])

Every builder of nodes that C has is here under its name without ls_ and with
its documentation: help(ls.conv2d).  Nodes take + - * / ** @ with nodes and
numbers, and x[0:2].  An option that is a constant in C is its word or the
constant: precision="bf16" or ls.BF16_LAYERS.  ls.c has all functions and
structs of the headers.

Arrays that are float32 or int32 and C-contiguous are read where they are:
NumPy's, and what shares its memory by DLPack (__dlpack__), as tensors of
PyTorch do.  Others, lists too, are copied when they are given (ls.array(x)
makes such a copy): floats are rounded to float32, and a number that the input
cannot hold is refused, as a whole one beyond int32 is, or one that float32 would
round.  A failure raises ls.Error, which has a status and the words of
ls_errmsg().  Each call stands alone: what it needs is given to it.

Every call of the library leaves the interpreter's lock (GIL) free, so that
other threads go on during a step.  Ctrl-C ends the step that runs:
KeyboardInterrupt comes when it is done, and the trainer is as that step left
it.

The library is the one in this package, where it came as a wheel, else
liblockstep.so.2 in sys.prefix/lib, as in conda, or of the system;
LOCKSTEP_LIBRARY names another file.
"""

import builtins

from . import builders, c
from .arrays import array
from .builders import *  # noqa: F401,F403
from .c import (Boundary, Group, Init, Optimizer, Result, Schedule, Window)
from .data import Loader, Source, TableModel, archive
from .onnx import Onnx, from_onnx, from_torch
from .nodes import (Error, Graph, Node, initialiser, initialisers,
                    orthogonal_init, random_init, variance_init)
from .predicting import Generator, Predictor
from .runs import Checkpoints, Transcript
from .training import (EarlyStop, Gradients, Plateau, Trainer, frozen, group,
                       no_decay, schedule)

# Constants of the headers, LS_BF16_LAYERS as BF16_LAYERS.
globals().update({n: v for n, v in vars(c).items() if isinstance(v, int)})

# abs, max, min, pow and slice are here, but an import of * leaves Python's own.
__all__ = [n for n in builders.__all__ if not hasattr(builtins, n)] + [
    n for n, v in vars(c).items() if isinstance(v, int)] + [
    "Boundary", "Checkpoints", "EarlyStop", "Error", "Generator", "Gradients",
    "Graph", "Group", "Init", "Loader", "Node", "Onnx", "Optimizer", "Plateau",
    "Predictor", "Result", "Schedule", "Source", "TableModel", "Trainer",
    "Transcript", "Window", "archive", "array", "from_onnx", "from_torch",
    "frozen", "group",
    "initialiser", "initialisers", "no_decay", "orthogonal_init",
    "random_init", "schedule", "variance_init", "version",
]


def version():
    """The version of the library, "1.2.3"."""
    return c.ls_version().decode()


__version__ = version()


def __dir__():
    return sorted(set(__all__) | set(builders.__all__) | {"c"})
