"""The `tl` dialect: what a kernel computes, with Triton's semantics.

Blocks are builtin tensors, blocks of pointers tensors of `!tl.ptr`. Element-wise arithmetic is `arith` and `math` on
operands of one shape; compare, select and cast are ours, because xDSL's take no blocks. Integers have no sign in
their type, the op carries it.
"""

from xdsl.ir import Dialect

from ..pointer import PointerType
from .along_axis import GatherOp, HistogramOp, ScanOp, SortOp
from .atomics import AtomicOp
from .blocks import (
    BroadcastOp,
    ExpandDimsOp,
    MakeRangeOp,
    NumProgramsOp,
    ProgramIdOp,
    ReshapeOp,
    SplatOp,
    TransOp,
)
from .composite import ONCE, CompositeOp, RecipeOp, YieldOp
from .compute import CastOp, CmpOp, DotOp, GemmOp, ReduceOp, RemfOp, SelectOp, UmulhiOp
from .memory import AddPtrOp, CopyToOp, CyclesOp, LoadOp, LoadRegionOp, PtrCastOp, StoreOp, StoreRegionOp, WaitOp

__all__ = [
    "ONCE",
    "TL",
    "AddPtrOp",
    "AtomicOp",
    "BroadcastOp",
    "CastOp",
    "CmpOp",
    "CompositeOp",
    "CopyToOp",
    "CyclesOp",
    "DotOp",
    "ExpandDimsOp",
    "GatherOp",
    "GemmOp",
    "HistogramOp",
    "LoadOp",
    "LoadRegionOp",
    "MakeRangeOp",
    "NumProgramsOp",
    "PointerType",
    "ProgramIdOp",
    "PtrCastOp",
    "RecipeOp",
    "ReduceOp",
    "RemfOp",
    "ReshapeOp",
    "ScanOp",
    "SelectOp",
    "SortOp",
    "SplatOp",
    "StoreOp",
    "StoreRegionOp",
    "TransOp",
    "UmulhiOp",
    "WaitOp",
    "YieldOp",
]

TL = Dialect(
    "tl",
    [
        ProgramIdOp,
        NumProgramsOp,
        MakeRangeOp,
        SplatOp,
        ExpandDimsOp,
        BroadcastOp,
        ReshapeOp,
        TransOp,
        AddPtrOp,
        PtrCastOp,
        LoadOp,
        StoreOp,
        AtomicOp,
        LoadRegionOp,
        StoreRegionOp,
        WaitOp,
        CopyToOp,
        CyclesOp,
        CmpOp,
        SelectOp,
        CastOp,
        UmulhiOp,
        RemfOp,
        ReduceOp,
        ScanOp,
        GatherOp,
        SortOp,
        HistogramOp,
        DotOp,
        GemmOp,
        CompositeOp,
        RecipeOp,
        YieldOp,
    ],
    [PointerType],
)
