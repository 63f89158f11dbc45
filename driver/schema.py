"""JSON Schemas of workload, study and machine files, made from the structs that decode the files, and the pages on
workload and machine files, on the kernel language and on the passes.

`python -m ahbmc.driver.schema docs` writes them; tests hold the committed ones to what this makes.
"""

from __future__ import annotations

import json
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ..backend_sim.target.machine_file import machine_schema
from .key_table import about, escaped, type_of
from .language_page import language_page
from .machine_page import machine_page
from .passes_page import passes_page
from .references import REFERENCES
from .study_schema import StudyFile
from .workload_schema import (
    Arange,
    Check,
    Init,
    LaunchEntry,
    Map,
    Normal,
    Placement,
    TensorArgument,
    Uniform,
    WorkloadFile,
)

_SECTIONS: tuple[tuple[str, type[Struct]], ...] = (
    ("The file", WorkloadFile),
    ("A tensor of `args`", TensorArgument),
    ("`init` of a tensor", Init),
    ("`init: {normal: ...}`", Normal),
    ("`init: {uniform: ...}`", Uniform),
    ("`init: {arange: ...}`", Arange),
    ("`place` of a tensor", Placement),
    ("`map`", Map),
    ("An entry of `check`", Check),
    ("An entry of `launches`", LaunchEntry),
)
_HEAD = """\
# Workload files

A workload file says what a kernel is launched with. `ahbmc run FILE` runs it. Unknown keys are errors, each with its
line. This page is made from the schema in `driver/workload_schema.py`; `workload.schema.json` beside it is the same as
JSON Schema, for editors.

```yaml
kernel: matmul.py::matmul_kernel
machine: ahbm-2sip
pipeline: auto
args:
  a_ptr: {shape: [M, K], dtype: fp16, init: {normal: {seed: 1}}, place: {num_cubes: 1, pe: replicate}}
  b_ptr: {shape: [K, N], dtype: fp16, init: {normal: {seed: 2}}, place: {num_cubes: 1, pe: replicate}}
  c_ptr: {shape: [M, N], dtype: fp16, init: zeros, place: {num_cubes: 1, pe: row_wise}}
  M: 1000
  N: 777
  K: 520
  stride_am: K
  stride_ak: 1
  stride_bk: N
  stride_bn: 1
  stride_cm: N
  stride_cn: 1
const: {BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 64, GROUP_M: 4}
grid: ["cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)"]
map: {kind: block, pes: sip0.cube0.pe0-7}
options: {form-composites: {stage: a}}
check: {c_ptr: {reference: "matmul(a_ptr, b_ptr)", rtol: 0.01, atol: 0.05}}
```

## Programs of commands

`kernel: FILE.mlir::NAME` names a function at the `ahbm` level, with `pe` plans or without: what `ahbmc compile` prints
for `--emit ahbm` or `pe`, or what somebody wrote. Of the pipeline only the passes after `lower-to-commands` run. The
arguments are those of the function by name: `{ahbm.name = "x"}` on an argument, else `%x` (a number at the end, as in
`%x_1`, is no part of the name). A number must fit the argument's type, a tensor its pointer's. Everything else is as
for kernel text; `bench/decode.yaml` is an example.

## Expressions

Extents of shapes, entries of `grid` and arguments given as text are expressions: integers, names of arguments and
constants, `+ - * // %`, parentheses, and `cdiv(a, b)`, `min(...)`, `max(...)`. They are parsed, never executed.

## Overrides

`--set PATH=VALUE` takes the paths of the file: `--set const.BLOCK_M=32`, `--set args.M=100`, `--set args.a.dtype=fp32`,
`--set options.form-composites.stage=b`, `--set launches.0.grid=[4]`; and `--set machine.pe.gemm.peak_tflops=16` those
of the machine file.

## Several launches

`launches` is a list of launches that run in turn. An entry takes from the top of the file what it leaves out. Tensors
in `args` at the top are shared: an entry gets one by the name of its parameter, or names it (`args: {x: c}`).
"""


def workload_schema() -> dict[str, Any]:
    """The JSON Schema of workload files."""
    return msgspec.json.schema(WorkloadFile)


def workload_page() -> str:
    """`docs/workload.md`: an example, then every key with its type, default and meaning."""
    parts, titles = [_HEAD], {struct: title for title, struct in _SECTIONS}
    for title, struct in _SECTIONS:
        parts.append(f"## {title}\n\n{' '.join((struct.__doc__ or '').split())}\n")
        parts.append("| key | type | default | meaning |\n|---|---|---|---|")
        parts += [_row(field, titles) for field in msgspec.structs.fields(struct)]
        parts.append("")
    parts.append("## References\n\nOperators `+ - * / @` and these functions, all in float64:\n")
    parts.append("| reference | what it computes |\n|---|---|")
    parts += [f"| `{n}({r.signature})` | {escaped(r.about)} |" for n, r in REFERENCES.items()]
    return "\n".join(parts) + "\n"


def _row(field: msgspec.structs.FieldInfo, titles: Mapping[type, str]) -> str:
    if field.required:
        default = "required"
    else:
        value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()  # pyright: ignore[reportCallIssue]
        default = _default(value)
    return (
        f"| `{field.encode_name}` | {escaped(type_of(field.type, titles))} | {default} | {escaped(about(field.type))} |"
    )


def _default(value: object) -> str:
    match value:
        case None:
            return ""
        case Struct():
            return "see below"
        case dict() if not value:
            return "none"
        case tuple():
            return f"`{list(typing.cast(tuple[Any, ...], value))}`"
        case _:
            return f"`{value}`"


def documents() -> dict[str, str]:
    """File name in `docs/` -> content, of all that is made from tables and schemas alone."""
    return {
        "workload.md": workload_page(),
        "workload.schema.json": json.dumps(workload_schema(), indent=1) + "\n",
        "machine.md": machine_page(),
        "language.md": language_page(),
        "study.schema.json": json.dumps(msgspec.json.schema(StudyFile), indent=1) + "\n",
        "machine.schema.json": json.dumps(machine_schema(), indent=1) + "\n",
    }


def main(folder: str) -> None:
    """Write every document into `folder`, the `docs/` of a checkout."""
    for name, text in {**documents(), "passes.md": passes_page(Path(folder).parent)}.items():
        (Path(folder) / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
