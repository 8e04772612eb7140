"""A ledger that is kept for one task: what it asks, what it answers, and what it never hides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.ledger.kept_store import KeptStore
from fanout.model.errors import ListingIncomplete, NotFound, Transient
from tests.support.kinds import kind_at
from tests.support.memory_store import MemoryStore

RUN = "runs/run-1/"
KEYS = [f"{RUN}{name}" for name in ("a.json", "a/b.json", "a-b.jsonl.gz", "c.json")] + ["runs/run-12/a.json", "locks/x"]


class Asked(MemoryStore):
    """Notes what it is asked; ``broken`` writes are done, and their answers lost."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.broken: set[str] = set()

    def get(self, key: str) -> bytes:
        self.asked.append(f"GET {key}")
        return super().get(key)

    def list(self, prefix: str) -> Iterator[str]:
        self.asked.append(f"LIST {prefix}")
        return super().list(prefix)

    def put(self, key: str, data: bytes) -> None:
        super().put(key, data)
        if key in self.broken:
            raise Transient(f"no answer for {key}")


def answer(store: MemoryStore | KeptStore, what: str, key: str) -> object:
    if what == "list":
        return list(store.list(key))
    try:
        return store.get(key)
    except NotFound:
        return None


class OfKinds(KeptStore):
    """Is written to as a ledger does: each key is of the kind that the package declares for it."""

    def put(self, key: str, data: bytes) -> None:
        super().put(kind_at(key), data)

    def put_new(self, key: str, data: bytes) -> bool:
        return super().put_new(kind_at(key), data)


WAITS = kind_at(f"{RUN}forecast.json")
STEPS = st.tuples(
    st.sampled_from(["get", "list", "put", "put_new", "remove"]), st.sampled_from([*KEYS, WAITS]), st.binary()
)


@given(st.dictionaries(st.sampled_from(KEYS), st.binary()), st.lists(STEPS))
def test_it_answers_as_its_store_does(before: dict[str, bytes], steps: list[tuple[str, str, bytes]]) -> None:
    plain, below = MemoryStore(), MemoryStore()
    for key, data in before.items():
        plain.put(key, data)
        below.put(key, data)
    kept = KeptStore(below, RUN)
    for what, key, data in steps:
        if what == "put":
            plain.put(key, data)
            kept.put(key, data)
        elif what == "put_new":
            assert kept.put_new(key, data) == plain.put_new(key, data)
        elif what == "remove":
            plain.remove([key])
            kept.remove([key])
        else:
            assert answer(kept, what, key) == answer(plain, what, key)
    for key in (*KEYS, WAITS, RUN, f"{RUN}a"):
        assert answer(kept, "get", key) == answer(plain, "get", key)
        assert answer(kept, "list", key) == answer(plain, "list", key)
    kept.settle()
    for key in (*KEYS, WAITS, RUN, "runs/", f"{RUN}a"):
        for one in (kept, below):
            assert answer(one, "get", key) == answer(plain, "get", key)
            assert answer(one, "list", key) == answer(plain, "list", key)


def test_documents_are_asked_for_once_and_what_is_not_listed_is_not_asked_for() -> None:
    store = Asked()
    for key in KEYS:
        store.put(key, key.encode())
    kept = KeptStore(store, RUN)
    for _ in range(2):
        assert [answer(kept, "get", key) for key in KEYS[:4]] == [key.encode() for key in KEYS[:4]]
        assert answer(kept, "get", f"{RUN}none.json") is None
        assert list(kept.list(f"{RUN}a")) == sorted(KEYS[:3])
    assert store.asked[0] == f"LIST {RUN}"
    assert sorted(store.asked[1:]) == sorted([f"GET {key}" for key in KEYS[:4]] + [f"GET {KEYS[2]}"])


def test_what_its_own_writes_left_is_asked_for_where_an_answer_was_lost() -> None:
    store = Asked()
    store.put(KEYS[0], b"old")
    store.broken = {KEYS[0], KEYS[3]}
    kept = KeptStore(store, RUN)
    assert kept.get(KEYS[0]) == b"old"
    for key in store.broken:
        with pytest.raises(Transient):
            kept.put(key, b"new")
        assert kept.get(key) == b"new"


def test_what_is_written_is_held_for_the_next_step_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.ledger.kept_store._HELD_BYTES", len(b"rows"))
    store = Asked()
    kept = KeptStore(store, RUN)
    assert list(kept.list(RUN)) == []
    for key in (KEYS[0], KEYS[2]):
        kept.put(key, b"rows")
        kept.settle()
        assert kept.get(key) == b"rows"
    assert store.asked == [f"LIST {RUN}", f"GET {KEYS[2]}"]


def test_a_document_that_another_wrote_first_is_read() -> None:
    store = MemoryStore()
    kept = KeptStore(store, RUN)
    assert list(kept.list(RUN)) == []
    store.put(KEYS[0], b"another's")
    assert not kept.put_new(KEYS[0], b"mine")
    assert kept.get(KEYS[0]) == b"another's"


def test_a_run_that_cannot_be_listed_whole_is_read_and_listed_as_it_is() -> None:
    class Disordered(Asked):
        def list(self, prefix: str) -> Iterator[str]:
            if prefix == RUN:
                raise ListingIncomplete("does not list its keys in the order of their bytes")
            return super().list(prefix)

    store = Disordered()
    store.put(KEYS[0], b"x")
    kept = KeptStore(store, RUN)
    for _ in range(2):
        assert kept.get(KEYS[0]) == b"x"
        assert list(kept.list(f"{RUN}a.")) == [KEYS[0]]
    assert store.asked == [f"GET {KEYS[0]}", f"LIST {RUN}a."] * 2


def test_a_run_of_more_than_a_page_is_read_and_listed_as_it_is() -> None:
    store = Asked()
    for number in range(1_000):
        store.put(f"{RUN}{number:04d}.json", b"x")
    kept = KeptStore(store, RUN)
    assert kept.get(f"{RUN}0007.json") == b"x"
    store.put(f"{RUN}more.json", b"y")
    assert kept.get(f"{RUN}more.json") == b"y"
    assert len(list(kept.list(RUN))) == 1_001
    assert len(store.asked) == 4


def test_a_second_listing_is_the_one_that_counts_and_fetches_only_what_is_new() -> None:
    class Late(Asked):
        is_late = False

        def list(self, prefix: str) -> Iterator[str]:
            found = list(super().list(prefix))
            return iter([key for key in found if not (self.is_late and key == f"{RUN}own.json")])

    for is_late in (False, True):
        store = Late()
        store.put(KEYS[0], b"old")
        kept = KeptStore(store, RUN)
        kept.look_ahead()
        assert list(kept.list(RUN)) == [KEYS[0]]
        kept.put(f"{RUN}own.json", b"mine")
        store.put(KEYS[3], b"another's")
        store.is_late = is_late
        kept.look_again()
        assert list(kept.list(RUN)) == [KEYS[0], KEYS[3], *([] if is_late else [f"{RUN}own.json"])]
        assert [kept.get(key) for key in (KEYS[0], KEYS[3])] == [b"old", b"another's"]
        assert sorted(store.asked) == sorted([f"LIST {RUN}"] * 2 + [f"GET {KEYS[0]}", f"GET {KEYS[3]}"])
