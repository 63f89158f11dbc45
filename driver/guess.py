"""What a kernel is called with, guessed from its text: types of its arguments, values of its constants.

A parameter is a pointer if something is loaded or stored through it, here or in a function it is passed to. What is
loaded through it is an integer if it makes an address, a bound or a shift, and a float otherwise. Constants take
what an autotuner of the file would try, the text that they are compared with, or what their names say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..frontend import syntax
from ..frontend.module import Module
from ..frontend.scopes import walk
from ..frontend.values import JitFunction
from .kernels import Kernel
from .workload_schema import Constant

_ACCESSES = ("load", "store", "make_block_ptr", "make_tensor_descriptor")
_THROUGH = ("multiple_of", "max_contiguous", "max_constancy", "cast", "broadcast_to", "to")
_OF_INTEGERS = ("<<", ">>", "&", "^", "//", "%")
_BOUNDS = ("range", "static_range", "cdiv")
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


@dataclass
class _Uses:
    """How the parameters of a function are used: `through` those that something is accessed through, `integers` those
    of them whose elements must be integers."""

    through: set[str] = field(default_factory=set[str])
    integers: set[str] = field(default_factory=set[str])


def guessed(module: Module, kernel: Kernel) -> Guess:
    """The guess for a kernel. May raise AhbmcError, for a helper that cannot be parsed."""
    function = module.function(kernel.name)
    assert function is not None
    uses = _uses(function, {})
    signature: dict[str, str] = {}
    constants: dict[str, Constant] = {}
    for parameter, node in zip(kernel.parameters, function.tree.parameters, strict=True):
        name = parameter.name
        if parameter.constexpr:
            if parameter.required:
                constants[name] = _constant(module, function.tree, name)
        elif name in uses.through:
            integer = name in uses.integers or _INTEGER_NAMES.search(name)
            signature[name] = "*i1" if "mask" in name.lower() else "*i32" if integer else "*fp32"
        elif parameter.required:
            signature[name] = _annotated(node.annotation) or ("fp32" if _is_float(name) else "i32")
    return Guess(signature, constants)


def _is_float(name: str) -> bool:
    """Whether a number of this name is a float; the stride of a tensor of scales is none."""
    return bool(_FLOAT_NAMES.search(name)) and "stride" not in name.lower()


def _annotated(annotation: syntax.Expression | None) -> str | None:
    """The type that an annotation such as `tl.int64` says."""
    if isinstance(annotation, syntax.Attribute):
        return {"int64": "i64", "int32": "i32", "float32": "fp32", "uint32": "u32"}.get(annotation.name)
    return None


# How parameters are used --------------------------------------------------------------------------


def _uses(function: JitFunction, known: dict[int, _Uses]) -> _Uses:
    """The uses of a function's parameters; `known` holds those of functions seen before, recursive ones too."""
    if id(function) in known:
        return known[id(function)]
    found = known[id(function)] = _Uses()
    parameters = {p.name for p in function.tree.parameters}
    bases = {name: name for name in parameters}  # name -> the parameter that it is or was moved from
    loaded: dict[str, str] = {}  # name -> the parameter through which its value was loaded
    for node in walk(function.tree.body):
        if isinstance(node, syntax.Assign) and isinstance(target := node.targets[0], syntax.Name):
            base = _base(node.value, bases)
            if base is not None and target.id not in parameters:
                bases[target.id] = base
            sources = [_base(call.arguments[0], bases) for call in _loads(node.value)]
            sources += [loaded.get(name) for name in _operands(node.value)]
            if source := next(filter(None, sources), None):
                loaded.setdefault(target.id, source)
        elif isinstance(node, syntax.Call):
            _call(function, node, bases, loaded, found, known)
        elif isinstance(node, syntax.Binary) and node.operator in _OF_INTEGERS:
            found.integers |= set(_sources(node, bases, loaded))
        elif isinstance(node, syntax.Attribute) and node.name == "element_ty" and (base := _base(_owner(node), bases)):
            found.through.add(base)
    return found


def _call(
    function: JitFunction,
    node: syntax.Call,
    bases: Mapping[str, str],
    loaded: Mapping[str, str],
    found: _Uses,
    known: dict[int, _Uses],
) -> None:
    name = _called(node)
    if node.arguments and (name in _ACCESSES or name.startswith("atomic_")):
        if base := _base(node.arguments[0], bases):
            found.through.add(base)
        found.integers |= set(_sources(node.arguments[0], bases, loaded))
    elif name in _BOUNDS:
        for argument in node.arguments:
            found.integers |= set(_sources(argument, bases, loaded))
    elif isinstance(node.function, syntax.Name) and (helper := function.module.kernel_function(name)) is not None:
        inner = _uses(helper, known)
        names = [p.name for p in helper.tree.parameters]
        given = [*zip(names, node.arguments, strict=False), *((k.name, k.value) for k in node.keywords)]
        for parameter, argument in given:
            base = _base(argument, bases)
            if base is not None and parameter in inner.through:
                found.through.add(base)
                if parameter in inner.integers:
                    found.integers.add(base)


def _called(node: syntax.Call) -> str:
    match node.function:
        case syntax.Attribute(name=name) | syntax.Name(id=name):
            return name
        case _:
            return ""


def _owner(node: syntax.Attribute) -> syntax.Expression:
    """`x` of `x.dtype.element_ty`."""
    return node.value.value if isinstance(node.value, syntax.Attribute) else node.value


def _base(node: syntax.Expression, bases: Mapping[str, str]) -> str | None:
    """The parameter that an address is counted from: the leftmost of a sum, looked up through casts and hints."""
    match node:
        case syntax.Name(id=name):
            return bases.get(name)
        case syntax.Binary(operator="+" | "-", left=left, right=right):
            return _base(left, bases) or _base(right, bases)
        case syntax.Call(arguments=(first, *_)) if _called(node) in _THROUGH and not _is_method(node):
            return _base(first, bases)
        case syntax.Call(function=syntax.Attribute(value=owner, name="to")):
            return _base(owner, bases)
        case _:
            return None


def _operands(node: syntax.Expression) -> Iterator[str]:
    """The names whose values an arithmetic expression keeps the kind of: no comparison, no call."""
    match node:
        case syntax.Name(id=name):
            yield name
        case syntax.Binary(left=left, right=right):
            yield from _operands(left)
            yield from _operands(right)
        case syntax.Subscript(value=value) | syntax.Unary(operand=value):
            yield from _operands(value)
        case _:
            pass


def _is_method(node: syntax.Call) -> bool:
    """Whether a call is `x.f(...)` of a value, not `tl.f(...)`."""
    function = node.function
    return isinstance(function, syntax.Attribute) and not (
        isinstance(function.value, syntax.Name) and function.value.id in ("tl", "triton", "language")
    )


def _loads(node: syntax.Expression) -> Iterator[syntax.Call]:
    return (n for n in walk(node) if isinstance(n, syntax.Call) and _called(n) == "load" and n.arguments)


def _sources(node: syntax.Expression, bases: Mapping[str, str], loaded: Mapping[str, str]) -> Iterator[str]:
    """The parameters through which values that stand in an expression were loaded."""
    for each in walk(node):
        if isinstance(each, syntax.Name) and each.id in loaded:
            yield loaded[each.id]
    for call in _loads(node):
        if call is not node and (base := _base(call.arguments[0], bases)):
            yield base


# Values of constants ------------------------------------------------------------------------------


def _constant(module: Module, tree: syntax.Function, name: str) -> Constant:
    text = module.text.content
    tried = re.compile(rf"""["']{re.escape(name)}["']\s*:\s*(\d+|True|False)\b""")
    before = list(tried.finditer(text, 0, tree.span[0]))
    if found := before[-1] if before else tried.search(text):
        return {"True": True, "False": False}.get(found[1]) if found[1] in ("True", "False") else int(found[1])
    for node in walk(tree.body):
        if isinstance(node, syntax.Compare) and isinstance(node.left, syntax.Name) and node.left.id == name:
            other = node.others[0]
            if isinstance(other, syntax.Constant) and isinstance(other.value, str):
                return other.value
    if len(modes := _modes(tree, name)) > 1:
        return modes[0]
    if "dtype" in name.lower():
        return "fp32"
    if _FLAG_NAMES.search(name) or _only_tested(tree, name):
        return False
    if _is_float(name):
        return 1.0
    return 4 if name.lower() in ("num_warps", "num_stages") else _BLOCK


def _modes(tree: syntax.Function, name: str) -> list[int]:
    """The numbers that a constant is compared with for equality, in the order of the text: several are a choice."""
    found = [
        value
        for node in walk(tree.body)
        if isinstance(node, syntax.Compare) and isinstance(node.left, syntax.Name) and node.left.id == name
        if node.operators == ("==",) and isinstance(other := node.others[0], syntax.Constant)
        if isinstance(value := other.value, int) and not isinstance(value, bool)
    ]
    return list(dict.fromkeys(found))


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
