# SPDX-License-Identifier: BSD-3-Clause
"""Graphs that other programs wrote as ONNX."""

import ctypes as C
import json
import os

import numpy as np

from . import c
from .nodes import Error, Graph, Node, Owner, defaults, do, opened


class Onnx(Owner):
    """An ONNX model, of a path or of bytes: `graph` is what it computes, whose
    parameters start as they are in the file.

        net = ls.Onnx("net.onnx")
        net.graph.loss(ls.cross_entropy(net.node(),
                                        net.graph.input("label", dtype=np.int32)))
        t = ls.Trainer(net.graph, optimizer=ls.sgd(0.1))
        t.step(x=xs, label=labels)
        net.save("trained.onnx", t)

    Options are those of OnnxOptions: sizes, channels_last, batch_norm."""

    def __init__(self, model, **options):
        if isinstance(model, (bytes, bytearray)):
            data = (C.c_char * len(model)).from_buffer_copy(model)
            self.of = opened(do.onnx_open_memory, C.byref(data), len(model))
        else:
            self.of = opened(do.onnx_open, os.fspath(model))
        o = defaults(c.ls_onnx_defaults_bytes, c.OnnxOptions, **options)
        of = opened(do.graph_load_onnx, self.of, C.byref(o))
        self.graph = Graph.of_pointer(of)
        self.graph.file = self  # whose numbers it begins with

    def _end(self):
        c.ls_onnx_close(self.of)

    def node(self, name=None):
        """An input or output by its name; None: the first output."""
        return Node(self.graph, c.ls_onnx_node(self.of, name))

    def load(self, predictor):
        """Give a predictor of the graph the file's weights."""
        do.predictor_load_onnx(predictor.of, self.of)

    def save(self, path, trainer):
        """Write the model again with a trainer's weights."""
        do.onnx_save(self.of, trainer.of, path)

    def state_dict(self, trainer):
        """A trainer's weights under the file's names and in its shapes, as
        PyTorch has them: arrays of NumPy."""
        text = c.ls_onnx_axes(self.of)
        if text is None:  # one lies otherwise than by an order of axes
            raise Error(c.ENOTSUP)
        turned = json.loads(text)
        return {n: _turn(trainer[n], turned.get(n)) for n in trainer.shapes()}

    def write_back(self, trainer, module):
        """Copy a trainer's weights into a module of PyTorch's that the file is
        an export of."""
        there = module.state_dict()
        for name, x in self.state_dict(trainer).items():
            if name in there:
                there[name].copy_(there[name].new_tensor(x))


def _turn(x, axes):
    if axes is None:
        return x
    left = [k for k in range(x.ndim) if k not in axes]  # of one element
    shape = [x.shape[k] for k in axes]
    return np.ascontiguousarray(x.transpose(axes + left).reshape(shape))


def from_onnx(model, **options):
    """An ONNX model, of a path or of bytes: see Onnx."""
    return Onnx(model, **options)


def from_torch(module, example, **options):
    """A module of PyTorch's as an Onnx: it is exported in memory, by a tensor
    of rows as it takes them (or a tuple of such) of which there are two or more.
    PyTorch must be installed, and onnxscript.

        net = ls.from_torch(module, x[:2])
        net.graph.loss(ls.cross_entropy(net.node(),
                                        net.graph.input("label", dtype=np.int32)))
        t = ls.Trainer(net.graph, optimizer=ls.sgd(0.1))
        t.step(x=x, label=labels)
        net.write_back(t, module)

    Inputs are called as the arguments of its forward."""
    import torch

    inputs = example if isinstance(example, tuple) else (example,)
    training = module.training
    try:
        program = torch.onnx.export(
            module.eval(), inputs, dynamo=True, optimize=False, verbose=False,
            dynamic_shapes=({0: torch.export.Dim("rows")},) * len(inputs))
    finally:
        module.train(training)
    return Onnx(program.model_proto.SerializeToString(), **options)


def problems(model, **options):
    """What cannot be done of a model here, a line each; [] if all can."""
    of = opened(do.onnx_open, os.fspath(model))
    o = defaults(c.ls_onnx_defaults_bytes, c.OnnxOptions, **options)
    graph, said = C.c_void_p(), []
    try:
        if c.ls_graph_load_onnx(C.byref(graph), of, C.byref(o)) == 0:
            c.ls_graph_free(graph)
        while line := c.ls_onnx_problem(of, len(said)):
            said.append(line.decode())
    finally:
        c.ls_onnx_close(of)
    return said
