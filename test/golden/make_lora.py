#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write lora_updates.h: a small network whose dense layers have low-rank adapters,
y = x W + bias + (alpha / rank) x A B, written out by hand in PyTorch; only A
and B are trained, by SGD with momentum.

    make_lora.py > lora_updates.h          made with torch 2.13.0, numpy 2.4.6

All arrays are uniform in [-1,1) by numpy.random.RandomState(31), in the order
of the header.
"""
import numpy as np
import torch

ROWS, IN, HIDDEN, OUT, RANK, ALPHA, STEPS, LR = 8, 6, 5, 3, 2, 3.0, 5, 0.02
rs = np.random.RandomState(31)


def uniform(*shape):
    return torch.from_numpy(rs.uniform(-1, 1, shape).astype(np.float32))


names = ["fc.kernel", "fc.bias", "fc.lora_A.kernel", "fc.lora_B.kernel",
         "out.kernel", "out.lora_A.kernel", "out.lora_B.kernel"]
p = dict(zip(names, [uniform(IN, HIDDEN), uniform(HIDDEN), uniform(IN, RANK),
                     uniform(RANK, HIDDEN), uniform(HIDDEN, OUT),
                     uniform(HIDDEN, RANK), uniform(RANK, OUT)]))
x, y = uniform(ROWS, IN), uniform(ROWS, OUT)
start = {k: v.clone() for k, v in p.items()}
trained = [p[n].requires_grad_() for n in names if "lora" in n]
sgd = torch.optim.SGD(trained, lr=LR, momentum=0.9)


def dense(x, name, bias=0):
    low = x @ p[name + ".lora_A.kernel"] @ p[name + ".lora_B.kernel"]
    return x @ p[name + ".kernel"] + bias + ALPHA / RANK * low


losses = []
for _ in range(STEPS):
    sgd.zero_grad()
    z = dense(torch.relu(dense(x, "fc", p["fc.bias"])), "out")
    loss = torch.nn.functional.mse_loss(z, y)
    loss.backward()
    sgd.step()
    losses.append(loss.item())


def array(name, values):
    v = np.asarray(values, np.float64).ravel()
    rows = "\n".join("    " + " ".join(f"{f:.9g}f," for f in v[i:i + 5])
                     for i in range(0, v.size, 5))
    return f"static const float {name}[{v.size}] = {{\n{rows}\n}};\n"


def c_name(name):
    return name.replace(".", "_").lower()


print(f"/* Made by make_lora.py with torch {torch.__version__}. */")
print(f"enum {{ LORA_ROWS = {ROWS}, LORA_IN = {IN}, LORA_HIDDEN = {HIDDEN}, "
      f"LORA_OUT = {OUT},\n       LORA_RANK = {RANK}, LORA_STEPS = {STEPS} }};")
print(f"static const double lora_alpha = {ALPHA}, lora_lr = {LR};")
for n in names:
    print(array(f"lora_{c_name(n)}", start[n]), end="")
for n in names:
    if "lora" in n:
        print(array(f"lora_{c_name(n)}_after", p[n].detach()), end="")
print(array("lora_x", x), end="")
print(array("lora_y", y), end="")
print(array("lora_loss", losses), end="")
print("static const struct {\n    const char *name;\n    int size;\n"
      "    const float *start, *after;\n} lora_params[] = {")
for n in names:
    after = f"lora_{c_name(n)}_after" if "lora" in n else "NULL"
    print(f'    {{"{n}", {p[n].numel()}, lora_{c_name(n)},\n     {after}}},')
print("};")
