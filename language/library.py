"""Library functions of the kernel language, which are written in it (`frontend/*.tl`)."""

from __future__ import annotations

from typing import Any

from .outside import outside

__all__ = [
    "argmax",
    "argmin",
    "associative_scan",
    "bitonic_merge",
    "cat",
    "cdiv",
    "clamp",
    "cumprod",
    "cumsum",
    "dot_scaled",
    "flip",
    "interleave",
    "join",
    "max",
    "min",
    "pair_uniform_to_normal",
    "philox",
    "philox_impl",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "reduce",
    "reduce_or",
    "sigmoid",
    "softmax",
    "sort",
    "split",
    "sum",
    "swizzle2d",
    "topk",
    "uint_to_uniform_float",
    "xor_sum",
    "zeros",
    "zeros_like",
]


def cdiv(x: Any, div: Any) -> Any:
    """x / div rounded up."""
    outside("cdiv")


def zeros(shape: Any, dtype: Any) -> Any:
    """A block of zeros."""
    outside("zeros")


def zeros_like(input: Any) -> Any:
    """A block of zeros of the shape and type of another."""
    outside("zeros_like")


def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = "none") -> Any:
    """x, but at least `min` and at most `max`."""
    outside("clamp")


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    outside("sigmoid")


def softmax(x: Any, dim: Any = None, keep_dims: Any = False, ieee_rounding: Any = False) -> Any:
    """The softmax along an axis."""
    outside("softmax")


def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> Any:
    """Programs of a grid of size_i x size_j renumbered in groups of size_g rows."""
    outside("swizzle2d")


def max(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """The largest element along an axis, or of all."""
    outside("max")


def min(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """The smallest element along an axis, or of all."""
    outside("min")


def argmax(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Any:
    """The index of the largest element along an axis."""
    outside("argmax")


def argmin(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Any:
    """The index of the smallest element along an axis."""
    outside("argmin")


def sum(input: Any, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> Any:
    """The sum along an axis, or of all."""
    outside("sum")


def xor_sum(input: Any, axis: Any = None, keep_dims: Any = False) -> Any:
    """The exclusive or of the elements along an axis, or of all."""
    outside("xor_sum")


def reduce_or(input: Any, axis: Any, keep_dims: Any = False) -> Any:
    """The bitwise or of the elements along an axis."""
    outside("reduce_or")


def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """The reduction along an axis by a function of two lanes, of one block or of a tuple of blocks."""
    outside("reduce")


def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """The running reduction along an axis by a function of two lanes, of one block or of a tuple of blocks."""
    outside("associative_scan")


def cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> Any:
    """The running sum along an axis."""
    outside("cumsum")


def cumprod(input: Any, axis: Any = 0, reverse: Any = False) -> Any:
    """The running product along an axis."""
    outside("cumprod")


def join(a: Any, b: Any) -> Any:
    """Two blocks side by side on a new last axis."""
    outside("join")


def split(a: Any) -> Any:
    """The two blocks that lie side by side on the last axis."""
    outside("split")


def interleave(a: Any, b: Any) -> Any:
    """The lanes of two blocks in turn along the last axis."""
    outside("interleave")


def cat(input: Any, other: Any, can_reorder: Any = False, dim: Any = 0) -> Any:
    """Two blocks one after the other along an axis."""
    outside("cat")


def flip(x: Any, dim: Any = None) -> Any:
    """The block with an axis in the other direction."""
    outside("flip")


def sort(x: Any, dim: Any = None, descending: Any = False) -> Any:
    """The lanes of the last axis in order."""
    outside("sort")


def topk(x: Any, k: Any, dim: Any = None, descending: Any = True) -> Any:
    """The k greatest (or smallest) lanes of the last axis, in order."""
    outside("topk")


def philox_impl(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = 10) -> Any:
    """Rounds of the cipher Philox on four counters and two keys."""
    outside("philox_impl")


def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = 10) -> Any:
    """Four blocks of random integers of four counters."""
    outside("philox")


def randint(seed: Any, offset: Any, n_rounds: Any = 10) -> Any:
    """A block of random 32-bit integers, one for each offset."""
    outside("randint")


def randint4x(seed: Any, offset: Any, n_rounds: Any = 10) -> Any:
    """Four blocks of random 32-bit integers, one of each for each offset."""
    outside("randint4x")


def uint_to_uniform_float(x: Any) -> Any:
    """Random integers as floats in [0, 1)."""
    outside("uint_to_uniform_float")


def rand(seed: Any, offset: Any, n_rounds: Any = 10) -> Any:
    """A block of random floats in [0, 1), one for each offset."""
    outside("rand")


def rand4x(seed: Any, offsets: Any, n_rounds: Any = 10) -> Any:
    """Four blocks of random floats in [0, 1), one of each for each offset."""
    outside("rand4x")


def pair_uniform_to_normal(u1: Any, u2: Any) -> Any:
    """Two normal numbers of two uniform ones."""
    outside("pair_uniform_to_normal")


def randn(seed: Any, offset: Any, n_rounds: Any = 10) -> Any:
    """A block of normal random floats, one for each offset."""
    outside("randn")


def randn4x(seed: Any, offset: Any, n_rounds: Any = 10) -> Any:
    """Four blocks of normal random floats, one of each for each offset."""
    outside("randn4x")


def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: Any,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: Any,
    acc: Any = None,
    fast_math: Any = False,
    lhs_k_pack: Any = True,
    rhs_k_pack: Any = True,
    out_dtype: Any = None,
) -> Any:
    """The matrix product of two blocks in microscaling formats: numbers in groups along K with a scale each."""
    outside("dot_scaled")


def bitonic_merge(x: Any, dim: Any = None, descending: Any = False) -> Any:
    """The last axis in order, where it rises and then falls or the other way round."""
    outside("bitonic_merge")
