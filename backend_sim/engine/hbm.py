"""HBM slices. A slice is one server of its full rate (packed transfers); each transfer holds it
for its bytes, in the order of arrival; or (`hbm.strided: bursts`) its pseudo-channels are servers of one burst at a
time.

A read of n bytes: its request arrives at the slice, waits until the slice is free, holds it for n / rate; the first
data come one burst later and travel back. A write: the head of its data arrives, waits, holds the slice for n / rate;
it is committed one burst after the later of that and the arrival of its last flit; the ack travels back.
"""

from __future__ import annotations

from .commands import Bursts
from .paths import Holder


class Slice:
    """One slice: until when it is taken, by whom last, and which PEs use it.

    `ordered`: several PEs of the launch use it, so its bookings must happen in the order of simulated time.
    """

    __slots__ = ("available", "channels", "holder", "ordered", "owner", "users")

    def __init__(self, owner: int, *, ordered: bool = False):
        self.owner = owner
        self.ordered = ordered
        self.available = 0
        self.channels: list[int] = []
        self.holder: Holder | None = None
        self.users: set[int] = set()

    def reserve(self, now: int, held: int, bursts: Bursts, burst_ps: int) -> tuple[int, int, int]:
        """Book what arrives at `now`: (when it is taken, when the first burst begins, when the last has ended).

        As one server it is held for `held`. With bursts each channel takes its own, and "when it is taken" is as late
        as the channels make the last burst later than it would be alone.
        """
        if not bursts:
            start = max(now, self.available)
            self.available = start + held
            return start, start, start + held
        channels = self.channels = self.channels or [0] * len(bursts)
        used = [(max(now, channels[i]), i, n) for i, n in enumerate(bursts) if n]
        if not used:  # all of it comes with bursts that are booked already
            last = max(now, self.available)
            return now, last, last
        for begin, i, n in used:
            channels[i] = begin + n * burst_ps
        last = max(channels[i] for _, i, _ in used)
        self.available = max(channels)
        return last - max(bursts) * burst_ps, min(used)[0], last
