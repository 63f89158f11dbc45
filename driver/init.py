"""`ahbmc init`: a workload file for any kernel, with guessed types, sizes, constants and grid, tried out at the `tl`
level so that the tensors are as large as what the kernel touches.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..backend_sim.numerics.dtypes import dtype_named
from ..backend_sim.numerics.reference import run_reference
from ..dialects.errors import AhbmcError, Fault, render
from ..frontend import compile_kernel, syntax
from ..frontend.module import Module
from ..frontend.scopes import walk
from .command_line import word_place
from .compile import kernel_and_file
from .guess import Guess, guessed
from .kernel_files import find_import, module_in
from .kernels import kernel_of
from .outermost import caught
from .output import write
from .workers import Lost, pool
from .workload_schema import Constant

_SIZE = 64
_ELEMENTS = 4096  # of a tensor, until a trial shows that it needs more
_MOST_ELEMENTS = 1 << 24
_EPSILON = 1e-5  # which YAML reads as a text when Python writes it
_TRIALS, _TRIAL_S = 24, 20.0
_TOUCHES = re.compile(r"touches elements? (-?\d+)(?: to (-?\d+))? of '(\w+)'")
_ZERO = re.compile(r"(?i)(start|offset|idx|index|rank|_id$|seed|drop|^p$)")
_SMALL = re.compile(r"(?i)(eps|epsilon)")


@dataclass(frozen=True)
class Draft:
    """A launch in the making: tensors by name with (type, elements), scalars, constants, grid."""

    tensors: Mapping[str, tuple[str, int]]
    scalars: Mapping[str, int | float]
    constants: Mapping[str, Constant]
    grid: tuple[int, ...]
    order: tuple[str, ...]

    @property
    def signature(self) -> dict[str, str]:
        types = {n: f"*{kind}" for n, (kind, _) in self.tensors.items()}
        types |= {n: "fp32" if isinstance(v, float) else "i32" for n, v in self.scalars.items()}
        return {n: types[n] for n in self.order if n in types}


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc init`: write the workload; what a trial found amiss goes to standard error."""
    at = word_place(arguments.sources, arguments.kernel)
    path, name = kernel_and_file(arguments.kernel, at)
    draft, fault = tried(module_in(str(path)), draft_of(module_in(str(path)), name), name)
    folder = Path(arguments.output).parent if arguments.output != "-" else Path()
    where = os.path.relpath(path, folder)
    write(arguments.output, text_of_draft(f"{where}::{name}", draft), word_place(arguments.sources, arguments.output))
    if fault is not None:
        print(f"ahbmc init: the workload does not run as it is:\n{render(AhbmcError(fault))}", file=sys.stderr)
    return 1 if fault is not None else 0


def draft_of(module: Module, name: str, guess: Guess | None = None) -> Draft:
    """A first launch, of what is guessed where types and constants are not given. Raises AhbmcError for a kernel that
    cannot be parsed.
    """
    kernel = kernel_of(module, name)
    guess = guess or guessed(module, kernel)
    tensors = {n: (t[1:], _ELEMENTS) for n, t in guess.signature.items() if t.startswith("*")}
    scalars = [n for n, t in guess.signature.items() if not t.startswith("*")]
    values = {n: _scalar(n, guess.signature[n], scalars) for n in scalars}
    return Draft(tensors, values, guess.constants, _grid(module, name), kernel.names)


def _scalar(name: str, kind: str, names: Sequence[str]) -> int | float:
    if kind == "fp32":
        return _EPSILON if _SMALL.search(name) else 0.0 if _ZERO.search(name) else 1.0
    if "stride" in name.lower():
        # Its last axis is dense.
        group = [n for n in names if _tensor_of(n) == _tensor_of(name)]
        return _SIZE ** (len(group) - 1 - group.index(name)) if len(group) > 1 else _SIZE
    return 0 if _ZERO.search(name) else _SIZE


def _tensor_of(stride: str) -> str:
    """What the strides of one tensor have in common: they differ in the last letter, or in the last word."""
    first, _, last = stride.rpartition("_")
    return stride[:-1] if len(last) <= 2 else first


def _grid(module: Module, name: str) -> tuple[int, ...]:
    """Two programs along every axis that the kernel asks its number of."""
    axes: set[int] = set()
    todo, seen = [name], set[str]()
    while todo:
        function = module.kernel_function(each) if (each := todo.pop()) not in seen else None
        seen.add(each)
        for node in walk(function.tree.body) if function is not None else ():
            match node:
                case syntax.Call(function=syntax.Attribute(name="program_id"), arguments=given, keywords=named):
                    axes |= {
                        v.value
                        for v in (*given, *(k.value for k in named))
                        if isinstance(v, syntax.Constant) and isinstance(v.value, int) and 0 <= v.value < 3
                    }
                case syntax.Call(function=syntax.Name(id=called)):
                    todo.append(called)
                case _:
                    pass
    return tuple(2 if axis in axes else 1 for axis in range(max(axes, default=0) + 1))


# Trials -------------------------------------------------------------------------------------------


def tried(module: Module, draft: Draft, name: str) -> tuple[Draft, Fault | None]:
    """The draft with tensors as large as its programs need, and the fault that is left, if one is."""
    last: Draft = draft
    fault: Fault | None = None

    def trial(_: int) -> tuple[Draft, Fault | None]:
        return _grown(module, draft, name)

    with pool(trial, [[0]], 1, _TRIAL_S) as workers:
        for _, result in workers.results():
            if isinstance(result, Lost):
                fault = Fault(f"a trial of the kernel fails: {result.reason}", hint="change its sizes and constants")
            else:
                last, fault = result
    return last, fault


def _grown(module: Module, draft: Draft, name: str) -> tuple[Draft, Fault | None]:
    fault: Fault | None = None
    for _ in range(_TRIALS):
        error = caught("ahbmc", partial(_run, module, draft, name))
        if error is None:
            return draft, None
        fault = error.faults[0]
        touched = _TOUCHES.search(fault.message)
        if touched is None:
            break
        last, tensor = int(touched[2] or touched[1]), touched[3]
        if tensor not in draft.tensors or not draft.tensors[tensor][1] <= last < _MOST_ELEMENTS:
            break
        kind = draft.tensors[tensor][0]
        draft = replace(draft, tensors={**draft.tensors, tensor: (kind, 1 << last.bit_length())})
    return draft, fault


def _run(module: Module, draft: Draft, name: str) -> None:
    text, file = module.text.content, module.text.file
    lowered = compile_kernel(text, file, name, draft.signature, dict(draft.constants), find_import)
    run_reference(lowered, arguments_of(draft), draft.grid)


def arguments_of(draft: Draft) -> list[Any]:
    """The arguments of a launch, in order: tensors of seeded normal noise, of zeros where they hold integers."""
    values: dict[str, Any] = dict(draft.scalars)
    for number, (tensor, (kind, size)) in enumerate(draft.tensors.items()):
        noise = np.random.default_rng(number).standard_normal(size) if kind.startswith("fp") else np.zeros(size)
        values[tensor] = (noise if kind != "i1" else np.ones(size)).astype(dtype_named(kind))
    return [values[n] for n in draft.signature]


# The file -----------------------------------------------------------------------------------------


def text_of_draft(kernel: str, draft: Draft) -> str:
    """The workload as YAML."""
    lines = [f"kernel: {kernel}", "args:" if draft.signature else "args: {}"]
    for number, name in enumerate(draft.signature, 1):
        if name in draft.tensors:
            kind, size = draft.tensors[name]
            init = "{full: 1}" if kind == "i1" else f"{{normal: {{seed: {number}}}}}" if kind[:2] == "fp" else "zeros"
            lines.append(f"  {name}: {{shape: [{size}], dtype: {kind}, init: {init}}}")
        else:
            lines.append(f"  {name}: {_yaml(draft.scalars[name])}")
    if draft.constants:
        lines += ["const:", *(f"  {name}: {_yaml(value)}" for name, value in draft.constants.items())]
    lines.append(f"grid: [{', '.join(map(str, draft.grid))}]")
    return "\n".join(lines) + "\n"


def _yaml(value: Constant) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return "0.00001" if value == _EPSILON else str(value)
        case str():
            return f'"{value}"'
        case tuple():
            return f"[{', '.join(map(_yaml, value))}]"
        case int():
            return str(value)
