"""How busy servers are over time: the share of each bin of the latency, a view of the op-log.

Servers are known by their owner (see `oplog.Stays`): the PE, for `hbm` the slice's owner, for `noc` the link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..oplog import Ints, OpLog, busy_intervals

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BusyOverTime:
    """`share[owner][i]` is the busy share (0 to 1) of one server between `edges_ps[i]` and `edges_ps[i + 1]`.

    Bins are equal to a picosecond; there are none in a run without commands. Servers that were never busy are not in
    it.
    """

    edges_ps: Ints
    share: Mapping[int, Shares]

    @cached_property
    def busiest(self) -> tuple[int, ...]:
        """The owners, the busiest over the whole run first."""
        widths = np.diff(self.edges_ps)
        busy = {owner: float(np.dot(share, widths)) for owner, share in self.share.items()}
        return tuple(sorted(busy, key=lambda owner: (-busy[owner], owner)))

    def mean(self, servers: int) -> Shares:
        """The mean over `servers` servers, of which those that are not in `share` were never busy."""
        total = np.zeros(max(0, len(self.edges_ps) - 1))
        for share in self.share.values():
            total += share
        return total / max(1, servers)


def busy_over_time(log: OpLog, engine: str, bins: int) -> BusyOverTime:
    """The servers of `engine` over the whole latency, in `bins` bins (fewer if the latency has fewer picoseconds)."""
    latency_ps = log.latency_ps
    bins = min(bins, latency_ps)
    edges = np.array([latency_ps * i // bins for i in range(bins + 1)] if bins else [0], dtype=np.int64)
    widths = np.diff(edges)
    return BusyOverTime(
        edges,
        {
            owner: np.diff(_busy_until(edges, start, end)) / widths
            for owner, (start, end) in busy_intervals(log, engine).items()
        },
    )


def _busy_until(time: Ints, start: Ints, end: Ints) -> Ints:
    """How long a server was busy before each `time`."""
    before = np.concatenate(([0], np.cumsum(end - start)))
    begun = np.searchsorted(start, time, "right")
    still = np.where(begun > 0, np.maximum(0, end[begun - 1] - time), 0)
    return before[begun] - still
