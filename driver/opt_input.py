"""The inputs of `ahbmc-opt`: IR, a kernel with types and constants from flags, or the kernels of a workload file.

The frontend and the simulator are loaded for the last two only: tests of passes read IR, and there are many.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ..dialects.errors import Sources
from ..dialects.text import new_context, parse_module

if TYPE_CHECKING:
    from .lowering import Request
    from .workload_schema import Options, OptionValue

SPLIT = "// -----"


@dataclass(frozen=True)
class Part:
    """One module to be: text of IR, or what to compile. `options` are the pass options of a workload."""

    text: str
    file: str
    request: Request | None = None
    options: Options = field(default_factory=dict[str, "dict[str, OptionValue]"])

    def read(self, *, allow_unregistered: bool) -> ModuleOp:
        """The module of this part. Raises AhbmcError."""
        if self.request is not None:
            from .lowering import front

            return front(self.request)
        return parse_module(self.text, self.file, new_context(allow_unregistered=allow_unregistered))


def parts(file: str, suffix: str, text: str, args: argparse.Namespace, sources: Sources) -> Iterator[Part]:
    """The parts of an input: several for a split file and for a workload of several launches. Raises AhbmcError."""
    match suffix:
        case ".py":
            from .compile import request_of_kernel

            name = f"{file}::{args.kernel}" if args.kernel else file
            flags = argparse.Namespace(
                input=name, arg=args.arg, const=args.const, set=[], machine=args.machine, pipeline=None
            )
            yield Part(text, file, request_of_kernel(flags, sources))
        case ".yaml" | ".yml":
            from .prepare import prepare
            from .workload import load

            for request in prepare(load(file, [], sources), args.machine, None).requests:
                yield Part(text, file, request, request.options)
        case _:
            for part in split(text) if args.split_input_file else [text]:
                yield Part(part, file)


def split(text: str) -> list[str]:
    """The parts between split marks; each begins with as many empty lines as lie before it, so that places stay
    true.
    """
    found: list[str] = []
    lines_before = 0
    for part in text.split(SPLIT):
        found.append("\n" * lines_before + part)
        lines_before += part.count("\n")
    return found
