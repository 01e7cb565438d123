# SPDX-License-Identifier: BSD-3-Clause
"""Graphs that other programs wrote as ONNX."""

import ctypes as C
import os

from . import c
from .nodes import Graph, Node, Owner, defaults, do, opened


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
