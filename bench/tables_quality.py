#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How good models of tables are: lockstep-train table beside pytabkit's RealMLP
and scikit-learn's models, on the data sets that scikit-learn brings along.

    bench/tables_quality.py --build build --splits 10 --out results.csv

bench/tables makes the table in docs/tables.md from such a file in
bench/results/quality.

Split s holds a fifth of the rows back to test on (train_test_split, seed s,
stratified for classes); every method gets the same rows in the same order, and
holds back its own rows of these where it needs some.  Methods have the seed s,
or with --seed N the seed s + N, which shows what a seed makes.  --ensemble K
measures TD with K networks as a method of its own.  --threads N gives lockstep
N workers and pytabkit N threads.  A row of the CSV is data set, split, method,
metric, value, processor seconds of the training, seconds by the clock.  One
that is in the file already is not measured again.

Needs scikit-learn, and pytabkit for its two rows.  PyTorch flushes denormal
numbers to zero here (torch.set_flush_denormal), without which pytabkit's TD-S
takes ten times as long.  Processor seconds of lockstep include its start and
the reading of the table."""
import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np


def data_sets():
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "digits"):
        x, y = getattr(datasets, "load_" + name)(return_X_y=True)
        yield name, True, x, y
    yield ("diabetes", False) + datasets.load_diabetes(return_X_y=True)
    x, y = datasets.load_linnerud(return_X_y=True)
    yield "linnerud", False, x, y[:, 0]


def scaled(model):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def peers(classes, seed, threads):
    from sklearn import ensemble, linear_model, neural_network

    if classes:
        yield "LogisticRegression", lambda: scaled(
            linear_model.LogisticRegression(max_iter=1000))
        yield "sklearn MLP", lambda: scaled(
            neural_network.MLPClassifier(random_state=seed))
        yield "RandomForest", lambda: ensemble.RandomForestClassifier(
            random_state=seed)
        yield "HistGradientBoosting", lambda: (
            ensemble.HistGradientBoostingClassifier(random_state=seed))
    else:
        yield "Ridge", lambda: scaled(linear_model.Ridge())
        yield "sklearn MLP", lambda: scaled(
            neural_network.MLPRegressor(random_state=seed))
        yield "RandomForest", lambda: ensemble.RandomForestRegressor(
            random_state=seed)
        yield "HistGradientBoosting", lambda: (
            ensemble.HistGradientBoostingRegressor(random_state=seed))
    try:
        from pytabkit import (RealMLP_TD_Classifier, RealMLP_TD_Regressor,
                              RealMLP_TD_S_Classifier, RealMLP_TD_S_Regressor)
    except ImportError:
        print("without pytabkit", file=sys.stderr)
        return
    import torch

    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)
    own = dict(random_state=seed, device="cpu", n_threads=threads,
               verbosity=0)
    yield "pytabkit TD", lambda: (RealMLP_TD_Classifier if classes
                                  else RealMLP_TD_Regressor)(**own)
    yield "pytabkit TD-S", lambda: (RealMLP_TD_S_Classifier if classes
                                    else RealMLP_TD_S_Regressor)(**own)


def write_csv(path, x, y, classes):
    with open(path, "w") as f:
        columns = [f"x{i}" for i in range(x.shape[1])] + ["y"]
        print(",".join(columns), file=f)
        for row, target in zip(x, y):
            values = [repr(float(v)) for v in row]
            values.append(f"c{target}" if classes else repr(float(target)))
            print(",".join(values), file=f)


def lockstep(options, recipe, members, classes, seed, train, test):
    with tempfile.TemporaryDirectory() as folder:
        at = [os.path.join(folder, n) for n in ("a.csv", "b.csv", "m.st")]
        write_csv(at[0], *train, classes)
        write_csv(at[1], *test, classes)
        begin = time.monotonic()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([os.path.join(options.build, "lockstep-train"), "table",
                        "--data", at[0], "--recipe", recipe, "--seed",
                        str(seed), "--data-seed", str(seed), "--workers",
                        str(options.threads), "--ensemble", str(members),
                        "--save", at[2]],
                       check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        clock = time.monotonic() - begin
        text = subprocess.run([os.path.join(options.build, "lockstep-predict"),
                               at[2], at[1]], check=True, text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout
    rows = list(csv.reader(text.splitlines()))[1:]
    found = [r[0] for r in rows]
    out = (np.array([int(v[1:]) for v in found]) if classes
           else np.array([float(v) for v in found]))
    return out, (after.ru_utime + after.ru_stime - before.ru_utime -
                 before.ru_stime), clock


def score(classes, y, out):
    if classes:
        return "accuracy", float(np.mean(y == out))
    return "R2", float(1 - np.sum((y - out) ** 2) /
                       np.sum((y - np.mean(y)) ** 2))


def run_split(options, name, classes, x, y, split, write, done):
    from sklearn.model_selection import train_test_split

    xa, xb, ya, yb = train_test_split(x, y, test_size=0.2, random_state=split,
                                      stratify=y if classes else None)

    def put(method, out, seconds, clock):
        metric, value = score(classes, yb, np.asarray(out).reshape(-1))
        write([name, split, method, metric, f"{value:.6f}", f"{seconds:.3f}",
               f"{clock:.3f}"])

    def wanted(method):
        of = options.methods
        return ((not of or method in of.split(",")) and
                (name, str(split), method) not in done)

    seed = split + options.seed
    ours = [("lockstep TD", "td", 1), ("lockstep TD-S", "td-s", 1)]
    if options.ensemble:
        ours.append((f"lockstep TD x {options.ensemble}", "td",
                     options.ensemble))
    for method, recipe, members in ours:
        if options.build and wanted(method):
            put(method, *lockstep(options, recipe, members, classes, seed,
                                  (xa, ya), (xb, yb)))
    for method, make in peers(classes, seed, options.threads):
        if not wanted(method):
            continue
        begin, clock = time.process_time(), time.monotonic()
        model = make().fit(xa.astype(np.float32), ya)
        seconds = time.process_time() - begin
        clock = time.monotonic() - clock
        put(method, model.predict(xb.astype(np.float32)), seconds, clock)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", help="folder of lockstep's programs")
    p.add_argument("--splits", type=int, default=10)
    p.add_argument("--seed", type=int, default=0,
                   help="what is added to a split's number, for the methods")
    p.add_argument("--ensemble", type=int, default=0,
                   help="lockstep TD with so many networks, too")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--methods", help="names of methods, commas between them")
    p.add_argument("--data", help="names of data sets, commas between them")
    p.add_argument("--out", default="/dev/stdout")
    options = p.parse_args()
    done = set()
    if os.path.isfile(options.out):
        done = {(r["data"], r["split"], r["method"])
                for r in csv.DictReader(open(options.out))}
    with open(options.out, "a", newline="") as f:
        writer = csv.writer(f)

        def write(row):
            writer.writerow(row)
            f.flush()

        if not done:
            write(["data", "split", "method", "metric", "value", "seconds",
                   "clock"])
        for split in range(options.splits):
            for name, classes, x, y in data_sets():
                if not options.data or name in options.data.split(","):
                    run_split(options, name, classes, x, y, split, write, done)


if __name__ == "__main__":
    main()
