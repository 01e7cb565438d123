#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What residual networks learn of CIFAR-10: lockstep-train resnet beside
PyTorch by the same recipe (sides/resnet_accuracy.py), several seeds of each.

    bench/images_quality.py --build build --data cifar10-6k --out results.csv

bench/tables makes the table in docs/bench.md from such a file in
bench/results/images.  A row of the CSV is side, depth, seed, updates done,
loss and accuracy of the test set, and processor seconds of the whole run; a
seed that is in the file already is not run again.  One process runs at a time,
of one worker or thread.  Needs PyTorch for its rows."""
import argparse
import csv
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EVALUATION = re.compile(r"step (\d+)  ?loss ([\d.]+)  ?acc(?:uracy)? ([\d.]+)")
RECIPE = ["--batch", "64", "--optimizer", ":l2=5e-4,no-decay",
          "--augment", "flip,crop:4", "--mean", "0.4914,0.4822,0.4465",
          "--std", "0.247,0.2435,0.2616", "--log-every", "0"]


def command(side, seed, o):
    size = ["--depth", str(o.depth), "--epochs", str(o.epochs),
            "--seed", str(seed)]
    if side == "PyTorch":
        return [o.python, "-B", HERE + "/sides/resnet_accuracy.py", o.data,
                *size]
    return [o.build + "/lockstep-train", "resnet", "--data", o.data, *size,
            *RECIPE, "--data-seed", str(7 + seed), "--workers", "1"]


def run(words):
    """-> the evaluations, and the processor time of it all."""
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        found = [m.groups() for line in child.stdout
                 if (m := EVALUATION.search(line))]
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if child.returncode is None:
            child.kill()
    if child.returncode or not found:
        raise SystemExit(f"images_quality: {' '.join(words)} failed")
    return found, usage.ru_utime + usage.ru_stime


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default="build", help="lockstep's programs")
    p.add_argument("--python", default=sys.executable, help="that has PyTorch")
    p.add_argument("--data", required=True, help="folder of CIFAR-10's files")
    p.add_argument("--depth", type=int, default=8)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--seeds", default="0,1,2")
    p.add_argument("--sides", default="lockstep,PyTorch")
    p.add_argument("--out", default="/dev/stdout")
    o = p.parse_args()
    done = set()
    if os.path.isfile(o.out):
        with open(o.out, newline="") as f:
            done = {(r["side"], r["depth"], r["seed"])
                    for r in csv.DictReader(x for x in f if x[0] != "#")}
    with open(o.out, "a", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        if not done:
            writer.writerow(["side", "depth", "seed", "step", "loss",
                             "accuracy", "seconds"])
        for seed in o.seeds.split(","):
            for side in o.sides.split(","):
                if (side, str(o.depth), seed) in done:
                    continue
                found, seconds = run(command(side, int(seed), o))
                writer.writerows([side, o.depth, seed, *x, f"{seconds:.1f}"]
                                 for x in found)
                f.flush()


if __name__ == "__main__":
    main()
