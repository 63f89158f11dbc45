"""`docs/machine.md`: what a machine file is, and every key with its unit, value in the default machine, and meaning."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, cast

import msgspec
from msgspec import Struct

from ..backend_sim.target.describe import binary_size
from ..backend_sim.target.machine import Machine
from ..backend_sim.target.machine_file import DEFAULT, load_machine
from ..backend_sim.target.quantities import Bytes, unit_of
from .key_table import about, escaped, type_of

_HEAD = """\
# Machine files

A machine file describes the modelled hardware. `ahbmc machines` lists those that ship, `ahbmc machines NAME` or a file
describes and prints one and, with `--svg F`, draws it; `ahbmc probe` times its messages ([`probe.md`](probe.md)).
`machine: NAME` or `machine: FILE.yaml` in a workload, or `--machine`, chooses one. This page is made from the schema in
`backend_sim/target/machine.py`; `machine.schema.json` beside it is the same as JSON Schema, for editors.

A file of your own extends another and gives only what differs, at any depth:

```yaml
base: ahbm-2sip
about: one SIP of 2 x 2 small cubes, four PEs each, and faster HBM
sips: 1
sip: {cubes: [2, 2], io: null}
inter_sip: null
cube:
  mesh: {columns_mm: [1.5, 4.5, 7.5], rows_mm: [1.5, 4, 6.5], missing: [r1c1]}
  pes: [r0c0, r0c2, r2c0, r2c2]
  m_cpu: null
  sram: {router: r1c0}
  ucie: {n: [r0c0, r0c2], e: [r0c2, r2c2], s: [r2c0, r2c2], w: [r0c0, r2c0]}
hbm: {channel_gb_per_s: 64, slice_bytes: 2 GiB}
pe: {gemm: {peak_tflops: 16, rates: {f8: 2}}}
```

`base:` is a machine that ships or a file, by its path from this one; a mapping is merged key by key, a list is taken as
a whole, `null` takes a part away. All SIPs are alike, and so are all cubes and all PEs, so each is described once.
`--set machine.PATH=VALUE` changes one value of any machine: `--set machine.pe.gemm.peak_tflops=16`,
`--set machine.cube.pes.0=r1c1`.

Units are part of a key's name: ps, mm, GB/s (bytes per ns), GHz, TFLOP/s. Rates and lengths are exact: `1/16` and `0.1`
mean what they say. Sizes are bytes, or a whole number with B, KiB, MiB or GiB. Each fault of a file is an error with
its line: an unknown key, a value out of range, something attached to a router that is not there, a hole that cuts the
mesh, cubes or SIPs that cannot reach each other.

## Mesh

Routers lie at the crossings of `rows_mm` and `columns_mm` and are called rRcC. Those of `missing` are left out, and
links go over the hole: each router is joined to the next that is there in its row and in its column. PE i and slice i
of HBM hang at router i of `pes`. Connection i of a port joins router i of its list.

## Routing

Inside a cube a message takes the least wire over routers, under either routing. Between cubes:

- `min_wire`, of `ahbm-2sip` and the machines on top of it, is the routing as published: least wire over everything.
  Connections of a port have no length, so ports become free passages from one corner of a cube to another. The
  published figures need it.
- `xy`, of `ahbm-2sip-xy`, is the physical one: along the row of cubes, then along the column, least wire inside each
  cube, and a port is passed only to leave the cube. Single messages between
  cubes of ahbm-2sip are up to 17% apart, more where they meet others.

`routing: xy` in a file, or `--set machine.routing=xy`, takes the physical one on any machine.

## Between SIPs

The pcie_eps of SIPs are joined over switches, each hop pcie_ep, switch, pcie_ep. `inter_sip.topology`:

| topology | joined | way |
|---|---|---|
| `switch` | all SIPs by one switch | one hop |
| `ring` | SIP i and i + 1, the last and the first | the shorter way round |
| `mesh` | `grid` of rows x columns, SIP id = row * columns + column | along the row, then along the column |
| `torus` | a mesh with its rows and columns closed | the same, each the shorter way round |

Where both ways round are equally long, the one by rising ids is taken. Two SIPs share at most one link. With
`store_and_forward` each pcie_ep on the way sends a message on when it has all of it.

## Where the numbers come from

In `ahbm-2sip.yaml` each number has a mark: [P] published, [I] inferred, and a published figure breaks if it is changed,
[C] a choice that no published figure pins down, [Q] a quirk of the published simulator that its figures need.
"""


def machine_page() -> str:
    """The page: the text above, then a table of the keys of each part."""
    machine, parts = load_machine(DEFAULT), [_HEAD]
    paths: dict[type[Struct], list[str]] = {}
    for struct, path in _structs(Machine, ""):
        paths.setdefault(struct, []).append(path)
    for struct, places in paths.items():
        title = ", ".join(f"`{path}`" for path in places) if places != [""] else "The file"
        parts.append(f"## {title}\n\n{' '.join((struct.__doc__ or '').split())}\n")
        parts.append(f"| key | what it takes | unit | {DEFAULT} | meaning |\n|---|---|---|---|---|")
        for field in msgspec.structs.fields(struct):
            found = dict.fromkeys(_shown(_value(machine, f"{path}.{field.encode_name}")) for path in places)
            cells = (f"`{field.encode_name}`", _type(field.type), _unit(field), ", ".join(found), about(field.type))
            parts.append(f"| {' | '.join(cells)} |")
        parts.append("")
    return "\n".join(parts)


def _structs(struct: type[Struct], path: str) -> Iterator[tuple[type[Struct], str]]:
    """`struct` and those below it, each with its path in the file."""
    yield struct, path
    for field in msgspec.structs.fields(struct):
        below = _struct_in(field.type)
        if below is not None:
            yield from _structs(below, f"{path}.{field.encode_name}".lstrip("."))


def _struct_in(kind: Any) -> type[Struct] | None:
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind
    return next(filter(None, map(_struct_in, typing.get_args(kind))), None)


def _type(kind: Any) -> str:
    if _struct_in(kind) is None:
        return escaped(type_of(kind, {}))
    return "mapping" if not _is_optional(kind) else "mapping or null"


def _is_optional(kind: Any) -> bool:
    return kind is type(None) or any(map(_is_optional, typing.get_args(kind)))


def _unit(field: msgspec.structs.FieldInfo) -> str:
    """The unit of a number; that of a size stands with it."""
    return "" if Bytes in typing.get_args(field.type) else (unit_of(field.encode_name) or "").partition(" (")[0]


def _value(machine: Machine, path: str) -> object:
    found: Any = machine
    for step in path.lstrip(".").split("."):
        found = getattr(found, step)
    return found


def _shown(value: object) -> str:
    """A value as a machine file would have it."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case Struct():
            return "below"
        case tuple():
            return f"[{', '.join(_shown(item) for item in cast('tuple[object, ...]', value))}]"
        case Bytes():
            return binary_size(value)
        case Fraction() if value.denominator in (2, 4, 5, 10):
            return str(float(value))
        case _:
            return str(value)
