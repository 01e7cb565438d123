#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write tools/info/verify_hashes.c: what the runs of `lockstep-info --verify` give on this machine.

    tools/info/verify_hashes.py build/lockstep-info > tools/info/verify_hashes.c

Only after a change that alters bits on purpose.  The level with the best instructions makes the
numbers; then build again, and --verify must pass on all others.
"""
import json
import subprocess
import sys


def rows(steps):
    for s in steps:
        digests = ["0x%08x" % d for d in s["digests"]]
        lines = [", ".join(digests[i:i + 5]) for i in range(0, len(digests), 5)]
        yield '      {"%s", %d,\n       {%s}},' % (
            s["state"], len(digests), ",\n        ".join(lines))


def main(tool):
    out = subprocess.run([tool, "--verify", "--json"], stdout=subprocess.PIPE, check=False).stdout
    print("/* SPDX-" "License-Identifier: BSD-3-Clause */")
    print("/* Made by tools/info/verify_hashes.py. */")
    print('#include "info/verify.h"\n')
    print("const verify_known verify_table[] = {")
    for run in json.loads(out.splitlines()[0])["runs"]:
        if "like" not in run:
            print('    {"%s",\n     {' % run["name"] + "\n".join(rows(run["steps"])).lstrip()[:-1]
                  + "}},")
    print("    {.name = NULL},\n};")


main(sys.argv[1])
