"""The files that `ahbmc run` writes beside its report: the result as JSON, the op-log, views of it."""

from __future__ import annotations

import argparse
import errno
import gzip
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from ..backend_sim import oplog_files
from ..backend_sim.analysis.summary import Run, summary
from ..dialects.errors import AhbmcError, Fault, Sources, fail
from .command_line import word_place
from .execution import Executed


def asked_for(arguments: argparse.Namespace) -> list[str]:
    """The names of all files that the command line asks for; `-` is standard output."""
    names = (arguments.json, arguments.trace, arguments.oplog, arguments.oplog_text, arguments.html)
    return [name for name in names if name is not None]


def check_writable(arguments: argparse.Namespace, sources: Sources) -> None:
    """Raise AhbmcError where a file could not be written whatever the run gives, before it takes its time."""
    for name in asked_for(arguments):
        if name != "-" and not Path(name).absolute().parent.is_dir():
            raise _cannot_write(name, os.strerror(errno.ENOENT), sources)
    if arguments.oplog is not None:
        try:
            oplog_files.check_writable(Path(arguments.oplog))
        except AhbmcError as error:
            place = word_place(sources, arguments.oplog)
            raise AhbmcError(*(Fault(f.message, place, f.category, f.hint) for f in error.faults)) from None


def write_files(arguments: argparse.Namespace, executed: Executed, run: Run, sources: Sources) -> None:
    """Write every file that the command line asks for. Raises AhbmcError where one cannot be written."""
    log, machine = executed.execution.oplog, executed.machine

    def as_json(file: TextIO) -> None:
        json.dump(summary(executed.analysis, run), file, indent=1, allow_nan=False)
        file.write("\n")

    def as_trace(file: TextIO) -> None:
        from ..backend_sim.analysis.trace import write_trace

        for note in write_trace(log, machine, file):
            print(f"{arguments.trace}: note: {note}", file=sys.stderr)

    def as_text(file: TextIO) -> None:
        from ..backend_sim.analysis.oplog_text import write_text

        write_text(log, machine, file)

    def as_html(file: TextIO) -> None:
        from ..backend_sim.analysis.page import page

        file.writelines(page(executed.analysis, run, sources))

    def as_oplog(name: str) -> None:
        if name == "-":
            oplog_files.write_columns(log, sys.stdout.buffer)
        else:
            oplog_files.write_oplog(log, Path(name))

    _write(arguments.json, _text(as_json), sources)
    _write(arguments.trace, _text(as_trace), sources)
    _write(arguments.oplog_text, _text(as_text), sources)
    _write(arguments.html, _text(as_html), sources)
    _write(arguments.oplog, as_oplog, sources)


def _text(write: Callable[[TextIO], None]) -> Callable[[str], None]:
    """`write`, given the name of a text file or `-`; one that ends in .gz is compressed, with no name or time in it."""

    def to(name: str) -> None:
        if name == "-":
            write(sys.stdout)
        elif name.endswith(".gz"):
            with (
                Path(name).open("wb") as raw,
                gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
                io.TextIOWrapper(packed, "utf-8") as file,
            ):
                write(file)
        else:
            with Path(name).open("w", encoding="utf-8") as file:
                write(file)

    return to


def _write(name: str | None, write: Callable[[str], None], sources: Sources) -> None:
    if name is None:
        return
    try:
        write(name)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write(name, str(error.strerror), sources) from None


def _cannot_write(name: str, why: str, sources: Sources) -> AhbmcError:
    hint = "give a file in a folder that exists and can be written, or - for standard output"
    return fail(f"cannot write {name}: {why}", word_place(sources, name), hint=hint)
