"""`ahbmc`: the command line. Parses arguments, calls the command's module, turns errors into text and an exit status.

What a command does lies in the file of its name, listings in `listing.py`. They, and everything slow, are imported
only when their command runs: `--help` must answer at once.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence

from ..dialects.errors import Sources
from .command_line import ArgumentParser, add_command_line
from .outermost import guarded
from .own_files import add_load_flags, load_own

_EPILOG = (
    "exit status: 0 all well, 1 an error in what you gave, 2 wrong usage, 3 ran but a check failed, 70 internal error, "
    "130 interrupted"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: the process's). Returns the exit status; never lets an exception out."""
    # Starting and compiling make many small objects that live long; looking through them again and again finds nothing.
    gc.set_threshold(200_000, 20, 100)
    words = sys.argv[1:] if argv is None else argv
    sources = Sources()
    add_command_line(sources, "ahbmc", words)
    return guarded("ahbmc", lambda: _run(words, sources), sources)


def _run(words: Sequence[str], sources: Sources) -> int:
    arguments = argument_parser().parse_args(words)
    arguments.sources = sources
    load_own(getattr(arguments, "load_pass", ()), getattr(arguments, "load_recipe", ()), arguments.sources)
    return arguments.command(arguments)


def argument_parser() -> argparse.ArgumentParser:
    """The whole command line, with one sub-parser per command."""
    parser = ArgumentParser(
        prog="ahbmc",
        description="Compiles Triton-like kernels for AHBM and runs them on a model of the machine.",
        epilog=_EPILOG,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_run(commands.add_parser("run", help="run a workload: latency, where it went, checked numbers"))
    _add_compile(commands.add_parser("compile", help="compile a kernel and print its IR"))
    _add_probe(commands.add_parser("probe", help="probe single messages on a machine: latency and its terms"))
    _add_init(commands.add_parser("init", help="write a workload file for a kernel"))
    _add_check(commands.add_parser("check", help="compile every kernel of files, folders or wheels, or say why not"))
    _add_study(commands.add_parser("study", help="compare pipelines, settings or passes on a workload, and say why"))
    _add_compare(commands.add_parser("compare", help="hold two results of `run --json` against each other"))
    _add_bisect(commands.add_parser("bisect", help="find the pass that changed the values or the latency"))
    _add_listings(commands)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.description = "Compile the launches of a workload file, run them on the machine, check the numbers."
    parser.epilog = f"F may be - for standard output. {_EPILOG}"
    add = parser.add_argument
    add("workload", metavar="WORKLOAD.yaml")
    _add_common(parser)
    add("--set", action="append", default=[], metavar="PATH=VALUE", help="as in the file: const.BLOCK_M=32, args.M=100,"
        " options.form-composites.stage=b, machine.pe.gemm.peak_tflops=16")  # fmt: skip
    add("--timing-only", action="store_true", help="compute no values (and check none)")
    add("--simulate", choices=("exact", "fast"), default="fast", help="exact: every program and tile by itself, for "
        "checking; fast: alike ones once, with the same result")  # fmt: skip
    add("--autotune", action="store_true", help="try the configurations of @triton.autotune on the model, and run the "
        "best")  # fmt: skip
    add("--ideal", metavar="COST,COST", help="also the latency if these costs were nothing, each and all together: "
        "issue, fetch, gemm, math, store, hbm, noc")  # fmt: skip
    add("--json", metavar="F", help="write the result as one JSON object")
    add("--trace", metavar="F", help="write a trace that Perfetto opens")
    add("--oplog", metavar="F", help="write the op-log: F.parquet is a folder of tables, F.jsonl JSON lines, any "
        "other name the columns as they are")  # fmt: skip
    add("--oplog-text", metavar="F", help="write the schedule as text: the op-log in the order of time")
    add("--html", metavar="F", help="write the report as one HTML page, with engines, slices and links over time")
    add("--by-line", action="store_true", help="report the latency by line of the kernel as well")
    parser.set_defaults(command=_lazily("run", "command"))


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run variants of workloads side by side: pipelines (without --set all named ones), every combination of the"
        " values of --set, what a study file says, or with --ablate each pass left out and added one after another."
        " Differences of latency are told by the parts of the attribution, which add up to them."
    )
    parser.epilog = f"F may be - for standard output. docs/study.md has examples. {_EPILOG}"
    add = parser.add_argument
    add("workloads", nargs="+", metavar="WORKLOAD.yaml|STUDY.yaml", help="workload files, or one study file")
    _add_machine(parser)
    add("--pipelines", metavar="NAME,NAME", help="these pipelines (default: all, or with several values of --set that "
        "of the workload)")  # fmt: skip
    add("--pipeline", action="append", default=[], metavar="P", help="another one, a name or a list of passes; may "
        "stand more than once")  # fmt: skip
    add_load_flags(parser)
    add("--ablate", action="store_true", help="study each pass of the pipeline")
    add("--set", action="append", default=[], metavar="PATH=V,V", help="values to run through, one path each: "
        "const.BLOCK_M=32,64 or options.form-composites.stage=a,b")  # fmt: skip
    add("--timing-only", action="store_true", help="compute no values (and check none)")
    add("--y", metavar="KEY,KEY", help="figures over the values of --set, by their keys in `run --json`: "
        "gemm.tflops,issue_cycles (default: latency_ns)")  # fmt: skip
    add("--x", metavar="PATH", help="the path of --set that is the axis (default: the last with several values)")
    add("--json", metavar="F", help="write every variant as one JSON object")
    add("--csv", metavar="F", help="write a line per variant")
    add("--html", metavar="F", help="write the tables with plots as one HTML page")
    add("--plot", metavar="F.svg", help="draw the figures over the values of --set")
    parser.set_defaults(command=_lazily("study", "command"))


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the figures that differ between two files of `ahbmc run --json`; with --fail-if exit with 3 where a"
        " condition holds: a gate against regressions."
    )
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("before", metavar="A.json")
    add("after", metavar="B.json")
    add("--fail-if", action="append", default=[], metavar="COND", help="'latency_ns>+2%%' (a change), "
        "'commands.total>+0', 'bytes.hbm_read>5e6' (a bound), 'check!=pass'; may stand more than once")  # fmt: skip
    add("--all", action="store_true", help="print figures that are equal as well")
    parser.set_defaults(command=_lazily("compare", "command"))


def _add_bisect(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Find the pass that changed the values of a workload (they are computed after each pass) or its latency (the"
        " passes are added one after another), with the lines of the kernel at which it did."
    )
    parser.epilog = f"F may be - for standard output. docs/study.md has examples. {_EPILOG}"
    add = parser.add_argument
    add("workload", metavar="WORKLOAD.yaml")
    add("--on", choices=("values", "latency"), required=True, help="what to look at")
    _add_common(parser)
    add("--set", action="append", default=[], metavar="PATH=VALUE", help="as of `ahbmc run`")
    add("--json", metavar="F", help="on latency: write the latency after each pass")
    add("--against", metavar="F", help="on latency: an earlier file of --json; find the first pass that differs")
    parser.set_defaults(command=_lazily("bisect", "command"))


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.description = "Compile a kernel and print its IR."
    parser.epilog = f"F may be - for standard output. {_EPILOG}"
    add = parser.add_argument
    add("input", metavar="WORKLOAD.yaml|KERNEL.py::NAME")
    _add_common(parser)
    add("--set", action="append", default=[], metavar="PATH=VALUE", help="of a workload file: const.BLOCK_M=32, ...")
    add("--arg", action="append", default=[], metavar="NAME=TYPE", help="type of an argument: x=*fp16, n=i32, s=fp32")
    add("--const", action="append", default=[], metavar="NAME=VALUE", help="value of a constexpr: BLOCK=128")
    add("--emit", choices=("tl", "ahbm", "pe"), default="pe", help="level of the IR (default: pe)")
    add("--debuginfo", action="store_true", help="print the locations of the ops")
    add("-o", dest="output", default="-", metavar="F", help="where the IR goes (default: standard output)")
    parser.set_defaults(command=_lazily("compile", "command"))


def _add_init(parser: argparse.ArgumentParser) -> None:
    parser.description = "Write a workload file for a kernel: types, sizes, constants and grid are guessed and tried."
    parser.epilog = f"F may be - for standard output. {_EPILOG}"
    parser.add_argument("kernel", metavar="KERNEL.py::NAME")
    parser.add_argument("-o", dest="output", default="-", metavar="F", help="the workload (default: standard output)")
    parser.set_defaults(command=_lazily("init", "command"))


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.description = "Compile every jit kernel of files, folders and wheels down to commands, and say why not."
    parser.epilog = f"F may be - for standard output. {_EPILOG}"
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="a Python file, a folder of them, or a wheel")
    add("--specs", metavar="F", help="only the kernels of this file, a JSON object a line: path, function, signature, "
        "constexprs; without it, every kernel under a signature guessed from its text")  # fmt: skip
    add("--json", metavar="F", help="write a list with one object per kernel")
    add("--fail-under", type=float, default=0.0, metavar="R", help="exit with 3 if a smaller share compiles: 0.9")
    _add_machine(parser)
    add("--pipeline", metavar="P", default="composite", help="name of a pipeline or a list of passes "
        "(default: composite)")  # fmt: skip
    add_load_flags(parser)
    add("--jobs", type=int, metavar="N", help="how many processes compile (default: one per core)")
    add("--timeout", type=float, default=30.0, metavar="S", help="CPU seconds that one kernel may take (default: 30)")
    parser.set_defaults(command=_lazily("check", "command"))


def _add_probe(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Latency of single messages on an idle machine, with hops, overhead, drain, wire, bottleneck and utilisation:"
        " the published suite adapted to the machine, or one pair of ends with --from and --to."
    )
    parser.epilog = (
        "Ends: sip0.cube0.pe0 (a PE), sip0.cube4.hbm0 (slice 0 of a cube), sip0.host (the host end of the IO chiplet)."
        f" F may be - for standard output. {_EPILOG}"
    )
    add = parser.add_argument
    _add_machine(parser, default="ahbm-2sip")
    add("--set", action="append", default=[], metavar="machine.PATH=VALUE", help="machine.hbm.channel_gb_per_s=64, ...")
    add("--from", dest="source", metavar="END", help="where the message starts")
    add("--to", dest="target", metavar="END", help="where it ends")
    add("--bytes", metavar="N,N,...", help="sizes: 256,4096 (default: the published ones)")
    add("--path", choices=("dma", "raw", "ipcq", "h2d", "d2h"), help="dma: PE to slice is a write, slice to PE a read;"
        " raw, ipcq: PE to PE; h2d, d2h: host to slice and back (default: all that fit)")  # fmt: skip
    add("--json", metavar="F", help="write the rows as a JSON list")
    add("--plot", metavar="F", help="draw latency and utilisation over size: F.svg or F.png (needs matplotlib)")
    parser.set_defaults(command=_lazily("probe", "command"))


def _add_machine(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    help_ = "name of a machine (see `ahbmc machines`) or a machine file"
    parser.add_argument("--machine", metavar="M", default=default, help=help_)


def _add_common(parser: argparse.ArgumentParser) -> None:
    _add_machine(parser)
    parser.add_argument(
        "--pipeline", metavar="P", help="name of a pipeline (see `ahbmc pipelines`) or a list of passes"
    )
    add_load_flags(parser)


def _add_listings(commands: argparse._SubParsersAction[ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    for name, about in (
        ("passes", "the passes, each with its manual"),
        ("pipelines", "the pipelines, with the reason of each pass"),
        ("recipes", "the recipes that a composite may take before its GEMM"),
        ("machines", "the machines that come with ahbmc"),
    ):
        parser = commands.add_parser(name, help=about, description=f"List {about}.")
        parser.add_argument("names", nargs="*", metavar="NAME", help="only these, in full")
        parser.set_defaults(command=_lazily("listing", name))
        if name in ("passes", "recipes"):
            add_load_flags(parser)
        if name == "machines":
            parser.description = "List the machines that come with ahbmc, or print and draw a machine by name or file."
            parser.add_argument(
                "--svg", metavar="F", help="draw it: SIPs, one SIP, one cube, one PE (- for standard output)"
            )


def _lazily(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    def call(arguments: argparse.Namespace) -> int:
        from importlib import import_module

        return getattr(import_module(f".{module}", __package__), function)(arguments)

    return call


if __name__ == "__main__":
    sys.exit(main())
