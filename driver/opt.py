"""`ahbmc-opt`: read IR or a kernel, run passes, print IR. The tool of compiler engineers and of FileCheck tests, with
mlir-opt's conventions.

Written afresh rather than on xDSL's driver, of which the error paths, the pass registry and the instrumentation would
all be replaced.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..dialects.errors import Place, Sources, fail
from ..passes import PIPELINE_TEXT, pass_names
from .command_line import ArgumentParser, add_command_line, word_place
from .outermost import guarded
from .output import make_folder, write
from .own_files import add_load_flags, load_own

STDIN = "<stdin>"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool on `argv` (None: the process's); returns the exit status: 0, 1 for the user's error, 2 for wrong
    usage.
    """
    sources = Sources()
    words = sys.argv[1:] if argv is None else list(argv)
    add_command_line(sources, "ahbmc-opt", words)
    return guarded("ahbmc-opt", lambda: _parse_and_run(words, sources), sources)


def _parse_and_run(words: list[str], sources: Sources) -> int:
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add_load_flags(first)
    own = first.parse_known_args(words)[0]
    load_own(own.load_pass, own.load_recipe, sources)  # the other flags name passes
    parser = argument_parser()
    args = parser.parse_args(words)
    if args.passes and args.flags:
        parser.error(f"--{args.flags[0]} beside a pipeline: name all passes in the one or in the other way")
    args.passes = args.passes or ",".join(args.flags)
    sources.add(PIPELINE_TEXT, args.passes)
    return _run(args, sources)


def argument_parser() -> argparse.ArgumentParser:
    """The options of the tool."""
    parser = ArgumentParser(
        prog="ahbmc-opt",
        description="Read IR (.mlir), a kernel (.py) or a workload (.yaml), run passes over it, print the IR.",
        epilog=f"passes: {', '.join(pass_names())}; `ahbmc passes` and `ahbmc pipelines` print their manuals",
    )
    add = parser.add_argument
    add("file", nargs="?", default="-", help="input; - or nothing: IR from standard input")
    add(
        "-p",
        "--passes",
        "--pass-pipeline",
        default="",
        type=_inside_module,
        metavar="PIPELINE",
        help="'pass{option=1},pass' or the name of a pipeline; a pass alone may be a flag: --cse",
    )
    for name in pass_names():
        add(f"--{name}", action="append_const", dest="flags", const=name, default=[], help=argparse.SUPPRESS)
    add_load_flags(parser)
    add("-o", "--output-file", default="-", metavar="FILE", help="where the IR goes (default: standard output)")
    kernel = parser.add_argument_group("for .py input")
    kernel.add_argument("--kernel", metavar="NAME", help="which kernel of the file (default: the only one)")
    kernel.add_argument(
        "--arg", action="append", default=[], metavar="NAME=TYPE", help="type of an argument: x=*fp16, n=i32"
    )
    kernel.add_argument(
        "--const", action="append", default=[], metavar="NAME=VALUE", help="value of a constexpr: BLOCK=64"
    )
    kernel.add_argument("--machine", metavar="M", help="machine that the module is for")
    several = parser.add_argument_group("several inputs in one file, and errors that are expected")
    several.add_argument(
        "--split-input-file", action="store_true", help="treat the parts between '// -----' one by one"
    )
    several.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="errors go to standard output and do not fail; of an input with '// expected-error {{text}}' they must be "
        "exactly the expected ones",
    )
    several.add_argument("--parsing-diagnostics", action="store_true", help="the same for errors in reading the input")
    several.add_argument("--allow-unregistered-dialect", action="store_true", help="accept ops of unknown dialects")
    several.add_argument(
        "--disable-verify", "--no-verify", action="store_true", help="print without verifying (passes are not run)"
    )
    _add_show(parser)
    return parser


def _add_show(parser: argparse.ArgumentParser) -> None:
    show = parser.add_argument_group("what to print")
    show.add_argument(
        "--print-op-generic", "--mlir-print-op-generic", action="store_true", help="generic form of every op"
    )
    show.add_argument("--print-debuginfo", "--mlir-print-debuginfo", action="store_true", help="locations")
    show.add_argument(
        "--print-ir-after-all",
        "--print-between-passes",
        action="store_true",
        help="IR after each pass, to standard error",
    )
    show.add_argument("--print-ir-after-change", action="store_true", help="the same after each pass that changed it")
    show.add_argument(
        "--print-ir-after",
        action="append",
        default=[],
        choices=pass_names(),
        metavar="PASS",
        help="the same after this pass",
    )
    show.add_argument("--timing", "--mlir-timing", action="store_true", help="time of each pass, to standard error")
    show.add_argument(
        "--dump-dir", metavar="DIR", help="write the IR before the first and after each pass: DIR/000-input.mlir, ..."
    )


def _inside_module(pipeline: str) -> str:
    """A pipeline as mlir-opt writes it, `builtin.module(pass,pass)`, is the list in it: all our passes are of
    modules.
    """
    return pipeline.strip().removeprefix("builtin.module(").removesuffix(")")


def _run(args: argparse.Namespace, sources: Sources) -> int:
    from ..passes import build_pipeline
    from .opt_input import SPLIT, parts
    from .opt_part import Instrumentation, process

    build_pipeline(args.passes)  # a fault in it is shown once and before anything is read
    name, suffix, text = _read(args.file, word_place(sources, args.file))
    sources.add(name, text)
    _check_flags(args, suffix, sources)
    if args.dump_dir is not None:
        make_folder(args.dump_dir, word_place(sources, args.dump_dir))
    instrumentation = Instrumentation(args)
    outputs: list[str] = []
    failed = 0
    for part in parts(name, suffix, text, args, sources):
        output, status = process(part, args, sources, instrumentation)
        failed = max(failed, status)
        outputs.append(output)
    result = f"{SPLIT}\n".join(outputs)
    write(args.output_file, result, word_place(sources, args.output_file))
    instrumentation.report()
    return failed


def _check_flags(args: argparse.Namespace, suffix: str, sources: Sources) -> None:
    """Refuse flags that say what a kernel is called with, for an input that says so itself."""
    given = {"--kernel": args.kernel, "--arg": args.arg, "--const": args.const}
    if suffix == ".mlir":
        given["--machine"] = args.machine
    wrong = [flag for flag, value in given.items() if value]
    if suffix != ".py" and wrong:
        what = "IR" if suffix == ".mlir" else "a workload"
        message = f"{wrong[0]} says what a kernel of a .py file is called with, and the input is {what}"
        raise fail(message, word_place(sources, wrong[0]), hint=f"leave {', '.join(wrong)} out, or change the input")


def _read(file: str, place: Place | None) -> tuple[str, str, str]:
    """Name for places, suffix that says what it is, and text of the input, which is named at `place`."""
    if file == "-":
        return STDIN, ".mlir", sys.stdin.read()
    path = Path(file)
    if path.suffix not in (".mlir", ".py", ".yaml", ".yml"):
        hint = "give a file .mlir, .py or .yaml, or - for IR on standard input"
        raise fail(f"'{file}' is no input of this tool", place, hint=hint)
    try:
        return file, path.suffix, path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"cannot read '{file}': {(error.strerror or str(error)).lower()}"
        raise fail(message, place, hint="give a file that exists and can be read") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise fail(f"'{file}' is not UTF-8 text", Place(file, line, 1), hint="save it as UTF-8") from None
