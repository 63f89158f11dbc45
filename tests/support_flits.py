"""The reference of single messages: flit by flit and edge by edge, as `target/transfer.py` has it in closed form."""

from __future__ import annotations

from collections.abc import Sequence

from ahbmc.backend_sim.target.quantities import Rate, service_ps
from ahbmc.backend_sim.target.topology import Edge


def by_flit(size: int, flit: int, way: Sequence[Edge], ready: Rate | None) -> int:
    """Arrival of the last flit: each edge serves flits first come, first served. `ready`: the rate of the source."""
    sizes = [flit] * ((size - 1) // flit) + [(size - 1) % flit + 1]
    at = [0 if ready is None else i * service_ps(flit, ready) for i in range(len(sizes))]
    for edge in way:
        free = 0
        if edge.whole:
            at = [at[-1]] * len(at)
        for i, bytes_ in enumerate(sizes):
            start = max(at[i] + (edge.overhead_ps if i == 0 else 0), free)
            free = at[i] = start + edge.flit_ps(bytes_)
    return at[-1]
