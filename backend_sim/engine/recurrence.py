"""The tiles of one group through FETCH, MATH, GEMM and STORE in one pass, as a recurrence over trains of tiles.

It holds where nobody else asks for these servers and each of them sees the tiles in their order: then the end of tile
i on a server is the later of its end on the server before and of tile i - 1 here, plus the service. It gives what a
request per stage gives (`composite.py`), to the picosecond.
"""

from __future__ import annotations

from .commands import Tiles
from .paths import FETCH, GEMM, MATH, STORE, Path
from .pe import ON_FETCH, ON_GEMM, ON_MATH, ON_STORE, Pe
from .server import Server
from .trains import Train

Ready = tuple[int, Path]


def run_group(
    pe: Pe, record: int, tiles: Tiles, inputs: Train, first: int, math_hazard: Ready | None, store_hazard: Ready | None
) -> tuple[Ready, list[tuple[int, Ready]]]:
    """Run the tiles from number `first` on, ready for FETCH when `inputs` say.

    Returns when the last has left FETCH, and the output tiles that are complete in TCM, each with its last tile's
    number.
    """

    def served(train: Train, server: Server, part: int, engine: int, service: int) -> Train:
        if not service:
            return train
        train = train.served(server, record, part, service)
        for piece in train.pieces:
            pe.records.series(record, engine, piece.time - service, service, piece.period, piece.count)
        return train

    train = inputs
    for server in pe.fetch:
        train = served(train, server, FETCH, ON_FETCH, tiles.fetch_ps)
    fetched = train.at(train.count - 1)
    train = served(train, pe.math, MATH, ON_MATH, tiles.k_math_before_ps)
    train = served(train, pe.gemm, GEMM, ON_GEMM, tiles.gemm_ps)
    if tiles.k_math_ps:
        train = served(train.not_before(math_hazard), pe.math, MATH, ON_MATH, tiles.k_math_ps)
    outputs: list[tuple[int, Ready]] = []
    for tile in range(first + (-first - 1) % tiles.across_k, first + train.count, tiles.across_k):
        outputs.append((tile, _output(pe, record, tiles, train.at(tile - first), math_hazard, store_hazard)))
    return fetched, outputs


def run_tile(
    pe: Pe, record: int, tiles: Tiles, ready: Ready, tile: int, math_hazard: Ready | None, store_hazard: Ready | None
) -> tuple[Ready, Ready | None]:
    """The same for one tile: returns when it has left FETCH, and its output tile if that is complete in TCM now."""
    for lane, server in enumerate(pe.fetch):
        ready = _book(pe, server, record, FETCH, ON_FETCH, ready, tiles.fetch_ps, lane)
    fetched = ready
    if tiles.k_math_before_ps:
        ready = _book(pe, pe.math, record, MATH, ON_MATH, ready, tiles.k_math_before_ps, 0)
    ready = _book(pe, pe.gemm, record, GEMM, ON_GEMM, ready, tiles.gemm_ps, 0)
    if tiles.k_math_ps:
        ready = _book(pe, pe.math, record, MATH, ON_MATH, later(ready, math_hazard), tiles.k_math_ps, 0)
    if tile % tiles.across_k != tiles.across_k - 1:
        return fetched, None
    return fetched, _output(pe, record, tiles, ready, math_hazard, store_hazard)


def _output(
    pe: Pe, record: int, tiles: Tiles, ready: Ready, math_hazard: Ready | None, store_hazard: Ready | None
) -> Ready:
    if tiles.out_math_ps:
        ready = _book(pe, pe.math, record, MATH, ON_MATH, later(ready, math_hazard), tiles.out_math_ps, 0)
    ready = later(ready, store_hazard)
    for lane, server in enumerate(pe.store):
        ready = _book(pe, server, record, STORE, ON_STORE, ready, tiles.store_ps, lane)
    return ready


def _book(pe: Pe, server: Server, record: int, part: int, engine: int, ready: Ready, service: int, lane: int) -> Ready:
    end, path = server.book(*ready, record, part, service)
    pe.records.run(record, engine, end - service, service, lane=lane)
    return end, path


def later(ready: Ready, hazard: Ready | None) -> Ready:
    """Ready only after the hazard; a tie is the hazard's."""
    return ready if hazard is None or hazard[0] < ready[0] else hazard
