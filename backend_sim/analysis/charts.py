"""Charts as SVG to stand in an HTML page: a bar of parts, a share over time, many shares over time as a map.

They bring no scripts and no fonts; `currentColor` is the text colour of the page around them. Shares are 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from math import ceil

from ..oplog import PARTS
from .busy import Shares

_WIDTH = 900
_LEVELS = 10  # shades of a map

# Told apart also by readers who see few colours: light and dark ones alternate.
_COLOURS = (
    "#4e79a7", "#a0cbe8", "#f28e2b", "#b6992d", "#59a14f", "#8cd17d", "#499894", "#86bcb6", "#e15759", "#ff9d9a",
    "#79706e", "#d4a6c8",
)  # fmt: skip
COLOUR_OF_PART: Mapping[str, str] = dict(zip(PARTS, _COLOURS, strict=True))


def bar(parts: Mapping[str, int]) -> str:
    """One bar, divided in proportion to `parts` (part of the attribution -> ps); the name and share of each on it or,
    where it is too narrow, when the mouse is on it."""
    total, at, drawn = sum(parts.values()), 0.0, list[str]()
    for part, ps in parts.items():
        width = _WIDTH * ps / total if total else 0.0
        if not ps:
            continue
        label = f"{part} {ps / total:.1%}"
        drawn.append(
            f'<g><title>{label}</title><rect x="{at:.2f}" y="0" width="{width:.2f}" height="36"'
            f' fill="{COLOUR_OF_PART[part]}"/>'
        )
        if width > 7 * len(label):
            drawn.append(f'<text x="{at + width / 2:.2f}" y="22" text-anchor="middle" style="fill:#000">{label}</text>')
        drawn.append("</g>")
        at += width
    return _svg(36, drawn)


def bars(rows: Sequence[tuple[str, Mapping[str, int]]]) -> str:
    """A bar for each (name, part of the attribution -> ps), all on one scale, below a key of the parts."""
    label = 6.8 * max((len(name) for name, _ in rows), default=0) + 8
    longest = max((sum(parts.values()) for _, parts in rows), default=0)
    shown = [part for part in PARTS if any(parts[part] for _, parts in rows)]
    drawn: list[str] = []
    for i, part in enumerate(shown):
        drawn.append(f'<rect x="{i * 80}" y="2" width="10" height="10" fill="{COLOUR_OF_PART[part]}"/>')
        drawn.append(f'<text x="{i * 80 + 14}" y="11">{part}</text>')
    for row, (name, parts) in enumerate(rows):
        y, at = 20 + 20 * row, label
        drawn.append(f'<text x="0" y="{y + 12}">{escape(name)}</text>')
        for part in shown:
            width = (_WIDTH - label) * parts[part] / longest if longest else 0.0
            if width:
                title = f"<title>{part} {parts[part] / 1000:,.2f} ns</title>"
                size = f'x="{at:.2f}" y="{y}" width="{width:.2f}" height="16"'
                drawn.append(f'<g>{title}<rect {size} fill="{COLOUR_OF_PART[part]}"/></g>')
            at += width
    return _svg(20 + 20 * len(rows), drawn)


def changes(rows: Sequence[tuple[str, int]]) -> str:
    """A bar for each (name, change in ps): to the right what adds time, to the left what saves it, on one scale."""
    label = 6.8 * max((len(name) for name, _ in rows), default=0) + 8
    more, less = max((ps for _, ps in rows), default=0), max((-ps for _, ps in rows), default=0)
    scale = (_WIDTH - label) / max(1, max(0, more) + max(0, less))
    zero = label + max(0, less) * scale
    drawn = [f'<path d="M{zero:.2f} 0V{20 * len(rows)}" stroke="currentColor" opacity="0.4"/>']
    for row, (name, ps) in enumerate(rows):
        left, width, colour = zero + min(0, ps) * scale, abs(ps) * scale, "#e15759" if ps > 0 else "#59a14f"
        drawn.append(f'<text x="0" y="{20 * row + 12}">{escape(name)}</text>')
        size = f'x="{left:.2f}" y="{20 * row}" width="{width:.2f}" height="16"'
        drawn.append(f'<g><title>{ps / 1000:+,.2f} ns</title><rect {size} fill="{colour}"/></g>')
    return _svg(20 * len(rows), drawn)


def over_time(share: Shares, colour: str, height: int = 44) -> str:
    """One share over time as an area; the line above it is 100%."""
    step = _WIDTH / max(1, len(share))
    points = [f"M0 {height}"]
    for i, value in enumerate(share.tolist()):
        points.append(f"L{i * step:.2f} {height * (1 - value):.2f}H{(i + 1) * step:.2f}")
    points.append(f"L{_WIDTH} {height}Z")
    frame = f'<rect x="0" y="0" width="{_WIDTH}" height="{height}" fill="none" stroke="currentColor" opacity="0.25"/>'
    return _svg(height, [f'<path d="{"".join(points)}" fill="{colour}"/>', frame])


def heat_map(names: Sequence[str], shares: Sequence[Shares], colour: str) -> str:
    """A row per server, the darker the busier over time, in steps of a tenth; what was busy at all shows."""
    height = 14 if len(names) <= 70 else 6
    label = 6.8 * max(map(len, names), default=0) if height > 10 else 0.0
    paths: list[list[str]] = [[] for _ in range(_LEVELS + 1)]
    drawn: list[str] = []
    for row, (name, share) in enumerate(zip(names, shares, strict=True)):
        y, step, at = row * height, (_WIDTH - label) / max(1, len(share)), 0
        for level, group in groupby(ceil(float(value) * _LEVELS) for value in share.tolist()):
            count = len(list(group))
            left, width = label + at * step, count * step
            paths[level].append(f"M{left:.1f} {y}h{width:.1f}v{height - 1}H{left:.1f}z")
            at += count
        if label:
            drawn.append(f'<text x="0" y="{y + height - 3}">{escape(name)}</text>')
    for level, path in enumerate(paths[1:], 1):
        if path:
            drawn.append(f'<path d="{"".join(path)}" fill="{colour}" opacity="{level / _LEVELS:.1f}"/>')
    return _svg(height * len(names), drawn)


def _svg(height: int, drawn: Sequence[str]) -> str:
    font = 'font-family="ui-monospace, monospace" font-size="11"'
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" {font}>{"".join(drawn)}</svg>'
