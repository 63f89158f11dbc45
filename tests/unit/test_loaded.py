"""Passes and recipes of one's own: files that `--load-pass` and `--load-recipe` take, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ahbmc
import pytest
from ahbmc.dialects.text import parse_module
from ahbmc.driver import main, opt
from ahbmc.passes import PASS_NAMES, pass_names, run_pipeline
from ahbmc.passes.loaded import forget_own
from ahbmc.passes.recipes import RECIPES

Capture = pytest.CaptureFixture[str]

TEXT = '''\
from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class SetCyclesPass(ModulePass):
    """Set all cycles.

    options: cycles=N  to what
    """

    name = "set-cycles"

    cycles: int = 7

    def apply(self, ctx, op):
        for each in op.body.block.ops:
            each.properties["cycles"] = IntegerAttr(self.cycles, i64)
'''


@pytest.fixture(autouse=True)
def nothing_stays_loaded() -> Iterator[None]:
    yield
    forget_own()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "a.mlir"
    file.write_text("tl.cycles {cycles = 1 : i64}\n")
    return file


def written(folder: Path, text: str, name: str = "set_cycles.py") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_loaded_pass_is_one_among_others(source: Path, tmp_path: Path, capsys: Capture) -> None:
    """In a pipeline with options, as a flag, in a pipeline's place, among those that can be shown."""
    file = written(tmp_path, TEXT)
    assert opt.main([str(source), "--load-pass", file, "-p", "cse,set-cycles{cycles=3}"]) == 0
    assert "cycles = 3" in capsys.readouterr().out
    assert opt.main([str(source), f"--load-pass-plugin={file}", "--set-cycles", "--print-ir-after", "set-cycles"]) == 0
    shown = capsys.readouterr()
    assert "cycles = 7" in shown.out
    assert "IR after set-cycles" in shown.err
    assert opt.main([str(source), "--load-pass", file, "-p", "primitive{before-cse=set-cycles}"]) == 0
    assert "cycles = 7" in capsys.readouterr().out
    assert pass_names() == (*PASS_NAMES, "set-cycles")


def test_the_manual_of_a_loaded_pass(tmp_path: Path, capsys: Capture) -> None:
    assert main.main(["passes", "--load-pass", written(tmp_path, TEXT), "set-cycles"]) == 0
    assert capsys.readouterr().out.startswith("set-cycles\n\n    Set all cycles.\n")
    assert main.main(["passes"]) == 0
    assert "set-cycles            Set all cycles.\n" in capsys.readouterr().out


def test_a_file_that_has_changed_is_loaded_anew(source: Path, tmp_path: Path, capsys: Capture) -> None:
    for value in ("5", "6"):
        file = written(tmp_path, TEXT.replace("= 7", f"= {value}"))
        assert opt.main([str(source), "--load-pass", file, "-p", "set-cycles"]) == 0
        assert f"cycles = {value}" in capsys.readouterr().out


def test_a_pass_is_loaded_from_python(tmp_path: Path) -> None:
    ahbmc.load_pass(written(tmp_path, TEXT))
    assert pass_names() == (*PASS_NAMES, "set-cycles")
    with pytest.raises(ahbmc.AhbmcError, match="cannot read"):
        ahbmc.load_pass(tmp_path / "missing.py")


@pytest.mark.parametrize(
    ("name", "text", "messages"),
    [
        ("missing.py", None, ["cannot read", "no such file"]),
        ("set-cycles.py", TEXT, ["is no file of a pass: its name is no Python module's"]),
        ("cse.py", TEXT, ["would be pass 'cse', and there is a pass or pipeline of that name"]),
        ("auto.py", TEXT, ["would be pass 'auto'"]),
        ("set_cycles.py", "x = (\n", ["set_cycles.py:1:5: error: no Python: '(' was never closed"]),
        ("set_cycles.py", "x = 1\ny = x / 0\n", [":2:5: error:", "ZeroDivisionError: division", "y = x / 0"]),
        ("set_cycles.py", "import no_such_thing\n", [":1:1: error:", "No module named 'no_such_thing'"]),
        ("set_cycles.py", TEXT.replace("SetCycles", "Set"), ["'SetCyclesPass'; there is none", "are: SetPass"]),
        ("set_cycles.py", TEXT.replace("(ModulePass)", ""), ["'SetCyclesPass' is no pass"]),
        ("set_cycles.py", TEXT.replace("@dataclass(frozen=True)", ""), ["'SetCyclesPass' is no dataclass"]),
        ("set_cycles.py", TEXT.replace("set-cycles", "cycles"), ["has the name 'cycles', its file says 'set-cycles'"]),
        (
            "set_cycles.py",
            TEXT.replace("self, ctx, op", "self, op"),
            ["too many positional arguments", "(self, ctx, op)"],
        ),
        ("set_cycles.py", TEXT.replace("def apply", "def run"), ["'SetCyclesPass' has no `apply`", "hint: write `def"]),
        (
            "set_cycles.py",
            TEXT.replace("cycles: int = 7", "cycles: dict = None"),
            ["option 'cycles' of", "allowed: int"],
        ),
        ("set_cycles.py", TEXT.replace("cycles: int", "cycles: Zork"), ["has no meaning: name 'Zork' is not defined"]),
        ("set_cycles.py", TEXT + "raise SystemExit(5)\n", ["error: SystemExit: 5", "hint: mend the file"]),
    ],
)
def test_a_file_that_is_no_pass_is_refused(
    source: Path, tmp_path: Path, name: str, text: str | None, messages: list[str], capsys: Capture
) -> None:
    """With the place in the file, or of its name on the command line."""
    file = str(tmp_path / name) if text is None else written(tmp_path, text, name)
    assert opt.main([str(source), "--load-pass", file, "-p", "cse"]) == 1
    err = capsys.readouterr().err
    assert [message for message in messages if message not in err] == []
    assert "Traceback" not in err
    assert pass_names() == PASS_NAMES


@pytest.mark.parametrize(
    ("last", "messages"),
    [
        (
            "op.no_such_thing()",
            ["set_cycles.py:21:9: error: AttributeError", "[invalid-input]"],
        ),
        ("self = IntegerAttr('x', i64)", [":21:16: error:", "note: raised at"]),
        ("op.body.block.first_op.properties['cycles'] = i64", ["pass 'set-cycles' left invalid IR", "mend the pass"]),
        ("raise SystemExit(0)", ["set_cycles.py:21:9: error: SystemExit: 0"]),
        ("raise type('Own', (BaseException,), {})()", ["set_cycles.py:21:9: error: Own: no message"]),
    ],
)
def test_a_fault_of_a_loaded_pass_is_not_ours(
    source: Path, tmp_path: Path, last: str, messages: list[str], capsys: Capture
) -> None:
    """An exception is shown at its line, invalid IR with the name of the pass; neither asks for a report to us."""
    lines = TEXT.splitlines()
    text = "\n".join([*lines[:-2], "        " + last]) + "\n"
    assert opt.main([str(source), "--load-pass", written(tmp_path, text), "-p", "set-cycles"]) == 1
    err = capsys.readouterr().err
    assert [message for message in messages if message not in err] == []
    assert "report" not in err


def test_what_a_loaded_pass_leaves_is_verified_even_without_checks_between(tmp_path: Path) -> None:
    """As in `ahbmc run`: the pass is named, and the one before it where that was it."""
    ahbmc.load_pass(written(tmp_path, TEXT))
    module = parse_module("tl.cycles {cycles = 1 : i64}", "m.mlir")
    with pytest.raises(ahbmc.AhbmcError, match="pass 'set-cycles' left invalid IR"):
        run_pipeline(module, "set-cycles{cycles=-1},set-cycles,cse", verify=False)


def test_an_interrupt_names_the_pass_at_work(source: Path, tmp_path: Path, capsys: Capture) -> None:
    """So one whose rewrites never end is found."""
    text = TEXT.replace("        for each in", "        raise KeyboardInterrupt\n        for each in")
    assert opt.main([str(source), "--load-pass", written(tmp_path, text), "-p", "cse,set-cycles"]) == 130
    assert capsys.readouterr().err == "ahbmc-opt: interrupted in pass 'set-cycles'\n"


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("next(op.body.block.first_op.body.block.ops.__iter__()).detach()", "pass 'set-cycles' left invalid IR: "),
        ("op.body.block.first_op.detach()", "pass 'set-cycles' left no function"),
        ("list(op.walk())[2].results[0].erase(safe_erase=False)", "Erased SSA value is used"),
    ],
)
def test_invalid_ir_in_the_middle_of_a_run_is_of_the_pass_that_left_it(
    last: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    """`ahbmc run` verifies passes of one's own at once, and ours at the end."""
    lines = TEXT.splitlines()
    file = written(tmp_path, "\n".join([*lines[:-2], "        " + last]) + "\n")
    workload = str(Path(__file__).parents[2] / "examples" / "vector_add.yaml")
    assert main.main(["run", workload, "--load-pass", file, "--pipeline", "set-cycles,auto"]) == 1
    err = capsys.readouterr().err
    assert message in err and "hint: mend the pass" in err and "fault of the compiler" not in err


def test_debugging_shows_the_traceback(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("AHBMC_DEBUG", "1")
    text = TEXT.replace("for each in op.body.block.ops", "for each in op.nothing")
    assert opt.main([str(source), "--load-pass", written(tmp_path, text), "-p", "set-cycles"]) == 1
    assert "Traceback" in capsys.readouterr().err


RECIPE = """\
from ahbmc.passes.recipe import Operand, Recipe, Row, Scratch

DOUBLED = Recipe(
    name="doubled",
    about="Twice the block.",
    place="before",
    operands=(Operand("x", "R", ("M", "N"), "block"),),
    primary=Scratch("y", ("M", "N"), element="b"),
    scratch=(),
    rows=(Row("add", ("x", "x"), "y"),),
)
"""


def test_a_loaded_recipe_is_one_among_others(tmp_path: Path, capsys: Capture) -> None:
    """As of its name, in the file's place when that has changed, and gone with the rest."""
    file = written(tmp_path, RECIPE, "doubled.py")
    assert main.main(["recipes", "--load-recipe", file]) == 0
    assert "doubled               Twice the block.\n" in capsys.readouterr().out
    assert "softmax_merge" in RECIPES
    written(tmp_path, RECIPE.replace("Twice the block", "A block and itself"), "doubled.py")
    ahbmc.load_recipe(file)
    assert RECIPES["doubled"].about == "A block and itself."
    forget_own()
    assert "doubled" not in RECIPES


def test_a_name_stands_for_one_recipe(tmp_path: Path, capsys: Capture) -> None:
    """Another of that name, in the same file or in another one, is told with the place of both."""
    twice = written(tmp_path, RECIPE + RECIPE.partition("\n\n")[2].replace("DOUBLED", "AGAIN"), "twice.py")
    assert main.main(["recipes", "--load-recipe", twice]) == 1
    assert f"twice.py:12:1: error: recipe 'doubled' is at {twice}:3 already" in capsys.readouterr().err
    first, second = (written(tmp_path, RECIPE, name) for name in ("first.py", "second.py"))
    assert main.main(["recipes", "--load-recipe", first, "--load-recipe", second]) == 1
    err = capsys.readouterr().err
    assert f"second.py:3:1: error: recipe 'doubled' is at {first}:3 already" in err
    assert "hint: give one of them another name" in err
    assert main.main(["recipes", "--load-recipe", written(tmp_path, RECIPE + "ALIAS = DOUBLED\n", "first.py")]) == 0


def test_a_name_stands_for_one_pass(source: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "other").mkdir()
    first, second = written(tmp_path, TEXT), written(tmp_path / "other", TEXT)
    assert opt.main([str(source), "--load-pass", first, "--load-pass", second, "-p", "set-cycles"]) == 1
    assert f"'{second}' would be pass 'set-cycles', and '{first}' is" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("x = 1\n", ["doubled.py:1:1: error: there is no recipe in this file"]),
        (
            RECIPE.replace('"doubled"', '"softmax_merge"'),
            ["doubled.py:3:1: error: there is a recipe 'softmax_merge' already"],
        ),
        (
            RECIPE.replace('("x", "x")', '("x", "z")'),
            [
                "doubled.py:3:11: error: recipe 'doubled': row `y = add(x, z)`: z is no operand, primary or scratch",
                "hint: mend the recipe",
            ],
        ),
        (RECIPE.replace('"add"', '"plus"'), ["row `y = plus(x, x)`: there is no MATH op 'plus'"]),
        (RECIPE.replace('"add"', '"{op}"'), ["`words` has nothing for {op}"]),
    ],
)
def test_a_file_without_a_recipe_is_refused(text: str, messages: list[str], tmp_path: Path, capsys: Capture) -> None:
    """With its place: what a recipe checks when it is built too."""
    assert main.main(["recipes", "--load-recipe", written(tmp_path, text, "doubled.py")]) == 1
    err = capsys.readouterr().err
    assert [message for message in messages if message not in err] == []
