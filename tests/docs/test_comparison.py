"""docs/understand/comparison.md: cells that can be read, and a column of ours that says what a request takes."""

from __future__ import annotations

import re

import pytest

from fanout.request.course import Mode
from fanout.request.fields.checked import fields_of
from fanout.request.parse import Fields
from tests.docs.pages import DOCS

TEXT = (DOCS / "understand/comparison.md").read_text(encoding="utf-8")
HEAD, *ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.partition("## Versions")[0].splitlines()
    if line.startswith("|") and not line.startswith("|---")
]
CELL = re.compile(r"([yp?-])(?: (\d+))?")
# What a request takes where a row says that ours has it: a field, or a mode. A new one turns the row's cell.
TAKES = {
    "attributes for objects that have none": "attributes",
    "ages relative to the run": "older_than",
    "deletes what the source lacks": "mode sync",
    "guard on what is deleted": "delete_guard.max_percent",
    "overwrite never, or only if newer": "overwrite",
    "backup of what is replaced": "backup_to",
    "move": "mode move",
    "archived objects restored first": "restore",
    "outcome of each entry": "report_entries",
    "signed certificate of both trees": "certificate",
    "whole trees published at once, with undo": "publish",
    "limit in dollars": "limits.max_dollars",
    "limit in time": "limits.max_seconds",
    "time window": "limits.window",
}


def is_taken(name: str) -> bool:
    word, _, mode = name.partition(" ")
    if word == "mode":
        return mode in list(Mode)
    return any(field.path == name or field.path.startswith(f"{name}.") for field in fields_of(Fields))


def test_every_cell_says_whether_and_every_number_has_its_note() -> None:
    assert len(ROWS) > 30
    notes = re.findall(r"^(\d+)\. ", TEXT.partition("## Notes")[2], re.MULTILINE)
    named = set()
    for row in ROWS:
        assert len(row) == len(HEAD), row
        for cell in row[1:]:
            found = CELL.fullmatch(cell)
            assert found, (row[0], cell)
            named |= {found[2]} - {None}
    assert named == set(notes)


def test_every_tool_has_its_version() -> None:
    versions = TEXT.partition("## Versions")[2].partition("## Notes")[0]
    assert re.findall(r"^\| ([^|]+) \| [^|]+ \|$", versions, re.MULTILINE)[1:] == HEAD[1:]


@pytest.mark.parametrize(("row", "name"), TAKES.items())
def test_the_column_of_ours_says_what_a_request_takes(row: str, name: str) -> None:
    [ours] = [cells[1] for cells in ROWS if cells[0] == row]
    assert ours.startswith(("y", "p")) is is_taken(name), f"{name}: turn the cell of ours in the row {row!r}"
