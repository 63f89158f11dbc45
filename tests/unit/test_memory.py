"""Where tensors lie: shards of placements, what a PE sees of them, capacity, and copies of replicated tensors."""

from __future__ import annotations

import numpy as np
import pytest
from ahbmc.backend_sim.memory import Memory, Placement, Tensor, pe_name, sharers
from ahbmc.backend_sim.numerics.regions import Axis, Region
from ahbmc.backend_sim.program.accesses import HbmView
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.dialects.errors import AhbmcError, Category, Place

MACHINE = load_machine("ahbm-2sip")
F16 = np.dtype(np.float16)
GIB = 1 << 30


def matrix(rows: int, columns: int, placement: Placement = Placement(), name: str = "a") -> Tensor:  # noqa: B008
    return Tensor(name, F16, (rows, columns), placement)


def region_of(memory: Memory, tensor: Tensor, row: int, rows: int, column: int, columns: int) -> Region:
    """A box of a matrix."""
    width = tensor.shape[1]
    axes = (Axis(rows, width, 0, rows), Axis(columns, 1, 0, columns))
    return Region(memory.base(tensor), row * width + column, axes, F16)


def sizes(memory: Memory, pe: int, region: Region) -> dict[int, int]:
    """Owner of a slice -> bytes of a region in it."""
    return {owner: size for owner, size, _ in HbmView(memory, pe).region(region, "the load", None)[1]}


def shares(tensor: Tensor, pe: int, box: tuple[int, int, int, int]) -> dict[int, int]:
    """The slices (by owner) of a box of a tensor as a PE sees it, with bytes."""
    memory = Memory(MACHINE, [tensor])
    return sizes(memory, pe, region_of(memory, tensor, *box))


def test_default_placement_is_one_slice() -> None:
    """A tensor that nobody places lies in the slice of sip0.cube0.pe0, for every PE."""
    tensor = Tensor("a", F16, (64, 32))
    assert shares(tensor, 0, (0, 64, 0, 32)) == shares(tensor, 77, (0, 64, 0, 32)) == {0: 4096}


def test_row_wise_over_the_pes_of_a_cube() -> None:
    """Rows fall to PEs in equal parts; a box over a border is cut, with the bytes of each part."""
    tensor = matrix(64, 32, Placement(pe="row_wise", num_cubes=1))
    assert shares(tensor, 0, (0, 8, 0, 32)) == {0: 512}
    assert shares(tensor, 0, (60, 4, 0, 32)) == {7: 256}
    assert shares(tensor, 0, (6, 4, 0, 32)) == {0: 128, 1: 128}


def test_column_wise_over_four_pes() -> None:
    """Columns fall to PEs in equal parts, the last shorter; each row is cut."""
    tensor = matrix(10, 30, Placement(pe="column_wise", num_cubes=1, num_pes=4))
    assert shares(tensor, 0, (0, 10, 0, 30)) == {0: 160, 1: 160, 2: 160, 3: 120}
    assert shares(tensor, 5, (3, 1, 24, 6)) == {3: 12}


def test_rank_three_column_wise_cuts_the_last_axis() -> None:
    """With a middle axis the last axis is cut all the same: two PEs, half of every line each."""
    tensor = Tensor("a", F16, (2, 3, 8), Placement(pe="column_wise", num_cubes=1, num_pes=2))
    memory = Memory(MACHINE, [tensor])
    region = Region(memory.base(tensor), 8, (Axis(2, 24, 0, 2), Axis(8, 1, 0, 8)), F16)
    assert sizes(memory, 0, region) == {0: 16, 1: 16}


def test_cubes_and_pes_are_cut_one_after_the_other() -> None:
    """Rows over two cubes from cube 1 on, columns over two PEs of each."""
    tensor = matrix(8, 8, Placement("row_wise", "column_wise", num_cubes=2, num_pes=2, cube_start=1))
    assert shares(tensor, 0, (0, 8, 0, 8)) == {8: 32, 9: 32, 16: 32, 17: 32}


def test_a_vector_is_cut_along_its_axis() -> None:
    """Row-wise and column-wise are the same for rank 1."""
    for split in ("row_wise", "column_wise"):
        tensor = Tensor("a", F16, (100,), Placement(pe=split, num_cubes=1, num_pes=3))
        memory = Memory(MACHINE, [tensor])
        region = Region(memory.base(tensor), 0, (Axis(100, 1, 0, 100),), F16)
        assert sizes(memory, 0, region) == {0: 68, 1: 68, 2: 64}


def test_replicated_tensors_are_read_from_the_own_slice() -> None:
    """Every PE has a copy; a PE that has none uses the first."""
    everywhere, three = matrix(8, 8), matrix(8, 8, Placement(num_cubes=1, num_pes=3))
    assert shares(everywhere, 13, (0, 8, 0, 8)) == {13: 128}
    assert shares(three, 2, (0, 8, 0, 8)) == {2: 128}
    assert shares(three, 5, (0, 8, 0, 8)) == {0: 128}


def test_offsets_lie_in_the_slice_of_their_owner() -> None:
    """slice = offset // 6 GiB; shards of one slice do not overlap."""
    memory = Memory(MACHINE, [matrix(64, 32, Placement(pe="row_wise", num_cubes=1)), matrix(3, 5, name="b")])
    for located in memory.located:
        for shard in located.shards:
            assert shard.offset // (6 * GIB) == shard.owner % 8
    first, second = (located.shards[0] for located in memory.located)
    assert first.offset + first.size <= second.offset


def test_virtual_ranges_do_not_touch() -> None:
    """The byte after a tensor belongs to nobody."""
    memory = Memory(MACHINE, [Tensor("a", F16, (2048,)), Tensor("b", F16, (2048,))])
    a, b = memory.located
    assert a.end < b.base


def test_an_access_outside_is_an_error_that_names_the_tensor() -> None:
    """What was touched, what there is, and what to do."""
    memory = Memory(MACHINE, [Tensor("a", F16, (10,))])
    region = Region(memory.base(memory.located[0].tensor), 4, (Axis(8, 1, 0, 8),), F16)
    with pytest.raises(AhbmcError, match="touches elements 4 to 11 of 'a', which has 10") as error:
        HbmView(memory, 0).region(region, "the load", Place("k.py", 3, 5))
    assert error.value.faults[0].place == Place("k.py", 3, 5)


def test_a_slice_that_overflows_is_refused_with_demand_and_bound() -> None:
    """7 GiB in a slice of 6 GiB."""
    tensor = Tensor("big", F16, (7 * GIB // 2,), place=Place("w.yaml", 2, 6))
    with pytest.raises(AhbmcError, match="1,073,741,824 over its 6,442,450,944") as error:
        Memory(MACHINE, [tensor])
    fault = error.value.faults[0]
    assert fault.category is Category.DOES_NOT_FIT and fault.place == tensor.place
    assert "row_wise" in (fault.hint or "")


def test_two_tensors_overflow_a_slice_together() -> None:
    """The message lists what lies in the slice."""
    with pytest.raises(AhbmcError) as error:
        Memory(MACHINE, [Tensor("a", F16, (2 * GIB,)), Tensor("b", F16, (2 * GIB,))])
    assert "'a' 4,294,967,296 bytes, 'b' 4,294,967,296 bytes" in error.value.faults[0].notes[0]


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        (Placement(num_pes=9), "at most 8"),
        (Placement(num_cubes=17), "at most 16"),
        (Placement(num_cubes=2, cube_start=15), "at most 1"),
        (Placement(cube_start=16), "a SIP has 16 cubes"),
        (Placement(sip_start=2), "a machine has 2 SIPs"),
        (Placement(num_sips=3), "at most 2"),
        (Placement(pe_start=8), "a cube has 8 PEs"),
        (Placement(pe_start=5, num_pes=4), "at most 3"),
    ],
)
def test_placements_that_ask_for_too_much(placement: Placement, message: str) -> None:
    """Cubes and PEs that are not there are refused."""
    with pytest.raises(AhbmcError, match=message) as error:
        Memory(MACHINE, [matrix(8, 8, placement)])
    assert error.value.faults[0].hint


def test_copies_that_are_written_differently_are_found() -> None:
    """Each PE writes its own copy; equal writes agree, others are told by name."""
    tensor = Tensor("a", F16, (4,), Placement(num_cubes=1), np.arange(4, dtype=F16))
    memory = Memory(MACHINE, [tensor])
    for pe in (0, 1):
        memory.space(pe).allocations[0].data[:2] = np.array([7], dtype=F16).view(np.uint8)
    contents, differing = memory.arrays()
    assert contents["a"].tolist() == [7, 1, 2, 3] and differing == ()
    memory.space(1).allocations[0].data[2:4] = np.array([9], dtype=F16).view(np.uint8)
    assert memory.arrays()[1] == ("a",)
    assert tensor.data is not None and tensor.data.tolist() == [0, 1, 2, 3]


def test_names_of_pes() -> None:
    """Machine-wide number to text."""
    assert pe_name(MACHINE, 3) == "sip0.cube0.pe3"
    assert pe_name(MACHINE, 16 * 8 + 9) == "sip1.cube1.pe1"


BURSTS = load_machine("ahbm-2sip", ("hbm.strided=bursts",))


def channels(tensor: Tensor, box: tuple[int, int, int, int]) -> list[tuple[int, ...]]:
    """Bursts per pseudo-channel of a box, for each slice."""
    memory = Memory(BURSTS, [tensor])
    region = region_of(memory, tensor, *box)
    return [bursts for _, _, bursts in HbmView(memory, 0).region(region, "the load", None)[1]]


def test_bursts_of_a_contiguous_box_go_round_the_channels() -> None:
    """16 rows of 256 bytes that follow each other: two bursts on each channel."""
    assert channels(matrix(16, 128), (0, 16, 0, 128)) == [(2,) * 8]


def test_bursts_of_strided_rows_count_run_by_run() -> None:
    """Half a burst of each row costs a burst; rows 2,048 bytes apart fall on one channel."""
    assert channels(matrix(16, 1024), (0, 16, 0, 64)) == [(16, 0, 0, 0, 0, 0, 0, 0)]
    # A run over the border of two bursts takes both.
    assert channels(matrix(1, 1024), (0, 1, 100, 64)) == [(1, 1, 0, 0, 0, 0, 0, 0)]


def test_a_run_that_goes_on_in_the_next_tile_has_its_burst_once() -> None:
    """Tiles of 64 columns (128 bytes) of one row: every second one begins in a burst that is there already."""
    memory = Memory(BURSTS, [tensor := matrix(1, 256)])
    stream = HbmView(memory, 0).stream(region_of(memory, tensor, 0, 1, 0, 256), (1, 64), (1, 4), 1, 1, "the load", None)
    assert stream.shares is not None
    assert [sum(parts[0][2]) for parts in stream.shares] == [1, 0, 1, 0]


def test_bursts_of_column_wise_shards_lie_one_after_the_other() -> None:
    """A shard is packed in its slice: eight rows of 64 bytes are two bursts there."""
    tensor = matrix(8, 64, Placement(pe="column_wise", num_cubes=1, num_pes=2))
    assert channels(tensor, (0, 8, 0, 64)) == [(1, 1, 0, 0, 0, 0, 0, 0)] * 2


@pytest.mark.parametrize(
    ("placement", "pes", "expected"),
    [
        (Placement(num_cubes=1, num_pes=1), range(8), 8),
        (Placement(num_cubes=1, pe="replicate"), range(8), 1),
        (Placement(num_cubes=1, pe="row_wise"), range(8), 1),
        (Placement(num_cubes=1, pe="row_wise", num_pes=2), range(5), 3),
        (Placement(num_cubes=1, num_pes=1), range(1), 1),
        (Placement(cube_start=99), range(8), 1),  # cannot be: `Memory` says so
    ],
)
def test_pes_that_share_a_slice(placement: Placement, pes: range, expected: int) -> None:
    """PEs over the slices that they find the tensor in: all on one, a copy each, a part each, five on two."""
    assert sharers(MACHINE, matrix(64, 32, placement), pes) == expected


def test_a_tensor_goes_over_sips() -> None:
    """Cut over SIPs, then over cubes, then over PEs; or with a copy in each SIP, of which a PE uses its own."""
    cut = Placement("row_wise", "row_wise", num_cubes=2, num_pes=2, sip="row_wise", num_sips=2)
    memory = Memory(MACHINE, [matrix(8, 4, cut)])
    assert [(s.owner, s.row) for s in memory.located[0].shards] == [
        (0, 0), (1, 1), (8, 2), (9, 3), (128, 4), (129, 5), (136, 6), (137, 7)
    ]  # fmt: skip
    assert memory.located[0].owners_seen_by(200) == {0, 1, 8, 9, 128, 129, 136, 137}
    memory = Memory(MACHINE, [matrix(8, 4, Placement(pe="row_wise", num_cubes=2, num_pes=2, num_sips=2, pe_start=3))])
    located = memory.located[0]
    assert [located.owners_seen_by(pe) for pe in (0, 8, 16, 128, 137)] == [
        {3, 4}, {11, 12}, {3, 4}, {131, 132}, {139, 140}
    ]  # fmt: skip


def test_a_pe_of_another_sip_uses_the_copy_of_its_number() -> None:
    """Where its SIP has none: the copy with its cube's and its own number, else the first."""
    located = Memory(MACHINE, [matrix(8, 4, Placement(num_cubes=2))]).located[0]
    assert [located.owners_seen_by(pe) for pe in (13, 130, 139, 150)] == [{13}, {2}, {11}, {6}]
