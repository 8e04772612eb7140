"""The short way is lost before each of its requests to the ledger, or wakes up late: the run ends as if it were not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.flow.short_way import FIRST, definition, places
from fanout.ledger.kept_store import KeptStore
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import Transient
from fanout.report import page
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.turns.write_turn import WriteTurns
from fanout.work.context import Context
from tests.contract.test_write_turns import Known
from tests.support.finishing import difference, filled_tree
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

REQUEST: Json = {
    "source": "efs:///in",
    "destination": "efs:///out",
    "mode": "sync",
    "delete_guard": {"max_percent": 100},
    "limits": {"split_bytes": tuning.BLOCK_BYTES},
}


class Lost(BaseException):
    """The function is gone."""


class Fragile(MemoryStore):
    """Calls ``at`` before the request of a number, counted from when it is set; ``whole`` keeps what comes after it."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.asked = 0
        self.whole = True
        self.at: Callable[[], None] = lambda: None

    def _count(self) -> None:
        self.asked += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                if self.whole:
                    self.left = None
                self.at()

    def put(self, key: str, data: bytes) -> None:
        """See ``ports.store.WorkStore``."""
        self._count()
        super().put(key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        """See ``ports.store.WorkStore``."""
        self._count()
        if key in self._objects:
            return False
        super().put(key, data)
        return True

    def get(self, key: str) -> bytes:
        """See ``ports.store.WorkStore``."""
        self._count()
        return super().get(key)

    def list(self, prefix: str) -> Iterator[str]:
        """See ``ports.store.WorkStore``."""
        self._count()
        return super().list(prefix)


@dataclass
class OnDisk(World):
    """Each task has adapters of its own, as in a function."""

    mount: Path = Path()

    def context_of(self, _function: str, state: str) -> Context:
        """A new attempt of a state."""
        nonce = next(self.nonces)
        self.source = PosixTree(self.mount, "in", self.run_id, nonce, "source")
        self.destination = PosixTree(self.mount, "out", self.run_id, nonce)
        return self.context(state)


def of_two_trees(mount: Path) -> tuple[OnDisk, Fragile, Json]:
    """A run after its plan; its destination lacks files, holds others, and one that is changed."""
    filled_tree(mount / "in", 1)
    (mount / "in/big").write_bytes(b"b" * (tuning.BLOCK_BYTES + 1))
    (mount / "in/symlink").symlink_to("big")
    (mount / "out/extra/below").mkdir(parents=True)
    (mount / "out/extra/below/file").write_text("extra")
    (mount / "out/d0").mkdir()
    (mount / "out/d0/file").write_text("extra too")
    store, clock = Fragile(), ManualClock()
    turns = WriteTurns(store, Known({"run-1"}), clock, ("data",))
    world = OnDisk(store=store, clock=clock, short=True, turns=turns, mount=mount)
    state = world.walk("PlanTransfer", REQUEST, "AlreadyRunning?")[1]
    store.asked = 0
    return world, store, state


def short_way(world: World, state: Json) -> tuple[str, Json]:
    """The function of the short way; where the ordinary way goes on, and with what."""
    return world.walk("ShortWay", state, FIRST, *places(definition()))


def goes_on(world: World, state: Json) -> Json:
    """The ordinary way after a function that was lost; what the summary says that no loss changes."""
    world.walk("WaitForShortWay", state, "TransferSucceeded?")
    return told(world.summary())


def told(summary: Json) -> Json:
    """What a summary says that no loss changes."""
    assert summary["status"] == "SUCCEEDED", summary.get("error")
    return {name: summary[name] for name in ("totals", "listed", "notes") if name in summary}


def of_the_whole(mount: Path) -> tuple[int, Json]:
    """How many requests the whole short way makes, and what the summary then says."""
    world, store, state = of_two_trees(mount)
    at, data = short_way(world, state)
    assert at == "BeginDeletion", data["short"]  # which is another function's
    asked = store.asked
    world.walk(at, data, "TransferSucceeded?")
    assert difference(mount) == []
    return asked, told(world.summary())


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page is made of each run, which takes most of its time."""
    monkeypatch.setattr(page, "render_report", lambda *_given, **_named: "")


@pytest.fixture(autouse=True)
def frozen_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function is lost, or frozen, with all that it asks beside its work: so here it waits for each request."""
    look_ahead, looked_at = KeptStore.look_ahead, set[KeptStore]()

    def looked(kept: KeptStore, key: str = "") -> None:
        look_ahead(kept, key)
        if kept not in looked_at:
            looked_at.add(kept)
            kept._listed()
            for one in list(kept._reading.values()):
                one.result()

    monkeypatch.setattr(KeptStore, "look_ahead", looked)
    monkeypatch.setattr(KeptStore, "settle_meanwhile", KeptStore.settle)


@pytest.mark.parametrize("beside", [True, False], ids=["those beside it are sent", "nothing is sent after it"])
def test_a_short_way_that_is_lost_before_any_request_is_taken_over(tmp_path: Path, beside: bool) -> None:
    asked, whole = of_the_whole(tmp_path / "whole")
    for cut in range(asked):
        mount = tmp_path / str(cut)
        world, store, state = of_two_trees(mount)
        store.left, store.at, store.whole = cut, _lose, beside
        with pytest.raises(Lost):
            short_way(world, state)
        store.left = None
        assert goes_on(world, state) == whole, cut
        assert difference(mount) == [], cut
        assert not (mount / "out/extra").exists()
        shutil.rmtree(mount)


@pytest.mark.parametrize("name", ["phases/list.json", "-done.json", "links.json", "forecast.json", "shards.json"])
def test_the_ordinary_way_does_again_what_the_short_way_could_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _, whole = of_the_whole(tmp_path / "whole")
    world, _, state = of_two_trees(tmp_path / "broken")
    put = MemoryStore.put

    def broken(store: MemoryStore, key: str, data: bytes) -> None:
        if key.endswith(name):
            raise Transient("no answer")
        put(store, key, data)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "put", broken)
        at, data = short_way(world, state)
    assert at in places(definition()) - {"CopyInPace", "FinishTree", "BeginDeletion"} | {FIRST}
    assert data["short"]["why"].startswith("Transient")
    world.walk(at, data, "TransferSucceeded?")
    assert told(world.summary()) == whole
    assert difference(tmp_path / "broken") == []


def _lose() -> None:
    raise Lost


def test_a_short_way_that_wakes_up_after_the_run_changes_nothing(tmp_path: Path) -> None:
    asked, whole = of_the_whole(tmp_path / "whole")
    for cut in range(asked):
        mount = tmp_path / str(cut)
        world, store, state = of_two_trees(mount)
        found: list[Json] = []
        store.left, store.at = cut, lambda w=world, s=state, f=found: f.append(goes_on(w, s))  # type: ignore[misc]
        short_way(world, state)
        assert found == [whole], cut
        # As any late CheckMount, one that had looked for its turn before it froze leaves an empty directory.
        left = mount / "out/.fanout-staging-run-1"
        assert difference(mount) == [str(left)] * left.exists() and not any(left.rglob("*")), cut
        world.walk("SummariseTransfer", state, "TransferSucceeded?")
        assert told(world.summary()) == whole, cut
        shutil.rmtree(mount)


def test_a_short_way_whose_run_was_stopped_writes_over_nothing_of_a_later_run_in_a_bucket() -> None:
    def stopped_at(cut: int | None) -> tuple[int, bytes]:
        """The requests of the short way, and what the bucket then holds."""
        store, clock, active = Fragile(), ManualClock(), {"run-1", "run-2"}
        world = World(store=store, clock=clock, short=True, turns=WriteTurns(store, Known(active), clock))
        request = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}
        written(world, b"first")
        state = world.walk("PlanTransfer", request, "AlreadyRunning?")[1]

        def later_run() -> None:
            active.remove("run-1")
            written(world, b"later")
            assert world.next_run("run-2").run(request)["status"] == "SUCCEEDED"
            written(world, b"written after both")

        store.asked, store.left, store.at = 0, cut, later_run
        short_way(world, state)
        assert isinstance(world.destination, MemoryTree)
        return store.asked, world.destination.contents()["file"].data

    asked, whole = stopped_at(None)
    assert whole == b"first"
    for cut in range(asked):
        assert stopped_at(cut)[1] == b"later", cut


def written(world: World, data: bytes) -> None:
    """Write the one file of the source."""
    assert isinstance(world.source, MemoryTree)
    world.source.put("file", Kind.FILE, data)


@pytest.mark.parametrize("short", [True, False], ids=["short", "ordinary"])
@pytest.mark.parametrize("name", ["-done.json", "links.json", "big-files.json", "forecast.json", "shards.json"])
def test_a_run_that_could_not_write_a_part_of_its_ledger_says_so_in_its_summary(name: str, short: bool) -> None:
    class Broken(MemoryStore):
        def put(self, key: str, data: bytes) -> None:
            if key.endswith(name):
                raise Transient("no answer")
            super().put(key, data)

        def put_new(self, key: str, data: bytes) -> bool:
            self.put(key, data)
            return True

    world = World(store=Broken(), short=short)
    written(world, b"first")
    with pytest.raises(Transient):
        world.run({"source": "efs:///in", "destination": "s3://a-bucket/out/"})
    answer = summarise_transfer({"Error": "Transient", "Cause": ""}, world.context())
    assert (answer["status"], answer["error"]) == ("FAILED", "Transient")
