# SPDX-License-Identifier: BSD-3-Clause
"""A virtual environment with the peers; pip is asked once for each."""
import os
import subprocess
import sys


def get(build, wanted):
    """-> its Python, and {package: why it could not be had}."""
    venv = build + "/bench-venv"
    stamp = venv + "/installed"
    have = open(stamp).read().split() if os.path.exists(stamp) else []
    missing = {}
    for package in (w for w in wanted if w not in have):
        print("bench: installing", package, "in", venv, file=sys.stderr,
              flush=True)
        for words in ([] if os.path.exists(venv + "/bin/pip") else
                      [[sys.executable, "-m", "venv", venv]]) + \
                [[venv + "/bin/pip", "install", "-q", package]]:
            done = subprocess.run(words, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                said = [x for x in done.stdout.splitlines() if x.strip()]
                errors = [x for x in said if x.startswith("ERROR")] or said
                missing[package] = errors[-1] if errors else "no pip here"
                break
        else:
            have.append(package)
            with open(stamp, "w") as f:
                f.write("\n".join(have))
    return venv + "/bin/python", missing
