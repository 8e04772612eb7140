"""The prediction that is held against the simulated EFS: each of its terms alone."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from benchmarks.estimate import Figures, Result, line, predict

MIB = 1 << 20
FIGURES = Figures(
    start_seconds=0.5,
    seconds_per_entry=0.001,
    bytes_per_second=200e6,
    file_bytes_per_second=100e6,
    creations_per_second=400,
    processor_seconds_per_entry=0.0,
    processor_seconds_per_byte=0.0,
)


def files(count: int, size: int, directories: int) -> list[tuple[str, int]]:
    return [(f"d{number % directories}/f{number}", size) for number in range(count)]


@pytest.mark.parametrize(
    ("tree", "workers", "total_mib", "seconds", "binds"),
    [
        (files(4_000, 0, 32), 1, 1000, 0.5 + 4.0, "client"),
        (files(4_000, 0, 32), 2, 1000, 0.5 + 2.0, "client"),
        (files(4_000, 0, 1), 1, 1000, 0.5 + 10.0, "one directory"),
        (files(1, 10**9, 1), 1, 1000, 0.5 + 0.001 + 10.0, "client"),
        (files(100, 10**7, 10), 1, 1000, 0.5 + 0.1 + 5.0, "client"),
        (files(100, 10**7, 10), 1, 50, 0.5 + (10**9 + 100 * 4.5 * 4096) / (50 * MIB), "file system"),
    ],
)
def test_the_term_that_binds(
    tree: list[tuple[str, int]], workers: int, total_mib: float, seconds: float, binds: str
) -> None:
    found, limit = predict(tree, workers, FIGURES, total_mib)
    assert limit == binds
    assert found == pytest.approx(seconds, rel=0.01)


def test_the_processors_of_the_machine_are_shared_by_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    figures = replace(FIGURES, processor_seconds_per_entry=0.002, processor_seconds_per_byte=1e-6)
    found, limit = predict(files(4_000, 1_000, 32), 4, figures, 1000)
    assert limit == "processors of this machine"
    assert found == pytest.approx(0.5 + (4_000 * 0.002 + 4_000_000 * 1e-6) / 2)


def test_a_row_says_how_far_off_it_is() -> None:
    row = line(Result("small", "modern", 2, 3000, 12_288_000, 1.1, 1.0, "client", 0.1))
    assert row == "| small | modern | 2 | 3,000 | 12 | 1.10 | 1.00 | +10% | client |"
