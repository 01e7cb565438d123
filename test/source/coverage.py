# SPDX-License-Identifier: BSD-3-Clause
"""Sums what llvm-cov exports: coverage.py TOP JSON LEFT_OUT PLACES
[LINES BRANCHES].

Prints lines and branches of each room of TOP/lib and TOP/data, and writes what did not run
into the file PLACES.  A branch is a side of a condition of the source: those of
a header that is compiled several times, or of a macro, count once.  LEFT_OUT
names what does not count, with its reason; an entry that leaves out nothing is
an error, and so are less than LINES and BRANCHES per cent of the whole."""
import collections
import json
import os
import re
import sys

CODE, GAP = 0, 3


def innermost(regions, line, column):
    """The smallest region of code around a place."""
    best = None
    for r in regions:
        if (r[0], r[1]) <= (line, column) < (r[2], r[3]):
            if best is None or (r[0], r[1]) >= (best[0], best[1]):
                best = r
    return best


def branches(functions, name_of):
    """{(file, place): [true, false]} of all functions, without those that the
    compiler decides."""
    sums = collections.defaultdict(lambda: [0, 0])
    decided = set()
    for f in functions:
        names = [name_of(n) for n in f["filenames"]]
        code = collections.defaultdict(list)
        for r in f["regions"]:
            if r[7] == CODE:
                code[r[5]].append(r)
        for b in f["branches"]:
            key = (names[b[6]], *b[:4])
            if key[0] is None:
                continue
            if b[4] == b[5] == 0:
                around = innermost(code[b[6]], b[0], b[1])
                if around and around[4]:
                    decided.add(key)
            sums[key][0] += b[4]
            sums[key][1] += b[5]
    return {k: v for k, v in sums.items() if any(v) or k not in decided}


def lines(segments):
    """{line: count} of a file, as llvm-cov itself counts them."""
    by_line = collections.defaultdict(list)
    for s in segments:
        by_line[s[0]].append(s)
    counts, wrapped = {}, None
    for line in range(segments[0][0], segments[-1][0] + 1):
        here = by_line.get(line, [])
        starts = [s[2] for s in here if s[3] and s[4] and not s[5]]
        skipped = here and not here[0][3] and here[0][4]
        if not skipped and (starts or (wrapped and wrapped[3])):
            counts[line] = max(starts + ([wrapped[2]] if wrapped else []))
        wrapped = here[-1] if here else wrapped
    return counts


class LeftOut:
    """What the list leaves out: FILE | TEXT | REASON.  FILE is lib for all;
    TEXT is a part of the line of the source, or * for the whole file."""

    def __init__(self, path):
        self.entries = []
        for n, line in enumerate(open(path), 1):
            if line.strip() and not line.startswith("#"):
                parts = [p.strip() for p in line.split(" | ")]
                if len(parts) != 3 or not all(parts):
                    sys.exit("%s:%d: not FILE | TEXT | REASON" % (path, n))
                self.entries.append(parts + [0])

    def has(self, name, text):
        for entry in self.entries:
            if entry[0] in (name, "lib") and (entry[1] == "*" or entry[1] in text):
                entry[3] += 1
                return True
        return False


def runs(numbers):
    """Runs of numbers that follow one another, as words."""
    ends = []
    for n in numbers:
        if ends and n == ends[-1][1] + 1:
            ends[-1][1] = n
        else:
            ends.append([n, n])
    return " ".join("%d-%d" % (a, b) if a < b else str(a) for a, b in ends)


def main(top, exported, left_out, places, *goals):
    data = json.load(open(exported))["data"][0]
    source = {}

    def name_of(path):
        name = os.path.relpath(os.path.realpath(path), os.path.realpath(top))
        return name if name.startswith(("lib/", "data/")) else None

    def text(name, line):
        if name not in source:
            source[name] = open(os.path.join(top, name)).read().split("\n")
        return source[name][line - 1]

    left = LeftOut(left_out)
    total = collections.defaultdict(lambda: [0, 0, 0, 0])
    missing = collections.defaultdict(lambda: ([], []))
    for f in data["files"]:
        name = name_of(f["filename"])
        if name is None or not f["segments"]:
            continue
        for line, count in sorted(lines(f["segments"]).items()):
            if not count and left.has(name, text(name, line)):
                continue
            total[name][0] += 1
            total[name][1] += count > 0
            if not count:
                missing[name][0].append(line)
    known = {}
    for key, sides in sorted(branches(data["functions"],
                                      lambda p: known.setdefault(
                                          p, name_of(p))).items()):
        name, line, column, last, end = key
        words = text(name, line)[column - 1:end - 1 if last == line else None]
        for side, count in zip(("true", "false"), sides):
            if not count and left.has(name, text(name, line)):
                continue
            total[name][2] += 1
            total[name][3] += count > 0
            if not count:
                missing[name][1].append((line, side, words))
    rooms = collections.defaultdict(lambda: [0, 0, 0, 0])
    with open(places, "w") as out:
        for name, counts in sorted(total.items()):
            for i, n in enumerate(counts):
                rooms[name.split("/")[1]][i] += n
                rooms["all"][i] += n
            out.write("%s: lines %d of %d, branches %d of %d\n" % (
                name, counts[1], counts[0], counts[3], counts[2]))
            if missing[name][0]:
                out.write("  lines " + runs(missing[name][0]) + "\n")
            for line, side, words in missing[name][1]:
                out.write("  %d: never %s: %s\n" % (line, side, words))

    def share(n, of):
        return "%6.2f %% of %5d" % (100 * n / of if of else 100, of)

    for room in sorted(rooms, key=lambda r: (r == "all", r)):
        n = rooms[room]
        print("%-11s lines %s   branches %s" % (room, share(n[1], n[0]),
                                                share(n[3], n[2])))
    print("Left out:")
    for name, words, reason, count in left.entries:
        print("  %s, %s: %s" % (name, words, reason))
    unused = [e for e in left.entries if not e[3] and e[1] != "*"]
    for e in unused:
        print("%s: nothing is left out by: %s | %s" % (left_out, e[0], e[1]),
              file=sys.stderr)
    ran = rooms["all"]
    missed = [(goal, what) for goal, what, n, of in zip(
        goals, ("lines", "branches"), ran[1::2], ran[::2])
        if 100 * n < float(goal) * of]
    for goal, what in missed:
        print("the goal of %s %% of the %s is missed" % (goal, what),
              file=sys.stderr)
    return 1 if unused or missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
