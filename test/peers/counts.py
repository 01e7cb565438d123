# SPDX-License-Identifier: BSD-3-Clause
"""Counts of what peers offer: run, passed, refused and why, wrong."""

import collections


class Refused(Exception):
    """Why lockstep, or the map to it, does not take a sample."""


class Counts:
    def __init__(self, title):
        self.title = title
        self.offered = self.passed = 0
        self.why, self.wrong = collections.Counter(), []
        self.families = set()

    def take(self, name, check):
        """check() raises Refused, or AssertionError where a number is wrong.
        Returns what check() does, or the reason."""
        self.offered += 1
        try:
            said = check()
        except Refused as e:
            self.why[f"{name}: {e}"] += 1
            return f"refused, {e}"
        except AssertionError as e:
            self.wrong.append(f"{name}: {e}")
            return f"WRONG {e}"
        self.passed += 1
        self.families.add(name)
        return said

    def close(self, verbose=False):
        refused = sum(self.why.values())
        print(f"{self.title}: offered {self.offered}, "
              f"run {self.offered - refused}, passed {self.passed} of "
              f"{len(self.families)} names, refused {refused}, "
              f"wrong {len(self.wrong)}")
        for why, n in sorted(self.why.items()):
            print(f"  refused {n} x {why}")
        for text in self.wrong:
            print("  WRONG", text)
        return len(self.wrong)
