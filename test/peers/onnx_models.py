# SPDX-License-Identifier: BSD-3-Clause
"""Networks of PyTorch, exported to ONNX by both of its exporters: outputs beside ONNX
Runtime's within 1e-5, losses of 20 steps of SGD and AdamW beside PyTorch's within 1e-4,
or within three times PyTorch's own distance from double precision, gradients too.

    onnx_models.py [NAME..]
    onnx_models.py --save FOLDER [NAME..]     # their files alone, and rows to train on

STEPS in the environment is another number of steps.
"""
import functools
import os
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from torch.nn import functional as F

import lockstep as ls
from counts import Counts, Refused
from onnx_nets import NETS, ROWS, WRITTEN

warnings.filterwarnings("ignore")
STEPS = int(os.environ.get("STEPS", "20"))
LABELS = np.random.default_rng(1).integers(0, 2, ROWS)


def export(net, x, path, new):
    x = torch.from_numpy(x[:2])
    if new:
        torch.onnx.export(net, (x,), path, dynamo=True, optimize=False, verbose=False,
                          external_data=False,
                          dynamic_shapes=({0: torch.export.Dim("rows")},))
    else:
        torch.onnx.export(net, (x,), path, dynamo=False, opset_version=20,
                          do_constant_folding=False, input_names=["x"],
                          dynamic_axes={"x": {0: "rows"}})


# Betas that a float holds, and 1 - beta too: 0.999 is rounded here as in optax, by
# which the first step is 6.4e-6 shorter than PyTorch's, whose betas are doubles.
BETAS, THEIRS = (0.875, 1 - 2 ** -10), (0.9, 0.999)
OPTIMIZERS = {
    "sgd": (lambda rate: ls.sgd(rate), lambda p, rate: torch.optim.SGD(p, rate)),
    **{name: (lambda rate, b=b: ls.adamw(1e-3, weight_decay=0.01, b1=b[0], b2=b[1]),
              lambda p, rate, b=b: torch.optim.AdamW(p, 1e-3, b, weight_decay=0.01))
       for name, b in (("adamw", BETAS), ("adamw 0.999", THEIRS))}}
FAR = []  # exports whose losses are off by how 0.999 is rounded


@functools.lru_cache(12)
def losses(name, optimizer, rate, dtype=torch.float32, last=False, plain=False):
    """PyTorch's of all steps, and the gradients of the first: with channels last, or
    by its own kernels where it is plain."""
    net, x = made(name).to(dtype), torch.from_numpy(NETS[name][1])
    x = x.to(dtype) if x.is_floating_point() else x
    if last and x.dim() == 4:
        net, x = (z.to(memory_format=torch.channels_last) for z in (net, x))
    step = OPTIMIZERS[optimizer][1](net.parameters(), rate)
    said, first, labels = [], {}, torch.from_numpy(LABELS)
    with torch.backends.mkldnn.flags(enabled=not plain):
        for _ in range(STEPS):
            loss = F.cross_entropy(net(x), labels)
            step.zero_grad()
            loss.backward()
            if optimizer == "sgd" and not first:
                first = {n: p.grad.double().numpy().copy()
                         for n, p in net.named_parameters() if p.grad is not None}
            step.step()
            said.append(loss.item())
    return np.array(said), first


def fixed(path):
    return {i.name for i in onnx.load(path).graph.initializer}


def made(name):
    torch.manual_seed(0)
    return NETS[name][0]().eval()


def exported(name, new, path):
    """The network, None if it is not PyTorch's; its file lies at path."""
    x = NETS[name][1]
    net = WRITTEN[name](path, x) if name in WRITTEN else made(name)
    if net:
        export(net, x, path, new)
    return net


def check(name, new, path):
    """What was judged, in words."""
    x = NETS[name][1]
    try:
        net = exported(name, new, path)
    except Exception as e:  # an exporter's own limits
        raise Refused(f"its exporter: {type(e).__name__}") from None
    session = onnxruntime.InferenceSession(path)
    put, got = session.get_inputs()[0].name, session.get_outputs()[0].name
    want = session.run(None, {put: x})[0]
    rows = x.astype(np.int32) if x.dtype == np.int64 else x
    try:
        model = ls.Onnx(path)
    except ls.Error as e:
        raise Refused(str(e).replace(path + ": ", "")) from None
    p = ls.Predictor(model.graph)
    model.load(p)
    off = np.abs(p.predict(got, **{put: rows}) - want).max() / max(1, np.abs(want).max())
    assert off <= 1e-5, f"outputs {off:.1e} off"
    said = [f"outputs {off:.1e}"]
    small = net is None or sum(p.numel() for p in net.parameters()) < 1e5
    rate = 0.05 if small else 1e-3
    for kind in OPTIMIZERS if net else ():
        model = ls.Onnx(path)
        label = model.graph.input("label", dtype=np.int32)
        model.graph.loss(ls.cross_entropy(model.node(), label))
        learn = {n for n, p in net.named_parameters(remove_duplicate=False)
                 if p.requires_grad}
        options = {"optimizer": OPTIMIZERS[kind][0](rate), "devices": 2}
        t = ls.Trainer(model.graph, **options)
        still = [ls.frozen(n) for n in t.shapes() if n not in learn and n in fixed(path)]
        if still:  # tables that PyTorch does not train
            t.close()
            t = ls.Trainer(model.graph, **options, groups=still)
        batch = {put: rows, "label": LABELS.astype(np.int32)}
        theirs, slopes = losses(name, kind, rate)
        if not np.isfinite(theirs).all():  # an untrained network may diverge
            said.append(f"{kind}: PyTorch diverges")
            continue
        exact, exact_slopes = losses(name, kind, rate, torch.float64)
        if kind == "sgd":
            said.append(compare_gradients(model, t, batch, slopes, exact_slopes,
                                          path))
        try:
            ours = np.array([t.step(**batch).loss for _ in range(STEPS)])
        except ls.Error as e:  # a step that diverges
            raise AssertionError(f"{kind}: {e}") from None
        off, own = np.abs(ours - exact).max(), np.abs(theirs - exact).max()
        said.append(f"{kind} {off:.1e} ({own:.1e})")
        if np.abs(ours - theirs).max() <= 1e-4 or off <= 3 * own:
            continue
        if kind.endswith("0.999"):
            FAR.append(f"{name}, {'new' if new else 'old'} exporter: {off:.1e}")
            continue
        # Other orders of sums are as valid: a relu beside 0 may fall either way.
        own = max(own, *(np.abs(losses(name, kind, rate, **order)[0] - exact).max()
                         for order in ({"last": True}, {"plain": True})))
        assert off <= 3 * own, f"{kind}: losses {off:.1e} off, PyTorch's {own:.1e}"
    return ", ".join(said)


class Slopes(dict):
    """Gradients as a model's state_dict takes them."""
    def shapes(self):
        return self


def as_in_file(model, t, slopes, path):
    """Gradients as the file has its weights, which it is saved with for a while."""
    weights = {n: t[n] for n in slopes}
    for n in slopes:
        t[n] = slopes[n]
    try:
        model.save(path, t)
    finally:
        for n in weights:
            t[n] = weights[n]
    saved = {i.name: i for i in onnx.load(path).graph.initializer}
    return {n: onnx.numpy_helper.to_array(saved[n]) for n in slopes}


def compare_gradients(model, t, batch, theirs, exact, path):
    """To a ten millionth of the largest of all at most."""
    hand = ls.Gradients(t)
    hand.compute(**batch)
    slopes = Slopes({n: hand[n] for n in t.shapes() if n in exact})
    try:
        ours = model.state_dict(slopes)
    except ls.Error:  # a window lies the other way round
        try:
            ours = as_in_file(model, t, slopes, path + ".slopes")
        except ls.Error as e:  # two that were alike lie in one initializer
            return f"losses alone: {e}"
    largest = max(np.abs(g).max() for g in exact.values())
    for n, g in ours.items():
        scale = max(np.abs(exact[n]).max(), 1e-3 * largest)
        off, own = np.abs(g - exact[n]).max(), np.abs(theirs[n] - exact[n]).max()
        assert off <= max(1e-4 * scale, 3 * own), \
            f"gradient by {n}: {off:.1e} off, PyTorch's {own:.1e}, of {scale:.1e}"
    return f"gradients of {len(ours)} of {len(exact)}"


def save(folder, names):
    """What onnx_hashes trains on: labels are classes of the first output."""
    os.makedirs(folder, exist_ok=True)
    for name in names:
        path, x = os.path.join(folder, name), NETS[name][1]
        exported(name, True, path + ".onnx")
        np.save(path + ".x.npy", x.astype(np.int32) if x.dtype == np.int64 else x)
        np.save(path + ".y.npy", LABELS.astype(np.int32))


def main():
    if sys.argv[1:2] == ["--save"]:
        return save(sys.argv[2], sys.argv[3:] or NETS)
    names = sys.argv[1:] or NETS
    torch.set_num_threads(1)
    counts = Counts("ONNX models of PyTorch")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for new in (True, False):
                path = os.path.join(folder, f"{name}-{new}.onnx")
                if NETS[name][0] is None and not new:
                    continue
                title = f"{name}, {'new' if new else 'old'} exporter"
                said = counts.take(title, lambda: check(name, new, path))
                print(f"  {title}: {said}", flush=True)
    counts.close()
    for text in FAR:
        print("  by what 0.999 is rounded to, AdamW's losses are off,", text)
    sys.exit(bool(counts.wrong))


main()
