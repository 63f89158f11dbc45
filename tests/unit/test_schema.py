"""The generated documents are those of the code, and the schema accepts and refuses what decoding does."""

from __future__ import annotations

from pathlib import Path

import pytest
from ahbmc.driver.schema import documents, workload_page, workload_schema
from ahbmc.driver.workload_schema import WorkloadFile

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", sorted(documents()))
def test_committed_document_is_current(name: str) -> None:
    """To mend a failure: `python -m ahbmc.driver.schema docs`."""
    assert (DOCS / name).read_text(encoding="utf-8") == documents()[name]


def test_every_key_of_the_file_is_on_the_page_with_a_meaning() -> None:
    page = workload_page()
    for key in WorkloadFile.__struct_fields__:
        row = next(line for line in page.splitlines() if line.startswith(f"| `{key}` |"))
        assert row.rsplit("|", 2)[1].strip(), f"`{key}` has no meaning"


def test_schema_refuses_unknown_keys_everywhere() -> None:
    structs = [d for d in workload_schema()["$defs"].values() if d["type"] == "object"]
    assert len(structs) >= 9
    assert all(d["additionalProperties"] is False for d in structs)
