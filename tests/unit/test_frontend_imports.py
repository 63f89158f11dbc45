"""Names that a kernel file imports from other kernel files."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ahbmc.dialects.errors import AhbmcError
from ahbmc.frontend import compile_kernel
from ahbmc.frontend.module import module_of

KERNEL = """\
import triton
import triton.language as tl
{imports}

@triton.jit
def k(x, B: tl.constexpr):
    offs = tl.arange(0, B)
    tl.store(x + offs, {value})
"""
OTHER = """\
import triton
import triton.language as tl

LIMIT: tl.constexpr = 3
HOST = open("x")


@triton.jit
def twice(v):
    return v * 2 + LIMIT
"""


def compiled(imports: str, value: str, files: Mapping[str, str]) -> str:
    """The IR of a kernel in the package `p` among `files` (dotted module -> text)."""

    def find(file: str, module: str) -> tuple[str, str] | None:
        return (f"{module}.py", files[module]) if module in files else None

    return str(compile_kernel(KERNEL.format(imports=imports, value=value), "k.py", "k", {"x": "*fp32"}, {"B": 8}, find))


@pytest.mark.parametrize(
    ("imports", "value"),
    [
        ("from .other import twice", "twice(offs)"),
        ("from .other import twice as again", "again(offs)"),
        ("from p.other import twice", "twice(offs)"),
        ("from . import other", "other.twice(offs)"),
        ("import p.other as o", "o.twice(offs)"),
        ("from .other import *", "twice(offs)"),
        ("from .front import twice", "twice(offs)"),
        ("from .other import twice\nf = twice\nif True:\n    f = triton.changed(f)", "f(offs)"),
        ("try:\n    from gone import twice\nexcept ImportError:\n    from .other import twice", "twice(offs)"),
    ],
)
def test_a_function_of_another_file(imports: str, value: str) -> None:
    """It is inlined with the constants of its own file, however it was imported."""
    files = {".other": OTHER, "p.other": OTHER, ".front": "from .other import *"}
    text = compiled(imports, value, files)
    assert "dense<2>" in text and "dense<3>" in text


@pytest.mark.parametrize(
    ("imports", "value", "message"),
    [
        ("from .other import missing", "missing(offs)", "'missing' of the module '.other', which has no such name"),
        ("from .other import HOST", "offs + HOST", "a value of the host"),
        ("from .gone import f", "f(offs)", "'f' of the module '.gone' cannot be called"),
        ("from . import other", "other.twise(offs)", "has no 'twise'"),
        ("from .broken import f", "f(offs)", "'f' of the module '.broken' cannot be called"),
    ],
)
def test_what_another_file_does_not_give(imports: str, value: str, message: str) -> None:
    """Only the use of such a name is an error, at its place."""
    with pytest.raises(AhbmcError) as caught:
        compiled(imports, value, {".other": OTHER, ".broken": "def f(:"})
    assert message in str(caught.value)
    assert str(caught.value).startswith("k.py:8:")


def test_files_that_import_each_other() -> None:
    """A circle of imports ends."""
    files = {".a": "from .b import twice", ".b": "from .a import twice"}
    with pytest.raises(AhbmcError) as caught:
        compiled("from .a import twice", "twice(offs)", files)
    assert "cannot be called" in str(caught.value)


def test_the_language_under_the_name_of_an_unknown_module() -> None:
    """`tl` that comes from a module which is not at hand is Triton's language."""
    text = KERNEL.replace("import triton\nimport triton.language as tl", "from project.shims import tl, triton")
    assert compile_kernel(text.format(imports="", value="offs"), "k.py", "k", {"x": "*i32"}, {"B": 8})


def test_kernels_inside_functions() -> None:
    """A kernel of a test is found by its name, or by that of the function around it where there are several."""
    inner = "    @triton.jit\n    def k(x):\n        tl.store(x, {})\n\n    k[(1,)]()\n"
    text = f"import triton.language as tl\n\n\ndef one():\n{inner.format(1)}\n\nclass C:\n    def two(self):\n"
    text += "\n".join(f"    {line}" for line in inner.format(2).splitlines())
    module = module_of(text, "k.py")
    assert module.kernels == ("k",)
    for name, value in (("one.k", 1), ("C.two.k", 2), ("k", 2)):
        assert f"arith.constant {value} : i32" in str(compile_kernel(text, "k.py", name, {"x": "*i32"}, {}))


def test_a_decorator_that_is_called() -> None:
    """`f = triton.jit(f)` makes a kernel of `f`, as the decorator does."""
    text = "import triton\nimport triton.language as tl\n\n\ndef k(x):\n    tl.store(x, 1)\n\n\nk = triton.jit(k)\n"
    assert module_of(text, "k.py").kernels == ("k",)
    assert "tl.store" in str(compile_kernel(text, "k.py", "k", {"x": "*i32"}, {}))


@pytest.mark.parametrize(
    ("decorator", "is_kernel"),
    [
        ("triton.jit", True),
        ("jit", True),
        ("triton.jit(noinline=True)", True),
        ("numba.jit", False),
        ("cute.jit", False),
        ("torch.jit.script", False),
    ],
)
def test_whose_jit_it_is(decorator: str, is_kernel: bool) -> None:
    """The `jit` of another project makes no kernel."""
    assert module_of(f"@{decorator}\ndef k(x):\n    pass\n", "k.py").kernels == (("k",) if is_kernel else ())
