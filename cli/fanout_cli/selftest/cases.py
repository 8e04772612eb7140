"""The cases of a self-test as data: what is asked for, and what the books must say afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanout.facts.units import MIB
from fanout_cli.selftest.data_sizes import DataSizes

DELETED_EVERY = 20
DIRECTORY_FILES = 200


@dataclass(frozen=True, slots=True)
class SelftestPlace:
    """Where a self-test works: below one prefix of a bucket and one directory of the first mount."""

    bucket: str
    test_id: str

    @property
    def name(self) -> str:
        """The name that both ends share."""
        return f"fanout-selftest-{self.test_id}"

    def s3(self, part: str) -> str:
        """A prefix of the bucket."""
        return f"s3://{self.bucket}/{self.name}/{part}/"

    def efs(self, part: str = "") -> str:
        """A directory of the mount."""
        return f"efs:///{self.name}/{part}".rstrip("/")


@dataclass(frozen=True, slots=True)
class Case:
    """A transfer; ``expected`` are entries of the summary's totals.

    ``needs`` is a data set that is made first; of ``drops`` every ``DELETED_EVERY``-th object is deleted first. A
    ``killed`` one is stopped in its middle and gone on with.
    """

    name: str
    title: str
    request: Mapping[str, Any]
    entries: int
    bytes: int
    expected: Mapping[str, int]
    needs: str = ""
    drops: str = ""
    extras: int = 0
    killed: bool = False
    puts: int = 0


def cases_of(place: SelftestPlace, sizes: DataSizes) -> tuple[Case, ...]:
    """The cases in their order; later ones use what earlier ones copied."""
    files, size = sizes.files, sizes.files * sizes.file_bytes
    dropped = len(range(0, files, DELETED_EVERY))
    in_efs, seen = place.efs("files"), {"verify": "all"}
    there = {"source": place.s3("files"), "destination": in_efs, **seen}
    back = {"source": in_efs, "destination": place.s3("back"), **seen}
    slow = {"limits": {"max_concurrency": 1, "shard_seconds": sizes.killed_shard_seconds}}
    guard = {"mode": "sync", "delete_guard": {"max_percent": 50}}
    killed = {"source": place.s3("files"), "destination": place.efs("killed"), **slow}
    large: dict[str, Any] = {"source": place.s3("large"), "destination": place.efs("large"), **seen}
    if sizes.large_bytes < 512 * MIB:
        large["limits"] = {"split_bytes": 8 * MIB}
    many = {"source": place.s3("many"), "destination": place.efs("many"), **seen}
    left = files - dropped
    directories = -(-files // DIRECTORY_FILES)  # on EFS they are entries, in S3 only names are
    return (
        Case("s3-to-efs", "S3 to EFS", there, files, size, {"copied": files}, "files", puts=files),
        Case("no-change", "Nothing changed", there, files, 0, {"copied": 0, "unchanged": files}),
        Case("killed-and-retried", "Stopped half-way, then retried", killed, files, size, {"failed": 0}, killed=True),
        Case("efs-to-s3", "EFS to S3", back, files + directories, size, {"copied": files + directories}),
        Case(
            "sync-with-delete",
            "Sync with delete",
            there | guard,
            left,
            0,
            {"copied": 0, "unchanged": left, "deleted": dropped},
            drops="files",
            extras=dropped,
        ),
        Case(
            "one-large-file", "One large file", large, 1, sizes.large_bytes, {"copied": 1}, "large", puts=_parts(sizes)
        ),
        Case(
            "many-small-files",
            "Many small files",
            many,
            sizes.many,
            sizes.many * sizes.many_bytes,
            {"copied": sizes.many},
            "many",
            puts=sizes.many,
        ),
    )


def removal_requests(place: SelftestPlace) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request that empties the directory on EFS but for one mark.

    A sync from an empty source is always refused, so the mark is copied first and stays.
    """
    ends = {"source": place.s3("mark"), "destination": place.efs()}
    return ends, ends | {"mode": "sync", "delete_guard": {"max_percent": 100}}


def _parts(sizes: DataSizes) -> int:
    return -(-sizes.large_bytes // sizes.part_bytes) + 3
