"""Arrays of the caller as tensors of a launch, and what a launch wrote back into them.

A kernel sees the memory of an array, strides and all, as under Triton: a transposed view is its base's bytes, and the
caller passes the strides. So an array that is not contiguous becomes a flat tensor over the memory it spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..backend_sim.memory import ONE_SLICE, Placement, Tensor
from ..backend_sim.numerics.dtypes import triton_name
from ..dialects.errors import Category, fail

Array = npt.NDArray[Any]


def is_array(value: object) -> bool:
    """Whether an argument of a call is an array rather than a number."""
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def as_numpy(name: str, value: object) -> Array:
    """A numpy array of a caller's object, sharing its memory if the object lets us. Raises AhbmcError."""
    if isinstance(value, np.ndarray):
        return cast(Array, value)
    try:
        # What has both shares memory by either; `__array__` also takes what numpy's dlpack refuses to give for writing.
        return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(cast(Any, value))
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise fail(f"argument `{name}` cannot be taken as an array: {error}", hint="pass a numpy array") from None


class Arguments:
    """The arrays of one call, each as one tensor; two names of one array are one tensor."""

    def __init__(self) -> None:
        self._taken: list[tuple[Array, Tensor]] = []

    def tensor(self, name: str, value: object, placement: Placement = ONE_SLICE) -> Tensor:
        """The tensor of an argument. Raises AhbmcError for a dtype that kernels lack, or memory that is shared."""
        array = as_numpy(name, value)
        triton_name(array.dtype)
        if array.size == 0:
            raise fail(f"argument `{name}` has shape {list(array.shape)}: it has no element")
        for other, tensor in self._taken:
            if _same(array, other):
                return tensor
            if np.may_share_memory(array, other) and np.shares_memory(array, other):
                message = f"the arrays `{name}` and `{tensor.name}` share memory without being the same"
                raise fail(message, category=Category.UNSUPPORTED, hint="pass the whole array once, or copies")
        tensor = Tensor(name, array.dtype, _shape(array), placement, np.array(_memory(name, array)))
        self._taken.append((array, tensor))
        return tensor

    def write_back(self, written: Mapping[Tensor, Array]) -> dict[str, Array]:
        """Put what a launch wrote into the caller's arrays; name -> array, of the shape that the caller passed.

        An array that must not be written (or whose object gave a copy) stays as it is: then the result has the only
        array that holds the new values.
        """
        results: dict[str, Array] = {}
        for array, tensor in self._taken:
            if tensor not in written:
                continue
            new, memory, target = written[tensor], _memory(tensor.name, array), array
            if not array.flags.writeable:
                memory = np.array(memory)
                target = np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)
            # Only what has changed: between the elements of a strided array other data may lie.
            changed = (_bytes(new) != _bytes(memory)).any(axis=-1)
            np.copyto(memory, new.reshape(memory.shape), where=changed.reshape(memory.shape))
            results[tensor.name] = target
        return results


def _bytes(array: Array) -> npt.NDArray[np.uint8]:
    """(elements, bytes of one) of a contiguous array."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, array.dtype.itemsize)


def _same(one: Array, other: Array) -> bool:
    return one.__array_interface__["data"][0] == other.__array_interface__["data"][0] and (
        one.shape,
        one.strides,
        one.dtype,
    ) == (other.shape, other.strides, other.dtype)


def _shape(array: Array) -> tuple[int, ...]:
    """The shape of the tensor: the array's own if it is contiguous, else the elements of memory that it spans."""
    if array.flags.c_contiguous:
        return array.shape or (1,)
    steps = (abs(stride) * (size - 1) for stride, size in zip(array.strides, array.shape, strict=True))
    return (1 + sum(steps) // array.dtype.itemsize,)


def _memory(name: str, array: Array) -> Array:
    """The elements of memory that an array spans, as a view in the shape of its tensor."""
    if array.flags.c_contiguous:
        return array.reshape(array.shape or (1,))
    if any(stride < 0 or stride % array.dtype.itemsize for stride in array.strides):
        message = f"the array `{name}` has strides {list(array.strides)} in bytes"
        hint = "strides must be multiples of an element and not negative; pass a copy"
        raise fail(message, category=Category.UNSUPPORTED, hint=hint)
    return np.lib.stride_tricks.as_strided(array, _shape(array), (array.dtype.itemsize,))
