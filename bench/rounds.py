# SPDX-License-Identifier: BSD-3-Clause
"""The raw rounds of bench/run as CSV: a line a round of a side, below lines
that begin with # and say where and how it was measured."""
import csv
import datetime
import io
import json
import os
import platform
import shlex
import statistics
import sys

from rows import against, found

NUMBERS = {"least_ms": "min", "median_ms": "median", "processor_ms": "cpu_ms",
           "peak_mb": "peak_mb", "others": "others"}
COLUMNS = ["commit", "row", "side", "ours", "round", *NUMBERS]


def of_times(ms, **more):
    """A round of a side, of the milliseconds that it took again and again."""
    return {"min": min(ms), "median": statistics.median(ms), **more}


def ratio(q, runs):
    a, b = runs.get(q.a), runs.get(q.b)
    if not a or not b:
        return None
    pairs = [q.factor * x["median"] / y["median"] for x, y in zip(a, b)]
    minima = q.factor * min(x["min"] for x in a) / min(y["min"] for y in b)
    others = max(statistics.median(x.get("others", 0) for x in r)
                 for r in (a, b))
    cpu = [q.factor * x["cpu_ms"] / y["cpu_ms"] for x, y in zip(a, b)
           if "cpu_ms" in x and "cpu_ms" in y]
    return {"minima": minima, "pairs": pairs, "better": q.better,
            "others": others, **({"cpu": cpu} if cpu else {})}


def named(row, sides):
    """What rows.py compares; in another program's rows, lockstep with each."""
    known = found(row)
    return known.ratios if known else \
        against(*(s for s in sides if s != "lockstep"))


def ratios(row, runs):
    """Of sides that were measured."""
    all_of = {q.name: ratio(q, runs) for q in named(row, runs)}
    return {name: q for name, q in all_of.items() if q}


def processor():
    """The CPU's name.  Of a virtual machine the name alone says too little, so
    its family and model follow, where there are some."""
    with open("/proc/cpuinfo") as f:
        first = dict([y.strip() for y in x.split(":", 1)]
                     for x in f.read().split("\n\n")[0].split("\n")
                     if ":" in x)
    name = first.get("model name") or platform.processor()
    if "cpu family" in first:
        name += f" (family {first['cpu family']}, model {first['model']})"
    return name


def machine(cpus):
    return {"cpu": processor(),
            "cores": os.cpu_count(), "cpus": cpus,
            "kernel": platform.release(), "python": platform.python_version(),
            "date": datetime.datetime.now().isoformat(" ", "seconds"),
            "command": shlex.join(sys.argv)}


def save(path, result):
    """After every row: a long run that is ended early keeps its rows."""
    with open(path, "w") as f:
        json.dump(result, f, indent=1)


def heading(machine):
    """Where and how it was measured, in lines that begin with #."""
    shown = {**machine, "cpus": ",".join(map(str, machine["cpus"]))}
    return "".join(f"# {key}: {value}\n" for key, value in shown.items())


def text(result):
    """Of what bench/run --json wrote; it names no commit itself."""
    out = io.StringIO()
    out.write(heading(result["machine"]))
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for row, r in result["rows"].items():
        for side, runs in r["sides"].items():
            for i, x in enumerate(runs):
                table.writerow([
                    x.get("commit", ""), row, side,
                    "yes" if x.get("ours", True) else "no", i + 1,
                    *(f"{x[k]:.6g}" if k in x else ""
                      for k in NUMBERS.values())])
    return out.getvalue()


def read(path):
    """The same as bench/run --json wrote, but for versions."""
    machine, rows = {}, {}
    with open(path, newline="") as f:
        lines = f.read().splitlines()
    while lines and lines[0].startswith("# "):
        key, _, value = lines.pop(0)[2:].partition(": ")
        machine[key] = value
    machine["cores"] = int(machine["cores"])
    machine["cpus"] = [int(c) for c in machine["cpus"].split(",")]
    for x in csv.DictReader(lines):
        sides = rows.setdefault(x["row"], {"sides": {}})["sides"]
        run = {k: float(x[name]) for name, k in NUMBERS.items() if x[name]}
        run["ours"] = x["ours"] == "yes"
        run["commit"] = x["commit"]
        sides.setdefault(x["side"], []).append(run)
    for row, r in rows.items():
        r["ratios"] = ratios(row, r["sides"])
    return {"machine": machine, "rows": rows}
