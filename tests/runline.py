"""Runs the RUN lines of a test file inside this process: no shell, no interpreter start per test.

A RUN line stays a plain lit line (`// RUN: ahbmc-opt %s -p x | filecheck %s`), so that lit can run the same files.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ahbmc.passes.loaded import forget_own
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser as CheckParser
from xdsl.ir import Attribute
from xdsl.utils.diagnostic import Diagnostic

Tool = Callable[[Sequence[str]], "int | None"]
_RUN = re.compile(r"^\s*(?://|#|;)\s*RUN:\s*(.*?)\s*$", re.MULTILINE)


@dataclass
class Result:
    """What a command left: exit status and its two outputs."""

    code: int
    out: str
    err: str


def run_lines(text: str) -> list[str]:
    """The RUN commands of a file; a trailing backslash joins lines, as in lit."""
    lines: list[str] = []
    continued = False
    for line in _RUN.findall(text):
        if continued:
            lines[-1] += " " + line
        else:
            lines.append(line)
        continued = lines[-1].endswith("\\")
        if continued:
            lines[-1] = lines[-1][:-1].rstrip()
    return lines


def run(command: str, path: Path, tools: Mapping[str, Tool], scratch: Path) -> Result:
    """Run one RUN command, a pipe of `tool args`, `not tool args`, `... 2>&1` and `filecheck args`."""
    substitutions = {"%s": str(path), "%S": str(path.parent), "%t": str(scratch / (path.stem + ".tmp"))}
    for mark, value in substitutions.items():
        command = re.sub(re.escape(mark) + r"\b", lambda _, value=value: value, command)
    stdin, log, last = "", "", Result(0, "", "")
    for stage in stages(shlex.split(command)):
        merge = "2>&1" in stage
        words = [word for word in stage if word != "2>&1"]
        inverted = words[0] == "not"
        name, *args = words[1:] if inverted else words
        last = run_stage(name, args, tools, stdin)
        failed = (last.code == 0) if inverted else (last.code != 0)
        if failed:
            expected = "failure" if inverted else "success"
            return Result(
                1,
                last.out,
                f"RUN: {command}\n{name}: status {last.code}, expected {expected}\n{log}{last.err}\n{last.out}",
            )
        stdin = last.out + (last.err if merge else "")
        log += last.err
    return Result(0, last.out, log)


def stages(words: list[str]) -> list[list[str]]:
    """The commands of a pipe."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            found.append([])
        else:
            found[-1].append(word)
    return found


def run_stage(name: str, args: list[str], tools: Mapping[str, Tool], stdin: str) -> Result:
    """Run one command of a pipe: `filecheck` or one of `tools`."""
    return _filecheck(args, stdin) if name == "filecheck" else _call(tools[name], args, stdin)


def _filecheck(args: list[str], stdin: str) -> Result:
    options = parse_argv_options(["filecheck", *args])
    matcher = Matcher(options, FInput("<stdin>", stdin), CheckParser.from_opts(options))
    matcher.stderr = io.StringIO()
    code = matcher.run()
    return Result(code, "", matcher.stderr.getvalue())


def _call(tool: Tool, args: list[str], stdin: str) -> Result:
    out, err = io.StringIO(), io.StringIO()
    old = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _switches_kept():
            code = _status(tool, args)
    finally:
        sys.stdin = old
    return Result(code, out.getvalue(), err.getvalue())


def _status(tool: Tool, args: list[str]) -> int:
    # An exception that gets this far is a crash; it fails the test even after `not`, for no input may end in a
    # traceback.
    try:
        return tool(args) or 0
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)


@contextlib.contextmanager
def _switches_kept() -> Generator[None]:
    """Undo switches of the whole process that xDSL's drivers flip, and forget passes and recipes that were loaded."""
    post_init, colored = Attribute.__post_init__, Diagnostic.colored
    try:
        yield
    finally:
        Attribute.__post_init__, Diagnostic.colored = post_init, colored
        forget_own()
