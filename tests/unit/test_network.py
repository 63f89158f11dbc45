"""The network: exact against the flit-by-flit oracle and the closed form; contention, channels, workers, rollback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from ahbmc.backend_sim.analysis.attribution import attribute
from ahbmc.backend_sim.engine import execute
from ahbmc.backend_sim.engine.commands import Command
from ahbmc.backend_sim.engine.flight import Flight, uniform
from ahbmc.backend_sim.engine.network import Network
from ahbmc.backend_sim.engine.traffic import Message, deliver
from ahbmc.backend_sim.oplog import OpLog
from ahbmc.backend_sim.target.machine import Machine
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.backend_sim.target.quantities import service_ps
from ahbmc.backend_sim.target.routing import route
from ahbmc.backend_sim.target.topology import pe_node, slice_node
from ahbmc.backend_sim.target.transfer import empty_ps, send
from hypothesis import given, settings
from hypothesis import strategies as st
from support_engine import MACHINE, Gemm, read, run, write
from support_network import deliver_flits

FLITS = load_machine("ahbm-2sip", ["noc.packet_bytes=256"])
SERIAL = load_machine("ahbm-2sip", ["noc.packet_bytes=256", "noc.serial_routers=true"])
# Odd rates, so that every service is rounded, and links that are slower, faster, and slower again.
ODD = load_machine(
    "ahbm-2sip-xy",
    [
        "noc.packet_bytes=256",
        "cube.mesh.gb_per_s=77/3",
        "cube.pe_gb_per_s=100.7",
        "cube.ucie.connection_gb_per_s=33",
        "sip.cube_link={gb_per_s: 1000/7, mm: 3}",
    ],
)
TORUS = load_machine("ahbm-6sip-torus", ["noc.packet_bytes=256"])
SHAPES = {"published": FLITS, "serial routers": SERIAL, "odd": ODD}
A, B = (0, 100), (100, 200)

sizes = st.sampled_from([1, 100, 256, 257, 1000, 4096, 5000, 32768])


def node(machine: Machine, pe: int, *, is_slice: bool) -> str:
    return slice_node(machine, pe) if is_slice else pe_node(machine, pe)


@st.composite
def traffic(draw: st.DrawFn, pes: Sequence[int], most: int = 12) -> list[Message]:
    """Messages from PEs to slices and from slices to PEs."""
    found: list[Message] = []
    for _ in range(draw(st.integers(2, most))):
        a, b, back = draw(st.sampled_from(pes)), draw(st.sampled_from(pes)), draw(st.booleans())
        ends = node(MACHINE, a, is_slice=back), node(MACHINE, b, is_slice=not back)
        found.append(Message(draw(st.integers(0, 60_000)), *ends, draw(sizes), draw(st.sampled_from([0, 1000, 7000]))))
    return sorted(found, key=lambda message: message.time_ps)


def in_turn(messages: Sequence[Message]) -> list[Message]:
    """Without those that would leave a source before all of an earlier one is ready there."""
    free: dict[str, int] = {}
    found: list[Message] = []
    for message in messages:
        if message.time_ps >= free.get(message.source, 0):
            found.append(message)
            free[message.source] = message.time_ps + message.size // 256 * message.gap_ps
    return found


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=60, deadline=None)
@given(messages=traffic(range(8)))
def test_packets_of_a_flit_are_the_oracle_within_a_cube(shape: str, messages: list[Message]) -> None:
    """Every arrival to the picosecond, whatever contends with what."""
    machine, messages = SHAPES[shape], in_turn(messages)
    assert deliver(machine, messages) == deliver_flits(machine, messages)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=25, deadline=None)
@given(messages=traffic(range(128)))
def test_packets_of_a_flit_are_the_oracle_between_cubes(shape: str, messages: list[Message]) -> None:
    """The same over ports and the links between cubes."""
    machine, messages = SHAPES[shape], in_turn(messages)
    assert deliver(machine, messages) == deliver_flits(machine, messages)


@pytest.mark.parametrize("machine", [FLITS, TORUS])
@settings(max_examples=30, deadline=None)
@given(messages=traffic([0, 1, 8, 128, 129, 136]))
def test_packets_of_a_flit_are_the_oracle_between_sips(machine: Machine, messages: list[Message]) -> None:
    """The same where endpoints store and forward, in the order in which messages are complete."""
    messages = in_turn(messages)
    assert deliver(machine, messages) == deliver_flits(machine, messages)


def test_who_waits_for_a_long_message_lets_others_pass() -> None:
    """A node stores 4096 B that it will send on; meanwhile one byte that came later goes its own way."""
    messages = [
        Message(2, "sip0.cube0.pe4.pe_dma", "sip2.cube2.hbm_ctrl.3", 4096, 1000),
        Message(6267, "sip3.cube15.hbm_ctrl.4", "sip0.cube1.pe4.pe_dma", 1),
        Message(17302, "sip5.cube2.hbm_ctrl.1", "sip0.cube1.pe7.pe_dma", 100),
    ]
    assert deliver(TORUS, messages) == deliver_flits(TORUS, messages)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 255), st.integers(0, 255), sizes, st.sampled_from([0, 1000]), st.sampled_from(list(SHAPES)))
def test_alone_a_message_takes_the_closed_form(a: int, b: int, size: int, gap: int, shape: str) -> None:
    """Whatever its packets: of 256 B, and of 4096 B."""
    for machine in (SHAPES[shape], load_machine("ahbm-2sip")):
        ends = pe_node(machine, a), slice_node(machine, b)
        rate = machine.hbm.slice_gb_per_s if gap else None
        expected = send(machine, size, route(machine, *ends), rate).last
        assert deliver(machine, [Message(5, *ends, size, gap)]) == [5 + expected]


def test_two_flows_share_a_link_and_incast_its_last() -> None:
    """Two messages of 32 KiB to one PE take the time of 64 KiB there, seven the time of 224 KiB, with any packets."""
    for machine in (MACHINE, load_machine("ahbm-2sip", ["noc.packet_bytes=2048"]), FLITS):
        for count in (2, 7):
            messages = [Message(0, slice_node(machine, i + 1), pe_node(machine, 0), 32768) for i in range(count)]
            last = max(deliver(machine, messages))
            assert 0 <= last - count * 128_000 < 40_000
            assert abs(last - max(deliver_flits(machine, messages))) <= 0.002 * last


def test_messages_between_pes_have_a_channel_apart() -> None:
    """With one channel a message of a PE waits behind 32 KiB of data; with two it does not."""
    data, message = (
        ("sip0.cube0.hbm_ctrl.0", "sip0.cube0.pe1.pe_dma"),
        ("sip0.cube0.pe0.pe_dma", "sip0.cube0.pe1.pe_dma"),
    )
    ends = {}
    for channels in (1, 2):
        machine = load_machine("ahbm-2sip", ["noc.packet_bytes=4096", f"noc.channels={channels}"])
        both = [Message(0, *data, 32768), Message(20_000, *message, 256, ipcq=True)]
        alone = 20_000 + send(machine, 256, route(machine, *message)).last
        ends[channels] = deliver(machine, both)[1] - alone
    assert ends[1] > 10_000 and ends[2] == 0


def test_a_worker_takes_heads_one_after_the_other() -> None:
    """Two heads that meet in a router, each bound for an edge of its own: 2 ns apart with serial routers."""
    ends = ("sip0.cube0.pe0.pe_dma", "sip0.cube0.hbm_ctrl.0"), ("sip0.cube0.hbm_ctrl.0", "sip0.cube0.pe0.pe_dma")
    messages = [Message(0, *way, 256) for way in ends]
    assert deliver(FLITS, messages) == [4000, 4000]
    assert deliver(SERIAL, messages) == [4000, 6000]


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 127),
    st.integers(0, 127),
    sizes,
    st.integers(1, 40),
    st.sampled_from([1, 3000, 16000, 40000]),
    st.sampled_from(["published", "odd"]),
)
def test_equal_messages_are_a_progression(a: int, b: int, size: int, count: int, period: int, shape: str) -> None:
    """Where the edges are free to begin with, one progression gives what message after message does."""
    machine = SHAPES[shape]

    ends: list[int] = []

    class Noted(Flight):
        def arrived(self, time: int) -> None:
            ends.append(time)

    def never(*_: object) -> None:
        raise AssertionError("nothing is ordered")

    links: list[list[tuple[int, int]]] = []
    ways = slice_node(machine, a), pe_node(machine, b)
    for one_by_one in (True, False):
        network = Network(machine)
        leg = network.passage(network.hops(route(machine, *ways)), size)[0]
        holder = Noted(0, (leg,), never, 0)
        if one_by_one:
            for i in range(count):
                Noted(0, (leg,), never, 0).depart(100 + i * period, 1000)
        else:
            found = uniform(leg, 100, 1000, period, count, holder)
            assert found is not None
            assert [found[0] + i * found[1] for i in range(count)] == ends
        links.append([(link.busy, link.tail) for link in network.links.values()])
    assert links[0] == links[1]


def same(fast: OpLog, exact: OpLog) -> None:
    for name in ("pe", "program", "start", "end"):
        assert fast.programs[name].tolist() == exact.programs[name].tolist(), name
    assert attribute(fast).parts == attribute(exact).parts


def streaming(n: int, k: int, owner: int, out_hbm: bool) -> Command:
    return Gemm(32, k, n, owner=owner, out_hbm=out_hbm).command()


def scattered(k: int, owners: Sequence[int]) -> Command:
    """A composite each of whose tiles is read in parts, one from each slice."""
    command = Gemm(64, k, 32).command()
    assert command.tiles is not None and command.tiles.b is not None
    tile = tuple([(owner, 4096 // len(owners), ()) for owner in sorted(owners)])
    b = replace(command.tiles.b, shares=[tile] * (k // 64))
    return replace(command, tiles=replace(command.tiles, b=b))


def programs_on(pes: Sequence[int]) -> st.SearchStrategy[dict[int, list[list[Command]]]]:
    """Programs of some of these PEs that read, write and stream from the slices of others."""
    owner = st.sampled_from(pes)
    commands: st.SearchStrategy[list[Command]] = st.lists(
        st.one_of(
            st.builds(read, st.just(A), sizes, owner=owner, issue=st.sampled_from([9000, 20_000])),
            st.builds(write, st.just(B), sizes, owner=owner, issue=st.sampled_from([9000, 11_000])),
            st.builds(streaming, st.sampled_from([32, 96]), st.sampled_from([64, 256]), owner, st.booleans()),
            st.builds(scattered, st.sampled_from([64, 256]), st.lists(owner, min_size=2, max_size=3, unique=True)),
        ),
        min_size=1,
        max_size=5,
    )
    return st.dictionaries(owner, st.lists(commands, min_size=1, max_size=2), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(programs_on(range(10)))
def test_fast_is_exact_on_any_slices(programs: dict[int, list[list[Command]]]) -> None:
    """PEs of two cubes that read, write and stream from slices of both: all times and the attribution are equal."""
    same(run(programs), run(programs, exact=True))


@pytest.mark.parametrize("machine", [ODD, SERIAL, TORUS], ids=["odd", "serial routers", "torus"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(programs_on([0, 1, 8, 20, 128, 129, 140]))
def test_fast_is_exact_between_sips(machine: Machine, programs: dict[int, list[list[Command]]]) -> None:
    """The same of PEs of two SIPs, whose messages are stored on their way, with packets of a flit."""
    same(run(programs, machine=machine), run(programs, machine=machine, exact=True))


def meeting() -> dict[int, list[list[Command]]]:
    """Four PEs that read from each other's slices at one time, one that keeps to itself."""
    found: dict[int, list[list[Command]]] = {7: [[read(A, 32768, owner=7)]]}
    for pe in range(4):
        found[pe] = [[read(A, 32768, owner=(pe + 1) % 4), write(B, 4096, owner=0)]]
    return found


def test_fast_needs_its_rollback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left as if everybody had been alone, the times are wrong; PE 7 met nobody and is not run again."""
    exact = run(meeting(), exact=True)
    same(run(meeting()), exact)

    def leave(_: Sequence[execute.Together]) -> None:
        return None

    monkeypatch.setattr(execute, "roll_back", leave)
    alone = run(meeting())
    assert alone.latency_ps < exact.latency_ps
    ends = [dict(zip(log.programs["pe"].tolist(), log.programs["end"].tolist(), strict=True)) for log in (alone, exact)]
    assert ends[0][7] == ends[1][7]


def test_who_met_nobody_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group of PE 7 is kept when the others are rolled back."""
    seen: list[tuple[int, ...]] = []
    original = execute.Together.run

    def noted(self: execute.Together, of: execute.Run) -> None:
        seen.append(self.pes)
        original(self, of)

    monkeypatch.setattr(execute.Together, "run", noted)
    run(meeting())
    assert seen == [(0,), (1,), (2,), (3,), (7,), (0, 1, 2, 3)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), sizes, st.integers(0, 40_000)), min_size=2, max_size=8))
def test_reads_of_pes_are_the_oracle(reads: list[tuple[int, int, int, int]]) -> None:
    """One read of each PE: slices take requests in the order of their arrival, ties by PE; their data contend."""
    by_pe = {pe: (owner, size, issue) for pe, owner, size, issue in reads}
    log = run({pe: [[read(A, s, owner=o, issue=i)]] for pe, (o, s, i) in by_pe.items()}, machine=FLITS, exact=True)
    requests: list[tuple[int, int, int, int]] = []
    for pe, (owner, size, issue) in by_pe.items():
        there = empty_ps(route(FLITS, pe_node(FLITS, pe), slice_node(FLITS, owner)))
        requests.append((issue + FLITS.pe.sched.entry_dma_ps + there, pe, owner, size))
    free: dict[int, int] = {}
    messages: dict[int, Message] = {}
    for time, pe, owner, size in sorted(requests):
        start = max(time, free.get(owner, 0))
        free[owner] = start + service_ps(size, FLITS.hbm.slice_gb_per_s)
        messages[pe] = Message(start + 8000, slice_node(FLITS, owner), pe_node(FLITS, pe), size, 1000)
    ordered = dict(sorted(messages.items()))
    expected = dict(zip(ordered, deliver_flits(FLITS, list(ordered.values())), strict=True))
    assert dict(zip(log.programs["pe"].tolist(), log.programs["end"].tolist(), strict=True)) == expected


def test_data_that_come_burst_by_burst_hold_a_slow_link_for_all_of_their_bytes() -> None:
    """Two reads of 8 KiB from one channel of another slice, over links of 10 GB/s: 1.6 us, whatever the packets."""
    ends: list[int] = []
    for packet in (256, 2048, 4096):
        machine = load_machine(
            "ahbm-2sip", ["hbm.strided=bursts", f"noc.packet_bytes={packet}", "cube.mesh.gb_per_s=10"]
        )
        bursts = (32, *[0] * 7)
        reads = [replace(read(into, 8192), shares=((1, 8192, bursts),)) for into in (A, B)]
        ends.append(run(reads, machine=machine).latency_ps)
    assert max(ends) - min(ends) <= 0.03 * ends[0]
    assert min(ends) > 16384 * 1000 // 10
