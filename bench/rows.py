# SPDX-License-Identifier: BSD-3-Clause
"""What bench/run measures: rows of sides, each a command.  A model to come is
one more row with a script in sides/."""
from dataclasses import dataclass, field

LOSS_TOLERANCE = 1e-4


@dataclass
class Side:
    name: str
    command: list                # {build} {bin} {python} {peers} {init}
    needs: str = ""              # "full", "jax", "onnx",
                                 # "mpi": a build with it and its mpirun
    agree: int = 20              # losses, from the first, that must agree
    alone: list = None           # the command on one worker or thread


@dataclass
class Ratio:
    """factor x (a / b), over minima, over each round's medians, and over
    processor time where that was counted."""
    name: str
    a: str
    b: str
    factor: float = 1
    better: str = "lower"


@dataclass
class Row:
    name: str
    steps: int                   # the first WARM of them are dropped
    quick: int                   # steps without --full
    sides: list
    ratios: list = field(default_factory=list)
    init: str = ""               # the model whose saved parameters all load
    tolerance: float = LOSS_TOLERANCE
    start: list = None           # what saves them; absent: lockstep's side


def train(name, model, devices, workers, *more, needs="", isa=None):
    def on(workers):
        return [*(["env", "LS_ISA=" + isa] if isa else []),
                "{bin}/lockstep-train", model, "--devices", str(devices),
                "--workers", str(workers), *more]
    return Side(name, on(workers), needs, alone=on(1))


def ours(model, *more):
    return train("lockstep", model, 2, 2, *more)


def levels(model, *more):
    """The same on AVX2's level, and with BLIS's products."""
    return [train("lockstep, AVX2", model, 2, 2, *more, isa="x86-64-v3",
                  needs="full"),
            train("lockstep, BLIS", model, 2, 2, *more, "--backend", "blis",
                  needs="full")]


def peer(name, script, *more, needs=""):
    command = ["{python}", "-B", "{peers}/" + script, "--init", "{init}",
               *more]
    return Side(name, command, needs, 20,
                # JAX has one thread by processors alone
                None if needs == "jax" else [*command, "--threads", "1"])


def ranks(model):
    """Two processes of one worker, or one thread, against one of two."""
    launch = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1",
              "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun", "-n", "2",
              "--bind-to", "none"]
    tool = ["{bin}/lockstep-train", model, "--devices", "2", "--workers"]
    return Row(model + " ranks", 33, 13 if model == "lm" else 23, [
        Side("lockstep", [*tool, "2"], "mpi"),
        Side("lockstep, 2 ranks", [*launch, *tool, "1"], "mpi"),
        Side("torch", ["{python}", "-B", f"{{peers}}/{model}_torch.py",
                       "--init", "{init}"], "mpi"),
        Side("torch DDP", ["{python}", "-B", "{peers}/ddp_torch.py", model,
                           "--init", "{init}"], "mpi"),
    ], [
        Ratio("lockstep / torch", "lockstep", "torch"),
        Ratio("2 ranks / DDP", "lockstep, 2 ranks", "torch DDP"),
        Ratio("2 ranks / lockstep", "lockstep, 2 ranks", "lockstep"),
        Ratio("DDP / torch", "torch DDP", "torch"),
    ], init=model, tolerance=2e-3 if model == "cnn" else LOSS_TOLERANCE)


def resnet(name, *precision):
    """ResNet-20, batch norms of all rows, a rate at which rounding is not
    amplified within the losses that are compared."""
    def there(side, *more, needs=""):
        return peer(side, "resnet_torch.py", *precision, *more, needs=needs)
    mine = ["--depth", "20", "--lr", "0.01", "--schedule", "constant"]
    sides = [ours("resnet", *mine, *precision), there("torch"),
             there("torch contiguous", "--layout", "contiguous", needs="full"),
             there("torch compiled", "--mode", "compile", needs="full")]
    others = ["torch", "torch contiguous", "torch compiled"]
    ratios = against(*others)
    if precision:
        sides.insert(2, train("lockstep f32", "resnet", 2, 2, *mine))
        ratios.append(Ratio("bf16 / f32", "lockstep", "lockstep f32"))
    return Row(name, 23, 9, sides, ratios, init="resnet",
               tolerance=2e-2 if precision else 2e-3)


def bf16(model, quick, tolerance):
    """bf16 layers beside autocast, and beside layers of f32."""
    half = ["--precision", "bf16"]
    return Row(model + " bf16", 33, quick, [
        train("lockstep", model, 2, 2, *half),
        peer("torch", model + "_torch.py", *half),
        train("lockstep f32", model, 2, 2),
        peer("torch compiled", model + "_torch.py", *half, "--mode", "compile",
             needs="full"),
    ], [*against("torch", "torch compiled"),
        Ratio("bf16 / f32", "lockstep", "lockstep f32")],
        init=model, tolerance=tolerance)


# What keeps PyTorch's own kernels, oneDNN's and MKL's on AVX2.
AVX2 = ["env", "ATEN_CPU_CAPABILITY=avx2", "ONEDNN_MAX_CPU_ISA=AVX2",
        "MKL_ENABLE_INSTRUCTIONS=AVX2"]


def avx2(model, steps, quick, mine=(), there=(), tolerance=LOSS_TOLERANCE):
    """Both sides on a CPU that has AVX2 and no more."""
    torch = peer("torch", model + "_torch.py", *there)
    torch.command = AVX2 + torch.command
    torch.alone = AVX2 + torch.alone
    return Row(model + " AVX2", steps, quick, [
        train("lockstep", model, 2, 2, *mine, isa="x86-64-v3"), torch,
    ], against("torch"), init=model, tolerance=tolerance)


def adapters():
    """One worker.  Beside all weights, those of adapters alone are trained."""
    text = ["--data", "{text}"]

    def side(name, *more):
        found = train(name, "gpt", 2, 1, *text, "--init", "{init}", *more)
        found.agree = 1
        return found
    sides = [side("all weights"), side("adapters", "--lora", "8"),
             side("adapters on kernels", "--lora", "8:on=*.kernel")]
    return Row("adapters", 33, 11, sides, [
        Ratio(f"{s.name} / all", s.name, "all weights") for s in sides[1:]],
        init="gpt", start=train("", "gpt", 2, 2, *text).command)


def recurrent(cell):
    def here(workers):
        return ["{build}/bench-recurrent", "--cell", cell, "--workers",
                str(workers)]
    there = ["{python}", "-B", "{peers}/recurrent_torch.py", "--cell", cell]

    return Row(cell, 43, 13, [
        Side("lockstep", here(2), alone=here(1)),
        Side("PyTorch", there, alone=[*there, "--threads", "1"]),
    ], against("PyTorch"))


def sparse(name, kings):
    def here(side, lazy):
        def on(workers):
            return ["{build}/bench-sparse", "--kings", str(kings), "--lazy",
                    str(lazy), "--workers", str(workers)]
        return Side(side, on(2), alone=on(1))

    def there(side, of_lists):
        command = ["{python}", "-B", "{peers}/sparse_torch.py", "--kings",
                   str(kings), "--sparse", str(of_lists)]
        # SparseAdam has its epsilon elsewhere, and gradients are small
        return Side(side, command, agree=1 if of_lists else 20,
                    alone=[*command, "--threads", "1"])
    return Row(name, 23, 9, [
        here("lockstep", 0), here("lockstep, lazy Adam", 1),
        there("PyTorch", 0), there("PyTorch, SparseAdam", 1),
    ], [*against("PyTorch", "PyTorch, SparseAdam"),
        *(Ratio("lazy Adam / " + x, "lockstep, lazy Adam", x)
          for x in ("PyTorch", "PyTorch, SparseAdam"))])


def tokens(name, window):
    """Texts that must be the same to the last token."""
    def ours(side, *more):
        command = ["{build}/bench-tokens", "--init", "{init}", *more]
        return Side(side, command, alone=command)

    def there(side, threads, *more, needs=""):
        return peer(side, "tokens_torch.py", "--threads", threads, *more,
                    needs=needs)
    return Row(name, 23, 8, [
        ours("lockstep"), ours("lockstep, 2 workers", "--workers", "2"),
        there("PyTorch", "1"),
        there("PyTorch, 2 threads", "2"),
        there("PyTorch, no cache", "1", "--mode", "whole",
              needs="full" if window > 64 else ""),
        there("PyTorch compiled", "1", "--mode", "compiled", needs="full"),
    ], [*against("PyTorch", "PyTorch, 2 threads", "PyTorch, no cache",
                 "PyTorch compiled"),
        Ratio("2 workers / 2 threads", "lockstep, 2 workers",
              "PyTorch, 2 threads")], init=name, tolerance=0,
        start=train("", "gpt", 2, 2, "--data", "{text}", "--seq-len",
                    str(window)).command)


def linear_step(name, workers, *more):
    return Side(name, ["{build}/bench-linear_step", "--workers", str(workers),
                       *more])


def predict(model, *more):
    """One row, image or sequence by one thread: a step is a block of them."""
    def there(name, *options, needs=""):
        return Side(name, ["{python}", "-B", f"{{peers}}/predict_{name}.py",
                           "--threads", "1", "--init", "{init}", *options],
                    needs)
    name = "predict " + model
    return Row(name, 23, 8, [
        Side("lockstep", ["{build}/bench-predict", "--init", "{init}"]),
        there("torch", "--model", model),
        there("onnx", "--predict", "{bin}/lockstep-predict", needs="onnx"),
    ], against("torch", "onnx", "sum"),  # of rounds that are stored
        init=name, tolerance=2e-3,
        start=train("", model, 2, 2, *more).command)


def against(*others):
    return [Ratio("lockstep / " + x, "lockstep", x) for x in others]


def efficiency(name, one, many, workers=2):
    return Ratio(name, one, many, 1 / workers, "higher")


def doubled(cores):
    """1, 2, 4 .. cores"""
    counts = [1]
    while counts[-1] < cores:
        counts.append(min(2 * counts[-1], cores))
    return counts


def many(name, cores, steps, quick, mine, there, tolerance=LOSS_TOLERANCE):
    """One experiment of as many devices as cores, on 1, 2, 4 .. workers and
    by as many threads of PyTorch, all of which may use all of the cores."""
    counts = doubled(cores)
    model, script = name.split()[0], name.split()[0] + "_torch.py"
    here = {n: f"lockstep {n}" for n in counts}
    peers = {n: f"torch {n}" for n in counts}
    sides = [side for n in counts for side in (
        train(here[n], model, cores, n, "--state", "shard", *mine),
        peer(peers[n], script, "--threads", str(n), *there))]
    bound = peer(f"torch {cores} pinned", script, "--threads", str(cores),
                 *there)
    bound.command = ["env", "OMP_PROC_BIND=true", "OMP_PLACES=cores",
                     *bound.command]
    compiled = peer(f"torch {cores} compiled", script, "--threads", str(cores),
                    "--mode", "compile", *there, needs="full")
    return Row(f"{name} on {cores} cores", steps, quick,
               [*sides, bound, compiled],
               [*(Ratio(f"{here[n]} / {peers[n]}", here[n], peers[n])
                  for n in counts),
                *(Ratio(f"{here[cores]} / {side.name}", here[cores], side.name)
                  for side in (bound, compiled)),
                *(efficiency(f"{side} 1 -> {n}", all_of[1], all_of[n], n)
                  for side, all_of in (("lockstep", here), ("torch", peers))
                  for n in counts[1:])], init=model, tolerance=tolerance,
               start=train("", model, cores, cores, *mine).command)


def of_cores(cores):
    """The rows of bench/run --cores N."""
    batch = ["--batch", "128"]
    rows = ["--x", "{x}", "--y", "{y}"]
    return [
        many("lm", cores, 23, 7, batch, batch),
        many("cnn", cores, 33, 13, [], [], 2e-3),
        many("mlp", cores, 103, 53, [*rows, "--batch", "256", "--no-shuffle"],
             rows, 2e-3),
        many("gpt", cores, 23, 9, ["--data", "{text}"],
             ["--data", "{text}"]),
        many("lm bf16", cores, 23, 7, [*batch, "--precision", "bf16"],
             [*batch, "--precision", "bf16"], 1e-2),
    ]


def found(name):
    """-> the row of that name, or None."""
    cores = name.rpartition(" on ")[2].partition(" cores")[0]
    more = of_cores(int(cores)) if cores.isdigit() else []
    return next((r for r in ROWS + more if r.name == name), None)


# As the peers do it; both workers update.
MLP = ["--batch", "256", "--no-shuffle", "--state", "shard"]

PRECISIONS = "f32x3", "bf16"

ROWS = [
    Row("lm", 33, 11, [
        ours("lm"),
        peer("torch", "lm_torch.py"),
        *levels("lm"),
        peer("torch compiled", "lm_torch.py", "--mode", "compile",
             needs="full"),
        peer("jax", "lm_jax.py", needs="jax"),
        peer("jax 2 devices", "lm_jax.py", "--mode", "sharded", needs="jax"),
    ], against("torch", "torch compiled", "jax", "jax 2 devices"), init="lm"),
    Row("gpt", 33, 11, [
        ours("gpt", "--data", "{text}"),
        peer("torch", "gpt_torch.py", "--data", "{text}"),
        *levels("gpt", "--data", "{text}"),
        peer("torch compiled", "gpt_torch.py", "--data", "{text}",
             "--mode", "compile", needs="full"),
    ], against("torch", "torch compiled"), init="gpt"),
    Row("cnn", 33, 23, [
        ours("cnn"),
        peer("torch", "cnn_torch.py"),
        *levels("cnn"),
        peer("torch contiguous", "cnn_torch.py", "--layout", "contiguous",
             needs="full"),
        peer("torch compiled", "cnn_torch.py", "--mode", "compile",
             needs="full"),
    ], against("torch", "torch compiled"), init="cnn",
        tolerance=2e-3),  # one relu that flips is amplified
    Row("mlp", 103, 53, [
        ours("mlp", "--x", "{x}", "--y", "{y}", *MLP),
        peer("torch", "mlp_torch.py", "--x", "{x}", "--y", "{y}"),
        *levels("mlp", "--x", "{x}", "--y", "{y}", *MLP),
        peer("torch compiled", "mlp_torch.py", "--x", "{x}", "--y", "{y}",
             "--mode", "compile", needs="full"),
    ], against("torch", "torch compiled"), init="mlp", tolerance=2e-3),
    bf16("lm", 11, 1e-2),
    bf16("cnn", 23, 2e-2),
    Row("lm precisions", 33, 11, [
        ours("lm"),
        *(train(f"lockstep, {p}", "lm", 2, 2, "--precision", p)
          for p in PRECISIONS),
        peer("torch", "lm_torch.py"),
    ], [*(Ratio(f"{p} / f32", f"lockstep, {p}", "lockstep")
          for p in PRECISIONS),
        *against("torch"),
        *(Ratio(f"{p} / torch", f"lockstep, {p}", "torch")
          for p in PRECISIONS)], init="lm", tolerance=1e-2),
    avx2("lm", 33, 11),
    avx2("cnn", 33, 23, tolerance=2e-3),
    avx2("mlp", 103, 53, ["--x", "{x}", "--y", "{y}", *MLP],
         ["--x", "{x}", "--y", "{y}"], 2e-3),
    resnet("resnet"),
    resnet("resnet bf16", "--precision", "bf16"),
    Row("lm workers", 23, 9, [
        train("1 worker", "lm", 2, 1),
        train("2 workers", "lm", 2, 2),
        train("2 workers, 8 devices", "lm", 8, 2),
        train("1 worker, 1 device", "lm", 1, 1, "--allow-single"),
        train("2 workers, 1 device", "lm", 1, 2, "--allow-single"),
        train("1 worker, shard", "lm", 2, 1, "--state", "shard",
              needs="full"),
        train("2 workers, shard", "lm", 2, 2, "--state", "shard",
              needs="full"),
    ], [
        efficiency("efficiency 1 -> 2", "1 worker", "2 workers"),
        efficiency("efficiency 1 -> 2, shard", "1 worker, shard",
                   "2 workers, shard"),
        Ratio("8 devices / 2 devices", "2 workers, 8 devices", "2 workers"),
        efficiency("efficiency 1 -> 2, 1 device", "1 worker, 1 device",
                   "2 workers, 1 device"),
    ]),
    Row("cnn workers", 33, 23, [
        train("1 worker", "cnn", 2, 1),
        train("2 workers", "cnn", 2, 2),
    ], [efficiency("efficiency 1 -> 2", "1 worker", "2 workers")]),
    ranks("lm"),
    ranks("cnn"),
    recurrent("lstm"),
    recurrent("gru"),
    sparse("sparse", 64),
    sparse("sparse few", 4),
    tokens("tokens", 64),
    tokens("tokens 256", 256),
    Row("linear_step", 23, 13, [
        linear_step("1 worker", 1),
        linear_step("2 workers", 2),
    ], [Ratio("2 workers / 1 worker", "2 workers", "1 worker")]),
    Row("empty step", 203, 103, [
        linear_step("1 worker", 1, "--empty", "1"),
        linear_step("2 workers", 2, "--empty", "1"),
    ]),
    predict("mlp", "--d-in", "784"),
    predict("cnn"),
    predict("lm"),
    adapters(),
]
