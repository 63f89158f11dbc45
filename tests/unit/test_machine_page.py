"""The page of machine files: its example is a machine, and no key of any part is left out."""

from __future__ import annotations

import re
from pathlib import Path

from ahbmc.backend_sim.target.machine_file import load_machine, machine_schema, shipped_machines
from ahbmc.driver.machine_page import machine_page


def test_the_example_is_a_machine(tmp_path: Path) -> None:
    """The file that the page shows loads, and is what it says it is."""
    [text] = re.findall(r"```yaml\n(.*?)```", machine_page(), re.DOTALL)
    (tmp_path / "mine.yaml").write_text(text)
    machine = load_machine("mine.yaml", folder=tmp_path)
    assert (machine.sips, machine.cubes_per_sip, machine.pes_per_cube) == (1, 4, 4)
    assert machine.hbm.slice_gb_per_s == 512


def test_every_key_has_a_row_with_a_meaning() -> None:
    """Of every part of the schema, with the value of the default machine."""
    rows = {tuple(line.strip("| ").split(" | ")) for line in machine_page().splitlines() if line.startswith("| `")}
    meant = {row[0].strip("`") for row in rows if len(row) == 5 and all((row[1], row[3], row[4]))}
    parts = [part for part in machine_schema()["$defs"].values() if part["type"] == "object"]
    assert len(parts) == 23
    assert {key for part in parts for key in part["properties"]} - {"base"} <= meant


def test_the_page_says_which_routing_is_which() -> None:
    """And the machines that it names are there."""
    page = machine_page()
    assert "up to 17% apart" in page
    assert {"ahbm-2sip", "ahbm-2sip-xy"} <= set(shipped_machines())
