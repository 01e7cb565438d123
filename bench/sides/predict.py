# SPDX-License-Identifier: BSD-3-Clause
"""One row, image or sequence by a peer: predict.py torch|onnx MODEL PATH, where
PATH.safetensors and PATH.onnx hold the weights.  One thread; a line a block,
whose "ms" is the mean of its calls."""
import json
import sys
import time

import numpy as np

import lm_shared

SHAPE = {"mlp": (1, 784), "cnn": (1, 32, 32, 3), "lm": (1, 64)}
side, model, path = sys.argv[1:4]
x = np.zeros(SHAPE[model], np.int32 if model == "lm" else np.float32)


def onnx():
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        path + ".onnx", options, providers=["CPUExecutionProvider"])
    inputs = {session.get_inputs()[0].name: x}
    return lambda: session.run(None, inputs)


def torch_mlp(torch, a):
    import torch.nn.functional as F
    p = {n: torch.tensor(v.T.copy()) for n, v in a.items()}

    def call(x):
        for i in range(2):
            x = F.relu(F.linear(x, p[f"layers.{i}.kernel"],
                                p[f"layers.{i}.bias"]))
        return F.linear(x, p["layers.2.kernel"], p["layers.2.bias"])
    return call, torch.from_numpy(x)


def torch_cnn(torch, a):
    import torch.nn.functional as F

    import cnn_torch
    p = cnn_torch.parameters(a, torch.channels_last)

    def call(x):
        for name in ("conv1", "conv2"):
            x = F.conv2d(x, p[name + ".kernel"], p[name + ".bias"], padding=1)
            x = F.max_pool2d(F.relu(x), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)
        return F.linear(x, p["dense.kernel"], p["dense.bias"])
    images = torch.from_numpy(x).permute(0, 3, 1, 2)
    return call, images.contiguous(memory_format=torch.channels_last)


def torch_lm(torch, a):
    import lm_torch
    p = lm_torch.fuse(a)
    return lambda x: lm_torch.loss_fn(p, x), torch.from_numpy(x).long()


def torch():
    import torch
    torch.set_num_threads(1)
    make = {"mlp": torch_mlp, "cnn": torch_cnn, "lm": torch_lm}[model]
    call, rows = make(torch, lm_shared.read_safetensors(path + ".safetensors"))

    def run():
        with torch.inference_mode():
            return call(rows)
    return run


call = {"onnx": onnx, "torch": torch}[side]()
for block in range(20):
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < 0.05:
        call()
        calls += 1
    ms = 1e3 * (time.perf_counter() - start) / calls
    print(json.dumps({"step": block, "ms": ms}))
