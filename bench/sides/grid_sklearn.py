# SPDX-License-Identifier: BSD-3-Clause
"""GridSearchCV of 100 fits: MLPClassifier of lockstep.sklearn beside
scikit-learn's own, the same parameters, in turns.

    LOCKSTEP_LIBRARY=build/.libs/liblockstep.so.2 PYTHONPATH=bindings/python \\
        python3 bench/sides/grid_sklearn.py [--rounds N] [--json F]

20 settings (alpha, layers, learning rate) by 5 folds of the breast cancer and of
the digits table that come with scikit-learn, standardised, 50 epochs of batches
of 32 rows, which neither side ends early.  Times are of the processor, of one
thread, with all that GridSearchCV does: splitting, checking, scoring.  The score
is the best setting's mean over the folds.  F gets the rounds, for bench/compare
--store.
"""
import argparse
import os
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from sklearn import __version__, datasets, neural_network  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import lockstep.sklearn  # noqa: E402

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import rounds  # noqa: E402

GRID = {"alpha": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
        "hidden_layer_sizes": [(32,), (32, 32)],
        "learning_rate_init": [1e-3, 5e-3]}


def search(kind, x, y):
    model = kind(max_iter=50, batch_size=32, n_iter_no_change=1000, tol=0,
                 random_state=0)
    start = time.process_time()
    found = GridSearchCV(model, GRID, cv=5, n_jobs=1, refit=False).fit(x, y)
    return time.process_time() - start, found.best_score_


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--json", metavar="F")
    a = p.parse_args()
    result = {"machine": rounds.machine(sorted(os.sched_getaffinity(0))),
              "rows": {}}
    result["machine"]["peers"] = "scikit-learn " + __version__
    warnings.filterwarnings("ignore")
    sides = {"lockstep": lockstep.sklearn.MLPClassifier,
             "scikit-learn": neural_network.MLPClassifier}
    for name in "breast_cancer", "digits":
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        x = StandardScaler().fit_transform(x)
        runs = np.array([[search(kind, x, y) for kind in sides.values()]
                         for _ in range(a.rounds)])
        ours, theirs = runs[:, 0, 0], runs[:, 1, 0]
        print(f"{name:14s} lockstep {ours.min():6.1f} {np.median(ours):6.1f} s  "
              f"scikit-learn {theirs.min():6.1f} {np.median(theirs):6.1f} s  "
              f"times {theirs.min() / ours.min():4.1f} "
              f"{np.median(theirs / ours):4.1f}  best score "
              f"{runs[0, 0, 1]:.4f} {runs[0, 1, 1]:.4f}", flush=True)
        result["rows"]["grid " + name] = {"ratios": {}, "sides": {
            side: [rounds.of_times([1e3 * t], cpu_ms=1e3 * t,
                                   ours=side == "lockstep") for t in of]
            for side, of in zip(sides, runs[:, :, 0].T)}}
    if a.json:
        rounds.save(a.json, result)


main()
