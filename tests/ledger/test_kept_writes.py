"""The order in which a ledger that is kept sends what a step writes, and what becomes of it where a write fails."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from fanout.ledger.kept import KeptStore
from fanout.ledger.ledger import Ledger
from fanout.model.errors import Transient
from tests.ledger.test_kept import RUN, WAITS, answer
from tests.support.memory_store import MemoryStore


class Written(MemoryStore):
    """Notes what is written, and how many writes were at work at once; ``broken`` are not written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []
        self.broken: set[str] = set()
        self.beside = threading.Barrier(1)

    def put(self, key: str, data: bytes) -> None:
        if key in self.broken:
            raise Transient(f"no answer for {key}")
        if not key.endswith(".gz"):
            self.beside.wait(10)
        self.written.append(key.removeprefix(RUN))
        super().put(key, data)


def kept_of(store: Written) -> KeptStore:
    kept = KeptStore(store, RUN)
    assert list(kept.list(RUN)) == []
    return kept


def test_rows_are_sent_before_the_record_that_names_them_and_what_says_something_alone_beside_it() -> None:
    store = Written()
    kept = kept_of(store)
    for name in ("phases/list.json", "shards/0.jsonl.gz", "clocks.json", "shards/1.jsonl.gz"):
        kept.put(f"{RUN}{name}", b"x")
    assert store.written == []
    store.beside = threading.Barrier(3)  # the record and two others: each waits for all of them
    kept.put(f"{RUN}segments/done/0.json", b"x")
    assert sorted(store.written[:2]) == ["shards/0.jsonl.gz", "shards/1.jsonl.gz"]
    assert sorted(store.written[2:]) == ["clocks.json", "phases/list.json", "segments/done/0.json"]


def test_what_waits_is_sent_at_the_end_of_a_step_also_of_one_that_fails_but_not_of_one_that_is_lost() -> None:
    class Lost(BaseException):
        pass

    def step(error: BaseException | None) -> list[str]:
        store = Written()
        ledger = Ledger(kept_of(store), "run-1")
        with contextlib.suppress(KeyError, Lost), ledger.settled():
            ledger.begin("list", 1.0)
            if error is not None:
                raise error
        return store.written

    assert step(None) == step(KeyError()) == ["phases/list.json"]
    assert step(Lost()) == []


def test_a_write_that_waited_and_fails_fails_the_step() -> None:
    store = Written()
    kept = kept_of(store)
    store.broken = {f"{RUN}clocks.json"}
    kept.put(f"{RUN}clocks.json", b"x")
    with pytest.raises(Transient):
        kept.settle()
    assert answer(store, "get", f"{RUN}clocks.json") is None


def test_rows_that_could_not_be_sent_beside_what_may_fail_are_sent_before_the_record_that_names_them() -> None:
    store = Written()
    kept = kept_of(store)
    kept.put(f"{RUN}shards/0.jsonl.gz", b"x")
    kept.put(f"{RUN}clocks.json", b"x")
    store.broken = {f"{RUN}shards/0.jsonl.gz", f"{RUN}clocks.json"}
    with contextlib.suppress(Transient):  # as TaskNotes leaves out a note
        kept.put(f"{RUN}progress/list/0", b"x")
    with pytest.raises(Transient):
        kept.put(f"{RUN}segments/done/0.json", b"x")
    assert kept.get(f"{RUN}shards/0.jsonl.gz") == b"x"
    assert store.written == []
    store.broken = set()
    kept.put(f"{RUN}segments/done/0.json", b"x")
    assert store.written[0] == "shards/0.jsonl.gz"
    assert sorted(store.written[1:]) == ["clocks.json", "segments/done/0.json"]


@pytest.mark.parametrize("note", ["notes/index.json", "verification/notes/index.json"])
def test_a_note_is_sent_before_the_record_for_which_no_later_attempt_writes_it_again(note: str) -> None:
    store = Written()
    kept = kept_of(store)
    kept.put(f"{RUN}{note}", b"x")
    store.broken = {f"{RUN}{note}"}
    with pytest.raises(Transient):
        kept.put(f"{RUN}segments/done/0.json", b"x")
    assert store.written == []


def test_a_summary_is_sent_after_all_else() -> None:
    store = Written()
    kept = kept_of(store)
    kept.put(f"{RUN}report.html", b"x")
    store.broken = {f"{RUN}report.html"}
    for write in (kept.put, kept.put_new):
        with pytest.raises(Transient):
            write(f"{RUN}summary.json", b"x")
    assert store.written == []


def test_a_key_is_written_in_the_order_of_its_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.ledger.kept._WAITING_BYTES", 10)

    class Slow(Written):
        def put(self, key: str, data: bytes) -> None:
            time.sleep(0.1 * (data == b"first"))
            super().put(key, data)

    for key in (WAITS, f"{RUN}shards/0.jsonl.gz"):
        store = Slow()
        kept = kept_of(store)
        kept.put(key, b"first")
        kept.put(key, b"more than may wait")
        kept.settle()
        assert store.get(key) == kept.get(key) == b"more than may wait"
        kept.put(key, b"first")
        assert not kept.put_new(key, b"new")
        assert store.get(key) == kept.get(key) == b"first"


def test_what_is_being_sent_is_read_meanwhile() -> None:
    begun, goes_on = threading.Event(), threading.Event()

    class Held(Written):
        def put(self, key: str, data: bytes) -> None:
            begun.set()
            assert goes_on.wait(10)
            super().put(key, data)

    store = Held()
    kept = kept_of(store)
    kept.put(WAITS, b"x")
    sender = threading.Thread(target=kept.settle)
    sender.start()
    assert begun.wait(10)
    try:
        assert kept.get(WAITS) == b"x"
    finally:
        goes_on.set()
        sender.join()
    assert store.get(WAITS) == kept.get(WAITS) == b"x"


def test_many_bytes_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.ledger.kept._WAITING_BYTES", 10)
    store = Written()
    kept = kept_of(store)
    for number, size in enumerate((6, 6, 11)):
        kept.put(f"{RUN}shards/{number}.jsonl.gz", bytes(size))
    assert sorted(store.written) == [f"shards/{number}.jsonl.gz" for number in range(3)]
