# SPDX-License-Identifier: BSD-3-Clause
"""What the declarations in c.py are made of: structs whose members may be given
as words, and parameters that take what a Python program has at hand.

LOCKSTEP_LIBRARY names the library; without it that is the one in this package,
as a wheel has it, that in sys.prefix/lib, as conda has it, or the system's.
What is of liblockstep_data is asked of the file beside it, when it is called.
"""

import ctypes as C
import functools
import operator
import os
import sys

_NAME = "liblockstep.so.2"
_folders = os.path.dirname(os.path.abspath(__file__)), sys.prefix + "/lib"
_found = [f for f in (os.path.join(d, _NAME) for d in _folders)
          if os.path.exists(f)]
path = os.environ.get("LOCKSTEP_LIBRARY") or (_found + [_NAME])[0]
try:
    library = C.CDLL(path)
except OSError as error:
    raise ImportError(f"lockstep's library cannot be loaded: {error} (the wheel "
                      "brings one; LOCKSTEP_LIBRARY names another)") from None
P = C.c_void_p


def _common(words, end):
    """What all words begin with, or end with, up to a _."""
    turn = (lambda w: w[::-1]) if end else (lambda w: w)
    common = os.path.commonprefix([turn(w) for w in words])
    return turn(common[:common.rfind("_") + 1])


class Enum:
    """A C enum: a number, or the word of one of its constants."""

    def __init__(self, name, **constants):
        words = [c.lower() for c in constants]
        first, last = _common(words, False), _common(words, True)
        self.name, self.number = name, {}
        for word, number in zip(words, constants.values()):
            short = word[len(first):len(word) - len(last)]
            if word.startswith(name + "_"):
                short = word[len(name) + 1:]
            self.number.update({word: number, short or word: number})

    def __call__(self, x):
        if isinstance(x, str):
            if x.lower() not in self.number:
                raise ValueError(f'{self.name} has no "{x}"; it has '
                                 f'{", ".join(self.number)}')
            return self.number[x.lower()]
        return operator.index(x)

    def from_param(self, x):
        return whole(C.c_int, self(x))


def whole(kind, x):
    """A whole number, also NumPy's, as C has it; ctypes takes what is too
    large for something else."""
    number = kind(operator.index(x))
    if number.value != x:
        raise ValueError(f"{x} is out of range")
    return number


class Int:
    """int and int64_t."""

    def __init__(self, kind):
        self.kind = kind

    def from_param(self, x):
        return whole(self.kind, x)


class Text:
    """const char *: a str, or None for NULL."""

    @staticmethod
    def from_param(x):
        if x is None or isinstance(x, (str, bytes, os.PathLike)):
            return C.c_char_p(encoded(x))
        raise TypeError(f"a text is wanted, not {type(x).__name__}")


class NodeOrNull:
    """ls_node *: a Node, or None for NULL."""

    @staticmethod
    def from_param(x):
        if x is None or hasattr(x, "graph"):
            return P(x and x.of)
        raise TypeError(f"a node is wanted, not {type(x).__name__}")


class Value:
    """A struct by its value: one, a dict, or a tuple of its first members."""

    def __init__(self, struct):
        self.struct = struct

    def from_param(self, x):
        return self.struct.made(x)


def encoded(x):
    x = os.fsencode(x) if isinstance(x, (str, os.PathLike)) else x
    if isinstance(x, bytes) and b"\0" in x:
        raise ValueError(f"{x!r} has a NUL, at which C would end it")
    return x


_WHOLE = C.c_int, C.c_int64, C.c_uint32, C.c_uint64


class Struct(C.Structure):
    """A struct of the headers.  Members take words for constants, str for
    texts, and a list for an array of structs, whose length goes to the member
    that counts it."""

    enums = {}  # the Enum of each member that has one

    def __init__(self, *values, **members):
        super().__init__()
        for (name, *_), value in zip(self._fields_, values):
            setattr(self, name, value)
        for name, value in members.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        kind = dict(self._fields_).get(name)
        if kind is None:
            raise TypeError(f"there is no {name} in {type(self).__name__}")
        if name in self.enums:
            value = self.enums[name](value)
        elif kind is C.c_char_p:
            value = encoded(value)
        elif kind is P:
            value = getattr(value, "of", value)
        elif isinstance(value, (list, tuple)):
            value = self._array(name, kind, value)
        elif isinstance(kind, type) and issubclass(kind, Struct):
            value = kind.made(value)
        if kind in _WHOLE:
            value = whole(kind, value).value
        super().__setattr__(name, value)

    def _array(self, name, kind, values):
        if issubclass(kind, C.Array):
            return kind(*values)
        struct, names = kind._type_, dict(self._fields_)
        count = next(n for n in ("n_" + name, name + "s", name[:-1] + "ies")
                     if n in names)
        super().__setattr__(count, len(values))
        return (struct * max(1, len(values)))(*map(struct.made, values))

    @classmethod
    def made(cls, x):
        """x if it is one; or one of a dict, or of a tuple."""
        if isinstance(x, cls):
            return x
        return cls(**x) if isinstance(x, dict) else cls(*x)

    def __repr__(self):
        shown = []
        for name, *_ in self._fields_:
            x = getattr(self, name)
            x = x.decode() if isinstance(x, bytes) else x
            x = list(x) if isinstance(x, C.Array) else x
            numbers = x if isinstance(x, list) else [x]
            if (name not in ("size", "room") and x is not None
                    and not isinstance(x, C._Pointer)
                    and not all(n != n for n in numbers)):
                shown.append(f"{name}={x!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def declared(f, returns, takes):
    f.restype, f.argtypes = returns, takes
    return f


class _OfData:
    """A function of liblockstep_data, which is opened when one is called."""

    def __init__(self, name, returns, takes):
        self.__name__, self._is = name, (returns, takes)

    def __call__(self, *given):
        if not hasattr(self, "_f"):
            self._f = declared(getattr(_data(), self.__name__), *self._is)
        return self._f(*given)


@functools.lru_cache(maxsize=None)
def _data():
    folder, file = os.path.split(path)
    return C.CDLL(os.path.join(
        folder, file.replace("liblockstep", "liblockstep_data", 1)))


def function(name, returns, *takes):
    if not hasattr(library, name):
        return _OfData(name, returns, takes)
    return declared(getattr(library, name), returns, takes)
