"""The launches of `dev.tsv`: what each row of it needs beside the defaults to run programs that write something.

By default a tensor holds 2**18 seeded elements (floats in [0.1, 0.6), integers from 0 to 3; locks and counters 0), a
stride is 64, another integer 32, a float 0.5, and the grid 2 x 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Fill = Callable[[np.random.Generator, int], Any]
"""(random numbers, how many) -> what a tensor holds."""


def starting_with(*first: float) -> Fill:
    """These values, then zeros."""
    return lambda _, size: np.pad(np.array(first), (0, size - len(first)))


def zeros(_: np.random.Generator, size: int) -> Any:
    return np.zeros(size)


def integers(low: int, high: int) -> Fill:
    return lambda random, size: random.integers(low, high, size)


def uniform(low: float, high: float) -> Fill:
    return lambda random, size: random.uniform(low, high, size)


def shuffled_rows(length: int, values: int) -> Fill:
    """Rows of this length, each with the values from 0 on equally often, in random order."""
    return lambda random, size: random.permuted(np.arange(size).reshape(-1, length) % values, axis=1).ravel()


@dataclass(frozen=True)
class Launch:
    """What differs from the defaults. `changed`: how many elements the launch changes at least; fewer than 64 only
    where the kernel stores no more. `exact`: it only copies, so that floats are equal to the bit as well.
    """

    grid: tuple[int, int, int] = (2, 2, 1)
    scalars: Mapping[str, int | float] = field(default_factory=dict[str, int | float])
    constants: Mapping[str, Any] = field(default_factory=dict[str, Any])
    contents: Mapping[str, Fill] = field(default_factory=dict[str, Fill])
    changed: int = 64
    exact: bool = False


LAUNCHES: Mapping[str, Launch] = {
    "d001": Launch(
        grid=(2, 1, 1),
        scalars={"n_elements": 2000, "beta1_step": 0, "beta2_step": 0},
        constants={
            **{"OPTIMIZER_ID": 3, "beta1": 0.9, "beta2": 0.99, "eps": 0.1, "weight_decay": 0.1, "gnorm_scale": 1.0},
        },
        contents={
            "state1_ptr": integers(0, 256),
            "state2_ptr": integers(128, 256),
            "qmap1_ptr": lambda _, size: np.linspace(-1, size / 128 - 1, size),
            "qmap2_ptr": lambda _, size: np.linspace(-1, size / 128 - 1, size),
        },
    ),
    "d002": Launch(changed=1),
    "d005": Launch(scalars={"stride_xn": 1, "stride_xb": 4096, "stride_yh": 1, "num_heads": 60}),
    "d007": Launch(grid=(32, 1, 1), scalars={"ignore_index": 3, "class_start_idx": 0}),
    "d009": Launch(grid=(4, 1, 1), scalars={"n_elements": 100}),
    "d010": Launch(
        contents={
            "Offsets": starting_with(0, 64, 128),
            "Lengths": starting_with(64, 64),
            "TS": integers(0, 200),
        },
    ),
    "d011": Launch(
        constants={"scale_softmax_log2": 1.4427},
        scalars={
            **dict.fromkeys(("q_row_stride", "k_row_stride", "v_row_stride", "o_row_stride"), 128),
            **dict.fromkeys(("q_head_stride", "k_head_stride", "v_head_stride", "o_head_stride"), 32),
            **dict.fromkeys(("q_batch_stride", "k_batch_stride", "v_batch_stride", "o_batch_stride"), 8192),
            **{"seqlen_q": 40, "seqlen_k": 50, "total_q": 80},
        },
        grid=(2, 2, 2),
    ),
    "d012": Launch(
        grid=(2, 2, 2),
        scalars=dict.fromkeys(("stride_q_h", "stride_k_h", "stride_vh", "stride_oh"), 32),
        contents={
            "B_Start_Loc": starting_with(0, 40),
            "B_Kv_Start_Loc": starting_with(0, 48),
            "B_Seqlen": starting_with(48, 45),
            "b_prompt_cache_len": starting_with(8, 5),
        },
    ),
    "d015": Launch(scalars={"Z": 1, "H": 2, "N_CTX": 64}),
    "d017": Launch(
        scalars={
            **{"GQA_GROUPS": 2, "K_LEN": 100, "NUM_BLOCK": 2, "stride_kn": 32, "stride_vn": 32, "stride_bt": 1},
            **dict.fromkeys(("stride_qd", "stride_kd", "stride_vd", "stride_od"), 1),
            **dict.fromkeys(("stride_qb", "stride_kb", "stride_vb", "stride_ob"), 4096),
        },
    ),
    "d019": Launch(grid=(2, 1, 1), scalars={"n": 200}, exact=True),
    "d020": Launch(exact=True),
    "d025": Launch(scalars={"M": 64, "stride_ak": 1, "stride_bn": 1, "stride_cn": 1}),
    "d028": Launch(grid=(1, 2, 2), scalars={"stride_dn": 1}, contents={"seq_offsets": starting_with(0, 64, 128)}),
    "d029": Launch(
        scalars={"values_col_block_stride": 1, "values_nnz_stride": 2048, "values_batch_stride": 16384},
        contents={"crow_indices_ptr": lambda _, size: np.arange(size) % 4096 // 64},
    ),
    "d030": Launch(
        scalars={"stride_db_k": 1, "stride_db_batch": 8192},
    ),
    "d031": Launch(scalars={"M": 64, "stride_ak": 1, "stride_bn": 1, "stride_cn": 1}),
    "d032": Launch(
        grid=(2, 1, 1),
        contents={
            "expert_start_ptr": starting_with(0, 32, 64),
            "tile_row_start_ptr": starting_with(0, 32),
            "tile_expert_ptr": starting_with(0, 1),
            "s_scatter_idx_ptr": lambda random, size: np.pad(random.permutation(64), (0, size - 64)),
        },
    ),
    "d034": Launch(
        grid=(4, 1, 1),
        scalars={"numel": 120},
        contents={
            "topk_ids_ptr": shuffled_rows(32, 4),
            "cumsum_ptr": starting_with(0, 32, 64, 96, 128),
            "tokens_cnts_ptr": lambda _, size: np.arange(size) // 4 * 8 % 32,
        },
    ),
    "d036": Launch(
        grid=(4, 1, 1),
        scalars={"numels": 120},
        constants={"bits": 4, "maxq": 15, "outfeatures": 64},
        contents={"qweight_ptr": lambda random, size: random.integers(1, 16, (size, 2)) @ (1, 16), "qzeros_ptr": zeros},
    ),
    "d038": Launch(
        scalars={
            **{"input_num_rows": 40, "input_num_cols": 50, "fp8_dtype_min": 0.1, "fp8_dtype_max": 0.2},
            **{"input_stride_col": 1, "row_major_out_stride_col": 1, "row_major_t_out_stride_col": 1},
        },
    ),
    "d041": Launch(
        scalars={"M": 128, "stride_ak": 1, "stride_bn": 1, "stride_cn": 1},
        contents={**dict.fromkeys(("A_ptr", "B_ptr"), integers(0, 2)), "row_scale_ptr": integers(0, 2)},
    ),
    "d042": Launch(scalars={"M": 50, "stride_sn": 1, "stride_sk": 4096, "stride_cn": 1}),
    "d046": Launch(
        grid=(1, 2, 2),
        scalars={
            **dict.fromkeys(("stride_out_seqlen", "stride_x_seqlen"), 2048),
            **dict.fromkeys(("stride_out_headdim", "stride_x_headdim"), 1),
            "seqlen_ro": 50,
        },
        contents={"CU_SEQLENS": starting_with(0, 40, 60)},
    ),
    "d048": Launch(grid=(4, 1, 1), constants={"Q_row_stride": 128, "cos_row_stride": 16, "sin_row_stride": 16}),
    "d050": Launch(grid=(1, 1, 8), scalars={"T": 96}),
    "d052": Launch(scalars={"stride_batch": 8192, "stride_head": 2048}),
    "d053": Launch(
        grid=(2, 2, 1),
        scalars={
            "k_len": 512,
            "real_q_len": 90,
            "input_stride_1": 65536,
            "input_stride_2": 512,
            "output_stride_1": 256,
        },
    ),
    "d055": Launch(grid=(4, 1, 1), scalars={"n_elements": 100}),
    "d057": Launch(grid=(4, 1, 1), scalars={"n_elements": 100}),
    "d058": Launch(grid=(2, 1, 1), changed=1),
    "d059": Launch(
        grid=(4, 1, 1),
        contents={"Yi": shuffled_rows(32, 32), "NRows": starting_with(4), "DY": integers(5, 200)},
    ),
    "d060": Launch(grid=(4, 1, 1), scalars={"n_elements": 100}),
}


def default_scalar(name: str, dtype: str) -> int | float:
    if dtype.startswith("fp"):
        return 0.5
    return 64 if "stride" in name.lower() else 32
