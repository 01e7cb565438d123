"""Models that lockstep writes for ONNX: onnx.checker takes them, and ONNX
Runtime computes what lockstep-predict does, within 1e-5.

    onnx_runtime.py FOLDER-OF-PROGRAMS FOLDER GOLDEN-MODEL
"""
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

bin_, folder, golden = sys.argv[1:4]
rng = np.random.default_rng(1)
SMALL_LM = ["--vocab", "11", "--seq-len", "6", "--d-model", "16", "--heads", "2",
            "--layers", "2", "--d-ff", "24"]


def run(program, *args):
    done = subprocess.run([f"{bin_}/{program}", *args], capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit(f"{program} {args}: {done.stderr}")


def train(model, *options):
    path = f"{folder}/model.safetensors"
    run("lockstep-train", model, *options, "--steps", "2", "--devices", "2",
        "--log-every", "0", "--save", path)
    return path


def softmax(z):
    e = np.exp(z.astype(np.float64) - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def there(x):
    """The first output in ONNX Runtime, of one thread's session."""
    onnx.checker.check_model(f"{folder}/model.onnx", full_check=True)
    session = onnxruntime.InferenceSession(
        f"{folder}/model.onnx", providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return session.run(None, {name: x})[0]


def compare(what, path, x):
    """lockstep-predict shows probabilities where the loss has classes."""
    np.save(f"{folder}/x.npy", x)
    run("lockstep-predict", path, f"{folder}/x.npy", "-o", f"{folder}/y.csv",
        "--onnx", f"{folder}/model.onnx")
    head = open(f"{folder}/y.csv").readline()
    here = np.loadtxt(f"{folder}/y.csv", delimiter=",", skiprows=1, ndmin=2)
    y = there(x)
    if head.startswith(("class", "token")):
        y = softmax(y.reshape(len(x), -1, y.shape[-1])[:, -1])
        here = here[:, 1:]
    error = np.abs(here - y).max()
    if not error <= 1e-5 * max(1, np.abs(here).max()):
        sys.exit(f"{what}: ONNX Runtime is {error} away")
    print(f"{what}: ONNX Runtime within {error:.1e}")


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def tokens(rows):
    return rng.integers(0, 11, (rows, 6)).astype(np.int32)


compare("golden model", golden, floats(5, 7, 6, 2))
compare("linear", train("linear"), floats(3, 8))
for activation in "relu", "tanh", "gelu", "sigmoid":
    compare(f"mlp {activation}",
            train("mlp", "--activation", activation, "--hidden", "17,9",
                  "--dropout", "0.2"), floats(7, 64))
compare("mlp bf16-input", train("mlp", "--precision", "bf16-input"),
        floats(7, 64))
compare("cnn", train("cnn", "--image", "9x8x3", "--channels", "5,7"),
        floats(4, 9, 8, 3))
compare("lm", train("lm", *SMALL_LM), tokens(3))
with open(f"{folder}/text", "wb") as f:
    f.write(bytes(rng.integers(0, 11, 4000).astype(np.uint8)))
compare("gpt", train("gpt", "--data", f"{folder}/text", *SMALL_LM), tokens(3))
