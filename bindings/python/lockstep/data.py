# SPDX-License-Identifier: BSD-3-Clause
"""Rows of data by their numbers, the batches of every step, and models of
tables."""

import ctypes as C
import threading

import numpy as np

from . import c
from .arrays import look, shared
from .nodes import Alone, Error, called, defaults, do, encoded, opened


class Source(Alone):
    """Rows of arrays in memory, which are not copied: arrays by the names of a
    model's inputs, rows first.  weights: one for each row."""

    def __init__(self, arrays=None, weights=None):
        self.of, self._held = c.Source(), []
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
            key=c.ls_key_new(seed), **self._normal(options))))
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
                options[name] = values.ctypes.data
                options["channels"] = len(values)
        return options

    def _arrays(self, arrays):
        made = []
        for name, x in arrays.items():
            x = shared(x)
            dtype, data = look(name, x)
            self._held.append(x)
            made.append(c.Array(name, dtype, x.ndim, x.shape, data))
        return made

    def _weigh(self, weights):
        if weights is None:
            return
        weights = shared(weights)
        if look("weights", weights)[0] != c.F32 or weights.ndim != 1:
            raise TypeError("weights are float32, one for each row")
        self._held.append(weights)
        do.source_weigh(C.byref(self.of), weights.ctypes.data, len(weights))

    def __len__(self):
        return self.of.rows

    def __del__(self):
        if hasattr(self, "of"):
            c.ls_source_close(C.byref(self.of))


class Loader(Alone):
    """The batch of every step, made of a Source (or of the arrays of one) while
    the step before is computed: batch `i % len(loader)` of epoch
    `i // len(loader)`, in a shuffled order of each epoch that follows from seed.
    uneven: "error", "pad" or "cut", as ls_loader_options has it.

        loader = ls.Loader(trainer, {"x": xs, "y": ys}, batch=32, shuffle=True)
        for _ in range(10 * len(loader)):
            r = loader.step()
    """

    def __init__(self, trainer, source, batch=0, shuffle=False, seed=0,
                 uneven="error", thread=True):
        source = source if isinstance(source, Source) else Source(source)
        self.trainer, self._source = trainer, source
        options = defaults(c.ls_loader_defaults_bytes, c.LoaderOptions,
                           batch=batch, shuffle=shuffle, uneven=uneven,
                           key=c.ls_key_new(seed), no_thread=not thread)
        self._of = opened(do.loader_open, trainer.of, C.byref(source.of),
                          C.byref(options))
        source.of = c.Source()  # the loader has it now
        self._batch = opened(do.batch_open, trainer.of)
        self._rows = C.c_int64()
        trainer.closes_first(self)

    @property
    def of(self):
        """What functions of the library take."""
        if not self._of:
            raise ValueError("the loader is closed")
        return self._of

    def close(self):
        """End the thread and let the arrays go; del and the trainer's close do
        so too."""
        for name, end in ("_batch", c.ls_batch_close), ("_of", c.ls_loader_close):
            if getattr(self, name, None):
                end(getattr(self, name))
                setattr(self, name, None)

    __del__ = close

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
            do.archive_read(of, i, x.size, x.ctypes.data)
            arrays[e.name.decode()] = x
    return arrays


def _notes(of):
    notes, name, value = {}, C.c_char_p(), C.c_char_p()
    while c.ls_archive_note(of, len(notes), C.byref(name), C.byref(value)):
        notes[name.value.decode()] = value.value.decode()
    return notes


class TableModel(Alone):
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
        column, self.columns = c.Column(), []
        while c.ls_coding_column(coding, len(self.columns), C.byref(column)):
            self.columns.append(column.name.decode())
        c.ls_coding_target(coding, C.byref(column))
        self.target = column.name.decode()
        words = C.cast(column.word or None, C.POINTER(C.c_char_p))
        self.classes = [words[i].decode() for i in range(column.words)]
        self._here = threading.local()

    def __del__(self):
        if getattr(self, "of", None):
            c.ls_table_model_close(self.of)

    def predict(self, rows):
        """Of each row, a dict of columns, the number or the word that is most
        probable.  A number may be a text, as in a file; None is missing."""
        out, best = self._ask(rows)
        if not self.classes:
            return out[:, 0].tolist()
        return [self.classes[i] for i in best]

    def predict_proba(self, rows):
        """(rows, classes) probabilities, in the order of self.classes."""
        if not self.classes:
            raise TypeError(f"{self.target} is a number and has no classes")
        return self._ask(rows)[0]

    def _ask(self, rows):
        rows, names = list(rows), self.columns
        out = np.empty((len(rows), max(1, len(self.classes))))
        best = np.empty(len(rows), np.intc)
        if not rows:
            return out, best
        for i, row in enumerate(rows):
            for name in names:
                if name not in row:
                    raise KeyError(f'row {i + 1} has no column "{name}"')
        cells = [_cell(row[name]) for row in rows for name in names]
        do.table_predict_text(
            self._context(), len(rows), len(names),
            (C.c_char_p * len(names))(*map(encoded, names)),
            (C.c_char_p * len(cells))(*cells), out.ctypes.data,
            best.ctypes.data)
        return out, best

    def _context(self):
        at = getattr(self._here, "context", None)
        if at is None:
            self._here.context = at = _TableContext(self)
        return at.of


class _TableContext:
    """One thread's, closed before the model."""

    def __init__(self, model):
        self.model = model.of
        self.of = opened(do.table_context_open, model.of, None)

    def __del__(self):
        if getattr(self, "of", None):
            c.ls_table_context_close(self.of)


def _cell(x):
    """A field as a file has it."""
    if x is None or x != x:
        return None
    return str(x).encode()
