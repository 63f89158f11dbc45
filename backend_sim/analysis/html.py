"""What the HTML pages share: head and style, sections, tables. They need no network, no scripts and no fonts."""

from __future__ import annotations

from html import escape

from rich.console import RenderableType
from rich.table import Table

_STYLE = """\
:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.4rem; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 0.15rem 1rem 0.15rem 0; white-space: pre-wrap; }
th { font-weight: 600; border-bottom: 1px solid; }
.right { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
svg { width: 100%; display: block; } svg text { fill: currentColor; }
pre { white-space: pre-wrap; font: inherit; } .note { opacity: 0.7; margin: 0.2rem 0; }
"""
END = "</body></html>\n"


def begin(title: str) -> str:
    """The page up to its title."""
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    return f"{head}<style>{_STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n"


def section(title: str, note: str) -> str:
    """A title with a sentence below it."""
    return f'<h2>{escape(title)}</h2><p class="note">{escape(note)}</p>\n'


def table_in_html(table: Table) -> str:
    """A table of the report in HTML."""
    sides = [' class="right"' if column.justify == "right" else "" for column in table.columns]
    rows = [f"<th{side}>{_cell(column.header)}</th>" for side, column in zip(sides, table.columns, strict=True)]
    lines = [f"<tr>{''.join(rows)}</tr>"]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        lines.append(f"<tr>{''.join(f'<td{side}>{_cell(c)}</td>' for side, c in zip(sides, cells, strict=True))}</tr>")
    title = f"<h2>{escape(str(table.title))}</h2>"
    return f"{title}<table>{''.join(lines)}</table>\n"


def _cell(cell: RenderableType) -> str:
    return escape(str(cell))
