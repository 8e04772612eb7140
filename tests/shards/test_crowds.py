"""The fullest directory is counted in bounded memory, over all the parts that list it."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fanout.model.entry import Entry, Kind
from fanout.shards.crowds import MOST, TOLD, Crowds


def files(directory: str, count: int) -> list[Entry]:
    return [Entry(f"{directory}/file{number}", Kind.FILE) for number in range(count)]


def test_files_count_and_directories_do_not_and_an_escaped_name_counts_where_it_goes() -> None:
    crowds = Crowds()
    crowds.add([Entry("a/", Kind.DIRECTORY), Entry("a/b/", Kind.DIRECTORY), *files("a", 3), Entry("top", Kind.FILE)])
    crowds.add([Entry("b/%", Kind.FILE, target="a/x"), Entry("a/\udcff", Kind.FILE)])
    assert crowds.largest == 5
    assert sorted(crowds.row().values()) == [1, 5]
    assert Crowds().largest == 0 and Crowds().row() == {}


def test_a_directory_in_the_ranges_of_many_functions_is_one() -> None:
    rounds = []
    for number in range(3):
        gathered = Crowds()
        for part in range(40):
            segment = Crowds()
            segment.add(files("flat", 100) + files(f"d{number}-{part}", 150))
            gathered.merge(segment.row())
        rounds.append(gathered.row())
    whole = Crowds()
    for row in rounds:
        whole.merge(row)
    assert whole.largest == 3 * 40 * 100


def test_a_row_and_the_memory_are_bounded_whatever_the_tree() -> None:
    crowds = Crowds()
    for shard in range(20):
        crowds.add([Entry(f"{shard}-{number}/f", Kind.FILE) for number in range(5_000)])
        assert len(crowds._files) <= MOST
        assert len(crowds.row()) <= TOLD and all(len(name) == 16 for name in crowds.row())


@given(st.lists(st.tuples(st.integers(0, 2_000), st.integers(1, 400)), max_size=60), st.integers(0, 1_000))
def test_a_count_is_never_too_high_and_too_low_by_at_most_a_170th_of_all(
    directories: list[tuple[int, int]], seed: int
) -> None:
    entries = [entry for name, count in directories for entry in files(f"d{name}", count)]
    entries += [Entry(f"alone{number}/f", Kind.FILE) for number in range(3_000)]
    random.Random(seed).shuffle(entries)
    crowds = Crowds()
    for at in range(0, len(entries), 1_000):
        crowds.add(entries[at : at + 1_000])
    exact = max(Counter(entry.path.rpartition("/")[0] for entry in entries).values())
    assert exact - len(entries) / 170 <= crowds.largest <= exact
