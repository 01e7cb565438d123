# SPDX-License-Identifier: BSD-3-Clause
"""What the columns of a table become: numbers, in which a missing one is the
mean (or the median) of those trained on, and a 1 among zeros for a word, zeros
for one that is missing or was not trained on.  Words are texts, in the order
that lockstep-train has them in, as are those of a model file's note.

Frames of pandas, polars and others are known by what they can do: they have
columns, and x[name] is one that np.asarray takes.  Neither is imported.
"""

import re

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
        self.words = []
        for i in range(count):
            column = self._column(x, i)[1]
            text = (_is_text(column) if chosen is None and self.names
                    else bool(chosen) and i in chosen)
            self.words.append(words_of(column) if text else None)

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

    def raw(self, x):
        """(rows, columns) doubles: numbers, or the places of words; NaN where
        one is missing."""
        parts = []
        for i, words in enumerate(self.words):
            name, column = self._column(x, i)
            parts.append(_numbers(name, column) if words is None
                         else _places(column, words))
        return np.stack(parts, axis=1) if parts else np.empty((len(x), 0))

    def measure(self, raw, robust=False):
        """Take from rows what a missing number becomes, and what is taken from
        one and what that is divided by: nothing and 1, or where robust the
        median and the distance of quartiles, as ls_table_data_options has
        it."""
        self.measured = [None if words is not None else
                         _robust(x[~np.isnan(x)]) if robust else
                         (_mean(x), 0, 1)
                         for words, x in zip(self.words, raw.T)]

    def coded(self, raw):
        """The rows as a model sees them, float32."""
        parts = []
        for words, of, x in zip(self.words, self.measured, raw.T):
            if words is None:
                missing, middle, scale = of
                x = np.where(np.isnan(x), missing, x)
                parts.append(((x - middle) / scale)[:, None])
            else:
                parts.append(x[:, None] == np.arange(len(words)))
        return as_floats(np.concatenate(parts, axis=1))


def _mean(x):
    known = x[np.isfinite(x)]
    return known.mean() if len(known) else 0.0


def _robust(x):
    if not len(x):
        return 0.0, 0.0, 1.0
    low, middle, high = np.quantile(x, [.25, .5, .75])
    scale = high - low if high > low else (x.max() - x.min()) / 2
    good = np.isfinite(scale) and scale > 0
    return float(middle), float(middle), float(scale) if good else 1.0


_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I | re.A)


def word_of(v):
    """A value as lockstep-train reads it in a file: 1 and "1.0" are one word."""
    if isinstance(v, str) and _NUMBER.fullmatch(v):
        v = float(v)
    if isinstance(v, (int, float, np.number)) and not isinstance(v, bool):
        v = float(v)
        return f"{v + 0:.0f}" if v % 1 == 0 and abs(v) < 1e15 else repr(v)
    return str(v)


def _order(word):
    """Numbers by their values first, then texts by their bytes."""
    if _NUMBER.fullmatch(word) or word.strip().lower() in ("inf", "-inf"):
        return 0, float(word), word.encode()
    return 1, 0, word.encode()


def words_of(column):
    """The words there are, in order, with their places."""
    found = {word_of(v) for v in _values(column).tolist() if not _is_missing(v)}
    return {v: i for i, v in enumerate(sorted(found or {""}, key=_order))}


def _places(column, words):
    return np.array([np.nan if _is_missing(v) else words.get(word_of(v), np.nan)
                     for v in _values(column).tolist()], np.float64)


def as_floats(x):
    """x as float32, C-contiguous."""
    with np.errstate(over="ignore"):
        y = np.ascontiguousarray(x, np.float32)
    if not np.isfinite(y).all():
        raise ValueError("Input X contains infinity or a value too large for "
                         "float32.")
    return y
