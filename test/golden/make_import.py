#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the models of test/data/import/test_import.c, and import_outputs.h: what ONNX
Runtime makes of them, and the losses of PyTorch's steps.

    pip install torch==2.13.0 onnx==1.23.2 onnxruntime==1.32.0 onnxscript==0.7.2
    python3 test/golden/make_import.py
"""
import os
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, STEPS, RATE = 4, 5, 0.1
warnings.filterwarnings("ignore")


class Layers(nn.Module):
    """Images: a residual block with batch norms, pools, groups, an upsampling."""
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.deep = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.group = nn.GroupNorm(2, 4)
        self.wide = nn.Conv2d(8, 3, (1, 3), padding=(0, 2), dilation=(1, 2))
        self.head = nn.Linear(3 * 4 * 4 + 3, 5)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        y = self.group(self.deep(x)) + x
        small = F.interpolate(F.max_pool2d(y, 2), scale_factor=2, mode="nearest")
        x = self.wide(torch.cat([x, small], 1))
        flat = torch.flatten(F.avg_pool2d(x, 3, 1, 1), 1)
        return self.head(torch.cat([flat, x.mean((2, 3))], 1))


class Words(nn.Module):
    """Tokens: one block of a transformer whose first axis is the steps."""
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(11, 8)
        self.place = nn.Parameter(torch.randn(1, 6, 8))
        self.block = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0,
                                                activation="gelu")
        self.head = nn.Linear(8, 11)
        mask = torch.full((6, 6), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, tokens):
        x = (self.word(tokens) + self.place).transpose(0, 1)
        x = self.block(x, src_mask=self.mask).transpose(0, 1)
        return self.head(x)[:, -1]


class Cells(nn.Module):
    """Steps: an LSTM both ways, a GRU from a state that is learned, their ends, and a
    transposed convolution of groups that takes more away than its window has."""
    def __init__(self):
        super().__init__()
        self.both = nn.LSTM(3, 2, bidirectional=True, batch_first=True)
        self.unit = nn.GRU(4, 4, batch_first=True)
        self.start = nn.Parameter(torch.randn(1, 1, 4))
        self.wide = nn.ConvTranspose1d(4, 2, 2, 3, 2, 1, groups=2, dilation=1)
        self.head = nn.Linear(2 * 3 + 4 + 4, 5)

    def forward(self, x):
        x, (h, c) = self.both(x)
        y, last = self.unit(x, self.start.expand(-1, x.shape[0], -1).contiguous())
        wide = self.wide(y[:, 2:].transpose(1, 2))[:, :, 1:4].flatten(1)
        return self.head(torch.cat([wide, last[0], h[1], c[0]], 1))


def export(name, net, x):
    path = os.path.join(HERE, name)
    torch.onnx.export(net.eval(), (x,), path, dynamo=True, optimize=False,
                      dynamic_shapes=({0: torch.export.Dim("rows")},),
                      verbose=False, external_data=False)
    model = onnx.load(path)
    for node in model.graph.node:  # where in PyTorch's source it came from
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    model.graph.ClearField("value_info")
    model.graph.ClearField("metadata_props")
    onnx.save(model, path)


def terms():
    """A model by hand: one operator after the other, of two inputs."""
    nodes, outputs, constants = [], [], []

    def number(name, value, dtype=np.float32):
        constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def call(op, *inputs, **attributes):
        out = f"{op}{len(nodes)}"
        nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out

    x = "x"
    half = number("half", 0.5)
    for op in ("Sigmoid", "Tanh", "Softplus", "Mish", "HardSwish", "Gelu", "Selu", "Elu",
               "LeakyRelu", "HardSigmoid", "Softsign", "Sin", "Cos", "Abs", "Neg"):
        x = call("Add", call("Mul", call(op, x), half), "x")
    x = call("Add", x, call("Gelu", x, approximate="tanh"))
    x = call("Clip", x, number("low", -3.0), number("high", 3.0))
    x = call("Sqrt", call("Exp", x))
    x = call("Log", call("Add", x, call("Pow", x, number("two", 2.0))))
    x = call("Sub", number("one", 1.0), x)
    x = call("Div", x, call("Max", call("Abs", "x"), number("least", [[[0.5]]])))
    slope = number("slope", np.linspace(-1, 1, 6).reshape(6))
    x = call("PRelu", x, slope)
    # a column, a row and a number, broadcast
    x = call("Mul", x, number("column", np.linspace(1, 2, 4).reshape(4, 1)))
    x = call("Min", x, call("Reciprocal", number("row", np.linspace(.1, 2, 6))))
    outputs.append(x)
    ones = number("axis", [-1], np.int64)
    mean = call("ReduceMean", x, ones, keepdims=1)
    most = call("ReduceMax", x, number("first", [1], np.int64), keepdims=0)
    x = call("Sub", x, mean)
    x = call("Softmax", call("Transpose", x, perm=[0, 2, 1]), axis=1)
    x = call("LogSoftmax", x, axis=-1)
    a, b = f"a{len(nodes)}", f"b{len(nodes)}"
    nodes.append(helper.make_node("Split", [x, number("parts", [2, 4], np.int64)], [a, b],
                                  axis=1))
    b = call("Slice", b, number("from", [1], np.int64), number("to", [-1], np.int64),
             number("along", [1], np.int64))
    x = call("Concat", b, a, axis=1)  # (rows,4,4)
    x = call("MatMul", x, call("Transpose", x, perm=[0, 2, 1]))
    rows = call("Shape", "x", end=1)
    x = call("Reshape", x, call("Concat", rows, number("flat", [-1], np.int64), axis=0))
    x = call("Gather", x, number("some", [0, 3, 7, 8, 9], np.int64), axis=1)
    x = call("Unsqueeze", x, ones)
    x = call("Pad", x, number("pads", [0, 1, 0, 0, 0, 1], np.int64))
    x = call("ReduceL2", x, ones, keepdims=0)
    x = call("Concat", x, most, axis=1)
    outputs.append(call("RMSNormalization", x, number("scale", np.linspace(.5, 2, 12)),
                        epsilon=1e-5))
    # 1 where a step is seen, as exporters write masks
    size = number("size", [4, 6], np.int64)
    seen = call("Equal", call("Trilu", call("Expand", number("all", 1.0), size), upper=0),
                number("none", 0.0))
    outputs.append(call("Where", seen, number("far", -5.0), "x"))
    shapes = [["rows", 4, 6], ["rows", 12], ["rows", 4, 6]]
    outs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, s)
            for o, s in zip(outputs, shapes)]
    graph = helper.make_graph(
        nodes, "terms", [helper.make_tensor_value_info(
            "x", TensorProto.FLOAT, ["rows", 4, 6])], outs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)],
                              ir_version=11)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.path.join(HERE, "import_terms.onnx"))
    return outputs


def two_inputs():
    """A table's rows by one input and a product of the other: for the command line."""
    def weight(name, *shape):
        size = int(np.prod(shape))
        return numpy_helper.from_array(
            np.linspace(-1, 1, size, dtype=np.float32).reshape(shape), name)

    nodes = [helper.make_node("Gather", ["table", "y"], ["row"]),
             helper.make_node("MatMul", ["x", "weight"], ["product"]),
             helper.make_node("Add", ["row", "product"], ["sum"]),
             helper.make_node("Softmax", ["sum"], ["likely"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "two", [value("x", TensorProto.FLOAT, ["rows", "width"]),
                       value("y", TensorProto.INT64, ["rows"])],
        [value("sum", TensorProto.FLOAT, ["rows", 3]),
         value("likely", TensorProto.FLOAT, ["rows", 3])],
        [weight("table", 4, 3), weight("weight", 3, 3)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                              ir_version=10)
    onnx.save(model, os.path.join(HERE, "import_two.onnx"))
    onnx.save(model, os.path.join(HERE, "import_beside.onnx"), size_threshold=0,
              save_as_external_data=True, location="import_beside.data")


def writers(nodes, constants):
    """Functions that add a constant, and a node, and return its name."""
    def number(value, dtype=np.float32):
        constants.append(numpy_helper.from_array(np.array(value, dtype),
                                                 f"c{len(constants)}"))
        return constants[-1].name

    def call(op, *inputs, **attributes):
        out = f"{op}{len(nodes)}"
        nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out

    return number, call


def more():
    """Tokens, and what is put together of other operators."""
    nodes, constants, outputs = [], [], []
    number, call = writers(nodes, constants)
    rng = np.random.default_rng(3)

    def wide(*shape):
        return number(rng.standard_normal(shape))

    def whole(*list):
        return number(list, np.int64)

    def put(x):
        outputs.append(call("Flatten", x))

    x = call("OneHot", "tokens", number(11, np.int64), number([-1, 2]), axis=1)
    x = call("Add", call("MatMul", x, wide(6, 6)), wide(11, 1))
    x = call("Slice", x, whole(0), whole(4), whole(1))  # (rows,4,6)
    half, one = number(0.5), number(1)
    two = call("Add", call("Erf", call("Div", x, number(2 ** 0.5))), one)
    put(call("Mul", call("Mul", x, two), half))
    two = call("Add", one, call("Erf", call("Mul", x, number(0.5 ** 0.5))))
    put(call("Mul", call("Mul", x, half), two))
    y = call("DepthToSpace", call("Reshape", x, whole(0, 4, 2, 3)), blocksize=2)
    put(y)
    y = call("SpaceToDepth", y, blocksize=2)
    put(call("DepthToSpace", y, blocksize=2, mode="CRD"))
    y = call("CumSum", x, number(1, np.int64))
    put(call("CumSum", y, number(-1, np.int64), exclusive=1, reverse=1))
    put(call("Tile", x, whole(1, 2, 3)))
    put(call("Einsum", x, x, equation="bij,bkj->bik"))
    put(call("Einsum", x, wide(5, 6), equation="bij,kj->bki"))
    put(call("Einsum", x, wide(4, 6, 2), equation="bij,ijk->bk"))
    put(call("Einsum", x, wide(4, 6, 3), equation="bhd,hde->beh"))
    put(call("Einsum", wide(3), x, equation="e,bhd->bhde"))
    put(call("Slice", x, whole(0, 1), whole(4, 6), whole(1, 2), whole(2, 3)))
    y = call("Reshape", call("Transpose", x, perm=[1, 0, 2]), whole(-1, 2, 3))
    y = call("Reshape", call("Slice", y, whole(1), whole(2), whole(1)), whole(4, -1, 3))
    put(call("Transpose", y, perm=[1, 0, 2]))
    rows = call("Shape", "tokens", end=1)
    many = number(np.arange(70).reshape(2, 35) * 7 % 5, np.int64)
    put(call("MatMul", x, call("Reshape", call("Gather", wide(5, 3), many),
                               whole(1, 6, 35))))
    put(call("MatMul", x, call("GatherND", wide(5, 2), number([[3], [0], [1], [4], [2],
                                                             [0]], np.int64))))
    same = call("Expand", whole(1, 0, 1, 1), call("Concat", rows, whole(4), axis=0))
    put(call("Add", x, call("Gather", wide(2, 6), same)))
    some = call("ScatterND", whole(1, 1, 1, 1, 1, 1), number([[2], [4]], np.int64),
                whole(0, 0))
    some = call("GatherElements", some, whole(2, 0, 1, 4, 3, 5), axis=0)
    seen = call("Greater", call("Expand", some, call("Concat", rows, whole(4, 6), axis=0)),
                number(0, np.int64))
    y = call("Softmax", call("Add", x, call("Where", seen, number(0), number(-9))))
    put(call("Where", call("IsNaN", y), number(0), y))
    y = call("Concat", *outputs, axis=1)
    graph = helper.make_graph(
        nodes, "more", [helper.make_tensor_value_info("tokens", TensorProto.INT64,
                                                      ["rows", 6])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["rows", None])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                              ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.path.join(HERE, "import_more.onnx"))


def heads():
    """Attention with rotary positions, by operators of opset 23."""
    nodes, constants, outputs = [], [], []
    number, call = writers(nodes, constants)
    rng = np.random.default_rng(4)

    def split(n, d=4):  # (rows,heads,T,d)
        y = call("MatMul", "x", number(rng.standard_normal((6, n * d))))
        y = call("Reshape", y, number([0, 4, n, d], np.int64))
        return call("Transpose", y, perm=[0, 2, 1, 3])

    angle = np.outer(np.arange(9), 100.0 ** -np.array([0, 0.5]))
    tables = [number(np.cos(angle)), number(np.sin(angle)), call(
        "Expand", number([[0, 1, 2, 3]], np.int64),
        call("Concat", call("Shape", "x", end=1), number([4], np.int64), axis=0))]
    q = call("RotaryEmbedding", split(2), *tables)
    k = call("RotaryEmbedding", split(1), *tables)
    outputs.append(call("Attention", q, k, split(1), is_causal=1))
    q = call("RotaryEmbedding", split(2, 6), *tables, interleaved=1,
             rotary_embedding_dim=4, num_heads=2)
    mask = number(rng.standard_normal((4, 4)))
    outputs.append(call("Attention", q, split(1, 6), split(1, 3), mask, scale=0.25,
                        is_causal=1))
    q, k, v = (call("MatMul", "x", number(rng.standard_normal((6, n)))) for n in (8, 4, 4))
    seen = number(np.tril(np.ones((4, 4)), 1), bool)
    sides = dict(q_num_heads=4, kv_num_heads=2)
    outputs.append(call("Attention", q, k, v, seen, **sides))
    outputs.append(call("Attention", q, k, v, number(np.tril(np.ones((4, 4))), bool),
                        **sides))
    y = call("Concat", *[call("Flatten", y) for y in outputs], axis=1)
    graph = helper.make_graph(
        nodes, "heads", [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                                       ["rows", 4, 6])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["rows", None])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)],
                              ir_version=11)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.path.join(HERE, "import_heads.onnx"))


def truths():
    """Comparisons of data, and choices by them, of NaN and infinities too."""
    nodes, constants, outputs = [], [], []
    number, call = writers(nodes, constants)
    zero, turned = number(0), call("Transpose", "x", perm=[0, 2, 1])
    column = number(np.linspace(-1, 1, 4).reshape(4, 1))
    root, inverse = call("Sqrt", "x"), call("Div", number(1), call("Relu", "x"))
    above, below = call("Greater", "x", zero), call("Less", "x", column)
    small = call("LessOrEqual", call("Abs", "x"), number(np.linspace(0, 1, 6)))
    large = call("Not", call("GreaterOrEqual", turned, call("Transpose", column)))
    large = call("Transpose", large, perm=[0, 2, 1])
    some = call("Or", call("And", above, small), call("Xor", below, large))
    outputs.append(call("Where", above, root, inverse))  # of which one is no number
    outputs.append(call("Where", call("IsNaN", root), number(-2), inverse))
    outputs.append(call("Where", some, "x", column))
    outputs.append(call("Cast", call("Equal", call("Relu", "x"), zero), to=1))
    outputs.append(call("Where", call("Cast", call("Relu", "x"), to=9), column, zero))
    outputs.append(call("Where", number(np.eye(4, 6), bool), zero, "x"))
    outputs.append(call("Cast", call("Xor", some, small), to=1))
    y = call("Concat", *[call("Flatten", y) for y in outputs], axis=1)
    y = call("Clip", y, number(-9), number(9))
    graph = helper.make_graph(
        nodes, "truths", [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                                        ["rows", 4, 6])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["rows", None])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                              ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.path.join(HERE, "import_truths.onnx"))


def numbers(out, name, values):
    values = np.asarray(values)
    kind = "int32_t" if values.dtype.kind == "i" else "float"
    texts = [str(v) if kind == "int32_t" else f"{float(v).hex()}f"
             for v in values.reshape(-1)]
    out.write(f"static const {kind} {name}[{len(texts)}] = {{\n")
    for i in range(0, len(texts), 4):
        out.write("    " + " ".join(f"{t}," for t in texts[i:i + 4]) + "\n")
    out.write("};\n")


def run(name, x):
    session = onnxruntime.InferenceSession(os.path.join(HERE, name))
    return session.run(None, {session.get_inputs()[0].name: x})


def losses(net, x, labels):
    """Of steps of plain SGD on the same rows, batch norms as stored."""
    step = torch.optim.SGD(net.eval().parameters(), RATE)
    said = []
    for _ in range(STEPS):
        loss = F.cross_entropy(net(x), labels)
        step.zero_grad()
        loss.backward()
        step.step()
        said.append(loss.item())
    return np.array(said, np.float32)


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    rng = np.random.default_rng(7)
    images = rng.standard_normal((ROWS, 2, 8, 8)).astype(np.float32)
    tokens = rng.integers(0, 11, (ROWS, 6))
    table = rng.standard_normal((ROWS, 4, 6)).astype(np.float32)
    labels = rng.integers(0, 5, ROWS)
    layers, words = Layers(), Words()
    steps = rng.standard_normal((ROWS, 5, 3)).astype(np.float32)
    with torch.no_grad():
        layers.norm.running_mean.uniform_(-1, 1)
        layers.norm.running_var.uniform_(0.5, 2)
        layers.group.weight.uniform_(0.5, 2)
    cells = Cells()
    export("import_layers.onnx", layers, torch.from_numpy(images))
    export("import_words.onnx", words, torch.from_numpy(tokens))
    two_inputs()
    export("import_cells.onnx", cells, torch.from_numpy(steps))
    more()
    heads()
    truths()
    names = terms()
    with open(os.path.join(HERE, "import_outputs.h"), "w") as out:
        out.write("/* SPDX-" "License-Identifier: BSD-3-Clause */\n/* Made by make_import.py: "
                  f"torch {torch.__version__}, onnx {onnx.__version__},\n * onnxruntime "
                  f"{onnxruntime.__version__}. */\n")
        numbers(out, "import_images", images)
        numbers(out, "import_tokens", tokens.astype(np.int32))
        numbers(out, "import_table", table)
        numbers(out, "import_labels", labels.astype(np.int32))
        numbers(out, "import_layers", run("import_layers.onnx", images)[0])
        numbers(out, "import_words", run("import_words.onnx", tokens)[0])
        numbers(out, "import_more", run("import_more.onnx", tokens)[0])
        numbers(out, "import_heads", run("import_heads.onnx", table)[0])
        numbers(out, "import_truths", run("import_truths.onnx", table)[0])
        numbers(out, "import_steps", steps)
        numbers(out, "import_cells", run("import_cells.onnx", steps)[0])
        for k, value in enumerate(run("import_terms.onnx", table)):
            numbers(out, f"import_terms_{k}", value)
        for k, name in enumerate(names):
            out.write(f"static const char import_name_{k}[] = \"{name}\";\n")
        target = torch.from_numpy(labels)
        numbers(out, "import_layers_losses",
                losses(layers, torch.from_numpy(images), target))
        numbers(out, "import_cells_losses",
                losses(cells, torch.from_numpy(steps), target))
        numbers(out, "import_words_losses",
                losses(words, torch.from_numpy(tokens), target))


main()
