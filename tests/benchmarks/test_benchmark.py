"""The benchmark's own arithmetic: limits from parameters, ratios, data sets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.bounds import bound
from benchmarks.data_sets import DATA_SETS, make
from benchmarks.lab import calibration
from benchmarks.memory import memory_mb

MB = 1_000_000


@pytest.mark.parametrize(
    ("name", "files", "workers", "seconds", "by"),
    [
        ("modern", [("a/f", 500 << 20)], 1, 1.0, "bytes"),
        ("modern", [(f"a{n}/f", 256 << 20) for n in range(8)], 4, 2.0, "bytes"),
        ("modern", [(f"a{n}/f", 4096) for n in range(6400)], 1, 6400 * 0.0125 / 64, "operations in flight"),
        ("modern", [(f"a/f{n}", 4096) for n in range(400)], 4, 1.0, "creations in one directory"),
        ("modern/16", [("a/f", 500 << 20)], 1, 16.0, "bytes"),
        ("modern/8", [(f"a{n}/f", 4096) for n in range(6400)], 1, 6400 * 0.1 / 64, "operations in flight"),
        ("legacy", [(f"a{n % 50}/f{n}", 1 << 20) for n in range(950)], 1, 10.0, "bytes"),
    ],
)
def test_the_limit_is_what_binds(
    name: str, files: list[tuple[str, int]], workers: int, seconds: float, by: str
) -> None:
    found = bound(calibration(name), files, workers)
    assert found.seconds == pytest.approx(seconds)
    assert found.by == by


def test_ratios_are_of_the_same_cell() -> None:
    rows = [
        {"data_set": cell, "calibration": "modern", "count": 1, "tool": tool, "files_per_s": rate}
        for cell, rates in {"a": {"cp": 10, "rclone": 40, "fanout": 100}, "b": {"rsync": 5, "fanout": 20}}.items()
        for tool, rate in rates.items()
    ]
    report.add_ratios(rows)
    assert [(row["ratio_to_cp"], row["ratio_to_best_peer"]) for row in rows if row["tool"] == "fanout"] == [
        (10, 2.5),
        (None, 4),
    ]


def test_a_piece_takes_the_place_of_the_same_cells() -> None:
    def row(cell: str, count: int, rate: int) -> report.Row:
        return {"data_set": cell, "calibration": "modern", "count": count, "files_per_s": rate}

    before = [row("a", 1, 10), row("a", 5, 20), row("b", 1, 30)]
    assert report.merged(before, [row("a", 1, 40)]) == [row("a", 5, 20), row("b", 1, 30), row("a", 1, 40)]


def test_results_of_another_schema_do_not_count(tmp_path: Path) -> None:
    assert report.read(tmp_path) == []
    (tmp_path / "latest.json").write_text('{"schema_version": 1, "rows": [{"data_set": "a"}]}')
    assert report.read(tmp_path) == []


def test_memory_is_that_of_the_whole_process_tree() -> None:
    inner = "import sys; held = b'x' * 60_000_000; print('there', flush=True); sys.stdin.read()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen([sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"there\n"
        assert 60 < memory_mb([process.pid]) < 120
        process.communicate()


def test_data_sets_are_the_same_every_time(tmp_path: Path) -> None:
    for data_set in DATA_SETS:
        count = 2 if data_set.name in ("big", "megabyte") else 20
        for name in ("one", "other"):
            assert make(data_set, count, tmp_path / name / data_set.name)[0] == (1 if data_set.name == "big" else count)
    sizes = {path.relative_to(tmp_path / "one"): path.read_bytes() for path in (tmp_path / "one").rglob("*.bin")}
    assert all((tmp_path / "other" / path).read_bytes() == data for path, data in sizes.items())
