"""The op-log as files, chosen by how the name ends. Each reads back to an equal op-log (`OpLog.hash`).

    NAME.parquet  a folder: `header.json`, and a `.parquet` file for each of `sites`, `programs`, `records`, `segments`
                  and `runs`, for pandas, DuckDB and the like; needs pyarrow, an optional extra
    NAME.jsonl    JSON lines: {"header": ..., "rows": {"records": 12, ...}}, then one for each row:
                  {"table": "records", "site": 0, ...}
    any other     a line of JSON (header, sites, tables with their columns and lengths), then the columns in that order,
                  each as little-endian 64-bit integers: the bytes that `OpLog.hash` is made of

All are written a block of rows at a time. Programs that ran alike share their records here too.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from ..dialects.errors import Category, fail
from .oplog import SCHEMA_VERSION, TABLES, Ints, OpLog, Site, Table

_ROWS = 1 << 16  # rows that are in memory a second time while they are written
_SITE_COLUMNS = tuple(field.name for field in fields(Site))
_WRITE_AGAIN = "write it again with `ahbmc run --oplog`"


def check_writable(path: Path) -> None:
    """Raise AhbmcError if the format of `path` needs a library that is not there, before anything is run for it."""
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        hint = "install it with `pip install 'ahbmc[parquet]'`, or give a name that ends in .jsonl"
        raise fail(f"{path} is Parquet, which needs the library pyarrow", None, Category.UNSUPPORTED, hint)


def write_oplog(log: OpLog, path: Path) -> None:
    """Write the op-log in the format that the name of `path` asks for. Raises OSError as `open` does."""
    match path.suffix:
        case ".parquet":
            _write_parquet(log, path)
        case ".jsonl":
            with path.open("w", encoding="utf-8") as file:
                _write_jsonl(log, file)
        case _:
            with path.open("wb") as file:
                write_columns(log, file)


def write_columns(log: OpLog, file: BinaryIO) -> None:
    """Write the format of the third row above."""
    for chunk in log.chunks():
        file.write(chunk)


def read_oplog(path: Path) -> OpLog:
    """Read what `write_oplog` wrote. Raises AhbmcError where it is something else, or of another version."""
    check_writable(path)
    try:
        match path.suffix:
            case ".parquet":
                return _read_parquet(path)
            case ".jsonl":
                with path.open(encoding="utf-8") as file:
                    return _read_jsonl(file, path)
            case _:
                with path.open("rb") as file:
                    return _read_columns(file, path)
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror}", hint=_WRITE_AGAIN) from None
    except (KeyError, TypeError, ValueError) as error:
        raise fail(f"{path} is no op-log, or a part of one", hint=_WRITE_AGAIN, notes=(str(error),)) from None


def _checked(header: Any, path: Path) -> dict[str, Any]:
    version = header["schema"]
    if version != SCHEMA_VERSION:
        raise fail(f"{path} is an op-log of version {version}; this is version {SCHEMA_VERSION}", hint=_WRITE_AGAIN)
    return header


def _read_columns(file: BinaryIO, path: Path) -> OpLog:
    head = json.loads(file.readline())
    header = _checked(head["header"], path)
    tables: dict[str, Table] = {}
    for name, columns in TABLES.items():
        length = head["rows"][name]
        tables[name] = {c: np.frombuffer(file.read(8 * length), "<i8", length).astype(np.int64) for c in columns}
    return OpLog(header, tuple(Site(*s) for s in head["sites"]), **tables)


def _write_jsonl(log: OpLog, file: TextIO) -> None:
    rows = {"sites": len(log.sites), **{name: _length(getattr(log, name)) for name in TABLES}}
    file.write(_json({"header": dict(log.header), "rows": rows}))
    for site in log.sites:
        file.write(_json({"table": "sites", **dict(zip(_SITE_COLUMNS, astuple(site), strict=True))}))
    for name, columns in TABLES.items():
        line = f'{{"table":"{name}",' + ",".join(f'"{c}":%d' for c in columns) + "}\n"
        for block in _blocks(getattr(log, name)):
            rows = zip(*(column.tolist() for column in block.values()), strict=True)
            file.writelines(line % row for row in rows)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def _read_jsonl(lines: Iterable[str], path: Path) -> OpLog:
    rows = iter(lines)
    head = json.loads(next(rows, "{}"))
    header = _checked(head["header"], path)
    sites: list[Site] = []
    tables = {name: {c: array("q") for c in columns} for name, columns in TABLES.items()}
    for line in rows:
        row = json.loads(line)
        name = row.pop("table")
        if name == "sites":
            sites.append(Site(**row))
        else:
            for column, values in tables[name].items():
                values.append(row[column])
    found = {"sites": len(sites), **{name: len(next(iter(table.values()))) for name, table in tables.items()}}
    if found != head["rows"]:
        raise ValueError(f"it has {found} rows, its first line says {head['rows']}")
    return OpLog(header, tuple(sites), **{name: _as_ints(table) for name, table in tables.items()})


def _as_ints(table: Mapping[str, array[int]]) -> Table:
    return {name: np.array(column, dtype=np.int64) for name, column in table.items()}


def _write_parquet(log: OpLog, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "header.json").write_text(_json(log.header), encoding="utf-8")
    sites = {c: [getattr(site, c) for site in log.sites] for c in _SITE_COLUMNS}
    texts = {f.name for f in fields(Site) if f.type == "str"}
    _write_table(folder / "sites.parquet", iter([sites]), {c: "string" if c in texts else "int64" for c in sites})
    for name, columns in TABLES.items():
        _write_table(folder / f"{name}.parquet", _blocks(getattr(log, name)), dict.fromkeys(columns, "int64"))


def _write_table(path: Path, blocks: Iterator[Mapping[str, Any]], types: Mapping[str, str]) -> None:
    """Each block becomes a row group."""
    arrow: Any = import_module("pyarrow")  # slow, and not everybody has it
    parquet: Any = import_module("pyarrow.parquet")
    schema = arrow.schema([(name, getattr(arrow, type_)()) for name, type_ in types.items()])
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for block in blocks:
            writer.write_table(arrow.table(dict(block), schema=schema))


def _read_parquet(folder: Path) -> OpLog:
    parquet: Any = import_module("pyarrow.parquet")
    header = _checked(json.loads((folder / "header.json").read_text(encoding="utf-8")), folder)
    sites = tuple(Site(**row) for row in parquet.read_table(folder / "sites.parquet").to_pylist())
    tables: dict[str, Table] = {}
    for name, columns in TABLES.items():
        read = parquet.read_table(folder / f"{name}.parquet")
        tables[name] = {c: read.column(c).to_numpy().astype(np.int64, copy=False) for c in columns}
    return OpLog(header, sites, **tables)


def _blocks(table: Table) -> Iterator[dict[str, Ints]]:
    """The rows of a table, some at a time."""
    for start in range(0, _length(table), _ROWS):
        yield {name: column[start : start + _ROWS] for name, column in table.items()}


def _length(table: Table) -> int:
    return len(next(iter(table.values())))
