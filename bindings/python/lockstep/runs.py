# SPDX-License-Identifier: BSD-3-Clause
"""Runs that go on, and that others can check: checkpoints and transcripts."""

import ctypes as C
import os
import struct

from . import c
from .nodes import Closing, Error, defaults, do, opened, owned
from .training import Trainer


def _texts(of):
    return [(str(n), str(v)) for n, v in of.items()]


def _settings(texts):
    """The length of a dict of texts, and the C array of it."""
    made = [c.Setting(*x) for x in _texts(texts)]
    return len(made), (c.Setting * max(1, len(made)))(*made)


def controls_of(numbers):
    """The same of a program's own numbers, int or float."""
    try:
        made = [c.Control(name, int.from_bytes(struct.pack(
            "<d" if isinstance(x, float) else "<q", x), "little"))
            for name, x in numbers.items()]
    except struct.error:
        raise TypeError("controls are int of 64 bits and float, and these are "
                        f"{numbers}") from None
    return len(made), (c.Control * max(1, len(made)))(*made)


def _end_checkpoints(of):
    """Waits for the one that is being written."""
    try:
        do.checkpoints_wait(of)
    finally:
        c.ls_checkpoints_close(of)


class _Run(Closing):
    """Something that a trainer's close closes first; what cannot be written
    when nobody closes it is told to nobody."""

    def __init__(self, trainer, of):
        self.trainer, self._of = trainer, of
        trainer.closes_first(self)

    def _end(self):
        try:
            self.close()
        except Error:
            pass


class Checkpoints(_Run):
    """The checkpoints of a run in a folder, the newest `keep` of them.
    settings: texts of the program's own that must be the same to go on, but for
    those of may_change, "lr,boundary *".

        run = ls.Checkpoints(trainer, "run1", settings={"data": "T.csv"})
        run.load()                      # goes on bit for bit, if there is one
        while trainer.steps < 1000:
            loader.step()
            if trainer.steps % 100 == 0:
                run.save()
    """

    _ends = (("_of", _end_checkpoints),)

    def __init__(self, trainer, folder, keep=3, settings=None, may_change=None):
        o = defaults(c.ls_checkpoints_defaults_bytes, c.CheckpointsOptions,
                     folder=folder, keep=keep, may_change=may_change,
                     settings=_texts(settings or {}))
        super().__init__(trainer, opened(do.checkpoints_open,
                                         owned(trainer, Trainer).of, C.byref(o)))

    def save(self, **notes):
        """Have one written; notes, the program's own texts, are kept with it."""
        n, array = _settings(notes)
        do.checkpoints_save(self.of, n, C.byref(array))

    def wait(self):
        """Wait until what was saved is on disk."""
        do.checkpoints_wait(self.of)

    def __len__(self):
        return do.checkpoints_count(self.of)

    def load(self):
        """Go on from the newest that is whole: the updates done then, or None
        where there is none."""
        step = C.c_int64()
        do.checkpoints_load(self.of, C.byref(step))
        return None if step.value < 0 else step.value

    def note(self, name):
        """A note of the one that was loaded, or None."""
        text = c.ls_checkpoints_note(self.of, name)
        return None if text is None else text.decode()

    def changes(self):
        """What is not what it was in the one that was loaded: [(name, is,
        was)]; None: it is not there."""
        found, change = [], c.Change()
        while c.ls_checkpoints_change(self.of, len(found), C.byref(change)):
            found.append(tuple(x if x is None else x.decode() for x in (
                getattr(change, n) for n in ("name", "is", "was"))))
        return found

    @property
    def skipped(self):
        """Why the newest was passed over, or None."""
        text = c.ls_checkpoints_skipped(self.of)
        return None if text is None else text.decode()


class Transcript(_Run):
    """A file of hashes that commits a training to its bits; with compare, one
    to hold a training against, which raises ls.Error with the status
    ls.EDIFFERS where it is another.

        with ls.Transcript(trainer, "run.lst", "my-program 1") as t:
            for _ in range(steps):
                t.step(loader.step())
            t.end()

    settings, texts, and files, paths of what is read, must be the same; controls
    are numbers of the program's own, given again where the state is written.
    begin: with compare, the batches of the state line to begin at.
    """

    _ends = (("_of", lambda of: do.transcript_close(of)),)

    def __init__(self, trainer, path, program, compare=False, settings=None,
                 files=(), controls=None, begin=-1, **options):
        m, numbers = controls_of(controls or {})
        o = defaults(c.ls_transcript_defaults_bytes, c.TranscriptOptions,
                     path=path, compare=compare, program=program,
                     settings=_texts(settings or {}),
                     files=[_file(p) for p in files],
                     **{"from": begin}, **options)
        super().__init__(trainer, opened(
            do.transcript_open, owned(trainer, Trainer).of, C.byref(o), m,
            C.byref(numbers)))

    def step(self, result, batch=None, controls=None):
        """Write the line of a step, and the state's where it is due."""
        result = owned(result, c.Result)
        do.transcript_step(self.of, result.step if batch is None else batch,
                           C.byref(result))
        if c.ls_transcript_is_due(self.of):
            m, numbers = controls_of(controls or {})
            do.transcript_state(self.of, m, C.byref(numbers))

    def event(self, what, **values):
        """Write that something happened which is no step."""
        n, array = _settings(values)
        do.transcript_event(self.of, what, n, C.byref(array))

    def end(self, model=None, controls=None):
        """Write the last lines, with the hash of a model file's bytes."""
        m, numbers = controls_of(controls or {})
        do.transcript_end(self.of, m, C.byref(numbers), model)

    def note(self):
        """The text with which a transcript goes on, Transcript(..,
        resume=text), for a checkpoint's notes."""
        note = C.create_string_buffer(c.TRANSCRIPT_NOTE)
        do.transcript_note(self.of, C.byref(note))
        return note.value.decode()

    @property
    def same(self):
        """Comparing: the batches at the last state that was the same, -1 where
        none was yet."""
        return c.ls_transcript_same(self.of)


def _file(path):
    size, digest = C.c_int64(), C.create_string_buffer(65)
    do.file_digest(path, C.byref(size), C.byref(digest))
    return c.DataFile(os.path.basename(path), size.value, digest.value)
