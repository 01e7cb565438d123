"""Proves that python/lockstep.py does what the C library does: its structs have
the layout of the headers, arrays are read where they are and bad ones refused,
a model goes through a file, and other threads run during a step.

    python.py OFFSETS FOLDER    OFFSETS: "struct.member offset" for each member
"""

import os
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
    for name, struct in ls.STRUCTS.items():
        for member, _ in struct._fields_:
            got = getattr(struct, member).offset
            want = int(offsets.pop(f"{name}.{member}"))
            assert got == want, f"{name}.{member} is at {want}, not {got}"
        size = int(offsets.pop(f"{name}.sizeof"))
        got = ls.C.sizeof(struct)
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


def check_refused():
    x, y = data()
    y = np.ascontiguousarray(y)
    with trainer() as t:
        raises(TypeError, "float64", t.step, x=x.astype(np.float64), y=y)
        raises(TypeError, "no NumPy array", t.step, x=x.tolist(), y=y)
        raises(ValueError, "C-contiguous", t.step, x=x[:, ::-1], y=y)
        raises(ValueError, "rows of (3,)", t.step, y=y,
               x=np.zeros((64, 3), np.float32))
        raises(ls.Error, "\"z\"", t.step, x=x, z=y)
        raises(ls.Error, "rows", t.step, x=x, y=y[:32].copy())
        raises(TypeError, "no option", trainer, clip=1)
        assert raises(ls.Error, "devices", trainer, devices=-1).status == -2
        raises(KeyError, "none", t.__getitem__, "none")
        assert t.steps == 0
    p = ls.Predictor(trainer())
    raises(ValueError, "rows of (3,)", p.predict, "product",
           x=np.zeros((1, 3), np.float32))
    raises(TypeError, "int32", p.predict, "product",
           x=np.zeros((1, 2), np.int32))
    raises(KeyError, "none", p.predict, "none", x=x)
    raises(ls.Error, "set", p.predict, "product")
    good = ls.array(x[:, ::-1])
    assert good.flags.c_contiguous and good.dtype == np.float32
    assert np.shares_memory(ls.array(good), good)
    assert ls.array([1, 2]).dtype == np.int32
    raises(ValueError, "int32", ls.array, [1 << 40])


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
check_refused()
check_threads()
print("python: all is well with lockstep", ls.version())
