"""Run by a Python that has torch and Triton: launches under Triton's interpreter. `interpreter.py CORPUS FOLDER...`.

CORPUS holds `interp_fix.py`; each FOLDER holds `kernel.py`, `launch.json` and the bytes of every tensor as `NAME.in`,
and gets them back as `NAME.out`, or the reason why there are none as `error`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import signal
import sys
from functools import partialmethod
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, sys.argv[1])

import_module("interp_fix")  # makes the interpreter honest; it comes before the kernels

torch: Any = import_module("torch")
tl: Any = import_module("triton.language")
upstream: Any = import_module("triton.runtime.interpreter")
TensorDescriptor: Any = import_module("triton.tools.tensor_descriptor").TensorDescriptor

# What the compiler has and the interpreter forgets: a type is its own value, and block pointers advance by a method.
tl.dtype.value = property(lambda dtype: dtype)  # pyright: ignore[reportUnknownLambdaType]
tl.core._block_ptr.advance = partialmethod(tl.core._block_ptr.advance, _semantic=upstream.interpreter_semantic)

LIMIT_S = 120
TORCH_TYPES: dict[str, Any] = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
}


def run(folder: Path) -> None:
    launch = json.loads((folder / "launch.json").read_text())
    buffers: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    for name, dtype in launch["tensors"].items():
        raw = torch.from_numpy(np.fromfile(folder / f"{name}.in", dtype=np.uint8))
        buffers[name] = arguments[name] = raw.view(TORCH_TYPES[dtype])
    for name, (shape, block) in launch["descriptors"].items():
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        arguments[name] = TensorDescriptor(buffers[name].reshape(shape), shape, strides, block)
    arguments |= launch["scalars"]
    for name, value in launch["constants"].items():
        arguments[name] = tl.float32 if value == "DTYPE" else value
    spec = importlib.util.spec_from_file_location(f"kernel_{folder.name}", folder / "kernel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    getattr(module, launch["function"])[tuple(launch["grid"])](**arguments)
    for name, buffer in buffers.items():
        buffer.view(torch.uint8).numpy().tofile(folder / f"{name}.out")


def run_apart(folder: Path) -> None:
    """Run in a child process, which need not load anything again: a wild address ends that one alone."""
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT_S)
        try:
            run(folder)
        except Exception as error:  # of a kernel in the hands of Triton: any
            (folder / "error").write_text(f"{error!r}: {error.__cause__!r}")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        (folder / "error").write_text(f"ended by signal {status}")


if __name__ == "__main__":
    for each in map(Path, sys.argv[2:]):
        run_apart(each)
