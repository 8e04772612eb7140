"""What shards hold that is to be brought back: entries and bytes by what holds them."""

from __future__ import annotations

from fanout.model.books import Count
from fanout.model.entry import Entry, Kind
from fanout.model.shard import Shard
from fanout.shards.held import held_of


def big_file(key: str) -> Entry:
    return Entry(key, Kind.FILE, 1_000)


def test_a_file_in_parts_counts_once_and_what_is_not_held_never() -> None:
    shards = [
        Shard("0", "shards/0", 3, 30, 1.0, held="GLACIER"),
        Shard("1", "shards/1", 5, 50, 1.0),
        Shard("2", "files/a", 1, 400, 1.0, blocks=(0, 2), held="GLACIER"),
        Shard("3", "files/a", 1, 600, 1.0, blocks=(2, 5), held="GLACIER"),
        Shard("4", "files/b", 1, 1_000, 1.0, blocks=(0, 5)),
        Shard("5", "shards/5", 2, 20, 1.0, held="DEEP_ARCHIVE"),
    ]
    assert held_of(shards, big_file) == {"GLACIER": Count(4, 1_030), "DEEP_ARCHIVE": Count(2, 20)}
