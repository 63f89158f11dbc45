"""Prints the latency of workloads under every named pipeline, and how `auto` stands to the best of the others: of the
examples, and of drawn sizes of matmul, attention and softmax.

A line per workload; at the end the worst ratio. `python bench/pipelines.py NAME...` prints those whose name holds one
of the words.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ahbmc.dialects.errors import AhbmcError
from ahbmc.driver.run import run_workload
from ahbmc.passes.pipelines import PIPELINES

EXAMPLES = Path(__file__).parents[1] / "examples"
DRAWN = 10  # of each kernel
NAMED = [name for name in PIPELINES if name != "auto"]


def workloads() -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Every example as it is, then examples with sizes drawn from a seed."""
    for path in sorted(EXAMPLES.glob("*.yaml")):
        yield path, ()
    draw = random.Random(5)
    for _ in range(DRAWN):
        sizes = {name: draw.randrange(32, 513) for name in ("M", "N", "K")}
        blocks = {f"BLOCK_{name}": draw.choice((16, 32, 64, 128)) for name in ("M", "N", "K")}
        yield EXAMPLES / "matmul.yaml", _settings(sizes, blocks)
    for _ in range(DRAWN):
        blocks = {f"BLOCK_{name}": draw.choice((16, 32, 64, 128)) for name in ("M", "N")}
        blocks |= {"HEAD_DIM": draw.choice((32, 64, 128)), "CAUSAL": draw.choice(("true", "false"))}
        yield EXAMPLES / "flash_attention.yaml", _settings({"S": draw.randrange(64, 513)}, blocks)
    for _ in range(DRAWN):
        columns = draw.randrange(8, 4097)
        block = 1 << (columns - 1).bit_length()
        yield (
            EXAMPLES / "softmax.yaml",
            _settings({"n_rows": draw.randrange(16, 257), "n_cols": columns}, {"BLOCK_SIZE": block}),
        )


def _settings(args: Mapping[str, int], const: Mapping[str, int | str]) -> tuple[str, ...]:
    return (*(f"args.{k}={v}" for k, v in args.items()), *(f"const.{k}={v}" for k, v in const.items()))


def latency_ns(path: Path, settings: tuple[str, ...], pipeline: str) -> float | None:
    """The latency under a pipeline; None where the kernel does not go through it."""
    try:
        run = run_workload(path, overrides=settings, pipeline=pipeline, timing_only=True)
    except AhbmcError:
        return None
    return run.executed.execution.latency_ps / 1000


def main() -> None:
    words = sys.argv[1:]
    print(f"{'workload':64}", *(f"{name:>12}" for name in PIPELINES), "  auto / best other")
    worst = 0.0
    for path, settings in workloads():
        name = " ".join((path.stem, *(s.split(".", 1)[1] for s in settings)))
        if words and not any(word in name for word in words):
            continue
        found = {pipeline: latency_ns(path, settings, pipeline) for pipeline in PIPELINES}
        others = [ns for pipeline in NAMED if (ns := found[pipeline]) is not None]
        auto = found["auto"]
        figures = (f"{ns:12,.0f}" if ns is not None else f"{'-':>12}" for ns in found.values())
        ratio = auto / min(others) if auto is not None and others else None
        print(f"{name:64}", *figures, f"{ratio:8.3f}" if ratio is not None else "", flush=True)
        worst = max(worst, ratio or 0.0)
    print(f"worst: {worst:.3f}")


if __name__ == "__main__":
    main()
