# SPDX-License-Identifier: BSD-3-Clause
"""What the columns of a table become: numbers, in which a missing one is the
mean (or the median) of those trained on; a 1 among zeros for a word, zeros for
one that is missing or was not trained on; and dates several numbers.  Words and
dates are texts, as lockstep-train reads them in a file, and so is what a model
file's note says of them.

Frames of pandas, polars and others are known by what they can do: they have
columns, and x[name] is one that np.asarray takes.  Neither is imported.
"""

import ctypes as C
import datetime
import numbers
import re
import warnings

import numpy as np

from . import c

_TEXT = ("cat", "enum", "str", "object", "utf8")

# The numbers of a date.
_PARTS = [name for name, _ in c.Date._fields_]


def is_frame(x):
    return hasattr(x, "columns") and hasattr(x, "dtypes")


def has_text(x):
    """Has a frame columns that are no numbers, or an array dates?"""
    if is_frame(x):
        return any(_is_text(x[n]) or _is_other(x[n]) for n in x.columns)
    x = np.asarray(x) if hasattr(x, "dtype") else np.empty(0)
    return x.dtype.kind == "M" or x.dtype.kind == "O" and any(
        isinstance(v, datetime.date) for v in x.ravel())


def _kind(column):
    return str(getattr(column, "dtype", "")).lower()


def _is_text(column):
    return _kind(column).startswith(_TEXT) and not _all_numbers(column)


def _all_numbers(column):
    """Objects may be numbers, as columns of pandas with a pandas.NA are."""
    return _kind(column) == "object" and not any(
        isinstance(v, str) for v in np.asarray(column))


def _values(column):
    """Dates with a zone as objects, which know it."""
    kind = getattr(column, "dtype", None)
    if getattr(kind, "tz", None) or getattr(kind, "time_zone", None):
        return np.array(list(column), object)
    return np.asarray(column)


def _is_other(column):
    """Dates, or what is neither number nor text."""
    x = _values(column)
    return x.dtype.kind in "mM" or x.dtype.kind == "O" and not all(
        isinstance(v, (str, numbers.Number, np.bool_)) or is_missing(v)
        for v in x)


def is_missing(v):
    if v is None or v is np.ma.masked or type(v).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(v, (float, np.floating)) and v != v


def _numbers(name, column):
    """A column as doubles, NaN where one is missing."""
    x = _values(column)
    if x.dtype.kind == "O":
        x = [np.nan if is_missing(v) else v for v in x]
    elif x.dtype.kind in "mM":
        raise ValueError(f'column "{name}" is {x.dtype} and no numbers')
    try:
        return np.asarray(x, np.float64)
    except (TypeError, ValueError) as e:
        raise ValueError(f'column "{name}" is not all numbers, and no column '
                         f"of categories: {e}") from None


def _texts(column):
    """Values as a file has them; None: missing."""
    x = _values(column)
    if x.dtype.kind == "M":
        return np.where(np.isnat(x), None, x.astype("M8[us]").astype(str))
    return [None if is_missing(v) else word_of(v) for v in x.tolist()]


def _date_of(text):
    """The numbers of a date; None: it is none."""
    date = c.Date()
    if not (text.isascii() and text.isprintable() and
            c.ls_date_read(C.byref(date), text)):
        return None
    return [getattr(date, part) for part in _PARTS]


def _dates(name, column, of_dates):
    """(rows, numbers) of a column, NaN where one is missing.  A value that is no
    date is refused where most are dates, or it is of_dates; else None."""
    texts = _texts(column)
    of = {t: _date_of(t) for t in set(texts) if t is not None}
    other = [i for i, t in enumerate(texts) if t is not None and not of[t]]
    if not of_dates and 2 * len(other) >= sum(t is not None for t in texts):
        return None
    if other:
        raise ValueError(f'column "{name}": row {other[0] + 1}: '
                         f'"{texts[other[0]]}" is no date, as 2026-11-25 is')
    of[None] = [np.nan] * len(_PARTS)
    return np.array([of[t] for t in texts], np.float64).reshape(
        -1, len(_PARTS))


class Columns:
    """The columns of what a model was trained on.  categorical: "from_dtype",
    or names, places or a mask of those whose values are words."""

    def __init__(self, x, categorical):
        self.names = list(x.columns) if is_frame(x) else None
        count = len(self.names) if self.names else x.shape[1]
        chosen = self._chosen(categorical, count)
        self.places, self.words, self.parts = [], [], []
        for i in range(count):
            name, column = self._column(x, i)
            text = (_is_text(column) and bool(self.names) if chosen is None
                    else i in chosen)
            for part in self._parts_of(name, column, chosen and i in chosen):
                words = words_of(column) if text and not part else None
                self.places.append(i)
                self.words.append(words)
                self.parts.append(part)
                if words and not chosen and not _kind(column).startswith(
                        ("cat", "enum")):
                    _tell_looks(name, words)

    def _parts_of(self, name, column, of_words):
        """Of dates the numbers in which rows differ, the days in any case; of
        anything else None alone."""
        text = _is_text(column)
        if (of_words or _kind(column).startswith(("cat", "enum", "time")) or
                not (text or _is_other(column))):
            return [None]
        dates = _dates(name, column, not text)
        if dates is None:
            return [None]
        known = dates[~np.isnan(dates[:, 0])]
        return [part for part, one in zip(_PARTS, (known != known[:1]).any(0).T)
                if one or part == "days"]

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
        return self.names[i] if self.names else i, x[:, i]

    @property
    def width(self):
        """How many numbers a row becomes."""
        return sum(1 if w is None else len(w) for w in self.words)

    def raw(self, x):
        """(rows, columns) doubles: numbers, or the places of words; NaN where
        one is missing."""
        parts, dates = [], {}
        for i, words, part in zip(self.places, self.words, self.parts):
            name, column = self._column(x, i)
            if part:
                if i not in dates:
                    dates[i] = _dates(name, column, True)
                parts.append(dates[i][:, _PARTS.index(part)])
            else:
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
    if isinstance(v, str):
        text = re.sub("^[\u2212\u2013\uff0d]", "-", v)  # minus, dash
        if not _NUMBER.fullmatch(text):
            return v
        if text.lstrip("+-").isdecimal() and float(text) != int(text):
            return v
        v = float(text)
    if isinstance(v, (int, float, np.number)) and not isinstance(v, bool):
        if isinstance(v, numbers.Integral) and float(v) != int(v):
            return str(v)
        v = float(v)
        return f"{v + 0:.0f}" if v % 1 == 0 and abs(v) < 1e15 else repr(v)
    return str(v)


# "5", "1,000", "(12)", "$5", "CHF 5", "5 kg", and no "Q1" or "18-25".
_LOOKS = re.compile(r"\(?([^\w\s]{1,3}|[A-Z]{3})?\s?[-+]?\d[\d.,'_\s]*\D{0,12}")


def _tell_looks(name, words):
    """A column of words most of which look like numbers."""
    looks = [w for w in words if _LOOKS.fullmatch(w)]
    if 2 * len(looks) > len(words):
        warnings.warn(f'column "{name}" is of words, and "{looks[0]}" looks like '
                      "a number; x.astype(float) makes numbers where nothing "
                      "stands around them, x.astype(\"category\") means words")


def _order(word):
    """Numbers by their values first, then texts by their bytes."""
    if _NUMBER.fullmatch(word) or word.strip().lower() in ("inf", "-inf"):
        return 0, float(word), word.encode()
    return 1, 0, word.encode()


def words_of(column):
    """The words there are, in order, with their places."""
    found = {word_of(v) for v in _values(column).tolist() if not is_missing(v)}
    return {v: i for i, v in enumerate(sorted(found or {""}, key=_order))}


def _places(column, words):
    return np.array([np.nan if is_missing(v) else words.get(word_of(v), np.nan)
                     for v in _values(column).tolist()], np.float64)


def as_floats(x):
    """x as float32, C-contiguous."""
    with np.errstate(over="ignore"):
        y = np.ascontiguousarray(x, np.float32)
    if not np.isfinite(y).all():
        raise ValueError("Input X contains infinity or a value too large for "
                         "float32.")
    return y
