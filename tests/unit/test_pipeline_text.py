"""Pipeline texts: what they mean, where their faults are, and what running one guarantees."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Literal

import pytest
from ahbmc.dialects.errors import AhbmcError, Category, Place
from ahbmc.dialects.text import parse_module
from ahbmc.passes import PASS_NAMES, all_passes, build_pipeline, pipeline_text, run_pipeline
from ahbmc.passes.bounds import Positive
from ahbmc.passes.pipelines import PIPELINES
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

HERE = Place("w.yaml", 5, 11)


@dataclass(frozen=True)
class Sample(ModulePass):
    """A pass with an option of every kind."""

    name = "sample"

    stage: Literal["a", "b"] = "a"
    depth: int | None = None
    count: Positive = 1
    share: float = 0.5
    deep: bool = False
    title: str = ""
    sizes: tuple[int, ...] = ()
    tile: tuple[int, int] = (1, 2)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["sample"] = IntegerAttr(self.depth or 0, i64)


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `sample` a pass that texts can name."""
    monkeypatch.setattr(pipeline_text, "pass_names", lambda: (*PASS_NAMES, "sample"))
    monkeypatch.setattr(pipeline_text, "all_passes", lambda: {**all_passes(), "sample": lambda: Sample})


def built(text: str, options: dict[str, dict[str, pipeline_text.Value]] | None = None) -> Sample:
    (each,) = build_pipeline(text, options, HERE)
    assert isinstance(each, Sample)
    return each


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sample", Sample()),
        ("sample{}", Sample()),
        ("sample{stage=b depth=3}", Sample(stage="b", depth=3)),
        ("sample{ stage = b\n depth=none }", Sample(stage="b")),
        ("sample{share=2}", Sample(share=2.0)),
        ("sample{share=1e-3 deep}", Sample(share=0.001, deep=True)),
        ("sample{deep=false title='a, b=c'}", Sample(title="a, b=c")),
        ("sample{sizes=32 tile=3,4}", Sample(sizes=(32,), tile=(3, 4))),
        ("sample{sizes=1,2,3}", Sample(sizes=(1, 2, 3))),
        ('sample{title="x.y/z"}', Sample(title="x.y/z")),
    ],
)
def test_options_become_fields(text: str, expected: Sample) -> None:
    """Blanks and line ends are free; a flag alone is true; a list has commas."""
    assert built(text) == expected


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("sample{stage=c}", 24, "option 'stage' of pass 'sample' is 'c'; allowed: a, b"),
        ("sample{depth=x}", 24, "is 'x'; allowed: an integer or none"),
        ("sample{depth=true}", 24, "is true; allowed: an integer or none"),
        ("sample{count=0}", 24, "is 0; allowed: an integer, 1 or more"),
        ("sample{share=much}", 24, "is 'much'; allowed: a number"),
        ("sample{deep=1}", 23, "is 1; allowed: true or false"),
        ("sample{title=3}", 24, "is 3; allowed: a text"),
        ("sample{tile=1,2,3}", 23, "is 1,2,3; allowed: 2 values: an integer, an integer"),
        ("sample{sizes=1,b}", 24, "is 1,'b'; allowed: a list of an integer"),
        ("sample{stages=a}", 18, "pass 'sample' has no option 'stages'"),
        ("sample{title='a}", 24, "a string that is not closed"),
        ("sample stage=b", 18, "expected a comma or `{`, found 'stage'"),
        ("sample{stage=}", 24, "expected a value, found '}'"),
        (",sample", 11, "expected the name of a pass, found ','"),
    ],
)
def test_a_fault_is_shown_where_it_is_written(text: str, column: int, message: str) -> None:
    """The place counts from where the text starts in the user's file."""
    with pytest.raises(AhbmcError) as caught:
        build_pipeline(text, None, HERE)
    (fault,) = caught.value.faults
    assert message in fault.message
    assert fault.place is not None
    assert (fault.place.file, fault.place.line, fault.place.column) == ("w.yaml", 5, column)


@pytest.mark.usefixtures("sample")
def test_options_beside_the_text_go_over_it() -> None:
    """`options` win, in kebab or snake case, and those of a pass that the pipeline lacks are checked too."""
    assert built("sample{stage=a depth=1}", {"sample": {"stage": "b"}}) == Sample(stage="b", depth=1)
    assert built("sample", {"form-composites": {"stage": "a"}}) == Sample()
    with pytest.raises(AhbmcError, match="pass 'form-composites' has no option 'stag'"):
        built("sample", {"form-composites": {"stag": "a"}})
    with pytest.raises(AhbmcError, match="there is no pass or pipeline 'form-composite'"):
        built("sample", {"form-composite": {"stage": "a"}})


def test_the_name_of_a_pipeline_stands_for_its_passes() -> None:
    """Alone, and among passes."""
    (name, entries), *_ = PIPELINES.items()
    names = [each.name for each in build_pipeline(f"cse,{name},licm")]
    assert names[0] == "cse"
    assert names[-1] == "licm"
    assert len(names) == len(entries) + 2


def test_passes_are_put_into_a_pipeline() -> None:
    """Before the first and after the last of a name, several in the order in which they are written."""
    plain = [each.name for each in build_pipeline("auto")]
    first = [each.name for each in build_pipeline("auto{before-cse=licm}")]
    at = plain.index("cse")
    assert first == [*plain[:at], "licm", *plain[at:]]
    several = [each.name for each in build_pipeline("auto{after-cse=licm,dot-accumulate}")]
    at = len(plain) - plain[::-1].index("cse")
    assert several == [*plain[:at], "licm", "dot-accumulate", *plain[at:]]


@pytest.mark.parametrize(
    ("text", "message", "columns"),
    [
        ("auto{after-cse=fused}", "'fused' is a pipeline, not a pass", (16, 21)),
        ("auto{x=1}", "'x' is no place in pipeline 'auto'; allowed: before-PASS=NEW, after-PASS=NEW", (6, 7)),
        ("primitive{after-match-recipes=cse}", "'after-match-recipes' is no place in pipeline 'primitive'", (11, 30)),
        ("auto{before-cse=cse,csee}", "there is no pass or pipeline 'csee'", (17, 25)),
    ],
)
def test_a_wrong_place_in_a_pipeline_is_shown(text: str, message: str, columns: tuple[int, int]) -> None:
    with pytest.raises(AhbmcError) as caught:
        build_pipeline(text)
    (fault,) = caught.value.faults
    assert fault.message.startswith(message)
    assert fault.place is not None
    assert (fault.place.column, fault.place.end_column) == columns


@pytest.mark.parametrize("name", PIPELINES)
def test_every_pipeline_can_be_built(name: str) -> None:
    """Its texts name passes and options that there are."""
    assert build_pipeline(name)


@dataclass(frozen=True)
class Breaker(ModulePass):
    """Leaves IR that the verifier refuses."""

    name = "breaker"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.body.block.ops:
            each.properties["cycles"] = IntegerAttr(-1, i64)


@dataclass(frozen=True)
class Nothing(ModulePass):
    """Does nothing."""

    name = "nothing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        return


def cycles() -> ModuleOp:
    return parse_module("tl.cycles {cycles = 1 : i64}", "m.mlir")


def test_a_pass_that_leaves_invalid_ir_is_named() -> None:
    """It is our fault: `internal`, status 70, with the place of the op."""
    with pytest.raises(AhbmcError) as caught:
        run_pipeline(cycles(), [Nothing(), Breaker(), Nothing()])
    assert caught.value.exit_status == 70
    (fault,) = caught.value.faults
    assert fault.message == "pass 'breaker' left invalid IR: 'tl.cycles': -1 cycles"
    assert (fault.category, fault.place) == (Category.INTERNAL, Place("m.mlir", 1, 1))


def test_the_end_is_verified_even_without_checks_between() -> None:
    """Then the pass is only known as one of those that ran."""
    with pytest.raises(AhbmcError, match="one of the passes up to 'nothing' left invalid IR"):
        run_pipeline(cycles(), [Breaker(), Nothing()], verify=False)


def test_invalid_input_is_the_users_fault() -> None:
    """No pass is named, for none has run."""
    with pytest.raises(AhbmcError) as caught:
        run_pipeline(parse_module("tl.cycles {cycles = -1 : i64}", "m.mlir"), [Nothing()])
    assert caught.value.exit_status == 1


def test_on_pass_sees_every_pass_in_order() -> None:
    """It is called after the pass, with its result."""
    seen: list[str] = []
    run_pipeline(cycles(), "cse,licm", on_pass=lambda each, module: seen.append(each.name))
    assert seen == ["cse", "licm"]


def test_the_registry_imports_no_pass() -> None:
    """`ahbmc --help` and everything else that only needs names stays quick."""
    script = (
        "import sys, ahbmc.passes as p; p.all_passes(); "
        "of_passes = set(sys.modules) - {'ahbmc.passes.loaded'}; "
        "sys.exit(any(m.startswith(('xdsl', 'numpy', 'ahbmc.passes.')) for m in of_passes))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
