"""Graph and routes: geometry of the shipped machine, both routing rules, and machines of other shapes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.backend_sim.target.routing import route
from ahbmc.backend_sim.target.topology import mesh_links, pe_node, sip_graph, slice_node
from ahbmc.dialects.errors import AhbmcError

DEFAULT, XY, TINY = (load_machine(name) for name in ("ahbm-2sip", "ahbm-2sip-xy", "tiny"))
PE0 = "sip0.cube0.pe0.pe_dma"


def nodes(machine: object, source: str, target: str) -> list[str]:
    """The nodes after `source`, without the prefix that all of them share."""
    return [edge.target for edge in route(machine, source, target)]  # pyright: ignore[reportArgumentType] (fixture)


def test_the_mesh_goes_over_its_hole() -> None:
    """32 routers, 52 links; the four long ones are 8 and 6 mm."""
    links = list(mesh_links(DEFAULT))
    assert len(links) == 52
    assert {a for a, _, _ in links} | {b for _, b, _ in links} == {
        f"r{r}c{c}" for r in range(6) for c in range(6) if not (r in (2, 3) and c in (2, 3))
    }
    long = [(a, b, mm) for a, b, mm in links if mm > 3]
    assert long == [("r2c1", "r2c4", 8), ("r3c1", "r3c4", 8), ("r1c2", "r4c2", 6), ("r1c3", "r4c3", 6)]
    assert sum((mm for _, _, mm in links), Fraction(0)) == 150


def test_nodes_carry_the_overheads_of_the_machine() -> None:
    """Routers 2 ns, ports 8 ns, M_CPU 5 ns; DMA, slices and connections nothing."""
    overhead = sip_graph(DEFAULT, 0).nodes
    assert overhead["sip0.cube10.r0c0"] == 2000
    assert overhead["sip0.cube0.ucie_n"] == 8000
    assert overhead["sip0.cube0.m_cpu"] == 5000
    assert overhead["sip0.io0.pcie_ep"] == 5000
    assert {overhead[n] for n in (PE0, "sip0.cube0.hbm_ctrl.0", "sip0.cube0.ucie_n.conn0", "sip0.cube0.sram")} == {0}


def test_every_edge_has_its_reverse() -> None:
    """Links are pairs of directed edges of one rate and length."""
    edges = sip_graph(DEFAULT, 1).edges
    for a, targets in edges.items():
        for b, edge in targets.items():
            assert (edges[b][a].gb_per_s, edges[b][a].mm) == (edge.gb_per_s, edge.mm)


def test_the_own_slice_is_one_router_away() -> None:
    """PE 0 to its slice: over r0c0 alone; numbers of PEs run over cubes and SIPs."""
    assert nodes(DEFAULT, PE0, slice_node(DEFAULT, 0)) == ["sip0.cube0.r0c0", "sip0.cube0.hbm_ctrl.0"]
    assert pe_node(DEFAULT, 128 + 8 + 3) == "sip1.cube1.pe3.pe_dma"
    assert slice_node(DEFAULT, 255) == "sip1.cube15.hbm_ctrl.7"


def test_within_a_cube_only_routers_are_passed() -> None:
    """The way to the far corner never takes a port, under either rule."""
    for machine in (DEFAULT, XY):
        way = nodes(machine, PE0, "sip0.cube0.hbm_ctrl.7")
        assert not any("ucie" in node for node in way)
        assert sum(edge.mm for edge in route(machine, PE0, "sip0.cube0.hbm_ctrl.7")) == 25


def test_min_wire_passes_through_ports_and_xy_does_not() -> None:
    """The published quirk: a port as a free passage from r0c0 to r0c5."""
    quirk = nodes(DEFAULT, PE0, "sip0.cube1.hbm_ctrl.0")
    assert quirk[:5] == [f"sip0.cube0.{n}" for n in ("r0c0", "ucie_n.conn0", "ucie_n", "ucie_n.conn3", "r0c5")]
    clean = nodes(XY, PE0, "sip0.cube1.hbm_ctrl.0")
    assert [n for n in clean if n.endswith(("ucie_n", "ucie_e", "ucie_s", "ucie_w"))] == [
        "sip0.cube0.ucie_e",
        "sip0.cube1.ucie_w",
    ]


def test_xy_goes_along_the_row_first() -> None:
    """From cube 0 to cube 15: cubes 1, 2, 3, then 7, 11, 15."""
    cubes = [node.split(".")[1] for node in nodes(XY, PE0, "sip0.cube15.hbm_ctrl.0")]
    assert list(dict.fromkeys(cubes)) == [f"cube{c}" for c in (0, 1, 2, 3, 7, 11, 15)]
    back = [node.split(".")[1] for node in nodes(XY, "sip0.cube15.hbm_ctrl.0", PE0)]
    assert list(dict.fromkeys(back)) == [f"cube{c}" for c in (15, 14, 13, 12, 8, 4, 0)]


def test_xy_from_the_host_enters_in_the_column_of_its_target() -> None:
    """The IO port above the column, then down."""
    way = nodes(XY, "sip0.io0.pcie_ep", "sip0.cube6.hbm_ctrl.0")
    assert "sip0.io0.io_ucie2" in way
    assert list(dict.fromkeys(n.split(".")[1] for n in way)) == ["io0", "cube2", "cube6"]


def test_xy_in_a_column_of_cubes_and_in_a_row_of_two() -> None:
    """Meshes one cube wide, where a step of 1 is a step down."""
    column = load_machine("ahbm-2sip-xy", ["sips=1", "inter_sip=null", "sip.cubes=[3, 1]", "sip.io=null"])
    assert "sip0.cube1.ucie_n" in nodes(column, PE0, "sip0.cube2.hbm_ctrl.0")
    row = load_machine("ahbm-2sip-xy", ["sips=1", "inter_sip=null", "sip.cubes=[1, 2]", "sip.io=null"])
    assert "sip0.cube1.ucie_w" in nodes(row, PE0, "sip0.cube1.hbm_ctrl.0")


def test_between_sips_the_way_leads_over_the_switch() -> None:
    """Out at one pcie_ep and in at the other."""
    way = nodes(DEFAULT, PE0, "sip1.cube3.hbm_ctrl.2")
    assert way.index("sip0.io0.pcie_ep") + 1 == way.index("switch") == way.index("sip1.io0.pcie_ep") - 1


def test_endpoints_between_sips_store_and_forward() -> None:
    """Both pcie_eps on the way send on when they have all, as `inter_sip.store_and_forward` says; nothing else does."""
    way = route(DEFAULT, PE0, "sip1.cube3.hbm_ctrl.2")
    assert [edge.source for edge in way if edge.whole] == ["sip0.io0.pcie_ep", "sip1.io0.pcie_ep"]
    cut_through = load_machine("ahbm-2sip", ["inter_sip.store_and_forward=false"])
    assert not any(edge.whole for edge in route(cut_through, PE0, "sip1.cube3.hbm_ctrl.2"))


def test_a_machine_of_one_router() -> None:
    """No link at all: PEs and slices hang at one router."""
    machine = load_machine(
        "tiny",
        [
            "cube.mesh={rows_mm: [1], columns_mm: [1], missing: [], router_overhead_ps: 0, gb_per_s: 1}",
            "cube.pes=[r0c0]",
        ],
    )
    assert nodes(machine, PE0, "sip0.cube0.hbm_ctrl.0") == ["sip0.cube0.r0c0", "sip0.cube0.hbm_ctrl.0"]


@pytest.mark.parametrize("name", ["sip0.cube0.pe9.pe_dma", "sip7.cube0.r0c0", "pe0", "sipx.cube0"])
def test_a_node_that_is_not_there(name: str) -> None:
    """Neither a source nor a target may be unknown."""
    with pytest.raises(AhbmcError, match="has no"):
        route(TINY, PE0, name)
    with pytest.raises(AhbmcError, match="has no"):
        route(TINY, name, PE0)
