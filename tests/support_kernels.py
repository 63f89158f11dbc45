"""Kernels of a few lines against numpy: values at `tl`, after every pass of some pipelines, and on the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, cast

import numpy as np
from ahbmc.backend_sim.launch import Launch
from ahbmc.backend_sim.memory import Tensor
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.backend_sim.numerics.reference import kernel_function
from ahbmc.backend_sim.simulate import simulate
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.dialects import ahbm
from support_values import Case, assert_close, case_of_text, check_every_pass, copies, reference_values
from xdsl.dialects.builtin import ModuleOp

HEAD = "import triton\nimport triton.language as tl\n\n\n"


def case_of_body(
    body: str, arguments: Mapping[str, Any], grid: Sequence[int] = (1,), *, globals_: str = "", **constants: Any
) -> Case:
    """A kernel `k` with this body; `globals_` are functions of its file, each under its own decorator."""
    names = ", ".join([*arguments, *(f"{c}: tl.constexpr" for c in constants)])
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    text = f"{HEAD}{globals_}\n\n@triton.jit\ndef k({names}):\n{lines}\n"
    return case_of_text(text, "k", arguments, constants, grid)


def _tensor(name: str, array: Array) -> Tensor:
    return Tensor(name, array.dtype, array.shape, data=array)


def simulated_values(case: Case, module: ModuleOp, pes: int = 1) -> dict[str, Array]:
    """The arrays after the launch of a lowered module on the first PEs of the default machine, programs in turn."""
    arguments = copies(case)
    tensors = [_tensor(n, cast(Array, v)) if isinstance(v, np.ndarray) else v for n, v in arguments.items()]
    x, y, z = (*case.grid, 1, 1, 1)[:3]
    ids = [(i, j, k) for k, j, i in product(range(z), range(y), range(x))]
    programs = {pe: ids[pe::pes] for pe in range(pes)}
    launch = Launch(kernel_function(module), load_machine("ahbm-2sip"), tuple(tensors), (x, y, z), programs)
    memory = simulate([launch], values=True).memory
    return {n: memory[n] for n, v in arguments.items() if isinstance(v, np.ndarray)}


def check_values(case: Case, expected: Mapping[str, Array], pipelines: Sequence[str] = ("primitive", "auto")) -> None:
    """Values equal those by numpy, after every pass those before it, and on the simulator too."""
    wanted = reference_values(case)
    assert_close(wanted, expected, "by numpy")
    for pipeline in pipelines:
        module = check_every_pass(case, pipeline)
        assert_close(simulated_values(case, module), wanted, f"simulated under {pipeline}")


def commands_of(module: ModuleOp) -> list[str]:
    """The commands of a lowered module, in order: kinds, of `math` what it computes."""
    return [
        op.kind.data if isinstance(op, ahbm.MathOp) else op.KIND
        for op in module.walk()
        if isinstance(op, ahbm.CommandOp)
    ]
