# SPDX-License-Identifier: BSD-3-Clause
"""Proves that bindings/python/lockstep does what the C library does: its structs have
the layout of the headers, arrays are read where they are and bad ones refused,
a model goes through a file, and other threads run during a step.

    python.py OFFSETS FOLDER STATE_DICT GRAPH

OFFSETS: "struct.member offset" for each member; STATE_DICT: one of PyTorch's;
GRAPH: golden/import_layers.onnx.
"""

import copy
import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np

import lockstep as ls


def raises(kind, words, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as e:
        assert words in str(e), f"{e} does not say {words}"
        return e
    raise AssertionError(f"nothing was refused that should say {words}")


def check_layouts(path):
    with open(path) as lines:
        offsets = dict(line.split() for line in lines)
    for name, struct in ls.c.STRUCTS.items():
        for member, _ in struct._fields_:
            got = getattr(struct, member).offset
            want = int(offsets.pop(f"{name}.{member}"))
            assert got == want, f"{name}.{member} is at {want}, not {got}"
        size = int(offsets.pop(f"{name}.sizeof"))
        got = ctypes.sizeof(struct)
        # Structs that begin with their size may have grown since.
        may_grow = struct._fields_[0][0] == "size" or name == "ls_result"
        assert got == size or (may_grow and got < size), f"{name}: {size}"
    assert not offsets, offsets


def data():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    return x, x[:, :1] * x[:, 1:]


def graph():
    g = ls.Graph()
    x, y = g.input("x", (2,)), g.input("y", (1,))
    out = ls.dense(ls.gelu(ls.dense(x, 32, "hidden")), 1, "out")
    assert out.shape == (1,)
    g.output(out, "product")
    g.loss(ls.mean_squared_error(out, y))
    return g


def trainer(**options):
    return ls.Trainer(graph(), optimizer=ls.adam(1e-2), pin=False,
                      **{"devices": 4, "workers": 2, **options})


def check_training(folder):
    x, y = data()
    with trainer() as t, trainer(workers=1) as other:
        first = t.step(x=x, y=np.ascontiguousarray(y))
        assert first.rows == 64 and first.updated and t.steps == 1
        other.step(x=x, y=np.ascontiguousarray(y))
        assert t.hash == other.hash, "the bits of any workers"
        for _ in range(200):
            last = t.step(x=x, y=np.ascontiguousarray(y))
        assert last.loss < 0.02 * first.loss, (first.loss, last.loss)
        check_files(t, x, y, folder)


def check_files(t, x, y, folder):
    path = os.path.join(folder, "python.safetensors")
    t.save_model(path)
    a = t.predict("product", x=x)
    with ls.Trainer(path, devices=4, workers=1, pin=False) as again:
        np.testing.assert_array_equal(again.predict("product", x=x), a)
        np.testing.assert_array_equal(again["out.kernel"], t["out.kernel"])
        assert again.dtypes == {"x": np.float32, "y": np.float32}
        again.evaluate(x=[[1, 2]], y=[[3]])
        again["out.bias"] = 7
        np.testing.assert_array_equal(again["out.bias"], np.float32([7]))
        again.load(path, "out.*")
        np.testing.assert_array_equal(again["out.bias"], t["out.bias"])
        assert again.evaluate(x=x, y=np.ascontiguousarray(y)).loss == \
            t.evaluate(x=x, y=np.ascontiguousarray(y)).loss
    p, q = ls.Predictor(path), ls.Predictor(t)
    for rows in 1, 3, 64:
        np.testing.assert_array_equal(p.predict("product", x=x[:rows]),
                                      a[:rows])
    t["out.bias"] = t["out.bias"] + 1
    assert not np.array_equal(q.predict("product", x=x),
                              t.predict("product", x=x))
    q.refresh(t)
    np.testing.assert_array_equal(q.predict("product", x=x),
                                  t.predict("product", x=x))


def check_initialisers():
    """Kernels start as they are told, by JAX's bits of the same names."""
    def kernel(how, **options):
        g = graph()
        g.start("*kernel", how)
        with ls.Trainer(g, optimizer=ls.sgd(1), devices=2, workers=1,
                        pin=False, **options) as t:
            return t["out.kernel"].copy()

    assert (kernel(0.25) == 0.25).all() and (kernel("ones") == 1).all()
    assert "he-normal" in ls.initialisers()
    np.testing.assert_array_equal(
        kernel("he-normal"),
        kernel(ls.variance_init(ls.NORMAL, ls.FAN_IN, 2)))
    np.testing.assert_array_equal(kernel("uniform"),
                                  kernel(ls.random_init(ls.UNIFORM, 0.01)))
    np.testing.assert_array_equal(kernel("orthogonal"),
                                  kernel(ls.orthogonal_init()))
    assert not np.array_equal(kernel("he-normal"), kernel("he-uniform"))
    raises(ls.Error, "none-such", ls.initialiser, "none-such")
    raises(ls.Error, "nothing", graph().start, "nothing", 0)
    x, y = data()
    with ls.Trainer(graph(), optimizer=ls.sgd(1), devices=2, workers=1,
                    pin=False, clip_value=1e-3) as t:
        before = t["out.kernel"].copy()
        t.step(x=x, y=np.ascontiguousarray(y))
        assert 0 < np.abs(t["out.kernel"] - before).max() <= 1.0001e-3


def check_refused():
    x, y = data()
    y = np.ascontiguousarray(y)
    with trainer() as t:
        raises(TypeError, "x is object", t.step, x=x.astype(object), y=y)
        raises(TypeError, "x is <U1", t.step, x=["a", "b"], y=y)
        raises(TypeError, "x is complex64", t.step, x=x * np.complex64(1), y=y)
        raises(ValueError, "x is no array", t.step, x=[[1, 2], [3]], y=y)
        raises(ValueError, "no axis of rows", t.step, x=3, y=y)
        raises(ValueError, "rows of (3,)", t.step, y=y,
               x=np.zeros((64, 3), np.float32))
        raises(ls.Error, "\"z\"", t.step, x=x, z=y)
        raises(ls.Error, "rows", t.step, x=x, y=y[:32].copy())
        raises(TypeError, "there is no clip", trainer, clip=1)
        assert raises(ls.Error, "devices", trainer, devices=-1).status == -2
        raises(KeyError, "none", t.__getitem__, "none")
        raises(TypeError, "has a mask", t.step, y=y,
               x=np.ma.masked_array(x, x > 0))
        raises(TypeError, "cannot be copied", copy.copy, t)
        raises(TypeError, "cannot be copied", copy.deepcopy, ls.Gradients(t))
        raises(ValueError, "out of range", setattr, t, "steps", 1 << 64)
        raises(ValueError, "out of range", trainer, seed=1 << 64)
        assert t.steps == 0
    a = ls.Graph().input("a", (2, 3))
    raises(ValueError, "out of range", ls.dense, a, (1 << 64) + 3, "b")
    raises(ValueError, "out of range", ls.reshape, a, (2, (1 << 64) + 3))
    raises(ValueError, "out of range", ls.sum_over, a, 1 << 32)
    raises(ValueError, "NUL", ls.dense, a, 3, "b\0c")
    p = ls.Predictor(trainer())
    raises(ValueError, "rows of (3,)", p.predict, "product",
           x=np.zeros((1, 3), np.float32))
    raises(KeyError, 'the nearest is "product"', p.predict, "produt", x=x)
    raises(KeyError, 'no input "z"; there are x', p.predict, "product", z=x)
    raises(TypeError, '"x"', p.predict, "product")
    good = ls.array(x[:, ::-1])
    assert good.flags.c_contiguous and good.dtype == np.float32
    assert np.shares_memory(ls.array(good), good)
    assert ls.array([1, 2]).dtype == np.int32
    raises(ValueError, "int32", ls.array, [1 << 40])


def check_taken():
    """Lists, slices and other numbers are taken as what an input is of; what it
    cannot hold is refused by its place."""
    x, y = data()
    wide = np.zeros((64, 4))
    wide[:, ::2] = x
    with trainer() as t, trainer() as other:
        other.step(np.ones(64, np.float32), x=x, y=np.ascontiguousarray(y))
        t.step([1] * 64, x=wide[:, ::2], y=y.tolist())
        assert t.hash == other.hash
        by_list = t.predict("product", x=[[1, 2], [3, 4]])
        np.testing.assert_array_equal(by_list, t.predict("product", x=np.array(
            [[1, 2], [3, 4]], np.float32)))
        p = ls.Predictor(t)
        for kind in np.int64, np.uint8, np.float16, ">f8":
            np.testing.assert_array_equal(by_list, p.predict(
                "product", x=np.array([[1, 2], [3, 4]], kind)))
        assert t.input_gradient("x", x=x.tolist(), y=y).shape == x.shape
        raises(ValueError, "x[1, 0] is 1e+39, which float32 cannot hold",
               t.predict, "product", x=[[1, 2], [1e39, 1]])
        raises(ValueError, "x[0, 1] is 16777217, which float32 cannot hold",
               p.predict, "product", x=[[1, (1 << 24) + 1]])
        raises(ValueError, "weights[2] is", t.step, [1, 1, 1e39] + [1] * 61,
               x=x, y=y)
    g = ls.Graph()
    label = g.input("label", (), np.int32)
    g.loss(ls.cross_entropy(ls.dense(g.input("x", (2,)), 3, "d"), label))
    with ls.Trainer(g, devices=1, workers=1, pin=False) as t:
        loss = t.evaluate(x=x, label=np.arange(64, dtype=np.int32) % 3).loss
        for labels in (np.arange(64) % 3, (np.arange(128) % 3)[:64] * 1.0,
                       [i % 3 for i in range(64)]):
            assert t.evaluate(x=x, label=labels).loss == loss
            with_loader = ls.Loader(t, {"x": x, "label": labels}).evaluate(0)
            assert with_loader.loss == loss
        for bad, words in (((1 << 32) + 1, "4294967297"), (1.5, "1.5"),
                           (np.nan, "nan"), (-(1 << 31) - 1, "-2147483649")):
            raises(ValueError, f"label[63] is {words}, which int32 cannot hold",
                   t.evaluate, x=x, label=[0] * 63 + [bad])
    raises(ValueError, "[3, 0] is 1e+300", ls.array, [[0], [1], [2], [1e300]])


def check_kinds():
    """No member of a struct that is a text or a pointer, and no such argument,
    takes an address for one."""
    count = 0
    for struct in ls.c.STRUCTS.values():
        for name, kind in struct._fields_:
            if kind not in (ctypes.c_char_p, ctypes.c_void_p):
                continue
            count += 1
            for bad in 5, 5.0, object(), ["a"], True:
                raises(TypeError, name + ": a ", setattr, struct(), name, bad)
            if kind is ctypes.c_void_p:
                raises(TypeError, "a pointer", setattr, struct(), name, "a")
    assert count > 50, count
    raises(TypeError, "a text is wanted, not int", ls.TableModel, "none",
           adapters=5)
    raises(TypeError, "a text is wanted, not int", trainer().save, 5)
    p, g = ls.Predictor(trainer()), graph()
    for call in (p.refresh, ls.Gradients, lambda x: ls.Loader(x, {}),
                 lambda x: ls.Checkpoints(x, "none")):
        for bad in p, g, g.input("z", (2,)), 5, None:
            raises(TypeError, "a Trainer is wanted, not", call, bad)
        g = graph()
    raises(TypeError, "a Predictor is wanted", ls.Generator, g, "product")
    raises(TypeError, "adam, argument 1: wrong type", ls.adam, "fast")
    raises(TypeError, "controls are int", trainer().root, 1, a=[1])
    raises(ctypes.ArgumentError, "a pointer is wanted, not int",
           ls.c.ls_trainer_step, 5)
    raises(ValueError, "shape: 9 values", ls.c.Array, b"x", 0, 9, [1] * 9)
    raises(TypeError, "devices: ", trainer, devices=1.5)


def check_names():
    """A word that is none is answered by those there are."""
    raises(TypeError, "its optimizer has one", trainer, lr=1e-3)
    raises(TypeError, 'the nearest is "precision"', trainer, precison="bf16")
    raises(TypeError, "there are accumulate, ", trainer, zzz=1)
    raises(TypeError, "optimizer: 'adam' is no Optimizer, as ls.adam(1e-3) is",
           ls.Trainer, graph(), optimizer="adam")
    raises(TypeError, "schedule: 'cosine' is no Schedule", trainer,
           schedule="cosine")
    with trainer() as t:
        raises(KeyError, 'the nearest is "out.bias"', t.__getitem__, "out.bia")
        raises(KeyError, 'the nearest is "product"', t.predict, "produkt",
               x=data()[0])
        raises(ValueError, "out.bias has the shape (1,), and the values have "
               "(3,)", t.__setitem__, "out.bias", [1, 2, 3])
        p = ls.Predictor(t)
        assert repr(p) == '<Predictor of "product" (1,) by "x" (2,)>', repr(p)
    assert ls.__version__ == ls.version()
    g = ls.Graph()
    raises(ls.Error, "mean_loss", g.loss, ls.square(g.input("x", (1,))))


def check_end(folder):
    """What outlives the module ends without a word."""
    script = os.path.join(folder, "end.py")
    with open(script, "w") as f:
        f.write("import os, lockstep as ls\n"
                "g = ls.Graph()\n"
                "y = ls.dense(g.input('x', (1,)), 1, 'a')\n"
                "g.output(y, 'y')\n"
                "g.loss(ls.mean_loss(y))\n"
                "t = ls.Trainer(g, devices=1, workers=1, pin=False)\n"
                "os.kept = [ls, g, ls.Predictor(t), ls.Gradients(t), t]\n")
    done = subprocess.run([sys.executable, script], capture_output=True,
                          text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def check_alone():
    """A call has its own arrays alone: none of an earlier call's."""
    x, y = data()
    y = np.ascontiguousarray(y)
    with trainer() as t:
        for _ in range(2):
            t.step(x=x, y=y)
            raises(TypeError, 'lacks the input "y"', t.step, x=2 * x)
            raises(TypeError, 'lacks the input "x"', t.evaluate, y=y)
            raises(TypeError, 'lacks the input "x"', t.evaluate)
            raises(TypeError, 'lacks the input "y"', t.row_losses, x=x)
            raises(TypeError, '"y"', t.input_gradient, "x", x=x)
            t.predict("product", x=x)
            raises(TypeError, '"x"', t.predict, "product", y=y)
            raises(TypeError, '"x"', t.predict, "product")
            g = ls.Gradients(t, 2)
            raises(TypeError, 'lacks the input "y"', g.compute, x=x)
            raises(TypeError, 'lacks the input "y"', g.add, x=x)
        raises(TypeError, "y is object", t.step, x=x, y=None)
        raises(TypeError, 'lacks the input "y"', t.step, x=x)
        assert t.steps == 2
        p = ls.Predictor(two_inputs())
        p.predict("sum", a=x, b=x)
        raises(TypeError, '"b"', p.predict, "sum", a=x)
        assert p.predict("sum", a=x, b=x).shape == (64, 2)


def two_inputs():
    g = ls.Graph()
    a, b = g.input("a", (2,)), g.input("b", (2,))
    s = ls.add(a, ls.dense(b, 2, "out"))
    g.output(s, "sum")
    g.loss(ls.mean_loss(s, s))
    return ls.Trainer(g, devices=1, workers=1, pin=False)


def check_closed():
    x, y = data()
    y = np.ascontiguousarray(y)
    t = trainer()
    g = ls.Gradients(t)
    g.compute(x=x, y=y)
    t.close()
    t.close()
    for call in (lambda: t.step(x=x, y=y), lambda: t.evaluate(x=x, y=y),
                 lambda: t.predict("product", x=x), lambda: t.hash,
                 lambda: t["hidden.kernel"], lambda: t.steps,
                 lambda: t.save("none"), lambda: ls.Predictor(t),
                 lambda: ls.Gradients(t), g.mean, lambda: g["out.bias"],
                 lambda: g.compute(x=x, y=y), lambda: t.set_lr(1)):
        raises(ValueError, "the trainer is closed", call)


def check_passing():
    """What a builder was refused for is told once: the next call is judged by
    itself, and what is built then has the bytes of a graph without it."""
    g = ls.Graph()
    x, y = g.input("x", (2,)), g.input("y", (1,))
    raises(ls.Error, "squared error", ls.mean_squared_error, x, y)
    raises(ls.Error, "dense", ls.dense, x, -1, "hidden")
    raises(ls.Error, "twice", g.input, "x", (3,))
    seq = ls.dense(x, 32, "hidden")
    raises(ls.Error, "twice", ls.dense, seq, 1, "hidden")
    raises(ls.Error, "attention", ls.self_attention, seq, 2, False, "a")
    out = ls.dense(ls.gelu(seq), 1, "out")
    g.output(out, "product")
    raises(ls.Error, "twice", g.output, seq, "product")
    raises(ls.Error, "not a loss", g.loss, out)
    loss = ls.mean_squared_error(out, y)
    g.loss(loss)
    raises(ls.Error, "has a loss", g.loss, loss)
    raises(ls.Error, "matches none", g.start, "nothing", 0)
    with ls.Trainer(g, optimizer=ls.adam(1e-2), devices=4, workers=2,
                    pin=False) as t, trainer() as plain:
        assert t.hash == plain.hash


def check_operators():
    """Nodes with nodes, numbers and indices are what NumPy makes of arrays."""
    cases = {
        "twice": lambda a, b: a * 2, "from_one": lambda a, b: 1 - a,
        "negative": lambda a, b: -a, "half": lambda a, b: 0.5 * a + b,
        "square": lambda a, b: a ** 2, "less": lambda a, b: a - np.float32(3),
        "third": lambda a, b: a / 4, "inverse": lambda a, b: 2 / b,
        "rest": lambda a, b: (a - b) / b, "size": lambda a, b: abs(-b - 1),
        "first": lambda a, b: a[..., 0:2], "row": lambda a, b: a[..., 1, :],
        "one": lambda a, b: a[..., -1, 2], "wide": lambda a, b: a * b[..., :1],
        "column": lambda a, b: a[..., 1:, 1] + b[..., 0, 0:1],
    }
    g = ls.Graph()
    a, b = g.input("a", (4, 3)), g.input("b", (4, 3))
    for name, case in cases.items():
        # Of a row, where NumPy has an axis before it.
        g.output(0.0 + case(a, b), name)
    m = g.input("m", (2, 3, 2))
    assert (a @ m).shape == (2, 4, 2) and (m @ m[0, :2]).shape == (2, 3, 2)
    assert a[1:3, 0].shape == (2,) and a[2].shape == (3,)
    rng = np.random.default_rng(0)
    x = {n: rng.uniform(1, 2, (5, 4, 3)).astype(np.float32) for n in "ab"}
    p = predictor(g, a)
    for name, case in cases.items():
        np.testing.assert_allclose(p.predict(name, **x), case(**x), 1e-6)
    raises(TypeError, "unsupported", lambda: a + "b")
    raises(TypeError, "elements", list, a)
    raises(IndexError, "4 of 4", lambda: a[4])
    raises(IndexError, "no step", lambda: a[::2])
    raises(IndexError, "3 indices", lambda: a[0, 0, 0])
    raises(ls.Error, "(4,3)", lambda: a + b[:3])
    raises(TypeError, "a node is wanted, not int", lambda: a @ 2)
    raises(TypeError, "takes a node first", ls.relu, 2)
    raises(TypeError, "'b'", ls.add, a)
    assert repr(a) == '<input "a" (4, 3)>', repr(a)


def predictor(g, x):
    """Of a graph that has no loss yet."""
    g.loss(ls.mean_loss(ls.dense(x, 1, "loss")))
    return ls.Predictor(ls.Trainer(g, devices=1, workers=1, pin=False))


def check_builders(folder):
    """Every builder is there, with C's words, and makes a node."""
    g, path = ls.Graph(), os.path.join(folder, "whole.safetensors")
    y = ls.dense(g.input("x", (6, 4)), 3, "d")
    g.output(y, "y")
    g.loss(ls.mean_loss(y))
    with ls.Trainer(g, devices=1, workers=1, pin=False) as t:
        t.save_model(path)
    g = ls.Graph()
    x, i = g.input("x", (6, 4)), g.input("i", (6,), np.int32)
    image, row = g.input("image", (8, 8, 4)), g.input("row", (4,))
    length = g.input("length", (), np.int32)
    made = {
        "batch_norm": (x, 1e-5, "bn"), "batch_norm_with": (x, "bw"),
        "broadcast_to": (row, (6, 4)),
        "clamp": (x, 0, 1), "concat": ([x, x], 0),
        "conv1d": (x, 5, 3, 1, "same", "c1"),
        "conv2d_transpose": (image, 5, (3, 3), "ct"), "upsample": (image, 2, 2),
        "conv1d_with": (x, 5, 3, "c3"), "conv2d": (image, 5, (3, 3), "c4"),
        "conv2d_with": (image, 4, 3, 3, "c6"),
        "cross_attention": (x, x, None, 2, "ca"),
        "cross_entropy": (x, i), "dense": (x, 3, "d"),
        "dense_with": (x, 3, "dn"), "dropout": (x, 0.5, "drop"),
        "elu": (x, 1), "embed": (i, 9, 2, "e"),
        "embed_bag": (i, "mean", 9, 2, "eb"), "gather": (x, i),
        "gaussian_loss": (x, x, x), "group_norm": (image, 2, "gn"),
        "graph_add_saved": (x, "whole", path),
        "grouped_attention": (x, 2, 1, 1e4, True, "ga"), "gru": (x, 3, "g"),
        "gru_with": (x, 3, "gf"), "group_norm_with": (image, 2, "gw"),
        "huber_loss": (x, x, 1), "layer_norm_with": (x, "lw"),
        "label_terms": (x, i, 0.1), "layer_norm": (x, "ln"),
        "leaky_relu": (x, 0.1), "lstm": (x, 3, "l"),
        "lstm_with": (x, 3, "lf"),
        "max_pool": (image, (2, 2, 2, 2, "valid")),
        "attention_with": (x, 2, "aw"),
        "cross_attention_with": (x, x, None, 2, "caw"),
        "max_pool_with": (image, 3, 3), "avg_pool_with": (image, 3, 3),
        "avg_pool": (image, {"height": 2, "width": 2}), "max_over": (x, -1),
        "mean_over": (x,), "mean_loss": (x,), "next_token_loss": (x, i),
        "one_hot": (i, 9), "position": (x, "p"), "pow": (x, 3),
        "reshape": (x, (3, 8)), "rms_norm": (x, 1e-6, "rn"),
        "dot_product_attention": (x, x, x, 2, True), "where": (x, x, x),
        "rotary": (x, 2, 1e4), "scale_shift": (x, 2, 1),
        "self_attention": (x, 2, False, "sa"), "slice": (x, 0, 1, 2),
        "sparse_dense": (i, None, 9, 2, "sd"),
        "sparse_dense_with": (i, None, 9, 2, "sn"),
        "sum_over": (x, (0, 1)),
        "swiglu": (x, 3, "sw"), "transpose": (x, (1, 0)),
        "matmul": (x, ls.transpose(x)),
    }
    two = {"add", "sub", "mul", "div", "min", "max", "less", "less_equal", "equal",
           "mean_squared_error", "mean_absolute_error", "binary_cross_entropy",
           "kl_divergence"}
    rules = {name.lower() for name in ls.c.ls_optimizer_kind.number}
    for name in ls.builders.__all__:
        build = getattr(ls, name)
        assert len(build.__doc__) > 6, name
        if name in rules:
            continue
        y = build(*made.get(name, (x, x) if name in two else (x,)))
        y = y[0] if isinstance(y, tuple) else y
        assert isinstance(y, ls.Node), name
    assert not set(made) - set(ls.builders.__all__)
    assert g.start("d.*", 1) is None
    assert ls.conv2d(image, 5, (3, 3, 2, 2, "valid"), "z").shape == (3, 3, 5)
    assert ls.mean_over(image, (0, 1)).shape == (4,)
    assert ls.max_pool_with(image, 3, 3, padding="valid", stride_y=2, stride_x=2,
                            ceil_mode=True).shape == (4, 4, 4)
    y, state = ls.gru_with(x, 3, "zz", lengths=length, two_biases=True)
    assert y.shape == (6, 3) and state.shape == (3,)
    y, state = ls.gru_with(x, 3, "zy", state=state)
    assert y.shape == (6, 3) and state.shape == (3,)
    raises(ls.Error, "the state is", ls.lstm_with, x, 3, "zx", state=state)
    raises(TypeError, "there is no stride in", ls.conv2d_with, image, 5, 3, 3,
           "zzz", stride=2)
    raises(ValueError, 'padding has no "some"', ls.conv2d, image, 5,
           (3, 3, 1, 1, "some"), "zzz")
    raises(ValueError, "1 axes", ls.transpose, x, (0,))
    raises(TypeError, "n", ls.dense, x)
    public = [getattr(ls, n) for n in dir(ls)]
    public += [getattr(k, n) for k in public if isinstance(k, type)
               for n in vars(k) if not n.startswith("_")]
    silent = [v for v in public if callable(v) and not v.__doc__]
    assert not silent, silent
    assert "def" not in dir(ls) and "conv2d" in dir(ls)
    names = {}
    exec("from lockstep import *", names)
    assert "variance_init" in names and "COSINE" in names
    assert "min" not in names and "slice" not in names and "np" not in names


def check_words():
    """Constants are words or names; results, options and nodes are shown."""
    x, y = data()
    y = np.ascontiguousarray(y)
    options = {"precision": "bf16", "mean": "of_shards", "state": "shard",
               "keys": "linen", "schedule": {"kind": "cosine",
                                             "decay_steps": 10}}
    with trainer(**options) as t, \
            trainer(precision=ls.BF16_LAYERS, mean=ls.MEAN_OF_SHARDS,
                    state=ls.SHARD, keys=ls.KEYS_LINEN,
                    schedule=ls.schedule("cosine", decay_steps=10)) as u:
        r = t.step(x=x, y=y)
        u.step(x=x, y=y)
        assert t.hash == u.hash
        assert repr(t) == "<Trainer of 4 parameters after 1 step>", repr(t)
        assert repr(r).startswith("Result(step=0, rows=64, loss="), repr(r)
        assert "accuracy" not in repr(r)
    raises(ValueError, 'precision has no "bf17"', trainer, precision="bf17")
    raises(TypeError, "there is no betas", ls.adam, 1, betas=1)
    assert ls.adam(1e-3, b1=0.8).b1 == 0.8
    s = ls.schedule("piecewise", boundaries=[(2, 0.5), {"update": 4,
                                                        "factor": 0.5}])
    assert [s.rate(1, i) for i in (0, 2, 4)] == [1, 0.5, 0.25]
    assert "names='head.*', " in repr(ls.group("head.*", rate=10))


def check_gradients():
    """In hand they make a step; they are differences of the loss, too."""
    x, y = data()
    y = np.ascontiguousarray(y)
    with trainer() as t, trainer() as other:
        g = ls.Gradients(t)
        r = g.compute(x=x, y=y)
        assert not r.updated and t.steps == 0
        sums = sum(g.of_device(d, "out.bias") for d in range(4))
        np.testing.assert_allclose(g["out.bias"], sums / 64, rtol=1e-5)
        assert g.apply().updated and other.step(x=x, y=y).loss == r.loss
        assert t.hash == other.hash
        g["out.bias"] = 0
        raises(KeyError, "none", g.__getitem__, "none")
        g.close()
        g = ls.Gradients(t, 2)
        g.add(x=x[:32], y=y[:32])
        g.add(x=x[32:], y=y[32:])
        assert abs(g.mean().loss - other.evaluate(x=x, y=y).loss) < 1e-6
        g.apply()
        assert t.steps == 2
        g.close()
        check_inputs(t, x, y)


def check_inputs(t, x, y):
    rows = t.row_losses(x=x, y=y)
    assert rows.shape == (64,)
    assert abs(rows.mean() - t.evaluate(x=x, y=y).loss) < 1e-6
    by_x = t.input_gradient("x", x=x, y=y)
    by_y = t.input_gradient("y", x=x, y=y)
    assert by_x.shape == x.shape
    np.testing.assert_allclose(
        by_y, 2 * (y - t.predict("product", x=x)) / 64, atol=1e-6)
    moved = x.copy()
    moved[5, 1] += 1e-2
    less = x.copy()
    less[5, 1] -= 1e-2
    slope = (t.row_losses(x=moved, y=y) - t.row_losses(x=less, y=y)) / 2e-2
    assert abs(64 * by_x[5, 1] - slope[5]) < 1e-3 * abs(slope[5]) + 1e-4
    raises(KeyError, "z", t.input_gradient, "z", x=x, y=y)


def check_knobs():
    x, y = data()
    y = np.ascontiguousarray(y)
    groups = [ls.frozen("hidden.*"), ls.group("out.bias", rate=0)]
    with trainer(groups=groups, average=0.5) as t, trainer() as plain:
        start = {name: t[name] for name in t.shapes()}
        for lr in 1e-2, 1e-2, 0:
            t.set_lr(lr)
            t.step(x=x, y=y)
            last = t["out.kernel"]
        for name in "hidden.kernel", "hidden.bias", "out.bias":
            np.testing.assert_array_equal(t[name], start[name])
        assert not np.array_equal(last, start["out.kernel"])
        average = t["average.out.kernel"]
        t.use_average()
        np.testing.assert_array_equal(t["out.kernel"], average)
        raises(ls.Error, "average", t.step, x=x, y=y)
        t.use_average(False)
        np.testing.assert_array_equal(t["out.kernel"], last)
        t.steps = 100
        assert t.step(x=x, y=y).step == 100 and t.steps == 101
        t.place("*.kernel=data,*=replicate")
        raises(ls.Error, "no axis", t.place, "*=model")
        raises(ls.Error, "no average", plain.use_average)
        raises(ls.Error, "learning rate", t.set_lr, -1)
    raises(TypeError, "speed", ls.group, "*", speed=2)
    raises(ls.Error, "matches no parameter", trainer, groups=[ls.frozen("z")])
    stop, plateau = ls.EarlyStop(patience=2), ls.Plateau(patience=2, factor=0.5)
    assert [stop.take(v) for v in (3, 2, 4, 2)] == [False, False, False, True]
    assert stop.best == 2 and plateau.rtol == 1e-4
    assert [plateau.take(v) for v in (3, 2, 4, 2)] == [1, 1, 1, 0.5]
    raises(TypeError, "patient", ls.Plateau, patient=2)


def check_attention():
    g = ls.Graph()
    x, m = g.input("x", (3, 4)), g.input("m", (5, 6))
    mask, t = g.input("mask", (5,)), g.input("t", (3, 4))
    out = ls.cross_attention(x, m, mask, 2, "a")
    g.output(out, "y")
    g.output(ls.cross_attention(x, m, None, 2, "b"), "open")
    g.loss(ls.mean_squared_error(out, t))
    rng = np.random.default_rng(1)
    a = {n: rng.normal(size=(2, *s)).astype(np.float32)
         for n, s in (("x", (3, 4)), ("m", (5, 6)), ("t", (3, 4)))}
    a["mask"] = np.float32([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    with ls.Trainer(g, devices=2, workers=1, pin=False) as t:
        y = t.predict("y", **a)
        a["m"][0, 3:] = 7
        np.testing.assert_array_equal(t.predict("y", **a), y)
        a["m"][1, 3:] = 7
        assert not np.array_equal(t.predict("y", **a), y)


def check_onnx(folder, path):
    """A graph of another program, of a path or bytes, is trained and saved."""
    with open(path, "rb") as f:
        whole = f.read()
    x = np.random.default_rng(1).normal(size=(4, 2, 8, 8)).astype("f4")
    label, written = np.array([0, 1, 2, 1], "i4"), []
    for model in path, whole:
        net = ls.Onnx(model)
        net.graph.loss(ls.cross_entropy(
            net.node(), net.graph.input("label", dtype=np.int32)))
        with ls.Trainer(net.graph, optimizer=ls.sgd(0.1), devices=2) as t:
            for name in "same", "other":
                net.save(folder + "/net.onnx", t)
                with open(folder + "/net.onnx", "rb") as f:
                    written.append(f.read())
                assert (written[-1] == whole) == (name == "same")
                t.step(x=x, label=label)
    assert written[1] == written[3]
    net = ls.from_onnx(path)
    net.graph.loss(ls.cross_entropy(
        net.node(), net.graph.input("label", dtype=np.int32)))
    with ls.Trainer(net.graph, devices=1) as t:
        state, ours = net.state_dict(t), t["stem.weight"]
        assert state["head.weight"].shape == (5, 51)
        assert state["norm.running_var"].shape == (4,)
        np.testing.assert_array_equal(state["stem.weight"],
                                      ours.transpose(3, 2, 0, 1))
        assert whole.count(state["stem.weight"].tobytes()) == 1
        assert whole.count(state["head.weight"].tobytes()) == 1
    cells = ls.Onnx(path.replace("layers", "cells"))
    cells.graph.loss(ls.cross_entropy(
        cells.node(), cells.graph.input("label", dtype=np.int32)))
    with ls.Trainer(cells.graph, devices=1) as t:
        raises(ls.Error, '"wide.weight" lies otherwise', cells.state_dict, t)
    raises(ls.Error, "none.onnx", ls.Onnx, folder + "/none.onnx")
    raises(ls.Error, "", ls.Onnx, b"no graph")
    raises(ls.Error, "", ls.Onnx, b"")


def check_module():
    """A module of PyTorch's, where it is installed, learns what it would."""
    try:
        import onnxscript  # noqa: F401
        import torch
        from torch import nn
    except ImportError:
        return
    torch.manual_seed(3)
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(),
                           nn.Flatten(), nn.Linear(64, 3))
    x, label = torch.randn(8, 2, 6, 6), torch.arange(8) % 3
    net = ls.from_torch(module, x)
    net.graph.loss(ls.cross_entropy(
        net.node(), net.graph.input("label", dtype=np.int32)))
    with ls.Trainer(net.graph, optimizer=ls.sgd(0.1), devices=2) as t:
        t.step(input=x, label=label.to(torch.int32))
        learnt = net.state_dict(t)
        before = {n: w.clone() for n, w in module.named_parameters()}
        loss = nn.functional.cross_entropy(module.eval()(x), label)
        loss.backward()
        for name, w in module.named_parameters():
            want = before[name] - 0.1 * w.grad
            np.testing.assert_allclose(learnt[name], want.detach(), atol=1e-6)
        net.write_back(t, module)
    for name, w in module.named_parameters():
        np.testing.assert_array_equal(learnt[name], w.detach().numpy())


def check_threads():
    """One thread steps; this one must get on meanwhile, far more often than
    the steps end: the library never holds the interpreter's lock."""
    g = ls.Graph()
    x, y = g.input("x", (512,)), g.input("y", (512,))
    g.loss(ls.mean_squared_error(
        ls.dense(ls.relu(ls.dense(x, 1024, "a")), 512, "b"), y))
    rows = np.ones((2048, 512), np.float32)
    inside = threading.Event()
    with ls.Trainer(g, devices=2, workers=1, pin=False) as t:
        def run():
            inside.set()
            t.step(x=rows, y=rows)

        worker = threading.Thread(target=run)
        worker.start()
        inside.wait()
        turns = 0
        while worker.is_alive():
            turns += 1
            time.sleep(0)
        worker.join()
        assert t.steps == 1
    assert turns > 3, f"{turns} turns of the interpreter during a step"


check_layouts(sys.argv[1])
check_training(sys.argv[2])
check_initialisers()
check_refused()
check_taken()
check_kinds()
check_names()
check_end(sys.argv[2])
check_alone()
check_closed()
check_passing()
check_operators()
check_builders(sys.argv[2])
check_words()
check_gradients()
check_knobs()
check_attention()
check_onnx(sys.argv[2], sys.argv[3])
check_module()
check_threads()
print("python: all is well with lockstep", ls.version())
