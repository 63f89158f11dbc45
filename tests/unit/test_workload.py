"""Workload files: what is read from them, defaults and overrides, and every fault at its place."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import TRITON_TYPES
from ahbmc.dialects.errors import AhbmcError, render
from ahbmc.driver.tensors import fill, shape_of
from ahbmc.driver.workload import Workload, load
from ahbmc.driver.workload_schema import Check, DTypeName, Init, Map, Normal, Placement, TensorArgument

WHOLE = """\
kernel: k.py::kern
machine: tiny
pipeline: composite
args:
  a: {shape: [M, "2 * K"], dtype: fp16, init: {normal: {seed: 1}}, place: {cube: replicate, pe: row_wise}}
  c: {shape: [7], dtype: fp32, init: zeros}
  M: 1000
  K: 3
  scale: 0.5
const: {BLOCK: 64, TAG: fast}
grid: ["cdiv(M, BLOCK)", 2]
map: {kind: cyclic, pes: "sip0.cube0.pe0-7"}
options: {form-composites: {stage: a}}
check: {c: {reference: "copy(c)", rtol: 1e-2}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.py").write_text("import triton\n")
    return tmp_path


def read(folder: Path, text: str, *overrides: str) -> Workload:
    (folder / "w.yaml").write_text(text)
    return load(folder / "w.yaml", overrides)


def refused(folder: Path, text: str, *overrides: str) -> str:
    """The rendered error, without the folder."""
    with pytest.raises(AhbmcError) as caught:
        read(folder, text, *overrides)
    assert all(f.place is not None for f in caught.value.faults)
    return render(caught.value).replace(f"{folder}/", "")


def test_whole_file(folder: Path) -> None:
    workload = read(folder, WHOLE)
    (launch,) = workload.launches
    assert workload.file.machine == "tiny"
    assert launch.kernel_file == folder / "k.py" and launch.kernel_name == "kern"
    assert launch.args["a"] == TensorArgument(
        ("M", "2 * K"), "fp16", Init(normal=Normal(seed=1)), Placement("replicate", "row_wise")
    )
    assert launch.args["scale"] == 0.5 and launch.args["M"] == 1000
    assert launch.const == {"BLOCK": 64, "TAG": "fast"}
    assert launch.grid == ("cdiv(M, BLOCK)", 2)
    assert launch.map == Map("cyclic", "sip0.cube0.pe0-7")
    assert launch.options == {"form-composites": {"stage": "a"}}
    assert launch.entry.check == {"c": Check(reference="copy(c)")}


def test_defaults(folder: Path) -> None:
    (launch,) = read(folder, "kernel: k.py::kern\n").launches
    assert (launch.grid, launch.map, launch.pipeline) == ((1,), Map("block", None), "auto")


def test_set_takes_the_paths_of_the_file(folder: Path) -> None:
    workload = read(
        folder, WHOLE, "const.BLOCK=32", "args.M=10", "args.a.shape=[4, K]", "options.form-composites.stage=b",
        "options.lower.x=1", "machine.pe.gemm.peak_tflops=16", "pipeline=fused", "check.c.rtol=1e-3",
    )  # fmt: skip
    (launch,) = workload.launches
    assert launch.const["BLOCK"] == 32 and launch.args["M"] == 10
    assert isinstance(launch.args["a"], TensorArgument) and launch.args["a"].shape == (4, "K")
    assert launch.options == {"form-composites": {"stage": "b"}, "lower": {"x": 1}}
    assert (launch.pipeline, launch.entry.check["c"].rtol) == ("fused", 1e-3)
    assert workload.machine_set == ("machine.pe.gemm.peak_tflops=16",)


LAUNCHES = """\
args: {x: {shape: [8], dtype: fp32}, n: 8}
const: {BLOCK: 8, DEPTH: 1}
options: {p: {a: 1, b: 2}}
grid: [2]
launches:
  - {kernel: "k.py::one", const: {DEPTH: 2}, options: {p: {b: 3}}}
  - {kernel: "k.py::two", args: {n: 4}, grid: [3], map: {pes: sip0.cube0.pe1}}
"""


def test_launches_take_from_the_top_what_they_leave_out(folder: Path) -> None:
    workload = read(folder, LAUNCHES, "launches.0.const.DEPTH=4")
    one, two = workload.launches
    assert (one.kernel_name, two.kernel_name) == ("one", "two")
    assert (one.const, two.const) == ({"BLOCK": 8, "DEPTH": 4}, {"BLOCK": 8, "DEPTH": 1})
    assert one.options == {"p": {"a": 1, "b": 3}}
    assert (one.grid, two.grid, two.args["n"], one.args["n"]) == ((2,), (3,), 4, 8)
    assert two.map.pes == "sip0.cube0.pe1"
    assert workload.place(one, "args", "n").line == 1 and workload.place(two, "args", "n").line == 7


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("grid: [", "gird: [", "w.yaml:11:1: error: unknown key `gird` in the file; allowed: kernel, machine"),
        ("dtype: fp16", "dtype: float16", "w.yaml:5:35: error: `dtype` must be `fp16`, `bf16`"),
        ("shape: [7]", "shape: [0]", "w.yaml:6:15: error: entry 0 of `shape` must be an integer >= 1; found 0"),
        ("rtol: 1e-2", "rtol: 1 %", "w.yaml:14:41: error: `rtol` must be"),
        ("init: zeros", "init: zero", "w.yaml:6:38: error: `init` must be `zeros`"),
        ("normal: {seed: 1}", "normal: {seed: 1}, full: 2", "found `full` and `normal`"),
        ("kind: cyclic", "kind: ciclic", "hint: did you mean `cyclic`?"),
        ("k.py::kern", "missing.py::kern", "w.yaml:1:9: error: there is no kernel file missing.py"),
        ("k.py::kern", "k.py", "w.yaml:1:9: error: `k.py` names no kernel"),
        ("kernel: k.py::kern\n", "", "exactly one of `kernel`, `launches` must be given; found none"),
        ("M: 1000", "M: [1]", "w.yaml:7:6: error: `M` must be a mapping or "),
    ],
)
def test_fault(folder: Path, old: str, new: str, expected: str) -> None:
    assert old in WHOLE
    text = refused(folder, WHOLE.replace(old, new))
    assert expected in text
    assert "^" in text
    assert text.count("error:") == 1


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("const.BLOCK", "`const.BLOCK` is not path=value"),
        ("cosnt.BLOCK=3", "--set:1:1: error: unknown key `cosnt`"),
        ("grid=[1", "--set:1:8: error: this is not YAML"),
        ("args.a.dtype=f16", "--set:1:14: error: `dtype` must be"),
        ("kernel.x=1", "--set:1:8: error: nothing lies below"),
        ("args..a=1", "is not path=value"),
    ],
)
def test_fault_of_an_override(folder: Path, override: str, expected: str) -> None:
    assert expected in refused(folder, WHOLE, override)


def test_missing_file_and_wrong_text(folder: Path) -> None:
    with pytest.raises(AhbmcError, match=r"there is no workload file .*none\.yaml"):
        load(folder / "none.yaml")
    with pytest.raises(AhbmcError, match="cannot be read"):
        load(folder)
    (folder / "b.yaml").write_bytes(b"kernel: \xff")
    with pytest.raises(AhbmcError, match="not UTF-8"):
        load(folder / "b.yaml")
    assert "a workload file is a mapping" in refused(folder, "- 1\n")


def test_shape_expressions(folder: Path) -> None:
    workload = read(folder, WHOLE)
    (launch,) = workload.launches
    argument = launch.args["a"]
    assert isinstance(argument, TensorArgument)
    node = workload.node(launch, "args", "a")
    assert shape_of(argument, node, {"M": 10, "K": 3}) == (10, 6)
    with pytest.raises(AhbmcError) as caught:
        shape_of(argument, node, {"M": 0})
    places = [(f.place.line, f.place.column, f.message) for f in caught.value.faults if f.place]
    assert places == [
        (5, 15, "extent 0 of the shape is 0; at least 1 is allowed"),
        (5, 23, "`K` is no argument and no constant of this launch"),
    ]


def test_dtype_names_are_those_of_the_numerics() -> None:
    assert set(get_args(DTypeName)) == set(TRITON_TYPES)


def filled(folder: Path, init: str, name: str = "a", dtype: str = "fp32") -> np.ndarray:
    workload = read(folder, f"kernel: k.py::kern\nargs: {{a: {{shape: [40, 50], dtype: {dtype}, init: {init}}}}}\n")
    argument = workload.launches[0].args["a"]
    assert isinstance(argument, TensorArgument)
    return fill(name, argument, (40, 50), workload.node(workload.launches[0], "args", "a"), folder)


def test_init(folder: Path) -> None:
    assert (filled(folder, "{full: 1.5}") == 1.5).all()
    assert (filled(folder, "{arange: {start: 2, step: 3}}").ravel() == 2 + 3 * np.arange(2000)).all()
    uniform = filled(folder, "{uniform: {seed: 4, low: -1, high: 3}}")
    assert -1 <= uniform.min() < -0.9 and 2.9 < uniform.max() < 3
    normal = filled(folder, "{normal: {seed: 1, mean: 5, std: 0.1}}", dtype="bf16").astype(np.float64)
    assert abs(normal.mean() - 5) < 0.02 and 0.08 < normal.std() < 0.12


def test_random_is_the_same_for_a_seed_and_differs_by_seed_and_name(folder: Path) -> None:
    first = filled(folder, "{normal: {seed: 1}}")
    assert (first == filled(folder, "{normal: {seed: 1}}")).all()
    assert not (first == filled(folder, "{normal: {seed: 2}}")).any()
    assert not (first == filled(folder, "{normal: {seed: 1}}", name="b")).any()


def test_init_from_a_file(folder: Path) -> None:
    values = np.arange(2000, dtype=np.float32).reshape(40, 50)
    np.save(folder / "a.npy", values)
    assert (filled(folder, "{file: a.npy}") == values).all()
    with pytest.raises(AhbmcError, match="holds fp32, the tensor has fp16"):
        filled(folder, "{file: a.npy}", dtype="fp16")
    np.save(folder / "a.npy", values.T)
    with pytest.raises(AhbmcError, match=r"shape \[50, 40\], the tensor has \[40, 50\]"):
        filled(folder, "{file: a.npy}")
    with pytest.raises(AhbmcError, match=r"no file .*b\.npy"):
        filled(folder, "{file: b.npy}")
    np.save(folder / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(AhbmcError, match=r"o\.npy is no \.npy array"):
        filled(folder, "{file: o.npy}")
