"""The sizes of the data sets, by profile: ``standard`` for an account, ``small`` for a first look and for tests."""

from __future__ import annotations

from dataclasses import dataclass

from fanout.facts.units import GIB, KIB, MIB


@dataclass(frozen=True, slots=True)
class DataSizes:
    """The data of a profile; ``seed_bytes`` are uploaded, S3 itself puts the large object together out of them."""

    files: int
    file_bytes: int
    killed_shard_seconds: float
    large_bytes: int
    part_bytes: int
    seed_bytes: int
    many: int
    many_bytes: int


PROFILES = {
    "standard": DataSizes(
        files=5_000,
        file_bytes=64 * KIB,
        killed_shard_seconds=1.0,
        large_bytes=20 * GIB,
        part_bytes=56 * MIB,
        seed_bytes=64 * MIB,
        many=100_000,
        many_bytes=4 * KIB,
    ),
    "small": DataSizes(
        files=600,
        file_bytes=2 * KIB,
        killed_shard_seconds=0.1,
        large_bytes=24 * MIB,
        part_bytes=7 * MIB,
        seed_bytes=8 * MIB,
        many=800,
        many_bytes=512,
    ),
}
