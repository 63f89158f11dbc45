"""`ahbmc probe`: every published row and others by the same rules, through the JSON of the command line; invariants,
errors, and what it says on machines that lack parts.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ahbmc.backend_sim.analysis.probe import rows as rows_module
from ahbmc.backend_sim.analysis.probe.ends import End, Pair, parse_end
from ahbmc.backend_sim.analysis.probe.invariants import invariants
from ahbmc.backend_sim.analysis.probe.rows import Row, measure
from ahbmc.backend_sim.target.machine_file import load_machine, shipped_machines
from ahbmc.driver import probe as probe_module
from ahbmc.driver.main import main

Capture = pytest.CaptureFixture[str]
KEYS = "path, src, dst, bytes, hops, latency_ns, overhead_ns, drain_ns, wire_ns, bottleneck_gbs, utilization"
PE_TO_PE_SIZES = (128, 256, 384, 512, 768, 1024, 2048, 4096, 8192, 10240)
NO_ISSUE = ("--set", "machine.pe.cpu.fixed_cycles_single=0", "--set", "machine.pe.cpu.cycles_per_byte=0")


@cache
def json_text(*arguments: str) -> str:
    """What `ahbmc probe --json -` prints; the probe must end well."""
    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr(sys.stdout, "write", written.append)
        assert main(["probe", "--json", "-", *arguments]) == 0
    return "".join(written)


def probe(*arguments: str) -> dict[tuple[str, int], dict[str, Any]]:
    """The rows of the JSON by case and size."""
    return {(row["case"], row["bytes"]): row for row in json.loads(json_text(*arguments))}


def close(published: float) -> Any:
    """Equal to print rounding of a published figure."""
    return pytest.approx(published, abs=0.006, rel=1e-4)


@pytest.mark.parametrize(
    ("case", "ends", "hops", "latency", "overhead", "drain", "wire", "effective", "bottleneck", "percent"),
    [
        ("pe-local-hbm", "cube0.pe0 cube0.hbm0", 0, 141.0, 2, 128, 0, 232.4, 256, 90.8),
        ("pe-same-half-hbm", "cube0.pe0 cube0.hbm1", 0, 147.87, 4, 128, 0.03, 221.6, 256, 86.6),
        ("pe-cross-half-hbm", "cube0.pe0 cube0.hbm4", 0, 161.17, 10, 128, 0.09, 203.31, 256, 79.4),
        ("pe-cross-cube-hbm-best", "cube0.pe0 cube1.hbm0", 1, 330.52, 30, 256, 0.01, 99.14, 128, 77.5),
        ("pe-cross-cube-hbm-worst", "cube0.pe0 cube15.hbm0", 6, 677.12, 180, 256, 0.06, 48.39, 128, 37.8),
        ("h2d-1hop", "host cube0.hbm0", 1, 289.53, 50, 256, 0.18, 113.17, 128, 88.4),
        ("h2d-2hop", "host cube4.hbm0", 2, 326.04, 78, 256, 0.2, 100.5, 128, 78.5),
        ("d2h-1hop", "cube0.hbm0 host", 1, 571.2, 23, 256, 0.04, 57.37, 128, 44.8),
        ("d2h-2hop", "cube4.hbm0 host", 2, 635.72, 51, 256, 0.05, 51.54, 128, 40.3),
    ],
)
def test_published_rows_of_32_kib(
    case: str,
    ends: str,
    hops: int,
    latency: float,
    overhead: float,
    drain: float,
    wire: float,
    effective: float,
    bottleneck: float,
    percent: float,
) -> None:
    """All columns of the published probe, with hops over UCIe."""
    row = probe()[case, 32768]
    assert f"{row['src']} {row['dst']}" == " ".join(f"sip0.{end}" for end in ends.split())
    assert row["hops"] == hops
    assert row["latency_ns"] == close(latency)
    assert (row["overhead_ns"], row["drain_ns"], row["wire_ns"]) == (overhead, drain, close(wire))
    assert (row["effective_gbs"], row["bottleneck_gbs"]) == (close(effective), bottleneck)
    assert 100 * row["utilization"] == pytest.approx(percent, abs=0.0501)
    assert row["utilization"] == pytest.approx(32768 / row["latency_ns"] / bottleneck)


@pytest.mark.parametrize(
    ("case", "percents"),
    [
        ("pe-local-hbm", [88.9, 97.0, 99.2, 99.8, 100.0]),
        ("pe-same-half-hbm", [79.9, 94.1, 98.5, 99.6, 99.9]),
        ("pe-cross-half-hbm", [61.3, 86.4, 96.2, 99.0, 99.8]),
        ("pe-cross-cube-hbm-best", [51.6, 81.0, 94.5, 98.6, 99.6]),
        ("pe-cross-cube-hbm-worst", [15.1, 41.6, 74.0, 91.9, 97.8]),
    ],
)
def test_published_saturation(case: str, percents: list[float]) -> None:
    """drain / (drain + overhead + wire) at the five published sizes; utilization stays what a message reaches."""
    for size, percent in zip((4096, 16384, 65536, 262144, 1048576), percents, strict=True):
        row = probe()[case, size]
        assert 100 * row["saturation"] == pytest.approx(percent, abs=0.0501)
        assert row["utilization"] == pytest.approx(size / row["latency_ns"] / row["bottleneck_gbs"])


IPCQ = [42.8875, 46.1375, 47.8875, 49.6375, 53.1375, 56.6375, 70.6375, 98.6375, 154.6375, 182.6375]
RAW = [51.58, 54.08, 55.08, 56.08, 58.08, 60.08, 68.08, 84.08, 116.08, 132.08]


@pytest.mark.parametrize(("path", "published"), [("ipcq", IPCQ), ("raw", RAW)])
def test_published_pe_to_pe(path: str, published: list[float]) -> None:
    """PE 0 to its neighbour at ten sizes; without the issue of two commands it is the older published row, 18 less."""
    rows, unissued = probe(), probe(*NO_ISSUE)
    for size, ns in zip(PE_TO_PE_SIZES, published, strict=True):
        row = rows[f"{path}-intracube-horizontal", size]
        assert (row["src"], row["dst"], row["issue_ns"]) == ("sip0.cube0.pe0", "sip0.cube0.pe1", 18)
        assert row["latency_ns"] == close(ns)
        assert unissued[f"{path}-intracube-horizontal", size]["latency_ns"] == close(ns - 18)


def test_the_host_at_one_to_four_hops() -> None:
    """Rows that were not published, by the same rules: latency, terms, saturation, to the farthest row of cubes."""
    rows = probe()
    for hops, h2d, d2h in ((1, 289.535, 571.205), (2, 326.045, 635.725), (3, 362.555, 700.245), (4, 399.065, 764.765)):
        down, up = rows[f"h2d-{hops}hop", 32768], rows[f"d2h-{hops}hop", 32768]
        assert (down["latency_ns"], up["latency_ns"]) == (h2d, d2h)
        assert (down["dst"], up["src"]) == (f"sip0.cube{4 * hops - 4}.hbm0",) * 2
        assert down["hops"] == up["hops"] == hops
        assert (down["overhead_ns"], up["overhead_ns"]) == (22 + 28 * hops, 28 * hops - 5)
        assert (down["wire_ns"], up["wire_ns"]) == (close(0.175 + 0.01 * hops), close(0.025 + 0.01 * hops))
        for size in (4096, 1048576):
            drain = size / 128
            down_ns, up_ns = 22 + 28 * hops + 0.175 + 0.01 * hops, d2h - 256
            assert rows[f"h2d-{hops}hop", size]["saturation"] == pytest.approx(drain / (drain + down_ns))
            assert rows[f"d2h-{hops}hop", size]["saturation"] == pytest.approx(drain / (drain + up_ns))


# Links of the published ways as (overhead ns of the node left, GB/s, mm).
PORTS = [(2.0, 128.0, 0.0), (0.0, None, 0.0), (8.0, None, 0.0), (0.0, 128.0, 0.0)]  # through a port, router to router
CROSS = [(2.0, 128.0, 0.0), (0.0, None, 0.0), (8.0, 512.0, 1.0), (8.0, None, 0.0), (0.0, 128.0, 0.0)]
WAYS = {
    "intracube-vertical": [
        (0.0, 256.0, 0.0),
        *((2.0, 256.0, mm) for mm in (2.5, 1.5, 3.0, 1.5)),
        (2.0, 256.0, 0.0),
    ],
    "intercube-horizontal": [(0.0, 256.0, 0.0), *PORTS, *CROSS, (2.0, 256.0, 0.0)],
    "intercube-vertical": [(0.0, 256.0, 0.0), *PORTS, *PORTS, *CROSS, (2.0, 256.0, 0.0)],
}


def train_ns(size: int, way: Sequence[tuple[float, float | None, float]]) -> float:
    """When the last flit is there, one flit and one link at a time."""
    flits = [256] * ((size - 1) // 256) + [(size - 1) % 256 + 1]
    at = [0.0] * len(flits)
    for overhead, rate, mm in way:
        free = 0.0
        for i, flit in enumerate(flits):
            start = max(at[i] + (0.0 if i else overhead), free)
            free = at[i] = start + (flit / rate if rate else 0.0) + 0.01 * mm
    return at[-1]


@pytest.mark.parametrize("case", list(WAYS))
@pytest.mark.parametrize("size", PE_TO_PE_SIZES)
def test_other_pe_to_pe_rows_flit_by_flit(case: str, size: int) -> None:
    """The other three neighbours at every size, against the formulas written out over the published ways by hand."""
    way = WAYS[case]
    empty = sum(overhead + 0.01 * mm for overhead, _, mm in way)
    slowest = min(rate for _, rate, _ in way if rate)
    read = 1.51 + 2 + 8 + min(size, 256) / 256 + 2 + size / 256
    raw = 18 + read + 1.51 + train_ns(size, way) + 8 + empty
    ipcq = 18 + read + 0.005 + size / 512 + train_ns(size, way) + size / slowest + empty + 16 / slowest
    rows = probe()
    assert rows[f"raw-{case}", size]["latency_ns"] == close(raw)
    assert rows[f"ipcq-{case}", size]["latency_ns"] == close(ipcq)


def test_the_physical_routing() -> None:
    """The machine with xy routing: documented rows between cubes."""
    rows = probe("--machine", "ahbm-2sip-xy")
    assert rows["pe-cross-cube-hbm-best", 32768]["latency_ns"] == close(331.80)
    assert rows["pe-cross-cube-hbm-worst", 32768]["latency_ns"] == close(635.40)
    assert rows["raw-intercube-vertical", 256]["latency_ns"] == close(114.76)
    assert rows["raw-intercube-vertical", 10240]["latency_ns"] == close(229.76)
    assert rows["pe-local-hbm", 32768]["latency_ns"] == 141


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("sip0.cube0.pe0 sip0.cube4.hbm0 256,4096", [("dma", 256, 1, 102.52), ("dma", 4096, 1, 130.52)]),
        ("sip0.cube0.hbm4 sip0.cube0.pe0 32KiB", [("dma", 32768, 0, 162.345)]),
        ("sip0.cube0.pe0 sip0.cube0.pe1 128", [("raw", 128, 0, 51.58), ("ipcq", 128, 0, 42.888)]),
        ("host sip0.cube12.hbm0 32768", [("h2d", 32768, 4, 399.065)]),
        ("sip0.cube4.pe0 sip0.host 32768", [("d2h", 32768, 2, 635.725)]),
    ],
)
def test_any_pair(arguments: str, expected: list[tuple[str, int, int, float]]) -> None:
    """Without a path every path that fits; a write and a read; to the host a PE stands for its slice."""
    source, target, sizes = arguments.split()
    rows = json.loads(json_text("--from", source, "--to", target, "--bytes", sizes))
    assert [(row["path"], row["bytes"], row["hops"], row["latency_ns"]) for row in rows] == expected
    assert all(set(KEYS.split(", ")) <= set(row) for row in rows)


def test_the_host_may_be_left_out_and_nodes_are_named_too() -> None:
    """`--path h2d --to X` comes from the host of that SIP; a node of the graph names the end that it is."""
    (row,) = json.loads(json_text("--path", "h2d", "--to", "sip1.cube4.hbm_ctrl.0"))
    assert (row["src"], row["dst"], row["latency_ns"]) == ("sip1.host", "sip1.cube4.hbm0", 326.045)
    (row,) = json.loads(json_text("--path", "d2h", "--from", "sip0.cube4.pe0.pe_dma"))
    assert (row["src"], row["dst"], row["latency_ns"]) == ("sip0.cube4.hbm0", "sip0.host", 635.725)
    assert json_text("--from", "sip0.io0.pcie_ep", "--to", "sip0.cube0.hbm0") == json_text(
        "--from", "host", "--to", "sip0.cube0.hbm0"
    )


def test_links_between_sips_are_counted_apart() -> None:
    """From a PE of one SIP to a slice of the other: two UCIe links at the IO chiplets, two links at the switch."""
    row = probe()["pe-other-sip-hbm", 32768]
    assert (row["dst"], row["hops"], row["inter_sip_links"]) == ("sip1.cube0.hbm0", 2, 2)


def test_sizes_and_a_path_narrow_the_suite() -> None:
    """`--path` keeps the probes of one path, `--bytes` gives them other sizes and leaves saturation out."""
    rows = probe("--path", "d2h", "--bytes", "4096,256,256")
    assert list(rows) == [(f"d2h-{hops}hop", size) for hops in (1, 2, 3, 4) for size in (256, 4096)]


def test_a_slow_slice_is_the_bottleneck() -> None:
    """Slices of 128 GB/s: 3 ns to the slice, 256 ns of it, a burst, and the ack; the links are faster."""
    row = probe("--set", "machine.hbm.channel_gb_per_s=16")["pe-local-hbm", 32768]
    assert (row["latency_ns"], row["bottleneck_gbs"]) == (3 + 256 + 16 + 2, 128)


def test_the_report(capsys: Capture) -> None:
    """Tables by kind of probe, the invariants, and which routing the machine has."""
    assert main(["probe"]) == 0
    out, err = capsys.readouterr()
    for title in ("PE to HBM", "Host to device", "Device to host", "PE to PE", "Saturation by size", "Invariants"):
        assert f"\n{title}" in out
    assert "pe-cross-cube-hbm-worst sip0.cube0.pe0 sip0.cube15.hbm0 32,768 6 677.12 180.00" in " ".join(out.split())
    assert out.count(" passed") == 5 and "failed" not in out
    assert "Routing is the published one (min_wire)" in out and "up to 17% apart" in " ".join(out.split())
    assert "Left out" not in out
    assert err == ""
    assert main(["probe", "--machine", "ahbm-2sip-xy", "--path", "h2d"]) == 0
    assert "Routing is the physical one (xy)" in capsys.readouterr().out


@pytest.mark.parametrize("machine", shipped_machines())
def test_every_shipped_machine_keeps_the_invariants(machine: str) -> None:
    """Status 0, and a row to the farther SIPs where they do not all meet at one switch."""
    farther = ("pe-other-sip-hbm-worst", 32768) in probe("--machine", machine)
    assert farther == machine.startswith("ahbm-6sip")


def test_the_page_of_probe_shows_what_it_prints(capsys: Capture) -> None:
    """The example of docs/probe.md."""
    text = (Path(__file__).parents[2] / "docs" / "probe.md").read_text(encoding="utf-8")
    command, _, printed = text.partition("```console\n$ ")[2].partition("```")[0].partition("\n")
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out.rstrip() == printed.rstrip()


def test_a_machine_without_parts_says_what_is_left_out(capsys: Capture, tmp_path: Path) -> None:
    """A cube without ports and IO, and one PE alone, still give what there is."""
    assert main(["probe", "--machine", "tiny"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "pe-cross-half-hbm sip0.cube0.pe0 sip0.cube0.hbm1 32,768 0 151.62" in out
    assert "- no IO chiplet: h2d, d2h" in out and "- one SIP: pe-other-sip-hbm, raw-inter-sip, ipcq-inter-sip" in out
    (tmp_path / "one.yaml").write_text("base: tiny\ncube: {pes: [r0c0]}\n")
    rows = json.loads(json_text("--machine", str(tmp_path / "one.yaml")))
    assert {row["case"] for row in rows} == {"pe-local-hbm"}


FAULTS = {
    "--from sip0.cube0 --to sip0.cube0.hbm0": "`sip0.cube0` is no end of a probe",
    "--from sip0.cube0.pe8 --to sip0.cube0.hbm0": "machine ahbm-2sip has no `pe8`; it has pe0 to pe7",
    "--from sip0.cube0.pe0 --to sip0.cube16.hbm0": "machine ahbm-2sip has no `cube16`; it has cube0 to cube15",
    "--from sip2.host --to sip0.cube0.hbm0": "machine ahbm-2sip has no `sip2`; it has sip0 to sip1",
    "--machine tiny --from sip1.cube0.pe0 --to sip0.cube0.hbm0": "machine tiny has no `sip1`; it has sip0 alone",
    "--machine tiny --from host --to sip0.cube0.hbm0": "machine tiny has no IO chiplet, so no host end",
    "--machine tiny --path h2d --to sip0.cube0.hbm0": "machine tiny has no IO chiplet, so no host end",
    "--path h2d --to sip0.host": "path h2d does not go from a host end to a host end",
    "--from sip0.host --to sip1.host": "no path goes from a host end to a host end (sip0.host to sip1.host)",
    "--path ipcq --from host --to sip0.cube0.hbm0": "path ipcq does not go from a host end to a slice of HBM",
    "--from sip0.cube0.pe0 --to sip0.cube0.pe0": "a PE does not send to itself (sip0.cube0.pe0)",
    "--bytes 256,3x": "`3x` is no positive size in bytes",
    "--bytes 0": "`0` is no positive size in bytes",
    "--machine tiny --path h2d": "machine tiny has nothing for path h2d: no IO chiplet: h2d",
    "--plot picture.pdf": "a plot is a file .svg or .png; found picture.pdf",
    "--json no/such/folder/f.json": "cannot write no/such/folder/f.json: No such file or directory",
    "--machine ahbm-2sep": "there is no machine `ahbm-2sep`",
    "--set machine.noc.flit=3": "unknown key `flit`",
}


@pytest.mark.parametrize("arguments", list(FAULTS))
def test_faults_have_a_place_and_a_hint(arguments: str, capsys: Capture) -> None:
    """Each mistake of a user is shown on the command line with what would have been right."""
    assert main(["probe", *arguments.split()]) == 1
    out, err = capsys.readouterr()
    assert FAULTS[arguments] in err
    assert "^" in err and "hint: " in err
    assert out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--from host", "--from and --to go together"),
        ("--path h2d --from host", "--from and --to go together"),
        ("--json - --plot -", "only one output can be -"),
    ],
)
def test_wrong_usage(arguments: str, message: str, capsys: Capture) -> None:
    assert main(["probe", *arguments.split()]) == 2
    assert message in capsys.readouterr().err


def rows_of(*probes: str) -> list[Row]:
    """Rows of the default machine: `path from to bytes` each."""
    machine = load_machine("ahbm-2sip")
    rows: list[Row] = []
    for text in probes:
        path, source, target, size = text.split()
        pair = Pair(path, path, parse_end(machine, source), parse_end(machine, target))
        rows.append(measure(machine, pair, int(size)))
    return rows


def broken(rows: Sequence[Row]) -> list[str]:
    """What the invariants say against `rows`."""
    return [text for invariant in invariants(rows) for text in invariant.broken]


def test_an_invariant_that_is_broken_names_its_rows() -> None:
    """Each of the five, on rows of which one is made wrong."""
    near, far = rows_of("h2d host sip0.cube0.hbm0 4096", "h2d host sip0.cube4.hbm0 4096")
    assert broken([near, far]) == []
    assert broken([near, replace(far, latency_ps=near.latency_ps - 10)]) == [
        "h2d sip0.host to sip0.cube0.hbm0, 4,096 B at 1 hops takes 65.53 ns, "
        "h2d sip0.host to sip0.cube4.hbm0, 4,096 B at 2 hops takes 65.53 ns"
    ]
    small, large = rows_of("h2d host sip0.cube0.hbm0 256", "h2d host sip0.cube0.hbm0 4096")
    assert "at 256 bytes takes" in broken([replace(small, latency_ps=large.latency_ps + 1), large])[0]
    down, up = rows_of("h2d host sip0.cube0.hbm0 4096", "d2h sip0.cube0.hbm0 host 4096")
    assert broken([down, replace(up, latency_ps=down.latency_ps - 1)])[0].startswith("d2h sip0.cube0.hbm0 to sip0.host")
    (own,) = rows_of("dma sip0.cube0.pe0 sip0.cube0.hbm0 4096")
    over, under = broken([replace(own, latency_ps=15999)])
    assert "reaches 100.01% of 256 GB/s" in over and "takes 16.00 ns, at least 16.00 ns" in under


def test_ways_of_another_kind_are_not_compared_by_hops() -> None:
    """A cube that is entered by another port is neither nearer nor farther in the sense of the invariant."""
    one, other = rows_of("dma sip0.cube5.pe0 sip0.cube1.hbm0 256", "dma sip0.cube5.pe0 sip0.cube15.hbm0 256")
    by_hops = next(found for found in invariants([one, other]) if "hops" in found.name)
    assert (one.hops, other.hops, by_hops.compared) == (1, 4, 0)


def test_whole_picoseconds_break_no_invariant() -> None:
    """64 B at 768 GB/s take 83 ps, not 83.33: a long message is sooner there than its bottleneck says, and may be."""
    fast = [f"cube.{key}=768" for key in ("mesh.gb_per_s", "pe_gb_per_s", "slice_gb_per_s")]
    machine = load_machine("ahbm-2sip", [*fast, "hbm.channel_gb_per_s=768", "noc.flit_bytes=64"])
    row = measure(machine, Pair("dma", "dma", End("pe", 0, 0, 0), End("hbm", 0, 0, 0)), 1 << 20)
    assert row.latency_ps < row.drain_ps
    assert broken([row]) == []


def test_a_broken_invariant_is_status_3(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """The report says so, and standard error too, where the JSON goes to standard output."""

    def wrong(*arguments: Any) -> Row:
        return replace(measure(*arguments), latency_ps=1000)

    monkeypatch.setattr(probe_module, "measure", wrong)
    assert main(["probe", "--path", "h2d"]) == 3
    out, err = capsys.readouterr()
    assert "failed" in out and "invariant broken: nothing reaches over 100% of its bottleneck: h2d" in err
    assert main(["probe", "--path", "h2d", "--json", "-"]) == 3
    assert "invariant broken" in capsys.readouterr().err


def test_an_interrupt_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Ctrl-C at the third row: two rows are printed or written, status 130."""
    calls: list[int] = []

    def interrupted(*arguments: Any) -> Row:
        calls.append(1)
        if len(calls) % 3 == 0:
            raise KeyboardInterrupt
        return measure(*arguments)

    monkeypatch.setattr(probe_module, "measure", interrupted)
    assert main(["probe", "--json", "-"]) == 130
    out, err = capsys.readouterr()
    assert [row["case"] for row in json.loads(out)] == ["pe-local-hbm", "pe-same-half-hbm"]
    assert err.startswith("ahbmc probe: interrupted: 2 of ")
    assert main(["probe"]) == 130
    assert "147.87" in capsys.readouterr().out
    calls.extend((1, 1))
    assert main(["probe", "--plot", "none.svg"]) == 130
    assert "interrupted: 0 of" in capsys.readouterr().err


def test_a_plot_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    """An SVG with every case in its legend and a PNG, each drawn twice."""
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        assert main(["probe", "--path", "h2d", "--json", str(tmp_path / "rows"), "--plot", str(tmp_path / name)]) == 0
    digests = [hashlib.sha256((tmp_path / name).read_bytes()).digest() for name in ("a.svg", "b.svg", "a.png", "b.png")]
    assert all(a == b for a, b in list(pairwise(digests))[::2])
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert all(f"h2d-{hops}hop" in text for hops in (1, 2, 3, 4)) and "latency, ns" in text
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Before anything is measured."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, f"{rows_module.__package__}.plot", raising=False)
    assert main(["probe", "--plot", "latency.svg"]) == 1
    err = capsys.readouterr().err
    assert "a plot needs matplotlib, which is not installed" in err and "pip install 'ahbmc[plot]'" in err
