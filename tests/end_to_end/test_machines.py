"""Machines that nobody has built: any mesh, hole, bandwidth and topology routes, probes and runs a kernel.

Each draw is a machine file like a user's, a base with changes. The draws are the same in every run; raise
`max_examples` and drop `derandomize` to search.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import ahbmc
import numpy as np
import pytest
from ahbmc.backend_sim.target.machine import Machine
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.backend_sim.target.routing import Route, route
from ahbmc.backend_sim.target.topology import inter_sip_graph, is_end, pe_name, pe_node, sip_graph, sip_of, slice_node
from ahbmc.backend_sim.target.transfer import read_ps, send, write_ack_ps
from ahbmc.driver.main import main
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support_flits import by_flit

EXAMPLES = settings(
    max_examples=60,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
ROOT = Path(__file__).parents[2]
VECTOR_ADD = ahbmc.load(ROOT / "examples" / "vector_add.py").vector_add_kernel
MOVE = ahbmc.load(ROOT / "bench" / "move.py").move_kernel

RATES = ("1/3", 7, 33.3, 64, 128, 256, "1000/7", 768)
OVERHEADS = (0, 1, 999, 2000, 8001)
LENGTHS = (0, "1/3", 1, 70)


def positions(random: Random) -> list[str]:
    """Rising positions of 1 to 6 routers, in odd fractions of a mm."""
    steps = [random.randint(1, 20) for _ in range(random.randint(1, 6))]
    return [f"{sum(steps[: i + 1])}/7" for i in range(len(steps))]


def joined(routers: set[tuple[int, int]]) -> bool:
    """Whether each router can reach each other over those of its row and its column."""
    reached, more = set[tuple[int, int]](), {min(routers)}
    while more:
        reached |= more
        more = {a for a in routers - reached if any(a[0] == b[0] or a[1] == b[1] for b in more)}
    return reached == routers


def mesh(random: Random) -> tuple[dict[str, Any], list[str]]:
    """A mesh of 1 x 1 to 6 x 6 with a hole that does not cut it, and the routers that are left."""
    rows, columns = positions(random), positions(random)
    routers = {(r, c) for r in range(len(rows)) for c in range(len(columns))}
    missing: list[str] = []
    for hole in random.sample(sorted(routers), random.randint(0, len(routers) // 3)):
        if joined(routers - {hole}):
            routers.remove(hole)
            missing.append(f"r{hole[0]}c{hole[1]}")
    found = {"rows_mm": rows, "columns_mm": columns, "missing": missing}
    found |= {"router_overhead_ps": random.choice(OVERHEADS), "gb_per_s": random.choice(RATES)}
    return found, [f"r{r}c{c}" for r, c in sorted(routers)]


def cube(random: Random) -> dict[str, Any]:
    """A cube: 1 to 8 PEs, of which several may share a router, and ports of 1 to 4 connections."""
    found, routers = mesh(random)
    sides = {side: random.sample(routers, random.randint(1, min(4, len(routers)))) for side in "nesw"}
    ucie = {"overhead_ps": random.choice(OVERHEADS), "connection_gb_per_s": random.choice(RATES), **sides}
    m_cpu = {"router": random.choice(routers), "overhead_ps": random.choice(OVERHEADS)}
    return {
        "mesh": found,
        "pes": random.choices(routers, k=random.randint(1, 8)),
        "pe_gb_per_s": random.choice(RATES),
        "slice_gb_per_s": random.choice(RATES),
        "m_cpu": random.choice((None, m_cpu)),
        "sram": random.choice((None, {"router": random.choice(routers)})),
        "ucie": ucie,
    }


def sips(random: Random) -> dict[str, Any]:
    """1 to 6 SIPs in any topology, each of 1 x 1 to 5 x 3 cubes."""
    rows, columns, count = random.randint(1, 5), random.randint(1, 3), random.randint(1, 6)
    topology = random.choice(("switch", "ring", "mesh", "torus"))
    grids = [[r, count // r] for r in range(1, count + 1) if count % r == 0]
    io = {"cubes": random.sample(range(columns), random.randint(1, columns))}
    return {
        "sips": count,
        "sip": {
            "cubes": [rows, columns],
            "cube_link": {"gb_per_s": random.choice(RATES), "mm": random.choice(LENGTHS)},
            "io": io if count > 1 else random.choice((None, io)),
        },
        "inter_sip": {
            "topology": topology,
            "grid": random.choice(grids) if topology in ("mesh", "torus") else None,
            "link": {"gb_per_s": random.choice(RATES), "mm": random.choice(LENGTHS)},
            "switch_overhead_ps": random.choice(OVERHEADS),
            "store_and_forward": random.choice((True, False)),
        },
    }


def machine_file(random: Random) -> str:
    """The text of a machine file on top of the default machine."""
    found = {"base": "ahbm-2sip", "routing": random.choice(("min_wire", "xy")), **sips(random), "cube": cube(random)}
    found["hbm"] = {"channels": random.choice((1, 3, 8)), "channel_gb_per_s": random.choice(RATES)}
    found["noc"] = {
        "flit_bytes": random.choice((64, 256)),
        "packet_bytes": random.choice((256, 2048, 4096)),
        "channels": random.choice((1, 2)),
        "serial_routers": random.choice((False, True)),
        "ps_per_mm": random.choice((0, 10, "31/3")),
    }
    return json.dumps(found, indent=1)


def loaded(text: str, folder: Path, name: str) -> Machine:
    """The machine of a file with this text."""
    (folder / f"{name}.yaml").write_text(text)
    return load_machine(f"{name}.yaml", folder=folder)


def some_nodes(machine: Machine) -> list[str]:
    """First and last PE and slice, one in the middle, and the hosts of the first and the last SIP."""
    numbers = sorted({0, machine.pes // 2, machine.pes - 1})
    nodes = [node(machine, pe) for pe in numbers for node in (pe_node, slice_node)]
    if machine.sip.io is not None:
        nodes += [f"sip{sip}.io0.pcie_ep" for sip in sorted({0, machine.sips - 1})]
    return nodes


def wire(way: Route) -> Fraction:
    """Length of a way in mm."""
    return sum((edge.mm for edge in way), Fraction(0))


def check_way(machine: Machine, way: Route, source: str, target: str) -> None:
    """From end to end over edges that the machine has, passing no node twice and through no end but pcie_eps."""
    nodes = [way[0].source, *(edge.target for edge in way)]
    assert (nodes[0], nodes[-1], len(set(nodes))) == (source, target, len(nodes))
    assert all(a.target == b.source for a, b in pairwise(way))
    crosses = sip_of(source) != sip_of(target)
    assert all(not is_end(node) or (crosses and node.endswith(".pcie_ep")) for node in nodes[1:-1])
    for edge in way:
        between = "switch" in edge.source or "switch" in edge.target
        graph = inter_sip_graph(machine) if between else sip_graph(machine, sip_of(edge.source))
        assert graph.edges[edge.source][edge.target] == edge


@EXAMPLES
@given(random=st.randoms(use_true_random=True))
def test_every_machine_routes_probes_and_runs_a_kernel(
    random: Random, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ways there and back, the same of a second reading; least wire is least; the closed form; every probe with its
    invariants; and a kernel on the first and the last PE, its arrays in the slice of the first.
    """
    text, size = machine_file(random), random.randint(1, 20_000)
    machine, again = loaded(text, tmp_path, "drawn"), loaded(text, tmp_path, "again")
    least, physical = (load_machine("drawn.yaml", [f"routing={name}"], tmp_path) for name in ("min_wire", "xy"))
    nodes, flit = some_nodes(machine), machine.noc.flit_bytes
    for source, target in ((a, b) for a in nodes for b in nodes if a != b):
        way = route(machine, source, target)
        check_way(machine, way, source, target)
        assert way == route(again, source, target)
        assert wire(route(least, source, target)) <= wire(route(physical, source, target))
        assert send(machine, size, way).last == by_flit(size, flit, way, None)
    status = main(["probe", "--machine", str(tmp_path / "drawn.yaml"), "--json", "-"])
    printed = capsys.readouterr()
    assert (status, printed.err) == (0, "")
    assert all(row["latency_ns"] > 0 for row in json.loads(printed.out))
    a, b, c = (np.arange(300, dtype=np.float32) + i for i in range(3))
    pes = sorted({pe_name(machine, pe) for pe in (0, machine.pes - 1)})
    result = VECTOR_ADD[2,](a, b, c, 300, BLOCK_SIZE=256, machine=str(tmp_path / "drawn.yaml"), map={"pes": pes})
    assert np.array_equal(c, a + b)
    assert result.latency_ns > 0


@EXAMPLES
@given(random=st.randoms(use_true_random=True))
def test_a_message_alone_takes_what_the_closed_form_says(random: Random, tmp_path: Path) -> None:
    """A read and a write of the engine, from any PE to the slice of any PE, with packets of any size."""
    machine, count = loaded(machine_file(random), tmp_path, "drawn"), random.randint(1, 5000)
    pe, owner, size = random.randrange(machine.pes), random.randrange(machine.pes), 4 * count
    cube, slice_ = divmod(owner, machine.pes_per_cube)
    sip, cube = divmod(cube, machine.cubes_per_sip)
    there = {"sip_start": sip, "cube_start": cube, "pe_start": slice_, "num_sips": 1, "num_cubes": 1, "num_pes": 1}
    place = dict.fromkeys(("source_ptr", "target_ptr"), there)
    source, target = np.arange(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
    options = {"machine": str(tmp_path / "drawn.yaml"), "map": {"pes": pe_name(machine, pe)}}
    oplog = MOVE[1,](source, target, ELEMENTS=count, pipeline="primitive", place=place, **options).oplog
    assert np.array_equal(source, target)
    took: dict[str, int] = {}
    for row, site in enumerate(oplog.records["site"]):
        took[oplog.sites[int(site)].kind] = int(oplog.records["end"][row] - oplog.records["start"][row])
    near, far = pe_node(machine, pe), slice_node(machine, owner)
    assert took["dma_read"] == read_ps(machine, size, near, far)
    assert took["dma_write"] == write_ack_ps(machine, size, near, far)
