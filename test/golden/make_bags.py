#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bags of embeddings by PyTorch, for test_sparse.c: writes bags.h.

    python make_bags.py >bags.h     made with torch 2.13.0

Rows of up to PLACES indices, some twice in a row and one row without any, into
a table (COUNT,WIDTH); the loss is the mean of the squared difference to a
target.  PyTorch has eps beside another root than optax, so it is small here.
A case is the losses of STEPS updates and the table after them.
"""
import numpy as np
import torch

COUNT, WIDTH, ROWS, PLACES, STEPS = 11, 3, 6, 4, 3
# -1: nothing.  Rows 3 and 4 of the table never occur.
LISTS = [[0, 5, 5, 10], [7, -1, -1, -1], [-1, -1, -1, -1], [2, 1, 0, -1],
         [9, 9, 9, 9], [6, 8, -1, 1]]
start = (np.arange(COUNT * WIDTH) * 53 % 97 - 48).astype(np.float32) / 64
target = (np.arange(ROWS * WIDTH) * 37 % 101 - 50).astype(np.float32) / 64
values = (np.arange(ROWS * PLACES) % 3 + 1).astype(np.float32) / 2


def run(mode, weighted, make, sparse):
    flat = [i for row in LISTS for i in row if i >= 0]
    weights = [v for row, vs in zip(LISTS, values.reshape(ROWS, PLACES))
               for i, v in zip(row, vs) if i >= 0]
    offsets = np.cumsum([0] + [sum(i >= 0 for i in row) for row in LISTS])
    bag = torch.nn.EmbeddingBag(COUNT, WIDTH, mode=mode, sparse=sparse)
    with torch.no_grad():
        bag.weight.copy_(torch.from_numpy(start.reshape(COUNT, WIDTH)))
    opt = make(bag.parameters())
    losses = []
    for s in range(STEPS):
        rows = slice(0, ROWS) if s != 1 else slice(3, ROWS)  # fewer occur
        at = offsets[rows.start:]
        first = at[0]
        opt.zero_grad()
        y = bag(torch.tensor(flat[first:]), torch.tensor(at[:-1] - first),
                torch.tensor(weights[first:]) if weighted else None)
        t = torch.from_numpy(target.reshape(ROWS, WIDTH)[rows])
        loss = ((y - t) ** 2).mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, bag.weight.detach().numpy().ravel()


def row(*case):
    losses, table = run(*case)
    return ("{" + ", ".join(float(x).hex() + "f" for x in losses) + "}, {" +
            ", ".join(float(x).hex() + "f" for x in table) + "}")


sgd = lambda p: torch.optim.SGD(p, lr=0.5)
adam = lambda p: torch.optim.Adam(p, lr=0.125, eps=1e-12)
lazy = lambda p: torch.optim.SparseAdam(p, lr=0.125, eps=1e-12)
adagrad = lambda p: torch.optim.Adagrad(p, lr=0.125,
                                        initial_accumulator_value=0.25)
print("/* Made by make_bags.py with torch " + torch.__version__ + ". */")
print("static const wanted wanteds[] = {")
for name, mode, weighted, opt, make, sparse in [
        ("sum", "sum", False, "sgd", sgd, False),
        ("mean", "mean", False, "sgd", sgd, False),
        ("values", "sum", True, "sgd", sgd, False),
        ("sum", "sum", False, "adam", adam, False),
        ("sum", "sum", False, "adagrad", adagrad, True),
        ("sum", "sum", False, "lazy", lazy, True),
        ("mean", "mean", False, "lazy", lazy, True)]:
    print(f'    {{"{name}", "{opt}", {row(mode, weighted, make, sparse)}}},')
print("};")
