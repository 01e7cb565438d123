# SPDX-License-Identifier: BSD-3-Clause
"""What the estimators of lockstep.sklearn have in common: what they are given,
and how they train."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.validation import (_check_feature_names,
                                      _check_n_features, _check_sample_weight,
                                      check_array, check_consistent_length,
                                      check_is_fitted, validate_data)

from . import builders, c, frames, network
from .arrays import unmasked
from .data import Loader, Source
from .nodes import Error


def is_whole(v):
    return isinstance(v, (int, np.integer)) and v >= 1


# Of each parameter what it may be, in words and as a function.
_MAY_BE = [
    ("activation", "one of " + ", ".join(network.ACTIVATIONS),
     lambda v: v in network.ACTIVATIONS),
    ("solver", "adam, sgd or lbfgs", lambda v: v in ("adam", "sgd", "lbfgs")),
    ("learning_rate", "constant, invscaling or adaptive",
     lambda v: v in ("constant", "invscaling", "adaptive")),
    ("batch_size", "auto or a whole number from 1",
     lambda v: v == "auto" or is_whole(v)),
    ("learning_rate_init", "above 0", lambda v: v > 0),
    ("alpha", "0 or above", lambda v: v >= 0),
    ("momentum", "from 0 to 1", lambda v: 0 <= v <= 1),
    ("beta_1", "from 0 to below 1", lambda v: 0 <= v < 1),
    ("beta_2", "from 0 to below 1", lambda v: 0 <= v < 1),
    ("epsilon", "above 0", lambda v: v > 0),
    ("power_t", "0 or above", lambda v: v >= 0),
    ("max_iter", "a whole number from 1", is_whole),
    ("devices", "a whole number from 1", is_whole),
    ("max_fun", "a whole number from 1", is_whole),
    ("n_iter_no_change", "from 1", lambda v: v >= 1),
    ("validation_fraction", "between 0 and 1", lambda v: 0 < v < 1),
]

# Weights that are whole numbers become rows while there are no more than this
# many times the rows given.
_MOST_REPEATS = 8


def takes_parts(estimator):
    """Is there a partial_fit?"""
    if estimator.solver == "lbfgs":
        raise AttributeError("partial_fit is only available for stochastic "
                             "optimizers. lbfgs is not stochastic.")
    return True


def _row_order(*arrays):
    """An order of rows that depends on what they are, not on where they
    stand."""
    key = np.zeros(len(arrays[0]), np.uint64)
    rng = np.random.RandomState(0)
    for a in arrays:
        bits = np.ascontiguousarray(a.reshape(len(a), -1)).view(
            np.uint32).astype(np.uint64)
        bits ^= bits >> np.uint64(15)
        odd = rng.randint(2 ** 62, size=bits.shape[1]).astype(np.uint64) * 2 + 1
        mixed = bits * odd.astype(np.uint64)
        key += (mixed ^ (mixed >> np.uint64(29))).sum(1, dtype=np.uint64)
    return np.argsort(key, kind="stable")


class MLP(BaseEstimator):
    _MAY_BE, _uneven = _MAY_BE, "pad"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # ------ what is given ------

    def _check_parameters(self):
        for name, words, good in self._MAY_BE:
            value = getattr(self, name)
            try:
                fine = good(value)
            except TypeError:
                fine = False
            if not fine:
                raise ValueError(f"{name} is {value!r}; it is to be {words}")
        hidden = self._hidden()
        if not all(is_whole(n) for n in hidden):
            raise ValueError(f"hidden_layer_sizes must be > 0, got {hidden}.")

    def _hidden(self):
        sizes = self.hidden_layer_sizes
        return [int(n) if is_whole(n) else n
                for n in (sizes if hasattr(sizes, "__iter__") else [sizes])]

    def _by_position(self):
        by = self.categorical_features
        return not (by is None or isinstance(by, str) and by == "from_dtype"
                    or hasattr(by, "__len__") and len(by) == 0)

    def _rows(self, X, y=None, reset=False):
        """X as numbers and places of words, and y checked, where it is to
        be."""
        unmasked("X", X), unmasked("y", y)
        asked = {} if y is None else {
            "multi_output": True, "y_numeric": self._numeric}
        if frames.has_text(X) or self._by_position():
            X, y = self._mixed(X, y, reset)
        else:
            checked = validate_data(
                self, X, *(() if y is None else (y,)), reset=reset,
                accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32),
                ensure_all_finite="allow-nan", **asked)
            X, y = checked if y is not None else (checked, None)
            if hasattr(X, "toarray"):
                X = X.toarray()
            if np.isinf(X).any():
                raise ValueError("Input X contains infinity or a value too "
                                 "large for float64.")
        if reset:
            self._columns = frames.Columns(X, self.categorical_features)
        return self._columns.raw(X), y

    def _mixed(self, X, y, reset):
        if not frames.is_frame(X):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        _check_feature_names(self, X, reset=reset)
        _check_n_features(self, X, reset=reset)
        if y is not None:
            check_consistent_length(X, y)
            y = check_array(y, ensure_2d=False, dtype=(
                "numeric" if self._numeric else None), input_name="y")
        return X, y

    def _weights(self, X, y, sample_weight):
        """The weights of rows, or None where all are 1."""
        w = None
        if sample_weight is not None:
            w = _check_sample_weight(unmasked("sample_weight", sample_weight),
                                     X, dtype=np.float64,
                                     ensure_non_negative=True)
        if getattr(self, "class_weight", None) is not None:
            of_class = compute_sample_weight(self.class_weight, y)
            w = of_class if w is None else w * of_class
        if w is not None and not w.sum() > 0:
            raise ValueError("all of the weights are 0")
        return w

    def _order(self, x, t, w):
        """The places of rows by what they are, whole weights being rows, and
        their weights; None for weights that are all 1."""
        rows = np.arange(len(x))
        if w is not None:
            rows, w = rows[w > 0], w[w > 0]
            if (w == np.floor(w)).all() and w.sum() <= _MOST_REPEATS * len(w):
                rows, w = rows.repeat(w.astype(np.intp)), None
        if self.shuffle:
            order = _row_order(*(a for a in (x[rows], t[rows], w)
                                 if a is not None))
            rows, w = rows[order], None if w is None else w[order]
        return rows, w

    def _in_order(self, x, t, w):
        rows, w = self._order(x, t, w)
        return x[rows], t[rows], w

    # ------ training ------

    def _begin(self, x, t, rows, weight):
        """Everything that a new training begins with."""
        self._begin_counts()
        self._network = network.Network(
            self._shape(x, t), self._seed, self._optimizer(rows, weight),
            int(self.devices), network.workers(self.n_jobs, self.devices))
        if self.early_stopping:
            self._best = self._network.weights()

    def _begin_counts(self):
        rng = check_random_state(self.random_state)
        self._seed = int(rng.randint(2 ** 31 - 1))
        self.n_layers_ = len(self._hidden()) + 2
        self.n_iter_ = self.t_ = self._no_improvement = 0
        self._batches, self._rate, self._held_out = 0, None, None
        self.loss_, self.best_loss_ = None, np.inf
        self.best_validation_score_ = -np.inf if self.early_stopping else None
        self._best = None
        self.history_ = {"loss": [], "learning_rate": []}
        if self.early_stopping:
            self.history_["validation_score"] = []
            self.best_loss_ = None

    def _shape(self, x, t):
        return {"inputs": x.shape[1], "hidden": self._hidden(),
                "outputs": self.n_outputs_, "activation": self.activation,
                "loss": self._loss()}

    def _batch(self, rows):
        if self.batch_size == "auto":
            return min(200, rows)
        if self.batch_size > rows:
            warnings.warn("Got `batch_size` less than 1 or larger than "
                          "sample size. It is going to be clipped")
        return min(int(self.batch_size), rows)

    def _optimizer(self, rows, weight):
        """alpha is a penalty on the sum of a batch's losses."""
        l2 = self.alpha / (self._batch(rows) * weight)
        rate = self.learning_rate_init
        if self.solver == "adam":
            return builders.adam(rate, b1=self.beta_1, b2=self.beta_2,
                                 eps=self.epsilon, l2=l2)
        if self.momentum == 0 or self.solver == "lbfgs":
            return builders.sgd(rate, l2=l2)
        rule = (builders.nesterov if self.nesterovs_momentum
                else builders.momentum)
        return rule(rate, self.momentum, l2=l2)

    def _split(self, x, t, w):
        """The rows to train on, and those that are held out."""
        if not self.early_stopping or self.solver == "lbfgs":
            return (x, t, w), None
        train, held = self._parts(x, t, w)
        if len(held[0]) < 2:
            raise ValueError("The validation set is too small. Increase "
                             "'validation_fraction' or the size of your "
                             "dataset.")
        return train, held

    def _parts(self, x, t, w):
        """Rows to train on and others, with a part of each class among them
        where the classes have rows enough."""
        rows = [a for a in (x, t, w) if a is not None]
        how = {"random_state": self._seed,
               "test_size": self.validation_fraction}
        one_class = not self._numeric and (self.n_outputs_ == 1 or t.ndim == 1)
        try:
            parts = train_test_split(*rows, **how,
                                     stratify=t if one_class else None)
        except ValueError:
            if self._loss() == "logistic":  # as scikit-learn refuses it
                raise
            parts = train_test_split(*rows, **how)
        return (*parts[::2], None)[:3], (*parts[1::2], None)[:3]

    def _is_new(self, y, incremental):
        """Check what is given; does a new training begin?"""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires "
                             "y to be passed, but the target y is None.")
        self._check_parameters()
        return not hasattr(self, "_network") or not (
            incremental or self.warm_start)

    def _fit(self, X, y, sample_weight, incremental):
        new = self._is_new(y, incremental)
        x, y = self._rows(X, y, reset=new)
        if new:
            self._columns.measure(x)
        x = self._columns.coded(x)
        t = self._targets(y, new)
        w = self._weights(x, y, sample_weight)
        x, t, w = self._in_order(x, t, w)
        weight = 1 if w is None else w.mean()
        if new:
            self._begin(x, t, len(x), weight)
        if not incremental:
            self.n_iter_ = 0
        train = x, t, w
        if not incremental or self._held_out is None:
            train, self._held_out = self._split(x, t, w)
        if w is not None:
            train = (*train[:2], (train[2] / weight).astype(np.float32))
        if self.solver == "lbfgs":
            self._search(train, weight)
        else:
            self._train(train, 1 if incremental else self.max_iter,
                        incremental)
        if not incremental and not self.warm_start:
            self._network.rest()
        return self

    def _train(self, rows, epochs, incremental):
        x, t, w = (a if a is None else np.ascontiguousarray(a) for a in rows)
        if incremental and self._is_over():
            return
        trainer = self._network.trainer
        source = Source({"x": x, self._network.target: t}, w)
        loader = Loader(trainer, source, thread=False,
                        batch=self._batch(len(x)), shuffle=self.shuffle,
                        uneven=self._uneven, seed=self._seed)
        try:
            for epoch in range(epochs):
                self._epoch(loader, len(x))
                if self._stops():
                    break
            else:
                if not incremental:
                    self._tell_unfinished()
        except KeyboardInterrupt:
            warnings.warn("Training interrupted by user.")
        except Error as e:
            self._diverged(e)
        finally:
            loader.close()
        self._end(incremental)

    def _diverged(self, error):
        """The best weights there were are good, as scikit-learn has it."""
        if error.status != c.ENONFINITE:
            raise error
        if self._best is None:
            raise ValueError(
                "Solver produced non-finite parameter weights. The input data "
                "may contain large values and need to be preprocessed. "
                f"({error})") from None
        warnings.warn("Training ended early, and the best weights so far are "
                      f"taken: {error}", ConvergenceWarning)
        self.history_["validation_score"].append(np.nan)
        self.n_iter_ += 1
        self._network.set_weights(self._best)

    def _tell_unfinished(self):
        warnings.warn("Stochastic Optimizer: Maximum iterations "
                      f"({self.max_iter}) reached and the optimization hasn't "
                      "converged yet.", ConvergenceWarning)

    def _search(self, rows, weight):
        x, t, w = (a if a is None else np.ascontiguousarray(a) for a in rows)
        try:
            found = network.search(
                self._network, x, t, w, self.alpha / (len(x) * weight),
                self.tol, self.max_iter, self.max_fun)
        except Error as e:
            return self._diverged(e)
        self.n_iter_ += min(found.nit, self.max_iter)
        self.t_ += len(x)
        scale = self._loss_scale()
        self.history_["loss"] += [v * scale for v in found.curve]
        self.loss_ = self.best_loss_ = found.fun * scale
        if found.status == 1:
            warnings.warn(f"lbfgs ended before it converged: {found.message}",
                          ConvergenceWarning)
        self._network.trained()

    def _epoch(self, loader, rows):
        n = len(loader)
        loss = loader.train(self._batches, n) * self._loss_scale()
        self._batches += n
        self.n_iter_ += 1
        self.t_ += rows
        self.loss_ = loss
        self.history_["loss"].append(loss)
        self.history_["learning_rate"].append(self._rate_now())
        if self.verbose:
            print(f"Iteration {self.n_iter_}, loss = {loss:.8f}")
        if self.early_stopping:
            self._judge(self._validate(), self.best_validation_score_, 1)
        else:
            self._judge(loss, self.best_loss_, -1)
        if self.solver == "sgd" and self.learning_rate == "invscaling":
            self._set_rate(self.learning_rate_init /
                           (self.t_ + 1) ** self.power_t)

    def _rate_now(self):
        return self._rate or self.learning_rate_init

    def _set_rate(self, rate):
        """The momentum that is under way keeps its pace, as scikit-learn has
        it."""
        self._network.set_rate(rate, self._rate or self.learning_rate_init)
        self._rate = rate

    def _judge(self, value, best, sign):
        """Count the epochs that brought nothing; keep the best weights."""
        if sign * value < sign * best + self.tol:
            self._no_improvement += 1
        else:
            self._no_improvement = 0
        if sign * value > sign * best:
            if self.early_stopping:
                self.best_validation_score_ = value
                self._best = self._network.weights()
            else:
                self.best_loss_ = value

    def _validate(self):
        x, t, w = self._held_out
        self._network.trained()
        score = self._figure(self._network.predict(x), t, w)
        self.history_["validation_score"].append(score)
        if self.verbose:
            print(f"Validation score: {score:f}")
        return score

    def _figure(self, p, t, w):
        return self._score_of(p, t, w)

    def _is_over(self):
        return (self.early_stopping and
                self._no_improvement >= self.n_iter_no_change)

    def _stops(self):
        if self._no_improvement <= self.n_iter_no_change:
            return False
        if (self.solver == "sgd" and self.learning_rate == "adaptive"
                and not self.early_stopping):
            rate = self._rate or self.learning_rate_init
            if rate > 1e-6:
                self._set_rate(rate / 5)
                self._no_improvement = 0
                return False
        return True

    def _end(self, incremental):
        if self._best is not None and (not incremental or self._is_over()):
            self._network.set_weights(self._best)
        self._network.trained()

    def _loss_scale(self):
        return 1

    # ------ what is there then ------

    def _outputs(self, X):
        check_is_fitted(self, "_network")
        x, _ = self._rows(X)
        return self._network.predict(
            self._columns.coded(x)).astype(np.float64)

    def save_model(self, path):
        """Write a model file, which lockstep.Predictor, and programs in C,
        open: rows as float32, columns as X's, words as 1 among zeros."""
        check_is_fitted(self, "_network")
        self._network.save_model(path)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_network")

    coefs_ = property(
        lambda self: self._parameters("kernel"),
        lambda self, given: self._set_parameters("kernel", given),
        doc="Copies of the kernels, layer by layer; set as a whole.")
    intercepts_ = property(
        lambda self: self._parameters("bias"),
        lambda self, given: self._set_parameters("bias", given),
        doc="The same of the biases.")

    def _parameters(self, kind):
        if not hasattr(self, "_network"):
            raise AttributeError("the model was not fitted yet")
        w = self._network.weights()
        w = tuple(w[f"layer_{i}.{kind}"] for i in range(self.n_layers_ - 1))
        for x in w:
            x.flags.writeable = False
        return w

    def _set_parameters(self, kind, given):
        shapes = [x.shape for x in self._parameters(kind)]
        if [np.shape(x) for x in given] != shapes:
            raise ValueError(f"these are not of the shapes {shapes}")
        self._network.set_weights({f"layer_{i}.{kind}": x
                                   for i, x in enumerate(given)})
        self._network.trained()
        self._network.rest()

    @property
    def loss_curve_(self):
        return self._history("loss")

    @property
    def validation_scores_(self):
        return self._history("validation_score")

    def _history(self, name):
        if not hasattr(self, "history_"):
            raise AttributeError("the model was not fitted yet")
        return self.history_.get(name)

    @property
    def out_activation_(self):
        return {"log_loss": "softmax", "logistic": "logistic",
                "poisson": "exp"}.get(self._loss(), "identity")


def set_parameters(estimator, given):
    """The parameters of a constructor, as attributes."""
    for name in estimator._get_param_names():
        setattr(estimator, name, given[name])
