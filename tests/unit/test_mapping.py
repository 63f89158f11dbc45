"""Programs on PEs: names of PEs, and who runs what under each kind of mapping."""

from __future__ import annotations

import pytest
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.dialects.errors import AhbmcError
from ahbmc.driver.mapping import map_programs, pe_numbers, programs_of

MACHINE = load_machine("ahbm-2sip")  # 2 SIPs x 16 cubes x 8 PEs


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("sip0.cube0.pe0", [0]),
        ("sip0.cube0.pe6-7", [6, 7]),
        ("sip0.cube1-2.pe0-1", [8, 9, 16, 17]),
        ("sip1.cube15.pe7", [255]),
        ("sip0-1.cube3.pe2", [26, 154]),
    ],
)
def test_names_of_pes(text: str, numbers: list[int]) -> None:
    assert pe_numbers(text, MACHINE, None) == numbers


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("pe0", "names no PEs"),
        ("sip0.cube0.pe0,1", "names no PEs"),
        ("sip0.cube0.pe3-1", "is empty"),
        ("sip0.cube16.pe0", "no cube16; it has cube0 to cube15"),
        ("sip2.cube0.pe0", "no sip2"),
        ("sip0.cube0.pe0-8", "no pe8"),
    ],
)
def test_names_of_no_pes(text: str, part: str) -> None:
    with pytest.raises(AhbmcError, match=part):
        pe_numbers(text, MACHINE, None)


def test_first_axis_is_fastest() -> None:
    assert list(programs_of((2, 2, 1))) == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]


def test_block_gives_neighbours_and_sizes_that_differ_by_one() -> None:
    dealt = map_programs("block", [3, 1, 2], (8, 1, 1), MACHINE, None)
    assert {pe: [p[0] for p in ps] for pe, ps in dealt.items()} == {3: [0, 1, 2], 1: [3, 4, 5], 2: [6, 7]}


def test_cyclic_deals_out_one_by_one() -> None:
    dealt = map_programs("cyclic", [3, 1, 2], (8, 1, 1), MACHINE, None)
    assert {pe: [p[0] for p in ps] for pe, ps in dealt.items()} == {3: [0, 3, 6], 1: [1, 4, 7], 2: [2, 5]}


@pytest.mark.parametrize("kind", ["block", "cyclic"])
def test_more_pes_than_programs_leaves_some_out(kind: str) -> None:
    assert kind in ("block", "cyclic")
    dealt = map_programs(kind, [0, 1, 2], (2, 1, 1), MACHINE, None)  # pyright: ignore[reportArgumentType]
    assert {pe: list(ps) for pe, ps in dealt.items()} == {0: [(0, 0, 0)], 1: [(1, 0, 0)]}


def test_rank_runs_each_program_where_its_numbers_say() -> None:
    dealt = map_programs("rank", [], (2, 2, 2), MACHINE, None)
    assert dealt[0] == [(0, 0, 0)] and dealt[9] == [(1, 1, 0)] and dealt[128 + 8] == [(0, 1, 1)]
    assert len(dealt) == 8
    with pytest.raises(AhbmcError, match="9 programs on axis 0: there are 8 PEs"):
        map_programs("rank", [], (9, 1, 1), MACHINE, None)
    with pytest.raises(AhbmcError, match="not in `pes`"):
        map_programs("rank", [0], (2, 1, 1), MACHINE, None)


def test_a_grid_of_too_many_programs_is_refused() -> None:
    with pytest.raises(AhbmcError, match="at most 16,777,216"):
        map_programs("block", [0], (1 << 20, 1 << 10, 1), MACHINE, None)
