# SPDX-License-Identifier: BSD-3-Clause
"""lockstep-train mlp beside MLPClassifier and MLPRegressor of scikit-learn: the
same layers, Adam, batch and epochs, one core, the fit alone, in turns, of three
tables that come with scikit-learn.

    python3 bench/sides/table_sklearn.py [--rounds N] [--train TOOL] [--json F]

Times are of the processor, of so many epochs: on both sides a fit of that many
and one of 21 times as many, and the difference by 20.  So start, reading and a
first epoch's memory count on neither side, and a run of milliseconds is measured
by one of many.  Neither side evaluates between epochs.  Accuracies and R2 are of
a fifth of the rows, held out: the same for both.  F gets the rounds, for
bench/compare --store.
"""
import argparse
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

EPOCHS = {"diabetes": 20, "breast_cancer": 50, "wine": 100}
MORE = 20


def table(folder, name):
    """Rows to fit and to score by, of which a file has all for lockstep."""
    d = getattr(datasets, "load_" + name)()
    told = d.target if name == "diabetes" else \
        np.array([f"class{k}" for k in d.target])
    with open(f"{folder}/{name}.csv", "w") as f:
        print(*(f"x{i}" for i in range(d.data.shape[1])), "y", sep=",", file=f)
        for row, y in zip(d.data, told):
            print(*row, y, sep=",", file=f)
    x, held, y, y_held = train_test_split(d.data.astype("f4"), told,
                                          test_size=0.2, random_state=7)
    if name == "diabetes":
        y, y_held = ((a - y.mean()) / y.std() for a in (y, y_held))
    scale = StandardScaler().fit(x)
    return scale.transform(x), y, scale.transform(held), y_held


def processor(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime -
            before.ru_stime, out)


class Row:
    def __init__(self, folder, name):
        self.name, self.epochs = name + " 32-32", EPOCHS[name]
        self.file, self.data = f"{folder}/{name}.csv", table(folder, name)
        self.ours, self.theirs = [], []
        self.our_score, self.their_score = [], []

    def lockstep(self, tool, seed):
        seconds = []
        for epochs in (self.epochs * (1 + MORE), self.epochs):
            used, out = processor([
                tool, "mlp", "--data", self.file, "--target", "y", "--valid",
                "0.2", "--hidden", "32,32", "--batch", "32", "--devices", "1",
                "--workers", "1", "--uneven", "pad", "--log-every", "0",
                "--eval-every", "1000000", "--seed", str(seed), "--epochs",
                str(epochs)])
            seconds.append(used)
        score = re.findall(r"eval step .*(?:acc|R2) (-?[\d.]+)", out)[-1]
        self.ours.append((seconds[0] - seconds[1]) / MORE)
        self.our_score.append(float(score))

    def sklearn(self, seed):
        x, y, held, y_held = self.data
        kind = MLPRegressor if y.dtype.kind == "f" else MLPClassifier
        seconds = []
        for epochs in (self.epochs * (1 + MORE), self.epochs):
            model = kind(hidden_layer_sizes=(32, 32), batch_size=32,
                         learning_rate_init=1e-3, alpha=0, max_iter=epochs,
                         n_iter_no_change=10 ** 6, tol=0, random_state=seed)
            start = time.process_time()
            model.fit(x, y)
            seconds.append(time.process_time() - start)
        self.theirs.append((seconds[0] - seconds[1]) / MORE)
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


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--train", default="build/lockstep-train")
    p.add_argument("--json", metavar="F")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [Row(folder, name) for name in EPOCHS]
        for i in range(a.rounds):
            for row in rows:
                row.lockstep(a.train, i)
                row.sklearn(i)
    for row in rows:
        row.show()
    if a.json:
        rounds.save(a.json, {
            "machine": rounds.machine(sorted(os.sched_getaffinity(0))),
            "rows": {"fit " + row.name: row.result() for row in rows}})


main()
