"""A run that settles unchanged files in columns writes the ledger that it writes one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.facts import tuning
from fanout.model.columns import Listed
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import DeleteRefused
from fanout.model.path_rules import reason_against_file_path
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.partition.partition_shards import partition_shards
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

PATHS = st.lists(st.text(alphabet="ab-/.", min_size=1, max_size=5), max_size=25, unique=True)
ENDS: list[Json] = [
    {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"},
    {"source": "efs:///tree", "destination": "s3://a-bucket/copy/"},
    {"source": "efs:///tree", "destination": "efs:///copy"},
    {"source": "s3://a-bucket/tree/", "destination": "s3://a-bucket/copy/"},
]
OPTIONS: list[Json] = [
    {},
    {"mode": "sync", "delete_guard": {"max_percent": 100}},
    {"mode": "plan"},
    {"on_conflict": "skip"},
    {"on_conflict": "escape"},
    {"exclude": ["a*"]},
    {"include": ["a/**", "*b"]},
    {"include": ["**/a*"], "mode": "sync"},
    {"modified_after": "1970-01-01T00:00:20Z", "modified_before": "1970-01-01T00:01:00Z"},
    {"min_size": 1},
    {"compare": "always"},
    {"compare": "checksum"},
    {"mode": "verify"},
]


class OneByOne(MemoryTree):
    """A tree that lists no columns."""

    def list_columns(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Listed]:
        """See ``ports.tree.Tree``."""
        return self.list(segment, prunes)


def ledger_of(made: type[MemoryTree], request: Json, old: list[str], new: list[str], extra: list[str]) -> Json:
    """What a run leaves that finds ``old`` files copied, and ``new`` and ``extra`` ones at one end."""
    changes = itertools.count(1)
    store = MemoryStore()
    world = World(changes, made(changes), made(changes), store)
    for end, tree, paths in (
        ("source", world.source, [*old, *new]),
        ("destination", world.destination, [*old, *extra]),
    ):
        assert isinstance(tree, MemoryTree)
        on_files = request[end].startswith("efs")
        for path in paths:
            if on_files and reason_against_file_path(path):
                continue  # no file system holds it
            is_directory = path.endswith("/")
            tree.put(path, Kind.DIRECTORY if is_directory else Kind.FILE, b"" if is_directory else path[:1].encode())
    world.list_all(world.plan(request))
    try:
        partition_shards(world.context())
    except DeleteRefused as error:
        store.put("refused", str(error).encode())
    return {key: store.get(key) for key in store.list("")}


@given(PATHS, PATHS, PATHS, st.sampled_from(ENDS), st.sampled_from(OPTIONS), st.integers(1, 30))
def test_the_ledger_is_the_same(
    old: list[str], new: list[str], extra: list[str], ends: Json, option: Json, budget: int
) -> None:
    if "escape" in option.values() and ends["source"][0] == ends["destination"][0]:
        option = {}  # nothing is to be escaped there, and it is refused
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", budget)
        together = ledger_of(MemoryTree, ends | option, old, new, extra)
        assert together == ledger_of(OneByOne, ends | option, old, new, extra)
