# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's and optax's optimizers over 50 steps, and optax's and PyTorch's
schedules at 1000 points, beside lockstep's."""

import sys

import numpy as np
import torch

import lockstep as ls
from counts import Counts, Refused

try:
    import optax
    import jax
    jax.config.update("jax_enable_x64", False)
except ImportError:
    optax = None

STEPS, SHAPE = 50, (5, 3)


def slopes():
    """Gradients that do not depend on the parameters, of many sizes."""
    rng = np.random.default_rng(0)
    return (rng.normal(size=(STEPS, *SHAPE)) *
            10.0 ** rng.integers(-3, 2, (STEPS, *SHAPE))).astype(np.float32)


def start():
    return np.random.default_rng(1).normal(size=SHAPE).astype(np.float32)


def by_lockstep(optimizer, **options):
    g = ls.Graph()
    x, y = g.input("x", SHAPE[:1]), g.input("y", SHAPE[1:])
    p = ls.dense_with(x, SHAPE[1], "p", no_bias=True)
    g.loss(ls.mean_squared_error(p, y))
    rows = np.zeros((1, SHAPE[0]), np.float32), np.zeros((1, SHAPE[1]),
                                                         np.float32)
    with ls.Trainer(g, optimizer, devices=1, workers=1, pin=False,
                    **options) as t:
        t["p.kernel"] = start()
        hand = ls.Gradients(t)
        for slope in slopes():
            hand.compute(x=rows[0], y=rows[1])
            hand["p.kernel"] = slope
            hand.apply()
        return t["p.kernel"]


def by_torch(make):
    p = torch.nn.Parameter(torch.from_numpy(start()))
    optimizer = make([p])
    for slope in slopes():
        p.grad = torch.from_numpy(slope.copy())
        optimizer.step()
    return p.detach().numpy()


def by_optax(rule):
    p = start()
    state = rule.init(p)
    for slope in slopes():
        updates, state = rule.update(slope, state, p)
        p = np.asarray(optax.apply_updates(p, updates))
    return p


def same(ours, theirs):
    np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)


def of_torch():
    o = torch.optim
    yield "SGD", ls.sgd(0.1), lambda p: o.SGD(p, 0.1)
    yield "SGD l2", ls.sgd(0.1, l2=0.01), \
        lambda p: o.SGD(p, 0.1, weight_decay=0.01)
    yield "momentum", ls.momentum(0.1, 0.9), \
        lambda p: o.SGD(p, 0.1, momentum=0.9)
    yield "nesterov", ls.nesterov(0.1, 0.8), \
        lambda p: o.SGD(p, 0.1, momentum=0.8, nesterov=True)
    yield "Adam", ls.adam(0.01), lambda p: o.Adam(p, 0.01)
    yield "Adam l2", ls.adam(0.01, l2=0.1, b1=0.8, b2=0.95), \
        lambda p: o.Adam(p, 0.01, betas=(0.8, 0.95), weight_decay=0.1)
    yield "Adam amsgrad", None, "lockstep has optax's, which corrects first"
    yield "AdamW", ls.adamw(0.01, weight_decay=0.1), \
        lambda p: o.AdamW(p, 0.01, weight_decay=0.1)
    yield "Adagrad", ls.adagrad(0.1, initial_accumulator=0.1, eps=0), \
        lambda p: o.Adagrad(p, 0.1, initial_accumulator_value=0.1, eps=0)
    yield "RMSprop", ls.rmsprop(0.01, decay=0.9, eps=0), \
        lambda p: o.RMSprop(p, 0.01, alpha=0.9, eps=0)
    for name in ("Adadelta", "Adafactor", "Adamax", "ASGD", "LBFGS", "NAdam",
                 "RAdam", "Rprop", "SparseAdam", "Muon"):
        if hasattr(o, name):
            yield name, None, None


def of_optax():
    traced = {"momentum": optax.sgd(0.01, 0.9),
              "nesterov": optax.sgd(0.01, 0.9, True)}
    ours = ls.c.ls_optimizer_kind.number
    for name in ours:
        if name in traced:
            yield name, getattr(ls, name)(0.01, 0.9), traced[name]
        else:
            yield name, getattr(ls, name)(0.01), getattr(optax, name)(0.01)
    for name in ("adabelief", "adadelta", "adafactor", "adamax", "adan", "lamb",
                 "lars", "nadam", "novograd", "radam", "rprop", "sm3", "yogi"):
        if hasattr(optax, name) and name not in ours:
            yield name, None, None


def schedules():
    """A name, lockstep's, a peer's as a function of updates done, the peak."""
    s = ls.schedule
    yield "constant", s("constant"), lambda i: 0.3
    yield "linear", s("linear", decay_steps=900, end_lr=0.1), \
        optax.linear_schedule(0.3, 0.1, 900)
    yield "cosine", s("cosine", decay_steps=900, end_lr=0.03), \
        optax.cosine_decay_schedule(0.3, 900, 0.1)
    yield "warm-up and cosine", \
        s("cosine", warmup=100, decay_steps=900, end_lr=0.01), \
        optax.warmup_cosine_decay_schedule(0, 0.3, 100, 900, 0.01)
    yield "warm-up and exponential", \
        s("exponential", warmup=50, decay_steps=100, decay_rate=0.5), \
        optax.warmup_exponential_decay_schedule(0, 0.3, 50, 100, 0.5)
    yield "polynomial", s("polynomial", decay_steps=800, end_lr=0.1, power=2), \
        optax.polynomial_schedule(0.3, 0.1, 2, 800)
    yield "piecewise", s("piecewise", boundaries=[(100, 0.5), (500, 0.1)]), \
        optax.piecewise_constant_schedule(0.3, {100: 0.5, 500: 0.1})
    yield "one-cycle", s("one_cycle", decay_steps=900), \
        optax.cosine_onecycle_schedule(900, 0.3)
    yield "linear one-cycle", s("linear_one_cycle", decay_steps=900), \
        optax.linear_onecycle_schedule(900, 0.3)


def torch_schedule(make):
    p = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([p], 0.3)
    schedule, rates = make(optimizer), []
    for _ in range(1000):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return lambda i: rates[i]


def of_torch_schedules():
    t = torch.optim.lr_scheduler
    yield "CosineAnnealingLR", ls.schedule("cosine", decay_steps=1000), \
        torch_schedule(lambda o: t.CosineAnnealingLR(o, 1000))
    yield "ExponentialLR", \
        ls.schedule("exponential", decay_steps=1, decay_rate=0.999), \
        torch_schedule(lambda o: t.ExponentialLR(o, 0.999))
    yield "MultiStepLR", \
        ls.schedule("piecewise", boundaries=[(300, 0.1), (600, 0.1)]), \
        torch_schedule(lambda o: t.MultiStepLR(o, [300, 600], 0.1))
    yield "PolynomialLR", ls.schedule("polynomial", decay_steps=900, power=2), \
        torch_schedule(lambda o: t.PolynomialLR(o, 900, 2))
    yield "CosineAnnealingWarmRestarts", \
        ls.schedule("restarts", decay_steps=100, cycle_factor=2), \
        torch_schedule(lambda o: t.CosineAnnealingWarmRestarts(o, 100, 2))


def refuse(why):
    raise Refused(why)


def take(counts, rules, theirs):
    for name, ours, make in rules:
        counts.take(name, (lambda: refuse(make or "lockstep has no such rule"))
                    if ours is None else
                    (lambda: same(by_lockstep(ours), theirs(make))))
    return counts.close()


def take_schedules(counts, rules):
    for name, ours, theirs in rules:
        counts.take(name, lambda: np.testing.assert_allclose(
            [ours.rate(0.3, i) for i in range(1000)],
            [float(theirs(i)) for i in range(1000)], 2e-5, 1e-7))
    return counts.close()


def main():
    wrong = take(Counts("PyTorch's optimizers, 50 steps"), of_torch(), by_torch)
    wrong += take_schedules(Counts("PyTorch's schedules, 1000 points"),
                            of_torch_schedules())
    if optax:
        wrong += take(Counts("optax's optimizers, 50 steps"), of_optax(),
                      by_optax)
        wrong += take_schedules(Counts("optax's schedules, 1000 points"),
                                schedules())
    return wrong


sys.exit(main() > 0)
