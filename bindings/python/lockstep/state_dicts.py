# SPDX-License-Identifier: BSD-3-Clause
"""Weights to and from a state_dict of PyTorch's, in memory.  PyTorch is not
imported: tensors are asked by their methods, and NumPy arrays are good too.

In C there is one way, ls_trainer_load_torch, which knows names and layouts.  The
way back is found by it: numbers that say where they come from are loaded, and
where they arrive is what each weight has come from.
"""

import json
import os
import re
import tempfile

import numpy as np

from .arrays import unmasked
from .nodes import Error, do

_NAMES = {"<f2": "F16", "<f4": "F32", "<f8": "F64", "<i2": "I16", "<i4": "I32",
          "<i8": "I64", "|i1": "I8", "|u1": "U8", "|b1": "BOOL"}

# Numbers below this are exact as floats.
_DIGIT = 1 << 23

# A layer that has one bias gets the sum of these and of bias_ih_l0.
_SECOND = re.compile(r"(^|\.)bias_hh_l\d+")


def _numpy(x):
    if not hasattr(x, "detach"):
        return np.asarray(unmasked("a tensor", x))
    x = x.detach()
    return (x.float() if x.is_floating_point() else x).cpu().numpy()


def take(trainer, state_dict, names, layers):
    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        path = os.path.join(folder, "state_dict.safetensors")
        _write(path, {n: _numpy(x) for n, x in state_dict.items()})
        try:
            do.trainer_load_torch(trainer.of, path, names, layers)
        except Error as error:
            error.args = (str(error).replace(path, "state_dict"),)
            raise


def _write(path, arrays):
    """A safetensors file."""
    head, at = {}, 0
    for name, x in arrays.items():
        kind = x.dtype.newbyteorder("<").str
        if kind not in _NAMES:
            more = f'; is state_dict["{name}"] meant?' if kind == "|O" else ""
            raise TypeError(f"{name} is {x.dtype}, which no file holds{more}")
        head[name] = {"dtype": _NAMES[kind], "shape": list(x.shape),
                      "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for x in arrays.values():
            f.write(np.ascontiguousarray(x, x.dtype.newbyteorder("<")).data)


def give(trainer, state_dict, layers):
    before = {n: trainer[n] for n in trainer.shapes()}
    whole = {n: np.array(_numpy(x)) for n, x in state_dict.items()}
    try:
        _fill(trainer, before, whole, layers)
    finally:
        for name, x in before.items():
            trainer[name] = x
    for name, x in whole.items():
        if x.dtype.kind == "f":
            _put(state_dict[name], x)
    return state_dict


def _put(there, x):
    if hasattr(there, "copy_"):
        there.detach().copy_(there.detach().new_tensor(x))
    else:
        there[...] = x


def _fill(trainer, before, whole, layers):
    """Write the weights into arrays of floats, and prove that they come back."""
    first = {n: x for n, x in whole.items()
             if x.dtype.kind == "f" and not _SECOND.search(n)}
    second = {n: x for n, x in whole.items() if _SECOND.search(n)}
    from_first = _origins(trainer, whole, first, layers)
    from_second = _origins(trainer, whole, second, layers)
    flat = {n: np.zeros(x.size, np.float64) for n, x in first.items()}
    flat.update({n: np.zeros(x.size, np.float64) for n, x in second.items()})
    for name, weights in before.items():
        w, a, b = (x.ravel() for x in (weights, from_first[name],
                                       from_second[name]))
        _scatter(flat, first, a, w)
        _scatter(flat, second, np.where(a > 0, 0, b), w)
    for name, x in flat.items():
        whole[name][...] = x.reshape(whole[name].shape)
    take(trainer, whole, None, layers)
    for name, x in before.items():
        if not np.array_equal(trainer[name], x.astype(np.float32)):
            raise ValueError(f"{name} cannot be told by tensors of this "
                             "state_dict: what is loaded from them is not what "
                             "stands in one of them")


def _origins(trainer, whole, numbered, layers):
    """Of each weight 1 + the place of its origin among the elements of the
    arrays `numbered`, laid end to end; 0: it has none there."""
    count = sum(x.size for x in numbered.values())
    found = {n: 0 for n in trainer.shapes()}
    for digit in range(2 if count >= _DIGIT else 1):
        probe, at = {n: np.zeros_like(x) if x.dtype.kind == "f" else x
                     for n, x in whole.items()}, 1
        for name, x in numbered.items():
            numbers = np.arange(at, at + x.size).reshape(x.shape)
            probe[name] = (numbers // _DIGIT ** digit % _DIGIT).astype(
                np.float32)
            at += x.size
        take(trainer, probe, None, layers)
        for name in found:
            found[name] = found[name] + (
                trainer[name].astype(np.int64) * _DIGIT ** digit)
    return {n: np.where((x < 0) | (x > count), 0, x) for n, x in found.items()}


def _scatter(flat, numbered, origin, weights):
    at = 1
    for name, x in numbered.items():
        here = (origin >= at) & (origin < at + x.size)
        flat[name][origin[here] - at] = weights[here]
        at += x.size
