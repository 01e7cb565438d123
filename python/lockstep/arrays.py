# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as the library reads them: where they are, and what is refused."""

import contextlib

import numpy as np

from . import c
from .nodes import DTYPES, Error


def array(x, dtype=None):
    """x as lockstep reads it: float32, or int32 of whole numbers, C-contiguous.
    A copy unless it is so already; a number that int32 cannot hold is refused.
    """
    x = np.asarray(shared(x))
    if dtype is None:
        dtype = np.int32 if x.dtype.kind in "iub" else np.float32
    y = np.ascontiguousarray(x, dtype=dtype).reshape(x.shape)
    if y.dtype == np.int32 and not np.array_equal(x, y):
        raise ValueError("not all of the numbers are int32")
    return y


def shared(x):
    """The NumPy array of an object that shares its memory by DLPack, as a
    tensor of PyTorch's does; anything else as it is."""
    if isinstance(x, np.ndarray) or not hasattr(x, "__dlpack__"):
        return x
    return np.from_dlpack(x)


def look(name, x):
    """The dtype and the address of an array that is good."""
    if not isinstance(x, np.ndarray):
        raise TypeError(f"{name} is no NumPy array and has no __dlpack__: "
                        "ls.array(x) makes one")
    if x.dtype not in DTYPES or not x.dtype.isnative:
        raise TypeError(f"{name} is {x.dtype}, not float32 or int32: "
                        "ls.array(x) copies it")
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} has a mask, which nobody would look at")
    if not x.flags.c_contiguous or not x.flags.aligned:
        raise ValueError(f"{name} is not C-contiguous, or not aligned: "
                         "ls.array(x) copies it")
    if x.ndim < 1:
        raise ValueError(f"{name} has no axis of rows")
    return DTYPES[x.dtype], x.ctypes.data


@contextlib.contextmanager
def lacking(given, inputs):
    """An input that was not given is the caller's mistake."""
    try:
        yield
    except Error as e:
        if e.status != c.EINVAL or given.keys() >= inputs.keys():
            raise
        raise TypeError(str(e)) from None


def check_shape(name, x, shape):
    if shape is not None and x.shape[1:] != shape:
        raise ValueError(f"{name} has rows of {x.shape[1:]}, not {shape}")


def check_rows(name, x, spec):
    """Checks dtype and shape; returns the address."""
    dtype, _, shape = spec
    found, data = look(name, x)
    if found != dtype:
        raise TypeError(f"{name} is {x.dtype}, not "
                        f"{'float32' if dtype == c.F32 else 'int32'}")
    check_shape(name, x, shape)
    return data
