#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write ignored.h: what test_ignored.c expects of PyTorch's cross entropy with
labels that are ignored, as C tables.

    make_ignored.py > ignored.h

Made with torch 2.13.0, numpy 2.4.6: pip install torch==2.13.0 numpy==2.4.6.
"""
import numpy as np
import torch

ROWS, TERMS, CLASSES, WIDTH = 6, 3, 5, 4


def table(name, x, c_type="float"):
    x = np.asarray(x)
    cell = (lambda v: str(int(v))) if c_type == "int32_t" else (
        lambda v: f"{float(v):.9g}f" if "." in f"{float(v):.9g}" or "e" in
        f"{float(v):.9g}" else f"{float(v):.9g}.0f")
    lines, line = [], "   "
    for v in map(cell, x.ravel()):
        if len(line) + len(v) + 2 > 78:
            lines.append(line)
            line = "   "
        line += f" {v},"
    print(f"static const {c_type} {name}[{x.size}] = {{\n"
          + "\n".join(lines + [line]) + "\n};\n")


rs = np.random.RandomState(8)
x = rs.randn(ROWS, TERMS, WIDTH).astype(np.float32)
w = rs.randn(WIDTH, CLASSES).astype(np.float32)
label = rs.randint(0, CLASSES, (ROWS, TERMS)).astype(np.int32)
label[1] = -100  # a whole row
label[0, 2] = label[4, 0] = label[5, 1] = -100
weight = np.float32([1, 2, 0.5, 1, 0, 3])

kernel = torch.tensor(w, requires_grad=True)
logits = torch.tensor(x) @ kernel
terms = torch.nn.functional.cross_entropy(
    logits.reshape(-1, CLASSES), torch.tensor(label.ravel()).long(),
    ignore_index=-100, reduction="none").reshape(ROWS, TERMS)
of = torch.tensor(weight)[:, None] * torch.tensor(label >= 0)
loss = (of * terms).sum() / of.sum()
loss.backward()
right = (logits.argmax(-1).numpy() == label) * of.numpy()

print("""/* Made by make_ignored.py with torch %s, numpy %s; not edited by
 * hand. */
#ifndef GOLDEN_IGNORED_H
#define GOLDEN_IGNORED_H

#include <stdint.h>

// clang-format off

enum { IGNORED_ROWS = %d, IGNORED_TERMS = %d, IGNORED_CLASSES = %d,
       IGNORED_WIDTH = %d };
""" % (torch.__version__.split("+")[0], np.__version__, ROWS, TERMS, CLASSES, WIDTH))
table("ignored_x", x)
table("ignored_w", w)
table("ignored_label", label, "int32_t")
table("ignored_weight", weight)
print("/* The loss, its weight, the share of right ones, and the kernel after\n"
      " * w - gradient. */")
table("ignored_loss", [loss.item(), of.sum().item(),
                       right.sum() / of.sum().item()])
table("ignored_after", w - kernel.grad.numpy())
print("// clang-format on\n\n#endif")
