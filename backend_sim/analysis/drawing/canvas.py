"""A small writer of SVG: shapes with a class for their style and a title to point at; it keeps track of their extent.

It knows no machine. Lengths are pixels, x to the right, y down. The same calls give the same text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

Point = tuple[float, float]

_GLYPH = 0.62  # width of a character of the fonts below, in sizes of the font: a little more than theirs
_MARGIN = 20.0
_ARROW = "arrow"
_FONTS = "DejaVu Sans, Verdana, Arial, sans-serif"


class Canvas:
    """A picture in the making. `class_` is the style of a shape (`styles` of `finished`), `name` what it stands for."""

    def __init__(self) -> None:
        self._root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": _FONTS})
        self._right = self._bottom = 0.0
        self.used: set[str] = set()
        """Classes of the shapes so far."""

    def rectangle(
        self, class_: str, x: float, y: float, width: float, height: float, name: str = "", title: str = ""
    ) -> None:
        shape = {"x": _px(x), "y": _px(y), "width": _px(width), "height": _px(height), "rx": "3"}
        self._add("rect", class_, name, title, shape, (x, y), (x + width, y + height))

    def circle(self, class_: str, x: float, y: float, radius: float, name: str = "", title: str = "") -> None:
        shape = {"cx": _px(x), "cy": _px(y), "r": _px(radius)}
        self._add("circle", class_, name, title, shape, (x + radius, y + radius))

    def line(self, class_: str, *points: Point, name: str = "", title: str = "", arrows: int = 0) -> None:
        """Straight pieces through `points`; `arrows`: heads at the end (1), or at both ends (2)."""
        shape = {"points": " ".join(f"{_px(x)},{_px(y)}" for x, y in points)}
        shape |= dict.fromkeys(("marker-end", "marker-start")[:arrows], f"url(#{_ARROW})")
        self._add("polyline", class_, name, title, shape, *points)

    def text(
        self, x: float, y: float, text: str, size: float = 10, anchor: str = "start", class_: str = "text"
    ) -> None:
        """`text` with its base line at y; `anchor`: which of its ends, or its middle, x is (start, middle, end)."""
        shape = {"x": _px(x), "y": _px(y), "font-size": _px(size), "text-anchor": anchor}
        width = text_width(text, size)
        right = x + {"start": width, "middle": width / 2, "end": 0}[anchor]
        self._add("text", class_, "", "", shape, (right, y + size / 3)).text = text

    def finished(self, styles: Mapping[str, str]) -> str:
        """The document, with the extent of all that was drawn as its view box. Nothing can be drawn after it."""
        width, height = _px(self._right + _MARGIN), _px(self._bottom + _MARGIN)
        self._root.attrib |= {"width": width, "height": height, "viewBox": f"0 0 {width} {height}"}
        style = ElementTree.Element("style")
        style.text = "".join(f"\n.{class_} {{ {rules} }}" for class_, rules in styles.items()) + "\n"
        paper = ElementTree.Element("rect", {"width": width, "height": height, "fill": "white"})
        self._root[:0] = [_arrow(), style, paper]
        ElementTree.indent(self._root, " ")
        return ElementTree.tostring(self._root, encoding="unicode") + "\n"

    def _add(
        self, tag: str, class_: str, name: str, title: str, shape: Mapping[str, str], *reached: Point
    ) -> ElementTree.Element:
        self.used.add(class_)
        named = {"data-name": name} if name else {}
        element = ElementTree.SubElement(self._root, tag, {"class": class_, **named, **shape})
        if title:
            ElementTree.SubElement(element, "title").text = title
        self._right = max(self._right, *(x for x, _ in reached), 0)
        self._bottom = max(self._bottom, *(y for _, y in reached), 0)
        return element


def _arrow() -> ElementTree.Element:
    """The head of an arrow, which lines refer to."""
    definitions = ElementTree.Element("defs")
    shape = {"id": _ARROW, "viewBox": "0 0 10 10", "refX": "10", "refY": "5", "markerWidth": "7", "markerHeight": "7"}
    marker = ElementTree.SubElement(definitions, "marker", {**shape, "orient": "auto-start-reverse"})
    ElementTree.SubElement(marker, "path", {"d": "M 0 0 L 10 5 L 0 10 z", "fill": "#555"})
    return definitions


def text_width(text: str, size: float) -> float:
    """An upper bound of the width of `text` in a font of `size`."""
    return len(text) * size * _GLYPH


def block_width(lines: Sequence[str], size: float) -> float:
    """An upper bound of the width of several lines."""
    return max((text_width(line, size) for line in lines), default=0.0)


def _px(value: float) -> str:
    """A length with at most one decimal."""
    return f"{round(value, 1):g}" if abs(value) < 1e5 else f"{value:.0f}"
