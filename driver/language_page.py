"""`docs/language.md`: what of Triton's language kernels may use, and what is refused and why.

Functions, types and modules come from the tables by which the frontend finds them; syntax from the tables here,
whose every row is an example that a test compiles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..frontend import namespaces, tables
from ..frontend.builtin import Builtin
from ..frontend.composites import EPILOGUE
from ..frontend.contracts import recipes_of
from ..frontend.types import DTYPES
from .key_table import escaped


@dataclass(frozen=True)
class Syntax:
    """A construct by an example: the lines of a kernel `k(x, o, n, B: tl.constexpr)`, and what there is to say."""

    name: str
    lines: str
    note: str


SUPPORTED: tuple[Syntax, ...] = (
    Syntax("operators", "a = (n // 2 + n % 3) * -n << 1", "by Triton's rules of promotion; `//` and `%` as in C"),
    Syntax("comparisons, `and`, `or`, `not`", "a = 0 < n <= 4 and not n == 2", "chained ones too"),
    Syntax("choice", "a = 1 if n > 2 else 2", "of scalars; blocks are chosen by `tl.where`"),
    Syntax(
        "`if`, `elif`, `else`",
        "if n > 2:\n    tl.store(o, 1.0)\nelif B == 4:\n    pass",
        "on numbers known at compile time, or on scalars of kernel time, also loaded ones",
    ),
    Syntax("early return", "if n > 2:\n    return\ntl.store(o, 1.0)", "anywhere but inside a loop"),
    Syntax(
        "`for`",
        "a = 0.0\nfor i in range(0, n, 2):\n    a += tl.load(x + i)\ntl.store(o, a)",
        "over `range`, `tl.range`; over `tl.static_range` and tuples unrolled; bounds may be loaded",
    ),
    Syntax("`while`", "i = n\nwhile i > 1:\n    i = i // 2", "on a scalar; may hold atomics, as locks do"),
    Syntax("several targets", "a, b = 1, n\na, b = b, a", "tuples, nested ones too"),
    Syntax("subscripts", "a = tl.arange(0, B)[None, :]", "`None`, `:` and numbers; of tuples also slices"),
    Syntax("assertions", "assert B > 1", "on what is known at compile time; others are left out"),
    Syntax("f-strings", 'tl.static_assert(B > 1, f"B is {B}")', "of what is known at compile time"),
    Syntax("`print`", 'tl.device_print("n", n)\nprint("n", n)', "has no effect here"),
    Syntax("assignment in an expression", "if (a := n + 1) > 2:\n    tl.store(o, 1.0)", ""),
)

OWN: tuple[Syntax, ...] = (
    Syntax(
        "`al.ref(pointer, shape, strides)`",
        "a = tl.load(al.ref(x, (3, 40), (n, 1)))\ntl.store(al.ref(o, (3, 40)), a)",
        "a region of HBM, of any shape, to load from, store to or stream; dense without strides",
    ),
    Syntax(
        '`al.composite(op="gemm", a=, b=, out=, epilogue=[...])`',
        "a = tl.load(al.ref(x, (8, 40)))\nw = al.ref(x, (40, 16))\n"
        'al.composite(op="gemm", a=a, b=w, out=al.ref(o, (8, 16)), epilogue=[{"op": "scale", "by": 0.5}])',
        "one composite command; blocks lie in TCM, regions are streamed. `out`: a region; a block, which is written in "
        "place; or left out: the result is a new block, which the call gives. Ops of the epilogue run on each output "
        'tile, or at the end with `"scope": "once"`: '
        + ", ".join(f"`{name}`" for name in (*EPILOGUE, *recipes_of("epilogue"))),
    ),
    Syntax(
        '`al.composite(op="math", a=, out=, epilogue=[...])`',
        "a = tl.load(al.ref(x, (8, 40)))\n"
        'al.composite(op="math", a=a, out=a, epilogue=[{"op": "exp"}, {"op": "add", "other": 1.0}])\n'
        "tl.store(al.ref(o, (8, 40)), a)",
        "the same without a GEMM: the ops run once, in order, on a block",
    ),
    Syntax(
        '`al.composite(op="gemm", prologue=[...], b=, ...)`',
        "s = tl.load(al.ref(x, (8, 40)))\nm = tl.full((8,), -1.0e9, tl.float32)\nl = tl.zeros((8,), tl.float32)\n"
        "O = tl.zeros((8, 16), tl.float32)\n"
        'al.composite(op="gemm", prologue=[{"op": "softmax_merge", "s": s, "m": m, "l": l, "O": O}],\n'
        '             b=al.ref(x, (40, 16)), out=O, epilogue=[{"op": "add", "other": O}])\n'
        "tl.store(al.ref(o, (8, 16)), O)",
        "a recipe before the GEMM makes its `a`: "
        + ", ".join(f"`{name}`" for name in recipes_of("prologue"))
        + " (see "
        "`ahbmc recipes`). Its operands lie in TCM; those that it writes are names, which go on with what is written",
    ),
    Syntax("`al.wait(*blocks)`", "a = tl.load(al.ref(x, (B,)))\nal.wait(a)", "a command: PE_CPU waits for the blocks"),
    Syntax(
        "`al.copy_to(dst, src)`",
        "a = tl.zeros((B,), tl.float32)\nal.copy_to(a, a + 1.0)\ntl.store(al.ref(o, (B,)), a)",
        "a command: block `src` is written over block `dst`; one shape, one type",
    ),
    Syntax(
        "`with al.scratch_scope():`",
        "a = tl.zeros((B,), tl.float32)\nwith al.scratch_scope():\n    b = tl.load(al.ref(x, (B,)))\n"
        "    al.copy_to(a, b * b)\ntl.store(al.ref(o, (B,)), a)",
        "no block made inside is used after it; may be nested",
    ),
    Syntax("`al.cycles(n)`", "al.cycles(12)", "PE_CPU is busy for n cycles"),
)

REFUSED: tuple[Syntax, ...] = (
    Syntax("`break`, `continue`", "for i in range(n):\n    break", "Triton has neither; make it a condition"),
    Syntax("`return` in a loop", "for i in range(n):\n    return", "Triton refuses it too"),
    Syntax("`else` of a loop", "for i in range(n):\n    pass\nelse:\n    pass", "write it after the loop"),
    Syntax("`class`, `try`, `yield`, `async`", "try:\n    pass\nexcept E:\n    pass", "of the host"),
    Syntax("functions in kernels", "def f():\n    pass", "write them beside the kernel, under `@triton.jit`"),
    Syntax("`lambda`", "f = lambda a: a", "write a function"),
    Syntax("dictionaries", "a = {'b': 1}", "use tuples"),
    Syntax("sets", "a = {1, 2}", "use tuples"),
    Syntax("`**` in calls", "tl.load(x, **n)", "name the arguments"),
    Syntax(
        "inline assembly",
        "tl.inline_asm_elementwise('', '=r', [n], dtype=tl.int32, is_pure=True, pack=1)",
        "is text for one GPU",
    ),
)

_HEAD = """\
# The kernel language

Kernels are Triton's, as they stand in their files: they are parsed and lowered, never executed or imported. This page
is made from the tables of the frontend; each line on syntax is an example that a test compiles.

A kernel is a function under `@triton.jit` (or `@ahbmc.jit`). It may call functions under the same decorator, use
constants of its file, and import both from files beside it. What the file does around its kernels is of the host and
not looked at. `ahbmc check PATH` says of each kernel of files, folders and wheels whether it compiles, and if not, at
which line and why.

Values are those of Triton: 60 kernels of production libraries are compared with its interpreter (`pytest -m oracle`).
Where Triton leaves a result to the hardware, it is defined here: floats that no integer can hold become the nearest
integer that there is.
"""

_OWN_HEAD = """\
`from ahbmc import language as al` has, beside all of `tl.`, what writes commands out by hand. A command that is written
out is issued as it stands there, under every pipeline. Functions that write a block give its name the written value.
"""


def language_page() -> str:
    """The page: types, syntax, functions by module, then what is refused."""
    parts = [_HEAD, "## Types\n", "| type | in signatures | bits |\n|---|---|---|"]
    parts += [f"| `tl.{each.spelled}` | `{each.name}` | {each.bits} |" for each in DTYPES]
    parts.append("\nPointers to each (`*fp16`), blocks of both, and tensor descriptors (`tensordesc<fp16[64,32]>`).\n")
    parts += ["## Syntax\n", _syntax(SUPPORTED), "\n## Functions\n"]
    parts.append("`tl.` is `triton.language`; what takes a value first is a method of values too, as in Triton.\n")
    for title, names in (
        ("`tl.`", [*_names(tables.LANGUAGE), *namespaces.library_names()]),
        ("`triton.language.extra.libdevice.`", _names(tables.LIBDEVICE)),
        ("`triton.`", _names(tables.TRITON)),
        ("`math.`", _names(tables.MATH)),
        ("of Python", _names(tables.PYTHON)),
        ("`ahbmc.language.`", _names(tables.OWN)),
        ("of tensor descriptors", tables.DESCRIPTOR_METHODS),
        ("of block pointers", tables.BLOCK_POINTER_METHODS),
    ):
        listed = ", ".join(f"`{name}`" for name in sorted(set(names)) if not name.startswith("_"))
        parts.append(f"- **{title}** {listed}")
    parts += ["\n## AHBM's own functions\n", _OWN_HEAD, _syntax(OWN)]
    parts += ["\n## Refused\n", "With a message that names the construct, its place and what to write instead.\n"]
    parts.append(_syntax(REFUSED))
    parts += [f"\n`tl.{name}`: {instead}." for name, instead in namespaces.NOT_YET.items()]
    return "\n".join(parts) + "\n"


def _names(functions: Iterable[Builtin]) -> list[str]:
    return [each.name for each in functions]


def _syntax(rows: Iterable[Syntax]) -> str:
    lines = ["| what | example | |", "|---|---|---|"]
    for row in rows:
        example = " ⏎ ".join(f"`{line}`" for line in row.lines.splitlines())
        lines.append(f"| {row.name} | {escaped(example)} | {escaped(row.note)} |")
    return "\n".join(lines)
