"""`ahbmc compile`: print the IR of a workload's kernels, or of one kernel whose types and constants are flags."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..backend_sim.numerics.dtypes import TRITON_TYPES
from ..backend_sim.target.document import closest, parse
from ..backend_sim.target.machine_file import DEFAULT, SET, load_machine
from ..dialects.errors import AhbmcError, Fault, Place, Sources, fail
from ..dialects.text import print_module
from ..frontend.values import HostValue
from ..passes import PIPELINE_TEXT
from .command_kernels import SUFFIX, type_name
from .command_line import word_place
from .forms import settled
from .kernels import find_kernel, kernel_names
from .lowering import Request, compile_request
from .output import write
from .prepare import prepare
from .tuning import filled
from .workload import load, read_text, split_kernel
from .workload_schema import Constant


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc compile`: print the IR of a workload's kernels or of one kernel."""
    sources: Sources = arguments.sources
    if arguments.pipeline:
        sources.add(PIPELINE_TEXT, arguments.pipeline)
    if Path(arguments.input).suffix in (".yaml", ".yml"):
        if arguments.arg or arguments.const:
            place = word_place(sources, (*arguments.arg, *arguments.const)[0])
            raise fail(
                "--arg and --const are for kernels; a workload has its own", place, hint="use --set args.N=VALUE"
            )
        workload = load(arguments.input, arguments.set, sources)
        requests = tuple(map(settled, prepare(workload, arguments.machine, arguments.pipeline).requests))
    else:
        requests = (request_of_kernel(arguments, sources),)
    texts = [print_module(compile_request(r, arguments.emit).module, locations=arguments.debuginfo) for r in requests]
    write(arguments.output, "// -----\n".join(texts), word_place(sources, arguments.output))
    return 0


def request_of_kernel(arguments: argparse.Namespace, sources: Sources) -> Request:
    """The request of `KERNEL.py::NAME --arg ... --const ...`. Raises AhbmcError with every fault of the flags."""
    at = word_place(sources, arguments.input) or word_place(sources, arguments.input.rpartition("::")[2])
    path, name = kernel_and_file(arguments.input, at)
    machine_set = tuple(arguments.set)
    if wrong := [text for text in arguments.set if not text.startswith("machine.")]:
        found = f"`{wrong[0]}` cannot be set without a workload; only `machine.` can"
        raise fail(found, word_place(sources, wrong[0]), hint="use --arg and --const")
    sources.add(SET, "\n".join(machine_set))
    machine = arguments.machine or DEFAULT
    load_machine(machine, machine_set, place=word_place(sources, machine))
    kernel = find_kernel(read_text(path, "kernel file", at), str(path), name, at)
    if kernel.is_commands:
        if arguments.arg or arguments.const:
            place = word_place(sources, (*arguments.arg, *arguments.const)[0])
            raise fail(f"`{name}` is written as commands and has its types", place, hint="leave --arg and --const out")
        signature = {p.name: type_name(p.type) for p in kernel.parameters if p.type is not None}
        return Request(kernel, signature, {}, machine, machine_set, arguments.pipeline or "auto")
    faults: list[Fault] = []
    types = _pairs(arguments.arg, "--arg", "x=*fp16", sources, faults)
    constants = _pairs(arguments.const, "--const", "BLOCK=64", sources, faults)
    signature: dict[str, str] = {}
    known: dict[str, Constant] = {}
    given_constants = {n: _constant(text, place, faults) for n, (text, place) in constants.items()}
    decorated = filled(kernel, {**{n: HostValue(t) for n, t in types.items()}, **given_constants}) if not faults else {}
    for parameter in kernel.parameters:
        given = types.get(parameter.name)
        if parameter.name in constants:
            known[parameter.name] = given_constants[parameter.name]
        elif given is not None:
            if given[0].removeprefix("*") not in TRITON_TYPES:
                faults.append(_unknown_type(*given))
            elif parameter.constexpr:
                hint = f"give its value: --const {parameter.name}=..."
                faults.append(Fault(f"`{parameter.name}` is a constexpr of the kernel", given[1], hint=hint))
            signature[parameter.name] = given[0]
        elif parameter.name in decorated:
            known[parameter.name] = decorated[parameter.name]
        elif parameter.required:
            how = "--const {}=VALUE" if parameter.constexpr else "--arg {}=TYPE"
            message = f"kernel `{name}` needs `{parameter.name}`"
            faults.append(Fault(message, parameter.place, hint=f"give {how.format(parameter.name)}"))
    for given_name, (_, place) in (*types.items(), *constants.items()):
        if kernel.parameter(given_name) is None:
            close = closest(given_name, kernel.names)
            hint = f"did you mean `{close}`?" if close else f"its parameters: {', '.join(kernel.names)}"
            faults.append(Fault(f"kernel `{name}` has no parameter `{given_name}`", place, hint=hint))
    if faults:
        raise AhbmcError(*faults)
    return Request(kernel, signature, known, machine, machine_set, arguments.pipeline or "auto")


def kernel_and_file(text: str, place: Place | None) -> tuple[Path, str]:
    """`FILE.py::NAME` (or `.mlir`), or the file alone where it has one kernel."""
    if "::" in text or not text.endswith((".py", SUFFIX)):
        return split_kernel(text, place, Path())
    path = Path(text)
    names = kernel_names(read_text(path, "kernel file", place), text)
    if len(names) == 1:
        return path, names[0]
    raise fail(f"{text} has {len(names)} kernels: {', '.join(names) or 'none'}", place, hint=f"write {text}::NAME")


def _pairs(
    texts: Sequence[str], flag: str, example: str, sources: Sources, faults: list[Fault]
) -> dict[str, tuple[str, Place]]:
    """NAME=TEXT of a repeated flag, with the place of TEXT; the n-th is line n of the text `flag`."""
    sources.add(flag, "\n".join(texts))
    pairs: dict[str, tuple[str, Place]] = {}
    for line, text in enumerate(texts, 1):
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier() or not value.strip():
            faults.append(
                Fault(f"`{text}` is not NAME=VALUE", Place(flag, line, 1), hint=f"for example {flag} {example}")
            )
            continue
        start = len(name) + 1 + len(value) - len(value.lstrip())
        pairs[name.strip()] = (value.strip(), Place(flag, line, start + 1, len(text) + 1))
    return pairs


def _constant(text: str, place: Place, faults: list[Fault]) -> Constant:
    """A constant as in YAML: a number, true or false, text, or a list of such."""
    try:
        node = parse(text, place.file, place.line, place.column)
    except AhbmcError as error:
        faults += error.faults
        return None
    match node.value:
        case list() if not any(isinstance(entry.value, dict | list) for entry in node.value):
            return tuple(entry.value for entry in node.value if not isinstance(entry.value, dict | list))
        case dict() | list():
            faults.append(Fault("a constant is a number, true, false, a text or a list of such", place))
            return None
        case _:
            return node.value


def _unknown_type(text: str, place: Place) -> Fault:
    close = closest(text.removeprefix("*"), TRITON_TYPES)
    hint = f"did you mean `{'*' * text.startswith('*')}{close}`?" if close else None
    allowed = f"{', '.join(TRITON_TYPES)}, or a pointer to one of them (*fp16)"
    return Fault(f"`{text}` is no type; allowed: {allowed}", place, hint=hint)
