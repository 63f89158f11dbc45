"""The `ahbm` dialect: which commands PE_CPU issues, on which buffers and regions.

Buffers are SSA values that `scf.for` may carry. A command writes its last operand (or the parts that it names) and
gives no result; scalars of PE_CPU are plain `arith` on scalars.
"""

from xdsl.ir import Dialect

from ..region import CutOp, RegionOp, RegionType
from .commands import (
    CommandOp,
    CopyOp,
    CyclesOp,
    DmaReadOp,
    DmaWriteOp,
    GemmOp,
    LoadScalarOp,
    StoreScalarOp,
    WaitOp,
)
from .composite import CompositeOp
from .indexed import AtomicOp, GatherOp, ScatterOp
from .math import MathOp
from .types import BufferType, IndexType, Scope, SpecAttr
from .values import (
    AddPtrOp,
    AllocOp,
    FillOp,
    IndexOp,
    NumProgramsOp,
    ProgramIdOp,
    PtrCastOp,
    ReadScalarOp,
    ReshapeOp,
    ViewOp,
)

__all__ = [
    "AHBM",
    "AddPtrOp",
    "AllocOp",
    "AtomicOp",
    "BufferType",
    "CommandOp",
    "CompositeOp",
    "CopyOp",
    "CutOp",
    "CyclesOp",
    "DmaReadOp",
    "DmaWriteOp",
    "FillOp",
    "GatherOp",
    "GemmOp",
    "IndexOp",
    "IndexType",
    "LoadScalarOp",
    "MathOp",
    "NumProgramsOp",
    "ProgramIdOp",
    "PtrCastOp",
    "ReadScalarOp",
    "RegionOp",
    "RegionType",
    "ReshapeOp",
    "ScatterOp",
    "Scope",
    "SpecAttr",
    "StoreScalarOp",
    "ViewOp",
    "WaitOp",
]

AHBM = Dialect(
    "ahbm",
    [
        RegionOp,
        CutOp,
        ProgramIdOp,
        NumProgramsOp,
        AddPtrOp,
        PtrCastOp,
        AllocOp,
        ViewOp,
        ReshapeOp,
        IndexOp,
        FillOp,
        ReadScalarOp,
        DmaReadOp,
        DmaWriteOp,
        GatherOp,
        ScatterOp,
        AtomicOp,
        LoadScalarOp,
        StoreScalarOp,
        GemmOp,
        MathOp,
        CopyOp,
        WaitOp,
        CyclesOp,
        CompositeOp,
    ],
    [RegionType, BufferType, IndexType, SpecAttr],
)
