"""The named numpy references of `check:`, as a table, and the evaluation of a reference expression over arrays.

Everything is computed in float64 from the values the tensors had before the launch; nothing here knows of kernels or of
the simulator, so a reference is an independent oracle. A new reference is one row.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..backend_sim.target.document import closest
from ..dialects.errors import Place, fail
from .expressions import Call, Expression, Name, Number

Array = npt.NDArray[Any]
Value = Array | float | int | bool


@dataclass(frozen=True)
class Reference:
    """One named function: what it computes in a line, and the function on float64 arrays."""

    about: str
    function: Callable[..., Any]

    @property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        return tuple(inspect.signature(self.function).parameters.values())

    @property
    def signature(self) -> str:
        parts = (p.name if p.default is p.empty else f"{p.name}={p.default}" for p in self.parameters)
        return ", ".join(parts)


def _softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    e /= np.sum(e, axis=axis, keepdims=True)
    return e


def _attention(q: Array, k: Array, v: Array, causal: bool = False, scale: float | None = None) -> Array:
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = np.matmul(q * factor, np.swapaxes(k, -1, -2))
    if causal:
        rows, columns = scores.shape[-2:]
        hidden = np.triu(np.ones((rows, columns), np.bool_), 1)
        scores = np.where(hidden, -np.inf, scores)
    return np.matmul(_softmax(scores), v)


def _rmsnorm(x: Array, weight: Array | float = 1.0, eps: float = 1e-6) -> Array:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def _layernorm(x: Array, weight: Array | float = 1.0, bias: Array | float = 0.0, eps: float = 1e-5) -> Array:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + eps) * weight + bias


def _sigmoid(x: Array) -> Array:
    return np.exp(-np.logaddexp(0.0, -x))


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def _logsumexp(x: Array, axis: int = -1) -> Array:
    top = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.sum(np.exp(x - top), axis=axis))


def _transpose(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _sum(x: Array, axis: int | None = None) -> Array:
    return np.sum(x, axis=axis)


def _mean(x: Array, axis: int | None = None) -> Array:
    return np.mean(x, axis=axis)


def _max(x: Array, axis: int | None = None) -> Array:
    return np.max(x, axis=axis)


def _min(x: Array, axis: int | None = None) -> Array:
    return np.min(x, axis=axis)


def _cumsum(x: Array, axis: int = -1) -> Array:
    return np.cumsum(x, axis=axis)


def _repeat(x: Array, count: int, axis: int = 0) -> Array:
    return np.repeat(x, int(count), axis=axis)


def _binary(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(a: Array, b: Array) -> Any:
        return function(a, b)

    return apply


def _unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def apply(x: Array) -> Any:
        return function(x)

    return apply


REFERENCES: dict[str, Reference] = {
    "add": Reference("a + b", _binary(np.add)),
    "sub": Reference("a - b", _binary(np.subtract)),
    "mul": Reference("a * b", _binary(np.multiply)),
    "div": Reference("a / b", _binary(np.divide)),
    "maximum": Reference("the larger of a and b", _binary(np.maximum)),
    "minimum": Reference("the smaller of a and b", _binary(np.minimum)),
    "copy": Reference("x", _unary(np.copy)),
    "abs": Reference("|x|", _unary(np.abs)),
    "exp": Reference("e ** x", _unary(np.exp)),
    "exp2": Reference("2 ** x", _unary(np.exp2)),
    "log": Reference("natural logarithm", _unary(np.log)),
    "log2": Reference("logarithm to base 2", _unary(np.log2)),
    "sqrt": Reference("square root", _unary(np.sqrt)),
    "rsqrt": Reference("1 / sqrt(x)", _unary(lambda x: 1.0 / np.sqrt(x))),
    "sin": Reference("sine", _unary(np.sin)),
    "cos": Reference("cosine", _unary(np.cos)),
    "tanh": Reference("hyperbolic tangent", _unary(np.tanh)),
    "erf": Reference("error function", _unary(_erf)),
    "sigmoid": Reference("1 / (1 + e ** -x)", _unary(_sigmoid)),
    "relu": Reference("max(x, 0)", _unary(lambda x: np.maximum(x, 0.0))),
    "silu": Reference("x * sigmoid(x)", _unary(lambda x: x * _sigmoid(x))),
    "gelu": Reference(
        "x * normal distribution(x), by erf", _unary(lambda x: 0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))))
    ),
    "gelu_tanh": Reference("gelu by the tangent", _unary(_gelu_tanh)),
    "logsumexp": Reference("logarithm of the sum of e ** x along an axis", _logsumexp),
    "sum": Reference("sum over an axis, or over all", _sum),
    "mean": Reference("mean over an axis, or over all", _mean),
    "max": Reference("maximum over an axis, or over all", _max),
    "min": Reference("minimum over an axis, or over all", _min),
    "cumsum": Reference("running sum along an axis", _cumsum),
    "repeat": Reference("each entry along an axis `count` times in a row, as scales of groups are", _repeat),
    "softmax": Reference("softmax along an axis", _softmax),
    "transpose": Reference("last two axes swapped", _transpose),
    "matmul": Reference("matrix product over the last two axes", _binary(np.matmul)),
    "attention": Reference("softmax(q k^T * scale) v; scale None: 1/sqrt(head size)", _attention),
    "rmsnorm": Reference("x / sqrt(mean(x^2) + eps) * weight over the last axis", _rmsnorm),
    "layernorm": Reference("(x - mean) / sqrt(variance + eps) * weight + bias over the last axis", _layernorm),
}
_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.mod,
    "@": np.matmul,
    "neg": np.negative,
}


def evaluate(tree: Expression, values: Mapping[str, Value]) -> Value:
    """The value of a reference expression; `values` are tensors (as float64) and scalar arguments by name."""
    match tree:
        case Number():
            return tree.value
        case Name():
            if tree.name in values:
                return values[tree.name]
            if tree.name == "None":
                raise fail("leave an argument out instead of giving None", tree.place)
            close = closest(tree.name, values)
            hint = f"did you mean `{close}`?" if close else f"arguments: {', '.join(values)}"
            raise fail(f"`{tree.name}` is no argument of this launch", tree.place, hint=hint)
        case Call():
            return _call(tree, values)


def _call(tree: Call, values: Mapping[str, Value]) -> Value:
    function = _OPERATORS.get(tree.name)
    arguments = [evaluate(a, values) for a in tree.arguments]
    if function is None:
        if tree.name not in REFERENCES:
            close = closest(tree.name, REFERENCES)
            hint = f"did you mean `{close}`?" if close else "combine these, + - * / and @, or give `file: x.npy`"
            raise fail(f"there is no reference `{tree.name}`; there are {', '.join(REFERENCES)}", tree.place, hint=hint)
        row = REFERENCES[tree.name]
        keywords = _keywords(tree, row, values)
        return _apply(row.function, tree.place, tree.name, arguments, keywords)
    return _apply(function, tree.place, tree.name, arguments, {})


def _keywords(tree: Call, row: Reference, values: Mapping[str, Value]) -> dict[str, Value]:
    known = [p.name for p in row.parameters]
    needed = [p.name for p in row.parameters if p.default is p.empty]
    given = dict(tree.keywords)
    problem = None
    if unknown := [k for k in given if k not in known]:
        problem = f"has no parameter `{unknown[0]}`"
    elif len(tree.arguments) > len(known) or set(known[: len(tree.arguments)]) & given.keys():
        problem = "is given too many arguments"
    elif missing := [n for n in needed[len(tree.arguments) :] if n not in given]:
        problem = f"lacks `{missing[0]}`"
    if problem:
        raise fail(f"`{tree.name}` {problem}", tree.place, hint=f"it is {tree.name}({row.signature})")
    return {key: evaluate(value, values) for key, value in given.items()}


def _apply(
    function: Callable[..., Any], place: Place, name: str, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    try:
        with np.errstate(all="ignore"):
            return function(*arguments, **keywords)
    except (ValueError, TypeError, np.exceptions.AxisError, IndexError, AttributeError) as error:
        shapes = ", ".join(str(list(np.shape(a))) for a in arguments)
        hint = "the shapes must go together as in numpy; transpose(x) swaps the last two axes"
        raise fail(f"`{name}` cannot take operands of shape {shapes}: {error}", place, hint=hint) from None
