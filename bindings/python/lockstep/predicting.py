# SPDX-License-Identifier: BSD-3-Clause
"""Predictors."""

import ctypes as C
import threading

import numpy as np

from . import c
from .arrays import check_shape, good, lacking
from .nodes import NUMPY, Graph, Owner, do, opened, owned, unknown
from .training import Trainer


class Predictor(Owner):
    """Outputs of a Trainer's model as it is now, of a model file, or of a
    Graph, which needs no loss, with the weights of a file or of Onnx.load;
    from any thread, for any number of rows."""

    def __init__(self, source, weights=None):
        if isinstance(source, Trainer):
            self.of = opened(do.predictor_open, source.of)
        elif isinstance(source, Graph):
            self.of = opened(do.predictor_open_graph, source.of, weights)
        else:
            self.of = opened(do.predictor_load, source)
        self.inputs = self._specs(c.ls_predictor_input)
        self.outputs = self._specs(c.ls_predictor_output)
        self._here = threading.local()

    def __repr__(self):
        return "<Predictor of %s by %s>" % tuple(
            ", ".join(f'"{name}" {spec[2]}' for name, spec in of.items())
            for of in (self.outputs, self.inputs))

    def _specs(self, ask):
        specs, s = {}, c.ArraySpec()
        while ask(self.of, len(specs), C.byref(s)):
            specs[s.name.decode()] = (s.dtype, s.rank,
                                      tuple(s.shape[:s.rank]))
        return specs

    def _end(self):
        c.ls_predictor_close(self.of)

    def refresh(self, trainer):
        """Take the weights of a trainer as they are now."""
        do.predictor_refresh(self.of, owned(trainer, Trainer).of)

    def save_onnx(self, path):
        """Write it as an ONNX file."""
        do.predictor_save_onnx(self.of, path)

    def predict(self, output, **inputs):
        """The value of an output for every row; each thread has a context."""
        if output not in self.outputs:
            raise unknown("output", output, self.outputs)
        context, held, rows = *self._context(inputs.keys()), 0
        for name, x in inputs.items():
            if name not in self.inputs:
                raise unknown("input", name, self.inputs)
            dtype, _, shape = self.inputs[name]
            x = good(name, x, NUMPY[dtype])
            check_shape(name, x, shape)
            rows = x.shape[0]
            do.context_set(context, name, dtype, x, rows)
            held[name] = x
        y = np.empty((rows, *self.outputs[output][2]), np.float32)
        with lacking(inputs, self.inputs):
            do.context_predict(context, output, y.size, y)
        return y

    def _context(self, names):
        """This thread's, on which nothing but these names is set."""
        at = getattr(self._here, "context", None)
        if at is None or at.held.keys() != names:
            self._here.context = at = _Context(self.of)
        at.held = {}
        return at.of, at.held


class Generator(Owner):
    """One sequence of tokens, position by position, by an output of a
    Predictor: a new token costs one position and not all."""

    def __init__(self, predictor, output):
        if output not in owned(predictor, Predictor).outputs:
            raise unknown("output", output, predictor.outputs)
        self._wide = predictor.outputs[output][2][1:]
        self.of = opened(do.generator_open, predictor.of, output)

    def _end(self):
        c.ls_generator_close(self.of)

    def append(self, tokens):
        """The output at the last of these tokens, which are added."""
        tokens = good("tokens", tokens, np.int32)
        check_shape("tokens", tokens, ())
        y = np.empty(self._wide, np.float32)
        do.generator_append(self.of, len(tokens), tokens, y.size, y)
        return y

    def cut(self, length):
        """Forget the positions from number `length` on."""
        do.generator_cut(self.of, length)

    def __len__(self):
        return c.ls_generator_length(self.of)

    @property
    def window(self):
        """How many positions there can be."""
        return c.ls_generator_window(self.of)


class _Context(Owner):
    """One thread's; the thread's end closes it."""

    def __init__(self, predictor):
        self.of = opened(do.context_open, predictor, None)
        self.held = {}

    def _end(self):
        c.ls_context_close(self.of)
