"""A run that settles unchanged and new files in columns writes the ledger that it writes one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts import tuning
from fanout.ledger.rows import listed_from_row
from fanout.ledger.shard_order import in_shard_order
from fanout.listing.naming.placement import Placement, naming_rule
from fanout.listing.trees.together import Together
from fanout.model.columns import FileColumns, Listed
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import DeleteRefused
from fanout.model.path_rules import reason_against_file_path
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.partition.partition_shards import partition_shards
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
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
    return {key: _entries(world, key) if "/shards/" in key else store.get(key) for key in store.list("")}


def _entries(world: World, key: str) -> list[Entry]:
    """What a shard's file holds, in columns or one by one."""
    return in_shard_order(world.ledger.read_rows_as(key.removeprefix(world.ledger.prefix), listed_from_row))


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


SMALL, LARGE = 1, tuning.SPLIT_BYTES
A_LONG_NAME = "n" * 256
NEW: list[tuple[Json, str, dict[str, int], list[list[str]]]] = [
    ({}, "d/", {"a": SMALL, "b": SMALL, "c": SMALL}, [["a", "b", "c"]]),
    ({}, "", {"a": SMALL, "b": SMALL, "c": LARGE, "e": SMALL, "f": SMALL}, [["a", "b"], ["c"], ["e", "f"]]),
    ({}, "d/", {"a": LARGE, "b": SMALL, "c": SMALL, "d": SMALL}, [["a"], ["b", "c", "d"]]),
    ({}, "d/", {"..": SMALL, ".a": SMALL, "b": SMALL}, [[".."], [".a"], ["b"]]),
    ({}, "d/", {".a": SMALL, ".b": SMALL, "c": SMALL}, [[".a", ".b", "c"]]),
    ({}, "d/", {"a": SMALL, "b": SMALL, A_LONG_NAME: SMALL}, [["a", "b"], [A_LONG_NAME]]),
    ({}, "../", {"a": SMALL, "b": SMALL}, [["a"], ["b"]]),
    ({}, "at/versions/", {"a": SMALL, "b": SMALL}, [["a"], ["b"]]),
    ({"exclude": ["**/b"]}, "d/", {"a": SMALL, "b": SMALL}, [["a"], ["b"]]),
    ({"compare": "checksum"}, "d/", {"a": SMALL, "b": SMALL, "c": SMALL}, [["a", "b", "c"]]),
    ({"on_conflict": "escape"}, "d/", {"a": SMALL, "b": SMALL}, [["a"], ["b"]]),
    ({"mode": "verify"}, "d/", {"a": SMALL, "b": SMALL}, [["a"], ["b"]]),
    ({"publish": {"link": "current"}}, "d/", {"a": SMALL, "b": SMALL}, [["a"], ["b"]]),
]


@pytest.mark.parametrize(("options", "directory", "sizes", "expected"), NEW)
def test_new_files_go_together_but_for_those_that_need_a_look(
    options: Json, directory: str, sizes: dict[str, int], expected: list[list[str]]
) -> None:
    request = parse_request({**ENDS[0], **options}, ("data",), 1000)
    plan = Plan("run", request, DEFAULT_RATES)
    naming = naming_rule(request.source, request.destination, request.on_conflict, lambda _: None)
    numbers = list(sizes.values())
    files = FileColumns(directory, list(sizes), numbers, numbers, numbers, ['"e"'] * len(sizes))
    together = Together(plan, lambda entry: naming(entry, ()), lambda: 10, lambda one, _: [len(one)])
    found = []
    for one, there in together.apart([(files, None)]):
        assert there is None and one is not None
        found.append([one.path.removeprefix(directory)] if isinstance(one, Entry) else one.names)
    assert found == expected


def test_no_more_new_files_go_together_than_there_is_room_for() -> None:
    plan = Plan("run", parse_request(ENDS[0], ("data",), 1000), DEFAULT_RATES)
    files = FileColumns("d/", list("abcdef"), range(6), range(6), range(6))
    together = Together(plan, lambda entry: Placement(entry.path), lambda: 2, lambda one, _: [len(one)])
    taken = [one for one, _ in together.apart([(files, None)])]
    assert [one.names for one in taken if isinstance(one, FileColumns)] == [["a", "b"], ["c", "d"], ["e", "f"]]
