# SPDX-License-Identifier: BSD-3-Clause
"""The tool's lm in plain JAX: one jitted step with donated
state, one device on all allowed cores ("one") or the batch cut over as many
host devices as threads ("sharded", JAX's own data parallelism)."""
import os

import lm_shared as shared
import steps

o = steps.options("one", "sharded")
if o.mode == "sharded":  # before jax is imported
    os.environ["XLA_FLAGS"] = \
        f"--xla_force_host_platform_device_count={o.threads}"

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

B1, B2, EPS = 0.9, 0.999, 1e-8


def norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    var = jnp.maximum(0, (x * x).mean(-1, keepdims=True) - mean * mean)
    y = (x - mean) * jax.lax.rsqrt(var + shared.EPS_NORM)
    return y * p[name + ".scale"] + p[name + ".bias"]


def attention(p, name, x):
    q, k, v = (jnp.einsum("btd,dhe->bthe", x, p[f"{name}.{n}.kernel"])
               for n in ("query", "key", "value"))
    y = jax.nn.dot_product_attention(q, k, v)
    return jnp.einsum("bthe,hed->btd", y, p[name + ".out.kernel"])


def feed_forward(p, b, x):
    h = x @ p[b + "Dense_0.kernel"] + p[b + "Dense_0.bias"]
    return jax.nn.gelu(h) @ p[b + "Dense_1.kernel"] + p[b + "Dense_1.bias"]


def loss_fn(p, tokens):
    x = p["tok_emb.embedding"][tokens] + p["pos_emb"]
    for i in range(shared.L):
        b = f"blocks_{i}."
        x = x + attention(p, b + "SelfAttention_0",
                          norm(p, b + "LayerNorm_0", x))
        x = x + feed_forward(p, b, norm(p, b + "LayerNorm_1", x))
    logits = norm(p, "ln_f", x) @ p["head.kernel"]
    logp = jax.nn.log_softmax(logits[:, :-1])
    picked = jnp.take_along_axis(logp, tokens[:, 1:, None], -1)
    return -picked.mean()


def adamw(p, m, v, g, n):
    m = B1 * m + (1 - B1) * g
    v = B2 * v + (1 - B2) * g * g
    u = (m / (1 - B1 ** n)) / (jnp.sqrt(v / (1 - B2 ** n)) + EPS)
    return p - shared.LR * (u + shared.WEIGHT_DECAY * p), m, v


def update(state, tokens):
    p, m, v, n = state
    loss, g = jax.value_and_grad(loss_fn)(p, tokens)
    new = {k: adamw(p[k], m[k], v[k], g[k], n + 1.0) for k in p}
    return tuple({k: new[k][i] for k in p} for i in range(3)) + (n + 1,), loss


def main():
    p = {k: jnp.asarray(a) for k, a in shared.read_safetensors(o.init).items()}
    zeros = [{k: jnp.zeros_like(a) for k, a in p.items()} for _ in "mv"]
    mesh = Mesh(jax.devices(), ("data",))
    rows = NamedSharding(mesh, PartitionSpec("data"))
    state = jax.device_put((p, *zeros, jnp.float32(0)),
                           NamedSharding(mesh, PartitionSpec()))
    jitted = jax.jit(update, donate_argnums=0)

    def step(batch):
        nonlocal state
        state, loss = jitted(state, jax.device_put(batch, rows))
        return float(jax.block_until_ready((state, loss))[1])

    steps.run(step, shared.batches(o.steps), o.metrics,
              {"jax": jax.__version__})


if __name__ == "__main__":
    main()
