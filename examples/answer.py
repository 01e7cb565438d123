# SPDX-License-Identifier: BSD-3-Clause
"""Answers rows "area,rooms,town" of the standard input by a model of a table:
answer.py MODEL.  docs/guide/service.md makes one."""
import csv
import sys

import lockstep as ls

model = ls.TableModel(sys.argv[1])
for row in csv.DictReader(sys.stdin, ["area", "rooms", "town"]):
    print(f"{model.predict([row])[0]:.1f}", flush=True)
