"""One input of `ahbmc-opt`, or one of several: read, run the passes, print; and what happens to errors on the
way.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.errors import AhbmcError, Fault, Place, Sources, render
from ..dialects.text import print_module
from ..passes import build_pipeline, run_pipeline
from .opt_input import Part
from .output import write

_EXPECTED = re.compile(
    r"(?://|#)\s*expected-error\s*(?:@(?P<offset>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}"
)


@dataclass
class Instrumentation:
    """What the flags ask for between passes: IR and times on standard error, IR in files of a folder."""

    args: argparse.Namespace
    dumped: int = 0
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    last_text: str = ""
    last_time: float = 0.0

    def start(self, module: ModuleOp) -> None:
        self.last_text = self._text(module) if self.args.print_ir_after_change else ""
        if self.args.dump_dir is not None:
            self._dump("input", module)
        self.last_time = time.perf_counter()

    def after(self, each: ModulePass, module: ModuleOp) -> None:
        self.seconds[each.name] = self.seconds.get(each.name, 0.0) + time.perf_counter() - self.last_time
        if self.args.print_ir_after_change:
            text = self._text(module)
            if text != self.last_text:
                self._show(each, text)
            self.last_text = text
        elif self.args.print_ir_after_all or each.name in self.args.print_ir_after:
            self._show(each, self._text(module))
        if self.args.dump_dir is not None:
            self._dump(each.name, module)
        self.last_time = time.perf_counter()

    def _text(self, module: ModuleOp) -> str:
        return print_module(module, generic=self.args.print_op_generic, locations=self.args.print_debuginfo)

    def _show(self, each: ModulePass, text: str) -> None:
        print(f"// -----// IR after {each.name} //----- //\n{text}", file=sys.stderr)

    def _dump(self, name: str, module: ModuleOp) -> None:
        """The files are numbered, so that two in a row differ by one pass; several inputs go on counting."""
        file = Path(self.args.dump_dir) / f"{self.dumped:03}-{name}.mlir"
        write(str(file), self._text(module))
        self.dumped += 1

    def report(self) -> None:
        """The times, longest first, each with the check of the pass's result."""
        if self.args.timing:
            total = sum(self.seconds.values())
            for name, seconds in sorted(self.seconds.items(), key=lambda item: -item[1]):
                print(f"{seconds * 1000:9.2f} ms  {name}", file=sys.stderr)
            print(f"{total * 1000:9.2f} ms  total", file=sys.stderr)


def process(
    part: Part, args: argparse.Namespace, sources: Sources, instrumentation: Instrumentation
) -> tuple[str, int]:
    """What goes to the output for this part of the input, and the exit status that it asks for."""
    module: ModuleOp | None = None
    try:
        module = part.read(allow_unregistered=args.allow_unregistered_dialect)
        if not args.disable_verify:
            instrumentation.start(module)
            run_pipeline(module, build_pipeline(args.passes, part.options), on_pass=instrumentation.after)
        output = print_module(module, generic=args.print_op_generic, locations=args.print_debuginfo)
        error = None
    except AhbmcError as caught:
        output, error = "", caught
    expected = _expected(part.text) if args.verify_diagnostics else []
    if expected:
        return output, _compare(expected, error, part.file, sources)
    if error is None:
        return output, 0
    shown = args.verify_diagnostics or (args.parsing_diagnostics and module is None)
    if shown:
        return render(error, sources) + "\n", 0
    print(render(error, sources), file=sys.stderr)
    return "", error.exit_status


@dataclass(frozen=True)
class _Expected:
    """An `expected-error` comment: the line on which the error must be (None: without a place) and a part of its
    message.
    """

    line: int | None
    text: str
    comment_line: int


def _expected(text: str) -> list[_Expected]:
    found: list[_Expected] = []
    for number, line in enumerate(text.splitlines(), 1):
        for match in _EXPECTED.finditer(line):
            offset = {None: 0, "above": -1, "below": 1, "unknown": None}.get(match["offset"], match["offset"])
            at = None if offset is None else number + int(offset)
            found.append(_Expected(at, match["text"], number))
    return found


def _compare(expected: list[_Expected], error: AhbmcError | None, name: str, sources: Sources) -> int:
    """Each expected error must have come, and no other; what is amiss goes to standard error."""
    faults = list(error.faults) if error else []
    missing: list[Fault] = []
    for each in expected:
        match = next(
            (f for f in faults if each.text in f.message and (f.place.line if f.place else None) == each.line), None
        )
        if match is None:
            missing.append(Fault(f'expected error "{each.text}" was not produced', Place(name, each.comment_line, 1)))
        else:
            faults.remove(match)
    amiss = [*missing, *(Fault(f"unexpected error: {f.message}", f.place, f.category) for f in faults)]
    if amiss:
        print(render(AhbmcError(*amiss), sources), file=sys.stderr)
    return 1 if amiss else 0
