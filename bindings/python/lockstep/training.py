# SPDX-License-Identifier: BSD-3-Clause
"""Trainers, gradients in hand, and how rates and groups are told."""

import ctypes as C
import weakref

import numpy as np

from . import c
from .arrays import check_shape, good, lacking
from .c import Group, Result, Schedule
from .nodes import (DTYPES, Closing, Error, Graph, called, changed, defaults,
                    do, opened, owned, unknown)

# ------ rates and groups ------


def schedule(kind, **members):
    """A learning rate over time, "cosine" for one, as ls_schedule has it; lists
    of boundaries are [(update, factor), ..]."""
    return changed(c.ls_schedule_defaults(called(c.ls_schedule_kind, kind)), members)


def _rate(self, peak, done):
    """The learning rate after so many updates, in the bits of training."""
    lr = C.c_float()
    do.schedule_lr(C.byref(self), peak, done, C.byref(lr))
    return lr.value


Schedule.rate = _rate


class EarlyStop(c.EarlyStop):
    """EarlyStop(patience=5).take(loss) says when to end."""

    def take(self, value):
        """Take the value of an evaluation: is it enough now?"""
        return called(c.ls_early_stop_take, C.byref(self), value)


class Plateau(c.Plateau):
    """With its defaults: take(loss) is what multiplies the rate."""

    def __init__(self, **members):
        start = c.ls_plateau_defaults()
        super().__init__(**{n: getattr(start, n) for n, *_ in self._fields_})
        changed(self, members)

    def take(self, value):
        """Take the value of an evaluation: what multiplies the rate."""
        return called(c.ls_plateau_take, C.byref(self), value)


def group(names, **members):
    """Parameters that a pattern matches: group("head.*", rate=10)."""
    return changed(Group(names, rate=1, decay=1), members)


def frozen(names):
    """Parameters that keep their values."""
    return group(names, frozen=True)


def no_decay():
    """Biases and scales of norms, without weight decay."""
    return c.ls_group_no_decay()


# ------ training ------


class Trainer(Closing):
    """A model with its optimizer, its devices and its workers.

    model: a Graph, or the path of a model file, whose weights it begins with.
    groups: a list of group(..), frozen(..), no_decay().
    Other options are members of ls_trainer_options, by their names.
    """

    _ends = (("_batch", c.ls_batch_close), ("_of", c.ls_trainer_close),
             ("pool", c.ls_pool_close))

    def __init__(self, model, optimizer=None, devices=0, workers=0, axes=None,
                 cpus=None, pin=True, groups=(), **options):
        path = None if isinstance(model, Graph) else model
        graph = model if path is None else Graph(path)
        if optimizer is not None:
            options["optimizer"] = optimizer
        if groups:
            options["groups"] = list(groups)
        o = defaults(c.ls_trainer_defaults_bytes, c.TrainerOptions, **options)
        self._inputs, self._outputs = graph.inputs(), graph.outputs()
        self.dtypes = dict(graph.dtypes)
        self._held, self._users = {}, weakref.WeakSet()
        self._shapes = None
        self._open(graph, o, (devices, workers, axes, cpus, pin))
        if path is not None:
            self.load(path)

    def __repr__(self):
        return ("<Trainer of %d parameters after %d step%s>"
                % (len(self.shapes()), self.steps, "s"[self.steps == 1:])
                if self._of
                else "<Trainer, closed>")

    def _open(self, graph, options, machine):
        devices, workers, axes, cpus, pin = machine
        mesh = opened(do.mesh_open, C.byref(defaults(
            c.ls_mesh_defaults_bytes, c.MeshOptions, devices=devices,
            workers=workers, axes=axes, cpus=cpus, pin=pin)))
        try:
            self.pool = opened(do.pool_open, mesh, C.byref(defaults(
                c.ls_pool_defaults_bytes, c.PoolOptions, no_pin=not pin)))
        finally:
            c.ls_mesh_close(mesh)
        self._of = opened(do.trainer_open, self.pool, graph.of,
                          C.byref(options))
        self._batch = opened(do.batch_open, self.of)

    def close(self):
        """End the workers and free the memory; del does so too.  ls.Error: a
        checkpoint or a transcript that uses it could not be written."""
        failed = None
        for user in list(getattr(self, "_users", ())):
            try:
                user.close()
            except Error as error:
                failed = failed or error
        super().close()
        if failed:
            raise failed

    _end = close

    def closes_first(self, user):
        """Let something that borrows this be closed before it."""
        self._users.add(user)

    def _take(self, call, inputs, weights=None, optional=False):
        """Put the arrays of one call on the batch, which has no others then;
        returns the rows.  They are borrowed, and held until the next ones."""
        self._clear(inputs.keys())
        rows = 0
        for name, x in inputs.items():
            x = good(name, x, self.dtypes.get(name))
            check_shape(name, x, self._inputs.get(name))
            rows = x.shape[0]
            do.batch_set(self._batch, name, DTYPES[x.dtype], x, rows)
            self._held[name] = x
        for name in self._inputs:
            if name not in inputs and not optional:
                raise TypeError(f'{call} lacks the input "{name}"')
        self._weigh(weights, rows)
        return rows

    def _clear(self, names):
        """A batch on which nothing but these names is set."""
        of, held = self.of, self._held.keys()
        self._held = {}
        if held != names:
            c.ls_batch_close(self._batch)
            self._batch = None
            self._batch = opened(do.batch_open, of)

    def _weigh(self, weights, rows):
        if weights is not None:
            weights = good("weights", weights, np.float32)
            check_shape("weights", weights, ())
            rows = len(weights)
        self._weights = weights
        do.batch_set_weights(self._batch, weights, rows)

    def step(self, weights=None, /, **inputs):
        """Train on one batch: an array for each input, rows first."""
        return self._run("step", do.step_bytes, inputs, weights)

    def evaluate(self, weights=None, /, **inputs):
        """The loss and the accuracy of a batch, without an update."""
        return self._run("evaluate", do.evaluate_bytes, inputs, weights)

    def _run(self, name, call, inputs, weights):
        r = Result()
        self._take(name, inputs, weights)
        call(self.of, self._batch, C.byref(r), C.sizeof(r))
        return r

    def row_losses(self, **inputs):
        """The loss of each row, as evaluate has it for that row alone."""
        loss = np.empty(self._take("row_losses", inputs), np.float32)
        do.row_losses(self.of, self._batch, loss.size, loss)
        return loss

    def input_gradient(self, name, weights=None, /, train=False, **inputs):
        """The gradient of the batch's loss by one of its float inputs, with
        dropout as in the next step where train."""
        self._take("input_gradient", inputs, weights)
        if name not in inputs:
            raise unknown("input", name, inputs)
        g = np.empty(self._held[name].shape, np.float32)
        do.input_gradient(self.of, self._batch, train, name, g.size, g)
        return g

    def set_lr(self, lr):
        """The learning rate from the next step on, which the schedule goes
        by."""
        do.trainer_set_lr(self.of, lr)

    def use_average(self, use=True):
        """Put the average of the weights in their place, or back."""
        do.trainer_use_average(self.of, use)

    def place(self, placement):
        """Who updates which parameters: "shard", or "*.kernel=1:model"."""
        do.state_place(self.of, c.STATE_ALL, placement)

    def predict(self, output, **inputs):
        """The value of an output for every row; of inputs, those it depends
        on."""
        rows = self._take("predict", inputs, optional=True)
        if output not in self._outputs:
            raise unknown("output", output, self._outputs)
        y = np.empty((rows, *self._outputs[output]), np.float32)
        with lacking(inputs, self._inputs):
            do.predict(self.of, self._batch, output, y.size, y)
        return y

    @property
    def steps(self):
        """The updates done, which may be set."""
        return c.ls_trainer_step(self.of)

    @steps.setter
    def steps(self, n):
        do.trainer_set_step(self.of, n)

    @property
    def hash(self):
        """SHA-256 of parameters, moments and step."""
        hex_ = C.create_string_buffer(65)
        do.trainer_hash(self.of, hex_)
        return hex_.value.decode()

    def root(self, batches, **controls):
        """One hash over the state, as transcripts have it."""
        from .runs import controls_of
        n, numbers = controls_of(controls)
        hex_ = C.create_string_buffer(65)
        do.trainer_root(self.of, batches, n, C.byref(numbers), C.byref(hex_))
        return hex_.value.decode()

    def shapes(self):
        """The shape of each parameter."""
        if self._shapes is None:
            shape = (C.c_int64 * c.MAX_RANK)()
            self._shapes = {
                c.ls_trainer_param_name(self.of, i).decode():
                tuple(shape[:c.ls_trainer_param_shape(self.of, i, shape)])
                for i in range(c.ls_trainer_params(self.of))}
        return dict(self._shapes)

    def __getitem__(self, name):
        """A copy of a parameter, or of a moment such as mu.NAME."""
        y = np.empty(self._shape(name), np.float32)
        do.trainer_get(self.of, name, y.size, y)
        return y

    def __setitem__(self, name, values):
        y = self._like(name, values)
        do.trainer_set(self.of, name, y.size, y)

    def _shape(self, name):
        shapes = self._shapes or self.shapes()
        of = name if name in shapes else name.partition(".")[2]
        if of not in shapes:
            raise unknown("parameter", name, shapes)
        return shapes[of]

    def _like(self, name, values):
        """Values for a parameter, or one for all of it."""
        shape, y = self._shape(name), good(name, values, np.float32, axes=0)
        try:
            return np.require(np.broadcast_to(y, shape), requirements="CA")
        except ValueError:
            raise ValueError(f"{name} has the shape {shape}, and the values "
                             f"have {y.shape}") from None

    def save(self, path):
        """The weights alone, as safetensors."""
        do.trainer_save(self.of, path)

    def save_model(self, path):
        """A model file: weights and graph."""
        do.trainer_save_model(self.of, path)

    def load(self, path, names=None):
        """Weights from a file; names is a pattern."""
        do.trainer_load(self.of, path, names)


class Gradients(Closing):
    """The gradients of a trainer in hand; batches: how many are added up."""

    _ends = (("_of", c.ls_gradients_close),)

    def __init__(self, trainer, batches=1):
        self.trainer = owned(trainer, Trainer)
        self._of = opened(do.gradients_open, trainer.of, batches)
        trainer.closes_first(self)

    @property
    def of(self):
        """What functions of the library take."""
        return self.trainer.of and super().of

    def compute(self, weights=None, /, **inputs):
        """Those of a batch and their mean, without an update."""
        return self.trainer._run(
            "compute", lambda _, *rest: do.gradients_compute_bytes(self.of, *rest),
            inputs, weights)

    def add(self, weights=None, /, **inputs):
        """Add those of one more batch; mean() then reduces them."""
        self.trainer._take("add", inputs, weights)
        do.gradients_add(self.of, self.trainer._batch)

    def mean(self):
        """The mean of what was added, across ranks too, as these gradients."""
        return self._result(do.gradients_mean_bytes)

    def apply(self):
        """Update the trainer's parameters by the mean."""
        return self._result(do.gradients_apply_bytes)

    def _result(self, call):
        r = Result()
        call(self.of, C.byref(r), C.sizeof(r))
        return r

    def __getitem__(self, name):
        """A copy of the mean gradient of a parameter."""
        g = np.empty(self.trainer._shape(name), np.float32)
        do.gradients_get(self.of, name, g.size, g)
        return g

    def of_device(self, device, name):
        """A copy of one device's own, before the division."""
        g = np.empty(self.trainer._shape(name), np.float32)
        do.gradients_get_device(self.of, device, name, g.size, g)
        return g

    def __setitem__(self, name, values):
        g = self.trainer._like(name, values)
        do.gradients_set(self.of, name, g.size, g)
