"""PEs that share slices or links, and the repetition in what they do.

Programs that run alike on PEs that share them soon fall into step: the island's state when one of them takes up a
program comes back. What happened in between will then happen again, for as long as every PE's programs go on alike;
so those programs are entered into the op-log and time goes on behind them. The state is exact: what a PE is in the
middle of follows from the key of its program, from when it started, and from when ordered slices and links served it
since; to this comes until when, and by whom, each slice and link is taken. All of it counts from now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import simpy

from .network import Link, Network
from .paths import Holder, flatten
from .pe import Pe

# The state is looked at when the watched PE takes up a program, at most this often without success.
_PATIENCE = 256


class Member(Protocol):
    """What an island knows of the programs of one PE: which runs, what it is like, and how to enter one again."""

    index: int
    pe: Pe
    keys: Sequence[Any]

    def again(self, index: int, ran: Any, later: int) -> None: ...


class Island:
    """PEs that use the same slices or links. `epoch` is how far simulated time lies behind the clock: what has been
    skipped.
    """

    def __init__(self, clock: simpy.Environment, network: Network):
        self.epoch = 0
        self._clock = clock
        self._network = network
        self._members: list[Member] = []
        self._watched: Member | None = None
        self._seen: dict[Any, tuple[int, list[int], int]] = {}
        self._history: list[tuple[Member, int, Any]] = []
        self._patience = _PATIENCE

    def add(self, members: Sequence[Member]) -> None:
        """These PEs are on the island. Where it is not known what their programs are like, nothing is ever skipped."""
        self._members = list(members)
        if len(members) and all(type(key) is int for member in members for key in member.keys):
            self._watched = max(members, key=_left)

    def ran(self, member: Member, index: int, ran: Any) -> None:
        """A program has ended; `ran` is what `again` takes."""
        if self._watched is not None:
            self._history.append((member, index, ran))

    def takes_up(self, member: Member) -> None:
        """A PE is about to take up its program `index`; it may be a later one afterwards."""
        if self._watched is not None and self._watched.index >= len(self._watched.keys):
            # It has run all of its programs; another one is left with the most.
            self._watched = max(self._members, key=_left)
            self._seen, self._history = {}, []
        if member is not self._watched:
            return
        now = int(self._clock.now)
        state, indices = self._state(now), [m.index for m in self._members]
        before = self._seen.get(state)
        if before is None:
            self._seen[state] = now, indices, len(self._history)
            self._patience -= 1
            if not self._patience:
                self._watched, self._history = None, []
            return
        time, old, entries = before
        steps = [new - index for new, index in zip(indices, old, strict=True)]
        times = min(_repeats(m.keys, m.index, s) for m, s in zip(self._members, steps, strict=True) if s)
        period = self._history[entries:]
        for k in range(1, times + 1):
            for who, index, ran in period:
                who.again(index + k * steps[self._members.index(who)], ran, k * (now - time))
        self.epoch += times * (now - time)
        for m, s in zip(self._members, steps, strict=True):
            m.index += times * s
        # Where nothing could be skipped there is no use in looking on at every program.
        self._seen, self._history = {}, []
        self._patience = _PATIENCE if times else self._patience // 2
        if not self._patience:
            self._watched = None

    def _state(self, now: int) -> Any:
        pes = tuple(
            [
                (m.keys[m.index], m.pe.start - now, tuple(m.pe.served)) if m.index < len(m.keys) else None
                for m in self._members
            ]
        )
        slices = tuple(
            [
                (s.owner, s.available - now, _held(s.holder, now), tuple([max(0, c - now) for c in s.channels]))
                for s in self._network.slices.values()
                if s.available > now
            ]
        )
        links = tuple([_link(link, now) for link in self._network.links.values() if max(link.tail, link.busy) > now])
        return pes, slices, links


def _link(link: Link, now: int) -> Any:
    times = link.busy - now, link.tail - now
    return link.number, *times, link.last and link.last.number, _coming(link, now), _held(link.holder, now)


def _coming(link: Link, now: int) -> Any:
    first, until, gap, begun, full = link.train
    if until <= now:
        return None
    return first - now, until - now, gap, begun - now, full, link.between, max(0, link.between_until - now)


def _held(holder: Holder | None, now: int) -> Any:
    if holder is None or holder.end is None:
        return holder and holder.pe
    node, steps = flatten(holder.path)
    return holder.pe, holder.end - now, node, tuple(steps)


def _left(member: Member) -> int:
    return len(member.keys) - member.index


def _repeats(keys: Sequence[Any], index: int, step: int) -> int:
    """How often the `step` programs up to `index` come again after it, in keys."""
    last = index
    while last + 1 < len(keys) and keys[last + 1] == keys[last + 1 - step]:
        last += 1
    return (last - index) // step
