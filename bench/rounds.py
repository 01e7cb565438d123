# SPDX-License-Identifier: BSD-3-Clause
"""The raw rounds of bench/run as CSV: a line a round of a side, below lines
that begin with # and say where and how it was measured."""
import csv
import io
import statistics

from rows import ROWS

NUMBERS = {"least_ms": "min", "median_ms": "median", "processor_ms": "cpu_ms",
           "peak_mb": "peak_mb", "others": "others"}
COLUMNS = ["commit", "row", "side", "ours", "round", *NUMBERS]


def ratio(q, runs):
    a, b = runs.get(q.a), runs.get(q.b)
    if not a or not b:
        return None
    pairs = [q.factor * x["median"] / y["median"] for x, y in zip(a, b)]
    minima = q.factor * min(x["min"] for x in a) / min(y["min"] for y in b)
    others = max(statistics.median(x["others"] for x in r) for r in (a, b))
    cpu = [q.factor * x["cpu_ms"] / y["cpu_ms"] for x, y in zip(a, b)
           if "cpu_ms" in x and "cpu_ms" in y]
    return {"minima": minima, "pairs": pairs, "better": q.better,
            "others": others, **({"cpu": cpu} if cpu else {})}


def ratios(row, runs):
    """Those that rows.py names, of sides that were measured."""
    named = next((r.ratios for r in ROWS if r.name == row), [])
    found = {q.name: ratio(q, runs) for q in named}
    return {name: q for name, q in found.items() if q}


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
    """The same as bench/run --json wrote, but for versions and bytes."""
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
