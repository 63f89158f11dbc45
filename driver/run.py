"""`ahbmc run`: a workload compiled, run on its machine, checked; the report, and the files that were asked for."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..backend_sim.analysis.summary import Run, summary
from ..backend_sim.memory import Tensor
from ..backend_sim.target.document import Node
from ..dialects.errors import AhbmcError, Fault, Sources, fail
from ..passes import PIPELINE_TEXT
from . import expressions
from .autotune import autotune
from .checks import OutputCheck, compare, expected, unchecked, wide
from .execution import Executed, compile_all, execute, reads_memory
from .ideal import costs_of, ideal_latencies
from .launches import Lookup, bind_all
from .lowering import Compiled, Request
from .outermost import CHECK_FAILED, INTERRUPTED, WRONG_USAGE
from .prepare import Prepared, prepare
from .references import Value
from .run_files import asked_for, check_writable, write_files
from .workload import load
from .workload_schema import Check


@dataclass(frozen=True)
class Outcome:
    """A run with its checks: why they failed, if they did, each at its place in the workload."""

    executed: Executed
    requests: tuple[Request, ...]
    run: Run
    failures: tuple[Fault, ...]
    sources: Sources

    def summary(self) -> dict[str, Any]:
        """The object of `run --json`."""
        return summary(self.executed.analysis, self.run)


@dataclass(frozen=True)
class _Wanted:
    """One entry of a `check:`, the tensor that it is about, and its right values."""

    name: str
    tensor: Tensor
    check: Check
    node: Node
    values: Any


def run_workload(
    path: str | Path,
    *,
    overrides: tuple[str, ...] = (),
    machine: str | None = None,
    pipeline: str | None = None,
    timing_only: bool = False,
    exact: bool = False,
    partial: bool = False,
    links: bool = False,
    ideal: Sequence[str] = (),
    tune: bool = False,
    sources: Sources | None = None,
) -> Outcome:
    """Run the workload file `path`. Raises AhbmcError; a failed check is no error but an outcome.

    With `partial` a user's interrupt of the simulation is an outcome too, without checks. With `links` the op-log says
    when which link was taken. `ideal` names costs without which the launches are simulated as well.
    With `tune` the configurations of autotuned kernels are tried first, and the best ones are run.
    """
    workload = load(path, overrides, sources)
    tuned = autotune(workload, machine, pipeline) if tune else None
    prepared = prepare(tuned.workload if tuned is not None else workload, machine, pipeline)
    compiled = compile_all(prepared.requests)
    outcome = run_compiled(
        prepared, compiled, timing_only=timing_only, exact=exact, partial=partial, links=links, ideal=ideal
    )
    if tuned is None:
        return outcome
    return replace(outcome, run=replace(outcome.run, autotune=tuned.entries()))


def run_compiled(
    prepared: Prepared,
    compiled: Sequence[Compiled],
    *,
    timing_only: bool = False,
    exact: bool = False,
    partial: bool = False,
    links: bool = False,
    ideal: Sequence[str] = (),
) -> Outcome:
    """Run the compiled kernels of a workload, one for each of its launches; else as `run_workload`."""
    values = not timing_only
    bindings = prepared.bindings
    if values or reads_memory(compiled):
        bindings = bind_all(prepared.workload, prepared.machine, prepared.kernels, values=True)
    start = time.perf_counter()
    wanted = _wanted(prepared, bindings.top, [b.lookup for b in bindings.launches]) if values else []
    checking = time.perf_counter() - start
    executed = execute(
        compiled, bindings.launches, prepared.machine, values=values, exact=exact, partial=partial, links=links
    )
    if executed.execution.interrupted:
        return outcome_of(executed, prepared.requests, (), (), "skipped", prepared.workload.sources)
    start = time.perf_counter()
    without = ideal_latencies(executed, ideal)
    if ideal:
        executed.seconds["ideal"] = time.perf_counter() - start
    start = time.perf_counter()
    outputs = _outputs(executed, wanted) if values else ()
    executed.seconds["check"] = checking + time.perf_counter() - start
    places = {w.tensor.name: w.node.place for w in wanted}
    failures = tuple(
        Fault(f"check of `{o.name}` failed: {o.reason}", places.get(o.name)) for o in outputs if o.ok is False
    )
    check = "fail" if failures else "pass" if wanted else "skipped"
    return outcome_of(executed, prepared.requests, outputs, failures, check, prepared.workload.sources, without)


def outcome_of(
    executed: Executed,
    requests: tuple[Request, ...],
    outputs: tuple[OutputCheck, ...],
    failures: tuple[Fault, ...],
    check: str,
    sources: Sources,
    ideal: Mapping[str, int] | None = None,
) -> Outcome:
    """The outcome of a run, named after what was asked for."""
    kernels = dict.fromkeys(f"{Path(r.kernel.file).name}::{r.kernel.name}" for r in requests)
    run = Run(
        kernel=", ".join(kernels),
        pipeline=", ".join(dict.fromkeys(r.pipeline for r in requests)),
        check=check,
        outputs={o.name: o.described() for o in outputs},
        wall_s=executed.seconds,
        events=executed.execution.events,
        remarks=executed.remarks,
        interrupted=executed.execution.interrupted,
        ideal=ideal or {},
        scratch_peak=executed.scratch_peak,
        useful_macs=tuple(bound.useful_macs for bound in executed.bound),
    )
    return Outcome(executed, requests, run, failures, sources)


def _wanted(prepared: Prepared, top: Lookup, lookups: list[Lookup | None]) -> list[_Wanted]:
    """Every check with its right values, from what tensors hold before the run."""
    workload = prepared.workload
    entries: list[tuple[Mapping[str, Check], Node, Lookup]] = []
    if workload.file.check:
        entries.append((workload.file.check, workload.document.at("check"), top))
    for launch, lookup in zip(workload.launches, lookups, strict=True):
        if launch.path and launch.entry.check:
            assert lookup is not None
            entries.append((launch.entry.check, workload.document.at(*launch.path, "check"), lookup))
    wanted: list[_Wanted] = []
    faults: list[Fault] = []
    for checks, node, lookup in entries:
        for name, check in checks.items():
            try:
                wanted.append(_one(name, check, node, lookup, workload.folder))
            except AhbmcError as error:
                faults += error.faults
    if faults:
        raise AhbmcError(*faults)
    return wanted


def _one(name: str, check: Check, node: Node, lookup: Lookup, folder: Path) -> _Wanted:
    try:
        tensor = lookup(name)
    except KeyError:
        tensor = None
    if not isinstance(tensor, Tensor):
        hint = "check a tensor of `args:`"
        raise fail(f"`{name}` is no tensor argument, so it cannot be checked", node.key_place(name), hint=hint)
    inputs: dict[str, Value] = {}
    for word in sorted(expressions.words(check.reference or "")):
        try:
            value = lookup(word)
        except KeyError:
            continue
        if isinstance(value, Tensor):
            assert value.data is not None
            inputs[word] = wide(value.data)
        elif isinstance(value, int | float):
            inputs[word] = value
    at = node.at(name)
    return _Wanted(name, tensor, check, at, expected(check, at, inputs, folder))


def _outputs(executed: Executed, wanted: list[_Wanted]) -> tuple[OutputCheck, ...]:
    """Checked tensors, then those that were written and not checked."""
    memory, differing = executed.execution.memory, executed.execution.differing
    checked = {w.tensor.name for w in wanted}
    results = [
        compare(w.tensor.name, memory[w.tensor.name], w.values, w.check, w.node.place, w.tensor.name in differing)
        for w in wanted
    ]
    for tensor, values in executed.written().items():
        if tensor.name not in checked:
            results.append(unchecked(tensor.name, values, tensor.name in differing))
    return tuple(results)


def command(arguments: argparse.Namespace) -> int:
    """`ahbmc run`. Returns 3 where a check failed."""
    sources: Sources = arguments.sources
    if arguments.pipeline:
        sources.add(PIPELINE_TEXT, arguments.pipeline)
    files = asked_for(arguments)
    if files.count("-") > 1:
        print("ahbmc run: error: only one output can be -", file=sys.stderr)
        return WRONG_USAGE
    check_writable(arguments, sources)
    ideal = costs_of(arguments.ideal, sources) if arguments.ideal else ()
    outcome = run_workload(
        arguments.workload,
        overrides=tuple(arguments.set),
        machine=arguments.machine,
        pipeline=arguments.pipeline,
        timing_only=arguments.timing_only,
        exact=arguments.simulate == "exact",
        partial=True,
        links=any((arguments.trace, arguments.oplog, arguments.html)),
        ideal=ideal,
        tune=arguments.autotune,
        sources=sources,
    )
    if outcome.run.interrupted:
        print(f"ahbmc run: {outcome.run.interrupted}", file=sys.stderr)
        if not outcome.executed.execution.latency_ps:
            return INTERRUPTED
    write_files(arguments, outcome.executed, outcome.run, sources)
    if "-" not in files:
        _print_report(arguments, outcome, sources)
    if outcome.run.interrupted:
        return INTERRUPTED
    if outcome.failures:
        for fault in outcome.failures:
            print(f"{fault.place}: {fault.message}" if fault.place else fault.message, file=sys.stderr)
        return CHECK_FAILED
    return 0


def _print_report(arguments: argparse.Namespace, outcome: Outcome, sources: Sources) -> None:
    from rich.console import Console

    from ..backend_sim.analysis.report import WIDE, by_line, report, text

    analysis = outcome.executed.analysis
    lines = by_line(analysis, sources) if arguments.by_line else None
    if sys.stdout.isatty():
        Console().print(*filter(None, (report(analysis, outcome.run), lines)), sep="\n")
        return
    sys.stdout.write(text(report(analysis, outcome.run)))
    if lines is not None:
        sys.stdout.write(text(lines, WIDE))
