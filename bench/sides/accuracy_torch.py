# SPDX-License-Identifier: BSD-3-Clause
"""What accuracy PyTorch reaches on the same images: adam 1e-3, batch 128, its own
initial parameters, its own order of the rows, the last short batch dropped.

    accuracy_torch.py mlp IMAGES LABELS TEST_IMAGES TEST_LABELS   (IDX, gzip'd)
    accuracy_torch.py cnn FOLDER                                  (CIFAR-10)
"""
import argparse
import glob
import gzip

import numpy as np
import torch
from torch import nn


def idx(path):
    data = gzip.open(path, "rb").read()
    rank = data[3]
    shape = np.frombuffer(data, ">i4", rank, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def cifar(pattern):
    rows = np.concatenate([np.fromfile(f, np.uint8).reshape(-1, 3073)
                           for f in sorted(glob.glob(pattern))])
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def tensors(x, y):
    return (torch.from_numpy(x.astype(np.float32) / 255),
            torch.from_numpy(y.astype(np.int64)))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(),
                         nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def cnn():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(4096, 10))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model", choices=["mlp", "cnn"])
    p.add_argument("files", nargs="+")
    p.add_argument("--epochs", type=int)
    p.add_argument("--seed", type=int, default=0)
    o = p.parse_args()
    torch.manual_seed(o.seed)
    if o.model == "mlp":
        model, epochs = mlp(), 10
        train, test = (tensors(idx(o.files[i]), idx(o.files[i + 1]))
                       for i in (0, 2))
    else:
        model, epochs = cnn(), 20
        train, test = (tensors(*cifar(f"{o.files[0]}/{n}"))
                       for n in ("data_batch_*.bin", "test_batch.bin"))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(o.epochs or epochs):
        for rows in torch.randperm(len(train[1])).split(128):
            if len(rows) == 128:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(train[0][rows]),
                                                   train[1][rows])
                loss.backward()
                optimizer.step()
        with torch.no_grad():
            right = (model(test[0]).argmax(1) == test[1]).float().mean()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} "
              f"accuracy {right.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
