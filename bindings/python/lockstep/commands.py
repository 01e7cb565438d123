# SPDX-License-Identifier: BSD-3-Clause
"""The commands that a wheel brings along, as console scripts: lockstep-train and
lockstep-verify, which trains by it."""

import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def run(name):
    """Become the command, with this process's arguments."""
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        sys.exit(f"{name}: this installation of the module has no commands; a "
                 "wheel of lockstep-cpu has, and so has `make install`")
    os.execv(path, [path, *sys.argv[1:]])


def train():
    run("lockstep-train")


def verify():
    run("lockstep-verify")
