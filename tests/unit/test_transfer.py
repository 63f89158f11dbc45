"""Closed-form transfer times: the published figures, and the closed form against the flit-by-flit recursion."""

from __future__ import annotations

from fractions import Fraction

import pytest
from ahbmc.backend_sim.engine.network import Network
from ahbmc.backend_sim.engine.way import Way
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.backend_sim.target.quantities import Rate, round_half_up, service_ps
from ahbmc.backend_sim.target.routing import route
from ahbmc.backend_sim.target.topology import Edge
from ahbmc.backend_sim.target.transfer import (
    bottleneck,
    device_to_host_ps,
    empty_ps,
    read_ps,
    send,
    write_ack_ps,
    write_commit_ps,
)
from hypothesis import given
from hypothesis import strategies as st
from support_flits import by_flit

MACHINE = load_machine("ahbm-2sip")
PE0, HOST = "sip0.cube0.pe0.pe_dma", "sip0.io0.pcie_ep"
PROBE = 32 * 1024


@pytest.mark.parametrize(
    ("target", "ns", "overhead_ns", "wire_ns"),
    [
        ("sip0.cube0.hbm_ctrl.0", 141.00, 2, 0.00),
        ("sip0.cube0.hbm_ctrl.1", 147.87, 4, 0.03),
        ("sip0.cube0.hbm_ctrl.4", 161.17, 10, 0.09),
        ("sip0.cube1.hbm_ctrl.0", 330.52, 30, 0.01),
        ("sip0.cube15.hbm_ctrl.0", 677.12, 180, 0.06),
    ],
)
def test_published_probe_of_a_write_with_its_ack(target: str, ns: float, overhead_ns: int, wire_ns: float) -> None:
    """32 KiB of PE 0 into five slices, with the overhead and wire columns of the published table."""
    assert write_ack_ps(MACHINE, PROBE, PE0, target) == round(ns * 1000)
    way = route(MACHINE, PE0, target)
    assert sum(edge.overhead_ps for edge in way) == overhead_ns * 1000
    assert abs(sum(edge.wire_ps for edge in way) - wire_ns * 1000) <= 5  # printed with two decimals


@pytest.mark.parametrize(("cube", "h2d", "d2h"), [(0, 289.535, 571.205), (4, 326.045, 635.725), (12, 399.065, 764.765)])
def test_published_transfers_of_the_host(cube: int, h2d: float, d2h: float) -> None:
    """Host to device ends at the commit; device to host drains a second time."""
    target = f"sip0.cube{cube}.hbm_ctrl.0"
    assert write_commit_ps(MACHINE, PROBE, HOST, target) == round(h2d * 1000)
    assert device_to_host_ps(MACHINE, PROBE, HOST, target) == round(d2h * 1000)


@pytest.mark.parametrize(
    ("size", "ns"), [(128, 51.58), (256, 54.08), (384, 55.08), (1024, 60.08), (4096, 84.08), (10240, 132.08)]
)
def test_published_raw_pe_to_pe(size: int, ns: float) -> None:
    """Two commands of 9 cycles, two entries, a read of the own slice and a write into the neighbour's."""
    read = read_ps(MACHINE, size, PE0, "sip0.cube0.hbm_ctrl.0")
    write = write_ack_ps(MACHINE, size, PE0, "sip0.cube0.hbm_ctrl.1")
    assert 2 * (9000 + 1510) + read + write == round(ns * 1000)


@pytest.mark.parametrize("size", [256, 512, 4096, 4100, 32768])
def test_the_own_slice_takes_its_bytes_and_13_ns(size: int) -> None:
    """Reads and writes of at least a flit: n / 256 + 13 ns."""
    expected = round_half_up(Fraction(size * 1000, 256)) + 13000
    assert abs(read_ps(MACHINE, size, PE0, "sip0.cube0.hbm_ctrl.0") - expected) <= 1
    assert abs(write_ack_ps(MACHINE, size, PE0, "sip0.cube0.hbm_ctrl.0") - expected) <= 1


@pytest.mark.parametrize("size", [100, 256, 4100, 32768])
def test_a_slow_slice_takes_its_own_time(size: int) -> None:
    """A slice of 64 GB/s behind links of 256: the write that the engine models, held by the slice from its head on."""
    slow = load_machine("ahbm-2sip", ["hbm.channel_gb_per_s=8"])
    target = "sip0.cube0.hbm_ctrl.1"
    network = Network(slow)
    _, last, held, _ = Way(network, 0, network.slice_of(1)).write(size)
    way = route(slow, PE0, target)
    head = send(slow, size, way).first - way[-1].flit_ps(min(size, 256))
    assert write_commit_ps(slow, size, PE0, target) == max(last, head + held) + slow.hbm.burst_ps
    assert head + held > last


def test_the_slowest_edge_is_the_bottleneck() -> None:
    """128 GB/s over a port's connection, 256 within the cube."""
    assert bottleneck(route(MACHINE, PE0, "sip0.cube0.hbm_ctrl.4")) == 256
    assert bottleneck(route(MACHINE, PE0, "sip0.cube1.hbm_ctrl.0")) == 128


def test_a_transfer_to_the_host_drains_at_the_slice_if_that_is_slowest() -> None:
    """A slice of 8 GB/s: its bytes pass it once for the read, and a second time at its rate at the host."""
    slow, target = load_machine("ahbm-2sip", ["hbm.channel_gb_per_s=1"]), "sip0.cube0.hbm_ctrl.0"
    read = read_ps(slow, PROBE, HOST, target)
    assert device_to_host_ps(slow, PROBE, HOST, target) == read + 5000 + PROBE * 1000 // 8
    assert device_to_host_ps(slow, PROBE, HOST, target) > write_commit_ps(slow, PROBE, HOST, target)


def test_the_physical_routing_differs_as_documented() -> None:
    """Best case 331.80 ns; the worst within 0.01% of 635.40 ns."""
    xy = load_machine("ahbm-2sip-xy")
    assert write_ack_ps(xy, PROBE, PE0, "sip0.cube1.hbm_ctrl.0") == 331800
    assert abs(write_ack_ps(xy, PROBE, PE0, "sip0.cube15.hbm_ctrl.0") - 635400) < 64


rates = st.sampled_from([Rate(64), Rate(128), Rate(256), Rate(512), Rate(768), Rate(100, 3), None])


def edge(overhead_ps: int, gb_per_s: Rate | None, wire_ps: int, whole: bool) -> Edge:
    """An edge between any two nodes."""
    return Edge("a", "b", overhead_ps, gb_per_s, Fraction(0), wire_ps, whole)


edges = st.builds(edge, st.integers(0, 9000), rates, st.integers(0, 90), st.booleans())


@given(st.integers(1, 5000), st.lists(edges, min_size=1, max_size=8), st.sampled_from([None, Rate(256), Rate(40)]))
def test_the_closed_form_equals_the_recursion(size: int, way: list[Edge], ready: Rate | None) -> None:
    """To the picosecond, on any path, whole and partial flits, also from a source that delivers flit by flit."""
    assert send(MACHINE, size, tuple(way), ready).last == by_flit(size, MACHINE.noc.flit_bytes, way, ready)


def test_an_empty_message_pays_overhead_and_wire() -> None:
    """Request and ack of the own slice: 0 and 2 ns."""
    assert empty_ps(route(MACHINE, PE0, "sip0.cube0.hbm_ctrl.0")) == 2000


@given(st.integers(0, 1 << 40), st.fractions(min_value=Fraction(1, 1000), max_value=100000, max_denominator=1000))
def test_services_round_half_up(size: int, rate: Fraction) -> None:
    """The integer form equals rounding the exact quotient."""
    assert service_ps(size, rate) == round_half_up(Fraction(size * 1000) / rate)
