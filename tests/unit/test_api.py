"""The Python API: kernels of files and live functions on arrays, what comes back, and errors with places."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ahbmc
import ahbmc.language as al
import numpy as np
import numpy.typing as npt
import pytest
from ahbmc import language as tl
from ahbmc.dialects.elementwise import BY_TL
from ahbmc.dialects.errors import AhbmcError
from ahbmc.frontend import tables
from ahbmc.frontend.namespaces import library_function, library_names
from ahbmc.frontend.types import BY_SPELLING
from ahbmc.language import cumsum

Array = npt.NDArray[Any]
RANDOM = np.random.default_rng(5)
SHIFT = 3
EXAMPLES = Path(__file__).parents[2] / "examples"


@ahbmc.jit
def halved(x: Any) -> Any:
    return x * 0.5


@ahbmc.jit
def shift(x_ptr: Any, y_ptr: Any, n: Any, BLOCK: tl.constexpr) -> None:
    """y = x / 2 + SHIFT."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, halved(x) + SHIFT, mask=i < n)


@ahbmc.jit
def transpose(
    x_ptr: Any, y_ptr: Any, rows: Any, columns: Any, x_row: Any, x_column: Any, y_row: Any, BLOCK: tl.constexpr
) -> None:
    r = tl.arange(0, BLOCK)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    mask = (r < rows) & (c < columns)
    x = tl.load(x_ptr + r * x_row + c * x_column, mask=mask)
    tl.store(y_ptr + r * y_row + c, x, mask=mask)


@ahbmc.jit
def every_third(x_ptr: Any, y_ptr: Any) -> None:
    """A scalar of each program, its address from the 32 bits of the program's number."""
    p = tl.program_id(0)
    tl.store(y_ptr + p, tl.load(x_ptr + 3 * p))


@ahbmc.jit
def picked(x_ptr: Any, i_ptr: Any, y_ptr: Any, BLOCK: tl.constexpr) -> None:
    """Which of the lines of x are read, only the indices in memory say."""
    rows = tl.load(i_ptr + tl.arange(0, BLOCK))
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None] * BLOCK + columns[None, :])
    tl.store(y_ptr + columns[:, None] * BLOCK + columns[None, :], x)


@ahbmc.jit
def counted(i_ptr: Any, y_ptr: Any, BLOCK: tl.constexpr) -> None:
    i = tl.load(i_ptr + tl.arange(0, BLOCK))
    tl.atomic_add(y_ptr + i, 1)


def test_kernel_of_a_file_writes_into_the_array() -> None:
    a = RANDOM.standard_normal((70, 40)).astype(np.float16)
    b = RANDOM.standard_normal((40, 50)).astype(np.float16)
    c = np.zeros((70, 50), np.float16)
    kernel = ahbmc.load(EXAMPLES / "matmul.py").matmul_kernel
    sizes = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 2}
    result = kernel[(3 * 2,)](a, b, c, 70, 50, 40, 40, 1, 50, 1, 50, 1, **sizes, pipeline="composite", num_warps=4)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-2, atol=2e-2)
    assert result.outputs["c_ptr"] is c
    assert list(result.outputs) == ["c_ptr"]
    assert 0 < result.latency_ns == result.summary()["latency_ns"]
    assert (result.check, result.summary()["kernel"]) == ("skipped", "matmul.py::matmul_kernel")


def test_result_shows_itself() -> None:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    result = shift[1](x, y, 64, BLOCK=64)
    assert "Where the time went" in result.report()
    assert "Latency by line" in result.report(by_line=True)
    assert "tl.load" in result.ir("tl") and "ahbm.dma_read" in result.ir("ahbm")
    assert "<pre>" in result._repr_html_() and "shift" in result._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert f"{result.latency_ns:,.2f} ns" in repr(result)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_live_function_with_helper_and_constant(dtype: str) -> None:
    x, y = RANDOM.standard_normal(300).astype(dtype), np.zeros(300, dtype)

    def grid(meta: Mapping[str, Any]) -> tuple[int]:
        return (-(-meta["n"] // meta["BLOCK"]),)

    shift[grid](x, y, n=300, BLOCK=128)
    np.testing.assert_allclose(y, x / 2 + 3, rtol=2e-3)


def test_live_function_inside_a_function_takes_its_closure() -> None:
    factor, dtype = 4.0, tl.float32

    @ahbmc.jit
    def scale(x_ptr: Any, y_ptr: Any, BLOCK: tl.constexpr) -> None:
        i = tl.arange(0, BLOCK)
        tl.store(y_ptr + i, tl.load(x_ptr + i).to(dtype) * factor)

    x, y = RANDOM.standard_normal(32).astype(np.float16), np.zeros(32, np.float32)
    scale[1](x, y, BLOCK=32)
    np.testing.assert_allclose(y, x.astype(np.float32) * 4, rtol=1e-6)


def test_place_of_a_fault_in_a_live_function_is_that_of_the_file() -> None:
    @ahbmc.jit
    def broken(x_ptr: Any, BLOCK: tl.constexpr) -> None:
        i = tl.arange(0, BLOCK)
        tl.store(x_ptr + i, tl.nothing(i))

    with pytest.raises(AhbmcError) as caught:
        broken[1](np.zeros(32, np.float32), BLOCK=32)
    place = caught.value.faults[0].place
    assert place is not None and place.file.endswith("test_api.py")
    line = Path(__file__).read_text().splitlines()[place.line - 1]
    assert "tl.nothing(i)" in line
    (note,) = caught.value.__notes__
    assert line in note and "^" in note


@pytest.mark.parametrize("order", ["transposed", "sliced", "fortran"])
def test_arrays_that_are_not_contiguous_are_seen_by_their_strides(order: str) -> None:
    base = RANDOM.standard_normal((20, 30)).astype(np.float32)
    x = {"transposed": base.T, "sliced": base[::2, 3:19:3], "fortran": np.asfortranarray(base)}[order]
    rows, columns = x.shape
    steps = [stride // 4 for stride in x.strides]
    whole = np.full((rows, columns + 5), 7, np.float32)
    y = whole[:, 2 : 2 + columns]
    transpose[1](x, y, rows, columns, *steps, y.strides[0] // 4, BLOCK=32)
    np.testing.assert_array_equal(y, x)
    assert (whole[:, :2] == 7).all() and (whole[:, 2 + columns :] == 7).all(), "what lies between stays as it was"


class ByArray:
    """No numpy array, but it gives its memory as one."""

    def __init__(self, array: Array):
        self.array = array

    def __array__(self, *_: Any, **__: Any) -> Array:
        return self.array


class ByDlpack:
    """No numpy array, but it gives its memory by DLPack."""

    def __init__(self, array: Array):
        self.array = array

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@ahbmc.jit
def running_sum(x_ptr: Any, y_ptr: Any) -> None:
    i = tl.arange(0, 64)
    tl.store(y_ptr + i, cumsum(tl.load(x_ptr + i)))


def test_a_function_of_the_language_may_be_imported_by_its_name() -> None:
    x, y = RANDOM.standard_normal(64).astype(np.float32), np.zeros(64, np.float32)
    running_sum[1](x, y)
    np.testing.assert_allclose(y, np.cumsum(x), rtol=1e-4)


@pytest.mark.parametrize("other", [ByArray, ByDlpack])
def test_other_array_types(other: Callable[[Array], object]) -> None:
    x, y = RANDOM.standard_normal(64).astype(np.float32), np.zeros(64, np.float32)
    result = shift[1](other(x), other(y), 64, BLOCK=64)
    np.testing.assert_allclose(result.outputs["y_ptr"], x / 2 + 3, rtol=1e-6)
    np.testing.assert_allclose(y, x / 2 + 3, rtol=1e-6)


def test_array_that_must_not_be_written_stays() -> None:
    x, y = np.ones(32, np.float32), np.zeros(32, np.float32)
    y.flags.writeable = False
    result = shift[1](x, y, 32, BLOCK=32)
    assert not y.any()
    assert (result.outputs["y_ptr"] == 3.5).all()


def test_one_array_under_two_names_is_one_tensor() -> None:
    x = np.ones(32, np.float32)
    result = shift[1](x, x, 32, BLOCK=32)
    assert (x == 3.5).all()
    assert list(result.outputs) == ["x_ptr"]
    with pytest.raises(AhbmcError, match="share memory"):
        shift[1](x[:20], x[10:], 10, BLOCK=32)


def test_mapping_placement_and_machine() -> None:
    x, y = RANDOM.standard_normal(1024).astype(np.float32), np.zeros(1024, np.float32)
    one = shift[8](x, y, 1024, BLOCK=128)
    place = {"pe": "row_wise", "num_cubes": 1}
    options = {"map": {"pes": "sip0.cube0.pe0-7"}, "place": {"x_ptr": place, "y_ptr": place}}
    eight = shift[8](x, y, 1024, BLOCK=128, machine="ahbm-2sip-xy", **options)
    assert eight.latency_ns < one.latency_ns / 4
    assert eight.summary()["machine"] == "ahbm-2sip-xy"
    slow = shift[8](x, y, 1024, BLOCK=128, machine_set=["pe.cpu.fixed_cycles_single=400"])
    assert slow.latency_ns > one.latency_ns
    np.testing.assert_allclose(y, x / 2 + 3, rtol=1e-6)


def test_timing_only_writes_nothing() -> None:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    timing = shift[1](x, y, 64, BLOCK=64, timing_only=True)
    assert not y.any() and timing.outputs == {}
    assert timing.latency_ns == shift[1](x, y, 64, BLOCK=64).latency_ns


def test_timing_only_reads_the_indices_that_addresses_depend_on() -> None:
    """Sixteen lines, and atomics on sixteen words, take another time than the same one again and again."""
    x, i = np.ones((64, 16), np.float32), np.arange(16, dtype=np.int32)
    bursts = {"machine_set": ["hbm.strided=bursts"]}

    def pick(i: Array, timing: bool) -> ahbmc.Result:
        return picked[1](x, i, np.zeros((16, 16), np.float32), BLOCK=16, timing_only=timing, **bursts)

    def count(i: Array, timing: bool) -> ahbmc.Result:
        return counted[1](i, np.zeros(64, np.int32), BLOCK=16, timing_only=timing)

    for call in (pick, count):
        all_of_them, one = call(i, True), call(np.zeros_like(i), True)
        assert all_of_them.latency_ns == call(i, False).latency_ns
        assert all_of_them.latency_ns != one.latency_ns
        read = one.summary()["bytes"]
        assert read["hbm_read_useful"] <= read["hbm_read"]


def test_many_programs_on_one_pe_address_scalars_by_their_number() -> None:
    x, y = RANDOM.standard_normal(120).astype(np.float32), np.zeros(40, np.float32)
    every_third[40](x, y)
    assert np.array_equal(y, x[::3])


FAULTS: list[tuple[Callable[[Array], object], str]] = [
    (lambda x: shift[1](x, x, 32), "needs `BLOCK`"),
    (lambda x: shift[1](x, x, 32, BLOK=32), "no parameter `BLOK`"),
    (lambda x: shift[1](x, x, 32, 32, 5), "5 arguments for 4 parameters"),
    (lambda x: shift[1](x, x, 32, n=3, BLOCK=32), "`n` twice"),
    (lambda x: shift[1](x, x, {}, BLOCK=32), "argument `n` is of type dict"),
    (lambda x: shift[1](x, x, 32, BLOCK=x), "`BLOCK` is a constexpr"),
    (lambda x: shift[1](x.astype(np.complex64), x, 32, BLOCK=32), "complex64 cannot be passed"),
    (lambda x: shift[1](x[:0], x, 32, BLOCK=32), "it has no element"),
    (lambda x: shift[1](x[::-1], x.copy(), 32, BLOCK=32), "has strides"),
    (lambda x: shift[0](x, x, 32, BLOCK=32), "a grid is one to three sizes"),
    (lambda x: shift[1](x, x, 32, BLOCK=32, map={"kind": "best"}), "map: "),
    (lambda x: shift[1](x, x, 32, BLOCK=32, pipeline="nothing"), "'nothing'"),
    (lambda x: shift[1](x, x, 32, BLOCK=32, pipeline=["auto"]), "pipeline: "),
    (lambda x: shift[1](x, x, 32, BLOCK=32, options={"form-composites": 3}), "options: "),
    (lambda x: shift[1](x, x, 32, BLOCK=32, machine_set="pe.gemm.peak_tflops=16"), "machine_set: "),
    (lambda x: shift[1](x, x, 32, BLOCK=32, place=3), "place: "),
    (lambda _: shift.compile({}, options={"canonicalize": 3}), "Expected `object`, got `int`"),  # pyright: ignore[reportArgumentType]
    (lambda x: shift(x, x, 32, BLOCK=32), "needs a grid"),
    (lambda x: shift[1](x, x, 64, BLOCK=64), "x_ptr"),  # lanes beyond the array
]


@pytest.mark.parametrize(("call", "part"), FAULTS, ids=[part for _, part in FAULTS])
def test_faults(call: Callable[[Array], object], part: str) -> None:
    with pytest.raises(AhbmcError) as caught:
        call(np.ones(32, np.float32))
    assert part in str(caught.value)


def test_files() -> None:
    kernels = ahbmc.load(EXAMPLES / "vector_add.py")
    assert dir(kernels) == ["vector_add_kernel"]
    with pytest.raises(AttributeError, match="no kernel `add`; its kernels: vector_add_kernel"):
        _ = kernels.add
    with pytest.raises(AhbmcError, match=r"no kernel file none\.py"):
        ahbmc.load("none.py")


def test_workload_from_python() -> None:
    result = ahbmc.run(EXAMPLES / "vector_add.yaml", set={"args.n_elements": 3000, "check.c_ptr.rtol": 0})
    assert result.check == "pass"
    assert result.outputs["c_ptr"].shape == (3000,)
    failed = ahbmc.run(EXAMPLES / "vector_add.yaml", set=["args.n_elements=3000", "check.c_ptr.reference=a_ptr"])
    assert failed.check == "fail" and "3000 of 3000 elements are off" in failed.failures[0]


def test_compile_from_python() -> None:
    text = ahbmc.compile(
        f"{EXAMPLES / 'vector_add.py'}::vector_add_kernel",
        signature={"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "n_elements": "i32"},
        constants={"BLOCK_SIZE": 64},
        emit="tl",
    )
    assert "tensor<64xf16>" in text
    assert "ahbm.math" in ahbmc.compile(EXAMPLES / "vector_add.yaml", emit="ahbm")


def frontend_names() -> dict[str, list[str]]:
    """Every function of the kernel language with its parameters."""
    rows = {b.name: [p.name for p in b.parameters] for b in (*tables.LANGUAGE, *tables.OWN)}
    for name in library_names():
        function = library_function(name)
        assert function is not None
        rows[name] = [p.name for p in function.tree.parameters]
    return {name: parameters for name, parameters in rows.items() if not name.startswith("_")}


def test_language_has_what_the_frontend_knows_and_no_more() -> None:
    known = frontend_names()
    stubs = {n: f for n in dir(al) if inspect.isfunction(f := getattr(al, n)) and not n.startswith("_")}
    assert set(stubs) | {"constexpr"} == set(known)
    for name, function in stubs.items():
        # The element-wise functions come from their table and take what its row says.
        if name not in BY_TL or name in vars(al):
            assert list(inspect.signature(function).parameters) == known[name], name
    assert {n for n, v in vars(al).items() if isinstance(v, al.dtype)} == set(BY_SPELLING)


def test_calling_the_language_outside_a_kernel_is_told() -> None:
    with pytest.raises(al.OutsideKernel, match="`load` belongs to the kernel language"):
        al.load(3)
