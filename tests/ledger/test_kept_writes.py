"""The order in which a ledger that is kept sends what a step writes, and what becomes of it where a write fails."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from fanout.ledger.kept_store import KeptStore
from fanout.ledger.ledger import Ledger
from fanout.ledger.write_order import waits, waves_of
from fanout.model.errors import Transient
from tests.ledger.test_kept_store import RUN, WAITS, OfKinds, answer
from tests.support.kinds import kind_at
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
    kept = OfKinds(store, RUN)
    assert list(kept.list(RUN)) == []
    return kept


def test_rows_are_sent_before_the_record_that_names_them_and_what_says_something_alone_beside_them() -> None:
    store = Written()
    kept = kept_of(store)
    for name in ("phases/list.json", "shards/0.jsonl.gz", "clocks.json", "shards/1.jsonl.gz"):
        kept.put(f"{RUN}{name}", b"x")
    assert store.written == []
    kept.put(f"{RUN}limits.json", b"x")
    assert set(store.written[:4]) == {"phases/list.json", "shards/0.jsonl.gz", "clocks.json", "shards/1.jsonl.gz"}
    assert store.written[4:] == ["limits.json"]


def test_what_is_of_one_wave_is_sent_side_by_side() -> None:
    store = Written()
    kept = kept_of(store)
    store.beside = threading.Barrier(3)  # the record and two others: each waits for all of them
    kept.put(f"{RUN}segments/done/0.json", b"x")
    kept.put(f"{RUN}clocks.json", b"x")
    kept.put(f"{RUN}limits.json", b"x")
    assert sorted(store.written) == ["clocks.json", "limits.json", "segments/done/0.json"]


def test_all_that_a_short_way_knows_before_it_copies_is_sent_in_three_waves() -> None:
    waves = [
        ["shards/0.jsonl.gz", "links.json", "big-files.json", "notes/index.json"],
        ["segments/done/0.json", "segments/round-0001-done.json", "verification/segments/done/1.json"],
        ["shards.json"],
    ]
    alone = ["segments/round-0002.json", "forecast.json", "attempts/copy/0/1", "phases/copy.json"]
    written = [kind_at(f"{RUN}{name}") for wave in reversed(waves) for name in wave]
    alone = [kind_at(one) for one in (*(f"{RUN}{name}" for name in alone), "runs/mounts/0.json")]
    assert all(map(waits, [*written, *alone]))
    first, *others = [[kind_at(f"{RUN}{name}") for name in wave] for wave in waves]
    assert waves_of([*alone, *written]) == [[*first, *alone], *others]
    assert waves_of([*alone, *written], kind_at(f"{RUN}limits.json")) == [[*first, *alone], *others]
    assert waves_of(alone, kind_at(f"{RUN}limits.json")) == [alone]
    assert waves_of(alone, kind_at(f"{RUN}summary.json")) == [alone, []]
    assert waves_of(first, kind_at(f"{RUN}fencing/finished.json")) == [first, []]
    assert waves_of([]) == [[]]


def test_what_is_sent_meanwhile_is_waited_for_by_the_next_write_and_what_failed_is_sent_again() -> None:
    goes_on = threading.Event()

    class Held(Written):
        def put(self, key: str, data: bytes) -> None:
            assert key == f"{RUN}fencing/finished.json" or goes_on.wait(10)
            super().put(key, data)

    store = Held()
    kept = kept_of(store)
    for name in ("outcomes/shards/0/1-0000.json", "clocks.json"):
        kept.put(f"{RUN}{name}", b"x")
    store.broken = {f"{RUN}clocks.json"}
    kept.settle_meanwhile()
    assert store.written == []
    with pytest.raises(Transient):
        threading.Timer(0.1, goes_on.set).start()
        kept.settle()
    store.broken = set()
    kept.put(f"{RUN}fencing/finished.json", b"x")
    assert store.written[0] == "outcomes/shards/0/1-0000.json"
    assert sorted(store.written[1:]) == ["clocks.json", "fencing/finished.json"]


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
        kept.put(f"{RUN}progress/list/0000000001/0/n", b"x")
    kept.put(f"{RUN}segments/done/0.json", b"x")
    with pytest.raises(Transient):
        kept.settle()
    assert kept.get(f"{RUN}shards/0.jsonl.gz") == b"x"
    assert store.written == []
    store.broken = set()
    kept.settle()
    assert sorted(store.written[:2]) == ["clocks.json", "shards/0.jsonl.gz"]
    assert store.written[2:] == ["segments/done/0.json"]


@pytest.mark.parametrize("note", ["notes/index.json", "verification/notes/index.json"])
def test_a_note_is_sent_before_the_record_for_which_no_later_attempt_writes_it_again(note: str) -> None:
    store = Written()
    kept = kept_of(store)
    kept.put(f"{RUN}{note}", b"x")
    store.broken = {f"{RUN}{note}"}
    kept.put(f"{RUN}segments/done/0.json", b"x")
    with pytest.raises(Transient):
        kept.settle()
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
    monkeypatch.setattr("fanout.ledger.kept_store._WAITING_BYTES", 10)

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
    monkeypatch.setattr("fanout.ledger.kept_store._WAITING_BYTES", 10)
    store = Written()
    kept = kept_of(store)
    for number, size in enumerate((6, 6, 11)):
        kept.put(f"{RUN}shards/{number}.jsonl.gz", bytes(size))
    assert sorted(store.written) == [f"shards/{number}.jsonl.gz" for number in range(3)]


def test_what_is_new_as_far_as_a_task_knows_waits_and_is_no_other_attempts_when_it_is_sent() -> None:
    store, key = Written(), f"{RUN}segments/round-0001-done.json"
    kept = kept_of(store)
    assert kept.put_new(key, b"mine")
    assert (store.written, kept.get(key)) == ([], b"mine")
    MemoryStore.put(store, key, b"another's")
    with pytest.raises(Transient):
        kept.settle()
    assert store.get(key) == b"another's"
    MemoryStore.put(store, key, b"mine")  # by a request whose answer was lost
    kept.settle()
    assert not kept.put_new(key, b"again")
    assert store.get(key) == b"mine"


def test_what_is_new_is_no_other_attempts_either_where_it_fills_what_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.ledger.kept_store._WAITING_BYTES", 10)
    store, key = Written(), f"{RUN}segments/round-0001-done.json"
    kept = kept_of(store)
    kept.put(f"{RUN}shards/0.jsonl.gz", bytes(6))
    MemoryStore.put(store, key, b"another's")
    with pytest.raises(Transient):
        kept.put_new(key, b"mine!")
    assert store.get(key) == b"another's"


def test_what_was_new_may_be_written_again() -> None:
    store, key = Written(), f"{RUN}segments/round-0001-done.json"
    kept = kept_of(store)
    kept.put_new(key, b"first")
    kept.settle()
    kept.put(key, b"second")
    kept.settle()
    assert store.get(key) == b"second"
