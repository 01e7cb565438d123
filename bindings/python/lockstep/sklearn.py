# SPDX-License-Identifier: BSD-3-Clause
"""Estimators of scikit-learn (1.6 and later) that lockstep trains.

    from lockstep.sklearn import MLPClassifier

    model = MLPClassifier(random_state=0).fit(X, y)
    model.predict_proba(X)

MLPClassifier and MLPRegressor have the parameters and attributes of
scikit-learn's, and these besides:

    class_weight          a dict of classes, or "balanced"
    categorical_features  "from_dtype": columns of text or categories of a frame
                          (pandas, polars); or names, places or a mask of columns
    n_jobs                threads; the bits are the same for any
    devices               in how many parts a batch is summed: the bits do depend
                          on it, and there are no more threads

and activations gelu, silu, selu and mish.  A NaN in X is the mean of its column.
A column of dates (datetime64, date, Timestamp, Period; or texts, as 2026-11-25
18:30 or with a zone) is the numbers that lockstep-train makes of it, days,
month, weekday and others (docs/tables.md).  A word that fit did not see is none
of the words, without a message.
Numbers are float32.  The rows of fit are put in an order of their own before they
are shuffled, and a weight that is a whole number stands for so many equal rows
where all are: so a fit depends on what rows there are, not on how they came.
partial_fit with early_stopping holds out rows of its first call, and does nothing
more once n_iter_no_change calls have brought nothing.
n_iter_ counts the epochs of the last fit, and each partial_fit after it.
loss_curve_ is the loss without the penalty of alpha; history_ has it with
learning rates and scores.  With the solver lbfgs the search is SciPy's, in
doubles, over gradients of lockstep's: its bits are as SciPy's are.

TableClassifier and TableRegressor are RealMLP (Holzmueller et al. 2024), as
lockstep-train table trains it: docs/tables.md.  Their parameters:

    recipe                "td", or "td-s", which has less
    n_ensemble            networks side by side, whose mean is predicted; None:
                          4 where fewer than 1,000 rows are trained on, else 1
    hidden_layer_sizes    of the dense layers
    dropout, learning_rate_init   None: the recipe's
    batch_size, max_iter  256 rows, 256 epochs, over which the rate makes its
                          course; each partial_fit is an epoch of it, the first
                          one says of how many rows
    validation_fraction   what is held out, so that the best epoch counts, the
                          last of several; 0: the last epoch counts
    n_iter_no_change      epochs without a better one that end a training; None:
                          none do, nor where nothing is held out; auto: 20, and
                          100 updates at least.  partial_fit then does nothing more,
                          and the best weights are there
    select                accuracy, auc, logloss, f1, ap, or of numbers rmse, mae,
                          r2: what chooses the best epoch; None: accuracy, of
                          numbers r2.  Scores of a loss are its negative; for
                          auc, ap and logloss labels are not smoothed
    calibrate             logits are divided by temperature_, which is fitted on
                          the rows held out; done for select="logloss", too
    cv                    a number of folds, or what cross_validate takes: a
                          model is trained without each, and the mean of these
                          estimators_ is predicted and saved; fold_scores_ says
                          how good each is on its fold.  Folds go by the order of
                          the rows
    warm_start            fit begins with the weights that are there; what
                          columns mean stays as it was, here as above

and class_weight, categorical_features, random_state, verbose, n_jobs and devices
as above.  fit(X, y, groups=g) holds out whole groups, fit(X, y, time=t) the
latest rows.  A NaN in X is the median of its column.  save_model's file is one that
lockstep.TableModel and lockstep-predict answer rows by.
"""

import warnings

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import (check_classification_targets,
                                      type_of_target)
from sklearn.utils.validation import column_or_1d

from .mlp import MLP, set_parameters, takes_parts
from .realmlp import Table

__all__ = ["MLPClassifier", "MLPRegressor", "TableClassifier",
           "TableRegressor"]


class _Classifier(ClassifierMixin):
    """What tells classes."""

    _numeric = False

    def _targets(self, y, new):
        """y as numbers; what the classes are, where the training is new."""
        check_classification_targets(y)
        self._is(y, new)
        if self._multilabel:
            return np.asarray(y.toarray() if hasattr(y, "toarray") else y,
                              np.float32)
        y = column_or_1d(y, warn=True)
        there = np.unique(y)
        if not (new or not self.warm_start or
                np.array_equal(there, self.classes_)):
            raise ValueError("warm_start can only be used where `y` has the "
                             "same classes as in the previous call to fit. "
                             f"Previously got {self.classes_}, `y` has {there}")
        unknown = np.setdiff1d(there, self.classes_)
        if len(unknown):
            raise ValueError(f"`y` has classes not in `self.classes_`. "
                             f"`self.classes_` has {self.classes_}. 'y' has "
                             f"{unknown}.")
        t = np.searchsorted(self.classes_, y).astype(np.int32)
        if self._loss() == "logistic":
            return t.astype(np.float32)[:, None]
        return t

    def _is(self, y, new):
        multilabel = type_of_target(y) == "multilabel-indicator"
        if not new:
            if multilabel != self._multilabel:
                raise ValueError("y has another kind of target than the model "
                                 "was trained on")
            return
        self._multilabel = multilabel
        if multilabel:
            self.classes_ = np.arange(y.shape[1])
        elif self._announced is not None:
            self.classes_ = np.unique(self._announced)
        else:
            self.classes_ = np.unique(column_or_1d(y))
        self.n_outputs_ = len(self.classes_) if (
            multilabel or len(self.classes_) > 2) else 1

    _announced = None

    def fit(self, X, y, sample_weight=None):
        """Train on rows X of the classes y; returns the model."""
        return self._fit(X, y, sample_weight, False)

    @available_if(takes_parts)
    def partial_fit(self, X, y, sample_weight=None, classes=None):
        """Train on each of these rows once; the first call must say which
        classes there are."""
        if not hasattr(self, "_network"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to "
                                 "partial_fit.")
            self._announced = classes
        elif classes is not None and not np.array_equal(np.unique(classes),
                                                        self.classes_):
            raise ValueError(f"`classes={classes}` is not the same as on last "
                             "call to partial_fit, was: "
                             f"{self.classes_}")
        try:
            return self._fit(X, y, sample_weight, True)
        finally:
            self.__dict__.pop("_announced", None)

    def predict(self, X):
        """The classes of rows."""
        p = self._outputs(X)
        if self._multilabel:
            return (p > 0.5).astype(int)
        if p.shape[1] == 1:
            at = (p[:, 0] > 0.5).astype(int)
            return self.classes_[np.minimum(at, len(self.classes_) - 1)]
        return self.classes_[p.argmax(1)]

    def predict_proba(self, X):
        """(rows, classes), in the order of classes_."""
        p = self._outputs(X)
        if self._multilabel:
            return p
        if len(self.classes_) == 1:
            return np.ones_like(p)
        if p.shape[1] == 1:
            return np.hstack([1 - p, p])
        return p / p.sum(1, keepdims=True)

    def predict_log_proba(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _score_of(self, p, t, w):
        if t.ndim == 1:
            right = p.argmax(1) == t
        else:
            right = ((p > 0.5) == (t > 0.5)).all(1)
        return float(np.average(right, weights=w))


class MLPClassifier(_Classifier, MLP):
    """Dense layers that tell classes.  help(lockstep.sklearn) has what differs
    from scikit-learn's MLPClassifier; parameters are as there."""

    def __init__(self, hidden_layer_sizes=(100,), activation="relu", *,
                 solver="adam", alpha=0.0001, batch_size="auto",
                 learning_rate="constant", learning_rate_init=0.001,
                 power_t=0.5, max_iter=200, shuffle=True, random_state=None,
                 tol=1e-4, verbose=False, warm_start=False, momentum=0.9,
                 nesterovs_momentum=True, early_stopping=False,
                 validation_fraction=0.1, beta_1=0.9, beta_2=0.999,
                 epsilon=1e-8, n_iter_no_change=10, max_fun=15000,
                 class_weight=None, categorical_features="from_dtype",
                 n_jobs=None, devices=8):
        set_parameters(self, locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _loss(self):
        multi = self._multilabel or len(self.classes_) <= 2
        return "logistic" if multi else "log_loss"


class _Regressor(RegressorMixin):
    """What tells numbers."""

    _numeric = True

    def _targets(self, y, new):
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        with np.errstate(over="ignore"):
            t = np.asarray(y, np.float32).reshape(len(y), -1)
        if not np.isfinite(t).all():
            raise ValueError("y has a value too large for float32")
        if self._loss() == "poisson" and (t < 0).any():
            raise ValueError("poisson wants numbers from 0 on in y")
        if new:
            self.n_outputs_ = t.shape[1]
        elif t.shape[1] != self.n_outputs_:
            raise ValueError(f"y has {t.shape[1]} numbers a row, and had "
                             f"{self.n_outputs_}")
        return t

    def fit(self, X, y, sample_weight=None):
        """Train on rows X of the numbers y; returns the model."""
        return self._fit(X, y, sample_weight, False)

    @available_if(takes_parts)
    def partial_fit(self, X, y, sample_weight=None):
        """Train on each of these rows once."""
        return self._fit(X, y, sample_weight, True)

    def predict(self, X):
        """The numbers of rows."""
        y = self._outputs(X)
        return y[:, 0] if self.n_outputs_ == 1 else y

    def _score_of(self, p, t, w):
        rest = np.average((t - p) ** 2, axis=0, weights=w)
        mean = np.average(t, axis=0, weights=w)
        whole = np.average((t - mean) ** 2, axis=0, weights=w)
        good = np.where(whole > 0, 1 - rest / np.where(whole > 0, whole, 1),
                        (rest == 0).astype(float))
        return float(good.mean())


class MLPRegressor(_Regressor, MLP):
    """Dense layers that tell numbers, one or several a row.
    help(lockstep.sklearn) has what differs from scikit-learn's MLPRegressor;
    parameters are as there."""

    def __init__(self, loss="squared_error", hidden_layer_sizes=(100,),
                 activation="relu", *, solver="adam", alpha=0.0001,
                 batch_size="auto", learning_rate="constant",
                 learning_rate_init=0.001, power_t=0.5, max_iter=200,
                 shuffle=True, random_state=None, tol=1e-4, verbose=False,
                 warm_start=False, momentum=0.9, nesterovs_momentum=True,
                 early_stopping=False, validation_fraction=0.1, beta_1=0.9,
                 beta_2=0.999, epsilon=1e-8, n_iter_no_change=10,
                 max_fun=15000, categorical_features="from_dtype",
                 n_jobs=None, devices=8):
        set_parameters(self, locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_parameters(self):
        super()._check_parameters()
        if self.loss not in ("squared_error", "poisson"):
            raise ValueError(f"loss is {self.loss!r}; it is to be "
                             "squared_error or poisson")

    def _loss(self):
        return self.loss

    def _loss_scale(self):
        return 1 / self.n_outputs_


class TableClassifier(_Classifier, Table):
    """RealMLP, whose defaults are strong, for classes: help(lockstep.sklearn)
    has its parameters."""

    def __init__(self, recipe="td", *, n_ensemble=None,
                 hidden_layer_sizes=(256, 256, 256), dropout=None,
                 learning_rate_init=None, batch_size=256, max_iter=256,
                 validation_fraction=0.2, n_iter_no_change="auto",
                 select=None, calibrate=False, cv=None, class_weight=None,
                 categorical_features="from_dtype",
                 warm_start=False, random_state=None, verbose=False,
                 n_jobs=None, devices=8):
        set_parameters(self, locals())

    fit = Table.fit

    def _loss(self):
        return "log_loss"

    def _is(self, y, new):
        if type_of_target(y) == "multilabel-indicator":
            raise ValueError("y has several labels a row, and TableClassifier "
                             "tells one")
        super()._is(y, new)
        self.n_outputs_ = len(self.classes_)
        if new and self.n_outputs_ == 1:
            warnings.warn(f"y has one class, {self.classes_[0]}, which is all "
                          "that the model will tell")


class TableRegressor(_Regressor, Table):
    """RealMLP, whose defaults are strong, for a number:
    help(lockstep.sklearn) has its parameters."""

    def __init__(self, recipe="td", *, n_ensemble=None,
                 hidden_layer_sizes=(256, 256, 256), dropout=None,
                 learning_rate_init=None, batch_size=256, max_iter=256,
                 validation_fraction=0.2, n_iter_no_change="auto", select=None,
                 cv=None, categorical_features="from_dtype", warm_start=False,
                 random_state=None, verbose=False, n_jobs=None, devices=8):
        set_parameters(self, locals())

    fit = Table.fit

    def _loss(self):
        return "squared_error"
