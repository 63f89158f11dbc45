"""The little of torch that kernels name: its types, and what `torch.finfo` and `torch.iinfo` say of them. Nothing of it
is imported.
"""

from __future__ import annotations

from .builtin import Builtin, row
from .emit import Emitter
from .types import DTYPES, DType, TypeFault
from .values import Item, Namespace

# (largest number, smallest normal one, distance of 1 to the next), by Triton's name.
_FLOATS: dict[str, tuple[float, float, float]] = {
    "fp64": ((2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 2.0**-52),
    "fp32": ((2 - 2.0**-23) * 2.0**127, 2.0**-126, 2.0**-23),
    "fp16": (65504.0, 2.0**-14, 2.0**-10),
    "bf16": ((2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-7),
    "fp8e4nv": (448.0, 2.0**-6, 2.0**-3),
    "fp8e5": (57344.0, 2.0**-14, 2.0**-2),
}
_NAMES = {
    "bool": "i1",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "half": "fp16",
    "float": "fp32",
    "long": "i64",
}


def _facts(dtype: DType) -> dict[str, Item]:
    """The attributes of `torch.finfo(dtype)` or `torch.iinfo(dtype)`."""
    if dtype.name in _FLOATS:
        largest, tiny, eps = _FLOATS[dtype.name]
        return {"max": largest, "min": -largest, "tiny": tiny, "smallest_normal": tiny, "eps": eps, "bits": dtype.bits}
    return {"min": dtype.range[0], "max": dtype.range[1], "bits": dtype.bits}


def _finfo(emit: Emitter, type: DType) -> Item:
    if not type.is_float:
        raise TypeFault(f"{type} is no float", "torch.iinfo tells of integers")
    return Namespace(f"torch.finfo({type})")


def _iinfo(emit: Emitter, type: DType) -> Item:
    if type.is_float:
        raise TypeFault(f"{type} is no integer", "torch.finfo tells of floats")
    return Namespace(f"torch.finfo({type})")


_FUNCTIONS: tuple[Builtin, ...] = (row("finfo", "type: dtype", _finfo), row("iinfo", "type: dtype", _iinfo))

MEMBERS: dict[str, dict[str, Item]] = {
    "torch": {
        **{t.spelled: t for t in DTYPES},
        **{name: next(t for t in DTYPES if t.name == short) for name, short in _NAMES.items()},
        **{b.name: b for b in _FUNCTIONS},
    },
    "torch.version": {"cuda": None, "hip": None, "xpu": None},
    **{f"torch.finfo({t})": _facts(t) for t in DTYPES},
}
"""Path -> name -> item, as in namespaces.py."""
