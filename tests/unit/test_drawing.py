"""The picture of a machine: one shape for each part, all of it inside the view box, no text over another."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ahbmc.backend_sim.analysis.drawing.picture import draw
from ahbmc.backend_sim.target.machine import Machine
from ahbmc.backend_sim.target.machine_checks import router_names
from ahbmc.backend_sim.target.machine_file import load_machine, shipped_machines
from ahbmc.backend_sim.target.topology import mesh_links
from ahbmc.driver.main import main

Capture = pytest.CaptureFixture[str]
Box = tuple[float, float, float, float]
SVG = "{http://www.w3.org/2000/svg}"

# Holes, two PEs at one router, ports off the edge of the mesh, IO ports out of order, five SIPs at a switch.
CROOKED = """\
base: ahbm-2sip
about: as crooked as a machine may be
sips: 5
sip: {cubes: [3, 2], io: {cubes: [1, 0]}}
cube:
  mesh: {columns_mm: [0.5, 2, 9], rows_mm: [1, 1.25, 8, 9], missing: [r1c1, r2c1]}
  pes: [r0c0, r0c0, r3c2, r0c1]
  m_cpu: {router: r0c0}
  sram: {router: r0c0}
  ucie: {n: [r2c0, r3c2], e: [r0c0], s: [r3c1], w: [r3c2, r0c0]}
"""
ONE_ROUTER = """\
base: tiny
about: a cube of one router
cube: {mesh: {columns_mm: [1], rows_mm: [1]}, pes: [r0c0]}
"""
MANY = {"crooked": CROOKED, "one": ONE_ROUTER}
NAMES = (*shipped_machines(), *MANY)


def machine_named(name: str, folder: Path) -> Machine:
    """A shipped machine, or one of this file."""
    if name not in MANY:
        return load_machine(name)
    (folder / f"{name}.yaml").write_text(MANY[name])
    return load_machine(f"{name}.yaml", folder=folder)


def shapes(picture: ElementTree.Element, class_: str) -> list[str]:
    """What the shapes of a class stand for; those of the legend stand for nothing."""
    return [e.attrib["data-name"] for e in picture.iter() if e.get("class") == class_ and "data-name" in e.attrib]


@pytest.mark.parametrize("name", NAMES)
def test_there_is_one_shape_for_each_part(name: str, tmp_path: Path) -> None:
    """Routers, links, PEs, slices, connections, cubes, ports, SIPs and switches are as many as the machine has."""
    machine = machine_named(name, tmp_path)
    picture = ElementTree.fromstring(draw(machine))
    cube, (rows, columns), io = machine.cube, machine.sip.cubes, machine.sip.io
    assert Counter(shapes(picture, "router") + shapes(picture, "relay")) == Counter([*router_names(machine), "router"])
    assert Counter(shapes(picture, "missing")) == Counter(cube.mesh.missing)
    assert Counter(shapes(picture, "mesh-link")) == Counter(f"{a} {b}" for a, b, _ in mesh_links(machine))
    assert Counter(shapes(picture, "pe")) == Counter([*(f"PE{i}" for i in range(len(cube.pes))), "pe0"])
    assert Counter(shapes(picture, "slice")) == Counter([*(f"HBM{i}" for i in range(len(cube.pes))), "HBM slice"])
    assert len(shapes(picture, "m-cpu")) == (cube.m_cpu is not None)
    assert len(shapes(picture, "sram")) == (cube.sram is not None)
    sides = {} if cube.ucie is None else {side: getattr(cube.ucie, side) for side in "nesw"}
    connections = [f"{side}.conn{i} {router}" for side, routers in sides.items() for i, router in enumerate(routers)]
    assert Counter(shapes(picture, "connection")) == Counter(connections)
    fed = () if io is None else io.cubes
    assert Counter(shapes(picture, "port")) == Counter(
        [*(f"ucie_{side}" for side in sides), *(f"io_ucie{i}" for i in range(len(fed)))]
    )
    assert len(shapes(picture, "cube")) == rows * columns
    assert len(shapes(picture, "cube-link")) == rows * (columns - 1) + (rows - 1) * columns + len(fed)
    assert len(shapes(picture, "io-link")) == (2 + len(fed) if io else 0)
    assert len(shapes(picture, "sip")) == machine.sips


@pytest.mark.parametrize(
    ("name", "switches", "links"),
    [("ahbm-2sip", 1, 2), ("ahbm-4sip", 1, 4), ("ahbm-6sip-ring", 6, 12), ("ahbm-6sip-mesh", 7, 14),
     ("ahbm-6sip-torus", 9, 18), ("tiny", 0, 0)],
)  # fmt: skip
def test_sips_are_joined_as_their_topology_says(name: str, switches: int, links: int) -> None:
    """One switch, or one for each pair of neighbours; a torus of 2 x 3 closes its rows alone."""
    picture = ElementTree.fromstring(draw(load_machine(name)))
    assert (len(shapes(picture, "switch")), len(shapes(picture, "inter-sip-link"))) == (switches, links)


def number(element: ElementTree.Element, key: str) -> float:
    return float(element.attrib[key])


def box(element: ElementTree.Element) -> Box | None:
    """Left, top, right, bottom of a shape; a text by the width of most fonts, 0.6 of its size per character."""
    match element.tag.removeprefix(SVG):
        case "rect":
            x, y = number(element, "x"), number(element, "y")
            return x, y, x + number(element, "width"), y + number(element, "height")
        case "circle":
            x, y, r = (number(element, key) for key in ("cx", "cy", "r"))
            return x - r, y - r, x + r, y + r
        case "polyline":
            points = [tuple(map(float, point.split(","))) for point in element.attrib["points"].split()]
            xs, ys = [p[0] for p in points], [p[1] for p in points]
            return min(xs), min(ys), max(xs), max(ys)
        case "text":
            size, x, y = (number(element, key) for key in ("font-size", "x", "y"))
            width = 0.6 * size * len(element.text or "")
            left = x - {"start": 0.0, "middle": width / 2, "end": width}[element.attrib["text-anchor"]]
            return left, y - 0.8 * size, left + width, y + 0.2 * size
        case _:
            return None


@pytest.mark.parametrize("name", NAMES)
def test_everything_lies_inside_and_no_text_over_another(name: str, tmp_path: Path) -> None:
    """The view box holds every shape, and texts stay apart, also where routers are a quarter of a mm apart."""
    picture = ElementTree.fromstring(draw(machine_named(name, tmp_path)))
    _, _, width, height = map(float, picture.attrib["viewBox"].split())
    drawn = [e for e in picture.iter() if "class" in e.attrib]
    boxes = [(e, found) for e in drawn if (found := box(e)) is not None]
    assert len(boxes) == len(drawn) > 20
    outside = [
        ElementTree.tostring(e)
        for e, (x, y, right, bottom) in boxes
        if x < 0 or y < 0 or right > width or bottom > height
    ]
    assert not outside
    texts = [(e.text, found) for e, found in boxes if e.tag == f"{SVG}text"]
    over = [
        (a, b)
        for (a, (ax, ay, ar, ab)), (b, (bx, by, br, bb)) in combinations(texts, 2)
        if ax < br and bx < ar and ay < bb and by < ab
    ]
    assert not over


def test_routers_are_at_their_places_on_the_die() -> None:
    """One scale for both directions: 46 px per mm or more, the same between any two routers."""
    picture = ElementTree.fromstring(draw(load_machine("ahbm-2sip")))
    places = {e.get("data-name"): (number(e, "cx"), number(e, "cy")) for e in picture.iter(f"{SVG}circle")}
    (x0, y0), (x1, y1), (x2, y2) = places["r0c0"], places["r0c5"], places["r5c0"]
    assert (y0, x0) == (y1, x2)
    assert (x1 - x0) / 14 == pytest.approx((y2 - y0) / 11, rel=1e-3)
    assert places["r2c1"][0] == places["r0c1"][0]


def test_every_class_has_a_style_and_the_legend_names_what_is_there() -> None:
    """No shape is left in the default black; a machine without ports has none in its legend."""
    for name, named in (("ahbm-2sip", {"UCIe port", "switch between SIPs"}), ("tiny", set[str]())):
        picture = ElementTree.fromstring(draw(load_machine(name)))
        style = picture.find(f"{SVG}style")
        assert style is not None and style.text is not None
        assert all(f".{e.attrib['class']} {{" in style.text for e in picture.iter() if "class" in e.attrib)
        texts = {e.text for e in picture.iter(f"{SVG}text")}
        assert texts & {"UCIe port", "switch between SIPs"} == named


def test_machines_prints_and_draws_by_name_and_by_file(tmp_path: Path, capsys: Capture) -> None:
    """The description, the file, and the picture, which is the same each time; `-` prints the picture alone."""
    (tmp_path / "crooked.yaml").write_text(CROOKED)
    file, svg = str(tmp_path / "crooked.yaml"), tmp_path / "machine.svg"
    assert main(["machines", file, "--svg", str(svg)]) == 0
    out = capsys.readouterr().out
    assert "crooked: as crooked as a machine may be" in out and "5 SIPs x 3 x 2 CUBEs x 4 PEs" in out and CROOKED in out
    assert main(["machines", file, "--svg", "-"]) == 0
    assert capsys.readouterr().out == svg.read_text(encoding="utf-8")


def test_machines_says_which_routing_there_is(capsys: Capture) -> None:
    """The list says which machine has the physical routing, each machine which one it has."""
    assert main(["machines"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert "route as published (min_wire)" in listed and "ahbm-2sip-xy has the physical routing" in listed
    assert main(["machines", "ahbm-2sip"]) == main(["machines", "ahbm-2sip-xy"]) == 0
    out = capsys.readouterr().out
    assert "the published one (min_wire)" in out and "the physical one (xy)" in out and out.count("17% apart") == 2


def test_faults_of_machines(capsys: Capture) -> None:
    """An unknown machine with its place and the nearest name; a picture of none or of several; no such folder."""
    assert main(["machines", "tinny"]) == 1
    err = capsys.readouterr().err
    assert "there is no machine `tinny`" in err and "^^^^^" in err and "did you mean `tiny`?" in err
    for names in ([], ["tiny", "ahbm-2sip"]):
        assert main(["machines", *names, "--svg", "x.svg"]) == 2
        assert "--svg draws one machine: name it" in capsys.readouterr().err
    assert main(["machines", "tiny", "--svg", "no/such/folder/x.svg"]) == 1
    assert "cannot write no/such/folder/x.svg" in capsys.readouterr().err
