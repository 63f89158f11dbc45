"""What a kernel is called with, guessed from its text: types of its arguments, values of its constants.

A parameter is a pointer if something is loaded or stored through it, here or in a function it is passed to. It and
what is loaded through it are what their uses ask for (`uses.py`), or else what their names say. Constants take what an
autotuner of the file would try, what they are compared with, or what their names say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ..frontend import syntax
from ..frontend.module import Module
from ..frontend.scopes import walk
from .kernels import Kernel
from .uses import Kind, Uses, uses_of
from .workload_schema import Constant

_INTEGER_NAMES = re.compile(
    r"(?i)(ind(ex|ices)|idx|_ids?\b|\bids?\b|offsets?|len(gth)?s?\b|table|slot|mapping|label|lut|cu_)"
)
_FLOAT_NAMES = re.compile(
    r"(?i)(eps|scale|alpha|beta|gamma|theta|temperature|softcap|smoothing|momentum|drop|prob|\bp$|\blr$|decay|slope|"
    r"limit|factor|_cap$|^(fp8_)?(min|max)(_val)?$)"
)
_FLAG_NAMES = re.compile(r"(?i)^(has|is|use|with|do|enable|need|return|store|save|apply|even|causal|inplace|transpose)")
_BLOCK = 32


@dataclass(frozen=True)
class Guess:
    """Types of the run-time arguments in Triton's notation, and values of the constants that have no default."""

    signature: Mapping[str, str]
    constants: Mapping[str, Constant]


_SCALARS = {"int64": "i64", "int32": "i32", "float32": "fp32", "uint32": "u32", "int1": "i1"}


def guessed(module: Module, kernel: Kernel) -> Guess:
    """The guess for a kernel. May raise AhbmcError, for a helper that cannot be parsed."""
    function = module.function(kernel.name)
    assert function is not None
    uses = uses_of(function)
    signature: dict[str, str] = {}
    constants: dict[str, Constant] = {}
    for parameter, node in zip(kernel.parameters, function.tree.parameters, strict=True):
        name = parameter.name
        kinds = uses.kinds_of(name)
        if parameter.constexpr:
            if parameter.required:
                constants[name] = _constant(module, function.tree, name, uses)
        elif "pointer" in kinds:
            signature[name] = f"*{_element(name, uses)}"
        elif "descriptor" in kinds:
            signature[name] = f"tensordesc<{_element(name, uses)}{[_BLOCK] * uses.ranks.get(name, 2)}>"
        elif parameter.required:
            signature[name] = _annotated(node.annotation) or _scalar(name, kinds)
    return Guess(signature, constants)


def _element(name: str, uses: Uses) -> str:
    """The type of the elements that a parameter points to. Elements that are accessed through are addresses."""
    kinds = uses.kinds_of(f"*{name}")
    if "pointer" in kinds:
        return "i64"
    if (element := uses.elements.get(f"*{name}")) is not None and "integer" not in kinds:
        return element
    if "mask" in name.lower() or ("boolean" in kinds and "integer" not in kinds):
        return "i1"
    if "integer" in kinds or ("float" not in kinds and _INTEGER_NAMES.search(name)):
        return "i32"
    # The factors of a product are of one type, and the kernel casts others to it.
    return next((e for e in uses.elements.values() if e in ("fp16", "bf16")), "fp32")


def _scalar(name: str, kinds: Collection[Kind]) -> str:
    if "boolean" in kinds and "integer" not in kinds:
        return "i1"
    if "integer" in kinds:
        return "i32"
    return "fp32" if "float" in kinds or _is_float(name) else "i32"


def _is_float(name: str) -> bool:
    """Whether a number of this name is a float; the stride of a tensor of scales is none."""
    return bool(_FLOAT_NAMES.search(name)) and "stride" not in name.lower()


def _annotated(annotation: syntax.Expression | None) -> str | None:
    """The type that an annotation such as `tl.int64` says."""
    return _SCALARS.get(annotation.name) if isinstance(annotation, syntax.Attribute) else None


# Values of constants ------------------------------------------------------------------------------


def _constant(module: Module, tree: syntax.Function, name: str, uses: Uses) -> Constant:
    text = module.text.content
    tried = re.compile(rf"""["']{re.escape(name)}["']\s*:\s*(\d+|True|False)\b""")
    before = list(tried.finditer(text, 0, tree.span[0]))
    if found := before[-1] if before else tried.search(text):
        return {"True": True, "False": False}.get(found[1]) if found[1] in ("True", "False") else int(found[1])
    choices = uses.compared.get(name, [])
    if len(choices) > 1 or (choices and isinstance(choices[0], str)):
        return choices[0]
    kinds = uses.kinds_of(name)
    if "type" in kinds or "dtype" in name.lower():
        return "int32" if "integer" in kinds else "fp32"
    if "integer" not in kinds and (_FLAG_NAMES.search(name) or _only_tested(tree, name)):
        return False
    if "integer" not in kinds and _is_float(name):
        return 1.0
    return 4 if name.lower() in ("num_warps", "num_stages") else _BLOCK


def _only_tested(tree: syntax.Function, name: str) -> bool:
    """Whether a constant is used as a condition and in no other way."""
    tests = 0
    uses = sum(isinstance(n, syntax.Name) and n.id == name for n in walk(tree.body))
    for node in walk(tree.body):
        match node:
            case syntax.If(test=test) | syntax.Conditional(test=test):
                tests += sum(isinstance(n, syntax.Name) and n.id == name for n in _conditions(test))
            case _:
                pass
    return 0 < uses == tests


def _conditions(test: syntax.Expression) -> Iterator[syntax.Expression]:
    match test:
        case syntax.Logical(operands=operands):
            for operand in operands:
                yield from _conditions(operand)
        case syntax.Unary(operator="not", operand=operand):
            yield from _conditions(operand)
        case _:
            yield test
