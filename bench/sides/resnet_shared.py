# SPDX-License-Identifier: BSD-3-Clause
"""The tool's resnet in PyTorch: He et al. 2016, section 4.2, batch norms of the
whole batch, shortcuts without parameters.

Parameters are named as lockstep names them; convolutions are OIHW and dense
kernels (out,in), in the layout that is asked for.  The averages that a norm
keeps, .mean and .var, are plain tensors.
"""
import torch
import torch.nn.functional as F

EPSILON, MOMENTUM = 1e-5, 0.1
IS_AVERAGE = (".mean", ".var")


def shapes(depth, width=16, classes=10):
    """The name and shape of each parameter, and of each average."""
    def conv(name, inputs, n):
        return {name + ".kernel": (n, inputs, 3, 3)}

    def norm(name, n):
        return {f"{name}.{x}": (n,) for x in ("scale", "bias", "mean", "var")}

    found = {**conv("conv", 3, width), **norm("norm", width)}
    was = width
    for stage in (1, 2, 3):
        n = width << (stage - 1)
        for i in range((depth - 2) // 6):
            block = f"stage{stage}.block{i}."
            for k in "12":
                found |= conv(block + "conv" + k, was, n)
                found |= norm(block + "norm" + k, n)
                was = n
    return {**found, "dense.kernel": (classes, was), "dense.bias": (classes,)}


def drawn(depth, layout):
    """He's normal kernels."""
    p = {}
    for name, shape in shapes(depth).items():
        p[name] = torch.full(shape, float(name.endswith((".scale", ".var"))))
        if name.endswith(".kernel"):
            torch.nn.init.kaiming_normal_(p[name])
    return placed(p, layout)


def loaded(arrays, layout):
    """lockstep's arrays: kernels HWIO -> OIHW, (in,out) -> (out,in)."""
    turned = {4: (3, 2, 0, 1), 2: (1, 0), 1: (0,)}
    return placed({name: torch.tensor(a).permute(turned[a.ndim])
                   for name, a in arrays.items()}, layout)


def placed(p, layout):
    for name, t in p.items():
        t = t.contiguous(memory_format=layout if t.ndim == 4
                         else torch.contiguous_format)
        p[name] = t if name.endswith(IS_AVERAGE) else torch.nn.Parameter(t)
    return p


def trained(p):
    return [t for name, t in p.items() if not name.endswith(IS_AVERAGE)]


def logits(p, x, training):
    def norm(x, name):
        return F.batch_norm(x, p[name + ".mean"], p[name + ".var"],
                            p[name + ".scale"], p[name + ".bias"], training,
                            MOMENTUM, EPSILON)

    x = F.conv2d(x, p["conv.kernel"], padding=1)
    x = F.relu(norm(x, "norm"))
    blocks = [n[:-len("conv1.kernel")] for n in p if n.endswith("conv1.kernel")]
    for block in sorted(blocks, key=lambda b: [int(c) for c in
                                               b[5:-1].split(".block")]):
        first, second = p[block + "conv1.kernel"], p[block + "conv2.kernel"]
        stride = 1 if first.shape[0] == x.shape[1] else 2
        y = F.conv2d(x, first, stride=stride, padding=1)
        y = F.relu(norm(y, block + "norm1"))
        y = norm(F.conv2d(y, second, padding=1), block + "norm2")
        if stride == 2:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, x.shape[1]))
        x = F.relu(y + x)
    return F.linear(x.mean((2, 3)), p["dense.kernel"], p["dense.bias"])
