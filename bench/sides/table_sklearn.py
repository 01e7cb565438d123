# SPDX-License-Identifier: BSD-3-Clause
"""lockstep-train mlp beside MLPClassifier and MLPRegressor of scikit-learn: the
same layers, Adam, batch and epochs, one core, the fit alone, in turns.

    python3 bench/sides/table_sklearn.py [--data DIR] [--rounds N] [--train TOOL] [--json F]

Without DIR the tables are scikit-learn's own, and there is no MNIST.  DIR holds
t10k-images-idx3-ubyte.gz and train3600-images-idx3-ubyte.gz of MNIST with their
labels in mnist/, and diabetes.csv, breast_cancer.csv and wine.csv in
tables/.  Times are of the processor, of so many epochs: on both sides a fit of
that many and one of some times as many more, and the difference by these times.
So start, reading and a first epoch's memory count on neither side, and a run of
milliseconds is measured by one of many.  Neither side evaluates between epochs.
Accuracies and R2 are of the rows held out: the same for both.  F gets the rounds,
for bench/compare --store.
"""
import argparse
import gzip
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import rounds

warnings.filterwarnings("ignore")

TARGETS = {"diabetes": "progression", "breast_cancer": "diagnosis",
           "wine": "cultivar"}


def idx(path, head):
    with gzip.open(path) as f:
        return np.frombuffer(f.read(), "u1", offset=head)


def images(folder, name):
    labels = idx(f"{folder}/mnist/{name}-labels-idx1-ubyte.gz", 8)
    pixels = idx(f"{folder}/mnist/{name}-images-idx3-ubyte.gz", 16)
    return pixels.reshape(len(labels), -1).astype("f4") / 255, labels


def table(folder, name):
    rows = np.genfromtxt(f"{folder}/tables/{name}.csv", delimiter=",",
                         skip_header=1, dtype=str)
    x = rows[:, :-1].astype("f4")
    y = rows[:, -1]
    if name == "diabetes":
        y = y.astype("f4")
    x, held, y, y_held = train_test_split(x, y, test_size=0.2, random_state=7)
    scale = StandardScaler().fit(x)
    return scale.transform(x), y, scale.transform(held), y_held


def write_tables(folder):
    """Those that come with scikit-learn, as --data would have them."""
    os.mkdir(folder + "/tables")
    for name, load in (("diabetes", datasets.load_diabetes),
                       ("breast_cancer", datasets.load_breast_cancer),
                       ("wine", datasets.load_wine)):
        d = load()
        told = d.target if name == "diabetes" else \
            [f"class{k}" for k in d.target]
        with open(f"{folder}/tables/{name}.csv", "w") as f:
            head = [f"x{i}" for i in range(d.data.shape[1])]
            print(*head, TARGETS[name], sep=",", file=f)
            for row, y in zip(d.data, told):
                print(*row, y, sep=",", file=f)


def processor(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime -
            before.ru_stime, out)


class Row:
    def __init__(self, name, options, held, model, data, epochs, more):
        self.name, self.options, self.held = name, options, held
        self.model, self.data, self.epochs = model, data, epochs
        self.more = more
        self.ours, self.theirs = [], []
        self.our_score, self.their_score = [], []

    def lockstep(self, tool, seed):
        run = [tool, "mlp", *self.options, "--devices", "1", "--workers", "1",
               "--uneven", "pad", "--log-every", "0", "--seed", str(seed)]
        if "--valid" in self.options:
            run += ["--eval-every", "1000000"]
        once, _ = processor(run + ["--epochs", str(self.epochs)])
        all_, _ = processor(run + ["--epochs",
                                   str(self.epochs * (1 + self.more))])
        _, out = processor(run + ["--epochs", str(self.epochs), *self.held])
        score = re.findall(r"eval step .*(?:acc|R2) (-?[\d.]+)", out)[-1]
        self.ours.append((all_ - once) / self.more)
        self.our_score.append(float(score))

    def sklearn(self, seed):
        x, y, held, y_held = self.data
        kind = MLPRegressor if y.dtype.kind == "f" else MLPClassifier
        if y.dtype.kind == "f":
            mean, deviation = y.mean(), y.std()
            y, y_held = (y - mean) / deviation, (y_held - mean) / deviation
        seconds = []
        for epochs in (self.epochs * (1 + self.more), self.epochs):
            model = kind(hidden_layer_sizes=self.model["hidden"],
                         batch_size=self.model["batch"],
                         learning_rate_init=1e-3, alpha=0, max_iter=epochs,
                         n_iter_no_change=10 ** 6, tol=0, random_state=seed)
            start = time.process_time()
            model.fit(x, y)
            seconds.append(time.process_time() - start)
        self.theirs.append((seconds[0] - seconds[1]) / self.more)
        self.their_score.append(model.score(held, y_held))

    def result(self):
        """As bench/run has it: processor time alone, which is all there is."""
        return {"ratios": {}, "sides": {side: [
            rounds.of_times([1e3 * t], cpu_ms=1e3 * t, ours=side == "lockstep")
            for t in of] for side, of in (("lockstep", self.ours),
                                          ("scikit-learn", self.theirs))}}

    def show(self):
        pairs = np.array(self.theirs) / np.array(self.ours)
        print(f"{self.name:22s} lockstep {min(self.ours) * 1e3:8.1f} "
              f"{np.median(self.ours) * 1e3:8.1f} ms  scikit-learn "
              f"{min(self.theirs) * 1e3:8.1f} {np.median(self.theirs) * 1e3:8.1f}"
              f" ms  times {min(self.theirs) / min(self.ours):5.1f} "
              f"{np.median(pairs):5.1f}  score {np.mean(self.our_score):.4f} "
              f"{np.mean(self.their_score):.4f}", flush=True)


def mnist(folder):
    x, y = images(folder, "t10k")
    held, y_held = images(folder, "train3600")
    files = f"{folder}/mnist/"
    return Row("MNIST 784-512-512-10",
               ["--data", files + "t10k-images-idx3-ubyte.gz", "--hidden",
                "512,512", "--batch", "128"],
               ["--eval-data", files + "train3600-images-idx3-ubyte.gz"],
               {"hidden": (512, 512), "batch": 128}, (x, y, held, y_held), 1,
               2)


def measure(folder, a):
    rows = [mnist(folder)] if os.path.isdir(folder + "/mnist") else []
    for name, epochs in ("diabetes", 20), ("breast_cancer", 50), ("wine", 100):
        rows.append(Row(f"{name} 32-32",
                        ["--data", f"{folder}/tables/{name}.csv", "--target",
                         TARGETS[name], "--valid", "0.2", "--hidden", "32,32",
                         "--batch", "32"], [],
                        {"hidden": (32, 32), "batch": 32}, table(folder, name),
                        epochs, 20))
    for i in range(a.rounds):
        for row in rows:
            row.lockstep(a.train, i)
            row.sklearn(i)
    for row in rows:
        row.show()
    return {"machine": rounds.machine(sorted(os.sched_getaffinity(0))),
            "rows": {"fit " + row.name: row.result() for row in rows}}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--train", default="build/lockstep-train")
    p.add_argument("--json", metavar="F")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if not a.data:
            write_tables(scratch)
        result = measure(a.data or scratch, a)
    if a.json:
        rounds.save(a.json, result)


main()
