"""Machine files that are wrong: one clear error for each fault, at its place, with what is allowed and what helps."""

from __future__ import annotations

from pathlib import Path

import pytest
from ahbmc.backend_sim.target.machine_file import load_machine
from ahbmc.dialects.errors import AhbmcError, Fault


def faults_of(text: str, folder: Path) -> tuple[Fault, ...]:
    """The faults of a machine file with this text."""
    (folder / "mine.yaml").write_text(text)
    with pytest.raises(AhbmcError) as caught:
        load_machine("mine.yaml", folder=folder)
    return caught.value.faults


ROUTERS = "the routers are r0c0 to r5c5 without the missing ones"
BARE = "write the number alone, in GB/s (bytes per ns)"
FIELDS = "write a mapping with slice_bytes, channels, channel_gb_per_s, burst_bytes, strided"
SCRATCH = "scratch of 1048576 bytes is larger than the TCM of 65536"


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        # Dangling links: outside of the mesh, in its hole, a cube that is not there or not at the edge.
        ("cube: {pes: [r0c0, r6c0]}", 20, "there is no router r6c0, which `cube.pes` names", ROUTERS),
        ("cube: {sram: {router: r2c2}}", 23, "there is no router r2c2, which `cube.sram.router` names", ROUTERS),
        ("cube: {ucie: {n: [r0c0, r9c9, r2c2]}}", 25, "no router r9c9, r2c2, which `cube.ucie.n` names", ROUTERS),
        ("sip: {io: {cubes: [0, 16]}}", 23, "there is no cube 16 of 4 x 4 cubes", "give sip.io.cubes: IO"),
        ("sip: {io: {cubes: [0, 4]}}", 23, "cube 4 is not in the top row of 4 x 4 cubes", "feed cubes 0 to 3"),
        ("cube: {mesh: {missing: [r6c0]}}", 25, "router r6c0 lies outside the mesh of 6 x 6", "would have"),
        # Duplicates.
        ("cube: {mesh: {missing: [r2c2, r2c2]}}", 31, "router r2c2 is given twice in `cube.mesh.missing`", "keep one"),
        ("cube: {ucie: {w: [r0c0, r0c0]}}", 25, "router r0c0 is given twice in `cube.ucie.w`", "keep one"),
        ("sip: {io: {cubes: [1, 1]}}", 23, "two IO ports feed cube 1", "keep one"),
        ("base: tiny", 1, "key `base` is given twice", "keep one of the two"),
        ("cube: {pes: [r0c0], pes: [r0c1]}", 21, "key `pes` is given twice", "keep one of the two"),
        # Bandwidths.
        ("cube: {mesh: {gb_per_s: 0}}", 25, "must be a positive number or fraction such as 256, 0.5 or 1/16", BARE),
        ("inter_sip: {link: {gb_per_s: -768}}", 30, "must be a positive number or fraction", BARE),
        ("cube: {pe_gb_per_s: 1e-30}", 21, "must be a number between 1e-06 and 1e+09", BARE),
        ("hbm: {channel_gb_per_s: 1/0}", 25, "must be a positive number or fraction", BARE),
        ("pe: {fetch: {gb_per_s: 1_000}}", 24, "must be a positive number or fraction", BARE),
        ("pe: {fetch: {gb_per_s: .inf}}", 24, "must be a positive number or fraction", BARE),
        # Pairs that cannot reach each other.
        ("cube: {ucie: null}", 14, "4 x 4 cubes with IO need the ports n, e, s, w of `cube.ucie`", "list the routers"),
        ("cube: {ucie: {e: []}}", 18, "4 x 4 cubes with IO need the port e of `cube.ucie`", "list the routers"),
        ("inter_sip: null", 12, "2 SIPs need `inter_sip` and `sip.io` to reach each other", "set sips: 1"),
        ("sip: {io: null}", 11, "2 SIPs need `inter_sip` and `sip.io` to reach each other", "set sips: 1"),
        ("sip: {io: {cubes: []}}", 19, "the IO chiplet feeds no cube", "for example cubes: [0]"),
        # The mesh.
        ("cube: {mesh: {rows_mm: [3, 2]}}", 24, "one or more positions in rising order; found [3, 2]", "in mm"),
        ("cube: {mesh: {columns_mm: [1, 1]}}", 27, "one or more positions in rising order; found [1, 1]", "in mm"),
        ("cube: {mesh: {rows_mm: []}}", 24, "`rows_mm` must be one or more positions", "in mm"),
        ("cube: {mesh: {rows_mm: [-1, 2]}}", 25, "entry 0 of `rows_mm` must be a non-negative number", "in mm"),
        # Misspelt keys and words.
        ("hbm: {chanels: 8}", 7, "unknown key `chanels` in `hbm`; allowed: slice_bytes", "did you mean `channels`?"),
        ("pe:\n  gemm: {peak_tflop: 16}", 10, "unknown key `peak_tflop` in `gemm`; allowed: peak_tflops, tile", "did"),
        ("routing: yx", 10, "`routing` must be `min_wire`, `xy`; found text 'yx'", "did you mean `xy`?"),
        ("cube: {pes: [R0C0]}", 14, "entry 0 of `pes` must be a router such as r0c0; found text 'R0C0'", "write such"),
        # Units.
        ("hbm: {slice_bytes: 6 GB}", 20, "such as 4096 or 6 GiB (units B, KiB, MiB, GiB)", "did you mean `6 GiB`?"),
        ("hbm: {slice_bytes: 1.5 GiB}", 20, "found text '1.5 GiB'", "write a whole number, in bytes"),
        ("noc: {flit_bytes: 1 KB}", 19, "found text '1 KB'", "did you mean `1 KiB`?"),
        ("hbm: {channel_gb_per_s: 32 GB/s}", 25, "found text '32 GB/s'", BARE),
        ("pe: {sched: {entry_dma_ps: 1 ns}}", 28, "must be an integer; found text '1 ns'", "(1 ns is 1000)"),
        ("pe: {sched: {entry_dma_ps: 1.5}}", 28, "must be an integer; found 1.5", "in picoseconds (1 ns is 1000)"),
        ("pe: {cpu: {clock_ghz: 1 GHz}}", 23, "found text '1 GHz'", "write the number alone, in GHz"),
        # Memories.
        ("hbm: null", 6, "`hbm` must be a mapping; found nothing", FIELDS),
        ("hbm: {channels: 0}", 17, "`channels` must be an integer >= 1; found 0", "write such a value"),
        ("hbm: {slice_bytes: 0}", 20, "must be a positive size in bytes", "write a whole number, in bytes"),
        ("hbm: {slice_bytes: 1000}", 20, "1000 bytes is no whole number of bursts of 256", "a multiple of 256"),
        ("noc: {flit_bytes: 300}", 19, "4096 bytes is no whole number of flits of 300", "a multiple of 300"),
        ("pe: {tcm: {bytes: 64 KiB}}", 19, SCRATCH, "a part of the TCM"),
        # SIPs.
        ("sips: two", 7, "`sips` must be an integer; found text 'two'", "write such a value"),
        ("sips: 1000000", 7, "`sips` must be an integer <= 1024; found 1000000", "write such a value"),
        ("sip: {cubes: [4, 65]}", 18, "entry 1 of `cubes` must be an integer <= 64; found 65", "write such a value"),
        ("inter_sip: {topology: mesh}", 23, "a mesh of SIPs needs its `grid`", "for example grid: [2, 3]"),
        ("inter_sip: {grid: [1, 2]}", 19, "`grid` is for mesh and torus; found topology switch", "grid: null"),
        ("inter_sip: {topology: torus, grid: [2, 3]}", 36, "a grid of 2 x 3 has 6 SIPs; `sips` is 2", "same number"),
        ("inter_sip: {topology: torus, grid: [2]}", 36, "`grid` has 1 entry; allowed: 2", "add the missing ones"),
        ("inter_sip: {topology: star}", 23, "must be `switch`, `ring`, `mesh`, `torus`; found", "write one"),
        # Whole parts, and what is no mapping.
        ("pe: 3", 5, "`pe` must be a mapping; found 3", "write a mapping with cpu, sched"),
        ("noc: {packet_bytes: 1000}", 21, "`packet_bytes` must be `256`, `2048`, `4096`; found 1000", "allowed words"),
    ],
)  # fmt: skip
def test_a_fault_names_its_place(text: str, column: int, message: str, hint: str, tmp_path: Path) -> None:
    """One fault in a file that extends the default machine: one error."""
    [fault] = faults_of(f"base: ahbm-2sip\n{text}\n", tmp_path)
    assert message in fault.message
    assert hint in (fault.hint or "")
    assert fault.place is not None
    assert (Path(fault.place.file).name, fault.place.line, fault.place.column) == (
        "mine.yaml", 2 + text.count("\n"), column
    )  # fmt: skip


def test_a_hole_that_cuts_the_mesh(tmp_path: Path) -> None:
    """Links go over a hole in a row or a column; two routers that share neither are cut off from each other."""
    mesh = "{rows_mm: [1, 2], columns_mm: [1, 2], missing: [r0c1, r1c0]}"
    [fault] = faults_of(f"base: tiny\ncube: {{pes: [r0c0], mesh: {mesh}}}\n", tmp_path)
    assert fault.message == "the hole cuts the mesh of 2 x 2: router r1c1 is cut off from r0c0"
    assert fault.place is not None
    assert (fault.place.line, fault.place.column) == (2, 74)
    [fault] = faults_of("base: tiny\ncube: {mesh: {columns_mm: [1], rows_mm: [1], missing: [r0c0]}}\n", tmp_path)
    assert fault.message == "no router of the mesh of 1 x 1 is left"


def test_a_smaller_mesh_names_each_list_that_no_longer_fits(tmp_path: Path) -> None:
    """The lists of the base are not at fault: the line is that of the mesh, once for each of them."""
    found = faults_of("base: ahbm-2sip\ncube:\n  mesh: {columns_mm: [1, 2], missing: []}\n", tmp_path)
    assert {fault.place and (Path(fault.place.file).name, fault.place.line) for fault in found} == {("mine.yaml", 3)}
    assert [fault.message.rpartition("which ")[2] for fault in found] == [
        f"`cube.{key}` names" for key in ("pes", "m_cpu.router", "ucie.n", "ucie.e", "ucie.s")
    ]


def test_every_fault_is_told_once(tmp_path: Path) -> None:
    """Independent faults, each with its line: those of words, and those of what hangs where."""
    found = faults_of("base: ahbm-2sip\nrouting: yx\nnoc: {channels: 3}\npe: {speed: 1}\n", tmp_path)
    assert sorted(fault.place.line for fault in found if fault.place) == [2, 3, 4]
    text = "base: ahbm-2sip\nspeed: 1\ncube: {pes: [r7c7]}\ninter_sip: null\npe: {tcm: {bytes: 64 KiB}}\n"
    assert sorted(fault.place.line for fault in faults_of(text, tmp_path) if fault.place) == [2, 3, 4, 5]


def test_a_file_without_a_base_that_lacks_memory(tmp_path: Path) -> None:
    """Whatever is missing is named, the HBM among it."""
    found = faults_of("about: nothing\n", tmp_path)
    assert "the file has no `hbm`" in [fault.message for fault in found]


def test_a_machine_that_nobody_has() -> None:
    """The message lists what ships and guesses what was meant."""
    with pytest.raises(AhbmcError) as caught:
        load_machine("ahbm-2sipp")
    assert "there is no machine `ahbm-2sipp`; shipped: ahbm-2sip, ahbm-2sip-xy, " in caught.value.faults[0].message
    assert caught.value.faults[0].hint == "did you mean `ahbm-2sip`?"


@pytest.mark.parametrize("base", ["mine.yaml", "other.yaml", "./deep/../mine.yaml"])
def test_files_that_extend_each_other_are_refused(base: str, tmp_path: Path) -> None:
    """A circle of bases ends in an error at the line that closes it, by whatever path."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "other.yaml").write_text("base: mine.yaml\n")
    [fault] = faults_of(f"base: {base}\n", tmp_path)
    assert fault.message.endswith("leads back to this file")
    assert fault.hint == "let one file of the circle extend none"
    assert fault.place is not None
    assert fault.place.line == 1


@pytest.mark.parametrize(
    ("override", "column", "message"),
    [
        ("pe.gemm.peak_tflop=16", 9, "unknown key `peak_tflop`"),
        ("machine.cubes.count=4", 9, "unknown key `cubes`"),
        ("pe.gemm.peak_tflops=16 TF", 21, "found text '16 TF'"),
        ("pe.gemm", 1, "an override is PATH=VALUE"),
        ("sips.x=1", 6, "nothing lies below this value, which is 2"),
        ("cube.pes.8=r0c0", 10, "`8` names no entry of this list of 8"),
        ("cube.pes.7=r2c2", 12, "there is no router r2c2"),
        ("inter_sip.topology=mesh", 20, "a mesh of SIPs needs its `grid`"),
    ],
)
def test_a_bad_override_names_its_column(override: str, column: int, message: str) -> None:
    """The n-th `--set` is line n of the file `--set`."""
    with pytest.raises(AhbmcError) as caught:
        load_machine("ahbm-2sip", ["sips=2", override])
    [fault] = caught.value.faults
    assert message in fault.message
    assert fault.place is not None
    assert (fault.place.file, fault.place.line, fault.place.column) == ("--set", 2, column)
