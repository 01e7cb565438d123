#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write schedules.h and schedules.txt: what test_schedule.c and test_clip.c
expect.

    make_schedules.py schedules.txt > schedules.h

Made with jax 0.10.2, optax 0.2.8, numpy 2.4.6 on an x86-64 CPU with FMA:
pip install jax==0.10.2 optax==0.2.8 numpy==2.4.6.

The schedules are called as optax defines them, on an int32 count and outside
jit.  Within jit XLA folds constants and contracts products, and optax's own
numbers move: by an ulp mostly, by more where a sum cancels.
"""
import sys
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
import optax

from number_file import show

COUNT = 120


def then(warmup, peak, schedule):
    """a warm-up from 0, and the schedule from its end"""
    return optax.join_schedules(
        [optax.linear_schedule(0.0, peak, warmup), schedule], [warmup])


def absolute(warmup, boundaries):
    """boundaries from the first update as join_schedules wants them"""
    return {b - warmup: f for b, f in boundaries.items()}


def restarts(warmup, length, peak, end, factor=1, scale=1.0, each=False):
    """sgdr_schedule of enough cycles, only the first of them, or each, with a
    warm-up"""
    cycles, at = [], 0
    while at < COUNT:
        w = warmup if each or not cycles else 0
        top = peak * scale ** len(cycles)
        steps = w + (length - warmup) * factor ** len(cycles)
        cycles.append(dict(init_value=0.0 if w else top, peak_value=top,
                           warmup_steps=w, decay_steps=steps, end_value=end))
        at += steps
    return optax.sgdr_schedule(cycles)


STEPS = {10: 0.1, 20: 0.3, 75: 0.7}
# ls_schedule's fields and peak, and optax's schedule.
CASES = [
    ("LS_CONSTANT, 0, 0, 0, 0, 3e-4", optax.constant_schedule(3e-4)),
    ("LS_CONSTANT, 10, 0, 0, 0, 0.1",
     optax.warmup_constant_schedule(0.0, 0.1, 10)),
    ("LS_LINEAR, 0, 37, 0, 1e-5, 3e-4", optax.linear_schedule(3e-4, 1e-5, 37)),
    ("LS_LINEAR, 0, 100, 0, 0, 0.1", optax.linear_schedule(0.1, 0.0, 100)),
    ("LS_LINEAR, 0, 1000, 0, 0.3, 1e-3",
     optax.linear_schedule(1e-3, 0.3, 1000)),
    ("LS_LINEAR, 13, 97, 0, 1e-5, 3e-4",
     then(13, 3e-4, optax.linear_schedule(3e-4, 1e-5, 97 - 13))),
    ("LS_COSINE, 0, 50, 0, 0, 3e-4", optax.cosine_decay_schedule(3e-4, 50)),
    ("LS_COSINE, 0, 1000, 0, 0, 1", optax.cosine_decay_schedule(1.0, 1000)),
    ("LS_COSINE, 0, 37, 0, 0.01, 0.1",
     optax.cosine_decay_schedule(0.1, 37, 0.01 / 0.1)),
    ("LS_COSINE, 10, 100, 0, 1e-5, 1e-3",
     optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100, 1e-5)),
    ("LS_COSINE, 1, 61, 0, 0, 3e-4",
     optax.warmup_cosine_decay_schedule(0.0, 3e-4, 1, 61, 0.0)),
    ("LS_EXPONENTIAL, 0, 10, 0.96, 0, 3e-4",
     optax.exponential_decay(3e-4, 10, 0.96)),
    ("LS_EXPONENTIAL, 0, 7, 0.5, 0.01, 0.1",
     optax.exponential_decay(0.1, 7, 0.5, end_value=0.01)),
    ("LS_EXPONENTIAL, 0, 33, 1.05, 0.0011, 1e-3",
     optax.exponential_decay(1e-3, 33, 1.05, end_value=0.0011)),
    ("LS_EXPONENTIAL, 17, 40, 0.1, 0, 0.1",
     optax.warmup_exponential_decay_schedule(0.0, 0.1, 17, 40, 0.1)),
    ("LS_PIECEWISE, 0, 0, 0, 0, 0.1",
     optax.piecewise_constant_schedule(0.1, STEPS)),
    ("LS_PIECEWISE, 9, 0, 0, 0, 3e-4",
     then(9, 3e-4, optax.piecewise_constant_schedule(
         3e-4, absolute(9, STEPS)))),
    ("LS_POLYNOMIAL, 0, 100, 0, 0, 0.1, 2.0",
     optax.polynomial_schedule(0.1, 0.0, 2.0, 100)),
    ("LS_POLYNOMIAL, 0, 37, 0, 1e-5, 3e-4, 0.5",
     optax.polynomial_schedule(3e-4, 1e-5, 0.5, 37)),
    ("LS_POLYNOMIAL, 7, 90, 0, 0.3, 1e-3, 3.7",
     then(7, 1e-3, optax.polynomial_schedule(1e-3, 0.3, 3.7, 90 - 7))),
    ("LS_POLYNOMIAL, 0, 110, 0, 0.01, 0.1, 1.0",
     optax.polynomial_schedule(0.1, 0.01, 1, 110)),
    ("LS_RESTARTS, 0, 30, 0, 0, 0.1, 0, 1, 1", restarts(0, 30, 0.1, 0.0)),
    ("LS_RESTARTS, 5, 20, 0, 1e-5, 1e-3, 0, 2, 1",
     restarts(5, 20, 1e-3, 1e-5, 2)),
    ("LS_RESTARTS, 0, 7, 0, 1e-4, 0.1, 0, 1, 0.8",
     restarts(0, 7, 0.1, 1e-4, 1, 0.8)),
    ("LS_RESTARTS, 3, 12, 0, 0, 3e-4, 0, 3, 0.5",
     restarts(3, 12, 3e-4, 0.0, 3, 0.5)),
    ("LS_ONE_CYCLE, 0, 100, 0, 0, 0.1, 0, 0, 0, 0.3, 25, 1e4",
     optax.cosine_onecycle_schedule(100, 0.1)),
    ("LS_ONE_CYCLE, 0, 61, 0, 0, 3e-4, 0, 0, 0, 0.45, 10, 100",
     optax.cosine_onecycle_schedule(61, 3e-4, 0.45, 10.0, 100.0)),
    ("LS_ONE_CYCLE, 0, 50, 0, 0, 1e-3, 0, 0, 0, 0, 4, 1",
     optax.cosine_onecycle_schedule(50, 1e-3, 0.0, 4.0, 1.0)),
    ("LS_LINEAR_ONE_CYCLE, 0, 100, 0, 0, 0.1, 0, 0, 0, 0.3, 25, 1e4, 0.85",
     optax.linear_onecycle_schedule(100, 0.1)),
    ("LS_LINEAR_ONE_CYCLE, 0, 61, 0, 0, 3e-4, 0, 0, 0, 0.45, 10, 100, 0.7",
     optax.linear_onecycle_schedule(61, 3e-4, 0.45, 0.7, 10.0, 100.0)),
    ("LS_LINEAR_ONE_CYCLE, 0, 50, 0, 0, 1e-3, 0, 0, 0, 0, 4, 1, 0.5",
     optax.linear_onecycle_schedule(50, 1e-3, 0.0, 0.5, 4.0, 1.0)),
    ("LS_WARM_RESTARTS, 5, 20, 0, 1e-5, 1e-3, 0, 2, 1",
     restarts(5, 20, 1e-3, 1e-5, 2, each=True)),
    ("LS_WARM_RESTARTS, 3, 12, 0, 0, 3e-4, 0, 1, 0.8",
     restarts(3, 12, 3e-4, 0.0, 1, 0.8, each=True)),
    ("LS_WARM_RESTARTS, 4, 9, 0, 1e-3, 0.1, 0, 3, 0.5",
     restarts(4, 9, 0.1, 1e-3, 3, 0.5, each=True)),
]

numbers = open(sys.argv[1], "w")
print(f"# Made by make_schedules.py with jax {jax.__version__}, optax "
      f"{version('optax')}, numpy {np.__version__}; not\n# edited by hand.\n"
      f"# lr/CASE: the learning rates after 0, 1, .. updates.", file=numbers)
print(f"""/* Made by make_schedules.py with jax {jax.__version__}, \
optax {version("optax")},
 * numpy {np.__version__}; not edited by hand. */
#ifndef GOLDEN_SCHEDULES_H
#define GOLDEN_SCHEDULES_H

#include "lockstep.h"

// clang-format off

/* Boundaries of the piecewise cases. */
static const ls_boundary golden_boundary[] = {{
    {", ".join("{%d, %r}" % i for i in STEPS.items())}
}};

static const struct {{
    ls_schedule_kind kind;
    int64_t warmup, decay_steps;
    double decay_rate, end_lr, peak;
    double power;
    int64_t cycle_factor;
    double restart_factor, pct_start, div_factor, final_div_factor, pct_final;
}} golden_schedule[] = {{""")
for i, (fields, schedule) in enumerate(CASES):
    show(f"lr/{i}", [np.float32(schedule(jnp.int32(c))) for c in range(COUNT)],
         numbers)
    fields += ", 0" * (12 - fields.count(","))
    print("    {%s}," % fields)
print("};\n\n// clang-format on\n\n#endif")

# Gradients of two parameters whose squares are exact in float and add up
# without rounding, so that the norm is the same in any order of additions.
grads = [np.array([i % 7 - 3 for i in range(20)], np.float32) / 4,
         np.array([i % 5 - 2 for i in range(30)], np.float32) / 8]
norm = np.float32(np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in grads)))
print("""# clip/CASE: optax.clip_by_global_norm of 20 elements (i % 7 - 3) / 4 and 30
# elements (i % 5 - 2) / 8, whose squares add up without rounding; then one
# update of sgd(0.5) from zeros.""", file=numbers)
show("norm", [norm], numbers)
for i, limit in enumerate((0.3, 1.7, float(norm),
                           float(np.nextafter(norm, np.float32(9))), 100.0)):
    rule = optax.chain(optax.clip_by_global_norm(limit), optax.sgd(0.5))
    zeros = [jnp.zeros_like(g) for g in grads]

    @jax.jit
    def update(params, grads):
        updates, _ = rule.update(grads, rule.init(params), params)
        return optax.apply_updates(params, updates)

    values = np.concatenate([np.asarray(v) for v in update(
        zeros, [jnp.asarray(g) for g in grads])])
    show(f"clip/{i}", values.astype(np.float32), numbers)
print("""# clip-value/CASE: optax.clip of the same, by itself and in the last behind the
# norm's; then the same update.""", file=numbers)
for i, (limit, most) in enumerate(((0, 0.3), (0, 0.25), (0, 1e-3), (0, 2.0),
                                   (1.7, 0.2))):
    chain = [optax.clip_by_global_norm(limit)] if limit else []
    rule = optax.chain(*chain, optax.clip(most), optax.sgd(0.5))
    updates, _ = jax.jit(rule.update)([jnp.asarray(g) for g in grads],
                                      rule.init(zeros), zeros)
    values = np.concatenate([np.asarray(u) for u in updates])
    show(f"clip-value/{i}", values.astype(np.float32), numbers)
numbers.close()
