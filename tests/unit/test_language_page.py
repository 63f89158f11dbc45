"""The page on the kernel language: what it shows as supported compiles, what it shows as refused is, and says why."""

from __future__ import annotations

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.device import run_device
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.backend_sim.numerics.reference import run_reference
from ahbmc.dialects.errors import AhbmcError, Category
from ahbmc.driver.language_page import OWN, REFUSED, SUPPORTED, Syntax, language_page
from ahbmc.frontend import compile_kernel, namespaces, tables
from ahbmc.frontend.types import DTYPES
from ahbmc.passes import build_pipeline, run_pipeline
from xdsl.dialects.builtin import ModuleOp


def compiled(row: Syntax) -> ModuleOp:
    body = "\n".join(f"    {line}" for line in row.lines.splitlines())
    head = "import triton\nimport triton.language as tl\nfrom ahbmc import language as al\n\n\n"
    text = f"{head}@triton.jit\ndef k(x, o, n, B: tl.constexpr):\n{body}\n"
    module = compile_kernel(text, "k.py", "k", {"x": "*fp32", "o": "*fp32", "n": "i32"}, {"B": 4})
    module.verify()
    return module


@pytest.mark.parametrize("row", SUPPORTED, ids=lambda row: row.name)
def test_what_is_supported_compiles(row: Syntax) -> None:
    compiled(row)


@pytest.mark.parametrize("row", OWN, ids=lambda row: row.name)
@pytest.mark.parametrize("pipeline", ["primitive", "auto"])
def test_own_functions_run(row: Syntax, pipeline: str) -> None:
    """On the device, with the values of the kernel as it is written."""
    module = compiled(row)
    found: list[dict[str, Array]] = []
    for run in (run_reference, run_device):
        arrays = {"x": np.linspace(-1, 2, 4096, dtype=np.float32), "o": np.zeros(4096, np.float32)}
        run(module, [*arrays.values(), 40], (1,))
        found.append(arrays)
        if run is run_reference:
            run_pipeline(module, build_pipeline(pipeline))
    np.testing.assert_allclose(found[1]["o"], found[0]["o"], rtol=1e-5, atol=1e-5)
    assert found[0]["o"].any() == ("ref(o" in row.lines)


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
