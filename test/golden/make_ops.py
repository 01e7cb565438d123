#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Values and gradients of operators by JAX, for test_ops.c: writes ops.h.

    python make_ops.py >ops.h          made with jax 0.10.2, numpy 2.4.6

Inputs are what test_ops.c gives them: input k is uniform in [-1, 1) from key k,
times scale, plus shift, plus or minus apart in turn; dy is uniform from key 30,
parameters from key 20.
"""
import jax
import jax.numpy as jnp
import numpy as np

nn = jax.nn


def uniform(seed, shape):
    return jax.random.uniform(jax.random.key(seed), shape, jnp.float32, -1, 1)


def inputs(shapes, scale, apart, shift):
    out = []
    for k, shape in enumerate(shapes):
        n = int(np.prod(shape))
        sign = np.where((np.arange(n) + k) % 2, 1, -1).reshape(shape)
        x = np.asarray(uniform(k, (n,))).reshape(shape) * np.float32(scale)
        out.append(jnp.asarray(x + np.float32(shift) +
                               np.float32(apart) * sign.astype(np.float32)))
    return out


def entropy(x, t):  # optax.sigmoid_binary_cross_entropy
    return -t * nn.log_sigmoid(x) - (1 - t) * nn.log_sigmoid(-x)


def divergence(x, t):  # optax.kl_divergence, before its sum
    return t * (jnp.where(t == 0, 0, jnp.log(jnp.where(t == 0, 1, t))) - x)


# operator, kind, function, inputs, scale, apart, shift: as in test_ops.c
TERMS = [
    ("sub", 0, lambda a, b: a - b, 2, 1, 0, 0),
    ("mul", 0, lambda a, b: a * b, 2, 1, 0, 0),
    ("div", 0, lambda a, b: a / b, 2, 1, 1.5, 0),
    ("min", 0, jnp.minimum, 2, 0.9, 1, 0),
    ("max", 0, jnp.maximum, 2, 0.9, 1, 0),
    ("scale", 0, lambda a: -0.75 * a + 0.25, 1, 1, 0, 0),
    ("square", 0, jnp.square, 1, 1, 0, 0),
    ("sqrt", 0, jnp.sqrt, 1, 1, 0, 1.5),
    ("exp", 0, jnp.exp, 1, 3, 0, 0),
    ("log", 0, jnp.log, 1, 1, 0, 1.5),
    ("abs", 0, jnp.abs, 1, 0.9, 1, 0),
    ("clamp", 0, lambda a: jax.lax.clamp(jnp.float32(-0.5), a, jnp.float32(2)),
     1, 0.4, 1, 0),
    ("pow", 0, lambda a: a ** 2.5, 1, 1, 0, 1.5),
    ("pow", 1, lambda a: a ** -3.0, 1, 1, 0, 1.5),
    ("leaky_relu", 0, lambda a: nn.leaky_relu(a, 0.25), 1, 0.9, 1, 0),
    ("elu", 0, lambda a: nn.elu(a, 0.75), 1, 0.9, 1, 0),
    ("softplus", 0, nn.softplus, 1, 6, 0, 0),
    ("silu", 0, nn.silu, 1, 6, 0, 0),
    ("binary_entropy", 0, entropy, 2, 3, 0, 0),
    ("divergence", 0, divergence, 2, 1, 0, 1.5),
]

# operator, kind, sample with the rows first, function, scale
SHAPES = [
    ("transpose", 1, (2, 3, 4, 5), lambda a: jnp.transpose(a, (0, 2, 3, 1)), 1),
    ("sum", 0, (2, 3, 4, 5), lambda a: a.sum(-1), 1),
    ("sum", 1, (2, 3, 4, 5), lambda a: a.sum(1), 1),
    ("max_over", 1, (2, 3, 4, 5), lambda a: a.max(1), 1),
    ("softmax", 0, (2, 3, 5), nn.softmax, 5),
    ("log_softmax", 0, (2, 3, 5), nn.log_softmax, 5),
]


def rms(a):  # flax.nnx.RMSNorm
    from flax import nnx
    norm = nnx.RMSNorm(a.shape[-1], epsilon=1e-6, rngs=nnx.Rngs(0))
    norm.scale[...] = uniform(20, (a.shape[-1],))
    return norm(a)


def batch(a):  # flax.nnx.BatchNorm in inference
    from flax import nnx
    c = a.shape[-1]
    norm = nnx.BatchNorm(c, use_running_average=True, epsilon=1e-5,
                         rngs=nnx.Rngs(0))
    norm.scale[...] = uniform(20, (c,))
    norm.bias[...] = uniform(21, (c,))
    norm.mean[...] = uniform(22, (c,))
    norm.var[...] = uniform(23, (c,)) + 1.5
    return norm(a)


def rotary(base, heads):
    def turn(a):  # as on Hugging Face's Llama
        d = a.shape[-1] // heads
        power = jnp.arange(0, d, 2, jnp.float32) / jnp.float32(d)
        angle = jnp.outer(jnp.arange(a.shape[1], dtype=jnp.float32),
                          1 / jnp.float32(base) ** power)
        angle = jnp.tile(angle, (1, 2))[:, None]
        x = a.reshape(*a.shape[:-1], heads, d)
        turned = jnp.concatenate([-x[..., d // 2:], x[..., :d // 2]], -1)
        return (x * jnp.cos(angle) + turned * jnp.sin(angle)).reshape(a.shape)
    return turn


# operator, kind, sample, shape of the input, function, scale, apart
LAYERS = [
    ("rms_norm", 0, (2, 3, 5), (2, 3, 5), rms, 1, 1.5),
    ("rotary", 0, (2, 7, 4), (2, 7, 8), rotary(50, 1), 1, 0),
    ("rotary", 1, (2, 7, 4), (2, 7, 8), rotary(10000, 4), 1, 0),
    ("rotary", 2, (2, 7, 4), (2, 7, 16), rotary(10000, 2), 1, 0),
    ("batch_norm", 0, (2, 3, 5), (2, 3, 5), batch, 1, 1.5),
]

# Of (2; 2,3,4), the shape whose number in op_samples.h chooses axis 1 of each.
# operator, kind, inputs, function; inputs that are no floats are not among them.
MOVED = (2, 2, 3, 4)
INDICES = jax.random.randint(jax.random.key(1), (4,), 0, 2).reshape(2, 2)
MOVES = [
    ("slice", 0, [MOVED], lambda a: a[:, :, 1:3]),
    ("broadcast", 0, [(2, 3, 4)],
     lambda a: jnp.broadcast_to(a[:, None], MOVED)),
    ("broadcast", 1, [(2, 2, 1, 4)], lambda a: jnp.broadcast_to(a, MOVED)),
    ("concat", 1, [MOVED, (2, 2, 4, 4)],
     lambda a, b: jnp.concatenate([a, b], 2)),
    ("matmul", 0, [MOVED, (2, 2, 4, 17)], jnp.matmul),
    ("gather", 1, [MOVED],
     lambda a: jax.vmap(lambda x, i: x[i])(a, INDICES[:, None])),
    ("one_hot", 0, [], lambda: nn.one_hot(
        jax.random.randint(jax.random.key(0), (48,), 0, 7).reshape(MOVED), 7)),
]

lists = []


def array(x):
    lists.append(np.asarray(x, np.float32).ravel())
    text = ", ".join(float(v).hex() + "f" for v in lists[-1])
    print(f"static const float ops_{len(lists)}[] = {{{text}}};")
    return f"ops_{len(lists)}"


def row(op, kind, dims, fn, xs):
    """One case: dims are the sample's, the rows first."""
    y, back = jax.vjp(fn, *xs)
    gradients = back(uniform(30, (y.size,)).reshape(y.shape))
    names = [array(v) for v in (y, *gradients)] + ["NULL", "NULL"]
    shape = ", ".join(str(d) for d in dims[1:])
    return (f'    {{"{op}", {kind}, {{{dims[0]}, {len(dims) - 1}, '
            f'{{{shape}}}}}, {names[0]}, {{{names[1]}, {names[2]}}}}},')


print("/* Made by make_ops.py with jax " + jax.__version__ + ". */")
rows = []
for op, kind, fn, count, *x in TERMS:
    dims = (3, 5)
    rows.append(row(op, kind, dims, fn, inputs([dims] * count, *x)))
for op, kind, dims, fn, scale in SHAPES:
    rows.append(row(op, kind, dims, fn, inputs([dims], scale, 0, 0)))
for op, kind, dims, shape, fn, scale, apart in LAYERS:
    rows.append(row(op, kind, dims, fn, inputs([shape], scale, apart, 0)))
for op, kind, shapes, fn in MOVES:
    rows.append(row(op, kind, MOVED, fn, inputs(shapes, 1, 0, 0)))
print("\n/* operator, kind, sample, value, gradients */")
print("static const golden goldens[] = {")
print("\n".join(rows))
print("};")
