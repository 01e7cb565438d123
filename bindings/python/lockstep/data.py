# SPDX-License-Identifier: BSD-3-Clause
"""Rows of data by their numbers, the batches of every step, and models of
tables."""

import ctypes as C
import threading

import numpy as np

from . import c
from .arrays import check_shape, good
from .frames import is_frame, is_missing
from .nodes import (DTYPES, Closing, Error, Owner, called, defaults, do,
                    encoded, near, opened, owned)
from .training import Trainer


class Source(Owner):
    """Rows of arrays in memory, which are not copied where they are float32 or
    int32: arrays by the names of a model's inputs, rows first.  weights: one for
    each row.  dtypes: what others become, by name (Trainer.dtypes for one), if
    whole numbers are not to be int32 and others float32."""

    def __init__(self, arrays=None, weights=None, dtypes=None):
        self.of, self._held = c.Source(), []
        self._dtypes = dtypes or {}
        if arrays is not None:
            made = self._arrays(arrays)
            do.source_arrays(C.byref(self.of), len(made),
                             (c.Array * len(made))(*made))
        self._weigh(weights)

    @classmethod
    def series(cls, arrays, weights=None):
        """Windows of arrays whose rows follow each other in time: by name
        (array, at, length), as ls_source_series has them."""
        self = cls()
        made = [c.Series(a, at, length) for a, (at, length) in zip(
            self._arrays({n: x[0] for n, x in arrays.items()}),
            (x[1:] for x in arrays.values()))]
        do.source_series(C.byref(self.of), len(made),
                         (c.Series * len(made))(*made))
        self._weigh(weights)
        return self

    @classmethod
    def images(cls, path, **options):
        """Images and labels of a file or folder, as ls_source_images has
        them; mean and std are lists, one number a channel."""
        self = cls()
        do.source_images(C.byref(self.of), path, C.byref(defaults(
            c.ls_images_defaults_bytes, c.ImagesOptions,
            **self._normal(options))))
        return self

    def augment(self, seed=0, **options):
        """Have the images changed in each epoch anew, as ls_source_augment has
        it: augment(flip=True, crop=4)."""
        do.source_augment(C.byref(self.of), C.byref(defaults(
            c.ls_augment_defaults_bytes, c.AugmentOptions,
            key=called(c.ls_key_new, seed), **self._normal(options))))
        return self

    @property
    def classes(self):
        """The names of the classes of a folder of pictures, by label, until
        the images are augmented."""
        found = []
        while name := c.ls_images_class(C.byref(self.of), len(found)):
            found.append(name.decode())
        return found

    def _normal(self, options):
        """Options whose mean and std are pointers to numbers."""
        for name in "mean", "std":
            if name in options:
                values = np.atleast_1d(options[name]).astype(np.float64)
                self._held.append(values)
                options[name] = values
                options["channels"] = len(values)
        return options

    def _arrays(self, arrays):
        made = []
        for name, x in arrays.items():
            x = good(name, x, self._dtypes.get(name))
            self._held.append(x)
            made.append(c.Array(name, DTYPES[x.dtype], x.ndim, x.shape, x))
        return made

    def _weigh(self, weights):
        if weights is None:
            return
        weights = good("weights", weights, np.float32)
        check_shape("weights", weights, ())
        self._held.append(weights)
        do.source_weigh(C.byref(self.of), weights, len(weights))

    def __len__(self):
        return self.of.rows

    def _end(self):
        if self.of is not None:
            c.ls_source_close(C.byref(self.of))


class Loader(Closing):
    """The batch of every step, made of a Source (or of the arrays of one) while
    the step before is computed: batch `i % len(loader)` of epoch
    `i // len(loader)`, in a shuffled order of each epoch that follows from seed.
    uneven: "error", "pad" or "cut", as ls_loader_options has it.

        loader = ls.Loader(trainer, {"x": xs, "y": ys}, batch=32, shuffle=True)
        for _ in range(10 * len(loader)):
            r = loader.step()
    """

    _ends = ("_batch", c.ls_batch_close), ("_of", c.ls_loader_close)

    def __init__(self, trainer, source, batch=0, shuffle=False, seed=0,
                 uneven="error", thread=True):
        owned(trainer, Trainer)
        if not isinstance(source, Source):
            source = Source(source, dtypes=trainer.dtypes)
        self.trainer, self._source = trainer, source
        options = defaults(c.ls_loader_defaults_bytes, c.LoaderOptions,
                           batch=batch, shuffle=shuffle, uneven=uneven,
                           key=called(c.ls_key_new, seed), no_thread=not thread)
        self._of = opened(do.loader_open, trainer.of, C.byref(source.of),
                          C.byref(options))
        source.of = c.Source()  # the loader has it now
        self._batch = opened(do.batch_open, trainer.of)
        self._rows = C.c_int64()
        trainer.closes_first(self)

    def __len__(self):
        """The batches of an epoch."""
        return c.ls_loader_batches(self.of)

    @property
    def rows(self):
        """The rows of the last batch, without those that fill it up."""
        return self._rows.value

    def step(self, i=None):
        """Train on batch i, by default that of the trainer's next step."""
        return self._run(do.step_bytes, i)

    def evaluate(self, i=None):
        """The loss and the accuracy of batch i, without an update."""
        return self._run(do.evaluate_bytes, i)

    def _run(self, call, i):
        r = c.Result()
        i = self.trainer.steps if i is None else i
        do.loader_fill(self.of, i, self._batch, C.byref(self._rows))
        call(self.trainer.of, self._batch, C.byref(r), C.sizeof(r))
        return r

    def train(self, first, count):
        """Train on batches first, first + 1, .., `count` of them; returns the
        mean of their losses by weight.  Ctrl-C ends it after the step that
        runs, as it ends a loop of step()."""
        r, loss, weight = c.Result(), 0.0, 0.0
        result, size = C.byref(r), C.sizeof(r)
        of, trainer = self.of, self.trainer.of
        batch, rows = self._batch, C.byref(self._rows)
        fill, step = c.ls_loader_fill, c.ls_step_bytes
        for i in range(first, first + count):
            status = called(fill, of, i, batch, rows)
            if status >= 0:
                status = called(step, trainer, batch, result, size)
            if status < 0:
                raise Error(status)
            if r.weight > 0:
                loss += r.loss * r.weight
                weight += r.weight
        return loss / weight if weight > 0 else float("nan")


def notes(path):
    """The notes of such a file alone."""
    of = opened(do.archive_open, path)
    try:
        return _notes(of)
    finally:
        c.ls_archive_close(of)


def archive(path):
    """What a safetensors file, a model file or a checkpoint holds: its arrays
    of floats by name, and its notes, texts by name."""
    of = opened(do.archive_open, path)
    try:
        return _entries(of), _notes(of)
    finally:
        c.ls_archive_close(of)


def _entries(of):
    arrays, e = {}, c.Entry()
    for i in range(c.ls_archive_entries(of)):
        c.ls_archive_entry_bytes(of, i, C.byref(e), C.sizeof(e))
        if e.dtype in (b"F32", b"F16", b"BF16", b"F64"):
            x = np.empty(tuple(e.shape[:e.rank]), np.float32)
            do.archive_read(of, i, x.size, x)
            arrays[e.name.decode()] = x
    return arrays


def _notes(of):
    notes, name, value = {}, C.c_char_p(), C.c_char_p()
    while c.ls_archive_note(of, len(notes), C.byref(name), C.byref(value)):
        notes[name.value.decode()] = value.value.decode()
    return notes


class TableModel(Owner):
    """A model file of a table (lockstep-train --data T.csv --save FILE), which
    answers rows by the names of its columns, from any thread.

        model = ls.TableModel("houses.safetensors")
        model.predict([{"area": 90, "rooms": 3, "town": "Ulm"}])
    """

    def __init__(self, path, adapters=None):
        self.of = opened(do.table_model_open, path, C.byref(defaults(
            c.ls_table_model_defaults_bytes, c.TableModelOptions,
            adapters=adapters)))
        coding = c.ls_table_model_coding(self.of)
        column, names = c.Column(), []
        while c.ls_coding_column(coding, len(names), C.byref(column)):
            names.append(column.name.decode())
        self.columns = list(dict.fromkeys(names))  # one of dates is several
        c.ls_coding_target(coding, C.byref(column))
        self.target = column.name.decode()
        words = C.cast(column.word or None, C.POINTER(C.c_char_p))
        self.classes = [words[i].decode() for i in range(column.words)]
        self._here = threading.local()

    def _end(self):
        c.ls_table_model_close(self.of)

    def __repr__(self):
        what = f"one of {len(self.classes)} words" if self.classes else "a number"
        return (f'<TableModel of "{self.target}", {what}, by '
                f'{", ".join(self.columns)}>')

    def predict(self, rows):
        """Of each row, a dict of columns (or of all in a frame), the number or
        the word that is most probable: a text, as a file has it, "0" for 0.  A
        number and a date may be texts, too; None is missing."""
        out, best = self._ask(rows)
        if not self.classes:
            return out[:, 0].tolist()
        return [self.classes[i] for i in best]

    def save_onnx(self, path):
        """Write it as an ONNX file that takes the columns as they are."""
        do.table_model_save_onnx(self.of, path)

    def predict_proba(self, rows):
        """(rows, classes) probabilities, in the order of self.classes."""
        if not self.classes:
            raise TypeError(f"{self.target} is a number and has no classes")
        return self._ask(rows)[0]

    def _ask(self, rows):
        names = self.columns
        if is_frame(rows):
            self._has_columns(rows.columns, "the frame")
            rows = [dict(zip(names, row)) for row in zip(
                *(list(rows[name]) for name in names))]
        rows = list(rows)
        out = np.empty((len(rows), max(1, len(self.classes))))
        best = np.empty(len(rows), np.intc)
        if not rows:
            return out, best
        for i, row in enumerate(rows):
            if not hasattr(row, "keys"):
                raise TypeError(f"row {i + 1} is {type(row).__name__}; rows are "
                                "dicts of columns, or a frame")
            self._has_columns(row, f"row {i + 1}")
        cells = [_cell(row[name]) for row in rows for name in names]
        do.table_predict_text(
            self._context(), len(rows), len(names),
            (C.c_char_p * len(names))(*map(encoded, names)),
            (C.c_char_p * len(cells))(*cells), out, best)
        return out, best

    def _has_columns(self, there, what):
        for name in self.columns:
            if name not in there:
                raise KeyError(f'{what} has no column "{name}"; '
                               f"{near(name, there)}")

    def _context(self):
        at = getattr(self._here, "context", None)
        if at is None:
            self._here.context = at = _TableContext(self)
        return at.of


class _TableContext(Owner):
    """One thread's, closed before the model."""

    def __init__(self, model):
        self.model = model.of
        self.of = opened(do.table_context_open, model.of, None)

    def _end(self):
        c.ls_table_context_close(self.of)


def _cell(x):
    """A field as a file has it."""
    return None if is_missing(x) else str(x).encode()
