"""How finishing is divided: everything once, links before attributes, the deepest of the closed ones first."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from fanout.facts import tuning
from fanout.finishing.divide import (
    ClosedFile,
    FinishShard,
    LinkRange,
    ToFinish,
    divide_closed,
    divide_directories,
    divide_files,
)
from fanout.model.shard import Shard

FUNCTIONS = st.integers(1, 1_000)
ROWS = st.integers(1, 20_000)


def links(sizes: list[int]) -> list[LinkRange]:
    shards = [Shard(f"links-{number:06d}", f"shards/{number}", size, 0, 0.0) for number, size in enumerate(sizes)]
    return [LinkRange(shard, "names-0", 0, shard.entries) for shard in shards]


def seconds(shard: FinishShard) -> float:
    rows = sum(one.rows or 0 for one in chain(*shard.directories)) + sum(one.rows for one in shard.closed)
    names = sum(one.end - one.first for one in shard.links)
    return rows / tuning.DIRECTORIES_PER_SECOND + names / tuning.LINKS_PER_SECOND


@given(big_files=st.integers(0, 700), sizes=st.lists(ROWS, max_size=40), functions=FUNCTIONS)
def test_every_big_file_and_every_name_is_in_one_shard(big_files: int, sizes: list[int], functions: int) -> None:
    begun = [f"big-files/{number}.json" for number in range(big_files)]
    shards = divide_files(ToFinish(begun, links(sizes), {}), functions)
    assert sorted(chain(*(shard.big_files for shard in shards))) == sorted(begun)
    names = Counter(
        (one.shard.id, index) for shard in shards for one in shard.links for index in range(one.first, one.end)
    )
    assert set(names.values()) <= {1} and names.total() == sum(sizes)
    assert not any(shard.directories or shard.closed for shard in shards)
    assert len({shard.id for shard in shards}) == len(shards)
    assert all(len(shard.big_files) + len(shard.links) <= tuning.FINISH_FILES for shard in shards)


@given(
    files=st.dictionaries(
        st.builds(
            "directories/{}-{:08x}-{:04d}.jsonl.gz".format,
            st.sampled_from(["0000-0001", "parents-0002", "0003-0", "0003-1", "joined-000001"]),
            st.integers(0, 3),
            st.integers(0, 9),
        ),
        st.none() | ROWS,
        max_size=80,
    ),
    functions=FUNCTIONS,
)
def test_every_file_of_directories_is_in_one_shard_and_newer_attributes_come_later(
    files: dict[str, int | None], functions: int
) -> None:
    shards = divide_directories(1, files, functions)
    dealt = [file for shard in shards for group in shard.directories for file in group]
    assert {file.key: file.rows for file in dealt} == files and len(dealt) == len(files)
    for key in files:
        name = key.removeprefix("directories/").rsplit("-", 2)[0]
        if files[key] is None and not name.startswith(("0000-", "parents-")):
            of_shard = {one for one in files if one.startswith(f"directories/{name}-")}
            [group] = [group for shard in shards for group in shard.directories if key in {file.key for file in group}]
            assert {file.key for file in group} == of_shard
            unknown = [file.rows is None for file in group]
            assert unknown == sorted(unknown, reverse=True)  # those whose outcomes count come last


@given(st.lists(ROWS, min_size=200, max_size=300), st.sampled_from([1, 2, 4, 16]))
def test_the_shards_of_a_round_are_about_equal(rows: list[int], functions: int) -> None:
    files: dict[str, int | None] = {f"directories/s{number}-n-0000.jsonl.gz": one for number, one in enumerate(rows)}
    loads = sorted(map(seconds, divide_directories(1, files, functions)))
    assert loads[-1] - loads[0] <= max(rows) / tuning.DIRECTORIES_PER_SECOND
    assert loads[-1] <= tuning.FINISH_SECONDS + max(rows) / tuning.DIRECTORIES_PER_SECOND


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 60_000)), max_size=60),
    FUNCTIONS,
)
def test_closed_directories_are_set_once_and_the_deepest_first(levels: list[tuple[int, int]], functions: int) -> None:
    left = [ClosedFile(f"finishing/closed/{number}", depth, rows) for number, (depth, rows) in enumerate(levels)]
    expected, order, rounds = {file.key for file in left}, [], 0
    while shards := divide_closed(rounds, left, functions):
        set_now = [file for shard in shards for file in shard.closed]
        deepest_above = max((file.depth for file in left if file not in set_now), default=0)
        assert min(file.depth for file in set_now) > deepest_above
        for shard in shards:  # one function after the other
            assert [file.depth for file in shard.closed] == sorted((one.depth for one in shard.closed), reverse=True)
        assert len(shards) == 1 or len({file.depth for file in set_now}) == 1  # several functions: one depth alone
        order += [file.key for file in set_now]
        left = [file for file in left if file.depth < min(one.depth for one in set_now)]
        rounds += 1
    assert sorted(order) == sorted(expected)
    assert rounds <= len({depth for depth, _ in levels})


def test_depths_that_one_function_sets_are_one_round() -> None:
    closed = [ClosedFile(f"finishing/closed/{depth}", depth, 100) for depth in range(1, 50)]
    [shard] = divide_closed(2, closed, 1_000)
    assert [file.depth for file in shard.closed] == list(range(49, 0, -1))


def test_a_single_shard_of_links_is_divided_among_the_functions() -> None:
    to_finish = ToFinish([], links([20_000]), {})
    assert [len(divide_files(to_finish, functions)) for functions in (1, 2, 4, 1_000)] == [1, 2, 4, 8]
