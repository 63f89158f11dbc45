"""What a workload file may hold: the one schema, from which decoding, JSON Schema and `docs/workload.md` are made.

Each struct is a mapping of the file; the descriptions are those of the documentation.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

DTypeName: TypeAlias = Literal[
    "fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5",
    "i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
]  # fmt: skip
Scalar: TypeAlias = bool | int | float | str | None
Constant: TypeAlias = Scalar | tuple[Scalar, ...]
OptionValue: TypeAlias = bool | int | float | str | tuple[bool | int | float | str, ...]
Split: TypeAlias = Literal["replicate", "row_wise", "column_wise"]
Extent: TypeAlias = Annotated[int, Meta(ge=1)] | str


class Normal(Struct, frozen=True, forbid_unknown_fields=True):
    """Normally distributed values."""

    seed: int = 0
    mean: float = 0.0
    std: float = 1.0


class Uniform(Struct, frozen=True, forbid_unknown_fields=True):
    """Uniformly distributed values in [low, high)."""

    seed: int = 0
    low: float = 0.0
    high: float = 1.0


class Arange(Struct, frozen=True, forbid_unknown_fields=True):
    """start, start + step, ... in row-major order."""

    start: float = 0.0
    step: float = 1.0


class Init(Struct, frozen=True, forbid_unknown_fields=True):
    """What a tensor holds before the launch: exactly one of the keys."""

    full: Annotated[float | None, Meta(description="this value everywhere")] = None
    normal: Annotated[Normal | None, Meta(description="normally distributed values")] = None
    uniform: Annotated[Uniform | None, Meta(description="uniformly distributed values")] = None
    arange: Annotated[Arange | None, Meta(description="rising values; `arange: {}` is 0, 1, 2, ...")] = None
    file: Annotated[str | None, Meta(description="the array of this .npy file, of the tensor's shape and dtype")] = None

    def __post_init__(self) -> None:
        _exactly_one(self, "full", "normal", "uniform", "arange", "file")


class Placement(Struct, frozen=True, forbid_unknown_fields=True):
    """How a tensor lies over SIPs, the cubes of each and their PEs. Without it a tensor lies in the slice of the first
    PE.
    """

    cube: Annotated[
        Split,
        Meta(
            description="over the cubes: a copy in each, or cut along the first (row_wise) or last (column_wise) axis"
        ),
    ] = "replicate"
    pe: Annotated[Split, Meta(description="the same over the PEs of each cube")] = "replicate"
    num_pes: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="how many PEs of each cube; default all from `pe_start` on")
    ] = None
    num_cubes: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="how many cubes; default all from `cube_start` on")
    ] = None
    cube_start: Annotated[int, Meta(ge=0, description="the first cube")] = 0
    pe_start: Annotated[int, Meta(ge=0, description="the first PE of each cube")] = 0
    sip: Annotated[Split, Meta(description="the same over the SIPs")] = "replicate"
    num_sips: Annotated[int, Meta(ge=1, description="how many SIPs")] = 1
    sip_start: Annotated[int, Meta(ge=0, description="the first SIP")] = 0


class TensorArgument(Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor in HBM, contiguous in row-major order. A shape entry may be an expression over args and const."""

    shape: Annotated[
        tuple[Extent, ...],
        Meta(min_length=1, description="extents; each an integer or an expression over args and const"),
    ]
    dtype: Annotated[DTypeName, Meta(description="type of the elements, by Triton's name")]
    init: Annotated[Literal["zeros"] | Init, Meta(description="what the tensor holds before the launch")] = "zeros"
    place: Annotated[
        Placement | None, Meta(description="where the tensor lies; default: in the slice of sip0.cube0.pe0")
    ] = None


class Map(Struct, frozen=True, forbid_unknown_fields=True):
    """Which PE runs which programs. `rank`: program_id 0 is the PE, 1 the cube, 2 the SIP.

    Without `pes` all programs run on sip0.cube0.pe0, under `rank` each where its number says.
    """

    kind: Annotated[
        Literal["block", "cyclic", "rank"],
        Meta(description="how programs fall to PEs: in blocks, dealt out one by one, or by their number"),
    ] = "block"
    pes: Annotated[
        str | tuple[str, ...] | None,
        Meta(description="the PEs, as `sip0.cube0.pe0-7` or a list of such; default sip0.cube0.pe0, under `rank` all"),
    ] = None


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """What a tensor must hold at the end: a named numpy reference over the inputs, or the array of a .npy file."""

    reference: Annotated[
        str | None, Meta(description="an expression over the arguments of named references, as `matmul(a, b)`")
    ] = None
    file: Annotated[str | None, Meta(description="the right values, in a .npy file")] = None
    rtol: Annotated[float, Meta(ge=0, description="allowed error relative to the reference")] = 1e-2
    atol: Annotated[float, Meta(ge=0, description="allowed error beside it")] = 1e-3

    def __post_init__(self) -> None:
        _exactly_one(self, "reference", "file")


Argument: TypeAlias = TensorArgument | bool | int | float | str | None
Options: TypeAlias = dict[str, dict[str, OptionValue]]
Arguments: TypeAlias = Annotated[
    dict[str, Argument],
    Meta(description="tensors, numbers, and integer expressions over other arguments and const, by parameter"),
]
Constants: TypeAlias = Annotated[
    dict[str, Constant],
    Meta(
        description="values of the kernel's constexprs; what is left out is taken from the first configuration of its"
        " autotuner and from its heuristics"
    ),
]
Checks: TypeAlias = Annotated[dict[str, Check], Meta(description="what tensors must hold at the end")]
UsefulMacs: TypeAlias = Annotated[
    int | str | None,
    Meta(
        description="multiply-adds that the result needs, where the GEMMs do more (a causal mask): an integer or an"
        " expression over args and const; default: those of the GEMMs, without padding"
    ),
]
Grid: TypeAlias = Annotated[tuple[int | str, ...], Meta(min_length=1, max_length=3)]


class LaunchEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `launches:`. What it leaves out comes from the top of the file."""

    kernel: Annotated[str, Meta(description="`FILE.py::NAME` or `FILE.mlir::NAME`, relative to this file")]
    args: Arguments = {}
    const: Constants = {}
    grid: Annotated[Grid | None, Meta(description="as at the top")] = None
    map: Annotated[Map | None, Meta(description="as at the top")] = None
    pipeline: Annotated[str | None, Meta(description="as at the top")] = None
    options: Options = {}
    check: Checks = {}
    useful_macs: UsefulMacs = None


class WorkloadFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A workload: one launch (`kernel:`) or several in turn (`launches:`), which may share the tensors of `args`."""

    kernel: Annotated[
        str | None, Meta(description="`FILE.py::NAME` or `FILE.mlir::NAME` of the one launch, relative to this file")
    ] = None
    machine: Annotated[str, Meta(description="name of a machine or path of a machine file")] = "ahbm-2sip"
    pipeline: Annotated[str, Meta(description="name of a pipeline, or passes with commas between")] = "auto"
    args: Arguments = {}
    const: Constants = {}
    grid: Annotated[
        Grid, Meta(description="one to three sizes; each an integer or an expression over args and const")
    ] = (1,)
    map: Annotated[Map, Meta(description="which PE runs which programs")] = Map()
    options: Annotated[
        Options,
        Meta(
            description="pass options: `{form-composites: {stage: a}}`; of the pipelines that `auto` tries, those with "
            "the pass stay"
        ),
    ] = {}
    check: Checks = {}
    useful_macs: UsefulMacs = None
    launches: Annotated[
        Annotated[tuple[LaunchEntry, ...], Meta(min_length=1)] | None,
        Meta(description="several launches in turn, in place of `kernel`"),
    ] = None

    def __post_init__(self) -> None:
        _exactly_one(self, "kernel", "launches")


def _exactly_one(struct: Struct, *names: str) -> None:
    given = [n for n in names if getattr(struct, n) is not None]
    if len(given) != 1:
        found = " and ".join(f"`{n}`" for n in given) or "none"
        raise ValueError(f"exactly one of {', '.join(f'`{n}`' for n in names)} must be given; found {found}")
