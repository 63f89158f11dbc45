"""The page on the kernel language: what it shows as supported compiles, what it shows as refused is, and says why."""

from __future__ import annotations

import pytest
from ahbmc.dialects.errors import AhbmcError, Category
from ahbmc.driver.language_page import REFUSED, SUPPORTED, Syntax, language_page
from ahbmc.frontend import compile_kernel, namespaces, tables
from ahbmc.frontend.types import DTYPES


def compiled(row: Syntax) -> None:
    body = "\n".join(f"    {line}" for line in row.lines.splitlines())
    text = f"import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, o, n, B: tl.constexpr):\n{body}\n"
    compile_kernel(text, "k.py", "k", {"x": "*fp32", "o": "*fp32", "n": "i32"}, {"B": 4}).verify()


@pytest.mark.parametrize("row", SUPPORTED, ids=lambda row: row.name)
def test_what_is_supported_compiles(row: Syntax) -> None:
    compiled(row)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.name)
def test_what_is_refused_says_so_at_its_place(row: Syntax) -> None:
    with pytest.raises(AhbmcError) as caught:
        compiled(row)
    fault = caught.value.faults[0]
    assert fault.category is Category.UNSUPPORTED
    assert fault.place is not None
    assert fault.hint


def test_every_function_and_type_is_on_the_page() -> None:
    page = language_page()
    functions = {*(b.name for b in (*tables.LANGUAGE, *tables.LIBDEVICE)), *namespaces.library_names()}
    wanted = {*(n for n in functions if not n.startswith("_")), *namespaces.NOT_YET}
    assert not [name for name in wanted if f"`{name}`" not in page and f"`tl.{name}`" not in page]
    assert all(f"`{dtype.name}`" in page for dtype in DTYPES)
