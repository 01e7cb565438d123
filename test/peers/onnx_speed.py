# SPDX-License-Identifier: BSD-3-Clause
"""A step of training of a network from ONNX beside the same network of our own
builders and PyTorch's, one worker and one thread: steps in turn, processor time.

    onnx_speed.py [resnet18|gpt2] [ROUNDS]
"""
import statistics
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import lockstep as ls

RATE, VOCAB, WIDTH, HEADS, LAYERS, STEPS = 1e-3, 512, 768, 12, 2, 64


def no_bias(x, n, window, stride, name):
    side = window // 2
    return ls.conv2d_with(x, n, window, window, name, no_bias=True, stride_y=stride,
                          stride_x=stride, padding=ls.EXPLICIT, top=side, bottom=side,
                          left=side, right=side)


def norm(x, name):
    return ls.batch_norm_with(x, name, epsilon=1e-5, momentum=0.9)


def block(x, n, stride, name):
    y = ls.relu(norm(no_bias(x, n, 3, stride, name + ".a"), name + ".b"))
    y = norm(no_bias(y, n, 3, 1, name + ".c"), name + ".d")
    if stride > 1:
        x = norm(no_bias(x, n, 1, stride, name + ".way"), name + ".way_norm")
    return ls.relu(y + x)


def resnet18(g):
    x = ls.relu(norm(no_bias(g.input("x", (64, 64, 3)), 64, 7, 2, "a"), "b"))
    x = ls.max_pool_with(x, 3, 3, stride_y=2, stride_x=2, padding=ls.EXPLICIT,
                         top=1, bottom=1, left=1, right=1)
    for i, n in enumerate((64, 128, 256, 512)):
        x = block(x, n, 2 if i else 1, f"{i}.0")
        x = block(x, n, 1, f"{i}.1")
    return ls.dense(ls.mean_over(x, (0, 1)), 10, "head")


def layer_norm(x, name):
    return ls.layer_norm_with(x, name, epsilon=1e-5, two_passes=True)


def gpt2(g):
    x = ls.position(ls.embed(g.input("x", (STEPS,), np.int32), VOCAB, WIDTH, "wte"), "wpe")
    for i in range(LAYERS):
        x = x + ls.attention_with(layer_norm(x, f"{i}.a"), HEADS, f"{i}.b", causal=True,
                                  qkv_bias=True, out_bias=True)
        y = ls.gelu(ls.dense(layer_norm(x, f"{i}.c"), 4 * WIDTH, f"{i}.d"))
        x = x + ls.dense(y, WIDTH, f"{i}.e")
    return ls.dense_with(layer_norm(x, "f"), VOCAB, "head", no_bias=True)


class Gpt2(nn.Module):
    """transformers' with its head, every token's logits."""
    def __init__(self):
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel
        self.net = GPT2LMHeadModel(GPT2Config(
            vocab_size=VOCAB, n_positions=STEPS, n_embd=WIDTH, n_layer=LAYERS,
            n_head=HEADS, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False,
            tie_word_embeddings=False, bos_token_id=0, eos_token_id=0))
        mask = torch.full((1, 1, STEPS, STEPS), torch.finfo(torch.float32).min).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        return self.net(x, attention_mask=self.mask).logits


def pictures():
    from torchvision.models import resnet18 as net
    x = np.random.default_rng(0).standard_normal((16, 3, 64, 64)).astype(np.float32)
    return net(num_classes=10), x, (16,), x.transpose(0, 2, 3, 1).copy()


def texts():
    x = np.random.default_rng(0).integers(0, VOCAB, (8, STEPS)).astype(np.int32)
    return Gpt2(), x, x.shape, x


def trainer(graph, output, label):
    graph.loss(ls.cross_entropy(output, graph.input("label", label[1:], np.int32)))
    return ls.Trainer(graph, optimizer=ls.sgd(RATE), devices=1, workers=1)


def sides(name):
    own, (net, x, shape, mine) = globals()[name], {"resnet18": pictures, "gpt2": texts}[name]()
    label = np.random.default_rng(1).integers(0, 10, shape).astype(np.int32)
    there = torch.from_numpy(x if x.dtype == np.float32 else x.astype(np.int64))
    model = ls.from_torch(net, there[:2], batch_norm=True)
    put = "x"
    one = trainer(model.graph, model.node(), shape)
    graph = ls.Graph()
    two = trainer(graph, own(graph), shape)
    net.train()
    sgd = torch.optim.SGD(net.parameters(), RATE)
    wanted = torch.from_numpy(label.astype(np.int64)).flatten()

    def torch_step():
        sgd.zero_grad()
        y = net(there)
        loss = F.cross_entropy(y.reshape(wanted.numel(), -1), wanted)
        loss.backward()
        sgd.step()
        return loss.item()
    return {"ONNX": lambda: one.step(**{put: x}, label=label).loss,
            "builders": lambda: two.step(x=mine, label=label).loss,
            "PyTorch": torch_step}


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "resnet18"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    torch.set_num_threads(1)
    torch.manual_seed(0)
    steps = sides(name)
    took = {side: [] for side in steps}
    print("first losses", {side: round(step(), 5) for side, step in steps.items()})
    for _ in range(rounds):
        for side, step in steps.items():
            start = time.process_time()
            step()
            took[side].append(1e3 * (time.process_time() - start))
    for side, ms in took.items():
        ratio = statistics.median(a / b for a, b in zip(took["ONNX"], ms))
        print(f"{name} {side:9} least {min(ms):7.1f} ms, median "
              f"{statistics.median(ms):7.1f}; ONNX is {ratio:.3f} of it in pairs")


main()
