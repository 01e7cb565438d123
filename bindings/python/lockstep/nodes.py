# SPDX-License-Identifier: BSD-3-Clause
"""Graphs and their nodes, and what the builders in builders.py are made of."""

import ctypes as C
import json
import numbers
import operator
import os
import sys

import numpy as np

from . import c, ctypes_of
from .ctypes_of import encoded, near  # noqa: F401


class Error(RuntimeError):
    """A status of LS_ERRORS, in the library's own words."""

    __module__ = "lockstep"

    def __init__(self, status):
        super().__init__(c.ls_errmsg().decode())
        self.status = status


def checked(status):
    if status < 0:
        raise Error(status)
    return status


def called(f, *given):
    """f(*given), with Python's words for an argument that is no good."""
    try:
        return f(*given)
    except C.ArgumentError as e:
        at, _, rest = str(e).partition(": ")
        kind, _, words = rest.partition(": ")
        if kind == "KeyboardInterrupt":  # Ctrl-C while arguments were looked at
            raise KeyboardInterrupt from None
        raise (ValueError if kind == "ValueError" else TypeError)(
            f"{f.__name__[3:]}, {at}: {words}") from None


class _Do:
    """do.graph_new(..) is ls_graph_new(..), whose status becomes an Error."""

    def __getattr__(self, name):
        f = getattr(c, "ls_" + name)
        setattr(self, name, lambda *given: checked(called(f, *given)))
        return getattr(self, name)


do = _Do()


def unknown(what, name, names):
    """The KeyError of a name that is none of these."""
    return KeyError(f'there is no {what} "{name}"; {near(name, names)}')


def opened(call, *arguments):
    of = C.c_void_p()
    call(C.byref(of), *arguments)
    return of


class Alone:
    """What has something of the library's: two would end it twice."""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")


class Owner(Alone):
    """What gives that back: _end, which is good before __init__ is done, too."""

    of = None

    def __del__(self, is_over=sys.is_finalizing):
        try:
            self._end()
        except Exception:
            if not is_over():  # modules are gone then, and memory goes
                raise


class Closing(Owner):
    """What can be closed before it ends: _of, and with it what _ends names."""

    _of = None

    @property
    def of(self):
        """What functions of the library take."""
        if not self._of:
            name = type(self).__name__.lower()
            raise ValueError(f"the {name} {'are' if name[-1] == 's' else 'is'} "
                             "closed")
        return self._of

    def close(self):
        """Give back what it has: memory, threads, files; del does so too.
        ls.Error: what was to be written was not."""
        for name, end in self._ends:
            of = getattr(self, name, None)
            setattr(self, name, None)
            if of:
                end(of)

    def _end(self):
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()


def owned(x, kind):
    """x, which is to be one of this class: another's memory is no such thing."""
    if not isinstance(x, kind):
        raise TypeError(f"a {kind.__name__} is wanted, not {type(x).__name__}")
    return x


def defaults(write, struct, **members):
    """Options as ls_x_defaults_bytes writes them, and then changed."""
    o = struct()
    write(C.byref(o), C.sizeof(o))
    if o.size != C.sizeof(o):
        raise ImportError("the lockstep module does not fit the library")
    return changed(o, members)


def changed(struct, members):
    for name, value in members.items():
        setattr(struct, name, value)
    return struct


# ------ what builders are given ------


def made(f, *given):
    """The node that a builder makes of what it is given."""
    graph = next((x.graph for x in given if isinstance(x, (Node, _Nodes))),
                 None)
    if graph is None:
        raise TypeError(f"{f.__name__[3:]} takes a node first")
    return Node(graph, called(f, *given))


def made_with_last(f, *given):
    """The node, and the state after the last step, by the options' `last`."""
    state = C.c_void_p()
    for x in given:
        if hasattr(x, "_obj"):
            x._obj.last = C.pointer(state)
    y = made(f, *given)
    return y, Node(y.graph, state)


class _Nodes:
    """An array of nodes as C has it."""

    def __init__(self, nodes):
        for n in nodes:
            if not isinstance(n, Node):
                raise TypeError(f"a node is wanted, not {type(n).__name__}")
        self.graph = nodes[0].graph if nodes else None
        self._as_parameter_ = (C.c_void_p * len(nodes))(*(n.of for n in nodes))


def nodes(x):
    return _Nodes(list(x))


def count(x):
    """Of axes, of a shape or of nodes: None has none, and a number is one."""
    return 0 if x is None else len(x) if hasattr(x, "__len__") else 1


def whole(x, of=None, kind=C.c_int64):
    """Whole numbers as C has them: int64_t of a shape, int of axes; where they
    are of a node, one for each of its axes."""
    if x is None:
        return None
    x = [ctypes_of.whole(kind, i)
         for i in (x if hasattr(x, "__len__") else [x])]
    if of is not None and len(x) != len(of.shape):
        raise ValueError(f"{len(x)} axes for a node that has {len(of.shape)}")
    return (kind * len(x))(*x)


def axes(x, of=None):
    """The same of axes, which are int."""
    return whole(x, of, C.c_int)


# ------ nodes ------


class Node(Alone):
    """A node, which its graph owns.  + - * / and ** take numbers too, and nodes
    whose shapes broadcast as NumPy's do; x / 3 is x times 1/3.  @ is matmul,
    whose leading axes broadcast likewise.
    x[1:3], x[..., 0] are parts of a row.
    """

    __array_ufunc__ = None  # so that numpy_number * node comes here

    def __init__(self, graph, of):
        if not of:
            raise Error(c.EINVAL)
        self.graph, self.of = graph, of

    @property
    def shape(self):
        shape = (C.c_int64 * c.MAX_RANK)()
        return tuple(shape[:c.ls_node_shape(self, shape)])

    @property
    def name(self):
        """That it was given, or of its first input."""
        return c.ls_node_name(self).decode()

    def __repr__(self):
        op = c.ls_node_op(self).decode()
        return f'<{op} "{self.name}" {self.shape}>'

    def _scaled(self, scale, shift):
        return made(c.ls_scale_shift, self, scale, shift)

    def _with(self, other, by_node, by_number):
        if isinstance(other, Node):
            return made(by_node, *_alike(self, other))
        if isinstance(other, numbers.Real):
            return by_number(float(other))
        return NotImplemented

    def __add__(self, other):
        return self._with(other, c.ls_add, lambda v: self._scaled(1, v))

    def __sub__(self, other):
        return self._with(other, c.ls_sub, lambda v: self._scaled(1, -v))

    def __mul__(self, other):
        return self._with(other, c.ls_mul, lambda v: self._scaled(v, 0))

    def __truediv__(self, other):
        return self._with(other, c.ls_div, lambda v: self._scaled(1 / v, 0))

    def __rsub__(self, other):
        return self._with(other, c.ls_sub, lambda v: self._scaled(-1, v))

    def __rtruediv__(self, other):
        return self._with(other, c.ls_div, lambda v: (self ** -1)._scaled(v, 0))

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, power):
        return made(c.ls_pow, self, power)

    def __neg__(self):
        return made(c.ls_neg, self)

    def __abs__(self):
        return made(c.ls_abs, self)

    def __matmul__(self, other):
        return made(c.ls_matmul, *_leading_alike(self, other))

    def __getitem__(self, at):
        return _part(self, at if isinstance(at, tuple) else (at,))

    def __iter__(self):
        raise TypeError("a node has no elements to go through: x[i] is one")


def _broadcast(x, shape):
    return x if x.shape == shape else made(
        c.ls_broadcast_to, x, len(shape), whole(shape))


def _alike(a, b):
    """Two nodes under one shape, where theirs broadcast to it."""
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return a, b  # which the builder refuses in its words
    return _broadcast(a, shape), _broadcast(b, shape)


def _leading_alike(a, b):
    """Two nodes of matrices, whose axes before those broadcast."""
    if not isinstance(b, Node) or min(len(a.shape), len(b.shape)) < 2:
        return a, b
    try:
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        return a, b
    return (_broadcast(a, shape + a.shape[-2:]),
            _broadcast(b, shape + b.shape[-2:]))


def _part(x, at):
    """x[at], of slices without a step and of whole numbers."""
    shape, kept = x.shape, []
    if Ellipsis in at:
        i = at.index(Ellipsis)
        at = (at[:i] + (slice(None),) * (len(shape) - len(at) + 1) +
              at[i + 1:])
    if len(at) > len(shape):
        raise IndexError(f"{len(at)} indices for a node of shape {shape}")
    for axis, (i, n) in enumerate(zip(at, shape)):
        if isinstance(i, slice):
            first, end, step = i.indices(n)
            if step != 1:
                raise IndexError("slices of nodes have no step")
            kept.append(max(end - first, 0))
        else:
            first = operator.index(i) + (n if i < 0 else 0)
            if not 0 <= first < n:
                raise IndexError(f"{i} of {n}")
            end = first + 1
        if (first, end) != (0, n):
            x = made(c.ls_slice, x, axis, first, max(end - first, 0))
    kept += shape[len(at):]
    return x if x.shape == tuple(kept) else made(
        c.ls_reshape, x, len(kept), whole(kept))


# ------ graphs ------

DTYPES = {np.dtype(np.float32): c.F32, np.dtype(np.int32): c.I32}
NUMPY = {c.F32: np.float32, c.I32: np.int32}


def _dtypes(path):
    """Of the inputs of a model file, as its note has them."""
    from .data import notes
    graph = json.loads(notes(path)["lockstep.graph"])
    return {n["name"]: np.float32 if n["dtype"] == "f32" else np.int32
            for n in graph["nodes"] if n["op"] == "input"}


class Graph(Owner):
    """A graph to build, or the one that a model file holds.  A builder that
    fails leaves it as it was."""

    def __init__(self, path=None):
        self.of = (opened(do.graph_new) if path is None
                   else opened(do.graph_load, os.fspath(path)))
        self.dtypes = {} if path is None else _dtypes(path)
        c.ls_graph_errors_pass(self.of, True)

    @classmethod
    def of_pointer(cls, of):
        """A graph that a function of the library made."""
        graph = cls.__new__(cls)
        graph.of, graph.dtypes = of, {}
        c.ls_graph_errors_pass(of, True)
        return graph

    def _end(self):
        c.ls_graph_free(self.of)

    def __repr__(self):
        return f"<Graph of {c.ls_graph_nodes(self.of)} nodes>"

    def input(self, name, shape=(), dtype=np.float32):
        """An array of every batch, by the shape of one of its rows."""
        if np.dtype(dtype) not in DTYPES:
            raise TypeError("inputs are float32 or int32")
        node = Node(self, called(c.ls_input, self.of, name,
                                 DTYPES[np.dtype(dtype)], count(shape),
                                 whole(shape)))
        self.dtypes[name] = dtype
        return node

    def parameter(self, name, shape=(), init=None):
        """A parameter of that shape, the same in every row, which starts at
        zero, or by an initialiser: its name, or a number."""
        node = Node(self, called(c.ls_parameter, self.of, name, count(shape),
                                 whole(shape)))
        if init is not None:
            self.start(name, init)
        return node

    def buffer(self, name, shape=(), init=None):
        """The same of numbers that no optimizer moves."""
        node = Node(self, called(c.ls_buffer, self.of, name, count(shape),
                                 whole(shape)))
        if init is not None:
            self.start(name, init)
        return node

    def rename(self, name, new):
        """Call the parameter `name` of a layer that is built later `new`."""
        do.rename(self.of, name, new)

    def output(self, node, name):
        """Give a node a name, by which predict has it."""
        do.output(self.of, node, name)

    def metric(self, node):
        """Watch the mean of a node; returns its place in Result.metric."""
        return do.metric(self.of, node)

    def loss(self, node):
        """What training minimises."""
        do.loss(self.of, node)

    def tie(self, name, to, transposed=False):
        """Let a layer that is built later use a weight that is there: parameter
        `name` is parameter `to`, or its transpose."""
        do.tie(self.of, name, to, transposed)

    def start(self, names, how):
        """Let parameters whose names a pattern matches start by an initialiser:
        its name ("he-normal"), a number they all have, or an Init."""
        init = how if isinstance(how, c.Init) else initialiser(how)
        do.init_params(self.of, names, C.byref(init))

    def outputs(self):
        """The shape of a row of each output."""
        shapes, name = {}, C.c_char_p()
        while of := c.ls_graph_output(self.of, len(shapes), C.byref(name)):
            shapes[name.value.decode()] = Node(self, of).shape
        return shapes

    def inputs(self):
        """The shape of a row of each input."""
        nodes = [Node(self, c.ls_graph_node(self.of, i))
                 for i in range(c.ls_graph_nodes(self.of))]
        return {n.name: n.shape for n in nodes if c.ls_node_op(n) == b"input"}


# ------ initialisers ------


def initialiser(how):
    """The initialiser of a name of initialisers(), or of a number."""
    if not isinstance(how, str):
        return called(c.ls_init_constant, how)
    init = c.Init()
    do.init_named(C.byref(init), how)
    return init


def initialisers():
    """The names that initialiser takes."""
    names = []
    while name := c.ls_init_name(len(names)):
        names.append(name.decode())
    return names


def random_init(distribution, scale):
    """Draws of "uniform", "normal" or "truncated_normal" times scale."""
    return called(c.ls_init_random, distribution, scale)


def variance_init(distribution, fan, scale):
    """Draws of variance scale / fan, which is "in", "out" or "average"."""
    return called(c.ls_init_variance, distribution, fan, scale)


def orthogonal_init(scale=1.0):
    """scale times an orthogonal matrix."""
    return called(c.ls_init_orthogonal, scale)
