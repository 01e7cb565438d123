# SPDX-License-Identifier: BSD-3-Clause
"""What the columns of a table become: numbers, in which a missing one is the
mean of those trained on, and a 1 among zeros for a word, zeros for one that is
missing or was not trained on.

Frames of pandas, polars and others are known by what they can do: they have
columns, and x[name] is one that np.asarray takes.  Neither is imported.
"""

import numpy as np

_TEXT = ("cat", "enum", "str", "object", "utf8")


def is_frame(x):
    return hasattr(x, "columns") and hasattr(x, "dtypes")


def has_text(x):
    """Has a frame columns that are no numbers?"""
    return any(_is_text(x[name]) or _values(x[name]).dtype.kind == "M"
               for name in x.columns)


def _is_text(column):
    kind = str(getattr(column, "dtype", "")).lower()
    return kind.startswith(_TEXT) and not _all_numbers(column)


def _all_numbers(column):
    """Objects may be numbers, as columns of pandas with a pandas.NA are."""
    if str(column.dtype).lower() != "object":
        return False
    return not any(isinstance(v, str) for v in np.asarray(column))


def _values(column):
    return np.asarray(column)


def _is_missing(v):
    if v is None or type(v).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(v, (float, np.floating)) and v != v


def _numbers(name, column):
    """A column as doubles, NaN where one is missing; times as days."""
    x = _values(column)
    if x.dtype.kind == "M":
        days = x.astype("M8[us]").astype(np.int64) / 86400e6
        return np.where(np.isnat(x), np.nan, days)
    if x.dtype.kind == "O":
        x = [np.nan if _is_missing(v) else v for v in x]
    try:
        return np.asarray(x, np.float64)
    except (TypeError, ValueError) as e:
        raise ValueError(f'column "{name}" is not all numbers, and no column '
                         f"of categories: {e}") from None


class Columns:
    """The columns of what a model was trained on.  categorical: "from_dtype",
    or names, places or a mask of those whose values are words."""

    def __init__(self, x, categorical):
        self.names = list(x.columns) if is_frame(x) else None
        count = len(self.names) if self.names else x.shape[1]
        chosen = self._chosen(categorical, count)
        self.words, self.means = [], []
        for i in range(count):
            name, column = self._column(x, i)
            text = (_is_text(column) if chosen is None and self.names
                    else bool(chosen) and i in chosen)
            self.words.append(_words(column) if text else None)
            self.means.append(None if text else _mean(_numbers(name, column)))

    def _chosen(self, categorical, count):
        if isinstance(categorical, str) and categorical == "from_dtype":
            return None
        given = [] if categorical is None else list(categorical)
        if given and all(isinstance(v, (bool, np.bool_)) for v in given):
            if len(given) != count:
                raise ValueError(f"categorical_features is a mask of "
                                 f"{len(given)} for {count} columns")
            return {i for i, v in enumerate(given) if v}
        for v in given:
            if isinstance(v, str):
                if v not in (self.names or ()):
                    raise ValueError(f'categorical_features names "{v}", '
                                     "which is no column")
            elif not 0 <= v < count:
                raise ValueError(f"categorical_features has {v} of {count} "
                                 "columns")
        return {self.names.index(v) if isinstance(v, str) else int(v)
                for v in given}

    def _column(self, x, i):
        if is_frame(x):
            return x.columns[i], x[x.columns[i]]
        return i, x[:, i]

    @property
    def width(self):
        """How many numbers a row becomes."""
        return sum(1 if w is None else len(w) for w in self.words)

    def rows(self, x):
        """The rows as a model sees them, float32."""
        parts = []
        for i, (words, mean) in enumerate(zip(self.words, self.means)):
            name, column = self._column(x, i)
            if words is None:
                v = _numbers(name, column)
                parts.append(np.where(np.isnan(v), mean, v)[:, None])
            else:
                parts.append(_one_hot(column, words))
        return as_floats(np.concatenate(parts, axis=1))


def _mean(x):
    known = x[np.isfinite(x)]
    return known.mean() if len(known) else 0.0


def _words(column):
    """The words there are, in an order of their own, with their places."""
    found = {v for v in _values(column).tolist() if not _is_missing(v)}
    return {v: i for i, v in enumerate(sorted(found, key=lambda v: (str(v))))}


def _one_hot(column, words):
    y = np.zeros((len(column), len(words)), np.float32)
    for i, v in enumerate(_values(column).tolist()):
        at = None if _is_missing(v) else words.get(v)
        if at is not None:
            y[i, at] = 1
    return y


def as_floats(x):
    """x as float32, C-contiguous."""
    with np.errstate(over="ignore"):
        y = np.ascontiguousarray(x, np.float32)
    if not np.isfinite(y).all():
        raise ValueError("Input X contains infinity or a value too large for "
                         "float32.")
    return y
