# SPDX-License-Identifier: BSD-3-Clause
"""The networks of onnx_models.py: small ones of its own, torchvision's, timm's and
transformers' with random weights, and the rows that each takes."""
import math
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ROWS = 6


class Residual(nn.Module):
    def __init__(self, c, n, step):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, n, 3, step, 1, bias=False), nn.BatchNorm2d(n)
        self.c, self.d = nn.Conv2d(n, n, 3, 1, 1, bias=False), nn.BatchNorm2d(n)
        self.way = nn.Sequential() if c == n and step == 1 else nn.Sequential(
            nn.Conv2d(c, n, 1, step, bias=False), nn.BatchNorm2d(n))

    def forward(self, x):
        return F.relu(self.d(self.c(F.relu(self.b(self.a(x))))) + self.way(x))


def resnet():
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), Residual(8, 8, 1), Residual(8, 16, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


class Block(nn.Module):
    """GPT-2's block, the softmax written out or PyTorch's own attention."""
    def __init__(self, d, heads, steps, own):
        super().__init__()
        self.heads, self.own = heads, own
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.c_attn, self.c_proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc, self.proj = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.register_buffer("mask", torch.tril(torch.ones(steps, steps)).bool(),
                             persistent=False)

    def forward(self, x):
        rows, steps, d = x.shape
        q, k, v = (t.view(rows, steps, self.heads, d // self.heads).transpose(1, 2)
                   for t in self.c_attn(self.ln_1(x)).split(d, dim=2))
        if self.own:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            a = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
            y = F.softmax(a.masked_fill(~self.mask, float("-inf")), -1) @ v
        x = x + self.c_proj(y.transpose(1, 2).reshape(rows, steps, d))
        return x + self.proj(F.gelu(self.fc(self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self, own=False, vocab=40, steps=8, d=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(steps, d)
        self.h = nn.ModuleList(Block(d, 2, steps, own) for _ in range(2))
        self.ln_f, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))[:, -1]


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, **options)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.first = options.get("batch_first", False)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        y = self.layers(x if self.first else x.transpose(0, 1))
        return self.head(y.mean(1 if self.first else 0))


class ViT(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 4, 4)
        self.cls = nn.Parameter(torch.randn(1, 1, d))
        self.place = nn.Parameter(torch.randn(1, 17, d))
        layer = nn.TransformerEncoderLayer(d, 4, 32, batch_first=True, dropout=0.0,
                                           activation="gelu", norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.place
        return self.head(self.layers(x)[:, 0])


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def unit(c, n):
            return nn.Sequential(nn.Conv2d(c, n, 3, padding=1), nn.BatchNorm2d(n),
                                 nn.ReLU())
        self.a, self.b, self.m = unit(3, 6), unit(6, 8), unit(8, 8)
        self.u, self.v, self.out = unit(16, 6), unit(12, 6), nn.Conv2d(6, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        m = F.interpolate(self.m(F.max_pool2d(b, 2)), scale_factor=2)
        u = F.interpolate(self.u(torch.cat([m, b], 1)), scale_factor=2)
        return self.out(self.v(torch.cat([u, a], 1))).mean((2, 3))


class Wave(nn.Module):
    """Dilated causal convolutions over steps, gated."""
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 8, 1)
        self.both = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2 ** i) for i in range(3))
        self.back = nn.ModuleList(nn.Conv1d(8, 8, 1) for i in range(3))
        self.out = nn.Conv1d(8, 4, 1)

    def forward(self, x):
        x = self.first(x)
        for i, (both, back) in enumerate(zip(self.both, self.back)):
            a, b = both(F.pad(x, (2 ** i, 0))).chunk(2, 1)
            x = x + back(torch.tanh(a) * torch.sigmoid(b))
        return self.out(x)[:, :, -1]


class Mobile(nn.Module):
    """A depthwise convolution, squeeze and excitation."""
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Hardswish(),
            nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2d(8), nn.ReLU6(),
            nn.Conv2d(8, 12, 1), nn.SiLU())
        self.share = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(12, 4, 1),
                                   nn.ReLU(), nn.Conv2d(4, 12, 1), nn.Hardsigmoid())
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        x = self.stem(x)
        return self.head((x * self.share(x)).mean((2, 3)))


class Dense(nn.Module):
    """DenseNet's growth: each layer reads all before it."""
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(3 + 4 * i, 4, 3, padding=1)
                                    for i in range(3))
        self.head = nn.Linear(15, 4)

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, F.relu(layer(x))], 1)
        return self.head(F.avg_pool2d(x, 8).flatten(1))


class Shuffle(nn.Module):
    """Groups of channels that change places."""
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 8, 1, groups=2), nn.Conv2d(8, 4, 3, groups=4)

    def forward(self, x):
        x = F.relu(self.a(x))
        rows, c, h, w = x.shape
        x = x.view(rows, 2, c // 2, h, w).transpose(1, 2).reshape(rows, c, h, w)
        return self.b(x).amax((2, 3))


class Sets(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(3, 16), nn.ELU(), nn.Linear(16, 16))
        self.all = nn.Sequential(nn.Linear(32, 16), nn.SELU(), nn.Linear(16, 4))

    def forward(self, x):
        x = self.each(x)
        return self.all(torch.cat([x.sum(1), x.amax(1)], 1))


class Waves(nn.Module):
    """A PINN's network."""
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 24), nn.Linear(24, 24)])
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sin(layer(x))
        return self.head(x)


class RmsNorm(nn.Module):
    """Llama's norm and gated unit, by hand."""
    def __init__(self, d=12):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(d) + 0.5)
        self.gate, self.up = nn.Linear(d, 24, bias=False), nn.Linear(d, 24, bias=False)
        self.down, self.head = nn.Linear(24, d, bias=False), nn.Linear(d, 4)

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        return self.head((x + self.down(F.silu(self.gate(y)) * self.up(y))).mean(1))


def group_norms():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.GroupNorm(4, 8), nn.Mish(), nn.Conv2d(8, 8, 3),
        nn.InstanceNorm2d(8, affine=True), nn.LeakyReLU(0.1), nn.AdaptiveMaxPool2d(1),
        nn.Flatten(), nn.Linear(8, 4))


class ConvNext(nn.Module):
    """A norm of channels between transposes, a scale of each channel."""
    def __init__(self, d=8):
        super().__init__()
        self.stem, self.wide = nn.Conv2d(3, d, 2, 2), nn.Conv2d(d, d, 5, 1, 2, groups=d)
        self.norm, self.scale = nn.LayerNorm(d), nn.Parameter(torch.rand(d))
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.head = nn.Linear(d, 4)

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.wide(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(F.gelu(self.up(y)))
        return self.head((x + y.permute(0, 3, 1, 2)).mean((2, 3)))


class Mixer(nn.Module):
    """Dense layers over steps and over channels in turn."""
    def __init__(self, steps=6, d=8):
        super().__init__()
        self.a, self.b = nn.Linear(steps, 12), nn.Linear(12, steps)
        self.norm, self.c, self.head = nn.LayerNorm(d), nn.Linear(d, d), nn.Linear(d, 4)

    def forward(self, x):
        x = x + self.b(F.gelu(self.a(self.norm(x).transpose(1, 2)))).transpose(1, 2)
        return self.head(F.relu(self.c(x))[:, 0])


def numbers(*shape):
    return np.random.default_rng(0).standard_normal((ROWS, *shape)).astype(np.float32)


def words(steps):
    """No 0, whose row of a table a padding_idx of PyTorch's may keep: no file says so."""
    return np.random.default_rng(0).integers(1, 40, (ROWS, steps))


SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}


class Picked(nn.Module):
    """A network of transformers with random weights: its last token, or what is named.
    A mask that is made beforehand, as theirs looks for several texts in a row."""
    def __init__(self, kind, pick=None, part=None, causal=False, **options):
        super().__init__()
        import transformers
        config = getattr(transformers, kind + "Config")(**options)
        net = getattr(transformers, kind + "Model")(config)
        self.net, self.pick = getattr(net, part) if part else net, pick
        mask = torch.full((1, 1, 8, 8), torch.finfo(torch.float32).min).triu(1)
        self.more = {"attention_mask": mask} if causal else {}

    def forward(self, x):
        y = self.net(x, **self.more)
        return getattr(y, self.pick) if self.pick else y.last_hidden_state[:, -1]


def language(kind, **options):
    cached = {} if "Bert" in kind else {"use_cache": False, "causal": True}
    return lambda: Picked(kind, vocab_size=40, **SMALL, **cached, **options), words(8)


def vision(name, size=64, **options):
    def make():
        from torchvision import models
        return getattr(models, name)(weights=None, num_classes=10, **options)
    return make, numbers(3, size, size)


def timm(name, **options):
    def make():
        from timm import create_model
        return create_model(name, num_classes=10, **options)
    return make, numbers(3, options.get("img_size", 64), options.get("img_size", 64))


class Up(nn.Module):
    """A U-Net's way up by transposed convolutions."""
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 4, 3, 1, 1), nn.Conv2d(4, 6, 3, 2, 1)
        self.up, self.c = nn.ConvTranspose2d(6, 4, 2, 2), nn.Conv2d(8, 3, 3, 1, 1)

    def forward(self, x):
        a = F.relu(self.a(x))
        return self.c(torch.cat([self.up(F.gelu(self.b(a))), a], 1)).mean((2, 3))


class RealMlp(nn.Module):
    """Periodic features of each number, a scale of each, layers by sqrt of width."""
    def __init__(self, n=5, k=4):
        super().__init__()
        self.w, self.p = nn.Parameter(torch.randn(n, k)), nn.Parameter(torch.randn(n, k))
        self.wide = nn.Parameter(torch.randn(n, k, 3))
        self.scale = nn.Parameter(torch.ones(n * 4))
        self.layers = nn.ModuleList([nn.Linear(n * 4, 16), nn.Linear(16, 3)])

    def forward(self, x):
        z = torch.cos(2 * math.pi * x.unsqueeze(-1) * self.w + self.p)
        z = torch.einsum("bnk,nkd->bnd", z, self.wide)
        x = torch.cat([x.unsqueeze(-1), z], -1).flatten(1) * self.scale
        x = F.selu(self.layers[0](x) / math.sqrt(x.shape[1]))
        return self.layers[1](x)


class Grouped(nn.Module):
    """Llama's attention: rotary positions, two query heads for one of keys."""
    def __init__(self, d=16, heads=4, groups=2, steps=8, vocab=40):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, d // heads
        self.embed, self.head = nn.Embedding(vocab, d), nn.Linear(d, vocab, bias=False)
        self.q, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.k, self.v = (nn.Linear(d, groups * self.size, bias=False) for _ in range(2))
        self.norm = nn.RMSNorm(d, 1e-5)
        angle = torch.outer(torch.arange(steps), 1e4 ** -torch.linspace(0, 1, self.size // 2))
        self.cos, self.sin = (f(torch.cat([angle, angle], -1)) for f in (torch.cos, torch.sin))

    def turned(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, tokens):
        x = self.embed(tokens)
        y, (rows, steps, d) = self.norm(x), x.shape

        def split(z, n):
            return z.view(rows, steps, n, self.size).transpose(1, 2)
        q = self.turned(split(self.q(y), self.heads))
        k, v = self.turned(split(self.k(y), self.groups)), split(self.v(y), self.groups)
        k, v = (z[:, :, None].expand(-1, -1, self.heads // self.groups, -1, -1).reshape(
            rows, self.heads, steps, self.size) for z in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(x + self.o(y.transpose(1, 2).reshape(rows, steps, d)))[:, -1]


def sklearn(path, x):
    """A trained MLP of scikit-learn's, by skl2onnx: its outputs alone are compared."""
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPRegressor
    net = MLPRegressor(hidden_layer_sizes=(16, 8), activation="tanh", max_iter=50,
                       random_state=0).fit(
        np.repeat(x, 4, 0), np.repeat(x[:, 0], 4, 0))
    with open(path, "wb") as f:
        f.write(to_onnx(net, x[:1], target_opset=20).SerializeToString())


def keras(path, x):
    """A network of Keras's, by tf2onnx: its outputs alone are compared."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    import tf2onnx
    layers = tf.keras.layers
    net = tf.keras.Sequential([
        layers.Input(x.shape[1:]), layers.Conv2D(6, 3, activation="relu"),
        layers.BatchNormalization(), layers.MaxPooling2D(), layers.Flatten(),
        layers.Dense(16, activation="swish"), layers.Dense(3)])
    tf2onnx.convert.from_function(
        tf.function(lambda x: net(x, training=False)),
        [tf.TensorSpec((None, *x.shape[1:]), tf.float32, name="x")], opset=18,
        output_path=path)


class Last(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell, self.head = cell, nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.cell(x)[0][:, -1])


class Amplifier(nn.Module):
    """An LSTM from a state that is learned, without biases; its last state."""
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(1, 6, bias=False, batch_first=True)
        self.h, self.c = (nn.Parameter(torch.randn(1, 1, 6)) for _ in range(2))
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        state = (s.expand(-1, x.shape[0], -1).contiguous() for s in (self.h, self.c))
        y, (h, c) = self.cell(x, tuple(state))
        return self.head(torch.cat([h[0] + y[:, -2], c[0]], 1))


NETS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16),
                                  nn.Tanh(), nn.Linear(16, 3)), numbers(8)),
    "autoencoder": (lambda: nn.Sequential(
        nn.Flatten(), nn.Linear(64, 16), nn.ELU(), nn.Linear(16, 4), nn.SELU(),
        nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 64), nn.Sigmoid()),
        numbers(1, 8, 8)),
    "lenet": (lambda: nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 8, 3),
        nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32, 10)), numbers(1, 12, 12)),
    "squeezed": (lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.Conv2d(8, 5, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()), numbers(3, 16, 16)),
    "resnet": (resnet, numbers(3, 32, 32)), "unet": (UNet, numbers(3, 16, 16)),
    "mobile": (Mobile, numbers(3, 16, 16)), "dense": (Dense, numbers(3, 8, 8)),
    "shuffle": (Shuffle, numbers(4, 6, 6)), "norms": (group_norms, numbers(3, 10, 10)),
    "convnext": (ConvNext, numbers(3, 8, 8)), "wave": (Wave, numbers(1, 20)),
    "gpt": (Gpt, words(8)), "gpt-own": (lambda: Gpt(True), words(8)),
    "encoder": (Encoder, numbers(5, 16)),
    "encoder-first": (lambda: Encoder(batch_first=True, norm_first=True), numbers(5, 16)),
    "vit": (ViT, numbers(3, 16, 16)), "sets": (Sets, numbers(7, 3)),
    "pinn": (Waves, numbers(2)), "llama-unit": (RmsNorm, numbers(5, 12)),
    "mixer": (Mixer, numbers(6, 8)),
    "prelu": (lambda: nn.Sequential(nn.Linear(6, 8), nn.PReLU(8), nn.LayerNorm(8),
                                    nn.Linear(8, 3)), numbers(6)),
    "batch-norm-1d": (lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8),
                                            nn.Hardtanh(), nn.Linear(8, 3)), numbers(6)),
    "deconv": (lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 2, 2), nn.Flatten(),
                                     nn.Linear(256, 3)), numbers(3, 4, 4)),
    "deconv-odd": (lambda: nn.Sequential(
        nn.ConvTranspose2d(4, 6, (3, 4), (2, 3), 1, (1, 2), groups=2, dilation=(2, 1)),
        nn.ReLU(), nn.ConvTranspose2d(6, 2, 1, 2, bias=False), nn.Flatten(1, 2),
        nn.Tanh(), nn.ConvTranspose1d(46, 3, 3, padding=2), nn.Flatten(1)),
        numbers(4, 5, 4)),
    "dcgan": (lambda: nn.Sequential(
        nn.Unflatten(1, (12, 1, 1)), nn.ConvTranspose2d(12, 8, 4, 1, 0, bias=False),
        nn.BatchNorm2d(8), nn.ReLU(), nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False),
        nn.BatchNorm2d(4), nn.ReLU(), nn.ConvTranspose2d(4, 1, 4, 2, 1, bias=False),
        nn.Tanh(), nn.Flatten()), numbers(12)),
    "lstm": (lambda: Last(nn.LSTM(3, 8, batch_first=True)), numbers(6, 3)),
    "lstm-deep": (lambda: Last(nn.LSTM(3, 8, 2, batch_first=True)), numbers(6, 3)),
    "lstm-both": (lambda: Last(nn.LSTM(3, 4, bidirectional=True, batch_first=True)),
                  numbers(6, 3)),
    "gru": (lambda: Last(nn.GRU(3, 8, batch_first=True)), numbers(6, 3)),
    "gru-both": (lambda: Last(nn.GRU(3, 4, 2, bidirectional=True, batch_first=True)),
                 numbers(6, 3)),
    "amplifier": (Amplifier, numbers(9, 1)),
    "pixels": (lambda: nn.Sequential(nn.Conv2d(2, 12, 3, 1, 1), nn.PixelShuffle(2),
                                     nn.Tanh(), nn.PixelUnshuffle(4), nn.Flatten()),
               numbers(2, 4, 4)),
    "unet-up": (Up, numbers(2, 8, 8)), "realmlp": (RealMlp, numbers(5)),
    **{name: vision(name, **options) for name, options in {
        "resnet18": {}, "mobilenet_v3_small": {}, "squeezenet1_1": {},
        "efficientnet_b0": {}, "shufflenet_v2_x0_5": {}, "densenet121": {"size": 32},
        "convnext_tiny": {"size": 32}, "regnet_y_400mf": {}, "mnasnet0_5": {},
        "googlenet": {"init_weights": False, "aux_logits": False},
        "swin_t": {"size": 32}}.items()},
    **{f"timm-{name}": timm(name, **options) for name, options in {
        "resnet10t": {}, "vit_tiny_patch16_224": {"img_size": 32},
        "mixer_s32_224": {"img_size": 64}, "ghostnet_100": {},
        "mobilevit_xxs": {}}.items()},
    "gpt2": language("GPT2", n_embd=16, n_layer=2, n_head=2, n_positions=16),
    "llama": language("Llama", intermediate_size=32, num_key_value_heads=2),
    "qwen2": language("Qwen2", intermediate_size=32, num_key_value_heads=2),
    "bert": language("Bert", intermediate_size=32, max_position_embeddings=16),
    "distilbert": language("DistilBert", dim=16, hidden_dim=32, n_layers=2, n_heads=4),
    "vit-tiny": (lambda: Picked("ViT", "pooler_output", **SMALL, image_size=32,
                                patch_size=8, intermediate_size=32), numbers(3, 32, 32)),
    "whisper": (lambda: Picked("Whisper", None, part="encoder", d_model=16,
                               encoder_layers=2, encoder_attention_heads=4,
                               encoder_ffn_dim=32, decoder_layers=1, num_mel_bins=8,
                               decoder_attention_heads=4, max_source_positions=16,
                               vocab_size=60, pad_token_id=0, bos_token_id=1,
                               eos_token_id=2, decoder_start_token_id=1),
                numbers(8, 32)),
    "llama-attention": (Grouped, words(8)),
    "sklearn-mlp": (None, numbers(8)), "keras-cnn": (None, numbers(12, 12, 2)),
}
WRITTEN = {"sklearn-mlp": sklearn, "keras-cnn": keras}  # files that PyTorch does not write
