"""Figures over points as SVG: curves where the points are numbers, columns side by side where they have names.

As `charts.py` they bring no scripts and no fonts, and stand in an HTML page or, as a `picture`, alone. The same figures
give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

_WIDTH, _PLOT_HEIGHT = 900, 240
_LEFT, _TOP, _BOTTOM = 70, 22, 40  # room for the values, the title, the points
_CHARACTER = 6.8  # width
_WIDE_RANGE = 4  # points that span as much, and values that span twice as much, lie on a logarithmic axis
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#79706e", "#b07aa1", "#499894", "#b6992d")


@dataclass(frozen=True)
class Figure:
    """The value `y` of each line at each of the points of the axis `x`; None where a line has none."""

    y: str
    x: str
    points: tuple[str, ...]
    lines: Mapping[str, tuple[float | None, ...]]

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The points as numbers, if all of them are."""
        try:
            return tuple(map(float, self.points))
        except ValueError:
            return None

    @property
    def values(self) -> list[float]:
        return [value for line in self.lines.values() for value in line if value is not None]


@dataclass(frozen=True)
class _Scale:
    """Where a number lies between the ends of an axis, in pixels."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool

    def at(self, value: float) -> float:
        low, high = self._measure(self.low), self._measure(self.high)
        share = (self._measure(value) - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def _measure(self, value: float) -> float:
        return log10(value) if self.logarithmic else value


def plot(figure: Figure) -> str:
    """One figure, with a key of its lines to the right of it."""
    return _svg(_PLOT_HEIGHT + _TOP + _BOTTOM, _drawn(figure))


def picture(figures: Sequence[Figure]) -> str:
    """Figures one below the other as an SVG file, on white."""
    height = _PLOT_HEIGHT + _TOP + _BOTTOM
    drawn = [f'<rect width="{_WIDTH}" height="{height * len(figures)}" fill="#fff"/>']
    for i, figure in enumerate(figures):
        drawn.append(f'<g transform="translate(0 {i * height})">{"".join(_drawn(figure))}</g>')
    return _svg(height * len(figures), drawn, ' xmlns="http://www.w3.org/2000/svg"') + "\n"


def _svg(height: int, drawn: Sequence[str], space: str = "") -> str:
    font = 'font-family="ui-monospace, monospace" font-size="11"'
    lines = "\n".join(drawn)
    return f'<svg{space} viewBox="0 0 {_WIDTH} {height}" role="img" {font}>{lines}</svg>'


def _drawn(figure: Figure) -> list[str]:
    right = _WIDTH - 24 - _CHARACTER * max((len(name) for name in figure.lines), default=0)
    numbers = figure.numbers
    y = _y_scale(figure, columns=numbers is None)
    drawn = [f'<text x="{_LEFT}" y="12">{escape(figure.y)}</text>']
    for value, label in _ticks(y):
        drawn.append(f'<path d="M{_LEFT} {y.at(value):.1f}H{right:.1f}" stroke="currentColor" opacity="0.2"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{y.at(value) + 4:.1f}" text-anchor="end">{label}</text>')
    for i, (name, colour) in enumerate(_coloured(figure)):
        at = _TOP + 8 + 18 * i
        drawn.append(f'<rect x="{right + 8:.1f}" y="{at}" width="10" height="10" fill="{colour}"/>')
        drawn.append(f'<text x="{right + 22:.1f}" y="{at + 9}">{escape(name)}</text>')
    bottom = _TOP + _PLOT_HEIGHT
    drawn.append(
        f'<text x="{(_LEFT + right) / 2:.1f}" y="{bottom + 32}" text-anchor="middle">{escape(figure.x)}</text>'
    )
    body = _columns(figure, y, right) if numbers is None else _curves(figure, numbers, y, right)
    return [*drawn, *body]


def _coloured(figure: Figure) -> Iterator[tuple[str, str]]:
    return ((name, _COLOURS[i % len(_COLOURS)]) for i, name in enumerate(figure.lines))


def _y_scale(figure: Figure, *, columns: bool) -> _Scale:
    values = figure.values or [0.0]
    low, high = min(values), max(values)
    is_share = high <= 1
    if not columns and not is_share and low > 0 and high / low >= 2 * _WIDE_RANGE:
        return _Scale(low, high, _TOP + _PLOT_HEIGHT, _TOP, True)
    low = min(low, 0.0)
    return _Scale(low, high if high > low else low + 1, _TOP + _PLOT_HEIGHT, _TOP, False)


def _ticks(scale: _Scale) -> list[tuple[float, str]]:
    """Round values on an axis, with their labels."""
    if scale.logarithmic:
        powers = range(floor(log10(scale.low)), ceil(log10(scale.high)) + 1)
        steps = (1,) if len(powers) > 4 else (1, 2, 5)
        values = [step * 10.0**power for power in powers for step in steps]
    else:
        least = (scale.high - scale.low) / 6
        step = next(s for s in (f * 10.0 ** floor(log10(least)) for f in (1, 2, 5, 10)) if s >= least)
        values = [step * i for i in range(ceil(scale.low / step), floor(scale.high / step) + 1)]
    return [(value, f"{value:,.10g}") for value in values if scale.low <= value <= scale.high]


def _curves(figure: Figure, numbers: Sequence[float], y: _Scale, right: float) -> Iterator[str]:
    low, high = min(numbers), max(numbers)
    x = _Scale(low, high, _LEFT + 8, right - 16, low > 0 and high / low >= _WIDE_RANGE)
    free = 0.0
    for number, label in sorted(zip(numbers, figure.points, strict=True)):
        half = _CHARACTER * len(label) / 2
        if x.at(number) - half >= free:
            yield _point(x.at(number), label)
            free = x.at(number) + half + _CHARACTER
    for i, (name, colour) in enumerate(_coloured(figure)):
        width = 2 + 0.8 * (len(figure.lines) - 1 - i)  # a line below one that it coincides with shows on both sides
        found = sorted((n, v) for n, v in zip(numbers, figure.lines[name], strict=True) if v is not None)
        path = "L".join(f"{x.at(number):.1f} {y.at(value):.1f}" for number, value in found)
        if path:
            yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width:.1f}"/>'
        for number, value in found:
            title = f"<title>{escape(name)}, {number:,g}: {value:,.6g}</title>"
            yield f'<circle cx="{x.at(number):.1f}" cy="{y.at(value):.1f}" r="3" fill="{colour}">{title}</circle>'


def _columns(figure: Figure, y: _Scale, right: float) -> Iterator[str]:
    group = (right - _LEFT) / max(1, len(figure.points))
    width = 0.8 * group / max(1, len(figure.lines))
    for i, label in enumerate(figure.points):
        yield _point(_LEFT + (i + 0.5) * group, label)
    for k, (name, colour) in enumerate(_coloured(figure)):
        for i, (label, value) in enumerate(zip(figure.points, figure.lines[name], strict=True)):
            if value is not None:
                left, top, foot = _LEFT + (i + 0.1) * group + k * width, y.at(max(value, 0.0)), y.at(min(value, 0.0))
                title = f"<title>{escape(name)}, {escape(label)}: {value:,.6g}</title>"
                size = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{foot - top:.1f}"'
                yield f'<rect {size} fill="{colour}">{title}</rect>'


def _point(at: float, label: str) -> str:
    return f'<text x="{at:.1f}" y="{_TOP + _PLOT_HEIGHT + 16}" text-anchor="middle">{escape(label)}</text>'
