# SPDX-License-Identifier: BSD-3-Clause
"""The loop that all peers share, and the metrics file, which has the form that
lockstep-train writes."""
import json
import time


def timed(step, batches, path, versions, **head):
    """Call step(*batch) -> loss as a float for each batch, and yield its number
    and loss.  Timed from the batch on the host to the loss as a Python number,
    on the wall's clock and on the processors'; making the batch is not.  `head`
    goes into the first line."""
    with open(path, "w") as f:
        print(json.dumps({"versions": versions, **head}), file=f)
        for s, batch in enumerate(batches):
            start, used = time.perf_counter(), time.process_time()
            loss = step(*batch)
            line = {"step": s, "loss": loss,
                    "ms": 1e3 * (time.perf_counter() - start),
                    "cpu_ms": 1e3 * (time.process_time() - used)}
            print(json.dumps(line), file=f)
            yield s, loss


def run(step, batches, path, versions, **head):
    for _ in timed(step, batches, path, versions, **head):
        pass
