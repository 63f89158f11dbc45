"""The HTML page of a run: whole without a network, the figures of the report, of a sensible size for any machine."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from ahbmc.backend_sim.analysis.charts import bar, bars, changes, heat_map, over_time
from ahbmc.backend_sim.analysis.page import page
from ahbmc.backend_sim.analysis.summary import Analysis, Run
from ahbmc.backend_sim.oplog import PARTS, OpLog
from ahbmc.dialects.errors import Sources
from support_oplog import MACHINE, RUN, Log, one_product, run_on

VOID = ("meta", "!doctype")


class Balanced(HTMLParser):
    """Raises where a tag is closed that is not the open one; collects text by the tag around it."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):  # pyright: ignore[reportOptionalMemberAccess]
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        # Self-closing elements of SVG are never open.
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            assert tag in ("rect", "path"), f"</{tag}> in {self.open}"

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))


def written(log: OpLog, run: Run = RUN, sources: Sources | None = None) -> tuple[str, list[tuple[str, str]]]:
    """The page of a log and the texts in it by tag; that it stands alone and is well formed is checked."""
    found = "".join(page(Analysis(log, MACHINE), run, sources))
    for outside in ("http", "<script", "<link", "src=", "url(", "@import"):
        assert outside not in found, outside
    parser = Balanced()
    parser.feed(found)
    parser.close()
    assert parser.open == []
    for picture in re.findall("<svg.*?</svg>", found):
        ElementTree.fromstring(picture)
    return found, parser.texts


def headings(texts: list[tuple[str, str]]) -> list[str]:
    return [text for tag, text in texts if tag == "h2"]


def many(pes: int, links: int = 0) -> OpLog:
    """One load on each of many PEs, from its own slice, over one of many links; the n-th link is busy for n ps."""
    log = Log(links=[f"sip0.cube0.a{i}>sip0.cube0.b{i}" for i in range(links)])
    site = log.site("dma_read", 3)
    for pe in range(pes):
        log.record(site, (0, 9000), -1, (10510, 39510), 0, bytes_read=4096, useful_read=4096)
        run_on(log, pe, "dma_read", 10510, 29000)
        run_on(log, pe, "hbm", 12510, 16000, unit=pe)
        for link in range(pe, links, pes):
            run_on(log, pe, "noc", 12510, link + 1, unit=link)
        log.program(pe, 0, 39510, first=pe, rows=1)
    return log.build()


def test_the_page_of_one_pe() -> None:
    """Head, verdict, path, engines over time, tables with the kernel's text; nothing that is about several PEs."""
    sources = Sources()
    sources.add("k.py", "\n\na = tl.load(p < q)\n")
    found, texts = written(one_product().build(), sources=sources)
    assert headings(texts) == [
        "Verdict",
        "The critical path",
        "Engines over time",
        "Where the time went",
        "Engines",
        "Commands and bytes",
        "Commands",
        "Latency by line of k.py",
    ]
    assert "latency 115.41 ns" in found and "a = tl.load(p &lt; q)" in found
    cells = [text for tag, text in texts if tag in ("td", "th")]
    row = cells.index("dma_read (64, 32)")
    assert cells[row : row + 6] == ["dma_read (64, 32)", "k.py:3", "2", "8,192", "0", "48.51"]
    assert ("p", "pe_cpu, 39.0% of the run") in texts


def test_the_page_of_several_pes_shows_when_slices_and_links_are_busy() -> None:
    """A row per PE, slice and link; the busiest link first."""
    found, texts = written(many(pes=3, links=5))
    assert headings(texts)[2:6] == [
        "Engines over time",
        "dma_read of PEs over time",
        "HBM slices over time",
        "Links over time",
    ]
    rows = [text for tag, text in texts if tag == "text"]
    assert {"sip0.cube0.pe2", "sip0.cube0.hbm1"} <= set(rows)
    assert rows[-5:] == [f"sip0.cube0.a{i}>sip0.cube0.b{i}" for i in (4, 3, 2, 1, 0)]
    assert "The 5 busiest of 5 links" in found


def test_the_page_of_hundreds_of_pes_shows_cubes_and_says_so() -> None:
    """A row per cube; 64 links of 3,000; less than a megabyte."""
    found, texts = written(many(pes=256, links=3000))
    assert len(found) < 1_000_000
    assert "means over the 256 servers of each cube" in found
    assert "The 64 busiest of 3,000 links" in found
    rows = [text for tag, text in texts if tag == "text"]
    assert "sip1.cube15" in rows and "sip0.cube0.pe0" not in rows
    assert len([text for text in rows if ">" in text]) == 64


def test_what_the_run_says_is_on_the_page() -> None:
    """Failed checks, an interrupt, outputs; text is text, whatever stands in it."""
    output = {"shape": [32], "dtype": "fp16", "max_abs_err": None, "ok": None}
    run = Run("k<b>.py::k", "fused", "fail", {"c": output}, {}, 7, (), "interrupted in launch 1 of 1")
    found, texts = written(one_product().build(), run)
    assert "k&lt;b&gt;.py::k" in found and "check fail\ninterrupted in launch 1 of 1" in found
    assert "Outputs" in headings(texts) and ("td", "not checked") in texts


def test_the_page_of_a_run_without_commands() -> None:
    """It says that nothing was issued."""
    log = Log()
    log.program(0, 0, 0)
    found, texts = written(log.build())
    assert "Nothing was issued" in found and "Engines over time" not in headings(texts)


def test_a_bar_is_divided_in_proportion() -> None:
    """Widths of 900; parts without time are not drawn, narrow ones have a title only."""
    drawn = ElementTree.fromstring(bar({"gemm": 8900, "issue": 100, "math": 0}))
    assert [float(rect.attrib["width"]) for rect in drawn.iter("rect")] == pytest.approx([890.0, 10.0], abs=0.01)
    assert [title.text for title in drawn.iter("title")] == ["gemm 98.9%", "issue 1.1%"]
    assert [text.text for text in drawn.iter("text")] == ["gemm 98.9%"]


def test_a_share_over_time_is_an_area() -> None:
    """Half the time idle, then busy for a half."""
    path = next(ElementTree.fromstring(over_time(np.array([0.0, 0.5]), "#000", height=40)).iter("path"))
    assert path.attrib["d"] == "M0 40L0.00 40.00H450.00L450.00 20.00H900.00L900 40Z"


def test_a_map_has_a_shade_per_tenth() -> None:
    """What is idle is not drawn, neighbours of one shade are one, what is hardly busy is drawn too."""
    drawn = ElementTree.fromstring(
        heat_map(["a", "b"], [np.array([0.0, 1.0, 1.0]), np.array([0.01, 0.5, 0.0])], "#000")
    )
    shades = {path.attrib["opacity"]: path.attrib["d"].count("M") for path in drawn.iter("path")}
    assert shades == {"0.1": 1, "0.5": 1, "1.0": 1}
    assert [text.text for text in drawn.iter("text")] == ["a", "b"]


def test_bars_share_one_scale_and_say_their_parts() -> None:
    """The longest takes the whole width beside the names; a part that nobody has is not in the key."""
    parts = dict.fromkeys(PARTS, 0)
    drawn = bars([("a<b", {**parts, "issue": 3000}), ("c", {**parts, "issue": 500, "gemm": 1000})])
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="16"', drawn)]
    assert widths == pytest.approx([widths[0], widths[0] / 6, widths[0] / 3], abs=0.01)
    assert "a&lt;b" in drawn and ">gemm</text>" in drawn and ">math</text>" not in drawn
    assert "<title>gemm 1.00 ns</title>" in drawn


def test_changes_go_both_ways_from_one_line() -> None:
    drawn = changes([("slower", 2000), ("faster", -4000), ("same", 0)])
    found = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', drawn)
    (slow, slow_width), (fast, fast_width), (_, none) = ([float(n) for n in pair] for pair in found)
    assert fast_width == pytest.approx(2 * slow_width, abs=0.02) and none == 0
    assert fast + fast_width == pytest.approx(slow, abs=0.02)
    assert "<title>+2.00 ns</title>" in drawn and "<title>-4.00 ns</title>" in drawn
