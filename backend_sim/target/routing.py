"""Routes: which edges a message takes. The machine's `routing` chooses between two rules; both are deterministic.

Same cube, under either rule: least wire over the cube's routers alone.

`min_wire` (as published): least wire over the whole SIP, by Dijkstra's algorithm with a heap ordered by (distance, node
name) in which only a strictly shorter way replaces a parent. Its quirk: connections of a port are 0 mm long, so ports
become free passages from one corner of a cube to another (`r0c0 > N > r0c5 > E`). The published figures need it.

`xy` (physical): the cubes along the row first, then along the column; least wire inside the cubes on that way, and a
port is passed only to leave the cube.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from ...dialects.errors import Category, fail
from .machine import Machine
from .topology import Edge, Graph, cube_graph, cube_of, is_end, sip_graph, sip_of

Route = tuple[Edge, ...]


@lru_cache(maxsize=65536)
def route(machine: Machine, source: str, target: str) -> Route:
    """The edges from `source` to `target`. Raises AhbmcError if either is no node or no way leads there."""
    for name in (source, target):
        if not name.startswith("sip") or name not in _graph_with(machine, name).nodes:
            raise fail(f"machine {machine.name} has no node `{name}`", hint="for example sip0.cube0.pe0.pe_dma")
    if sip_of(source) != sip_of(target):
        return _over_switch(machine, source, target)
    cube, other = cube_of(source), cube_of(target)
    if cube is not None and cube == other:
        return _least_wire(cube_graph(machine, cube), source, target, lambda edge: _is_router(edge.target))
    graph = sip_graph(machine, sip_of(source))
    if machine.routing == "min_wire":
        return _least_wire(graph, source, target, lambda edge: True)
    return _least_wire(graph, source, target, _xy_filter(machine, source, target))


def _graph_with(machine: Machine, node: str) -> Graph:
    """The graph in which `node` must be: that of its cube, which is built sixteen times faster, or that of its SIP."""
    sip = _checked_sip(machine, node)
    cube = cube_of(node)
    if cube is not None and cube in (f"sip{sip}.cube{number}" for number in range(machine.cubes_per_sip)):
        return cube_graph(machine, cube)
    return sip_graph(machine, sip)


def _is_router(node: str) -> bool:
    return node.rpartition(".")[2][0] == "r"


def _checked_sip(machine: Machine, name: str) -> int:
    text = name.partition(".")[0].removeprefix("sip")
    if not text.isdigit() or int(text) >= machine.sips:
        raise fail(f"machine {machine.name} has no SIP `sip{text}`; it has sip0 to sip{machine.sips - 1}")
    return int(text)


def _over_switch(machine: Machine, source: str, target: str) -> Route:
    """Between SIPs: to the pcie_ep, over the switch, and from the other pcie_ep on."""
    a, b = (f"sip{sip_of(name)}.io0.pcie_ep" for name in (source, target))
    up = sip_graph(machine, sip_of(source)).edges[a]["switch"]
    down = sip_graph(machine, sip_of(target)).edges["switch"][b]
    head = route(machine, source, a) if source != a else ()
    return (*head, up, down, *(route(machine, b, target) if target != b else ()))


def _least_wire(graph: Graph, source: str, target: str, allowed: Callable[[Edge], bool]) -> Route:
    """Least wire over `allowed` edges; ends are not passed. Equal distances: the first parent found stays."""
    distance, parent, done = {source: 0}, dict[str, str](), set[str]()
    heap = [(0, source)]
    while heap:
        length, node = heapq.heappop(heap)
        if node == target:
            return _walk_back(graph, parent, source, target)
        if node in done or (node != source and is_end(node)):
            continue
        done.add(node)
        for next_node, step in graph.lengths[node].items():
            if not (next_node == target or allowed(graph.edges[node][next_node])):
                continue
            if next_node not in distance or length + step < distance[next_node]:
                distance[next_node] = length + step
                parent[next_node] = node
                heapq.heappush(heap, (length + step, next_node))
    raise fail(f"no way leads from {source} to {target}", category=Category.UNSUPPORTED)


def _walk_back(graph: Graph, parent: dict[str, str], source: str, target: str) -> Route:
    edges: list[Edge] = []
    node = target
    while node != source:
        edges.append(graph.edges[parent[node]][node])
        node = parent[node]
    return tuple(reversed(edges))


def _xy_filter(machine: Machine, source: str, target: str) -> Callable[[Edge], bool]:
    """The edges of the cubes on the way row first, then column, with each port open in the way's direction alone."""
    way = _cubes_on_the_way(machine, source, target)
    cubes, crossings = set(way), set(_crossings(machine, source, target, way))
    leaving, entering = {a for a, _ in crossings}, {b for _, b in crossings}

    def allowed(edge: Edge) -> bool:
        a, b = edge.source, edge.target
        out_of, into = _port_of(a), _port_of(b)
        if out_of is None and into is None:
            return ".io0." in b or cube_of(b) in cubes
        if out_of == into or out_of is None or into is None:  # within a port, or between it and a router or the IO
            outward = b == into or out_of is None
            if ".io0." not in a and ".io0." not in b:
                return into in leaving if outward else out_of in entering
        return (a, b) in crossings

    return allowed


def _cubes_on_the_way(machine: Machine, source: str, target: str) -> list[str]:
    """The cubes from `source` to `target`; the IO chiplet stands for the cube it feeds in the other end's column."""
    columns, sip = machine.sip.cubes[1], source.partition(".")[0]
    ends = [int(cube.rpartition("cube")[2]) if (cube := cube_of(node)) else None for node in (source, target)]
    if None in ends:
        assert machine.sip.io is not None
        fed = machine.sip.io.cubes
        other = next((cube for cube in ends if cube is not None), fed[0])
        port = next((cube for cube in fed if cube % columns == other % columns), fed[0])
        ends = [port if cube is None else cube for cube in ends]
    (row, column), (end_row, end_column) = (divmod(cube, columns) for cube in ends if cube is not None)
    step = 1 if end_column > column else -1
    way = [(row, c) for c in range(column, end_column, step)]
    step = 1 if end_row > row else -1
    way += [(r, end_column) for r in range(row, end_row, step)] + [(end_row, end_column)]
    return [f"{sip}.cube{r * columns + c}" for r, c in way]


def _crossings(machine: Machine, source: str, target: str, way: list[str]) -> Iterator[tuple[str, str]]:
    """The pairs (port left, port entered) between the cubes of `way`, and between them and the IO chiplet."""
    columns, sip = machine.sip.cubes[1], source.partition(".")[0]
    sides = {1: ("e", "w"), -1: ("w", "e"), columns: ("s", "n"), -columns: ("n", "s")}
    for a, b in pairwise(way):
        step = int(b.rpartition("cube")[2]) - int(a.rpartition("cube")[2])
        left, entered = ("s", "n") if columns == 1 and step == 1 else sides[step]
        yield f"{a}.ucie_{left}", f"{b}.ucie_{entered}"
    for end, cube, inward in ((source, way[0], True), (target, way[-1], False)):
        if cube_of(end) is None and machine.sip.io is not None:
            i = machine.sip.io.cubes.index(int(cube.rpartition("cube")[2]))
            pair = (f"{sip}.io0.io_ucie{i}", f"{cube}.ucie_n")
            yield pair if inward else (pair[1], pair[0])


def _port_of(node: str) -> str | None:
    """The cube port that `node` is or is a connection of."""
    head, dot, tail = node.partition(".ucie_")
    return f"{head}.ucie_{tail.partition('.')[0]}" if dot else None
