"""How SIPs are joined, and which of them a message passes: `inter_sip.topology` of the machine.

    switch  one switch joins all SIPs              every way is one hop
    ring    SIP i to i + 1, the last to the first  the shorter way round
    mesh    `grid` of rows x columns               along the row first, then along the column
    torus   a mesh, its rows and columns closed    the same, each the shorter way round

SIP id = row * columns + column. Where both ways round are equally long, the one by rising ids is taken. A hop leads
from one pcie_ep over a switch to the next; in all but `switch` each link has a switch of its own, named after its two
SIPs. Two SIPs share at most one link: a ring of two, or a closed row or column of two, is no more than its mesh.
"""

from __future__ import annotations

from collections.abc import Iterator

from .machine import Machine


def sip_links(machine: Machine) -> Iterator[tuple[int, int]]:
    """The pairs of SIPs that a link joins, the lower id first but for the one that closes a row or column."""
    rows, columns, closed = _shape(machine)
    for sip in range(rows * columns):
        row, column = divmod(sip, columns)
        if column + 1 < columns or (closed and columns > 2):
            yield sip, row * columns + (column + 1) % columns
        if row + 1 < rows or (closed and rows > 2):
            yield sip, (row + 1) % rows * columns + column


def switch_joints(machine: Machine) -> Iterator[tuple[str, int]]:
    """Every switch with each SIP whose pcie_ep it joins."""
    if machine.inter_sip is None or machine.sips == 1:
        return
    if machine.inter_sip.topology == "switch":
        for sip in range(machine.sips):
            yield "switch", sip
    else:
        for a, b in sip_links(machine):
            yield switch_between(machine, a, b), a
            yield switch_between(machine, a, b), b


def switch_between(machine: Machine, a: int, b: int) -> str:
    """The switch of a hop between two SIPs."""
    inter = machine.inter_sip
    return "switch" if inter is None or inter.topology == "switch" else f"switch{min(a, b)}-{max(a, b)}"


def sips_on_the_way(machine: Machine, source: int, target: int) -> list[int]:
    """The SIPs that a message passes, both ends among them."""
    if machine.inter_sip is None or machine.inter_sip.topology == "switch":
        return [source, target]
    rows, columns, closed = _shape(machine)
    (row, column), (end_row, end_column) = divmod(source, columns), divmod(target, columns)
    along = [row * columns + c for c in _steps(column, end_column, columns, closed)]
    down = [r * columns + end_column for r in _steps(row, end_row, rows, closed)]
    return [source, *along, *down]


def _shape(machine: Machine) -> tuple[int, int, bool]:
    """Rows, columns, and whether both are closed: a ring is a torus of one row."""
    inter = machine.inter_sip
    assert inter is not None
    rows, columns = inter.grid or (1, machine.sips)
    return rows, columns, inter.topology != "mesh"


def _steps(start: int, end: int, size: int, closed: bool) -> list[int]:
    """The positions after `start` up to `end` in a row of `size`, the shorter way round if it is closed."""
    ahead = (end - start) % size if closed else end - start
    if ahead > 0 and not (closed and 2 * ahead > size):
        return [(start + i) % size for i in range(1, ahead + 1)]
    back = size - ahead if closed and ahead else -ahead
    return [(start - i) % size for i in range(1, back + 1)]
