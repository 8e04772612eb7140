"""The benchmark of publishing: its arithmetic, what it keeps, and that it sees what two versions share."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.lab import calibration
from benchmarks.publishing import NO_CHANGE, PUBLISH, Sample, asked, inodes, row_of, table, write


def test_a_row_holds_medians() -> None:
    samples = [Sample(3.0, 1.0, {"link": 5}), Sample(1.0, 3.0, {"link": 7, "read": 2}), Sample(2.0, 2.0, {"link": 6})]
    assert row_of(samples) == {
        "seconds": 2.0,
        "cpu_seconds": 2.0,
        "runs": [3.0, 1.0, 2.0],
        "operations": {"link": 6, "read": 0},
    }


@pytest.mark.parametrize(("name", "seconds"), [("modern", 2.5), ("modern/8", 20.0)])
def test_what_is_asked_counts_links_in_all_slots_of_a_client(name: str, seconds: float) -> None:
    publish = {"seconds": 1.2 * (10 + seconds), "operations": {"link": 66_000, "lookup": 6_000}}
    no_change = {"seconds": 10.0, "operations": {"readdir": 8_000}}
    found = asked(publish, no_change, 64_000, calibration(name))
    assert found == {"seconds_of_links": seconds, "ratio": 1.2, "ratio_of_operations": 1.0, "asked": 1.3}


def test_a_measurement_takes_the_place_of_the_same_one(tmp_path: Path) -> None:
    path = tmp_path / "publishing.json"
    row = {"files": 10, "calibration": "modern", "keep": 5, "functions": 1, "ratio": 2.0}
    for one in (row, {**row, "files": 20}, {**row, "ratio": 1.0}):
        write(path, one)
    assert [(one["files"], one["ratio"]) for one in json.loads(path.read_text())["rows"]] == [(20, 2.0), (10, 1.0)]


def test_a_table_tells_seconds_operations_and_the_ratio() -> None:
    tools = {name: row_of([Sample(seconds, 1.0, {"link": 1_000})]) for name, seconds in ((PUBLISH, 9), (NO_CHANGE, 6))}
    found = {"files": 1_000, "calibration": "modern", "functions": 1, "tools": tools} | asked(
        tools[PUBLISH], tools[NO_CHANGE], 64_000, calibration("modern")
    )
    assert "| publish | 9 | 1.0 | link 1,000 |" in table(found)
    assert table(found).endswith(
        "1,000 files, modern, functions 1: 1.06 of a no-change run and 2.5 s of LINKs, 0.02 in operations; asked is 1.3"
    )


def test_names_of_one_file_have_one_inode(tmp_path: Path) -> None:
    for tree in ("before", "after"):
        (tmp_path / tree / "d").mkdir(parents=True)
    (tmp_path / "before/d/linked").write_text("a")
    os.link(tmp_path / "before/d/linked", tmp_path / "after/d/linked")
    for tree in ("before", "after"):
        (tmp_path / tree / "changed").write_text(tree)
    before, after = inodes(tmp_path / "before"), inodes(tmp_path / "after")
    assert before.keys() == after.keys() == {"changed", "d/linked"}
    assert [path for path, inode in after.items() if before[path] == inode] == ["d/linked"]
