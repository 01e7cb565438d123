# SPDX-License-Identifier: BSD-3-Clause
"""The tool's lm or cnn in PyTorch's DistributedDataParallel over gloo: two
processes of one thread, each half of every batch, as two ranks of lockstep.

    ddp_torch.py MODEL --init F [--steps N] [--metrics F]

Gradients are views of DDP's buckets and the graph is static, its fastest form.
A step is timed as in the other peers; the mean of the two losses, which proves
that the models are one, is made after the clock has stopped."""
import json
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import cnn_torch
import lm_shared
import lm_torch
import steps

RANKS = 2


class Model(torch.nn.Module):
    """A loss of a dictionary of parameters."""

    def __init__(self, loss_fn, p):
        super().__init__()
        self.names = list(p)
        self.parts = torch.nn.ParameterList(p.values())
        self.loss_fn = loss_fn

    def forward(self, *batch):
        return self.loss_fn(dict(zip(self.names, self.parts)), *batch)


def lm(init):
    p = lm_torch.parameters(lm_shared.read_safetensors(init))
    optimizer = torch.optim.AdamW(p.values(), lr=lm_shared.LR, fused=True,
                                  weight_decay=lm_shared.WEIGHT_DECAY)

    def take(tokens):
        return (torch.from_numpy(tokens).long(),)
    return Model(lm_torch.loss_fn, p), optimizer, take, lm_shared


def cnn(init):
    layout = torch.channels_last
    p = cnn_torch.parameters(lm_shared.read_safetensors(init), layout)
    optimizer = torch.optim.Adam(p.values(), lr=cnn_torch.LR, fused=True)

    def take(x, y):
        images = torch.from_numpy(x).permute(0, 3, 1, 2)
        return (images.contiguous(memory_format=layout), torch.from_numpy(y))
    return Model(cnn_torch.loss_fn, p), optimizer, take, cnn_torch


def share(batch, rank):
    """This rank's rows."""
    each = len(batch[0]) // RANKS
    return [a[rank * each:(rank + 1) * each] for a in batch]


def train(model, o, rank, out):
    module, optimizer, take, shared = {"lm": lm, "cnn": cnn}[model](o.init)
    ddp = DistributedDataParallel(module, gradient_as_bucket_view=True,
                                  static_graph=True)
    print(json.dumps({"versions": {"torch": torch.__version__}}), file=out)
    for s, batch in enumerate(shared.batches(o.steps)):
        mine = share(batch, rank)
        start = time.perf_counter()
        loss = ddp(*take(*mine))
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        loss = torch.tensor(loss.item())
        ms = 1e3 * (time.perf_counter() - start)
        dist.all_reduce(loss)
        print(json.dumps({"step": s, "loss": loss.item() / RANKS, "ms": ms}),
              file=out)


def run_rank(model, o, rank, meeting, path):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", init_method="file://" + meeting,
                            rank=rank, world_size=RANKS)
    with open(path, "w") as out:
        train(model, o, rank, out)
    dist.destroy_process_group()


def main():
    model = sys.argv.pop(1)
    rank, meeting = 0, None
    if len(sys.argv) > 2 and sys.argv[1] == "--rank":
        rank, meeting = int(sys.argv[2]), sys.argv[3]
        del sys.argv[1:4]
    o = steps.options()
    if rank:
        run_rank(model, o, rank, meeting, os.devnull)
        return
    with tempfile.TemporaryDirectory() as scratch:
        meeting = scratch + "/meeting"
        other = subprocess.Popen([sys.executable, "-B", __file__, model,
                                  "--rank", "1", meeting, *sys.argv[1:]])
        try:
            run_rank(model, o, 0, meeting, o.metrics)
            if other.wait():
                raise SystemExit("ddp_torch: rank 1 failed")
        finally:
            other.kill()


if __name__ == "__main__":
    main()
