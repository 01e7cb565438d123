# SPDX-License-Identifier: BSD-3-Clause
"""RealMLP, the network of lockstep-train table, as the estimators of
lockstep.sklearn train it.  A note says what the columns mean; the network, its
rates and its first values are the library's (lockstep/realmlp.h)."""

import ctypes as C
import json
import os
import tempfile

import numpy as np
from sklearn import metrics
from sklearn.base import clone
from sklearn.model_selection import (GroupKFold, GroupShuffleSplit, KFold,
                                     StratifiedKFold, cross_validate)
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from . import c, network
from .arrays import good
from .frames import word_of, words_of
from .mlp import MLP, is_whole
from .nodes import Graph, Owner, defaults, do, opened
from .training import Trainer

_NOTE = "lockstep.table"

# One network scatters where rows are few: so many side by side.
_FEW_ROWS, _OF_FEW = 1000, 4


def note_of(columns, target, name="y"):
    """What columns mean, as a model file has it."""
    inputs = []
    for i, words, part, of in zip(columns.places, columns.words,
                                  columns.parts, columns.measured):
        inputs.append({"name": str(columns.names[i] if columns.names
                                   else f"x{i}")})
        if words is not None:
            inputs[-1]["words"] = list(words)
            continue
        if part:
            inputs[-1]["date"] = part
        inputs[-1].update(mean=of[1], scale=of[2])
    return json.dumps({"version": 1, "missing": "mean", "inputs": inputs,
                       "target": {"name": name, **target}})


class _Recipe(Owner):
    """An ls_realmlp and what it is of."""

    coding = None

    def __init__(self, note, width, options):
        width = (C.c_int64 * len(width))(*width)
        self.coding = opened(do.coding_read, note, "this table")
        self.of = opened(do.realmlp_new, self.coding, C.byref(defaults(
            c.ls_realmlp_defaults_bytes, c.RealmlpOptions,
            width=width, **options)))

    def _end(self):
        c.ls_realmlp_free(self.of)
        c.ls_coding_free(self.coding)

    def groups(self):
        count = C.c_int()
        of = C.cast(c.ls_realmlp_groups(self.of, C.byref(count)),
                    C.POINTER(c.Group))
        return of[:count.value]


class Network(network.Network):
    """shape: note, the steps of its course, what ls_realmlp_new is given."""

    target = "y"

    def __init__(self, shape, seed, optimizer, devices, threads):
        self.recipe = _Recipe(shape["note"], shape["width"], shape["options"])
        self.output = "prediction" if shape["numeric"] else "logits"
        self.course = {
            name: c.ls_realmlp_schedule(kind, shape["steps"])
            for name, kind in (("schedule", c.REALMLP_RATE),
                               ("decay_schedule", c.REALMLP_DECAY),
                               ("dropout_schedule", c.REALMLP_DROPOUT))}
        super().__init__(shape, seed, optimizer or self._optimizer(
            shape["rate"]), devices, threads)

    def _optimizer(self, rate):
        optimizer = c.ls_realmlp_optimizer(self.recipe.of)
        if rate is not None:
            optimizer.lr = rate
        return optimizer

    def _open(self):
        g = Graph()
        c.ls_realmlp_build(self.recipe.of, g.of)
        return Trainer(g, optimizer=self.optimizer, groups=self.recipe.groups(),
                       pin=False, workers=self.threads, **self.course,
                       **self.options)

    def names(self, trainer):
        """Codes and temperature are frozen and have no moments."""
        return [n for n in super().names(trainer) if not n.startswith(
            ("mu.codes.", "nu.codes.", "mu.temperature", "nu.temperature"))]

    def set_temperature(self, value):
        """What logits are divided by: 1 in training."""
        if self.shape["options"].get("calibrated"):
            n, = self.trainer.shapes()["temperature"]
            self.trainer["temperature"] = np.full(n, value, np.float32)

    def start(self, x):
        """The first values that depend on the rows."""
        x = good("x", x, np.float32)
        t = self.trainer
        do.realmlp_start(
            self.recipe.of, t.of, t.pool, C.byref(defaults(
                c.ls_trainer_defaults_bytes, c.TrainerOptions,
                seed=self.options["seed"])),
            C.byref(c.Array(b"x", c.F32, x.ndim, x.shape, x)))

    def _write(self, trainer, path):
        do.trainer_save_with(trainer.of, path, C.byref(defaults(
            c.ls_save_defaults_bytes, c.SaveOptions,
            notes=[(_NOTE, self.shape["note"])])))


def _temperature(p, t):
    """That of logits p at which the log loss of labels t is least."""
    p, t = good("p", p, np.float32), good("t", t, np.int32)
    return c.ls_temperature(len(p), p.shape[1], p, t)


def _log_loss(p, t, w):
    p = p - p.max(1, keepdims=True)
    rows = np.log(np.exp(p.astype(np.float64)).sum(1)) - p[np.arange(len(t)), t]
    return -np.average(rows, weights=w)


def _margin(p):
    return p[:, 1] - p[:, 0]


# What --select has, of outputs, targets and weights; a loss is negative.
_FIGURES = {
    "accuracy": lambda p, t, w: np.average(p.argmax(1) == t, weights=w),
    "auc": lambda p, t, w: metrics.roc_auc_score(t, _margin(p),
                                                 sample_weight=w),
    "logloss": _log_loss,
    "f1": lambda p, t, w: metrics.f1_score(t, p.argmax(1), sample_weight=w),
    "ap": lambda p, t, w: metrics.average_precision_score(
        t, _margin(p), sample_weight=w),
    "rmse": lambda p, t, w: -np.sqrt(np.average((t - p) ** 2, weights=w,
                                                axis=0)).mean(),
    "mae": lambda p, t, w: -np.average(abs(t - p), weights=w, axis=0).mean(),
    "r2": lambda p, t, w: metrics.r2_score(t, p, sample_weight=w),
}


class Table(MLP):
    """What TableClassifier and TableRegressor have in common."""

    solver, tol, shuffle, _uneven = "adam", 0, True, "cut"
    _MAY_BE = [
        ("recipe", "td or td-s", lambda v: v in ("td", "td-s")),
        ("n_ensemble", "None or a whole number from 1",
         lambda v: v is None or is_whole(v)),
        ("max_iter", "a whole number from 1", is_whole),
        ("batch_size", "a whole number from 1", is_whole),
        ("devices", "a whole number from 1", is_whole),
        ("learning_rate_init", "None or above 0",
         lambda v: v is None or v > 0),
        ("dropout", "None or from 0 to below 1",
         lambda v: v is None or 0 <= v < 1),
        ("validation_fraction", "from 0 to below 1", lambda v: 0 <= v < 1),
        ("n_iter_no_change", "auto, None or from 1",
         lambda v: v is None or v == "auto" or v >= 1),
        ("cv", "None, a whole number from 2, or what parts rows",
         lambda v: v is None or is_whole(v) and v > 1 or
         hasattr(v, "split") or hasattr(v, "__iter__")),
        ("select", "None or one of " + ", ".join(_FIGURES),
         lambda v: v is None or v in _FIGURES),
    ]

    # ------ rows ------

    def fit(self, X, y, sample_weight=None, groups=None, time=None):
        """Train on rows X of the targets y; returns the model.  groups, one
        for each row: no group is both trained on and held out.  time: the
        latest rows are held out."""
        if groups is not None and time is not None:
            raise ValueError("groups and time exclude each other")
        self.__dict__.pop("estimators_", None)
        if self.cv is not None:
            self._check_parameters()
            return self._fit_folds(X, y, sample_weight, groups, time)
        return self._fit(X, y, sample_weight, False, groups, time)

    def _fit_folds(self, X, y, sample_weight, groups, time):
        """A model without each fold in turn."""
        if time is not None or self.warm_start:
            raise ValueError("cv goes with neither time nor warm_start")
        checked = self._rows(X, y, reset=True)[1]
        self._targets(checked, True)
        self._begin_counts()
        kind = StratifiedKFold if not self._numeric else KFold
        folds = self.cv
        if is_whole(folds):
            folds = (kind(folds, shuffle=True, random_state=self._seed)
                     if groups is None else GroupKFold(folds))
        given = {"sample_weight": sample_weight, "groups": groups}
        found = cross_validate(
            clone(self).set_params(cv=None), X, y, groups=groups, cv=folds,
            params={n: v for n, v in given.items() if v is not None},
            return_estimator=True, error_score="raise")
        self.estimators_ = found["estimator"]
        self.fold_scores_ = found["test_score"]
        if not self._numeric and any(len(e.classes_) < len(self.classes_)
                                     for e in self.estimators_):
            del self.estimators_
            raise ValueError("a class has all its rows in one fold, which no "
                             "other model sees: fewer folds")
        self.n_iter_ = max(e.n_iter_ for e in self.estimators_)
        self.best_loss_ = None  # each has its own
        return self

    def _split(self, x, t, w):
        if len(x) * self.validation_fraction < 1 or len(x) < 5:
            if self._calibrates():
                raise ValueError("nothing is held out to calibrate by: "
                                 f"validation_fraction is "
                                 f"{self.validation_fraction} of {len(x)} rows")
            return (x, t, w), None
        if self._by is None:
            return self._parts(x, t, w)
        held = self._latest() if self._by_time else self._groups_held()
        if held.all():
            raise ValueError("groups or time leave no row to train on")
        return tuple(tuple(None if a is None else a[part] for a in (x, t, w))
                     for part in (~held, held))

    def _latest(self):
        """Rows of one time are on one side."""
        n = int(np.ceil(self.validation_fraction * len(self._by)))
        return self._by >= np.sort(self._by)[-n]

    def _groups_held(self):
        if len(np.unique(self._by)) < 2:
            raise ValueError("groups has one group alone")
        split = GroupShuffleSplit(1, test_size=self.validation_fraction,
                                  random_state=self._seed)
        held = np.zeros(len(self._by), bool)
        held[next(split.split(held, groups=self._by))[1]] = True
        return held

    def _take(self, X, y, sample_weight, new, groups, time):
        """Raw rows, targets and weights, in an order of their own."""
        x, y = self._rows(X, y, reset=new)
        t = self._targets(y, new)
        self._check_select()
        if not self._numeric:
            t = t.astype(np.int32).reshape(len(t))
        elif t.shape[1] != 1:
            raise ValueError("y has several numbers a row, and "
                             f"{type(self).__name__} tells one")
        rows, w = self._order(x, t, self._weights(x, y, sample_weight))
        self._by, self._by_time = None, time is not None
        if groups is not None or time is not None:
            by = column_or_1d(groups if time is None else time)
            check_consistent_length(X, by)
            self._by = by[rows]
        return x[rows], t[rows], w

    # ------ training ------

    def _fit(self, X, y, sample_weight, incremental, groups=None, time=None):
        if self.cv is not None:
            raise ValueError("partial_fit knows no folds: cv is "
                             f"{self.cv!r}")
        new = self._is_new(y, incremental)
        begins = new or not incremental
        x, t, w = self._take(X, y, sample_weight, new, groups, time)
        if new:
            self._begin_counts()
        if begins:
            (x, t, w), self._held_out = self._split(x, t, w)
            self._by = None
        if not incremental:
            self.n_iter_ = 0
        if new:
            self._measure(x, t)
        x, t = self._columns.coded(x), self._seen(t)
        if begins:
            self._prepare(x, t, None if new else self._network)
        if w is not None:
            w = (w / w.mean()).astype(np.float32)
        self._network.set_temperature(1)
        self._train((x, t, w), 1 if incremental else self.max_iter,
                    incremental)
        if not incremental:
            self._network.rest()
        return self

    def _prepare(self, x, t, before):
        """A network for these rows, with the weights of one before."""
        if self._held_out is not None:
            hx, ht, hw = self._held_out
            self._held_out = self._columns.coded(hx), self._seen(ht), hw
        weights = before and before.weights()
        self._network = self._make(len(x), t)
        self._batches, self._best, self._no_improvement = 0, None, 0
        self.best_loss_, self.best_validation_score_ = np.inf, None
        if self.early_stopping:
            self.best_loss_, self.best_validation_score_ = None, -np.inf
            self.history_.setdefault("validation_score", [])
        if weights:
            self._network.set_weights(weights)
        else:
            self._network.start(x)

    def _make(self, rows, t):
        hidden = self._hidden()
        options = {"recipe": self.recipe.replace("-", "_"),
                   "hidden": len(hidden), "members": self.n_ensemble or (
                       _OF_FEW if rows < _FEW_ROWS else 1)}
        if self.dropout is not None:
            options["dropout"] = self.dropout
        if self._calibrates():
            options["calibrated"] = True
        if self.select in ("auc", "ap", "logloss"):
            options["smoothing"] = 0
        if self._numeric:
            options["low"], options["high"] = float(t.min()), float(t.max())
        batches = max(1, rows // self._batch(rows))
        self._patience = self.n_iter_no_change
        if self._patience == "auto":
            self._patience = max(20, -(-100 // batches))
        return Network(
            {"note": note_of(self._columns, self._target), "width": hidden,
             "options": options, "rate": self.learning_rate_init,
             "numeric": self._numeric, "steps": self.max_iter * batches},
            self._seed, None, int(self.devices),
            network.workers(self.n_jobs, self.devices))

    def _measure(self, x, t):
        """What rows that are trained on say of columns and target."""
        self._columns.measure(x, robust=True)
        if self._numeric:
            mean, scale = np.mean(t, dtype=np.float64), np.std(
                t, dtype=np.float64)
            self._target = {"mean": float(mean),
                            "scale": float(scale) if scale > 0 else 1.0}
            return
        words = words_of(self.classes_)
        if len(words) < len(self.classes_):
            raise ValueError("two of the classes are the same text")
        self._target = {"words": list(words)}
        self._place = np.array([words[word_of(v)]
                                for v in self.classes_.tolist()])

    def _seen(self, t):
        """Targets as the network has them."""
        if not self._numeric:
            return self._place[t].astype(np.int32)
        of = self._target
        return ((t - of["mean"]) / of["scale"]).astype(np.float32)

    def _batch(self, rows):
        return min(int(self.batch_size), rows)

    @property
    def early_stopping(self):
        return getattr(self, "_held_out", None) is not None

    def _rate_now(self):
        of = self._network
        return of.course["schedule"].rate(of.optimizer.lr, of.trainer.steps)

    def _tell_unfinished(self):
        """The course has an end."""

    def _judge(self, value, best, sign):
        """Of epochs that are equal, or nearly so, the last is the best."""
        better = not sign * value < sign * best - 1e-6
        self._no_improvement = 0 if better else self._no_improvement + 1
        if better and self.early_stopping:
            if self._calibrates():
                self.temperature_ = self._temperature
            self.best_validation_score_ = value
            self._best = self._network.weights()
        elif better:
            self.best_loss_ = value

    def _calibrates(self):
        return not self._numeric and (self.calibrate or
                                      self.select == "logloss")

    def _figure(self, p, t, w):
        """By select; the negative of a loss, as scikit-learn has it."""
        if self._calibrates():
            self._temperature = _temperature(p, t)
        if self.select is None:
            return self._score_of(p, t, w)
        if self._numeric:
            scale = self._target["scale"]
            p, t = p * scale, t * scale
        elif self.select == "logloss":
            p = p / self._temperature
        return float(_FIGURES[self.select](p, t, w))

    def _check_select(self):
        numeric = self.select in ("rmse", "mae", "r2")
        if self.select is not None and numeric != self._numeric:
            raise ValueError(f"select is {self.select!r}, which is for "
                             f"{'numbers' if numeric else 'classes'}")
        if (self.select in ("auc", "f1", "ap") and
                len(self.classes_) != 2):
            raise ValueError(f"select is {self.select!r}, which is for two "
                             f"classes, and y has {len(self.classes_)}")

    def _end(self, incremental):
        """The best weights, and the temperature that suits them."""
        super()._end(incremental)
        if self._calibrates():
            self._network.set_temperature(self.temperature_)
            self._network.trained()

    def _is_over(self):
        return (self.n_iter_no_change is not None and self.early_stopping and
                self._no_improvement >= self._patience or
                self._network.trainer.steps >= self._network.shape["steps"])

    def _stops(self):
        return self._is_over()

    # ------ what is there then ------

    @property
    def coefs_(self):
        raise AttributeError(f"a {type(self).__name__} has layers of other "
                             "kinds, too, and no list of kernels")

    intercepts_ = coefs_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_") or super().__sklearn_is_fitted__()

    def _outputs(self, X):
        if hasattr(self, "estimators_"):
            return np.mean([e._outputs(X) for e in self.estimators_], axis=0)
        p = super()._outputs(X)
        if self._numeric:
            return p * self._target["scale"] + self._target["mean"]
        p = np.exp(p - p.max(1, keepdims=True))
        return (p / p.sum(1, keepdims=True))[:, self._place]

    def save_model(self, path):
        """Write a model file, which lockstep.TableModel, lockstep-predict and
        programs in C open; with cv one file has the models of all folds."""
        if not hasattr(self, "estimators_"):
            return super().save_model(path)
        of = self.estimators_[0]._network
        with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
            files = [os.path.join(folder, str(i))
                     for i in range(len(self.estimators_))]
            for model, file in zip(self.estimators_, files):
                model.save_model(file)
            do.table_model_join(path, len(files), (C.c_char_p * len(files))(
                *map(os.fsencode, files)), of.trainer.pool)
        of.rest()
