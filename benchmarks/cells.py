"""Which cells of the table a run measures: a data set, a calibration, a scale, numbers of workers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A data set in a calibration. Tools that do one operation after the other copy ``1 / slow_share`` of it."""

    data_set: str
    calibration: str
    count: int
    workers: tuple[int, ...] = (1,)
    slow_share: int = 1
    peers: tuple[str, ...] = ()  # none named: all


# One operation after the other, or (GNU parallel with cp) bound by starting a process for each file.
ONE_AT_A_TIME = ("cp", "rsync", "cp+parallel")
_FAST = ("cp", "cp+parallel", "fpart+cpio+parallel", "rclone-64")

# Each run costs three seconds around it, so that the short set has the peers that matter in a cell, and a few workers.
SHORT = [
    Cell("small", "modern", 2_500, (1, 2), slow_share=20, peers=("cp", "fpart+cpio+parallel", "rclone-64")),
    Cell(
        "megabyte",
        "legacy",
        600,
        (1,),
        slow_share=30,
        peers=("cp", "rsync", "fpsync", "fpart+cpio+parallel", "rclone-64"),
    ),
    Cell("32-directories", "modern", 2_500, (1,), slow_share=20, peers=("cp", "fpart+cpio+parallel", "rclone-64")),
    Cell("one-directory", "modern", 800, (1,), slow_share=10, peers=("cp", "fpart+cpio+parallel", "rclone-64")),
    Cell("megabyte", "modern", 500, (1, 2), slow_share=15, peers=("cp", "fpsync", "fpart+cpio+parallel", "rclone-64")),
    Cell("big", "modern", 1_024, (1, 2), peers=("cp", "rclone-16")),
    Cell("skewed", "modern", 400, (1,), slow_share=10, peers=("cp", "rclone-64")),
]
# In a time that passes eight times as slowly and more: what the latencies allow where processors do not bind.
SLOW = [
    Cell("small", "modern/64", 2_400, (1, 2, 4), peers=("rclone-64",)),
    Cell("small", "modern/16", 10_000, (1, 2, 4), slow_share=100, peers=("cp", "rclone-64")),
    Cell("32-directories", "modern/8", 3_000, (1,), slow_share=40, peers=_FAST),
    Cell("one-directory", "modern/8", 1_500, (1,), slow_share=10, peers=_FAST),
    Cell("megabyte", "modern/8", 600, (1, 2, 4), slow_share=20, peers=("cp", "fpart+cpio+parallel", "rclone-16")),
    Cell("megabyte", "legacy/8", 300, (1,), slow_share=30, peers=("cp", "fpart+cpio+parallel", "rclone-64")),
    Cell("big", "modern/8", 4_096, (1, 2, 4), peers=("cp", "rclone-16")),
]
FULL = [
    Cell("megabyte", "legacy", 5_000, (1, 2)),
    Cell("megabyte", "modern", 5_000, (1, 2, 4)),
    Cell("ten-megabytes", "legacy", 500, (1,), peers=("cp", "rsync", "fpsync", "fpart+cpio+parallel", "rclone-16")),
    Cell("ten-megabytes", "modern", 500, (1, 2), peers=("cp", "fpsync", "fpart+cpio+parallel", "rclone-16")),
    Cell("small", "legacy", 20_000, (1, 2, 4)),
    Cell("small", "modern", 20_000, (1, 2, 4)),
    Cell("big", "legacy", 4_096, (1, 2, 4), peers=("cp", "rsync", "rclone-16")),
    Cell("big", "modern", 4_096, (1, 2, 4), peers=("cp", "rsync", "rclone-16")),
    Cell("skewed", "modern", 5_300, (1, 2, 4)),
    Cell("one-directory", "modern", 10_000, (1, 2)),
    Cell("32-directories", "modern", 10_000, (1, 2)),
]
