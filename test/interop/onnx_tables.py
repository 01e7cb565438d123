# SPDX-License-Identifier: BSD-3-Clause
"""Models of tables that lockstep writes for ONNX take the columns as they are:
on the rows of a CSV file ONNX Runtime says what lockstep-predict does.

    onnx_tables.py FOLDER-OF-PROGRAMS FOLDER
"""
import csv
import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

bin_, folder = sys.argv[1:3]
rng = np.random.default_rng(1)
ROWS = 120
WORDS = [f"town {i}" for i in range(11)] + ['Ulm "on the Danube"', "Zürich"]
KINDS = ['"quoted"', "two\nlines", "größe, 類", "plain"]


def run(program, *args):
    done = subprocess.run([f"{bin_}/{program}", *args], capture_output=True,
                          text=True, errors="replace")
    if done.returncode:
        sys.exit(f"{program} {args}: {done.stderr}")


def write(path, names, rows):
    with open(path, "w", newline="") as f:
        csv.writer(f).writerows([names, *rows])


def dates(text):
    """The numbers of a date, as lockstep/columns.h has them."""
    t = np.array(text, "M8[s]")
    day, month = t.astype("M8[D]"), t.astype("M8[M]")
    days = t.astype(np.int64) / 86400
    return {"days": days, "year": t.astype("M8[Y]").astype(int) + 1970,
            "month": month.astype(int) % 12 + 1,
            "day": (day - month).astype(int) + 1,
            "weekday": (day.astype(int) + 3) % 7 + 1,
            "yearday": (day - t.astype("M8[Y]")).astype(int) + 1,
            "hour": days % 1 * 24}


def feeds(session, columns):
    """An input for each column, by its name and type."""
    for i in session.get_inputs():
        x = columns.get(i.name)
        if x is None:
            name, part = i.name.rsplit(".", 1)
            x = dates(columns[name])[part]
        if i.type == "tensor(string)":
            x = np.array(x, object)
        else:
            kind = np.float32 if i.type == "tensor(float)" else np.float64
            x = np.array([np.nan if v == "" else v for v in x], kind)
        yield i.name, x.reshape(-1, 1)


def there(columns, window=0):
    """The outputs of the checked model, by their names."""
    onnx.checker.check_model(f"{folder}/t.onnx", full_check=True)
    s = onnxruntime.InferenceSession(f"{folder}/t.onnx",
                                     providers=["CPUExecutionProvider"])
    x = dict(feeds(s, columns))
    if window:
        x = {name: np.lib.stride_tricks.sliding_window_view(
            v[:, 0], window).copy() for name, v in x.items()}
    names = [o.name for o in s.get_outputs()]
    return dict(zip(names, s.run(names, x)))


def compare(what, model, table, *options, window=0):
    """Of all rows of a table; returns what ONNX Runtime says."""
    run("lockstep-train", model, "--data", f"{folder}/{table}", "--devices",
        "2", "--log-every", "0", "--save", f"{folder}/t.st", *options)
    run("lockstep-predict", f"{folder}/t.st", f"{folder}/{table}", "-o",
        f"{folder}/t.csv", "--onnx", f"{folder}/t.onnx")
    with open(f"{folder}/{table}", newline="") as f:
        head, *rows = csv.reader(f)
    y = there({n: [r[i] for r in rows] for i, n in enumerate(head)}, window)
    with open(f"{folder}/t.csv", newline="") as f:
        _, *lines = csv.reader(f)
    if "value" in y:
        here, got = np.array(lines, float)[:, 0], y["value"]
    else:
        here, got = np.array([r[1:] for r in lines], float), y["probabilities"]
        labels = next(v for name, v in y.items() if name.startswith("label"))
        assert labels.tolist() == [r[0] for r in lines], what
        assert len(set(labels)) > 1, what
    error = np.abs(here - got).max() / max(1, np.abs(here).max())
    assert got.shape == here.shape and error <= 1e-5, (what, error)
    print(f"{what}: ONNX Runtime within {error:.1e}")
    return y


def houses(missing):
    """Numbers large and small, words few and many, dates, and columns that are
    called as ONNX's own values could be."""
    n = np.arange(ROWS)
    size, town = rng.normal(120, 40, ROWS), rng.integers(0, len(WORDS), ROWS)
    day = np.datetime64("2024-02-20T06:00") + 31 * n.astype("m8[h]")
    far = 1e9 + rng.normal(0, 3, ROWS)
    columns = {"size": size, "scale": far,
               "label": rng.choice(["a", "b"], ROWS),
               "layers.0.bias": rng.choice(["x", "y", "z"], ROWS),
               "Ort, \"Stadt\"": [WORDS[i] for i in town], "sold": day}
    price = 3 * size + 10 * town + (far - 1e9) + 40 * (n % 7)
    kind = [KINDS[int(p) % 4] for p in price / 100]
    columns = {k: [str(v) for v in c] for k, c in columns.items()}
    if missing:
        for c in columns.values():
            for i in rng.integers(0, ROWS, 9 * (c is not columns["sold"])):
                c[i] = ""
    rows = list(zip(*columns.values()))
    write(f"{folder}/price.csv", [*columns, "price"],
          [(*r, f"{p:.2f}") for r, p in zip(rows, price)])
    write(f"{folder}/kind.csv", [*columns, "kind"],
          [(*r, k) for r, k in zip(rows, kind)])
    return columns


SHORT = "--epochs", "3"
for missing in (), ("--missing", "mean"):
    some = houses(missing)
    compare("table, numbers", "table", "price.csv", *SHORT, *missing)
    compare("table, classes", "table", "kind.csv", *SHORT, *missing)
    compare("table, calibrated", "table", "kind.csv", "--calibrate", *SHORT,
            *missing)
    compare("mlp, classes", "mlp", "kind.csv", "--target", "kind", "--steps",
            "20", *missing)
    # A word that nobody knows, and a number that nobody has.
    first = {name: [c[1]] * 3 for name, c in some.items()}
    first["Ort, \"Stadt\""][1] = "Atlantis"
    first["size"][2] = ""
    y = there({**first, "sold": some["sold"][:1] * 3})
    p, words = y["probabilities"], y["label_"]
    assert words[0] in KINDS and abs(p[0].sum() - 1) < 1e-6, y
    if missing:
        assert np.isfinite(p).all() and all(words), y
    else:
        assert np.isnan(p[1:]).all() and not any(words[1:]), y
note = json.loads(onnx.load(f"{folder}/t.onnx").metadata_props[0].value)
assert note["target"] == {"name": "kind", "words": sorted(KINDS)}, note

load = np.sin(np.arange(ROWS) / 5) * 50 + 300
write(f"{folder}/load.csv", ["heat", "load"],
      [(f"{a:.3f}", f"{b:.3f}") for a, b in zip(rng.normal(0, 1, ROWS), load)])
compare("rnn, a series", "rnn", "load.csv", "--target", "load", "--window",
        "8:horizon=2", "--steps", "20", window=8)
