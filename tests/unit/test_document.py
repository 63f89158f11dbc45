"""YAML documents with places: scalars of YAML 1.2, faults of the text, strict decoding that finds every fault once."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from ahbmc.backend_sim.target.decoding import decode
from ahbmc.backend_sim.target.document import Node, parse, with_value
from ahbmc.dialects.errors import AhbmcError, Place
from msgspec import Meta, Struct


class Inner(Struct, frozen=True):
    kind: Literal["zeros", "ones"]
    size: Annotated[int, Meta(ge=1)] = 1


class Outer(Struct, frozen=True):
    rate: float
    inner: Inner | None = None
    entries: tuple[int | str, ...] = ()
    named: dict[str, Inner | int] = {}


def faults(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(AhbmcError) as caught:
        decode(parse(text, "f.yaml"), Outer)
    return [(f.place.line, f.place.column, f.message) for f in caught.value.faults if f.place]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-2", 0.01),
        ("0x10", 16),
        ("-3", -3),
        (".5", 0.5),
        ("no", "no"),
        ("1:30", "1:30"),
        ("'7'", "7"),
        ("true", True),
        ("~", None),
        ("-.inf", float("-inf")),
        ("2024-01-01", "2024-01-01"),
        ("9" * 100, "9" * 100),  # no number of the size of a book
    ],
)
def test_scalars_follow_yaml_1_2(text: str, expected: object) -> None:
    node = parse(f"a: {text}", "f.yaml").at("a")
    assert node.value == expected
    assert type(node.value) is type(expected)


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("a: [1,\n", 2, 1, "not YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, 1, "`a` is given twice"),
        ("a: &x [*x]", 1, 4, "contains itself"),
        ("? [1]\n: 2", 1, 3, "single word"),
        ("a: *b", 1, 4, "undefined alias"),
        ("a:\n\tb: 1", 2, 1, "not YAML"),
        ("[" * 3000, 1, 1, "nested too deeply"),
        ("a: \x01", 1, 1, "not YAML"),
    ],
)
def test_faults_of_the_text(text: str, line: int, column: int, part: str) -> None:
    with pytest.raises(AhbmcError) as caught:
        parse(text, "f.yaml")
    (fault,) = caught.value.faults
    assert part in fault.message
    assert fault.place is not None
    assert (fault.place.line, fault.place.column) == (line, column)


def test_decodes_what_is_right() -> None:
    text = "rate: 2\ninner: {kind: ones, size: 3}\nentries: [1, M]\nnamed: {x: 4, y: {kind: zeros}}"
    assert decode(parse(text, "f.yaml"), Outer) == Outer(
        2.0, Inner("ones", 3), (1, "M"), {"x": 4, "y": Inner("zeros", 1)}
    )


def test_every_fault_is_found_once() -> None:
    text = "rate: 16 TFLOPS\nratee: 2\ninner: {kind: one, size: 0}\nentries: [1, 1.5]\nnamed: {y: {siz: 1}}\n"
    assert sorted(faults(text)) == [
        (1, 7, "`rate` must be a number; found text '16 TFLOPS'"),
        (2, 1, "unknown key `ratee` in the file; allowed: rate, inner, entries, named"),
        (3, 15, "`kind` must be `zeros`, `ones`; found text 'one'"),
        (3, 26, "`size` must be an integer >= 1; found 0"),
        (4, 14, "entry 1 of `entries` must be an integer or text; found 1.5"),
        (5, 12, "`y` has no `kind`"),
        (5, 13, "unknown key `siz` in `y`; allowed: kind, size"),
    ]


def test_a_number_with_a_unit_is_told_where_units_are() -> None:
    with pytest.raises(AhbmcError) as caught:
        decode(parse("rate: 16 TFLOPS", "f.yaml"), Outer)
    assert "write the number alone" in (caught.value.faults[0].hint or "")


def test_override_is_put_in_with_its_own_place() -> None:
    root = parse("rate: 1\nentries: [1, 2]\n", "f.yaml")
    at = Place("--set", 1, 1)
    root = with_value(root, ("inner", "kind"), Node("ones", at), (at, at))
    root = with_value(root, ("entries", "1"), Node("x", at), (at, at))
    assert decode(root, Outer) == Outer(1.0, Inner("ones"), (1, "x"))
    with pytest.raises(AhbmcError, match="names no entry of this list of 2"):
        with_value(root, ("entries", "2"), Node(1, at), (at, at))
    with pytest.raises(AhbmcError, match="nothing lies below"):
        with_value(root, ("rate", "x"), Node(1, at), (at, at))
