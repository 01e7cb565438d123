# SPDX-License-Identifier: BSD-3-Clause
"""Proves that lockstep.sklearn's estimators are scikit-learn's: its own
check_estimator, the same weights from the same start, and what is more.

    estimators.py GUIDE TOOLS

TOOLS: the folder of lockstep-train and lockstep-predict.
"""

import csv
import ctypes
import datetime
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import sklearn.neural_network as theirs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import lockstep as ls
import lockstep.sklearn as ours

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
TARGETS = {
    "two": ("MLPClassifier", (X[:, 0] > 0).astype(int)),
    "three": ("MLPClassifier", np.digitize(X[:, 0], [-.4, .4])),
    "several": ("MLPClassifier", (X[:, :3] > 0).astype(int)),
    "number": ("MLPRegressor", X[:, 0] * 2 + X[:, 1] ** 2),
    "numbers": ("MLPRegressor", np.c_[X[:, 0], X[:, 1] * 3]),
}


def raises(words, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except (ValueError, TypeError, UserWarning) as e:
        assert words in str(e), f"{e} does not say {words}"
        return
    raise AssertionError(f"nothing was refused that should say {words}")


SMALL = {"max_iter": 40, "hidden_layer_sizes": (16,), "devices": 2}


def check_conventions():
    for model in (ours.MLPClassifier(), ours.MLPRegressor(),
                  ours.TableClassifier(**SMALL), ours.TableRegressor(**SMALL)):
        for check in check_estimator(model, on_skip=None):
            assert check["status"] in ("passed", "skipped"), check


def from_the_start_of(model, start):
    """The same estimator, whose weights begin as those of another."""
    class From(type(model)):
        def _begin(self, *given):
            super()._begin(*given)
            self._network.set_weights({
                f"layer_{i}.{kind}": w
                for kind, all_ in (("kernel", start.coefs_),
                                   ("bias", start.intercepts_))
                for i, w in enumerate(all_)})

        @classmethod
        def _get_param_names(cls):
            return type(model)._get_param_names()

    return From(**model.get_params())


def check_weights():
    """Twenty epochs from the same start, in the same order of rows, end in
    scikit-learn's weights."""
    sgd = {"solver": "sgd", "momentum": 0.8}
    for kind, (name, y) in TARGETS.items():
        for more in ({}, sgd, {**sgd, "nesterovs_momentum": False},
                     {**sgd, "learning_rate": "invscaling", "power_t": .3},
                     {"activation": "logistic"}, {"activation": "identity"}):
            o = dict(hidden_layer_sizes=(7, 4), activation="tanh", alpha=.5,
                     shuffle=False, random_state=0, batch_size=40, tol=0,
                     learning_rate_init=.02, n_iter_no_change=1000)
            o.update(more)
            them = getattr(theirs, name)(**o, max_iter=20).fit(X, y)
            start = getattr(theirs, name)(**{**o, "learning_rate_init": 1e-30},
                                          max_iter=1).fit(X, y)
            us = from_the_start_of(
                getattr(ours, name)(**o, max_iter=20), start).fit(X, y)
            for a, b in zip(them.coefs_ + them.intercepts_,
                            us.coefs_ + us.intercepts_):
                np.testing.assert_allclose(b, a, atol=2e-4, rtol=1e-4,
                                           err_msg=f"{kind} {more}")
            assert us.out_activation_ == them.out_activation_
            assert us.n_layers_ == them.n_layers_
            assert us.n_outputs_ == them.n_outputs_
            assert us.n_iter_ == 20 and us.t_ == them.t_
            np.testing.assert_allclose(us.predict(X[:9]), them.predict(X[:9]),
                                       rtol=1e-3, atol=1e-3)


def proba(model):
    return model.predict_proba(X)


def check_bits():
    """The same for any n_jobs, for any order of rows, for whole weights and
    rows, and through a pickle, also in the midst of a training."""
    y = TARGETS["three"][1]
    a = ours.MLPClassifier(random_state=3, max_iter=9, batch_size=32)
    one = proba(clone(a).fit(X, y))
    for n_jobs in 1, 2, -1:
        other = clone(a).set_params(n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(proba(other), one)
    turned = rng.permutation(len(X))
    np.testing.assert_array_equal(proba(clone(a).fit(X[turned], y[turned])),
                                  one)
    w = rng.integers(0, 4, len(X))
    np.testing.assert_array_equal(
        proba(clone(a).fit(X, y, w)),
        proba(clone(a).fit(X.repeat(w, 0), y.repeat(w))))
    for solver in "adam", "sgd":
        b = clone(a).set_params(solver=solver).partial_fit(X, y, classes=[
            0, 1, 2])
        c = pickle.loads(pickle.dumps(b))
        np.testing.assert_array_equal(proba(c), proba(b))
        again = pickle.loads(pickle.dumps(c))
        for m in b, c, again:
            m.partial_fit(X, y)
            np.testing.assert_array_equal(proba(m), proba(b))
        assert again.n_iter_ == 2 and len(again.loss_curve_) == 2
    fitted = clone(a).fit(X, y)
    fitted.partial_fit(X, y)
    assert fitted.n_iter_ == 10


def check_weighting():
    y = TARGETS["two"][1]
    w = np.where(y == 1, 2.5, 0.3)
    a = ours.MLPClassifier(random_state=0, max_iter=30)
    plain, heavy = clone(a).fit(X, y), clone(a).fit(X, y, w)
    assert proba(heavy)[:, 1].mean() > proba(plain)[:, 1].mean()
    by_class = clone(a).set_params(class_weight={0: 0.3, 1: 2.5}).fit(X, y)
    np.testing.assert_array_equal(proba(by_class), proba(heavy))
    clone(a).set_params(class_weight="balanced").fit(X, y)
    raises("eights", clone(a).fit, X, y, np.zeros(len(X)))


def check_lbfgs():
    """Where there is one minimum, its search ends there too."""
    w = rng.uniform(0.5, 2, len(X))
    for kind, (name, y) in TARGETS.items():
        o = dict(hidden_layer_sizes=(), solver="lbfgs", alpha=2,
                 random_state=0, max_iter=500, tol=1e-6)
        them = getattr(theirs, name)(**o).fit(X, y, w)
        us = getattr(ours, name)(**o, n_jobs=2).fit(X, y, w)
        tell = "predict_proba" if name == "MLPClassifier" else "predict"
        np.testing.assert_allclose(getattr(us, tell)(X), getattr(them, tell)(X),
                                   atol=5e-3, err_msg=kind)
        if kind != "numbers":  # of which both are means, here the penalty too
            assert abs(us.loss_ - them.loss_) < 1e-3 * abs(them.loss_), kind
        assert us.loss_curve_[0] > us.loss_
    assert not hasattr(us, "partial_fit")


def check_going_on():
    y = TARGETS["number"][1]
    a = ours.MLPRegressor(random_state=0, max_iter=5, warm_start=True,
                          batch_size=30)
    once = clone(a).set_params(max_iter=10).fit(X, y)
    twice = clone(a).fit(X, y).fit(X, y)
    np.testing.assert_array_equal(once.predict(X), twice.predict(X))
    assert twice.n_iter_ == 5 and len(twice.history_["loss"]) == 10
    raises("features", twice.fit, X[:, :3], y)
    early = ours.MLPRegressor(early_stopping=True, random_state=0,
                              n_iter_no_change=3, tol=0, batch_size=20,
                              learning_rate_init=.05)
    for i in range(300):
        early.partial_fit(X, y)
    n = early.n_iter_
    assert n < 300 and len(early.validation_scores_) == n
    assert max(early.validation_scores_) == early.best_validation_score_
    early.fit(X, y)
    held, t, _ = early._held_out
    score = early._score_of(early._network.predict(held), t, None)
    assert score == early.best_validation_score_
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ours.MLPRegressor(max_iter=1).fit(X, y)
    assert any(w.category is ConvergenceWarning for w in seen)
    poisson = ours.MLPRegressor("poisson", max_iter=50, random_state=0)
    assert (poisson.fit(X, y - y.min()).predict(X) > 0).all()
    raises("from 0 on", poisson.fit, X, y)


def check_holes():
    x, y = X.copy(), TARGETS["number"][1]
    x[::3, 0] = np.nan
    filled = x.copy()
    filled[::3, 0] = np.nanmean(x[:, 0])
    a = ours.MLPRegressor(random_state=0, max_iter=20, shuffle=False)
    np.testing.assert_array_equal(clone(a).fit(x, y).predict(x),
                                  clone(a).fit(filled, y).predict(filled))
    raises("infinity", a.fit, np.where(np.isnan(x), np.inf, x), y)
    words = np.c_[x.astype(object), np.array(["a", "b", None] * 40)]
    a.set_params(categorical_features=[5])
    b = clone(a).fit(words, y)
    assert b._columns.width == 7
    words[:, 5] = "unknown"
    assert np.isfinite(b.predict(words)).all()
    raises("string", ours.MLPRegressor().fit, words, y)
    raises("columns", clone(a).set_params(categorical_features=[9]).fit,
           words, y)
    masked = np.ma.masked_array(X, np.isnan(x))
    for of in ours.MLPRegressor(max_iter=1), ours.TableRegressor(**SMALL):
        raises("X has a mask", of.fit, masked, y)
        raises("y has a mask", of.fit, X, masked[:, 0])
        raises("X has a mask", of.fit(X, y).predict, masked)
        assert of.fit(np.ma.masked_array(X), y) is of
    raises("sample_weight has a mask", ours.MLPRegressor().fit, X, y,
           abs(masked[:, 0]))


def check_looks():
    """Words that look like numbers are told; ids are not one for their floats."""
    try:
        import pandas
    except ImportError:
        print("skipped: no pandas")
        return
    y, n = TARGETS["number"][1], [str(100 + i % 9) for i in range(120)]
    m = ours.MLPRegressor(max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        for look in "%s", "%s kg", "$%s", "CHF %s", "(%s)", "1,%s", "-%s %%":
            f = pandas.DataFrame({"a": [look % v for v in n], "b": X[:, 0]})
            raises('column "a" is of words, and', clone(m).fit, f, y)
            clone(m).set_params(categorical_features=["a"]).fit(f, y)
            clone(m).fit(f.astype({"a": "category"}), y)
        for look in "Q%s", "%s-7", "a", "v%s.1":
            f = pandas.DataFrame({"a": [look.replace("%s", v) for v in n],
                                  "b": X[:, 0]})
            clone(m).fit(f, y)
    f = pandas.DataFrame({"a": ["1234567890123456789" + v for v in n],
                          "b": ["\u2212" + v for v in n]})
    m = clone(m).set_params(categorical_features=["a", "b"]).fit(f, y)
    assert [len(words) for words in m._columns.words] == [9, 9]
    assert list(m._columns.words[1])[0] == "-108"


def check_frames():
    """Frames of pandas and polars are the same rows."""
    data = {"size": X[:, 0].tolist(), "town": ["Oslo", "Vik", None] * 40,
            "rooms": [1, 2, None, 4] * 30, "new": [True, False] * 60}
    y = X[:, 0] + np.array([0, 3, 1] * 40)
    frames = []
    try:
        import pandas
        frames.append(pandas.DataFrame(data))
        frames.append(pandas.DataFrame(data).astype(
            {"town": "category", "rooms": "Int64"}))
        frames.append(pandas.DataFrame(data).astype({"town": object}))
    except ImportError:
        print("skipped: no pandas")
    try:
        import polars
        frames.append(polars.DataFrame(data))
        frames.append(polars.DataFrame(data).cast(
            {"town": polars.Categorical}))
    except ImportError:
        print("skipped: no polars")
    told = []
    for f in frames:
        m = ours.MLPRegressor(max_iter=100, random_state=0,
                              learning_rate_init=.01).fit(f, y)
        assert list(m.feature_names_in_) == list(data)
        assert m.score(f, y) > 0.8, m.score(f, y)
        told.append(m.predict(f))
        np.testing.assert_array_equal(told[-1], told[0])
        by_name = clone(m).set_params(categorical_features=["town", "rooms"])
        assert by_name.fit(f, y)._columns.width == 7
        raises("feature names", m.predict, f[["town", "size", "rooms", "new"]])
        t = ours.TableRegressor(random_state=0, **SMALL).fit(f, y)
        assert t.score(f, y) > 0.8, t.score(f, y)
    if frames:
        m = ours.MLPRegressor(max_iter=100, random_state=0,
                              learning_rate_init=.01).fit(frames[0], y)
        p = permutation_importance(m, frames[0], y, n_repeats=3,
                                   random_state=0).importances_mean
        assert p.argmax() in (0, 1) and p[3] < p[1]


def check_searches():
    y = TARGETS["two"][1]
    grid = GridSearchCV(ours.MLPClassifier(max_iter=5, random_state=0),
                        {"alpha": [1e-4, 1], "hidden_layer_sizes": [(4,), 9]},
                        cv=3, n_jobs=2)
    one = clone(grid).set_params(n_jobs=1).fit(X, y)
    two = grid.fit(X, y)
    for name in "mean_test_score", "split0_test_score":
        np.testing.assert_array_equal(one.cv_results_[name],
                                      two.cv_results_[name])


def check_files():
    y = TARGETS["three"][1]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        m = ours.MLPClassifier(max_iter=5, random_state=0).fit(X, y)
        m.save_model(path)
        p = ls.Predictor(path).predict("y", x=X.astype(np.float32))
        np.testing.assert_allclose(m.predict_proba(X), p, atol=1e-7)
    assert len(m.coefs_) == 2 and m.coefs_[0].shape == (5, 100)
    raises("read-only", m.coefs_[0].fill, 0)
    raises("not of the shapes", setattr, m, "coefs_", m.coefs_[:1])
    for other in m, pickle.loads(pickle.dumps(m)):
        other.coefs_ = [0 * x for x in other.coefs_]
        other.intercepts_ = [np.zeros(100), [5, 1, 0]]
        assert (other.predict(X) == 0).all() and not other.coefs_[1].any()
    raises("solver", ours.MLPClassifier(solver="newton").fit, X, y)
    raises("batch_size", ours.MLPClassifier(batch_size=0).fit, X, y)
    raises("n_jobs is", ours.MLPClassifier(n_jobs="two").fit, X, y)
    raises("classes", ours.MLPClassifier().partial_fit, X, y)


def check_table_bits():
    """The same for any n_jobs, for any order of rows, for whole weights and
    rows, and through a pickle, also in the midst of a training."""
    y = TARGETS["three"][1]
    for more in {}, {"n_ensemble": 3}, {"recipe": "td-s"}:
        a = ours.TableClassifier(random_state=3, **{**SMALL, **more})
        m = clone(a).fit(X, y)
        one = proba(m)
        assert (one.argmax(1) == y).mean() > 0.8
        for n_jobs in 1, 2:
            other = clone(a).set_params(n_jobs=n_jobs).fit(X, y)
            np.testing.assert_array_equal(proba(other), one)
        turned = rng.permutation(len(X))
        np.testing.assert_array_equal(
            proba(clone(a).fit(X[turned], y[turned])), one)
        w = rng.integers(0, 4, len(X))
        np.testing.assert_array_equal(
            proba(clone(a).fit(X, y, w)),
            proba(clone(a).fit(X.repeat(w, 0), y.repeat(w))))
        np.testing.assert_array_equal(proba(pickle.loads(pickle.dumps(m))),
                                      one)
        b = clone(a).partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y)
        c = pickle.loads(pickle.dumps(b))
        for m in b, c:
            m.partial_fit(X, y)
            np.testing.assert_array_equal(proba(m), proba(b))
        assert c.n_iter_ == 3 and len(c.history_["validation_score"]) == 3


def check_table_courses():
    """Its course has an end; the best epoch counts; warm_start goes on."""
    y = TARGETS["number"][1]
    a = ours.TableRegressor(random_state=0, **SMALL)
    m = clone(a).fit(X, y)
    h = m.history_
    assert m.n_iter_ == 40 and len(h["learning_rate"]) == 40
    assert max(h["learning_rate"]) > 0.19 and h["learning_rate"][-1] < 1e-6
    assert h["validation_score"][-1] <= m.best_validation_score_
    held, t, _ = m._held_out
    assert m._score_of(m._network.predict(held), t, None) == max(
        h["validation_score"])
    assert y.min() - 1e-3 <= m.predict(X * 9).min()
    assert m.predict(X * 9).max() <= y.max() + 1e-3
    few = clone(a).set_params(n_iter_no_change=2).fit(X, y)
    assert few.n_iter_ < 40
    part = clone(a).set_params(n_iter_no_change=3, max_iter=300)
    for _ in range(200):
        part.partial_fit(X, y)
    assert part.n_iter_ < 200
    held, t, _ = part._held_out
    assert (part._score_of(part._network.predict(held), t, None) ==
            part.best_validation_score_)
    warm = clone(a).set_params(warm_start=True).fit(X, y)
    before = warm.predict(X)
    warm.set_params(learning_rate_init=1e-9, dropout=0).fit(X, y)
    assert warm.n_iter_ == 40 and len(warm.history_["loss"]) == 80
    np.testing.assert_allclose(warm.predict(X), before, atol=1e-4)
    raises("features", warm.fit, X[:, :3], y)
    none = clone(a).set_params(validation_fraction=0).fit(X, y)
    assert "validation_score" not in none.history_ and none.score(X, y) > 0.3
    raises("recipe", clone(a).set_params(recipe="best").fit, X, y)
    raises("several numbers", clone(a).fit, X, X[:, :2])


def check_table_weights():
    y = np.where(TARGETS["two"][1], "yes", "no")
    w = np.where(y == "yes", 2.5, 0.3)
    a = ours.TableClassifier(random_state=0, **SMALL)
    plain, heavy = clone(a).fit(X, y), clone(a).fit(X, y, w)
    assert proba(heavy)[:, 1].mean() > proba(plain)[:, 1].mean()
    by_class = clone(a).set_params(class_weight={"no": 0.3, "yes": 2.5})
    np.testing.assert_array_equal(proba(by_class.fit(X, y)), proba(heavy))
    raises("labels", a.fit, X, TARGETS["several"][1])


def check_table_files():
    """Its file is lockstep-predict's; words and numbers in the order that it
    has them in, which is none of Python's."""
    towns = np.array(["10", "9", "Vik", "1e1", "Ås", None], object)
    rows = np.c_[X[:, :2].astype(object), towns[np.arange(120) % 6],
                 np.arange(120) % 11]
    rows[::7, 0] = np.nan
    y = np.array([10, 9, 100])[np.arange(120) % 3]
    m = ours.TableClassifier(random_state=0, categorical_features=[2, 3],
                             **SMALL).fit(rows, y)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        m.save_model(path)
        table = ls.TableModel(path)
    assert table.classes == ["9", "10", "100"]
    told = table.predict_proba([dict(zip(table.columns, r)) for r in rows])
    np.testing.assert_allclose(m.predict_proba(rows), told, atol=1e-12)
    rows[:, 2] = "elsewhere"
    assert np.isfinite(m.predict_proba(rows)).all()
    number = ours.TableRegressor(random_state=0, n_ensemble=2, **SMALL).fit(
        X, TARGETS["number"][1])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        number.save_model(path)
        table = ls.TableModel(path)
    told = table.predict([dict(zip(table.columns, r)) for r in X.tolist()])
    np.testing.assert_allclose(number.predict(X), told, rtol=1e-12)
    p = permutation_importance(number, X, TARGETS["number"][1], n_repeats=3,
                               random_state=0).importances_mean
    assert p.argmax() == 0 and p[1] > p[2:].max()


def check_table_folds():
    """With cv the mean of the folds' models is told, and saved as one."""
    towns = np.array(["Bergen", "Vik", "Oslo", None], object)
    rows = np.c_[X[:, :3].astype(object), towns[np.arange(120) % 4]]
    rows[::7, 0] = np.nan
    who = np.arange(120) // 4
    for of, y in ((ours.TableClassifier, np.where(X[:, 0] > 0, "y", "n")),
                  (ours.TableRegressor, TARGETS["number"][1])):
        a = of(random_state=0, categorical_features=[3], cv=3, **SMALL)
        m = clone(a).fit(rows, y, sample_weight=1. + (X[:, 1] > 0),
                         groups=who)
        assert len(m.estimators_) == len(m.fold_scores_) == 3
        if of is ours.TableRegressor:
            mean = np.mean([e.predict(rows) for e in m.estimators_], axis=0)
            np.testing.assert_allclose(m.predict(rows), mean, rtol=1e-12)
        assert m.fold_scores_.mean() > 0.4 and m.score(rows, y) > 0.6
        whole = np.arange(120) % 7 > 0
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            m.save_model(path)
            table = ls.TableModel(path)
        given = [dict(zip(table.columns, r)) for r in rows[whole]]
        tell = "predict" if of is ours.TableRegressor else "predict_proba"
        np.testing.assert_allclose(getattr(m, tell)(rows[whole]),
                                   getattr(table, tell)(given), rtol=1e-4)
        again = pickle.loads(pickle.dumps(m))
        np.testing.assert_array_equal(again.predict(rows), m.predict(rows))
        raises("partial_fit knows no folds", a.partial_fit, rows, y, **(
            {} if tell == "predict" else {"classes": m.classes_}))
        raises("cv goes with neither time nor", a.fit, rows, y, time=who)
        raises("cv is 1; it is to be", clone(a).set_params(cv=1).fit, rows, y)
    rare = np.where(np.arange(120) < 1, "rare", y > 0)
    raises("a class has all its rows in one fold", ours.TableClassifier(
        cv=2, **SMALL).fit, X, rare)
    assert not hasattr(m.set_params(cv=None).fit(rows, y), "estimators_")


def check_table_parts():
    """Groups and times are parted as wholes, and change nothing else."""
    y = TARGETS["two"][1]
    m = ours.TableRegressor(random_state=0, **SMALL)
    by = np.arange(120) // 12
    order = rng.permutation(120)

    def parts(**named):
        m._seed, m._by_time = 0, "time" in named
        m._by = np.asarray(*named.values())
        (_, t, _), (_, ht, _) = m._split(X, np.arange(120), None)
        assert sorted([*t, *ht]) == list(range(120))
        return t, ht

    t, ht = parts(groups=by)
    assert not set(by[t]) & set(by[ht]) and len(ht) == 24
    t, ht = parts(time=order // 10)
    assert max(order[t] // 10) < min(order[ht] // 10) and len(ht) == 30
    days = np.datetime64("2024-01-01") + order
    t, ht = parts(time=days)
    assert days[t].max() < days[ht].min() and len(ht) == 24
    a = clone(m).fit(X, X[:, 0], groups=by)
    b = clone(m).fit(X[order], X[order, 0], groups=by[order])
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    c = ours.TableClassifier(random_state=0, **SMALL)
    c.fit(X, y, np.r_[np.zeros(60), np.full(60, 2.)], time=np.arange(120))
    raises("exclude", c.fit, X, y, groups=by, time=by)
    raises("inconsistent numbers", c.fit, X, y, groups=by[1:])
    raises("one group", c.fit, X, y, groups=by * 0)
    raises("no row to train on", c.fit, X, y, time=by * 0)


def check_table_select():
    """The best epoch is by select's figure, a loss being negative."""
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, "yes", "no")
    for select in ("accuracy", "auc", "logloss", "f1", "ap"):
        m = ours.TableClassifier(random_state=0, select=select, **SMALL)
        m.fit(X, y)
        scores = m.history_["validation_score"]
        assert m.best_validation_score_ == max(scores)
        assert (max(scores) < 0) == (select == "logloss")
        hx, ht, _ = m._held_out
        told = m._figure(m._network.predict(hx), ht, None)
        if select != "logloss":
            assert told == m.best_validation_score_
    for select in ("rmse", "mae", "r2"):
        m = ours.TableRegressor(random_state=0, select=select, **SMALL)
        scores = m.fit(X, X[:, 1]).history_["validation_score"]
        assert m.best_validation_score_ == max(scores)
        assert (max(scores) < 0) == (select != "r2")
    plain = ours.TableClassifier(random_state=0, **SMALL).fit(X, y)
    m = clone(plain).set_params(calibrate=True).fit(X, y)
    a, b = (np.log(proba(of)) @ [-1, 1] for of in (plain, m))
    np.testing.assert_allclose(a, b * m.temperature_, rtol=1e-4, atol=1e-4)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        m.save_model(path)
        table = ls.TableModel(path)
    told = table.predict_proba([dict(zip(table.columns, r))
                                for r in X.tolist()])
    np.testing.assert_allclose(proba(m), told, atol=1e-12)
    np.testing.assert_array_equal(proba(pickle.loads(pickle.dumps(m))),
                                  proba(m))
    raises("is for numbers", clone(m).set_params(select="mae").fit, X, y)
    raises("one of", clone(m).set_params(select="best").fit, X, y)
    raises("two classes", clone(m).set_params(select="auc").fit, X,
           TARGETS["three"][1])
    raises("nothing is held out", clone(m).set_params(
        validation_fraction=0).fit, X, y)


def check_habits():
    """Classes, tiny classes and losses that diverge are scikit-learn's."""
    two, three = TARGETS["two"][1], TARGETS["three"][1]
    for of in (theirs.MLPClassifier(max_iter=2), ours.TableClassifier(**SMALL),
               ours.MLPClassifier(max_iter=2)):
        part = clone(of).partial_fit(X, three, classes=[0, 1, 2])
        part.partial_fit(X, two, classes=[2, 1, 0])
        raises("is not the same as on last call to partial_fit",
               part.partial_fit, X, two, classes=[0, 1])
        warm = clone(of).set_params(warm_start=True).fit(X, three)
        for other in two, np.where(three == 2, 3, three):
            raises("has the same classes as in the previous call", warm.fit, X,
                   other)
    for rare in (np.r_[2, three[1:] % 2], np.arange(20) % 3):
        for of in theirs, ours:
            of.MLPClassifier(early_stopping=True, max_iter=2).fit(
                X[:len(rare)], rare)
    for of in theirs, ours:
        raises("only 1 member", of.MLPClassifier(early_stopping=True).fit, X,
               np.r_[1, np.zeros(119, int)])
    wild = dict(solver="sgd", learning_rate_init=1e9, max_iter=9, batch_size=20,
                activation="identity", random_state=0)
    for of in theirs, ours:
        raises("non-finite parameter weights", of.MLPRegressor(**wild).fit,
               X * 1e3, X[:, 0] * 1e9)
        m = of.MLPRegressor(**wild, early_stopping=True).fit(
            X * 1e3, X[:, 0] * 1e9)
        assert np.isnan(m.validation_scores_[-1])
        assert np.isfinite(m.predict(X)).all()


    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raises("y has one class, a", ours.TableClassifier(**SMALL).fit, X,
               ["a"] * 120)


def check_warm_words():
    """A model goes on with the words and means that it began with."""
    y = TARGETS["number"][1]
    words = np.array(["a", "b", "c"], object)[np.arange(120) % 3]
    rows = np.c_[X[:, :2].astype(object), words]
    for of in (ours.TableRegressor(**SMALL), ours.MLPRegressor(max_iter=2)):
        m = clone(of).set_params(warm_start=True, categorical_features=[2],
                                 random_state=0).fit(rows, y)
        few = rows[words != "a"]
        m.fit(few, y[words != "a"])
        assert list(m._columns.words[2]) == ["a", "b", "c"]
        np.testing.assert_array_equal(m._rows(few)[0][:2, 2], [1, 2])


def check_shown():
    """What a notebook asks of an estimator."""
    for of in (ours.MLPClassifier(max_iter=2), ours.TableClassifier(**SMALL),
               ours.TableRegressor(**SMALL)):
        for m in of, clone(of).fit(X, TARGETS["three"][1]):
            assert type(m).__name__ in m._repr_html_() and repr(m)
            told = [n for n in dir(m) if hasattr(m, n)]
            assert "predict" in told
            has = m is not of and isinstance(m, ours.MLPClassifier)
            assert hasattr(m, "coefs_") == hasattr(m, "intercepts_") == has


def write_table(path, when, x, y=None):
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["when", "x"] + ["y"] * (y is not None))
        out.writerows(zip(when, x) if y is None else zip(when, x, y))


def forms_of(day, x):
    """Frames of the same dates."""
    texts = [str(d) for d in day]
    try:
        import pandas
        f = pandas.DataFrame({"when": pandas.to_datetime(texts), "x": x})
        yield f
        for when in (texts, day, list(f.when), f.when.dt.to_period("D"),
                     f.when.astype("M8[ns]"), f.when.dt.tz_localize("UTC")):
            yield f.assign(when=when)
    except ImportError:
        print("skipped: no pandas")
    try:
        import polars
        f = polars.DataFrame({"when": day, "x": x})
        yield f
        yield f.with_columns(polars.col("when").cast(polars.Datetime))
        yield f.with_columns(polars.col("when").cast(polars.Utf8))
    except ImportError:
        print("skipped: no polars")


def check_dates(tools):
    """Dates of every kind are what lockstep-train makes of their texts, and a
    file of either side reads rows of the other."""
    day = [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(260)]
    x = np.round(rng.normal(size=260), 3)
    y = np.array([2. * (d.weekday() < 5) for d in day]) + .1 * x
    options = dict(random_state=0, max_iter=120)
    with tempfile.TemporaryDirectory() as folder:
        train, model, rows = (os.path.join(folder, n) for n in (
            "train.csv", "model.st", "rows.csv"))
        write_table(train, day[:200], x[:200], y[:200])
        write_table(rows, day[200:], x[200:])
        subprocess.run([os.path.join(tools, "lockstep-train"), "table", "--data",
                        train, "--epochs", "120", "--save", model, "--workers",
                        "1"], check=True, capture_output=True)
        command = ls.TableModel(model)
        assert command.columns == ["when", "x"]
        first = None
        for f in forms_of(day, x):
            m = ours.TableRegressor(**options).fit(f[:200], y[:200])
            told = m.predict(f[200:])
            if first is None:
                first = told
                assert m.score(f[200:], y[200:]) > 0.9
                assert np.corrcoef(command.predict(f[200:]), y[200:])[0, 1] > .95
                m.save_model(model)
                out = subprocess.run(
                    [os.path.join(tools, "lockstep-predict"), model, rows],
                    check=True, capture_output=True, text=True).stdout
                np.testing.assert_allclose(
                    [float(v) for v in out.split()[1:]], told, atol=1e-6)
            np.testing.assert_array_equal(told, first)
            np.testing.assert_allclose(ls.TableModel(model).predict(f[200:]),
                                       told, rtol=1e-9)
            parts = ["days", "month", "day", "weekday", "yearday", None]
            assert m._columns.parts == parts, m._columns.parts
            n = ours.MLPRegressor(max_iter=1).fit(f, y)
            assert n._columns.parts == parts
            check_odd_dates(m, f)


def check_odd_dates(m, f):
    """What is no date is refused by its column and row."""
    if hasattr(f, "assign"):
        last = [*(str(d)[:10] for d in f.when[1:]), "soon"]
        raises('column "when": row 260: "soon" is no date', clone(m).fit,
               f.assign(when=last), f.x)
        raises('column "when": row 1: "5" is no date', m.predict,
               f.assign(when=[5] * 260))
        raises('column "when"', clone(m).fit, f.assign(
            when=[datetime.time(1)] * 260), f.x)
        raises('column "when"', clone(m).fit, f.assign(
            when=np.full(260, 1, "m8[s]")), f.x)
        raises('column "x" is datetime64', m.predict, f.assign(x=np.full(
            260, "2024-01-01", "M8[s]")))
        some = f.assign(when=[None if i % 9 else d
                              for i, d in enumerate(f.when)])
        assert np.isfinite(m.predict(some)).all()


def by_source(tools, model, rows):
    """What the C source of a model file makes of rows: outputs of classes, or
    numbers."""
    stem = os.path.splitext(model)[0]
    name = os.path.basename(stem)
    subprocess.run([os.path.join(tools, "lockstep-predict"), model, "--c",
                    stem + ".c"], check=True, capture_output=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-O0", "-o", stem + ".so",
                    stem + ".c"], check=True)
    m = ctypes.CDLL(stem + ".so")
    take, predict, value = (getattr(m, f"{name}_{of}", None) for of in (
        "inputs", "predict", "value"))
    with open(stem + ".h") as f:
        size = {k: int(v) for k, v in re.findall(
            r"#define [A-Z]+_(INPUTS|OUTPUTS|SCRATCH) (\d+)", f.read())}
    x, y, scratch = ((ctypes.c_float * n)() for n in (
        size["INPUTS"], size["OUTPUTS"], size["SCRATCH"] // 4))
    if value:
        value.restype = ctypes.c_double
    told = []
    for row in rows:
        assert take((ctypes.c_double * len(row))(*row), None, x) == 0
        predict(x, y, scratch)
        told.append(value(y) if value else list(y))
    return np.array(told)


def by_command(tools, kind, folds, x, y, folder):
    """A model file of lockstep-train."""
    train, model = (os.path.join(folder, n) for n in ("t.csv", "command.st"))
    with open(train, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["a", "b", "c", "d", "y"])
        out.writerows([*row, t] for row, t in zip(x.tolist(), y.tolist()))
    subprocess.run(
        [os.path.join(tools, "lockstep-train"), "table", "--data", train,
         "--task", kind, "--epochs", "128", "--hidden", "16", "--ensemble",
         "1", "--workers", "1", "--save", model,
         *(["--cv", str(folds)] if folds else [])],
        check=True, capture_output=True)
    return model


def check_ways(tools):
    """One accuracy from the command, the estimators and the C source: of the
    latter the same predictions, of the others as good ones."""
    x = np.round(rng.normal(size=(400, 4)), 3)
    number = np.round(x[:, 0] * 2 + x[:, 1] ** 2, 3)
    for kind, y, of in (
            ("classification", np.digitize(number, [0, 2]),
             ours.TableClassifier),
            ("regression", number, ours.TableRegressor)):
        for folds in (None, 3):
            m = of(random_state=0, cv=folds, max_iter=128, n_ensemble=1,
                   hidden_layer_sizes=(16,)).fit(x[:300], y[:300])
            with tempfile.TemporaryDirectory() as folder:
                own = os.path.join(folder, "own.st")
                m.save_model(own)
                score = [of_source(m, y[300:], by_source(
                    tools, model, x[300:])) for model in (
                        own, by_command(tools, kind, folds, x[:300], y[:300],
                                        folder))]
            assert abs(score[0] - m.score(x[300:], y[300:])) < 1e-6
            assert min(score) > 0.85 and abs(score[0] - score[1]) < 0.06, score


def of_source(m, y, told):
    """Accuracy or R2 as the estimator has it, of outputs."""
    if told.ndim == 2:
        return np.mean(m.classes_[told.argmax(1)] == y)
    return 1 - np.sum((y - told) ** 2) / np.sum((y - y.mean()) ** 2)


def check_guide(path):
    with open(path) as f:
        pieces = re.findall(r"```python sklearn\n(.*?)```", f.read(), re.S)
    assert len(pieces) == 2
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for piece in pieces:
                exec(piece, {})
        finally:
            os.chdir(here)


if __name__ == "__main__":
    check_guide(sys.argv[1])
    check_weights()
    check_bits()
    check_weighting()
    check_lbfgs()
    check_going_on()
    check_habits()
    check_warm_words()
    check_shown()
    check_dates(sys.argv[2])
    if shutil.which("cc"):
        check_ways(sys.argv[2])
    check_holes()
    check_looks()
    check_frames()
    check_searches()
    check_files()
    check_table_bits()
    check_table_courses()
    check_table_weights()
    check_table_files()
    check_table_folds()
    check_table_parts()
    check_table_select()
    check_conventions()
    print("estimators: as scikit-learn", sys.modules["sklearn"].__version__)
