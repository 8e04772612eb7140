"""The pure rules of resuming."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, to_builtins

from fanout.model.entry import Kind
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason, Result
from fanout.model.segment import Segment
from fanout.resuming.rules import (
    CARRIED_ENTRIES,
    CarriedNames,
    carried,
    chunks,
    resumed_document,
    segment_of_one,
)
from tests.support.memory import MemoryTree

PATHS = st.text(alphabet="ab/.\0\x01é\udcff", min_size=1, max_size=6)


@given(st.sets(PATHS, min_size=1, max_size=20), st.data())
def test_the_segment_of_one_path_holds_just_that(paths: set[str], data: st.DataObject) -> None:
    tree = MemoryTree()
    for path in paths:
        tree.put(path, Kind.FILE)
    wanted = data.draw(st.sampled_from(sorted(paths)))
    segment = convert(to_builtins(segment_of_one(wanted)), Segment)
    assert [entry.path for entry in tree.list(segment)] == [wanted]


def test_what_an_outcome_counts_as_in_the_run_that_resumes() -> None:
    def of(result: Result, reason: Reason | None = None) -> object:
        return carried(Outcome("p", "file", 1, result, reason, "m"))

    assert of(Result.COPIED) == (Reason.DONE_EARLIER, "")
    assert of(Result.UNCHANGED, Reason.SAME) == (Reason.SAME, "m")
    assert of(Result.SKIPPED, Reason.SYMLINK) == (Reason.SYMLINK, "m")
    assert of(Result.REJECTED, Reason.LINK_LOOP) == (Reason.LINK_LOOP, "m")
    assert of(Result.FAILED, Reason.NO_SPACE) is None
    assert of(Result.SKIPPED, Reason.SOURCE_ARCHIVED) is None


@given(st.lists(st.integers(1, 2 * CARRIED_ENTRIES), max_size=30))
def test_chunks_hold_every_part_in_its_order_and_are_bounded(weights: list[int]) -> None:
    parts = [(CarriedNames(str(number), weight), weight) for number, weight in enumerate(weights)]
    found = list(chunks(parts))
    assert [part for chunk in found for part in chunk] == [part for part, _ in parts]
    for chunk in found:
        assert (
            len(chunk) == 1 or sum(part.entries for part in chunk if isinstance(part, CarriedNames)) <= CARRIED_ENTRIES
        )


def test_limits_are_laid_over_one_by_one_and_other_fields_replaced() -> None:
    earlier = {"source": "s", "limits": {"shard_seconds": 1, "max_concurrency": 2}, "verify": "none"}
    given_now = {"resume_from": "r", "limits": {"max_concurrency": 9}, "verify": "all"}
    assert resumed_document(given_now, earlier) == {
        "source": "s",
        "resume_from": "r",
        "limits": {"shard_seconds": 1, "max_concurrency": 9},
        "verify": "all",
    }
