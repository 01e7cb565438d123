# SPDX-License-Identifier: BSD-3-Clause
"""What all peers share: the options that bench/run gives them, the loop, and the
metrics file, which has the form that lockstep-train writes."""
import argparse
import json
import time

import numpy as np


def options(*modes, **more):
    """Those of every side, and its own with what they are by default."""
    p = argparse.ArgumentParser()
    p.add_argument("--mode", choices=modes, default=modes[0] if modes else None)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--init", help="safetensors file of lockstep-train")
    p.add_argument("--metrics", default="/dev/stdout")
    for name, absent in more.items():
        p.add_argument("--" + name.replace("_", "-"), type=type(absent),
                       default=absent)
    return p.parse_args()


def run(step, batches, path, versions, **head):
    """Call step(*batch) -> loss as a float for each batch.  Timed from the batch
    on the host to the loss as a Python number, on the wall's clock and on the
    processors'; making the batch is not.  `head` goes into the first line."""
    with open(path, "w") as f:
        print(json.dumps({"versions": versions, **head}), file=f)
        for s, batch in enumerate(batches):
            start, used = time.perf_counter(), time.process_time()
            loss = step(*batch)
            line = {"step": s, "loss": loss,
                    "ms": 1e3 * (time.perf_counter() - start),
                    "cpu_ms": 1e3 * (time.process_time() - used)}
            print(json.dumps(line), file=f)


def blocks(call, o, versions):
    """The same of a call that is short: "ms" is its mean in a block of a
    twentieth of a second, "loss" the first number that it gives."""
    with open(o.metrics, "w") as f:
        print(json.dumps({"versions": versions}), file=f)
        for s in range(o.steps):
            start, calls, spent = time.perf_counter(), 0, 0
            while spent < 0.05:
                y = call()
                calls += 1
                spent = time.perf_counter() - start
            print(json.dumps({"step": s, "loss": float(y.reshape(-1)[0]),
                              "ms": 1e3 * spent / calls}), file=f)


def draw(seed, scale, *shape):
    """What draw() of bench/training.h draws."""
    i = np.arange(np.prod(shape), dtype=np.int64)
    x = ((i * 7919 + seed * 104729) % 20011 - 10005).astype(np.float32)
    return (x * (np.float32(scale) / np.float32(10006))).reshape(shape)
