#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write tools/info/verify_hashes.txt: what the runs of `lockstep-info --verify` give on this machine.

    tools/info/verify_hashes.py build/lockstep-info > tools/info/verify_hashes.txt

Only after a change that alters bits on purpose.  The level with the best instructions makes the
numbers; then build again, and --verify must pass on all others.
"""
import json
import subprocess
import sys


def main(tool):
    out = subprocess.run([tool, "--verify", "--json"], stdout=subprocess.PIPE, check=False).stdout
    print("# SPDX-" "License-Identifier: BSD-3-Clause\n"
          "# What the runs of lockstep-info --verify give: each run, and of each of its steps the\n"
          "# state's hash and the digests of its tensors.  Made by tools/info/verify_hashes.py.")
    for run in json.loads(out.splitlines()[0])["runs"]:
        if "like" in run:
            continue
        print("run", run["name"])
        for step in run["steps"]:
            print("step", step["state"])
            digests = ["%08x" % d for d in step["digests"]]
            for i in range(0, len(digests), 9):
                print(" ", *digests[i:i + 9])


main(sys.argv[1])
