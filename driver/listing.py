"""`ahbmc passes | pipelines | recipes | machines`: what there is, each with its manual."""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill

from ..backend_sim.target.document import closest
from ..dialects.errors import AhbmcError, Fault
from ..passes import __file__ as PASSES_FILE
from ..passes import class_name, pass_names
from ..passes.loaded import LOADED
from ..passes.pipelines import ABOUT, PIPELINES
from .command_line import word_place
from .outermost import WRONG_USAGE
from .output import write

_ROUTINGS = (
    "Machines route as published (min_wire) unless they say otherwise; the published figures need it. ahbm-2sip-xy has"
    " the physical routing (xy); single messages between cubes are up to 17% apart, more where they meet others."
)


def passes(arguments: argparse.Namespace) -> int:
    """One line per pass, or the whole manual of those that are named."""
    if arguments.names:
        for name in _known(arguments, pass_names(), "pass", "passes"):
            print(f"{name}\n\n{_indented(pass_manual(name))}\n")
        return 0
    for name in pass_names():
        print(f"{name:<22}{pass_manual(name).splitlines()[0]}")
    print("\n`ahbmc passes NAME` prints a manual, `ahbmc pipelines` where a pass stands; docs/passes.md has examples")
    return 0


def pass_manual(name: str) -> str:
    """The docstring of the pass's class: summary, before and after, needs, keeps, options.

    It is read from the pass's text: importing all passes to print them takes longer than this command may.
    """
    own = LOADED.get(name)
    file = Path(PASSES_FILE).parent / f"{name.replace('-', '_')}.py"
    tree = ast.parse(own.text if own is not None else file.read_text(encoding="utf-8"))
    wanted = class_name(name)
    manual = next((ast.get_docstring(n) for n in tree.body if isinstance(n, ast.ClassDef) and n.name == wanted), None)
    assert manual or own, f"pass {name} has no manual"
    return manual or "(no manual)"


def pipelines(arguments: argparse.Namespace) -> int:
    """Every pipeline: what it is, and its passes in order, with reasons."""
    for name in _known(arguments, PIPELINES, "pipeline", "pipelines") or PIPELINES:
        print(f"{name}\n    {ABOUT[name]}\n")
        for entry in PIPELINES[name]:
            print(f"    {entry.spec:<40}{entry.reason}")
        print()
    print("a pipeline with a pass more, before the first or after the last of a name: 'auto{after-match-recipes=cse}'")
    return 0


def recipes(arguments: argparse.Namespace) -> int:
    """One line per recipe, or operands, parameters and rows of those that are named."""
    from ..passes.recipes import RECIPES

    if arguments.names:
        for name in _known(arguments, RECIPES, "recipe", "recipes"):
            print(f"{name}\n\n{_indented(inspect.cleandoc(str(RECIPES[name])))}\n")
        return 0
    for name, recipe in RECIPES.items():
        print(f"{name:<22}{recipe.about}")
    print("\n`ahbmc recipes NAME` prints operands, parameters and rows; docs/write_a_pass.md says how to add one")
    return 0


def machines(arguments: argparse.Namespace) -> int:
    """One line per shipped machine; or the description and the text of the files that are named, and a picture."""
    from ..backend_sim.target import machine_file

    if arguments.svg and len(arguments.names) != 1:
        print("ahbmc machines: error: --svg draws one machine: name it", file=sys.stderr)
        return WRONG_USAGE
    if not arguments.names:
        for name in machine_file.shipped_machines():
            print(f"{name:<22}{machine_file.load_machine(name).about}")
        print(f"\n{fill(_ROUTINGS, 110, break_on_hyphens=False)}")
        print("\n`ahbmc machines NAME` prints a machine file; a file of your own may extend one with `base: NAME`")
        return 0
    from ..backend_sim.target.describe import describe

    for name in arguments.names:
        machine = machine_file.load_machine(name, place=word_place(arguments.sources, name))
        if arguments.svg != "-":
            print(describe(machine))
            print(machine_file.path_of(name).read_text(encoding="utf-8"))
        if arguments.svg:
            from ..backend_sim.analysis.drawing.picture import draw

            write(arguments.svg, draw(machine), word_place(arguments.sources, arguments.svg))
    return 0


def _known(arguments: argparse.Namespace, known: Iterable[str], what: str, command: str) -> list[str]:
    """The names that are asked for, each of which must be one of `known`. Raises AhbmcError for all that are not."""
    known, faults = list(known), list[Fault]()
    for name in arguments.names:
        if name not in known:
            close = closest(name, known)
            hint = f"did you mean `{close}`?" if close else f"`ahbmc {command}` says what each of them is"
            place = word_place(arguments.sources, name)
            faults.append(Fault(f"there is no {what} `{name}`; there are {', '.join(known)}", place, hint=hint))
    if faults:
        raise AhbmcError(*faults)
    return list(arguments.names)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
