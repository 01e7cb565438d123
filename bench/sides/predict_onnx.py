# SPDX-License-Identifier: BSD-3-Clause
"""bench/predict.c by ONNX Runtime, of what lockstep-predict --onnx writes."""
import subprocess
import tempfile

import numpy as np
import onnxruntime

import steps

o = steps.options(predict="lockstep-predict")
told = onnxruntime.SessionOptions()
told.intra_op_num_threads = told.inter_op_num_threads = o.threads
with tempfile.TemporaryDirectory() as folder:
    path = folder + "/model.onnx"
    subprocess.run([o.predict, o.init, "--onnx", path], check=True,
                   stdout=subprocess.DEVNULL)
    session = onnxruntime.InferenceSession(
        path, told, providers=["CPUExecutionProvider"])
of = session.get_inputs()[0]
shape = 1, *of.shape[1:]
x = {of.name: steps.draw(1, 1, *shape) if of.type == "tensor(float)"
     else np.zeros(shape, np.int32)}
steps.blocks(lambda: session.run(None, x)[0], o,
             {"onnxruntime": onnxruntime.__version__})
