"""The page of patterns: each of its rows is compiled and run; what becomes of it and its values are as they should."""

from __future__ import annotations

from pathlib import Path

import pytest
from support_patterns import Pattern, page, row_text, seen
from support_patterns_others import OTHERS
from support_patterns_products import PRODUCTS, SPELLINGS
from support_patterns_sums import SUMS

PAGE = Path(__file__).parents[2] / "docs" / "patterns.md"
GROUPS = {
    1: "How a K loop moves on",
    2: "How a K loop counts",
    3: "Masks along K",
    4: "Masks",
    5: "Rows and columns modulo, or held back",
    6: "Division and remainder",
    7: "Strides and widths",
    8: "Transposes, block pointers, descriptors",
    9: "Addresses by numbers from memory",
    10: "Loops in loops",
    11: "Conditions",
    12: "Accumulators",
    13: "What else is in a K loop",
    14: "Split K and odd K",
    15: "Online softmax",
    16: "What is no online softmax",
    17: "Carried values",
    18: "Softmax of nothing",
    19: "Long and deep",
}
ROWS = (*PRODUCTS, *SUMS, *OTHERS)


def test_the_page_has_all_rows_and_no_more(pytestconfig: pytest.Config) -> None:
    """In the order of the groups, none of which is empty."""
    if pytestconfig.getoption("--update"):
        PAGE.write_text(page(GROUPS, ROWS, {repr(row): seen(row).words for row in ROWS}), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    lines = {line.rpartition(" | ")[0]: line.rpartition(" | ")[2].removesuffix(" |") for line in text.splitlines()}
    words = {repr(row): lines[row_text(row, "").rpartition(" | ")[0]] for row in ROWS}
    assert page(GROUPS, ROWS, words) == text
    assert {row.group for row in ROWS} == set(GROUPS)
    assert len(words) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=repr)
def test_a_row_is_what_the_page_says(row: Pattern) -> None:
    """Values by numpy at the `tl` level, after its passes and on the device; the words of the page."""
    assert row_text(row, seen(row).words) in PAGE.read_text(encoding="utf-8").splitlines()


def test_spellings_of_one_loop_become_one_program() -> None:
    """Op by op, under all the names that they gave to their values."""
    forms = [seen(row).raised for row in SPELLINGS]
    assert all(form == forms[0] for form in forms[1:])
