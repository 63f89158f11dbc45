"""Command instances made by hand and run on the engine, for tests that need no kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ahbmc.backend_sim.analysis.attribution import attribute
from ahbmc.backend_sim.engine.commands import (
    Command,
    Composite,
    Compute,
    Dma,
    Hold,
    Once,
    Range,
    Stream,
    Tiles,
)
from ahbmc.backend_sim.engine.execute import PeWork, execute
from ahbmc.backend_sim.engine.pe_cpu import Commands
from ahbmc.backend_sim.engine.records import Log
from ahbmc.backend_sim.engine.run_pe import Work
from ahbmc.backend_sim.memory import FIRST_ADDRESS
from ahbmc.backend_sim.oplog import OpLog, Site
from ahbmc.backend_sim.target.machine import Machine
from ahbmc.backend_sim.target.machine_file import load_machine

MACHINE = load_machine("ahbm-2sip")
READ, WRITE, GEMM, MATH, COPY, WAIT, CYCLES, COMPOSITE = range(8)
_KINDS = ("dma_read", "dma_write", "gemm", "math", "copy", "wait", "cycles", "composite")
SITES = tuple(Site(kind, "", 0, "k.py", line, 1) for line, kind in enumerate(_KINDS, 1))


def hbm(start: int, size: int = 1) -> Range:
    """A range of HBM, from an offset."""
    return FIRST_ADDRESS + start, FIRST_ADDRESS + start + size


def read(into: Range, size: int, *, owner: int = 0, at: int = 0, issue: int = 9000) -> Dma:
    return Dma(
        READ, issue, False, False, (hbm(at, size),) if size else (), (into,), ((owner, size, ()),) * (size > 0), size
    )


def write(source: Range, size: int, *, owner: int = 0, at: int = 0, issue: int = 9000) -> Dma:
    return Dma(
        WRITE, issue, True, True, (source,), (hbm(at, size),) if size else (), ((owner, size, ()),) * (size > 0), size
    )


def gemm(service: int, reads: Sequence[Range], out: Range, *, issue: int = 10000) -> Compute:
    return Compute(GEMM, issue, True, service, tuple(reads), (out,), 2000)


def math(service: int, reads: Sequence[Range], out: Range, *, issue: int = 10000) -> Compute:
    return Compute(MATH, issue, False, service, tuple(reads), (out,))


def wait(reads: Sequence[Range]) -> Hold:
    return Hold(WAIT, 8000, tuple(reads))


@dataclass(frozen=True)
class Gemm:
    """A GEMM as a composite: extents, where its operands lie, extra MATH per tile. Addresses of the three differ."""

    m: int
    k: int
    n: int
    stream_a: bool = False
    stream_b: bool = True
    out_hbm: bool = True
    element: int = 2
    out_element: int = 2
    before_ps: int = 0
    k_math_ps: int = 0
    out_math_ps: int = 0
    a: Range = (0, 1000)
    b: Range = (1000, 2000)
    out: Range = (2000, 3000)
    owner: int = 0
    base: int = 0
    once: tuple[Once, ...] = ()
    issue: int = 43000

    @property
    def across(self) -> tuple[int, int, int]:
        return -(-self.m // 32), -(-self.k // 64), -(-self.n // 32)

    def command(self) -> Composite:
        m, k, n = self.across

        def stream(number: int, streamed: bool, size: int) -> Stream | None:
            place = hbm(self.base + (number << 30), 1 << 20)
            return Stream(size, self.owner, place, size) if streamed else None

        a_tiles = stream(0, self.stream_a, 2048 * self.element)
        b_tiles = stream(1, self.stream_b, 2048 * self.element)
        out_tiles = stream(2, self.out_hbm, 1024 * self.out_element)
        fetch_reads = tuple(r for r, s in ((self.a, a_tiles), (self.b, b_tiles)) if s is None)
        store = () if self.out_hbm else (self.out,)
        tiles = Tiles(
            m,
            n,
            k,
            a_tiles,
            b_tiles,
            out_tiles,
            4096 * self.element * 1000 // 512,
            self.before_ps,
            16384 * self.element // 2,
            self.k_math_ps,
            self.out_math_ps,
            1024 * self.out_element * 1000 // 512,
            fetch_reads,
            (),
            store,
        )
        reads = (*fetch_reads, *(s.range for s in (a_tiles, b_tiles) if s), *(r for o in self.once for r in o.reads))
        writes = (*store, *(s.range for s in (out_tiles,) if s), *(r for o in self.once for r in o.writes))
        return Composite(COMPOSITE, self.issue, self.once, tiles, (), reads, writes, 2 * self.m * self.k * self.n)


def _given(commands: Sequence[Command]) -> Commands:
    yield from commands


def run(
    programs: Sequence[Command] | Mapping[int, Sequence[Sequence[Command]]],
    *,
    slices: Mapping[int, Sequence[int]] | None = None,
    machine: Machine = MACHINE,
    keys: bool = False,
    exact: bool = False,
    certain: bool = False,
) -> OpLog:
    """Run one program on PE 0, or for each PE its programs. `slices` says which slices a PE may use (0 if not given),
    `certain` that it does.

    With `keys` it is known which programs of a PE are equal, so that they need not be run again and again; `exact`
    does so. The attribution is checked on the way.
    """
    given: Mapping[int, Sequence[Sequence[Command]]] = programs if isinstance(programs, Mapping) else {0: [programs]}
    log = Log()
    work: dict[int, PeWork] = {}
    for pe, todo in given.items():
        texts = [repr(p) for p in todo]
        classes = [texts.index(text) if keys else None for text in texts]
        works = [Work((i,), partial(_given, p), key) for i, (p, key) in enumerate(zip(todo, classes, strict=True))]
        work[pe] = PeWork(works, (slices or {}).get(pe, (0,)), certain=certain)
    execute(machine, 0, 0, work, SITES, log, exact=exact)
    built = log.build({}, SITES)
    assert attribute(built).total_ps == built.latency_ps
    return built


def column(log: OpLog, name: str) -> list[int]:
    return log.records[name].tolist()
