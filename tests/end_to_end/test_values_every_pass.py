"""Every example, and four kernels in ten rewritten forms: right by numpy, and the same values after every pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ahbmc.backend_sim.numerics.dtypes import Array
from ahbmc.passes.pipelines import PIPELINES as ALL_PIPELINES
from support_values import (
    Case,
    EveryPipeline,
    Tally,
    assert_close,
    case_of_text,
    case_of_workload,
    cases_of_workload,
    check_every_pass,
    random_array,
    reference_values,
)

ROOT = Path(__file__).parents[2]
KERNELS = Path(__file__).parent / "kernels"

# Sizes at which an example takes little time and leaves ragged edges; one that is not here has the sizes of its file.
SMALL: Mapping[str, tuple[str, ...]] = {
    "vector_add": ("args.n_elements=1000", "const.BLOCK_SIZE=256"),
    "softmax": ("args.n_rows=7", "args.n_cols=100", "const.BLOCK_SIZE=128"),
    "matmul": ("args.M=100", "args.N=77", "args.K=90"),
    "quantised_matmul": ("args.N=200", "args.K=256"),
    "gemm_load_ref": ("args.K=200",),
    "gemm_ref_ref": ("args.K=200",),
    "gemm_async_full": ("const.K=200",),
    "gemm_async_tiled": ("const.K=100",),  # sums of fp16, which passes may round less often: two terms are few enough
    "flash_attention": ("args.S=192",),
    "flash_decode": ("args.S=128", "const.BLOCK_N=64"),
    "flash_decode_tiled": ("args.S=32", "const.HEAD_DIM=32"),
    "flash_decode_written_ahead": ("args.S=256", "const.BLOCK_N=64"),
    "flash_decode_written_composites": ("args.S=256", "const.BLOCK_N=64"),
    "flash_decode_written_fused": ("args.S=256", "const.BLOCK_N=64"),
    "prefill_causal": ("args.S=192", "const.BLOCK_M=64", "const.BLOCK_N=32"),
    "decode_tile_primitive": ("const.STORE=true",),
    "decode_tile_fused": ("const.STORE=true",),
    "prefill": ("args.S=192", "const.BLOCK_M=64", "const.BLOCK_N=32"),
}
NAMES = sorted(path.stem for path in (ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_an_example_keeps_its_values_through_every_pass(name: str) -> None:
    """Of every pipeline; examples are found by themselves, with all of their launches."""
    for case in cases_of_workload(ROOT / "examples" / f"{name}.yaml", SMALL.get(name, ())):
        EveryPipeline(tuple(ALL_PIPELINES), Tally()).check(case)


# One iteration, two, and more than are early at a time, the last of them ragged; `auto` takes single ops.
EDGES = (
    ("flash_attention", ("args.S=150", "const.CAUSAL=false"), ("primitive", "fused", "pipelined", "auto")),
    ("flash_decode", ("args.S=50", "const.BLOCK_N=64", "const.EVEN_N=false"), ("pipelined",)),
    ("flash_decode", ("args.S=310", "const.BLOCK_N=64", "const.EVEN_N=false"), ("pipelined", "auto")),
)


@pytest.mark.parametrize(("name", "settings", "pipelines"), EDGES, ids=lambda value: value[0])
def test_ragged_examples_keep_their_values(name: str, settings: tuple[str, ...], pipelines: tuple[str, ...]) -> None:
    EveryPipeline(pipelines, Tally()).check(case_of_workload(ROOT / "examples" / f"{name}.yaml", settings))


@dataclass(frozen=True)
class Form:
    """One rewritten form with its launch: arguments by position, constants, grid, and what numpy says of the output."""

    file: str
    name: str
    arguments: Callable[[str], Mapping[str, Any]]
    constants: Mapping[str, Any]
    grid: tuple[int, ...]
    output: str
    expected: Callable[[Mapping[str, Any]], Array]

    def case(self, dtype: str) -> Case:
        source = (KERNELS / self.file).read_text(encoding="utf-8")
        return case_of_text(source, self.name, self.arguments(dtype), self.constants, self.grid, file=self.file)


def _wide(array: Array) -> Array:
    return array.astype(np.float64)


def _add(name: str, constants: Mapping[str, Any], grid: int, names: str = "x_ptr y_ptr z_ptr n") -> Form:
    x, y, z, n = names.split()

    def arguments(dtype: str) -> Mapping[str, Any]:
        return {
            x: random_array([777], dtype, 1),
            y: random_array([777], dtype, 2),
            z: np.zeros_like(random_array([777], dtype, 3)),
            n: 777,
        }

    return Form("vector_add_forms.py", name, arguments, constants, (grid,), z, lambda a: _wide(a[x]) + _wide(a[y]))


def _softmax(
    name: str, constants: Mapping[str, Any], grid: int, names: str = "out_ptr x_ptr stride_x stride_o n_cols"
) -> Form:
    words = names.split()
    out, x = words[0], words[1]
    rows, columns = 13, 128 if name == "unmasked" else 100

    def arguments(dtype: str) -> Mapping[str, Any]:
        values = {
            out: np.zeros_like(random_array([rows, columns], dtype, 1)),
            x: random_array([rows, columns], dtype, 1),
        }
        sizes = {"n_rows": rows}
        return values | {w: sizes.get(w, columns) for w in words[2:]}

    def expected(a: Mapping[str, Any]) -> Array:
        e = np.exp(_wide(a[x]) - _wide(a[x]).max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return Form("softmax_forms.py", name, arguments, constants, (grid,), out, expected)


M, N, K = 45, 70, 81


def _matmul(name: str, grid: tuple[int, ...] = (2, 3), constants: Mapping[str, Any] | None = None) -> Form:
    matrices = "x y z" if name == "plus_equals" else "a_ptr b_ptr c_ptr"
    strides = "sxm sxk syk syn szm szn" if name == "plus_equals" else "sam sak sbk sbn scm scn"
    a, b, c = matrices.split()

    def arguments(dtype: str) -> Mapping[str, Any]:
        values = {
            a: random_array([M, K], dtype, 1),
            b: random_array([K, N], dtype, 2),
            c: np.zeros_like(random_array([M, N], dtype, 3)),
        }
        return values | {"M": M, "N": N, "K": K} | dict(zip(strides.split(), (K, 1, N, 1, N, 1), strict=True))

    def expected(v: Mapping[str, Any]) -> Array:
        exact = _wide(v[a]) @ _wide(v[b])
        return 0.5 * np.maximum(exact + 1, 0) if name == "biased" else exact

    blocks = {"BM": 32, "BN": 32, "BK": 32, **(constants or {})}
    return Form("matmul_forms.py", name, arguments, blocks, grid, c, expected)


S, D = 90, 32


def _attention(name: str, causal: bool, blocks: tuple[int, int] = (32, 32)) -> Form:
    def arguments(dtype: str) -> Mapping[str, Any]:
        values = {n: random_array([S, D], dtype, seed) for seed, n in enumerate("QKV", 1)}
        values["Out"] = np.zeros_like(values["Q"])
        return values | {"scale": 0.2, "sq": D, "sk": D, "sv": D, "so": D, "S": S}

    def expected(a: Mapping[str, Any]) -> Array:
        scores = _wide(a["Q"]) @ _wide(a["K"]).T * a["scale"]
        if causal:
            scores = np.where(np.tri(S, dtype=bool), scores, -np.inf)
        p = np.exp(scores - scores.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True) @ _wide(a["V"])

    constants = {"D": D, "BM": blocks[0], "BN": blocks[1], "CAUSAL": causal}
    return Form("flash_attention_forms.py", name, arguments, constants, (-(-S // blocks[0]),), "Out", expected)


BLOCK = {"BLOCK": 256}
FORMS = (
    _add("renamed", BLOCK, 4, "x y out size"),
    _add("pointers_first", BLOCK, 4),
    _add("several_blocks", BLOCK, 2),
    _add("advanced", {"BLOCK": 64, "STEPS": 4}, 4),
    _add("as_matrix", {"ROWS": 8, "COLS": 32}, 4),
    _add("with_helper", BLOCK, 4),
    _add("in_fp32", BLOCK, 4),
    _add("accumulated", BLOCK, 4),
    _add("guarded", {"BLOCK": 256, "MASKED": True}, 4),
    _add("backward", BLOCK, 4),
    _softmax("renamed", {"BLOCK": 128}, 13, "result source ld_in ld_out width"),
    _softmax("base_two", {"BLOCK": 128}, 13),
    _softmax("row_blocks", {"ROWS": 4, "BLOCK": 128}, 4, "out_ptr x_ptr stride_x stride_o n_rows n_cols"),
    _softmax("keep_dims", {"ROWS": 4, "BLOCK": 128}, 4, "out_ptr x_ptr stride_x stride_o n_rows n_cols"),
    _softmax("two_passes", {"BLOCK": 64}, 13),
    _softmax("persistent", {"BLOCK": 128}, 3, "out_ptr x_ptr stride_x stride_o n_rows n_cols"),
    _softmax("with_helper", {"BLOCK": 128}, 13),
    _softmax("unmasked", {"BLOCK": 128}, 13, "out_ptr x_ptr stride_x stride_o"),
    _softmax("by_logarithm", {"BLOCK": 128}, 13),
    _softmax("masked_after", {"BLOCK": 128}, 13),
    _matmul("plus_equals"),
    _matmul("recomputed"),
    _matmul("carried_offsets"),
    _matmul("carried_remainder"),
    _matmul("even_k", (6,), {"EVEN": False}),
    _matmul("from_one"),
    _matmul("biased"),
    _matmul("persistent", (4,)),
    _matmul("transposed"),
    _matmul("clamped"),
    _attention("natural_base", True),
    _attention("scaled_query", False),
    _attention("scale_in_exponent", True),
    _attention("additive_mask", False),
    _attention("sum_after_cast", True),
    _attention("two_loops", True),
    _attention("carried_offsets", False, (16, 32)),
    _attention("with_helper", True),
    _attention("normalised", True),
    _attention("reordered", True, (32, 16)),
)
DTYPES = ("fp16", "bf16", "fp32")
PIPELINES: Mapping[str, tuple[str, ...]] = {
    "vector_add_forms.py": ("auto",),
    "softmax_forms.py": ("auto",),
    "matmul_forms.py": ("primitive", "composite"),
    "flash_attention_forms.py": ("primitive", "fused"),
}


def _id(form: Form) -> str:
    return f"{form.file.removesuffix('_forms.py')}-{form.name}"


@pytest.mark.parametrize("form", FORMS, ids=_id)
def test_a_rewritten_form_is_right_and_keeps_its_values(form: Form) -> None:
    """The form by numpy in one element type, and through every pass; without products the pipelines are all alike."""
    case = form.case(DTYPES[FORMS.index(form) % len(DTYPES)])
    got = reference_values(case)
    output = case.arguments[form.output]
    assert_close(got, {form.output: form.expected(case.arguments).astype(output.dtype)}, "by numpy")
    for pipeline in PIPELINES[form.file]:
        check_every_pass(case, pipeline)
