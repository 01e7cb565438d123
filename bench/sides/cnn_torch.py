# SPDX-License-Identifier: BSD-3-Clause
"""The tool's cnn in PyTorch, in its fastest form on a CPU: channels_last,
so that convolutions work on NHWC as lockstep's do, fused Adam."""
import torch
import torch.nn.functional as F

import cnn_shared as shared

LAYOUT = {"channels_last": torch.channels_last,
          "contiguous": torch.contiguous_format}


def parameters(arrays, layout):
    """lockstep's arrays -> torch's: kernels HWIO -> OIHW, (in,out) -> (out,in).
    The dense kernel's rows stay in the order h, w, c."""
    p = {}
    for name, a in arrays.items():
        t = torch.tensor(a)
        if t.ndim == 4:
            t = t.permute(3, 2, 0, 1).contiguous(memory_format=layout)
        elif t.ndim == 2:
            t = t.T.contiguous()
        p[name] = torch.nn.Parameter(t)
    return p


def loss_fn(p, x, y):
    for name in ("conv1", "conv2"):
        x = F.conv2d(x, p[name + ".kernel"], p[name + ".bias"], padding=1)
        x = F.max_pool2d(F.relu(x), 2)
    x = x.permute(0, 2, 3, 1).flatten(1)
    return F.cross_entropy(F.linear(x, p["dense.kernel"], p["dense.bias"]), y)


def begin():
    o = shared.options(["eager", "compile"], list(LAYOUT))
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    return o


def train(o, loss_fn, p, optimizer):
    """Train p on the row's batches, images in the layout that is asked for."""
    f = torch.compile(loss_fn) if o.mode == "compile" else loss_fn

    def step(x, y):
        images = torch.from_numpy(x).permute(0, 3, 1, 2)
        with torch.autocast("cpu", torch.bfloat16, o.precision == "bf16"):
            loss = f(p, images.contiguous(memory_format=LAYOUT[o.layout]),
                     torch.from_numpy(y))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()

    shared.run(step, o, {"torch": torch.__version__})


def main():
    o = begin()
    p = parameters(shared.initial(o.init), LAYOUT[o.layout])
    train(o, loss_fn, p,
          torch.optim.Adam(p.values(), lr=shared.LR, fused=True))


if __name__ == "__main__":
    main()
