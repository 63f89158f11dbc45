"""`docs/passes.md`: what each pass is for, what it makes of an example, and what it does to the latency of a workload.

Manuals and options come from the classes of the passes, reasons from the pipelines, and everything else is executed
when the page is made: the example of a pass is the first case of its test file, its effect the latency of an example
without it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import get_type_hints

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..backend_sim.analysis.report import ns
from ..dialects.ahbm.math import FUSED_KINDS, REDUCTIONS
from ..dialects.elementwise import ELEMENTWISE
from ..dialects.errors import AhbmcError, Sources, render
from ..dialects.remarks import ATTRIBUTE, Remark, remarks
from ..dialects.text import new_context, parse_module, print_module
from ..dialects.tl.compute import FLOAT_PREDICATES
from ..passes import PASS_NAMES, all_passes, build_pipeline, run_pipeline
from ..passes.pipeline_text import accepted, single_passes
from ..passes.pipelines import ABOUT, PIPELINES, Entry
from ..passes.recipes import RECIPES
from .key_table import escaped
from .lowering import front
from .study_tables import explanation
from .variants import Measured, Trials

_TESTS = "tests/filecheck/passes"
_CHECK_LINE = re.compile(r"^\s*// ?(?:[A-Z]+(?:-[A-Z]+)?:|expected-error).*\n", re.MULTILINE)
_ABOUT = re.compile(r"^// (?:Changes|Leaves alone): (.*(?:\n// (?!Changes|Leaves alone).*)*)", re.MULTILINE)
_FUNCTION = re.compile(r"^func\.func .*?^}\n", re.MULTILINE | re.DOTALL)
_WALKED = "matmul"
_COMPARED = "flash_decode"
_OPS_NAMED = 5


@dataclass(frozen=True)
class Shown:
    """A workload of `examples/`, with what is set in it, under a pipeline."""

    example: str
    pipeline: str
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((f"examples/{self.example}.yaml", *(f"--set {setting}" for setting in self.settings)))


_RAGGED = Shown("matmul", "auto", ("args.M=100", "args.N=77", "map.pes=sip0.cube0.pe0"))
_DECODED = Shown("flash_decode", "fused")
EFFECTS: dict[str, Shown] = {
    "normalise-loops": Shown("flash_decode", "auto"),
    "raise-regions": Shown("flash_decode", "auto"),
    "drop-dead-iter-args": _RAGGED,
    "raise-k-loops": _RAGGED,
    "shrink-regions": _RAGGED,
    "match-recipes": _DECODED,
    "form-composites": _DECODED,
    "fuse-epilogues": _DECODED,
    "overlap-programs": Shown("matmul", "auto"),
    "form-tails": Shown("softmax", "auto"),
    "prefetch-loads": Shown("flash_decode", "auto"),
    "software-pipeline": Shown("flash_decode", "pipelined"),
    "split-composites": Shown("flash_attention", "auto"),
    "double-buffer": _DECODED,
}
"""What shows the effect of a pass on latency; passes that only prepare others have none."""

_HEAD = """\
# The passes

Passes bring a kernel from what it computes down to the commands that PE_CPU issues and to what PE_SCHED streams. Each
is a file, a class and a test file of one name: `form-composites` is `FormCompositesPass` in
`passes/form_composites.py`, tested by `tests/filecheck/passes/form-composites.mlir`. The IR is the only channel between
them.

This page is made from the manuals of the passes (`ahbmc passes NAME`) and from what they do: the IR before and after a
pass is the first case of its test file and what `ahbmc-opt` makes of it, latencies are those of the workloads in
`examples/`. `ahbmc study WORKLOAD --ablate` does the same for a workload of your own ([`study.md`](study.md)).
[`patterns.md`](patterns.md) says which ways of writing a kernel become what, [`rules.md`](rules.md) what holds of all
commands, `decisions/` why, and [`write_a_pass.md`](write_a_pass.md) is a tutorial.
"""

_LEVELS = (
    ("text", "Triton's language", "you", ""),
    (
        "`tl`",
        "what is computed: blocks, pointers, loads, dots, loops",
        "the frontend",
        "`ahbmc compile W.yaml --emit tl`",
    ),
    (
        "`tl` on regions",
        "the same, with pieces of HBM in place of pointers, GEMMs in place of loops over K, composites around products",
        "the passes before `lower-to-commands`",
        "`ahbmc-opt W.yaml -p PASSES`",
    ),
    (
        "`ahbm`",
        "which commands PE_CPU issues, on buffers with a place",
        "`lower-to-commands` and those after it",
        "`ahbmc compile W.yaml --emit ahbm`",
    ),
    (
        "`pe`",
        "what PE_SCHED streams for each composite, loops rolled",
        "`tile-composites`, `insert-dma-stages`",
        "`ahbmc compile W.yaml --emit pe`",
    ),
)

_ELSEWHERE = (
    (
        "helper functions inlined, constexprs specialised",
        "by the frontend, which knows the types of the call",
    ),
    (
        "block pointers, tensor descriptors",
        "by the frontend, as pointers and masks: one analysis serves all, and `raise-regions` makes regions of them",
    ),
    (
        "tensors placed on slices",
        "by `place` and `map` of the workload, when a launch is bound: one lowered kernel runs under any placement",
    ),
    (
        "lazy loads",
        "by `lower-to-commands` and the machine: PE_CPU goes on behind a `dma_read`, the first command that uses the"
        " block waits",
    ),
    (
        "order of hazards",
        "at run time, on the byte ranges of buffers in flight ([decision 2](decisions/0002-waits-name-buffers.md))",
    ),
    (
        "collectives as trees of send and recv",
        "not yet: kernels have no messages between PEs, their programs meet in HBM",
    ),
    (
        "single ops or composites",
        "by `form-composites{when=auto}` and `match-recipes{when=auto}`, with the costs of"
        " `backend_sim/target/cost.py`; where the launch is known, `auto` then tries the other pipelines on it"
        " ([decision 14](decisions/0014-auto-tries-its-forms-on-the-launch.md))",
    ),
)


@dataclass(frozen=True)
class Example:
    """The first case of a pass's test file: what it shows, the pipeline of the test, the passes of it that come before
    the pass, IR before the pass and after all of them.
    """

    about: str
    pipeline: str
    earlier: str
    before: str
    after: str


def passes_page(root: Path) -> str:
    """The page; `root` is the checkout, whose tests and examples are run."""
    trials = {name: Trials(str(root / "examples" / f"{name}.yaml"), timing_only=True) for name in _workloads()}
    parts = [_HEAD, "## The way of a kernel\n", *_table(("level", "says", "comes from", "print it"), _LEVELS), ""]
    parts += [*_walk(trials[_WALKED]), "## Pipelines\n", *_pipelines(trials[_COMPARED]), "## Each pass\n"]
    parts.append(" · ".join(f"[`{name}`](#{name})" for name in PASS_NAMES) + "\n")
    for name, load in all_passes().items():
        parts += _section(name, load(), root, trials)
    parts += _recipes()
    parts += ["## What is no pass\n", "Some steps that a reader may look for have another place:\n"]
    return "\n".join([*parts, *_table(("step", "where it is done"), _ELSEWHERE)]) + "\n"


def _workloads() -> list[str]:
    return list(dict.fromkeys([_WALKED, _COMPARED, *(shown.example for shown in EFFECTS.values())]))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |\n|{'---|' * len(header)}"
    yield from (f"| {' | '.join(map(escaped, row))} |" for row in rows)


def _walk(trials: Trials) -> Iterator[str]:
    """What each pass of `auto` adds to a kernel and takes from it, op by op."""
    (request,) = trials.prepared().requests
    module = front(request)
    counts = _ops(module)
    rows: list[tuple[str, str, str]] = []

    def note(each: ModulePass, now: ModuleOp) -> None:
        nonlocal counts
        before, counts = counts, _ops(now)
        change = {op: counts[op] - before[op] for op in (*counts, *before) if counts[op] != before[op]}
        if change:
            rows.append((_link(each.name), _named(change), str(sum(counts.values()))))

    first = sum(counts.values())
    run_pipeline(module, build_pipeline("auto", request.options), on_pass=note, verify=False)
    yield f"What the passes of `auto` do to the kernel of `examples/{_WALKED}.py`, {first} ops as the frontend makes"
    yield "it; passes that leave all of them alone are left out:\n"
    yield from _table(("pass", "ops that come and go", "ops"), rows)
    yield ""


def _link(name: str) -> str:
    return f"[`{name}`](#{name})"


def _ops(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())


def _named(change: dict[str, int]) -> str:
    """The largest changes, ops of our own dialects first."""
    own = ("tl.", "ahbm.", "pe.")
    ordered = sorted(change.items(), key=lambda item: (not item[0].startswith(own), -abs(item[1]), item[0]))
    said = [f"{count:+} `{op}`" for op, count in ordered[:_OPS_NAMED]]
    if rest := ordered[_OPS_NAMED:]:
        said.append(f"{sum(count for _, count in rest):+} of {len(rest)} more")
    return ", ".join(said)


def _pipelines(trials: Trials) -> Iterator[str]:
    latencies = {name: ns(_measured(trials, name).latency_ps) for name in PIPELINES}
    rows = [(f"`{name}`", ABOUT[name], f"{latencies[name]} ns") for name in PIPELINES]
    yield from _table(("pipeline", "what it is", f"`examples/{_COMPARED}.yaml` takes"), rows)
    yield "\nThe text of a pipeline names pipelines and passes, these with options: `licm,auto`,"
    yield "`cse,form-composites{stage=a}`. In such a text `auto` is its passes, and nothing else is tried. What stands"
    yield "in each, in order; a dot is a pass without options:\n"
    yield from _table(("pass", *PIPELINES, "why there"), map(_pipeline_row, _merged()))
    yield ""


def _pipeline_row(row: Mapping[str, Entry]) -> tuple[str, ...]:
    entries = [row[name] for name in PIPELINES if name in row]
    options = (row[name].spec.partition("{")[2].rstrip("}") if name in row else None for name in PIPELINES)
    marks = ("" if text is None else f"`{text}`" if text else "•" for text in options)
    reasons = dict.fromkeys(entry.reason for entry in entries)
    return _link(_bare(entries[0])), *marks, "; ".join(reasons)


def _bare(entry: Entry) -> str:
    return entry.spec.partition("{")[0]


def _merged() -> list[dict[str, Entry]]:
    """The pipelines side by side: each row is a pass, with its entry in each pipeline that has it there."""
    rows: list[dict[str, Entry]] = []
    for pipeline in sorted(PIPELINES, key=lambda name: -len(PIPELINES[name])):
        entries = PIPELINES[pipeline]
        names = [_bare(next(iter(row.values()))) for row in rows]
        merged: list[dict[str, Entry]] = []
        matcher = SequenceMatcher(None, names, list(map(_bare, entries)), autojunk=False)
        for what, first, last, start, end in matcher.get_opcodes():
            old, new = rows[first:last], [{pipeline: entry} for entry in entries[start:end]]
            merged += [a | b for a, b in zip(old, new, strict=True)] if what == "equal" else [*old, *new]
        rows = merged
    return rows


def _section(name: str, cls: type[ModulePass], root: Path, trials: dict[str, Trials]) -> Iterator[str]:
    yield f"### {name}\n\n```text\n{inspect.cleandoc(cls.__doc__ or '')}\n```\n"
    if options := list(_options(cls)):
        yield "\n".join(options) + "\n"
    file = f"{_TESTS}/{name}.mlir"
    example = example_of(root / file)
    if example.after != example.before:
        command = f"ahbmc-opt {file} -p {_quoted(example.pipeline)}"
        earlier = f" After `{example.earlier}` it is" if example.earlier else ""
        yield f"The first case of [`{name}.mlir`](../{file}): {example.about}{earlier}\n"
        yield f"```mlir\n{example.before}```\n"
        yield f"`{command}` prints for it\n\n```mlir\n{example.after}```\n"
    refuses = root / _TESTS / f"{name}-refuses.mlir"
    if refuses.exists():
        yield f"What it refuses in [`{refuses.name}`](../{_TESTS}/{refuses.name}):\n"
        yield f"```text\n{_refused(refuses, name)}\n```\n"
    if left := outcomes(root / file, name):
        yield "Remarks, which `ahbmc run` shows under *What the compiler did*: " + "; ".join(left) + ".\n"
    if name in EFFECTS:
        yield _effect(name, EFFECTS[name], trials[EFFECTS[name].example]) + "\n"


def _quoted(pipeline: str) -> str:
    return f"'{pipeline}'" if "{" in pipeline else pipeline


def _options(cls: type[ModulePass]) -> Iterator[str]:
    hints = get_type_hints(cls, include_extras=True)
    for field in dataclasses.fields(cls):
        default = str(field.default).lower() if isinstance(field.default, bool) else field.default
        yield f"- option `{field.name.replace('_', '-')}`: {accepted(hints[field.name])}; default `{default}`"


def example_of(file: Path) -> Example:
    """The first case of a test file of a pass, and what the pipeline of its first RUN line makes of it."""
    text = file.read_text(encoding="utf-8")
    pipeline = pipelines_of(text)[0]
    bare = _CHECK_LINE.sub("", text)
    about, function = _ABOUT.search(bare), _FUNCTION.search(bare)
    assert about and function, f"{file} has no case"
    module = parse_module(function[0], str(file), new_context())
    passes = single_passes(pipeline)
    at = [each.partition("{")[0] for each in passes].index(file.stem)
    earlier = ",".join(passes[:at])
    run_pipeline(module, earlier)
    before = _functions(print_module(module)) if earlier else function[0]
    run_pipeline(module, ",".join(passes[at:]))
    module.attributes.pop(ATTRIBUTE, None)
    return Example(about[1].replace("\n//", ""), pipeline, earlier, before, _functions(print_module(module)))


def pipelines_of(text: str) -> list[str]:
    """The pipelines of the RUN lines of a test file."""
    return [quoted or plain for quoted, plain in re.findall(r"^// RUN: .* -p (?:'([^']*)'|(\S+))", text, re.MULTILINE)]


def _functions(module: str) -> str:
    """The text of a module without the module around it."""
    lines = module.rstrip().splitlines()[1:-1]
    return "".join(line.removeprefix("  ") + "\n" for line in lines)


def outcomes(file: Path, name: str) -> list[str]:
    """What pass `name` says in its remarks on the cases of its test file: subjects, each with its outcomes."""
    found: dict[str, dict[str, None]] = {}
    text = file.read_text(encoding="utf-8")
    for pipeline in pipelines_of(text):
        for part in text.split("// -----"):
            for each in _remarks(part, pipeline):
                if each.pass_name == name:
                    found.setdefault(each.subject, {})[each.outcome] = None
    return [f"{subject} {', '.join(all_of)}" for subject, all_of in found.items()]


def _remarks(text: str, pipeline: str) -> list[Remark]:
    module = parse_module(text, "<case>", new_context())
    try:
        run_pipeline(module, pipeline, verify=False)
    except AhbmcError:  # a case of what the pass refuses
        return []
    return list(remarks(module))


def _refused(file: Path, name: str) -> str:
    """The messages, hints and notes of the first error that a pass raises on a file of what it refuses."""
    text = file.read_text(encoding="utf-8")
    for part in text.split("// -----"):
        module = parse_module(part, file.name, new_context())
        try:
            run_pipeline(module, name)
        except AhbmcError as error:
            return render(error, Sources())
    raise AssertionError(f"{file} holds nothing that {name} refuses")


def _recipes() -> Iterator[str]:
    """The manuals of the recipes, and the ops that rows may be."""
    yield "## Recipes\n\nRows of MATH ops that `match-recipes` finds in kernels and puts beside a GEMM.\n"
    for name, recipe in RECIPES.items():
        yield f"### Recipe {name}\n\n```text\n{recipe}\n```\n"
    yield "### MATH ops of rows\n\nThose on floats, by what they take. Each makes a pass over its elements.\n"
    functions: dict[int, list[str]] = {}
    for row in ELEMENTWISE:
        if row.domain == "float":
            functions.setdefault(row.arity, []).append(row.kind)
    for count, kinds in sorted(functions.items()):
        yield f"- {count} operand{'s' if count > 1 else ''}: {_quotes(kinds)}"
    yield f"- a difference and its exponential in one, `exp(a - b)`: {_quotes(FUSED_KINDS)}"
    compared = [f"cmp_{predicate}" for predicate in FLOAT_PREDICATES]
    yield f"- comparisons, which make a block of `i1`, and `select(condition, a, b)`: {_quotes((*compared, 'select'))}"
    yield f"- along an axis: {_quotes(REDUCTIONS)}"
    yield f"- as they are: {_quotes(('copy', 'cast'))}\n"


def _quotes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _effect(name: str, shown: Shown, trials: Trials) -> str:
    passes = single_passes(shown.pipeline)
    whole = _measured(trials, ",".join(passes), shown.settings)
    fewer = ",".join(each for each in passes if each.partition("{")[0] != name)
    without = _measured(trials, fewer, shown.settings)
    return (
        f"Latency: `{shown}` under `{shown.pipeline}` takes {ns(without.latency_ps)} ns without it and"
        f" {ns(whole.latency_ps)} ns with it. The difference by parts: {explanation(without, whole)}."
    )


def _measured(trials: Trials, pipeline: str, settings: tuple[str, ...] = ()) -> Measured:
    variant = trials.run(pipeline, settings)
    assert variant.measured is not None, f"{trials.path} under {pipeline}: {variant.refusal}"
    return variant.measured
