#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables as they are judged: AUC, log loss and R2, of rows at random, of new
groups and of later times.

    bench/tables_judged.py --build build --out judged.csv

Twelve sets, four that scikit-learn brings along, five that it makes and three
of our own.  A quarter of the rows is tested on, by chance (stratified for
classes) or whole groups; of times an eighth, which follows.  lockstep-train
table is told the groups or times, and, for log loss, --select logloss; the
others hold rows back as they do by themselves, and pytabkit's RealMLP is told
the same of log loss.  A row of the CSV is data set, split, method, metric and
value, of log loss the negative one.  What is in the file is not measured again;
at the end means, standard errors and ranks are printed as a table of Markdown.

Needs scikit-learn; pytabkit is left out where it is missing."""
import argparse
import csv
import os
import statistics
import subprocess
import tempfile
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
from sklearn import datasets, ensemble, linear_model, metrics, neural_network
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

try:
    import pytabkit
except ImportError:
    pytabkit = None


def grouped(numeric):
    """Forty persons of unequal rows; each has an offset of its own."""
    rng = np.random.default_rng(5)
    who = rng.choice(40, 1200, p=rng.dirichlet(np.full(40, 2.)))
    if numeric:
        x, y = datasets.make_friedman1(1200, 8, noise=1, random_state=5)
        return x + 0.1 * rng.normal(size=40)[who, None], y + rng.normal(
            size=40)[who] * 2, who, None
    x, y = datasets.make_classification(1200, 8, n_informative=5,
                                        random_state=5)
    shift = rng.normal(size=(40, 8))
    turned = rng.random(40)[who] < 0.1
    return x + 0.5 * shift[who], np.where(turned, 1 - y, y), who, None


def walk(numeric):
    """A random walk: what comes next of its last twelve steps and the hour."""
    rng = np.random.default_rng(6)
    step = rng.normal(size=2000) + np.sin(np.arange(2000) * np.pi / 12)
    at = np.cumsum(step - step.mean())
    x = np.array([np.r_[np.diff(at[i - 12:i]), i % 24, at[i - 1]]
                  for i in range(13, 2000)])
    y = at[13:] - at[12:-1]
    return x, y if numeric else (y > 0).astype(int), None, np.arange(len(y))


def data_sets():
    none = None, None
    for name in ("wine", "breast_cancer", "digits"):
        yield name, True, *datasets.__dict__["load_" + name](
            return_X_y=True), *none
    yield "diabetes", False, *datasets.load_diabetes(return_X_y=True), *none
    yield "classes 2000x20", True, *datasets.make_classification(
        2000, 20, n_informative=8, n_clusters_per_class=4, random_state=3), *none
    yield "rare class", True, *datasets.make_classification(
        2000, 12, n_informative=6, weights=[.95], random_state=4), *none
    yield "moons", True, *datasets.make_moons(800, noise=.3,
                                              random_state=0), *none
    yield "friedman1", False, *datasets.make_friedman1(
        1500, noise=1, random_state=0), *none
    yield "linear 400", False, *datasets.make_regression(
        400, 20, n_informative=5, noise=80, random_state=1), *none
    yield "groups, classes", True, *grouped(False)
    yield "groups, numbers", False, *grouped(True)
    yield "walk, numbers", False, *walk(True)


def part(classes, y, group, time, split):
    """Rows to train on, and to test on."""
    rows = np.arange(len(y))
    if group is not None:
        return next(GroupShuffleSplit(1, test_size=.25, random_state=split)
                    .split(rows, groups=group))
    if time is not None:  # windows that end later and later
        end = len(y) * (60 + 3 * (split % 10)) // 100
        return rows[:end], rows[end:end + len(y) // 8]
    return train_test_split(rows, test_size=.25, random_state=split,
                            stratify=y if classes else None)


def peers(classes, seed):
    tree, net, line = (
        (ensemble.HistGradientBoostingClassifier,
         neural_network.MLPClassifier,
         linear_model.LogisticRegression(max_iter=1000)) if classes else
        (ensemble.HistGradientBoostingRegressor,
         neural_network.MLPRegressor, linear_model.Ridge()))
    yield "HistGradientBoosting", tree(random_state=seed)
    yield "sklearn MLP", make_pipeline(StandardScaler(),
                                       net(random_state=seed))
    yield "linear", make_pipeline(StandardScaler(), line)
    if not pytabkit:
        return
    own = (pytabkit.RealMLP_TD_Classifier if classes else
           pytabkit.RealMLP_TD_Regressor)
    told = dict(device="cpu", n_threads=1, random_state=seed)
    yield "pytabkit", own(**told)
    if classes:
        yield "pytabkit, log loss", own(
            val_metric_name="cross_entropy", use_ls=False, **told)


def lockstep(build, more, classes, seed, train, test, by):
    """Probabilities, or numbers."""
    with tempfile.TemporaryDirectory() as folder:
        a, b, model = (os.path.join(folder, n)
                       for n in ("a.csv", "b.csv", "m.st"))
        for path, (x, y), key in (a, train, by), (b, test, None):
            with open(path, "w", newline="") as f:
                out = csv.writer(f)
                out.writerow([*(f"x{i}" for i in range(x.shape[1])),
                              *(["by"] if key is not None else []), "y"])
                for i, row in enumerate(x.tolist()):
                    out.writerow([*row, *([key[i]] if key is not None else []),
                                  f"c{y[i]:03d}" if classes else float(y[i])])
        quiet = dict(check=True, stderr=subprocess.DEVNULL, text=True)
        subprocess.run([os.path.join(build, "lockstep-train"), "table",
                        "--data", a, "--seed", str(seed), "--data-seed",
                        str(seed), "--workers", "1", "--save", model, *more],
                       stdout=subprocess.DEVNULL, **quiet)
        text = subprocess.run([os.path.join(build, "lockstep-predict"), model,
                               b], stdout=subprocess.PIPE, **quiet).stdout
    rows = list(csv.reader(text.splitlines()))[1:]
    return np.array([r[classes:] for r in rows], float)


def scores(classes, y, out):
    if not classes:
        return {"R2": metrics.r2_score(y, out)}
    p = np.clip(out, 1e-15, 1)
    told = {"log loss": -metrics.log_loss(y, p / p.sum(1, keepdims=True))}
    if p.shape[1] == 2:
        told["AUC"] = metrics.roc_auc_score(y, p[:, 1])
    return told


def run(options, name, classes, x, y, group, time, split, write):
    train, test = part(classes, y, group, time, split)
    by = next((k[train] for k in (group, time) if k is not None), None)
    more = [] if by is None else [("--group" if time is None else "--time"),
                                  "by"]
    given = (x[train], y[train]), (x[test], y[test]), by
    ways = (("lockstep", []),
            ("lockstep --select logloss", ["--select", "logloss"]))
    for method, way in ways[:1 + classes]:
        out = lockstep(options.build, more + way, classes, split, *given)
        write(name, split, method,
              scores(classes, y[test], out if classes else out[:, 0]))
    for method, model in peers(classes, split):
        model.fit(x[train], y[train])
        write(name, split, method, scores(
            classes, y[test], (model.predict_proba if classes
                               else model.predict)(x[test])))


def error(values):
    n = len(values)
    return statistics.stdev(values) / n ** .5 if n > 1 else 0


FOR_LOG_LOSS = {"lockstep --select logloss": "lockstep",
                "pytabkit, log loss": "pytabkit"}


def tell(rows):
    """Means and ranks, a line for each set and figure."""
    methods = list(dict.fromkeys(r[2] for r in rows))
    ranks = {m: [] for m in methods}
    print("| set, figure |", " | ".join(methods), "|")
    print("|---|" + "---:|" * len(methods))
    for of in dict.fromkeys((r[0], r[3]) for r in rows):
        found = {m: [float(r[4]) for r in rows
                     if (r[0], r[3]) == of and r[2] == m] for m in methods}
        for told, plain in FOR_LOG_LOSS.items():
            if told in found:
                found[told] = found[told] or found[plain]
        mean = {m: statistics.mean(v) for m, v in found.items() if v}
        sign = -1 if of[1] == "log loss" else 1
        for m in mean:
            ranks[m].append(1 + sum(v > mean[m] for k, v in mean.items()))
        print(f"| {of[0]}, {of[1]} |", *(
            f"{sign * mean[m]:.3f} ± {error(v):.3f} |"
            for m, v in found.items()))
    print("| mean rank | " + " | ".join(
        f"{statistics.mean(ranks[m]):.2f}" for m in methods) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default="build", help="lockstep's programs")
    p.add_argument("--splits", type=int, default=10)
    p.add_argument("--data", help="names of data sets, semicolons between them")
    p.add_argument("--out", default="judged.csv")
    options = p.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    if os.path.isfile(options.out):
        rows = list(csv.reader(open(options.out)))[1:]
    done = {(r[0], int(r[1])) for r in rows}
    with open(options.out, "a", newline="") as f:
        out = csv.writer(f)
        if not rows:
            out.writerow(["data", "split", "method", "metric", "value"])

        def write(name, split, method, told):
            for metric, value in told.items():
                rows.append([name, split, method, metric, f"{value:.6f}"])
                out.writerow(rows[-1])
            f.flush()

        for name, *given in data_sets():
            for split in range(options.splits):
                if (name, split) not in done and (
                        not options.data or name in options.data.split(";")):
                    run(options, name, *given, split, write)
    tell(rows)


if __name__ == "__main__":
    main()
