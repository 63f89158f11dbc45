"""The parser against CPython: our tree, written out with all parentheses, must parse to CPython's tree of the text."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from ahbmc.dialects.errors import AhbmcError, Sources, render
from ahbmc.frontend import kernel_names, syntax
from ahbmc.frontend.parser import parse, parse_function
from ahbmc.frontend.pieces import scan
from ahbmc.frontend.text import Text

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("examples/*.py"), *ROOT.glob("tests/end_to_end/kernels/*.py"), *ROOT.glob("frontend/*.tl")])


# Our tree as Python text -----------------------------------------------------------------------------------


def written(node: object) -> str:
    """An expression with all its parentheses."""
    match node:
        case syntax.Name():
            return node.id
        case syntax.Constant(ellipsis=True):
            return "..."
        case syntax.Constant():
            return f"({node.value!r})" if node.value not in (float("inf"),) else "1e999"
        case syntax.Sequence(kind="tuple"):
            return f"({''.join(written(i) + ', ' for i in node.items)})"
        case syntax.Sequence(kind="list"):
            return f"[{', '.join(map(written, node.items))}]"
        case syntax.Sequence():
            return f"{{{', '.join(map(written, node.items))}}}"
        case syntax.Dictionary():
            return f"{{{', '.join(f'{written(k)}: {written(v)}' if k else f'**{written(v)}' for k, v in node.pairs)}}}"
        case syntax.Attribute():
            return f"({written(node.value)}).{node.name}"
        case syntax.Subscript():
            return f"({written(node.value)})[{_index(node.index)}]"
        case syntax.Call():
            keywords = [f"{k.name}={written(k.value)}" if k.name else f"**{written(k.value)}" for k in node.keywords]
            return f"({written(node.function)})({', '.join([*map(written, node.arguments), *keywords])})"
        case syntax.Starred():
            return f"*({written(node.value)})"
        case syntax.Unary():
            return f"({node.operator} {written(node.operand)})"
        case syntax.Binary():
            return f"({written(node.left)} {node.operator} {written(node.right)})"
        case syntax.Compare():
            rest = zip(node.operators, node.others, strict=True)
            return f"({written(node.left)} {' '.join(f'{o} {written(x)}' for o, x in rest)})"
        case syntax.Logical():
            return f"({f' {node.operator} '.join(map(written, node.operands))})"
        case syntax.Conditional():
            return f"({written(node.on_true)} if {written(node.test)} else {written(node.on_false)})"
        case syntax.Named():
            return f"({node.name} := {written(node.value)})"
        case _:
            raise AssertionError(f"{node} has no text")


def _index(node: syntax.Expression) -> str:
    def slice_text(part: syntax.Expression) -> str:
        if not isinstance(part, syntax.Slice):
            return written(part)
        ends = [written(e) if e is not None else "" for e in (part.lower, part.upper)]
        return ":".join(ends) + (f":{written(part.step)}" if part.step is not None else "")

    if isinstance(node, syntax.Sequence) and any(isinstance(i, syntax.Slice) for i in node.items):
        return "".join(slice_text(i) + ", " for i in node.items)
    return slice_text(node)


def lines(body: syntax.Body) -> list[str]:
    """Statements as lines of text."""
    return [line for statement in body for line in _lines(statement)] or ["pass"]


def _lines(node: syntax.Statement) -> list[str]:
    match node:
        case syntax.Assign():
            return [" = ".join(written(n) for n in (*node.targets, node.value))]
        case syntax.Augmented():
            return [f"{written(node.target)} {node.operator}= {written(node.value)}"]
        case syntax.Annotated():
            value = f" = {written(node.value)}" if node.value is not None else ""
            return [f"{written(node.target)}: {written(node.annotation)}{value}"]
        case syntax.Evaluate():
            return [written(node.value)]
        case syntax.Return():
            return [f"return {written(node.value)}" if node.value is not None else "return"]
        case syntax.Raise():
            return [f"raise {written(node.value)}" if node.value is not None else "raise"]
        case syntax.Assert():
            return [f"assert {written(node.test)}" + (f", {written(node.message)}" if node.message else "")]
        case syntax.Pass():
            return ["pass"]
        case syntax.Refused():
            return [node.keyword]
        case syntax.If():
            orelse = ["else:", *_indented(node.orelse)] if node.orelse else []
            return [f"if {written(node.test)}:", *_indented(node.then), *orelse]
        case syntax.For():
            orelse = ["else:", *_indented(node.orelse)] if node.orelse else []
            head = f"for {written(node.target)} in {written(node.iterable)}:"
            return [head, *_indented(node.body), *orelse]
        case syntax.While():
            return [f"while {written(node.test)}:", *_indented(node.body)]
        case syntax.With():
            items = ", ".join(written(c) + (f" as {written(t)}" if t is not None else "") for c, t in node.items)
            return [f"with {items}:", *_indented(node.body)]
        case syntax.Function():
            returns = f" -> {written(node.returns)}" if node.returns is not None else ""
            return [f"def {node.name}({_parameters(node)}){returns}:", *_indented(node.body)]
        case syntax.Import():
            return [f"import {', '.join(_alias(*n) for n in node.names)}"]
        case syntax.ImportFrom():
            return [f"from {node.module} import {', '.join(_alias(*n) for n in node.names) or '*'}"]


def _alias(name: str, alias: str | None) -> str:
    return f"{name} as {alias}" if alias else name


def _indented(body: syntax.Body) -> list[str]:
    return ["    " + line for line in lines(body)]


def _parameters(node: syntax.Function) -> str:
    parts: list[str] = []
    starred = False
    for p in node.parameters:
        if p.kind == "keyword" and not starred:
            parts.append("*")
        starred = starred or p.kind in ("keyword", "rest")
        stars = {"rest": "*", "keywords": "**"}.get(p.kind, "")
        annotation = f": {written(p.annotation)}" if p.annotation is not None else ""
        default = f" = {written(p.default)}" if p.default is not None else ""
        parts.append(f"{stars}{p.name}{annotation}{default}")
    return ", ".join(parts)


def assert_same(ours: syntax.Body, source: str) -> None:
    """Fail unless our tree and CPython's of `source` are the same."""
    theirs = ast.parse(textwrap.dedent(source))
    for node in ast.walk(theirs):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
    assert ast.dump(ast.parse("\n".join(lines(ours)))) == ast.dump(theirs)


# Tests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_kernel_of_ours_parses_as_cpython_parses_it(path: Path) -> None:
    """All functions of examples, test kernels and the library: precedence, chains, slices and blocks are CPython's."""
    source = path.read_text(encoding="utf-8")
    text = Text(str(path), source)
    functions = [p for p in scan(text) if p.kind == "function"]
    assert functions
    for piece in functions:
        assert_same((parse_function(text, piece),), source[piece.span[0] : piece.span[1]])


STATEMENTS = [
    "x = a + b * c ** -d ** e // f % g @ h - i",
    "x = -a ** 2 + ~b & c | d ^ e << 1 >> 2",
    "x = not a == b and c or d and not e",
    "x = a < b <= c != d is not e not in f is g in h",
    "x = a if b else c if d else e",
    "x = (a if b else c) if (y := 3) else d",
    "x = a[1], a[:, None], a[1:2, ::3], a[:], a[1:, :2, None], a[b, c], a[b,]",
    "x = f(a, *b, c=1, **d)(e).g[h](i)",
    "x = ()\ny = (1,)\nz = [1, 2, *c]\nw = {1: 2, **d}\nv = {1, 2}",
    "x, (y, *z), w = a = b",
    "x: int = 3\ny: tl.constexpr",
    "x += 1; y -= 2; z *= 3; a /= 4; b //= 5; c %= 6; d **= 7; e >>= 8; f <<= 9; g &= 1; h |= 2; i ^= 3; j @= 4",
    "x = 0x1F + 0b101 + 0o17 + 1_000 + 1_0.0_1",
    "x = 1e3 + 1.5 + .5 + 1. + 2E-3 + 00",
    "x = 'a' \"b\" '''c\nd''' r'\\n' '\\n' '\\'' \"\"\"e\"f\"\"\"",
    "x = 'a\\\nb'",
    "x = (a +\n  b\n  # comment\n + c)  # comment\n",
    "x = a + \\\n    b",
    "if a: x = 1\nelif b:\n  x = 2\n  y = 3\nelif c: pass\nelse:\n    x = 4",
    "for i in range(3): x += i; y = 2\nfor i, (j, k) in a, b:\n\tpass\nelse:\n\tx = 1",
    "while a < b:\n    while c: d = 1\n\n    # comment\n    e = 2",
    "def f(a, b: int, c=1, *d, e, f: x = 2, **g) -> y:\n    return\ndef h(*, a): return a, b",
    "assert a, 'b'\nassert a\nraise ValueError('x')\nbreak\ncontinue",
    "import a.b.c as d, e\nfrom a.b import (c as d, e,)\nfrom . import x\nfrom ..y import z\nfrom a import *",
    "with a as b, c(d):\n    pass",
    "x = ...",
    "x = None is True or False",
]


@pytest.mark.parametrize("source", STATEMENTS)
def test_statements_parse_as_cpython_parses_them(source: str) -> None:
    """One case per form of expression and statement, wrapped in a function as it stands in a kernel."""
    wrapped = "def kernel():\n" + textwrap.indent(source, "    ")
    if "'''" in source or "\\\n" in source:
        wrapped = "def kernel():\n    " + source  # the lines of a string keep their blanks
    text = Text("kernel.py", wrapped)
    (piece,) = scan(text)
    assert_same(parse(text, piece), wrapped)


HOST_FILE = '''\
#!/usr/bin/env python
"""A file of which most is host code in any Python."""
import triton
try:
    import triton.language as tl
except ImportError:
    tl = None
CONSTANT: tl.constexpr = 8
match CONSTANT:
    case 8: values = {x: y for x, y in [(1, 2)]}

class Model:
    @staticmethod
    @triton.jit
    def inner(x_ptr,
              y: tl.constexpr):
        z = (y +
    1)
        # a comment further left
      # and another
        tl.store(x_ptr, z)

    def forward(self): return [i async for i in self]

@triton.autotune(configs=[triton.Config({"B": b}) for b in (1, 2)], key=["n",],)
@triton.jit
def outer(x_ptr, B: tl.constexpr):
    """With a string
that goes over lines."""
    pass

def helper(x): yield x
'''


def test_kernels_are_found_among_host_code() -> None:
    """Classes, `try`, decorators and comprehensions around kernels do not matter, and are never parsed."""
    assert kernel_names(HOST_FILE, "host.py") == ("inner", "outer")
    text = Text("host.py", HOST_FILE)
    inner = next(p for p in scan(text) if p.name == "inner")
    assert [p.name for p in parse_function(text, inner).parameters] == ["x_ptr", "y"]


def faults_of(source: str) -> str:
    text = Text("kernel.py", source)
    sources = Sources()
    sources.add("kernel.py", source)
    with pytest.raises(AhbmcError) as caught:
        for piece in scan(text):
            parse(text, piece)
    return render(caught.value, sources)


FAULTS = {
    "an unclosed bracket is shown where it opens": (
        "def k(x):\n    y = (x + 1\n    z = 3\n",
        "kernel.py:2:9: error: '(' was never closed [invalid-input]\n        y = (x + 1\n            ^",
    ),
    "a bracket too many": ("def k(x):\n    y = x]\n", "kernel.py:2:10: error: unmatched ']'"),
    "a bracket of another kind names the one that is open": (
        "def k(x):\n    y = (x]\n",
        "kernel.py:2:11: error: ']' does not close '(' [invalid-input]\n        y = (x]\n              ^\n"
        "  note: '(' was opened at line 2, column 9",
    ),
    "a string that never ends": ("def k(x):\n    y = 'abc\n", "kernel.py:2:9: error: a string that never ends"),
    "an unindent to nowhere": (
        "def k(x):\n  if x:\n      y = 1\n    z = 1\n",
        "kernel.py:4:5: error: unindent does not match any outer indentation level",
    ),
    "indentation out of nothing": (
        "def k(x):\n    y = 3\n       z = 4\n",
        "kernel.py:3:8: error: unexpected indentation",
    ),
    "no block where one is needed": (
        "def k(x):\n    if x:\n    z = 1\n",
        "kernel.py:3:5: error: expected an indented block",
    ),
    "a function without a body": ("def k(x):\n", "kernel.py:1:10: error: expected an indented block"),
    "no colon": ("def k(x):\n    if x\n        y = 1\n", "kernel.py:2:9: error: expected ':'"),
    "an assignment for a comparison": (
        "def k(x):\n    if x = 3:\n        pass\n",
        "kernel.py:2:10: error: an assignment where a condition is needed [invalid-input]\n        if x = 3:\n"
        "             ^\n  hint: maybe you meant '=='",
    ),
    "no comma": (
        "def k(x):\n    f(x y)\n",
        "kernel.py:2:9: error: invalid syntax at 'y' [invalid-input]\n        f(x y)\n            ^\n"
        "  hint: perhaps you forgot a comma or an operator",
    ),
    "an operand is missing": ("def k(x):\n    y = x +\n", "kernel.py:2:12: error: invalid syntax: the end of the line"),
    "a statement that the language has not": (
        "def k(x):\n    try:\n        y = 1\n    except: pass\n",
        "kernel.py:2:5: error: not supported in a kernel: `try` [unsupported]",
    ),
    "a strange character": ("def k(x):\n    y = x ? 1\n", "kernel.py:2:11: error: a character that no kernel can have"),
    "an assignment to a number": ("def k(x):\n    1 = x\n", "kernel.py:2:5: error: cannot assign to this expression"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_syntax_faults_are_shown_in_place(case: str) -> None:
    """Each fault of syntax has its line, column and reason."""
    source, expected = FAULTS[case]
    assert expected in faults_of(source)


def test_independent_syntax_faults_are_all_reported() -> None:
    """Three statements of a kernel are wrong, and each is reported once."""
    report = faults_of("def k(x):\n    if x\n        y = 1\n    z = = 3\n    ok = 1\n    w = 4 4\n")
    assert report.count("error:") == 3
    assert all(f"kernel.py:{line}:" in report for line in (2, 4, 6))


@pytest.mark.parametrize("source", [HOST_FILE.replace("\n", "\r\n"), "\ufeff" + HOST_FILE], ids=["crlf", "bom"])
def test_files_of_other_systems_are_read(source: str) -> None:
    """Line ends of two characters and a mark of byte order change nothing."""
    assert kernel_names(source, "host.py") == ("inner", "outer")
    text = Text("host.py", source)
    trees = [parse_function(text, p) for p in scan(text) if p.jit]
    assert [len(t.body) for t in trees] == [2, 2]


def test_spans_cover_what_is_written() -> None:
    """A node's span cuts its own text out of the file, in a function that stands further right too."""
    text = Text("host.py", HOST_FILE)
    inner = parse_function(text, next(p for p in scan(text) if p.name == "inner"))
    call = inner.body[-1]
    assert isinstance(call, syntax.Evaluate)
    assert HOST_FILE[call.span[0] : call.span[1]] == "tl.store(x_ptr, z)"
    place = text.place(call.span)
    assert HOST_FILE.splitlines()[place.line - 1][place.column - 1 :] == "tl.store(x_ptr, z)"
