# SPDX-License-Identifier: BSD-3-Clause
"""Models that lockstep writes for ONNX: onnx.checker takes them, and ONNX
Runtime computes what lockstep-predict does, within 1e-5.  Layers that no model
of the tool has are built by bindings/python/lockstep.

    onnx_runtime.py FOLDER-OF-PROGRAMS FOLDER GOLDEN-MODEL
"""
import inspect
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

bin_, folder, golden = sys.argv[1:4]
os.environ.setdefault("LOCKSTEP_LIBRARY",
                      os.path.abspath(f"{bin_}/.libs/liblockstep.so"))
sys.path.append(f"{os.path.dirname(__file__)}/../../bindings/python")
import lockstep as ls  # noqa: E402
rng = np.random.default_rng(1)
SMALL_LM = ["--vocab", "11", "--seq-len", "6", "--d-model", "16", "--heads", "2",
            "--layers", "2", "--d-ff", "24"]


def run(program, *args):
    done = subprocess.run([f"{bin_}/{program}", *args], capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(f"{program} {args}: {done.stderr}")


def train(model, *options):
    path = f"{folder}/model.safetensors"
    run("lockstep-train", model, *options, "--steps", "2", "--devices", "2",
        "--log-every", "0", "--save", path)
    return path


def softmax(z):
    e = np.exp(z.astype(np.float64) - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def session():
    """The checked model in ONNX Runtime."""
    onnx.checker.check_model(f"{folder}/model.onnx", full_check=True)
    return onnxruntime.InferenceSession(
        f"{folder}/model.onnx", providers=["CPUExecutionProvider"])


def there(x):
    """The first output in ONNX Runtime."""
    s = session()
    return s.run(None, {s.get_inputs()[0].name: x})[0]


def compare_all(what, of, inputs):
    """Each output of a predictor."""
    of.save_onnx(f"{folder}/model.onnx")
    s = session()
    names = [out.name for out in s.get_outputs()]
    assert set(names) == set(of.outputs), names
    error = 0
    for name, y in zip(names, s.run(names, inputs)):
        here = of.predict(name, **inputs)
        assert here.shape == y.shape, (name, here.shape, y.shape)
        error = max(error, np.abs(here - y).max())
    if not error <= 1e-5:
        sys.exit(f"{what}: ONNX Runtime is {error} away")
    print(f"{what}: ONNX Runtime within {error:.1e}")


def compare(what, path, x):
    """lockstep-predict shows probabilities where the loss has classes."""
    np.save(f"{folder}/x.npy", x)
    run("lockstep-predict", path, f"{folder}/x.npy", "-o", f"{folder}/y.csv",
        "--onnx", f"{folder}/model.onnx")
    head = open(f"{folder}/y.csv").readline()
    here = np.loadtxt(f"{folder}/y.csv", delimiter=",", skiprows=1, ndmin=2)
    y = there(x)
    if head.startswith(("class", "token")):
        y = softmax(y.reshape(len(x), -1, y.shape[-1])[:, -1])
        here = here[:, 1:]
    error = np.abs(here - y).max()
    if not error <= 1e-5 * max(1, np.abs(here).max()):
        sys.exit(f"{what}: ONNX Runtime is {error} away")
    print(f"{what}: ONNX Runtime within {error:.1e}")


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def tokens(rows):
    return rng.integers(0, 11, (rows, 6)).astype(np.int32)


compare("golden model", golden, floats(5, 7, 6, 2))
compare("linear", train("linear"), floats(3, 8))
for activation in "relu", "tanh", "gelu", "sigmoid":
    compare(f"mlp {activation}",
            train("mlp", "--activation", activation, "--hidden", "17,9",
                  "--dropout", "0.2"), floats(7, 64))
compare("mlp bf16-input", train("mlp", "--precision", "bf16-input"),
        floats(7, 64))
compare("cnn", train("cnn", "--image", "9x8x3", "--channels", "5,7"),
        floats(4, 9, 8, 3))
compare("resnet", train("resnet", "--image", "9x8x3", "--depth", "8"),
        floats(4, 9, 8, 3))
compare("lm", train("lm", *SMALL_LM), tokens(3))
with open(f"{folder}/text", "wb") as f:
    f.write(bytes(rng.integers(0, 11, 4000).astype(np.uint8)))
compare("gpt", train("gpt", "--data", f"{folder}/text", *SMALL_LM), tokens(3))


def predictor(g, y):
    """A graph with drawn parameters, those of the spread positive."""
    target = g.input("target", y.shape)
    g.loss(ls.mean_squared_error(y, target))
    with ls.Trainer(g, ls.sgd(0.1), devices=1, workers=1, pin=False) as t:
        for name, shape in t.shapes().items():
            values = 0.5 * rng.standard_normal(shape)
            t[name] = (np.abs(values) + 0.1 if name.endswith(".var")
                       else values)
        return ls.Predictor(t)


def batch_norm():
    g = ls.Graph()
    x = g.input("x", (5, 7))
    y = ls.batch_norm(ls.dense(x, 6, "fc"), 1e-3, "norm")
    y = ls.dense(ls.batch_norm(ls.relu(y), 1e-5, "again"), 3, "out")
    g.output(y, "y")
    return predictor(g, y), {"x": floats(4, 5, 7)}


def autoencoder():
    """Norms by the statistics of the rows that it was trained on, and layers
    that make images larger."""
    g, rows = ls.Graph(), {"x": floats(16, 8, 6, 2)}
    x = y = g.input("x", (8, 6, 2))
    y = ls.relu(ls.batch_norm_with(ls.conv2d(y, 5, (3, 3), "down"), "first"))
    y = ls.avg_pool_with(y, 2, 3, stride_y=2, stride_x=3)
    y = ls.batch_norm_with(ls.conv2d_transpose(
        y, 4, {"height": 3, "width": 3, "stride_y": 2}, "up"), "second")
    y = ls.dense(ls.upsample(ls.relu(y), 1, 3), 2, "out")
    g.output(y, "y")
    g.loss(ls.mean_squared_error(y, x))
    trainer = ls.Trainer(g, optimizer=ls.adam(0.1), devices=2)
    for _ in range(5):
        trainer.step(**rows)
    return ls.Predictor(trainer), rows


def recurrent(call, two_biases, state, lengths):
    """The steps and the last state of lstm_with and gru_with, with or without
    a first state and lengths.  A row of length 0 keeps its first state here; in
    ONNX Runtime it ends with zeros, so there is none beside a state."""
    build = getattr(ls, call)
    g, n = ls.Graph(), 4
    rows = {"x": floats(6, 5, 3)}
    nodes = {"x": g.input("x", (5, 3))}
    if state:
        of_row = (2, n) if call.startswith("lstm") else (n,)
        rows["state"], nodes["state"] = floats(6, *of_row), g.input(
            "state", of_row)
    if lengths:
        rows["lengths"] = np.array([5, 1, 3, state, 5, 2], np.int32)
        nodes["lengths"] = g.input("lengths", (), np.int32)
    y, last = build(nodes["x"], n, "cell", state=nodes.get("state"),
                    lengths=nodes.get("lengths"), two_biases=two_biases)
    g.output(y, "y")
    g.output(last, "last")
    return predictor(g, y), rows


def both_ways(call, two_biases, lengths):
    """Layers that go both ways, of which one is trained a little, so that its
    biases are not 0: one node of ONNX."""
    g, rows = ls.Graph(), {"x": floats(6, 5, 3)}
    x, y = g.input("x", (5, 3)), g.input("y", (5, 8))
    options = {"two_biases": True} if two_biases else {}
    if lengths:
        rows["lengths"] = np.array([5, 1, 3, 0, 5, 2], np.int32)
        options["lengths"] = g.input("lengths", (), np.int32)
    h = getattr(ls, call)(x, 4, "cell", bidirectional=True, **options)[0]
    g.output(h, "h")
    g.loss(ls.mean_squared_error(h, y))
    trainer = ls.Trainer(g, optimizer=ls.adam(0.1), devices=1)
    for _ in range(3):
        trainer.step(y=floats(6, 5, 8), **rows)
    return ls.Predictor(trainer), rows


def one_hot():
    g = ls.Graph()
    y = ls.dense(ls.one_hot(g.input("i", (3,), np.int32), 5), 2, "out")
    g.output(y, "y")
    return predictor(g, y), {"i": rng.integers(0, 5, (7, 3)).astype(np.int32)}


def two_passes():
    """Norms of rows with a large mean, which cost ONNX Runtime no digits."""
    g = ls.Graph()
    x = g.input("x", (4, 4, 8))
    y = ls.layer_norm_with(x, "layer", two_passes=True)
    y = y + ls.group_norm_with(x, 2, "group", two_passes=True)
    g.output(y, "y")
    return predictor(g, y), {"x": np.float32(8) + floats(5, 4, 4, 8)}


def elements():
    """Every operator that is a formula of its elements, or of x alone."""
    g = ls.Graph()
    x, u = g.input("x", (4, 6)), g.input("u", (4, 6))
    y = [ls.clamp(x, -0.5, 1), ls.pow(u, 2.5), ls.leaky_relu(x, 0.1),
         ls.elu(x, 0.7), ls.scale_shift(x, 2, 1), ls.log(u), ls.sqrt(u),
         ls.min(x, u), ls.max(x, u), x / u, x * u, x - u]
    alone = [f for f in map(ls.builders.__dict__.get, ls.builders.__all__)
             if list(inspect.signature(f).parameters) == ["x"]]
    y += [f(x) for f in alone if f not in (ls.log, ls.sqrt, ls.mean_loss)]
    for i, h in enumerate(y):
        g.output(h, f"y{i}")
    return predictor(g, y[0]), {"x": np.clip(3 * floats(5, 4, 6), -4, 4),
                                "u": np.abs(floats(5, 4, 6)) + 0.5}


def shapes():
    """What moves numbers, adds them or picks some."""
    g = ls.Graph()
    x, at, n = g.input("x", (4, 6)), g.input("at", (3,), np.int32), g.input(
        "n", (), np.int32)
    column = ls.slice(x, 1, 2, 1)
    y = [ls.transpose(x, (1, 0)), ls.reshape(x, (2, 3, 4)), ls.reverse(x),
         ls.reverse(x, n), ls.broadcast_to(ls.sum_over(x, (0,)), (4, 6)),
         ls.broadcast_to(column, (2, 4, 6)), ls.sum_over(x, (0, 1)),
         ls.max_over(x, (1,)), ls.concat([x, column], 1), ls.gather(x, at),
         ls.softmax(x), ls.log_softmax(x), ls.matmul(x, ls.transpose(x)),
         ls.round_bf16(x), ls.rms_norm(x, 1e-3, "rms"), ls.flatten(x),
         ls.layer_norm(x, "norm"), ls.position(x, "place"),
         ls.embed(at, 4, 5, "table"), ls.dropout(x, 0.5, "drop")]
    for i, h in enumerate(y):
        g.output(h, f"y{i}")
    return predictor(g, y[-3]), {
        "x": floats(5, 4, 6), "n": rng.integers(0, 5, 5).astype(np.int32),
        "at": rng.integers(0, 4, (5, 3)).astype(np.int32)}


def masked():
    g = ls.Graph()
    x, m = g.input("x", (3, 8)), g.input("m", (3, 5))
    y = ls.cross_attention(x, g.input("to", (5, 6)), m, 2, "a")
    g.output(y, "y")
    return predictor(g, y), {"x": floats(4, 3, 8), "to": floats(4, 5, 6),
                             "m": (floats(4, 3, 5) > 0).astype(np.float32)}


compare_all("elements", *elements())
compare_all("shapes", *shapes())
compare_all("one hot", *one_hot())
compare_all("two passes", *two_passes())
compare_all("masked", *masked())
compare_all("batch norm", *batch_norm())
compare_all("autoencoder", *autoencoder())
for call, two in ("lstm_with", False), ("gru_with", False), ("gru_with", True):
    for lengths in False, True:
        compare_all(call + " both ways" + " two biases" * two +
                    " lengths" * lengths, *both_ways(call, two, lengths))
        cells = [n for n in onnx.load(f"{folder}/model.onnx").graph.node
                 if n.op_type in ("LSTM", "GRU")]
        assert len(cells) == 1, len(cells)
for call, two in ("lstm_with", False), ("gru_with", False), ("gru_with", True):
    for state in False, True:
        for lengths in False, True:
            compare_all(call + " two biases" * two + " state" * state +
                        " lengths" * lengths,
                        *recurrent(call, two, state, lengths))
