# SPDX-License-Identifier: BSD-3-Clause
"""RealMLP, the network of lockstep-train table, as the estimators of
lockstep.sklearn train it.  A note says what the columns mean; the network, its
rates and its first values are the library's (lockstep/realmlp.h)."""

import ctypes as C
import json

import numpy as np

from . import c, network
from .arrays import good
from .frames import word_of, words_of
from .mlp import MLP, is_whole
from .nodes import Graph, Owner, defaults, do, opened
from .training import Trainer

_NOTE = "lockstep.table"


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
        """Codes are frozen and have no moments."""
        return [n for n in super().names(trainer)
                if not n.startswith(("mu.codes.", "nu.codes."))]

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


class Table(MLP):
    """What TableClassifier and TableRegressor have in common."""

    solver, tol, shuffle, _uneven = "adam", 0, True, "cut"
    _MAY_BE = [
        ("recipe", "td or td-s", lambda v: v in ("td", "td-s")),
        ("n_ensemble", "a whole number from 1", is_whole),
        ("max_iter", "a whole number from 1", is_whole),
        ("batch_size", "a whole number from 1", is_whole),
        ("devices", "a whole number from 1", is_whole),
        ("learning_rate_init", "None or above 0",
         lambda v: v is None or v > 0),
        ("dropout", "None or from 0 to below 1",
         lambda v: v is None or 0 <= v < 1),
        ("validation_fraction", "from 0 to below 1", lambda v: 0 <= v < 1),
        ("n_iter_no_change", "None or from 1", lambda v: v is None or v >= 1),
    ]

    # ------ rows ------

    def _split(self, x, t, w):
        if len(x) * self.validation_fraction < 1 or len(x) < 5:
            return (x, t, w), None
        return self._parts(x, t, w)

    def _take(self, X, y, sample_weight, new):
        """Raw rows, targets and weights, in an order of their own."""
        x, y = self._rows(X, y, reset=new)
        t = self._targets(y, new)
        if not self._numeric:
            t = t.astype(np.int32).reshape(len(t))
        elif t.shape[1] != 1:
            raise ValueError("y has several numbers a row, and "
                             f"{type(self).__name__} tells one")
        return self._in_order(x, t, self._weights(x, y, sample_weight))

    # ------ training ------

    def _fit(self, X, y, sample_weight, incremental):
        new = self._is_new(y, incremental)
        begins = new or not incremental
        x, t, w = self._take(X, y, sample_weight, new)
        if new:
            self._begin_counts()
        if begins:
            (x, t, w), self._held_out = self._split(x, t, w)
        if not incremental:
            self.n_iter_ = 0
        if new:
            self._measure(x, t)
        x, t = self._columns.coded(x), self._seen(t)
        if begins:
            self._prepare(x, t, None if new else self._network)
        if w is not None:
            w = (w / w.mean()).astype(np.float32)
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
                   "hidden": len(hidden), "members": self.n_ensemble}
        if self.dropout is not None:
            options["dropout"] = self.dropout
        if self._numeric:
            options["low"], options["high"] = float(t.min()), float(t.max())
        batches = max(1, rows // self._batch(rows))
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
            self.best_validation_score_ = value
            self._best = self._network.weights()
        elif better:
            self.best_loss_ = value

    def _is_over(self):
        return (self.n_iter_no_change is not None and
                self._no_improvement >= self.n_iter_no_change or
                self._network.trainer.steps >= self._network.shape["steps"])

    def _stops(self):
        return self._is_over()

    # ------ what is there then ------

    @property
    def coefs_(self):
        raise AttributeError(f"a {type(self).__name__} has layers of other "
                             "kinds, too, and no list of kernels")

    intercepts_ = coefs_

    def _outputs(self, X):
        p = super()._outputs(X)
        if self._numeric:
            return p * self._target["scale"] + self._target["mean"]
        p = np.exp(p - p.max(1, keepdims=True))
        return (p / p.sum(1, keepdims=True))[:, self._place]

    def save_model(self, path):
        """Write a model file, which lockstep.TableModel, lockstep-predict and
        programs in C open."""
        super().save_model(path)
