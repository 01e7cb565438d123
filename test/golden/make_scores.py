# SPDX-License-Identifier: BSD-3-Clause
"""Scores of made predictions by scikit-learn: prints test/golden/scores.h.

    pip install scikit-learn==1.9.1; python3 make_scores.py >scores.h
"""
import numpy as np
import sklearn
from sklearn.metrics import (r2_score, roc_auc_score, root_mean_squared_error,
                             top_k_accuracy_score)

rng = np.random.RandomState(5)


def put(kind, name, values, text):
    items = ", ".join(text(v) for v in np.ravel(values))
    print(f"static const {kind} {name}[] = {{{items}}};")


def put_float(name, values):
    put("float", name, values, lambda v: float(v).hex() + "f")


n, k = 24, 5
y = rng.randn(n, 2).astype("f4")
out = (y + 0.5 * rng.randn(n, 2)).astype("f4")
score = np.round(rng.randn(n), 1).astype("f4")  # with ties
label = (score + rng.randn(n) > 0).astype("i4")
logits = rng.randn(n, k).astype("f4")
many = rng.randint(0, k, n).astype("i4")
print(f"/* Made by make_scores.py with scikit-learn {sklearn.__version__}. */")
print("// clang-format off")
put_float("golden_y", y)
put_float("golden_out", out)
put_float("golden_score", score)
put("int32_t", "golden_label", label, str)
put_float("golden_logits", logits)
put("int32_t", "golden_many", many, str)
print("// clang-format on")
for name, value in (
        ("r2", r2_score(y.astype("f8"), out.astype("f8"))),
        ("r2_first", r2_score(y[:, 0].astype("f8"), out[:, 0].astype("f8"))),
        ("rmse", root_mean_squared_error(np.ravel(y).astype("f8"),
                                         np.ravel(out).astype("f8"))),
        ("auc", roc_auc_score(label, score)),
        ("top2", top_k_accuracy_score(many, logits, k=2, labels=range(k)))):
    print(f"static const double golden_{name} = {value!r};".replace(
        "np.float64(", "").replace(");", ";"))
