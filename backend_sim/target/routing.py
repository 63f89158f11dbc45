"""Routes: which edges a message takes. The machine's `routing` chooses between two rules; both are deterministic.

Same cube, under either rule: least wire over the cube's routers alone.

`min_wire` (as published): least wire over the whole SIP, by Dijkstra's algorithm with a heap ordered by (distance, node
name) in which only a strictly shorter way replaces a parent. Its quirk: connections of a port are 0 mm long, so ports
become free passages from one corner of a cube to another (`r0c0 > N > r0c5 > E`). The published figures need it.

`xy` (physical): the cubes along the row first, then along the column; least wire inside the cubes on that way, and a
port is passed only to leave the cube.

Between SIPs, under either rule: to the pcie_ep, over those of the SIPs on the way (`inter_sip.py`), and on.

All cubes are alike, and so are all SIPs: ways are found in the first of them and renamed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from ...dialects.errors import Category, fail
from .inter_sip import sips_on_the_way, switch_between
from .machine import Machine
from .topology import Edge, Graph, cube_graph, cube_of, inter_sip_graph, is_end, sip_graph, sip_of

Route = tuple[Edge, ...]
_SIP, _CUBE = "sip0", "sip0.cube0"  # those in which ways are found


@lru_cache(maxsize=65536)
def route(machine: Machine, source: str, target: str) -> Route:
    """The edges from `source` to `target`. Raises AhbmcError if either is no node or no way leads there."""
    for name in (source, target):
        if not _is_node(machine, name):
            raise fail(f"machine {machine.name} has no node `{name}`", hint="for example sip0.cube0.pe0.pe_dma")
    sip, other = sip_of(source), sip_of(target)
    if sip != other:
        return _between_sips(machine, source, target)
    cube = cube_of(source)
    if cube is not None and cube == cube_of(target):
        way = _in_cube(machine, _moved(source, cube, _CUBE), _moved(target, cube, _CUBE))
        return _renamed(machine, way, _CUBE, cube)
    find = _min_wire if machine.routing == "min_wire" else _xy
    way = find(machine, _moved(source, f"sip{sip}", _SIP), _moved(target, f"sip{sip}", _SIP))
    return _renamed(machine, way, _SIP, f"sip{sip}")


def _is_node(machine: Machine, name: str) -> bool:
    """Whether the machine has it. The graph of a SIP takes sixteen times as long to build as that of a cube."""
    sip, _, rest = name.partition(".")
    if not _is_numbered(sip, "sip", machine.sips):
        return False
    cube = rest.partition(".")[0]
    if _is_numbered(cube, "cube", machine.cubes_per_sip):
        return _moved(name, f"{sip}.{cube}", _CUBE) in cube_graph(machine, _CUBE).nodes
    return _moved(name, sip, _SIP) in sip_graph(machine, 0).nodes


def _is_numbered(name: str, word: str, count: int) -> bool:
    """Whether `name` is `word` with a number below `count`, as it is written in names of nodes."""
    number = name.removeprefix(word)
    return number.isdecimal() and int(number) < count and f"{word}{int(number)}" == name


def _moved(node: str, old: str, new: str) -> str:
    """The node of the SIP or cube `new` that `node` is of `old`."""
    return new + node[len(old) :]


@lru_cache(maxsize=64)
def _edges_of_routes(machine: Machine) -> dict[tuple[str, str], Edge]:
    """The edges that routes have led over, by their ends: all routes share one object for each."""
    return {}


def _renamed(machine: Machine, way: Route, old: str, new: str) -> Route:
    """`way` through the SIP or cube `old` as it is in `new`."""
    known, renamed = _edges_of_routes(machine), list[Edge]()
    for edge in way:
        ends = _moved(edge.source, old, new), _moved(edge.target, old, new)
        if ends not in known:
            known[ends] = edge if old == new else replace(edge, source=ends[0], target=ends[1])
        renamed.append(known[ends])
    return tuple(renamed)


def _between_sips(machine: Machine, source: str, target: str) -> Route:
    edges, way = inter_sip_graph(machine).edges, list[Edge]()
    sips = sips_on_the_way(machine, sip_of(source), sip_of(target))
    ends = [f"sip{sip}.io0.pcie_ep" for sip in sips]
    if source != ends[0]:
        way += route(machine, source, ends[0])
    for (a, b), hop in zip(pairwise(ends), pairwise(sips), strict=True):
        switch = switch_between(machine, *hop)
        way += (edges[a][switch], edges[switch][b])
    if target != ends[-1]:
        way += route(machine, ends[-1], target)
    return tuple(way)


@lru_cache(maxsize=65536)
def _min_wire(machine: Machine, source: str, target: str) -> Route:
    return _walk_back(sip_graph(machine, 0), _ways_from(machine, source), source, target)


@lru_cache(maxsize=1024)
def _ways_from(machine: Machine, source: str) -> dict[str, str]:
    """The ways by least wire from `source` to all nodes: they take hardly longer to find than one of them."""
    return _parents(sip_graph(machine, 0), source, None, lambda node: True)


@lru_cache(maxsize=65536)
def _xy(machine: Machine, source: str, target: str) -> Route:
    graph, way, here = sip_graph(machine, 0), list[Edge](), source
    for left, entered in _crossings(machine, source, target):
        way += (*_within(machine, here, left), graph.edges[left][entered])
        here = entered
    return (*way, *_within(machine, here, target))


def _within(machine: Machine, source: str, target: str) -> Route:
    """Between two nodes of one cube or of the IO chiplet."""
    cube = cube_of(source)
    if cube is None:
        return _least_wire(sip_graph(machine, 0), source, target, lambda node: cube_of(node) is None)
    way = _in_cube(machine, _moved(source, cube, _CUBE), _moved(target, cube, _CUBE))
    return _renamed(machine, way, _CUBE, cube)


@lru_cache(maxsize=65536)
def _in_cube(machine: Machine, source: str, target: str) -> Route:
    """Over routers; connections of a port only to come from it or to go to it."""
    ends = tuple(f"{node}.conn" for node in (source, target))
    graph = cube_graph(machine, _CUBE)
    return _least_wire(graph, source, target, lambda node: _is_router(node) or node.startswith(ends))


def _is_router(node: str) -> bool:
    return node.rpartition(".")[2][0] == "r"


def _least_wire(graph: Graph, source: str, target: str, passes: Callable[[str], bool]) -> Route:
    """Least wire over nodes that it `passes`, never over ends."""
    return _walk_back(graph, _parents(graph, source, target, passes), source, target)


def _parents(graph: Graph, source: str, target: str | None, passes: Callable[[str], bool]) -> dict[str, str]:
    """The node before each on its way from `source`; `target` None: of all nodes. Equal distances: the first stays."""
    distance, parent, done = {source: 0}, dict[str, str](), set[str]()
    heap = [(0, source)]
    while heap:
        length, node = heapq.heappop(heap)
        if node == target:
            break
        if node in done or (node != source and is_end(node)):
            continue
        done.add(node)
        for next_node, step in graph.lengths[node].items():
            if not (next_node == target or passes(next_node)):
                continue
            if next_node not in distance or length + step < distance[next_node]:
                distance[next_node] = length + step
                parent[next_node] = node
                heapq.heappush(heap, (length + step, next_node))
    return parent


def _walk_back(graph: Graph, parent: dict[str, str], source: str, target: str) -> Route:
    edges: list[Edge] = []
    node = target
    while node != source:
        if node not in parent:
            raise fail(f"no way leads from {source} to {target}", category=Category.UNSUPPORTED)
        edges.append(graph.edges[parent[node]][node])
        node = parent[node]
    return tuple(reversed(edges))


def _crossings(machine: Machine, source: str, target: str) -> Iterator[tuple[str, str]]:
    """The pairs (port left, port entered) of the way by XY, between cubes and between them and the IO chiplet."""
    if cube_of(source) is None and cube_of(target) is None:
        return
    columns, io = machine.sip.cubes[1], machine.sip.io
    way = _cubes_on_the_way(machine, source, target)
    if io is not None and cube_of(source) is None:
        yield f"{_SIP}.io0.io_ucie{io.cubes.index(way[0])}", f"{_SIP}.cube{way[0]}.ucie_n"
    for a, b in pairwise(way):
        if a // columns == b // columns:
            left, entered = ("e", "w") if b > a else ("w", "e")
        else:
            left, entered = ("s", "n") if b > a else ("n", "s")
        yield f"{_SIP}.cube{a}.ucie_{left}", f"{_SIP}.cube{b}.ucie_{entered}"
    if io is not None and cube_of(target) is None:
        yield f"{_SIP}.cube{way[-1]}.ucie_n", f"{_SIP}.io0.io_ucie{io.cubes.index(way[-1])}"


def _cubes_on_the_way(machine: Machine, source: str, target: str) -> list[int]:
    """The cubes from `source` to `target`; the IO chiplet stands for the cube it feeds in the other end's column."""
    columns, io = machine.sip.cubes[1], machine.sip.io
    cubes = [int(cube.rpartition("cube")[2]) for cube in map(cube_of, (source, target)) if cube is not None]
    if len(cubes) == 1:
        assert io is not None
        fed = next((cube for cube in io.cubes if cube % columns == cubes[0] % columns), io.cubes[0])
        cubes.insert(0 if cube_of(source) is None else 1, fed)
    (row, column), (end_row, end_column) = (divmod(cube, columns) for cube in cubes)
    step = 1 if end_column > column else -1
    way = [row * columns + c for c in range(column, end_column, step)]
    step = 1 if end_row > row else -1
    return [*way, *(r * columns + end_column for r in range(row, end_row, step)), cubes[-1]]
