"""Kernels of others that are recipes, where their text is at hand: in wheels, or in folders, of `AHBMC_WHEELS`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ahbmc.dialects.remarks import remarks
from ahbmc.driver.check_rows import rows_of_files
from ahbmc.driver.kernel_files import files_of, find_import, text_of
from ahbmc.frontend import compile_kernel
from ahbmc.passes import run_pipeline
from support_tl_passes import TL_PASSES

_FOLDER = os.environ.get("AHBMC_WHEELS", "")
_SOURCES = [p for p in sorted(Path(_FOLDER).iterdir()) if p.suffix == ".whl" or p.is_dir()] if _FOLDER else []

# Recipe, end of the file's path (of Liger, FLA, FlashAttention, kernl, linear_cross_entropy_loss), kernel.
KERNELS = [
    ("softmax_merge", "fla/ops/attn/parallel.py", "parallel_attn_fwd_kernel"),
    ("softmax_merge", "fla/ops/path_attn/parallel_path_fwd.py", "parallel_path_fwd_kernel"),
    ("swiglu_gate", "liger_kernel/ops/fused_moe_kernels.py", "_fused_up_proj_swiglu_kernel"),
    ("linear_gelu", "flash_attn/ops/triton/linear.py", "kernel_fwd"),
    ("rmsnorm_step", "llama-v2/kernel/fused_kernel_proj_qkv.py", "rms_matmul_rbe"),
    ("log_sum_exp", "variants/malek_like_with_my_fwdNV3.py", "linear_xent_fwd_prep_bwd_kernel_matmul_t"),
]


@pytest.mark.parametrize(("recipe", "path", "kernel"), KERNELS)
def test_a_public_kernel_matches(recipe: str, path: str, kernel: str) -> None:
    file = next((f for source in _SOURCES for f in files_of(str(source)) if f.endswith(path)), None)
    if file is None:
        pytest.skip(f"AHBMC_WHEELS names no folder with {path}")
    row = next(row for row in rows_of_files([file]) if row.function.endswith(kernel))
    assert row.fault is None
    module = compile_kernel(text_of(file), file, row.function, row.signature, dict(row.constants), find_import)
    run_pipeline(module, TL_PASSES, verify=False)
    found = [(r.outcome, r.reason) for r in remarks(module) if r.pass_name == "match-recipes"]
    assert ("matched", recipe) in found
