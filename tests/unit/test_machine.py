"""Machine files: what ships, what a user may write, overrides, the schema and the description."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import msgspec
from ahbmc.backend_sim.target.describe import describe
from ahbmc.backend_sim.target.machine_file import load_machine, machine_of, machine_schema, shipped_machines
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

FOUR_PES = """\
base: ahbm-2sip
about: a cube of four PEs with faster HBM
sips: 1
inter_sip: null
sip: {cubes: [1, 1], io: null}
cube:
  mesh: {columns_mm: [1, 2, 3], rows_mm: [1, 4], missing: [r1c1]}
  pes: [r0c0, r0c1, r0c2, r1c2]
  m_cpu: null
  sram: null
  ucie: null
hbm: {channel_gb_per_s: 64, slice_bytes: 512 MiB}
"""


def test_all_shipped_machines_load_and_carry_their_name() -> None:
    """Each shipped file is valid and named after itself."""
    sixes = ("ahbm-6sip-mesh", "ahbm-6sip-ring", "ahbm-6sip-torus")
    assert shipped_machines() == ("ahbm-2sip", "ahbm-2sip-xy", "ahbm-4sip", *sixes, "tiny")
    assert [load_machine(name).name for name in shipped_machines()] == list(shipped_machines())


def test_the_default_machine_has_the_published_figures() -> None:
    """Counts and the numbers that other parts ask for most."""
    machine = load_machine("ahbm-2sip")
    assert (machine.sips, machine.cubes_per_sip, machine.pes_per_cube, machine.pes) == (2, 16, 8, 256)
    assert (machine.hbm.burst_ps, machine.hbm.slice_gb_per_s, machine.hbm.slice_bytes) == (8000, 256, 6 << 30)
    assert machine.pe.cpu.cycles_per_byte == Fraction(1, 16)
    assert machine.pe.tcm.scratch_bytes == 1 << 20
    assert machine.pe.gemm.tile == (32, 64, 32)


def test_base_changes_only_what_the_file_gives() -> None:
    """The xy machine differs from its base in the routing."""
    base, xy = load_machine("ahbm-2sip"), load_machine("ahbm-2sip-xy")
    assert (base.routing, xy.routing) == ("min_wire", "xy")
    assert (base.pe, base.cube, base.hbm) == (xy.pe, xy.cube, xy.hbm)


def test_a_machine_of_a_user_with_four_pes(tmp_path: Path) -> None:
    """Another mesh, other bandwidths and sizes: all derived figures follow."""
    (tmp_path / "mine.yaml").write_text(FOUR_PES)
    machine = load_machine("mine.yaml", folder=tmp_path)
    assert (machine.name, machine.pes, machine.hbm.burst_ps, machine.hbm.slice_gb_per_s) == ("mine", 4, 4000, 512)
    assert machine.hbm.slice_bytes == 512 << 20
    assert "4 PEs" in describe(machine)


def test_overrides_use_the_paths_of_the_file_and_loading_is_cached() -> None:
    """With and without `machine.`; fractions stay exact; the same call gives the same object."""
    machine = load_machine("ahbm-2sip", ["machine.pe.gemm.peak_tflops=16", "pe.cpu.cycles_per_byte=1/32"])
    assert (machine.pe.gemm.peak_tflops, machine.pe.cpu.cycles_per_byte) == (16, Fraction(1, 32))
    assert load_machine("ahbm-2sip", ["noc.ps_per_mm=0.1"]).noc.ps_per_mm == Fraction(1, 10)
    assert load_machine("ahbm-2sip") is load_machine("ahbm-2sip")


def test_a_module_names_its_machine() -> None:
    """`ahbm.machine` and `ahbm.machine_set`; without them it is the default machine."""
    module = ModuleOp([])
    assert machine_of(module).name == "ahbm-2sip"
    module.attributes["ahbm.machine"] = StringAttr("tiny")
    module.attributes["ahbm.machine_set"] = ArrayAttr([StringAttr("pe.tcm.scratch_bytes=4096")])
    assert (machine_of(module).name, machine_of(module).pe.tcm.scratch_bytes) == ("tiny", 4096)


def test_the_schema_knows_what_the_files_use() -> None:
    """Strict about keys, open for `base`, and written as JSON."""
    schema = machine_schema()
    machine = schema["$defs"]["Machine"]
    assert machine["additionalProperties"] is False
    assert {"base", "pe", "cube", "hbm", "noc", "routing"} <= set(machine["properties"])
    assert msgspec.json.encode(schema).startswith(b"{")


def test_the_schema_lets_a_file_change_one_key_of_its_base() -> None:
    """`pe: {gemm: {peak_tflops: 16}}` beside `base:` is a whole file, so nothing below the top is required."""
    schema = machine_schema()
    assert {"required": ["base"]} in schema["$defs"]["Machine"]["anyOf"]
    assert not [name for name, part in schema["$defs"].items() if "required" in part]


def test_the_description_says_which_routing_is_which() -> None:
    """The note on the published and the physical routing stands under every machine with more than one cube."""
    assert "up to 17% apart" in describe(load_machine("ahbm-2sip"))
    assert "ahbm-2sip-xy" in describe(load_machine("ahbm-2sip"))
    assert "17%" not in describe(load_machine("tiny"))
