# SPDX-License-Identifier: BSD-3-Clause
"""What the estimators of lockstep.sklearn train: dense layers, whose weights
outlive the trainer, in a model file where they are pickled."""

import numbers
import os
import tempfile

import numpy as np

from . import builders as b
from . import c
from .data import archive
from .nodes import Graph, do, opened
from .predicting import Predictor
from .training import Gradients, Trainer, no_decay

ACTIVATIONS = {
    "identity": lambda x: x, "logistic": b.sigmoid, "tanh": b.tanh,
    "relu": b.relu, "gelu": b.gelu, "silu": b.silu, "selu": b.selu,
    "mish": b.mish,
}

# Of each solver what its state consists of, beside the weights.
_MOMENTS = {c.ADAM: ("mu", "nu"), c.ADAMW: ("mu", "nu"), c.MOMENTUM: ("trace",),
            c.NESTEROV: ("trace",), c.SGD: ()}


def _logistic(z, y):
    # -y log s(z) - (1 - y) log(1 - s(z)), summed over a row's outputs.
    return b.sum_over(b.softplus(z) - y * z)


# Of each loss what a network puts out, and the terms of the loss.
LOSSES = {
    "log_loss": (b.softmax, None),
    "logistic": (b.sigmoid, _logistic),
    "squared_error": (lambda z: z,
                      lambda z, y: b.sum_over(b.square(z - y)) * 0.5),
    "poisson": (b.exp, lambda z, y: b.sum_over(b.exp(z) - y * z)),
}


def _graph(inputs, hidden, outputs, activation, loss):
    g = Graph()
    h = g.input("x", (inputs,))
    for i, n in enumerate(hidden):
        h = ACTIVATIONS[activation](b.dense(h, n, f"layer_{i}"))
    z = b.dense(h, outputs, f"layer_{len(hidden)}")
    out, terms = LOSSES[loss]
    g.output(out(z), "y")
    if terms is None:
        g.loss(b.cross_entropy(z, g.input("t", (), np.int32)))
    else:
        g.loss(b.mean_loss(terms(z, g.input("t", (outputs,)))))
    g.start("*.kernel", "glorot-uniform")
    return g


def workers(n_jobs, devices):
    """Threads for n_jobs as joblib counts them where it runs, and no more than
    the cores that this process may use, by control groups too."""
    import joblib

    if n_jobs is not None and not isinstance(n_jobs, numbers.Integral):
        raise ValueError(f"n_jobs is {n_jobs!r}; it is to be a whole number "
                         "or None")
    wanted = joblib.effective_n_jobs(n_jobs)
    if wanted == 1:
        return 1
    mesh = opened(do.mesh_open, None)
    try:
        usable = c.ls_mesh_usable_cores(mesh)
    finally:
        c.ls_mesh_close(mesh)
    return max(1, min(wanted, usable, devices))


class Network:
    """shape: what _graph takes; options: of its Trainer."""

    output, target = "y", "t"

    def __init__(self, shape, seed, optimizer, devices, threads):
        self.shape, self.threads = shape, threads
        self.options = {"seed": seed, "devices": devices}
        self.optimizer, self.state, self.steps = optimizer, {}, 0
        self._trainer = self._predictor = self._file = None

    # ------ training ------

    @property
    def trainer(self):
        """The open trainer; one that rested goes on where it was."""
        if self._trainer is None:
            t = self._open()
            for name, x in self.state.items():
                t[name] = x
            t.steps = self.steps
            self._trainer = t
        return self._trainer

    def _open(self):
        return Trainer(_graph(**self.shape), optimizer=self.optimizer,
                       groups=[no_decay()], pin=False, workers=self.threads,
                       **self.options)

    def names(self, trainer):
        """Of all that a trainer's state consists of."""
        names = list(trainer.shapes())
        return names + [f"{m}.{n}" for m in _MOMENTS[self.optimizer.kind]
                        for n in names]

    def rest(self):
        """Close the trainer, and keep what it would go on with."""
        if self._trainer is not None:
            self._keep(self._trainer)
            self._trainer.close()
            self._trainer = None

    def _keep(self, t):
        self.state = {n: t[n] for n in self.names(t)}
        self.steps = t.steps

    def weights(self):
        """A copy of the parameters."""
        t = self._trainer if self.state else self.trainer
        if t is not None:
            return {n: t[n] for n in t.shapes()}
        return {n: x.copy() for n, x in self.state.items()
                if not self._is_moment(n)}

    def _is_moment(self, name):
        return name.startswith(tuple(
            m + "." for m in _MOMENTS[self.optimizer.kind]))

    def set_weights(self, weights):
        for name, x in weights.items():
            self.trainer[name] = x

    def set_rate(self, rate, before):
        """The learning rate from now on; what a trace of gradients adds to a
        weight stays as it is."""
        t = self.trainer
        t.set_lr(rate)
        for name in self.names(t):
            if name.startswith("trace."):
                t[name] = t[name] * np.float32(before / rate)

    def trained(self):
        """Let predictions have the weights as they are now."""
        if self._predictor is None:
            self._predictor = Predictor(self.trainer)
        else:
            self._predictor.refresh(self.trainer)

    # ------ predicting, files ------

    def predict(self, x):
        if self._predictor is None:
            self._predictor = self._from_file(Predictor)
        return self._predictor.predict(self.output, x=x)

    def _from_file(self, read):
        with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
            path = os.path.join(folder, "model.safetensors")
            with open(path, "wb") as f:
                f.write(self._file)
            return read(path)

    def save_model(self, path):
        resting = self._trainer is None
        self._write(self.trainer, path)
        if resting:
            self._trainer.close()
            self._trainer = None

    def _write(self, trainer, path):
        trainer.save_model(path)

    def __getstate__(self):
        if self._trainer is not None:
            self._keep(self._trainer)
        with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
            path = os.path.join(folder, "model.safetensors")
            self.save_model(path)
            with open(path, "rb") as f:
                file = f.read()
        o = self.optimizer
        return {"file": file, "shape": self.shape, "options": self.options,
                "threads": self.threads, "steps": self.steps,
                "optimizer": {n: getattr(o, n) for n, *_ in o._fields_},
                "moments": {n: x for n, x in self.state.items()
                            if self._is_moment(n)}}

    def __setstate__(self, s):
        self.__init__(s["shape"], s["options"]["seed"],
                      c.Optimizer(**s["optimizer"]), s["options"]["devices"],
                      s["threads"])
        self._file, self.steps = s["file"], s["steps"]
        self.state = {**self._from_file(archive)[0], **s["moments"]}


def search(net, x, t, w, alpha, tol, max_iter, max_fun):
    """Train by SciPy's L-BFGS on all rows at once: gradients have the bits of
    steps, and the search is SciPy's, in doubles.  alpha: the penalty for each
    weight of a kernel.  Returns what SciPy does, with the loss of each
    iteration as `curve`."""
    from scipy.optimize import minimize

    trainer, curve, last = net.trainer, [], [None]
    shapes, hand = trainer.shapes(), Gradients(trainer)
    ends = np.cumsum([np.prod(s) for s in shapes.values()])[:-1]
    penalty = np.concatenate([np.full(np.prod(s), alpha * (len(s) > 1))
                              for s in shapes.values()])

    def put(v):
        for (name, shape), part in zip(shapes.items(), np.split(v, ends)):
            trainer[name] = part.reshape(shape)

    def loss(v):
        put(v)
        r = hand.compute(w, x=x, t=t)
        g = np.concatenate([hand[n].ravel() for n in shapes])
        last[0] = r.loss + 0.5 * np.dot(penalty * v, v)
        return last[0], g + penalty * v

    found = minimize(
        loss, np.concatenate([trainer[n].ravel() for n in shapes]),
        method="L-BFGS-B", jac=True, callback=lambda v: curve.append(last[0]),
        options={"maxiter": max_iter, "maxfun": max_fun, "gtol": tol})
    put(found.x)
    hand.close()
    found.curve = curve
    return found
