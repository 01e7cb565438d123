# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's samples of operators and modules through lockstep: values, gradients by
inputs and parameters, and the same graphs in ONNX's checker and runtime.

A tensor is a row, or where the operator has an axis of rows, its first axis is;
weights are parameters.  Everything that is not asked of lockstep is refused with
the reason.
"""

import os
import sys
import tempfile

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

import lockstep as ls
from counts import Counts, Refused

try:
    import onnx
    import onnxruntime
except ImportError:
    onnx = None


def need(is_so, why):
    if not is_so:
        raise Refused(why)


class Case:
    """A graph in the making for one sample."""

    def __init__(self):
        self.g = ls.Graph()
        self.arrays, self.tensors, self.params = {}, {}, {}

    def given(self, tensor, rows=False, last=False):
        """A node for a tensor; rows: its first axis counts them; last: its
        second axis, of channels, is to be the last."""
        need(tensor.dtype in (torch.float32, torch.int64), str(tensor.dtype))
        need(tensor.numel() > 0, "no elements")
        a = tensor.detach().numpy()
        a = np.moveaxis(a, 1, -1) if last else a
        a = a if rows else a[None]
        need(a.ndim - 1 < 8, "more than 7 axes")
        a = ls.array(np.ascontiguousarray(a))
        name = f"x{len(self.arrays)}"
        self.arrays[name] = a
        self.tensors[name] = (tensor, rows, last)
        return self.g.input(name, a.shape[1:], a.dtype)

    def param(self, name, tensor, turn=lambda a: a):
        """Parameter `name` of a layer has a tensor's values, turned; so has
        its gradient."""
        if tensor is not None:
            self.params[name] = (tensor, turn)

    def back(self, name, gradient):
        tensor, rows, last = self.tensors[name]
        g = gradient if rows else gradient[0]
        return np.moveaxis(g, -1, 1) if last else g


def unary(f):
    return lambda c, x, *a, **k: (need(not a and not any(k.values()),
                                       f"arguments {a} {k}"), f(c.given(x)))[1]


def binary(f):
    def build(c, x, y, **k):
        scale = k.pop("alpha", 1)
        need(not any(k.values()), f"arguments {k}")
        need(isinstance(y, (int, float, torch.Tensor)), "complex")
        a = c.given(x)
        b = c.given(y) if isinstance(y, torch.Tensor) else y
        return f(a, b if scale == 1 else b * scale)
    return build


def both(f):
    def build(c, x, y):
        need(x.shape == y.shape, "shapes that differ")
        return f(c.given(x), c.given(y))
    return build


def reduction(f):
    def build(c, x, dim=None, keepdim=False, **k):
        need(not any(k.values()), f"arguments {k}")
        y = f(c.given(x), None if dim is None or dim == () else dim) \
            if x.ndim else c.given(x) * 1
        if keepdim and x.ndim:
            gone = range(x.ndim) if dim is None or dim == () else [
                d % x.ndim for d in ([dim] if isinstance(dim, int) else dim)]
            y = ls.reshape(y, tuple(1 if i in gone else n
                                    for i, n in enumerate(x.shape)))
        return y
    return build


def along(f):
    """Along an axis, which is the last for a while."""
    def build(c, x, dim, dtype=None, **k):
        need(dtype in (None, torch.float32), "another dtype")
        need(x.ndim > 0, "no axes")
        axes = list(range(x.ndim))
        axes[dim], axes[-1] = axes[-1], axes[dim]
        if axes[-1] == x.ndim - 1:
            return f(c.given(x))
        return ls.transpose(f(ls.transpose(c.given(x), axes)), axes)
    return build


def view(f):
    def build(c, x, *a, **k):
        shape = tuple(f(x, *a, **k).shape)
        return ls.reshape(c.given(x), shape)
    return build


def permute(c, x, dims):
    need(x.ndim > 0, "no axes")
    return ls.transpose(c.given(x), tuple(d % x.ndim for d in dims))


def swap(c, x, a, b):
    need(x.ndim > 0, "no axes")
    axes = list(range(x.ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return ls.transpose(c.given(x), axes)


def narrow(c, x, dim, start, length):
    need(not isinstance(start, torch.Tensor), "start is a tensor")
    return ls.slice(c.given(x), dim, start % x.shape[dim], length)


def concat(c, xs, dim=0, **k):
    need(not k, "dim by another name")
    need(len({x.ndim for x in xs}) == 1, "shapes that differ")
    return ls.concat([c.given(x) for x in xs], dim)


def matmul(c, a, b):
    need(min(a.ndim, b.ndim) >= 2, "a vector")
    return c.given(a) @ c.given(b)


def clamp(c, x, low=None, high=None, **k):
    low, high = k.get("min", low), k.get("max", high)
    need(not isinstance(low, torch.Tensor) and
         not isinstance(high, torch.Tensor), "bounds that are tensors")
    low = -np.inf if low is None else low
    high = np.inf if high is None else high
    need(low <= high, "bounds that cross")
    return ls.clamp(c.given(x), low, high)


def power(c, x, by):
    need(not isinstance(by, torch.Tensor), "a power that is a tensor")
    need(not isinstance(by, complex), "complex")
    return c.given(x) ** by


def gelu(c, x, approximate="none"):
    return (ls.gelu if approximate == "tanh" else ls.gelu_exact)(c.given(x))


def softplus(c, x, beta=1, threshold=20):
    need(beta == 1, "beta")
    need(threshold >= 20, "threshold")
    return ls.softplus(c.given(x))


def loss(terms):
    def build(c, y, t, reduction="mean", **k):
        weight = k.pop("weight", None)
        need(k.pop("pos_weight", None) is None, "weights of classes")
        need(isinstance(t, torch.Tensor) and y.shape == t.shape,
             "shapes that differ")
        each = terms(c.given(y), c.given(t), **k)
        each = each if weight is None else each * c.given(weight)
        return {"none": each * 1, "mean": ls.mean_over(each),
                "sum": ls.sum_over(each)}[reduction]
    return build


def huber(y, t, delta=1.0, beta=1.0):
    d = abs(y - t)
    near = ls.clamp(d, 0, delta)
    return near * (d - 0.5 * near)


def bce(y, t):
    return ls.relu(y) - y * t + ls.softplus(-abs(y)) + 0


def linear(c, x, w, b=None):
    need(x.ndim > 1 and w.ndim == 2, "not a matrix")
    c.param("l.kernel", w, lambda a: a.T)
    c.param("l.bias", b)
    return ls.dense_with(c.given(x, rows=True), w.shape[0], "l",
                         no_bias=b is None)


def pair(x):
    x = tuple(x) if isinstance(x, (tuple, list)) else (x,)
    return x if len(x) == 2 else x * 2


def conv2d(c, x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    need(x.ndim == 4, "no axis of rows")
    n, _, height, width = w.shape
    options = dict(zip(("stride_y", "stride_x"), pair(stride)))
    options.update(zip(("dilation_y", "dilation_x"), pair(dilation)))
    if isinstance(padding, str):
        options["padding"] = padding
    else:
        top, left = pair(padding)
        options.update(padding="explicit", top=top, bottom=top, left=left,
                       right=left)
    c.param("c.kernel", w, lambda a: a.transpose(2, 3, 1, 0))
    c.param("c.bias", b)
    return ls.conv2d_with(c.given(x, True, True), n, height, width, "c",
                          no_bias=b is None, groups=groups, **options)


def pool(f, **more):
    def build(c, x, kernel_size, stride=None, padding=0, dilation=1,
              ceil_mode=False, return_indices=False):
        need(not return_indices, "indices, too")
        need(x.ndim == 4, "no axis of rows")
        top, left = pair(padding)
        sy, sx = pair(stride or kernel_size)
        dy, dx = pair(dilation)
        return f(c.given(x, True, True), *pair(kernel_size), stride_y=sy,
                 stride_x=sx, dilation_y=dy, dilation_x=dx, top=top, bottom=top,
                 left=left, right=left, padding="explicit",
                 ceil_mode=ceil_mode, **more)
    return build


def avg_pool(c, x, kernel_size, stride=None, padding=0, ceil_mode=False,
             count_include_pad=True, divisor_override=None):
    need(divisor_override is None, "a divisor of its own")
    return pool(ls.avg_pool_with, exclude_padding=not count_include_pad)(
        c, x, kernel_size, stride, padding, 1, ceil_mode)


def norm(f, epsilon):
    """Over the last axis, with ones and zeros where no weights are given."""
    def build(c, x, shape, weight=None, bias=None, eps=None, **k):
        need(len(shape) == 1 and x.ndim > 1, "more than the last axis")
        c.param("n.scale", weight)
        c.param("n.bias", bias)
        return f(c.given(x, rows=True), epsilon if eps is None else eps)
    return build


def embedding(c, table, i, **k):
    need(not any(v is not None and v is not False for v in k.values()),
         f"arguments {sorted(k)}")
    return ls.gather(c.given(table), c.given(i))


def index_select(c, x, dim, i):
    need(x.ndim > 0 and dim == 0 and i.ndim == 1, "not the first axis")
    return ls.gather(c.given(x), c.given(i))


def expand(c, x, *shape):
    shape = tuple(shape[0]) if not isinstance(shape[0], int) else shape
    return ls.broadcast_to(c.given(x), tuple(
        torch.broadcast_shapes(tuple(s if s != -1 else 1 for s in shape),
                               x.shape)))


OPERATORS = {
    "abs": unary(ls.abs), "exp": unary(ls.exp), "log": unary(ls.log),
    "sqrt": unary(ls.sqrt), "square": unary(ls.square), "neg": unary(ls.neg),
    "sin": unary(ls.sin), "cos": unary(ls.cos),
    "nn.functional.selu": unary(ls.selu), "nn.functional.mish": unary(ls.mish),
    "tanh": unary(ls.tanh), "sigmoid": unary(ls.sigmoid),
    "reciprocal": unary(lambda x: x ** -1), "positive": unary(lambda x: x * 1),
    "rsqrt": unary(lambda x: ls.sqrt(x) ** -1),
    "nn.functional.relu": unary(ls.relu),
    "nn.functional.relu6": unary(lambda x: ls.clamp(x, 0, 6)),
    "nn.functional.silu": unary(ls.silu),
    "nn.functional.softsign": unary(lambda x: x / (abs(x) + 1)),
    "nn.functional.tanhshrink": unary(lambda x: x - ls.tanh(x)),
    "nn.functional.logsigmoid": unary(lambda x: -ls.softplus(-x)),
    "nn.functional.gelu": gelu, "nn.functional.softplus": softplus,
    "nn.functional.elu": lambda c, x, alpha=1.0: ls.elu(c.given(x), alpha),
    "nn.functional.leaky_relu":
        lambda c, x, negative_slope=0.01:
            ls.leaky_relu(c.given(x), negative_slope),
    "nn.functional.hardtanh":
        lambda c, x, min_val=-1.0, max_val=1.0:
            ls.clamp(c.given(x), min_val, max_val),
    "clamp": clamp, "pow": power,
    "add": binary(lambda a, b: a + b), "sub": binary(lambda a, b: a - b),
    "mul": binary(lambda a, b: a * b), "div": binary(lambda a, b: a / b),
    "true_divide": binary(lambda a, b: a / b),
    "rsub": lambda c, x, y, alpha=1, **k:
        (y if not isinstance(y, torch.Tensor) else c.given(y)) -
        c.given(x) * alpha,
    "__radd__": binary(lambda a, b: b + a),
    "__rmul__": binary(lambda a, b: b * a),
    "__rsub__": binary(lambda a, b: b - a),
    "__rdiv__": binary(lambda a, b: b / a),
    "minimum": both(ls.min), "maximum": both(ls.max),
    "sum": reduction(ls.sum_over), "mean": reduction(ls.mean_over),
    "amax": reduction(ls.max_over),
    "amin": reduction(lambda x, axes: -ls.max_over(-x, axes)),
    "softmax": along(ls.softmax), "log_softmax": along(ls.log_softmax),
    "nn.functional.softmin": along(lambda x: ls.softmax(-x)),
    "reshape": view(torch.reshape), "view": view(torch.reshape),
    "flatten": view(torch.flatten), "unsqueeze": view(torch.unsqueeze),
    "squeeze": view(torch.squeeze), "ravel": view(torch.ravel),
    "unflatten": view(torch.unflatten),
    "permute": permute, "transpose": swap, "narrow": narrow, "cat": concat,
    "broadcast_to": lambda c, x, shape: ls.broadcast_to(c.given(x), shape),
    "expand": expand, "matmul": matmul, "bmm": matmul, "mm": matmul,
    "__rmatmul__": lambda c, a, b: matmul(c, b, a),
    "nn.functional.mse_loss": loss(lambda y, t: ls.square(y - t)),
    "nn.functional.l1_loss": loss(lambda y, t: abs(y - t)),
    "nn.functional.huber_loss": loss(huber),
    "nn.functional.binary_cross_entropy_with_logits": loss(bce),
    "nn.functional.linear": linear, "nn.functional.conv2d": conv2d,
    "nn.functional.max_pool2d": pool(ls.max_pool_with),
    "nn.functional.avg_pool2d": avg_pool,
    "nn.functional.layer_norm":
        norm(lambda x, e: ls.layer_norm_with(x, "n", epsilon=e), 1e-5),
    "nn.functional.rms_norm":
        norm(lambda x, e: ls.rms_norm(x, e, "n"), 2.0 ** -23),
    "nn.functional.embedding": embedding, "index_select": index_select,
}


def recurrent(build, gates):
    """nn.LSTM or nn.GRU: layers, both ways, from a state; steps alone are one
    row."""
    def make(c, m, x, state=None):
        need(m.batch_first or x.ndim == 2, "steps before rows")
        need(not getattr(m, "proj_size", 0), "a projection")
        need(state is None or x.ndim == 2, "states of several rows")
        ways = 2 if m.bidirectional else 1
        states = [] if state is None else [
            c.given(s) for s in (state if gates == 4 else (state,))]
        y = c.given(x, rows=x.ndim == 3)
        for k in range(m.num_layers):
            options = {"two_biases": True} if gates == 3 else {}
            if states:
                options["state"] = of_layer(states, k, ways, m.hidden_size)
            for way in range(ways):
                weights(c, m, f"r{k}" + ".reverse" * way,
                        f"_l{k}" + "_reverse" * way, gates)
            y = build(y, m.hidden_size, f"r{k}", bidirectional=ways == 2,
                      **options)[0]
        return y
    return make


def of_layer(states, k, ways, n):
    """Layer k's share of PyTorch's h, and c: c before h, way by way."""
    parts = [ls.reshape(ls.slice(s, 0, ways * k, ways), (ways, 1, n))
             for s in reversed(states)]
    shape = (ways,) * (ways > 1) + (2,) * (len(states) > 1) + (n,)
    return ls.reshape(ls.concat(parts, 1), shape)


def weights(c, m, ours, theirs, gates):
    c.param(f"{ours}.dense_i.kernel", getattr(m, "weight_ih" + theirs),
            lambda a: a.T)
    c.param(f"{ours}.dense_h.kernel", getattr(m, "weight_hh" + theirs),
            lambda a: a.T)
    if m.bias:
        c.param(f"{ours}.dense_h.bias", getattr(m, "bias_hh" + theirs))
    if m.bias and gates == 3:
        c.param(f"{ours}.dense_i.bias", getattr(m, "bias_ih" + theirs))


def group_norm(c, m, x):
    need(x.ndim > 2, "no axis of rows")
    c.param("n.scale", m.weight)
    c.param("n.bias", m.bias)
    return ls.group_norm_with(c.given(x, True, True), m.num_groups, "n",
                              epsilon=m.eps)


def attention(c, m, q, k, v, **masks):
    """nn.MultiheadAttention: the layer where all three are one tensor, else by
    parts."""
    w, b, e = m.in_proj_weight, m.in_proj_bias, m.embed_dim
    if q is k is v and not masks and m.bias_k is None and not m.add_zero_attn:
        heads = lambda a: a.reshape(*a.shape[:-1], m.num_heads, -1)
        for i, part in enumerate(("query", "key", "value")):
            cut = slice(i * e, i * e + e)
            c.param(f"a.{part}.kernel", w, lambda a, s=cut: heads(a[s].T))
            if b is not None:
                c.param(f"a.{part}.bias", b, lambda a, s=cut: a[s])
        c.param("a.out.kernel", m.out_proj.weight,
                lambda a: a.T.reshape(m.num_heads, -1, e))
        c.param("a.out.bias", m.out_proj.bias)
        return ls.attention_with(c.given(q, rows=q.ndim == 3), m.num_heads, "a",
                                 qkv_bias=b is not None, out_bias=b is not None)
    need(q.ndim == 2, "an axis of rows")
    x = []
    for i, (part, t) in enumerate(zip("qkv", (q, k, v))):
        cut = slice(i * e, i * e + e)
        c.param(f"{part}.kernel", w, lambda a, s=cut: a[s].T)
        if b is not None:
            c.param(f"{part}.bias", b, lambda a, s=cut: a[s])
        x.append(ls.dense_with(c.given(t), e, part, no_bias=b is None))
    if m.bias_k is not None:
        for i, name in ((1, "bias_k"), (2, "bias_v")):
            c.param(name, getattr(m, name), lambda a: a.reshape(1, e))
            x[i] = ls.concat([x[i], c.g.parameter(name, (1, e))], 0)
    if m.add_zero_attn:
        x[1:] = [ls.concat([a, ls.slice(a, 0, 0, 1) * 0], 0) for a in x[1:]]
    split = [ls.transpose(ls.reshape(a, (a.shape[0], m.num_heads,
                                         e // m.num_heads)), (1, 0, 2))
             for a in x]
    s = split[0] @ ls.transpose(split[1]) * (e / m.num_heads) ** -0.5
    if masks:
        s = s + c.given(shut(s.shape, **masks))
    y = ls.transpose(ls.softmax(s) @ split[2], (1, 0, 2))
    c.param("out.kernel", m.out_proj.weight, lambda a: a.T)
    c.param("out.bias", m.out_proj.bias)
    return ls.dense_with(ls.reshape(y, (q.shape[0], e)), e, "out",
                         no_bias=b is None)


def shut(shape, key_padding_mask=None, attn_mask=None):
    """What masks add to scores (heads,T,S): -infinity where they are true."""
    mask = torch.zeros(shape)
    for m in (key_padding_mask, attn_mask):
        if m is not None:
            mask[..., :m.shape[-1]].masked_fill_(m, -torch.inf)
    return mask


def of_function(name, *members):
    """A module that is an operator with some of its members as arguments."""
    return lambda c, m, *x: OPERATORS["nn.functional." + name](
        c, *x, **{k: getattr(m, k) for k in members})


nn = torch.nn
MODULES = {
    nn.Linear: lambda c, m, x: linear(c, x, m.weight, m.bias),
    nn.Conv2d: lambda c, m, x: conv2d(c, x, m.weight, m.bias, m.stride,
                                      m.padding, m.dilation, m.groups),
    nn.LayerNorm: lambda c, m, x: OPERATORS["nn.functional.layer_norm"](
        c, x, m.normalized_shape, m.weight, m.bias, m.eps),
    nn.RMSNorm: lambda c, m, x: OPERATORS["nn.functional.rms_norm"](
        c, x, m.normalized_shape, m.weight, eps=m.eps),
    nn.GroupNorm: group_norm,
    nn.Embedding: lambda c, m, i: embed(c, m, i),
    nn.LSTM: recurrent(ls.lstm_with, 4), nn.GRU: recurrent(ls.gru_with, 3),
    nn.MultiheadAttention: attention,
    nn.MaxPool2d: of_function("max_pool2d", "kernel_size", "stride", "padding",
                              "dilation", "ceil_mode"),
    nn.AvgPool2d: of_function("avg_pool2d", "kernel_size", "stride", "padding",
                              "ceil_mode", "divisor_override"),
    nn.ReLU: of_function("relu"), nn.ReLU6: of_function("relu6"),
    nn.SiLU: of_function("silu"), nn.GELU: of_function("gelu", "approximate"),
    nn.Softplus: of_function("softplus", "beta", "threshold"),
    nn.ELU: of_function("elu", "alpha"), nn.Softsign: of_function("softsign"),
    nn.LeakyReLU: of_function("leaky_relu", "negative_slope"),
    nn.Hardtanh: of_function("hardtanh", "min_val", "max_val"),
    nn.Tanhshrink: of_function("tanhshrink"),
    nn.LogSigmoid: of_function("logsigmoid"),
    nn.Tanh: lambda c, m, x: ls.tanh(c.given(x)),
    nn.Sigmoid: lambda c, m, x: ls.sigmoid(c.given(x)),
    nn.Softmax: lambda c, m, x: OPERATORS["softmax"](c, x, m.dim),
    nn.LogSoftmax: lambda c, m, x: OPERATORS["log_softmax"](c, x, m.dim),
    nn.Softmin: of_function("softmin", "dim"),
    nn.MSELoss: of_function("mse_loss", "reduction"),
    nn.L1Loss: of_function("l1_loss", "reduction"),
    nn.HuberLoss: of_function("huber_loss", "reduction", "delta"),
    nn.BCEWithLogitsLoss: of_function(
        "binary_cross_entropy_with_logits", "reduction", "weight",
        "pos_weight"),
}


def embed(c, m, i):
    need(m.padding_idx is None and m.max_norm is None, "padding")
    c.param("e.embedding", m.weight)
    return ls.embed(c.given(i), m.num_embeddings, m.embedding_dim, "e")


def near(what, got, want, scale):
    np.testing.assert_allclose(got, want, 2e-5, 2e-6 * scale, err_msg=what)


def largest(a):
    a = np.abs(a[np.isfinite(a)])
    return max(1, a.max()) if a.size else 1


def check(name, want, build, onnx_counts, folder):
    """build(case) is a node whose value is the tensor `want`."""
    want = want[0] if isinstance(want, tuple) and name in (
        "LSTM", "GRU", "MultiheadAttention") else want
    need(isinstance(want, torch.Tensor) and want.dtype == torch.float32,
         "an output that is not one float32 tensor")
    need(want.numel() > 0, "no elements")
    c = Case()
    try:
        y = build(c)
        # A graph wants a parameter, and its output an operator.
        zero = ls.dense_with(c.g.input("zero", (1,)), 1, "nothing",
                             no_bias=True)
        c.g.output(y, "y")
        c.arrays["zero"] = np.zeros((next(iter(c.arrays.values())).shape[0], 1),
                                    np.float32)
        g = c.g.input("g", y.shape)
        extra = ls.reshape(zero, (1,) * len(y.shape))
        c.g.loss(ls.mean_loss(y * g + extra if y.shape else
                              y * g + ls.reshape(zero, ())))
        t = ls.Trainer(c.g, devices=1, workers=1, pin=False)
    except (ls.Error, TypeError, ValueError, IndexError) as e:
        raise Refused(str(e)[:70])
    with t:
        for name, (tensor, turn) in c.params.items():
            t[name] = turn(tensor.detach().numpy())
        compare(t, c, want)
        if onnx:
            onnx_counts.take(name, lambda: runtime(t, c, folder))


def compare(t, c, want):
    inputs = {n: a for n, a in c.arrays.items()}
    got = t.predict("y", **inputs)
    rows = next(iter(c.tensors.values()))[1]
    last = next(iter(c.tensors.values()))[2]
    value = got if rows else got[0]
    value = np.moveaxis(value, -1, 1) if last else value
    w = want.detach().numpy()
    assert value.shape == w.shape, f"shape {value.shape}, not {w.shape}"
    near("value", value, w, largest(w))
    if not want.requires_grad or not np.isfinite(w).all():
        return
    by = [x for x, *_ in list(c.tensors.values()) + list(c.params.values())
          if x.requires_grad]
    rng = np.random.default_rng(0)
    g = rng.uniform(0.5, 1.5, want.shape).astype(np.float32)
    slopes = dict(zip(map(id, by), torch.autograd.grad(
        want, by, torch.from_numpy(g), allow_unused=True)))
    g = np.moveaxis(g, 1, -1) if last else g
    inputs["g"] = np.ascontiguousarray(g if rows else g[None])
    size = inputs["g"].size
    # Sums that cancel leave the roundings of what was added.
    scale = max(largest(s.numpy()) for s in slopes.values() if s is not None)
    try:
        for name, (x, *_) in c.tensors.items():
            if slopes.get(id(x)) is not None:
                s = slopes[id(x)].numpy()
                near(f"gradient by {name}", size * c.back(
                    name, t.input_gradient(name, **inputs)), s, scale)
        hand = ls.Gradients(t)
        hand.compute(**inputs)
        for name, (x, turn) in c.params.items():
            if slopes.get(id(x)) is not None:
                s = turn(slopes[id(x)].numpy())
                near(f"gradient by {name}", size * hand[name], s, scale)
    except ls.Error as e:
        assert e.status == ls.ENONFINITE and any(
            s is not None and not torch.isfinite(s).all()
            for s in slopes.values()), str(e)


def runtime(t, c, folder):
    p = ls.Predictor(t)
    path = os.path.join(folder, "x.onnx")
    try:
        p.save_onnx(path)
    except ls.Error as e:
        raise Refused(str(e)[:60])
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(
        path, providers=["CPUExecutionProvider"])
    arrays = {n: c.arrays[n] for n in p.inputs}
    want = p.predict("y", **arrays)
    got = session.run(["y"], {i.name: arrays[i.name]
                              for i in session.get_inputs()})[0]
    near("onnx", got.reshape(want.shape), want, largest(want))


def main(only=None):
    counts, in_onnx = Counts("operators of op_db"), Counts("their ONNX")
    with tempfile.TemporaryDirectory() as folder:
        for op in op_db:
            if op.name not in OPERATORS or op.variant_test_name or (
                    only and op.name != only):
                continue
            torch.manual_seed(0)
            for sample in op.sample_inputs("cpu", torch.float32,
                                           requires_grad=True):
                given = (sample.input, *sample.args)
                counts.take(op.name, lambda: check(
                    op.name, op.op(*given, **sample.kwargs),
                    lambda c: OPERATORS[op.name](c, *given, **sample.kwargs),
                    in_onnx, folder))
        modules = Counts("modules of module_db")
        for info in module_db:
            name = info.module_cls.__name__
            if info.module_cls not in MODULES or (only and name != only):
                continue
            torch.manual_seed(0)
            for sample in info.module_inputs_func(
                    info, "cpu", torch.float32, True, True):
                modules.take(name, lambda: check_module(
                    info.module_cls, name, sample, in_onnx, folder))
        if only in (None, "MultiheadAttention"):
            for bias in (True, False):
                modules.take("MultiheadAttention", lambda: check_attention(
                    bias, in_onnx, folder))
    return counts.close() + modules.close() + in_onnx.close()


def check_module(cls, name, sample, in_onnx, folder):
    m = cls(*sample.constructor_input.args, **sample.constructor_input.kwargs)
    given = sample.forward_input
    need(given is not None, "no input")
    build = MODULES[cls]
    named = {k: v for k, v in given.kwargs.items() if v is not None}
    need(not named or cls is nn.MultiheadAttention, "arguments by name")
    if isinstance(m, torch.nn.LSTM) and m.bias:
        with torch.no_grad():  # its two biases are one here
            for p, of in m.named_parameters():
                if p.startswith("bias_ih"):
                    of.zero_()
    check(name, m(*given.args, **named),
          lambda c: build(c, m, *given.args, **named), in_onnx, folder)


def check_attention(bias, in_onnx, folder):
    """Of a sequence to itself, which no sample of module_db is."""
    m = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True)
    x = torch.rand(4, 5, 12, requires_grad=True)
    with torch.no_grad():
        for p in m.parameters():
            p.uniform_(-1, 1)
    check("MultiheadAttention", m(x, x, x), lambda c: attention(c, m, x, x, x),
          in_onnx, folder)


sys.exit(main(*sys.argv[1:]) > 0)
