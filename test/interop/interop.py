# SPDX-License-Identifier: BSD-3-Clause
"""Files between lockstep and the Python package safetensors.

    interop.py LOCKSTEP-TRAIN FOLDER

Theirs here: parameters of an mlp made by NumPy, and where they are installed
by Flax (nnx.Linear) and PyTorch (nn.Linear, whose kernels are transposed), are
saved by safetensors, loaded with --init, and the loss of the first step is
compared with the one computed there.  Ours there: names, shapes, bytes and
checksum of what --save and a checkpoint wrote.  Prints a line for each.
"""
import hashlib
import json
import subprocess
import sys

import numpy as np
import safetensors
import safetensors.numpy

train, folder = sys.argv[1:3]
ROWS, IN, HIDDEN, CLASSES = 32, 9, 17, 5
rng = np.random.default_rng(1)
x = rng.standard_normal((ROWS, IN)).astype(np.float32)
y = rng.integers(0, CLASSES, ROWS).astype(np.int32)
np.save(f"{folder}/x.npy", x)
np.save(f"{folder}/y.npy", y)
MLP = ["mlp", "--x", f"{folder}/x.npy", "--y", f"{folder}/y.npy", "--batch",
       str(ROWS), "--hidden", str(HIDDEN), "--classes", str(CLASSES),
       "--devices", "2", "--log-every", "0"]


def run(*args):
    done = subprocess.run([train, *MLP, *args], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{args}: {done.stderr}")
    return done.stdout


def loss_here(path):
    """Of the first step, from parameters of a file."""
    run("--init", path, "--steps", "1", "--metrics", f"{folder}/m.jsonl")
    lines = open(f"{folder}/m.jsonl").read().splitlines()
    return json.loads(lines[1])["loss"]


def loss_of(p):
    """The same in double precision."""
    p = {k: np.asarray(v, np.float64) for k, v in p.items()}
    h = np.maximum(x @ p["layers.0.kernel"] + p["layers.0.bias"], 0)
    z = h @ p["layers.1.kernel"] + p["layers.1.bias"]
    z -= z.max(1, keepdims=True)
    return -np.mean((z - np.log(np.exp(z).sum(1, keepdims=True)))
                    [np.arange(ROWS), y])


def compare(what, got, want, tolerance=1e-6):
    if abs(got - want) > tolerance * abs(want):
        sys.exit(f"{what}: loss {got}, not {want}")
    print(f"{what}: loss {got:.7f}, there {want:.7f}")


def theirs_numpy():
    p = {"layers.1.bias": rng.standard_normal(CLASSES),
         "layers.0.kernel": rng.standard_normal((IN, HIDDEN)),
         "layers.0.bias": rng.standard_normal(HIDDEN),
         "layers.1.kernel": rng.standard_normal((HIDDEN, CLASSES))}
    for kind in np.float64, np.float32, np.float16:
        q = {k: v.astype(kind) for k, v in p.items()}
        path = f"{folder}/{np.dtype(kind).name}.safetensors"
        safetensors.numpy.save_file(q, path, metadata={"format": "np"})
        compare(f"NumPy {np.dtype(kind).name}", loss_here(path), loss_of(q))


def theirs_flax():
    try:
        from flax import nnx
    except ImportError:
        return print("Flax: skipped, it is not installed")
    rngs = nnx.Rngs(3)
    layers = [nnx.Linear(IN, HIDDEN, rngs=rngs),
              nnx.Linear(HIDDEN, CLASSES, rngs=rngs)]
    p = {}
    for i, layer in enumerate(layers):
        for path, leaf in nnx.to_flat_state(nnx.state(layer, nnx.Param)):
            p[".".join(["layers", str(i), *map(str, path)])] = \
                np.asarray(leaf[...])
    safetensors.numpy.save_file(p, f"{folder}/flax.safetensors")
    compare("Flax", loss_here(f"{folder}/flax.safetensors"),
            float(loss_jax(layers)))


def loss_jax(layers):
    import jax
    z = layers[1](jax.nn.relu(layers[0](x)))
    return -jax.nn.log_softmax(z)[np.arange(ROWS), y].mean()


def theirs_torch():
    try:
        import torch
        from safetensors.torch import save_file
    except ImportError:
        return print("PyTorch: skipped, it is not installed")
    torch.manual_seed(4)
    net = torch.nn.Sequential(torch.nn.Linear(IN, HIDDEN), torch.nn.ReLU(),
                              torch.nn.Linear(HIDDEN, CLASSES))
    for kind, tolerance in (torch.float32, 1e-6), (torch.bfloat16, 2e-2):
        p = {}
        for i, layer in enumerate((net[0], net[2])):
            p[f"layers.{i}.kernel"] = layer.weight.detach().T.contiguous()
            p[f"layers.{i}.bias"] = layer.bias.detach()
        p = {k: v.to(kind) for k, v in p.items()}
        path = f"{folder}/torch.safetensors"
        save_file(p, path)
        with torch.no_grad():
            want = torch.nn.functional.cross_entropy(
                net(torch.from_numpy(x)), torch.from_numpy(y).long())
        compare(f"PyTorch {kind}", loss_here(path), float(want), tolerance)


def ours():
    out = run("--steps", "3", "--save", f"{folder}/p.safetensors",
              "--checkpoint", f"{folder}/c")
    step = f"{folder}/c/step-000000000003"
    p = safetensors.numpy.load_file(f"{folder}/p.safetensors")
    shapes = {k: v.shape for k, v in p.items()}
    assert shapes == {"layers.0.bias": (HIDDEN,), "layers.1.bias": (CLASSES,),
                      "layers.0.kernel": (IN, HIDDEN),
                      "layers.1.kernel": (HIDDEN, CLASSES)}, shapes
    with safetensors.safe_open(f"{folder}/p.safetensors", "np") as f:
        meta = f.metadata()
        data = b"".join(f.get_tensor(k).tobytes() for k in sorted(f.keys()))
    assert hashlib.sha256(data).hexdigest() == meta["sha256"], meta
    q = safetensors.numpy.load_file(f"{step}/params.safetensors")
    assert all(np.array_equal(p[k], q[k]) for k in p)
    m = safetensors.numpy.load_file(f"{step}/optimizer.safetensors")
    assert sorted(m) == sorted(a + k for a in ("mu.", "nu.") for k in p)
    print("ours: parameters, checksum and moments as they should be")
    # There and back: the same file but for the metadata, the same state.
    safetensors.numpy.save_file(p, f"{folder}/back.safetensors")
    run("--init", f"{folder}/back.safetensors", "--steps", "0", "--save",
        f"{folder}/again.safetensors")
    again = open(f"{folder}/again.safetensors", "rb").read()
    assert again == open(f"{folder}/p.safetensors", "rb").read()
    print("there and back: the same file")


ours()
theirs_numpy()
theirs_flax()
theirs_torch()
