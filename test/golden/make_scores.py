# SPDX-License-Identifier: BSD-3-Clause
"""Scores of made predictions by scikit-learn: prints test/golden/scores.h.

    pip install scikit-learn==1.9.1; python3 make_scores.py >scores.h
"""
import numpy as np
import sklearn
from sklearn.metrics import (average_precision_score, f1_score, log_loss,
                             mean_absolute_error, precision_recall_curve,
                             precision_score, r2_score, recall_score,
                             roc_auc_score, root_mean_squared_error,
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
picked = logits.argmax(1)
share = np.exp(logits.astype("f8"))
share /= share.sum(1, keepdims=True)
curve = precision_recall_curve(label, score)
f1 = 2 * curve[0] * curve[1] / np.maximum(curve[0] + curve[1], 1e-300)
best = np.flatnonzero(np.isclose(f1[:-1], f1.max()))[-1]
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
        ("ap", average_precision_score(label, score)),
        ("best_f1", f1.max()),
        ("best_from", float(curve[2][best - 1:best + 1].mean())),
        ("log_loss", log_loss(many, share, labels=range(k))),
        ("mae", mean_absolute_error(np.ravel(y).astype("f8"),
                                    np.ravel(out).astype("f8"))),
        ("precision", precision_score(many, picked, average="macro",
                                      labels=range(k))),
        ("recall", recall_score(many, picked, average="macro",
                                labels=range(k))),
        ("f1", f1_score(many, picked, average="macro", labels=range(k))),
        ("top2", top_k_accuracy_score(many, logits, k=2, labels=range(k)))):
    print(f"static const double golden_{name} = {value!r};".replace(
        "np.float64(", "").replace(");", ";"))
