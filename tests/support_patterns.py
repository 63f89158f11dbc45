"""Patterns of kernel text: rows of `docs/patterns.md`, each run for what the compiler makes of it and for its values.

A row is a few lines in the frame of a small kernel. What becomes of it is read from the remarks and the IR at the end
of the `tl` level, its values come from numpy.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.dialects import tl
from ahbmc.dialects.region import RegionOp
from ahbmc.dialects.remarks import remarks
from ahbmc.driver.lowering import front
from ahbmc.passes import build_pipeline, run_pipeline
from support_kernels import case_of_body, commands_of, simulated_values
from support_values import Case, assert_close, random_array, reference_values
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

Arrays = Mapping[str, Any]
Frame = Literal["product", "copy", "attention", "columns", "two outputs", "whole"]

A = "tl.load(ap, mask=(om[:, None] < M) & (ok[None, :] < K - k * BK), other=0.0)"
B = "tl.load(bp, mask=(ok[:, None] < K - k * BK) & (on[None, :] < N), other=0.0)"
SHORT = {
    "A[kk]": "tl.load(a + om[:, None] * K + kk[None, :], mask=(om[:, None] < M) & (kk[None, :] < K), other=0.0)",
    "B[kk]": "tl.load(b + kk[:, None] * N + on[None, :], mask=(kk[:, None] < K) & (on[None, :] < N), other=0.0)",
    "A[left]": A.replace("K - k * BK", "left"),
    "B[left]": B.replace("K - k * BK", "left"),
    "A[...]": A,
    "B[...]": B,
    "MOVE": "ap += BK\nbp += BK * N",
}
"""What the short forms of lines of the frame "product" stand for."""

_PRODUCT = """\
om = tl.program_id(0) * BM + tl.arange(0, BM)
on = tl.program_id(1) * BN + tl.arange(0, BN)
ok = tl.arange(0, BK)
ap = a + om[:, None] * K + ok[None, :]
bp = b + ok[:, None] * N + on[None, :]
cp = c + om[:, None] * N + on[None, :]
box = (om[:, None] < M) & (on[None, :] < N)
acc = tl.zeros((BM, BN), dtype=tl.float32)
{lines}
tl.store(cp, acc, mask=box)
"""
_COPY = """\
r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
box = (r[:, None] < m) & (o[None, :] < n)
{lines}
tl.store(y + r[:, None] * n + o[None, :], v + 1, mask=box)
"""
_ATTENTION = """\
om = tl.arange(0, BM)
on = tl.arange(0, BN)
od = tl.arange(0, D)
q = tl.load(q_ptr + om[:, None] * D + od[None, :])
m = tl.full([BM], -float("inf"), tl.float32)
l = tl.zeros([BM], tl.float32)
acc = tl.zeros([BM, D], tl.float32)
c = scale * 1.44269504
for start in range(0, n, BN):
    inside = start + on < n
    k = tl.load(k_ptr + (start + on)[None, :] * D + od[:, None], mask=inside[None, :], other=0.0)
    v = tl.load(v_ptr + (start + on)[:, None] * D + od[None, :], mask=inside[:, None], other=0.0)
    qk = tl.dot(q, k)
{lines}
tl.store(o_ptr + om[:, None] * D + od[None, :], acc / l[:, None])
"""
_TWO_OUTPUTS = (
    _ATTENTION.replace("c = scale", "acc2 = tl.zeros([BM, D], tl.float32)\nc = scale")
    .replace("acc / l", "(acc + acc2) / l")
    .replace(
        "    qk =", "    w = tl.load(k_ptr + (start + on)[:, None] * D + od[None, :], mask=inside[:, None])\n    qk ="
    )
)
_BODIES: Mapping[Frame, str] = {
    "product": _PRODUCT,
    "copy": _COPY,
    "attention": _ATTENTION,
    "columns": _ATTENTION.replace("[BM]", "[BM, 1]").replace("l[:, None]", "l"),
    "two outputs": _TWO_OUTPUTS,
    "whole": "{lines}",
}
SOFTMAX_FRAMES = ("attention", "columns", "two outputs")
M, N, K = 50, 40, 72
ROWS, KEYS, WIDTH = 32, 40, 16


@dataclass(frozen=True)
class Pattern:
    """One row: `lines` in a frame, and what they compute (`wanted`: arguments -> the array that is written).

    `arguments` and `constants` change those of the frame; `grid` its programs. `shown` stands in the page for lines
    that are too long. Values agree within `tolerance`, relative and absolute.
    """

    group: int
    name: str
    lines: str
    wanted: Callable[[Arrays], Array]
    frame: Frame = "product"
    arguments: Arrays = field(default_factory=dict[str, Any])
    constants: Mapping[str, int] = field(default_factory=dict[str, int])
    grid: tuple[int, ...] = ()
    shown: str = ""
    tolerance: float = 1e-4

    def __repr__(self) -> str:
        return f"{self.group}: {self.name}"

    def case(self) -> Case:
        """The kernel with its arguments."""
        arguments, constants, grid = _FRAMES[self.frame]()
        arguments.update(self.arguments)
        lines = self.lines
        for short, full in SHORT.items():
            lines = _expanded(lines, short, full)
        body = _BODIES[self.frame]
        indent = "    " if self.frame in SOFTMAX_FRAMES else ""
        text = body.replace("{lines}", textwrap.indent(lines.rstrip("\n"), indent))
        chosen: dict[str, Any] = {**constants, **self.constants}
        return case_of_body(text, arguments, self.grid or grid, **chosen)


def _expanded(lines: str, short: str, full: str) -> str:
    """`lines` with a short form spelled out; one that is a line by itself may stand for several."""
    made: list[str] = []
    for line in lines.splitlines():
        if line.strip() == short:
            made += textwrap.indent(full, line[: len(line) - len(line.lstrip())]).splitlines()
        else:
            made.append(line.replace(short, full))
    return "\n".join(made)


def _product_frame() -> tuple[dict[str, Any], dict[str, int], tuple[int, ...]]:
    # One row and one block more than the product has: a load without a mask may go beyond the last lane of K.
    arrays = {
        "a": random_array([M + 1, K], "fp16", 1),
        "b": random_array([K + 32, N], "fp16", 2),
        "c": np.zeros((M, N), np.float32),
        "t": np.array([3, 0, 2, 1, 4], np.int32),
    }
    return {**arrays, "M": M, "N": N, "K": K}, {"BM": 32, "BN": 32, "BK": 16}, (2, 2)


def _copy_frame() -> tuple[dict[str, Any], dict[str, int], tuple[int, ...]]:
    x, t = random_array([50, 40], "fp32", 1), np.arange(64, dtype=np.int32)[::-1].copy() % 50
    return (
        {"x": x, "y": np.zeros((50, 20), np.float32), "t": t, "m": 50, "n": 20, "g": 3},
        {"BLOCK": 16},
        (4, 2),
    )


def _attention_frame() -> tuple[dict[str, Any], dict[str, int], tuple[int, ...]]:
    arrays = {
        "q_ptr": random_array([ROWS, WIDTH], "fp16", 1),
        "k_ptr": random_array([KEYS, WIDTH], "fp16", 2),
        "v_ptr": random_array([KEYS, WIDTH], "fp16", 3),
        "o_ptr": np.zeros((ROWS, WIDTH), np.float32),
        "x_ptr": np.zeros((64, 64), np.float32),
    }
    return {**arrays, "scale": 0.2, "n": KEYS}, {"BM": ROWS, "BN": 16, "D": WIDTH}, (1,)


def _whole_frame() -> tuple[dict[str, Any], dict[str, int], tuple[int, ...]]:
    x, y = random_array([512], "fp32", 1), np.zeros(512, np.float32)
    return {"x": x, "y": y, "n": 3}, {}, (1,)


_FRAMES: Mapping[Frame, Callable[[], tuple[dict[str, Any], dict[str, int], tuple[int, ...]]]] = {
    "product": _product_frame,
    "copy": _copy_frame,
    "attention": _attention_frame,
    "columns": _attention_frame,
    "two outputs": _attention_frame,
    "whole": _whole_frame,
}
WRITTEN: Mapping[Frame, str] = {
    "product": "c",
    "copy": "y",
    "attention": "o_ptr",
    "columns": "o_ptr",
    "two outputs": "o_ptr",
    "whole": "y",
}


# --- what becomes of a pattern ---


@dataclass(frozen=True)
class Seen:
    """A pattern after the compiler: the row's words, the IR at the end of the `tl` level, values on the device."""

    words: str
    raised: tuple[object, ...]
    simulated: Mapping[str, Array]


def seen(pattern: Pattern, pipeline: str = "auto") -> Seen:
    """Compile and run a pattern; values are those of numpy at the `tl` level, after its passes and on the device."""
    case = pattern.case()
    module, name = front(case.request), WRITTEN[pattern.frame]
    with np.errstate(all="ignore"):
        wanted = reference_values(case, module)
        _check(wanted[name], pattern.wanted(case.arguments), pattern, "by numpy")
        found: list[tuple[str, tuple[object, ...]]] = []

        def look(each: ModulePass, now: ModuleOp) -> None:
            if each.name == "match-recipes":
                found.append((words_of(now, pattern.frame), form_of(now)))
                assert_close(reference_values(case, now), wanted, "after the passes of tl")

        run_pipeline(module, build_pipeline(pipeline, {}), on_pass=look, verify=False)
        simulated = simulated_values(case, module)
        _check(simulated[name], wanted[name], pattern, f"simulated under {pipeline}")
    words, form = found[0]
    if pattern.frame == "whole":
        copies = commands_of(module).count("copy")
        words += f", {copies or 'no'} {'copy' if copies == 1 else 'copies'}"
    return Seen(words, form, simulated)


def _check(got: Array, wanted: Array, pattern: Pattern, what: str) -> None:
    np.testing.assert_allclose(got, wanted, rtol=pattern.tolerance, atol=pattern.tolerance, err_msg=what)
    assert np.any(got), "nothing was written"


def words_of(module: ModuleOp, frame: Frame) -> str:
    """What the passes of the `tl` level made of a kernel, in a few words."""
    if frame in SOFTMAX_FRAMES:
        return "; ".join(dict.fromkeys(_recipe(o, why) for o, why in _notes(module, "match-recipes")))
    loads = [(o, why) for o, why in _notes(module, "raise-regions", "load")]
    kept = [f"{outcome}: {why}" for outcome, why in loads if outcome != "strided" and "block of indices" not in why]
    regions = [op.region.owner for op in module.walk() if isinstance(op, tl.LoadRegionOp)]
    kinds = [
        f"{'rows' if len(r.axis_kinds) > 1 and d == 0 else 'lanes' if len(r.axis_kinds) == 1 else 'columns'} {k}"
        for r in regions
        if isinstance(r, RegionOp)
        for d, k in enumerate(r.axis_kinds)
        if k != "affine"
    ]
    if frame == "product":
        return "; ".join([*_products(module), *dict.fromkeys(k for k in kept if k.startswith("gathered"))])
    return ", ".join(dict.fromkeys([*(kept or ["a region"]), *kinds]))


def _recipe(outcome: str, why: str) -> str:
    return why if outcome == "matched" else f"no recipe: {why.partition(': ')[2] or why}"


def _notes(module: ModuleOp, pass_name: str, subject: str = "") -> list[tuple[str, str]]:
    found = [r for r in remarks(module) if r.pass_name == pass_name and subject in ("", r.subject)]
    return [(r.outcome, r.reason) for r in found]


def _products(module: ModuleOp) -> list[str]:
    """GEMMs with the axes that are not affine, and loops that stay."""
    gemms = [op for op in module.walk() if isinstance(op, tl.GemmOp)]
    parts: dict[str, None] = {}
    if gemms:
        parts[f"{'one GEMM' if len(gemms) == 1 else f'{len(gemms)} GEMMs'}"] = None
    for gemm in gemms:
        for name, value, axes in (("a", gemm.a, ("rows", "K")), ("b", gemm.b, ("K", "columns"))):
            assert isinstance(value.owner, RegionOp)
            kinds = zip(axes, value.owner.axis_kinds, strict=True)
            parts.update((f"{axis} of {name} {kind}", None) for axis, kind in kinds if kind != "affine")
    if any(gemm.tiles is not None for gemm in gemms):
        parts["ops on tiles of an operand"] = None
    made = [", ".join(parts)] if parts else []
    return made + [f"a loop: {why}" for outcome, why in _notes(module, "raise-k-loops") if outcome == "refused"] or [
        "dots without a loop"
    ]


def form_of(module: ModuleOp) -> tuple[object, ...]:
    """A module without names and places: equal forms are equal programs, op by op."""
    numbers: dict[SSAValue, int] = {}

    def number(value: SSAValue) -> int:
        return numbers.setdefault(value, len(numbers))

    def one(op: Operation) -> tuple[object, ...]:
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    number(argument)
        attributes = {k: str(v) for k, v in op.properties.items() if k != "sym_name"}
        if not isinstance(op, ModuleOp):
            attributes |= {k: str(v) for k, v in op.attributes.items()}
        return (
            op.name,
            *(number(v) for v in op.operands),
            *(number(v) for v in op.results),
            tuple(sorted(attributes.items())),
            *(str(v.type) for v in op.results),
        )

    return tuple(one(op) for op in module.walk())


# --- the page ---

HEAD = """\
# Patterns of kernel text

What the compiler makes of the ways in which kernels are written. Each row is a kernel that is compiled and run: the
last column is what the passes say of it, and its values are those of numpy. `pytest tests/end_to_end/test_patterns.py
--update` writes this page.

Rows with a K loop stand in a kernel that multiplies `a` (M x K) and `b` (K x N) block by block: `om`, `on` and `ok` are
the block's rows, columns and lanes of K, `ap` and `bp` its pointers, `acc` its sum. Short forms: `A[...]` and `B[...]`
load the blocks at `ap` and `bp`, masked at M, N and `K - k * BK` (`A[left]`: at `left`), `A[kk]` and `B[kk]` those at
lanes `kk` of K, `MOVE` is `ap += BK` and `bp += BK * N`. In rows that copy, `r` and `o` are the rows and columns of a
block of 16 x 16 of `x` (m x n), and `box` is `(r[:, None] < m) & (o[None, :] < n)`. Attention is an online softmax over
`qk = tl.dot(q, k)` with the carried `m`, `l` and `acc`; where `keep_dims` is set, `m` and `l` are columns, [BM, 1].
With `acc2` there are values `w` beside `v`.

Recipes take blocks. A running maximum or sum that is a scalar, as where a program goes through one row block by block,
matches none: a scalar operand of a recipe is a number that PE_CPU has at hand, and no row writes one. With
`keep_dims=True` and a block of rows of [1, N] the same step matches.

A region with a *folded* axis reads one run of addresses per crossing, one with an *indexed* axis a run per row; what is
*gathered* is read lane by lane.
"""


def page(groups: Mapping[int, str], rows: Sequence[Pattern], words: Mapping[str, str]) -> str:
    """The page; `words` says for each row, by its repr, what becomes of it."""
    parts = [HEAD]
    for group, title in groups.items():
        parts += [f"\n## {group}. {title}\n", "| pattern | text | becomes |", "|---|---|---|"]
        parts += [row_text(row, words[repr(row)]) for row in rows if row.group == group]
    return "\n".join(parts) + "\n"


def row_text(row: Pattern, words: str) -> str:
    """The line of a row."""
    text = " ⏎ ".join(f"`{line}`" for line in (row.shown or row.lines).strip("\n").splitlines())
    return f"| {row.name} | {text.replace('|', chr(92) + '|')} | {words} |"
