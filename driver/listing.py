"""`ahbmc passes | pipelines | recipes | machines`: what there is, each with its manual."""

from __future__ import annotations

import argparse
import ast
import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..backend_sim.target.document import closest
from ..dialects.errors import fail
from ..passes import PASS_NAMES, class_name
from ..passes import __file__ as PASSES_FILE
from ..passes.pipelines import PIPELINES


def passes(arguments: argparse.Namespace) -> int:
    """One line per pass, or the whole manual of those that are named."""
    if arguments.names:
        for name in _known(arguments.names, PASS_NAMES, "pass"):
            print(f"{name}\n\n{_indented(pass_manual(name))}\n")
        return 0
    for name in PASS_NAMES:
        print(f"{name:<22}{pass_manual(name).splitlines()[0]}")
    print("\n`ahbmc passes NAME` prints the manual of a pass, `ahbmc pipelines` where it stands")
    return 0


def pass_manual(name: str) -> str:
    """The docstring of the pass's class: summary, before and after, needs, keeps, options.

    It is read from the pass's text: importing all passes to print them takes longer than this command may.
    """
    tree = ast.parse((Path(PASSES_FILE).parent / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8"))
    wanted = class_name(name)
    manual = next((ast.get_docstring(n) for n in tree.body if isinstance(n, ast.ClassDef) and n.name == wanted), None)
    assert manual, f"pass {name} has no manual"
    return manual


def pipelines(arguments: argparse.Namespace) -> int:
    """Every pipeline: its passes in order, with reasons."""
    for name in _known(arguments.names, PIPELINES, "pipeline") or PIPELINES:
        print(name)
        for entry in PIPELINES[name]:
            print(f"    {entry.spec:<40}{entry.reason}".rstrip())
        print()
    return 0


def recipes(arguments: argparse.Namespace) -> int:
    """Every recipe: operands, parameters, rows."""
    from ..passes.recipes import RECIPES

    for name in _known(arguments.names, RECIPES, "recipe") or RECIPES:
        print(f"{name}\n\n{_indented(inspect.cleandoc(str(RECIPES[name])))}\n")
    return 0


def machines(arguments: argparse.Namespace) -> int:
    """One line per shipped machine, or the description and the whole file of those that are named."""
    from ..backend_sim.target import machine_file

    names = machine_file.shipped_machines()
    folder = Path(str(machine_file.__file__)).parent / "machines"
    if arguments.names:
        from ..backend_sim.target.describe import describe

        for name in _known(arguments.names, names, "machine"):
            print(describe(machine_file.load_machine(name)))
            print((folder / f"{name}.yaml").read_text(encoding="utf-8"))
        return 0
    for name in names:
        print(f"{name:<22}{machine_file.load_machine(name).about}")
    print("\n`ahbmc machines NAME` prints a machine file; a file of your own may extend one with `base: NAME`")
    return 0


def _known(names: Sequence[str], known: Iterable[str], what: str) -> list[str]:
    """`names`, each of which must be one of `known`."""
    known = list(known)
    for name in names:
        if name not in known:
            close = closest(name, known)
            hint = f"did you mean `{close}`?" if close else None
            raise fail(f"there is no {what} `{name}`; there are {', '.join(known)}", hint=hint)
    return list(names)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
