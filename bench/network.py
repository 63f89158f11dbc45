"""Prints how far the network of the engine is from the flit-by-flit model, message by message, for each size of packet.

Traffic within one cube of the default machine, and between four. `load` is the share of its link's rate at which each
PE and each slice sends. Errors are means of |error| / latency over messages under 4 KiB and over the others; makespan
is the error of the last arrival. With packets of one flit all of them are 0. CPU seconds are of all rows of a size.
The model is that of the tests: PYTHONPATH must have `tests/`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from statistics import fmean

from ahbmc.backend_sim.engine.traffic import Message, deliver
from ahbmc.backend_sim.target.machine_file import load_machine
from support_network import deliver_flits

PACKETS = (256, 2048, 4096)
SMALL = 4096
LINK_GB_PER_S = 256
KIB = 1024
FLITS_1_TO_8 = [256 * flits for flits in range(1, 9)]


def pe(number: int, cube: int = 0) -> str:
    return f"sip0.cube{cube}.pe{number}.pe_dma"


def hbm(number: int, cube: int = 0) -> str:
    return f"sip0.cube{cube}.hbm_ctrl.{number}"


def scattered(load: float, sizes: Sequence[int], messages: int, cubes: int = 1) -> list[Message]:
    """Every PE writes to slices and every slice sends to PEs, at random times."""
    draw = random.Random(2)
    sources = [(cube, write, number) for cube in range(cubes) for write in (False, True) for number in range(8)]
    mean_ps = fmean(sizes) * 1000 / LINK_GB_PER_S / load
    found: list[Message] = []
    for cube, write, number in sources:
        at = 0.0
        for _ in range(messages // len(sources)):
            at += draw.expovariate(1 / mean_ps)
            to_cube, to = draw.randrange(cubes), draw.randrange(8)
            ends = (pe(number, cube), hbm(to, to_cube)) if write else (hbm(number, cube), pe(to, to_cube))
            found.append(Message(int(at), *ends, draw.choice(sizes)))
    return sorted(found, key=lambda message: message.time_ps)


TRAFFIC = {
    "one at a time": [
        Message(10**6 * i, pe(i % 8), hbm(i * 3 % 8), size) for i, size in enumerate([256, 1000, 4096, 32768] * 4)
    ],
    "two flows, 128 and 128 flits": [Message(0, hbm(0), pe(4), 32768), Message(5000, hbm(1), pe(4), 32768)],
    "two flows, 16 and 16 flits": [Message(0, hbm(0), pe(4), 4096), Message(5000, hbm(1), pe(4), 4096)],
    "two flows, 128 and 16 flits": [Message(0, hbm(0), pe(4), 32768), Message(40000, hbm(1), pe(4), 4096)],
    "incast, 7 x 2 KiB": [Message(100 * i, hbm(i), pe(0), 2 * KIB) for i in range(1, 8)],
    "incast, 7 x 32 KiB": [Message(100 * i, hbm(i), pe(0), 32 * KIB) for i in range(1, 8)],
    "random, load 0.1, 1 to 8 flits": scattered(0.1, FLITS_1_TO_8, 960),
    "random, load 0.3, 1 to 8 flits": scattered(0.3, FLITS_1_TO_8, 960),
    "random, load 0.1, 4 to 32 KiB": scattered(0.1, [4 * KIB, 16 * KIB, 32 * KIB], 320),
    "random, load 0.3, 4 to 32 KiB": scattered(0.3, [4 * KIB, 16 * KIB, 32 * KIB], 320),
    "mixed, load 0.2, 2 to 256 KiB": scattered(0.2, [2 * KIB, 32 * KIB, 256 * KIB], 96),
    "four cubes, 256 B to 32 KiB": scattered(0.02, [256, 4 * KIB, 32 * KIB], 320, cubes=4),
}


def errors(messages: Sequence[Message], found: Sequence[int], right: Sequence[int]) -> list[float | None]:
    """Means under 4 KiB and from there on (None if there are no such messages), and the makespan's."""
    relative = [abs(f - r) / (r - m.time_ps) for m, f, r in zip(messages, found, right, strict=True)]
    small = [e for e, m in zip(relative, messages, strict=True) if m.size < SMALL]
    large = [e for e, m in zip(relative, messages, strict=True) if m.size >= SMALL]
    makespan = abs(max(found) - max(right)) / max(right)
    return [fmean(small) if small else None, fmean(large) if large else None, makespan]


def cells(row: Sequence[float | None]) -> str:
    """The columns of one size of packet."""
    small, large, makespan = ("-" if error is None else f"{error:.2%}" for error in row)
    return f"{small:>9}{large:>9}{makespan:>10}"


def main() -> None:
    machines = [load_machine("ahbm-2sip", [f"noc.packet_bytes={size}"]) for size in PACKETS]
    oracle = {name: deliver_flits(machines[0], messages) for name, messages in TRAFFIC.items()}
    print(f"{'':32}" + "".join(f"{f'packets of {size} B':^28}" for size in PACKETS))
    print(f"{'traffic':32}" + f"{'< 4 KiB':>9}{'>= 4 KiB':>9}{'makespan':>10}" * len(PACKETS))
    seconds = [0.0] * len(PACKETS)
    table: list[list[list[float | None]]] = [[] for _ in PACKETS]
    for name, messages in TRAFFIC.items():
        row = f"{name:32}"
        for i, machine in enumerate(machines):
            start = time.process_time()
            found = deliver(machine, messages)
            seconds[i] += time.process_time() - start
            table[i].append(errors(messages, found, oracle[name]))
            row += cells(table[i][-1])
        print(row)
    columns = ([[e for e in column if e is not None] for column in zip(*rows, strict=True)] for rows in table)
    print(f"{'mean of the rows':32}" + "".join(cells([fmean(column) for column in of]) for of in columns))
    print(f"{'CPU seconds':32}" + "".join(f"{s:>28.2f}" for s in seconds))


if __name__ == "__main__":
    main()
