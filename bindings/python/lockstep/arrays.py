# SPDX-License-Identifier: BSD-3-Clause
"""Arrays as the library reads them: where they are, and what is refused."""

import contextlib

import numpy as np

from . import c
from .nodes import DTYPES, Error


def array(x, dtype=None):
    """x as lockstep reads it: float32, or int32 of whole numbers, C-contiguous.
    A copy unless it is so already; a number that cannot be held is refused.
    """
    return good("the array", x, dtype, axes=0)


def unmasked(name, x):
    """x, unless a mask hides values of it, which nobody would look at."""
    if np.ma.is_masked(x):
        raise TypeError(f"{name} has a mask; x.filled(numpy.nan) makes missing "
                        "values of what it hides, x.filled(0) zeros")
    return x


def good(name, x, dtype=None, axes=1):
    """x where it is as the library reads it, else a copy that is."""
    if (type(x) is np.ndarray and x.dtype in DTYPES and x.ndim >= axes and
            x.flags.carray and (dtype is None or x.dtype == dtype)):
        return x
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        x = np.from_dlpack(x)
    try:
        x = np.asarray(unmasked(name, x))
    except ValueError as e:
        raise ValueError(f"{name} is no array: {e}") from None
    if x.dtype.kind not in "biuf":
        raise TypeError(f"{name} is {x.dtype}, and not of numbers")
    if x.ndim < axes:
        raise ValueError(f"{name} has no axis of rows")
    if dtype is None:
        dtype = np.int32 if x.dtype.kind in "biu" else np.float32
    if x.dtype != dtype:
        x = _converted(name, x, np.dtype(dtype))
    return np.require(x, dtype, "CA")


def _converted(name, x, dtype):
    """Floats are rounded, and whole numbers are not."""
    with np.errstate(all="ignore"):
        y = x.astype(dtype)
        if dtype != np.float32:
            bad = y != x
        elif x.dtype.kind == "f":
            bad = np.isinf(y) & np.isfinite(x)
        else:
            bad = y.astype(np.longdouble) != x
    if bad.any():
        at = np.unravel_index(bad.argmax(), bad.shape)
        raise ValueError(f"{name}{[int(i) for i in at]} is {x[at]}, which "
                         f"{dtype} cannot hold")
    return y


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
