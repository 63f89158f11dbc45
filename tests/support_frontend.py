"""Small kernels for tests of the frontend: a body of text becomes a kernel `k` of pointers x and y and a number n."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import dtype_named
from ahbmc.backend_sim.numerics.reference import run_reference
from ahbmc.dialects.errors import AhbmcError, Sources, render
from ahbmc.dialects.verify import verify
from ahbmc.frontend import compile_kernel
from xdsl.dialects.builtin import ModuleOp

HEAD = """\
import triton
import triton.language as tl
import ahbmc.language as al
"""
SIGNATURE = {"x": "*fp32", "y": "*fp32", "n": "i32"}
CONSTANTS = {"B": 16}
FILE = "kernel.py"


def kernel_text(body: str, globals_: str = "", parameters: str = "x, y, n, B: tl.constexpr") -> str:
    """A file with one kernel. Its body starts on line 6 where there are no globals."""
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEAD}{textwrap.dedent(globals_)}@triton.jit\ndef k({parameters}):\n{text}\n"


def compiled(
    body: str,
    globals_: str = "",
    *,
    signature: Mapping[str, str] = SIGNATURE,
    constants: Mapping[str, int | float | bool | str | None] = CONSTANTS,
    parameters: str = "x, y, n, B: tl.constexpr",
) -> ModuleOp:
    """The verified module of a kernel with this body."""
    module = compile_kernel(kernel_text(body, globals_, parameters), FILE, "k", signature, constants)
    verify(module)
    module.verify()
    return module


def report(body: str, globals_: str = "", **given: Mapping[str, str]) -> str:
    """What a user reads about a kernel that does not compile."""
    text = kernel_text(body, globals_)
    sources = Sources()
    sources.add(FILE, text)
    with pytest.raises(AhbmcError) as caught:
        compile_kernel(text, FILE, "k", given.get("signature", SIGNATURE), CONSTANTS)
    return render(caught.value, sources)


def ran(
    body: str, globals_: str = "", *, n: int = 5, out: str = "fp32", size: int = 16, x: str = "fp32"
) -> list[float]:
    """What a kernel leaves in `y` (of `size` zeros of type `out`); `x` holds 0, 1, 2, ... of its type."""
    signature = {"x": f"*{x}", "y": f"*{out}", "n": "i32"}
    module = compiled(body, globals_, signature=signature)
    result = np.zeros(size, dtype_named(out))
    run_reference(module, [np.arange(64).astype(dtype_named(x)), result, n], (1,))
    return [float(v) for v in result]
