"""The first contents of tensors: shapes from expressions, arrays from `init:`, the same everywhere for a seed."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..backend_sim.numerics.dtypes import convert, dtype_named, triton_name
from ..backend_sim.target.document import Node
from ..dialects.errors import AhbmcError, Category, Fault, fail
from . import expressions
from .workload_schema import Constant, TensorArgument

Array = npt.NDArray[Any]


def shape_of(argument: TensorArgument, node: Node, names: Mapping[str, Constant]) -> tuple[int, ...]:
    """The shape, expressions evaluated over `names`. `node` is the argument in the document."""
    shape: list[int] = []
    faults: list[Fault] = []
    for i, extent in enumerate(argument.shape):
        at = node.at("shape", i)
        try:
            size = integer_at(extent, at, names)
        except AhbmcError as error:
            faults += error.faults
            continue
        if size < 1:
            faults.append(
                Fault(
                    f"extent {i} of the shape is {size}; at least 1 is allowed",
                    at.place,
                    hint="write a positive integer",
                )
            )
        shape.append(size)
    if faults:
        raise AhbmcError(*faults)
    return tuple(shape)


def integer_at(value: int | str, node: Node, names: Mapping[str, Constant]) -> int:
    """An integer, or the value of an expression that stands at `node`."""
    if isinstance(value, str):
        place = node.place
        if node.text_column is not None:
            place = type(place)(place.file, place.line, node.text_column)
        scalars = {k: v for k, v in names.items() if not isinstance(v, tuple)}
        return expressions.integer(expressions.parse(value, place), scalars)
    return value


def fill(name: str, argument: TensorArgument, shape: tuple[int, ...], node: Node, folder: Path) -> Array:
    """The tensor's first contents, in its dtype. Tensors of one seed differ: the name is part of the seed."""
    try:
        return _fill(name, argument, shape, node, folder)
    except MemoryError:
        hint = "make it smaller, or run with --timing-only, which needs no values"
        message = f"`{name}` of shape {list(shape)} does not fit the memory of this computer"
        raise fail(message, node.place, Category.DOES_NOT_FIT, hint=hint) from None


def _fill(name: str, argument: TensorArgument, shape: tuple[int, ...], node: Node, folder: Path) -> Array:
    dtype = dtype_named(argument.dtype)
    if argument.init == "zeros":
        return np.zeros(shape, dtype)
    init = argument.init
    if init.file is not None:
        return _from_file(folder / init.file, dtype, shape, node.at("init", "file"))
    if init.full is not None:
        values: Array = np.full(shape, init.full, np.float64)
    elif init.normal is not None:
        values = _random(name, init.normal.seed).standard_normal(shape, np.float32) * init.normal.std + init.normal.mean
    elif init.uniform is not None:
        span = init.uniform.high - init.uniform.low
        values = _random(name, init.uniform.seed).random(shape, np.float64) * span + init.uniform.low
    else:
        assert init.arange is not None  # held by Init
        count = int(np.prod(shape, dtype=np.int64))
        values = (np.arange(count) * init.arange.step + init.arange.start).reshape(shape)
    return cast(Array, convert(np.asarray(values), dtype))


def _random(name: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed & 0xFFFFFFFFFFFFFFFF, zlib.crc32(name.encode())])


def _from_file(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], node: Node) -> Array:
    values = load_array(path, node)
    if values.shape != shape:
        raise fail(f"{path} holds an array of shape {list(values.shape)}, the tensor has {list(shape)}", node.place)
    if values.dtype != dtype and values.dtype.kind == "V" and values.dtype.itemsize == dtype.itemsize:
        return values.view(dtype)  # numpy writes bf16 and fp8 as raw bytes
    if values.dtype != dtype:
        found = triton_name(values.dtype) if values.dtype.kind in "biuf" else str(values.dtype)
        raise fail(
            f"{path} holds {found}, the tensor has {triton_name(dtype)}", node.place, hint="give the file's dtype"
        )
    return values


def load_array(path: Path, node: Node) -> Array:
    """The array of a .npy file, without executing anything in it. Raises AhbmcError at `node`."""
    try:
        values = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        hint = f"the path is relative to {path.parent}/, the folder of the workload file"
        raise fail(f"there is no file {path}", node.place, hint=hint) from None
    except (OSError, ValueError, EOFError) as error:
        raise fail(f"{path} is no .npy array: {str(error).splitlines()[0]}", node.place) from None
    if not isinstance(values, np.ndarray):
        raise fail(f"{path} holds several arrays; one .npy array is needed", node.place)
    return cast(Array, values)
