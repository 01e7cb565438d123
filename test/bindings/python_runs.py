# SPDX-License-Identifier: BSD-3-Clause
"""Proves what bindings/python/lockstep has around steps: arrays of others, loaders,
checkpoints, transcripts, generators, models of tables, weights to and from a
state_dict, and Ctrl-C.

    python_runs.py FOLDER LOCKSTEP-TRAIN GUIDE
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np

import lockstep as ls

folder = sys.argv[1]


def raises(kind, words, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as e:
        assert words in str(e), f"{e} does not say {words}"
        return e
    raise AssertionError(f"nothing was refused that should say {words}")


def data(rows=64):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (rows, 2)).astype(np.float32)
    return x, np.ascontiguousarray(x[:, :1] * x[:, 1:])


def trainer(**options):
    g = ls.Graph()
    x, y = g.input("x", (2,)), g.input("y", (1,))
    out = ls.dense(ls.gelu(ls.dense(x, 8, "hidden")), 1, "out")
    g.output(out, "product")
    g.loss(ls.mean_squared_error(out, y))
    return ls.Trainer(g, **{"optimizer": ls.adam(1e-2), "pin": False,
                            "devices": 2, "workers": 1, **options})


class Shared:
    """An array of a library that knows NumPy only by DLPack."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **how):
        return self.x.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def check_shared():
    """Arrays come in by DLPack without a copy, and go out by it."""
    x, y = data()
    with trainer() as t, trainer() as other:
        t.step(x=Shared(x), y=Shared(y))
        other.step(x=x, y=y)
        assert t.hash == other.hash
        assert np.shares_memory(ls.array(Shared(x)), x)
        t.step(np.ones(64, np.float32), x=x, y=y)
        other.step(Shared(np.ones(64, np.float32)), x=x, y=y)
        assert t.hash == other.hash
        t.step(x=Shared(x.astype(float)), y=y)
        other.step(x=x, y=y)
        assert t.hash == other.hash
        out = np.from_dlpack(t.predict("product", x=Shared(x)))
        np.testing.assert_array_equal(
            out, ls.Predictor(t).predict("product", x=Shared(x)))


def check_loader():
    x, y = data(50)
    with trainer() as t, trainer() as other, trainer() as third:
        whole = ls.Loader(t, {"x": x, "y": y})
        assert len(whole) == 1
        r = whole.step()
        assert r.rows == whole.rows == 50
        other.step(x=x, y=y)
        assert t.hash == other.hash
        whole.close()
        raises(ValueError, "the loader is closed", whole.step)
        options = {"batch": 16, "shuffle": True, "uneven": "pad", "seed": 3}
        loader = ls.Loader(t, ls.Source({"x": Shared(x), "y": y}), **options)
        assert len(loader) == 4
        losses = [loader.step(i).loss for i in range(8)]
        assert loader.rows == 2
        again = ls.Loader(other, {"x": x, "y": y}, thread=False, **options)
        mean = again.train(0, 4)
        weights = np.array([16, 16, 16, 2])
        assert abs(mean - (losses[:4] * weights).sum() / 50) < 1e-6
        again.train(4, 4)
        assert t.hash == other.hash
        assert loader.evaluate(1).loss == again.evaluate(1).loss
        raises(ls.Error, "13", ls.Loader, t, {"x": x, "y": y}, batch=13)
        raises(ls.Error, '"z"', ls.Loader, t, {"z": x, "y": y})
        raises(ls.Error, "y", ls.Source, {"x": x, "y": y[:9]})
        raises(ValueError, "uneven", ls.Loader, t, {"x": x}, uneven="odd")
        weighted = ls.Source({"x": x, "y": y}, np.zeros(50, np.float32))
        assert len(weighted) == 50
        assert not ls.Loader(third, weighted).step().updated
    raises(ValueError, "the trainer is closed", loader.step)


def check_series():
    rows = np.arange(40, dtype=np.float32).reshape(20, 2)
    g = ls.Graph()
    x, y = g.input("x", (3, 2)), g.input("y", (2,))
    g.loss(ls.mean_squared_error(ls.dense(ls.reshape(x, (6,)), 2, "d"), y))
    with ls.Trainer(g, devices=1, workers=1, pin=False) as t:
        source = ls.Source.series({"x": (rows, 0, 3), "y": (rows, 3, 0)})
        assert len(source) == 17
        a = ls.Loader(t, source).evaluate(0).loss
        windows = np.stack([rows[i:i + 3] for i in range(17)])
        assert a == t.evaluate(x=windows, y=rows[3:]).loss


def check_images():
    path = os.path.join(folder, "images.npy")
    np.save(path, np.arange(6 * 16, dtype=np.uint8).reshape(6, 4, 4))
    source = ls.Source.images(path, unlabelled=True, mean=0.5, std=[0.25])
    assert len(source) == 6
    raises(TypeError, "there is no size_of", ls.Source.images, path, size_of=3)
    assert source.classes == []
    np.save(path.replace("images", "labels"), np.arange(6, dtype=np.int32))
    g = ls.Graph()
    x, y = g.input("image", (4, 4, 1)), g.input("label", (), np.int32)
    g.loss(ls.cross_entropy(ls.dense(ls.flatten(x), 6, "d"), y))
    hashes = set()
    for seed in 0, 1, 1:
        with ls.Trainer(g, devices=1, workers=1, pin=False) as t:
            source = ls.Source.images(path).augment(seed, crop=2, flip=True,
                                                    mean=[0.5], std=[0.5])
            ls.Loader(t, source).train(0, 3)
            hashes.add(t.hash)
    assert len(hashes) == 2
    raises(ls.Error, "rotate 200", ls.Source.images(path).augment, rotate=200)


def check_checkpoints():
    x, y = data()
    where = os.path.join(folder, "run")
    with trainer() as t:
        with ls.Checkpoints(t, where, settings={"data": "made"}) as run:
            assert run.load() is None and len(run) == 0
            for _ in range(4):
                t.step(x=x, y=y)
            run.save(place="here")
            run.wait()
            assert len(run) == 1
            raises(ls.Error, "another", ls.Checkpoints, t, where)
        done = t.hash
    raises(ValueError, "the checkpoints are closed", run.save)
    with trainer(workers=2) as t, \
            ls.Checkpoints(t, where, settings={"data": "made"}) as run:
        assert run.load() == 4 and t.hash == done and t.steps == 4
        assert run.note("place") == "here" and run.note("none") is None
        assert run.changes() == [] and run.skipped is None
    with trainer() as t, ls.Checkpoints(t, where, may_change="data") as run:
        assert run.load() == 4
        assert run.changes() == [("data", None, "made")]
    lost = os.path.join(folder, "lost")
    for how in "run", "trainer":
        t = trainer()
        run = ls.Checkpoints(t, lost)
        t.step(x=x, y=y)
        shutil.rmtree(lost)
        run.save()
        raises(ls.Error, "lost", run.close if how == "run" else t.close)
        raises(ValueError, "are closed", run.save)
        t.close()
    arrays, notes = ls.archive(where + "/" + sorted(os.listdir(where))[0])
    assert "hidden.kernel" in arrays and "mu.hidden.kernel" in arrays
    assert notes["place"] == "here"


def write_transcript(path, lr=1e-2, **options):
    x, y = data()
    with trainer(optimizer=ls.adam(lr)) as t, ls.Transcript(
            t, path, "test 1", settings={"lr": 1}, files=[sys.argv[0]],
            every=4, controls={"place": 1.5, "at": 2}, **options) as run:
        for _ in range(10):
            run.step(t.step(x=x, y=y), controls={"place": 1.5, "at": 2})
        run.event("evaluated", loss="0.5")
        run.end(controls={"place": 1.5, "at": 2})
        return t.root(10, place=1.5, at=2), run.note(), run.same


def check_transcript():
    path = os.path.join(folder, "run.lst")
    root, note, _ = write_transcript(path)
    with open(path) as f:
        text = f.read()
    assert root in text and len(root) == 64 and note
    assert write_transcript(path, compare=True)[2] == 10
    e = raises(ls.Error, "root", write_transcript, path, lr=2e-2, compare=True)
    assert e.status == ls.EDIFFERS


def check_generator():
    g = ls.Graph()
    token = g.input("x", (6,), np.int32)
    h = ls.self_attention(ls.embed(token, 9, 8, "e"), 2, True, "a")
    logits = ls.dense(h, 9, "out")
    g.output(logits, "logits")
    g.loss(ls.next_token_loss(logits, token))
    with ls.Trainer(g, devices=1, workers=1, pin=False) as t:
        p = ls.Predictor(t)
        x = np.int32([[1, 5, 2, 7, 0, 3]])
        want = p.predict("logits", x=x)[0]
        one = ls.Generator(p, "logits")
        np.testing.assert_array_equal(one.append(x[0, :3]), want[2])
        np.testing.assert_array_equal(one.append(x[0, 3:4]), want[3])
        assert len(one) == 4 and one.window == 6
        one.cut(3)
        np.testing.assert_array_equal(one.append(x[0, 3:]), want[5])
        raises(ls.Error, "window", one.append, x[0, :1])
        raises(KeyError, "none", ls.Generator, p, "none")


def check_table(train):
    path = os.path.join(folder, "flats.csv")
    with open(path, "w") as f:
        print("rooms,town,price", file=f)
        for i in range(96):
            print(1 + i % 8 * 0.5, ("Oslo", "Vik")[i % 2], 100 + i % 8 * 20 +
                  75 * (i % 2), sep=",", file=f)
    for target, more in ("price", []), ("town", []):
        subprocess.run([train, "mlp", "--data", path, "--target", target,
                        "--epochs", "3", "--save", path + ".st"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        model = ls.TableModel(path + ".st")
        rows = [{"rooms": 2.5, "town": "Oslo", "price": "200", "more": 1},
                {"rooms": "1.5", "town": "Vik", "price": 175}]
        assert model.target == target
        y = model.predict(rows)
        assert len(y) == 2 and model.predict([]) == []
        model.save_onnx(path + ".onnx")
        with open(path + ".onnx", "rb") as f:
            assert b"value" in (told := f.read()) or b"label" in told
        if target == "price":
            assert model.columns == ["rooms", "town"] and not model.classes
            assert isinstance(y[0], float)
            raises(ls.Error, "Ulm", model.predict,
                   [{"rooms": 1, "town": "Ulm"}])
            raises(ls.Error, "rooms", model.predict,
                   [{"rooms": float("nan"), "town": "Vik"}])
            raises(KeyError, "town", model.predict, [{"rooms": 1}])
            raises(TypeError, "no classes", model.predict_proba, rows)
        else:
            p = model.predict_proba(rows)
            assert model.classes == ["Oslo", "Vik"] and p.shape == (2, 2)
            np.testing.assert_allclose(p.sum(1), 1, 1e-6)
            assert y == [model.classes[i] for i in p.argmax(1)]


def check_interrupt():
    """Ctrl-C during steps raises KeyboardInterrupt after one of them; the
    trainer is then that of so many steps, and goes on."""
    x, y = data()
    # A shell's background jobs begin with this signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with trainer() as t, trainer() as other:
        loader = ls.Loader(t, {"x": x, "y": y})
        for train in lambda: loader.train(0, 10 ** 8), lambda: forever(t):
            begin = t.steps
            ring = threading.Thread(target=when_begun, args=(t, begin))
            ring.start()
            try:
                train()
                raise AssertionError("it went on after Ctrl-C")
            except KeyboardInterrupt:
                pass
            ring.join()
        while other.steps < t.steps:
            other.step(x=x, y=y)
        assert t.hash == other.hash
        t.step(x=x, y=y)
        try:
            t.steps = Ringing()
            raise AssertionError("Ctrl-C went by while arguments were read")
        except KeyboardInterrupt:
            pass


class Ringing:
    """A number during whose reading Ctrl-C comes."""

    def __index__(self):
        raise KeyboardInterrupt


def check_guide(path):
    """The pieces of docs/guide/python.md run, one after the other; those that
    need scikit-learn are test/bindings/estimators.py's."""
    with open(path) as f:
        pieces = re.findall(r"```python\n(.*?)```", f.read(), re.S)
    assert len(pieces) > 3
    names, here = {}, os.getcwd()
    os.mkdir(os.path.join(folder, "guide"))
    os.chdir(os.path.join(folder, "guide"))
    try:
        for piece in pieces:
            exec(piece, names)
    finally:
        os.chdir(here)


def when_begun(t, begin):
    while t.steps < begin + 3:
        pass
    os.kill(os.getpid(), signal.SIGINT)


def forever(t):
    x, y = data()
    while True:
        t.step(x=x, y=y)


check_shared()
check_loader()
check_series()
check_images()
check_checkpoints()
check_transcript()
check_generator()
check_interrupt()
check_table(sys.argv[2])
check_guide(sys.argv[3])
print("python: runs, files and other libraries too")
