# SPDX-License-Identifier: BSD-3-Clause
"""What the declarations in c.py are made of: structs whose members may be given
as words, and parameters that take what a Python program has at hand.

LOCKSTEP_LIBRARY names the library; without it that is the one in this package,
as a wheel has it, that in sys.prefix/lib, as conda has it, or the system's.
What is of liblockstep_data is asked of the file beside it, when it is called.
"""

import ctypes as C
import difflib
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
_REF = type(C.byref(P()))
_POINTS = P, C.Array, C._Pointer, C._CFuncPtr


class Pointer(C.c_void_p):
    """A pointer as functions return and take it: NULL as None, what ctypes has,
    an array of NumPy's, or what has something of the library's.  A number would
    be an address, and is refused."""

    @classmethod
    def from_param(cls, x):
        kind = type(x)
        if x is None or kind is P or kind is _REF or isinstance(x, _POINTS):
            return x
        if hasattr(x, "_as_parameter_"):
            return x._as_parameter_
        if hasattr(x, "ctypes"):
            return P(x.ctypes.data)
        if isinstance(getattr(x, "of", None), C.c_void_p):
            return x.of
        raise TypeError(f"a pointer is wanted, not {type(x).__name__}")


def near(name, names):
    """Of names the one that was perhaps meant, or all, for a message."""
    names = sorted(map(str, names))
    found = difflib.get_close_matches(str(name), names, 1)
    return (f'the nearest is "{found[0]}"' if found else
            "there are " + ", ".join(names) if names else "there are none")


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
        return C.c_char_p(encoded(x))


class NodeOrNull:
    """ls_node *: a Node, or None for NULL."""

    @staticmethod
    def from_param(x):
        if x is None or hasattr(x, "graph"):
            return x and x.of
        raise TypeError(f"a node is wanted, not {type(x).__name__}")


class Value:
    """A struct by its value: one, a dict, or a tuple of its first members."""

    def __init__(self, struct):
        self.struct = struct

    def from_param(self, x):
        return self.struct.made(x)


def encoded(x):
    x = os.fsencode(x) if isinstance(x, (str, os.PathLike)) else x
    if not (x is None or isinstance(x, bytes)):
        raise TypeError(f"a text is wanted, not {type(x).__name__}")
    if x and b"\0" in x:
        raise ValueError(f"{x!r} has a NUL, at which C would end it")
    return x


# What makes one, for a message.
_AS = {"Optimizer": ", as ls.adam(1e-3) is",
       "Schedule": ', as ls.schedule("cosine", decay_steps=100) is',
       "Group": ', as ls.group("head.*", rate=0.1) is'}

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
            raise TypeError(self._lacks(name))
        try:
            super().__setattr__(name, self._as(name, kind, value))
        except (TypeError, ValueError) as e:
            raise type(e)(f"{name}: {e}") from None

    def _lacks(self, name):
        kinds = dict(self._fields_)
        inner = [n for n, kind in kinds.items() if issubclass(kind, Struct)
                 and name in dict(kind._fields_)]
        return (f"there is no {name} in {type(self).__name__}; " +
                (f"its {inner[0]} has one" if inner else near(
                    name, set(kinds) - {"size"})))

    def _as(self, name, kind, value):
        if name in self.enums:
            value = self.enums[name](value)
        elif kind is C.c_char_p:
            return encoded(value)
        elif kind is P:
            return value if value is None else C.cast(
                Pointer.from_param(value), P)
        elif issubclass(kind, Struct):
            return kind.made(value)
        elif (issubclass(kind, (C.Array, C._Pointer)) and
              isinstance(value, (list, tuple))):
            return self._array(name, kind, value)
        return whole(kind, value).value if kind in _WHOLE else value

    def _array(self, name, kind, values):
        if issubclass(kind, C.Array):
            if len(values) > kind._length_:
                raise ValueError(f"{len(values)} values, and there is room for "
                                 f"{kind._length_}")
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
        if not isinstance(x, (dict, list, tuple)):
            raise TypeError(f"{x!r} is no {cls.__name__}" + _AS.get(
                cls.__name__, ""))
        return cls(**x) if isinstance(x, dict) else cls(*x)

    def __repr__(self):
        shown = []
        for name, *_ in self._fields_:
            x = getattr(self, name)
            x = float(f"{x:.7g}") if isinstance(x, float) else x
            x = x.decode() if isinstance(x, bytes) else x
            x = list(x) if isinstance(x, C.Array) else x
            numbers = x if isinstance(x, list) else [x]
            if (name != "size" and x is not None
                    and not isinstance(x, C._Pointer)
                    and not all(n != n for n in numbers)):
                shown.append(f"{name}={x!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def declared(f, returns, takes):
    f.restype, *f.argtypes = (Pointer if t is P else t
                              for t in (returns, *takes))
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
